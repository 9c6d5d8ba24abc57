"""The log of decisions: who decided what, when, and what took it back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any


def record(
    connection: sqlite3.Connection,
    *,
    kind: str,
    item: int,
    subject: str,
    action: str,
    before: str,
    actor: str,
    at: str,
    detail: Mapping[str, Any] | None = None,
    note: str = "",
    schema_version: int | None = None,
) -> int:
    """Log a decision; returns its id."""
    cursor = connection.execute(
        """INSERT INTO kg_decisions(at, actor, kind, item, subject, action, before, detail, note, schema_version)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        [
            *(at, actor, kind, item, subject, action, before),
            *(json.dumps(dict(detail or {}), ensure_ascii=False, sort_keys=True), note, schema_version),
        ],
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def standing(connection: sqlite3.Connection, kind: str, item: int) -> sqlite3.Row | None:
    """The last decision about an item that nothing has taken back; None if there is none."""
    row: sqlite3.Row | None = connection.execute(
        """SELECT * FROM kg_decisions WHERE kind = ? AND item = ? AND undone_by IS NULL AND action <> 'undo'
           ORDER BY id DESC LIMIT 1""",
        [kind, item],
    ).fetchone()
    return row


def mark_undone(connection: sqlite3.Connection, decision: int, by: int) -> None:
    connection.execute("UPDATE kg_decisions SET undone_by = ? WHERE id = ?", [by, decision])


def of(connection: sqlite3.Connection, kind: str, item: int) -> list[sqlite3.Row]:
    """All decisions about an item, newest first."""
    return connection.execute(
        "SELECT * FROM kg_decisions WHERE kind = ? AND item = ? ORDER BY id DESC", [kind, item]
    ).fetchall()


def log(connection: sqlite3.Connection, kind: str | None = None, limit: int = 100) -> list[sqlite3.Row]:
    """Decisions, newest first."""
    return connection.execute(
        "SELECT * FROM kg_decisions WHERE :kind IS NULL OR kind = :kind ORDER BY id DESC LIMIT :limit",
        {"kind": kind, "limit": limit},
    ).fetchall()
