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
    "cosine_rank": "1 / its rank by meaning",
    "mass": "PageRank from what the question names, by its logarithm",
    "mass_rank": "1 / its rank by PageRank",
    "named": "its note is named in the question",
    "bridge_parent": "odds of the passage that leads to it",
    "bridge_rest": "share it holds of the words that the way to it leaves open",
    "bridge_cosine": "likeness in meaning to what the way to it leaves open",
    "bridge_own": "its note is about what both share",
}
