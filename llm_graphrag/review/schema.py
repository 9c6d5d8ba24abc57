"""Changing the schema by hand: a new version with its actor, then what models have said is read again under it.

Links and properties of notes follow when notes are next added, which reads the files.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..extract.extract import Replayed
from ..facts.schema_edit import find
from ..facts.template import Template
from ..settings import Settings
from ..sources.ingest import silent, utc_now
from ..sources.writer import Progress
from ..store import proposals, schema
from ..store.connection import transaction
from .change import has_actor
from .revalidate import facts, put_off, revalidate

__all__ = ["Changed", "edit", "revert", "use"]


@dataclass(slots=True)
class Changed:
    """What a change did. ``facts`` is how many more there are than before, negative if there are fewer."""

    version: int
    diff: dict[str, Any]
    replayed: Replayed = field(default_factory=Replayed)
    facts: int = 0
    doubts: tuple[str, ...] = ()  # what is not known for sure of the version that was gone back to

    @property
    def any(self) -> bool:
        """Whether the schema is another now."""
        return any(self.diff.values())


def use(
    connection: sqlite3.Connection,
    settings: Settings,
    template: Template,
    actor: str,
    note: str = "",
    progress: Progress = silent,
) -> Changed:
    """Make a template the schema. Raises TemplateError if it cannot be one, ReviewError without an actor."""
    return edit(connection, settings, lambda before: template, actor, note, "template", progress)


def edit(
    connection: sqlite3.Connection,
    settings: Settings,
    change: Callable[[Template], Template],
    actor: str,
    note: str = "",
    origin: str = "user",
    progress: Progress = silent,
) -> Changed:
    """Make what ``change`` (of facts/schema_edit.py) gives for the schema in force the schema.

    Raises TemplateError if there is no such change, ReviewError without an actor.
    """
    has_actor(actor)
    with transaction(connection):
        before = schema.current(connection)
        base = before if schema.version(connection) else Template(schema.UNNAMED, frontmatter=before.frontmatter)
        diff = schema.use(connection, change(base), actor, utc_now(), note, origin)
        put_off(connection, before, schema.current(connection))
        _ask_no_more(connection)
        version, number = schema.version(connection), facts(connection)
    replayed = revalidate(connection, settings, progress)
    return Changed(version, diff, replayed, facts(connection) - number)


def _ask_no_more(connection: sqlite3.Connection) -> None:
    """Nothing is asked about once more for the sake of a type that was approved and is no longer in the schema."""
    template = schema.current(connection)
    for proposal, kind, name in proposals.of_status(connection, "approved"):
        if find(template, kind, name) is None:
            proposals.ask_no_more(connection, proposal)


def revert(
    connection: sqlite3.Connection,
    settings: Settings,
    number: int,
    actor: str,
    note: str = "",
    progress: Progress = silent,
) -> Changed:
    """Make a version equal to an earlier one. Raises TemplateError if there is none of this number."""
    earlier = schema.at(connection, number)
    note = note or f"back to version {number}"
    done = edit(connection, settings, lambda before: earlier.template, actor, note, progress=progress)
    done.doubts = earlier.doubts
    return done
