"""Entities and their surface forms as rows, and the question which entity a name means.

``Names`` answers that question while documents are written. It remembers what it
has looked up, is told what changed, and afterwards moves the rows that now mean
another entity (``settle.py``). The rules themselves are in ``facts/identity.py``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import reduce

from ..facts.identity import OTHER_NAME, OWN_NAME, Declared, pick, preferred_spelling
from ..text.normalise import name_key
from . import changes
from .settings import get_setting

BLOCKED_NAMES = "blocked_names"


class Names:
    """Resolves names to entity ids; makes the untyped entity of a key when nothing declares it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.blocked = frozenset(get_setting(connection, BLOCKED_NAMES, []))
        self._declared: dict[str, list[Declared]] = {}
        self._untyped: dict[str, tuple[int, str]] = {}
        self._spellings: dict[int, set[str]] = {}

    def forget(self, keys: Iterable[str]) -> None:
        """Look these keys up again when next asked: what declares them has changed."""
        for key in keys:
            self._declared.pop(key, None)
            self._untyped.pop(key, None)

    def clear(self) -> None:
        """Forget everything, after rows were deleted."""
        self._declared.clear()
        self._untyped.clear()
        self._spellings.clear()

    def preload(self, keys: Iterable[str]) -> None:
        """Look many keys up in one statement each for what declares them and for their untyped entities."""
        missing = [key for key in set(keys) if key not in self._declared]
        if not missing:
            return
        for key in missing:
            self._declared[key] = []
        wanted = json.dumps(missing)
        rows = self.connection.execute(
            """SELECT a.key, a.name, a.kind, e.id FROM json_each(?) w CROSS JOIN kg_aliases a ON a.key = w.value
               JOIN kg_entities e ON e.id = a.entity
               WHERE e.type <> '' OR e.origin IN ('user', 'import')
                  OR EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id)""",
            [wanted],
        )
        for key, name, kind, entity in rows:
            self._declared[key].append(Declared(entity, name, OWN_NAME if kind == "name" else OTHER_NAME))
        rows = self.connection.execute(
            """SELECT e.key, e.id, e.name FROM json_each(?) w
               CROSS JOIN kg_entities e ON e.key = w.value AND e.type = ''""",
            [wanted],
        )
        for key, entity, name in rows:
            self._untyped[key] = (entity, name)

    def resolve(self, name: str, origin: str, key: str | None = None) -> int | None:
        """The entity that ``name`` means; None if the name is empty or blocked."""
        key = name_key(name) if key is None else key
        if not key or key in self.blocked:
            return None
        self.preload([key])
        found = pick(self._declared[key], name)
        if found is None:
            found = self._untyped_entity(key, name, origin)
        return found

    def _untyped_entity(self, key: str, name: str, origin: str) -> int:
        known = self._untyped.get(key)
        if known is None:
            entity = insert_entity(self.connection, name, "", key, origin)
            self._untyped[key] = (entity, name)
            self._spellings[entity] = {name}
            return entity
        entity, shown = known
        if name != shown:
            self._add_spelling(entity, key, shown, name)
        return entity

    def _add_spelling(self, entity: int, key: str, shown: str, name: str) -> None:
        seen = self._spellings.setdefault(entity, set())
        if name in seen:
            return
        seen.add(name)
        if any(declared.entity == entity for declared in self._declared[key]):
            return  # a note says itself what it is called
        put_alias(self.connection, entity, name, "spelling", "lexical")
        best = preferred_spelling(shown, name)
        if best != shown:
            rename(self.connection, entity, best, key)
            self._untyped[key] = (entity, best)


def insert_entity(connection: sqlite3.Connection, name: str, type_: str, key: str, origin: str) -> int:
    """A new entity with its own name as its first surface form."""
    cursor = connection.execute(
        "INSERT INTO kg_entities(name, type, key, origin) VALUES (?, ?, ?, ?)", [name, type_, key, origin]
    )
    entity = cursor.lastrowid
    assert entity is not None
    connection.execute(
        "INSERT INTO kg_aliases(entity, name, key, kind, origin, scanned) VALUES (?, ?, ?, 'name', ?, 1)",
        [entity, name, key, origin],
    )
    changes.record(connection, "kg_entities", [entity], "insert")
    return entity


def rename(connection: sqlite3.Connection, entity: int, name: str, key: str) -> None:
    """Show another spelling as the entity's name; the old one stays as a spelling if its key is the same."""
    connection.execute("UPDATE kg_entities SET name = ?, key = ? WHERE id = ?", [name, key, entity])
    connection.execute(
        "DELETE FROM kg_aliases WHERE entity = ? AND kind IN ('name', 'spelling') AND key <> ?", [entity, key]
    )
    connection.execute("UPDATE kg_aliases SET kind = 'spelling' WHERE entity = ? AND kind = 'name'", [entity])
    connection.execute(
        """INSERT INTO kg_aliases(entity, name, key, kind, origin, scanned) VALUES (?, ?, ?, 'name', 'link', 1)
           ON CONFLICT(entity, name) DO UPDATE SET kind = 'name'""",
        [entity, name, key],
    )
    changes.record(connection, "kg_entities", [entity], "update")


def put_alias(connection: sqlite3.Connection, entity: int, name: str, kind: str, origin: str) -> bool:
    """Add a surface form unless the entity has it; returns whether it is new."""
    cursor = connection.execute(
        "INSERT INTO kg_aliases(entity, name, key, kind, origin, scanned) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(entity, name) DO NOTHING",
        [entity, name, name_key(name), kind, origin, int(kind == "spelling")],
    )
    return cursor.rowcount > 0


