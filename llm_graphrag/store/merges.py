"""Merges as rows of ``kg_merges``: pairs of entities that may be one, and what was decided about them.

A row names its entities by key and type, so it outlives them. A suggestion that nobody decided on goes with its
entities; what was decided is remembered. What decisions lead to is in ``joining.py``.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..facts.merges import Node, Pair

SAME_AS = "same_as"  # the relation of an imported row that says that two are one
SAID_DOUBT = 0.05  # that they are, since a person decides
SUGGESTED, APPROVED, REJECTED, UNDONE = STATUSES = ("suggested", "approved", "rejected", "undone")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Two entities that may be one; ``doubt`` from 0 to 1."""

    pair: Pair
    reason: str
    doubt: float


GONE = """
  SELECT id FROM kg_merges m WHERE status = 'suggested'
    AND (kept_key IN (SELECT key FROM temp.touched_keys) OR merged_key IN (SELECT key FROM temp.touched_keys))
    AND NOT (EXISTS (SELECT 1 FROM kg_entities e WHERE e.key = m.kept_key AND e.type = m.kept_type)
         AND EXISTS (SELECT 1 FROM kg_entities e WHERE e.key = m.merged_key AND e.type = m.merged_type))"""


def drop_suggestions(connection: sqlite3.Connection) -> None:
    """Of the keys in ``temp.touched_keys``, drop the suggestions one of whose entities is gone."""
    _drop(connection, [row[0] for row in connection.execute(GONE)])


def _drop(connection: sqlite3.Connection, suggestions: Sequence[int]) -> None:
    """Drop suggestions; those that were decided on once are remembered, as taken back."""
    dropped = [[id_] for id_ in suggestions]
    connection.executemany(
        """DELETE FROM kg_merges WHERE id = ? AND NOT EXISTS
             (SELECT 1 FROM kg_decisions d WHERE d.kind = 'merge' AND d.item = kg_merges.id)""",
        dropped,
    )
    connection.executemany("UPDATE kg_merges SET status = 'undone' WHERE id = ?", dropped)


def put_suggestions(connection: sqlite3.Connection, suggestions: Sequence[Suggestion]) -> None:
    """Make the undecided suggestions exactly ``suggestions``; pairs that were decided on stay as they are."""
    known = {_unordered(row): row for row in connection.execute("SELECT * FROM kg_merges ORDER BY id").fetchall()}
    kept: list[int] = []
    for item in suggestions:
        row = known.get(frozenset((item.pair.kept, item.pair.merged)))
        if row is None:
            kept.append(put(connection, item.pair, item.reason, item.doubt, SUGGESTED))
        elif row["status"] == SUGGESTED:
            kept.append(row["id"])
            connection.execute(
                """UPDATE kg_merges SET kept_key = ?, kept_type = ?, merged_key = ?, merged_type = ?, reason = ?,
                     doubt = ? WHERE id = ?""",
                [*item.pair.kept, *item.pair.merged, item.reason, item.doubt, row["id"]],
            )
    rows = connection.execute("SELECT id FROM kg_merges WHERE status = 'suggested'").fetchall()
    _drop(connection, sorted({row[0] for row in rows} - set(kept)))


def said(connection: sqlite3.Connection, documents: Iterable[int] | None = None) -> list[Suggestion]:
    """Pairs that imported files say to be the same (``owl:sameAs``): all files, or these."""
    asked = None if documents is None else json.dumps(sorted(documents))
    rows = connection.execute(SAID, {"relation": SAME_AS, "documents": asked}).fetchall()
    return [
        Suggestion(Pair((row["kept_key"], row["kept_type"]), (row["merged_key"], row["merged_type"])),
                   f"{row['uri']} says so", SAID_DOUBT)
        for row in rows
    ]  # fmt: skip


SAID = """
  SELECT h.key AS kept_key, h.type AS kept_type, t.key AS merged_key, t.type AS merged_type, min(d.uri) AS uri
  FROM kg_triples f CROSS JOIN kg_evidence v ON v.triple = f.id CROSS JOIN kg_chunks c ON c.id = v.chunk
  CROSS JOIN kg_documents d ON d.id = c.document
  CROSS JOIN kg_entities h ON h.id = v.head_entity CROSS JOIN kg_entities t ON t.id = v.tail_entity
  WHERE f.relation = :relation AND v.origin = 'import' AND h.id <> t.id
    AND (:documents IS NULL OR d.id IN (SELECT value FROM json_each(:documents)))
  GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"""


def _unordered(row: sqlite3.Row) -> frozenset[Node]:
    return frozenset(((row["kept_key"], row["kept_type"]), (row["merged_key"], row["merged_type"])))


