"""How much a proposal weighs: pure rules over the places that asked for it.

Evidence of one document counts once, by its strongest place; documents are taken to be
independent, so confidence is 1 − Π(1 − cᵢ). The gate lets through what is confident and
supported enough; the rest is kept, muted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

__all__ = ["MUTED", "OPEN", "Gate", "Weight", "weigh"]

OPEN, MUTED = "open", "muted"
MOST_CONFIDENT = 0.99
DIGITS = 12  # what is left of a confidence: fewer would carry it over a limit, more would keep it below one it meets


@dataclass(frozen=True, slots=True)
class Gate:
    """What reaches review: ``min_confidence`` is μ of Youtu-GraphRAG (arXiv 2508.19855, Eq. 3)."""

    min_confidence: float = 0.8
    min_support: int = 2

    def status(self, weight: Weight) -> str:
        """``open`` at or above both limits, else ``muted``.

        >>> Gate().status(Weight(0.8, 2)), Gate().status(Weight(0.79, 5)), Gate().status(Weight(0.95, 1))
        ('open', 'muted', 'muted')
        """
        passes = weight.confidence >= self.min_confidence and weight.support >= self.min_support
        return OPEN if passes else MUTED


@dataclass(frozen=True, slots=True)
class Weight:
    confidence: float  # 0 to MOST_CONFIDENT
    support: int  # documents


def weigh(evidence: Iterable[tuple[int, float]]) -> Weight:
    """Weigh (document, confidence) pairs.

    >>> weigh([(1, 0.5), (1, 0.4), (2, 0.6)])
    Weight(confidence=0.8, support=2)
    """
    best: dict[int, float] = {}
    for document, confidence in evidence:
        best[document] = max(best.get(document, 0.0), min(max(confidence, 0.0), 1.0))
    together = 1 - prod(1 - confidence for confidence in best.values())
    return Weight(round(min(together, MOST_CONFIDENT), DIGITS), len(best))
