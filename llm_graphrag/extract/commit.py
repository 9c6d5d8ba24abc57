"""One window's reading becomes rows: claims, the facts they add up to, and the window's status, in one transaction."""

from __future__ import annotations

import sqlite3

from ..facts.llm.reading import Reading
from ..store import counts, extractions
from ..store.connection import SameFile, transaction
from ..store.entities import Names
from ..store.model_claims import put_model_claims, remove_model_claims
from ..store.proposals import put_wishes
from ..store.settle import Settlement


class Committer:
    """Writes windows; nobody else writes with this connection meanwhile."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.names = Names(connection)
        self.settlement = Settlement(connection, self.names)
        self._seen = self._data_version()
        self.file = SameFile(connection)

    def done(self, extraction: int, reading: Reading, reply: str, schema_version: int, now: str) -> int:
        """Store what was read; returns how many claims were. What is said of chunks that are gone is left out."""
        try:
            self.file.ensure()
            with transaction(self.connection):
                self._heed_others()
                window = extractions.window(self.connection, extraction)
                chunks = {c.number: (c.chunk, c.text) for c in window.chunks}
                claims = [claim for claim in reading.claims if claim.number in chunks]
                remove_model_claims(self.connection, self.settlement, [chunk for chunk, _ in chunks.values()])
                kept = put_model_claims(self.connection, self.settlement, claims, chunks, extraction, schema_version)
                put_wishes(self.connection, extraction, reading.wishes, chunks)
                self.settlement.finish()
                counts.mark_stale(self.connection)
                extractions.finish(self.connection, extraction, reply, reading.dropped, kept, now)
        except BaseException:
            self.names.clear()
            raise
        return kept

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
