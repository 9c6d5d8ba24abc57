"""Route ``bridges``: from a passage found to the passages that it leads to.

"Where was the director of X born" is answered in a note that shares no word with the
question; the note about X names it. So the best passages so far are parents: each
proposes the passages that share a rare entity with it that the question does not
name. A proposal scores by its parent, by how telling the shared entity is (more if
one of the two notes is about it), and by how well it fits what the parent's name does
not account for, in words and, where the file has vectors, in meaning.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..graph.candidates import flat
from ..graph.view import rarity
from ..text.fts import STOP_WORDS
from .hits import Plan, Proposal, Term
from .terms import coverage

__all__ = ["PARENTS", "Explained", "bridges"]

Explained = dict[int, frozenset[str]]
"""Chunk -> the words of the question, and others, that the names on the way to it account for."""

PARENTS = 8
RARE = 40  # an entity in more chunks is no bridge
SCALE = 10.0

ENTITIES = """
    SELECT DISTINCT f.value AS chunk, m.entity AS entity, 0 AS own, e.key AS key, n.n AS chunks
    FROM json_each(:chunks) f
    CROSS JOIN kg_mentions m ON m.chunk = f.value
    CROSS JOIN kg_entities e ON e.id = m.entity
    LEFT JOIN kg_counts n ON n.kind = 'chunks' AND n.item = +m.entity
    WHERE coalesce(n.n, 0) <= :rare
    UNION ALL
    SELECT f.value, d.entity, 1, e.key, n.n
    FROM json_each(:chunks) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
    CROSS JOIN kg_entities e ON e.id = d.entity
    LEFT JOIN kg_counts n ON n.kind = 'chunks' AND n.item = +d.entity
    UNION ALL
    SELECT f.value, b.id, 1, b.key, n.n
    FROM json_each(:chunks) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
    CROSS JOIN kg_entities e ON e.id = d.entity AND e.key LIKE '%_ (%)'
    CROSS JOIN kg_entities b ON b.key = substr(e.key, 1, instr(e.key, ' (') - 1)
    LEFT JOIN kg_counts n ON n.kind = 'chunks' AND n.item = +b.id
"""
CHUNKS = """
    SELECT DISTINCT f.value AS entity, m.chunk AS chunk, 0 AS own
    FROM json_each(:entities) f
    CROSS JOIN kg_mentions m ON m.entity = f.value
    UNION ALL
    SELECT f.value, c.id, 1
    FROM json_each(:entities) f
    CROSS JOIN kg_documents d ON d.entity = f.value
    CROSS JOIN kg_chunks c ON c.document = d.id AND c.seq < :rare
    UNION ALL
    SELECT f.value, c.id, 1
    FROM json_each(:entities) f
    CROSS JOIN kg_entities e ON e.id = f.value
    CROSS JOIN kg_entities q ON q.key > e.key || ' (' AND q.key < e.key || ' )'
    CROSS JOIN kg_documents d ON d.entity = q.id
    CROSS JOIN kg_chunks c ON c.document = d.id AND c.seq < :rare
