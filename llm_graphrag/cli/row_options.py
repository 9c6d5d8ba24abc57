"""The options of ``add`` that are about rows, packed into one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..sources.rows.logs import NAME as LOGS
from ..sources.rows.open import RowOptions

F = TypeVar("F", bound=Callable[..., Any])


class Source(click.Path):
    """A path, or the word ``llm-logs``; a folder of that name is ``./llm-logs``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == LOGS else super().convert(value, param, ctx)


SOURCE = Source(path_type=Path, allow_dash=True)

OPTIONS = (
    click.option("--table", help="SQLite: the table or view to read."),
    click.option("--where", metavar="SQL", help="SQLite: only rows for which this is true."),
    click.option("--sql", metavar="SQL", help="SQLite: read the rows of this query."),
    click.option("--title", metavar="COLUMN", help="Rows: the column that is the title [title or name]."),
    click.option(
        "--text",
        multiple=True,
        metavar="COLUMN",
        help="Rows: a column that is text, more than once if need be [text, body, content or description].",
    ),
    click.option(
        "--key",
        multiple=True,
        metavar="COLUMN",
        help="Rows: the column by which a row is found again, or several [primary key, or id].",
    ),
    click.option("--encoding", help="CSV and JSON: the encoding, if it is not found out."),
    click.option("--logs", type=click.Path(path_type=Path), help="llm-logs: the log to read [that of llm]."),
)


def row_options(command: F) -> F:
    """Adds the options; the command gets ``rows``, a RowOptions."""

    @functools.wraps(command)
    def run(*args: Any, paths: tuple[Path | str, ...], logs: Path | None, **kwargs: Any) -> Any:
        if logs is not None and LOGS not in paths:
            raise click.UsageError(f"--logs goes with {LOGS}: llm graphrag add {LOGS} --logs {logs}")
        names = ("table", "where", "sql", "title", "encoding")
        said = {name: kwargs.pop(name) for name in names}
        lists = {name: kwargs.pop(name) or None for name in ("text", "key")}
        rows = RowOptions(**said, **lists, logs=(logs or _log_of_llm()) if LOGS in paths else None)
        return command(*args, paths=paths, rows=rows, **kwargs)

    decorated: Any = run
    for option in reversed(OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _log_of_llm() -> Path:
    from .options import user_folder

    return user_folder() / "logs.db"
