"""The process in which queries run (``store.process``), and what keeps them within bounds.

No word of a query is looked at. The file is opened read-only, and SQLite asks ``Guard`` for
everything that a statement is about to touch. A progress handler ends it when its time is
over; what that does not reach, since SQLite does not ask it while one function works or a
statement is planned, ends with the process.

A statement is prepared twice. First with EXPLAIN, where nothing but what may be queried is
let through; then to run, where full text may also read its own tables, which it does by
statements of its own that ask the same guard.
"""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import closing, suppress
from typing import Any

from .process import serve

__all__ = ["Guard", "cell", "main"]

MEMORY = 128 * 1024 * 1024  # bytes that SQLite may take for one query
ADDRESSES = 1024 * 1024 * 1024  # bytes that this process may take, where the system knows such a limit
OPERATIONS = 1_000  # of SQLite's machine between two looks at the clock
LOCKED = 0.3  # seconds that a writer is waited for

ALWAYS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
FIRST_USE = ("SELECT 1 FROM json_each('[]')", "SELECT 1 FROM json_tree('[]')")


class Guard:
    """Lets a statement read what may be queried and call functions that only compute; remembers what it denied."""

    def __init__(self, policy: dict[str, Any], existing: set[str]) -> None:
        self.tables = set(policy["tables"]) | {"json_each", "json_tree"}
        self.columns = {name: set(columns) for name, columns in policy["columns"].items()}
        self.functions = set(policy["functions"])
        self.internal = set(policy["internal"])
        self.existing = existing
        self.running = False
        self.denied: tuple[str, str] | None = None

    def __call__(self, action: int, first: str | None, second: str | None, _: object, __: object) -> int:
        if action in ALWAYS or (action == sqlite3.SQLITE_READ and self.may_read(first or "", second or "")):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in self.functions:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and self.running and first == "data_version" and second is None:
            return sqlite3.SQLITE_OK  # how full text notices writers
        if self.denied is None:
            kinds = {sqlite3.SQLITE_READ: "read", sqlite3.SQLITE_FUNCTION: "function"}
            name = second if action == sqlite3.SQLITE_FUNCTION else first
            self.denied = kinds.get(action, "action"), name or ""
        return sqlite3.SQLITE_DENY

    def may_read(self, table: str, column: str) -> bool:
        name = table.lower()
        if name in self.tables or column.lower() in self.columns.get(name, ()):
            return True
        if self.running and name in self.internal:
            return True
        # Of a part of the query itself, such as WITH name AS …, only that no column of it is read is ever asked.
        return column == "" and name not in self.existing and not name.startswith(("pragma_", "sqlite_"))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run one query; what goes wrong is said in the reply."""
    until = time.monotonic() + request["seconds"]
    guard = None
    try:
        with closing(sqlite3.connect(request["uri"], uri=True, isolation_level=None, timeout=LOCKED)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            guard = prepared(connection, request["policy"])
            connection.set_authorizer(guard)
            connection.set_progress_handler(lambda: int(time.monotonic() > until), OPERATIONS)
            return run(connection, guard, request)
    except MemoryError:
        return {"error": "memory"}
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        if guard is not None and guard.denied is not None:
            return {"error": "denied", "what": guard.denied[0], "name": guard.denied[1]}
        if "interrupted" in str(error):
            return {"error": "time"}
        return {"error": "sqlite", "message": str(error)}


def prepared(connection: sqlite3.Connection, policy: dict[str, Any]) -> Guard:
    """Limit the memory, load the virtual tables that may be read, and learn which names exist."""
    connection.execute(f"PRAGMA hard_heap_limit = {MEMORY}")
    connection.execute("PRAGMA temp_store = MEMORY")
    existing = {row[0].lower() for row in connection.execute("SELECT name FROM sqlite_master")}
    existing |= {row[0].lower() for row in connection.execute("PRAGMA module_list")}
    for name in policy["full_text"]:
        if name in existing:
            connection.execute(f"SELECT rowid FROM {name} LIMIT 0").fetchall()  # noqa: S608, a name of ours
    for statement in FIRST_USE:
        with suppress(sqlite3.OperationalError):  # a SQLite without JSON
            connection.execute(statement).fetchall()
    return Guard(policy, existing)


def run(connection: sqlite3.Connection, guard: Guard, request: dict[str, Any]) -> dict[str, Any]:
    sql, limit, room = request["sql"], request["rows"], request["bytes"]
    connection.execute("EXPLAIN " + sql).close()
    guard.running = True
    cursor = connection.execute(sql)
    if cursor.description is None:
        return {"error": "sqlite", "message": "incomplete input"}
    rows: list[list[Any]] = []
    truncated = ""
    for row in cursor:
        cells = [cell(value) for value in row]
        room -= sum(len(value) if isinstance(value, str) else 8 for value in cells)
        if len(rows) == limit or room < 0:
            truncated = "rows" if len(rows) == limit else "bytes"
            break
        rows.append(cells)
    return {"columns": [column[0] for column in cursor.description], "rows": rows, "truncated": truncated}


def cell(value: Any) -> Any:
    """A value as JSON has it: bytes as SQL writes them, infinities by name."""
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float) and not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def main() -> None:
    serve(answer, ADDRESSES)
