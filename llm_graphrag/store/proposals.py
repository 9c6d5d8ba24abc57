"""Proposals as rows: one for each type that models asked for, with the places that asked.

A row is found by its kind and folded name. What it weighs is computed from its evidence
(``recount``), so it is right after edits and deletes too; a proposal that nobody decided
on goes with its last evidence. One that was decided on stays: what was rejected is
remembered, and only a counter rises when it is asked for again.

Evidence is what the replies that are kept ask for. Only where a type was taken up does the
evidence outlive its reply: a model that has the type has no reason to ask for it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..facts.llm.reading import Dropped, Wish
from ..facts.proposals import MUTED, OPEN, Gate, Weight, weigh
from ..facts.schema_edit import squeezed
from ..facts.template import folded
from .settings import get_setting, put_setting

UNDECIDED = (MUTED, OPEN)
HIGHEST = "proposals.highest"  # id ever given: a person may still hold the id of a proposal that is gone
IN_SCHEMA = "already in the schema"  # why a wish is dropped that has come true


def put_wishes(
    connection: sqlite3.Connection,
    extraction: int,
    wishes: Sequence[Wish],
    chunks: Mapping[int, tuple[int, str]],
    dropped: Sequence[Dropped] = (),
    asked: bool = True,
) -> None:
    """Make the wishes of a window exactly ``wishes``; ``chunks`` gives (row id, text) by number.

    ``dropped`` is what else was read: wishes that have come true stay. ``asked`` is whether the reply is new.
    """
    wishes = [wish for wish in wishes if wish.number in chunks and folded(wish.name)]
    _clear(connection, extraction, wishes, [chunk for chunk, _ in chunks.values()], dropped)
    asking = set()
    for wish in wishes:
        chunk, text = chunks[wish.number]
        proposal = _proposal(connection, wish)
        asking.add(proposal)
        connection.execute(
            """INSERT INTO kg_proposal_evidence(proposal, chunk, start, end, quote, confidence, instead_of, extraction)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?)
               ON CONFLICT(proposal, chunk, start, end) DO UPDATE SET
                 confidence = max(confidence, excluded.confidence), extraction = excluded.extraction""",
            [
                *(proposal, chunk, wish.start, wish.end, text[wish.start : wish.end]),
                *(wish.confidence, wish.instead_of, extraction),
            ],
        )
    if asked:
        connection.executemany(
            "UPDATE kg_proposals SET asked_again = asked_again + 1 WHERE id = ? AND status NOT IN ('muted', 'open')",
            [[proposal] for proposal in sorted(asking)],
        )


def _clear(
    connection: sqlite3.Connection,
    extraction: int,
    wishes: Iterable[Wish],
    chunks: Iterable[int],
    dropped: Iterable[Dropped],
) -> None:
    """Take away what was asked for in these chunks before, but for what came true since."""
    rows = connection.execute(
        """SELECT v.id, p.kind, p.key, EXISTS (SELECT 1 FROM kg_decisions d WHERE d.kind = 'proposal'
             AND d.item = p.id AND d.action IN ('approve', 'map')) AS taken_up
           FROM json_each(?) w CROSS JOIN kg_proposal_evidence v ON v.chunk = w.value
           JOIN kg_proposals p ON p.id = v.proposal""",
        [json.dumps(sorted(chunks))],
    ).fetchall()
    wished = {(wish.kind, folded(wish.name)) for wish in wishes}
    true = [squeezed(json.dumps(d.item, ensure_ascii=False)) for d in dropped if d.reason == IN_SCHEMA] if rows else []
    for row in rows:
        asks = any(squeezed(row["key"]) in item for item in true)
        if (row["kind"], row["key"]) not in wished and (asks or row["taken_up"]):
            now = extraction if asks else None
            connection.execute("UPDATE kg_proposal_evidence SET extraction = ? WHERE id = ?", [now, row["id"]])
        else:
            connection.execute("DELETE FROM kg_proposal_evidence WHERE id = ?", [row["id"]])


def _proposal(connection: sqlite3.Connection, wish: Wish) -> int:
    key = folded(wish.name)
    row = connection.execute(
        "SELECT id, description FROM kg_proposals WHERE kind = ? AND key = ?", [wish.kind, key]
    ).fetchone()
    if row is None:
        highest = connection.execute("SELECT coalesce(max(id), 0) FROM kg_proposals").fetchone()[0]
        id_ = int(max(highest, get_setting(connection, HIGHEST, 0))) + 1
        put_setting(connection, HIGHEST, id_)
        connection.execute(
            "INSERT INTO kg_proposals(id, kind, name, key, description) VALUES (?, ?, ?, ?, ?)",
            [id_, wish.kind, wish.name, key, wish.description],
        )
        return id_
    if wish.description and not row["description"]:
        connection.execute(
            "UPDATE kg_proposals SET description = ?, similarity = NULL WHERE id = ?", [wish.description, row["id"]]
        )
    return int(row["id"])


def approved(connection: sqlite3.Connection, wishes: Iterable[Wish]) -> list[Wish]:
    """Those of the wishes that were approved."""
    found = {(kind, folded(name)) for _, kind, name in of_status(connection, "approved")}
    return [wish for wish in wishes if (wish.kind, folded(wish.name)) in found]


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
    for row in connection.execute("SELECT id, status, confidence, support FROM kg_proposals ORDER BY id").fetchall():
        weight, status = weigh(places.get(row["id"], ())), row["status"]
        if status in UNDECIDED:
            undecided.append(row["id"])
            status = gate.status(weight)
        if (weight, status) != (Weight(row["confidence"], row["support"]), row["status"]):
            connection.execute(
                "UPDATE kg_proposals SET confidence = ?, support = ?, status = ? WHERE id = ?",
                [weight.confidence, weight.support, status, row["id"]],
            )
    return undecided


def put_nearest(connection: sqlite3.Connection, proposal: int, type_: int | None, similarity: float | None) -> None:
    """Remember which type of the schema comes nearest to a proposal."""
    connection.execute(
        "UPDATE kg_proposals SET nearest = ?, similarity = ? WHERE id = ?", [type_, similarity, proposal]
    )


def asking(connection: sqlite3.Connection, proposal: int) -> list[int]:
    """The windows whose reply asks for a proposal."""
    rows = connection.execute(
        """SELECT DISTINCT v.extraction FROM kg_proposal_evidence v JOIN kg_extractions e ON e.id = v.extraction
           WHERE v.proposal = ? AND e.status = 'done' ORDER BY 1""",
        [proposal],
    )
    return [row[0] for row in rows]


def ask_no_more(connection: sqlite3.Connection, proposal: int) -> None:
    """The windows that asked for a proposal are not to be asked about once more, unless for another one."""
    connection.execute(
        """UPDATE kg_extractions SET ask_again = 0 WHERE status = 'done' AND ask_again
             AND id IN (SELECT extraction FROM kg_proposal_evidence WHERE proposal = :proposal)
             AND NOT EXISTS (SELECT 1 FROM kg_proposal_evidence v JOIN kg_proposals p ON p.id = v.proposal
                             WHERE v.extraction = kg_extractions.id AND p.status = 'approved' AND p.id <> :proposal)""",
        {"proposal": proposal},
    )


def of_status(connection: sqlite3.Connection, status: str) -> list[tuple[int, str, str]]:
    """(id, kind, name) of the proposals of a status."""
    rows = connection.execute("SELECT id, kind, name FROM kg_proposals WHERE status = ? ORDER BY id", [status])
    return [(row[0], row[1], row[2]) for row in rows]


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
    """Write what was decided; all but the status empty again for a proposal that is undecided.

    Its nearest type is then to be looked for anew: that of a proposal that was decided on is not kept up to date.
    """
    connection.execute(
        """UPDATE kg_proposals SET status = ?, decided_by = ?, decided_at = ?, decision_note = ?, mapped_to = ?,
             schema_version = ?, asked_again = 0, similarity = iif(?, NULL, similarity) WHERE id = ?""",
        [status, actor, at, note, mapped_to, schema_version, status in UNDECIDED, proposal],
    )


LISTED = """
  SELECT p.*, n.name AS nearest_name, m.name AS mapped_name,
    (SELECT count(DISTINCT v.extraction) FROM kg_proposal_evidence v WHERE v.proposal = p.id) AS windows
  FROM kg_proposals p LEFT JOIN kg_types n ON n.id = p.nearest LEFT JOIN kg_types m ON m.id = p.mapped_to
  WHERE {where} ORDER BY p.status <> 'open', p.support DESC, p.confidence DESC, p.kind, p.key"""


def listed(
    connection: sqlite3.Connection,
    statuses: Iterable[str] = (),
    kind: str | None = None,
    limit: int = -1,
    offset: int = 0,
) -> list[sqlite3.Row]:
    """Proposals, those that wait for a decision first; of these statuses and this kind only, if any is given.

    ``limit`` of them, -1 for all.
    """
    wanted = list(statuses)
    where = f"p.status IN ({', '.join('?' * len(wanted))})" if wanted else "true"
    where += " AND (? IS NULL OR p.kind = ?)"
    sql = LISTED.format(where=where) + " LIMIT ? OFFSET ?"
    return connection.execute(sql, [*wanted, kind, kind, limit, offset]).fetchall()


def one(connection: sqlite3.Connection, proposal: int) -> sqlite3.Row | None:
    """One proposal, by id."""
    row: sqlite3.Row | None = connection.execute(LISTED.format(where="p.id = ?"), [proposal]).fetchone()
    return row


def called(connection: sqlite3.Connection, name: str) -> list[sqlite3.Row]:
    """The proposals of this name, at most one of each kind."""
    return connection.execute(LISTED.format(where="p.key = ?"), [folded(name)]).fetchall()


def numbers(connection: sqlite3.Connection) -> dict[str, int]:
    """How many proposals there are, by status."""
    return dict(connection.execute("SELECT status, count(*) FROM kg_proposals GROUP BY status").fetchall())


EVIDENCE = """
  SELECT v.quote, v.confidence, v.instead_of, v.start, v.end, v.chunk, c.text, c.line, c.document,
    d.uri, d.title, d.private
  FROM (SELECT v.*, row_number() OVER (PARTITION BY c.document ORDER BY c.seq, v.start) AS nth
        FROM kg_proposal_evidence v JOIN kg_chunks c ON c.id = v.chunk WHERE v.proposal = ?
        ORDER BY nth, v.confidence DESC, v.id LIMIT ?) v
  JOIN kg_chunks c ON c.id = v.chunk JOIN kg_documents d ON d.id = c.document
  ORDER BY d.uri, c.seq, v.start"""


def evidence(connection: sqlite3.Connection, proposal: int, limit: int = -1) -> list[dict[str, Any]]:
    """The places that asked for a proposal, in reading order, with the text around.

    ``limit`` of them, of many notes rather than of one; -1 for all.
    """
    rows = connection.execute(EVIDENCE, [proposal, limit])
    return [{**dict(row), "line": row["line"] + row["text"].count("\n", 0, row["start"])} for row in rows]
