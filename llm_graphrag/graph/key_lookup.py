"""Entities by the key of a name: by their own names, by what stands before a bracket, by other dashes."""

from __future__ import annotations

__all__ = ["FOUND", "METHODS"]

#: By the rank that ``FOUND`` gives: the name of the method, and how far it is trusted.
METHODS = (("exact", 1.0), ("alias", 0.95), ("qualified", 0.9), ("dashes", 0.93))

#: A part of a statement, after WITH: the entities for ``:keys``, a JSON array.
FOUND = """
    found(key, rank, entity) AS (
      SELECT k.value, a.kind NOT IN ('name', 'title'), coalesce(e.merged_into, e.id)
      FROM json_each(:keys) k
      CROSS JOIN kg_aliases a ON a.key = k.value
      CROSS JOIN kg_entities e ON e.id = a.entity
      UNION ALL
      SELECT k.value, 2, coalesce(e.merged_into, e.id)
      FROM json_each(:keys) k
      CROSS JOIN kg_entities e ON e.key > k.value || ' (' AND e.key < k.value || ' )'
      UNION ALL
      SELECT k.value, 3, coalesce(e.merged_into, e.id)
      FROM json_each(:keys) k
      CROSS JOIN json_each(json_array(
        replace(replace(k.value, '-', ' '), '_', ' '),
        replace(replace(k.value, ' ', '-'), '_', '-'),
        replace(replace(k.value, ' ', '_'), '-', '_'))) w
      CROSS JOIN kg_aliases a ON a.key = w.value
      CROSS JOIN kg_entities e ON e.id = a.entity
      WHERE w.value <> k.value
    )"""