"""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _Shared:
    entity: int
    own: bool  # the chunk's note is about it
    rarity: float


@dataclass(frozen=True, slots=True)
class _Way:
    """From a parent over one shared entity to a passage."""

    weight: float  # how telling the entity is
    own: bool  # the passage's note is about it


def bridges(
    connection: sqlite3.Connection, plan: Plan, parents: Mapping[int, float], explained: Explained | None = None
) -> tuple[list[Proposal], Explained]:
    """Return the passages that ``parents`` (chunk -> weight, best 1) lead to, and what the ways to them explain.

    ``explained`` is what the ways to the parents themselves explain, where they were reached over bridges before: so a
    chain asks of its third passage only what the first two leave open. The score is parent x entity x rest. Signals, of
    the best way: bridge (the score, as a share of the best), bridge_parent (the parent's weight), bridge_rest and
    bridge_cosine (how well it fits what is left open, by words and by meaning), bridge_new (share of the question's
    words that it adds to the parent's), bridge_own (1 if the passage belongs to a note about the shared entity).
    """
    top = sorted(parents, key=lambda chunk: (-parents[chunk], chunk))[:PARENTS]
    shared, names = _shared(connection, plan, top)
    reached = _reached(connection, {s.entity for of in shared.values() for s in of})
    known = {parent: frozenset(names.get(parent, ())) | (explained or {}).get(parent, frozenset()) for parent in top}
    ways = {parent: _ways(parent, shared.get(parent, ()), reached) for parent in top}
    cosines = _cosines(plan, known, ways)
    found: dict[int, Proposal] = {}
    behind: Explained = {}
    for parent in top:
        rest = _rest(plan, known[parent])
        new = [term for term in rest if parent not in term.chunks]
        for chunk, way in ways[parent].items():
            signals = {"bridge_parent": parents[parent], "bridge_rest": coverage(rest, chunk)}
            signals["bridge_own"] = float(way.own)
            signals["bridge_new"] = _added(plan, new, chunk)
            holds = signals["bridge_rest"]
            if cosines is not None:
                signals["bridge_cosine"] = cosines[parent].get(chunk, 0.0)
                holds = (holds + signals["bridge_cosine"]) / 2
            score = parents[parent] * way.weight * (0.1 + holds)
            if chunk not in found or score > found[chunk].score:
                found[chunk] = Proposal(chunk, score, signals)
                behind[chunk] = known[parent]
    best = max((p.score for p in found.values()), default=0.0) or 1.0
    proposals = [replace(p, signals={**p.signals, "bridge": p.score / best}) for p in found.values()]
    return sorted(proposals, key=lambda p: (-p.score, p.chunk)), behind


def _ways(parent: int, shared: Iterable[_Shared], reached: Mapping[int, Mapping[int, bool]]) -> dict[int, _Way]:
    """Passage -> the most telling way to it."""
    best: dict[int, _Way] = {}
    for s in shared:
        for chunk, own in reached.get(s.entity, {}).items():
            weight = s.rarity / SCALE * (2.0 if own else 1.0) * (1.5 if s.own else 1.0)
            if chunk != parent and (chunk not in best or weight > best[chunk].weight):
                best[chunk] = _Way(weight, own)
    return best


def _cosines(
    plan: Plan, known: Mapping[int, frozenset[str]], ways: Mapping[int, Mapping[int, _Way]]
) -> dict[int, dict[int, float]] | None:
    """Parent -> passage -> its likeness to the question without the words that are explained."""
    if plan.meaning is None:
        return None
    rests = {parent: _without(plan.question, words) for parent, words in known.items()}
    plan.meaning.prepare(rests.values())
    behind: dict[str, set[int]] = {}
    for parent, rest in rests.items():
        behind.setdefault(rest, set()).update(ways[parent])
    cosines = {rest: plan.meaning.cosines(rest, chunks) for rest, chunks in behind.items()}
    return {parent: cosines[rest] for parent, rest in rests.items()}


def _without(question: str, words: frozenset[str]) -> str:
    """A question without some telling words; the whole of it if nothing else is left."""
    telling = words - STOP_WORDS
    kept = (word for word in question.split() if telling.isdisjoint(map(str.lower, _WORD.findall(word))))
    return " ".join(kept) or question


def _added(plan: Plan, new: Iterable[Term], chunk: int) -> float:
    """The share of the question, by rarity, that a passage adds."""
    total = math.fsum(term.rarity for term in plan.terms)
    return math.fsum(term.rarity for term in new if chunk in term.chunks) / total if total > 0 else 0.0


def _shared(
    connection: sqlite3.Connection, plan: Plan, chunks: Iterable[int]
) -> tuple[dict[int, list[_Shared]], dict[int, set[str]]]:
    """The rare entities of each chunk that the question does not name, and the words of its own name."""
    asked = {word.lower() for word in _WORD.findall(plan.question)}
    linked = {c.entity for c in flat(plan.mentions)}
    entities: dict[int, dict[int, _Shared]] = {}
    names: dict[int, set[str]] = {}
    for chunk, entity, own, key, count in connection.execute(
        ENTITIES, {"chunks": json.dumps(list(chunks)), "rare": RARE}
    ):
        words = set(_WORD.findall(key))
        if own:
            names.setdefault(chunk, set()).update(words)
        if (count or 0) <= RARE and entity not in linked and not words <= asked:
            of = entities.setdefault(chunk, {})
            known = of.get(entity)
            of[entity] = _Shared(entity, bool(own) or (known is not None and known.own), rarity(count, plan.total))
    return {chunk: list(of.values()) for chunk, of in entities.items()}, names


def _reached(connection: sqlite3.Connection, entities: set[int]) -> dict[int, dict[int, bool]]:
    reached: dict[int, dict[int, bool]] = {}
    for entity, chunk, own in connection.execute(CHUNKS, {"entities": json.dumps(sorted(entities)), "rare": RARE}):
        of = reached.setdefault(entity, {})
        of[chunk] = of.get(chunk, False) or bool(own)
    return reached


def _rest(plan: Plan, explained: Iterable[str]) -> list[Term]:
    """The terms of the question that a name does not account for."""
    words = set(explained)
    return [term for term in plan.terms if term.text.lower() not in words]
