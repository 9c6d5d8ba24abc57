"""Whether the passages that a sentence cites speak of what it says.

A model's citation is a claim like any other, so it is checked before it is shown. A
number must exist, and the passage must share something with the sentence: a content
word, a name or a number. Each citation that is left gets the sentence of its passage
that shares most, verbatim. In the table of a graph that is a row; of rows that share as
much, one that has words of the question, then one of the facts that the model was shown.
A sentence is unsupported if no citation is left; and also if it has a number or a full
name that stands in none of the passages it cites, or if these say nothing of what it adds
to the question, for by the question's words they were found.

This finds invented numbers, names and references. It does not find every wrong
statement: a sentence may turn round what its passage says in the passage's own words.
Pure: sources and text in, sentences out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..text.cjk import has_cjk
from ..text.sentences import row_spans, sentence_spans
from .brackets import CITATION, UNFINISHED, pieces, read, without
from .plain import lines
from .substance import keys, unknown_names, unknown_numbers

if TYPE_CHECKING:
    from .facts import Fact

__all__ = ["UNSUPPORTED", "Removed", "Sentence", "Source", "Support", "Verifier", "printed"]

UNSUPPORTED = "(unsupported)"
UNCITED, NO_SUCH, NOT_SAID = "cites no passage", "cites no passage that exists", "what it cites does not say this"
NOTHING_NEW = "nothing that it adds to the question is in what it cites"

_DISARM = str.maketrans("[]［］【】〔〕", "()（）（）（）")
_HOLLOW = re.compile(r" ?\(\s*\)")
_SHORT = re.compile(r"[\[［【〔][^\[\]［］【】〔〕]{0,80}[\]］】〕]")  # what may be a citation that goes over lines


@dataclass(frozen=True, slots=True)
class Source:
    """A passage, or the sentence of a fact, as a model is shown it under its number."""

    number: int
    chunk: int
    document: int
    uri: str
    title: str
    heading: str  # the headings over what is shown
    line: int  # of the first line of the chunk
    text: str  # of the chunk
    start: int  # of what is shown of it
    end: int
    score: float
    content_hash: str
    rows: bool = False  # every line says something of its own
    as_fact: bool = False  # it says what its fact says and no more, so the fact alone is shown


@dataclass(frozen=True, slots=True)
class Support:
    """The sentence of a source that supports another best; ``quote`` is ``text[start:end]`` of its chunk."""

    number: int
    chunk: int
    start: int
    end: int
    line: int
    quote: str
    score: float


@dataclass(frozen=True, slots=True)
class Removed:
    """What the model wrote and is not shown."""

    number: str  # of the citation
    sentence: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, with the citations that hold as ``[n]``."""

    before: str  # what separates it from the one before
    text: str
    supported: bool
    why: str  # it is not
    citations: tuple[Support, ...]
    removed: tuple[Removed, ...] = field(default=(), repr=False)
    invented: int = 0  # citations to numbers that do not exist


def printed(sentence: Sentence) -> str:
    """A sentence as it is shown: one without support carries a mark."""
    return f"{sentence.before}{sentence.text}" + ("" if sentence.supported else f" {UNSUPPORTED}")


class _Indexed:
    """A source with the keys of what is shown of it, found when they are first needed."""

    def __init__(self, source: Source, facts: Mapping[tuple[int, int], str]) -> None:
        self.source = source
        self.facts = facts  # by where they are stated in it
        self.label = f"{source.title}\n{source.heading}"

    @cached_property
    def spans(self) -> list[tuple[int, int, dict[str, float]]]:
        text, start = self.source.text, self.source.start
        if not self.source.rows:
            return [(start + a, start + b, keys(text[start + a : start + b])) for a, b in sentence_spans(self.shown)]
        found = [(start + a, start + b) for a, b in row_spans(self.shown)]
        return [(*span, keys(f"{text[span[0] : span[1]]}\n{self.facts.get(span, '')}")) for span in found]

    @property
    def shown(self) -> str:
        return self.source.text[self.source.start : self.source.end]

    @property
    def says(self) -> str:
        """What is shown of it; of rows also the facts that they state, since rows may name things by numbers."""
        facts = "\n".join(self.facts.values()) if self.source.rows else ""
        return f"{self.label}\n{self.shown}\n{facts}"

    @cached_property
    def keys(self) -> dict[str, float]:
        return keys(self.says)

    def best(self, said: Mapping[str, float], asked: Mapping[str, float]) -> Support:
        """The sentence that shares most with what is said; what was not asked already counts double."""

        def value(span: tuple[int, int, dict[str, float]]) -> float:
            shared = sum(v * (1 if key in asked else 2) for key, v in said.items() if key in span[2])
            return shared * (0.5 if not self.source.rows and self.source.text.startswith("#", span[0]) else 1.0)

        def order(span: tuple[int, int, dict[str, float]]) -> tuple[float, float, bool]:
            """If only the title has what is said, what answers the question decides."""
            answers = sum(v for key, v in asked.items() if key in span[2])
            return value(span), answers, span[:2] in self.facts

        spans = self.spans or [(self.source.start, self.source.end, {})]
        span = max(spans, key=order)
        start, end, _ = span
        line = self.source.line + self.source.text.count("\n", 0, start)
        quote = self.source.text[start:end]
        return Support(self.source.number, self.source.chunk, start, end, line, quote, round(value(span), 3))


