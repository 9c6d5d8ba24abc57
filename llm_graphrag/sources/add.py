"""What was named on the command line, given to whom it concerns: folders and notes, tables, llm's log.

All of one command is one run with one report. What is wrong with the options is said
before anything is read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..settings import Settings
from .ingest import Ingest, Options
from .report import Report
from .rows.logs import NAME as LOGS
from .rows.open import CSV, DATABASE, JSON, LINES, RowOptions, kind_of, named_feed
from .rows.sync import sync
from .writer import Progress


class OptionError(ValueError):
    """Options that do not go together, or with what is added."""


@dataclass(frozen=True, slots=True)
class Named:
    """What one command is about."""

    notes: tuple[Path, ...]
    rows: tuple[tuple[Path, str], ...]  # (path, kind)


def add(
    connection: sqlite3.Connection,
    settings: Settings,
    options: Options,
    rows: RowOptions,
    paths: Sequence[str | Path],
    progress: Progress,
) -> Report:
    """Add everything that was named.

    Raises FileNotFoundError for what is not there, OptionError for options that do not
    fit, and ValueError for a table or column that does not exist.
    """
    named = _named(paths, rows)
    _check(rows, [kind for _, kind in named.rows])
    feeds = [named_feed(connection, path, kind, rows) for path, kind in named.rows]
    run = Ingest(connection, settings, options, progress)
    run.paths(named.notes)
    for feed in feeds:
        sync(run, feed)
    return run.finish()


def _named(paths: Sequence[str | Path], rows: RowOptions) -> Named:
    """Folders and notes, and files of rows. The text "llm-logs" is llm's log; a Path of that name is a folder."""
    notes: list[Path] = []
    tables: list[tuple[Path, str]] = []
    for path in paths:
        if path == LOGS:
            tables.append((_log(rows), LOGS))
            continue
        place = Path(path).expanduser()
        if not place.exists():
            raise FileNotFoundError(f"{path} is not there")
        kind = kind_of(place)
        if kind is None:
            notes.append(place)
        else:
            tables.append((place, kind))
    return Named(tuple(notes), tuple(dict.fromkeys(tables)))


def _log(rows: RowOptions) -> Path:
    if rows.logs is None:
        raise OptionError("say where llm's log is: llm logs path prints it")
    if not rows.logs.expanduser().exists():
        raise FileNotFoundError(f"There is no log of llm at {rows.logs}; --logs names another")
    return rows.logs.expanduser()


def _check(rows: RowOptions, kinds: Sequence[str]) -> None:
    """Refuse options that would mean nothing."""
    databases = kinds.count(DATABASE)
    for option, value in (("--table", rows.table), ("--sql", rows.sql), ("--where", rows.where)):
        if value is not None and databases != 1:
            raise OptionError(f"{option} is for one SQLite file; {databases or 'none'} is added here")
    if rows.sql is not None and (rows.table is not None or rows.where is not None):
        raise OptionError("--sql is a whole query; it goes without --table and --where")
    tables = [kind for kind in kinds if kind != LOGS]
    for option, columns in (("--text", rows.text), ("--title", rows.title), ("--key", rows.key)):
        if columns is not None and not tables:
            raise OptionError(f"{option} names a column of a CSV, JSON or SQLite file; none is added here")
    if rows.encoding is not None and not {CSV, JSON, LINES} & set(kinds):
        raise OptionError("--encoding is for CSV and JSON files; none is added here")
