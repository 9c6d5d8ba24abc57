"""Deciding on merges: approve, reject, merge by hand, and undo each of these.

A decision is one transaction: the status of the pair, a row of the log, and what follows from it: which entities are
joined (``store/joining.py``) and what their evidence then adds up to. Nothing is ever moved by hand: evidence stays
with the name it was written under, so taking a decision back gives exactly the facts that there would be without it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ..facts.merges import separated
from ..settings import Settings
from ..sources.ingest import reparse, silent, utc_now
from ..sources.writer import Writer
from ..store import counts, decisions, merges, splits
from ..store.connection import transaction
from ..store.merges import APPROVED, REJECTED
from ..store.splits import SPLIT
from .merge_rows import (
    BY_HAND,
    KIND,
    WAITING,
    Decided,
    by_hand,
    decide,
    pair_of,
    refuse_what_was_rejected,
    row_of,
    settled,
    subject,
    through,
    waiting,
)
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
        done = _approve(connection, settings, merge, actor, note, expected)
        counts.recount_facets(connection)
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
        return _reject(connection, settings, merge, actor, note, expected)


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
        done = _undo(connection, settings, merge, actor, note, expected)
        counts.recount_facets(connection)
    return done


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
    one = {"approve": _approve, "reject": _reject, "undo": _undo}[action]
    with transaction(connection):
        done = [one(connection, settings, id_, actor, note, None) for id_ in ids]
        counts.recount_facets(connection)
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
        id_, pair = by_hand(connection, kept, kept_type, merged, merged_type)
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
        id_, _ = by_hand(connection, one, one_type, other, other_type)
        return reject(connection, settings, id_, actor=actor, note=note)


# -- one decision, with facets yet to be counted ---------------------------------------------


def _approve(
    connection: sqlite3.Connection, settings: Settings, merge: int, actor: str, note: str, expected: str | None
) -> Decided:
    row = waiting(connection, merge, expected)
    refuse_what_was_rejected(connection, row)
    done = decide(connection, row, "approve", APPROVED, actor, note)
    after = row_of(connection, merge)
    if not after["joined"]:
        gone = [after[f"{end}_name"] for end in ("kept", "merged") if after[f"{end}_id"] is None]
        why = f"there is no {gone[0]!r} here any more" if gone else "their types have changed, and do not agree"
        raise ReviewError(f"{subject(row)} cannot be joined: {why}.")
    return done


def _reject(
    connection: sqlite3.Connection, settings: Settings, merge: int, actor: str, note: str, expected: str | None
) -> Decided:
    row = waiting(connection, merge, expected)
    if row["joined"] or separated(merges.decided_pairs(connection, APPROVED), [pair_of(row)]):
        raise ReviewError(
            f"{subject(row)} are joined, by merge {through(connection, pair_of(row))}. Take that back first: "
            "llm graphrag merges undo ID"
        )
    return decide(connection, row, "reject", REJECTED, actor, note)


def _undo(
    connection: sqlite3.Connection, settings: Settings, merge: int, actor: str, note: str, expected: str | None
) -> Decided:
    row = row_of(connection, merge, expected)
    last = decisions.standing(connection, KIND, merge)
    if last is None:
        raise ReviewError(f"Nothing was decided about {subject(row)} that could be taken back.")
    merges.set_status(connection, merge, last["before"])
    by = decisions.record(
        connection, kind=KIND, item=merge, subject=subject(row), action="undo", before=row["status"],
        actor=actor, at=utc_now(), detail={"of": last["id"]}, note=note,
    )  # fmt: skip
    decisions.mark_undone(connection, last["id"], by)
    if last["action"] != SPLIT:
        return settled(connection, row, "undo")
    done = settled(connection, row, "undo", splits.keys_held(connection, row["merged_key"]))
    Writer(connection, settings).finish(silent, reparse)  # names that were one of the two, are looked for again
    return done
