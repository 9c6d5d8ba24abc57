"""Which entities the names of an imported batch mean: the rules of ``Names``, asked for all names at once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from ..facts.identity import MODEL_NAME, OTHER_NAME, OWN_NAME, Declared, pick
from . import changes
from .entities import DECLARED
from .settle import Settlement

__all__ = ["End", "ImportedNames"]

End = tuple[str, str, str]  # name, type, key


class ImportedNames:
    """Entities by name and type, for one batch."""

    def __init__(self, connection: sqlite3.Connection, settlement: Settlement) -> None:
        self.connection, self.settlement = connection, settlement
        self.entities: set[int] = set()
        self._ids: dict[tuple[str, str], int] = {}
        self._roots: dict[int, int] = {}  # of what is merged into another entity
        self._before: set[int] = set()
        self._declared: dict[str, list[Declared]] = {}
        self._own: dict[tuple[str, str], tuple[int, str]] = {}  # (key, type) → entity, name shown
        self._new: dict[int, tuple[str, str, str]] = {}  # entity → name, type, key
        self._spellings: set[tuple[int, str]] = set()  # that entities are known to have
        self._spelled: set[int] = set()  # entities that are written otherwise than they are known

    def of(self, name: str, type_: str) -> int | None:
        """The entity of a name that was resolved; None if the name is blocked."""
        return self._ids.get((name, type_))

    def root(self, entity: int) -> int:
        """The entity whose the facts are."""
        return self._roots.get(entity, entity)

    def roots_before(self) -> set[int]:
        """Entities that were there before the batch, as the ends of facts."""
        return {self.root(entity) for entity in self._before}

    def resolve(self, ends: Sequence[End]) -> None:
        """Find the entities of all names, and make those that are missing."""
        blocked = self.settlement.names.blocked
        wanted = [end for end in ends if end[2] and end[2] not in blocked]
        self._look_up({key for _, _, key in wanted})
        for end in sorted(wanted, key=lambda end: not end[1]):  # typed names first: untyped ones may mean them
            self._resolve(*end)
        self._insert()
        self.entities = set(self._ids.values())

    def _look_up(self, keys: Iterable[str]) -> None:
        asked = json.dumps(sorted(keys), ensure_ascii=False)
        for key, name, kind, entity, type_, by_model in self.connection.execute(DECLARED, [asked]):
            rank = OWN_NAME if kind == "name" else OTHER_NAME
            declared = Declared(entity, name, MODEL_NAME if by_model else rank, type_)
            self._declared.setdefault(key, []).append(declared)
        for row in self.connection.execute(OF_KEYS, [asked]):
            self._own[row["key"], row["type"]] = (row["id"], row["name"])
        self._spellings = set(map(tuple, self.connection.execute(SPELLINGS, [asked])))
        self._next = int(self.connection.execute(LAST).fetchone()[0]) + 1

    def _resolve(self, name: str, type_: str, key: str) -> None:
        found = pick(self._declared.get(key, ()), name, type_)
        if found is not None and found.rank != MODEL_NAME:
            entity = found.entity
            self._before.add(entity)
        else:
            entity = self._own_entity(name, found.type if found else type_, key)
        self._ids[name, type_] = entity

    def _own_entity(self, name: str, type_: str, key: str) -> int:
        known = self._own.get((key, type_))
        if known is None:
            entity, self._next = self._next, self._next + 1
            self._own[key, type_] = entity, name
            self._new[entity] = name, type_, key
            if type_:
                self._declared.setdefault(key, []).append(Declared(entity, name, MODEL_NAME, type_))
            return entity
        entity, shown = known
        if entity not in self._new:
            self._before.add(entity)
        if name != shown and (entity, name) not in self._spellings:
            self._spelled.add(entity)
        return entity

    def _insert(self) -> None:
        connection = self.connection
        rows = [(entity, *named) for entity, named in self._new.items()]
        self._settle_keys({key for _, _, type_, key in rows if type_})
        connection.executemany(
            "INSERT INTO kg_entities(id, name, type, key, origin) VALUES (?, ?, ?, ?, 'import')", rows
        )
        connection.executemany(
            "INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (?, ?, ?, 'name', 'import')",
            [(entity, name, key) for entity, name, _, key in rows],
        )
        changes.record(connection, "kg_entities", self._new, "insert")
        self.settlement.lost |= self._spelled  # it finds out which of their spellings is the best
        merged = connection.execute(MERGED, [json.dumps(sorted(self._before))])
        self._roots = dict(merged.fetchall())

    def _settle_keys(self, typed: set[str]) -> None:
        """Names that had no type may mean one that has, from now on."""
        asked = json.dumps(sorted(typed), ensure_ascii=False)
        self.settlement.keys |= {row[0] for row in self.connection.execute(IN_USE, [asked])}


OF_KEYS = """
  SELECT e.key, e.type, e.id, e.name FROM json_each(?) w CROSS JOIN kg_entities e ON e.key = w.value"""

SPELLINGS = """
  SELECT a.entity, a.name FROM json_each(?) w CROSS JOIN kg_aliases a ON a.key = w.value
  WHERE a.kind IN ('name', 'spelling')"""

LAST = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'kg_entities'), 0)"

MERGED = """
  SELECT e.id, e.merged_into FROM json_each(?) w CROSS JOIN kg_entities e ON e.id = w.value
  WHERE e.merged_into IS NOT NULL"""

IN_USE = """
  SELECT w.value FROM json_each(?) w WHERE EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_key = w.value)
    OR EXISTS (SELECT 1 FROM kg_evidence v WHERE v.tail_key = w.value)
    OR EXISTS (SELECT 1 FROM kg_mentions m WHERE m.key = w.value)"""
