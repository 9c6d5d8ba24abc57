"""The result of a query on a terminal, as CSV or as JSON, and what can be queried.

On a terminal every cell goes through ``routes.snippets.visible``, and a long one is cut. CSV
and JSON have all of it; what a terminal would obey is escaped in JSON, and taken out of CSV
where that is printed on a terminal.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..text.counted import counted

if TYPE_CHECKING:
    from ..answer.written_query import Attempt, Written
    from ..store.query import Rows
    from ..store.vocabulary import Vocabulary, Word

__all__ = ["print_csv", "print_json", "print_rows", "print_schema", "print_written"]

WIDEST = 60  # characters of a cell on a terminal


def print_rows(rows: Rows) -> None:
    """A table with aligned columns."""
    from ..routes.snippets import visible

    shown = [[_short(visible(_text(cell))) for cell in row] for row in rows.rows]
    heads = [_short(visible(column)) for column in rows.columns]
    widths = [max(map(len, column)) for column in zip(heads, *shown, strict=True)]
    click.echo(click.style(_line(heads, widths), bold=True))
    for row in shown:
        click.echo(_line(row, widths))
    click.echo(_said(rows), err=True)


def print_csv(rows: Rows) -> None:
    """One line of names, then the rows."""
    from ..routes.snippets import visible

    cleaned = visible if sys.stdout.isatty() else str
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([cleaned(column) for column in rows.columns])
    writer.writerows([cleaned(_text(cell)) for cell in row] for row in rows.rows)
    click.echo(text.getvalue(), nl=False, color=True)  # a file gets every character
    if rows.truncated:
        click.echo(_said(rows), err=True)


def print_json(value: object) -> None:
    from .search import dump

    click.echo(dump(value, indent=2))


def print_written(written: Written, as_csv: bool, as_json: bool) -> None:
    """The queries that a model wrote, the rows of the one that counts, and what they say in words."""
    from ..graph.row_text import row_text
    from ..routes.snippets import visible

    rows = written.rows
    sentences = [row_text(rows.columns, row) for row in rows.rows] if rows is not None else []
    if as_json:
        print_json(asdict(written) | {"sentences": sentences})
    else:
        for attempt in written.attempts:
            _print_attempt(attempt, as_csv)
        if rows is not None and as_csv:
            print_csv(rows)
        elif rows is not None:
            print_rows(rows)
            for sentence in sentences:
                click.echo(f"  {visible(sentence)}")
        click.echo(_cost(written), err=True)
    if written.trouble is not None:
        click.echo(f"The query could not be mended: {visible(written.trouble.message)}", err=True)
    if rows is None:
        click.echo("Error: The model wrote no query that can be run. Ask in other words, or another model.", err=True)


def print_schema(words: Vocabulary, as_json: bool) -> None:
    """Tables and views with their columns, then the words in use."""
    from ..store.queryable import FUNCTIONS, RELATIONS

    if as_json:
        tables = {name: {"what": table.what, "columns": list(table.columns)} for name, table in RELATIONS.items()}
        print_json({"tables": tables, "functions": sorted(FUNCTIONS), **asdict(words)})
        return
    click.echo(click.style("Tables and views", bold=True))
    for name, table in RELATIONS.items():
        click.echo(f"  {click.style(name, fg='cyan')}({', '.join(table.columns)})\n      {table.what}")
    for title, of in (("Types", words.types), ("Relations", words.relations), ("Attributes", words.attributes)):
        if of:
            click.echo(click.style(title, bold=True))
            for word in of:
                click.echo(f"  {_word(word)}")
    click.echo(click.style("Functions", bold=True))
    click.echo(click.wrap_text(" ".join(sorted(FUNCTIONS)), 100, "  ", "  "))


def _word(word: Word) -> str:
    from ..routes.snippets import visible

    example = f"  {_short(visible(word.head))} → {_short(visible(word.tail or ''))}" if word.head is not None else ""
    return f"{visible(word.name)}  {word.count:,}{example}"


def _print_attempt(attempt: Attempt, apart: bool) -> None:
    """A query that was tried; ``apart`` from the rows, which are for another program."""
    from ..routes.snippets import visible

    click.echo(click.style(visible(attempt.query), fg="cyan") if attempt.query else "(no query)", err=apart)
    if attempt.error:
        click.echo(click.style(f"  {visible(attempt.error)}", fg="yellow"), err=True)


def _cost(written: Written) -> str:
    from ..routes.snippets import visible

    usage = written.usage
    cost = f"${usage.cost:.4f}" if usage.cost is not None else "price not known"
    calls = counted(usage.calls, "call")
    return f"{visible(written.model)}: {calls}, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}."


def _said(rows: Rows) -> str:
    count = counted(len(rows.rows), "row")
    more = {
        "rows": "; there are more: --limit",
        "bytes": "; there are more, which would be too long: select fewer columns, or shorter ones",
    }
    return f"{count} in {rows.seconds:.2f} s{more.get(rows.truncated, '')}."


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
