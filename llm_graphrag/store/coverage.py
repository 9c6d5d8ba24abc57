"""What models have read and what became of it: for ``status``, and for pages."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

WINDOWS = "SELECT status, count(*) FROM kg_extractions GROUP BY status"

CHUNKS = """
  SELECT count(DISTINCT x.chunk) FROM kg_extraction_chunks x JOIN kg_extractions e ON e.id = x.extraction
  WHERE e.status = 'done' AND x.chunk IS NOT NULL"""

KEPT = "SELECT count(*) FROM kg_evidence WHERE origin = 'llm'"

DROPPED = """
  SELECT json_extract(i.value, '$.kind') AS kind, json_extract(i.value, '$.reason') AS reason, count(*) AS n
  FROM kg_extractions e CROSS JOIN json_each(e.dropped) i WHERE e.status = 'done'
  GROUP BY 1, 2 ORDER BY n DESC, 1, 2"""

FAILED = """
  SELECT e.id, e.model, e.error, e.reply, e.attempts, e.finished,
    (SELECT json_group_array(uri) FROM (
       SELECT DISTINCT d.uri FROM kg_extraction_chunks x JOIN kg_chunks c ON c.id = x.chunk
       JOIN kg_documents d ON d.id = c.document WHERE x.extraction = e.id ORDER BY x.number)) AS documents
  FROM kg_extractions e WHERE e.status = 'failed' ORDER BY e.id"""


def coverage(connection: sqlite3.Connection) -> dict[str, Any]:
    """Windows by status, chunks that were read, what was dropped by kind and reason, and the windows that failed."""
    failed = [dict(row) for row in connection.execute(FAILED)]
    for row in failed:
        row["documents"] = json.loads(row["documents"])
    return {
        "windows": dict(connection.execute(WINDOWS).fetchall()),
        "chunks": connection.execute(CHUNKS).fetchone()[0],
        "statements": connection.execute(KEPT).fetchone()[0],
        "dropped": [dict(row) for row in connection.execute(DROPPED)],
        "failed": failed,
    }
