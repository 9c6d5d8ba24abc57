"""SQL of the entity page: facts by relation and direction, their quotes, mentions, documents, homonyms.

A hub may have a hundred thousand facts. Relations are found by skipping through the index,
counts stop at ``COUNT_CAP``, and the facts of one relation are paged by the key that the
index is sorted by, so every list costs what it shows.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from llm_graphrag.store.headings import outlines

from .queries import entity_ref, has_table
from .records import DocumentRef, Duplicate, EntityRef, Fact, Group, Quote, Snippet

COUNT_CAP = 1000
GROUPS = 40
FACTS_PER_GROUP = 6
FACTS_PER_PAGE = 50
QUOTES = 2
MENTIONS = 8
NAMED = 10_000  # mentions that are read to say where an entity is named
CONTEXT = 90  # code points on either side of a name in a snippet

_RELATIONS = {
    "out": """
      WITH RECURSIVE step(relation, n) AS (
        SELECT min(relation), 1 FROM kg_triples WHERE head = :entity
        UNION ALL
        SELECT (SELECT min(relation) FROM kg_triples WHERE head = :entity AND relation > step.relation), n + 1
        FROM step WHERE step.relation IS NOT NULL AND n < :limit)
      SELECT relation AS name, (SELECT count(*) FROM
        (SELECT 1 FROM kg_triples t WHERE t.head = :entity AND t.relation = step.relation LIMIT :cap)) AS n
      FROM step WHERE relation IS NOT NULL""",
    "in": """
      WITH RECURSIVE step(relation, n) AS (
        SELECT min(relation), 1 FROM kg_triples WHERE tail = :entity
        UNION ALL
        SELECT (SELECT min(relation) FROM kg_triples WHERE tail = :entity AND relation > step.relation), n + 1
        FROM step WHERE step.relation IS NOT NULL AND n < :limit)
      SELECT relation AS name, (SELECT count(*) FROM
        (SELECT 1 FROM kg_triples t WHERE t.tail = :entity AND t.relation = step.relation LIMIT :cap)) AS n
      FROM step WHERE relation IS NOT NULL""",
    "attribute": """
      WITH RECURSIVE step(relation, n) AS (
        SELECT min(attribute), 1 FROM kg_attributes WHERE entity = :entity
        UNION ALL
        SELECT (SELECT min(attribute) FROM kg_attributes WHERE entity = :entity AND attribute > step.relation), n + 1
        FROM step WHERE step.relation IS NOT NULL AND n < :limit)
      SELECT relation AS name, (SELECT count(*) FROM
        (SELECT 1 FROM kg_attributes t WHERE t.entity = :entity AND t.attribute = step.relation LIMIT :cap)) AS n
      FROM step WHERE relation IS NOT NULL""",
}
# The best supported first: for groups that are small enough to be sorted.
_BEST = {
    "out": """
      SELECT t.id AS fact, t.evidence, t.confidence, t.tail AS mark, e.id, e.name, e.type,
             EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
      FROM kg_triples t JOIN kg_entities e ON e.id = t.tail
      WHERE t.head = :entity AND t.relation = :name ORDER BY t.evidence DESC, t.id LIMIT :limit""",
    "in": """
      SELECT t.id AS fact, t.evidence, t.confidence, t.id AS mark, e.id, e.name, e.type,
             EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
      FROM kg_triples t JOIN kg_entities e ON e.id = t.head
      WHERE t.tail = :entity AND t.relation = :name ORDER BY t.evidence DESC, t.id LIMIT :limit""",
    "attribute": """
      SELECT t.id AS fact, t.evidence, t.confidence, t.id AS mark, t.value AS name
      FROM kg_attributes t
      WHERE t.entity = :entity AND t.attribute = :name ORDER BY t.evidence DESC, t.id LIMIT :limit""",
}
# In the order of the index: for hubs, and page by page.
_NEXT = {
    "out": """
      SELECT t.id AS fact, t.evidence, t.confidence, t.tail AS mark, e.id, e.name, e.type,
             EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
      FROM kg_triples t JOIN kg_entities e ON e.id = t.tail
      WHERE t.head = :entity AND t.relation = :name AND t.tail > :after ORDER BY t.tail LIMIT :limit""",
    "in": """
      SELECT t.id AS fact, t.evidence, t.confidence, t.id AS mark, e.id, e.name, e.type,
             EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
      FROM kg_triples t JOIN kg_entities e ON e.id = t.head
      WHERE t.tail = :entity AND t.relation = :name AND t.id > :after ORDER BY t.id LIMIT :limit""",
    "attribute": """
      SELECT t.id AS fact, t.evidence, t.confidence, t.id AS mark, t.value AS name
      FROM kg_attributes t
      WHERE t.entity = :entity AND t.attribute = :name
        AND (:after = 0 OR t.value > (SELECT value FROM kg_attributes WHERE id = :after))
      ORDER BY t.value LIMIT :limit""",
}


def relations(connection: sqlite3.Connection, entity: int, direction: str) -> list[tuple[str, int, bool]]:
    """Relations of an entity in one direction (or its attributes): the name, how many facts, whether there are more."""
    rows = connection.execute(_RELATIONS[direction], {"entity": entity, "limit": GROUPS, "cap": COUNT_CAP + 1})
    return [(row["name"], min(row["n"], COUNT_CAP), row["n"] > COUNT_CAP) for row in rows]


def groups(connection: sqlite3.Connection, entity: int, direction: str) -> list[Group]:
    """Facts in one direction (or the attributes), grouped, each group with its first few facts."""
    found = []
    for name, count, capped in relations(connection, entity, direction):
        args = {"entity": entity, "name": name, "limit": FACTS_PER_GROUP, "after": 0}
        facts = connection.execute((_NEXT if capped else _BEST)[direction], args).fetchall()
        found.append(Group(name, direction, count, capped, _facts(connection, facts, direction)))
    return sorted(found, key=lambda group: (group.name == "links_to", -group.count, group.name))


def group_page(connection: sqlite3.Connection, entity: int, direction: str, name: str, after: int) -> Group | None:
    """One page of the facts of one relation, None if the entity has none; ``next`` continues it."""
    args: dict[str, Any] = {"entity": entity, "name": name, "after": after, "limit": FACTS_PER_PAGE + 1}
    rows = connection.execute(_NEXT[direction], args).fetchall()
    if not rows:
        return None
    shown = rows[:FACTS_PER_PAGE]
    following = shown[-1]["mark"] if len(rows) > FACTS_PER_PAGE else None
    return Group(name, direction, len(shown), False, _facts(connection, shown, direction), following)


def _facts(connection: sqlite3.Connection, rows: list[sqlite3.Row], direction: str) -> tuple[Fact, ...]:
    attribute = direction == "attribute"
    return tuple(
        Fact(
            id=row["fact"],
            other=None if attribute else entity_ref(row),
            value=row["name"] if attribute else "",
            confidence=row["confidence"],
            evidence=row["evidence"],
            quotes=quotes(connection, row["fact"], attribute),
        )
        for row in rows
    )


_QUOTES_OF_TRIPLE = """
  SELECT v.id, v.quote, v.start, v.origin, v.confidence, v.chunk, c.seq, d.id AS document, d.uri, d.title,
         c.line + length(substr(c.text, 1, v.start)) - length(replace(substr(c.text, 1, v.start), char(10), '')) AS line
  FROM (SELECT * FROM kg_evidence WHERE triple = :fact LIMIT 200) v
  JOIN kg_chunks c ON c.id = v.chunk JOIN kg_documents d ON d.id = c.document
  ORDER BY v.confidence DESC, v.id LIMIT :limit"""
_QUOTES_OF_ATTRIBUTE = """
  SELECT v.id, v.quote, v.start, v.origin, v.confidence, v.chunk, c.seq, d.id AS document, d.uri, d.title,
         c.line + length(substr(c.text, 1, v.start)) - length(replace(substr(c.text, 1, v.start), char(10), '')) AS line
  FROM (SELECT * FROM kg_evidence WHERE attribute = :fact LIMIT 200) v
  JOIN kg_chunks c ON c.id = v.chunk JOIN kg_documents d ON d.id = c.document
  ORDER BY v.confidence DESC, v.id LIMIT :limit"""


def quotes(connection: sqlite3.Connection, fact: int, attribute: bool, limit: int = QUOTES) -> tuple[Quote, ...]:
    """The surest quotes of a fact."""
    sql = _QUOTES_OF_ATTRIBUTE if attribute else _QUOTES_OF_TRIPLE
    rows = connection.execute(sql, {"fact": fact, "limit": limit}).fetchall()
    outline = outlines(connection, [row["chunk"] for row in rows])
    return tuple(
        Quote(
            evidence=row["id"],
            text=row["quote"],
            document=DocumentRef(row["document"], row["uri"], row["title"]),
            chunk=row["chunk"],
            seq=row["seq"],
            line=row["line"],
            heading=outline[row["chunk"]].path(row["start"]),
            origin=row["origin"],
            confidence=row["confidence"],
        )
        for row in rows
    )


_ALIASES = "SELECT name, kind FROM kg_aliases WHERE entity = :entity AND name <> :name ORDER BY id LIMIT 60"
_TYPE = "SELECT description FROM kg_types WHERE kind = 'entity_type' AND name = :type"
_MENTIONS = """
  SELECT m.chunk, m.start, m.end, c.seq, c.line, c.text, d.id AS document, d.uri, d.title, d.kind = 'import' AS rows
  FROM (SELECT chunk, min(start) AS start, end FROM kg_mentions
        WHERE entity = :entity AND chunk > :after GROUP BY chunk ORDER BY chunk LIMIT :limit) m
  JOIN kg_chunks c ON c.id = m.chunk JOIN kg_documents d ON d.id = c.document ORDER BY m.chunk"""
_ABOUT = "SELECT id, uri, title FROM kg_documents WHERE entity = :entity ORDER BY id LIMIT 30"
_NAMED_IN = """
  SELECT d.id, d.uri, d.title, count(*) AS n
  FROM (SELECT chunk FROM kg_mentions WHERE entity = :entity ORDER BY chunk LIMIT :limit) m
  JOIN kg_chunks c ON c.id = m.chunk JOIN kg_documents d ON d.id = c.document
  GROUP BY d.id ORDER BY n DESC, d.id LIMIT 12"""
_MORE_MENTIONS = "SELECT 1 FROM kg_mentions WHERE entity = :entity LIMIT 1 OFFSET :limit"
_HOMONYMS = """
  SELECT e.id, e.name, e.type,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM (SELECT id FROM kg_entities WHERE key IN (SELECT key FROM kg_aliases WHERE entity = :entity LIMIT 60)
        UNION SELECT entity FROM kg_aliases WHERE key IN (SELECT key FROM kg_aliases WHERE entity = :entity LIMIT 60)
        UNION SELECT id FROM kg_entities WHERE key = (SELECT key FROM kg_entities WHERE id = :entity)) found
  JOIN kg_entities e ON e.id = found.id
  WHERE e.id <> :entity AND e.merged_into IS NULL ORDER BY e.name, e.id LIMIT 20"""


def aliases(connection: sqlite3.Connection, entity: EntityRef) -> list[str]:
    """Other spellings, in the order in which they were met."""
    rows = connection.execute(_ALIASES, {"entity": entity.id, "name": entity.name})
    return [row["name"] for row in rows]


def type_description(connection: sqlite3.Connection, type_: str) -> str:
    row = connection.execute(_TYPE, {"type": type_}).fetchone()
    return row["description"] if row else ""


def mentions(connection: sqlite3.Connection, entity: int, after: int = 0) -> tuple[list[Snippet], int | None]:
    """Passages that name the entity, in order, and where the next ones start (None: these were all)."""
    rows = connection.execute(_MENTIONS, {"entity": entity, "after": after, "limit": MENTIONS + 1}).fetchall()
    outline = outlines(connection, [row["chunk"] for row in rows])
    snippets = [
        Snippet(
            chunk=row["chunk"],
            seq=row["seq"],
            line=row["line"] + row["text"].count("\n", 0, row["start"]),
            heading=outline[row["chunk"]].path(row["start"]),
            document=DocumentRef(row["document"], row["uri"], row["title"]),
            parts=excerpt(row["text"], row["start"], row["end"], row["rows"]),
        )
        for row in rows[:MENTIONS]
    ]
    return snippets, (rows[MENTIONS - 1]["chunk"] if len(rows) > MENTIONS else None)


def excerpt(text: str, start: int, end: int, rows: bool = False) -> tuple[tuple[str, bool], ...]:
    """The words around a span, from its line on, cut at spaces, the span marked; of a table nothing but the line."""
    if rows:
        line, stop = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        text, start, end = text[line : stop if stop >= 0 else None], start - line, end - line
    left, right = max(start - CONTEXT, 0), min(end + CONTEXT, len(text))
    line = text.rfind("\n", left, start) + 1
    if line:
        left = line
    elif left:
        left = text.find(" ", left, start) + 1 or left
    if right < len(text):
        cut = text.rfind(" ", end, right)
        right = cut if cut > end else right
    before = ("… " if left and not line else "") + text[left:start].lstrip()
    after = text[end:right].rstrip() + (" …" if right < len(text) else "")
    return ((before, False), (text[start:end], True), (after, False))


def documents_about(connection: sqlite3.Connection, entity: int) -> list[DocumentRef]:
    """Documents that the entity stands for."""
    return [DocumentRef(row["id"], row["uri"], row["title"]) for row in connection.execute(_ABOUT, {"entity": entity})]


def documents_naming(connection: sqlite3.Connection, entity: int) -> tuple[list[tuple[DocumentRef, int]], bool]:
    """Documents that name the entity most, with how often, and whether there are mentions beyond those read."""
    rows = connection.execute(_NAMED_IN, {"entity": entity, "limit": NAMED})
    named = [(DocumentRef(row["id"], row["uri"], row["title"]), row["n"]) for row in rows]
    beyond = connection.execute(_MORE_MENTIONS, {"entity": entity, "limit": NAMED}).fetchone()
    return named, beyond is not None


def homonyms(connection: sqlite3.Connection, entity: int) -> list[EntityRef]:
    """Other entities that share a name or an alias with this one."""
    return [entity_ref(row) for row in connection.execute(_HOMONYMS, {"entity": entity})]


_DUPLICATES = """
  WITH mine AS (SELECT key, type FROM kg_entities WHERE id = :id OR merged_into = :id)
  SELECT m.id AS merge, m.doubt, o.id, o.name, o.type,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = o.key AND x.id <> o.id) AS shared
  FROM (SELECT m.id, m.doubt, m.merged_key AS key, m.merged_type AS type FROM mine CROSS JOIN kg_merges m
          ON m.kept_key = mine.key AND m.kept_type = mine.type WHERE m.status = 'suggested'
        UNION SELECT m.id, m.doubt, m.kept_key, m.kept_type FROM mine CROSS JOIN kg_merges m
          ON m.merged_key = mine.key AND m.merged_type = mine.type WHERE m.status = 'suggested') m
  JOIN kg_entities o ON o.key = m.key AND o.type = m.type
  WHERE o.id <> :id AND o.merged_into IS NOT :id ORDER BY m.doubt, m.id LIMIT 10"""


def duplicates(connection: sqlite3.Connection, entity: int) -> list[Duplicate]:
    """Entities that may be the same as this one, as long as nobody has decided."""
    if not has_table(connection, "kg_merges"):
        return []
    rows = connection.execute(_DUPLICATES, {"id": entity})
    return [Duplicate(row["merge"], entity_ref(row), row["doubt"]) for row in rows]
