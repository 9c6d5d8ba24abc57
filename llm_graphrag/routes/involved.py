"""The type filter: entity types, relations and attributes that a question is about.

Names are found as the schema or the file writes them, else with case, spaces, dashes and
underscores taken as equal; unknown ones are dropped and reported. A chunk is about them if it
names an entity of one of the types, or states a fact of one of the relations or attributes. A
route that has nothing of the kind runs without the filter, and says so (``routes.registry``).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable

from ..text.normalise import fold_identifier
from .hits import Involved

__all__ = ["about", "involved"]

KINDS = {"entity_type": "types", "relation": "relations", "attribute": "attributes"}

NAMES = """
    SELECT kind, name FROM kg_types WHERE retired_in IS NULL AND kind IN ('entity_type', 'relation', 'attribute')
    UNION
    SELECT kind, item FROM kg_counts WHERE kind IN ('entity_type', 'relation', 'attribute') AND item <> ''
"""
ABOUT = """
    SELECT f.value FROM json_each(:chunks) f
    WHERE EXISTS (
        SELECT 1 FROM kg_mentions m CROSS JOIN kg_entities e ON e.id = m.entity
        CROSS JOIN kg_entities k ON k.id = coalesce(e.merged_into, e.id)
        WHERE m.chunk = f.value AND k.type IN (SELECT value FROM json_each(:types)))
      OR EXISTS (
        SELECT 1 FROM kg_evidence v
        WHERE v.chunk = f.value AND (
          v.kind = 'triple' AND v.relation IN (SELECT value FROM json_each(:relations))
          OR v.kind = 'attribute' AND v.relation IN (SELECT value FROM json_each(:attributes))
          OR (SELECT e.type FROM kg_entities e WHERE e.id = v.head_entity) IN (SELECT value FROM json_each(:types))
          OR (SELECT e.type FROM kg_entities e WHERE e.id = v.tail_entity) IN (SELECT value FROM json_each(:types))))
"""


def involved(connection: sqlite3.Connection, names: Iterable[str]) -> tuple[Involved | None, tuple[str, ...]]:
    """Return what of the schema these names are, None if none of them is any, and the names that are not known.

    One that is both a type and a relation is both.
    """
    known: dict[str, list[tuple[str, str]]] = {}
    for kind, name in connection.execute(NAMES):
        for form in {str(name), _folded(str(name))}:
            known.setdefault(form, []).append((KINDS[kind], str(name)))
    found: dict[str, set[str]] = {field: set() for field in KINDS.values()}
    unknown = []
    for name in dict.fromkeys(names):
        meant = known.get(name) or known.get(_folded(name), [])
        for field, written in meant:
            found[field].add(written)
        if not meant:
            unknown.append(name)
    if not any(found.values()):
        return None, tuple(unknown)
    return Involved(**{field: frozenset(of) for field, of in found.items()}), tuple(unknown)


def about(connection: sqlite3.Connection, chunks: Collection[int], wanted: Involved) -> set[int]:
    """Return those of some chunks that are about what is wanted."""
    values = {
        "chunks": json.dumps(list(chunks)),
        "types": json.dumps(sorted(wanted.types)),
        "relations": json.dumps(sorted(wanted.relations)),
        "attributes": json.dumps(sorted(wanted.attributes)),
    }
    return {row[0] for row in connection.execute(ABOUT, values)}


def _folded(name: str) -> str:
    try:
        return fold_identifier(name)
    except ValueError:
        return name
