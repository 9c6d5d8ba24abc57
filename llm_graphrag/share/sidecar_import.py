"""Sidecars read back: facts become evidence again, and what a model has read counts as read.

A statement is taken if its quote stands in the note, at its place or another; if not, it is reported and left out,
alone. A passage that nobody has read here, or only earlier, gets what the sidecar says of it; one that was read here
later keeps what it has. So importing twice changes nothing, and the newest reading wins whichever way it came.

Facts become rows as a model's do (``store/model_claims.py``), through a settlement, so what follows from them is what
followed from them where they were exported.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..extract.extract import adopt_schema
from ..facts.template import Template
from ..facts.template_file import read_template
from ..settings import Settings
from ..sources.ingest import reparse, silent, utc_now
from ..sources.report import Remark
from ..sources.writer import BATCH_DOCUMENTS, Progress, Writer
from ..store import counts, history, schema
from ..store.connection import SameFile, transaction
from ..store.entities import Names
from ..store.settle import Settlement
from .sidecar_file import Sidecar, SidecarError, loads
from .sidecar_paths import SCHEMA
from .sidecar_rows import STATED, Put, find_note, put_sidecar
from .sidecars import SCHEMA_HEADER, found_sidecars

__all__ = ["Imported", "import_sidecars"]

MAX_BYTES = 50_000_000


@dataclass(slots=True)
class Imported:
    """What an import did; ``skipped`` are files and statements that could not be used, with their reasons."""

    sidecars: int = 0
    facts: int = 0  # that are new here
    there: int = 0  # that were here already
    passages: int = 0  # that count as read now
    later: int = 0  # that were read here later, and keep what they have
    changed: int = 0  # that are not as they were read: extract will ask about them
    schema: str = ""  # that was put in force, since there was none
    foreign: list[str] = field(default_factory=list)  # relations and attributes that the schema does not have
    skipped: list[Remark] = field(default_factory=list)

    def add(self, note: str, put: Put) -> None:
        """Count what became of one sidecar."""
        self.sidecars += 1
        for name in ("facts", "there", "passages", "later", "changed"):
            setattr(self, name, getattr(self, name) + getattr(put, name))
        self.skipped += [Remark(note, f"{why}: {fact.quote[:80]!r}", fact.line) for fact, why in put.lost]


def import_sidecars(
    connection: sqlite3.Connection, settings: Settings, folder: Path, progress: Progress = silent
) -> Imported:
    """Read all sidecars in ``folder``. Raises FileNotFoundError if it is not there."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not there, or no folder")
    report = Imported()
    files = [path for path in found_sidecars(folder) if path != folder / SCHEMA]
    if files:
        _give_schema(connection, folder, report)
    importer = _Importer(connection, report, history.Run("import", detail=str(folder)))
    for start in range(0, len(files), BATCH_DOCUMENTS):
        progress("sidecars", start, len(files))
        importer.write(list(_read(folder, files[start : start + BATCH_DOCUMENTS], report)))
    writer = Writer(connection, settings)
    writer.settlement.run = importer.settlement.run
    writer.finish(progress, reparse)
    report.foreign = sorted(importer.foreign)
    return report


def _give_schema(connection: sqlite3.Connection, folder: Path, report: Imported) -> None:
    """A file without a schema gets the one that was exported; one that has a schema keeps it."""
    if schema.version(connection):
        return
    path = folder / SCHEMA
    if path in found_sidecars(folder) and not path.is_symlink() and path.stat().st_size <= MAX_BYTES:
        text = path.read_text(encoding="utf-8")
        if text.startswith(SCHEMA_HEADER):
            template = read_template(text, str(path))
            schema.use(connection, template, history.who(), utc_now(), f"imported from {path}")
            report.schema = template.name
            return
    adopt_schema(connection)
    report.schema = schema.current(connection).name


def _read(folder: Path, files: Iterable[Path], report: Imported) -> Iterator[Sidecar]:
    """The sidecars that can be used."""
    for path in files:
        name = path.relative_to(folder).as_posix()
        try:
            if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
                raise SidecarError("it is a link, no file, or too large")
            sidecar, faults = loads(path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            report.skipped.append(Remark(name, "it is not UTF-8"))
        except SidecarError as error:
            report.skipped.append(Remark(name, str(error)))
        except OSError as error:
            report.skipped.append(Remark(name, f"it cannot be read: {error.strerror or error}"))
        else:
            report.skipped += [Remark(sidecar.note, fault.message, fault.line) for fault in faults]
            yield sidecar


class _Importer:
    """Writes sidecars, a batch a transaction."""

    def __init__(self, connection: sqlite3.Connection, report: Imported, run: history.Run) -> None:
        self.connection, self.report = connection, report
        self.names = Names(connection)
        self.settlement = Settlement(connection, self.names)
        self.settlement.run = run
        self.template: Template = schema.current(connection)
        self.foreign: set[str] = set()
        self._file = SameFile(connection)

    def write(self, sidecars: Iterable[Sidecar]) -> None:
        """Store a batch; what was looked up is forgotten before it, since others may have written."""
        self.names.clear()
        self._file.ensure()
        with transaction(self.connection):
            for sidecar in sidecars:
                self._write(sidecar)
            self.settlement.finish()
            counts.mark_stale(self.connection)

    def _write(self, sidecar: Sidecar) -> None:
        note = find_note(self.connection, sidecar.note)
        if note is None:
            self.report.skipped.append(Remark(sidecar.note, "there is no such note; add it first, then import again"))
            return
        self.report.add(note.uri, put_sidecar(self.connection, self.settlement, note, sidecar))
        for fact in sidecar.facts:
            known = {"triple": self.template.resolve_relation, "attribute": self.template.resolve_attribute}
            if fact.origin in STATED and fact.kind in known and known[fact.kind](fact.relation) is None:
                self.foreign.add(fact.relation)
