"""What a new schema does to what models have said already: their replies are kept, and read again for free.

Not all of them: only what was written with a word that means something else now. Which windows those are is
written down in the transaction that changes the schema, so that a crash in between leaves nothing unread: the next
decision or run does it. What is read again is read under the schema of that moment, whoever does it.
"""

from __future__ import annotations

import sqlite3

from ..extract.extract import Replayed, replay
from ..facts.proposals import Gate
from ..facts.schema_edit import changed_words, squeezed
from ..facts.template import Template
from ..settings import Settings
from ..sources.ingest import silent
from ..sources.writer import Progress
from ..store import extractions, proposals, schema
from ..store.connection import transaction
from ..store.settings import get_setting, put_setting
from .nearest import nearest

__all__ = ["REVALIDATE", "affected", "facts", "gate_of", "put_off", "recount", "revalidate"]

REVALIDATE = "review.reread"  # setting: window → schema version since which its reply waits to be read again
NEAREST = "review.nearest"  # setting: the schema version for which nearest types are known


def affected(connection: sqlite3.Connection, before: Template, after: Template) -> list[int]:
    """The windows whose replies may read differently: they hold a word that one schema reads otherwise."""
    words = changed_words(before, after)
    found = []
    for extraction in extractions.with_replies(connection) if words else ():
        row = extractions.reply(connection, extraction)
        text = squeezed(row["reply"]) if row else ""
        if any(word in text for word in words):
            found.append(extraction)
    return found


def put_off(connection: sqlite3.Connection, before: Template, after: Template) -> None:
    """Remember what has to be read again because the schema has changed; belongs to the transaction that changes it."""
    version, waiting = schema.version(connection), get_setting(connection, REVALIDATE, {})
    windows = {str(extraction): version for extraction in affected(connection, before, after)}
    if windows:
        put_setting(connection, REVALIDATE, waiting | windows)


def revalidate(connection: sqlite3.Connection, settings: Settings, progress: Progress = silent) -> Replayed:
    """Read the replies that wait for it under the schema of today, and weigh all proposals anew."""
    waiting: dict[str, int] = get_setting(connection, REVALIDATE, {})
    windows = [int(window) for window in waiting]
    done = replay(connection, settings, progress, windows) if windows else Replayed()
    with transaction(connection):
        now: dict[str, int] = get_setting(connection, REVALIDATE, {})
        left = {window: version for window, version in now.items() if waiting.get(window) != version}
        if left != now:
            put_setting(connection, REVALIDATE, left)
        recount(connection, settings)
    return done


def recount(connection: sqlite3.Connection, settings: Settings) -> None:
    """Weigh all proposals by their evidence as it is now, and find the nearest type of those that are undecided."""
    with transaction(connection):
        undecided = proposals.recount(connection, gate_of(settings))
        version = schema.version(connection)
        changed = schema.changed_since(connection, get_setting(connection, NEAREST, 0))
        for proposal, type_, similarity in nearest(connection, undecided, changed):
            proposals.put_nearest(connection, proposal, type_, similarity)
        if undecided:
            put_setting(connection, NEAREST, version)


def gate_of(settings: Settings) -> Gate:
    """The limits of this file."""
    return Gate(settings.min_confidence, settings.min_support)


def facts(connection: sqlite3.Connection) -> int:
    """How many facts there are."""
    return int(
        connection.execute(
            "SELECT (SELECT count(*) FROM kg_triples) + (SELECT count(*) FROM kg_attributes)"
        ).fetchone()[0]
    )
