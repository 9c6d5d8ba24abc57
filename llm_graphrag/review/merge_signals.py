"""What a file knows of two entities besides their names: for and against their being one.

Read for all candidates together, a table at a time. Facts are those of the entity that one is merged into already, so
a decision makes the next ones surer.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..facts.doubt import contradict
from ..index.vectors import open_vectors

__all__ = ["HUB", "Known", "read"]

HUB = 2_000  # facts; an entity with more is joined with everything
MENTIONS = 500  # read of one entity

#: Attributes that have one value, whatever the schema says.
SINGLE = frozenset(
    """born birth_date birthdate birthday date_of_birth died death_date date_of_death founded founded_in isbn doi
    orcid""".split()
)

#: Relations that say the very thing, or only that one note names another.
NOT_APART = ("links_to", "mentions", "embeds", "tagged", "same_as", "also_known_as", "alias_of", "known_as")

NEIGHBOURS = """
  SELECT f.value, t.tail FROM json_each(:entities) f CROSS JOIN kg_triples t ON t.head = f.value
  UNION SELECT f.value, t.head FROM json_each(:entities) f CROSS JOIN kg_triples t ON t.tail = f.value"""
STATED = """
  SELECT DISTINCT f.value, t.tail FROM json_each(:entities) f CROSS JOIN kg_triples t ON t.head = f.value
  WHERE t.relation NOT IN (SELECT value FROM json_each(:silent))"""
ATTRIBUTES = """
  SELECT f.value, a.attribute, a.value FROM json_each(:entities) f CROSS JOIN kg_attributes a ON a.entity = f.value"""
COUNTS = """
  SELECT f.value, n.n FROM json_each(:entities) f CROSS JOIN kg_counts n ON n.kind = 'facts' AND n.item = f.value"""
MENTIONED = """
  SELECT f.value, c.document, m.chunk, m.start, m.end FROM json_each(:entities) f
  CROSS JOIN kg_mentions m ON m.entity = f.value AND m.chunk IN (
    SELECT o.chunk FROM kg_mentions o WHERE o.entity = f.value ORDER BY o.chunk LIMIT :limit)
  CROSS JOIN kg_chunks c ON c.id = m.chunk"""
OWN = "SELECT f.value, d.id FROM json_each(:entities) f CROSS JOIN kg_documents d ON d.entity = f.value"
VECTORS = """
  SELECT CAST(v.id AS INTEGER), v.embedding FROM json_each(:entities) f
  CROSS JOIN embeddings v ON v.collection_id = :collection AND v.id = CAST(f.value AS TEXT)"""

Place = tuple[int, int, int]  # chunk, start, end


@dataclass(slots=True)
class Known:
    """What is known of a set of entities, by id."""

    connection: sqlite3.Connection
    around: dict[int, dict[object, float]] = field(default_factory=dict)  # neighbour or (attribute, value) -> rarity
    single: dict[int, dict[str, frozenset[str]]] = field(default_factory=dict)
    facts: dict[int, int] = field(default_factory=dict)
    stated: set[tuple[int, int]] = field(default_factory=set)
    documents: dict[int, set[int]] = field(default_factory=dict)
    places: dict[int, list[Place]] = field(default_factory=dict)
    notes: set[int] = field(default_factory=set)
    vectors: dict[int, Any] = field(default_factory=dict)

    def shared(self, one: int, other: int) -> float:
        """Jaccard over what two entities are joined with, the rare counting more; each other does not count.

        One thing more is taken to be joined with one of them only: to agree in one of one tells less than in four of
        five.
        """
        left = {thing: rarity for thing, rarity in self.around.get(one, {}).items() if thing != other}
        right = {thing: rarity for thing, rarity in self.around.get(other, {}).items() if thing != one}
        both = math.fsum(rarity for thing, rarity in left.items() if thing in right)
        return both / (1 + math.fsum((left | right).values()))

    def apart(self, one: int, other: int) -> bool:
        return contradict(self.single.get(one, {}), self.single.get(other, {}))

    def related(self, one: int, other: int) -> bool:
        return (one, other) in self.stated or (other, one) in self.stated

    def read_with(self, one: int, other: int) -> float:
        """The share of the documents with the rarer of two that have the other too."""
        few, many = sorted((self.documents.get(one, set()), self.documents.get(other, set())), key=len)
        return len(few & many) / len(few) if few else 0.0

    def cosine(self, one: int, other: int) -> float | None:
        left, right = self.vectors.get(one), self.vectors.get(other)
        return None if left is None or right is None else round(float(left @ right), 4)

    def together(self, one: int, other: int) -> bool:
        """Whether one is written in brackets right after the other: *United States Geological Survey (USGS)*."""
        near = [
            (chunk, end, start)
            for first, last in ((one, other), (other, one))
            for chunk, _, end in self.places.get(first, ())
            for at, start, _ in self.places.get(last, ())
            if at == chunk and 1 <= start - end <= 4
        ]
        return any(self._bracketed(*place) for place in near[:MENTIONS])

    def _bracketed(self, chunk: int, end: int, start: int) -> bool:
        row = self.connection.execute("SELECT text FROM kg_chunks WHERE id = ?", [chunk]).fetchone()
        return bool(re.fullmatch(r"\s*\(\W{0,2}", row[0][end:start]))


def read(connection: sqlite3.Connection, entities: Collection[int], roots: Mapping[int, int], vectors: bool) -> Known:
    """Read what is known of ``entities``; ``roots`` says what those that are merged are merged into."""
    known = Known(connection)
    wanted = _json(entities)
    facts = {roots.get(entity, entity) for entity in entities}
    known.facts = dict(connection.execute(COUNTS, {"entities": _json(facts)}).fetchall())
    _read_facts(known, [entity for entity in facts if known.facts.get(entity, 0) <= HUB])
    for entity, document, chunk, start, end in connection.execute(MENTIONED, {"entities": wanted, "limit": MENTIONS}):
        known.documents.setdefault(entity, set()).add(document)
        known.places.setdefault(entity, []).append((chunk, start, end))
    for entity, document in connection.execute(OWN, {"entities": wanted}):
        known.documents.setdefault(entity, set()).add(document)
        known.notes.add(entity)
    if vectors and (held := open_vectors(connection, "entities")):
        rows = connection.execute(VECTORS, {"entities": wanted, "collection": held.collection})
        known.vectors = _unit(rows.fetchall(), held.dimensions)
    return known


def _read_facts(known: Known, entities: Iterable[int]) -> None:
    connection, wanted = known.connection, _json(entities)
    beside = [row for row in connection.execute(NEIGHBOURS, {"entities": wanted}).fetchall() if row[0] != row[1]]
    degrees = dict(connection.execute(COUNTS, {"entities": _json({row[1] for row in beside})}).fetchall())
    for entity, other in beside:
        known.around.setdefault(entity, {})[other] = 1 / math.log(2 + degrees.get(other, 1))
    silent = json.dumps(NOT_APART)
    known.stated = {tuple(row) for row in connection.execute(STATED, {"entities": wanted, "silent": silent})}
    attributes = connection.execute(ATTRIBUTES, {"entities": wanted}).fetchall()
    holders = Counter((attribute, value.lower()) for _, attribute, value in attributes)
    once = SINGLE | _dates(connection)
    values: dict[int, dict[str, set[str]]] = {}
    for entity, attribute, value in attributes:
        thing = (attribute, value.lower())
        known.around.setdefault(entity, {})[thing] = 1 / math.log(2 + holders[thing])
        if attribute in once:
            values.setdefault(entity, {}).setdefault(attribute, set()).add(value.lower())
    known.single = {entity: {a: frozenset(v) for a, v in of.items()} for entity, of in values.items()}


def _dates(connection: sqlite3.Connection) -> set[str]:
    """Attributes that the schema says to be one date."""
    rows = connection.execute(
        """SELECT name FROM kg_types WHERE kind = 'attribute' AND value_kind = 'date' AND NOT list
             AND retired_in IS NULL"""
    )
    return {row[0] for row in rows}


def _unit(rows: Sequence[tuple[int, bytes]], dimensions: int) -> dict[int, Any]:
    import numpy

    found = {}
    for entity, held in rows:
        vector = numpy.frombuffer(held, "<f4")
        if len(vector) == dimensions and (length := float(numpy.sqrt(vector @ vector))) > 0:
            found[entity] = vector / length
    return found


def _json(entities: Iterable[int]) -> str:
    return json.dumps(sorted(entities))
