"""Deciding on merges: approve, reject, merge by hand, and undo each of these.

A decision is one transaction: the status of the pair, a row of the log, and what follows from it: which entities are
joined (``store/merges.py``) and what their evidence then adds up to. Nothing is ever moved by hand: evidence stays with
the name it was written under, so taking a decision back gives exactly the facts that there would be without it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ..facts.merges import Node, Pair, groups, separated
from ..settings import Settings
from ..sources.ingest import reparse, silent, utc_now
from ..sources.writer import Writer
from ..store import counts, decisions, joining, merges, splits
from ..store.connection import transaction
from ..store.entities import Names
from ..store.merges import APPROVED, REJECTED, SUGGESTED, UNDONE
from ..store.settle import Settlement
from ..store.splits import SPLIT
from ..text.normalise import name_key
from .proposals import ReviewError, StaleError

__all__ = [
    "BY_HAND",
    "Decided",
    "ReviewError",
    "StaleError",
    "approve",
    "decide_all",
    "merge",
    "refuse",
    "reject",
    "undo",
]

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


def approve(
    connection: sqlite3.Connection,
    settings: Settings,
    merge: int,
    *,
    actor: str,
    note: str = "",
    expected: str | None = None,
) -> Decided:
    """Join the two entities of a pair; ``expected`` is the status that the person saw.

    Raises StaleError if it is another by now, or the pair is decided on, and ReviewError if the two cannot be joined:
    one of them is gone, or they would join a pair that was rejected.
    """
    with transaction(connection):
        row = _waiting(connection, merge, expected)
        _refuse_what_was_rejected(connection, row)
        done = _decide(connection, row, "approve", APPROVED, actor, note)
        after = row_of(connection, merge)
        if not after["joined"]:
            gone = [after[f"{end}_name"] for end in ("kept", "merged") if after[f"{end}_id"] is None]
            why = (
                f"there is no {gone[0]!r} here any more" if gone else "they are entities of one name and several types"
            )
            raise ReviewError(f"{subject(row)} cannot be joined: {why}.")
    return done


def reject(
    connection: sqlite3.Connection,
    settings: Settings,
    merge: int,
    *,
    actor: str,
    note: str = "",
    expected: str | None = None,
) -> Decided:
    """Say that the two entities of a pair are never to be joined. Raises as ``approve``; ReviewError if they are."""
    with transaction(connection):
        row = _waiting(connection, merge, expected)
        if row["joined"] or separated(merges.decided_pairs(connection, APPROVED), [pair_of(row)]):
            raise ReviewError(
                f"{subject(row)} are joined, by merge {through(connection, pair_of(row))}. Take that back first: "
                "llm graphrag merges undo ID"
            )
        return _decide(connection, row, "reject", REJECTED, actor, note)


def undo(
    connection: sqlite3.Connection,
    settings: Settings,
    merge: int,
    *,
    actor: str,
    note: str = "",
    expected: str | None = None,
) -> Decided:
    """Take the last decision on a pair back: its status is again what it was before. Raises ReviewError if none is."""
    with transaction(connection):
        row = row_of(connection, merge, expected)
        last = decisions.standing(connection, KIND, merge)
        if last is None:
            raise ReviewError(f"Nothing was decided about {subject(row)} that could be taken back.")
        now = utc_now()
        merges.set_status(connection, merge, last["before"])
        by = decisions.record(
            connection, kind=KIND, item=merge, subject=subject(row), action="undo", before=row["status"],
            actor=actor, at=now, detail={"of": last["id"]}, note=note,
        )  # fmt: skip
        decisions.mark_undone(connection, last["id"], by)
        if last["action"] != SPLIT:
            return settled(connection, row, "undo")
        done = settled(connection, row, "undo", splits.keys_held(connection, row["merged_key"], row["merged_type"]))
        Writer(connection, settings).finish(silent, reparse)  # names that were one of the two, are looked for again
        return done


def merge(
    connection: sqlite3.Connection,
    settings: Settings,
    kept: str,
    merged: str,
    *,
    kept_type: str | None = None,
    merged_type: str | None = None,
    actor: str,
    note: str = "",
) -> Decided:
    """Join the entity called ``merged`` to the one called ``kept``, by any of their names; "" is the type of none.

    Raises ReviewError if a name is unknown or several entities have it, and as ``approve`` does.
    """
    with transaction(connection):
        id_, pair = _by_hand(connection, kept, kept_type, merged, merged_type)
        row = row_of(connection, id_)
        if row["joined"]:
            raise ReviewError(f"{subject(row)} are joined already, by merge {through(connection, pair)}.")
        if row["status"] in WAITING:
            merges.turn(connection, id_, pair)
        return approve(connection, settings, id_, actor=actor, note=note)


def refuse(
    connection: sqlite3.Connection,
    settings: Settings,
    one: str,
    other: str,
    *,
    one_type: str | None = None,
    other_type: str | None = None,
    actor: str,
    note: str = "",
) -> Decided:
    """Say that two entities are never to be joined, whether or not that was suggested. Raises as ``merge``."""
    with transaction(connection):
        id_, _ = _by_hand(connection, one, one_type, other, other_type)
        return reject(connection, settings, id_, actor=actor, note=note)


def decide_all(
    connection: sqlite3.Connection,
    settings: Settings,
    ids: Sequence[int],
    action: str,
    *,
    actor: str,
    note: str = "",
) -> list[Decided]:
    """``approve``, ``reject`` or ``undo`` several pairs: all of them, or none if one cannot be. Raises as those do."""
    decide = {"approve": approve, "reject": reject, "undo": undo}[action]
    with transaction(connection):
        return [decide(connection, settings, id_, actor=actor, note=note) for id_ in ids]


# -- what all of them need ---------------------------------------------------------------


def row_of(connection: sqlite3.Connection, merge: int, expected: str | None = None) -> sqlite3.Row:
    row = merges.one(connection, merge)
    if row is None:
        raise ReviewError(f"There is no merge {merge}. See: llm graphrag merges list")
    if expected is not None and row["status"] != expected:
        who = f" by {row['decided_by']}" if row["decided_by"] else ""
        raise StaleError(f"{subject(row)} has become {row['status']}{who} since you looked. Look again, then decide.")
    return row


def _waiting(connection: sqlite3.Connection, merge: int, expected: str | None) -> sqlite3.Row:
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


def _decide(
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
    """Bring entities, facts and counters in step with the decisions; ``row`` is the pair as it was before.

    ``again`` are keys of names and links that are to be looked up again.
    """
    before = counts.facts(connection)
    settlement = Settlement(connection, Names(connection))
    if again:
        settlement.keys |= again[0]
        settlement.document_keys |= again[1]
    joining.touch_keys(connection, [row["kept_key"], row["merged_key"]])
    settlement.finish()
    counts.recount_facets(connection)
    after = row_of(connection, row["id"])
    named = row if after["merged_id"] is None else after  # of two halves, one may be new, or gone
    return Decided(
        row["id"], action, subject(named), after["status"], row["status"], named["kept_name"], named["merged_name"],
        counts.facts(connection) - before,
    )  # fmt: skip


def _refuse_what_was_rejected(connection: sqlite3.Connection, row: sqlite3.Row) -> None:
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


def _by_hand(
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
    if not rows:
        of = "" if type_ is None else f" of type {type_!r}" if type_ else " without a type"
        raise ReviewError(f"There is no entity {name!r}{of}. Find its name with: llm graphrag entity {name!r}")
    if len(rows) > 1:
        found = ", ".join(f"{row['name']!r} of type {row['type']!r}" for row in rows)
        raise ReviewError(f"{name!r} is several entities: {found}. Say of which type you mean.")
    return rows[0]
