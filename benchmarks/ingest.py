"""How long the command line takes on a vault: python benchmarks/ingest.py FOLDER [--write]

Each row is a whole process: wall and processor seconds, and peak memory of the
largest process. ``ask`` is compared with ``llm --help``, and the import of our
plugin with that of llm, in turns, medians of several runs.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import table, write_section

LLM = [sys.executable, "-m", "llm"]


def measured(command: list[str], environment: dict[str, str]) -> tuple[float, float, float]:
    """(wall seconds, processor seconds, peak MB) of one process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, processor, after.ru_maxrss / 1024


def in_turns(commands: dict[str, list[str]], environment: dict[str, str], runs: int) -> dict[str, float]:
    """Median wall seconds of each command, run in turns."""
    walls: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            walls[name].append(measured(command, environment)[0])
    return {name: statistics.median(values) for name, values in walls.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--question", default="How do I list the files of an archive?")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the table into BENCHMARKS.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "kb.db")
        environment = os.environ | {"LLM_USER_PATH": folder, "LLM_GRAPHRAG_DB": database}
        add = [*LLM, "graphrag", "add", str(options.folder)]
        rows: list[list[object]] = []
        for name in ("add", "add again, nothing changed"):
            wall, processor, memory = measured(add, environment)
            rows.append([name, f"{wall:.1f}", f"{processor:.1f}", f"{memory:.0f}"])
        size = Path(database).stat().st_size / 1e6
        rows.append(["size of the file, MB", "", "", f"{size:.0f}"])
        medians = in_turns(
            {
                "llm --help": [*LLM, "--help"],
                "ask": [*LLM, "graphrag", "ask", options.question],
                "import llm": [sys.executable, "-c", "import llm, click, pluggy"],
                "import llm and the plugin": [sys.executable, "-c", "import llm, click, pluggy, llm_graphrag.plugin"],
            },
            environment,
            options.runs,
        )
    for name, median in medians.items():
        rows.append([f"{name} (median of {options.runs})", f"{median:.3f}", "", ""])
    rows.append(["ask beyond llm --help", f"{medians['ask'] - medians['llm --help']:.3f}", "", ""])
    plugin = medians["import llm and the plugin"] - medians["import llm"]
    rows.append(["plugin beyond import llm", f"{plugin:.3f}", "", ""])
    text = table(["process", "wall s", "processor s", "peak MB"], rows)
    print(text)
    if options.write:
        write_section("Ingest", "python benchmarks/ingest.py FOLDER", f"Folder: {options.folder.parent.name}\n\n{text}")


if __name__ == "__main__":
    main()
