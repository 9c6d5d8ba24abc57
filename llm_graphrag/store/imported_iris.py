"""What imported files call things by: IRIs, which mean the same in every file, as names and types."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

__all__ = ["Called", "called", "called_so"]

Called = tuple[str, str, str]
"""An IRI, and the name and the type that a file gives it."""


def called(connection: sqlite3.Connection, iris: Collection[str], document: int | None) -> dict[str, Called]:
    """What other documents than ``document`` call these IRIs: the oldest one counts, and a type before none."""
    found: dict[str, Called] = {}
    for iri, name, type_ in connection.execute(OF_IRIS, {"asked": _json(iris), "but": document}):
        found.setdefault(iri, (iri, name, type_))
    return found


def called_so(connection: sqlite3.Connection, keys: Collection[str], document: int | None) -> list[Called]:
    """The IRIs to which other documents than ``document`` give names with these keys."""
    return [tuple(row) for row in connection.execute(OF_KEYS, {"asked": _json(keys), "but": document})]


def _json(values: Collection[str]) -> str:
    return json.dumps(sorted(values), ensure_ascii=False)


OF_IRIS = """
  SELECT a.value, v.head, v.head_type FROM json_each(:asked) w
  CROSS JOIN kg_attributes a ON a.attribute = 'iri' AND a.value = w.value
  CROSS JOIN kg_evidence v ON v.attribute = a.id CROSS JOIN kg_chunks c ON c.id = v.chunk
  WHERE v.origin = 'import' AND c.document IS NOT :but
  ORDER BY a.value, v.head_type = '', c.document, v.id"""

OF_KEYS = """
  SELECT DISTINCT a.value, v.head, v.head_type FROM json_each(:asked) w
  CROSS JOIN kg_entities e ON e.key = w.value
  CROSS JOIN kg_attributes a ON a.entity = coalesce(e.merged_into, e.id) AND a.attribute = 'iri'
  CROSS JOIN kg_evidence v ON v.attribute = a.id AND v.head_key = w.value CROSS JOIN kg_chunks c ON c.id = v.chunk
  WHERE v.origin = 'import' AND c.document IS NOT :but
  ORDER BY 1, 2, 3"""
