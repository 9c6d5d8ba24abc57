"""Open a knowledge base: one SQLite file, one writer, readers at any time.

A file is opened either to read (``mode=ro``, nothing is ever written, not even a
-shm file where the folder forbids it) or to write (WAL, foreign keys, migrated to
this version first). A file that a newer version wrote, or that is no knowledge
base at all, is refused here with a message that says what to do, so that no later
code meets a missing table.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from . import migrations

BUSY_TIMEOUT_MS = 60_000
BULK_CACHE_KB = 256_000
BULK_LOG_PAGES = 16_000


class KnowledgeBaseError(ValueError):
    """The file cannot be used as a knowledge base; the message says why and what to do."""


def open_to_write(path: Path, create: bool = False) -> sqlite3.Connection:
    """Open ``path`` for writing and bring it to this version.

    With ``create`` a file that is missing is made, and one of another program's gets our tables. Raises
    KnowledgeBaseError if it is missing or another program's otherwise, unreadable, of a newer version, or holds other
    tables named ``kg_``.
    """
    if not path.exists():
        if not create:
            raise KnowledgeBaseError(f"There is no knowledge base at {path}. Make one with: llm graphrag add FOLDER")
        path.parent.mkdir(parents=True, exist_ok=True)
    connection = _connect(path, f"file:{quote(str(path))}", path)
    try:
        migrations.refuse_newer(connection, path)
        if not create:
            migrations.refuse_strange(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        migrations.apply(connection)
    except sqlite3.Error as error:
        connection.close()
        if not is_writable(path):
            raise KnowledgeBaseError(cannot_be_written(path)) from error
        if "already exists" in str(error):  # a table kg_… of somebody else's
            raise KnowledgeBaseError(f"{path} is another program's: {error}. Take another file with -d") from error
        raise KnowledgeBaseError(f"{path} cannot be opened for writing: {error}") from error
    except BaseException:
        connection.close()
        raise
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def is_writable(path: Path) -> bool:
    """Whether the file may be written; SQLite writes beside it, so its folder has to be, too."""
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


def cannot_be_written(path: Path, why: str = "") -> str:
    """Says so, and what to do; a copy of a read-only file is read-only."""
    copy = f"cp {shlex.quote(str(path))} copy.db && chmod u+w copy.db"
    return f"{path} cannot be written: the file or its folder is read-only{why}. Work on a copy with -d copy.db: {copy}"


def open_in_memory() -> sqlite3.Connection:
    """An empty knowledge base in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    migrations.apply(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open ``path`` read-only; nothing is created beside it if its folder is read-only too."""
    if not path.exists():
        raise KnowledgeBaseError(f"There is no knowledge base at {path}. Make one with: llm graphrag add FOLDER")
    connection = _connect(path, f"file:{quote(str(path))}?mode=ro", path)
    try:
        try:
            migrations.refuse_newer(connection, path)
        except sqlite3.OperationalError:
            # A WAL file in a folder we may not write to: read it as it stands.
            connection.close()
            connection = _connect(path, f"file:{quote(str(path))}?mode=ro&immutable=1", path)
            migrations.refuse_newer(connection, path)
        migrations.refuse_older(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise KnowledgeBaseError(f"{path} cannot be read: {error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, uri: str, shown: Path) -> sqlite3.Connection:
    if path.is_dir():
        raise KnowledgeBaseError(f"{shown} is a folder; name the file of a knowledge base")
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000)
    except sqlite3.Error as error:
        raise KnowledgeBaseError(f"{shown} cannot be opened: {error}") from error
    connection.row_factory = sqlite3.Row
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction; nested calls join the outer one."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


@contextmanager
def many_writes(connection: sqlite3.Connection) -> Iterator[None]:
    """For a run that writes much of the file: indexes stay in memory, and the log is copied into the file seldom."""
    usual = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("cache_size", "wal_autocheckpoint")}
    connection.execute(f"PRAGMA cache_size = {-BULK_CACHE_KB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {BULK_LOG_PAGES}")
    try:
        yield
    finally:
        for name, value in usual.items():
            connection.execute(f"PRAGMA {name} = {value}")
        if not connection.in_transaction:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


class SameFile:
    """Notices that the file under an open connection was deleted or replaced: what is written then is lost unseen."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._path = connection.execute("PRAGMA database_list").fetchone()[2]
        self._opened = self._identity()

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path) if self._path else None
        except FileNotFoundError:
            return None
        return (found.st_dev, found.st_ino) if found else None

    def ensure(self) -> None:
        """Raise KnowledgeBaseError if the file is no longer the one that was opened."""
        if self._path and self._identity() != self._opened:
            raise KnowledgeBaseError(
                f"{self._path} was deleted or replaced while it was being written; stopped, since what is written now "
                "would be lost. Start again with the file that is there now."
            )
