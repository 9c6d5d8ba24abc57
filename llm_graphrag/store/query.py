"""One SELECT of a user's or a model's over the documented tables and views: bounded, and nothing can be changed by it.

What holds whatever the query says: it runs in a process of its own (``store.query_worker``)
on a connection that cannot write, and an authorizer lets it read what ``store.queryable``
lists, no other table, no pragma, no other file. It gets a second, 200 rows, 2 MB of them
and 128 MB of memory, unless the caller says otherwise; what is left out is said. No word
is forbidden: a note may be called "DROP TABLE".

A file whose writers are at rest is opened as one that does not change, because opening it
otherwise would put files beside it; if it did change meanwhile, the query runs again.
"""

from __future__ import annotations

import difflib
import re
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from . import migrations
from .connection import KnowledgeBaseError
from .process import Ended, Late, Process
from .queryable import COLUMNS, FULL_TEXT, FUNCTIONS, INTERNAL, RELATIONS

__all__ = [
    "BYTES", "LONGEST", "ROWS", "SECONDS", "Cell", "Queries", "QueryError", "Rows", "explained", "file_uri",
    "open_at_rest", "query", "refuse_unreadable",
]  # fmt: skip

SECONDS = 1.0
ROWS = 200
BYTES = 2_000_000  # characters of all cells together
LONGEST = 100_000  # characters of a query
GRACE = 0.05  # seconds after the limit in which the process may still say so itself

WORKER = "llm_graphrag.store.query_worker"
POLICY = {
    "tables": sorted(RELATIONS),
    "columns": {name: list(columns) for name, columns in COLUMNS.items()},
    "functions": sorted(FUNCTIONS),
    "internal": list(INTERNAL),
    "full_text": list(FULL_TEXT),
}
SEE = "llm graphrag query --schema lists what can be queried."

Cell = str | int | float | None

_ODD = re.compile("[\x00\ud800-\udfff]")
_NAMED = re.compile(r"no such (table|column|function): (\S+)")


class QueryError(ValueError):
    """The query cannot be run, or not to its end; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query gave; ``truncated`` is "" if that is all, else "rows" or "bytes": the limit that was met."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: str
    seconds: float


class Queries:
    """Runs queries on one knowledge base, one after the other, in one process."""

    def __init__(self, path: Path) -> None:
        with open_at_rest(path):  # says at once what is no knowledge base
            self._path = path
        self._process = Process(WORKER)

    def __enter__(self) -> Queries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.close()

    def prepare(self) -> None:
        """Start the process; ``run`` would do it too. Raises QueryError if there is no Python to start."""
        try:
            self._process.start()
        except (Late, Ended) as error:
            raise QueryError(f"The process for queries does not start. Does {sys.executable} run?") from error

    def run(self, sql: str, *, rows: int = ROWS, seconds: float = SECONDS) -> Rows:
        """Run one SELECT. Raises QueryError, one sentence or two, if it cannot be run within the limits."""
        refuse_unreadable(sql)
        before = _state(self._path)
        found = self._ask(sql, rows, seconds, file_uri(self._path))
        if _at_rest(before) and _state(self._path) != before:
            found = self._ask(sql, rows, seconds, file_uri(self._path, at_rest=False))
        return found

    def _ask(self, sql: str, rows: int, seconds: float, uri: str) -> Rows:
        request = {"uri": uri, "sql": sql, "rows": rows, "seconds": seconds, "bytes": BYTES, "policy": POLICY}
        self.prepare()
        began = time.monotonic()
        try:
            reply = self._process.ask(request, seconds + GRACE)
        except Late:
            reply = {"error": "time"}
        except Ended:
            reply = {"error": "memory"}
        if "error" in reply:
            raise QueryError(explained(reply, seconds))
        if not reply["rows"] and reply["truncated"]:
            raise QueryError(
                f"One row of the result is longer than {BYTES:,} characters. Select less of it: substr(…)."
            )
        cells = tuple(map(tuple, reply["rows"]))
        return Rows(tuple(reply["columns"]), cells, reply["truncated"], round(time.monotonic() - began, 3))


def query(path: Path, sql: str, *, rows: int = ROWS, seconds: float = SECONDS) -> Rows:
    """Run one SELECT on the knowledge base at ``path``. Raises QueryError, or KnowledgeBaseError for the file."""
    with Queries(path) as queries:
        return queries.run(sql, rows=rows, seconds=seconds)


# The file ----------------------------------------------------------------------------


@contextmanager
def open_at_rest(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file for a moment to read it, leaving no trace. Raises KnowledgeBaseError if it is none of ours."""
    if not path.is_file():
        what = "is a folder; name the file of a knowledge base" if path.is_dir() else "does not exist"
        raise KnowledgeBaseError(f"{path} {what}. Make one with: llm graphrag add FOLDER")
    connection = None
    try:
        connection = sqlite3.connect(file_uri(path), uri=True, isolation_level=None)
        connection.row_factory = sqlite3.Row
        migrations.refuse_newer(connection, path)
        migrations.refuse_older(connection, path)
        yield connection
    except sqlite3.Error as error:
        raise KnowledgeBaseError(f"{path} cannot be read: {error}") from error
    finally:
        if connection is not None:
            connection.close()


