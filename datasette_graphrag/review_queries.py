"""Proposals, merges and the log of decisions as records for the review pages.

What is said of each comes from ``llm_graphrag.review``, as on the command line; here it
is cut to what one page holds.
"""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from llm_graphrag.review import merge_details, places, proposals
from llm_graphrag.review.merge_details import Detail, Passage
from llm_graphrag.store import decisions, migrations, schema
from llm_graphrag.store import merges as merge_rows
from llm_graphrag.store import proposals as proposal_rows

from .queries import UnusableError
from .records import DocumentRef
from .review_records import Decision, Difference, Left, Merge, Place, Proposal, Side, Stated

KINDS = ("entity_type", "relation", "attribute")
PROPOSAL_STATUSES = proposals.STATUSES
MERGE_STATUSES = merge_rows.STATUSES
WAITING_MERGES = (merge_rows.SUGGESTED, merge_rows.UNDONE)
FEW, MANY = 3, 100  # places of a proposal: in a list, on a page of its own


def check(connection: sqlite3.Connection, name: str) -> None:
    """Raise UnusableError for a file that has no log of decisions yet."""
    try:
        migrations.refuse_older(connection, Path(name))
    except migrations.NotAKnowledgeBaseError:
        raise UnusableError(
            501,
            f"The database {name} is of an older version: nothing can be reviewed in it. "
            "Bring it up to date with: llm graphrag init",
        ) from None


# Proposals ----------------------------------------------------------------------

_NUMBERS = "SELECT status, kind, count(*) AS n FROM kg_proposals GROUP BY status, kind"
_PLACES = "SELECT count(*) FROM kg_proposal_evidence WHERE proposal = :proposal"


