"""``llm graphrag export`` and ``import``: facts as files that can be committed with the notes."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..knowledge_base import KnowledgeBase
from ..sources.files import printable
from .options import (
    EXIT_SKIPPED,
    ProgressLine,
    database_option,
    errors_in_one_line,
    json_option,
    open_knowledge_base,
    print_json,
)

if TYPE_CHECKING:
    from ..share.sidecar_import import Imported
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


@click.command(name="import")
@click.option("--sidecars", type=FOLDER, metavar="DIR", help="Read the files that export --sidecars wrote into DIR.")
@database_option
@json_option
@errors_in_one_line
def import_(sidecars: Path | None, database: Path, as_json: bool) -> None:
    """Read facts back from text files that export wrote.

    Add the notes first. A fact whose quote no longer stands in its note is reported
    and left out. Passages that were read where the files come from count as read
    here, so extract does not ask about them; where both were read, the later reading
    stays. A file without a schema gets the one that was exported.

    \b
    Examples:
      llm graphrag import --sidecars ~/notes/.facts
    """
    from ..share.sidecar_import import import_sidecars

    if sidecars is None:
        raise click.UsageError("say what to read: --sidecars DIR")
    progress = ProgressLine()
    with open_knowledge_base(database, readonly=False) as kb:
        try:
            done = import_sidecars(kb.connection, kb.settings, sidecars, progress)
            warning = _embed(kb, progress) if done.facts else ""
        finally:
            progress.close()
    if as_json:
        print_json(asdict(done))
    else:
        _remarks(done.skipped)
        _print(done)
    if warning:
        click.echo(warning, err=True)
    if done.skipped:
        sys.exit(EXIT_SKIPPED)


def _embed(kb: KnowledgeBase, progress: ProgressLine) -> str:
    """Give new names their vectors. The facts are in the file whatever becomes of this: it only warns."""
    from ..index.encoders import EncoderError

    if kb.settings.embedding_model:
        try:
            kb.embed(progress=progress)
        except EncoderError as error:
            return f"Warning: {error} The facts are stored; vectors follow at the next add."
    return ""


def _print(done: Imported) -> None:
    if done.schema:
        click.echo(f"The schema is now {printable(done.schema)}. Notes are read under it at the next: add")
    click.echo(f"Sidecars: {done.sidecars:,} read; facts: {done.facts:,} new, {done.there:,} here already.")
    if done.passages:
        click.echo(f"{done.passages:,} passages count as read now.")
    if done.later:
        click.echo(f"{done.later:,} passages were read here later, and keep what they have.")
    if done.changed:
        click.echo(f"{done.changed:,} passages are not as they were read: extract will ask about them.")
    if done.foreign:
        click.echo(f"Not in the schema here: {printable(', '.join(done.foreign))}", err=True)


def _remarks(skipped: list[Remark]) -> None:
    for remark in skipped[:SHOWN]:
        place = printable(remark.path) + (f":{remark.line}" if remark.line else "")
        click.echo(f"Skipped: {place}: {printable(remark.message)}", err=True)
    if len(skipped) > SHOWN:
        click.echo(f"… and {len(skipped) - SHOWN:,} more; --json lists all", err=True)