def file_uri(path: Path, at_rest: bool | None = None) -> str:
    """How to open the file so that no other appears: as one that does not change, unless a writer may be at work."""
    resting = _at_rest(_state(path)) if at_rest is None else at_rest
    return f"file:{quote(str(path))}?mode=ro" + ("&immutable=1" if resting else "")


def _state(path: Path) -> tuple[int, int, bool]:
    """What differs after the file was written: time, size, and whether a writer's files stand beside it."""
    found = path.stat()
    waiting = any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal"))
    return found.st_mtime_ns, found.st_size, waiting


def _at_rest(state: tuple[int, int, bool]) -> bool:
    return not state[2]


# What is wrong with a query -------------------------------------------------------------


def refuse_unreadable(sql: str, example: str = "SELECT head, relation, tail FROM kg_facts") -> None:
    """Raise QueryError for what cannot be a query in any language."""
    if not sql.strip(" \t\r\n;"):
        raise QueryError(f"The query is empty. An example: {example}")
    if len(sql) > LONGEST:
        raise QueryError(f"The query has {len(sql):,} characters; at most {LONGEST:,} are read.")
    odd = _ODD.search(sql)
    if odd is not None:
        raise QueryError(f"The query has a character at position {odd.start() + 1} that is no text; take it out.")


def explained(reply: dict[str, str], seconds: float) -> str:
    """What to say of the error in a reply, on one line that no terminal obeys."""
    return "".join(c if c.isprintable() else " " for c in _explained(reply, seconds))


def _explained(reply: dict[str, str], seconds: float) -> str:
    kind = reply["error"]
    if kind == "time":
        took = f"{seconds:g} second{'' if seconds == 1 else 's'}"
        return f"The query took longer than {took} and was ended. Narrow it with WHERE, or allow more: --time-limit"
    if kind == "memory":
        return "The query took more memory than it may and was ended. Narrow it, or select less."
    if kind == "denied":
        return _denied(reply["what"], reply["name"])
    if kind == "cypher":
        return f"The query cannot be run: {reply['message']}"
    return _sqlite_says(reply["message"])


def _denied(what: str, name: str) -> str:
    if what == "read":
        return f"{name} cannot be queried. {SEE}"
    if what == "function":
        return f"The function {name}() cannot be used in a query. {SEE}"
    if what == "file":
        return "A query reads nothing but the graph; this one asks for a file."
    return "A query only reads; this one does something else."


def _sqlite_says(message: str) -> str:
    if "one statement at a time" in message:
        return "Only one query at a time: there is something after the semicolon."
    if "incomplete input" in message:
        return "The query is not complete, or empty."
    named = _NAMED.search(message)
    if named is not None and named[1] == "table":
        return f"There is no table {named[2]}.{_nearest(named[2], RELATIONS)} {SEE}"
    if named is not None and named[1] == "column":
        columns = {f"{table}.{column}": column for table in RELATIONS for column in RELATIONS[table].columns}
        near = difflib.get_close_matches(named[2].rpartition(".")[2].lower(), columns.values(), n=1, cutoff=0.6)
        where = [place for place, column in columns.items() if near == [column]][:3]
        return f"There is no column {named[2]} here.{_asked(where)} {SEE}"
    if named is not None:
        return f"There is no function {named[2]}().{_nearest(named[2], FUNCTIONS)}"
    return f"The query cannot be run: {message}."


def _nearest(name: str, known: Iterable[str]) -> str:
    return _asked(difflib.get_close_matches(name.lower().rpartition(".")[2], list(known), n=1, cutoff=0.6))


def _asked(names: Sequence[str]) -> str:
    return f" Is it {' or '.join(names)}?" if names else ""
