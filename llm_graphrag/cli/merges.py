"""``llm graphrag merges``: look at pairs of entities that may be one, and decide on them."""

from __future__ import annotations

from pathlib import Path

import click

from . import merges_printer as printer
from .decision_options import decision_options
from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json

STATUSES = ("suggested", "approved", "rejected", "undone", "all")


@click.group()
def merges() -> None:
    """Decide which entities are one: names that are alike are suggested, only you join them.

    Facts of joined entities are added up under the one that is kept. Every sentence
    stays with the name it was written under, so a merge can be undone at any time,
    and holds when notes change, go and come back.

    \b
    Examples:
      llm graphrag merges suggest
      llm graphrag merges show 3
      llm graphrag merges approve 3
    """


@merges.command()
@click.option("--limit", type=click.IntRange(1), help="Only so many, those with the least doubt.  [default: all]")
@database_option
@json_option
@errors_in_one_line
def suggest(limit: int | None, database: Path, as_json: bool) -> None:
    """Look for entities that may be one.

    Their names have to be alike: another spelling, initials, an acronym, a plural, a
    slip of the pen. What else is known of them counts for or against it.

    Earlier suggestions that nobody decided on are replaced. Pairs that were rejected
    are not suggested again. No model is asked.

    \b
    Examples:
      llm graphrag merges suggest
      llm graphrag merges suggest --limit 50 -d work.db
    """
    from ..review.merge_candidates import suggest as find
    from ..review.merge_details import listed

    with open_knowledge_base(database, readonly=False) as kb:
        find(kb.connection, kb.settings, limit)
        rows = listed(kb.connection, ["suggested"])
    if as_json:
        print_json([printer.described(row) for row in rows])
    elif rows:
        printer.print_list(rows, {}, {"suggested"})
    else:
        click.echo("No two entities are named so much alike that they may be one.")


@merges.command(name="list")
@click.option("--status", multiple=True, type=click.Choice(STATUSES), help="Of this status; may be repeated.")
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="Pairs shown; 0: all.")
@database_option
@json_option
@errors_in_one_line
def list_(status: tuple[str, ...], limit: int, database: Path, as_json: bool) -> None:
    """List pairs that wait for a decision, or others.

    \b
    Examples:
      llm graphrag merges list
      llm graphrag merges list --status approved --status rejected
      llm graphrag merges list --status all --limit 0 --json
    """
    from ..review.merge_details import listed, numbers

    wanted = set(status) or {"suggested"}
    if "all" in wanted:
        wanted = set(STATUSES) - {"all"}
    with open_knowledge_base(database) as kb:
        rows = listed(kb.connection, sorted(wanted), limit or -1)
        counted = numbers(kb.connection)
    if as_json:
        print_json([printer.described(row) for row in rows])
    else:
        printer.print_list(rows, counted, wanted)


@merges.command()
@click.argument("merge", type=int)
@database_option
@json_option
@errors_in_one_line
def show(merge: int, database: Path, as_json: bool) -> None:
    """Show both entities of a pair, side by side.

    Where they are named, what is stated of them, and what a merge would join.

    \b
    Examples:
      llm graphrag merges show 3
      llm graphrag merges show 3 --json
    """
    from ..review.merge_details import detail

    with open_knowledge_base(database) as kb:
        found = detail(kb.connection, merge)
    if as_json:
        print_json(printer.described_whole(found))
    else:
        printer.print_whole(found)


@merges.command()
@click.argument("ids", nargs=-1, required=True, type=int, metavar="MERGE...")
@decision_options
def approve(ids: tuple[int, ...], note: str, actor: str, database: Path, as_json: bool) -> None:
    """Join the entities of these pairs.

    All of them, or none if one cannot be joined.

    \b
    Examples:
      llm graphrag merges approve 3
      llm graphrag merges approve 3 4 7 --note "one person"
    """
    _decide(ids, "approve", note, actor, database, as_json)


