"""The schema that imported files imply: what they hold and it lacks becomes a version of it, with who imported them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, field

from ...facts.inferred import Ends, Inferred, Seen, infer
from ...facts.template import Template
from ...review import schema as review
from ...settings import Settings
from ...sources.writer import Progress
from ...store import history, schema

__all__ = ["Learnt", "learn"]

ORIGIN = "import"  # of types that were told from facts

RELATIONS = """
  SELECT v.relation, h.type, t.type, count(*) FROM json_each(?) w CROSS JOIN kg_chunks c ON c.document = w.value
  CROSS JOIN kg_evidence v ON v.chunk = c.id CROSS JOIN kg_entities h ON h.id = v.head_entity
  CROSS JOIN kg_entities t ON t.id = v.tail_entity
  WHERE v.kind = 'triple' AND v.origin = 'import' GROUP BY 1, 2, 3"""

ATTRIBUTES = """
  SELECT v.kind, v.relation, h.type, count(*) FROM json_each(?) w CROSS JOIN kg_chunks c ON c.document = w.value
  CROSS JOIN kg_evidence v ON v.chunk = c.id CROSS JOIN kg_entities h ON h.id = v.head_entity
  WHERE v.kind <> 'triple' AND v.origin = 'import' GROUP BY 1, 2, 3"""


@dataclass(frozen=True, slots=True)
class Learnt:
    """A version of the schema, what came with it by kind, and what it has no room or no name for."""

    version: int
    added: dict[str, list[str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def learn(
    connection: sqlite3.Connection, settings: Settings, documents: Collection[int], files: str, progress: Progress
) -> Learnt | None:
    """Put into the schema what it lacks of these documents; None if it lacks nothing."""
    seen = _seen(connection, documents)
    told = [(row["kind"], row["name"]) for row in schema.types(connection) if row["origin"] == ORIGIN]
    done: list[Inferred] = []

    def change(template: Template) -> Template:
        done.append(infer(template, seen, told))
        return done[-1].template

    before = schema.current(connection)
    if not seen.relations and not seen.attributes and not seen.types:
        return None
    if schema.version(connection) and infer(before, seen, told).template == before:
        return None
    changed = review.edit(connection, settings, change, history.who(), f"told from {files}", ORIGIN, progress)
    return Learnt(
        changed.version, {kind: list(names) for kind, names in done[-1].added.items()}, list(done[-1].left_out)
    )


def _seen(connection: sqlite3.Connection, documents: Collection[int]) -> Seen:
    asked, seen = [json.dumps(sorted(documents))], Seen()
    for relation, domain, range_, number in connection.execute(RELATIONS, asked):
        ends = seen.relations.setdefault(relation, Ends())
        ends.number += number
        ends.domain.add(domain)
        ends.range.add(range_)
        _count(seen, domain, number)
        _count(seen, range_, number)
    for kind, attribute, type_, number in connection.execute(ATTRIBUTES, asked):
        _count(seen, type_, number)
        if kind == "attribute":
            ends = seen.attributes.setdefault(attribute, Ends())
            ends.number += number
            ends.domain.add(type_)
    return seen


def _count(seen: Seen, type_: str, number: int) -> None:
    if type_:
        seen.types[type_] = seen.types.get(type_, 0) + number
