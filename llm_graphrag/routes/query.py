"""Route ``query``: the question is one SELECT, and what its rows speak of is found in the passages that state it.

The query runs as any other does (``store.query``): it can change nothing, and it ends after a
second. Its rows are then traced to passages, in their order:

- a row with ``chunk`` or ``first_chunk`` to that passage; one with ``triple``, or with ``head``, ``relation`` and
  ``tail``, to the best sentence of the fact
- any other by its names: a fact that joins what the row names with what the query names comes first, then a
  passage that is about it or mentions it.

A question that is no SELECT has no hits here, and what is wrong with a query is said in the notes.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..graph.candidates import flat
from ..graph.hops import Evidence, evidence_of
from ..graph.verbalize import fact_text
from ..store.query import Cell, QueryError, Rows
from ..store.query import query as run_query
from ..text.normalise import name_key
from .hits import Fact, Plan, Proposal, Proposals

__all__ = ["query"]

NAMED = 10  # entities of the query that facts are looked for with
NAMES = 3  # entities that share a name in a row
NO_SELECT = "Route query takes one SELECT; llm graphrag query --schema lists what it can be over."
NO_PLACE = (
    "The query gave rows, and none leads to a passage. Give columns that do: chunk or first_chunk; triple; head, "
    "relation and tail, as of kg_facts; or names of things. The rows themselves: llm graphrag query"
)

Found = tuple[int, Fact | None]
"""A chunk, and the fact that it states, if it is one that is shown."""

_SELECT = re.compile(r"\s*(?:SELECT\b|VALUES\b|WITH\s+(?:RECURSIVE\s+)?\S+\s*(?:\([^)]*\)\s*)?AS\b)", re.IGNORECASE)

STATED = """
    SELECT t.id FROM kg_triples t
    WHERE t.head IN (SELECT value FROM json_each(:heads)) AND t.relation = :relation
      AND t.tail IN (SELECT value FROM json_each(:tails))
    ORDER BY t.id
"""
JOINING = """
    SELECT t.id FROM json_each(:ours) o CROSS JOIN json_each(:theirs) n
    CROSS JOIN kg_triples t ON t.head = o.value AND +t.tail = n.value
    UNION
    SELECT t.id FROM json_each(:ours) o CROSS JOIN json_each(:theirs) n
    CROSS JOIN kg_triples t ON t.tail = o.value AND +t.head = n.value
    ORDER BY 1
"""
TEXTS = """
    SELECT t.id, h.name, t.relation, a.name FROM json_each(:triples) f CROSS JOIN kg_triples t ON t.id = f.value
    CROSS JOIN kg_entities h ON h.id = t.head CROSS JOIN kg_entities a ON a.id = t.tail
"""
VALUED = """
    SELECT e.quote, d.uri, c.line, c.text, e.start, e.chunk, c.document, e.origin
    FROM kg_attributes a CROSS JOIN kg_evidence e ON e.attribute = a.id
    CROSS JOIN kg_chunks c ON c.id = e.chunk CROSS JOIN kg_documents d ON d.id = c.document
    WHERE a.entity IN (SELECT value FROM json_each(:heads)) AND a.attribute = :relation AND a.value = :tail
      AND (:documents IS NULL OR c.document IN (SELECT value FROM json_each(:documents)))
    ORDER BY e.confidence DESC, d.uri, c.seq, e.start, e.id LIMIT 1
"""
CALLED = """
    SELECT DISTINCT coalesce(e.merged_into, e.id) FROM kg_aliases a CROSS JOIN kg_entities e ON e.id = a.entity
    WHERE a.key = :key ORDER BY 1 LIMIT :most
"""
ABOUT = """
    SELECT c.id FROM kg_documents d CROSS JOIN kg_chunks c ON c.document = d.id AND c.seq = 0
    WHERE d.entity = :entity AND (:documents IS NULL OR d.id IN (SELECT value FROM json_each(:documents)))
    UNION ALL
    SELECT * FROM (
      SELECT m.chunk FROM kg_mentions m CROSS JOIN kg_chunks c ON c.id = m.chunk
      WHERE m.entity = :entity AND (:documents IS NULL OR c.document IN (SELECT value FROM json_each(:documents)))
      ORDER BY m.chunk LIMIT 1)
    LIMIT 1
"""
IN_SCOPE = """
    SELECT 1 FROM kg_chunks c
    WHERE c.id = :chunk AND (:documents IS NULL OR c.document IN (SELECT value FROM json_each(:documents)))
