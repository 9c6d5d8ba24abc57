"""``llm graphrag add``: read notes, files, rows and conversations."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ..knowledge_base import KnowledgeBase
from ..sources.add import OptionError
from ..sources.dialects import DIALECTS
from ..sources.files import printable
from ..sources.ingest import Options
from ..sources.report import Remark, Report
from ..sources.rows.open import RowOptions
from ..text.counted import held
from .options import (
    EXIT_SKIPPED,
    ProgressLine,
    database_option,
    errors_in_one_line,
    json_option,
    open_knowledge_base,
    print_json,
    refuse,
)
from .row_options import SOURCE, row_options

FOR_FILES = ("prune", "follow", "ignore", "table", "where", "sql", "title", "text", "key", "encoding")
SHOWN = 10  # remarks of a kind that are printed; --verbose prints all


@click.command()
@click.argument("paths", nargs=-1, required=True, type=SOURCE)
@database_option
@click.option("--dialect", type=click.Choice(sorted(DIALECTS)), help="How links are written; found out if not given.")
@click.option("--prune", is_flag=True, help="Remove documents whose files or rows are gone.")
@click.option("--dry-run", is_flag=True, help="List what would be done, and write nothing.")
@click.option("--follow", is_flag=True, help="Follow links that lead out of the folder.")
@click.option(
    "--private/--not-private",
    default=None,
    help="Mark every document as private, so that it is not published, or as not; as it was if not given.",
)
@click.option("--ignore", multiple=True, metavar="PATTERN", help="Leave out what matches (gitignore syntax).")
@click.option("--name", default="stdin.md", show_default=True, help="Name of the text that comes through -.")
@click.option("-v", "--verbose", is_flag=True, help="Print every warning and every skipped file.")
@json_option
@errors_in_one_line
@row_options
def add(
    paths: tuple[Path | str, ...],
    rows: RowOptions,
    database: Path,
    dialect: str | None,
    prune: bool,
    dry_run: bool,
    follow: bool,
    private: bool | None,
    ignore: tuple[str, ...],
    name: str,
    verbose: bool,
    as_json: bool,
) -> None:
    """Read notes, files, tables and conversations.

    PATHS are folders and files, - for standard input, or llm-logs for the
    conversations in llm's own log. Adding is a sync: a note that has not changed
    costs nothing, a changed note is read again, a renamed one keeps its identity.
    A note whose file is gone stays until you add with --prune. Vaults of Obsidian,
    Logseq, Foam and Dendron are recognised; Markdown, text and HTML are read, PDF
    and Word files with the extra "files". Hidden folders, the vault's own templates
    and what .graphragignore names are left out.

    Of a CSV, JSON, JSON Lines or SQLite file that you name, every row becomes a
    document. Options that are not given are as they were when it was added before.

    \b
    Examples:
      llm graphrag add ~/notes
      llm graphrag add ~/notes --prune --dry-run
      llm graphrag add diary.md report.pdf essays/ -d writing.db
      llm graphrag add contacts.csv --title Name --text Notes --key E-mail
      llm graphrag add data.db --table notes --text body --where "year > 2020"
      llm graphrag add data.db --sql "select id, title, body from notes"
      llm graphrag add llm-logs
      pbpaste | llm graphrag add - --name clipping.md
      llm install 'llm-graphrag[files]'
    """
    if "-" in map(str, paths):
        refuse("is for folders and files, and does nothing with -", *FOR_FILES)
    else:
        refuse("names what comes through -, and nothing does", "name")
    options = Options(dialect, prune, dry_run, follow, private, ignore, workers=max(0, (os.cpu_count() or 1) - 1))
    progress = ProgressLine()
    with _open(database, dry_run) as kb:
        try:
            report = _add(kb, paths, name, options, rows, progress)
        finally:
            progress.close()
    _print(report, dry_run, verbose, as_json)
    if report.skipped:
        sys.exit(EXIT_SKIPPED)


def _open(database: Path, dry_run: bool) -> KnowledgeBase:
    """The file; a dry run of a file that is not there yet works on one in memory."""
    if dry_run and not database.exists():
        return KnowledgeBase.in_memory()
    return open_knowledge_base(database, readonly=False, create=True)


def _add(
    kb: KnowledgeBase,
    paths: tuple[Path | str, ...],
    name: str,
    options: Options,
    rows: RowOptions,
    progress: ProgressLine,
) -> Report:
    if "-" in map(str, paths):
        if len(paths) > 1:
            raise click.UsageError("- stands alone: add folders and files with a command of their own")
        return kb.add_text(sys.stdin.buffer.read(), name, options)
    try:
        return kb.add(paths, options, progress, rows)
    except OptionError as error:
        raise click.UsageError(str(error)) from error


def _print(report: Report, dry_run: bool, verbose: bool, as_json: bool) -> None:
    if as_json:
        print_json(report.as_dict())
        return
    for action, path in report.planned:
        click.echo(f"{action:8} {printable(path)}")
    for split in report.splits if verbose else ():
        values = printable(" | ".join(split.values))
        click.echo(f"splits   {printable(split.path)}:{split.line}: {printable(split.key)}: {values}")
    numbers = {
        "new": report.new,
        "changed": report.changed,
        "renamed": report.renamed,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "skipped": len(report.skipped),
    }
    parts = [f"{number:,} {word}" for word, number in numbers.items() if number]
    click.echo(("Would be: " if dry_run else "Notes: ") + (", ".join(parts) or "none"))
    _remarks("Skipped", report.skipped, verbose)
    _remarks("Warning", report.warnings, verbose)
    if report.gone:
        click.echo(f"{len(report.gone):,} no longer there; --prune removes them:", err=True)
        _remarks("Gone", [Remark(uri, "its file, or row, is gone") for uri in report.gone], verbose)
    if report.totals:
        click.echo(f"The knowledge base holds {held(report.totals)}.")


def _remarks(word: str, remarks: list[Remark], verbose: bool) -> None:
    shown = remarks if verbose else remarks[:SHOWN]
    for remark in shown:
        place = printable(remark.path) + (f":{remark.line}" if remark.line else "")
        click.echo(f"{word}: {place}: {printable(remark.message)}", err=True)
    if len(shown) < len(remarks):
        click.echo(f"… and {len(remarks) - len(shown):,} more; -v prints all", err=True)
