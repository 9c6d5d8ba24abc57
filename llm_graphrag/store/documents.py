"""Documents, their sources, sections and tags: what was read, and where it came from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..facts.identity import group_key, looks_like_identifier
from ..text.chunks import Section

TRUE = {"true", "yes", "on", "1"}


@dataclass(frozen=True, slots=True)
class Document:
    """One source item as it is written to ``kg_documents``."""

    uri: str
    source: int
    path: str
    kind: str
    title: str
    name: str
    name_key: str
    content_hash: str
    reading: str
    folder: str
    private: bool
    length: int
    entity_type: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def group_key(self) -> str:
        """Under what the note competes for the name that its entity would like to have."""
        return group_key(self.title if looks_like_identifier(self.name) else self.name)


@dataclass(frozen=True, slots=True)
class Stored:
    """What the file already holds of a document; ``says_private`` if it says itself that it is private."""

    id: int
    uri: str
    path: str
    content_hash: str
    reading: str
    length: int
    private: bool = False
    says_private: bool = False


def says_private(metadata: Mapping[str, Any]) -> bool:
    """Whether a note, or a row by one of its columns, says that it is private."""
    return str(metadata.get("private", "")).strip().lower() in TRUE


def put_source(
    connection: sqlite3.Connection, name: str, kind: str, root: str, dialect: str, options: Mapping[str, Any], now: str
) -> int:
    """The id of the source with this root, made or brought up to date."""
    row = connection.execute("SELECT id FROM kg_sources WHERE kind = ? AND root = ?", [kind, root]).fetchone()
    if row:
        connection.execute(
            "UPDATE kg_sources SET dialect = :dialect, options = :options WHERE id = :id"
            " AND (dialect <> :dialect OR options <> :options)",
            {"dialect": dialect, "options": json.dumps(options, sort_keys=True), "id": row[0]},
        )
        return int(row[0])
    cursor = connection.execute(
        "INSERT INTO kg_sources(name, kind, root, dialect, options, added) VALUES (?, ?, ?, ?, ?, ?)",
        [_free_name(connection, name), kind, root, dialect, json.dumps(options, sort_keys=True), now],
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def options_of(connection: sqlite3.Connection, kind: str, root: str) -> dict[str, Any]:
    """The options of the source with this root; none if it is not there."""
    row = connection.execute("SELECT options FROM kg_sources WHERE kind = ? AND root = ?", [kind, root]).fetchone()
    return dict(json.loads(row[0])) if row else {}


def name_of_source(connection: sqlite3.Connection, name: str, kind: str, root: str) -> str:
    """What the source with this root is called, or will be called if it is put next."""
    row = connection.execute("SELECT name FROM kg_sources WHERE kind = ? AND root = ?", [kind, root]).fetchone()
    return str(row[0]) if row else _free_name(connection, name)


def _free_name(connection: sqlite3.Connection, wanted: str) -> str:
    taken = {row[0] for row in connection.execute("SELECT name FROM kg_sources")}
    number, name = 2, wanted
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    return name


def stored_of(connection: sqlite3.Connection, source: int) -> dict[str, Stored]:
    """All documents of a source by path."""
    rows = connection.execute(
        """SELECT id, uri, path, content_hash, reading, length, private,
             CASE kind WHEN 'note' THEN metadata ELSE json_extract(metadata, '$.columns') END
           FROM kg_documents WHERE source = ?""",
        [source],
    )
    return {
        path: Stored(id_, uri, path, digest, reading, length, bool(private), says_private(json.loads(said or "{}")))
        for id_, uri, path, digest, reading, length, private, said in rows
    }


def put_document(connection: sqlite3.Connection, document: Document, known: int | None, now: str) -> int:
    """Insert a document, or update the row ``known``; it has to be scanned for names afterwards."""
    values = {
        "uri": document.uri, "source": document.source, "path": document.path, "kind": document.kind,
        "title": document.title, "name": document.name, "name_key": document.name_key,
        "group_key": document.group_key,
        "entity_type": document.entity_type, "content_hash": document.content_hash, "reading": document.reading,
        "metadata": json.dumps(document.metadata, ensure_ascii=False), "folder": document.folder,
        "private": int(document.private), "length": document.length, "now": now, "id": known,
    }  # fmt: skip
    if known is not None:
        connection.execute(
            """UPDATE kg_documents SET uri = :uri, source = :source, path = :path, kind = :kind, title = :title,
                 name = :name, name_key = :name_key, group_key = :group_key, entity_type = :entity_type,
                 content_hash = :content_hash, reading = :reading, metadata = :metadata, folder = :folder,
                 private = :private, length = :length,
                 scanned = 0, updated = :now
               WHERE id = :id""",
            values,
        )
        return known
    cursor = connection.execute(
        """INSERT INTO kg_documents(uri, source, path, kind, title, name, name_key, group_key, entity_type,
             content_hash, reading, metadata, folder, private, length, added, updated)
           VALUES (:uri, :source, :path, :kind, :title, :name, :name_key, :group_key, :entity_type, :content_hash,
             :reading, :metadata, :folder, :private, :length, :now, :now)""",
        values,
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def put_sections(connection: sqlite3.Connection, document: int, sections: Sequence[Section]) -> dict[int, int]:
    """Bring the section rows of a document in step; returns ids by seq. Rows that are the same stay."""
    have = {row["seq"]: row for row in connection.execute("SELECT * FROM kg_sections WHERE document = ?", [document])}
    ids: dict[int, int] = {}
    for section in sections:
        parent = None if section.parent is None else ids[section.parent]
        values = (parent, section.level, section.heading, section.start, section.end)
        row = have.pop(section.seq, None)
        if row is None:
            cursor = connection.execute(
                """INSERT INTO kg_sections(parent, level, heading, start, end, document, seq)
                   VALUES (?, ?, ?, ?, ?, ?, ?)""",
                [*values, document, section.seq],
            )
            assert cursor.lastrowid is not None
            ids[section.seq] = cursor.lastrowid
            continue
        ids[section.seq] = row["id"]
        if tuple(row[key] for key in ("parent", "level", "heading", "start", "end")) != values:
            connection.execute(
                "UPDATE kg_sections SET parent = ?, level = ?, heading = ?, start = ?, end = ? WHERE id = ?",
                [*values, row["id"]],
            )
    connection.executemany("DELETE FROM kg_sections WHERE id = ?", [[row["id"]] for row in have.values()])
    return ids


def put_tags(connection: sqlite3.Connection, document: int, tags: Iterable[str]) -> None:
    """Make the tags of a document exactly these."""
    wanted = set(tags)
    have = {row[0] for row in connection.execute("SELECT tag FROM kg_tags WHERE document = ?", [document])}
    connection.executemany(
        "DELETE FROM kg_tags WHERE document = ? AND tag = ?", [(document, tag) for tag in have - wanted]
    )
    connection.executemany(
        "INSERT INTO kg_tags(document, tag) VALUES (?, ?)", [(document, tag) for tag in sorted(wanted - have)]
    )


def put_skipped(connection: sqlite3.Connection, source: int, skipped: Iterable[tuple[str, str]], now: str) -> None:
    """Make the list of what could not be read of a source exactly this; rows that are the same stay."""
    wanted = dict(skipped)
    have = dict(connection.execute("SELECT path, reason FROM kg_skipped WHERE source = ?", [source]).fetchall())
    for path in have.keys() - wanted.keys():
        connection.execute("DELETE FROM kg_skipped WHERE source = ? AND path = ?", [source, path])
    for path, reason in wanted.items():
        if have.get(path) != reason:
            connection.execute(
                "INSERT INTO kg_skipped(source, path, reason, at) VALUES (?, ?, ?, ?) ON CONFLICT(source, path)"
                " DO UPDATE SET reason = excluded.reason, at = excluded.at",
                [source, path, reason, now],
            )
