"""What the log of changes costs at ingest: python benchmarks/history.py FOLDER [--write]

A copy of the folder is added to an empty file, and added again after every tenth note was changed: with the log, and
without it, in turns, each in a process of its own. The log is switched off from outside (nothing is watched, nothing
recorded), since a knowledge base always has it. The fastest run of each is compared, by processor seconds: whatever
else the machine does makes a run slower, never faster. Exits 1 where adding takes ``LIMIT`` times as long, or more.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import table, write_section

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.store import history, touched

STEPS = ("add", "add again, a tenth changed")
LIMIT = 1.05


def timed(folder: Path, logs: bool) -> dict[str, float]:
    """Processor seconds of each step over a copy of ``folder``, in this process."""
    if not logs:
        touched.WATCH = ()  # where temporary tables are kept is set all the same
        history.record = lambda connection, run: None  # type: ignore[assignment]
    seconds = {}
    with tempfile.TemporaryDirectory() as place:
        notes = Path(place, "notes")
        shutil.copytree(folder, notes)
        with KnowledgeBase.open(Path(place, "kb.db"), create=True) as kb:
            kb.set(embedding_model="")
            for step in STEPS:
                began = time.process_time()
                kb.add([notes])
                seconds[step] = time.process_time() - began
                for note in sorted(notes.rglob("*.md"))[::10]:
                    with note.open("a", encoding="utf-8") as file:
                        file.write("\nSee [[Changed Since]].\n\nstate:: changed\n")
            listed = kb.connection.execute("SELECT count(*) FROM kg_runs").fetchone()[0]
    assert listed == (len(STEPS) if logs else 0), listed
    return seconds


def in_turns(folder: Path, runs: int) -> dict[bool, dict[str, list[float]]]:
    """Seconds of every run, by whether there was a log, and step."""
    seconds: dict[bool, dict[str, list[float]]] = {logs: {step: [] for step in STEPS} for logs in (True, False)}
    for turn in range(runs):
        for logs in (turn % 2 == 0, turn % 2 == 1):
            command = [sys.executable, __file__, str(folder), "--once", "with" if logs else "without"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            for step, value in json.loads(done.stdout).items():
                seconds[logs][step].append(value)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="into BENCHMARKS.md")
    parser.add_argument("--once", choices=["with", "without"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(timed(options.folder, options.once == "with")))
        return
    seconds = in_turns(options.folder, options.runs)
    rows: list[list[object]] = []
    slow = []
    for step in STEPS:
        with_log, without = (min(seconds[logs][step]) for logs in (True, False))
        ratio = with_log / without
        rows.append([step, f"{with_log:.2f}", f"{without:.2f}", f"{ratio:.3f}"])
        if ratio >= LIMIT:
            slow.append(f"{step}: the log makes it {ratio:.3f} times as long, {LIMIT} is the limit")
    body = table(["step", "with the log, CPU s", "without", "ratio"], rows)
    print(body)
    if options.write:
        name = options.folder.parent.name
        write_section(
            "History", f"python benchmarks/history.py FOLDER --runs {options.runs}", f"Folder: {name}\n\n{body}"
        )
    if slow:
        sys.exit("\n".join(slow))


if __name__ == "__main__":
    main()
