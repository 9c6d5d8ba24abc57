"""What all commands share: which file, how errors are said, how progress is shown."""

from __future__ import annotations

import functools
import io
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from ..knowledge_base import KnowledgeBase
from ..routes.scope import ScopeError

F = TypeVar("F", bound=Callable[..., Any])

ENVIRONMENT = "LLM_GRAPHRAG_DB"
EXIT_SKIPPED = 3  # done, with items that were skipped
EXIT_BUDGET = 4
EXIT_INTERRUPTED = 130


def default_path() -> Path:
    """$LLM_GRAPHRAG_DB, else graphrag.db in llm's user directory."""
    named = os.environ.get(ENVIRONMENT)
    return Path(named).expanduser() if named else user_folder() / "graphrag.db"


def user_folder() -> Path:
    """Where llm keeps its files."""
    import llm

    return Path(llm.user_dir())


def database_option(command: F) -> F:
    """Adds ``-d/--database``; the command gets ``database``, a Path."""
    option = click.option(
        "-d",
        "--database",
        type=click.Path(dir_okay=False, path_type=Path),
        default=default_path,
        show_default="$LLM_GRAPHRAG_DB, else graphrag.db in llm's user directory",
        help="The knowledge base file.",
    )
    return option(command)


def json_option(command: F) -> F:
    """Adds ``--json``; the command gets ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def open_knowledge_base(path: Path, *, readonly: bool = True, create: bool = False) -> KnowledgeBase:
    """Open the file, or say in one line why not."""
    try:
        return KnowledgeBase.open(path, readonly=readonly, create=create)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error


def refuse(why: str, *parameters: str) -> None:
    """Raise UsageError if one of these parameters was given, since it does nothing here; ``why`` follows its name."""
    context = click.get_current_context()
    written = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in parameters:
        if context.get_parameter_source(name) in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
            raise click.UsageError(f"{written[name]} {why}")


def print_json(value: object) -> None:
    """Print JSON; what a terminal would obey, or cannot write because it is not UTF-8, is escaped as JSON does it."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not unicode, indent=2)
    click.echo("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def _decoded(value: Any) -> Any:
    """An argument as UTF-8: in a locale that is not, Python leaves its bytes as lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return tuple(map(_decoded, value)) if isinstance(value, tuple) else value


def _escape_what_cannot_be_printed() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def errors_in_one_line(command: F) -> F:
    """Errors that a user can cause become one line, with ``--json`` an object too; bugs keep their traceback.

    Text goes in and out in every locale: arguments are UTF-8, what cannot be printed is escaped.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        _escape_what_cannot_be_printed()
        try:
            return in_one_line(*args, **{name: _decoded(value) for name, value in kwargs.items()})
        except click.ClickException as error:
            if kwargs.get("as_json"):
                print_json({"error": error.format_message()})
            raise

    def in_one_line(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except ScopeError as error:
            raise click.UsageError(str(error)) from error
        except (ValueError, FileNotFoundError, PermissionError) as error:
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            sys.exit(EXIT_INTERRUPTED)
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                message = "The knowledge base is being written by another process. Try again when it has finished."
            elif "disk" in str(error) or "readonly" in str(error) or "unable to open" in str(error):
                message = (
                    f"The knowledge base cannot be written: {error}. Is the file still there, and the disk not full?"
                )
            else:
                raise
            raise click.ClickException(message) from error
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise
            raise click.ClickException(f"The knowledge base cannot be read: {error}") from error

    return run  # type: ignore[return-value]


class ProgressLine:
    """One line on standard error that is rewritten; nothing if that is no terminal or work is short."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()
        self.began = self.last = time.monotonic()
        self.width = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self.shown or now - self.began < 1 or now - self.last < 0.1:
            return
        self.last = now
        line = f"{stage}: {done:,} of {total:,}"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def close(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
