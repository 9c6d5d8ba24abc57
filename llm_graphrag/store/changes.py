"""The change log that derived indexes follow: one row a changed thing, its last operation."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable


def record(connection: sqlite3.Connection, table: str, ids: Iterable[int], operation: str) -> None:
    """Note that rows ``ids`` of ``table`` were inserted, updated or deleted."""
    rows = [(table, id_, operation) for id_ in ids]
    if rows:
        connection.executemany('INSERT INTO kg_changes("table", id, operation) VALUES (?, ?, ?)', rows)
