"""Entities and their surface forms as rows, and the question which entity a name means.

``Names`` answers that question while documents are written. It remembers what it
has looked up, is told what changed, and afterwards moves the rows that now mean
another entity (``settle.py``). The rules themselves are in ``facts/identity.py``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from ..facts.identity import MODEL_NAME, OTHER_NAME, OWN_NAME, Declared, pick, preferred_spelling
from ..text.normalise import clean_name, name_key
from . import changes
from .settings import get_setting

BLOCKED_NAMES = "blocked_names"


class Names:
    """Resolves names to entity ids; makes the untyped entity of a key when nothing declares it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.blocked = frozenset(get_setting(connection, BLOCKED_NAMES, []))
        self._declared: dict[str, list[Declared]] = {}
        self._undeclared: dict[tuple[str, str], tuple[int, str]] = {}  # (key, type) → (entity, name shown)
        self._spellings: dict[int, set[str]] = {}
        self._typed: set[str] = set()

    def take_typed(self) -> set[str]:
        """Keys that have got an entity with a type since this was last asked."""
        typed, self._typed = self._typed, set()
        return typed

    def forget(self, keys: Iterable[str]) -> None:
        """Look these keys up again when next asked: what declares them has changed."""
        for key in keys:
            self._declared.pop(key, None)
            self._undeclared.pop((key, ""), None)

    def clear(self) -> None:
        """Forget everything, after rows were deleted."""
        self._declared.clear()
        self._undeclared.clear()
        self._spellings.clear()

    def preload(self, keys: Iterable[str]) -> None:
        """Look many keys up in one statement each for what declares them and for their untyped entities."""
        missing = [key for key in set(keys) if key not in self._declared]
        if not missing:
            return
        for key in missing:
            self._declared[key] = []
        wanted = json.dumps(missing)
        for key, name, kind, entity, type_, by_model in self.connection.execute(DECLARED, [wanted]):
            rank = OWN_NAME if kind == "name" else OTHER_NAME
            self._declared[key].append(Declared(entity, name, MODEL_NAME if by_model else rank, type_))
        rows = self.connection.execute(
            """SELECT e.key, e.id, e.name FROM json_each(?) w
               CROSS JOIN kg_entities e ON e.key = w.value AND e.type = ''""",
            [wanted],
        )
        for key, entity, name in rows:
            self._undeclared[key, ""] = (entity, name)

    def resolve(self, name: str, origin: str, key: str | None = None, type_: str = "") -> int | None:
        """The entity that ``name``, which a model may have typed, means; None if the name is empty or blocked."""
        key = name_key(name) if key is None else key
        name = clean_name(name)
        if not key or key in self.blocked:
            return None
        self.preload([key])
        found = pick(self._declared[key], name, type_)
        if found is None:
            return self._own_entity(key, name, origin, type_)
        if found.rank == MODEL_NAME:  # no note says how it is written
            return self._own_entity(key, name, origin, found.type)
        return found.entity

    def _own_entity(self, key: str, name: str, origin: str, type_: str) -> int:
        """The entity of this key and type that no note declares; made if it is not there."""
        known = self._undeclared.get((key, type_)) or self._stored(key, type_)
        if known is None:
            entity = insert_entity(self.connection, name, type_, key, origin)
            self._undeclared[key, type_] = (entity, name)
            self._spellings[entity] = {name}
            if type_:
                self._typed.add(key)
                self._declared.pop(key, None)
            return entity
        entity, shown = self._undeclared[key, type_] = known
        if name != shown:
            self._add_spelling(entity, key, type_, shown, name)
        return entity

    def _stored(self, key: str, type_: str) -> tuple[int, str] | None:
        row = self.connection.execute(
            "SELECT id, name FROM kg_entities WHERE key = ? AND type = ? AND type <> ''", [key, type_]
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def _add_spelling(self, entity: int, key: str, type_: str, shown: str, name: str) -> None:
        seen = self._spellings.setdefault(entity, set())
        if name in seen:
            return
        seen.add(name)
        if any(item.entity == entity and item.rank != MODEL_NAME for item in self._declared.get(key, ())):
            return  # a note says itself what it is called
        put_alias(self.connection, entity, name, "spelling", "lexical")
        best = preferred_spelling(shown, name)
        if best != shown:
            rename(self.connection, entity, best, key)
            self._undeclared[key, type_] = (entity, best)


#: What claims a key: entities of notes, made by hand, and those that a model or an imported row has typed somewhere.
DECLARED = """
  SELECT a.key, a.name, a.kind, e.id, coalesce(own, e.type), own IS NULL AND NOT by_hand AS by_model FROM (
    SELECT w.value AS key, a.name, a.kind, a.entity, a.origin,
      (SELECT d.entity_type FROM kg_documents d WHERE d.entity = a.entity) AS own
    FROM json_each(?) w CROSS JOIN kg_aliases a ON a.key = w.value) a
  JOIN (SELECT id, type, key, origin = 'user' AS by_hand FROM kg_entities) e ON e.id = a.entity
  WHERE (a.origin NOT IN ('llm', 'import') OR a.kind = 'name') AND (own IS NOT NULL OR by_hand OR (
    a.kind = 'name' AND e.type <> '' AND (
      EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_entity = e.id AND v.head_type = e.type AND v.head_key = e.key)
      OR EXISTS (SELECT 1 FROM kg_evidence v
                 WHERE v.tail_entity = e.id AND v.tail_type = e.type AND v.tail_key = e.key))))
"""


def insert_entity(connection: sqlite3.Connection, name: str, type_: str, key: str, origin: str) -> int:
    """A new entity with its own name as its first surface form."""
    cursor = connection.execute(
        "INSERT INTO kg_entities(name, type, key, origin) VALUES (?, ?, ?, ?)", [name, type_, key, origin]
    )
    entity = cursor.lastrowid
    assert entity is not None
    connection.execute(
        "INSERT INTO kg_aliases(entity, name, key, kind, origin, scanned) VALUES (?, ?, ?, 'name', ?, ?)",
        [entity, name, key, origin, int(not type_)],
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
