"""What all commands share that decide over the schema: who and why, progress, and vectors for what is new."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from ..knowledge_base import KnowledgeBase
from .options import ProgressLine, database_option, errors_in_one_line, json_option

F = TypeVar("F", bound=Callable[..., Any])


def user_name() -> str:
    """Who is at the keyboard; a container may know no name."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return f"user {os.getuid()}"


def decision_options(command: F) -> F:
    """What all decisions take: a note, who decides, which file."""
    for option in (
        errors_in_one_line,
        json_option,
        database_option,
        click.option("--actor", default=user_name, show_default="your user name", help="Who decides."),
        click.option("--note", default="", help="Why, for the log."),
    ):
        command = option(command)
    return command


@contextmanager
def progress_line() -> Iterator[ProgressLine]:
    """A line of progress while replies are read again."""
    line = ProgressLine()
    try:
        yield line
    finally:
        line.close()


def embed_names(kb: KnowledgeBase) -> None:
    """Give names that are new their vectors. The facts are in the file whatever becomes of this: it only warns."""
    from ..index.encoders import EncoderError

    if kb.settings.embedding_model:
        try:
            kb.embed()
        except EncoderError as error:
            click.echo(f"{error} The facts are stored; vectors follow at the next add.", err=True)
