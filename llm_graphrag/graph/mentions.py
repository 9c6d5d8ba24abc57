"""Which entities a question names, without a model.

Every run of up to ``MAX_WORDS`` words of the question is looked up by its key among
the names and aliases of the knowledge base, in one statement; the longest match wins
its words. CJK text has no word boundaries, so there every substring is tried. A single
word counts as a name where its writing says so (a capital, a digit, quotation marks),
where a note is called so, or where the question is typed without any capitals and the
word is rare. Quoted strings and capitalised phrases that match nothing are returned
too, unlinked: they are reported, not dropped.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..facts.names import FUNCTION_WORDS
from ..text.cjk import CJK_CLASS, CJK_RUN
from ..text.fts import STOP_WORDS
from ..text.normalise import name_key
from .candidates import Candidate, Mention, Scope
from .key_lookup import FOUND, METHODS
from .view import count_chunks

__all__ = ["find_mentions"]

MAX_WORDS = 12
MAX_QUESTION = 4_000  # characters; names past them are not looked for
MAX_CJK = 12
CANDIDATES = 5
ALIKE = 1  # of the names that are spelled like one, how many it may mean
SURE = 0.85  # score from which a name that is spelled alike is meant
NO_NAMES = STOP_WORDS | FUNCTION_WORDS

_WORD = re.compile(f"(?:(?![{CJK_CLASS}])[^\\W_])+[+#]*")
_QUOTED = re.compile(r"[\"“„«]([^\"”“»]{2,80})[\"”»]|(?<!\w)['‘]([^'’]{2,80})['’](?!\w)")
_CAPITALISED = re.compile(r"[^\W\d_a-z][\w'’.-]*(?:\s+[^\W\d_a-z][\w'’.-]*)*")

LOOK_UP = f"""
    WITH {FOUND}
    SELECT f.key, min(f.rank) AS rank, f.entity, e.name,
           EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = f.entity)
             OR EXISTS (SELECT 1 FROM kg_entities m CROSS JOIN kg_documents d ON d.entity = m.id
                        WHERE m.merged_into = f.entity) AS note,
           coalesce((SELECT n.n FROM kg_counts n WHERE n.kind = 'chunks' AND n.item = +f.entity), 0) AS chunks,
           e.type,
           coalesce((SELECT n.n FROM kg_counts n WHERE n.kind = 'facts' AND n.item = +f.entity), 0) AS facts
    FROM found f CROSS JOIN kg_entities e ON e.id = f.entity
    GROUP BY f.key, f.entity
    ORDER BY rank, chunks DESC, f.entity