def proposal_numbers(connection: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """How many proposals there are, by status and kind."""
    return {(row["status"], row["kind"]): row["n"] for row in connection.execute(_NUMBERS)}


def proposal_page(
    connection: sqlite3.Connection, status: str, kind: str | None, limit: int, offset: int
) -> list[Proposal]:
    rows = proposal_rows.listed(connection, [status], kind, limit, offset)
    return [_proposal(connection, row, FEW) for row in rows]


def proposal(connection: sqlite3.Connection, number: int) -> Proposal | None:
    """A proposal with all its places and decisions."""
    row = proposal_rows.one(connection, number)
    return None if row is None else _proposal(connection, row, MANY, whole=True)


def _proposal(connection: sqlite3.Connection, row: sqlite3.Row, most: int, whole: bool = False) -> Proposal:
    found = places.places(connection, row["id"], most)
    return Proposal(
        id=row["id"],
        kind=row["kind"],
        name=row["name"],
        description=row["description"],
        status=row["status"],
        waiting=row["status"] in proposals.WAITING,
        undoable=decisions.standing(connection, "proposal", row["id"]) is not None,
        confidence=row["confidence"],
        support=row["support"],
        nearest=row["nearest_name"],
        similarity=row["similarity"],
        mapped_to=row["mapped_name"],
        asked_again=row["asked_again"],
        places=tuple(
            Place(
                DocumentRef(p.document, p.uri, p.title), p.chunk, p.heading, p.line, p.before, p.quote, p.after,
                p.private, p.confidence, p.instead_of,
            )
            for p in found
        ),
        more_places=connection.execute(_PLACES, {"proposal": row["id"]}).fetchone()[0] - len(found),
        cost=proposals.cost(connection, row["id"]),
        decided_by=row["decided_by"],
        decided_at=row["decided_at"],
        decision_note=row["decision_note"] or "",
        schema_version=row["schema_version"],
        log=log_of(connection, "proposal", row["id"]) if whole else (),
    )  # fmt: skip


def types(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """The names of the types of the schema, by kind."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for row in schema.types(connection):
        found.setdefault(row["kind"], []).append(row["name"])
    return {kind: sorted(names) for kind, names in found.items()}


_ASKED_AGAIN = """
  SELECT count(DISTINCT e.id) FROM kg_proposals p JOIN kg_proposal_evidence v ON v.proposal = p.id
  JOIN kg_extractions e ON e.id = v.extraction
  WHERE p.status = 'approved' AND e.status = 'done' AND e.ask_again"""


def left_to_do(connection: sqlite3.Connection) -> Left:
    """The windows that approvals have marked, and the command that asks about them."""
    file = Path(connection.execute("PRAGMA database_list").fetchone()[2]).name
    command = f"llm graphrag extract -d {shlex.quote(file)}" if file else "llm graphrag extract"
    return Left(connection.execute(_ASKED_AGAIN).fetchone()[0], command)


# Merges -------------------------------------------------------------------------

_ABOUT = "SELECT id, uri, title FROM kg_documents WHERE entity = :entity ORDER BY uri LIMIT 20"


def merge_numbers(connection: sqlite3.Connection) -> dict[str, int]:
    """How many pairs there are to look at, by status."""
    return merge_details.numbers(connection)


def merge_page(connection: sqlite3.Connection, status: str, limit: int, offset: int) -> list[Merge]:
    rows = merge_details.listed(connection, [status], limit, offset)
    return [_merge(connection, merge_details.detail(connection, row.id)) for row in rows]


def merge(connection: sqlite3.Connection, number: int) -> Merge | None:
    """A pair with its decisions."""
    if merge_rows.one(connection, number) is None:
        return None
    return _merge(connection, merge_details.detail(connection, number), whole=True)


def _merge(connection: sqlite3.Connection, found: Detail, whole: bool = False) -> Merge:
    row = found.listed
    shared = {_fact(item) for item in found.shared}
    return Merge(
        id=row.id,
        status=row.status,
        waiting=row.status in WAITING_MERGES,
        undoable=decisions.standing(connection, "merge", row.id) is not None,
        joined=row.joined,
        doubt=row.doubt,
        reason=row.reason,
        kept=_side(connection, found.kept, shared),
        merged=_side(connection, found.merged, shared),
        between=tuple(_stated(item, shared) for item in found.between),
        differing=tuple(Difference(*item) for item in found.differing),
        decided_by=row.decided_by,
        decided_at=row.decided_at,
        log=log_of(connection, "merge", row.id) if whole else (),
    )


def _side(connection: sqlite3.Connection, side: merge_details.Side, shared: set[tuple[object, ...]]) -> Side:
    about = connection.execute(_ABOUT, {"entity": side.id}).fetchall()
    return Side(
        id=side.id,
        name=side.name,
        type=side.type,
        aliases=side.aliases,
        with_it=side.with_it,
        about=tuple(DocumentRef(row["id"], row["uri"], row["title"]) for row in about),
        passages=side.chunks,
        places=tuple(_place(passage) for passage in side.passages),
        stated=tuple(_stated(item, shared) for item in side.stated),
    )


def _place(p: Passage) -> Place:
    document = DocumentRef(p.document, p.uri, p.title)
    return Place(document, p.chunk, p.heading, p.line, p.before, p.name, p.after, p.private)


def _stated(item: merge_details.Stated, shared: set[tuple[object, ...]]) -> Stated:
    return Stated(item.relation, item.direction, item.other, item.other_id, item.evidence, _fact(item) in shared)


def _fact(item: merge_details.Stated) -> tuple[object, ...]:
    return (item.relation, item.direction, item.other if item.other_id is None else item.other_id)


# The log ------------------------------------------------------------------------

_DECISIONS = "SELECT count(*) FROM kg_decisions"
_RANGE = "SELECT * FROM kg_decisions WHERE id BETWEEN :first AND :last ORDER BY id LIMIT :limit"


def decision_count(connection: sqlite3.Connection) -> int:
    return int(connection.execute(_DECISIONS).fetchone()[0])


def log_page(connection: sqlite3.Connection, limit: int, offset: int) -> list[Decision]:
    """Decisions, newest first."""
    return _log(connection, decisions.log(connection, None, offset + limit)[offset:])


def log_of(connection: sqlite3.Connection, what: str, item: int) -> tuple[Decision, ...]:
    """All decisions about an item, newest first."""
    return tuple(_log(connection, decisions.of(connection, what, item)))


def decided(connection: sqlite3.Connection, first: int, last: int, limit: int = 20) -> list[Decision]:
    """Decisions by their ids, the first of them."""
    rows = connection.execute(_RANGE, {"first": first, "last": last, "limit": limit})
    return _log(connection, rows.fetchall())


def _log(connection: sqlite3.Connection, rows: Iterable[sqlite3.Row]) -> list[Decision]:
    found = []
    for row in rows:
        standing = decisions.standing(connection, row["kind"], row["item"])
        status = status_of(connection, row["kind"], row["item"])
        found.append(
            Decision(
                row["id"], row["at"], row["actor"], row["kind"], row["item"], row["subject"], row["action"],
                json.loads(row["detail"]).get("name", "") if row["action"] == "map" else "", row["note"],
                row["schema_version"], row["undone_by"], status or "gone",
                status is not None and standing is not None and standing["id"] == row["id"],
            )
        )  # fmt: skip
    return found


_STATUS = {
    "proposal": "SELECT status FROM kg_proposals WHERE id = :item",
    "merge": "SELECT status FROM kg_merges WHERE id = :item",
}


def status_of(connection: sqlite3.Connection, what: str, item: int) -> str | None:
    """The status of a proposal or merge, None if there is none."""
    row = connection.execute(_STATUS[what], {"item": item}).fetchone()
    return None if row is None else str(row[0])
