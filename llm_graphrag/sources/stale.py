"""What on disk is no longer what was read: changed files, missing files. Imported by every question: kept light."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable

from .files import real_path

CHANGED = "changed on disk since it was read"
GONE = "its file is gone"


def stale(connection: sqlite3.Connection, documents: Iterable[int] | None = None) -> dict[int, str]:
    """Document id → reason, for those (of ``documents``, or of all) whose file is not as it was read.

    A whole source whose folder is not on this machine is not looked at: its notes
    are elsewhere, not gone.
    """
    asked = None if documents is None else set(documents)
    wanted = None if asked is None else json.dumps(sorted(asked))
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
    found |= _imports(connection, wanted)
    if connection.execute(HAS_ROWS, {"wanted": wanted}).fetchone():
        from .rows.stale import stale_rows

        found |= stale_rows(connection, asked)
    return found


def _imports(connection: sqlite3.Connection, wanted: str | None) -> dict[int, str]:
    """Imported files that are no longer what was read. One of the same size and time is not read for that."""
    found: dict[int, str] = {}
    for id_, digest, file, size, mtime in connection.execute(IMPORTS, {"wanted": wanted}):
        path = real_path(file)
        if not path.parent.is_dir():
            continue
        try:
            stat = path.stat()
            same = (stat.st_size, stat.st_mtime_ns) == (size, mtime)
            if not same and hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                found[id_] = CHANGED
        except OSError:
            found[id_] = GONE
    return found


IMPORTS = """
  SELECT d.id, d.content_hash, s.root, json_extract(s.options, '$.size'), json_extract(s.options, '$.mtime')
  FROM kg_documents d JOIN kg_sources s ON s.id = d.source
  WHERE s.kind = 'import' AND (:wanted IS NULL OR d.id IN (SELECT value FROM json_each(:wanted)))"""

HAS_ROWS = """
  SELECT 1 FROM kg_documents d JOIN kg_sources s ON s.id = d.source
  WHERE s.kind NOT IN ('folder', 'text', 'import')
    AND (:wanted IS NULL OR d.id IN (SELECT value FROM json_each(:wanted))) LIMIT 1"""
