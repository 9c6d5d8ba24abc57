"""Deciding on proposals: approve, map to a type there is, reject, postpone, and undo each of these.

A decision is one transaction: the schema's new version, the proposal's status, and a
row of the log. Only then is what models have said already read again under the new
schema, which costs nothing (revalidate.py). The windows whose replies ask for an approved
type are marked to be asked about once more, by the next ``extract``. ``cost`` says before
what that takes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..extract.extract import Replayed
from ..facts.proposals import MUTED, OPEN
from ..settings import Settings
from ..sources.ingest import silent, utc_now
from ..sources.writer import Progress
from ..store import decisions, extractions, proposals, schema
from ..store.connection import transaction
from . import change
from .change import Change, ReviewError, has_actor
from .revalidate import facts, gate_of, put_off, recount, revalidate

__all__ = [
    "ACTIONS",
    "STATUSES",
    "WAITING",
    "Cost",
    "Decided",
    "ReviewError",
    "StaleError",
    "cost",
    "decide",
    "decide_all",
    "find",
    "gate_of",
    "recount",
    "revalidate",
    "undo",
]

APPROVE, MAP, REJECT, POSTPONE = ACTIONS = ("approve", "map", "reject", "postpone")
STATUS = {APPROVE: "approved", MAP: "mapped", REJECT: "rejected", POSTPONE: "postponed"}
WAITING = (OPEN, MUTED, "postponed")  # statuses that can be decided on
STATUSES = (*WAITING, "approved", "mapped", "rejected")


class StaleError(ReviewError):
    """Somebody has decided meanwhile."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What asking again would take, by what the same windows took when they were last read.

    ``usd`` is None where prices are not known. ``unknown`` is how many of the windows the ledger knows nothing about:
    tokens and dollars are those of the others.
    """

    windows: int
    tokens: int
    usd: float | None
    unknown: int = 0


@dataclass(slots=True)
class Decided:
    """What a decision changed: ``schema_version`` and ``diff`` only if it changed the schema.

    ``windows`` are to be asked about again by the next ``extract``. ``replayed`` and ``facts`` (how many more there are
    than before, negative if fewer) are of all that was decided at once.
    """

    proposal: int
    subject: str
    action: str
    status: str
    schema_version: int | None = None
    diff: dict[str, Any] = field(default_factory=dict)
    windows: int = 0
    remark: str = ""  # what a person should know, such as that the schema had the type already
    replayed: Replayed = field(default_factory=Replayed)
    facts: int = 0


def decide(
    connection: sqlite3.Connection,
    settings: Settings,
    proposal: int,
    action: str,
    *,
    actor: str,
    to: str | None = None,
    note: str = "",
    expected: str | None = None,
    progress: Progress = silent,
) -> Decided:
    """Take a decision on a proposal; ``to`` names the type that it is mapped to.

    ``expected`` is the status that the person saw. Raises StaleError if it is another by now, ReviewError (or
    TemplateError) if the decision cannot be taken.
    """
    seen = {} if expected is None else {proposal: expected}
    done = decide_all(
        connection, settings, [proposal], action, actor=actor, to=to, note=note, expected=seen, progress=progress
    )
    return done[0]


def decide_all(
    connection: sqlite3.Connection,
    settings: Settings,
    ids: Iterable[int],
    action: str,
    *,
    actor: str,
    to: str | None = None,
    note: str = "",
    expected: Mapping[int, str] | None = None,
    progress: Progress = silent,
) -> list[Decided]:
    """Take the same decision on several proposals, on all or, if it raises, on none; then read again once.

    Arguments and errors are those of ``decide``; ``expected`` gives statuses by proposal.
    """
    has_actor(actor)
    if action not in ACTIONS:
        raise ReviewError(f"{action!r} is no decision. Use one of {', '.join(ACTIONS)}.")
    now, seen = utc_now(), expected or {}
    with transaction(connection):
        before, number = schema.current(connection), facts(connection)
        done = [
            _decide(connection, _row(connection, proposal, seen.get(proposal)), action, to, actor, now, note)
            for proposal in dict.fromkeys(ids)
        ]
        put_off(connection, before, schema.current(connection))
    return _revalidated(connection, settings, done, number, progress)


def _decide(
    connection: sqlite3.Connection, row: sqlite3.Row, action: str, to: str | None, actor: str, now: str, note: str
) -> Decided:
    if row["status"] not in WAITING or row["status"] == STATUS[action]:
        raise StaleError(
            f"{subject(row)} was {row['status']} by {row['decided_by']} on {row['decided_at']}. "
            f"To decide anew, take that back: llm graphrag proposals undo {row['id']}"
        )
    changed = _change(connection, row, action, to, actor, now, note)
    version = schema.version(connection) or None
    proposals.set_status(
        connection, row["id"], STATUS[action], actor=actor, at=now, note=note, mapped_to=changed.mapped,
        schema_version=version,
    )  # fmt: skip
    decisions.record(
        connection, kind="proposal", item=row["id"], subject=subject(row), action=action, before=row["status"],
        actor=actor, at=now, detail=changed.detail, note=note, schema_version=version,
    )  # fmt: skip
    asked = proposals.asking(connection, row["id"]) if action == APPROVE else []
    extractions.ask_again(connection, asked)
    return Decided(
        row["id"], subject(row), action, STATUS[action], changed.version, changed.diff, len(asked), changed.remark
    )


def _change(
    connection: sqlite3.Connection, row: sqlite3.Row, action: str, to: str | None, actor: str, now: str, note: str
) -> Change:
    if action == APPROVE:
        return change.approve(connection, row, actor, now, note or f"approved {subject(row)}")
    if action == MAP:
        return change.map_to(connection, row, to or "", actor, now, note)
    return Change()


def undo(
    connection: sqlite3.Connection,
    settings: Settings,
    proposal: int,
    *,
    actor: str,
    note: str = "",
    expected: str | None = None,
    progress: Progress = silent,
) -> Decided:
    """Take the last decision on a proposal back.

    What a person has changed since stays as it is, and the remark says so. Raises ReviewError if there is no
    decision, or if the type that was approved has been renamed since.
    """
    has_actor(actor)
    now = utc_now()
    with transaction(connection):
        row = _row(connection, proposal, expected)
        last = decisions.standing(connection, "proposal", proposal)
        if last is None:
            raise ReviewError(f"Nothing was decided about {subject(row)} that could be taken back.")
        before, number = schema.current(connection), facts(connection)
        changed = change.take_back(connection, row, last, actor, now, f"took back: {last['action']} {subject(row)}")
        if last["action"] == APPROVE:
            proposals.ask_no_more(connection, proposal)
        by = decisions.record(
            connection, kind="proposal", item=proposal, subject=subject(row), action="undo", before=row["status"],
            actor=actor, at=now, detail={"of": last["id"]}, note=note,
            schema_version=schema.version(connection) or None,
        )  # fmt: skip
        decisions.mark_undone(connection, last["id"], by)
        _restore(connection, proposal, last["before"])
        put_off(connection, before, schema.current(connection))
    done = Decided(proposal, subject(row), "undo", last["before"], changed.version, changed.diff, remark=changed.remark)
    return _revalidated(connection, settings, [done], number, progress)[0]


def _restore(connection: sqlite3.Connection, proposal: int, status: str) -> None:
    """Give a proposal the status it had, with what was decided then if it was decided on."""
    earlier = decisions.standing(connection, "proposal", proposal)
    if earlier is None or STATUS[earlier["action"]] != status:
        proposals.set_status(connection, proposal, status)
        return
    proposals.set_status(
        connection, proposal, status, actor=earlier["actor"], at=earlier["at"], note=earlier["note"],
        schema_version=earlier["schema_version"],
    )  # fmt: skip


def _revalidated(
    connection: sqlite3.Connection, settings: Settings, done: list[Decided], number: int, progress: Progress
) -> list[Decided]:
    replayed = revalidate(connection, settings, progress)
    gained = facts(connection) - number
    for decided in done:
        decided.replayed, decided.facts = replayed, gained
        decided.status = _row(connection, decided.proposal)["status"]
    return done


COST = """
  WITH last AS (SELECT l.extraction AS window, l.run AS run, max(l.id) FROM json_each(?) w
                CROSS JOIN kg_ledger l ON l.extraction = w.value WHERE l.status = 'settled' GROUP BY l.extraction)
  SELECT count(DISTINCT l.extraction) AS known, coalesce(sum(l.input_tokens + l.output_tokens), 0) AS tokens,
    coalesce(sum(l.cost), 0.0) AS usd, count(*) - count(l.cost) AS unpriced
  FROM last CROSS JOIN kg_ledger l ON l.extraction = last.window AND l.run = last.run AND l.status = 'settled'"""


def cost(connection: sqlite3.Connection, *ids: int) -> Cost:
    """What approval of these proposals would ask again; a window that asks for several of them counts once."""
    windows = {window for proposal in ids for window in proposals.asking(connection, proposal)}
    row = connection.execute(COST, [json.dumps(sorted(windows))]).fetchone()
    known = not row["unpriced"] and (row["known"] or not windows)
    return Cost(len(windows), row["tokens"], float(row["usd"]) if known else None, len(windows) - row["known"])


def find(connection: sqlite3.Connection, written: str) -> int:
    """The id of the proposal that a person means: an id, or a name if only one proposal has it.

    Raises ReviewError if there is none, or more than one.
    """
    if written.isascii() and written.isdigit() and proposals.one(connection, int(written[:18])):
        return int(written)
    found = proposals.called(connection, written)
    if len(found) > 1:
        several = ", ".join(f"{row['id']} ({row['kind'].replace('_', ' ')})" for row in found)
        raise ReviewError(f"Several proposals are called {written}: {several}. Use the number.")
    if not found:
        raise ReviewError(f"There is no proposal {written}. See: llm graphrag proposals list --status all")
    return int(found[0]["id"])


def subject(row: sqlite3.Row) -> str:
    """A proposal in words, such as "relation repaired_by"."""
    return f"{row['kind'].replace('_', ' ')} {row['name']}"


def _row(connection: sqlite3.Connection, proposal: int, expected: str | None = None) -> sqlite3.Row:
    row = proposals.one(connection, proposal)
    if row is None:
        raise ReviewError(f"There is no proposal {proposal}. See: llm graphrag proposals list --status all")
    if expected is not None and row["status"] != expected:
        who = f" by {row['decided_by']}" if row["decided_by"] else ""
        raise StaleError(f"{subject(row)} has become {row['status']}{who} since you looked. Look again, then decide.")
    return row
