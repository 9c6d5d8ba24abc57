"""Which documents a question is asked of: ``--where``, ``--tag``, ``--since``.

``--where`` is SQL that the user writes. It is the one place where text becomes a part
of a statement, so three things guard it: it must be one expression (balanced
parentheses, no comment, no semicolon); while it runs, an authorizer lets it read the
columns listed here and call harmless functions, nothing else; and a progress handler
stops it after a second. What it leaves is a set of document ids, which every route
then obeys; the text itself goes no further.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

__all__ = ["COLUMNS", "ScopeError", "scope"]

COLUMNS = ("uri", "title", "folder", "kind", "added", "updated", "tag")
SECONDS = 1.0
READABLE = frozenset({"kg_documents", "kg_tags", "", None})
FUNCTIONS = frozenset(
    """abs coalesce date datetime glob ifnull iif instr julianday length like lower ltrim max min nullif regexp
    replace round rtrim strftime substr substring time trim typeof unicode upper unixepoch""".split()
)

DOCUMENTS = """
    SELECT id FROM (
      SELECT d.id AS id, d.uri AS uri, d.title AS title, d.folder AS folder, d.kind AS kind, d.added AS added,
             d.updated AS updated, t.tag AS tag
      FROM kg_documents d LEFT JOIN kg_tags t ON t.document = d.id)
    WHERE (:tag IS NULL OR lower(tag) = :tag OR substr(lower(tag), 1, length(:tag) + 1) = :tag || '/')
      AND (:since IS NULL OR updated >= :since)
"""
_SINCE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d)?)?)?)?)?")
_PIECE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|--|/\*|[();'\"`\[]", re.DOTALL)


class ScopeError(ValueError):
    """A condition that cannot be used; the message names the option."""


def scope(
    connection: sqlite3.Connection, where: str | None = None, tag: str | None = None, since: str | None = None
) -> frozenset[int] | None:
    """Return the ids of the documents that meet all conditions, None if there is no condition.

    ``where`` is an SQL expression over ``COLUMNS``; ``tag`` holds for tags nested in it too; ``since`` is the beginning
    of an ISO date. Raises ScopeError for what is none of these.
    """
    if where is None and tag is None and since is None:
        return None
    if since is not None and not _is_date(since):
        raise ScopeError(f"--since takes a date like 2026-01-31, not {since!r}.")
    if tag is not None and not tag.removeprefix("#").strip():
        raise ScopeError(f"--tag takes the name of a tag, not {tag!r}.")
    values = {"tag": tag.removeprefix("#").lower() if tag else None, "since": since}
    if where is None:
        return frozenset(row[0] for row in connection.execute(DOCUMENTS, values))
    _one_expression(where)
    with _guarded(connection):
        try:
            rows = connection.execute(f"{DOCUMENTS} AND ({where}\n)", values).fetchall()
        except sqlite3.Error as error:
            raise ScopeError(_explained(where, error)) from error
    return frozenset(row[0] for row in rows)


def _is_date(text: str) -> bool:
    """Whether this is the beginning of an ISO date that there is."""
    if not _SINCE.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text.replace(" ", "T") + "2000-01-01T00:00:00"[len(text) :])
    except ValueError:
        return False
    return True


def _one_expression(where: str) -> None:
    """Raise ScopeError unless the text can only be read as one expression."""
    depth = 0
    if not where.strip() or "\x00" in where:
        raise ScopeError(f"--where is empty. It takes an SQL condition over {', '.join(COLUMNS)}.")
    for match in _PIECE.finditer(where):
        piece = match[0]
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth -= 1
        if piece in ("--", "/*", ";") or depth < 0:
            raise ScopeError(f"--where takes one SQL condition; {piece} at position {match.start() + 1} ends it.")
        if piece in ("'", '"', "`", "["):
            raise ScopeError(f"--where: the {piece} at position {match.start() + 1} is not closed.")
    if depth:
        raise ScopeError("--where: a parenthesis is not closed.")


def _explained(where: str, error: sqlite3.Error) -> str:
    text = str(error)
    if "not authorized" in text or "prohibited" in text:
        reason = "it may only read the columns and call plain functions"
    elif "interrupted" in text:
        reason = f"it took longer than {SECONDS:g} second"
    else:
        reason = text
    return f"--where {where!r} cannot be used: {reason}. It takes an SQL condition over {', '.join(COLUMNS)}."


def _authorize(action: int, first: str | None, second: str | None, _: str | None, __: str | None) -> int:
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and first in READABLE:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second is not None and second.lower() in FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _allow(*_: object) -> int:
    return sqlite3.SQLITE_OK


@contextmanager
def _guarded(connection: sqlite3.Connection) -> Iterator[None]:
    until = time.monotonic() + SECONDS
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: int(time.monotonic() > until), 10_000)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)
        # Python 3.10 cannot take an authorizer away.
        connection.set_authorizer(None if sys.version_info >= (3, 11) else _allow)
