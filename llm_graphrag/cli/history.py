"""``llm graphrag history``: what changed, when, and by whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..sources.files import printable
from ..text.counted import counted
from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json, refuse

if TYPE_CHECKING:
    from ..review.history import Changed, Fact, History, Note
    from ..review.runs import Counts, RunLog

SHOWN = 20  # lines of a kind that are printed; --all prints all
RUNS = 20


@click.command()
@database_option
@click.option("--since", metavar="DATE", help="What changed since a date (UTC), as 2026-01-31 or 2026-01-31T18:30.")
@click.option("--run", type=click.IntRange(1), metavar="ID", help="What one run changed.")
@click.option("--last", type=click.IntRange(1), metavar="N", help="What the last N runs changed together.")
@click.option("--keep", type=click.IntRange(0), metavar="N", help="Keep the last N runs from now on [100]; 0: no log.")
@click.option("--all", "everything", is_flag=True, help="Print every line, not the first 20 of a kind.")
@json_option
@errors_in_one_line
def history(
    database: Path,
    since: str | None,
    run: int | None,
    last: int | None,
    keep: int | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Show what changed: notes, facts, the schema and decisions.

    Without options it lists the runs: every command that changed something. With
    --since, --run or --last it shows what they changed: facts that were added, are
    gone, have another value, or are stated more or less often than before. Changes
    that cancel each other out are not shown.

    The first run over an empty file is counted, not listed, and so are very large
    ones. When the last note is removed, the log goes with it.

    \b
    Examples:
      llm graphrag history
      llm graphrag history --last 1
      llm graphrag history --since 2026-01-31 --json
      llm graphrag history --keep 20
    """
    asked = [value for value in (since, run, last, keep) if value is not None]
    if len(asked) > 1:
        raise click.UsageError("--since, --run, --last and --keep exclude each other; give one of them")
    if keep is not None:
        refuse("does nothing with --keep, which prints no lines", "everything")
        _keep(database, keep, as_json)
    elif asked:
        _show(database, since, run, last, everything, as_json)
    else:
        _list(database, everything, as_json)


def _keep(database: Path, runs: int, as_json: bool) -> None:
    from ..store import history as log
    from ..store.connection import transaction

    with open_knowledge_base(database, readonly=False) as kb, transaction(kb.connection):
        dropped = log.keep(kb.connection, runs)
    if as_json:
        print_json({"keep": runs, "dropped": dropped})
    else:
        click.echo(
            f"Dropped {counted(dropped, 'run')}. "
            + (f"The last {counted(runs, 'is', 'are')} kept." if runs else "No log is kept.")
        )


def _list(database: Path, everything: bool, as_json: bool) -> None:
    from ..review.runs import runs

    with open_knowledge_base(database) as kb:
        found = runs(kb.connection, None if everything or as_json else RUNS)
    if as_json:
        print_json([asdict(run) for run in found])
        return
    for run in found:
        click.echo(
            f"{run.id:>5}  {_time(run.at)}  {printable(run.actor):10}  {_what(run):24}  "
            f"notes {_counts(run.notes):14}  facts {_counts(run.facts)}{'' if run.listed else '  (not listed)'}"
        )
    click.echo(
        "What one changed: llm graphrag history --run ID" if found else "Nothing has changed since the log began."
    )


def _show(
    database: Path, since: str | None, run: int | None, last: int | None, everything: bool, as_json: bool
) -> None:
    from ..review.history import history as changes

    with open_knowledge_base(database) as kb:
        found = changes(kb.connection, since=since, run=run, last=last)
    if as_json:
        print_json(asdict(found))
    else:
        _print(found, None if everything else SHOWN)


# -- as text ---------------------------------------------------------------------------


def _print(found: History, shown: int | None) -> None:
    for run in reversed(found.runs):
        click.echo(f"Run {run.id}, {_time(run.at)}, {printable(run.actor)}: {_what(run)}")
    for run in found.runs:
        if not run.listed:
            click.echo(
                f"Run {run.id} is not listed: notes {_counts(run.notes)}, facts {_counts(run.facts)}. "
                "What follows is without it."
            )
    _section("Notes", [_note(note) for note in found.notes], shown)
    _section("Facts added", [f"+ {_fact(fact)}" for fact in found.added], shown)
    _section("Facts gone", [f"- {_fact(fact)}" for fact in found.gone], shown)
    values = [f"{_end(v.head, v.head_type)} {v.attribute}: {v.before} → {v.value}" for v in found.values]
    _section("Values changed", values, shown)
    renamed = [
        f"{_end(r.name_before, r.type_before)} → {_end(r.name, r.type)}  ({counted(r.facts, 'fact')})"
        for r in found.renamed
    ]
    _section("Names and types changed", renamed, shown)
    _section("Facts changed", [_changed(change) for change in found.changed], shown)
    for title, entries in (("Schema", found.schema), ("Decisions", found.decisions)):
        lines = [f"{_time(e.at)}  {e.actor}  {e.what}" + (f"  ({e.note})" if e.note else "") for e in entries]
        _section(title, lines, shown)
    if not found.runs and not found.schema and not found.decisions:
        click.echo("Nothing changed.")


def _section(title: str, lines: Sequence[str], shown: int | None) -> None:
    if not lines:
        return
    click.echo(click.style(f"{title} ({len(lines):,})", bold=True))
    _lines(lines[:shown])
    if shown is not None and len(lines) > shown:
        click.echo(f"  … and {len(lines) - shown:,} more; --all prints all")


def _lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(f"  {printable(line)}")


def _note(note: Note) -> str:
    if note.uri_before is None:
        return f"+ {note.uri}"
    if note.uri is None:
        return f"- {note.uri_before}"
    if note.uri != note.uri_before:
        return f"{'~' if note.edited else '→'} {note.uri_before} → {note.uri}"
    return f"~ {note.uri}"


def _fact(fact: Fact) -> str:
    head = _end(fact.head, fact.head_type)
    if fact.kind == "attribute":
        return f"{head} {fact.relation}: {fact.tail}"
    return f"{head} —{fact.relation.replace('_', ' ')}→ {_end(fact.tail, fact.tail_type)}"


def _end(name: str, type_: str) -> str:
    return f"{name} ({type_})" if type_ else name


def _changed(change: Changed) -> str:
    parts = []
    if change.evidence_before != change.evidence:
        parts.append(f"stated {change.evidence_before:,} → {counted(change.evidence, 'time')}")
    if change.confidence_before != change.confidence:
        parts.append(f"confidence {change.confidence_before} → {change.confidence}")
    return f"{_fact(change.fact)}  ({', '.join(parts)})"


def _what(run: RunLog) -> str:
    return printable(f"{run.what} {run.detail}".strip())


def _counts(counts: Counts) -> str:
    signs = (("+", counts.added), ("-", counts.gone), ("~", counts.changed))
    return " ".join(f"{sign}{number:,}" for sign, number in signs if number) or "0"


def _time(at: str) -> str:
    return at[:19].replace("T", " ")
