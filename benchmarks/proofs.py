"""What must hold of every statement of a model, counted with SQL alone, and what was dropped of its replies."""

from __future__ import annotations

import sqlite3

__all__ = ["DROPPED", "OUTSIDE", "proofs"]

DROPPED = """
  SELECT json_extract(d.value, '$.kind') AS kind, json_extract(d.value, '$.reason') AS reason, count(*)
  FROM kg_extractions e JOIN json_each(e.dropped) d GROUP BY kind, reason ORDER BY kind, count(*) DESC"""

OUTSIDE = "statements outside of the schema"

#: what must be 0, and the SQL that counts it
PROOFS = {
    "statements whose quote does not stand in their chunk, at their span": """
      SELECT count(*) FROM kg_evidence v LEFT JOIN kg_chunks c ON c.id = v.chunk
      WHERE v.origin = 'llm' AND (c.id IS NULL OR v.quote = '' OR instr(c.text, v.quote) = 0
        OR substr(c.text, v.start + 1, v.end - v.start) <> v.quote)""",
    OUTSIDE: """
      SELECT count(*) FROM kg_evidence v WHERE v.origin = 'llm' AND (
        v.kind <> 'alias' AND NOT EXISTS (SELECT 1 FROM kg_types t WHERE t.origin <> 'model'
          AND t.kind = CASE v.kind WHEN 'triple' THEN 'relation' WHEN 'type' THEN 'entity_type' ELSE v.kind END
          AND t.name = CASE v.kind WHEN 'type' THEN v.tail ELSE v.relation END)
        OR EXISTS (SELECT 1 FROM (SELECT v.head_type AS name UNION ALL SELECT v.tail_type) e WHERE e.name <> ''
          AND e.name NOT IN (SELECT name FROM kg_types WHERE kind = 'entity_type' AND origin <> 'model')))""",
    "triples whose ends are not of the domain and range": """
      SELECT count(*) FROM kg_evidence v JOIN kg_types t ON t.kind = 'relation' AND t.name = v.relation
      WHERE v.origin = 'llm' AND v.kind = 'triple' AND (
        v.head_type <> '' AND t.domain <> '[]' AND v.head_type NOT IN (SELECT value FROM json_each(t.domain))
        OR v.tail_type <> '' AND t.range <> '[]' AND v.tail_type NOT IN (SELECT value FROM json_each(t.range)))""",
}


def proofs(connection: sqlite3.Connection) -> dict[str, int]:
    """How many statements break each rule."""
    return {name: connection.execute(proof).fetchone()[0] for name, proof in PROOFS.items()}
