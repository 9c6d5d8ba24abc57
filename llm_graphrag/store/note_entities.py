"""The entity that a note is about: one row a note, named so that no two notes share one.

Notes that share a last name part are looked at together, whichever came first:
``README`` alone is README, two of them are told apart by their paths
(``facts/identity.py``). A name that was only linked to before its note was written
keeps its row, and with it its id.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..facts.identity import NamedNote, looks_like_identifier, note_names
from ..facts.link_targets import bare
from ..text.normalise import clean_name, name_key
from .entities import insert_entity, keys_of, put_note_aliases, rename
from .evidence import touch


@dataclass(slots=True)
class Assigned:
    """What became of the names: keys whose meaning may have changed, entities that have a note now, entities that lost
    one, and link keys of notes that have another entity than before."""

    keys: set[str] = field(default_factory=set)
    taken: set[int] = field(default_factory=set)
    orphans: set[int] = field(default_factory=set)
    link_keys: set[str] = field(default_factory=set)


def assign(connection: sqlite3.Connection, group_keys: Iterable[str]) -> Assigned:
    """Give every note with one of these group keys its entity."""
    done = Assigned()
    for group_key in sorted(set(group_keys)):
        done.keys |= _disown(connection, group_key)
        group = _group(connection, group_key)
        names = note_names([note for note, _ in group])
        moving = [(note, held) for note, held in group if not _holds(connection, held, names[note.document], note.type)]
        for _, held in moving:
            if held is not None:
                done.keys |= keys_of(connection, held)
                _vacate(connection, held)
        for note, held in moving:
            entity = _take(connection, names[note.document], note.type, held)
            connection.execute("DELETE FROM kg_aliases WHERE entity = ? AND kind = 'spelling'", [entity])
            if held != entity:
                done.link_keys.add(_point(connection, note.document, entity))
            if held is not None and held != entity:
                done.orphans.add(held)
                release(connection, held)
            done.taken.add(entity)
            done.keys |= keys_of(connection, entity)
        done.keys |= _aliases(connection, [note for note, _ in group])
        done.taken |= _entities(connection, group_key)  # what models call them has to be put back beside it
    return done


def _entities(connection: sqlite3.Connection, group_key: str) -> set[int]:
    rows = connection.execute("SELECT entity FROM kg_documents WHERE group_key = ?", [group_key])
    return {row[0] for row in rows if row[0] is not None}


def _disown(connection: sqlite3.Connection, group_key: str) -> set[str]:
    """While names are given, a note has the type that it gives itself, not one that a model gave it; returns keys."""
    rows = connection.execute(
        """SELECT e.id, e.key FROM kg_documents d CROSS JOIN kg_entities e ON e.id = d.entity
           WHERE d.group_key = ? AND d.entity_type = '' AND e.type <> ''""",
        [group_key],
    ).fetchall()
    connection.executemany("UPDATE OR IGNORE kg_entities SET type = '' WHERE id = ?", [[row["id"]] for row in rows])
    return {row["key"] for row in rows}


def release(connection: sqlite3.Connection, entity: int) -> None:
    """An entity without its note declares nothing: no type, no other names. What still means it, means its key.

    Its rows are to be resolved again by all keys it had; what then has no support is swept.
    """
    if connection.execute("SELECT 1 FROM kg_entities WHERE id = ? AND origin = 'user'", [entity]).fetchone():
        return
    connection.execute("DELETE FROM kg_aliases WHERE entity = ? AND kind IN ('title', 'alias')", [entity])
    connection.execute("UPDATE OR IGNORE kg_entities SET type = '' WHERE id = ?", [entity])
    if connection.execute("SELECT 1 FROM kg_entities WHERE id = ? AND type <> ''", [entity]).fetchone():
        _vacate(connection, entity)
        connection.execute("UPDATE kg_entities SET type = '' WHERE id = ?", [entity])


def _group(connection: sqlite3.Connection, group_key: str) -> list[tuple[NamedNote, int | None]]:
    rows = connection.execute(
        "SELECT id, uri, path, name, title, entity_type, entity FROM kg_documents WHERE group_key = ? ORDER BY uri",
        [group_key],
    ).fetchall()
    twins = Counter(bare(row["uri"]) for row in rows)  # a.md and a.txt: their extensions tell them apart
    found = []
    for row in rows:
        name = row["title"] if looks_like_identifier(row["name"]) else row["name"]
        shorten = bare if twins[bare(row["uri"])] == 1 else str
        path = shorten(row["path"]) if row["path"] else row["name"]
        found.append((NamedNote(row["id"], shorten(row["uri"]), path, name, row["entity_type"]), row["entity"]))
    return found


def _holds(connection: sqlite3.Connection, entity: int | None, name: str, type_: str) -> bool:
    if entity is None:
        return False
    row = connection.execute("SELECT name, type FROM kg_entities WHERE id = ?", [entity]).fetchone()
    return row is not None and (row["name"], row["type"]) == (name, type_)


def _vacate(connection: sqlite3.Connection, entity: int) -> None:
    """Free the (key, type) of a row whose note is about to be named anew, so that notes can swap names."""
    connection.execute("UPDATE kg_entities SET key = '\x01' || id WHERE id = ?", [entity])


def _take(connection: sqlite3.Connection, name: str, type_: str, held: int | None) -> int:
    """The row for (name, type): one that stands there already, the one held, an unwritten one, or a new one."""
    key = name_key(name)
    row = connection.execute("SELECT id FROM kg_entities WHERE key = ? AND type = ?", [key, type_]).fetchone()
    if row is not None:
        rename(connection, row[0], name, key)
        return int(row[0])
    if held is None and type_:
        only = connection.execute(
            """SELECT id FROM kg_entities e WHERE key = ?
                 AND NOT EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id)""",
            [key],
        ).fetchall()
        typed = connection.execute("SELECT count(*) FROM kg_entities WHERE key = ? AND type <> ''", [key]).fetchone()
        held = only[0][0] if len(only) == 1 and not typed[0] else None
    if held is None:
        return insert_entity(connection, name, type_, key, "link")
    connection.execute("UPDATE kg_entities SET type = ?, origin = 'link' WHERE id = ?", [type_, held])
    rename(connection, held, name, key)
    return held


def _point(connection: sqlite3.Connection, document: int, entity: int) -> str:
    """Make ``entity`` that of a document and return its link key. Older documents are searched for its name later."""
    connection.execute("UPDATE kg_documents SET entity = ? WHERE id = ?", [entity, document])
    connection.execute("UPDATE kg_aliases SET scanned = 0 WHERE entity = ?", [entity])
    own = connection.execute(
        """SELECT v.triple, v.attribute FROM kg_chunks c CROSS JOIN kg_evidence v ON v.chunk = c.id
           WHERE c.document = ? AND v.head_key IS NULL AND v.head_entity IS NOT ?""",
        [document, entity],
    )
    for triple, attribute in own.fetchall():
        touch(connection, triple, attribute)
    connection.execute(
        """UPDATE kg_evidence SET head_entity = ?, triple = NULL, attribute = NULL
           WHERE head_key IS NULL AND head_entity IS NOT ? AND chunk IN
             (SELECT id FROM kg_chunks WHERE document = ?)""",
        [entity, entity, document],
    )
    row = connection.execute("SELECT name_key FROM kg_documents WHERE id = ?", [document]).fetchone()
    return str(row[0])


def _aliases(connection: sqlite3.Connection, group: list[NamedNote]) -> set[str]:
    """Titles and aliases of these notes, from the claims their text makes."""
    changed: set[str] = set()
    for note in group:
        row = connection.execute(
            "SELECT title, name, entity FROM kg_documents WHERE id = ?", [note.document]
        ).fetchone()
        wanted = [(clean_name(row["name"]), "title"), (clean_name(row["title"]), "title")]
        claims = connection.execute(
            """SELECT DISTINCT v.tail FROM kg_chunks c CROSS JOIN kg_evidence v ON v.chunk = c.id
               WHERE c.document = ? AND v.kind = 'alias' AND v.head_key IS NULL
                 AND json_extract(v.detail, '$.syntax') <> 'title' ORDER BY v.tail""",
            [note.document],
        )
        wanted += [(claim[0], "alias") for claim in claims]
        changed |= put_note_aliases(connection, row["entity"], wanted)
    return changed
