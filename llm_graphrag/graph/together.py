"""Paths over sentences that name two things, for things that no facts connect.

Notes without links still say what belongs together: one sentence names both, or the note or a
heading over it is about one and the sentence names the other. Such a hop proves less than a
fact, so it is only taken where somebody asks for it (``llm graphrag path --mentions``), it is
called ``named with``, and there are at most two of them: longer chains join anything.

What is named in more than one in fifty passages, and in more than ``CROWD``, is no step on the
way. A sentence that names more than ``MANY`` things is a list, and a note or section of more than
``LONG`` passages is about many things: neither joins any. Paths are found as those of facts are
(``graph.ways``).
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..store.headings import Outline, outlines
from ..text.sentences import sentence_spans
from .frontier import Limits
from .hops import Evidence, Hop, Joined, nodes_of
from .paths import CROWD, CROWD_SHARE, Path, Paths, kept
from .sections import LONG, passages_under, subjects
from .view import CHUNKS_OF_ENTITIES, count_chunks
from .ways import best_ways

__all__ = ["MAX_HOPS", "NAMED_WITH", "paths_together"]

NAMED_WITH = "named_with"
MAX_HOPS = 2
MANY = 25
OWN_WEIGHT = 5
PASSAGES = 1_000  # of one entity, that are looked at

PASSAGE = """
    SELECT c.id, c.text, c.line, d.uri, c.document, coalesce(e.merged_into, e.id),
           (SELECT count(*) FROM kg_chunks o WHERE o.document = c.document) AS chunks
    FROM json_each(:chunks) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
    LEFT JOIN kg_entities e ON e.id = d.entity
"""
MENTIONS = """
    SELECT m.chunk, m.start, coalesce(e.merged_into, e.id)
    FROM json_each(:chunks) f
    CROSS JOIN kg_mentions m ON m.chunk = f.value
    CROSS JOIN kg_entities e ON e.id = m.entity
"""
COUNTS = """
    SELECT f.value, n.n FROM json_each(:nodes) f CROSS JOIN kg_counts n ON n.kind = 'chunks' AND n.item = f.value
"""
OWN = """
    SELECT f.value, count(*) FROM json_each(:nodes) f CROSS JOIN kg_documents d ON d.entity = f.value
    CROSS JOIN kg_chunks c ON c.document = d.id GROUP BY f.value
"""


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage: its sentences, each with what it names and what stands over it is about."""

    id: int
    text: str
    line: int
    uri: str
    document: int
    outline: Outline
    headed: frozenset[tuple[int, int]]  # (section, entity) of the headings in it
    sentences: tuple[tuple[int, int, frozenset[int], frozenset[int]], ...]

    def with_(self, entity: int) -> dict[int, tuple[int, int]]:
        """What is named with an entity -> the sentence that says so, the first of them."""
        found: dict[int, tuple[int, int]] = {}
        for start, end, named, about in self.sentences:
            if entity in named:
                others = named | about
            elif entity in about:
                others = named
            else:
                continue
            for other in others:
                found.setdefault(other, (start, end))
        found.pop(entity, None)
        return found


def paths_together(
    connection: sqlite3.Connection,
    source: int,
    target: int,
    k: int = 3,
    max_hops: int = MAX_HOPS,
    *,
    documents: Collection[int] | None = None,
    limits: Limits | None = None,
) -> Paths:
    """Return the k best simple paths over sentences (of ``documents``, if given), few hops and rare things first.

    Hops have no triple: it is 0. Raises ValueError for an id that is none.
    """
    stands_for = kept(connection, {source, target})
    start, end = stands_for[source], stands_for[target]
    passages = _Passages(connection, {start, end}, documents, limits or Limits())
    hops = min(max_hops, MAX_HOPS)
    ways, missed = best_ways(start, end, passages.neighbours, passages.counts, k=k, max_hops=hops)
    nodes = nodes_of(connection, {id_ for way in ways for id_ in way.nodes})
    paths = tuple(
        Path(tuple(nodes[id_] for id_ in way.nodes), tuple(passages.hop(a, b) for a, b in pairwise(way.nodes)))
        for way in ways
    )
    return Paths(paths, missed or passages.truncated)


