"""``llm graphrag import``: graphs that come as files, and facts that ``export`` wrote."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..knowledge_base import KnowledgeBase
from ..sources.files import printable
from ..text.counted import counted, held
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
    from ..share.imports.run import GraphImport
    from ..share.imports.schema import Learnt
    from ..share.sidecar_import import Imported
    from ..sources.report import Remark

SHOWN = 10  # remarks that are printed; --json lists all
FORMATS = ("auto", "csv", "tsv", "jsonl", "ntriples", "turtle")
FILE = click.Path(path_type=Path)
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


@click.command(name="import")
@click.argument("files", nargs=-1, type=FILE)
@click.option("--format", type=click.Choice(FORMATS), default="auto", help="Of FILES; by their names if not given.")
@click.option("--head", default="", metavar="COLUMN", help="Column of heads: its name, or its number from 1 on.")
@click.option("--relation", default="", metavar="COLUMN", help="Column of relations.")
@click.option("--tail", default="", metavar="COLUMN", help="Column of tails.")
@click.option("--delimiter", default="", metavar="SIGN", help="What separates cells; found out if not given.")
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first row names the columns; told from the rows if not given.",
)
@click.option("--attribute", multiple=True, metavar="RELATION", help="A relation whose tails are values, not entities.")
@click.option("--nodes", multiple=True, type=FILE, metavar="FILE", help="A table of nodes: id, name, type, aliases.")
@click.option("--encoding", default="", help="Of tables that are not UTF-8, such as utf-16-le or cp1252.")
@click.option(
    "--join-spellings",
    is_flag=True,
    help="Things of one name, or of names that differ only in case or dashes, are one.",
)
@click.option("--no-schema", is_flag=True, help="Leave the schema as it is.")
@click.option(
    "--private/--not-private",
    default=None,
    help="Mark the files as private, so that they are not published, or as not; as they were if not given.",
)
@click.option("--sidecars", type=FILE, metavar="DIR", help="Read the files that export --sidecars wrote into DIR.")
@database_option
@json_option
@errors_in_one_line
def import_(
    files: tuple[Path, ...],
    format: str,
    head: str,
    relation: str,
    tail: str,
    delimiter: str,
    header: bool | None,
    attribute: tuple[str, ...],
    nodes: tuple[Path, ...],
    encoding: str,
    join_spellings: bool,
    no_schema: bool,
    private: bool | None,
    sidecars: Path | None,
    database: Path,
    as_json: bool,
) -> None:
    """Bring your own graph: read triples, nodes, or facts that export wrote.

    FILES hold triples as CSV, TSV, JSON lines, N-Triples or Turtle (the last two
    with the extra "rdf"). Every row is its own evidence and can be cited by its
    line. Columns may be called head, relation, tail (or subject, predicate, object;
    source, type, target) and head_type, tail_type, confidence, quote; a table
    without a header has them in this order. Types, domains and ranges that are new
    become a version of the schema.

    Importing again reads only files that have changed; remove takes a file's facts
    away. Rows that cannot be used are listed, the others are imported.

    \b
    Examples:
      llm graphrag import triples.tsv
      llm graphrag import edges.csv --nodes people.csv --nodes places.csv
      llm graphrag import films.csv --head film --relation link --tail who
      llm graphrag import kb.tsv --attribute "release year"
      llm graphrag import dump.nt -d dump.db
      llm graphrag import --sidecars ~/notes/.facts
    """
    from ..share.imports.options import ImportOptions

    if sidecars is not None:
        if files or nodes:
            raise click.UsageError("--sidecars stands alone: import files of a graph with a command of their own")
        _sidecars(sidecars, database, as_json)
        return
    if not files and not nodes:
        raise click.UsageError("say what to read: FILES with triples, --nodes FILE, or --sidecars DIR")
    if len(DELIMITERS.get(delimiter, delimiter)) > 1:
        raise click.UsageError(f"--delimiter is one character (or tab), not {printable(delimiter)!r}")
    options = ImportOptions(
        "" if format == "auto" else format, head, relation, tail, DELIMITERS.get(delimiter, delimiter), header,
        attribute, encoding, nodes, not no_schema, private, join_spellings,
    )  # fmt: skip
    progress = ProgressLine()
    with open_knowledge_base(database, readonly=False, create=True) as kb:
        try:
            done = kb.import_graph(files, options, progress)
        finally:
            progress.close()
    if as_json:
        print_json(asdict(done))
    else:
        _print_graph(done)
    if done.skipped:
        sys.exit(EXIT_SKIPPED)


def _print_graph(done: GraphImport) -> None:
    parts = [f"{done.files:,} read"] + [f"{done.unchanged:,} unchanged"] * bool(done.unchanged)
    click.echo(f"Files: {', '.join(parts)}; rows: {done.rows:,} imported, {len(done.skipped):,} skipped.")
    _remarks("Skipped", done.skipped)
    _remarks("Warning", done.warnings)
    if done.schema is not None:
        click.echo(_schema_line(done.schema))
    if done.suggested:
        click.echo(f"{counted(done.suggested, 'pair')} may be one, it says. Decide: llm graphrag merges list")
    kept = {what: number for what, number in done.totals.items() if what != "chunks"}
    click.echo(f"The knowledge base holds {held(kept)}.")


def _schema_line(learnt: Learnt) -> str:
    """What the schema has got, and how to take it back."""
    kinds = {"entity_type": "type", "relation": "relation", "attribute": "attribute"}
    added = ", ".join(counted(len(learnt.added[kind]), word) for kind, word in kinds.items() if learnt.added[kind])
    line = f"The schema is now version {learnt.version}: {added + ' added' if added else 'domains and ranges widened'}"
    if learnt.left_out:
        line += f"; left out, for want of room or of a usable name, but in the graph: {len(learnt.left_out):,}"
    back = f"schema revert {learnt.version - 1}" if learnt.version > 1 else "import --no-schema"
    return printable(f"{line}. See: llm graphrag schema show; not wanted: llm graphrag {back}")


def _sidecars(sidecars: Path, database: Path, as_json: bool) -> None:
    from ..share.sidecar_import import import_sidecars

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
        _remarks("Skipped", done.skipped)
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
        click.echo(f"{counted(done.passages, 'passage counts', 'passages count')} as read now.")
    if done.later:
        click.echo(f"{counted(done.later, 'passage')} read here later: what was read here stays.")
    if done.changed:
        click.echo(f"{counted(done.changed, 'passage')} not as when read: extract will ask about that.")
    if done.foreign:
        click.echo(f"Not in the schema here: {printable(', '.join(done.foreign))}", err=True)


def _remarks(word: str, remarks: list[Remark]) -> None:
    for remark in remarks[:SHOWN]:
        place = printable(remark.path) + (f":{remark.line}" if remark.line else "")
        click.echo(f"{word}: {place}: {printable(remark.message)}", err=True)
    if len(remarks) > SHOWN:
        click.echo(f"… and {len(remarks) - SHOWN:,} more; --json lists all", err=True)
