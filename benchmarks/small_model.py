"""What a small model on this machine reads: precision and recall against gold, in one call a note and in two.

    python benchmarks/small_model.py --data FOLDER --base-url http://127.0.0.1:8080/v1
    python benchmarks/small_model.py --data FOLDER --model NAME --ways one --notes 3 --sentences 0
    python benchmarks/small_model.py --data FOLDER --model NAME --floor 0.2

FOLDER (or $BENCH_DATA) holds synthetic-notes and qa/text2kgbench. The model is any that llm knows, or a server that
speaks OpenAI's chat completions and obeys JSON schemas. Each note, and each sentence, is a window of its own; the notes
are read under the schema general, the sentences under their ontologies. The figures are what they are: the one purpose
is to see a prompt or a constraint break. Of notes, gold lists some relations only: precision is over these.

Fails (exit status 1) where a stored quote does not stand in its note, a statement is outside of the schema, more than a
tenth of the notes cannot be used, or the recall of a row is below ``--floor``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from modes import Key, sentences, stored, write_notes
from proofs import DROPPED, proofs
from question_sets import read_jsonl
from recorded_model import FENCE
from report import table, write_section

from llm_graphrag.extract.run import Options
from llm_graphrag.facts.llm.prompt import window_prompt
from llm_graphrag.facts.template import Template, load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller
from llm_graphrag.store import extractions
from llm_graphrag.text.normalise import name_key

WAYS = ("one", "two")
ONTOLOGIES = ("wikidata_tekgen--ont_1_movie", "wikidata_tekgen--ont_7_space", "dbpedia_webnlg--ont_13_food",
              "dbpedia_webnlg--ont_7_company")  # fmt: skip
#: notes of synthetic-notes that are read: folder -> how many of those with gold
SHARES = {"People": 8, "Papers": 5, "Projects": 4, "Organisations": 3}
#: what gold calls a relation -> the relation of the schema, and whether its ends are swapped
RELATIONS = {
    "employer": ("works_at", False), "works at": ("works_at", False), "city": ("located_in", False),
    "lives in": ("located_in", False), "located in": ("located_in", False), "cites": ("cites", False),
    "part of": ("part_of", False), "authors": ("authored_by", False), "lead": ("leads", True),
    "Topic": ("about", False),
}  # fmt: skip
NEGATED = "negated-must-not-appear"
MOST_FAILED = 0.1
SAID: dict[str, int] = {}  # what was last said of each stage


@dataclass
class Row:
    """One set of texts, read in one way."""

    name: str
    texts: int = 0
    failed: int = 0
    calls: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    stored: int = 0
    right: int = 0
    gold: int = 0
    negated: int = 0  # denied facts that were taken for facts
    code_words: int = 0  # replies that take the word which fences the notes for a name
    broken: int = 0  # statements that must not be: see proofs.py
    dropped: Counter[str] = field(default_factory=Counter)
    right_facts: list[str] = field(default_factory=list)
    wrong_facts: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.stored)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.gold)


@dataclass(frozen=True)
class Model:
    """How the model is asked."""

    name: str
    max_tokens: int
    timeout: float
    options: dict[str, Any]


def read(model: Model, schema: Template, notes: Path, two_step: bool, row: Row, path: Path) -> KnowledgeBase:
    """Have the model read a folder of notes into a new file at ``path``; what the run was like goes to ``row``."""
    path.unlink(missing_ok=True)
    kb = KnowledgeBase.open(path, create=True)
    kb.set(embedding_model="")
    kb.use_schema(schema, "benchmark")
    kb.add([notes])
    with Ledger.open(path) as ledger:
        caller = Caller(
            model.name, ledger, options={"max_tokens": model.max_tokens, **model.options}, timeout=model.timeout
        )
        began = time.monotonic()
        report = kb.extract(caller, Options(workers=1, window_tokens=1), two_step, say)
    row.seconds += time.monotonic() - began
    row.texts += report.windows
    row.failed += report.failed + report.left
    row.calls += report.calls
    row.output_tokens += report.output_tokens
    row.errors += report.errors
    row.broken += sum(proofs(kb.connection).values()) + len(kb.check())
    for id_, reply in kb.connection.execute("SELECT id, reply FROM kg_extractions WHERE reply IS NOT NULL").fetchall():
        fence = FENCE.match(window_prompt(extractions.window(kb.connection, id_)))
        row.code_words += fence is not None and fence[1] in reply
    for kind, reason, number in kb.connection.execute(DROPPED):
        row.dropped[f"{kind}: {reason}"] += number
    return kb


def say(stage: str, done: int, of: int) -> None:
    """A line on standard error where something has moved on."""
    if SAID.get(stage) != done:
        print(f"{time.strftime('%H:%M:%S')} {stage} {done} of {of}", file=sys.stderr, flush=True)
        SAID[stage] = done


def judge(row: Row, found: set[Key], gold: set[Key]) -> None:
    row.stored += len(found)
    row.right += len(found & gold)
    row.gold += len(gold)
    row.right_facts += sorted(" | ".join(fact) for fact in found & gold)
    row.wrong_facts += sorted(" | ".join(fact) for fact in found - gold)


# -- notes --------------------------------------------------------------------------------------------------------


def chosen_notes(folder: Path, most: int) -> dict[str, list[dict[str, Any]]]:
    """Notes with their gold facts, evenly from the folders of ``SHARES``."""
    gold: dict[str, list[dict[str, Any]]] = {}
    for fact in read_jsonl(folder / "gold.jsonl"):
        if fact["predicate"] in RELATIONS or fact["kind"] == NEGATED:
            gold.setdefault(fact["file"], []).append(fact)
    queues = [[file for file in sorted(gold) if file.startswith(f"{top}/")][:n] for top, n in SHARES.items()]
    turns = max(map(len, queues))
    files = [queue[turn] for turn in range(turns) for queue in queues if turn < len(queue)][:most]
    return {file: gold[file] for file in files}


def of_notes(model: Model, data: Path, work: Path, most: int, two_step: bool) -> Row:
    chosen = chosen_notes(data, most)
    row = Row(f"notes, {'two calls' if two_step else 'one call'}")
    schema = load_template("general")
    vault = work / "notes"
    for file in chosen:
        (vault / file).parent.mkdir(parents=True, exist_ok=True)
        (vault / file).write_text((data / "data" / file).read_text("utf-8"), "utf-8")
    with read(model, schema, vault, two_step, row, work / f"notes-{'two' if two_step else 'one'}.db") as kb:
        same = Names(kb)
        found = {(same(head), relation, same(tail)) for head, relation, tail in stored(kb)}
    relations = {relation for relation, _ in RELATIONS.values()}
    gold, denied = (set(_gold(chosen, kinds, same)) for kinds in (False, True))
    judge(row, {fact for fact in found if fact[1] in relations}, gold)
    row.negated = sum((head, tail) in {(h, t) for h, _, t in found} for head, _, tail in denied)
    return row


class Names:
    """Different names of one note (file name, title, alias) as one."""

    def __init__(self, kb: KnowledgeBase) -> None:
        rows = kb.connection.execute(
            """SELECT e.key AS name, a.key AS other FROM kg_entities e JOIN kg_aliases a ON a.entity = e.id
               WHERE a.origin = 'link' AND e.origin = 'link'"""
        ).fetchall()
        self.names = {row["other"].lstrip("@"): row["name"].lstrip("@") for row in rows}

    def __call__(self, name: str) -> str:
        key = name_key(name.lstrip("@"))  # of a citation, the mark does not matter
        return self.names.get(key, key)


def _gold(chosen: dict[str, list[dict[str, Any]]], denied: bool, same: Callable[[str], str]) -> Iterator[Key]:
    for fact in (fact for facts in chosen.values() for fact in facts if (fact["kind"] == NEGATED) == denied):
        relation, swapped = RELATIONS.get(fact["predicate"], (fact["predicate"], False))
        ends = same(fact["subject"]), same(fact["object"])
        yield (ends[1], relation, ends[0]) if swapped else (ends[0], relation, ends[1])


# -- sentences ----------------------------------------------------------------------------------------------------


def of_sentences(model: Model, data: Path, work: Path, most: int, two_step: bool) -> Row:
    row = Row(f"sentences, {'two calls' if two_step else 'one call'}")
    each = -(-most // len(ONTOLOGIES))
    for name, (schema, chosen) in sentences(data, each, ONTOLOGIES).items():
        chosen = chosen[: most - row.texts]
        if not chosen:
            break
        notes = write_notes(work / f"sentences-{name}-{'two' if two_step else 'one'}", chosen)
        with read(model, schema, notes, two_step, row, notes.with_suffix(".db")) as kb:
            judge(row, stored(kb), set().union(*(one.gold for one in chosen)))
    return row


# -- the report ---------------------------------------------------------------------------------------------------


def described(rows: Sequence[Row], model: str) -> str:
    cells: list[list[object]] = []
    for row in rows:
        scores = [f"{100 * row.precision:.0f}", f"{100 * row.recall:.0f}"]
        each = f"{row.seconds / max(1, row.texts):.0f}"
        cells.append(
            [row.name, row.texts, row.failed, row.calls, f"{row.output_tokens:,}", each, row.gold, row.right, *scores]
        )
    header = ["texts", "how many", "failed", "calls", "output tokens", "s each", "gold", "right", "precision", "recall"]
    lines = [f"Model: {model}.", "", table(header, cells), ""]
    for row in rows:
        dropped = ", ".join(f"{number} {reason}" for reason, number in row.dropped.most_common(8))
        negated = f"; {row.negated} denied facts were taken" if "notes" in row.name else ""
        words = f"; {row.code_words} replies name the word that fences the notes"
        lines.append(f"- {row.name}: not kept: {dropped or 'nothing'}{negated}{words}.")
    return "\n".join(lines)


def faults(rows: Sequence[Row], floor: float) -> list[str]:
    lines = [f"{row.name}: {row.broken} statements or rows that must not be" for row in rows if row.broken]
    lines += [f"{r.name}: {r.failed} of {r.texts} failed {r.errors}" for r in rows if r.failed > MOST_FAILED * r.texts]
    return lines + [f"{r.name}: recall {r.recall:.2f} is below {floor}" for r in rows if r.recall < floor]


def serve_name(user: Path, url: str) -> str:
    """Make llm know the server at ``url``, in a folder of its own."""
    user.mkdir(parents=True, exist_ok=True)
    entry = f'- model_id: small\n  model_name: small\n  api_base: "{url}"\n  supports_schema: true\n'
    (user / "extra-openai-models.yaml").write_text(entry, "utf-8")
    os.environ["LLM_USER_PATH"] = str(user)
    return "small"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("BENCH_DATA"))
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--base-url", help="a server that speaks OpenAI's chat completions")
    which.add_argument("--model", help="a model of llm")
    parser.add_argument("--name", help="what the report calls the model")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "llm-graphrag-small-model")
    parser.add_argument("--notes", type=int, default=20)
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--ways", choices=(*WAYS, "both"), default="both", help="calls a note")
    parser.add_argument("--max-tokens", type=int, default=600, help="longest reply")
    parser.add_argument("--timeout", type=float, default=900, help="seconds without a sign of life")
    parser.add_argument("--floor", type=float, default=0.0, help="least recall of each row")
    parser.add_argument("--json", type=Path, help="write all facts, right and wrong, into this file")
    parser.add_argument("--write", action="store_true", help="put the result into BENCHMARKS.md")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of data with --data or $BENCH_DATA")
    data, work = Path(options.data), Path(tempfile.mkdtemp(dir=_made(options.work)))
    name = options.model or serve_name(work / "llm", options.base_url)
    model = Model(name, options.max_tokens, options.timeout, {"temperature": 0})
    sets = (
        (of_notes, data / "synthetic-notes", options.notes),
        (of_sentences, data / "qa" / "text2kgbench", options.sentences),
    )
    rows: list[Row] = []
    for way in WAYS if options.ways == "both" else [options.ways]:
        for read_all, folder, most in sets:
            if not most:
                continue
            rows.append(read_all(model, folder, work, most, way == "two"))
            print(body := described(rows, options.name or name), flush=True)
            if options.json:
                found = json.dumps([vars(row) for row in rows], indent=1, ensure_ascii=False)
                options.json.write_text(found, "utf-8")
    if options.write:
        command = f"python benchmarks/small_model.py --data FOLDER --base-url URL --ways {options.ways}"
        write_section("A small model", command, body)
    if wrong := faults(rows, options.floor):
        sys.exit("\n".join(wrong))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    main()
