"""One entity, with everything that is known of it, as ``llm graphrag entity`` shows it.

An entity is found by its key or by any of its other names; several may share a name.
Facts are grouped by relation and direction, each with quotes and the place where they
stand. A hub is not read whole: of each group the best supported facts are read, and
all are counted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from ..text.normalise import clean_name, name_key
from .named import named
from .written import written

__all__ = ["Card", "Group", "Quote", "Stated", "cards", "values"]

QUOTES = 3  # read of one fact

FIND = """
    SELECT coalesce(e.merged_into, e.id) AS id
    FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity
    WHERE a.key = :key
    GROUP BY 1 ORDER BY max(e.name = :name) DESC, max(a.name = :name) DESC, max(e.key = :key) DESC, 1
"""
CARD = """
    SELECT e.id, e.name, e.type, e.origin,
      coalesce((SELECT n.n FROM kg_counts n WHERE n.kind = 'chunks' AND n.item = +e.id), 0) AS chunks
    FROM kg_entities e WHERE e.id = :entity
"""
ALIASES = """
    SELECT a.name, a.kind FROM kg_aliases a
    WHERE a.entity IN (SELECT id FROM kg_entities WHERE id = :entity OR merged_into = :entity)
    ORDER BY a.entity <> :entity, a.kind, a.name
"""
NOTES = """
    SELECT d.uri FROM kg_documents d
    WHERE d.entity IN (SELECT id FROM kg_entities WHERE id = :entity OR merged_into = :entity) ORDER BY d.uri
"""
GROUPS = {
    "out": "SELECT relation, count(*) FROM kg_triples WHERE head = :entity GROUP BY relation ORDER BY relation",
    "in": "SELECT relation, count(*) FROM kg_triples WHERE tail = :entity GROUP BY relation ORDER BY relation",
    "attribute": "SELECT attribute, count(*) FROM kg_attributes WHERE entity = :entity GROUP BY 1 ORDER BY 1",
}
FACTS = {
    "out": """SELECT t.id, o.name, o.id FROM kg_triples t JOIN kg_entities o ON o.id = t.tail
              WHERE t.head = :entity AND t.relation = :relation ORDER BY t.evidence DESC, o.name, t.id LIMIT :limit""",
    "in": """SELECT t.id, o.name, o.id FROM kg_triples t JOIN kg_entities o ON o.id = t.head
             WHERE t.tail = :entity AND t.relation = :relation ORDER BY t.evidence DESC, o.name, t.id LIMIT :limit""",
    "attribute": """SELECT id, value, NULL FROM kg_attributes
                    WHERE entity = :entity AND attribute = :relation ORDER BY evidence DESC, value, id LIMIT :limit""",
}
EVIDENCE = """
    SELECT f.value, e.quote, e.start, c.line, c.text, d.uri, e.origin
    FROM json_each(:facts) f
    CROSS JOIN kg_evidence e ON e.{column} = f.value
    CROSS JOIN kg_chunks c ON c.id = e.chunk
    CROSS JOIN kg_documents d ON d.id = c.document
    ORDER BY f.value, e.confidence DESC, d.uri, e.start
"""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that states a fact, and where it stands."""

    text: str
    uri: str
    line: int
    origin: str


@dataclass(frozen=True, slots=True)
class Stated:
    """The other end of a fact, or the value of an attribute."""

    name: str
    quotes: tuple[Quote, ...]
    written: str = ""  # how its file writes it, if it has a number here


@dataclass(frozen=True, slots=True)
class Group:
    """The facts of one relation in one direction; ``count`` is of all, ``facts`` may be the first of them."""

    relation: str
    direction: str  # out, in, attribute
    count: int
    facts: tuple[Stated, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """An entity with its names, its notes and its facts."""

    id: int
    name: str
    type: str
    origin: str
    chunks: int  # passages that mention it
    aliases: tuple[str, ...]
    notes: tuple[str, ...]
    groups: tuple[Group, ...]
    written: str = ""  # how its file writes it, if it has a number here


def cards(connection: sqlite3.Connection, name: str, limit: int = 10) -> list[Card]:
    """Return the entities called ``name``, by any of their names, with their type in brackets, or as ``#id``.

    What is written just so comes first, then what has it for its own name.

    ``limit`` facts of each group are read (0: all).
    """
    ids = [row[0] for row in connection.execute(FIND, {"key": name_key(name), "name": clean_name(name)})]
    ids += [node.id for node in named(connection, name)]
    return [_card(connection, entity, limit) for entity in dict.fromkeys(ids)]


def values(connection: sqlite3.Connection, entity: int, limit: int = 10) -> tuple[Group, ...]:
    """Return the attributes of an entity with their values, ``limit`` of each (0: all)."""
    counts = connection.execute(GROUPS["attribute"], {"entity": entity}).fetchall()
    return tuple(
        Group(name, "attribute", count, _facts(connection, entity, "attribute", name, limit)) for name, count in counts
    )


def _card(connection: sqlite3.Connection, entity: int, limit: int) -> Card:
    values = {"entity": entity}
    id_, name, type_, origin, chunks = connection.execute(CARD, values).fetchone()
    aliases = tuple(dict.fromkeys(row[0] for row in connection.execute(ALIASES, values) if row[0] != name))
    notes = tuple(row[0] for row in connection.execute(NOTES, values))
    groups = []
    for direction, sql in GROUPS.items():
        for relation, count in connection.execute(sql, values).fetchall():
            facts = _facts(connection, entity, direction, relation, limit)
            groups.append(Group(relation, direction, count, facts))
    told = written(connection, {id_: name})
    return Card(id_, name, type_, origin, chunks, aliases, notes, tuple(groups), told.get(id_, ""))


def _facts(
    connection: sqlite3.Connection, entity: int, direction: str, relation: str, limit: int
) -> tuple[Stated, ...]:
    values = {"entity": entity, "relation": relation, "limit": limit if limit > 0 else -1}
    rows = connection.execute(FACTS[direction], values).fetchall()
    quotes = _quotes(connection, "attribute" if direction == "attribute" else "triple", [row[0] for row in rows])
    told = written(connection, {entity: other for _, other, entity in rows if entity is not None})
    return tuple(Stated(other, quotes.get(fact, ()), told.get(entity, "")) for fact, other, entity in rows)


def _quotes(connection: sqlite3.Connection, column: str, facts: list[int]) -> Mapping[int, tuple[Quote, ...]]:
    found: dict[int, tuple[Quote, ...]] = {}
    rows = connection.execute(EVIDENCE.format(column=column), {"facts": json.dumps(facts)})
    for fact, text, start, line, chunk, uri, origin in rows:
        known = found.get(fact, ())
        if len(known) < QUOTES:
            found[fact] = (*known, Quote(text, uri, line + chunk.count("\n", 0, start), origin))
    return found
