"""One ranking out of all routes, for every kind of question.

Each candidate passage has signals from 0 to 1 (how well its words fit, how near it is in
meaning, how much PageRank mass it holds, over which bridge it was reached …); its score
is their weighted sum (``routes.weights`` says what each is worth, and why).

Two rounds: the first ranking, of words, meaning and PageRank by their ranks alone, gives
the parents whose bridges bring in what they lead to; the ranking with those gives better
parents, some of them reached over a bridge themselves, whose bridges reach passages three
and four steps away.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .bridges import Explained, bridges
from .hits import Plan, Proposal, Proposals
from .involved import about
from .registry import in_scope, run
from .terms import coverage
from .weights import Weights, blend, namedness, weights_of

__all__ = ["Candidates", "Signals", "candidates", "first", "fuse", "parents_of", "weigh"]

Signals = dict[int, dict[str, float]]

DEPTH = 100  # proposals asked of each route
CANDIDATES = 40  # of them that words, meaning and PageRank may bring in by themselves
RANKED = ("passages", "vectors", "ppr")  # the routes that may
ROUNDS = 2
HEAD = 10  # of reciprocal ranks in the first ranking: small, since the head matters


@dataclass(frozen=True, slots=True)
class Candidates:
    """The passages worth ranking, and what of the question the way to those behind a bridge explains."""

    signals: Signals
    explained: Explained


def fuse(connection: sqlite3.Connection, plan: Plan, *, k: int = DEPTH, weights: Weights | None = None) -> Proposals:
    """Return the candidates, best first (equal scores by id), at least k if words find so many.

    Each carries all of its signals; the notes are those of the routes. A type filter holds for what is reached over
    bridges too.
    """
    found = run(connection, plan, max(DEPTH, k))
    weight = blend(weights or weights_of(plan), namedness(plan))
    parents, explained = first(found), Explained()
    ranked: list[Proposal] = []
    for _ in range(ROUNDS):
        among = candidates(connection, plan, found, parents, explained, max(CANDIDATES, k))
        ranked, explained = weigh(among.signals, weight), among.explained
        parents = parents_of(ranked)
    if plan.documents is not None:
        allowed = in_scope(connection, [p.chunk for p in ranked], plan.documents)
        ranked = [p for p in ranked if p.chunk in allowed]
    notes = tuple(note for proposals in found.values() for note in proposals.notes)
    if plan.involved is not None and not notes:
        allowed = about(connection, [p.chunk for p in ranked], plan.involved)
        ranked = [p for p in ranked if p.chunk in allowed]
    return Proposals(ranked, notes)


def first(found: Mapping[str, Sequence[Proposal]]) -> dict[int, float]:
    """The ranking before there are any bridges: reciprocal ranks in the routes, summed, the best scaled to 1."""
    scores: dict[int, float] = {}
    for name in RANKED:
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
    explained: Explained,
    depth: int = CANDIDATES,
) -> Candidates:
    """Return the passages worth ranking with their signals: the ``depth`` best of each route that ranks by itself, and
    what the parents lead to."""
    proposals, ways = bridges(connection, plan, parents, explained)
    signals: Signals = {p.chunk: {} for name in RANKED for p in found[name][:depth]}
    signals.update((p.chunk, {}) for p in proposals)
    for p in (p for route in (*found.values(), proposals) for p in route):
        if p.chunk in signals:
            signals[p.chunk].update(p.signals)
    for chunk, of in signals.items():
        of["coverage"] = coverage(plan.terms, chunk)
    if plan.meaning is not None:
        for chunk, cosine in plan.meaning.cosines(plan.question, list(signals)).items():
            signals[chunk]["cosine"] = cosine
    return Candidates(signals, ways)


def weigh(signals: Signals, weights: Mapping[str, float]) -> list[Proposal]:
    """Return the candidates by the weighted sum of their signals, best first."""
    ranked = []
    for chunk, of in signals.items():
        score = math.fsum(weight * of.get(name, 0.0) for name, weight in weights.items())
        ranked.append(Proposal(chunk, score, of))
    return sorted(ranked, key=lambda p: (-p.score, p.chunk))
