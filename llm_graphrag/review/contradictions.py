"""Where notes say of one thing what cannot all be so: several values of what the schema calls single-valued.

An attribute is single-valued if the schema does not mark it ``list``. A relation is, if the schema does not mark it so
while it marks others: a schema that marks none says nothing of its relations. Types that came from a model's proposal
have no such mark, since nobody was asked, and count for neither. Values that agree (``values.py``) are one value, and
so are entities that were merged, or that have one name.

Each value comes with its quotes. How certain a contradiction is, is the confidence of the second best of its values,
and half of that where one text says all words of the other.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .values import Meaning, agreeing, meaning, overlap, read_dates

__all__ = ["Contradiction", "Statement", "Value", "contradictions", "note_date", "single_valued"]

DATED = ("date", "updated", "modified", "last_modified", "created")  # keys of a note that say when it was written
LIKENESS = 0.5


@dataclass(frozen=True, slots=True)
class Statement:
    """One place that states a value. ``dated`` is the date in the note, ``updated`` when it was last read anew."""

    written: str
    quote: str
    uri: str
    line: int
    dated: str | None
    updated: str
    origin: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Value:
    """One of the values: as the best statement writes it, with its statements, newest first."""

    value: str
    type: str  # of the entity, if it is one
    confidence: float
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An entity with several values, newest first."""

    entity: str
    type: str
    kind: str  # attribute, relation
    name: str
    certainty: float
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Single:
    """A single-valued type of the schema."""

    kind: str  # attribute, relation
    name: str
    value_kind: str = "text"
    symmetric: bool = False


def single_valued(connection: sqlite3.Connection) -> dict[tuple[str, str], Single]:
    """The attributes and relations of which the schema in force allows one value, by kind and name."""
    rows = connection.execute(
        """SELECT kind, name, value_kind, symmetric, list FROM kg_types WHERE retired_in IS NULL
             AND kind IN ('attribute', 'relation') AND origin NOT IN ('proposal', 'model') ORDER BY id"""
    ).fetchall()
    tells = any(row["list"] for row in rows if row["kind"] == "relation")
    return {
        (row["kind"], row["name"]): Single(
            row["kind"], row["name"], row["value_kind"] or "text", bool(row["symmetric"])
        )
        for row in rows
        if not row["list"] and (row["kind"] == "attribute" or tells)
    }


def contradictions(connection: sqlite3.Connection, entities: Iterable[int] | None = None) -> list[Contradiction]:
    """All contradictions, or those about ``entities``; the most certain first, then the most stated."""
    singles = single_valued(connection)
    wanted = None if entities is None else json.dumps(sorted(entities))
    rows = [*_attributes(connection, singles, wanted), *_relations(connection, singles, wanted)]
    slots: dict[tuple[str, int, str], list[sqlite3.Row]] = defaultdict(list)
    for row in rows:
        slots[row["kind"], row["entity"], row["name"]].append(row)
    slots = {slot: facts for slot, facts in slots.items() if len({fact["id"] for fact in facts}) > 1}
    statements = _statements(connection, [fact for facts in slots.values() for fact in facts])
    found = [_contradiction(singles[slot[0], slot[2]], facts, statements) for slot, facts in slots.items()]
    return sorted((item for item in found if item), key=_order)


def _order(item: Contradiction) -> tuple[Any, ...]:
    stated = sum(len(value.statements) for value in item.values)
    return -item.certainty, -stated, item.entity, item.type, item.kind, item.name


ATTRIBUTES = """
  SELECT 'attribute' AS kind, a.id, a.entity, a.attribute AS name, a.value, '' AS value_type, a.confidence,
    e.name AS entity_name, e.type AS entity_type
  FROM json_each(:names) w CROSS JOIN kg_attributes a ON a.attribute = w.value JOIN kg_entities e ON e.id = a.entity
  WHERE (:entities IS NULL OR a.entity IN (SELECT value FROM json_each(:entities)))
    AND EXISTS (SELECT 1 FROM kg_attributes o WHERE o.entity = a.entity AND o.attribute = a.attribute AND o.id <> a.id)
  ORDER BY a.id"""

RELATIONS = """
  SELECT 'relation' AS kind, t.id, t.{own} AS entity, t.relation AS name, o.name AS value, o.type AS value_type,
    t.confidence, e.name AS entity_name, e.type AS entity_type
  FROM json_each(:names) w CROSS JOIN kg_triples t ON t.relation = w.value
  JOIN kg_entities e ON e.id = t.{own} JOIN kg_entities o ON o.id = t.{other}
  WHERE (:entities IS NULL OR t.{own} IN (SELECT value FROM json_each(:entities))) AND t.head <> t.tail
  ORDER BY t.id"""

STATEMENTS = """
  SELECT v.{fact} AS fact, v.tail AS written, v.quote, v.start, v.origin, v.confidence, c.line, c.text, d.uri, d.name,
    d.updated, d.metadata
  FROM json_each(:facts) w CROSS JOIN kg_evidence v ON v.{fact} = w.value
  CROSS JOIN kg_chunks c ON c.id = v.chunk CROSS JOIN kg_documents d ON d.id = c.document
  ORDER BY d.uri, c.seq, v.start, v.id"""


