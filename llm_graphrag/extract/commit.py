"""One window's reading becomes rows: claims, the facts they add up to, and the window's status, in one transaction.

A model may be asked under one schema and reply under the next, because a person decided
meanwhile. Within the transaction nobody decides: what is stored is read under the schema
of that moment, always.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..facts.llm.reading import Reading, Wish
from ..facts.llm.validate import read
from ..facts.llm.window import Window
from ..facts.template import Template
from ..store import counts, extractions, proposals, schema
from ..store.connection import SameFile, transaction
from ..store.entities import Names
from ..store.model_claims import put_model_claims, remove_model_claims
from ..store.settle import Settlement


class Committer:
    """Writes windows; nobody else writes with this connection meanwhile."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.names = Names(connection)
        self.settlement = Settlement(connection, self.names)
        self._seen = self._data_version()
        self._schema: tuple[int, Template] = (0, schema.NO_SCHEMA)
        self.file = SameFile(connection)

    def done(self, extraction: int, reading: Reading, reply: str, schema_version: int, now: str) -> int:
        """Store what was read; returns how many claims were. What is said of chunks that are gone is left out.

        Where a type that the window wishes for was approved since it was asked, it is to be asked about once more.
        """
        with self._writing():
            window, granted = extractions.window(self.connection, extraction), list[Wish]()
            if window.chunks and schema.version(self.connection) != schema_version:
                schema_version, template = self._current()
                wishes = reading.wishes
                reading = read(reply, window, template, extractions.mode(self.connection, extraction))
                granted = proposals.approved(self.connection, [wish for wish in wishes if wish not in reading.wishes])
            kept = self._store(extraction, window, reading, granted, schema_version)
            extractions.finish(self.connection, extraction, reply, reading.dropped, kept, now)
            if granted:
                extractions.ask_again(self.connection, [extraction])
        return kept

    def reread(self, extraction: int, mode: str) -> tuple[Reading, int] | None:
        """Read the reply of a window again under the schema of today; None if it has none any more.

        Returns the reading and how many claims were stored. Raises ReplyError if the reply cannot be used.
        """
        with self._writing():
            row = extractions.reply(self.connection, extraction)
            if row is None:
                return None
            version, template = self._current()
            window = extractions.window(self.connection, extraction)
            reading = read(row["reply"], window, template, mode)
            kept = self._store(extraction, window, reading, (), version, asked=False)
            if row["status"] == "failed":
                extractions.finish(self.connection, extraction, row["reply"], reading.dropped, kept, row["finished"])
            else:
                extractions.reread(self.connection, extraction, reading.dropped, kept)
        return reading, kept

    def _store(
        self,
        extraction: int,
        window: Window,
        reading: Reading,
        granted: Iterable[Wish],
        schema_version: int,
        asked: bool = True,
    ) -> int:
        chunks = {c.number: (c.chunk, c.text) for c in window.chunks}
        claims = [claim for claim in reading.claims if claim.number in chunks]
        remove_model_claims(self.connection, self.settlement, [chunk for chunk, _ in chunks.values()])
        kept = put_model_claims(self.connection, self.settlement, claims, chunks, extraction, schema_version)
        wishes = [*reading.wishes, *granted]
        proposals.put_wishes(self.connection, extraction, wishes, chunks, reading.dropped, asked)
        self.settlement.finish()
        counts.mark_stale(self.connection)
        return kept

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction on the file that was opened; what was looked up is forgotten if it fails."""
        try:
            self.file.ensure()
            with transaction(self.connection):
                self._heed_others()
                yield
        except BaseException:
            self.names.clear()
            raise

    def _current(self) -> tuple[int, Template]:
        version = schema.version(self.connection)
        if version != self._schema[0]:
            self._schema = version, schema.current(self.connection)
        return version, self._schema[1]

    def failed(self, extraction: int, error: str, reply: str | None, now: str) -> None:
        """Store why a window failed, and what was replied."""
        self.file.ensure()
        with transaction(self.connection):
            extractions.fail(self.connection, extraction, error, reply, now)
            extractions.sweep(self.connection)

    def give_back(self, extraction: int) -> None:
        """A window that was not asked about waits again."""
        with transaction(self.connection):
            extractions.give_back(self.connection, extraction)

    def _heed_others(self) -> None:
        version = self._data_version()
        if version != self._seen:
            self._seen = version
            self.names.clear()

    def _data_version(self) -> int:
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])
