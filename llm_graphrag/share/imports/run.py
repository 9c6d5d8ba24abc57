"""One import: files of triples and of nodes become documents whose rows are their own evidence.

Importing is a sync, as adding notes is. A file that has not changed is not read again; one that has changed keeps the
chunks, and with them the evidence, of all rows that did not change their surroundings. Writing goes in batches: what is
new comes before what is gone, so that a fact that stays keeps its id, and a run that is killed leaves a file that says
that its import has to be done again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...facts.link_targets import link_key
from ...settings import Settings
from ...sources.files import stored_path
from ...sources.ingest import reparse, silent, utc_now
from ...sources.report import Remark
from ...sources.rows.feed import Remarks, UnreadableError
from ...sources.rows.text import read_text
from ...sources.totals import totals
from ...sources.writer import Progress, Writer
from ...store import changes, counts, history, imported, schema
from ...store import chunks as chunk_store
from ...store import documents as document_store
from ...store.connection import SameFile, transaction
from ...store.entities import Names
from ...store.evidence import release_chunks
from ...store.imported import Piece
from ...store.settle import Settlement
from .options import CSV, JSONL, TSV, ImportOptions, format_of
from .pieces import pieces
from .reading import Reading
from .statements import Maker
from .triples import read_lines, read_table

__all__ = ["GraphImport", "import_graph"]

READER = "graph-1"  # raise it when reading changes: every file is read again
BATCH = 20_000  # statements
GROUP = "-"  # of documents that have no entity: no note has a key that begins so


@dataclass(slots=True)
class GraphImport:
    """What an import did; ``skipped`` are rows, and files, that could not be used."""

    files: int = 0  # that were read
    unchanged: int = 0
    rows: int = 0  # that state something
    statements: int = 0
    skipped: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Known:
    """The document of a file, if it was imported before."""

    id: int | None = None
    content_hash: str = ""
    reading: str = ""


def import_graph(
    connection: sqlite3.Connection,
    settings: Settings,
    paths: Sequence[Path],
    options: ImportOptions,
    progress: Progress = silent,
) -> GraphImport:
    """Import files. Raises FileNotFoundError, or ValueError for options that do not fit; else all is in the report."""
    for path in (*paths, *options.nodes):
        if not path.is_file():
            raise FileNotFoundError(f"{path} is not there, or no file")
    formats = [format_of(path, options) for path in paths]
    run = _Import(connection, options, progress)
    for path, format in zip(paths, formats, strict=True):
        run.file(path, format)
    writer = Writer(connection, settings)
    writer.settlement.run = run.settlement.run
    writer.finish(progress, reparse)
    run.report.totals = totals(connection)
    return run.report


class _Import:
    """Reads and writes files, one after the other."""

    def __init__(self, connection: sqlite3.Connection, options: ImportOptions, progress: Progress) -> None:
        self.connection, self.options, self.progress = connection, options, progress
        self.report = GraphImport()
        self.now = utc_now()
        self.settlement = Settlement(connection, Names(connection))
        self.settlement.run = history.Run("import", self.now)
        self._file = SameFile(connection)

    def file(self, path: Path, format: str) -> None:
        """Import one file, if it is not as it was imported before."""
        place = stored_path(path.resolve())
        content_hash = _hash(path.read_bytes())
        how = self._how(format)
        known = self._known(place)
        if (known.content_hash, known.reading) == (content_hash, how):
            self.report.unchanged += 1
            return
        try:
            reading = self._read(path, format)
        except UnreadableError as error:
            self.report.skipped.append(Remark(path.name, str(error)))
            return
        self.report.files += 1
        self.report.rows += reading.used
        self.report.statements += sum(map(len, reading.statements))
        self.report.skipped += reading.skipped
        self.report.warnings += reading.warnings
        cut = pieces(reading.text, reading.rows, reading.statements)
        document = self._document(path, place, reading, known, how)
        self._write(document, path.name, reading.text, cut, reuse=known.reading == how)
        with self._batch():
            self.connection.execute("UPDATE kg_documents SET content_hash = ? WHERE id = ?", [content_hash, document])

    def _how(self, format: str) -> str:
        """Names everything that decides what is read of a file."""
        said = json.dumps([READER, format, self.options.of_reading()], sort_keys=True, default=str)
        return _hash(said.encode())[:16]

    def _read(self, path: Path, format: str) -> Reading:
        reading = Reading(path.name)
        remarks = Remarks(path.name)
        reading.text = read_text(path, self.options.encoding, remarks)
        reading.warnings += remarks.warnings
        maker = Maker(attributes=self.options.attributes, own=own_names(self.connection))
        if format in (CSV, TSV):
            read_table(reading, self.options, format == TSV, maker)
        elif format == JSONL:
            read_lines(reading, self.options, maker)
        return reading

    # -- rows --------------------------------------------------------------------

    def _known(self, place: str) -> _Known:
        row = self.connection.execute(
            """SELECT d.id, d.content_hash, d.reading FROM kg_sources s JOIN kg_documents d ON d.source = s.id
               WHERE s.kind = 'import' AND s.root = ?""",
            [place],
        ).fetchone()
        return _Known() if row is None else _Known(row["id"], row["content_hash"], row["reading"])

    def _document(self, path: Path, place: str, reading: Reading, known: _Known, how: str) -> int:
        """The row of the document, which has no content hash until all of it is written."""
        connection, stat = self.connection, path.stat()
        said: dict[str, Any] = {"file": place, "size": stat.st_size, "mtime": stat.st_mtime_ns}
        with self._batch():
            source = document_store.put_source(connection, path.name, imported.DOCUMENT, place, "plain", said, self.now)
            skipped = [(f"{remark.path}:{remark.line}", remark.message) for remark in reading.skipped]
            document_store.put_skipped(connection, source, skipped[:MAX_SKIPPED], self.now)
            name = connection.execute("SELECT name FROM kg_sources WHERE id = ?", [source]).fetchone()[0]
            document = document_store.Document(
                uri=name, source=source, path=name, kind=imported.DOCUMENT, title=name, name=name,
                name_key=link_key(name), content_hash="", reading=how, folder="", private=self.options.private,
                length=len(reading.text),
            )  # fmt: skip
            id_ = document_store.put_document(connection, document, known.id, self.now)
            connection.execute(
                "UPDATE kg_documents SET group_key = ?, scanned = 1 WHERE id = ?", [GROUP + str(id_), id_]
            )
            changes.record(connection, "kg_documents", [id_], "insert" if known.id is None else "update")
        return id_

    def _write(self, document: int, title: str, text: str, cut: Sequence[Piece], reuse: bool) -> None:
        """Bring chunks and evidence of a document in step with its rows."""
        connection = self.connection
        had = imported.chunks_by_hash(connection, document)
        kept: list[tuple[Piece, int]] = []
        new: list[Piece] = []
        for piece in cut:
            same = had.get(chunk_store.text_hash(text[piece.start : piece.end])) if reuse else None
            if same:
                kept.append((piece, same.pop(0)["id"]))
            else:
                new.append(piece)
        gone = [row["id"] for rows in had.values() for row in rows]
        title = connection.execute("SELECT title FROM kg_documents WHERE id = ?", [document]).fetchone()[0]
        version, done, total = schema.version(connection), 0, sum(len(piece.statements) for piece in new)
        batches = list(_batches(new))
        for number, batch in enumerate(batches or [[]]):
            self.progress("rows", done, total)
            with self._batch():
                if number == 0:
                    imported.place_chunks(connection, kept)
                imported.put_pieces(connection, self.settlement, document, title, text, batch, version)
                if number >= len(batches) - 1:
                    self._remove(document, gone)
            done += sum(len(piece.statements) for piece in batch)

    def _remove(self, document: int, gone: list[int]) -> None:
        """Delete chunks with what rests on them."""
        connection = self.connection
        if not gone:
            return
        self.settlement.lost |= release_chunks(connection, gone)
        before = chunk_store.searchable(connection, document)
        chunk_store.unindex(connection, {id_: before[id_] for id_ in gone})
        connection.executemany("DELETE FROM kg_chunks WHERE id = ?", [[id_] for id_ in gone])
        changes.record(connection, "kg_chunks", gone, "delete")

    @contextmanager
    def _batch(self) -> Iterator[None]:
        """A transaction that settles before it commits. What was looked up is forgotten: others may have written."""
        self.settlement.names.clear()
        self._file.ensure()
        with transaction(self.connection):
            yield
            self.settlement.finish()
            counts.mark_stale(self.connection)


MAX_SKIPPED = 1_000  # rows of a file that are listed by status


def _batches(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    batch: list[Piece] = []
    held = 0
    for piece in pieces:
        batch.append(piece)
        held += 1 + len(piece.statements)
        if held >= BATCH:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def own_names(connection: sqlite3.Connection) -> dict[str, str]:
    """How the schema spells its types, by identifier."""
    from ...facts.template import folded

    return {folded(row["name"]): row["name"] for row in schema.types(connection)}


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
