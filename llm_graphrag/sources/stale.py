"""What on disk is no longer what was read: changed files, missing files; and the status of a file as a whole."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from ..store import schema
from .files import real_path
from .ingest import totals

CHANGED = "changed on disk since it was read"
GONE = "its file is gone"


def stale(connection: sqlite3.Connection, documents: Iterable[int] | None = None) -> dict[int, str]:
    """Document id → reason, for those (of ``documents``, or of all) whose file is not as it was read.

    A whole source whose folder is not on this machine is not looked at: its notes
    are elsewhere, not gone.
    """
    wanted = None if documents is None else json.dumps(sorted(set(documents)))
    rows = connection.execute(
        """SELECT d.id, d.path, d.content_hash, s.root FROM kg_documents d JOIN kg_sources s ON s.id = d.source
           WHERE s.kind = 'folder' AND (:wanted IS NULL OR d.id IN (SELECT value FROM json_each(:wanted)))""",
        {"wanted": wanted},
    )
    present: dict[str, bool] = {}
    found: dict[int, str] = {}
    for id_, path, digest, root in rows:
        if not present.setdefault(root, real_path(root).is_dir()):
            continue
        try:
            data = real_path(f"{root}/{path}").read_bytes()
        except OSError:
            found[id_] = GONE
            continue
        if hashlib.sha256(data).hexdigest() != digest:
            found[id_] = CHANGED
    return found


def status_of(connection: sqlite3.Connection) -> dict[str, Any]:
    """Everything that ``llm graphrag status`` shows."""
    late = stale(connection)
    uris = dict(connection.execute("SELECT id, uri FROM kg_documents").fetchall()) if late else {}
    sources = connection.execute(
        """SELECT s.name, s.kind, s.root, s.dialect,
             (SELECT count(*) FROM kg_documents d WHERE d.source = s.id) AS documents
           FROM kg_sources s ORDER BY s.name"""
    )
    skipped = connection.execute(
        "SELECT s.name || '/' || k.path AS path, k.reason FROM kg_skipped k JOIN kg_sources s ON s.id = k.source ORDER BY 1"
    )
    return {
        "totals": totals(connection),
        "schema": schema.current(connection).name,
        "schema_version": schema.version(connection),
        "sources": [dict(row) for row in sources],
        "skipped": [dict(row) for row in skipped],
        "stale": [{"path": uris[id_], "reason": reason} for id_, reason in late.items()],
        "unscanned": connection.execute("SELECT count(*) FROM kg_documents WHERE scanned = 0").fetchone()[0],
    }
