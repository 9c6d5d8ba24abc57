"""Sections of BENCHMARKS.md: each benchmark writes its own and leaves the others alone."""

from __future__ import annotations

import platform
import re
import sqlite3
from datetime import date
from pathlib import Path

REPORT = Path(__file__).resolve().parent.parent / "BENCHMARKS.md"
HEAD = "# Benchmarks\n\nEvery number here was printed by the script named above it; run it to have your own.\n"


def write_section(title: str, command: str, body: str, report: Path = REPORT) -> None:
    """Put ``body`` under the heading ``title`` of the report, in place of what stood there."""
    text = report.read_text(encoding="utf-8") if report.exists() else HEAD
    machine = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {date.today().isoformat()}"
    section = f"## {title}\n\n`{command}` ({machine})\n\n{body.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    text, found = pattern.subn(lambda _: section + "\n", text)
    if not found:
        text = text.rstrip("\n") + "\n\n" + section
    report.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def table(header: list[str], rows: list[list[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(map(str, cells)) + " |" for cells in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines)
