"""What the search page asks: passages by the same fused search as the terminal, entities by name."""

from __future__ import annotations

import sqlite3
from itertools import islice

from llm_graphrag.routes.search import prepare, rank, show
from llm_graphrag.text.fts import STOP_WORDS, query_terms

from .queries import entities_called, near_names
from .records import DocumentRef, EntityRef, Hit

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
