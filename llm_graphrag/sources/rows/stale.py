"""Rows that are no longer as they were read, and sources that have changed since.

A fingerprint answers for most: a file with the same bytes (a database with the same
counters) holds the same rows. Only where it differs are the rows read again, so that a
changed row is told from its unchanged neighbours.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator

from ..files import real_path
from .feed import Feed, Remarks, UnreadableError
from .open import KINDS, open_feed

CHANGED = "its row has changed since it was read"
GONE = "its row is gone"
UNREADABLE = "its source cannot be read any more"


def stale_rows(connection: sqlite3.Connection, wanted: Collection[int] | None) -> dict[int, str]:
    """Document id → reason, for those (of ``wanted``, or of all) whose row is not as it was read."""
    found: dict[int, str] = {}
    for source, options, feed in _changed(connection):
        rows = connection.execute("SELECT id, path, content_hash FROM kg_documents WHERE source = ?", [source])
        asked = [row for row in rows if wanted is None or row[0] in wanted]
        if not asked:
            continue
        now = _hashes(feed, options)
        for id_, path, digest in asked:
            if now is None:
                found[id_] = UNREADABLE
            elif now.get(path) != digest:
                found[id_] = CHANGED if path in now else GONE
    return found


def changed_sources(connection: sqlite3.Connection) -> list[str]:
    """Names of sources of rows that may have rows which were never read."""
    names = dict(connection.execute("SELECT id, name FROM kg_sources").fetchall())
    return [names[source] for source, options, _ in _changed(connection) if "fingerprint" in options]


def _changed(connection: sqlite3.Connection) -> Iterator[tuple[int, dict[str, str], Feed | None]]:
    """Sources whose fingerprint differs; None in place of a feed that cannot be opened.

    A file whose folder is not on this machine is elsewhere, not gone.
    """
    marks = ", ".join("?" * len(KINDS))
    rows = connection.execute(
        f"SELECT id, kind, options FROM kg_sources WHERE kind IN ({marks}) ORDER BY name",  # noqa: S608
        KINDS,
    ).fetchall()
    for id_, kind, stored in rows:
        options = json.loads(stored)
        if not real_path(options["file"]).parent.is_dir():
            continue
        try:
            feed: Feed | None = open_feed(kind, options)
        except (OSError, ValueError):
            feed = None
        if feed is None or feed.fingerprint() != options.get("fingerprint"):
            yield id_, options, feed


def _hashes(feed: Feed | None, options: dict[str, str]) -> dict[str, str] | None:
    """Content hashes by path; empty if the file is gone, None if it cannot be read."""
    if not real_path(options["file"]).exists():
        return {}
    if feed is None:
        return None
    try:
        return {item.path: item.content_hash for item in feed.read(Remarks(feed.name))}
    except (UnreadableError, ValueError):
        return None
