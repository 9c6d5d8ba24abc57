"""What is searched for: passages by the same fused search as the terminal, entities by name, names being typed."""

from __future__ import annotations

import sqlite3
from itertools import islice

from llm_graphrag.routes.search import prepare, rank, show
from llm_graphrag.text.fts import STOP_WORDS, query_terms
from llm_graphrag.text.normalise import name_key

from .queries import entities_called, entity_ref, has_table, near_names
from .records import Completion, DocumentRef, EntityRef, Hit

DEPTH = 201  # how far down a person can page; ranked as a whole, so that pages do not overlap


def passages(connection: sqlite3.Connection, q: str, limit: int, offset: int = 0) -> list[Hit]:
    """Passages for a few words or a question, best first."""
    plan = prepare(connection, q)
    hits = show(connection, plan, rank(connection, plan, DEPTH), offset + limit)
    return [
        Hit(
            chunk=hit.chunk,
            document=DocumentRef(hit.document, hit.uri, hit.title),
            heading=hit.heading,
            line=hit.line,
            parts=hit.snippet,
            score=hit.score,
            reasons=tuple(sorted(hit.reasons, key=lambda reason: -hit.reasons[reason])),
        )
        for hit in hits[offset:]
    ]


def entities(connection: sqlite3.Connection, q: str, limit: int = 8) -> list[EntityRef]:
    """Entities called ``q``, then those whose name resembles it, then those named by one of its words."""
    if not q:
        return []
    found = {entity.id: entity for entity in entities_called(connection, q)}
    if len(q) <= 100:
        found.update({entity.id: entity for entity in near_names(connection, q, limit) if entity.id not in found})
    telling = (term for term in query_terms(q) if len(term) >= 3 and term.lower() not in STOP_WORDS)
    for term in islice(telling, 6):
        for entity in entities_called(connection, term) or near_names(connection, term, 3):
            found.setdefault(entity.id, entity)
    return list(found.values())[:limit]


_STARTING = """
  SELECT e.id, e.name, e.type, a.name AS alias, a.key, coalesce(n.n, 0) AS facts,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM (SELECT * FROM kg_aliases WHERE key >= :key AND key < :end ORDER BY key LIMIT 200) a
  JOIN kg_entities e ON e.id = a.entity LEFT JOIN kg_counts n ON n.kind = 'facts' AND n.item = +e.id
  WHERE e.merged_into IS NULL
  ORDER BY a.key <> :key, facts DESC, length(a.name), a.name, e.id"""


def completions(connection: sqlite3.Connection, q: str, limit: int = 10) -> list[Completion]:
    """Names that somebody may be typing: those that start so, what is joined to most first; then those alike."""
    key = name_key(q)[:200]
    if not key:
        return []
    found: dict[int, Completion] = {}
    args = {"key": key, "end": key + "\U0010ffff"}
    for row in connection.execute(_STARTING, args) if has_table(connection, "kg_counts") else ():
        alias = "" if name_key(row["name"]).startswith(key) else row["alias"]
        found.setdefault(row["id"], Completion(entity_ref(row), alias))
        if len(found) == limit:
            return list(found.values())
    for entity in near_names(connection, q, limit):
        found.setdefault(entity.id, Completion(entity))
    return list(found.values())[:limit]
