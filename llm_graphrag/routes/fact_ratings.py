"""How well a fact, or a relation, fits a question: by its words, and by the bundled vectors.

The vectors are those that come with the package, whatever model made those of the file, so that
rating costs no call of a model; without vectors in the plan words alone count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..graph.relation_words import likeness
from ..graph.relation_words import question as taken_apart
from .hits import Plan
from .words import rate

__all__ = ["rate_facts", "rate_relations"]


def rate_facts(plan: Plan, texts: Sequence[str]) -> list[float]:
    """Return for each text how well it fits, from 0 to 1: the mean of words and meaning."""
    total = math.fsum(term.rarity + 0.01 for term in plan.terms)
    by_words = [min(1.0, rate(text, plan.terms) / total) if total else 0.0 for text in texts]
    if plan.meaning is None or not texts:
        return by_words
    from ..static_model.encoder import load

    asked, *vectors = load().encode([plan.question, *texts])
    cosines = [max(0.0, float(asked @ vector)) for vector in vectors]
    return [min(1.0, (words + cosine) / 2) for words, cosine in zip(by_words, cosines, strict=True)]


def rate_relations(plan: Plan, relations: Sequence[str]) -> dict[str, float]:
    """Return relation -> how much the question speaks of it; 0 if no word does."""
    names = [relation.replace("_", " ") for relation in relations]
    if plan.meaning is None:
        return dict(zip(relations, (rate(name, plan.terms) for name in names), strict=True))
    asked = taken_apart(plan.question).words
    words = [taken_apart(name).words for name in names]
    return {
        relation: math.fsum(likeness(word, of) for word in asked) for relation, of in zip(relations, words, strict=True)
    }
