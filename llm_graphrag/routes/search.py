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

from ..graph.linker import link
from ..graph.view import count_chunks
from ..text.fts import advanced_query
from .fusion import WEIGHTS, blend, fuse, namedness
from .hits import Hit, Plan, Proposal
from .passages import passages
from .scope import scope
from .snippets import snippet
from .terms import read_terms

__all__ = ["HINT", "prepare", "rank", "search", "show"]

HINT = "Nothing to search for: give a few words, or a question."
MAX_HITS = 1_000
REPEATED = 0.5  # taken off the score for each passage of the same title before, at most MOST_REPEATED times
MOST_REPEATED = 4
GROUPS = {"words": "words", "coverage": "words", "named": "names", "mass": "graph", "bridge": "bridges"}

PLACES = """
    SELECT c.id, d.uri, c.seq, d.title
    FROM json_each(:chunks) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
"""
SHOWN = """
    SELECT c.id, c.document, d.uri, d.title, c.heading, c.line, c.text
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
) -> list[Hit]:
    """Return the k best passages for a question or a few words; none for a text without words (``HINT`` says so).

    ``where`` is an SQL condition over uri, title, folder, kind, added, updated and tag, to be taken from the user of
    this file only; ``tag`` and ``since`` narrow further. ``advanced`` gives AND, OR, NOT, parentheses, "phrases" and
    prefix* a meaning. Raises ValueError, one sentence, for a condition, a date or an advanced query that is wrong.
    """
    plan = prepare(connection, question, where=where, tag=tag, since=since, advanced=advanced)
    return show(connection, plan, rank(connection, plan, k), k)


def prepare(
    connection: sqlite3.Connection,
    question: str,
    *,
    where: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    advanced: bool = False,
) -> Plan:
    """Take a question apart: its words, what it names, and which documents it is asked of."""
    question = question.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")  # what SQLite refuses
    match = advanced_query(question) if advanced and question.strip() else None
    documents = scope(connection, where, tag, since)
    total = count_chunks(connection)
    terms = read_terms(connection, question, total)
    mentions = () if match else tuple(link(connection, question))
    return Plan(question, terms, mentions, total, documents, match)


def rank(connection: sqlite3.Connection, plan: Plan, k: int) -> list[Proposal]:
    """Return the best passages of a plan with their scores, at least k if there are so many.

    Equal scores are ordered by document and place, so that ids do not matter.
    """
    k = max(0, min(k, MAX_HITS))
    if plan.match is not None:
        return _ordered(connection, passages(connection, plan, k), 0.0)
    return _ordered(connection, fuse(connection, plan, k=k), REPEATED)


def _ordered(connection: sqlite3.Connection, ranked: Sequence[Proposal], repeated: float) -> list[Proposal]:
    rows = connection.execute(PLACES, {"chunks": json.dumps([p.chunk for p in ranked])})
    places = {chunk: ((uri, seq), title) for chunk, uri, seq, title in rows}

    def order(p: Proposal) -> tuple[float, tuple[str, int]]:
        return -round(p.score, 9), places[p.chunk][0]

    seen: dict[str, int] = {}
    spread = []
    for p in sorted(ranked, key=order):
        title = places[p.chunk][1]
        times = min(seen.get(title, 0), MOST_REPEATED) if repeated else 0
        seen[title] = seen.get(title, 0) + 1
        signals = p.signals if not times else {**p.signals, "repeated": float(times)}
        spread.append(Proposal(p.chunk, p.score - repeated * times, signals))
    return sorted(spread, key=order)


def show(connection: sqlite3.Connection, plan: Plan, ranked: Sequence[Proposal], k: int) -> list[Hit]:
    """Return the first k as hits."""
    first = ranked[: max(0, k)]
    rows = {row[0]: row for row in connection.execute(SHOWN, {"chunks": json.dumps([p.chunk for p in first])})}
    hits = []
    for p in first:
        chunk, document, uri, title, heading, line, text = rows[p.chunk]
        shown = snippet(text, plan.terms)
        hits.append(Hit(chunk, document, uri, title, heading, line, round(p.score, 6), shown, _reasons(plan, p)))
    return hits


def _reasons(plan: Plan, proposal: Proposal) -> Mapping[str, float]:
    """What each kind of signal added to the score, or took off."""
    if plan.match is not None:
        return {"words": round(proposal.score, 6)}
    reasons: dict[str, float] = {}
    for name, weight in blend(WEIGHTS, namedness(plan)).items():
        added = weight * proposal.signals.get(name, 0.0)
        if added:
            group = next(shown for prefix, shown in GROUPS.items() if name.startswith(prefix))
            reasons[group] = reasons.get(group, 0.0) + added
    if times := proposal.signals.get("repeated"):
        reasons["repeated"] = -REPEATED * times
    return {group: round(added, 6) for group, added in reasons.items()}
