"""Taking things out: documents, whole sources, single entities.

What only they support goes with them; what something else supports stays, and so
does whatever a person made by hand.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from ..settings import Settings
from ..store import counts
from ..store.connection import transaction
from ..store.entities import BLOCKED_NAMES, Names
from ..store.evidence import touch
from ..store.settings import get_setting, put_setting
from ..store.settle import Settlement
from ..text.normalise import name_key
from .files import real_path, stored_path
from .ingest import reparse, silent
from .writer import Writer


def remove(connection: sqlite3.Connection, settings: Settings, names: Sequence[str]) -> list[str]:
    """Remove documents by uri and sources by name, folder or file; returns the uris removed.

    Raises ValueError naming the first name that is neither.
    """
    documents: dict[int, str] = {}
    sources: list[int] = []
    for name in names:
        row = connection.execute("SELECT id, uri FROM kg_documents WHERE uri = ?", [name]).fetchone()
        if row:
            documents[row["id"]] = row["uri"]
            continue
        found = _sources(connection, name)
        if not found:
            known = ", ".join(row[0] for row in connection.execute("SELECT name FROM kg_sources ORDER BY name"))
            raise ValueError(f"{name!r} is neither the uri of a document nor a source. Sources here: {known or 'none'}")
        sources += found
        for source in found:
            documents.update(
                (row["id"], row["uri"])
                for row in connection.execute("SELECT id, uri FROM kg_documents WHERE source = ?", [source])
            )
    writer = Writer(connection, settings)
    writer.delete(sorted(documents))
    with transaction(connection):
        connection.executemany("DELETE FROM kg_sources WHERE id = ?", [[id_] for id_ in sources])
        connection.execute(  # an imported file is a source of one document
            """DELETE FROM kg_sources
               WHERE kind = 'import' AND id NOT IN (SELECT source FROM kg_documents WHERE source > 0)"""
        )
    writer.finish(silent, reparse)
    return sorted(documents.values())


def _sources(connection: sqlite3.Connection, name: str) -> list[int]:
    """The source of this name, or the sources that were read from this folder or file."""
    rows = connection.execute("SELECT id FROM kg_sources WHERE name = ?", [name]).fetchall()
    if not rows:
        path = stored_path(real_path(name).expanduser().resolve())
        rows = connection.execute(
            """SELECT id FROM kg_sources
               WHERE (kind = 'folder' AND root = :path) OR json_extract(options, '$.file') = :path""",
            {"path": path},
        ).fetchall()
    return [row["id"] for row in rows]


def forget(connection: sqlite3.Connection, name: str, type_: str | None, never: bool) -> dict[str, Any]:
    """Delete an entity with its mentions and claims.

    A note about it stays, and so does its entity if there is one; only what other
    places say of it goes. ``never`` blocks the name. Raises ValueError if there is
    no such entity, or several types of it and no ``type_``.
    """
    key = name_key(name)
    rows = connection.execute(
        """SELECT DISTINCT e.id, e.name, e.type, e.key FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity
           WHERE a.key = :key AND (:type IS NULL OR e.type = :type) ORDER BY e.key <> :key, e.id""",
        {"key": key, "type": type_},
    ).fetchall()
    rows = [row for row in rows if row["key"] == key] or rows
    if not rows:
        raise ValueError(f"There is no entity {name!r}. Find its name with: llm graphrag entity {name!r}")
    if len(rows) > 1:
        types = ", ".join(repr(row["type"]) for row in rows)
        raise ValueError(f"{name!r} is several entities, of the types {types}: say which with --type")
    entity = int(rows[0]["id"])
    with transaction(connection):
        settlement = Settlement(connection, Names(connection))
        removed = _unmention(connection, settlement, entity)
        connection.execute("UPDATE kg_entities SET origin = 'lexical' WHERE id = ? AND origin = 'user'", [entity])
        settlement.lost.add(entity)
        if never:
            blocked = sorted({*get_setting(connection, BLOCKED_NAMES, []), key, rows[0]["key"]})
            put_setting(connection, BLOCKED_NAMES, blocked)
        settlement.finish()
        counts.recount_facets(connection)
    return {"name": rows[0]["name"], "type": rows[0]["type"], **removed, "blocked": never}


def _unmention(connection: sqlite3.Connection, settlement: Settlement, entity: int) -> dict[str, int]:
    """Delete mentions and claims of an entity, except claims of a note about itself."""
    rows = connection.execute(
        """SELECT id, triple, attribute, head_entity, tail_entity FROM kg_evidence
           WHERE tail_entity = :e OR (head_entity = :e AND head_key IS NOT NULL)""",
        {"e": entity},
    ).fetchall()
    for row in rows:
        touch(connection, row["triple"], row["attribute"])
        settlement.lost |= {row[key] for key in ("head_entity", "tail_entity") if row[key] is not None}
    connection.executemany("DELETE FROM kg_evidence WHERE id = ?", [[row["id"]] for row in rows])
    mentions = connection.execute("DELETE FROM kg_mentions WHERE entity = ?", [entity]).rowcount
    return {"claims": len(rows), "mentions": mentions}
