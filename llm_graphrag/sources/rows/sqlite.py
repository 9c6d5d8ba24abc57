"""Rows of an SQLite file: a table or view, or the result of a query, only ever read.

The file is opened read-only, and an authorizer lets nothing but reading through, so
that a query somebody pasted cannot change anything or reach another file. Full-text
tables and what belongs to them are not offered: their content is elsewhere already.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from .feed import Record, Remarks, UnreadableError
from .table import unique_names

HEADER = b"SQLite format 3\x00"
SHADOW = tuple("_data _idx _content _docsize _config _segments _segdir _stat _node _parent _rowid".split())
LISTED = "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


@dataclass(frozen=True, slots=True)
class Selection:
    """What to read of a file: a table, perhaps some rows of it, or a query."""

    table: str = ""
    where: str = ""
    sql: str = ""

    def statement(self) -> str:
        """The query. A person's own words are meant to be SQL here; the authorizer sees to it that they only read."""
        if self.sql:
            return self.sql
        where = f"\nWHERE (\n{self.where}\n)" if self.where else ""
        return f"SELECT * FROM {quoted(self.table)}{where}"  # noqa: S608


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a file that somebody else may be writing. Raises UnreadableError if it is no SQLite database."""
    uri = f"file:{quote(str(path))}?mode=ro"
    for address in (uri, f"{uri}&immutable=1"):  # a file with a write-ahead log in a folder we may not write to
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=10)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError as error:
            connection.close()
            reason = str(error)
        except sqlite3.DatabaseError as error:
            connection.close()
            raise UnreadableError(f"no SQLite database, or an encrypted one: {error}") from error
        else:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            return connection
    raise UnreadableError(f"cannot be opened: {reason}")


def tables(connection: sqlite3.Connection) -> list[str]:
    """Tables and views that a person may want to add."""
    rows = connection.execute(LISTED).fetchall()
    virtual = {name for name, sql in rows if (sql or "").upper().startswith("CREATE VIRTUAL")}
    hidden = virtual | {name + ending for name in virtual for ending in SHADOW}
    return [name for name, _ in rows if name not in hidden and not name.startswith(("sqlite_", "_sqlite_"))]


def primary_key(path: Path, table: str) -> tuple[str, ...]:
    """The columns of the primary key, in its order. Raises ValueError listing the tables if there is no such table."""
    with closing(open_to_read(path)) as connection:
        known = tables(connection)
        if table not in known:
            what = f"there is no table {table!r} to add"
            if not table:
                what = "say which table with --table, or give a query with --sql"
            elif connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone():
                what = f"{table!r} is an index, not a table of its own"
            raise ValueError(f"{path.name}: {what}. Tables: {', '.join(known) or 'none'}")
        rows = connection.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [table])
        return tuple(row[0] for row in rows)


def records(path: Path, selection: Selection, remarks: Remarks) -> Iterator[Record]:
    """The selected rows. Raises ValueError if the query is wrong or would do more than read."""
    binary: dict[str, int] = {}
    with closing(open_to_read(path)) as connection:
        _wake(connection)
        connection.set_authorizer(_authorize)
        try:
            cursor = connection.execute(selection.statement())
            if cursor.description is None:
                raise ValueError(f"{path.name}: the query returns no rows: {selection.statement()}")
            names = unique_names([column[0] for column in cursor.description])
            for row in cursor:
                yield Record(dict(_cells(names, row, binary)))
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise ValueError(_wrong(path, selection, error)) from error
    for name, number in binary.items():
        remarks.warn(f"column {name!r}: {number:,} binary values left out")


def _wake(connection: sqlite3.Connection) -> None:
    """Let full-text tables set themselves up, which takes more than reading, before the authorizer is there."""
    for name, sql in connection.execute(LISTED).fetchall():
        if (sql or "").upper().startswith("CREATE VIRTUAL"):
            with suppress(sqlite3.Error):  # of a kind that this SQLite does not know
                connection.execute(f"SELECT 1 FROM {quoted(name)} LIMIT 0")  # noqa: S608


def _cells(names: Sequence[str], row: Sequence[object], binary: dict[str, int]) -> Iterator[tuple[str, str]]:
    for name, value in zip(names, row, strict=True):
        if isinstance(value, bytes):
            binary[name] = binary.get(name, 0) + 1
        elif value is not None:
            yield name, value if isinstance(value, str) else repr(value)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in _ALLOWED and (second or "").lower() != "load_extension":
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first == "data_version":  # full text asks for it
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _wrong(path: Path, selection: Selection, error: Exception) -> str:
    option = "--sql" if selection.sql else "--where" if selection.where else "the table"
    if "not authorized" in str(error) or "prohibited" in str(error):
        return f"{path.name}: {option} may only read from this file ({error})"
    return f"{path.name}: {option} cannot be read: {error}"


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def fingerprint(path: Path) -> str:
    """Changes with every write to the file: SQLite's own counters, and the start and length of the write-ahead log."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return ""
    log = Path(f"{path}-wal")
    try:
        with log.open("rb") as file:
            waiting = file.read(32)
        size = log.stat().st_size
    except OSError:
        waiting, size = b"", 0
    return f"{header[24:32].hex()}-{waiting.hex()}-{size}" if size else header[24:32].hex()
