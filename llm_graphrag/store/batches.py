"""Windows and calls that are at a provider: exported as requests, until replies come or a person takes them back.

A request of a batch is a row of ``kg_ledger`` like any call. Its process is BATCH, which
never ends, so that what was set aside for it stays set aside for the days that a batch
may take; its ``log_id`` is the custom_id that comes back with the reply. That row outlives
its window, so a reply is known by it, and counted once, whatever became of the notes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .extractions import Asking
from .processes import BATCH

__all__ = ["BatchCall", "bind", "calls", "changed", "export", "exported", "held_as", "reopen", "take_back"]


@dataclass(frozen=True, slots=True)
class BatchCall:
    """A request that was exported, as the ledger has it; ``extraction`` is None if its window is gone."""

    id: int
    custom_id: str
    extraction: int | None
    model: str
    status: str  # reserved: no reply has come yet; settled; released: taken back, or answered with an error
    reserved_tokens: int
    reserved_cost: float | None
    estimated_tokens: int


def calls(connection: sqlite3.Connection) -> list[BatchCall]:
    """All requests that were ever exported, in order."""
    rows = connection.execute(
        """SELECT id, log_id, extraction, model, status, reserved_tokens, reserved_cost, estimated_tokens
           FROM kg_ledger WHERE process = ? AND log_id IS NOT NULL ORDER BY id""",
        [BATCH],
    )
    return [BatchCall(*row) for row in rows]


def bind(connection: sqlite3.Connection, call: int, custom_id: str) -> None:
    """A reservation belongs to a request from now on, and no longer to this process."""
    connection.execute("UPDATE kg_ledger SET process = ?, log_id = ? WHERE id = ?", [BATCH, custom_id, call])


def reopen(connection: sqlite3.Connection, call: int) -> None:
    """A call that was taken back was made after all: it can be settled."""
    connection.execute(
        "UPDATE kg_ledger SET status = 'reserved', settled_at = NULL WHERE id = ? AND status = 'released'", [call]
    )


def export(connection: sqlite3.Connection, extraction: int, custom_id: str, asking: Asking, now: str) -> bool:
    """A window goes into a file of requests; False if another process has it, or it is gone."""
    cursor = connection.execute(
        """UPDATE kg_extractions SET status = 'exported', claimed_by = ?, started = ?, model = ?, prompt_hash = ?,
             schema_version = ?, mode = ? WHERE id = ? AND (status IN ('planned', 'failed')
               OR (status = 'done' AND ask_again))""",
        [custom_id, now, asking.model, asking.prompt_hash, asking.schema_version, asking.mode, extraction],
    )
    return cursor.rowcount > 0


def exported(connection: sqlite3.Connection, documents: Sequence[int] | None = None) -> list[int]:
    """The windows that wait for replies; those that hold one of ``documents``."""
    rows = connection.execute(
        """SELECT e.id FROM kg_extractions e WHERE e.status = 'exported'
             AND (:documents IS NULL OR EXISTS (
               SELECT 1 FROM kg_extraction_chunks x JOIN kg_chunks c ON c.id = x.chunk
               WHERE x.extraction = e.id AND c.document IN (SELECT value FROM json_each(:documents))))
           ORDER BY e.id""",
        {"documents": None if documents is None else json.dumps(list(documents))},
    )
    return [row[0] for row in rows]


def held_as(connection: sqlite3.Connection, extraction: int) -> tuple[str, str | None] | None:
    """(status, custom_id under which it is exported) of a window; None if it is gone."""
    row = connection.execute("SELECT status, claimed_by FROM kg_extractions WHERE id = ?", [extraction]).fetchone()
    if row is None:
        return None
    return row["status"], row["claimed_by"] if row["status"] == "exported" else None


def changed(connection: sqlite3.Connection, extraction: int) -> int:
    """How many chunks of a window are no longer there."""
    row = connection.execute(
        "SELECT count(*) FROM kg_extraction_chunks WHERE extraction = ? AND chunk IS NULL", [extraction]
    ).fetchone()
    return int(row[0])


def take_back(connection: sqlite3.Connection, extractions: Iterable[int]) -> None:
    """Exported windows wait again; those that had been read before count as read, to be asked about once more."""
    connection.executemany(
        """UPDATE kg_extractions SET claimed_by = NULL, started = NULL,
             status = iif(ask_again OR (reply IS NOT NULL AND error IS NULL), 'done', 'planned')
           WHERE id = ? AND status = 'exported'""",
        [[extraction] for extraction in extractions],
    )
