"""``llm graphrag init``, ``status``, ``check`` and ``rebuild``: the file itself."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..facts.template import load_template
from ..sources.files import printable
from ..sources.stale import GONE
from ..text.counted import counted
from .decision_options import user_name
from .options import database_option, errors_in_one_line, json_option, open_knowledge_base, print_json
from .values import Number

REASONS = 12  # reasons for dropping that status prints


@click.command()
@click.option("--template", help="Make this template, or file, the schema (see: llm graphrag schema list).")
@click.option("--chunk-tokens", type=click.IntRange(20, 4000), help="Target size of a chunk, in tokens [250].")
@click.option(
    "--window-tokens", type=click.IntRange(100, 100_000), help="Text that extract shows to a model at once [2000]."
)
@click.option(
    "--mode",
    type=click.Choice(["suggest", "strict", "open"]),
    help="What a model may write: types of the schema and proposals, of the schema alone, or any [suggest].",
)
@click.option("--min-confidence", type=Number(0, 1), help="How sure models have to be of a type, for review [0.8].")
@click.option(
    "--min-support", type=click.IntRange(1), help="How many documents have to ask for a type, for review [2]."
)
@click.option("--names", help="How names are found in text: phrases (rules), or spacy (an extra) [phrases].")
@database_option
@errors_in_one_line
def init(
    template: str | None,
    chunk_tokens: int | None,
    window_tokens: int | None,
    mode: str | None,
    min_confidence: float | None,
    min_support: int | None,
    names: str | None,
    database: Path,
) -> None:
    """Make an empty knowledge base, change its settings, or bring an older file up to date.

    Not needed before add, which makes the file by itself. Changed settings take
    effect when notes are next added; --min-confidence and --min-support at once.

    \b
    Examples:
      llm graphrag init
      llm graphrag init --template contacts -d people.db
    """
    from ..review.proposals import recount

    there = database.exists()
    schema = load_template(template) if template else None
    values = {
        "chunk_tokens": chunk_tokens, "window_tokens": window_tokens, "extraction_mode": mode, "names": names,
        "min_confidence": min_confidence, "min_support": min_support,
    }  # fmt: skip
    with open_knowledge_base(database, readonly=False, create=True) as kb:
        kb.set(**{name: value for name, value in values.items() if value is not None})
        if schema:
            kb.use_schema(schema, user_name())
        recount(kb.connection, kb.settings)
    click.echo(f"{database} is up to date." if there else f"Made {database}.")


@click.command()
@database_option
@json_option
@errors_in_one_line
def status(database: Path, as_json: bool) -> None:
    """Show what the file holds, what was skipped, and which notes have changed on disk.

    \b
    Examples:
      llm graphrag status
      llm graphrag status --json -d work.db
    """
    from ..sources.status import status_of

    with open_knowledge_base(database) as kb:
        found = status_of(kb.connection)
    if as_json:
        print_json({"database": str(database), **found})
        return
    click.echo(f"{database}")
    for name, number in found["totals"].items():
        click.echo(f"  {number:>10,} {name}")
    click.echo(f"  schema: {found['schema'] or 'none; keys of notes keep their own names'}")
    for source in found["sources"]:
        click.echo(
            f"{source['name']}: {counted(source['documents'], 'document')}, {source['dialect']}"
            + (f", {printable(source['root'])}" if source["root"] else "")
        )
    for word, remarks in (("Skipped", found["skipped"]), ("Stale", found["stale"])):
        for remark in remarks[:20]:
            click.echo(f"{word}: {printable(remark['path'])}: {printable(remark['reason'])}")
        if len(remarks) > 20:
            click.echo(f"… and {len(remarks) - 20:,} more; --json lists all")
    _print_extraction(found["extraction"], found["totals"]["chunks"])
    if found["unscanned"]:
        are = counted(found["unscanned"], "document of an interrupted run is", "documents of an interrupted run are")
        click.echo(f"{are} unfinished; run add again.")
    _advise(found["stale"])


def _advise(stale: Sequence[Mapping[str, str]]) -> None:
    """How what is stale is brought up to date: notes by adding their folder, a file of a graph by importing it."""
    if any("import" not in row for row in stale):
        click.echo("Bring it up to date with: llm graphrag add FOLDER --prune")
    for row in [row for row in stale if "import" in row][:20]:
        if row["reason"] == GONE:
            click.echo(f"Take away what it states with: llm graphrag remove {shlex.quote(printable(row['path']))}")
        else:
            click.echo(f"Bring it up to date with: llm graphrag import {shlex.quote(printable(row['import']))}")


def _print_extraction(found: dict[str, Any], chunks: int) -> None:
    """What models have read; nothing where none was asked."""
    if not found["windows"]:
        return
    click.echo(
        f"Read by a model: {found['chunks']:,} of {counted(chunks, 'chunk')}; "
        f"{counted(found['statements'], 'statement')} kept"
    )
    if waiting := found["windows"].get("exported"):
        wait = counted(waiting, "window waits", "windows wait")
        click.echo(f"  {wait} for the replies of a batch: llm graphrag extract --import-replies FILE")
    for row in found["dropped"][:REASONS]:
        click.echo(f"  not kept: {row['n']:,} {row['kind']}: {row['reason']}")
    for row in found["failed"][:20]:
        names = ", ".join(printable(uri) for uri in row["documents"][:3]) + (" …" if len(row["documents"]) > 3 else "")
        click.echo(f"Failed: window {row['id']} ({names}): {printable(row['error'])}")
    if found["failed"]:
        click.echo("Ask again with: llm graphrag extract --retry-failed (what was replied: status --json)")


@click.command()
@database_option
@json_option
@errors_in_one_line
def check(database: Path, as_json: bool) -> None:
    """Verify every invariant of the file; exit status 1 if anything is wrong.

    Spans equal text, quotes stand where they should, facts equal their evidence,
    nothing is orphaned, full text and counters are in step.

    \b
    Examples:
      llm graphrag check
      llm graphrag check --json -d work.db
    """
    writable = os.access(database, os.W_OK) and os.access(database.resolve().parent, os.W_OK)
    with open_knowledge_base(database, readonly=not writable) as kb:
        problems = kb.check()
    if as_json:
        rows = [{"table": p.table, "row": p.row, "message": p.message} for p in problems]
        print_json(rows)
    else:
        for problem in problems:
            row = "" if problem.row is None else f" {problem.row}"
            click.echo(f"{problem.table}{row}: {printable(problem.message)}")
        click.echo(f"{counted(len(problems), 'problem')}." if problems else "All is well.")
    sys.exit(1 if problems else 0)


@click.command()
@database_option
@errors_in_one_line
def rebuild(database: Path) -> None:
    """Drop every derived table and make it anew; no model is asked, nothing paid for is lost.

    \b
    Examples:
      llm graphrag rebuild
      llm graphrag rebuild -d work.db
    """
    with open_knowledge_base(database, readonly=False) as kb:
        kb.rebuild()
    click.echo("Rebuilt.")
