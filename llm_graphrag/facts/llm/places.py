"""Where names and quotes stand in a window.

Texts are compared as names are (normalise.name_key): folded, at word boundaries, with each
character's place in the original kept. A name that is spelled otherwise in the text counts
as standing there if all of its significant words do, in one sentence. A note's title and headings are shown
to the model and say what the note is about, so a name may stand there too; a quote may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ...text.cjk import CJK_RUN
from ...text.normalise import name_key
from ...text.quotes import find_quote
from ...text.sentences import sentence_around, sentence_spans
from .names import WORD, same_word, significant_words, stem
from .window import Window

__all__ = ["BEGINNING", "Folded", "Places", "Spot", "folded", "holds", "holds_any", "holds_value"]

_MARKS = "\u0300-\u036f\u3099\u309a"
_CLUSTER = re.compile(rf"\s+|[!-_a-~]+(?![{_MARKS}])|[^\s{_MARKS}][{_MARKS}]*|.", re.DOTALL)  # plain ASCII in one piece
_SAME = 1.0  # a score that only the same text reaches
_SHELL = " \"'.…"  # what find_quote does without around a quote
_MAX_FUZZY = 200  # quotes of one reply that are searched for with differences
_MAX_OCCURRENCES = 4  # of one quote in one chunk
_MAX_SENTENCE = 400
BEGINNING = 12  # characters before a name that a chunk begins with: an article, markup
_QUALIFIER = re.compile(r"(?<=\S)\s*\([^()]*\)\s*$")  # Mercury (planet)
_PREFIX = 5  # letters that two forms of a word have in common at least


@dataclass(frozen=True)
class Folded:
    """A text as names are compared, with the place of each character in the original."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    stems: frozenset[str] = field(init=False)
    prefixes: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        stems = frozenset(stem(word) for word in WORD.findall(self.text))
        prefixes: dict[str, list[str]] = {}
        for word in stems:
            if len(word) >= _PREFIX:
                prefixes.setdefault(word[:_PREFIX], []).append(word)
        object.__setattr__(self, "stems", stems)
        object.__setattr__(self, "prefixes", prefixes)

    def find(self, sought: str) -> Iterator[tuple[int, int]]:
        """Where a key stands between word boundaries, in the original's code points."""
        at = self.text.find(sought) if sought else -1
        while at >= 0:
            end = at + len(sought)
            if not _joined(self.text, at) and not _joined(self.text, end):
                yield self.starts[at], self.ends[end - 1]
            at = self.text.find(sought, at + 1)

    def has_name_word(self, word: str) -> bool:
        """Whether a stem stands here; in scripts other than Latin also in another form (Johann is not Johanna)."""
        return word in self.stems or (not word.isascii() and self.has_word(word))

    def has_word(self, word: str) -> bool:
        """Whether a word stands here in any form."""
        return word in self.stems or any(same_word(word, other) for other in self.prefixes.get(word[:_PREFIX], ()))


