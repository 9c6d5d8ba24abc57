"""Settings of one knowledge base: a row a key in ``kg_settings``, values as JSON."""

from __future__ import annotations

import json
import sqlite3
from typing import Any


def get_setting(connection: sqlite3.Connection, key: str, default: Any = None) -> Any:
    row = connection.execute("SELECT value FROM kg_settings WHERE key = ?", [key]).fetchone()
    return default if row is None else json.loads(row[0])


def put_setting(connection: sqlite3.Connection, key: str, value: Any) -> None:
    connection.execute(
        """INSERT INTO kg_settings(key, value) VALUES (?, ?)
           ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value""",
        [key, json.dumps(value, ensure_ascii=False, sort_keys=True)],
    )
