"""Model calls as rows: ``kg_ledger``, one an attempt, and ``kg_budgets``, what they may come to.

What a row counts towards a budget is its usage once that is known (settled), all that
was set aside for it while it is not (reserved) or never will be (lost), and nothing
if no model was reached (released). ``USED`` says so once, for every sum.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .connection import BUSY_TIMEOUT_MS, open_to_write
from .processes import BATCH

OWN_THREAD = "graphrag-"
"""How the id of a conversation begins that we put into llm's log; with the id of its only turn it is whole."""

TOKENS = """
  CASE status WHEN 'settled' THEN coalesce(input_tokens, 0) + coalesce(output_tokens, 0)
              WHEN 'released' THEN 0 ELSE reserved_tokens END"""
COST = "coalesce(CASE status WHEN 'settled' THEN cost WHEN 'released' THEN 0 ELSE reserved_cost END, 0)"

OPEN = f"status = 'reserved' AND process <> '{BATCH}'"
"""In flight. A request of a batch is not: it will be days, so nothing can wait for what was set aside for it."""

USED = f"""
  SELECT coalesce(sum({TOKENS}), 0) AS tokens, coalesce(sum({COST}), 0) AS cost,
    coalesce(sum(CASE WHEN {OPEN} THEN reserved_tokens END), 0) AS open_tokens,
    coalesce(sum(CASE WHEN {OPEN} THEN reserved_cost END), 0) AS open_cost,
    count(CASE WHEN status = 'settled' AND cost IS NULL THEN 1
               WHEN status IN ('reserved', 'lost') AND reserved_cost IS NULL THEN 1 END) AS unpriced
  FROM kg_ledger"""  # noqa: S608 - of constants


def now() -> str:
    """The present moment, UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def open_for_threads(path: Path) -> sqlite3.Connection:
    """A connection of its own to a knowledge base, to be used by any thread, one at a time.

    It waits for other writers, and what it has written survives a loss of power: a
    reservation that is forgotten would be money spent unseen.
    """
    open_to_write(path).close()  # refuses what is no knowledge base, brings it to this version
    connection = sqlite3.connect(
        path, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000, check_same_thread=False, cached_statements=32
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


# Budgets --------------------------------------------------------------------------


def put_budget(connection: sqlite3.Connection, scope: str, unit: str, amount: float, soft: bool) -> None:
    connection.execute(
        """INSERT INTO kg_budgets(scope, unit, amount, soft, set_at) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT(scope) DO UPDATE SET unit = excluded.unit, amount = excluded.amount,
             soft = excluded.soft, set_at = excluded.set_at""",
        [scope, unit, amount, int(soft), now()],
    )


def remove_budget(connection: sqlite3.Connection, scope: str) -> bool:
    return connection.execute("DELETE FROM kg_budgets WHERE scope = ?", [scope]).rowcount > 0


def get_budget(connection: sqlite3.Connection, scope: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute("SELECT * FROM kg_budgets WHERE scope = ?", [scope]).fetchone()
    return row


def used(connection: sqlite3.Connection, run: str | None = None) -> sqlite3.Row:
    """What the calls of one run, or all there ever were in this file, come to; open ones in full."""
    where, values = (" WHERE run = ?", [run]) if run is not None else ("", [])
    row: sqlite3.Row = connection.execute(USED + where, values).fetchone()
    return row


# Calls ----------------------------------------------------------------------------


def insert_call(connection: sqlite3.Connection, row: Mapping[str, Any]) -> int:
    """A reservation; returns its id."""
    cursor = connection.execute(
        """INSERT INTO kg_ledger(at, run, process, purpose, model, reserved_tokens, reserved_cost, estimated_tokens,
             extraction, status)
           VALUES (:at, :run, :process, :purpose, :model, :reserved_tokens, :reserved_cost, :estimated_tokens,
             :extraction, 'reserved')""",
        row,
    )
    return int(cursor.lastrowid or 0)


def settle_call(connection: sqlite3.Connection, id_: int, row: Mapping[str, Any]) -> bool:
    """The usage of a call is known. One that was given up for lost may still turn up."""
    cursor = connection.execute(
        """UPDATE kg_ledger SET status = 'settled', input_tokens = :input_tokens, output_tokens = :output_tokens,
             cost = :cost, log_id = :log_id, settled_at = :at
           WHERE id = :id AND status IN ('reserved', 'lost')""",
        {**row, "id": id_, "at": now()},
    )
    return cursor.rowcount > 0


def close_call(connection: sqlite3.Connection, id_: int, status: str) -> bool:
    """Make a reservation ``released`` (costs nothing) or ``lost`` (costs all that was reserved)."""
    cursor = connection.execute(
        """UPDATE kg_ledger SET status = :status, settled_at = :at,
             cost = CASE :status WHEN 'lost' THEN reserved_cost END
           WHERE id = :id AND status = 'reserved'""",
        {"id": id_, "status": status, "at": now()},
    )
    return cursor.rowcount > 0


def open_calls(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    """Calls that are in flight, or were when their process ended."""
    return connection.execute("SELECT id, process, at FROM kg_ledger WHERE status = 'reserved'").fetchall()


def recent_usage(
    connection: sqlite3.Connection, model: str, limit: int, purpose: str | None = None
) -> list[tuple[int, int]]:
    """(estimated, reported) prompt tokens of the last settled calls of a model, for a purpose or for all."""
    rows = connection.execute(
        """SELECT estimated_tokens, input_tokens FROM kg_ledger
           WHERE model = :model AND status = 'settled' AND estimated_tokens > 0 AND input_tokens > 0
             AND (:purpose IS NULL OR purpose = :purpose)
           ORDER BY id DESC LIMIT :limit""",
        {"model": model, "purpose": purpose, "limit": limit},
    )
    return [(row[0], row[1]) for row in rows]


def longest_reply(connection: sqlite3.Connection, model: str) -> int:
    """Tokens of the longest reply of a model; 0 if there is none yet."""
    row = connection.execute(
        "SELECT coalesce(max(output_tokens), 0) FROM kg_ledger WHERE model = ? AND status = 'settled'", [model]
    ).fetchone()
    return int(row[0])


def output_ratio(connection: sqlite3.Connection, purpose: str, model: str) -> float | None:
    """Tokens of reply for each of prompt; None if this model has settled no call for this purpose."""
    row = connection.execute(
        """SELECT sum(output_tokens) * 1.0 / nullif(sum(input_tokens), 0) FROM kg_ledger
           WHERE purpose = ? AND model = ? AND status = 'settled'""",
        [purpose, model],
    ).fetchone()
    return None if row[0] is None else float(row[0])


def lost(connection: sqlite3.Connection, run: str) -> tuple[int, int]:
    """How many calls of a run were lost, and the tokens set aside for them."""
    row = connection.execute(
        "SELECT count(*), coalesce(sum(reserved_tokens), 0) FROM kg_ledger WHERE run = ? AND status = 'lost'", [run]
    ).fetchone()
    return int(row[0]), int(row[1])
