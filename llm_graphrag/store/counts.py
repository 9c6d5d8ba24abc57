"""Counters: how often an entity is mentioned and stated, and how many things each facet value has.

Entity counters are kept by the writer, one entity at a time; facet values are
counted again at the end of a run. All of it is derived: ``recount_all`` makes the
same table from nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from .settings import get_setting, put_setting

STALE = "counts.stale"  # facet values have yet to be counted again: a run is not over, or was killed

FACTS_OF_ENTITY = """
  SELECT 'facts', e.id, (SELECT count(*) FROM kg_triples t WHERE t.head = e.id)
    + (SELECT count(*) FROM kg_triples t WHERE t.tail = e.id AND t.head <> e.id)
    + (SELECT count(*) FROM kg_attributes a WHERE a.entity = e.id) AS n"""

#: Chunks that mention an entity or what is merged into it; a merged entity has no number of its own.
CHUNKS_OF_ENTITY = """
  SELECT 'chunks', e.id, CASE WHEN e.merged_into IS NOT NULL THEN 0
    WHEN EXISTS (SELECT 1 FROM kg_entities o WHERE o.merged_into = e.id)
    THEN (SELECT count(DISTINCT m.chunk) FROM kg_mentions m WHERE m.entity IN
      (SELECT o.id FROM kg_entities o WHERE o.merged_into = e.id UNION ALL SELECT e.id))
    ELSE (SELECT count(DISTINCT m.chunk) FROM kg_mentions m WHERE m.entity = e.id) END AS n"""

FACETS = {
    "entity_type": "SELECT type, count(*) FROM kg_entities WHERE merged_into IS NULL GROUP BY type",
    "relation": "SELECT relation, count(*) FROM kg_triples GROUP BY relation",
    "attribute": "SELECT attribute, count(*) FROM kg_attributes GROUP BY attribute",
    "origin": "SELECT origin, count(*) FROM kg_entities WHERE merged_into IS NULL GROUP BY origin",
    "folder": "SELECT folder, count(*) FROM kg_documents GROUP BY folder",
    "tag": "SELECT tag, count(*) FROM kg_tags GROUP BY tag",
}


def recount_entities(connection: sqlite3.Connection, entities: Iterable[int]) -> None:
    """Count these entities again; those that are gone lose their rows."""
    wanted = json.dumps(sorted(set(entities)))
    connection.execute(
        "DELETE FROM kg_counts WHERE kind IN ('facts', 'chunks') AND item IN (SELECT value FROM json_each(?))", [wanted]
    )
    for select in (FACTS_OF_ENTITY, CHUNKS_OF_ENTITY):
        connection.execute(
            f"INSERT INTO kg_counts(kind, item, n) {select} FROM json_each(?) w CROSS JOIN kg_entities e"
            " ON e.id = w.value WHERE n > 0",
            [wanted],
        )


def mark_stale(connection: sqlite3.Connection) -> None:
    """Facet counters are no longer right; ``recount_facets`` will follow at the end of the run."""
    put_setting(connection, STALE, True)


def are_stale(connection: sqlite3.Connection) -> bool:
    """Whether a run has yet to count facet values."""
    return bool(get_setting(connection, STALE, False))


def recount_facets(connection: sqlite3.Connection) -> None:
    """Bring the facet counters in step; rows that are right already are not written."""
    connection.execute("DELETE FROM kg_settings WHERE key = ?", [STALE])
    for kind, select in FACETS.items():
        wanted = dict(connection.execute(select).fetchall())
        have = dict(connection.execute("SELECT item, n FROM kg_counts WHERE kind = ?", [kind]).fetchall())
        connection.executemany(
            "DELETE FROM kg_counts WHERE kind = ? AND item = ?", [(kind, item) for item in have.keys() - wanted.keys()]
        )
        connection.executemany(
            """INSERT INTO kg_counts(kind, item, n) VALUES (?, ?, ?)
               ON CONFLICT(kind, item) DO UPDATE SET n = excluded.n""",
            [(kind, item, n) for item, n in wanted.items() if have.get(item) != n],
        )


def recount_all(connection: sqlite3.Connection) -> None:
    """Make every counter from the source tables."""
    connection.execute("DELETE FROM kg_counts")
    for select in (FACTS_OF_ENTITY, CHUNKS_OF_ENTITY):
        connection.execute(f"INSERT INTO kg_counts(kind, item, n) {select} FROM kg_entities e WHERE n > 0")
    recount_facets(connection)
