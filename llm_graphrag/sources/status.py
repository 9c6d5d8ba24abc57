"""What ``llm graphrag status`` shows: what the file holds, where it came from, what is stale or was skipped."""

from __future__ import annotations

import sqlite3
from typing import Any

from ..store import schema
from ..store.coverage import coverage
from .rows.stale import changed_sources
from .stale import stale
from .totals import totals


def status_of(connection: sqlite3.Connection) -> dict[str, Any]:
    """Everything that ``llm graphrag status`` shows."""
    late = stale(connection)
    uris = dict(connection.execute("SELECT id, uri FROM kg_documents").fetchall()) if late else {}
    changed = changed_sources(connection)
    sources = connection.execute(
        """SELECT s.name, s.kind, s.root, s.dialect,
             (SELECT count(*) FROM kg_documents d WHERE d.source = s.id) AS documents
           FROM kg_sources s ORDER BY s.name"""
    )
    skipped = connection.execute(
        """SELECT s.name || '/' || k.path AS path, k.reason
           FROM kg_skipped k JOIN kg_sources s ON s.id = k.source ORDER BY 1"""
    )
    return {
        "totals": totals(connection),
        "schema": schema.current(connection).name,
        "schema_version": schema.version(connection),
        "sources": [dict(row) for row in sources],
        "skipped": [dict(row) for row in skipped],
        "stale": [
            *({"path": uris[id_], "reason": reason} for id_, reason in late.items()),
            *({"path": name, "reason": "the source has changed since it was read"} for name in changed),
        ],
        "extraction": coverage(connection),
        "unscanned": connection.execute("SELECT count(*) FROM kg_documents WHERE scanned = 0").fetchone()[0],
    }
