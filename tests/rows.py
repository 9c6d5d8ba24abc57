"""What a knowledge base holds, told without ids, so that two files can be compared.

DESIGN: two knowledge bases are equal when their rows agree on natural keys. ``natural``
is that comparison; the smaller functions are what most tests ask for.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from llm_graphrag.knowledge_base import KnowledgeBase

Rows = list[tuple[Any, ...]]

CHUNK = "(SELECT d.uri || '#' || c.seq FROM kg_chunks c JOIN kg_documents d ON d.id = c.document WHERE c.id = {})"
ENTITY = "(SELECT e.type || ':' || e.key FROM kg_entities e WHERE e.id = {})"

#: table → what its rows say; a reference is shown as the natural key of what it leads to, a time not at all.
NATURAL = {
    "kg_sources": "SELECT name, kind, root, dialect, options FROM kg_sources",
    "kg_documents": f"""SELECT d.uri, s.name, d.path, d.kind, d.title, d.name, d.name_key, {ENTITY.format("d.entity")},
        d.entity_type, d.content_hash, d.reading, d.metadata, d.folder, d.private, d.length, d.scanned
        FROM kg_documents d LEFT JOIN kg_sources s ON s.id = d.source""",
    "kg_sections": """SELECT d.uri, s.seq, p.seq, s.level, s.heading, s.start, s.end FROM kg_sections s
        JOIN kg_documents d ON d.id = s.document LEFT JOIN kg_sections p ON p.id = s.parent""",
    "kg_tags": "SELECT d.uri, t.tag FROM kg_tags t JOIN kg_documents d ON d.id = t.document",
    "kg_chunks": """SELECT d.uri, c.seq, s.seq, c.start, c.end, c.line, c.tokens, c.text, c.search_text, c.heading,
        c.content_hash FROM kg_chunks c JOIN kg_documents d ON d.id = c.document
        LEFT JOIN kg_sections s ON s.id = c.section""",
    "kg_entities": f"SELECT name, type, key, origin, {ENTITY.format('merged_into')} FROM kg_entities",
    "kg_aliases": f"SELECT {ENTITY.format('entity')}, name, key, kind, origin, scanned FROM kg_aliases",
    "kg_mentions": f"""SELECT {CHUNK.format("m.chunk")}, m.start, m.end, m.key, {ENTITY.format("m.entity")}, m.origin
        FROM kg_mentions m""",
    "kg_evidence": f"""SELECT {CHUNK.format("v.chunk")}, v.start, v.end, v.kind, v.head, v.head_key, v.head_type,
        {ENTITY.format("v.head_entity")}, v.relation, v.tail, v.tail_key, v.tail_type, {ENTITY.format("v.tail_entity")},
        v.link_key, v.reversed, v.quote, v.confidence, v.origin, v.schema_version, v.detail, v.triple IS NULL,
        v.attribute IS NULL FROM kg_evidence v""",
    "kg_triples": f"""SELECT {ENTITY.format("t.head")}, t.relation, {ENTITY.format("t.tail")}, t.evidence, t.confidence
        FROM kg_triples t""",
    "kg_attributes": f"""SELECT {ENTITY.format("a.entity")}, a.attribute, a.value, a.evidence, a.confidence
        FROM kg_attributes a""",
    "kg_counts": f"""SELECT kind, CASE WHEN kind IN ('facts', 'chunks') THEN {ENTITY.format("item")} ELSE item END, n
        FROM kg_counts""",
    "kg_types": """SELECT kind, name, description, aliases, domain, range, list, symmetric, inverse, value_kind
        FROM kg_types""",
    "kg_settings": "SELECT key, value FROM kg_settings WHERE key NOT LIKE 'vectors.%'",
    "kg_skipped": "SELECT s.name, k.path, k.reason FROM kg_skipped k JOIN kg_sources s ON s.id = k.source",
}

VECTORS = f"""SELECT k.name, k.model, CASE WHEN k.name LIKE '%chunks%' THEN {CHUNK.format("v.id")}
  ELSE {ENTITY.format("v.id")} END, hex(v.content_hash)
  FROM embeddings v JOIN collections k ON k.id = v.collection_id"""


def natural(kb: KnowledgeBase) -> dict[str, Rows]:
    """Every row that notes gave rise to, by table, sorted, without ids and times."""
    statements = dict(NATURAL)
    if kb.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'embeddings'").fetchone():
        statements["embeddings"] = VECTORS
    return {
        table: sorted((tuple(row) for row in kb.connection.execute(statement)), key=repr)
        for table, statement in statements.items()
    }


def dump(connection: sqlite3.Connection) -> str:
    """Everything in the file as SQL, ids, times and full-text pages included."""
    return "\n".join(connection.iterdump())


def differences(one: dict[str, Rows], other: dict[str, Rows]) -> list[str]:
    """Rows that stand in one of two dumps only, for a message that can be read."""
    found: list[str] = []
    for table in {**one, **other}:
        left, right = set(one.get(table, ())), set(other.get(table, ()))
        found += [f"- {table} {row}" for row in sorted(left - right, key=repr)]
        found += [f"+ {table} {row}" for row in sorted(right - left, key=repr)]
    return found


def facts(kb: KnowledgeBase) -> set[tuple[str, str, str]]:
    """All triples and attributes as (head, relation, tail), names as shown."""
    return {tuple(row) for row in kb.connection.execute("SELECT head, relation, tail FROM kg_facts")}


def entities(kb: KnowledgeBase) -> list[tuple[str, str]]:
    """(name, type) of all entities, sorted."""
    return sorted(tuple(row) for row in kb.connection.execute("SELECT name, type FROM kg_entities"))


def evidence(kb: KnowledgeBase, where: str = "true", *values: object) -> Rows:
    """(path, line, kind, head, relation, tail) of claims, by note and place; the line is that of its link or quote."""
    rows = kb.connection.execute(
        f"""SELECT d.path, c.line, c.text, v.start, v.end, v.detail, v.kind, v.head, v.relation, v.tail
            FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk JOIN kg_documents d ON d.id = c.document
            WHERE {where} ORDER BY d.path, c.start + v.start, v.id""",
        values,
    )
    return [
        (row["path"], row["line"] + row["text"].count("\n", 0, place(row)), row["kind"], row["head"], row["relation"],
         row["tail"])
        for row in rows
    ]  # fmt: skip


def place(row: sqlite3.Row) -> int:
    """Where in its chunk a claim stands: at its link if it has one, else at its quote."""
    return int(json.loads(row["detail"]).get("at", [row["start"]])[0])


def targets(kb: KnowledgeBase, path: str = "%") -> dict[str, str]:
    """What each link (of one note) leads to: as written → path of the note, or ``→ name`` of an entity without one."""
    rows = kb.connection.execute(
        """SELECT v.detail, c.text, d.path, e.name FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk
           JOIN kg_documents own ON own.id = c.document
           LEFT JOIN kg_entities e ON e.id = v.tail_entity LEFT JOIN kg_documents d ON d.entity = e.id
           WHERE v.link_key IS NOT NULL AND own.path LIKE ?""",
        [path],
    )
    found: dict[str, str] = {}
    for row in rows:
        start, end = json.loads(row["detail"])["at"]
        found[row["text"][start:end]] = row["path"] or f"→ {row['name']}"
    return found


def holds(kb: KnowledgeBase, text: str) -> list[str]:
    """The tables and columns in which ``text`` occurs anywhere, full-text pages included."""
    found = []
    tables = [row[0] for row in kb.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        for row in kb.connection.execute(f'SELECT * FROM "{table}"'):
            for column in row.keys():  # noqa: SIM118 - a Row iterates over its values
                value = row[column]
                value = value if isinstance(value, bytes) else str(value).encode("utf-8")
                if text.lower().encode("utf-8") in value.lower():
                    found.append(f"{table}.{column}")
    return sorted(set(found))


def counts(kb: KnowledgeBase) -> dict[str, int]:
    """Number of rows of each of our tables that has any."""
    tables = [
        row[0]
        for row in kb.connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'kg_*' AND name NOT GLOB 'kg_*_fts*'"
        )
    ]
    numbers = {table: int(kb.connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]) for table in tables}
    return {table: number for table, number in numbers.items() if number}
