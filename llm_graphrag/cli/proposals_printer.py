"""How proposals, what they cost and what was decided look on a terminal, and as JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import click

from ..sources.files import printable
from ..store.budgets import shown
from ..text.counted import counted

if TYPE_CHECKING:
    from ..review.places import Place
    from ..review.proposals import Cost, Decided

COLUMNS = (
    "id", "kind", "name", "description", "status", "confidence", "support", "similarity", "asked_again", "windows",
    "decided_by", "decided_at", "decision_note", "schema_version",
)  # fmt: skip
DONE = {"approve": "Approved", "map": "Mapped", "reject": "Rejected", "postpone": "Postponed"}


# -- as JSON --------------------------------------------------------------------------


def described(row: sqlite3.Row) -> dict[str, Any]:
    """A proposal, as JSON."""
    names = {"nearest": row["nearest_name"], "mapped_to": row["mapped_name"]}
    return {column: row[column] for column in COLUMNS} | names


def described_whole(
    row: sqlite3.Row, places: Sequence[Place], cost: Cost, log: Sequence[sqlite3.Row]
) -> dict[str, Any]:
    """A proposal with its places, what approving it takes and what was decided, as JSON."""
    found = {"places": [asdict(place) for place in places], "cost": asdict(cost)}
    return described(row) | found | {"decisions": [logged(entry) for entry in log]}


def decided(done: Decided) -> dict[str, Any]:
    """What a decision changed, as JSON."""
    replayed = {**_fields(done.replayed), "dropped": dict(done.replayed.dropped)}
    return {**_fields(done), "replayed": replayed}


def _fields(item: Any) -> dict[str, Any]:
    """The fields of a dataclass; ``asdict`` would take counters apart, and wrongly."""
    return {field.name: getattr(item, field.name) for field in fields(item)}


def logged(row: sqlite3.Row) -> dict[str, Any]:
    """An entry of the log, as JSON."""
    return {**dict(row), "detail": json.loads(row["detail"])}


# -- on a terminal --------------------------------------------------------------------


def print_list(rows: Sequence[sqlite3.Row], numbers: Mapping[str, int], shown_statuses: Collection[str]) -> None:
    """Proposals, and how many there are that are not shown."""
    for row in rows:
        click.echo(f"{row['id']:>4}  " + click.style(_words(row), bold=True) + _described(row))
        click.echo("      " + "; ".join(_measures(row)))
    if not rows:
        click.echo("No proposal waits for a decision." if shown_statuses == {"open"} else "There is no such proposal.")
    others = [
        f"{number:,} {status} ({'--muted' if status == 'muted' else f'--status {status}'})"
        for status, number in sorted(numbers.items())
        if status not in shown_statuses and "all" not in shown_statuses
    ]
    if others:
        click.echo("Also there: " + ", ".join(others) + ".")
    if any(row["status"] == "open" for row in rows):
        click.echo("Where it was asked for, and what it costs: llm graphrag proposals show NUMBER")


def print_whole(row: sqlite3.Row, places: Sequence[Place], cost: Cost, log: Sequence[sqlite3.Row]) -> None:
    """A proposal with the sentences that ask for it."""
    click.echo(click.style(_words(row), bold=True) + _described(row))
    click.echo("; ".join(_measures(row)))
    for place in places:
        quote = click.style(_line(place.quote), underline=True)
        instead = f", instead of {printable(place.instead_of)}" if place.instead_of else ""
        private = ", private" if place.private else ""
        click.echo(f"\n{printable(place.uri)}:{place.line} ({place.confidence:.2f}{instead}{private})")
        click.echo(f"  {_line(place.before)}{quote}{_line(place.after)}")
    if not places:
        click.echo("\nNo note asks for it any more.")
    click.echo("")
    if row["status"] in ("open", "muted", "postponed"):
        print_cost(cost)
        click.echo(f"Decide: llm graphrag proposals approve|map|reject|postpone {row['id']}")
    print_log(log)


def print_cost(cost: Cost, err: bool = False) -> None:
    """What approving takes, before it is done."""
    if not cost.windows:
        click.echo("If approved, no window has to be asked about again.", err=err)
        return
    took = f"about {cost.tokens:,} tokens, " + ("no price known" if cost.usd is None else shown(cost.usd, "usd"))
    if cost.unknown == cost.windows:
        took = "what that takes is not known"
    elif cost.unknown:
        took += f" for all but {cost.unknown:,} of them, of which nothing is known"
    click.echo(
        f"If approved, the next extract asks about {counted(cost.windows, 'window')} again: {took} (by the last time).",
        err=err,
    )


def print_decided(done: Sequence[Decided], again: int) -> None:
    """What decisions changed; ``again`` windows are to be asked about by the next extract."""
    for item in done:
        version = f" Schema version {item.schema_version}." if item.schema_version else ""
        click.echo(f"{DONE[item.action]}: {printable(item.subject)}.{version} {printable(item.remark)}".rstrip())
    if not done or done[0].action not in ("approve", "map"):
        return
    print_reread(done[0].replayed.windows, done[0].facts)
    if again:
        click.echo(f"llm graphrag extract would now ask about {counted(again, 'window')} once more.")


def print_undone(done: Decided) -> None:
    """What taking a decision back changed."""
    version = f" Schema version {done.schema_version}." if done.schema_version else ""
    click.echo(f"Taken back: {printable(done.subject)} is {done.status} again.{version} {done.remark}".rstrip())
    print_reread(done.replayed.windows, done.facts)


def print_reread(replies: int, facts: int) -> None:
    """What reading kept replies again gave; nothing where none was read."""
    change = f"{counted(abs(facts), 'fact')} {'more' if facts > 0 else 'fewer'}" if facts else "as many facts as before"
    if replies:
        click.echo(f"{counted(replies, 'kept reply', 'kept replies')} of models read again, free: {change}.")


def print_log(rows: Sequence[sqlite3.Row]) -> None:
    """Decisions, in the order given."""
    for row in rows:
        version = f", schema version {row['schema_version']}" if row["schema_version"] else ""
        undone = f", taken back by {row['undone_by']}" if row["undone_by"] else ""
        note = f": {printable(row['note'])}" if row["note"] else ""
        click.echo(
            f"{row['id']:>4}  {row['at']}  {printable(row['actor'])}  {row['action']} {printable(row['subject'])}"
            f"{version}{undone}{note}"
        )


def _words(row: sqlite3.Row) -> str:
    return printable(f"{row['kind'].replace('_', ' ')} {row['name']}")


def _described(row: sqlite3.Row) -> str:
    return f": {printable(row['description'])}" if row["description"] else ""


def _measures(row: sqlite3.Row) -> list[str]:
    measures = [row["status"], counted(row["support"], "document"), f"confidence {row['confidence']:.2f}"]
    if row["nearest_name"]:
        measures.append(f"nearest {row['nearest_name']} ({row['similarity']:.2f})")
    if row["mapped_name"]:
        measures.append(f"means {row['mapped_name']}")
    if row["decided_by"]:
        measures.append(f"by {printable(row['decided_by'])} on {row['decided_at']}")
    if row["asked_again"]:
        measures.append(f"asked for again {counted(row['asked_again'], 'time')}")
    return measures


def _line(text: str) -> str:
    """Text of a note on one line."""
    return printable("".join(" " if char.isspace() else char for char in text))
