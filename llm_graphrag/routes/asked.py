"""The rows of imported graphs that state what a question asks for.

Words find the passage of a table in which most of a question stands, and that may be any of the rows that name the
same thing. Which row answers is told by the graph: the question is about something it names, and asks for one or two
of its relations (``graph.relations``); the rows that state these, in that direction, are what it wants. A question that
is a name and nothing else, of a thing that no note is about, wants the rows of that very thing, before those of longer
names. In notes a sentence is found by its words, so this is for the documents that were imported alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from ..graph.frontier import Limits, Within
from ..graph.metapath import follow
from ..graph.relation_words import question
from ..graph.relations import guesses
from .hits import Plan, Proposal, Row

__all__ = ["ASKED", "asked_rows", "with_rows"]

ASKED = 12.0  # added to the score of a passage with such a row: about what a passage gets that all else speaks for
FULL = 3  # passages get all of it; of the others the nth gets FULL / n, so that notes are seen beside a long list
ROWS = 50
MENTIONS = 3  # of the question, the longest names first
LIMITS = Limits(hub=1 << 62, triples=50_000, seconds=0.5)

NAMED = ("exact", "alias")  # methods by which a thing is called just so

IMPORTED = "SELECT EXISTS (SELECT 1 FROM kg_sources WHERE kind = 'import')"
OF_ITSELF = """
    SELECT id FROM (
      SELECT t.id, row_number() OVER (PARTITION BY t.relation ORDER BY t.evidence DESC, t.tail) AS turn, t.relation
      FROM kg_triples t WHERE t.head = :entity)
    ORDER BY turn, relation LIMIT :most
"""
WITH_IT = "SELECT id FROM kg_triples WHERE tail = :entity ORDER BY relation, head LIMIT :most"
STATED = """
    SELECT v.chunk, f.value, v.start, v.end
    FROM json_each(:triples) f
    CROSS JOIN kg_evidence v ON v.id = (
      SELECT e.id FROM kg_evidence e
      CROSS JOIN kg_chunks c ON c.id = e.chunk
      CROSS JOIN kg_documents d ON d.id = c.document AND d.kind = 'import'
      WHERE e.triple = f.value AND (:documents IS NULL OR d.id IN (SELECT value FROM json_each(:documents)))
      ORDER BY e.confidence DESC, d.uri, c.seq, e.start, e.id LIMIT 1)
    ORDER BY f.key
"""


def with_rows(connection: sqlite3.Connection, plan: Plan, ranked: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals, those with such rows raised, and one for each passage with such rows that had none.

    Signal: asked.
    """
    known = {proposal.chunk: proposal for proposal in ranked}
    for n, (chunk, rows) in enumerate(asked_rows(connection, plan).items(), 1):
        found, asked = known.get(chunk, Proposal(chunk, 0.0)), min(1.0, FULL / n)
        signals = {**found.signals, "asked": asked}
        known[chunk] = replace(found, score=found.score + ASKED * asked, signals=signals, rows=rows)
    return list(known.values())


def asked_rows(connection: sqlite3.Connection, plan: Plan) -> dict[int, tuple[Row, ...]]:
    """Return chunk -> its rows that state what the question asks for, best first; of ``ROWS`` ends at most.

    Empty if nothing was imported, and if words of the question do not speak of every step, unless there are none but
    names.
    """
    mentions = sorted((m for m in plan.mentions if m.candidates), key=lambda m: -len(m.text))[:MENTIONS]
    if plan.involved is not None or not mentions or not connection.execute(IMPORTED).fetchone()[0]:
        return {}
    found = []
    for mention in mentions:
        about = mention.candidates[0].entity
        best = guesses(connection, about, plan.question, mention.text, k=1)
        found += [(guess, about) for guess in best if guess.asked]
    if found:
        guess, about = max(found, key=lambda item: item[0].score)
        within = Within(documents=plan.documents)
        led = follow(connection, [about], guess.metapath, walks=ROWS, each=1, within=within, limits=LIMITS)
        triples = list(dict.fromkeys(hop.by.triple for walk in led.walks for hop in reversed(walk.hops)))
    else:
        triples = _of_what_is_named(connection, plan)
    documents = None if plan.documents is None else json.dumps(sorted(plan.documents))
    rows: dict[int, tuple[Row, ...]] = {}
    for chunk, *row in connection.execute(STATED, {"triples": json.dumps(triples), "documents": documents}):
        rows[chunk] = (*rows.get(chunk, ()), Row(*row))
    return rows


def _of_what_is_named(connection: sqlite3.Connection, plan: Plan) -> list[int]:
    """Triples of the things that a question names, if it says nothing else, one relation after the other.

    None if a note is about one of them: that comes first then. A thing that is only spelled alike is not named.
    """
    rest, meant = plan.question, list[int]()
    for mention in sorted(plan.mentions, key=lambda m: -m.start):
        rest = f"{rest[: mention.start]} {rest[mention.end :]}"
        if any(candidate.note for candidate in mention.candidates):
            return []
        meant += [candidate.entity for candidate in mention.candidates if candidate.method in NAMED]
    if question(rest).words:
        return []
    triples: dict[int, None] = {}
    for statement in (OF_ITSELF, WITH_IT):
        for entity in meant:
            rows = connection.execute(statement, {"entity": entity, "most": ROWS})
            triples.update((row[0], None) for row in rows)
    return list(triples)[:ROWS]
