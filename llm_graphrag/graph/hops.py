"""What joins two entities, and the sentences that say so: the values that paths and walks are made of.

Two entities may share several triples, in both directions. A ``Hop`` is one step of a path:
the best supported of them, with its direction and its best sentence, and the others beside it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ..facts.claims import EMBEDS, LINKS_TO
from .frontier import EVERYTHING, Within
from .written import written

__all__ = ["Evidence", "Hop", "Joined", "Node", "evidence_of", "hops_between", "hops_of", "nodes_of"]

JOINING = 20  # triples read between two entities
UNTOLD = (LINKS_TO, EMBEDS)  # relations that do not say how; any other is shown before them

NODES = "SELECT e.id, e.name, e.type FROM json_each(:nodes) f CROSS JOIN kg_entities e ON e.id = f.value"
# The first of a pair has fewer facts: its triples are looked through, never those of a hub.
BETWEEN = """
    SELECT json_extract(p.value, '$[0]') AS few, json_extract(p.value, '$[1]') AS many, t.id, t.relation, 1 AS out,
           t.evidence, t.confidence
    FROM json_each(:pairs) p
    CROSS JOIN kg_triples t ON t.head = json_extract(p.value, '$[0]') AND +t.tail = json_extract(p.value, '$[1]')
    WHERE {where}
    UNION ALL
    SELECT json_extract(p.value, '$[0]'), json_extract(p.value, '$[1]'), t.id, t.relation, 0, t.evidence, t.confidence
    FROM json_each(:pairs) p
    CROSS JOIN kg_triples t ON t.tail = json_extract(p.value, '$[0]') AND +t.head = json_extract(p.value, '$[1]')
    WHERE {where}
"""
TRIPLES = """
    SELECT t.id, t.relation, t.evidence FROM json_each(:triples) f CROSS JOIN kg_triples t ON t.id = f.value
"""
STATED = """EXISTS (SELECT 1 FROM kg_evidence v CROSS JOIN kg_chunks c ON c.id = v.chunk
  WHERE v.triple = t.id AND c.document IN (SELECT value FROM json_each(:documents)))"""
EVIDENCE = """
    SELECT f.value, e.quote, d.uri, c.line, c.text, e.start, e.chunk, c.document, e.origin
    FROM json_each(:triples) f
    CROSS JOIN kg_evidence e ON e.id = (
      SELECT v.id
      FROM kg_evidence v CROSS JOIN kg_chunks k ON k.id = v.chunk CROSS JOIN kg_documents o ON o.id = k.document
      WHERE v.triple = f.value AND (:documents IS NULL OR k.document IN (SELECT value FROM json_each(:documents)))
      ORDER BY v.confidence DESC, o.uri, k.seq, v.start, v.id LIMIT 1)
    CROSS JOIN kg_chunks c ON c.id = e.chunk
    CROSS JOIN kg_documents d ON d.id = c.document
"""


@dataclass(frozen=True, slots=True)
class Node:
    """An entity on a path."""

    id: int
    name: str
    type: str
    written: str = field(default="", compare=False)  # how its file writes it, if it has a number here


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence that states a triple best, and where it stands."""

    quote: str
    uri: str
    line: int
    chunk: int
    document: int
    origin: str
    start: int  # in code points of the chunk
    heading: str = ""  # the headings over it, if these name what it does not: of sentences that name two things


@dataclass(frozen=True, slots=True)
class Joined:
    """One triple between two entities, seen from the first: ``forward`` if that is its head."""

    triple: int
    relation: str
    forward: bool
    statements: int  # rows of evidence


@dataclass(frozen=True, slots=True)
class Hop:
    """A step to the next entity: over the best supported triple; ``also`` are the others between the two."""

    by: Joined
    evidence: Evidence | None  # None: only if the file lost it, which `check` reports
    also: tuple[Joined, ...] = ()


def nodes_of(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, Node]:
    """Return id -> entity, for those that there are."""
    rows = connection.execute(NODES, {"nodes": json.dumps(list(ids))}).fetchall()
    otherwise = written(connection, {id_: name for id_, name, _ in rows})
    return {id_: Node(id_, name, type_, otherwise.get(id_, "")) for id_, name, type_ in rows}


def evidence_of(
    connection: sqlite3.Connection, triples: Iterable[int], documents: Collection[int] | None = None
) -> dict[int, Evidence]:
    """Return triple -> its best sentence (most confident, then by note and place), of ``documents`` if given."""
    values = {
        "triples": json.dumps(sorted(set(triples))),
        "documents": None if documents is None else json.dumps(sorted(documents)),
    }
    return {
        triple: Evidence(quote, uri, line + text.count("\n", 0, start), chunk, document, origin, start)
        for triple, quote, uri, line, text, start, chunk, document, origin in connection.execute(EVIDENCE, values)
    }


def hops_of(
    connection: sqlite3.Connection, steps: Iterable[tuple[int, bool]], documents: Collection[int] | None = None
) -> dict[tuple[int, bool], Hop]:
    """Return (triple, forward) -> the hop over that very triple."""
    wanted = set(steps)
    ids = json.dumps(sorted({triple for triple, _ in wanted}))
    known = {row[0]: (row[1], row[2]) for row in connection.execute(TRIPLES, {"triples": ids})}
    evidence = evidence_of(connection, known, documents)
    return {
        (triple, forward): Hop(Joined(triple, known[triple][0], forward, known[triple][1]), evidence.get(triple))
        for triple, forward in wanted
    }


def hops_between(
    connection: sqlite3.Connection,
    pairs: Collection[tuple[int, int]],
    degrees: Mapping[int, int],
    within: Within = EVERYTHING,
) -> dict[tuple[int, int], Hop]:
    """Return (from, to) -> the hop between two entities, for pairs that share a triple of ``within``."""
    flipped = {pair: degrees.get(pair[0], 1) > degrees.get(pair[1], 1) for pair in pairs}
    asked = {(b, a) if flipped[a, b] else (a, b) for a, b in pairs}
    where = ["TRUE"]
    values: dict[str, object] = {"pairs": json.dumps(sorted(asked))}
    if within.relations is not None:
        where.append("t.relation IN (SELECT value FROM json_each(:relations))")
        values["relations"] = json.dumps(sorted(within.relations))
    if within.documents is not None:
        where.append(STATED)
        values["documents"] = json.dumps(sorted(within.documents))
    found: dict[tuple[int, int], list[tuple[tuple[object, ...], Joined]]] = {}
    for few, many, triple, relation, out, statements, confidence in connection.execute(
        BETWEEN.format(where=" AND ".join(where)), values
    ):
        order = (relation in UNTOLD, -statements, -confidence, relation, triple)
        found.setdefault((few, many), []).append((order, Joined(triple, relation, bool(out), statements)))
    joined: dict[tuple[int, int], list[Joined]] = {}
    for a, b in pairs:
        best = sorted(found.get((b, a) if flipped[a, b] else (a, b), ()), key=lambda item: item[0])[:JOINING]
        turn = flipped[a, b]
        joined[a, b] = [Joined(j.triple, j.relation, j.forward != turn, j.statements) for _, j in best]
    evidence = evidence_of(connection, (j[0].triple for j in joined.values() if j), within.documents)
    return {pair: Hop(of[0], evidence.get(of[0].triple), tuple(of[1:])) for pair, of in joined.items() if of}
