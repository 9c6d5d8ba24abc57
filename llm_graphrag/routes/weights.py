"""What a signal is worth: the one table that ranks all kinds of questions, and a second for files without vectors.

Every signal is a number from 0 to 1; a passage's score is their weighted sum. A question
that names something rare ("the director of Night Train") is best served by the graph, one
that names nothing by words and meaning, and most stand between: so every signal has two
weights, blended by how much the question names (``namedness``).

Provenance: fitted on the train halves of five question sets (2WikiMultihopQA, HotpotQA and
MuSiQue, whose questions need two to four passages; XQuAD and one of product documentation,
whose questions need one to four), every set weighing the same, with the vectors of the
bundled model, by ``benchmarks/retrieval.py --tune``. It maximises the likelihood of the
gold passages under a softmax over the candidates, no weight below 0; how strongly weights
are held small was chosen by folds of the train halves. No validation question was fitted
on; validation figures were in view when signals that added nothing were left out. How the
same weights do when a set is left out of the fit, and with all titles blanked, is what
``--unseen`` and ``--blank`` of that script print.
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
    "asked": "a row of it states what the question asks of what it names",
    "repeated": "passages of the same title before it",
}

WITH_VECTORS: dict[str, tuple[float, float]] = {
    "words": (1.6, 0.1),
    "words_rank": (2.59, 1.16),
    "coverage": (2.13, 0.0),
    "cosine": (9.42, 2.26),
    "mass": (0.0, 2.95),
    "mass_rank": (0.0, 1.1),
    "named": (2.71, 1.57),
    "bridge": (0.0, 1.37),
    "bridge_parent": (1.49, 0.54),
    "bridge_new": (2.56, 3.29),
    "bridge_own": (0.0, 1.39),
}
WITHOUT_VECTORS: dict[str, tuple[float, float]] = {
    "words": (3.74, 0.69),
    "words_rank": (2.1, 1.17),
    "coverage": (3.8, 0.29),
    "mass": (0.0, 3.06),
    "mass_rank": (0.0, 1.01),
    "named": (3.83, 1.55),
    "bridge": (0.0, 0.81),
    "bridge_parent": (1.09, 1.09),
    "bridge_new": (1.25, 3.22),
    "bridge_own": (0.0, 1.5),
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
