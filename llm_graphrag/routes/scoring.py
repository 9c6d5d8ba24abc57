"""Route ``scoring``: the facts around what a question names that fit it best.

Two hops around the linked entities; of the relations found there the ``RELATIONS`` that the
question speaks of most; of their triples the ``TRIPLES`` best by relation and distance; these are
rated as sentences, decayed by distance, and by a reranker if one is asked for. A passage
scores as its best fact.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..graph.candidates import flat
from ..graph.hops import Evidence, Node, evidence_of, nodes_of
from ..graph.verbalize import fact_text
from .fact_ratings import rate_facts, rate_relations
from .hits import Fact, Plan, Proposal

__all__ = ["scoring"]

SOURCES = 8  # linked entities
HOPS = 2
RELATIONS = 20
TRIPLES = 100
OF_RELATION = (300, 30)  # triples read of one entity, relation and direction, at each distance
NEIGHBOURS = 1_000  # entities gone on from
DECAY = 0.7  # of a fact for each hop away from what is named
SECONDS = 1.0
SLICE = 200

# Every relation of what is named; of its neighbours, which may be hubs, those of some triples.
NAMED = """
    SELECT t.relation FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.head = f.value GROUP BY t.relation
    UNION
    SELECT t.relation FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.tail = f.value GROUP BY t.relation
"""
NEAR = """
    SELECT t.relation FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.id IN (
      SELECT o.id FROM kg_triples o WHERE o.head = f.value ORDER BY o.relation DESC LIMIT 100)
    UNION
    SELECT t.relation FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.id IN (
      SELECT o.id FROM kg_triples o WHERE o.tail = f.value ORDER BY o.relation DESC LIMIT 100)
"""
AROUND = """
    SELECT t.id, t.head, t.relation, t.tail
    FROM json_each(:nodes) f CROSS JOIN json_each(:relations) r CROSS JOIN kg_triples t ON t.id IN (
      SELECT o.id FROM kg_triples o WHERE o.head = f.value AND o.relation = r.value ORDER BY o.tail LIMIT :limit)
    {where}
    UNION
    SELECT t.id, t.head, t.relation, t.tail
    FROM json_each(:nodes) f CROSS JOIN json_each(:relations) r CROSS JOIN kg_triples t ON t.id IN (
      SELECT o.id FROM kg_triples o WHERE o.tail = f.value AND o.relation = r.value ORDER BY o.head LIMIT :limit)
    {where}
