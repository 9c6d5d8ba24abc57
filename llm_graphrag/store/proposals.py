"""Proposals as rows: one for each type that models asked for, with the places that asked.

A row is found by its kind and folded name. What it weighs is computed from its evidence
(``recount``), so it is right after edits and deletes too; a proposal that nobody decided
on goes with its last evidence. One that was decided on stays: what was rejected is
remembered, and only a counter rises when it is asked for again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..facts.llm.reading import Wish
from ..facts.proposals import MUTED, OPEN, Gate, weigh
from ..facts.template import folded

UNDECIDED = (MUTED, OPEN)


def put_wishes(
    connection: sqlite3.Connection, extraction: int, wishes: Sequence[Wish], chunks: Mapping[int, tuple[int, str]]
) -> None:
    """Make the wishes of a window exactly ``wishes``; ``chunks`` gives (row id, text) by number."""
    connection.executemany(
        "DELETE FROM kg_proposal_evidence WHERE chunk = ?", [[chunk] for chunk, _ in chunks.values()]
    )
    for wish in wishes:
        if wish.number not in chunks or not folded(wish.name):
            continue
        chunk, text = chunks[wish.number]
        connection.execute(
            """INSERT INTO kg_proposal_evidence(proposal, chunk, start, end, quote, confidence, instead_of, extraction)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?)
               ON CONFLICT(proposal, chunk, start, end) DO UPDATE SET
                 confidence = max(confidence, excluded.confidence), extraction = excluded.extraction""",
            [
                *(_proposal(connection, wish), chunk, wish.start, wish.end, text[wish.start : wish.end]),
                *(wish.confidence, wish.instead_of, extraction),
            ],
        )


def _proposal(connection: sqlite3.Connection, wish: Wish) -> int:
    key = folded(wish.name)
    row = connection.execute("SELECT id FROM kg_proposals WHERE kind = ? AND key = ?", [wish.kind, key]).fetchone()
    if row is None:
        cursor = connection.execute(
            "INSERT INTO kg_proposals(kind, name, key, description) VALUES (?, ?, ?, ?)",
            [wish.kind, wish.name, key, wish.description],
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid
    return int(row["id"])


def recount(connection: sqlite3.Connection, gate: Gate) -> list[int]:
    """Weigh every proposal anew; returns the ids of those that nobody has decided on yet."""
    connection.execute(
        """DELETE FROM kg_proposals WHERE status IN ('muted', 'open')
             AND id NOT IN (SELECT proposal FROM kg_proposal_evidence)
             AND id NOT IN (SELECT item FROM kg_decisions WHERE kind = 'proposal')"""
    )
    places: dict[int, list[tuple[int, float]]] = {}
    for proposal, document, confidence in connection.execute(
        """SELECT v.proposal, c.document, v.confidence FROM kg_proposal_evidence v
           JOIN kg_chunks c ON c.id = v.chunk"""
    ):
        places.setdefault(proposal, []).append((document, confidence))
    undecided = []
    for id_, status in connection.execute("SELECT id, status FROM kg_proposals").fetchall():
        weight = weigh(places.get(id_, ()))
        if status in UNDECIDED:
            undecided.append(id_)
            status = gate.status(weight)
        connection.execute(
            "UPDATE kg_proposals SET confidence = ?, support = ?, status = ? WHERE id = ?",
            [weight.confidence, weight.support, status, id_],
        )
    connection.execute(ASKED_AGAIN)
    return undecided


#: How often a type was asked for after it was decided on.
ASKED_AGAIN = """
  UPDATE kg_proposals SET asked_again = CASE WHEN status IN ('muted', 'open') THEN 0 ELSE
    (SELECT count(DISTINCT e.id) FROM kg_proposal_evidence v JOIN kg_extractions e ON e.id = v.extraction
     WHERE v.proposal = kg_proposals.id AND e.finished > kg_proposals.decided_at) END"""


def put_nearest(connection: sqlite3.Connection, proposal: int, type_: int | None, similarity: float | None) -> None:
    """Remember which type of the schema comes nearest to a proposal."""
    connection.execute(
        "UPDATE kg_proposals SET nearest = ?, similarity = ? WHERE id = ?", [type_, similarity, proposal]
    )


def asking(connection: sqlite3.Connection, proposal: int) -> list[int]:
    """The windows that asked for a proposal."""
    rows = connection.execute(
        """SELECT DISTINCT v.extraction FROM kg_proposal_evidence v JOIN kg_extractions e ON e.id = v.extraction
           WHERE v.proposal = ? AND e.status = 'done' ORDER BY 1""",
        [proposal],
    )
    return [row[0] for row in rows]


def set_status(
    connection: sqlite3.Connection,
    proposal: int,
    status: str,
    *,
    actor: str | None = None,
    at: str | None = None,
    note: str = "",
    mapped_to: int | None = None,
    schema_version: int | None = None,
) -> None:
    """Write what was decided; all but the status empty again for a proposal that is undecided."""
    connection.execute(
        """UPDATE kg_proposals SET status = ?, decided_by = ?, decided_at = ?, decision_note = ?, mapped_to = ?,
             schema_version = ? WHERE id = ?""",
        [status, actor, at, note, mapped_to, schema_version, proposal],
    )


LISTED = """
  SELECT p.*, n.name AS nearest_name, m.name AS mapped_name,
    (SELECT count(DISTINCT v.extraction) FROM kg_proposal_evidence v WHERE v.proposal = p.id) AS windows
  FROM kg_proposals p LEFT JOIN kg_types n ON n.id = p.nearest LEFT JOIN kg_types m ON m.id = p.mapped_to
  WHERE {where} ORDER BY p.status = 'open' DESC, p.support DESC, p.confidence DESC, p.kind, p.key"""


def listed(connection: sqlite3.Connection, statuses: Iterable[str] = ()) -> list[sqlite3.Row]:
    """Proposals, those that wait for a decision first; of these statuses only, if any is given."""
    wanted = list(statuses)
    where = f"p.status IN ({', '.join('?' * len(wanted))})" if wanted else "true"
    return connection.execute(LISTED.format(where=where), wanted).fetchall()


def one(connection: sqlite3.Connection, proposal: int) -> sqlite3.Row | None:
    """One proposal, by id."""
    row: sqlite3.Row | None = connection.execute(LISTED.format(where="p.id = ?"), [proposal]).fetchone()
    return row


def evidence(connection: sqlite3.Connection, proposal: int) -> list[dict[str, Any]]:
    """The places that asked for a proposal, in reading order, with the text around."""
    rows = connection.execute(
        """SELECT v.quote, v.confidence, v.instead_of, v.start, v.end, v.chunk, c.text, c.heading, c.line, c.document,
             d.uri, d.title FROM kg_proposal_evidence v JOIN kg_chunks c ON c.id = v.chunk
           JOIN kg_documents d ON d.id = c.document WHERE v.proposal = ? ORDER BY d.uri, c.seq, v.start""",
        [proposal],
    )
    return [{**dict(row), "line": row["line"] + row["text"].count("\n", 0, row["start"])} for row in rows]
