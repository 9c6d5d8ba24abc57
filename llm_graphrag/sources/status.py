"""What ``llm graphrag status`` shows: what the file holds, where it came from, what is stale or was skipped."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from ..store import schema
from ..store.coverage import coverage
from .files import real_path
from .rows.stale import changed_sources
from .stale import stale
from .totals import totals


def status_of(connection: sqlite3.Connection) -> dict[str, Any]:
    """Everything that ``llm graphrag status`` shows."""
    late = stale(connection)
    rows = connection.execute(DOCUMENTS) if late else ()
    documents = {id_: (uri, real_path(file) if kind == "import" else None) for id_, uri, kind, file in rows}
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
            *(_stale(*documents[id_], reason) for id_, reason in late.items()),
            *({"path": name, "reason": "the source has changed since it was read"} for name in changed),
        ],
        "extraction": coverage(connection),
        "unscanned": connection.execute("SELECT count(*) FROM kg_documents WHERE scanned = 0").fetchone()[0],
    }


DOCUMENTS = """
  SELECT d.id, d.uri, s.kind, s.root FROM kg_documents d JOIN kg_sources s ON s.id = d.source"""


def _stale(uri: str, file: Path | None, reason: str) -> dict[str, str]:
    """A document that is not as it was read; of an imported file with where that is."""
    return {"path": uri, "reason": reason} | ({"import": str(file)} if file else {})
