"""``llm graphrag export``: facts as files that can be committed with the notes."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..sources.files import printable
from .options import (
    EXIT_SKIPPED,
    database_option,
    errors_in_one_line,
    json_option,
    open_knowledge_base,
    print_json,
)

if TYPE_CHECKING:
    from ..sources.report import Remark

SHOWN = 10  # remarks that are printed; --json lists all
FOLDER = click.Path(path_type=Path)


@click.command()
@click.option(
    "--sidecars", type=FOLDER, metavar="DIR", help="Write one text file a note into this folder, with its facts."
)
@click.option(
    "--all", "everything", is_flag=True, help="Also what notes say themselves, to be read; add finds it again."
)
@click.option("--without-private", is_flag=True, help="Leave private notes out.")
@database_option
@json_option
@errors_in_one_line
def export(sidecars: Path | None, everything: bool, without_private: bool, database: Path, as_json: bool) -> None:
    """Write what a model or a person stated as text files, to be committed with the notes.

    Each note that has such facts gets a file NOTE.facts.toml: heads, relations,
    tails, quotes and lines, and which passages a model has read. llm graphrag import
    brings them back into any knowledge base with the same notes, so nothing is paid
    for twice. Files that are right already are not touched, files of ours that no
    note needs any more are deleted.

    \b
    Examples:
      llm graphrag export --sidecars ~/notes/.facts
      llm graphrag export --sidecars facts --without-private
    """
    from ..share.sidecars import export_sidecars

    if sidecars is None:
        raise click.UsageError("say what to write, and where: --sidecars DIR")
    with open_knowledge_base(database) as kb:
        done = export_sidecars(kb.connection, sidecars, everything=everything, private=not without_private)
    if as_json:
        print_json(asdict(done))
    else:
        _remarks(done.skipped)
        click.echo(f"Sidecars: {done.written:,} written, {done.unchanged:,} unchanged, {done.removed:,} removed.")
        click.echo(f"They hold {done.facts:,} facts and say that {done.passages:,} passages were read.")
        if done.private:
            click.echo(f"{done.private:,} are of private notes; --without-private leaves them out.")
    if done.skipped:
        sys.exit(EXIT_SKIPPED)


def _remarks(skipped: list[Remark]) -> None:
    for remark in skipped[:SHOWN]:
        place = printable(remark.path) + (f":{remark.line}" if remark.line else "")
        click.echo(f"Skipped: {place}: {printable(remark.message)}", err=True)
    if len(skipped) > SHOWN:
        click.echo(f"… and {len(skipped) - SHOWN:,} more; --json lists all", err=True)
