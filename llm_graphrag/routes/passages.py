"""Route ``passages``: full text, always on.

BM25 over title, heading and text, the title weighing most. A chunk also scores by
the share of the question's words that it holds at all (``coverage``), which BM25's
sum over words does not say. Whatever a person types is safe: the words are quoted
by ``text.fts``; CJK words are pairs there as in the index.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from ..text.fts import fts_query
from .hits import Plan, Proposal
from .terms import coverage, telling_terms

__all__ = ["passages"]

TITLE, HEADING, TEXT = 3.0, 1.0, 1.0  # column weights of bm25

RANKED = """
    SELECT f.rowid AS chunk, -bm25(kg_chunks_fts, :title, :heading, :text) AS score
    FROM kg_chunks_fts f
    WHERE kg_chunks_fts MATCH :query
    ORDER BY score DESC, f.rowid
    LIMIT :k
"""
RANKED_IN_SCOPE = """
    SELECT f.rowid AS chunk, -bm25(kg_chunks_fts, :title, :heading, :text) AS score
    FROM kg_chunks_fts f CROSS JOIN kg_chunks c ON c.id = f.rowid
    WHERE kg_chunks_fts MATCH :query AND c.document IN (SELECT value FROM json_each(:documents))
    ORDER BY score DESC, f.rowid
    LIMIT :k
"""


def passages(
    connection: sqlite3.Connection, plan: Plan, k: int, found: Mapping[str, Sequence[Proposal]] | None = None
) -> list[Proposal]:
    """Return the k best chunks by full text; signals: words (relative to the best), words_rank, coverage."""
    query = plan.match or fts_query(" ".join(telling_terms(plan.question)))
    if query is None:
        return []
    values: dict[str, object] = {"query": query, "k": k, "title": TITLE, "heading": HEADING, "text": TEXT}
    if plan.documents is None:
        rows = connection.execute(RANKED, values).fetchall()
    else:
        values["documents"] = json.dumps(sorted(plan.documents))
        rows = connection.execute(RANKED_IN_SCOPE, values).fetchall()
    best = max((row[1] for row in rows), default=0.0)
    proposals = []
    for rank, (chunk, score) in enumerate(rows):
        signals = {
            "words": score / best if best > 0 else 1.0,
            "words_rank": 1 / (1 + rank),
            "coverage": coverage(plan.terms, chunk),
        }
        proposals.append(Proposal(chunk, score, signals))
    return proposals
