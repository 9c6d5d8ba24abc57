"""The graph as an export sees it: entities with their names, attributes and triples, each with its best quote.

Everything comes in an order that depends on names alone, so the same graph always gives the same file, whatever ids it
has. What is merged into an entity is no entity of its own: its names are among the other names. With a scope, the graph
is what the documents in it state: facts without evidence in one of them are not there, and numbers and quotes are of
theirs.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from ...store.settings import get_setting
from ...text.normalise import clean_name
from ..imports.vocabulary import SETTING, Vocabulary

__all__ = ["Attribute", "Entity", "Graph", "Stated", "Triple"]


@dataclass(frozen=True, slots=True)
class Entity:
    """``number`` counts from 1, in the order of the export."""

    number: int
    name: str
    type: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stated:
    """How well a fact is supported: by how many statements, how surely, and the best of them with its place."""

    evidence: int
    confidence: float
    quote: str
    source: str

    @property
    def sure(self) -> str:
        """The confidence as text."""
        return f"{self.confidence:.15g}"


@dataclass(frozen=True, slots=True)
class Attribute:
    """``language`` and ``datatype`` are empty unless the file that it came from said them."""

    entity: Entity
    attribute: str
    value: str
    stated: Stated
    language: str = ""
    datatype: str = ""


@dataclass(frozen=True, slots=True)
class Triple:
    head: Entity
    relation: str
    tail: Entity
    stated: Stated


class Graph:
    """What is to be exported of a knowledge base: all of it, or what ``documents`` state.

    ``relations`` and ``types`` leave the facts of these relations, and those all of whose ends have these types.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        documents: Collection[int] | None = None,
        relations: Collection[str] = (),
        types: Collection[str] = (),
    ) -> None:
        self.connection = connection
        self.taken: Counter[str] = Counter()  # how many facts an exporter has taken, by kind
        self._scope = {
            "documents": None if documents is None else json.dumps(sorted(documents)),
            "relations": json.dumps(sorted(relations), ensure_ascii=False) if relations else None,
            "types": json.dumps(sorted(types), ensure_ascii=False) if types else None,
        }

    @cached_property
    def by_id(self) -> dict[int, Entity]:
        """The entities by row, in order."""
        rows = self.connection.execute(ENTITIES, self._scope).fetchall()
        aliases: dict[int, list[str]] = {}
        for id_, name in self.connection.execute(ALIASES, self._scope):
            aliases.setdefault(id_, []).append(clean_name(name))
        return {
            row["id"]: Entity(
                number, row["name"], row["type"], tuple(sorted({*aliases.get(row["id"], ())} - {row["name"]}))
            )
            for number, row in enumerate(rows, 1)
        }

    @property
    def entities(self) -> Collection[Entity]:
        """All entities, by key and type."""
        return self.by_id.values()

    def attributes(self) -> Iterator[Attribute]:
        """All attributes, in the order of their entities; a value once for each language and datatype."""
        rows = self.connection.execute(ATTRIBUTES, self._scope)
        self.taken["attribute"] = 0
        for (id_, attribute, value, detail), group in groupby(rows, key=_fact):
            self.taken["attribute"] += 1
            about = json.loads(detail)
            entity, stated = self.by_id[id_], _stated(group)
            yield Attribute(entity, attribute, value, stated, about[0], about[1])

    def triples(self) -> Iterator[Triple]:
        """All triples, in the order of their heads."""
        rows = self.connection.execute(TRIPLES, self._scope)
        self.taken["triple"] = 0
        for (head, relation, tail, _), group in groupby(rows, key=_fact):
            self.taken["triple"] += 1
            yield Triple(self.by_id[head], relation, self.by_id[tail], _stated(group))

    def values(self) -> dict[int, dict[str, list[str]]]:
        """The attributes of entities, by number: each value once, whatever its language and datatype."""
        found: dict[int, dict[str, dict[str, None]]] = {}
        for a in self.attributes():
            found.setdefault(a.entity.number, {}).setdefault(a.attribute, {})[a.value] = None
        return {number: {name: list(values) for name, values in own.items()} for number, own in found.items()}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """What relations, attributes and types were called in RDF that was imported."""
        return Vocabulary(get_setting(self.connection, SETTING, {}))


def _fact(row: sqlite3.Row) -> tuple[Any, ...]:
    return tuple(row)[:4]


def _stated(group: Iterator[Any]) -> Stated:
    """Evidence of one fact, the best first."""
    rows = list(group)
    best = rows[0]
    return Stated(len(rows), best["confidence"], best["quote"], best["source"])


#: Evidence in the scope, as a condition on ``v`` and ``d``.
_IN_SCOPE = "(:documents IS NULL OR d.id IN (SELECT value FROM json_each(:documents)))"
_OF_TYPES = "(:types IS NULL OR {0}.type IN (SELECT value FROM json_each(:types)))"
_OF_RELATIONS = "(:relations IS NULL OR v.relation IN (SELECT value FROM json_each(:relations)))"
_BEST = "v.confidence DESC, d.uri, c.seq, v.start, v.end, v.detail"
#: Of a row that an export wrote, as it was there; its text holds it with the escapes of its format.
_QUOTE = "coalesce(json_extract(v.detail, '$.quote'), v.quote) AS quote"
_SOURCE = "coalesce(json_extract(v.detail, '$.source'), d.uri) AS source"

