"""``llm graphrag proposals``: look at the types that models asked for, and decide on them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ..knowledge_base import KnowledgeBase
from . import proposals_printer as printer
from .decision_options import decision_options, embed_names, progress_line
from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json

STATUSES = ("open", "muted", "postponed", "approved", "mapped", "rejected", "all")


@click.group()
def proposals() -> None:
    """Decide on the types that models asked for: a model proposes, only you change the schema.

    A proposal is open if enough documents ask for it and the model is sure enough
    (llm graphrag init --min-support --min-confidence); the others are muted, and
    kept. A PROPOSAL is named by its number, or by its name if only one has it.

    \b
    Examples:
      llm graphrag proposals list
      llm graphrag proposals show repaired_by
      llm graphrag proposals approve repaired_by
    """


@proposals.command(name="list")
@click.option("--status", multiple=True, type=click.Choice(STATUSES), help="Of this status; may be repeated.")
@click.option("--muted", is_flag=True, help="Also those below the limits.")
@database_option
@json_option
@errors_in_one_line
def list_(status: tuple[str, ...], muted: bool, database: Path, as_json: bool) -> None:
    """List proposals, those that wait for a decision first.

    \b
    Examples:
      llm graphrag proposals list
      llm graphrag proposals list --muted
      llm graphrag proposals list --status rejected --json
    """
    from ..store import proposals as store

    wanted = (set(status) or {"open"}) | ({"muted"} if muted else set())
    with _open(database) as kb:
        rows = store.listed(kb.connection, () if "all" in wanted else sorted(wanted))
        numbers = store.numbers(kb.connection)
    if as_json:
        print_json([printer.described(row) for row in rows])
    else:
        printer.print_list(rows, numbers, wanted)


@proposals.command()
@click.argument("proposal")
@database_option
@json_option
@errors_in_one_line
def show(proposal: str, database: Path, as_json: bool) -> None:
    """Show where a type was asked for, and what approving it costs.

    \b
    Examples:
      llm graphrag proposals show 3
      llm graphrag proposals show repaired_by --json
    """
    from ..review.places import places
    from ..review.proposals import cost, find
    from ..store import decisions
    from ..store import proposals as store

    with _open(database) as kb:
        id_ = find(kb.connection, proposal)
        row = store.one(kb.connection, id_)
        assert row is not None
        found, price = places(kb.connection, id_), cost(kb.connection, id_)
        log = decisions.of(kb.connection, "proposal", id_)
    if as_json:
        print_json(printer.described_whole(row, found, price, log))
    else:
        printer.print_whole(row, found, price, log)


@proposals.command()
@click.argument("proposals", nargs=-1, required=True, metavar="PROPOSAL...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@decision_options
def approve(proposals: tuple[str, ...], yes: bool, note: str, actor: str, database: Path, as_json: bool) -> None:
    """Put types into the schema, as a new version of it.

    Replies that are kept are read again under it at once, which is free. The windows
    that had asked for a type are asked about once more by the next extract; what that
    takes is said before.

    \b
    Examples:
      llm graphrag proposals approve repaired_by
      llm graphrag proposals approve 3 4 7 --yes --note "for the workshop notes"
    """
    from ..review.proposals import cost

    with _open(database, write=True) as kb:
        ids = _ids(kb, proposals)
        if not as_json or (_at_terminal() and not yes):
            printer.print_cost(cost(kb.connection, *ids), err=as_json)
        if _at_terminal() and not yes and not click.confirm("Approve?", err=True):
            click.echo("Nothing was changed.", err=True)
            sys.exit(1)
        _decide(kb, ids, "approve", None, note, actor, as_json)


@proposals.command(name="map")
@click.argument("proposal")
@click.argument("type_", metavar="TYPE")
@decision_options
def map_(proposal: str, type_: str, note: str, actor: str, database: Path, as_json: bool) -> None:
    """Make a proposal another name for a type of the schema.

    What models wrote with that name is read again at once, which is free. Nothing is
    asked again.

    \b
    Examples:
      llm graphrag proposals map mended_by repaired_by
    """
    with _open(database, write=True) as kb:
        _decide(kb, _ids(kb, [proposal]), "map", type_, note, actor, as_json)


@proposals.command()
@click.argument("proposals", nargs=-1, required=True, metavar="PROPOSAL...")
@decision_options
def reject(proposals: tuple[str, ...], note: str, actor: str, database: Path, as_json: bool) -> None:
    """Turn types down, and remember it.

    Asked for again, they only count up.

    \b
    Examples:
      llm graphrag proposals reject vibe
      llm graphrag proposals reject 5 6 --note "too vague"
    """
    with _open(database, write=True) as kb:
        _decide(kb, _ids(kb, proposals), "reject", None, note, actor, as_json)


@proposals.command()
@click.argument("proposals", nargs=-1, required=True, metavar="PROPOSAL...")
@decision_options
def postpone(proposals: tuple[str, ...], note: str, actor: str, database: Path, as_json: bool) -> None:
    """Put proposals aside: they are listed with --status postponed only.

    \b
    Examples:
      llm graphrag proposals postpone 8
    """
    with _open(database, write=True) as kb:
        _decide(kb, _ids(kb, proposals), "postpone", None, note, actor, as_json)


@proposals.command()
@click.argument("proposal")
@decision_options
def undo(proposal: str, note: str, actor: str, database: Path, as_json: bool) -> None:
    """Take the last decision on a proposal back.

    The facts that it brought go with it. What you have changed in the schema since stays.

    \b
    Examples:
      llm graphrag proposals undo repaired_by
    """
    from ..review import proposals as review

    with _open(database, write=True) as kb:
        (id_,) = _ids(kb, [proposal])
        with progress_line() as progress:
            done = review.undo(kb.connection, kb.settings, id_, actor=actor, note=note, progress=progress)
        embed_names(kb)
    if as_json:
        print_json(printer.decided(done))
    else:
        printer.print_undone(done)


@proposals.command()
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many, the newest first.")
@database_option
@json_option
@errors_in_one_line
def log(limit: int, database: Path, as_json: bool) -> None:
    """List what was decided, by whom and when, the newest first.

    \b
    Examples:
      llm graphrag proposals log
      llm graphrag proposals log --json --limit 1000
    """
    from ..store import decisions

    with open_knowledge_base(database) as kb:
        rows = decisions.log(kb.connection, "proposal", limit)
    if as_json:
        print_json([printer.logged(row) for row in rows])
    else:
        printer.print_log(rows)


def _decide(
    kb: KnowledgeBase, ids: Sequence[int], action: str, to: str | None, note: str, actor: str, as_json: bool
) -> None:
    from ..review import proposals as review

    with progress_line() as progress:
        done = review.decide_all(
            kb.connection, kb.settings, ids, action, actor=actor, to=to, note=note, progress=progress
        )
    again = review.cost(kb.connection, *ids).windows if action == "approve" else 0
    embed_names(kb)
    if as_json:
        print_json([printer.decided(decided) for decided in done])
    else:
        printer.print_decided(done, again)


def _ids(kb: KnowledgeBase, written: Sequence[str]) -> list[int]:
    from ..review.proposals import find

    return list(dict.fromkeys(find(kb.connection, name) for name in written))


def _open(database: Path, write: bool = False) -> KnowledgeBase:
    """The file, with proposals weighed by the notes of now where it can be written."""
    from ..review.proposals import recount

    writable = os.access(database, os.W_OK) and os.access(database.resolve().parent, os.W_OK)
    kb = open_knowledge_base(database, readonly=not (write or writable))
    if write or writable:
        recount(kb.connection, kb.settings)
    return kb


def _at_terminal() -> bool:
    return sys.stdin.isatty()
