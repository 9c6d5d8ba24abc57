"""SQL of the search page: passages by full text, entities by name."""

from __future__ import annotations

import sqlite3
from itertools import islice

from llm_graphrag.text.fts import STOP_WORDS, fts_query, query_terms

from .entity_queries import excerpt
from .queries import entities_called, near_names
from .records import DocumentRef, EntityRef, Hit

_PASSAGES = """
  SELECT f.rowid AS chunk, -f.score AS score, c.line, c.heading, c.text, d.id AS document, d.uri, d.title
  FROM (SELECT rowid, bm25(kg_chunks_fts, 3.0, 2.0, 1.0) AS score FROM kg_chunks_fts
        WHERE kg_chunks_fts MATCH :query ORDER BY score LIMIT :limit OFFSET :offset) f
  JOIN kg_chunks c ON c.id = f.rowid JOIN kg_documents d ON d.id = c.document ORDER BY f.score, f.rowid"""


def passages(connection: sqlite3.Connection, q: str, limit: int, offset: int = 0) -> list[Hit]:
    """Passages that hold words of ``q``, best first."""
    query = fts_query(q)
    if query is None:
        return []
    rows = connection.execute(_PASSAGES, {"query": query, "limit": limit, "offset": offset})
    return [
        Hit(
            chunk=row["chunk"],
            document=DocumentRef(row["document"], row["uri"], row["title"]),
            heading=row["heading"],
            line=row["line"],
            parts=_marked(row["text"], q),
            score=row["score"],
        )
        for row in rows
    ]


def _marked(text: str, q: str) -> tuple[tuple[str, bool], ...]:
    """An excerpt around the first telling word of ``q`` that stands in the text as it is written."""
    lowered = text.lower()
    for term in query_terms(q):
        at = lowered.find(term.rstrip("*").lower()) if term.lower() not in STOP_WORDS else -1
        if at >= 0 and len(lowered) == len(text):
            return excerpt(text, at, at + len(term.rstrip("*")))
    return ((text[:200] + (" …" if len(text) > 200 else ""), False),)


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
