"""Deciding on proposals: approve, map to a type there is, reject, postpone, and undo each of these.

A decision is one transaction: the schema's new version, the proposal's status, and a
row of the log. Only then is what models have said already read again under the new
schema, which costs nothing, and the windows that had asked are marked to be asked about
once more. That part can be interrupted: what is left of it is remembered, and done by the
next decision or run.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..extract.extract import Replayed, replay
from ..facts import schema_edit
from ..facts.proposals import MUTED, Gate
from ..facts.template import Template
from ..settings import Settings
from ..sources.ingest import utc_now
from ..store import decisions, extractions, proposals, schema
from ..store.connection import transaction
from ..store.settings import get_setting, put_setting
from .nearest import nearest

__all__ = ["ACTIONS", "Cost", "Decided", "ReviewError", "StaleError", "cost", "decide", "recount", "revalidate", "undo"]

APPROVE, MAP, REJECT, POSTPONE = ACTIONS = ("approve", "map", "reject", "postpone")
STATUS = {APPROVE: "approved", MAP: "mapped", REJECT: "rejected", POSTPONE: "postponed"}
WAITING = ("open", MUTED, "postponed")  # statuses that can be decided on
REVALIDATE = "review.revalidate"  # windows whose replies have yet to be read under the schema of today


class ReviewError(ValueError):
    """A decision that cannot be taken; the message says why and what to do."""


class StaleError(ReviewError):
    """Somebody else has decided meanwhile."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What asking again would take, by what the same windows took before; ``usd`` None where prices are unknown."""

    windows: int
    tokens: int
    usd: float | None


@dataclass(slots=True)
class Decided:
    """What a decision changed. ``windows`` are to be asked about again by the next ``extract``."""

    proposal: int
    action: str
    status: str
    schema_version: int | None = None
    diff: dict[str, Any] = field(default_factory=dict)
    windows: int = 0
    replayed: Replayed = field(default_factory=Replayed)


def gate_of(settings: Settings) -> Gate:
    """The limits of this file."""
    return Gate(settings.min_confidence, settings.min_support)


def recount(connection: sqlite3.Connection, settings: Settings) -> None:
    """Weigh all proposals by their evidence as it is now, and find the nearest type of each undecided one."""
    with transaction(connection):
        undecided = proposals.recount(connection, gate_of(settings))
        for proposal, type_, similarity in nearest(connection, undecided):
            proposals.put_nearest(connection, proposal, type_, similarity)


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
) -> Decided:
    """Take a decision on a proposal; ``to`` names the type that it is mapped to.

    ``expected`` is the status that the person saw. Raises StaleError if it is another by now, ReviewError (or
    TemplateError) if the decision cannot be taken.
    """
    if action not in ACTIONS:
        raise ReviewError(f"{action!r} is no decision. Use one of {', '.join(ACTIONS)}.")
    now = utc_now()
    with transaction(connection):
        row = _row(connection, proposal, expected)
        if row["status"] not in WAITING:
            raise StaleError(
                f"{_subject(row)} was {row['status']} by {row['decided_by']} on {row['decided_at']}. "
                f"To decide anew, take that back: llm graphrag proposals undo {proposal}"
            )
        version, diff, detail, mapped = _change(connection, row, action, to, actor, now, note)
        proposals.set_status(
            connection,
            proposal,
            STATUS[action],
            actor=actor,
            at=now,
            note=note,
            mapped_to=mapped,
            schema_version=version,
        )
        decisions.record(
            connection, kind="proposal", item=proposal, subject=_subject(row), action=action, before=row["status"],
            actor=actor, at=now, detail=detail, note=note, schema_version=version,
        )  # fmt: skip
        asked = proposals.asking(connection, proposal) if version else []
        if action == APPROVE:
            extractions.ask_again(connection, asked)
        if version:
            _put_off(connection, {*asked, *_naming(connection, row["name"], row["key"])})
    decided = Decided(proposal, action, STATUS[action], version, diff, len(asked) if action == APPROVE else 0)
    decided.replayed = revalidate(connection, settings)
    return decided


def undo(
    connection: sqlite3.Connection,
    settings: Settings,
    proposal: int,
    *,
    actor: str,
    note: str = "",
    expected: str | None = None,
) -> Decided:
    """Take the last decision on a proposal back. Raises ReviewError if there is none."""
    now = utc_now()
    with transaction(connection):
        row = _row(connection, proposal, expected)
        last = decisions.standing(connection, "proposal", proposal)
        if last is None:
            raise ReviewError(f"Nothing was decided about {_subject(row)} that could be taken back.")
        detail = json.loads(last["detail"])
        version, diff = _revert(connection, row, last["action"], detail, actor, now)
        proposals.set_status(connection, proposal, last["before"])
        by = decisions.record(
            connection, kind="proposal", item=proposal, subject=_subject(row), action="undo", before=row["status"],
            actor=actor, at=now, detail={"of": last["id"]}, note=note, schema_version=version,
        )  # fmt: skip
        decisions.mark_undone(connection, last["id"], by)
        if version:
            asked = proposals.asking(connection, proposal)
            connection.executemany("UPDATE kg_extractions SET ask_again = 0 WHERE id = ?", [[id_] for id_ in asked])
            _put_off(connection, {*asked, *_using(connection, row["kind"], detail["name"])})
    decided = Decided(proposal, "undo", last["before"], version, diff)
    decided.replayed = revalidate(connection, settings)
    return decided


