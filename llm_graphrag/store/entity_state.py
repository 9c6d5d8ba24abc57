"""What an entity is, told from what it rests on: whether it stays, its origin, its spellings, its type.

After a batch of writes ``settle.py`` asks this of every entity that won or lost
support. All of it is computed from the rows as they are, so it does not matter in what
order they came.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from functools import reduce

from ..facts.identity import preferred_spelling
from ..text.normalise import clean_name, name_key
from . import changes
from .entities import put_alias, rename


def own_keys(connection: sqlite3.Connection, entities: Iterable[int]) -> set[str]:
    """The keys of the names that entities are shown by."""
    wanted = json.dumps(sorted(entities))
    return {
        row[0]
        for row in connection.execute(
            "SELECT e.key FROM json_each(?) w CROSS JOIN kg_entities e ON e.id = w.value", [wanted]
        )
    }


def restate(connection: sqlite3.Connection, entities: Iterable[int], lost: Iterable[int]) -> None:
    """Make origin and spellings of entities what their support says; spellings only of those that ``lost`` some."""
    rows = connection.execute(
        """SELECT e.id, e.key, e.name, EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id) AS declared
           FROM json_each(?) w CROSS JOIN kg_entities e ON e.id = w.value WHERE e.origin <> 'user'""",
        [json.dumps(sorted(lost))],
    ).fetchall()
    for row in rows:
        _respell(connection, row["id"], row["key"], row["name"], bool(row["declared"]))
    wanted = json.dumps(sorted(entities))
    for statement in RESTATE:
        connection.execute(statement, [wanted])
    for entity, name, origin in connection.execute(STATED_ALIASES, [wanted]).fetchall():
        put_alias(connection, entity, name, "alias", origin)


def _respell(connection: sqlite3.Connection, entity: int, key: str, shown: str, declared: bool) -> None:
    """The spellings of an entity without a note are those in which it is still written; a note's entity has none."""
    if declared:
        connection.execute("DELETE FROM kg_aliases WHERE entity = ? AND kind = 'spelling'", [entity])
        return
    written = {clean_name(row[0]) for row in connection.execute(SPELLINGS, {"entity": entity})}
    written = {name for name in written if name_key(name) == key} or {shown}
    best = reduce(preferred_spelling, sorted(written))
    if best != shown:
        rename(connection, entity, best, key)
    rows = connection.execute("SELECT id, name, kind FROM kg_aliases WHERE entity = ?", [entity]).fetchall()
    gone = [row["id"] for row in rows if row["kind"] == "spelling" and row["name"] not in written]
    connection.executemany("DELETE FROM kg_aliases WHERE id = ?", [[id_] for id_ in gone])
    for name in sorted(written - {row["name"] for row in rows}):
        put_alias(connection, entity, name, "spelling", "lexical")


RESTATE = (
    """UPDATE kg_entities SET origin = CASE
         WHEN EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = kg_entities.id) THEN 'link'
         WHEN EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_entity = kg_entities.id AND v.origin = 'import')
           OR EXISTS (SELECT 1 FROM kg_evidence v WHERE v.tail_entity = kg_entities.id AND v.origin = 'import')
         THEN 'import'
         WHEN EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_entity = kg_entities.id AND v.origin = 'link')
           OR EXISTS (SELECT 1 FROM kg_evidence v WHERE v.tail_entity = kg_entities.id AND v.origin = 'link')
         THEN 'link'
         WHEN EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_entity = kg_entities.id AND v.origin = 'llm')
           OR EXISTS (SELECT 1 FROM kg_evidence v WHERE v.tail_entity = kg_entities.id AND v.origin = 'llm')
         THEN 'llm' ELSE 'lexical' END
       WHERE id IN (SELECT value FROM json_each(?)) AND origin <> 'user'""",
    """UPDATE kg_aliases SET origin = CASE kind WHEN 'spelling' THEN 'lexical' ELSE
         (SELECT origin FROM kg_entities e WHERE e.id = kg_aliases.entity) END
       WHERE entity IN (SELECT value FROM json_each(?)) AND kind IN ('name', 'spelling')""",
    """DELETE FROM kg_aliases WHERE entity IN (SELECT value FROM json_each(?)) AND kind = 'alias'
         AND origin IN ('llm', 'import') AND name NOT IN (
           SELECT v.tail FROM kg_evidence v
           WHERE v.head_entity = kg_aliases.entity AND v.kind = 'alias' AND v.origin = kg_aliases.origin)""",
)

