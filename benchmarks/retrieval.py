"""How well search finds: recall on question sets, beside full text, vectors and their reciprocal rank fusion.

    python benchmarks/retrieval.py --data FOLDER                 all sets, validation questions
    python benchmarks/retrieval.py 2wiki_fg101 --split all       one set, both halves
    python benchmarks/retrieval.py --names title                 notes named by title, as people name them
    python benchmarks/retrieval.py --blank                       no titles at all
    python benchmarks/retrieval.py --encoder onnx-minilm-int8    vectors by another embedding model of llm
    python benchmarks/retrieval.py --tune                        fit the weights of routes/weights.py, on train halves

FOLDER (or $BENCH_DATA) is described in question_sets.py. A passage counts once, at its best chunk. recall@k: share of
the gold passages among the first k, mean over questions; all@k: share of questions with every gold passage among them.
The interval is of the difference in recall@5 to the best of the three baselines, by paired bootstrap over questions.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fusion_fit import begin, examples, out_of_sample, tune
from question_sets import SETS, Made, Set, interval, load, mean, score
from report import table, write_section

from llm_graphrag.routes.hits import Plan, Proposal
from llm_graphrag.routes.passages import passages
from llm_graphrag.routes.search import rank
from llm_graphrag.routes.weights import WITH_VECTORS, WITHOUT_VECTORS, Weights

DEPTH = 60  # chunks asked for, so that ten different passages are among them
RRF_DEPTH, RRF_K = 100, 60
SHOWN = ("recall@2", "recall@5", "recall@10", "all@5", "all@8", "all@10")
BASELINES = ("full text", "vectors", "hybrid RRF")
#: set -> recall@5 of HippoRAG 2 (Gutiérrez et al. 2025, arXiv:2502.14802: Llama 3.3 70B, NV-Embed-v2)
PUBLISHED = {"2wiki_hippo1000": 90.4, "hotpot_pool": 96.3, "musique_pool": 74.7}
NOTE = (
    "Published figures are recall@5 of HippoRAG 2 (arXiv:2502.14802), which reads every passage with a 70B model and "
    "has 7B vectors; its pools for HotpotQA and MuSiQue are larger than ours, its 2WikiMultihopQA questions are 1,000."
)


@dataclass(frozen=True)
class Result:
    """The scores of one method on some questions, in their order."""

    method: str
    scores: list[dict[str, float]]
    milliseconds: float

    def mean(self, key: str) -> float:
        return 100 * mean([s[key] for s in self.scores])


def nearest(of: Set, plan: Plan) -> list[Proposal]:
    found = plan.meaning.nearest(RRF_DEPTH) if plan.meaning is not None else []
    return [Proposal(chunk, cosine) for chunk, cosine in found]


def hybrid(of: Set, plan: Plan) -> list[Proposal]:
    """Reciprocal rank fusion of full text and vectors, as it is usually done."""
    scores: dict[int, float] = {}
    for ranked in (passages(of.kb.connection, plan, RRF_DEPTH), nearest(of, plan)):
        for place, p in enumerate(ranked, 1):
            scores[p.chunk] = scores.get(p.chunk, 0.0) + 1 / (RRF_K + place)
    return [Proposal(chunk, s) for chunk, s in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


#: method -> how it ranks, and whether it is given vectors
METHODS: dict[str, tuple[Callable[[Set, Plan], list[Proposal]], bool]] = {
    "full text": (lambda of, plan: passages(of.kb.connection, plan, DEPTH), False),
    "vectors": (nearest, True),
    "hybrid RRF": (hybrid, True),
    "ours, no vectors": (lambda of, plan: rank(of.kb.connection, plan, DEPTH), False),
    "ours": (lambda of, plan: rank(of.kb.connection, plan, DEPTH), True),
}


def measure(of: Set, split: str) -> list[Result]:
    questions = of.part(split)
    results = []
    for method, (find, vectors) in METHODS.items():
        if vectors and of.vectors is None:
            continue
        began = time.process_time()
        found = [of.passages(find(of, of.plan(q["question"], vectors))) for q in questions]
        each = 1000 * (time.process_time() - began) / max(1, len(questions))
        results.append(Result(method, [score(q["gold_ids"], r) for q, r in zip(questions, found, strict=True)], each))
    return results


def difference(results: Sequence[Result], key: str = "recall@5") -> str:
    """Ours against the best baseline."""
    best = max((r for r in results if r.method in BASELINES), key=lambda r: r.mean(key))
    ours = results[-1]
    pairs = [100 * (a[key] - b[key]) for a, b in zip(ours.scores, best.scores, strict=True)]
    low, high = interval(pairs)
    return f"{mean(pairs):+.1f} [{low:+.1f}, {high:+.1f}] to {best.method}"


def rows_of(of: Set, results: Sequence[Result]) -> list[list[object]]:
    rows: list[list[object]] = []
    for r in results:
        cells = [f"{r.mean(key):.1f}" for key in SHOWN]
        last = difference(results) if r is results[-1] else ""
        rows.append([f"{of.name} ({len(r.scores)})", r.method, *cells, f"{r.milliseconds:.0f}", last])
    if of.name in PUBLISHED:
        rows.append([of.name, "HippoRAG 2, published", "", PUBLISHED[of.name], *[""] * 6])
    return rows


HEADER = ["set (questions)", "method", *SHOWN, "CPU ms", "recall@5 against the best baseline"]


def report(sets: Sequence[Set], split: str) -> str:
    rows = []
    for of in sets:
        added = rows_of(of, measure(of, split))
        print(table(HEADER, added) if not rows else "\n".join(table(HEADER, added).splitlines()[2:]), flush=True)
        rows += added
    return f"{split.capitalize()} questions. {NOTE}\n\n{table(HEADER, rows)}"


def tuned(sets: Sequence[Set], vectors: bool) -> Weights:
    """Fit one of the two tables, and print it as it stands in routes/weights.py."""
    names = [name for name in WITH_VECTORS if vectors or not name.startswith("cosine")]
    weights = tune(begin(sets, vectors), names, lambda text: print(text, file=sys.stderr, flush=True))
    print(f"{'WITH' if vectors else 'WITHOUT'}_VECTORS = {{")
    print("\n".join(f'    "{name}": {pair},' for name, pair in weights.items()) + "\n}", flush=True)
    return weights


def unseen(sets: Sequence[Set]) -> str:
    """The shipped weights beside weights that have not seen the set, or the question."""
    rows: list[list[object]] = []
    for kind, weights in (("ours", WITH_VECTORS), ("ours, no vectors", WITHOUT_VECTORS)):
        made = examples(begin(sets, kind == "ours", "all"), weights)
        for name, of in out_of_sample(made, list(weights)).items():
            rows.append([name, kind, f"{100 * of['other sets']:.1f}", f"{100 * of['folds']:.1f}"])
    header = ["set", "method", "validation, weights of the other sets", "all questions, out of five folds"]
    return "recall@5 with weights that have not seen these questions:\n\n" + table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--data", type=Path, default=os.environ.get("BENCH_DATA"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "llm-graphrag-retrieval")
    parser.add_argument("--split", choices=("train", "validation", "all"), default="validation")
    parser.add_argument("--names", choices=("id", "title"), default="id")
    parser.add_argument("--blank", action="store_true", help="leave every title out")
    parser.add_argument("--encoder", default="", help="an embedding model of llm in place of the bundled one")
    parser.add_argument("--tune", action="store_true", help="fit both tables of weights and print them")
    parser.add_argument("--unseen", action="store_true", help="weights of the other sets only, and out of five folds")
    parser.add_argument("--write", action="store_true", help="put the result into BENCHMARKS.md")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of question sets with --data or $BENCH_DATA")
    options.work.mkdir(parents=True, exist_ok=True)
    made = Made(options.names, options.blank, options.encoder)
    sets = [load(Path(options.data), options.work, name, made) for name in options.sets]
    if options.tune:
        for vectors, shipped in ((True, WITH_VECTORS), (False, WITHOUT_VECTORS)):
            weights = dict(tuned(sets, vectors))
            shipped.clear()
            shipped.update(weights)
    body = report(sets, options.split)
    if options.unseen:
        body += "\n\n" + unseen(sets)
        print(body.rsplit("\n\n", 2)[1], body.rsplit("\n\n", 1)[1], sep="\n\n")
    if options.write:
        arguments = [a for a in sys.argv[1:] if a != "--write"]
        title = (
            "Retrieval" + (", all titles blanked" if made.blank else "") + (f", {made.encoder}" if made.encoder else "")
        )
        if list(options.sets) != list(SETS):
            title += ": " + ", ".join(options.sets)
        write_section(title, command(arguments), body)


def command(arguments: Sequence[str]) -> str:
    """What was run, without the folders of this machine."""
    kept, skip = [], False
    for argument in arguments:
        if not skip and argument not in ("--data", "--work"):
            kept.append(argument)
        skip = argument in ("--data", "--work")
    return " ".join(["python benchmarks/retrieval.py", *kept])


if __name__ == "__main__":
    main()
