"""Fitting the weights of routes/weights.py on the train halves of question sets: used by ``retrieval.py --tune``.

The weights that rank are those that chose the parents of bridges, so fitting goes in rounds: candidates by the weights
so far, then new weights. ``out_of_sample`` tells how much of the result is memory: weights fitted without a set, or
without a fifth of the questions of all sets, rank what they have not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from question_sets import Set, mean, score

from llm_graphrag.routes import fusion
from llm_graphrag.routes.hits import Plan, Proposal
from llm_graphrag.routes.registry import run
from llm_graphrag.routes.search import REPEATED, spread
from llm_graphrag.routes.weights import Weights, blend, namedness

ROUNDS = 2
DECAY = 3e-2  # chosen by folds of the train halves
FOLDS = 5


@dataclass(frozen=True)
class Example:
    """The candidates of a question; ``gold`` is chunk -> number of its gold passage, -1 if it is none."""

    of: Set
    question: dict[str, Any]
    named: float
    signals: fusion.Signals
    gold: dict[int, int]

    @property
    def set(self) -> str:
        return self.of.name


@dataclass(frozen=True)
class _Begun:
    """A question before any weights: what the routes found, and the candidates of the first ranking."""

    of: Set
    question: dict[str, Any]
    plan: Plan
    found: dict[str, list[Proposal]]
    start: fusion.Candidates


def begin(sets: Sequence[Set], vectors: bool, split: str = "train") -> list[_Begun]:
    begun = []
    for of in sets:
        for question in of.part(split):
            plan = of.plan(question["question"], vectors)
            found = run(of.kb.connection, plan, fusion.DEPTH)
            start = fusion.candidates(of.kb.connection, plan, found, fusion.first(found), {})
            begun.append(_Begun(of, question, plan, found, start))
    return begun


def examples(begun: Sequence[_Begun], weights: Weights) -> list[Example]:
    """The candidates of the second round, as ``fusion.fuse`` has them under these weights."""
    made = []
    for b in begun:
        named = namedness(b.plan)
        parents = fusion.parents_of(fusion.weigh(b.start.signals, blend(weights, named)))
        among = fusion.candidates(b.of.kb.connection, b.plan, b.found, parents, b.start.explained)
        made.append(_example(b, named, among.signals))
    return made


def _example(b: _Begun, named: float, signals: fusion.Signals) -> Example:
    gold = {passage: place for place, passage in enumerate(dict.fromkeys(b.question["gold_ids"]))}
    return Example(b.of, b.question, named, signals, {c: gold.get(b.of.passage_of[c], -1) for c in signals})


def tune(begun: Sequence[_Begun], names: Sequence[str], say: Callable[[str], None]) -> dict[str, tuple[float, float]]:
    """Fit on the train halves; every set weighs the same."""
    weights = fit([_example(b, namedness(b.plan), b.start.signals) for b in begun if _train(b.question)], names)
    for number in range(ROUNDS):
        say(f"round {number + 1}: {rounded(weights)}")
        weights = fit(examples([b for b in begun if _train(b.question)], weights), names)
    return rounded(weights)


def rounded(weights: Weights) -> dict[str, tuple[float, float]]:
    return {name: (round(a, 2), round(b, 2)) for name, (a, b) in weights.items()}


def _train(question: Mapping[str, Any]) -> bool:
    return bool(question["split"] == "train")


def out_of_sample(made: Sequence[Example], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Set -> kind -> recall@5: 'other sets' (validation questions, weights of the other sets' train halves) and 'folds'
    (all questions, weights of all questions but those of the fold). The candidates are those of the weights shipped."""
    result: dict[str, dict[str, float]] = {}
    sets = list(dict.fromkeys(e.set for e in made))
    for name in sets:
        other = fit([e for e in made if e.set != name and _train(e.question)], names)
        unseen = [e for e in made if e.set == name and not _train(e.question)]
        result[name] = {"other sets": mean([recall(e, other) for e in unseen])}
    seen: dict[str, list[float]] = {name: [] for name in sets}
    for fold in range(FOLDS):
        weights = fit([e for number, e in enumerate(made) if number % FOLDS != fold], names)
        for e in made[fold::FOLDS]:
            seen[e.set].append(recall(e, weights))
    for name in sets:
        result[name]["folds"] = mean(seen[name])
    return result


def recall(e: Example, weights: Weights) -> float:
    ranked = fusion.weigh(e.signals, blend(weights, e.named))
    return score(e.question["gold_ids"], e.of.passages(spread(e.of.kb.connection, ranked, REPEATED)))["recall@5"]


def fit(made: Sequence[Example], names: Sequence[str], decay: float = DECAY) -> dict[str, tuple[float, float]]:
    """Return the two weights of every signal.

    Maximises the mean log likelihood of the gold passages (of each its best chunk) under a softmax over the candidates
    of a question, no weight below 0; every set weighs the same.
    """
    import numpy as np
    from scipy.optimize import minimize

    made = [e for e in made if any(g >= 0 for g in e.gold.values())]
    per_set = {name: sum(e.set == name for e in made) for name in {e.set for e in made}}
    plain = np.array([[s.get(n, 0.0) for n in names] for e in made for s in e.signals.values()])
    gold = np.array([e.gold[c] for e in made for c in e.signals])
    question = np.repeat(np.arange(len(made)), [len(e.signals) for e in made])
    named = np.array([e.named for e in made])[question][:, None]
    x = np.hstack([(1 - named) * plain, named * plain])
    scale = x.std(axis=0) + 1e-9
    x = x / scale
    weight = np.array([1 / per_set[e.set] / len(per_set) for e in made])
    rows = np.flatnonzero(gold >= 0)
    wanted, group = np.unique(question[rows] * 1000 + gold[rows], return_inverse=True)
    share = weight[wanted // 1000] / np.bincount(wanted // 1000, minlength=len(made))[wanted // 1000]
    begins = np.flatnonzero(np.diff(question, prepend=-1))

    def loss(v: Any) -> tuple[float, Any]:
        z = x @ v
        e = np.exp(z - np.maximum.reduceat(z, begins)[question])
        p = e / np.add.reduceat(e, begins)[question]
        likely = np.bincount(group, p[rows], minlength=len(wanted)) + 1e-300
        pull = np.zeros(len(p))
        pull[rows] = share[group] * p[rows] / likely[group]
        return -(share * np.log(likely)).sum() + decay * v @ v, x.T @ (weight[question] * p - pull) + 2 * decay * v

    start = np.zeros(2 * len(names))
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start)).x / scale
    return {name: (float(best[i]), float(best[len(names) + i])) for i, name in enumerate(names)}
