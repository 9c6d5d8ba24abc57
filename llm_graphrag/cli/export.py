"""``llm graphrag export``: facts as files that can be committed with the notes."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..sources.files import printable
from ..text.counted import counted
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
@click.argument("out", required=False, type=FOLDER)
@click.option("--format", "format_", default="", metavar="NAME", help="Of OUT; by its name if not given.")
@click.option("--overwrite", is_flag=True, help="Replace OUT if it is there.")
@click.option("--where", metavar="SQL", help="Only what documents state that meet this SQL condition.")
@click.option("--tag", help="Only what documents with this tag state.")
@click.option("--since", metavar="DATE", help="Only what documents state that were updated on this day or later.")
@click.option("--relation", multiple=True, metavar="NAME", help="Only facts of this relation or attribute.")
@click.option(
    "--type", "type_", multiple=True, metavar="NAME", help="Only entities of this type, and facts among them."
)
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
def export(
    out: Path | None,
    format_: str,
    overwrite: bool,
    where: str | None,
    tag: str | None,
    since: str | None,
    relation: tuple[str, ...],
    type_: tuple[str, ...],
    sidecars: Path | None,
    everything: bool,
    without_private: bool,
    database: Path,
    as_json: bool,
) -> None:
    """Write the graph as a file, or facts as text files beside the notes.

    OUT holds entities with their types and other names, attributes, and triples,
    each with how often it is stated and its best quote. Its format is csv, jsonl,
    graphml, ntriples, turtle or parquet (with the extra "parquet"), or neo4j or
    ladybug, folders for their bulk loaders. The same graph always gives the same
    file. llm graphrag import reads csv, jsonl, ntriples and turtle back.

    With --sidecars, each note that has facts of a model or a person gets a file
    NOTE.facts.toml to be committed with the notes: heads, relations, tails, quotes
    and lines, and which passages a model has read. llm graphrag import brings them
    back into any knowledge base with the same notes, so nothing is paid for twice.
    Files that are right already are not touched, files of ours that no note needs
    any more are deleted.

    \b
    Examples:
      llm graphrag export graph.csv
      llm graphrag export people.graphml --type person --overwrite
      llm graphrag export public.ttl --without-private
      llm graphrag export work.jsonl --where "folder like 'work/%'"
      llm graphrag export neo4j/ --format neo4j
      llm graphrag export --sidecars ~/notes/.facts
    """
    if out is not None:
        if sidecars is not None or everything:
            raise click.UsageError("--sidecars and --all go without OUT")
        from .graph_export import export_graph

        scope = {"where": where, "tag": tag, "since": since, "relations": relation, "types": type_}
        export_graph(database, out, format_, overwrite, not without_private, scope, as_json)
        return
    _only_sidecars({"--format": format_, "--overwrite": overwrite, "--where": where, "--tag": tag, "--since": since,
                    "--relation": relation, "--type": type_})  # fmt: skip
    from ..share.sidecars import export_sidecars

    if sidecars is None:
        raise click.UsageError("say what to write, and where: OUT, or --sidecars DIR")
    with open_knowledge_base(database) as kb:
        done = export_sidecars(kb.connection, sidecars, everything=everything, private=not without_private)
    if as_json:
        print_json(asdict(done))
    else:
        _remarks(done.skipped)
        click.echo(f"Sidecars: {done.written:,} written, {done.unchanged:,} unchanged, {done.removed:,} removed.")
        read = counted(done.passages, "passage was", "passages were")
        click.echo(f"They hold {counted(done.facts, 'fact')} and say that {read} read.")
        if done.private:
            click.echo(f"{counted(done.private, 'is', 'are')} of private notes; --without-private leaves them out.")
    if done.skipped:
        sys.exit(EXIT_SKIPPED)


def _only_sidecars(given: dict[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise click.UsageError(f"{option} is about the file OUT; name it")


def _remarks(skipped: list[Remark]) -> None:
    for remark in skipped[:SHOWN]:
        place = printable(remark.path) + (f":{remark.line}" if remark.line else "")
        click.echo(f"Skipped: {place}: {printable(remark.message)}", err=True)
    if len(skipped) > SHOWN:
        click.echo(f"… and {len(skipped) - SHOWN:,} more; --json lists all", err=True)