class Verifier:
    """Checks the sentences of one answer.

    ``facts`` are those that the model was shown.
    ``stands`` says whether a quote still is what is stored; one that is not loses its citation.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        question: str,
        stands: Callable[[Support], bool] = lambda support: True,
        facts: Iterable[Fact] = (),
    ) -> None:
        stated: dict[int | None, dict[tuple[int, int], str]] = {}
        for fact in facts:
            said = f"{fact.head} {fact.relation.replace('_', ' ')} {fact.tail}"
            of_source, span = stated.setdefault(fact.number, {}), (fact.start, fact.end)
            of_source[span] = f"{of_source[span]}\n{said}" if span in of_source else said
        self._sources = {source.number: _Indexed(source, stated.get(source.number, {})) for source in sources}
        self._question = question
        self._asked = keys(question)
        self._stands = stands

    def sentence(self, before: str, text: str) -> Sentence | None:
        """Check one sentence as the model wrote it; None if there is no word in it."""
        text = UNFINISHED.sub("", _SHORT.sub(lambda match: _flat(match[0]), lines(text)))
        bare = without(text)
        if not any(map(str.isalnum, bare)):
            return None
        cited, invented = self._cited(text)
        supports, removed = self._supports(keys(bare), cited, bare)
        unfounded = NOT_SAID if cited else NO_SUCH if invented else UNCITED
        why = self._doubt(bare, supports) if supports else unfounded
        shown = _composed(text, {support.number for support in supports}, self._sources)
        return Sentence(before, shown, not why, why, supports, removed, invented)

    def _cited(self, text: str) -> tuple[list[int], int]:
        numbers: dict[int, None] = {}
        invented = 0
        for match in CITATION.finditer(text):
            there, missing = read(match, self._sources)
            numbers.update(dict.fromkeys(there))
            invented += missing
        return list(numbers), invented

    def _supports(
        self, said: Mapping[str, float], cited: Iterable[int], bare: str
    ) -> tuple[tuple[Support, ...], tuple[Removed, ...]]:
        """The citations that hold, and those that do not."""
        kept: dict[int, Support] = {}
        reasons: dict[int, str] = {}
        for number in cited:
            source = self._sources[number]
            if said.keys().isdisjoint(source.keys):
                reasons[number] = "the passage shares no word, name or number with the sentence"
                continue
            support = source.best(said, self._asked)
            if self._stands(support):
                kept[number] = support
            else:
                reasons[number] = "the passage is no longer in the knowledge base as it was shown"
        removed = tuple(Removed(str(number), bare, reason) for number, reason in reasons.items())
        return tuple(kept.values()), removed

    def _doubt(self, bare: str, supports: Sequence[Support]) -> str:
        """What in a sentence stands in none of the passages it cites; empty if there is nothing."""
        cited = [self._sources[support.number] for support in supports]
        known = [self._question, *(f"{source.source.uri}\n{source.says}" for source in cited)]
        missing = unknown_numbers(bare, known) + unknown_names(bare, keys("\n".join(known)))
        if missing:
            return f"not in what it cites: {', '.join(missing)}"
        new = keys(bare).keys() - self._asked.keys()
        return NOTHING_NEW if new and all(new.isdisjoint(source.keys) for source in cited) else ""


def _composed(text: str, kept: Collection[int], known: Collection[int]) -> str:
    """The sentence with the citations that hold, each as ``[n]``.

    What was taken out must not leave brackets that look like a citation: ``[[9]1]``. Then all others go.
    """
    shown, written = _put(pieces(text), kept, known)
    if [match[0] for match in CITATION.finditer(_flat(shown))] != written:
        shown, _ = _put(((piece.translate(_DISARM), match) for piece, match in pieces(text)), kept, known)
    return shown


def _flat(text: str) -> str:
    return " ".join(text.split())


def _put(
    cut: Iterable[tuple[str, re.Match[str] | None]], kept: Collection[int], known: Collection[int]
) -> tuple[str, list[str]]:
    shown, written, gap = "", [], False
    for piece, match in cut:
        if gap and not piece[:1].isalnum():
            shown = shown.rstrip(" ")
        shown += piece
        marks = [f"[{n}]" for n in read(match, known)[0] if n in kept] if match is not None else []
        marks = [mark for mark in marks if not shown.rstrip(" ").endswith(mark)]
        gap = match is not None and not marks
        if marks and shown[-1:].isalnum() and not has_cjk(shown[-1]):
            shown += " "
        shown += "".join(marks)
        written += marks
    return _HOLLOW.sub("", shown).strip(), written
