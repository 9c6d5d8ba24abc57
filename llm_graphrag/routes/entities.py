"""Route ``entities``: the passages about, or mentioning, what the question names.

A chunk of the note whose name the question uses is ``named``; any chunk that mentions
linked entities scores by the share of them it mentions, rare names counting more.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from ..graph.candidates import flat
from ..graph.view import rarity
from .hits import Plan, Proposal

__all__ = ["entities"]

PER_ENTITY = 100  # chunks read of one entity; the ones after are found by words if they matter

CHUNKS = """
    SELECT f.value AS entity, c.id AS chunk, 1 AS own
    FROM json_each(:entities) f
    CROSS JOIN kg_documents d ON d.entity = f.value
    CROSS JOIN kg_chunks c ON c.document = d.id AND c.seq < :limit
    UNION ALL
    SELECT f.value, c.id, 1
    FROM json_each(:entities) f
    CROSS JOIN kg_entities e ON e.merged_into = f.value
    CROSS JOIN kg_documents d ON d.entity = e.id
    CROSS JOIN kg_chunks c ON c.document = d.id AND c.seq < :limit
    UNION ALL
    SELECT f.value, m.chunk, 0
    FROM json_each(:entities) f
    CROSS JOIN kg_mentions m ON m.entity = f.value AND m.chunk IN (
      SELECT o.chunk FROM kg_mentions o WHERE o.entity = f.value ORDER BY o.chunk LIMIT :limit)
    UNION ALL
    SELECT f.value, m.chunk, 0
    FROM json_each(:entities) f
    CROSS JOIN kg_entities e ON e.merged_into = f.value
    CROSS JOIN kg_mentions m ON m.entity = e.id AND m.chunk IN (
      SELECT o.chunk FROM kg_mentions o WHERE o.entity = e.id ORDER BY o.chunk LIMIT :limit)
"""


def entities(
    connection: sqlite3.Connection, plan: Plan, k: int, found: Mapping[str, Sequence[Proposal]] | None = None
) -> list[Proposal]:
    """Return up to k chunks of linked entities; signal: named, 0 to 1, how surely it is meant."""
    linked = {c.entity: c for c in flat(plan.mentions)}
    if not linked:
        return []
    weight = {e: c.score * rarity(c.chunks, plan.total) for e, c in linked.items()}
    named: dict[int, float] = {}
    mentioned: dict[int, set[int]] = {}
    values = {"entities": json.dumps(list(linked)), "limit": PER_ENTITY}
    for entity, chunk, own in connection.execute(CHUNKS, values):
        mentioned.setdefault(chunk, set()).add(entity)
        if own:
            named[chunk] = max(named.get(chunk, 0.0), linked[entity].score)
    total = sum(weight.values())
    proposals = []
    for chunk, of in mentioned.items():
        share = sum(weight[e] for e in sorted(of)) / total
        score = named.get(chunk, 0.0)
        proposals.append(Proposal(chunk, share + score, {"named": score} if score else {}))
    proposals.sort(key=lambda p: (-p.score, p.chunk))
    return proposals[:k]