def revalidate(connection: sqlite3.Connection, settings: Settings) -> Replayed:
    """Read the replies that wait for it under the schema of today, and weigh all proposals anew."""
    windows = get_setting(connection, REVALIDATE, [])
    done = replay(connection, settings, windows=windows) if windows else Replayed()
    with transaction(connection):
        put_setting(
            connection, REVALIDATE, [id_ for id_ in get_setting(connection, REVALIDATE, []) if id_ not in windows]
        )
        recount(connection, settings)
    return done


def cost(connection: sqlite3.Connection, proposal: int) -> Cost:
    """What approval would ask again, and what those windows took when they were read."""
    windows = proposals.asking(connection, proposal)
    row = connection.execute(
        """SELECT coalesce(sum(l.input_tokens + l.output_tokens), 0), sum(l.cost), count(*) - count(l.cost)
           FROM json_each(?) w CROSS JOIN kg_ledger l ON l.extraction = w.value WHERE l.status = 'settled'""",
        [json.dumps(windows)],
    ).fetchone()
    return Cost(len(windows), row[0], None if row[2] or row[1] is None else float(row[1]))


# -- the schema ---------------------------------------------------------------------


def _row(connection: sqlite3.Connection, proposal: int, expected: str | None) -> sqlite3.Row:
    row = proposals.one(connection, proposal)
    if row is None:
        raise ReviewError(f"There is no proposal {proposal}. See: llm graphrag proposals list")
    if expected is not None and row["status"] != expected:
        who = f" by {row['decided_by']}" if row["decided_by"] else ""
        raise StaleError(f"{_subject(row)} has become {row['status']}{who} since you looked. Look again, then decide.")
    return row


def _subject(row: sqlite3.Row) -> str:
    return f"{row['kind'].replace('_', ' ')} {row['name']}"


def _change(
    connection: sqlite3.Connection, row: sqlite3.Row, action: str, to: str | None, actor: str, now: str, note: str
) -> tuple[int | None, dict[str, Any], dict[str, Any], int | None]:
    """Change the schema as a decision asks; (version, diff, what undo needs, id of the type mapped to)."""
    kind, template = row["kind"], schema.current(connection)
    if action == APPROVE:
        changed = schema_edit.add(template, kind, row["name"], row["description"])
        added = schema_edit.find(changed, kind, row["name"])
        assert added is not None
        diff = _use(connection, changed, actor, now, note or f"approved {_subject(row)}")
        return schema.version(connection), diff, {"name": added.name}, None
    if action == MAP:
        if not to:
            raise ReviewError("Say which type it is to be mapped to.")
        changed = schema_edit.add_alias(template, kind, to, row["name"])
        found = schema_edit.find(changed, kind, to)
        assert found is not None
        diff = _use(connection, changed, actor, now, note or f"{_subject(row)} means {found.name}")
        mapped = connection.execute(
            "SELECT id FROM kg_types WHERE kind = ? AND name = ?", [kind, found.name]
        ).fetchone()
        return schema.version(connection), diff, {"name": found.name, "alias": row["name"]}, mapped[0]
    return None, {}, {}, None


def _revert(
    connection: sqlite3.Connection, row: sqlite3.Row, action: str, detail: dict[str, Any], actor: str, now: str
) -> tuple[int | None, dict[str, Any]]:
    """Change the schema back, if the decision changed it and nobody has since."""
    kind, template = row["kind"], schema.current(connection)
    note = f"took back: {action} {_subject(row)}"
    if action == APPROVE and schema_edit.find(template, kind, detail["name"]):
        changed = schema_edit.remove(template, kind, detail["name"])
    elif action == MAP and schema_edit.find(template, kind, detail["name"]):
        changed = schema_edit.remove_alias(template, kind, detail["name"], detail["alias"])
    else:
        return None, {}
    return schema.version(connection) + 1, _use(connection, changed, actor, now, note)


def _use(connection: sqlite3.Connection, template: Template, actor: str, now: str, note: str) -> dict[str, Any]:
    return schema.use(connection, template, actor, now, note, origin="proposal")


# -- what has to be read again --------------------------------------------------------


def _put_off(connection: sqlite3.Connection, windows: Iterable[int]) -> None:
    put_setting(connection, REVALIDATE, sorted({*get_setting(connection, REVALIDATE, []), *windows}))


def _naming(connection: sqlite3.Connection, *names: str) -> Sequence[int]:
    """Windows of whose replies something was dropped that says one of these names."""
    rows = connection.execute(
        """SELECT DISTINCT e.id FROM kg_extractions e, json_each(?) n
           WHERE e.status = 'done' AND instr(lower(e.dropped), lower(n.value))""",
        [json.dumps(names)],
    )
    return [row[0] for row in rows]


def _using(connection: sqlite3.Connection, kind: str, name: str) -> Sequence[int]:
    """Windows whose claims use a type."""
    column = "head_type = :name OR tail_type = :name OR (kind = 'type' AND tail = :name)"
    where = column if kind == "entity_type" else "relation = :name"
    rows = connection.execute(
        f"SELECT DISTINCT extraction FROM kg_evidence WHERE origin = 'llm' AND extraction IS NOT NULL AND ({where})",
        {"name": name},
    )
    return [row[0] for row in rows]
