"""The answer without a model: the passages that fit a question best, each with the sentence that fits it.

``find`` ranks once; ``evidence`` shows the first of it, with the facts that join them. If
nothing fits, or what fits best most likely does not hold the answer
(``answer.confidence``), the verdict is ``abstained``, with the nearest evidence all the same.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from ..graph.candidates import flat
from ..routes.hits import Hit, Plan, Proposal
from ..routes.search import HINT, prepare, rank, show
from .cells import with_cells
from .confidence import confidence, features, table_for
from .context import Context, Passage, build
from .facts import Fact, joining, of_triples, stated
from .result import Answer, Citation, Searched, StaleError
from .walks import fitting, tokens_of

__all__ = ["NOT_HELD", "Found", "context_of", "evidence", "find", "late_documents", "refuse_stale"]

NOT_HELD = "The notes do not seem to hold an answer. Nearest to the question is:"

ASKED = 8  # facts that rows state for which the question asks

ABOUT = """
    SELECT DISTINCT d.entity FROM json_each(:documents) f CROSS JOIN kg_documents d ON d.id = f.value
    WHERE d.entity IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A question taken apart, and what was found for it, best first."""

    plan: Plan
    ranked: list[Proposal]
    hits: list[Hit]
    explored: tuple[
        tuple[int, ...], ...
    ] = ()  # walks of a model through the graph, as triples, those first that tell most


def find(
    connection: sqlite3.Connection,
    question: str,
    k: int,
    *,
    where: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    vectors: bool = True,
) -> Found:
    """Return the best ``k`` passages. Raises ValueError for a wrong condition or date."""
    plan = prepare(connection, question, where=where, tag=tag, since=since, vectors=vectors, models=True)
    ranked = rank(connection, plan, k)
    return Found(plan, ranked, show(connection, plan, ranked, k))


def context_of(connection: sqlite3.Connection, found: Found, k: int, budget: int) -> tuple[Context, list[Fact]]:
    """The first ``k`` passages with what was explored, within a budget of tokens, and the facts that join them."""
    context = _with_walks(connection, found, k, budget)
    documents = json.dumps(sorted({p.hit.document for p in context.passages}))
    about = {row[0] for row in connection.execute(ABOUT, {"documents": documents})}
    named = {c.entity for c in flat(found.plan.mentions)}
    cited = {p.hit.chunk: p.number for p in context.passages}
    asked = [row.triple for hit in found.hits for row in hit.rows][:ASKED]
    others = stated(connection, asked, cited) + joining(connection, named, about, cited, found.plan.terms)
    told = {(fact.head, fact.relation, fact.tail) for fact in context.walked}
    new: dict[tuple[str, str, str], Fact] = {}
    for fact in others:
        new.setdefault((fact.head, fact.relation, fact.tail), fact)
    return context, [fact for said, fact in new.items() if said not in told]


def _with_walks(connection: sqlite3.Connection, found: Found, k: int, budget: int) -> Context:
    """The context, of which what was explored takes no more than it needs, and at most half."""
    hits, terms, explored = found.hits[:k], found.plan.terms, found.explored
    if not explored:
        return build(connection, hits, terms, budget)
    triples = list(dict.fromkeys(triple for walk in explored for triple in walk))
    needed = tokens_of(of_triples(connection, triples, {}).values())
    kept = min(needed, budget // 2)
    context = build(connection, hits, terms, budget - kept)
    facts = of_triples(connection, triples, {passage.hit.chunk: passage.number for passage in context.passages})
    walked, roomless = fitting(explored, facts, max(kept, budget - context.tokens))
    return replace(context, walked=walked, roomless=roomless)


def late_documents(connection: sqlite3.Connection, documents: Collection[int]) -> Mapping[int, str]:
    """Those of the documents that are no longer what was read, each with the reason."""
    if not documents:
        return {}
    from ..sources.stale import stale

    return stale(connection, documents)


def evidence(
    connection: sqlite3.Connection, question: str, found: Found, *, k: int, budget: int, strict: bool
) -> Answer:
    """Return the first ``k`` passages as an answer. Raises StaleError if ``strict`` and one of them is stale."""
    plan = found.plan
    context, facts = context_of(connection, found, k, budget)
    late = late_documents(connection, [p.hit.document for p in context.passages])
    citations = with_cells(connection, [_citation(p, late.get(p.hit.document)) for p in context.passages])
    if strict:
        refuse_stale((c.uri, c.stale) for c in citations)
    table = table_for(plan)
    sure = round(confidence(table, features(plan, found.ranked)), 4) if citations else 0.0
    held = bool(citations) and sure >= table.threshold
    return Answer(
        question=question,
        verdict="evidence" if held else "abstained",
        citations=citations,
        facts=(*context.walked, *facts),
        searched=_searched(connection, plan),
        cut=context.cut,
        confidence=sure,
        threshold=table.threshold,
        hint="" if held else NOT_HELD if citations else _hint(plan),
    )


def refuse_stale(cited: Iterable[tuple[str, str | None]]) -> None:
    """Raise StaleError if one of (uri, why it is stale) is."""
    if stale := sorted({f"{uri} ({why})" for uri, why in cited if why}):
        raise StaleError(
            "Not answered, since notes to be cited are not as they were read: "
            f"{', '.join(stale)}. Add them again first."
        )


def _citation(p: Passage, stale: str | None) -> Citation:
    return Citation(
        number=p.number,
        chunk=p.hit.chunk,
        document=p.hit.document,
        uri=p.hit.uri,
        title=p.hit.title,
        heading=p.hit.heading,
        line=p.line,
        start=p.start,
        end=p.end,
        quote=p.quote,
        score=p.hit.score,
        content_hash=p.content_hash,
        stale=stale,
    )


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
