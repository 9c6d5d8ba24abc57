"""Which feed a path is, and how it is opened again from what is stored of it.

A feed is described by its kind and its options, plain values that stand in
``kg_sources``; what a person does not say when adding again is as it was said before.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..files import real_path, stored_path
from . import csv, sqlite
from . import json as json_rows
from .feed import Feed
from .keys import key_path
from .logs import KIND as LOGS
from .logs import Logs
from .table import Columns, Table
from .text import file_hash

CSV, JSON, LINES, DATABASE = "csv", "json", "jsonl", "sqlite"
KINDS = (CSV, JSON, LINES, DATABASE, LOGS)
EXTENSIONS = {
    ".csv": CSV, ".tsv": CSV, ".json": JSON, ".jsonl": LINES, ".ndjson": LINES,
    ".db": DATABASE, ".sqlite": DATABASE, ".sqlite3": DATABASE, ".db3": DATABASE,
}  # fmt: skip
READERS = {CSV: csv.records, JSON: json_rows.records, LINES: json_rows.lines}


@dataclass(frozen=True, slots=True)
class RowOptions:
    """What a person said about rows; None is not said. ``logs`` is the path of llm's log."""

    table: str | None = None
    sql: str | None = None
    where: str | None = None
    text: tuple[str, ...] | None = None
    title: str | None = None
    key: tuple[str, ...] | None = None
    encoding: str | None = None
    logs: Path | None = None

    def said(self) -> dict[str, Any]:
        """The options that were given, as they are stored."""
        values = {
            "table": self.table, "sql": self.sql, "where": self.where, "title": self.title, "encoding": self.encoding,
            "text": None if self.text is None else list(self.text),
            "key": None if self.key is None else list(self.key),
        }  # fmt: skip
        return {name: value for name, value in values.items() if value is not None}


def kind_of(path: Path) -> str | None:
    """The kind of a named file if it holds rows, None if it is a note, or a folder."""
    if not path.is_file():
        return None
    kind = EXTENSIONS.get(path.suffix.lower())
    if kind is None:
        with path.open("rb") as file:
            kind = DATABASE if file.read(len(sqlite.HEADER)) == sqlite.HEADER else None
    return kind


def open_feed(kind: str, options: Mapping[str, Any]) -> Feed:
    """The feed of a kind with these options. Raises ValueError if they do not fit the file."""
    path = real_path(options["file"])
    kept = {name: value for name, value in options.items() if value and name != "fingerprint"}
    if kind == LOGS:
        return Logs(path, kept["file"], options=kept)
    columns = Columns(tuple(kept.get("text", ())), kept.get("title", ""), tuple(kept.get("key", ())))
    if kind == DATABASE:
        return _database(path, kept, columns)
    read = partial(READERS[kind], path, kept.get("encoding", ""))
    return Table(path.name, kind, kept["file"], path.stem, read, partial(file_hash, path), columns, options=kept)


def _database(path: Path, options: dict[str, Any], columns: Columns) -> Table:
    selection = sqlite.Selection(options.get("table", ""), options.get("where", ""), options.get("sql", ""))
    primary = () if selection.sql else sqlite.primary_key(path, selection.table)
    label = "query" if selection.sql else selection.table
    root = f"{options['file']}#{selection.sql or selection.table}"
    table = Table(
        f"{path.name}/{key_path([label])}", DATABASE, root, label, partial(sqlite.records, path, selection),
        partial(sqlite.fingerprint, path), columns, primary, options,
    )  # fmt: skip
    return table


def named_feed(connection: sqlite3.Connection, path: Path, kind: str, options: RowOptions) -> Feed:
    """The feed of a file that a person named: what was said now, and else what was said before."""
    said = {"file": stored_path(path.resolve()), **options.said()}
    root = said["file"]
    if kind == DATABASE and (said.get("sql") or said.get("table")):
        root = f"{root}#{said.get('sql') or said['table']}"
    row = connection.execute("SELECT options FROM kg_sources WHERE kind = ? AND root = ?", [kind, root]).fetchone()
    return open_feed(kind, {**(json.loads(row[0]) if row else {}), **said})