"""


def query(
    connection: sqlite3.Connection, plan: Plan, k: int, found: Mapping[str, Sequence[Proposal]] | None = None
) -> list[Proposal]:
    """Return up to k chunks that state what the rows say, those of the first row first; signal: query, 1 / rank."""
    if k < 1:
        return []
    if not _SELECT.match(plan.question):
        return Proposals(notes=(NO_SELECT,))
    try:
        rows = _rows(connection, plan.question)
    except (QueryError, ValueError) as error:
        return Proposals(notes=(str(error),))
    trace = _Trace(connection, plan)
    best: dict[int, float] = {}
    facts: dict[int, dict[str, Fact]] = {}
    for place, row in enumerate(rows.rows):
        score = 1 / (1 + place)
        for chunk, fact in trace.of(rows.columns, row, score):
            best.setdefault(chunk, score)
            if fact is not None:
                facts.setdefault(chunk, {}).setdefault(fact.text, fact)
        if len(best) >= k:
            break
    ranked = sorted(best, key=lambda chunk: (-best[chunk], chunk))[:k]
    notes = ("The query gave no rows.",) if not rows.rows else () if ranked else (NO_PLACE,)
    return Proposals(
        (Proposal(c, best[c], {"query": best[c]}, tuple(facts.get(c, {}).values())) for c in ranked), notes
    )


def _rows(connection: sqlite3.Connection, sql: str) -> Rows:
    file = connection.execute("PRAGMA database_list").fetchone()[2]
    if not file:
        raise QueryError("A knowledge base in memory cannot be queried: the route query needs its file.")
    return run_query(Path(file), sql)


class _Trace:
    """Where the rows of a query are stated."""

    def __init__(self, connection: sqlite3.Connection, plan: Plan) -> None:
        self._connection = connection
        self._documents = plan.documents
        self._scope = None if plan.documents is None else json.dumps(sorted(plan.documents))
        self._named = [candidate.entity for candidate in flat(plan.mentions)[:NAMED]]

    def of(self, columns: Sequence[str], row: Sequence[Cell], score: float) -> Iterator[Found]:
        """(chunk, fact that it states) for one row, best first."""
        cells = dict(zip(columns, row, strict=True))
        pointed = [cells[name] for name in ("chunk", "first_chunk") if isinstance(cells.get(name), int)]
        stated: list[Found] = [
            (int(chunk), None) for chunk in pointed if chunk is not None and self._in_scope(int(chunk))
        ]
        stated += [*self._facts(self._stated(cells), score), *self._valued(cells, score)]
        if stated:
            yield from stated
            return
        for cell in cells.values():
            for entity in self._called(cell) if isinstance(cell, str) else ():
                joined = list(self._facts(self._joining(entity), score))
                yield from joined or self._about(entity)

    def _stated(self, cells: Mapping[str, Cell]) -> list[int]:
        """The triples that a row names, by id or by their words."""
        if isinstance(triple := cells.get("triple"), int):
            return [triple]
        head, relation, tail = (cells.get(name) for name in ("head", "relation", "tail"))
        if not (isinstance(head, str) and isinstance(relation, str) and isinstance(tail, str)):
            return []
        ends = {"heads": json.dumps(self._called(head)), "tails": json.dumps(self._called(tail))}
        return [row[0] for row in self._connection.execute(STATED, {**ends, "relation": relation})]

    def _valued(self, cells: Mapping[str, Cell], score: float) -> Iterator[Found]:
        """The sentence of the attribute that a row names by its words."""
        head, relation, tail = (cells.get(name) for name in ("head", "relation", "tail"))
        if not (isinstance(head, str) and isinstance(relation, str) and isinstance(tail, str)):
            return
        values = {"heads": json.dumps(self._called(head)), "relation": relation, "tail": tail}
        for row in self._connection.execute(VALUED, {**values, "documents": self._scope}):
            quote, uri, line, text, start, chunk, document, origin = row
            evidence = Evidence(quote, uri, line + text.count("\n", 0, start), chunk, document, origin, start)
            yield chunk, Fact(fact_text(head, relation, [tail]), score, (), (evidence,))

    def _joining(self, entity: int) -> list[int]:
        values = {"ours": json.dumps([entity]), "theirs": json.dumps(self._named)}
        return [row[0] for row in self._connection.execute(JOINING, values)]

    def _called(self, name: str) -> list[int]:
        values = {"key": name_key(name), "most": NAMES}
        return [row[0] for row in self._connection.execute(CALLED, values)] if name.strip() else []

    def _facts(self, triples: Iterable[int], score: float) -> Iterator[Found]:
        ids = list(triples)
        evidence: dict[int, Evidence] = evidence_of(self._connection, ids, self._documents) if ids else {}
        for id_, head, relation, tail in self._connection.execute(TEXTS, {"triples": json.dumps(ids)}):
            if id_ in evidence:
                fact = Fact(fact_text(head, relation, [tail]), score, (id_,), (evidence[id_],))
                yield evidence[id_].chunk, fact

    def _about(self, entity: int) -> Iterator[Found]:
        values = {"entity": entity, "documents": self._scope}
        yield from ((row[0], None) for row in self._connection.execute(ABOUT, values))

    def _in_scope(self, chunk: int) -> bool:
        values = {"chunk": chunk, "documents": self._scope}
        return self._connection.execute(IN_SCOPE, values).fetchone() is not None