def _joined(text: str, at: int) -> bool:
    """Whether a word goes on over this place; CJK words have no boundaries that can be seen."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    return before.isalnum() and after.isalnum() and not CJK_RUN.match(before) and not CJK_RUN.match(after)


key_of = lru_cache(maxsize=20_000)(name_key)


def folded(text: str) -> Folded:
    """Fold a text as ``name_key`` folds a name.

    >>> f = folded("The “Café\\n Zürich”"); f.text, list(f.find("café zürich"))
    ('the "café zürich"', [(5, 17)])
    """
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _CLUSTER.finditer(text):
        written, start, end = match[0], match.start(), match.end()
        if len(written) > 1 and written.isascii() and not written.isspace():
            out.append(written.lower())
            starts += range(start, end)
            ends += range(start + 1, end + 1)
            continue
        piece = " " if written.isspace() else key_of(written)
        if piece == " " and out and out[-1] == " ":
            ends[-1] = end
            continue
        out.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
    return Folded("".join(out), starts, ends)


def holds(text: Folded, name: str) -> bool:
    """Whether a name stands in a text: as it is, or all of its significant words in any order.

    >>> text = folded("Hugh was king of Italy.")
    >>> holds(text, "Hugh, King of Italy"), holds(text, "Hugo, King of Italy"), holds(folded("Banana"), "Ana")
    (True, False, False)
    """
    if next(text.find(key_of(name)), None):
        return True
    words = significant_words(name)
    return bool(words) and all(map(text.has_name_word, words))


def holds_any(text: Folded, names: Iterable[str]) -> bool:
    return any(holds(text, name) for name in names)


# -- values ---------------------------------------------------------------------------

_DIGITS = re.compile(r"\d+")
_THOUSANDS = re.compile(r"(?<=\d)[,.' ](?=\d{3}(?!\d))")
_MONTH_NAMES = """january janvier januar enero|february février februar febrero|march mars märz marzo|april avril abril
|may mai mayo|june juin juni junio|july juillet juli julio|august août agosto|september septembre septiembre
|october octobre oktober octubre|november novembre noviembre|december décembre dezember diciembre"""
_MONTHS = {
    form: number
    for number, names in enumerate(_MONTH_NAMES.split("|"), 1)
    for name in names.split()
    for form in (name, name[:4] if name.startswith("jui") else name[:3])
}


def _numbers(text: str) -> set[int]:
    return {int(digits) for digits in _DIGITS.findall(_THOUSANDS.sub("", text)) if len(digits) < 19}


def holds_value(text: Folded, value: str, kind: str = "text") -> bool:
    """Whether a value stands in a text: as it is, by its words in any form, or for dates and numbers by its numbers.

    >>> holds_value(folded("a German film"), "Germany"), holds_value(folded("in 1950"), "1951", "date")
    (True, False)
    >>> holds_value(folded("born on 3 May 1950"), "1950-05-03", "date")
    True
    >>> holds_value(folded("12,300 people"), "12300", "number")
    True
    """
    words = significant_words(value)
    if holds(text, value) or (words and all(map(text.has_word, words))):
        return True
    numbers = _numbers(value) if kind in ("date", "number") else set()
    if not numbers:
        return False
    there = _numbers(text.text)
    if kind == "date":
        there |= {_MONTHS[word] for word in WORD.findall(text.text) if word in _MONTHS}
    return numbers <= there


# -- the window -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a quote stands: chunk number, code points of its text, and what was put right to find it."""

    number: int
    start: int
    end: int
    flags: tuple[str, ...] = ()


