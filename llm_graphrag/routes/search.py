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
from dataclasses import replace
from typing import TYPE_CHECKING

from ..graph.mentions import find_mentions
from ..graph.view import count_chunks
from ..plugins import reranker
from ..store.headings import outlines
from ..text.fts import advanced_query
from ..text.shortened import shortened
from .asked import ASKED, with_rows
from .fusion import fuse
from .hits import Hit, Hits, Part, Plan, Proposal, Proposals
from .involved import involved
from .meaning import open_meaning
from .passages import passages
from .registry import run_named
from .scope import scope
from .snippets import best_sentence, snippet
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
    "asked": "facts",
    "repeated": "repeated",
}

PLACES = """
    SELECT c.id, d.uri, c.seq, d.title
    FROM json_each(:chunks) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
"""
SHOWN = """
    SELECT c.id, c.document, d.uri, d.title, c.line, c.text, d.kind = 'import'
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
    routes: Sequence[str] = (),
    types: Sequence[str] = (),
    rerank: str | None = None,
) -> Hits:
    """Return the k best passages for a question or a few words; none for a text without words (``HINT`` says so).

    ``where`` is an SQL condition over uri, title, folder, kind, added, updated and tag, to be taken from the user of
    this file only; ``tag`` and ``since`` narrow further. ``advanced`` gives AND, OR, NOT, parentheses, "phrases" and
    prefix* a meaning. ``vectors``: whether to use those of the file, or them, opened before. ``routes``: ask only
    these, by name, in place of the usual ranking; ``types``: entity types, relations and attributes to look among
    first; ``rerank``: what rates the facts of the route scoring. The ``notes`` of the hits say where that failed.
    Raises ValueError, one sentence, for a condition, a date or an advanced query that is wrong, for a route or reranker
    that is not there, and for a model of the vectors that fails.
    """
    plan = prepare(
        connection, question, where=where, tag=tag, since=since, advanced=advanced, vectors=vectors, models=True
    )
    wanted, unknown = involved(connection, types) if types else (None, ())
    plan = replace(plan, involved=wanted, reranker=rerank)
    if rerank is not None:
        reranker(rerank)  # says now what is not installed
    if routes and plan.match is not None:
        raise ValueError("An advanced query says itself what is to be found; leave --route out.")
    ranked = rank(connection, plan, k, routes)
    called = ", ".join(repr(shortened(name)) for name in unknown)
    unknown_note = (f"No type, relation or attribute is called {called}.",) if unknown else ()
    return Hits(show(connection, plan, ranked, k, routes), (*unknown_note, *ranked.notes))


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
    mentions = () if match else tuple(find_mentions(connection, question, alike=True))
    chunks = None if isinstance(vectors, bool) else vectors
    wordless = not any(character.isalnum() for character in question)  # "*" or "?" is near to everything
    by_words = vectors is False or match or wordless
    meaning = None if by_words else open_meaning(connection, question, chunks, models)
    return Plan(question, terms, mentions, total, documents, match, meaning)


def rank(connection: sqlite3.Connection, plan: Plan, k: int, routes: Sequence[str] = ()) -> Proposals:
    """Return the best passages of a plan with their scores, at least k if there are so many.

    ``routes``: only of these, as they rank them. Equal scores are ordered by document and place, so that ids do not
    matter.
    """
    k = max(0, min(k, MAX_HITS))
    if routes:
        return run_named(connection, plan, routes, k)
    if plan.match is not None:
        return Proposals(spread(connection, passages(connection, plan, k), 0.0))
    ranked = fuse(connection, plan, k=k)
    return Proposals(spread(connection, with_rows(connection, plan, ranked), REPEATED), ranked.notes)


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
        thinned.append(replace(p, score=p.score - repeated * times, signals=signals))
    return sorted(thinned, key=order)


def show(
    connection: sqlite3.Connection, plan: Plan, ranked: Sequence[Proposal], k: int, routes: Sequence[str] = ()
) -> list[Hit]:
    """Return the first k as hits; what added to a score is named by its route if ``routes`` ranked them."""
    first = ranked[: max(0, k)]
    rows = {row[0]: row for row in connection.execute(SHOWN, {"chunks": json.dumps([p.chunk for p in first])})}
    outline = outlines(connection, rows)
    weights = {"words": 1.0} if plan.match is not None else blend(weights_of(plan), namedness(plan))
    weights |= {"asked": ASKED, "repeated": -REPEATED}
    several = len(set(routes)) > 1
    hits = []
    for p in first:
        chunk, document, uri, title, line, text, table = rows[p.chunk]
        start, end = (p.rows[0].start, p.rows[0].end) if p.rows else best_sentence(text, plan.terms, rows=bool(table))
        heading = outline[chunk].path(start)
        line += text.count("\n", 0, start)
        if table:  # the row is shown alone
            text, start, end = text[start:end], 0, end - start
        shown = snippet(text, plan.terms, rows=bool(table), sentence=(start, end))
        score = round(p.score, 6)
        if routes:
            reasons = {n: round(share, 6) for n, share in p.signals.items()} if several else {routes[0]: score}
            parts: tuple[Part, ...] = ()
        else:
            parts = _parts({"words": p.score} if plan.match is not None else p.signals, weights)
            reasons = _reasons(parts)
        hits.append(Hit(chunk, document, uri, title, heading, line, score, shown, reasons, parts, p.facts, p.rows))
    return hits


def _parts(signals: Mapping[str, float], weights: Mapping[str, float]) -> tuple[Part, ...]:
    """What each signal added to the score, most first; what took off is last."""
    parts = [Part(name, signals[name], w, w * signals[name]) for name, w in weights.items() if name in signals]
    return tuple(sorted((p for p in parts if p.added), key=lambda p: -p.added))


def _reasons(parts: Sequence[Part]) -> dict[str, float]:
    """What each kind of signal added to the score, or took off."""
    reasons: dict[str, float] = {}
    for part in parts:
        group = next(shown for prefix, shown in GROUPS.items() if part.signal.startswith(prefix))
        reasons[group] = reasons.get(group, 0.0) + part.added
    return {group: round(added, 6) for group, added in reasons.items()}
