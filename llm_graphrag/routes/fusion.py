"""One ranking out of all routes, for every kind of question.

Each candidate passage has signals from 0 to about 1 (how well its words fit, how much
PageRank mass it holds, over which bridge it was reached …). Its score is their
weighted sum, with one small table of weights. Two rounds: the first ranking, of words
and PageRank alone, gives the parents whose bridges bring in what they lead to; the
ranking with those gives better parents, whose bridges reach passages three and four
steps away.

The weights were fitted on the train halves of five question sets (2WikiMultihopQA,
HotpotQA, MuSiQue, XQuAD and one of product documentation; every set weighing the
same) by ``benchmarks/retrieval.py --tune``, which maximises the likelihood of the
gold passages under a softmax over the candidates; what they reach on the validation
halves stands in BENCHMARKS.md. They were not fitted to each set: a question does not
say of which kind it is.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence

from .bridges import bridges
from .hits import Plan, Proposal
from .registry import run
from .terms import coverage

__all__ = ["CANDIDATES", "WEIGHTS", "Signals", "candidates", "first", "fuse", "parents_of", "weigh"]

Signals = dict[int, dict[str, float]]

DEPTH = 100  # proposals asked of each route
CANDIDATES = 40  # of them that words and PageRank may bring in by themselves
ROUNDS = 2
HEAD = 10  # of reciprocal ranks in the first ranking: small, since the head matters

WEIGHTS: dict[str, float] = {
    "words": 1.74,
    "words_rank": 1.53,
    "coverage": 1.22,
    "mass": 1.62,
    "mass_rank": 1.72,
    "named": 0.97,
    "bridge_best": 0.21,
    "bridge_parent": 1.54,
    "bridge_rest": 2.04,
    "bridge_own": 2.59,
}

IN_SCOPE = """
    SELECT c.id FROM json_each(:chunks) f CROSS JOIN kg_chunks c ON c.id = f.value
    WHERE c.document IN (SELECT value FROM json_each(:documents))
"""


def fuse(
    connection: sqlite3.Connection, plan: Plan, *, k: int = DEPTH, weights: Mapping[str, float] = WEIGHTS
) -> list[Proposal]:
    """Return the candidates, best first (equal scores by id), at least k if words find so many.

    Each carries all of its signals.
    """
    found = run(connection, plan, max(DEPTH, k))
    parents = first(found)
    ranked: list[Proposal] = []
    for _ in range(ROUNDS):
        ranked = weigh(candidates(connection, plan, found, parents, max(CANDIDATES, k)), weights)
        parents = parents_of(ranked)
    if plan.documents is not None:
        allowed = _in_scope(connection, [p.chunk for p in ranked], plan.documents)
        ranked = [p for p in ranked if p.chunk in allowed]
    return ranked


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
    best = proposals[0].score if proposals else 1.0
    signals: Signals = {p.chunk: {} for name in ("passages", "ppr") for p in found[name][:depth]}
    for p in proposals:
        signals.setdefault(p.chunk, {})["bridge_best"] = p.score / best if best > 0 else 0.0
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
