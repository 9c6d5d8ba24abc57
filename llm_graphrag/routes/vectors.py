"""Route ``vectors``: the passages whose meaning is near the question's, where the file has vectors.

Words fail where a note says the same in others. How near counts absolutely, not against
the best passage: a question about nothing in the notes is near to none, and a passage
that is not even ``NEAR`` is no proposal, however few there are.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from .hits import Plan, Proposal

__all__ = ["NEAR", "vectors"]

NEAR = 0.2  # cosine

CHUNKS = """
    SELECT c.id FROM json_each(:documents) f CROSS JOIN kg_chunks c ON c.document = f.value
"""


def vectors(
    connection: sqlite3.Connection, plan: Plan, k: int, found: Mapping[str, Sequence[Proposal]] | None = None
) -> list[Proposal]:
    """Return the k nearest chunks; signals: cosine, cosine_rank."""
    if plan.meaning is None:
        return []
    within = None
    if plan.documents is not None:
        within = {row[0] for row in connection.execute(CHUNKS, {"documents": json.dumps(sorted(plan.documents))})}
    near = [(chunk, c) for chunk, c in plan.meaning.nearest(k, within) if c >= NEAR]
    return [
        Proposal(chunk, c, {"cosine": min(1.0, c), "cosine_rank": 1 / (1 + n)}) for n, (chunk, c) in enumerate(near)
    ]
