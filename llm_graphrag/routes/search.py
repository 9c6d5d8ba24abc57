"""Search: a question in, ranked passages out.

``prepare`` takes the question apart once; ``routes.fusion`` ranks; here the ranking
becomes hits that can be shown. Notes of one title count a little less each time they
come again, so that one long note does not fill the list. An advanced query (AND, OR, NOT, "phrases", prefix*)
says itself what is to be found, so it is ranked by words alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..graph.mentions import find_mentions
from ..graph.view import count_chunks
from ..text.fts import advanced_query
from .fusion import fuse
from .hits import Hit, Part, Plan, Proposal
from .meaning import open_meaning
from .passages import passages
from .scope import scope
from .snippets import snippet
from .terms import read_terms
from .weights import blend, namedness, weights_of

if TYPE_CHECKING:
    from ..index.vectors import Vectors

__all__ = ["HINT", "REPEATED", "prepare", "rank", "search", "show", "spread"]

HINT = "Nothing to search for: give a few words, or a question."
MAX_HITS = 1_000
REPEATED = 0.5  # taken off the score for each passage of the same title before, at most MOST_REPEATED times
MOST_REPEATED = 4
GROUPS = {
    "words": "words",
    "coverage": "words",
    "cosine": "meaning",
    "named": "names",
    "mass": "graph",
    "bridge": "bridges",
    "repeated": "repeated",
}

PLACES = """
    SELECT c.id, d.uri, c.seq, d.title
    FROM json_each(:chunks) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
"""
SHOWN = """
    SELECT c.id, c.document, d.uri, d.title, c.heading, c.line, c.text, d.kind = 'import'
    FROM json_each(:chunks) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
"""


def search(
    connection: sqlite3.Connection,
    question: str,
    *,
    k: int = 10,
    where: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    advanced: bool = False,
    vectors: Vectors | bool = True,
) -> list[Hit]:
    """Return the k best passages for a question or a few words; none for a text without words (``HINT`` says so).

    ``where`` is an SQL condition over uri, title, folder, kind, added, updated and tag, to be taken from the user of
    this file only; ``tag`` and ``since`` narrow further. ``advanced`` gives AND, OR, NOT, parentheses, "phrases" and
    prefix* a meaning. ``vectors``: whether to use those of the file, or them, opened before. Raises ValueError, one
    sentence, for a condition, a date or an advanced query that is wrong, and for a model of the vectors that fails.
    """
    plan = prepare(
        connection, question, where=where, tag=tag, since=since, advanced=advanced, vectors=vectors, models=True
    )
    return show(connection, plan, rank(connection, plan, k), k)


def prepare(
    connection: sqlite3.Connection,
    question: str,
    *,
    where: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    advanced: bool = False,
    vectors: Vectors | bool = True,
    models: bool = False,
) -> Plan:
    """Take a question apart: its words, what it names and means, and which documents it is asked of.

    ``vectors`` as in ``search``; ``models`` allows calling the model they are by, if it is not the bundled one.
    """
    question = question.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")  # what SQLite refuses
    match = advanced_query(question) if advanced and question.strip() else None
    documents = scope(connection, where, tag, since)
    total = count_chunks(connection)
    terms = read_terms(connection, question, total)
    mentions = () if match else tuple(find_mentions(connection, question))
    chunks = None if isinstance(vectors, bool) else vectors
    wordless = not any(character.isalnum() for character in question)  # "*" or "?" is near to everything
    by_words = vectors is False or match or wordless
    meaning = None if by_words else open_meaning(connection, question, chunks, models)
    return Plan(question, terms, mentions, total, documents, match, meaning)


def rank(connection: sqlite3.Connection, plan: Plan, k: int) -> list[Proposal]:
    """Return the best passages of a plan with their scores, at least k if there are so many.

    Equal scores are ordered by document and place, so that ids do not matter.
    """
    k = max(0, min(k, MAX_HITS))
    if plan.match is not None:
        return spread(connection, passages(connection, plan, k), 0.0)
    return spread(connection, fuse(connection, plan, k=k), REPEATED)


def spread(connection: sqlite3.Connection, ranked: Sequence[Proposal], repeated: float) -> list[Proposal]:
    """Take ``repeated`` off a passage for each one of the same title before it; equal scores by document and place."""
    rows = connection.execute(PLACES, {"chunks": json.dumps([p.chunk for p in ranked])})
    places = {chunk: ((uri, seq), title) for chunk, uri, seq, title in rows}

    def order(p: Proposal) -> tuple[float, tuple[str, int]]:
        return -round(p.score, 9), places[p.chunk][0]

    seen: dict[str, int] = {}
    thinned = []
    for p in sorted(ranked, key=order):
        title = places[p.chunk][1]
        times = min(seen.get(title, 0), MOST_REPEATED) if repeated else 0
        seen[title] = seen.get(title, 0) + 1
        signals = p.signals if not times else {**p.signals, "repeated": float(times)}
        thinned.append(Proposal(p.chunk, p.score - repeated * times, signals))
    return sorted(thinned, key=order)


def show(connection: sqlite3.Connection, plan: Plan, ranked: Sequence[Proposal], k: int) -> list[Hit]:
    """Return the first k as hits."""
    first = ranked[: max(0, k)]
    rows = {row[0]: row for row in connection.execute(SHOWN, {"chunks": json.dumps([p.chunk for p in first])})}
    weights = {"words": 1.0} if plan.match is not None else blend(weights_of(plan), namedness(plan))
    weights["repeated"] = -REPEATED
    hits = []
    for p in first:
        chunk, document, uri, title, heading, line, text, table = rows[p.chunk]
        parts = _parts({"words": p.score} if plan.match is not None else p.signals, weights)
        shown = snippet(text, plan.terms, rows=bool(table))
        score, reasons = round(p.score, 6), _reasons(parts)
        hits.append(Hit(chunk, document, uri, title, heading, line, score, shown, reasons, parts))
    return hits


def _parts(signals: Mapping[str, float], weights: Mapping[str, float]) -> tuple[Part, ...]:
    """What each signal added to the score, most first; what took off is last."""
    parts = [Part(name, signals[name], w, w * signals[name]) for name, w in weights.items() if name in signals]
    return tuple(sorted((p for p in parts if p.added), key=lambda p: -p.added))


def _reasons(parts: Sequence[Part]) -> Mapping[str, float]:
    """What each kind of signal added to the score, or took off."""
    reasons: dict[str, float] = {}
    for part in parts:
        group = next(shown for prefix, shown in GROUPS.items() if part.signal.startswith(prefix))
        reasons[group] = reasons.get(group, 0.0) + part.added
    return {group: round(added, 6) for group, added in reasons.items()}
