"""Search: a question in, ranked passages out.

``prepare`` takes the question apart once; ``routes.fusion`` ranks; here the ranking
becomes hits that can be shown. An advanced query (AND, OR, NOT, "phrases", prefix*)
says itself what is to be found, so it is ranked by words alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from ..graph.linker import link
from ..graph.view import count_chunks
from ..text.fts import advanced_query
from .fusion import WEIGHTS, fuse
from .hits import Hit, Plan, Proposal
from .passages import passages
from .scope import scope
from .snippets import snippet
from .terms import read_terms

__all__ = ["HINT", "prepare", "rank", "search", "show"]

HINT = "Nothing to search for: give a few words, or a question."
MAX_HITS = 1_000
GROUPS = {"words": "words", "coverage": "words", "named": "names", "mass": "graph", "bridge": "bridges"}

SHOWN = """
    SELECT c.id, c.document, d.uri, d.title, c.heading, c.line, c.seq, c.text
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
    """Return the best passages of a plan with their scores, at least k if there are so many."""
    if plan.match is not None:
        return passages(connection, plan, max(0, min(k, MAX_HITS)))
    return fuse(connection, plan, k=k)


def show(connection: sqlite3.Connection, plan: Plan, ranked: Sequence[Proposal], k: int) -> list[Hit]:
    """Return the first k as hits. Equal scores are ordered by document and place, whatever the ids are."""
    rows = {r[0]: r for r in connection.execute(SHOWN, {"chunks": json.dumps([p.chunk for p in ranked])})}
    known = [p for p in ranked if p.chunk in rows]
    known.sort(key=lambda p: (-round(p.score, 9), rows[p.chunk][2], rows[p.chunk][6]))
    hits = []
    for p in known[: max(0, k)]:
        chunk, document, uri, title, heading, line, _, text = rows[p.chunk]
        shown = snippet(text, plan.terms)
        hits.append(Hit(chunk, document, uri, title, heading, line, round(p.score, 6), shown, _reasons(plan, p)))
    return hits


def _reasons(plan: Plan, proposal: Proposal) -> Mapping[str, float]:
    """What each kind of signal added to the score."""
    if plan.match is not None:
        return {"words": round(proposal.score, 6)}
    reasons: dict[str, float] = {}
    for name, weight in WEIGHTS.items():
        added = weight * proposal.signals.get(name, 0.0)
        if added:
            group = next(shown for prefix, shown in GROUPS.items() if name.startswith(prefix))
            reasons[group] = reasons.get(group, 0.0) + added
    return {group: round(added, 6) for group, added in reasons.items()}
