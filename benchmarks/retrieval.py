"""How well search finds: recall on question sets, beside plain full text.

    python benchmarks/retrieval.py --data FOLDER                 all sets, validation questions
    python benchmarks/retrieval.py 2wiki_hippo1000 --split all   one set, both halves
    python benchmarks/retrieval.py --names title                 notes named by title, as people name them
    python benchmarks/retrieval.py --blank                       no titles at all
    python benchmarks/retrieval.py --tune                        fit the weights of routes/fusion.py on the train halves

FOLDER (or $BENCH_DATA) holds one folder a set with passages.jsonl {id, title, text} and questions.jsonl {id, question,
gold_ids, split}. Every passage becomes one note, read by the ordinary ``add``; nothing is known of a set beyond that.
A passage counts once, at its best chunk. recall@k: share of the gold passages among the first k, mean over questions.
all@5: share of questions with every gold passage among the first five. Knowledge bases are kept in --work.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes import fusion
from llm_graphrag.routes.hits import Plan, Proposal
from llm_graphrag.routes.passages import passages
from llm_graphrag.routes.registry import run
from llm_graphrag.routes.search import prepare, rank

SETS = ("2wiki_hippo1000", "hotpot_pool", "musique_pool", "xquad_en", "cookbook_docs")
DEPTH = 60  # chunks asked for, so that ten different passages are among them
UNSAFE = re.compile(r'[\x00-\x1f/\\:*?"<>|#^\[\]]+')


@dataclass(frozen=True)
class Set:
    """A question set with its knowledge base; ``passage_of`` is chunk -> passage id."""

    name: str
    kb: KnowledgeBase
    questions: list[dict[str, Any]]
    passage_of: dict[int, str]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def file_names(rows: list[dict[str, Any]], names: str) -> Iterator[str]:
    """A file name for every passage: its id, or its title (numbered where it occurs again)."""
    seen: dict[str, int] = {}
    for number, row in enumerate(rows):
        name = row["id"] if "/" not in row["id"] else f"p{number:05d}"
        if names == "title":
            name = UNSAFE.sub(" ", row["title"]).strip(" .")[:80] or name
            seen[name.lower()] = seen.get(name.lower(), 0) + 1
            name += f" {seen[name.lower()]}" if seen[name.lower()] > 1 else ""
        yield name + ".md"


def load(data: Path, work: Path, name: str, names: str, blank: bool) -> Set:
    """Read a set, and build its knowledge base unless that was done before."""
    rows = read_jsonl(data / name / "passages.jsonl")
    ids = {file: row["id"] for file, row in zip(file_names(rows, names), rows, strict=True)}
    path = work / f"{name}-{names}{'-blank' if blank else ''}.db"
    if not path.exists():
        vault = work / f"vault-{path.stem}"
        shutil.rmtree(vault, ignore_errors=True)
        vault.mkdir(parents=True)
        for file, row in zip(ids, rows, strict=True):
            heading = "" if blank else f"# {row['title']}\n\n"
            (vault / file).write_text(f"{heading}{row['text']}\n", encoding="utf-8")
        unfinished = path.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        began = time.perf_counter()
        with KnowledgeBase.open(unfinished, create=True) as kb:
            kb.add([vault])
        unfinished.rename(path)
        print(f"{name}: {len(rows):,} notes read in {time.perf_counter() - began:.0f} s", flush=True)
    kb = KnowledgeBase.open(path, readonly=True)
    sql = "SELECT c.id, d.path FROM kg_chunks c JOIN kg_documents d ON d.id = c.document"
    passage_of = {chunk: ids[file] for chunk, file in kb.connection.execute(sql)}
    return Set(name, kb, read_jsonl(data / name / "questions.jsonl"), passage_of)


def ranked_passages(of: Set, ranked: list[Proposal]) -> list[str]:
    return list(dict.fromkeys(of.passage_of[p.chunk] for p in ranked))


METHODS = {
    "full text": lambda of, plan: passages(of.kb.connection, plan, DEPTH),
    "search": lambda of, plan: rank(of.kb.connection, plan, DEPTH),
}


def measure(of: Set, split: str) -> None:
    """Print one line a method and split."""
    splits = ("train", "validation") if split == "all" else (split,)
    for part in splits:
        questions = [q for q in of.questions if q["split"] == part]
        for method, find in METHODS.items():
            began = time.perf_counter()
            found = [ranked_passages(of, find(of, prepare(of.kb.connection, q["question"]))) for q in questions]
            each = 1000 * (time.perf_counter() - began) / max(1, len(questions))
            scores = [score(q["gold_ids"], ranked) for q, ranked in zip(questions, found, strict=True)]
            mean = {key: 100 * sum(s[key] for s in scores) / len(scores) for key in scores[0]}
            cells = " ".join(f"{key} {value:5.1f}" for key, value in mean.items())
            print(f"{of.name:16} {part:10} {method:9} n={len(questions):4} {cells}  {each:5.0f} ms", flush=True)


def score(gold: list[str], ranked: list[str]) -> dict[str, float]:
    wanted = set(gold)
    recall = {f"recall@{k}": len(wanted & set(ranked[:k])) / len(wanted) for k in (2, 5, 10)}
    return recall | {"all@5": float(wanted <= set(ranked[:5]))}


# -- fitting the weights --------------------------------------------------------------------------------


def tune(sets: list[Set], rounds: int = 3, decay: float = 1e-2) -> dict[str, tuple[float, float]]:
    """Fit the weights on the train halves: the weights that rank are those that chose the parents.

    Maximises the mean log likelihood of the gold passages (of each its best chunk) under a softmax over the candidates
    of a question, no weight below 0; every set weighs the same.
    """
    weights = dict(fusion.WEIGHTS)
    prepared = [(of, q, *_found(of, q["question"])) for of in sets for q in of.questions if q["split"] == "train"]
    for number in range(rounds):
        examples = []
        for of, question, plan, found, start in prepared:
            named = fusion.namedness(plan)
            parents = fusion.parents_of(fusion.weigh(start, fusion.blend(weights, named)))
            signals = fusion.candidates(of.kb.connection, plan, found, parents)
            gold = {passage: place for place, passage in enumerate(dict.fromkeys(question["gold_ids"]))}
            examples.append(Example(of.name, named, signals, {c: gold.get(of.passage_of[c], -1) for c in signals}))
        weights = fit(examples, tuple(fusion.WEIGHTS), decay)
        print(
            f"round {number + 1}:", {name: (round(a, 2), round(b, 2)) for name, (a, b) in weights.items()}, flush=True
        )
    return weights


@dataclass(frozen=True)
class Example:
    """The candidates of a question; ``gold`` is chunk -> number of its gold passage, -1 if it is none."""

    set: str
    named: float
    signals: fusion.Signals
    gold: dict[int, int]


def _found(of: Set, question: str) -> tuple[Plan, dict[str, list[Proposal]], fusion.Signals]:
    plan = prepare(of.kb.connection, question)
    found = run(of.kb.connection, plan, fusion.DEPTH)
    return plan, found, fusion.candidates(of.kb.connection, plan, found, fusion.first(found))


def fit(examples: list[Example], names: tuple[str, ...], decay: float) -> dict[str, tuple[float, float]]:
    """Return the two weights of every signal."""
    import numpy as np
    from scipy.optimize import minimize

    examples = [e for e in examples if any(g >= 0 for g in e.gold.values())]
    per_set = {e.set: sum(other.set == e.set for other in examples) for e in examples}
    plain = np.array([[s.get(n, 0.0) for n in names] for e in examples for s in e.signals.values()])
    gold = np.array([e.gold[c] for e in examples for c in e.signals])
    question = np.repeat(np.arange(len(examples)), [len(e.signals) for e in examples])
    named = np.array([e.named for e in examples])[question][:, None]
    x = np.hstack([(1 - named) * plain, named * plain])
    weight = np.array([1 / per_set[e.set] / len(per_set) for e in examples])
    scale = x.std(axis=0) + 1e-9
    x = x / scale
    rows = np.flatnonzero(gold >= 0)
    passages_, group = np.unique(question[rows] * 1000 + gold[rows], return_inverse=True)
    share = weight[passages_ // 1000] / np.bincount(passages_ // 1000, minlength=len(examples))[passages_ // 1000]
    begins = np.flatnonzero(np.diff(question, prepend=-1))

    def loss(v: Any) -> tuple[float, Any]:
        z = x @ v
        e = np.exp(z - np.maximum.reduceat(z, begins)[question])
        p = e / np.add.reduceat(e, begins)[question]
        likely = np.bincount(group, p[rows], minlength=len(passages_)) + 1e-300
        pull = np.zeros(len(p))
        pull[rows] = share[group] * p[rows] / likely[group]
        return -(share * np.log(likely)).sum() + decay * v @ v, x.T @ (weight[question] * p - pull) + 2 * decay * v

    start = np.zeros(2 * len(names))
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start)).x / scale
    return {name: (float(best[i]), float(best[len(names) + i])) for i, name in enumerate(names)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--data", type=Path, default=os.environ.get("BENCH_DATA"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "llm-graphrag-retrieval")
    parser.add_argument("--split", choices=("train", "validation", "all"), default="validation")
    parser.add_argument("--names", choices=("id", "title"), default="id")
    parser.add_argument("--blank", action="store_true", help="leave every title out")
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of question sets with --data or $BENCH_DATA")
    options.work.mkdir(parents=True, exist_ok=True)
    sets = [load(Path(options.data), options.work, name, options.names, options.blank) for name in options.sets]
    if options.tune:
        fusion.WEIGHTS.update(tune(sets))
    for of in sets:
        measure(of, options.split)


if __name__ == "__main__":
    main()
