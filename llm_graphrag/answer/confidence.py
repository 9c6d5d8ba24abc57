"""Whether the passages found are likely to hold the answer: one number, 0 to 1, out of a few that can be read.

The ranking always has a best passage, also for a question about what no note speaks of.
What gives such a question away is plain: words and names that stand nowhere, or not
together; a best passage that is far in meaning and weak in score. These are weighed by
a small logistic table, and an answer below ``Table.threshold`` is no answer.

The tables were fitted by ``benchmarks/abstain.py --tune`` on the train halves: questions
asked to the notes that answer them, against questions of one set asked to the notes of
another, over five large sets and many small vaults cut out of them. It cannot tell that
notes about the right thing leave out the detail that is asked for: that takes reading.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..routes.hits import Plan, Proposal, Term
from ..routes.terms import coverage, telling_terms

__all__ = ["TOP", "WITHOUT_VECTORS", "WITH_VECTORS", "Table", "confidence", "features", "table_for"]

TOP = 5  # passages looked at


@dataclass(frozen=True, slots=True)
class Table:
    """A logistic regression: log odds = intercept + sum of weight x feature."""

    intercept: float
    weights: Mapping[str, float]
    threshold: float  # of the probability


WITH_VECTORS = Table(0.0, {}, 0.5)
WITHOUT_VECTORS = Table(0.0, {}, 0.5)


def table_for(plan: Plan) -> Table:
    """The table that a question is judged by: a file may have no vectors."""
    return WITH_VECTORS if plan.meaning is not None else WITHOUT_VECTORS


def features(plan: Plan, ranked: Sequence[Proposal]) -> dict[str, float]:
    """What is known of a ranking, each from 0 to 1.

    held: share of the question's words, by rarity, in the best passage for them; together: in the first passages
    taken together; nowhere: share that no passage has at all; names_held: share of the names that stand in one of the
    first passages; names_unknown: share that nothing here is called; near: the best cosine; score: the best fused score.
    """
    top = ranked[:TOP]
    chunks = {p.chunk for p in top}
    total = math.fsum(t.rarity for t in plan.terms)
    known: dict[str, Term] = {t.text.lower(): t for t in plan.terms}
    names = [[known[w.lower()] for w in telling_terms(m.text) if w.lower() in known] for m in plan.mentions]
    held = sum(any(all(_has(t, chunk) for t in name) for chunk in chunks) for name in names)
    return {
        "held": max((coverage(plan.terms, chunk) for chunk in chunks), default=0.0),
        "together": _share(plan, total, lambda t: bool(t.chunks & chunks)),
        "nowhere": _share(plan, total, lambda t: not t.chunks),
        "names_held": held / len(names) if names else 0.0,
        "names_missing": 1 - held / len(names) if names else 0.0,
        "names_unknown": sum(not m.candidates for m in plan.mentions) / len(names) if names else 0.0,
        "near": max((p.signals.get("cosine", 0.0) for p in top), default=0.0),
        "score": max((p.score for p in top), default=0.0),
    }
