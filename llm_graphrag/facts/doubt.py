"""How much doubt is left that two entities, whose names are alike, are one.

A logistic model over a few signals: in which way the names are alike, whom both are joined with, what is said of them,
how many others the shorter name would fit as well. A doubt of ``THRESHOLD`` or less makes a suggestion, which a person
decides on.

``benchmarks/merges.py --fit`` prints the weights. They are fitted on half of the documents of Re-DocRED and on vaults
with planted names, drawn towards values that were set by hand, for most kinds are rare in both. Those that keep
homonyms apart (``rivals``, ``apart``, ``related``, ``homonym``, ``notes``) are by hand and fixed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .likeness import PARTS

__all__ = ["THRESHOLD", "WEIGHTS", "Signals", "contradict", "doubt", "terms"]

THRESHOLD = 0.2  # of doubt; pairs with more are not suggested


@dataclass(frozen=True, slots=True)
class Signals:
    """What speaks for and against two entities being one, besides ``kind``, in which way their names are alike."""

    kind: str
    neighbours: float = 0.0  # 0 to 1, Jaccard over what both are joined with, the rare counting more
    cosine: float | None = None  # of the vectors of their names
    rivals: int = 0  # other entities that the shorter name would fit as well
    typed: bool = False  # both have a type, the same
    together: bool = False  # written as 'Name (other name)' somewhere
    read_with: float = 0.0  # share of the documents with the rarer name that have the other too
    apart: bool = False  # attributes that have one value differ
    related: bool = False  # a sentence names them as the two ends of a fact
    notes: bool = False  # each has a note of its own


#: Weights of a logistic model: ``benchmarks/merges.py --fit`` prints them, and says where they come from.
WEIGHTS: Mapping[str, float] = {
    "alias": 2.5, "spelling": 3.51, "order": 3.51, "company": 3.01, "article": 2.39, "plural": 2.04, "middle": 2.57,
    "initials": 1.5, "acronym": 1.53, "slip": 1.6, "extra": -0.88, "typo": -1.15, "swapped": -1.03, "letters": -1.68,
    "surname": -1.28, "given": -2.99, "shared": -2.0, "homonym": -5.0, "neighbours": 3.05, "homonym_neighbours": 4.0,
    "cosine": 1.24, "rivals": -4.0, "typed": 1.07, "together": 3.01, "read_with": 2.28, "apart": -4.0, "related": -3.0,
    "notes": -2.0, "beside": -0.73,
}  # fmt: skip


def doubt(signals: Signals) -> float:
    """The doubt, from 0 to 1, that two entities are one."""
    weight = math.fsum(WEIGHTS.get(name, 0.0) * value for name, value in terms(signals).items())
    return round(1 / (1 + math.exp(min(weight, 700.0))), 4)


def terms(signals: Signals) -> dict[str, float]:
    """The signals as numbers, by the names of their weights.

    That a document has both names speaks for a short one, written instead of the whole, and against two whole ones.
    """
    return {
        signals.kind: 1.0,
        "neighbours": signals.neighbours,
        "homonym_neighbours": signals.neighbours if signals.kind == "homonym" else 0.0,
        "cosine": 0.0 if signals.cosine is None else signals.cosine - 0.5,
        "rivals": math.log1p(signals.rivals),
        "typed": float(signals.typed),
        "together": float(signals.together),
        "read_with": signals.read_with if signals.kind in PARTS else 0.0,
        "beside": signals.read_with if signals.kind in ("extra", "slip", "typo") else 0.0,
        "apart": float(signals.apart),
        "related": float(signals.related),
        "notes": float(signals.notes),
    }


def contradict(one: Mapping[str, frozenset[str]], other: Mapping[str, frozenset[str]]) -> bool:
    """Whether two entities have different values of an attribute that has one; ``1912`` agrees with ``1912-03-04``.

    >>> contradict({"born": frozenset(["1912"])}, {"born": frozenset(["1912-03-04"])})
    False
    >>> contradict({"born": frozenset(["1912"])}, {"born": frozenset(["1915"])})
    True
    """
    return any(
        not any(a.startswith(b) or b.startswith(a) for a in one[attribute] for b in other[attribute])
        for attribute in one.keys() & other.keys()
    )