"""
WITHIN = """AND EXISTS (SELECT 1 FROM kg_evidence v CROSS JOIN kg_chunks c ON c.id = v.chunk
  WHERE v.triple = t.id AND c.document IN (SELECT value FROM json_each(:documents)))"""


@dataclass(frozen=True, slots=True)
class _Triple:
    id: int
    head: int
    relation: str
    tail: int
    distance: int  # hops from what is named to its nearer end


def scoring(
    connection: sqlite3.Connection, plan: Plan, k: int, found: Mapping[str, Sequence[Proposal]] | None = None
) -> list[Proposal]:
    """Return up to k chunks that state the facts that fit best, with these; signal: fact, how well the best fits."""
    sources = [candidate.entity for candidate in flat(plan.mentions)[:SOURCES]]
    if not sources or k < 1:
        return []
    around, spoken = _around(connection, plan, sources)
    nodes = nodes_of(connection, {end for triple in around for end in (triple.head, triple.tail)})
    if (wanted := plan.involved) is not None:
        around = [
            t for t in around
            if t.relation in wanted.relations or {nodes[t.head].type, nodes[t.tail].type} & wanted.types
        ]  # fmt: skip
    chosen = sorted(around, key=lambda t: (-spoken[t.relation] * DECAY**t.distance, t.distance, t.id))[:TRIPLES]
    evidence = evidence_of(connection, (triple.id for triple in chosen), plan.documents)
    stated = [triple for triple in chosen if triple.id in evidence]
    return _by_chunk(_rated(plan, stated, evidence, nodes))[:k]


def _around(
    connection: sqlite3.Connection, plan: Plan, sources: Sequence[int]
) -> tuple[list[_Triple], dict[str, float]]:
    """The triples within reach of the best relations, each at its least distance, and how good these are.

    What takes too long is cut off.
    """
    until = time.monotonic() + SECONDS
    seen: dict[int, _Triple] = {}
    spoken: dict[str, float] = {}
    here, reached = list(sources), set(sources)
    for distance in range(HOPS):
        spoken |= rate_relations(plan, sorted(_relations(connection, here, distance) - spoken.keys()))
        best = sorted(spoken, key=lambda relation: (-spoken[relation], relation))[:RELATIONS]
        fresh: dict[int, None] = {}
        for start in range(0, len(here), SLICE):
            if time.monotonic() > until:
                break
            for id_, head, relation, tail in _read(connection, plan, here[start : start + SLICE], best, distance):
                seen.setdefault(id_, _Triple(id_, head, relation, tail, distance))
                fresh.update((end, None) for end in (head, tail) if end not in reached)
        here = list(fresh)[:NEIGHBOURS]
        reached.update(here)
    kept = set(best)
    return [triple for triple in seen.values() if triple.relation in kept], spoken


def _relations(connection: sqlite3.Connection, nodes: Sequence[int], distance: int) -> set[str]:
    rows = connection.execute(NEAR if distance else NAMED, {"nodes": json.dumps(nodes)})
    return {row[0] for row in rows}


def _read(
    connection: sqlite3.Connection, plan: Plan, nodes: Sequence[int], relations: Sequence[str], distance: int
) -> list[tuple[int, int, str, int]]:
    values: dict[str, object] = {
        "nodes": json.dumps(nodes), "relations": json.dumps(relations), "limit": OF_RELATION[distance],
    }  # fmt: skip
    where = ""
    if plan.documents is not None:
        where += WITHIN
        values["documents"] = json.dumps(sorted(plan.documents))
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(AROUND.format(where=where), values).fetchall()


def _rated(
    plan: Plan, triples: Sequence[_Triple], evidence: Mapping[int, Evidence], nodes: Mapping[int, Node]
) -> list[Fact]:
    """The triples as facts with their scores, best first."""
    texts = [fact_text(nodes[t.head].name, t.relation, [nodes[t.tail].name]) for t in triples]
    sentences = [
        f"{nodes[t.head].name} {t.relation.replace('_', ' ')} {nodes[t.tail].name}. {evidence[t.id].quote}"
        for t in triples
    ]
    scores = rate_facts(plan, sentences)
    if plan.reranker is not None and sentences:
        scores = _reranked(plan.reranker, plan.question, sentences)
    facts = [
        Fact(text, score * DECAY**triple.distance, (triple.id,), (evidence[triple.id],))
        for text, score, triple in zip(texts, scores, triples, strict=True)
    ]
    return sorted(facts, key=lambda fact: (-fact.score, fact.triples))


def _reranked(name: str, question: str, sentences: Sequence[str]) -> list[float]:
    """The scores of a reranker. Raises ValueError if it does not give one number for each sentence."""
    from ..plugins import reranker

    scores = [float(score) for score in reranker(name)(question, sentences)]
    if len(scores) != len(sentences) or not all(map(math.isfinite, scores)):
        raise ValueError(f"The reranker {name!r} has to give a number for each of {len(sentences)} sentences.")
    return scores


def _by_chunk(facts: Iterable[Fact]) -> list[Proposal]:
    """A proposal for each chunk that states facts, in the order of its best one."""
    of: dict[int, list[Fact]] = {}
    for fact in facts:
        of.setdefault(fact.evidence[0].chunk, []).append(fact)
    return [
        Proposal(chunk, stated[0].score, {"fact": max(0.0, min(1.0, stated[0].score))}, tuple(stated))
        for chunk, stated in of.items()
    ]
