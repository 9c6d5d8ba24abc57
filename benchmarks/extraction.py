"""What a model's reading of the notes gives: statements with their sentences, and passages found that were not before.

    python benchmarks/extraction.py --data FOLDER             the whole comparison
    python benchmarks/extraction.py --data FOLDER --json      as JSON

FOLDER (or $BENCH_DATA) holds qa/ and recorded/. The 780 passages of 2wiki_fg101, one a note, go through the real
extraction under the schema encyclopedia: windows, calls, ledger, checks, storage. The model is recorded_model.py,
which says what a large model read in each passage, without quotes; the sentence is found by the checks. Then the 101
questions are ranked before and after, by the ordinary search. Last, what the modes strict, suggest and open make of
the same replies about sentences with gold facts, with wrong items among them (modes.py).

Fails (exit status 1) where a stored quote does not stand in its chunk, a statement is outside of the schema, the file
is not clean, or after extraction fewer than 98% of the questions have all gold passages among the first eight.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import modes
from proofs import DROPPED, proofs
from question_sets import Set, load, mean, note, opened, score
from recorded_model import RecordedModel, Seen, read_recorded, registered
from report import table, write_section

from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller
from llm_graphrag.routes.search import rank

if TYPE_CHECKING:
    from llm_graphrag.extract.run import Report

SET, SCHEMA = "2wiki_fg101", "encyclopedia"
DEPTH = 60  # chunks asked for, so that ten different passages are among them
LEAST = 0.98
#: all gold passages among the first eight, on these questions, as fast-graphrag's README gives them
PUBLISHED = {"vectors": 0.42, "LightRAG": 0.45, "nano-GraphRAG": 0.73, "fast-graphrag": 0.93}

KINDS = "SELECT kind, count(*) FROM kg_evidence WHERE origin = 'llm' GROUP BY kind"
FLAGS = """
  SELECT f.value, count(*) FROM kg_evidence v JOIN json_each(v.detail, '$.flags') f WHERE v.origin = 'llm'
  GROUP BY f.value"""


@dataclass(frozen=True)
class Extracted:
    """What came of the run."""

    path: Path
    seconds: float
    run: Report
    seen: Seen
    given: dict[str, int]  # items that the model had to say, by kind
    kept: dict[str, int]
    flags: dict[str, int]
    dropped: list[tuple[str, str, int]]
    proofs: dict[str, int]
    problems: list[str]


def extract(data: Path, before: Path, path: Path) -> Extracted:
    """Have the recorded model read a copy of the knowledge base of the set."""
    shutil.copy(before, path)
    readings = read_recorded(data, SET, note)
    model = RecordedModel("recorded", readings)
    began = time.perf_counter()
    with KnowledgeBase.open(path) as kb, Ledger.open(path) as ledger:
        kb.use_schema(load_template(SCHEMA), "benchmark")
        kb.add([path.parent / f"vault-{before.stem}"])  # what the schema changes in how notes are read
        run = kb.extract(Caller(registered(model), ledger))
        seconds = time.perf_counter() - began
        sql = kb.connection
        return Extracted(
            path, seconds, run, model.seen,
            given=dict(Counter(kind for r in readings for kind, items in r.items.items() for _ in items)),
            kept=pairs(sql, KINDS),
            flags=pairs(sql, FLAGS),
            dropped=[(row[0], row[1], row[2]) for row in sql.execute(DROPPED)],
            proofs=proofs(sql),
            problems=[f"{p.table} {p.row}: {p.message}" for p in kb.check()],
        )  # fmt: skip


def pairs(connection: sqlite3.Connection, sql: str) -> dict[str, int]:
    return {row[0]: row[1] for row in connection.execute(sql)}


# -- the questions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """How the questions of the set are answered from one file."""

    name: str
    scores: list[dict[str, float]]

    def mean(self, key: str) -> float:
        return mean([s[key] for s in self.scores])


def ask(of: Set, when: str) -> list[Found]:
    found = []
    for vectors in (True, False):
        plans = [of.plan(q["question"], vectors) for q in of.questions]
        ranked = [of.passages(rank(of.kb.connection, plan, DEPTH)) for plan in plans]
        scores = [score(q["gold_ids"], r) for q, r in zip(of.questions, ranked, strict=True)]
        found.append(Found(f"{when}, {'with' if vectors else 'without'} vectors", scores))
    return found


def changed(questions: Sequence[dict[str, Any]], before: Found, after: Found) -> list[str]:
    """The questions that lack a gold passage after extraction, and those that no longer do."""
    lines = []
    for question, was, is_ in zip(questions, before.scores, after.scores, strict=True):
        if is_["all@8"] < 1 or was["all@8"] < 1:
            lines.append(f"{was['all@8']:.0f} -> {is_['all@8']:.0f}  {question['question']}")
    return lines


# -- the report ---------------------------------------------------------------------------------------------------


def described(of: Extracted, found: Sequence[Found]) -> str:
    run = of.run
    kept: list[list[object]] = [
        [kind, f"{of.given.get(plural, 0):,}" if plural else "", f"{of.kept.get(kind, 0):,}"]
        for kind, plural in (("type", "entities"), ("alias", ""), ("attribute", "attributes"), ("triple", "triples"))
    ]
    dropped: list[list[object]] = [[kind, reason, f"{n:,}"] for kind, reason, n in of.dropped]
    flags = ", ".join(f"{number:,} {flag}" for flag, number in of.flags.items())
    ranks: list[list[object]] = [[f.name, f"{f.mean('all@8'):.3f}", f"{f.mean('recall@5'):.3f}"] for f in found]
    ranks += [[f"{name}, published", f"{value:.2f}", ""] for name, value in PUBLISHED.items()]
    return "\n\n".join(
        [
            f"{run.done} windows of 780 passages, {run.calls} calls, {run.failed} failed; {run.input_tokens:,} tokens "
            f"in, {run.output_tokens:,} out (counted with text/tokens.py); {of.seconds:.0f} s. Of the statements, "
            f"given without quotes: {flags}. {run.wishes} of {of.given['proposals']} proposals were heard.",
            table(["statements", "in the reply", "kept"], kept),
            table(["not kept", "why", "items"], dropped),
            "Counted with SQL:\n\n" + "\n".join(f"- {number} {name}" for name, number in of.proofs.items()),
            f"`kb.check()`: {len(of.problems)} problems.",
            f"{len(found[0].scores)} questions; all@8 is the share with every gold passage among the first eight "
            "(the published figures, fast-graphrag's README, are that for the same questions and passages):",
            table(["ranked", "all@8", "recall@5"], ranks),
        ]
    )


def faults(of: Extracted, found: Sequence[Found], compared: Sequence[modes.Outcome]) -> list[str]:
    """What is not as it has to be."""
    lines = [f"{number} {name}" for name, number in of.proofs.items() if number] + of.problems
    if of.run.failed or of.run.left or of.seen.unknown or of.seen.cut:
        lines.append(f"{of.run.failed} windows failed, {of.run.left} left, {of.seen.cut} replies cut off")
    lines += [f"{f.name}: all@8 {f.mean('all@8'):.3f}" for f in found if "after" in f.name and f.mean("all@8") < LEAST]
    lines += [f"{o.outside} statements outside of the schema in {o.mode}" for o in compared if o.bound and o.outside]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("BENCH_DATA"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "llm-graphrag-extraction")
    parser.add_argument("--sentences", type=int, default=20, help="sentences of an ontology, for the modes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", action="store_true", help="put the result into BENCHMARKS.md")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of data with --data or $BENCH_DATA")
    data, work = Path(options.data), Path(options.work)
    work.mkdir(parents=True, exist_ok=True)
    os.environ["LLM_USER_PATH"] = str(work / "llm")  # llm's log of the calls
    (work / "llm").mkdir(exist_ok=True)

    before = load(data / "qa", work, SET)
    of = extract(data, before.kb.path, work / f"{SET}-extracted.db")
    found = ask(before, "before") + ask(opened(data / "qa", of.path, SET), "after")
    for line in changed(before.questions, found[0], found[2]):
        print(line, file=sys.stderr)
    compared = modes.compare(data / "qa" / "text2kgbench", options.sentences)
    if options.json:
        ranks = {f.name: {key: f.mean(key) for key in ("all@8", "recall@5")} for f in found}
        run = vars(of) | {
            "path": str(of.path),
            "run": {f.name: getattr(of.run, f.name) for f in fields(of.run)},
            "seen": of.seen.calls,
        }
        print(json.dumps({**run, "retrieval": ranks, "modes": [vars(o) for o in compared]}, default=str))
    else:
        print(body := described(of, found) + "\n\n" + modes.described(compared))
        if options.write:
            write_section("Extraction", "python benchmarks/extraction.py --data FOLDER", body)
    if wrong := faults(of, found, compared):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