#: Names that a model or an imported row gives an entity: found by search, but not what a name elsewhere means.
STATED_ALIASES = """
  SELECT v.head_entity, v.tail, min(v.origin) FROM json_each(?) w CROSS JOIN kg_evidence v ON v.head_entity = w.value
  WHERE v.kind = 'alias' AND v.origin IN ('llm', 'import')
    AND NOT EXISTS (SELECT 1 FROM kg_aliases a WHERE a.entity = v.head_entity AND a.name = v.tail)
  GROUP BY 1, 2 ORDER BY 1, 2"""

SPELLINGS = """
  SELECT substr(c.text, m.start + 1, m.end - m.start) FROM kg_mentions m JOIN kg_chunks c ON c.id = m.chunk
    WHERE m.entity = :entity AND m.origin NOT IN ('link', 'import') -- of a chunk of rows, one is for all of its key
  UNION SELECT tail FROM kg_evidence WHERE tail_entity = :entity AND kind = 'triple'
  UNION SELECT head FROM kg_evidence WHERE head_entity = :entity AND head_key IS NOT NULL"""


def unsupported(connection: sqlite3.Connection, candidates: Iterable[int]) -> list[int]:
    """Those of ``candidates`` that nothing supports any more: no note, mention, claim or hand."""
    wanted = json.dumps(sorted(set(candidates)))
    rows = connection.execute(
        """SELECT e.id FROM json_each(?) w CROSS JOIN kg_entities e ON e.id = w.value
           WHERE e.origin <> 'user'
             AND NOT EXISTS (SELECT 1 FROM kg_mentions m WHERE m.entity = e.id)
             AND NOT EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_entity = e.id)
             AND NOT EXISTS (SELECT 1 FROM kg_evidence v WHERE v.tail_entity = e.id)
             AND NOT EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id)""",
        [wanted],
    ).fetchall()
    return [row[0] for row in rows]


def delete(connection: sqlite3.Connection, entities: Sequence[int]) -> None:
    """Delete entities, their names with them."""
    connection.executemany("DELETE FROM kg_entities WHERE id = ?", [[id_] for id_ in entities])
    changes.record(connection, "kg_entities", entities, "delete")


ADOPTED = """
  SELECT id, wanted FROM (
    SELECT e.id, e.type, CASE
      WHEN EXISTS (SELECT 1 FROM kg_entities o WHERE o.key = e.key AND o.id <> e.id) THEN ''
      ELSE (SELECT CASE count(DISTINCT v.tail) WHEN 1 THEN min(v.tail) ELSE '' END FROM kg_evidence v
            WHERE v.head_entity = e.id AND v.kind = 'type' AND v.origin IN ('llm', 'import')) END AS wanted
    FROM json_each(?) w CROSS JOIN kg_entities e ON e.key = w.value
    WHERE EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id AND d.entity_type = ''))
  WHERE wanted <> type"""


def adopt_types(connection: sqlite3.Connection, keys: Iterable[str]) -> None:
    """The entity of a note that gives no type has the one that models and imports give it, if no other has its key."""
    rows = connection.execute(ADOPTED, [json.dumps(sorted(keys), ensure_ascii=False)]).fetchall()
    connection.executemany("UPDATE kg_entities SET type = ? WHERE id = ?", [[row[1], row[0]] for row in rows])
    changes.record(connection, "kg_entities", [row[0] for row in rows], "update")


UNDECLARED = """
  SELECT e.id, e.key FROM json_each(?) w CROSS JOIN kg_entities e ON e.id = w.value
  WHERE e.type <> '' AND e.origin <> 'user'
    AND NOT EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id)
    AND NOT EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_entity = e.id AND v.head_type = e.type)
    AND NOT EXISTS (SELECT 1 FROM kg_evidence v WHERE v.tail_entity = e.id AND v.tail_type = e.type)"""


def undeclared_keys(connection: sqlite3.Connection, entities: Iterable[int]) -> set[str]:
    """Keys of those of ``entities`` that a model had typed and no claim types any more: what means them, means less."""
    return {row[1] for row in connection.execute(UNDECLARED, [json.dumps(sorted(entities))])}
