"""What a signal is worth: the one table that ranks all kinds of questions, and a second for files without vectors.

Every signal is a number from 0 to 1; a passage's score is their weighted sum. A question
that names something rare ("the director of Night Train") is best served by the graph, one
that names nothing by words and meaning, and most stand between: so every signal has two
weights, blended by how much the question names (``namedness``).

Provenance: fitted on the train halves of five question sets (2WikiMultihopQA, HotpotQA and
MuSiQue, whose questions need two to four passages; XQuAD and one of product documentation,
whose questions need one to three), every set weighing the same, with the vectors of the
bundled model, by ``benchmarks/retrieval.py --tune``. It maximises the likelihood of the
gold passages under a softmax over the candidates, no weight below 0. No validation
question was used. How the same weights do when a set is left out of the fit, and with all
titles blanked, stands in BENCHMARKS.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..graph.view import rarity
from .hits import Plan

__all__ = ["SIGNALS", "WITHOUT_VECTORS", "WITH_VECTORS", "Weights", "blend", "namedness", "weights_of"]

Weights = Mapping[str, tuple[float, float]]
"""signal -> its weight for a question that names nothing, and for one that names what stands in one passage only."""

#: What each signal says of a passage. Those of bridges are of the best way that leads to it.
SIGNALS = {
    "words": "full text (BM25), as a share of the best",
    "words_rank": "1 / its rank by full text",
    "coverage": "share of the question's words it holds, rare ones counting more",
    "cosine": "likeness in meaning to the question",
    "mass": "PageRank from what the question names, by its logarithm",
    "mass_rank": "1 / its rank by PageRank",
    "named": "its note is named in the question",
    "bridge": "the best way that leads to it, as a share of the best of all",
    "bridge_parent": "odds of the passage that leads to it",
    "bridge_new": "share of the question's words that it adds to that one's",
    "bridge_own": "its note is about what both share",
    "repeated": "passages of the same title before it",
}

WITH_VECTORS: dict[str, tuple[float, float]] = {
    "words": (1.07, 0.0),
    "words_rank": (2.42, 0.8),
    "coverage": (3.31, 0.0),
    "cosine": (13.18, 2.71),
    "mass": (0.0, 3.38),
    "mass_rank": (0.0, 0.94),
    "named": (2.17, 1.74),
    "bridge": (0.0, 1.0),
    "bridge_parent": (1.48, 0.8),
    "bridge_new": (0.03, 3.61),
    "bridge_own": (0.0, 1.61),
}
WITHOUT_VECTORS: dict[str, tuple[float, float]] = {
    name: weights for name, weights in WITH_VECTORS.items() if name != "cosine"
}


def weights_of(plan: Plan) -> Weights:
    """The table that a question is ranked by: a file may have no vectors."""
    return WITH_VECTORS if plan.meaning is not None else WITHOUT_VECTORS


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
