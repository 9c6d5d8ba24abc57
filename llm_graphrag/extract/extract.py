"""Extraction from beginning to end: the schema, the run, then looking for the names that are new; and replay."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..facts.llm.reply import ReplyError
from ..facts.template import Template, load_template
from ..models import Caller
from ..settings import Settings
from ..sources.ingest import reparse, silent, utc_now
from ..sources.writer import Writer
from ..store import extractions, history, schema
from .asking import Reader
from .batch_export import Exported
from .batch_export import export_requests as export
from .batch_import import Import, Imported
from .commit import Committer
from .run import Options, Progress, Report, Run

__all__ = [
    "DEFAULT_SCHEMA",
    "Replayed",
    "adopt_schema",
    "export_requests",
    "extract",
    "import_replies",
    "reader",
    "replay",
]

DEFAULT_SCHEMA = "general"


def adopt_schema(connection: sqlite3.Connection) -> bool:
    """A model needs a schema to be bounded by: a file that has none gets the shipped default; True if it did."""
    if schema.version(connection):
        return False
    template = load_template(DEFAULT_SCHEMA)
    schema.use(connection, template, "default", utc_now(), "no schema had been chosen when extraction began")
    return True


def schema_to_be(connection: sqlite3.Connection) -> Template:
    """The schema under which extraction would run; nothing is written."""
    return schema.current(connection) if schema.version(connection) else load_template(DEFAULT_SCHEMA)


def reader(connection: sqlite3.Connection, settings: Settings, caller: Caller, two_step: bool = False) -> Reader:
    """Who asks ``caller`` about windows of this file."""
    return Reader(caller, schema_to_be(connection), settings.extraction_mode, two_step)


def extract(
    connection: sqlite3.Connection,
    settings: Settings,
    caller: Caller,
    options: Options,
    two_step: bool = False,
    progress: Progress = silent,
    stop: threading.Event | None = None,
) -> Report:
    """Ask a model about what it has not read, and store what it says.

    Raises ValueError for a model or option that cannot be used; failing calls are in the report.
    """
    adopt_schema(connection)
    asks = replace(reader(connection, settings, caller, two_step), repair=options.repair)
    committer = Committer(connection)
    committer.settlement.run = history.Run("extract", detail=caller.model_id)
    run = Run(committer, asks, schema.version(connection), options, stop or threading.Event())
    run.plan()
    report = run(progress)
    _find_names(connection, settings, committer, progress)  # also what a killed run has left
    return report


def _find_names(connection: sqlite3.Connection, settings: Settings, committer: Committer, progress: Progress) -> None:
    """Look for the names that are new, as a part of the run that brought them."""
    writer = Writer(connection, settings)
    writer.settlement.run = committer.settlement.run
    writer.finish(progress, reparse)


def export_requests(
    connection: sqlite3.Connection,
    settings: Settings,
    caller: Caller,
    options: Options,
    path: Path,
    format: str,
    two_step: bool = False,
    progress: Progress = silent,
) -> Exported:
    """Write what a model would be asked into a file for a provider's batch; see batch_export.py."""
    adopt_schema(connection)
    return export(connection, reader(connection, settings, caller, two_step), options, path, format, progress)


def import_replies(
    connection: sqlite3.Connection,
    settings: Settings,
    path: Path,
    any_model: bool = False,
    progress: Progress = silent,
) -> Imported:
    """Store what a file of replies says; see batch_import.py."""
    committer = Committer(connection)
    committer.settlement.run = history.Run("extract", detail=f"batch {path.name}")
    report = Import(committer, any_model)(path, progress)
    _find_names(connection, settings, committer, progress)
    return report


@dataclass(slots=True)
class Replayed:
    """What became of kept replies when they were read again."""

    windows: int = 0
    kept: int = 0
    failed: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    wishes: int = 0
    warnings: list[str] = field(default_factory=list)


def replay(
    connection: sqlite3.Connection,
    settings: Settings,
    progress: Progress = silent,
    windows: Sequence[int] | None = None,
) -> Replayed:
    """Read kept replies again, all or those of ``windows``, under the schema and the checks of today; nothing is asked.

    A reply that could not be used may now be; one that no longer can is left as it was.
    """
    committer, found = Committer(connection), extractions.with_replies(connection, windows)
    committer.settlement.run = history.Run("replay" if windows is None else "review")
    report = Replayed(windows=len(found))
    for number, extraction in enumerate(found):
        progress("replies", number, len(found))
        try:
            read = committer.reread(extraction, settings.extraction_mode)
        except ReplyError:
            report.failed += 1
            continue
        if read is not None:
            reading, kept = read
            report.kept += kept
            report.dropped.update(item.reason for item in reading.dropped)
            report.wishes += len(reading.wishes)
    _find_names(connection, settings, committer, progress)
    return report
