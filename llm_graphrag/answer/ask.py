"""Ask: the best evidence for a question, every piece of it cited.

Without a model there is no sentence to write, so the answer is the evidence itself
(verdict ``evidence``): the passages that fit best, each with its document, heading,
line and the sentence, verbatim, and the facts that join them. If nothing fits, or what
fits best most likely does not hold the answer (``answer.confidence``), the answer says
so (verdict ``abstained``), with the nearest evidence all the same. A citation whose file
has changed or gone since it was read says so; ``strict`` refuses instead.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ..graph.linker import flat
from ..routes.hits import Hit, Plan
from ..routes.search import HINT, prepare, rank, show
from .confidence import confidence, features, table_for
from .context import BUDGET, Context, Passage, build
from .facts import Fact, joining

__all__ = ["NOT_HELD", "Answer", "Citation", "K", "Searched", "StaleError", "ask"]

K = 5  # passages cited
NOT_HELD = "The notes do not seem to hold an answer. Nearest to the question is:"

ABOUT = """
    SELECT DISTINCT d.entity FROM json_each(:documents) f CROSS JOIN kg_documents d ON d.id = f.value
    WHERE d.entity IS NOT NULL
"""


class StaleError(ValueError):
    """Notes that an answer would cite are not what was read; the message names them."""


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered piece of evidence."""

    number: int
    chunk: int
    document: int
    uri: str
    title: str
    heading: str
    line: int
    start: int  # of the quote, in code points of the chunk
    end: int
    quote: str
    score: float
    content_hash: str  # of the chunk
    stale: str | None = None  # why the file is no longer what was read


@dataclass(frozen=True, slots=True)
class Searched:
    """What was looked through, and for what."""

    documents: int
    chunks: int
    entities: int
    words: tuple[str, ...]
    linked: tuple[str, ...]  # names in the question that the knowledge base has
    unknown: tuple[str, ...]  # names in the question that the knowledge base does not have


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with what was found for it."""

    question: str
    verdict: str  # evidence, abstained
    citations: tuple[Citation, ...]
    facts: tuple[Fact, ...]
    searched: Searched
    cut: int  # passages that did not fit into the budget
    confidence: float  # 0 to 1, that the notes hold the answer
    threshold: float  # below it is abstained
    hint: str = ""  # said where it is abstained
    id: int | None = None  # of the row in kg_questions


def ask(
    connection: sqlite3.Connection,
    question: str,
    *,
    k: int = K,
    budget: int = BUDGET,
    where: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    strict: bool = False,
    vectors: bool = True,
    log: bool = True,
) -> Answer:
    """Return the evidence for a question: at most ``k`` passages of at most ``budget`` tokens together.

    ``where``, ``tag``, ``since`` and ``vectors`` are those of ``routes.search``. With ``log`` the answer is stored in
    the knowledge base, unless that cannot be written. Raises StaleError if ``strict`` and a cited file has changed or
    is gone; ValueError for a wrong condition or date.
    """
    plan = prepare(connection, question, where=where, tag=tag, since=since, vectors=vectors, models=True)
    ranked = rank(connection, plan, k)
    hits = show(connection, plan, ranked, k)
    context = build(connection, hits, plan.terms, budget)
    citations = _citations(connection, context)
    if strict:
        _refuse_stale(citations)
    table = table_for(plan)
    sure = round(confidence(table, features(plan, ranked)), 4) if citations else 0.0
    held = bool(citations) and sure >= table.threshold
    answer = Answer(
        question=question,
        verdict="evidence" if held else "abstained",
        citations=citations,
        facts=tuple(_facts(connection, plan, context)),
        searched=_searched(connection, plan),
        cut=context.cut,
        confidence=sure,
        threshold=table.threshold,
        hint="" if held else NOT_HELD if citations else _hint(plan),
    )
    if not log or not question.strip():
        return answer
    from .record import record

    return record(connection, answer, hits)


def _refuse_stale(citations: Sequence[Citation]) -> None:
    if stale := [c for c in citations if c.stale]:
        names = ", ".join(sorted({f"{c.uri} ({c.stale})" for c in stale}))
        raise StaleError(
            f"Not answered, since notes to be cited are not as they were read: {names}. Add them again first."
        )


def _citations(connection: sqlite3.Connection, context: Context) -> tuple[Citation, ...]:
    if not context.passages:
        return ()
    from ..sources.stale import stale

    late = stale(connection, [p.hit.document for p in context.passages])
    return tuple(_citation(p, p.hit, late.get(p.hit.document)) for p in context.passages)


def _citation(p: Passage, hit: Hit, stale: str | None) -> Citation:
    return Citation(
        number=p.number,
        chunk=hit.chunk,
        document=hit.document,
        uri=hit.uri,
        title=hit.title,
        heading=hit.heading,
        line=p.line,
        start=p.start,
        end=p.end,
        quote=p.quote,
        score=hit.score,
        content_hash=p.content_hash,
        stale=stale,
    )


def _facts(connection: sqlite3.Connection, plan: Plan, context: Context) -> list[Fact]:
    documents = json.dumps(sorted({p.hit.document for p in context.passages}))
    about = {row[0] for row in connection.execute(ABOUT, {"documents": documents})}
    named = {c.entity for c in flat(plan.mentions)}
    return joining(connection, named, about, {p.hit.chunk: p.number for p in context.passages}, plan.terms)


def _searched(connection: sqlite3.Connection, plan: Plan) -> Searched:
    documents = len(plan.documents) if plan.documents is not None else _count(connection, "kg_documents")
    return Searched(
        documents=documents,
        chunks=plan.total,
        entities=_count(connection, "kg_entities"),
        words=tuple(term.text.rstrip("*") for term in plan.terms),
        linked=tuple(dict.fromkeys(m.text for m in plan.mentions if m.candidates)),
        unknown=tuple(dict.fromkeys(m.text for m in plan.mentions if not m.candidates)),
    )


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - our own names


def _hint(plan: Plan) -> str:
    if not plan.terms and not plan.mentions:
        return HINT
    if not plan.total:
        return "The knowledge base is empty. Fill it with: llm graphrag add FOLDER"
    return "Nothing was found. Other words may do better, or the notes do not say it."
