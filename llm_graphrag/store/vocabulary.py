"""What a knowledge base speaks of: its types, relations and attributes, how often, and a fact of each as an example.

Whoever writes a query has to know these words; the tables alone do not say them.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

__all__ = ["Vocabulary", "Word", "vocabulary"]

MOST = 60

TYPES = """
    SELECT type, count(*), NULL, NULL FROM kg_entities WHERE merged_into IS NULL AND type <> ''
    GROUP BY type ORDER BY count(*) DESC, type LIMIT :most
"""
RELATIONS = """
    SELECT f.relation, f.facts, h.name, a.name
    FROM (SELECT relation, count(*) AS facts, min(id) AS first FROM kg_triples
          GROUP BY relation ORDER BY count(*) DESC, relation LIMIT :most) f
    CROSS JOIN kg_triples t ON t.id = f.first
    CROSS JOIN kg_entities h ON h.id = t.head
    CROSS JOIN kg_entities a ON a.id = t.tail
    ORDER BY f.facts DESC, f.relation
"""
ATTRIBUTES = """
    SELECT f.attribute, f.facts, h.name, t.value
    FROM (SELECT attribute, count(*) AS facts, min(id) AS first FROM kg_attributes
          GROUP BY attribute ORDER BY count(*) DESC, attribute LIMIT :most) f
    CROSS JOIN kg_attributes t ON t.id = f.first
    CROSS JOIN kg_entities h ON h.id = t.entity
    ORDER BY f.facts DESC, f.attribute
"""
DESCRIPTIONS = "SELECT kind, name, description FROM kg_types WHERE retired_in IS NULL AND description <> ''"


@dataclass(frozen=True, slots=True)
class Word:
    """A type, relation or attribute: how many entities or facts it has, and the two ends of one of its facts."""

    name: str
    count: int
    description: str = ""
    head: str | None = None
    tail: str | None = None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words in use, most used first, at most ``MOST`` of a kind."""

    types: tuple[Word, ...]
    relations: tuple[Word, ...]
    attributes: tuple[Word, ...]


def vocabulary(connection: sqlite3.Connection, most: int = MOST) -> Vocabulary:
    """Return the words that this file uses."""
    said = {(kind, name): description for kind, name, description in connection.execute(DESCRIPTIONS)}

    def words(kind: str, statement: str) -> tuple[Word, ...]:
        rows = connection.execute(statement, {"most": most})
        return tuple(Word(name, count, said.get((kind, name), ""), head, tail) for name, count, head, tail in rows)

    return Vocabulary(
        words("entity_type", TYPES), words("relation", RELATIONS), words("attribute", ATTRIBUTES)
    )  # fmt: skip