_OF_FACTS = f"""
  SELECT t.head AS id FROM kg_triples t JOIN kg_evidence v ON v.triple = t.id JOIN kg_chunks c ON c.id = v.chunk
    JOIN kg_documents d ON d.id = c.document WHERE {_IN_SCOPE} AND {_OF_RELATIONS}
  UNION SELECT t.tail FROM kg_triples t JOIN kg_evidence v ON v.triple = t.id JOIN kg_chunks c ON c.id = v.chunk
    JOIN kg_documents d ON d.id = c.document WHERE {_IN_SCOPE} AND {_OF_RELATIONS}
  UNION SELECT t.entity FROM kg_attributes t JOIN kg_evidence v ON v.attribute = t.id JOIN kg_chunks c ON c.id = v.chunk
    JOIN kg_documents d ON d.id = c.document WHERE {_IN_SCOPE} AND {_OF_RELATIONS}"""  # noqa: S608 - our own pieces

_MENTIONED = f"""
  UNION SELECT coalesce(e.merged_into, e.id) FROM kg_mentions m JOIN kg_entities e ON e.id = m.entity
    JOIN kg_chunks c ON c.id = m.chunk JOIN kg_documents d ON d.id = c.document
    WHERE {_IN_SCOPE} AND :relations IS NULL
  UNION SELECT coalesce(e.merged_into, e.id) FROM kg_evidence v JOIN kg_entities e ON e.id = v.head_entity
    JOIN kg_chunks c ON c.id = v.chunk JOIN kg_documents d ON d.id = c.document
    WHERE v.kind IN ('type', 'alias') AND {_IN_SCOPE} AND :relations IS NULL
  UNION SELECT coalesce(e.merged_into, e.id) FROM kg_documents d JOIN kg_entities e ON e.id = d.entity
    WHERE {_IN_SCOPE} AND :relations IS NULL"""  # noqa: S608 - our own pieces

ENTITIES = f"""
  SELECT e.id, e.name, e.type FROM kg_entities e
  WHERE e.merged_into IS NULL AND {_OF_TYPES.format("e")}
    AND ((:documents IS NULL AND :relations IS NULL) OR e.id IN (
      SELECT id FROM ({_OF_FACTS} {_MENTIONED})))
  ORDER BY e.key, e.type"""  # noqa: S608 - our own pieces

#: In a scope only the names that its documents give; titles are as they are written.
ALIASES = f"""
  SELECT coalesce(e.merged_into, e.id), a.name FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity
    WHERE :documents IS NULL
  UNION SELECT coalesce(e.merged_into, e.id), v.tail FROM kg_evidence v JOIN kg_entities e ON e.id = v.head_entity
    JOIN kg_chunks c ON c.id = v.chunk JOIN kg_documents d ON d.id = c.document
    WHERE v.kind = 'alias' AND :documents IS NOT NULL AND {_IN_SCOPE}
  UNION SELECT coalesce(e.merged_into, e.id), d.title FROM kg_documents d JOIN kg_entities e ON e.id = d.entity
    WHERE :documents IS NOT NULL AND {_IN_SCOPE}"""  # noqa: S608 - our own pieces

ATTRIBUTES = f"""
  SELECT t.entity, t.attribute, t.value,
    json_array(coalesce(json_extract(v.detail, '$.language'), ''), coalesce(json_extract(v.detail, '$.datatype'), ''))
      AS about, v.confidence, {_QUOTE}, {_SOURCE}
  FROM kg_attributes t JOIN kg_entities e ON e.id = t.entity JOIN kg_evidence v ON v.attribute = t.id
  JOIN kg_chunks c ON c.id = v.chunk JOIN kg_documents d ON d.id = c.document
  WHERE {_IN_SCOPE} AND {_OF_RELATIONS} AND {_OF_TYPES.format("e")}
  ORDER BY e.key, e.type, t.attribute, t.value, about, {_BEST}"""  # noqa: S608 - our own pieces

TRIPLES = f"""
  SELECT t.head, t.relation, t.tail, '' AS about, v.confidence, {_QUOTE}, {_SOURCE}
  FROM kg_triples t JOIN kg_entities h ON h.id = t.head JOIN kg_entities o ON o.id = t.tail
  JOIN kg_evidence v ON v.triple = t.id JOIN kg_chunks c ON c.id = v.chunk JOIN kg_documents d ON d.id = c.document
  WHERE {_IN_SCOPE} AND {_OF_RELATIONS} AND {_OF_TYPES.format("h")} AND {_OF_TYPES.format("o")}
  ORDER BY h.key, h.type, t.relation, o.key, o.type, {_BEST}"""  # noqa: S608 - our own pieces