def put_note_aliases(connection: sqlite3.Connection, entity: int, wanted: Sequence[tuple[str, str]]) -> set[str]:
    """Make the titles and aliases of a note's entity exactly ``wanted`` (name, kind); returns the keys that changed."""
    names = {name: kind for name, kind in reversed(wanted) if name_key(name)}
    rows = connection.execute("SELECT id, name, key, kind FROM kg_aliases WHERE entity = ?", [entity]).fetchall()
    changed: set[str] = set()
    for row in rows:
        if row["kind"] in ("title", "alias") and names.get(row["name"]) != row["kind"]:
            connection.execute("DELETE FROM kg_aliases WHERE id = ?", [row["id"]])
            changed.add(row["key"])
        elif row["kind"] in ("name", "title", "alias"):
            names.pop(row["name"], None)
    for name, kind in sorted(names.items()):
        connection.execute(
            """INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (?, ?, ?, ?, 'link')
               ON CONFLICT(entity, name) DO UPDATE SET kind = excluded.kind, origin = 'link', scanned = 0""",
            [entity, name, name_key(name), kind],
        )
        changed.add(name_key(name))
    return changed


def keys_of(connection: sqlite3.Connection, entity: int) -> set[str]:
    """The keys of all surface forms of an entity."""
    return {row[0] for row in connection.execute("SELECT key FROM kg_aliases WHERE entity = ?", [entity])}


def restate(connection: sqlite3.Connection, entities: Iterable[int], lost: Iterable[int]) -> None:
    """Make origin and spellings of entities what their support says; spellings only of those that ``lost`` some."""
    rows = connection.execute(
        """SELECT e.id, e.key, e.name, EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id) AS declared
           FROM json_each(?) w CROSS JOIN kg_entities e ON e.id = w.value WHERE e.origin NOT IN ('user', 'import')""",
        [json.dumps(sorted(lost))],
    ).fetchall()
    for row in rows:
        _respell(connection, row["id"], row["key"], row["name"], bool(row["declared"]))
    for statement in RESTATE:
        connection.execute(statement, [json.dumps(sorted(entities))])


def _respell(connection: sqlite3.Connection, entity: int, key: str, shown: str, declared: bool) -> None:
    """The spellings of an entity without a note are those in which it is still written; a note's entity has none."""
    if declared:
        connection.execute("DELETE FROM kg_aliases WHERE entity = ? AND kind = 'spelling'", [entity])
        return
    written = {row[0] for row in connection.execute(SPELLINGS, {"entity": entity})}
    written = {name for name in written if name_key(name) == key} or {shown}
    best = reduce(preferred_spelling, sorted(written))
    if best != shown:
        rename(connection, entity, best, key)
    rows = connection.execute("SELECT id, name, kind FROM kg_aliases WHERE entity = ?", [entity]).fetchall()
    gone = [row["id"] for row in rows if row["kind"] == "spelling" and row["name"] not in written]
    connection.executemany("DELETE FROM kg_aliases WHERE id = ?", [[id_] for id_ in gone])
    for name in sorted(written - {row["name"] for row in rows}):
        put_alias(connection, entity, name, "spelling", "lexical")


RESTATE = (
    """UPDATE kg_entities SET origin = CASE
         WHEN EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = kg_entities.id)
           OR EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_entity = kg_entities.id AND v.origin = 'link')
           OR EXISTS (SELECT 1 FROM kg_evidence v WHERE v.tail_entity = kg_entities.id AND v.origin = 'link')
         THEN 'link' ELSE 'lexical' END
       WHERE id IN (SELECT value FROM json_each(?)) AND origin IN ('link', 'lexical')""",
    """UPDATE kg_aliases SET origin = CASE kind WHEN 'spelling' THEN 'lexical' ELSE
         (SELECT origin FROM kg_entities e WHERE e.id = kg_aliases.entity) END
       WHERE entity IN (SELECT value FROM json_each(?)) AND kind IN ('name', 'spelling')""",
)

SPELLINGS = """
  SELECT substr(c.text, m.start + 1, m.end - m.start) FROM kg_mentions m JOIN kg_chunks c ON c.id = m.chunk
    WHERE m.entity = :entity AND m.origin <> 'link'
  UNION SELECT tail FROM kg_evidence WHERE tail_entity = :entity
  UNION SELECT head FROM kg_evidence WHERE head_entity = :entity AND head_key IS NOT NULL"""


def sweep(connection: sqlite3.Connection, candidates: Iterable[int]) -> list[int]:
    """Delete those of ``candidates`` that nothing supports any more: no note, mention, claim or hand."""
    wanted = json.dumps(sorted(set(candidates)))
    rows = connection.execute(
        """SELECT e.id FROM json_each(?) w CROSS JOIN kg_entities e ON e.id = w.value
           WHERE e.origin NOT IN ('user', 'import')
             AND NOT EXISTS (SELECT 1 FROM kg_mentions m WHERE m.entity = e.id)
             AND NOT EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_entity = e.id)
             AND NOT EXISTS (SELECT 1 FROM kg_evidence v WHERE v.tail_entity = e.id)
             AND NOT EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id)""",
        [wanted],
    ).fetchall()
    gone = [row[0] for row in rows]
    connection.executemany("DELETE FROM kg_entities WHERE id = ?", [[id_] for id_ in gone])
    changes.record(connection, "kg_entities", gone, "delete")
    return gone
