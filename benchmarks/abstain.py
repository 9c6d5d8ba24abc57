"""How well ``ask`` knows that the notes do not hold an answer: the curve of abstaining rightly against wrongly.

    python benchmarks/abstain.py --data FOLDER        validation questions, by the shipped tables
    python benchmarks/abstain.py --tune               fit the tables of answer/confidence.py on the train halves first

Answerable are the questions of a set asked to its own notes (OWN drawn at most); unanswerable those of the other sets
asked to the same notes (FOREIGN drawn from each). As notes are few, VAULTS vaults of VAULT_NOTES notes are cut out of
every set: the passages of some questions, filled up with others; there some unanswerable ones come from the same set.
false abstain: share of answerable questions that are not answered; correct abstain: share of unanswerable ones.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from question_sets import SETS, Set, build, load, mean, note, read_jsonl
from report import table, write_section

from llm_graphrag.answer.confidence import (
    FEATURES,
    TOP,
    WITH_VECTORS,
    WITHOUT_VECTORS,
    Table,
    confidence,
    features,
)
from llm_graphrag.index.vectors import open_vectors
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes.search import rank

OWN, FOREIGN = 100, 15
VAULTS, VAULT_NOTES, VAULT_QUESTIONS = 8, 40, 6
KEPT = 0.96  # of the answerable train questions: what the threshold is set for
DECAY = 1e-3
#: A feature can only speak for an answer, or only against one.
AGAINST = {"nowhere", "names_missing", "names_unknown", "size"}


@dataclass(frozen=True)
class Case:
    """A question asked to some notes, with vectors and without."""

    pool: str
    answerable: bool
    found: tuple[dict[str, float], dict[str, float]]


def ask(of: Set, pool: str, question: str, answerable: bool) -> Case:
    plans = [of.plan(question, vectors) for vectors in (True, False)]
    with_, without = (features(plan, rank(of.kb.connection, plan, TOP)) for plan in plans)
    return Case(pool, answerable, (with_, without))


def large(sets: Sequence[Set], split: str) -> Iterator[Case]:
    draw = random.Random(0)
    for of in sets:
        own = of.part(split)
        for question in draw.sample(own, min(OWN, len(own))):
            yield ask(of, of.name, question["question"], True)
        for other in sets:
            if other.name != of.name:
                foreign = other.part(split)
                for question in draw.sample(foreign, min(FOREIGN, len(foreign))):
                    yield ask(of, of.name, question["question"], False)


def small(data: Path, sets: Sequence[Set], split: str) -> Iterator[Case]:
    """Many small vaults: each is one knowledge base."""
    draw = random.Random(1)
    for of in sets:
        rows = {row["id"]: row for row in read_jsonl(data / of.name / "passages.jsonl")}
        for _ in range(VAULTS):
            own = draw.sample(of.part(split), VAULT_QUESTIONS)
            ids = list(dict.fromkeys(gold for question in own for gold in question["gold_ids"]))
            ids += [other for other in draw.sample(sorted(rows), VAULT_NOTES) if other not in ids][
                : VAULT_NOTES - len(ids)
            ]
            absent = [q for q in of.part(split) if not set(q["gold_ids"]) & set(ids)]
            foreign = [q for other in sets if other is not of for q in draw.sample(other.part(split), 1)]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "vault.db"
                build(path, {f"n{number:03}.md": note(rows[id_]) for number, id_ in enumerate(ids)}, quiet=True)
                with closing(KnowledgeBase.open(path, readonly=True)) as kb:
                    vault = Set("vault", kb, open_vectors(kb.connection), [], {})
                    for question in own:
                        yield ask(vault, f"vaults of {of.name}", question["question"], True)
                    for question in draw.sample(absent, min(VAULT_QUESTIONS, len(absent))) + foreign:
                        yield ask(vault, f"vaults of {of.name}", question["question"], False)


# -- fitting --------------------------------------------------------------------------------------------


def fit(cases: Sequence[Case], vectors: bool) -> Table:
    """A logistic regression; every pool weighs the same, and in it the answerable as much as the unanswerable."""
    import numpy as np
    from scipy.optimize import minimize

    names = [name for name in FEATURES if vectors or name != "near"]
    x = np.array([[1.0, *(case.found[not vectors][name] for name in names)] for case in cases])
    y = np.array([case.answerable for case in cases], float)
    kinds = [(case.pool, case.answerable) for case in cases]
    weight = np.array([1 / kinds.count(kind) for kind in kinds])
    weight /= weight.sum()

    def loss(v: Any) -> tuple[float, Any]:
        z = x @ v
        p = 1 / (1 + np.exp(-z))
        value = (weight * (np.logaddexp(0, z) - y * z)).sum() + DECAY * v[1:] @ v[1:]
        return value, x.T @ (weight * (p - y)) + 2 * DECAY * np.concatenate([[0.0], v[1:]])

    bounds = [(None, None)] + [(None, 0) if name in AGAINST else (0, None) for name in names]
    best = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = {name: round(float(value), 2) for name, value in zip(names, best[1:], strict=True) if abs(value) > 0.005}
    fitted = Table(round(float(best[0]), 2), weights, 0.5)
    return Table(fitted.intercept, weights, _threshold(cases, fitted, vectors))


def _threshold(cases: Sequence[Case], fitted: Table, vectors: bool) -> float:
    """Below it are 1 - KEPT of the answerable questions, every pool weighing the same."""
    by_pool: dict[str, list[float]] = {}
    for case in cases:
        if case.answerable:
            by_pool.setdefault(case.pool, []).append(confidence(fitted, case.found[not vectors]))
    tried = sorted(value for values in by_pool.values() for value in values)
    return round(max(t for t in tried if mean([share(v, t) for v in by_pool.values()]) <= 1 - KEPT), 3)


# -- the curve ------------------------------------------------------------------------------------------


def share(values: Sequence[float], threshold: float) -> float:
    """How many are below a threshold."""
    return mean([value < threshold for value in values])


def rows_of(cases: Sequence[Case], by: Table, vectors: bool) -> Iterator[list[object]]:
    for pool in dict.fromkeys(case.pool for case in cases):
        values: Mapping[bool, list[float]] = {True: [], False: []}
        for case in cases:
            if case.pool == pool:
                values[case.answerable].append(confidence(by, case.found[not vectors]))
        own = sorted(values[True])
        curve = [share(values[False], own[int(wrong * len(own))]) for wrong in (0.02, 0.05, 0.1, 0.2)]
        at = [share(values[True], by.threshold), share(values[False], by.threshold)]
        cells = [f"{100 * value:.1f}" for value in (*at, *curve)]
        yield [pool, f"{len(own)} / {len(values[False])}", "vectors" if vectors else "none", *cells]


HEADER = [
    "notes",
    "answerable / not",
    "vectors",
    "false abstain",
    "correct abstain",
    *(f"correct at {wrong}% false" for wrong in (2, 5, 10, 20)),
]


def gather(data: Path, sets: Sequence[Set], split: str, say: Callable[[str], None]) -> list[Case]:
    cases = list(large(sets, split))
    say(f"{split}: {len(cases)} questions asked to whole sets")
    cases += small(data, sets, split)
    say(f"{split}: {len(cases)} with those asked to small vaults")
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("BENCH_DATA"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "llm-graphrag-retrieval")
    parser.add_argument("--tune", action="store_true", help="fit both tables and print them")
    parser.add_argument("--write", action="store_true", help="put the result into BENCHMARKS.md")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of question sets with --data or $BENCH_DATA")
    options.work.mkdir(parents=True, exist_ok=True)
    data = Path(options.data)
    sets = [load(data, options.work, name) for name in SETS]

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    tables = {True: WITH_VECTORS, False: WITHOUT_VECTORS}
    if options.tune:
        train = gather(data, sets, "train", say)
        tables = {vectors: fit(train, vectors) for vectors in tables}
        for vectors, fitted in tables.items():
            print(f"{'WITH' if vectors else 'WITHOUT'}_VECTORS = {fitted}")
    cases = gather(data, sets, "validation", say)
    rows = [row for vectors, by in tables.items() for row in rows_of(cases, by, vectors)]
    thresholds = ", ".join(f"{by.threshold} {'with' if vectors else 'without'}" for vectors, by in tables.items())
    body = f"Validation questions. Thresholds: {thresholds} vectors; the last columns move it.\n\n{table(HEADER, rows)}"
    print(body)
    if options.write:
        write_section("Abstaining", "python benchmarks/abstain.py" + " --tune" * options.tune, body)


if __name__ == "__main__":
    main()
