"""What decisions on merges have in common: the row they are about, whom a name means, and bringing facts in step."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from ..facts.merges import Node, Pair, groups, separated
from ..sources.ingest import utc_now
from ..store import decisions, joining, merges
from ..store.entities import Names
from ..store.merges import APPROVED, REJECTED, SUGGESTED, UNDONE
from ..store.settle import Settlement
from ..text.normalise import name_key
from ..text.shortened import shortened
from .proposals import ReviewError, StaleError

KIND = "merge"  # in the log of decisions
WAITING = (SUGGESTED, UNDONE)  # statuses that can be decided on
BY_HAND = "by hand"  # the reason of a merge that nobody suggested


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision changed: ``status`` is the pair's now, ``before`` what it was."""

    merge: int
    action: str  # approve, reject, undo, split
    subject: str
    status: str
    before: str
    kept: str  # names
    merged: str
    facts: int  # more than before; fewer, below 0, where facts of both became one


def row_of(connection: sqlite3.Connection, merge: int, expected: str | None = None) -> sqlite3.Row:
    row = merges.one(connection, merge)
    if row is None:
        raise ReviewError(f"There is no merge {merge}. See: llm graphrag merges list")
    if expected is not None and row["status"] != expected:
        who = f" by {row['decided_by']}" if row["decided_by"] else ""
        raise StaleError(f"{subject(row)} has become {row['status']}{who} since you looked. Look again, then decide.")
    return row


def waiting(connection: sqlite3.Connection, merge: int, expected: str | None) -> sqlite3.Row:
    row = row_of(connection, merge, expected)
    if row["status"] not in WAITING:
        raise StaleError(
            f"{subject(row)} was {row['status']} by {row['decided_by']} on {row['decided_at']}. "
            f"To decide anew, take that back: llm graphrag merges undo {merge}"
        )
    return row


def pair_of(row: sqlite3.Row) -> Pair:
    return Pair((row["kept_key"], row["kept_type"]), (row["merged_key"], row["merged_type"]))


def subject(row: sqlite3.Row) -> str:
    return f"{_named(row, 'kept')} = {_named(row, 'merged')}"


def _named(row: sqlite3.Row, end: str) -> str:
    type_ = row[f"{end}_type"]
    return f"{row[f'{end}_name']} ({type_})" if type_ else str(row[f"{end}_name"])


def decide(
    connection: sqlite3.Connection, row: sqlite3.Row, action: str, status: str, actor: str, note: str
) -> Decided:
    now = utc_now()
    merges.set_status(connection, row["id"], status, actor, now)
    decisions.record(
        connection, kind=KIND, item=row["id"], subject=subject(row), action=action, before=row["status"],
        actor=actor, at=now, note=note,
    )  # fmt: skip
    return settled(connection, row, action)


def settled(
    connection: sqlite3.Connection, row: sqlite3.Row, action: str, again: tuple[set[str], set[str]] | None = None
) -> Decided:
    """Bring entities and facts in step with the decisions; ``row`` is the pair as it was before.

    ``again`` are keys of names and links that are to be looked up again. Facets have yet to be counted.
    """
    settlement = Settlement(connection, Names(connection))
    if again:
        settlement.keys |= again[0]
        settlement.document_keys |= again[1]
    joining.touch_keys(connection, [row["kept_key"], row["merged_key"]])
    settlement.finish()
    after = row_of(connection, row["id"])
    named = row if after["merged_id"] is None else after  # of two halves, one may be new, or gone
    return Decided(
        row["id"], action, subject(named), after["status"], row["status"], named["kept_name"], named["merged_name"],
        settlement.facts,
    )  # fmt: skip


def refuse_what_was_rejected(connection: sqlite3.Connection, row: sqlite3.Row) -> None:
    rejected = merges.decided_pairs(connection, REJECTED)
    against = separated([*merges.decided_pairs(connection, APPROVED), pair_of(row)], rejected)
    if against is not None:
        other = row_of(connection, rejected[against])
        raise ReviewError(
            f"To join {subject(row)} would join {subject(other)} too, which {other['decided_by']} rejected on "
            f"{other['decided_at']}. Take that back first: llm graphrag merges undo {other['id']}"
        )


def through(connection: sqlite3.Connection, pair: Pair) -> str:
    """The approved merges of the groups that the ends of a pair are in, as a list of ids."""
    approved = merges.decided_pairs(connection, APPROVED)
    stands_for = groups(approved)

    def group(node: Node) -> Node:
        return stands_for.get(node, node)

    ends = {group(pair.kept), group(pair.merged)}
    return ", ".join(str(id_) for id_ in sorted(id_ for other, id_ in approved.items() if group(other.kept) in ends))


def by_hand(
    connection: sqlite3.Connection, kept: str, kept_type: str | None, merged: str, merged_type: str | None
) -> tuple[int, Pair]:
    """The row about two entities that a person names, made if there is none; and the pair as they name it."""
    keeping, going = called(connection, kept, kept_type), called(connection, merged, merged_type)
    if keeping["id"] == going["id"]:
        raise ReviewError(f"{kept!r} and {merged!r} are names of one entity, {keeping['name']!r}.")
    pair = Pair((keeping["key"], keeping["type"]), (going["key"], going["type"]))
    id_ = merges.find(connection, pair)
    return merges.put(connection, pair, BY_HAND, None, UNDONE) if id_ is None else id_, pair


def called(connection: sqlite3.Connection, name: str, type_: str | None) -> sqlite3.Row:
    rows = merges.called(connection, name_key(name), type_)
    short = shortened(name)
    if not rows:
        of = "" if type_ is None else f" of type {shortened(type_)!r}" if type_ else " without a type"
        raise ReviewError(f"There is no entity {short!r}{of}. Find its name with: llm graphrag entity {short!r}")
    if len(rows) > 1:
        found = ", ".join(f"{shortened(row['name'])!r} of type {shortened(row['type'])!r}" for row in rows)
        raise ReviewError(f"{short!r} is several entities: {found}. Say of which type you mean.")
    return rows[0]