class Places:
    """The chunks of one window. Folded texts are kept as long as this object."""

    def __init__(self, window: Window) -> None:
        self.chunks = {chunk.number: chunk for chunk in window.chunks}
        self._whole = {chunk.number: folded(chunk.text) for chunk in window.chunks}
        self._longest = max((len(chunk.text) for chunk in window.chunks), default=0)
        self._documents: dict[int, list[int]] = {}
        self._shown: dict[int, list[Folded]] = {}  # what else is shown of a document: its title, headings, the context
        for chunk in window.chunks:
            first = chunk.document not in self._documents
            self._documents.setdefault(chunk.document, []).append(chunk.number)
            texts = [chunk.title if first else "", chunk.heading, "" if len(self._shown) else window.context]
            self._shown.setdefault(chunk.document, []).extend(folded(text) for text in texts if text)
        self._sentences: dict[int, list[tuple[int, int]]] = {}
        self._slices: dict[tuple[int, int, int], Folded] = {}
        self._fuzzy_left = _MAX_FUZZY

    # -- names ------------------------------------------------------------------------

    def stand_in(self, number: int, names: Iterable[str]) -> bool:
        """Whether one of the names stands in a chunk; spelled otherwise, in one of its sentences."""
        return any(self._stands(number, name) for name in names)

    def _stands(self, number: int, name: str) -> bool:
        whole = self._whole[number]
        if next(whole.find(key_of(name)), None):
            return True
        return holds(whole, name) and any(holds(self.slice(number, *span), name) for span in self.sentences(number))

    def stand_in_document(self, number: int, names: Sequence[str]) -> bool:
        """Whether one of the names stands in the document of a chunk, as far as the window shows it."""
        shown = self._shown[self.chunks[number].document]
        return any(self.stand_in(other, names) for other in self.siblings(number)) or any(
            holds_any(text, names) for text in shown
        )

    def documents_with(self, names: Sequence[str]) -> list[int]:
        """The first chunk of every document in which one of the names stands."""
        return [numbers[0] for numbers in self._documents.values() if self.stand_in_document(numbers[0], names)]

    def siblings(self, number: int) -> list[int]:
        """The chunks of the same document."""
        return self._documents[self.chunks[number].document]

    def is_subject(self, number: int, names: Sequence[str]) -> bool:
        """Whether one of the names is what a chunk is about: its title, a heading above it, or how it begins."""
        chunk = self.chunks[number]
        titles = [part for part in (chunk.title, *chunk.heading.split(" > ")) if part]
        keys = {key_of(title) for title in titles} | {key_of(_QUALIFIER.sub("", title)) for title in titles}
        if any(key_of(name) in keys for name in names):
            return True
        found = (next(self._whole[number].find(key_of(name)), None) for name in names)
        return any(span is not None and span[0] <= BEGINNING for span in found)

    # -- quotes -----------------------------------------------------------------------

    def order(self, number: int | None) -> list[int]:
        """The named chunk, then the others of its document, then the rest."""
        if number not in self.chunks:
            return list(self.chunks)
        return list(dict.fromkeys([number, *self.siblings(number), *self.chunks]))

    def quotes(self, number: int | None, quote: str) -> Iterator[Spot]:
        """Where a quote stands: in the named chunk, then in the others; only if nowhere, where it nearly does."""
        if len(quote) > 2 * self._longest:
            return
        order, plain, found = self.order(number), folded(quote).text.strip(_SHELL), False
        for other in order:
            if plain in self._whole[other].text:
                for span in self._occurrences(other, quote):
                    found = True
                    yield self._spot(other, span, number)
        if found or self._fuzzy_left <= 0:
            return
        self._fuzzy_left -= 1
        near = [(nearly, other) for other in order if (nearly := find_quote(quote, self.chunks[other].text))]
        if near:
            best, other = max(near, key=lambda pair: pair[0][2])
            yield self._spot(other, best[:2], number, "fuzzy")

    def _occurrences(self, number: int, quote: str) -> Iterator[tuple[int, int]]:
        text, at = self.chunks[number].text, 0
        for _ in range(_MAX_OCCURRENCES):
            found = find_quote(quote, text[at:], _SAME)
            if not found:
                return
            yield at + found[0], at + found[1]
            at += found[1]

    def _spot(self, number: int, span: tuple[int, int], named: int | None, *flags: str) -> Spot:
        moved = ("rehomed",) if named is not None and named != number else ()
        start, end = span
        piece = self.chunks[number].text[start:end]
        start += len(piece) - len(piece.lstrip())
        return Spot(number, start, start + len(piece.strip()), moved + flags)

    def sentences(self, number: int) -> list[tuple[int, int]]:
        """The spans of the sentences of a chunk."""
        if number not in self._sentences:
            self._sentences[number] = sentence_spans(self.chunks[number].text)
        return self._sentences[number]

    def sentence(self, number: int, start: int, end: int) -> tuple[int, int]:
        """The whole sentences around a span."""
        text = self.chunks[number].text
        return sentence_around(text, self.sentences(number), start, end, len(text))

    def sentence_with(self, number: int, name: str) -> tuple[int, int] | None:
        """The first sentence of a chunk that holds a name, clipped if it is very long; None if none does."""
        sentences = self.sentences(number)
        if found := next(self._whole[number].find(key_of(name)), None):
            return sentence_around(self.chunks[number].text, sentences, *found, _MAX_SENTENCE)
        if not self.stand_in(number, (name,)):
            return None
        return next((span for span in sentences if holds(self.slice(number, *span), name)), None)

    def slice(self, number: int, start: int, end: int) -> Folded:
        """A part of a chunk, folded."""
        place = number, start, end
        if place not in self._slices:
            self._slices[place] = folded(self.chunks[number].text[start:end])
        return self._slices[place]
