"""The words of a question, each with the chunks that hold it.

One FTS5 statement a word gives the ids, stemmed and folded by the index's own
tokenizer, so that no second stemmer has to agree with it. From these sets every
route can tell which share of the question a chunk explains, and what it leaves
open. A word in more than ``COMMON`` chunks is not listed: it tells little, and
listing it would cost more than the rest of the question.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterable

from ..text.fts import STOP_WORDS, fts_query, query_terms
from .hits import Term

__all__ = ["coverage", "read_terms", "telling_terms"]

COMMON = 20_000
MAX_TERMS = 32

POSTINGS = "SELECT rowid FROM kg_chunks_fts WHERE kg_chunks_fts MATCH :query LIMIT :limit"


def telling_terms(question: str) -> list[str]:
    """The words that full text looks for: without stop words, unless nothing else is left."""
    terms = query_terms(question)
    return ([t for t in terms if t.lower() not in STOP_WORDS] or terms)[:MAX_TERMS]


def read_terms(connection: sqlite3.Connection, question: str, total: int) -> tuple[Term, ...]:
    """Return the telling words of a question with their chunks; a word written twice counts once."""
    limit = min(COMMON, max(1, total))
    found: dict[str, Term] = {}
    for text in telling_terms(question):
        rows = connection.execute(POSTINGS, {"query": fts_query(text), "limit": limit}).fetchall()
        chunks = frozenset(row[0] for row in rows)
        if len(chunks) >= COMMON:
            found[text.lower()] = Term(text, frozenset(), 0.0)
        else:
            tells = math.log(1 + (total - len(chunks) + 0.5) / (len(chunks) + 0.5))
            found[text.lower()] = Term(text, chunks, tells)
    return tuple(found.values())


def coverage(terms: Collection[Term], chunk: int) -> float:
    """The share, 0 to 1 by rarity, of the words that a chunk holds."""
    total = _sum(term.rarity for term in terms)
    return _sum(term.rarity for term in terms if chunk in term.chunks) / total if total > 0 else 0.0


def _sum(values: Iterable[float]) -> float:
    return math.fsum(values)
