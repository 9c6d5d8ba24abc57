"""What imported files call the things that have ids or IRIs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

__all__ = ["Called", "called", "called_so"]

Called = tuple[str, str, str]
"""An id or IRI, and the name and the type that a file gives it."""


def called(connection: sqlite3.Connection, kind: str, ids: Collection[str]) -> list[tuple[str, str, str, int]]:
    """What things with these ids, which are of a kind (``id`` or ``iri``), are called and of which type, by document.

    Names with a type come first, then those of the oldest document.
    """
    return [tuple(row) for row in connection.execute(OF_IDS, {"kind": kind, "asked": _json(ids)})]


def called_so(
    connection: sqlite3.Connection, kinds: Collection[str], keys: Collection[str], document: int | None
) -> list[Called]:
    """The things with ids of these kinds to which other documents than ``document`` give names with these keys."""
    asked = {"kinds": _json(kinds), "asked": _json(keys), "but": document}
    return [tuple(row) for row in connection.execute(OF_KEYS, asked)]


def _json(values: Collection[str]) -> str:
    return json.dumps(sorted(values), ensure_ascii=False)


OF_IDS = """
  SELECT DISTINCT a.value, v.head, v.head_type, c.document FROM json_each(:asked) w
  CROSS JOIN kg_attributes a ON a.attribute = :kind AND a.value = w.value
  CROSS JOIN kg_evidence v ON v.attribute = a.id CROSS JOIN kg_chunks c ON c.id = v.chunk
  WHERE v.origin = 'import' ORDER BY a.value, v.head_type = '', c.document, v.id"""

OF_KEYS = """
  SELECT DISTINCT a.value, v.head, v.head_type FROM json_each(:asked) w
  CROSS JOIN kg_entities e ON e.key = w.value
  CROSS JOIN kg_attributes a ON a.entity = coalesce(e.merged_into, e.id)
    AND a.attribute IN (SELECT value FROM json_each(:kinds))
  CROSS JOIN kg_evidence v ON v.attribute = a.id AND v.head_key = w.value CROSS JOIN kg_chunks c ON c.id = v.chunk
  WHERE v.origin = 'import' AND c.document IS NOT :but
  ORDER BY 1, 2, 3"""