class _Passages:
    """What is named together, for one question."""

    def __init__(
        self, connection: sqlite3.Connection, ends: Collection[int], documents: Collection[int] | None, limits: Limits
    ) -> None:
        self.connection = connection
        self.ends = ends
        self.documents = documents
        self.truncated = False
        self.crowd = max(CROWD, int(count_chunks(connection) * CROWD_SHARE))
        self._until = time.monotonic() + limits.seconds
        self._counts: dict[int, int] = {}
        self._read: dict[int, _Passage] = {}
        self._subjects: dict[int, frozenset[int]] = {}  # section -> what its heading names
        self._near: dict[int, dict[int, list[int]]] = {}  # entity -> entity -> passages that name them together

    def counts(self, nodes: Collection[int]) -> Mapping[int, int]:
        """Entity -> the number of passages that name it; one of its own note joins it to more, and counts as more."""
        new = [node for node in nodes if node not in self._counts]
        if new:
            values = {"nodes": json.dumps(new)}
            self._counts.update(dict.fromkeys(new, 1))
            self._counts.update(map(tuple, self.connection.execute(COUNTS, values)))
            for node, chunks in self.connection.execute(OWN, values):
                self._counts[node] += OWN_WEIGHT * chunks
        return self._counts

    def neighbours(self, nodes: Sequence[int]) -> Mapping[int, Collection[int]]:
        """Entity -> what is named together with it, but for what is named everywhere."""
        for node in nodes:
            if node in self._near:
                continue
            near = self._near.setdefault(node, {})
            if time.monotonic() > self._until:
                self.truncated = True
                continue
            for chunk in self._chunks(node):
                for other in self._read[chunk].with_(node):
                    near.setdefault(other, []).append(chunk)
            counts = self.counts(near)
            for other in [n for n in near if counts[n] > self.crowd and n not in self.ends]:
                del near[other]
        return self._near

    def _chunks(self, node: int) -> list[int]:
        """The passages that name an entity, or are about it, or stand under a heading that names it, read."""
        rows = self.connection.execute(CHUNKS_OF_ENTITIES, {"nodes": json.dumps([node])})
        named = self._reading(row[1] for row in rows)
        headed = [(section, chunk) for chunk in named for section, entity in self._read[chunk].headed if entity == node]
        return self._reading([*named, *passages_under(self.connection, headed)] if headed else named)

    def _reading(self, wanted: Iterable[int]) -> list[int]:
        """The first of these passages, read; without those of other documents."""
        chunks = list(dict.fromkeys(wanted))
        if len(chunks) > PASSAGES:
            chunks, self.truncated = chunks[:PASSAGES], True
        if new := [chunk for chunk in chunks if chunk not in self._read]:
            self._read_passages(new)
        return [chunk for chunk in chunks if chunk in self._read]

    def _read_passages(self, chunks: Collection[int]) -> None:
        values = {"chunks": json.dumps(list(chunks))}
        named: dict[int, list[tuple[int, int]]] = {}
        for chunk, start, entity in self.connection.execute(MENTIONS, values):
            named.setdefault(chunk, []).append((start, entity))
        outline = outlines(self.connection, chunks)
        places = {h.section: chunk for chunk, found in outline.items() for path in found.sections for h in path}
        new = [(section, chunk) for section, chunk in places.items() if section not in self._subjects]
        self._subjects.update(subjects(self.connection, new))
        for row in self.connection.execute(PASSAGE, values).fetchall():
            if self.documents is None or row[4] in self.documents:
                self._read[row[0]] = _passage(row, named.get(row[0], ()), outline[row[0]], self._subjects)

    def hop(self, a: int, b: int) -> Hop:
        """The hop between two, with a sentence of the passage that names fewest other things."""
        shared = self._near.get(a, {}).get(b) or self._near[b][a]
        best = min((self._read[chunk] for chunk in shared), key=lambda p: (sum(len(s[2]) for s in p.sentences), p.id))
        start, end = best.with_(a)[b]
        line = best.line + best.text.count("\n", 0, start)
        heading = best.outline.path(start) if self._told_by_heading(best, start, {a, b}) else ""
        evidence = Evidence(best.text[start:end], best.uri, line, best.id, best.document, NAMED_WITH, start, heading)
        return Hop(Joined(0, NAMED_WITH, True, len(shared)), evidence)

    def _told_by_heading(self, passage: _Passage, start: int, ends: set[int]) -> bool:
        """Whether a heading over a sentence names what the sentence itself does not."""
        named = next(named for at, _, named, _ in passage.sentences if at == start)
        over = passage.outline.over(start)
        return any((ends - named) & self._subjects[heading.section] for heading in over)


def _passage(
    row: Sequence[Any],
    mentions: Iterable[tuple[int, int]],
    outline: Outline,
    subjects: Mapping[int, frozenset[int]],
) -> _Passage:
    """A passage from its row, the places of what it names, and what the headings over it name, by section."""
    chunk, text, line, uri, document, entity, chunks = row
    note = frozenset({entity} if entity is not None and chunks <= LONG else ())
    listed = sorted(mentions)
    sentences = []
    for start, end in sentence_spans(text):
        named = frozenset(of for at, of in listed if start <= at < end)
        if named and len(named) <= MANY:
            about = note.union(*(subjects[heading.section] for heading in outline.over(start)))
            sentences.append((start, end, named, about))
    own = [path[-1] for path in outline.sections if path[-1].start >= 0]
    headed = frozenset((heading.section, of) for heading in own for of in subjects[heading.section])
    return _Passage(chunk, text, line, uri, document, outline, headed, tuple(sentences))