def put(connection: sqlite3.Connection, pair: Pair, reason: str, doubt: float | None, status: str) -> int:
    """A new row for a pair; returns its id."""
    cursor = connection.execute(
        """INSERT INTO kg_merges(kept_key, kept_type, merged_key, merged_type, reason, doubt, status)
           VALUES (?, ?, ?, ?, ?, ?, ?)""",
        [*pair.kept, *pair.merged, reason, doubt, status],
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def find(connection: sqlite3.Connection, pair: Pair) -> int | None:
    """The row about two entities, whichever of them is kept."""
    row = connection.execute(
        """SELECT id FROM kg_merges WHERE (kept_key, kept_type, merged_key, merged_type) = (?, ?, ?, ?)
           OR (kept_key, kept_type, merged_key, merged_type) = (?, ?, ?, ?)""",
        [*pair.kept, *pair.merged, *pair.merged, *pair.kept],
    ).fetchone()
    return None if row is None else int(row[0])


def set_status(
    connection: sqlite3.Connection, merge: int, status: str, actor: str | None = None, at: str | None = None
) -> None:
    """Write what was decided; who and when empty again for a pair that is undecided."""
    connection.execute(
        "UPDATE kg_merges SET status = ?, decided_by = ?, decided_at = ? WHERE id = ?", [status, actor, at, merge]
    )


def turn(connection: sqlite3.Connection, merge: int, pair: Pair) -> None:
    """Say which of the two is kept."""
    connection.execute(
        "UPDATE kg_merges SET kept_key = ?, kept_type = ?, merged_key = ?, merged_type = ? WHERE id = ?",
        [*pair.kept, *pair.merged, merge],
    )


def decided_pairs(connection: sqlite3.Connection, status: str) -> dict[Pair, int]:
    """The pairs of a status, with the ids of their rows."""
    rows = connection.execute(
        "SELECT kept_key, kept_type, merged_key, merged_type, id FROM kg_merges WHERE status = ?", [status]
    )
    return {Pair((row[0], row[1]), (row[2], row[3])): row[4] for row in rows}


#: Rows with their entities, where they are there: those of their keys and types, else the only ones of their keys
#: (see facts/merges.py). ``joined`` if the two are one now.
LISTED = """
  SELECT * FROM (
    SELECT m.*, k.id AS kept_id, coalesce(k.name, m.kept_key) AS kept_name,
      g.id AS merged_id, coalesce(g.name, m.merged_key) AS merged_name,
      coalesce(coalesce(k.merged_into, k.id) = coalesce(g.merged_into, g.id), 0) AS joined
    FROM kg_merges m
    LEFT JOIN kg_entities k ON k.id = coalesce(
      (SELECT e.id FROM kg_entities e WHERE e.key = m.kept_key AND e.type = m.kept_type),
      (SELECT CASE WHEN count(*) = 1 AND (max(e.type) = '' OR m.kept_type = '') THEN max(e.id) END
       FROM kg_entities e WHERE e.key = m.kept_key))
    LEFT JOIN kg_entities g ON g.id = coalesce(
      (SELECT e.id FROM kg_entities e WHERE e.key = m.merged_key AND e.type = m.merged_type),
      (SELECT CASE WHEN count(*) = 1 AND (max(e.type) = '' OR m.merged_type = '') THEN max(e.id) END
       FROM kg_entities e WHERE e.key = m.merged_key))
    WHERE :merge IS NULL OR m.id = :merge)
  WHERE :statuses IS NULL OR (
    status IN (SELECT value FROM json_each(:statuses)) AND NOT (status = 'suggested' AND joined))
  ORDER BY status = 'suggested' DESC, doubt IS NULL, doubt, kept_key, merged_key, id LIMIT :limit OFFSET :offset"""


def listed(
    connection: sqlite3.Connection, statuses: Iterable[str] = STATUSES, limit: int = -1, offset: int = 0
) -> list[sqlite3.Row]:
    """Rows of these statuses, the least doubtful suggestion first; ``limit`` of them, -1 for all.

    A suggestion of two that are one by now, through other decisions, is left out.
    """
    values = {"merge": None, "statuses": json.dumps(list(statuses)), "limit": limit, "offset": offset}
    return connection.execute(LISTED, values).fetchall()


def numbers(connection: sqlite3.Connection) -> dict[str, int]:
    """How many rows ``listed`` has of each status."""
    return dict(Counter(row["status"] for row in listed(connection)))


def one(connection: sqlite3.Connection, merge: int) -> sqlite3.Row | None:
    """One row, by id."""
    row: sqlite3.Row | None = connection.execute(
        LISTED, {"merge": merge, "statuses": None, "limit": 1, "offset": 0}
    ).fetchone()
    return row


#: The entities that answer to a name, those that are called so first.
CALLED = """
  SELECT e.id, e.name, e.key, e.type, max(e.key = :key) AS own FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity
  WHERE a.key = :key AND (:type IS NULL OR e.type = :type) GROUP BY e.id ORDER BY own DESC, e.type, e.key"""


def called(connection: sqlite3.Connection, key: str, type_: str | None) -> list[sqlite3.Row]:
    """The entities of a name: those whose own it is, else those that have it as another name."""
    rows = connection.execute(CALLED, {"key": key, "type": type_}).fetchall()
    return [row for row in rows if row["own"]] or rows