def _attributes(
    connection: sqlite3.Connection, singles: Mapping[tuple[str, str], Single], entities: str | None
) -> list[sqlite3.Row]:
    names = [single.name for single in singles.values() if single.kind == "attribute"]
    return connection.execute(ATTRIBUTES, {"names": json.dumps(names), "entities": entities}).fetchall()


def _relations(
    connection: sqlite3.Connection, singles: Mapping[tuple[str, str], Single], entities: str | None
) -> list[sqlite3.Row]:
    """Facts from head to tail; those of a symmetric relation also from tail to head."""
    single = [item for item in singles.values() if item.kind == "relation"]
    rows = []
    for own, other, items in (("head", "tail", single), ("tail", "head", [item for item in single if item.symmetric])):
        values = {"names": json.dumps([item.name for item in items]), "entities": entities}
        rows += connection.execute(RELATIONS.format(own=own, other=other), values).fetchall()
    return rows


def _statements(
    connection: sqlite3.Connection, facts: Sequence[sqlite3.Row]
) -> Mapping[tuple[str, int], list[Statement]]:
    """The evidence of facts, by kind and id."""
    found: dict[tuple[str, int], list[Statement]] = defaultdict(list)
    for kind, column in (("attribute", "attribute"), ("relation", "triple")):
        ids = json.dumps(sorted({fact["id"] for fact in facts if fact["kind"] == kind}))
        for row in connection.execute(STATEMENTS.format(fact=column), {"facts": ids}):
            line = row["line"] + row["text"].count("\n", 0, row["start"])
            dated = note_date(json.loads(row["metadata"]), row["name"])
            found[kind, row["fact"]].append(
                Statement(
                    row["written"],
                    row["quote"],
                    row["uri"],
                    line,
                    dated,
                    row["updated"],
                    row["origin"],
                    row["confidence"],
                )
            )
    return found


def note_date(metadata: Mapping[str, Any], name: str) -> str | None:
    """The date that a note gives itself, in a key or as its name, as an ISO date; None if it gives none.

    >>> note_date({"updated": "2 May 2024", "created": "2020"}, "Ana"), note_date({}, "diary/2024-01-31")
    ('2024-05-02', '2024-01-31')
    """
    columns = metadata.get("columns")
    folded = {
        str(key).lower(): value for part in (columns, metadata) if isinstance(part, dict) for key, value in part.items()
    }
    written = [folded[key] for key in DATED[:1] if key in folded]
    written += [name.rsplit("/", 1)[-1].replace("_", "-")]
    written += [folded[key] for key in DATED[1:] if key in folded]
    for value in written:
        readings = sorted(read_dates(value)) if isinstance(value, str) else []
        if len(readings) == 1 and readings[0][1]:
            year, month, day = readings[0]
            return f"{year:04}-{month:02}" + (f"-{day:02}" if day else "")
    return None


# -- one entity ----------------------------------------------------------------------------


def _contradiction(
    single: Single, facts: Sequence[sqlite3.Row], statements: Mapping[tuple[str, int], Sequence[Statement]]
) -> Contradiction | None:
    """What the facts about one thing say; None if it is all the same."""
    kind = single.value_kind if single.kind == "attribute" else "text"
    meanings = [meaning(fact["value"], kind) for fact in facts]
    groups = agreeing(meanings)
    if len(groups) < 2:
        return None
    made = [_value([facts[place] for place in group], statements) for group in groups]
    ranked = sorted(zip(made, groups, strict=True), key=lambda pair: -pair[0].confidence)
    certainty = ranked[1][0].confidence
    if _alike([meanings[group[0]] for group in groups]):
        certainty *= LIKENESS
    first = facts[0]
    return Contradiction(
        first["entity_name"], first["entity_type"], single.kind, single.name, round(certainty, 4),
        tuple(sorted(made, key=_newest, reverse=True)),
    )  # fmt: skip


def _alike(meanings: Sequence[Meaning]) -> bool:
    """Whether each value says more or less of what another one says."""
    return all(any(overlap(one, other) for other in meanings if other is not one) for one in meanings)


def _value(facts: Sequence[sqlite3.Row], statements: Mapping[tuple[str, int], Sequence[Statement]]) -> Value:
    best = max(facts, key=lambda fact: (fact["confidence"], len(fact["value"]), fact["value"]))
    stated = {s for fact in facts for s in statements.get((fact["kind"], fact["id"]), ())}
    ordered = sorted(stated, key=lambda s: (s.uri, s.line, s.quote, s.written))
    ordered.sort(key=_when, reverse=True)
    return Value(best["value"], best["value_type"], max(fact["confidence"] for fact in facts), tuple(ordered))


def _when(statement: Statement) -> tuple[bool, str, str]:
    """A date in the note counts before the time at which we read it."""
    return statement.dated is not None, statement.dated or "", statement.updated


def _newest(value: Value) -> tuple[Any, ...]:
    first = _when(value.statements[0]) if value.statements else (False, "", "")
    return (*first, value.confidence, value.value)
