"""Write an imported file into the knowledge base: its document, its chunks, and what its rows state.

Writing goes in batches: what is new comes before what is gone, so that a fact that stays keeps its id. A document has
no content hash until all of it is written: a run that is killed leaves a file that says that its import has to be done
again, and the next import goes on from there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ...facts.link_targets import link_key
from ...sources.writer import Progress
from ...store import changes, counts, history, imported, schema
from ...store import chunks as chunk_store
from ...store import documents as document_store
from ...store.connection import SameFile, many_writes, transaction
from ...store.entities import Names
from ...store.evidence import release_chunks
from ...store.imported import Piece
from ...store.settle import Settlement
from .pieces import pieces
from .reading import Reading
from .ways import Kept

__all__ = ["GraphWriter", "Known"]

BATCH = 20_000  # statements
GROUP = "-"  # of documents that have no entity: no note has a key that begins so
MAX_SKIPPED = 1_000  # rows of a file that are listed by status


@dataclass(frozen=True, slots=True)
class Known:
    """The document of a file, if it was imported before; ``reading`` names how it was read.

    Of a new one ``private`` None is as it was.
    """

    id: int | None = None
    content_hash: str = ""
    reading: str = ""
    private: bool | None = None


class GraphWriter:
    """Writes the files of one run."""

    def __init__(self, connection: sqlite3.Connection, now: str, progress: Progress) -> None:
        self.connection, self.now, self.progress = connection, now, progress
        self.settlement = Settlement(connection, Names(connection))
        self.settlement.run = history.Run("import", now)
        self._file = SameFile(connection)

    def known(self, place: str) -> Known:
        """What the file holds of an imported file."""
        row = self.connection.execute(
            """SELECT d.id, d.content_hash, d.reading, d.private FROM kg_sources s
               JOIN kg_documents d ON d.source = s.id WHERE s.kind = 'import' AND s.root = ?""",
            [place],
        ).fetchone()
        return Known() if row is None else Known(row[0], row[1], row[2], bool(row[3]))

    def kept(self, place: str) -> Kept | None:
        """How an imported file was read; None if it is new, or that was not kept."""
        return document_store.options_of(self.connection, imported.DOCUMENT, place).get("read")

    def mark(self, document: int, private: bool) -> None:
        """Say whether a document is private; nothing else about it changes."""
        with transaction(self.connection):
            self.connection.execute("UPDATE kg_documents SET private = ? WHERE id = ?", [private, document])
            changes.record(self.connection, "kg_documents", [document], "update")

    def write(self, reading: Reading, place: str, stamp: dict[str, Any], new: Known) -> int:
        """Bring the document of a file in step with its rows; returns its id."""
        id_, title = self._document(reading, place, stamp, new)
        with many_writes(self.connection):
            self._pieces(id_, title, reading)
        with self._batch():
            self.connection.execute("UPDATE kg_documents SET content_hash = ? WHERE id = ?", [new.content_hash, id_])
        return id_

    def _document(self, reading: Reading, place: str, stamp: dict[str, Any], new: Known) -> tuple[int, str]:
        """Id and title of the document, which has no content hash until all of it is written."""
        connection, before = self.connection, self.known(place)
        known, private = before.id, before.private if new.private is None else new.private
        with self._batch():
            source = document_store.put_source(
                connection, PurePosixPath(place).name, imported.DOCUMENT, place, "plain", {"file": place, **stamp},
                self.now,
            )  # fmt: skip
            skipped = [
                (f"line {remark.line}" if remark.line else f"statement {number}", remark.message)
                for number, remark in enumerate(reading.skipped[:MAX_SKIPPED], 1)
            ]
            document_store.put_skipped(connection, source, skipped, self.now)
            name = connection.execute("SELECT name FROM kg_sources WHERE id = ?", [source]).fetchone()[0]
            document = document_store.Document(
                uri=name, source=source, path=name, kind=imported.DOCUMENT, title=name, name=name,
                name_key=link_key(name), content_hash="", reading=new.reading, folder="", private=bool(private),
                length=len(reading.text),
            )  # fmt: skip
            id_ = document_store.put_document(connection, document, known, self.now)
            connection.execute(
                "UPDATE kg_documents SET group_key = ?, scanned = 1 WHERE id = ?", [GROUP + str(id_), id_]
            )
            changes.record(connection, "kg_documents", [id_], "insert" if known is None else "update")
        return id_, name

    def _pieces(self, document: int, title: str, reading: Reading) -> None:
        """Chunks whose text is as it was stay; those whose rows state something else by now are stated anew."""
        connection, text = self.connection, reading.text
        had = imported.chunks_by_hash(connection, document)
        version = schema.version(connection)
        batches = _batches(pieces(text, reading.each()))
        batch: list[Piece] | None = next(batches, [])
        while batch is not None:
            self.progress("rows", reading.given, reading.total)
            following = next(batches, None)
            kept = self._kept(text, batch, had)
            stated = imported.stated_in(connection, [id_ for _, id_ in kept])
            todo = [p for p in batch if p.id is None or imported.states(p) != stated.get(p.id, set())]
            with self._batch():
                imported.place_chunks(connection, kept)
                imported.put_pieces(connection, self.settlement, document, title, text, todo, version)
                if following is None:
                    self._remove([row["id"] for rows in had.values() for row in rows])
            batch = following

    def _kept(self, text: str, batch: Sequence[Piece], had: Mapping[str, list[sqlite3.Row]]) -> list[tuple[Piece, int]]:
        """Pieces whose text is there, with their chunks, which are taken from ``had``."""
        kept = []
        for piece in batch if had else ():
            same = had.get(chunk_store.text_hash(text[piece.start : piece.end]))
            if same:
                piece.id = int(same.pop(0)["id"])
                kept.append((piece, piece.id))
        return kept

    def _remove(self, gone: list[int]) -> None:
        """Delete chunks with what rests on them."""
        self.settlement.lost |= release_chunks(self.connection, gone)
        chunk_store.delete(self.connection, gone)

    @contextmanager
    def _batch(self) -> Iterator[None]:
        """A transaction that settles before it commits. What was looked up is forgotten: others may have written."""
        self.settlement.names.clear()
        self._file.ensure()
        with transaction(self.connection):
            yield
            self.settlement.finish()
            counts.mark_stale(self.connection)


def _batches(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
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
