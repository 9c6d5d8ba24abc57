"""Route ``ppr``: personalised PageRank from what the question names.

Mass starts on the linked entities, rare and well-linked ones getting more, and a
small share on the best passages by words; it flows over mentions, notes' own names
and triples (``graph.view``), and the passages where it gathers are the answer to
questions that need two or three notes read together. Damping 0.5, as HippoRAG found.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence

from ..graph.rank import personalised_pagerank
from ..graph.view import GraphView
from .hits import Plan, Proposal

__all__ = ["ppr", "seeds"]

DAMPING = 0.5
EPSILON = 1e-5
WORDS_SHARE = 0.1  # of the mass, on the best passages by words; all of it if nothing is linked
WORDS_SEEDS = 20
FLOOR = 12.0  # natural logarithms below the best that count as nothing


def seeds(plan: Plan, words: Sequence[Proposal]) -> dict[int, float]:
    """Return node -> weight: entities negated by rarity and link score, chunks by their full-text score."""
    weights: dict[int, float] = {}
    for mention in plan.mentions:
        for place, c in enumerate(mention.candidates):
            weight = c.score / math.sqrt(max(1, c.chunks)) / (1 + place)
            weights[-c.entity] = max(weights.get(-c.entity, 0.0), weight)
    named = sum(weights.values())
    top = words[:WORDS_SEEDS]
    written = sum(p.score for p in top)
    share = WORDS_SHARE if named else 1.0
    weights = {node: weight * (1 - share) / named for node, weight in weights.items()}
    for proposal in top:
        if written > 0:
            weights[proposal.chunk] = share * proposal.score / written
    return weights


def ppr(
    connection: sqlite3.Connection, plan: Plan, k: int, found: Mapping[str, Sequence[Proposal]] | None = None
) -> list[Proposal]:
    """Return the k chunks with most mass; signals: mass (1 at the best, 0 at e^-12 of it), mass_rank."""
    start = seeds(plan, (found or {}).get("passages", ()))
    if not start:
        return []
    view = GraphView(connection, plan.total, EPSILON)
    mass = personalised_pagerank(start, view.neighbours, damping=DAMPING, epsilon=EPSILON)
    ranked = sorted(((m, node) for node, m in mass.items() if node > 0), key=lambda x: (-x[0], x[1]))[:k]
    proposals = []
    for rank, (m, chunk) in enumerate(ranked):
        log = math.log(m / ranked[0][0])
        proposals.append(Proposal(chunk, m, {"mass": max(0.0, 1 + log / FLOOR), "mass_rank": 1 / (1 + rank)}))
    return proposals
