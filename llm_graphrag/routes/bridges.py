"""Route ``bridges``: from a passage found to the passages that it leads to.

"Where was the director of X born" is answered in a note that shares no word with the
question; the note about X names it. So the best passages so far are parents: each
proposes the passages that share a rare entity with it that the question does not
name. A proposal scores by its parent, by how telling the shared entity is (more if
one of the two notes is about it), and by the share it holds of the question's words
that the parent's name does not account for.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..graph.linker import flat
from ..graph.view import rarity
from .hits import Plan, Proposal, Term
from .terms import coverage

__all__ = ["PARENTS", "bridges"]

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


def bridges(connection: sqlite3.Connection, plan: Plan, parents: Mapping[int, float]) -> list[Proposal]:
    """Return the passages that ``parents`` (chunk -> weight, best 1) lead to.

    The score is parent x entity x rest. Signals, of the best parent: bridge_parent (its weight), bridge_rest (the share
    of what it leaves open), bridge_own (1 if the passage belongs to a note about the shared entity).
    """
    top = sorted(parents, key=lambda chunk: (-parents[chunk], chunk))[:PARENTS]
    shared, names = _shared(connection, plan, top)
    among = {s.entity for of in shared.values() for s in of}
    reached = _reached(connection, among)
    found: dict[int, Proposal] = {}
    for parent in top:
        rest = _rest(plan, names.get(parent, ()))
        best: dict[int, tuple[float, bool]] = {}
        for s in shared.get(parent, ()):
            for chunk, own in reached.get(s.entity, {}).items():
                weight = s.rarity / SCALE * (2.0 if own else 1.0) * (1.5 if s.own else 1.0)
                if chunk != parent and weight > best.get(chunk, (0.0, False))[0]:
                    best[chunk] = weight, own
        for chunk, (weight, own) in best.items():
            holds = coverage(rest, chunk)
            score = parents[parent] * weight * (0.1 + holds)
            if chunk not in found or score > found[chunk].score:
                found[chunk] = Proposal(chunk, score, _signals(parents[parent], holds, own))
    return sorted(found.values(), key=lambda p: (-p.score, p.chunk))


def _signals(parent: float, rest: float, own: bool) -> dict[str, float]:
    return {"bridge_parent": parent, "bridge_rest": rest, "bridge_own": float(own)}


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
