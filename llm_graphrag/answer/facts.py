"""The facts that join the passages of an answer, each with the sentence that states it.

Who is looked at: the entities that the question names, and those that the cited notes
are about. Shown are the facts of the named ones that the question asks for by a word
(``employer``), then the triples between two of all, those of the named ones first. A
fact prefers, of its quotes, one that stands in a cited passage, so that its number can
be given.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..routes.hits import Term
from ..routes.words import rate

__all__ = ["Fact", "joining", "of_triples", "stated"]

LIMIT = 8
HUB = 5_000  # facts; an entity with more joins everything with everything

TRIPLES = """
    SELECT 'triple', t.id, h.name, t.relation, a.name
    FROM json_each(:entities) f
    CROSS JOIN kg_triples t ON t.head = f.value
    CROSS JOIN kg_entities h ON h.id = t.head
    CROSS JOIN kg_entities a ON a.id = t.tail
    WHERE t.tail IN (SELECT value FROM json_each(:entities)) AND t.tail <> t.head
      AND coalesce((SELECT n.n FROM kg_counts n WHERE n.kind = 'facts' AND n.item = +t.head), 0) <= :hub
    ORDER BY t.head IN (SELECT value FROM json_each(:named)) OR t.tail IN (SELECT value FROM json_each(:named)) DESC,
      t.evidence DESC, h.name, t.relation, a.name
    LIMIT :limit
"""
ASKED = """
    SELECT 'triple' AS kind, t.id AS id, h.name AS head, t.relation AS relation, a.name AS tail
    FROM json_each(:entities) f
    CROSS JOIN kg_triples t ON t.head = f.value AND t.relation = :relation
    CROSS JOIN kg_entities h ON h.id = t.head
    CROSS JOIN kg_entities a ON a.id = t.tail
    UNION ALL
    SELECT 'triple', t.id, h.name, t.relation, a.name
    FROM json_each(:entities) f
    CROSS JOIN kg_triples t ON t.tail = f.value AND t.relation = :relation
    CROSS JOIN kg_entities h ON h.id = t.head
    CROSS JOIN kg_entities a ON a.id = t.tail
    UNION ALL
    SELECT 'attribute', t.id, h.name, t.attribute, t.value
    FROM json_each(:entities) f
    CROSS JOIN kg_attributes t ON t.entity = f.value AND t.attribute = :relation
    CROSS JOIN kg_entities h ON h.id = t.entity
    ORDER BY 1 DESC, 3, 5
    LIMIT :limit
"""
RELATIONS = "SELECT kind, item FROM kg_counts WHERE kind IN ('relation', 'attribute') ORDER BY n DESC, item LIMIT 2000"
THESE = """
    SELECT 'triple', t.id, h.name, t.relation, a.name
    FROM json_each(:triples) f
    CROSS JOIN kg_triples t ON t.id = f.value
    CROSS JOIN kg_entities h ON h.id = t.head
    CROSS JOIN kg_entities a ON a.id = t.tail
    ORDER BY f.key
"""
EVIDENCE = """
    SELECT e.chunk, e.start, e.end, c.line, c.text, d.uri
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
    chunk: int
    start: int  # of the quote, in code points of the chunk
    end: int


def joining(
    connection: sqlite3.Connection,
    named: Collection[int],
    about: Collection[int],
    cited: Mapping[int, int],
    terms: Sequence[Term],
) -> list[Fact]:
    """Return the facts among the entities ``named`` and ``about``; ``cited`` is chunk -> number of its citation."""
    rows: dict[tuple[str, int], sqlite3.Row] = {}
    asked = {"entities": json.dumps(sorted(named)), "limit": LIMIT}
    for relation in _asked_for(connection, terms) if named else ():
        for row in connection.execute(ASKED, asked | {"relation": relation}):
            rows[row[0], row[1]] = row
    among = {"entities": json.dumps(sorted({*named, *about})), "named": asked["entities"], "hub": HUB, "limit": LIMIT}
    for row in connection.execute(TRIPLES, among):
        rows.setdefault((row[0], row[1]), row)
    facts = (_with_quote(connection, row, cited) for row in list(rows.values())[: 2 * LIMIT])
    return [fact for fact in facts if fact is not None]


def stated(connection: sqlite3.Connection, triples: Sequence[int], cited: Mapping[int, int]) -> list[Fact]:
    """Return these triples as facts, in their order; ``cited`` is chunk -> number of its citation."""
    return list(of_triples(connection, triples, cited).values())


def of_triples(connection: sqlite3.Connection, triples: Sequence[int], cited: Mapping[int, int]) -> dict[int, Fact]:
    """Return triple -> fact, in their order, for those that have evidence."""
    rows = connection.execute(THESE, {"triples": json.dumps(list(triples))}).fetchall()
    return {row[1]: fact for row in rows if (fact := _with_quote(connection, row, cited)) is not None}


def _asked_for(connection: sqlite3.Connection, terms: Sequence[Term]) -> list[str]:
    """The relations and attributes that the question says a word of."""
    names = dict.fromkeys(row[1] for row in connection.execute(RELATIONS))
    return [name for name in names if rate(name.replace("_", " "), terms) > 0][:LIMIT]


def _with_quote(connection: sqlite3.Connection, row: sqlite3.Row, cited: Mapping[int, int]) -> Fact | None:
    kind, fact, head, relation, tail = row
    sql = EVIDENCE.format(column="triple" if kind == "triple" else "attribute")
    stated = connection.execute(sql, {"fact": fact, "chunks": json.dumps(sorted(cited))}).fetchone()
    if stated is None:
        return None
    chunk, start, end, line, text, uri = stated
    line += text.count("\n", 0, start)
    return Fact(kind, head, relation, tail, text[start:end], uri, line, cited.get(chunk), chunk, start, end)
