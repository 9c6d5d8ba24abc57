"""Whether the passages found are likely to hold the answer: one number, 0 to 1, out of a few that can be read.

The ranking always has a best passage, also for a question about what no note speaks of.
What gives such a question away is plain: words and names that stand nowhere, or not
together; a best passage that is far in meaning and weak in score. These are weighed by
a small logistic table, and an answer below its ``threshold`` is none.

The tables were fitted by ``benchmarks/abstain.py --tune`` on the train halves of the five
question sets: questions asked to the notes that answer them, against questions of one set
asked to the notes of another, in the large sets and in many small vaults cut out of them.
The threshold leans to showing: it keeps 96 of 100 answerable train questions, so that a
question worded unlike its notes is still answered, and what no note speaks of is not. How
many was chosen with the validation curve and the example vault in view. It cannot tell that
notes about the right thing leave out the detail that is asked for: that takes reading.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ..routes.hits import Plan, Proposal, Term
from ..routes.terms import coverage, telling_terms
from ..routes.weights import blend, namedness, weights_of
from ..text.cjk import CJK_RUN

__all__ = ["FEATURES", "TOP", "WITHOUT_VECTORS", "WITH_VECTORS", "Table", "confidence", "features", "table_for"]

TOP = 5  # passages looked at

_GRAMMAR = re.compile("[\u3041-\u309f何誰谁什么哪几怎吗呢的了是]")  # hiragana, and what asks or joins

#: What each number says, all from 0 to 1.
FEATURES = {
    "held": "share of the question's words, rare ones counting more, in the first passage that has most of them",
    "nowhere": "share that no passage of the file has",
    "together": "share of the others in the first passages taken together",
    "names_missing": "share of the question's names that do not stand in one of the first passages",
    "names_unknown": "share of its names that nothing here is called",
    "near": "likeness in meaning of the nearest passage",
    "score": "the best fused score, as a share of what a perfect passage would get",
    "size": "how many passages there are: among many, some are near by chance (log10 / 6)",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A logistic regression: log odds = intercept + sum of weight x feature."""

    intercept: float
    weights: Mapping[str, float]
    threshold: float  # of the probability


WITH_VECTORS = Table(
    -3.89,
    {
        "held": 3.08,
        "together": 1.95,
        "nowhere": -2.19,
        "names_missing": -1.69,
        "names_unknown": -1.12,
        "near": 3.03,
        "score": 3.21,
        "size": -1.89,
    },
    0.527,
)
WITHOUT_VECTORS = Table(
    -2.36,
    {
        "held": 4.04,
        "together": 1.69,
        "nowhere": -2.55,
        "names_missing": -1.75,
        "names_unknown": -1.42,
        "score": 2.55,
        "size": -2.08,
    },
    0.499,
)


def table_for(plan: Plan) -> Table:
    """The table that a question is judged by: a file may have no vectors."""
    return WITH_VECTORS if plan.meaning is not None else WITHOUT_VECTORS


def confidence(table: Table, found: Mapping[str, float]) -> float:
    """The probability that the notes hold the answer.

    >>> confidence(Table(-1.0, {"held": 2.0}, 0.5), {"held": 0.5})
    0.5
    """
    odds = table.intercept + math.fsum(weight * found[name] for name, weight in table.weights.items())
    return 1 / (1 + math.exp(-odds))


def features(plan: Plan, ranked: Sequence[Proposal]) -> dict[str, float]:
    """What is known of a question and its ranking; the keys are those of ``FEATURES``."""
    top = ranked[:TOP]
    chunks = [p.chunk for p in top]
    terms, names = _telling(plan), _names(plan)
    known = [term for term in terms if term.chunks]
    perfect = math.fsum(blend(weights_of(plan), namedness(plan)).values())
    return {
        "held": max((coverage(terms, chunk) for chunk in chunks), default=0.0),
        "together": _share(known, lambda term: not term.chunks.isdisjoint(chunks)),
        "nowhere": _share(terms, lambda term: not term.chunks),
        "names_missing": _mean([not any(_holds(chunk, name) for chunk in chunks) for name in names]),
        "names_unknown": _mean([not m.candidates for m in plan.mentions]),
        "near": max((p.signals.get("cosine", 0.0) for p in top), default=0.0),
        "score": min(1.0, max((p.score for p in top), default=0.0) / perfect),
        "size": min(1.0, math.log10(max(1, plan.total)) / 6),
    }


def _names(plan: Plan) -> list[list[Term]]:
    """The telling words of each name in the question."""
    known = {term.text.lower(): term for term in plan.terms}
    named = ([known[w.lower()] for w in telling_terms(m.text) if w.lower() in known] for m in plan.mentions)
    return [name for name in named if name]


def _holds(chunk: int, name: Collection[Term]) -> bool:
    """Whether a passage has all words of a name; a word too common to be listed is taken to be there."""
    return all(chunk in term.chunks or term.rarity == 0 for term in name)


def _telling(plan: Plan) -> list[Term]:
    """The words of the question without pairs of CJK characters that only grammar puts side by side."""
    telling = [term for term in plan.terms if not (CJK_RUN.match(term.text) and _GRAMMAR.search(term.text))]
    return telling or list(plan.terms)


def _share(terms: Collection[Term], counts: Callable[[Term], bool]) -> float:
    """The share of words, by rarity, that meet a condition."""
    total = math.fsum(term.rarity for term in terms)
    return math.fsum(term.rarity for term in terms if counts(term)) / total if total > 0 else 0.0


def _mean(values: Collection[bool]) -> float:
    return sum(values) / len(values) if values else 0.0
