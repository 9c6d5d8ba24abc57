"""The versions of the file format, applied in order through sqlite-utils.

Each migration is a file of SQL beside this module. The set is called ``graphrag``
and shares the table ``_sqlite_migrations`` with other sets, llm's own among them.
A file that lists a migration we do not know was written by a newer version.
"""

from __future__ import annotations

import sqlite3
from importlib.resources import files
from pathlib import Path
from typing import Any

SET_NAME = "graphrag"
NAMES = ("0001_initial", "0002_model_calls", "0003_decisions", "0004_history", "0005_triples_by_tail")


class NewerVersionError(ValueError):
    """The file was written by a newer version of llm-graphrag."""


class NotAKnowledgeBaseError(ValueError):
    """The file has none of our tables."""


def sql(name: str) -> str:
    """The text of ``name``.sql beside this module."""
    return files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")


def apply(connection: sqlite3.Connection) -> None:
    """Apply what is pending, each migration in a transaction of its own, then the derived tables."""
    if set(NAMES) <= applied(connection):
        return
    from sqlite_utils import Database, Migrations

    migrations = Migrations(SET_NAME)
    for name in NAMES:

        def migrate(db: Any, script: str = sql(name)) -> None:
            for statement in statements(script):
                db.execute(statement)

        migrations(name=name)(migrate)
    connection.execute("BEGIN IMMEDIATE")  # of two processes the second finds them applied
    try:
        migrations.apply(Database(connection, execute_plugins=False))
        make_derived(connection)
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def make_derived(connection: sqlite3.Connection) -> None:
    """Create the derived tables that are missing."""
    for statement in statements(sql("derived")):
        connection.execute(statement)


def statements(script: str) -> list[str]:
    """Split a script at the semicolons that end a statement (triggers hold some of their own)."""
    found, held = [], ""
    for line in script.splitlines(keepends=True):
        held += line
        if ";" in line and sqlite3.complete_statement(held):
            found.append(held.strip())
            held = ""
    return found


def applied(connection: sqlite3.Connection) -> set[str]:
    """Names of our migrations that this file has."""
    exists = connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone()
    if not exists:
        return set()
    rows = connection.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = ?", [SET_NAME])
    return {row[0] for row in rows}


def refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    """Raise NewerVersionError if the file has a migration that this version does not know."""
    unknown = sorted(applied(connection) - set(NAMES))
    if unknown:
        raise NewerVersionError(
            f"{path} was written by a newer version of llm-graphrag (it has {', '.join(unknown)}). "
            "Upgrade with: llm install -U llm-graphrag"
        )


def refuse_strange(connection: sqlite3.Connection, path: Path) -> None:
    """Raise NotAKnowledgeBaseError if the file has none of our tables."""
    if not applied(connection):
        raise NotAKnowledgeBaseError(
            f"{path} is not a knowledge base. Make one with: llm graphrag add FOLDER -d {path}"
        )


def refuse_older(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if a file that is opened only to read lacks our tables, or some of them."""
    refuse_strange(connection, path)
    if set(NAMES) - applied(connection):
        raise NotAKnowledgeBaseError(
            f"{path} is of an older version. Bring it up to date with: llm graphrag init -d {path}"
        )
