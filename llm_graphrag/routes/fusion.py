"""One ranking out of all routes, for every kind of question.

Each candidate passage has signals from 0 to 1 (how well its words fit, how much
PageRank mass it holds, over which bridge it was reached …); its score is their
weighted sum. A question that names something rare ("the director of Night Train") is
best served by the graph, one that names nothing by its words, and most stand between:
so every signal has two weights, blended by how much the question names (``namedness``).

Two rounds: the first ranking, of words and PageRank alone, gives the parents whose
bridges bring in what they lead to; the ranking with those gives better parents, whose
bridges reach passages three and four steps away.

The weights were fitted on the train halves of five question sets (2WikiMultihopQA,
HotpotQA, MuSiQue, XQuAD and one of product documentation; every set weighing the
same) by ``benchmarks/retrieval.py --tune``, which maximises the likelihood of the
gold passages under a softmax over the candidates, no weight below 0. They are one table
for all sets: a question does not say of which kind it is.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence

from ..graph.view import rarity
from .bridges import bridges
from .hits import Plan, Proposal
from .registry import run
from .terms import coverage

__all__ = ["WEIGHTS", "Signals", "blend", "candidates", "first", "fuse", "namedness", "parents_of", "weigh"]

Signals = dict[int, dict[str, float]]
Weights = Mapping[str, tuple[float, float]]

DEPTH = 100  # proposals asked of each route
CANDIDATES = 40  # of them that words and PageRank may bring in by themselves
ROUNDS = 2
HEAD = 10  # of reciprocal ranks in the first ranking: small, since the head matters

#: signal -> its weight for a question that names nothing, and for one that names something that stands in one passage
WEIGHTS: dict[str, tuple[float, float]] = {
    "words": (3.53, 0.18),  # BM25, as a share of the best
    "words_rank": (2.1, 1.09),  # 1 / its rank by BM25
    "coverage": (4.76, 1.02),  # share of the question's words it holds, by rarity
    "mass": (0.0, 3.65),  # PageRank, by its logarithm
    "mass_rank": (0.0, 0.94),
    "named": (4.39, 1.1),  # its note is named
    "bridge_parent": (1.04, 1.43),  # odds of the passage that leads to it
    "bridge_rest": (0.25, 1.34),  # share it holds of the words which that one leaves open
    "bridge_own": (0.0, 1.8),  # its note is about what both share
}

IN_SCOPE = """
    SELECT c.id FROM json_each(:chunks) f CROSS JOIN kg_chunks c ON c.id = f.value
    WHERE c.document IN (SELECT value FROM json_each(:documents))
"""


def fuse(connection: sqlite3.Connection, plan: Plan, *, k: int = DEPTH, weights: Weights = WEIGHTS) -> list[Proposal]:
    """Return the candidates, best first (equal scores by id), at least k if words find so many.

    Each carries all of its signals.
    """
    found = run(connection, plan, max(DEPTH, k))
    parents = first(found)
    weight = blend(weights, namedness(plan))
    ranked: list[Proposal] = []
    for _ in range(ROUNDS):
        ranked = weigh(candidates(connection, plan, found, parents, max(CANDIDATES, k)), weight)
        parents = parents_of(ranked)
    if plan.documents is not None:
        allowed = _in_scope(connection, [p.chunk for p in ranked], plan.documents)
        ranked = [p for p in ranked if p.chunk in allowed]
    return ranked


def namedness(plan: Plan) -> float:
    """How much a question names, 0 to 1: the rarity of the rarest linked entity, by how surely it is meant.

    1 is an entity that stands in one passage only, and is surely meant.
    """
    total = max(1, plan.total)
    linked = (c for mention in plan.mentions for c in mention.candidates if c.chunks or c.note)
    return max((c.score * rarity(c.chunks, total) / rarity(1, total) for c in linked), default=0.0)


def blend(weights: Weights, named: float) -> dict[str, float]:
    """The weights of one question."""
    return {signal: (1 - named) * open_ + named * full for signal, (open_, full) in weights.items()}


def first(found: Mapping[str, Sequence[Proposal]]) -> dict[int, float]:
    """The ranking before there are any bridges: reciprocal ranks of words and PageRank, the best scaled to 1."""
    scores: dict[int, float] = {}
    for name in ("passages", "ppr"):
        for rank, proposal in enumerate(found[name]):
            scores[proposal.chunk] = scores.get(proposal.chunk, 0.0) + 1 / (HEAD + rank)
    best = max(scores.values(), default=1.0)
    return {chunk: score / best for chunk, score in scores.items()}


def parents_of(ranked: Sequence[Proposal]) -> dict[int, float]:
    """The weights of passages as parents of bridges: their odds against the best one."""
    return {p.chunk: math.exp(p.score - ranked[0].score) for p in ranked[:CANDIDATES]}


def candidates(
    connection: sqlite3.Connection,
    plan: Plan,
    found: Mapping[str, Sequence[Proposal]],
    parents: Mapping[int, float],
    depth: int = CANDIDATES,
) -> Signals:
    """Return chunk -> signal -> value for the passages worth ranking: the ``depth`` best of words and of PageRank, and
    what the parents lead to."""
    proposals = bridges(connection, plan, parents)
    signals: Signals = {p.chunk: {} for name in ("passages", "ppr") for p in found[name][:depth]}
    signals.update((p.chunk, {}) for p in proposals)
    for p in (p for route in (*found.values(), proposals) for p in route):
        if p.chunk in signals:
            signals[p.chunk].update(p.signals)
    for chunk, of in signals.items():
        of["coverage"] = coverage(plan.terms, chunk)
    return signals


def weigh(signals: Signals, weights: Mapping[str, float]) -> list[Proposal]:
    """Return the candidates by the weighted sum of their signals, best first."""
    ranked = []
    for chunk, of in signals.items():
        score = math.fsum(weight * of.get(name, 0.0) for name, weight in weights.items())
        ranked.append(Proposal(chunk, score, of))
    return sorted(ranked, key=lambda p: (-p.score, p.chunk))


def _in_scope(connection: sqlite3.Connection, chunks: Sequence[int], documents: frozenset[int]) -> set[int]:
    values = {"chunks": json.dumps(chunks), "documents": json.dumps(sorted(documents))}
    return {row[0] for row in connection.execute(IN_SCOPE, values)}