"""  # noqa: S608 - of constants


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    text: str
    words: tuple[str, ...]


def find_mentions(
    connection: sqlite3.Connection, question: str, *, alike: bool = False, within: Scope | None = None
) -> list[Mention]:
    """Return the mentions of a question in order, each with its candidates.

    ``alike``: what is marked as a name and is none may be misspelled, so it gets the names that are spelled like it.
    ``within`` narrows what may be meant. Raises TypeError if the question is no string.
    """
    if not isinstance(question, str):
        raise TypeError(f"a question is a string, not {question!r}")
    question = question[:MAX_QUESTION]
    spans: dict[str, list[_Span]] = {}
    for span in _spans(question):
        if key := name_key(span.text):
            spans.setdefault(key, []).append(span)
    found: dict[str, list[sqlite3.Row]] = {}
    for row in connection.execute(LOOK_UP, {"keys": json.dumps(list(spans))}):
        if within is None or within.admits(row[2], row[6]):
            found.setdefault(row[0], []).append(row)
    judge = _Judge(question, count_chunks(connection) if found else 0)
    matches = []
    for key, rows in found.items():
        for span in spans[key]:
            if candidates := judge.candidates(span, rows):
                matches.append(Mention(span.text, span.start, span.end, candidates))
    mentions = _longest(matches)
    unknown = [m for m in _marked(question) if not any(m.start < o.end and o.start < m.end for o in mentions)]
    if alike and unknown:
        unknown = _alike(connection, unknown, within)
    return sorted([*mentions, *unknown], key=lambda m: (m.start, m.end))


def _alike(connection: sqlite3.Connection, unknown: Sequence[Mention], within: Scope | None) -> list[Mention]:
    """Mentions that mean nothing, with what is spelled so much like them that it is meant."""
    from .link_methods import Methods, Wanted  # takes time to import, and is hardly ever needed

    spelled = Methods(connection, Wanted(ALIKE, SURE, within or Scope())).candidates(m.text for m in unknown)
    return [replace(mention, candidates=spelled[mention.text]) for mention in unknown]


class _Judge:
    """Decides whether a piece of the question that happens to be a name is meant as one."""

    def __init__(self, question: str, total: int) -> None:
        self.question = question
        self.caseless = question[1:] == question[1:].lower()
        self.rare = max(3, total // 100)
        self.quoted = [m.span() for m in _QUOTED.finditer(question)]

    def candidates(self, span: _Span, rows: Sequence[sqlite3.Row]) -> tuple[Candidate, ...]:
        best: dict[int, Candidate] = {}
        for _, rank, entity, name, note, chunks, type_, facts in rows:
            method, worth = METHODS[rank]
            trust = self._trust(span, bool(note), chunks)
            if trust > 0 and (note or method != "qualified"):
                best[entity] = Candidate(entity, name, trust * worth, method, chunks, bool(note), type_, facts)
        ranked = sorted(best.values(), key=lambda c: (-c.score, not c.note, -c.chunks, c.entity))
        return tuple(ranked[:CANDIDATES])

    def _trust(self, span: _Span, note: bool, chunks: int) -> float:
        if any(start <= span.start and span.end <= end for start, end in self.quoted):
            return 1.0
        telling = [w for w in span.words if w.lower() not in NO_NAMES]
        if not telling:
            return 1.0 if note and len(span.words) > 1 and _named(span.words[-1]) else 0.0
        if len(span.words) > 1:
            return 1.0 if any(map(_named, telling)) else 0.8 if note or self.caseless else 0.3
        word = span.words[0]
        if word.istitle() and not self.question[: span.start].strip():  # a capital that opens the question
            return 0.8 if note else 0.5
        if _named(word):
            return 1.0 if len(word) > 2 or note or word.isupper() else 0.0
        if not word.isascii() and CJK_RUN.match(word):
            return 1.0 if len(word) > 1 or note else 0.0
        if note:
            return 0.5
        return 0.4 if self.caseless and len(word) > 2 and chunks <= self.rare else 0.0


def _named(word: str) -> bool:
    return word[:1].isupper() or word[:1].isdigit() or any(map(str.isupper, word))


def _spans(question: str) -> Iterator[_Span]:
    words = list(_WORD.finditer(question))
    for first in range(len(words)):
        for last in range(first, min(first + MAX_WORDS, len(words))):
            start, end = words[first].start(), words[last].end()
            if "\n" in question[start:end]:
                break
            if question[end : end + 1] == ")" and question.count("(", start, end) > question.count(")", start, end):
                end += 1
            yield _Span(start, end, question[start:end], tuple(w[0] for w in words[first : last + 1]))
    for run in CJK_RUN.finditer(question):
        for start in range(run.start(), run.end()):
            for end in range(start + 1, min(start + MAX_CJK, run.end()) + 1):
                yield _Span(start, end, question[start:end], (question[start:end],))
    for quoted in _QUOTED.finditer(question):
        group = 1 if quoted[1] else 2
        text = quoted[group]
        yield _Span(*quoted.span(group), text, tuple(text.split()) or (text,))


def _longest(matches: Sequence[Mention]) -> list[Mention]:
    """Keep the longest of the matches that overlap, the earlier of two as long."""
    kept: list[Mention] = []
    for mention in sorted(matches, key=lambda m: (m.start - m.end, m.start)):
        if all(mention.end <= other.start or other.end <= mention.start for other in kept):
            kept.append(mention)
    return kept


def _marked(question: str) -> Iterator[Mention]:
    """Quoted strings, then capitalised phrases; a capital that only opens the question is none."""
    taken: list[tuple[int, int]] = []
    for match in _QUOTED.finditer(question):
        group = 1 if match[1] else 2
        taken.append(match.span())
        yield Mention(match[group], *match.span(group))
    for match in _CAPITALISED.finditer(question):
        start, words = match.start(), match[0]
        while words and (words.split()[0].lower() in NO_NAMES or start == 0):
            cut = len(words) - len(words.split(None, 1)[1]) if len(words.split()) > 1 else len(words)
            start, words = start + cut, words[cut:]
        words = words.rstrip(" .'’-")
        if len(words) > 1 and not any(a < start + len(words) and start < b for a, b in taken):
            yield Mention(words, start, start + len(words))
