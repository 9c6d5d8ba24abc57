"""``llm graphrag remove`` and ``forget``: taking things out."""

from __future__ import annotations

from pathlib import Path

import click

from ..sources.files import printable
from ..text.counted import counted
from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json


@click.command()
@click.argument("names", nargs=-1, required=True)
@database_option
@json_option
@errors_in_one_line
def remove(names: tuple[str, ...], database: Path, as_json: bool) -> None:
    """Remove documents by uri, or whole sources by name, folder or file.

    What only they support goes with them; files on disk are not touched.

    \b
    Examples:
      llm graphrag remove notes/old/draft.md
      llm graphrag remove notes
      llm graphrag remove ~/notes
      llm graphrag remove contacts.csv
    """
    with open_knowledge_base(database, readonly=False) as kb:
        removed = kb.remove(names)
    if as_json:
        print_json({"removed": removed})
        return
    for uri in removed:
        click.echo(printable(uri))
    click.echo(f"Removed {counted(len(removed), 'document')}.")


@click.command()
@click.argument("name")
@click.option("--type", "type_", help="Its type, if several entities have the name ('' for the untyped one).")
@click.option("--never", is_flag=True, help="Keep the name from coming back.")
@database_option
@json_option
@errors_in_one_line
def forget(name: str, type_: str | None, never: bool, database: Path, as_json: bool) -> None:
    """Delete an entity with its mentions and what others state of it.

    Notes keep their text. The entity comes back when a new or changed note names it,
    unless --never was given. If a note is about it, the note's own statements stay.

    \b
    Examples:
      llm graphrag forget "Lorem Ipsum"
      llm graphrag forget Draft --never
    """
    with open_knowledge_base(database, readonly=False) as kb:
        done = kb.forget(name, type_, never)
    if as_json:
        print_json(done)
        return
    click.echo(
        f"Forgot {printable(done['name'])}: {counted(done['mentions'], 'mention')}, {counted(done['claims'], 'claim')}."
    )