@merges.command()
@click.argument("ids", nargs=-1, required=True, type=int, metavar="MERGE...")
@decision_options
def reject(ids: tuple[int, ...], note: str, actor: str, database: Path, as_json: bool) -> None:
    """Never join the entities of these pairs.

    They are not suggested again, nor joined by way of others.

    \b
    Examples:
      llm graphrag merges reject 5
      llm graphrag merges reject 5 6 --note "father and son"
    """
    _decide(ids, "reject", note, actor, database, as_json)


@merges.command()
@click.argument("ids", nargs=-1, required=True, type=int, metavar="MERGE...")
@decision_options
def undo(ids: tuple[int, ...], note: str, actor: str, database: Path, as_json: bool) -> None:
    """Take the last decision on these pairs back.

    Facts are then what they would be without it.

    \b
    Examples:
      llm graphrag merges undo 3
    """
    _decide(ids, "undo", note, actor, database, as_json)


@merges.command(name="by-hand")
@click.argument("kept")
@click.argument("merged")
@click.option("--kept-type", help="Type of KEPT, where several entities have the name ('' for none).")
@click.option("--merged-type", help="Type of MERGED, likewise.")
@click.option("--never", is_flag=True, help="Say that the two are never to be joined, instead.")
@decision_options
def by_hand(
    kept: str,
    merged: str,
    kept_type: str | None,
    merged_type: str | None,
    never: bool,
    note: str,
    actor: str,
    database: Path,
    as_json: bool,
) -> None:
    """Join any two entities by their names.

    MERGED goes into KEPT, whose name is shown from then on. Any of their names will do.

    \b
    Examples:
      llm graphrag merges by-hand "Ana Ruiz" Anita
      llm graphrag merges by-hand Mercury "The Messenger" --kept-type planet
      llm graphrag merges by-hand "Li Wei" "Wei Li" --never
    """
    from ..review import merges as review

    with open_knowledge_base(database, readonly=False) as kb:
        if never:
            done = review.refuse(
                kb.connection, kb.settings, kept, merged, one_type=kept_type, other_type=merged_type, actor=actor,
                note=note,
            )  # fmt: skip
        else:
            done = review.merge(
                kb.connection, kb.settings, kept, merged, kept_type=kept_type, merged_type=merged_type, actor=actor,
                note=note,
            )  # fmt: skip
    if as_json:
        print_json(printer.decided(done))
    else:
        printer.print_decided([done])


@merges.command()
@click.argument("name")
@click.argument("half")
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENT...")
@click.option("--type", "type_", help="Type of NAME, where several entities have it ('' for none).")
@decision_options
def split(
    name: str,
    half: str,
    documents: tuple[str, ...],
    type_: str | None,
    note: str,
    actor: str,
    database: Path,
    as_json: bool,
) -> None:
    """Split a name that is two.

    In these documents (their uris), NAME is somebody else, who is shown as HALF from
    then on. What they say under that name goes there, also after they are edited.

    \b
    Examples:
      llm graphrag merges split "Li Wei" "Li Wei (South Mill)" notes/south.md
    """
    from ..review.splits import split as decide

    with open_knowledge_base(database, readonly=False) as kb:
        done = decide(kb.connection, kb.settings, name, half, documents, type_=type_, actor=actor, note=note)
    if as_json:
        print_json(printer.decided(done))
    else:
        printer.print_decided([done])


@merges.command()
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many, the newest first.")
@database_option
@json_option
@errors_in_one_line
def log(limit: int, database: Path, as_json: bool) -> None:
    """List what was decided, the newest first.

    \b
    Examples:
      llm graphrag merges log
      llm graphrag merges log --json --limit 1000
    """
    from ..store import decisions

    with open_knowledge_base(database) as kb:
        rows = decisions.log(kb.connection, "merge", limit)
    if as_json:
        print_json([printer.logged(row) for row in rows])
    else:
        printer.print_log(rows)


def _decide(ids: tuple[int, ...], action: str, note: str, actor: str, database: Path, as_json: bool) -> None:
    from ..review import merges as review

    with open_knowledge_base(database, readonly=False) as kb:
        done = review.decide_all(kb.connection, kb.settings, list(dict.fromkeys(ids)), action, actor=actor, note=note)
    if as_json:
        print_json([printer.decided(item) for item in done])
    else:
        printer.print_decided(done)
