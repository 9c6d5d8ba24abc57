"""The facts that join the passages of an answer, each with the sentence that states it.

Who is looked at: the entities that the question names, and those that the cited notes
are about. Shown are the triples between two of them, and the attributes of the named
ones that the question asks for by a word. A fact prefers, of its quotes, one that
stands in a cited passage, so that its number can be given.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..routes.hits import Term
from ..routes.words import rate

__all__ = ["Fact", "joining"]

LIMIT = 12
HUB = 5_000  # facts; an entity with more joins everything with everything

TRIPLES = """
    SELECT t.id, h.name, t.relation, a.name
    FROM json_each(:entities) f
    CROSS JOIN kg_triples t ON t.head = f.value
    CROSS JOIN kg_entities h ON h.id = t.head
    CROSS JOIN kg_entities a ON a.id = t.tail
    WHERE t.tail IN (SELECT value FROM json_each(:entities)) AND t.tail <> t.head
      AND coalesce((SELECT n.n FROM kg_counts n WHERE n.kind = 'facts' AND n.item = +t.head), 0) <= :hub
    ORDER BY t.evidence DESC, h.name, t.relation, a.name
    LIMIT :limit
"""
ATTRIBUTES = """
    SELECT t.id, h.name, t.attribute, t.value
    FROM json_each(:entities) f
    CROSS JOIN kg_attributes t ON t.entity = f.value
    CROSS JOIN kg_entities h ON h.id = t.entity
    ORDER BY h.name, t.attribute, t.value
    LIMIT 200
"""
EVIDENCE = """
    SELECT e.quote, e.chunk, e.start, c.line, c.text, d.uri
    FROM kg_evidence e
    CROSS JOIN kg_chunks c ON c.id = e.chunk
    CROSS JOIN kg_documents d ON d.id = c.document
    WHERE e.{column} = :fact
    ORDER BY e.chunk IN (SELECT value FROM json_each(:chunks)) DESC, e.confidence DESC, d.uri, e.start
    LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple or an attribute with one of its quotes."""

    kind: str  # triple, attribute
    head: str
    relation: str
    tail: str
    quote: str
    uri: str
    line: int
    number: int | None  # of the citation it stands in


def joining(
    connection: sqlite3.Connection,
    named: Collection[int],
    about: Collection[int],
    cited: Mapping[int, int],
    terms: Sequence[Term],
) -> list[Fact]:
    """Return the facts among the entities ``named`` and ``about``; ``cited`` is chunk -> number of its citation."""
    among = {"entities": json.dumps(sorted({*named, *about})), "hub": HUB, "limit": LIMIT}
    rows = [("triple", row) for row in connection.execute(TRIPLES, among)]
    asked = connection.execute(ATTRIBUTES, {"entities": json.dumps(sorted(named))}).fetchall()
    rows += [("attribute", row) for row in asked if rate(row[2].replace("_", " "), terms) > 0][:LIMIT]
    return [fact for kind, row in rows if (fact := _with_quote(connection, kind, row, cited)) is not None]


def _with_quote(connection: sqlite3.Connection, kind: str, row: sqlite3.Row, cited: Mapping[int, int]) -> Fact | None:
    fact, head, relation, tail = row
    sql = EVIDENCE.format(column="triple" if kind == "triple" else "attribute")
    stated = connection.execute(sql, {"fact": fact, "chunks": json.dumps(sorted(cited))}).fetchone()
    if stated is None:
        return None
    quote, chunk, start, line, text, uri = stated
    return Fact(kind, head, relation, tail, quote, uri, line + text.count("\n", 0, start), cited.get(chunk))
