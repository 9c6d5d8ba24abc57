"""Route ``paths``: what joins the things that a question names, and where its relations lead from them.

Between each two mentions the shortest paths of facts; from each mention the metapaths that the
question speaks of ("the director of" is ``directed_by``), followed. Every hop is a fact with its
sentence; a passage scores as the best path that it states a hop of.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from ..graph.candidates import Mention
from ..graph.frontier import Limits, Within
from ..graph.metapath import follow
from ..graph.paths import Path, shortest_paths
from ..graph.relations import guesses
from ..graph.verbalize import path_text
from .hits import Fact, Plan, Proposal

__all__ = ["paths"]

MENTIONS = 4  # of the question, that have candidates
CANDIDATES = 2  # of a mention
PATHS = 3  # between two of them
MAX_HOPS = 4
METAPATHS = 2  # of an entity
WALKS = 20  # of a metapath
DECAY = 0.9  # for each path before it
LATER = 0.99  # for each hop before it
SECONDS = 1.0


def paths(
    connection: sqlite3.Connection, plan: Plan, k: int, found: Mapping[str, Sequence[Proposal]] | None = None
) -> list[Proposal]:
    """Return up to k chunks that state hops of the best paths, with these; signal: path, the rank of the best."""
    if k < 1:
        return []
    best: dict[int, float] = {}
    facts: dict[int, list[Fact]] = {}
    seen = set()
    score = 1.0
    for path in _found(connection, plan):
        key = tuple(hop.by.triple for hop in path.hops)
        if key in seen or any(hop.evidence is None for hop in path.hops):
            continue
        seen.add(key)
        evidence = tuple(hop.evidence for hop in path.hops if hop.evidence is not None)
        fact = Fact(path_text(path), score, key, evidence)
        for place, sentence in enumerate(evidence):
            best.setdefault(sentence.chunk, score * LATER**place)
            of = facts.setdefault(sentence.chunk, [])
            if fact not in of:
                of.append(fact)
        score *= DECAY
    ranked = sorted(best, key=lambda chunk: (-best[chunk], chunk))[:k]
    return [Proposal(chunk, best[chunk], {"path": best[chunk]}, tuple(facts[chunk])) for chunk in ranked]


def _found(connection: sqlite3.Connection, plan: Plan) -> Iterator[Path]:
    """Paths between mentions, then walks from them, best first of each; until time is up."""
    until = time.monotonic() + SECONDS
    within = Within(documents=plan.documents)
    if plan.involved is not None:
        within = Within(plan.involved.relations or None, plan.involved.types or None, plan.documents)
    named = [mention for mention in plan.mentions if mention.candidates][:MENTIONS]
    for one, other in combinations(named, 2):
        if (left := until - time.monotonic()) <= 0:
            return
        ends = [c.entity for c in one.candidates[:CANDIDATES]], [c.entity for c in other.candidates[:CANDIDATES]]
        limits = Limits(hub=2_000, triples=100_000, seconds=left / 2)
        joined = shortest_paths(connection, *ends, PATHS, MAX_HOPS, within=within, limits=limits)
        yield from (path for path in joined.paths if path.hops)
    for mention in named:
        if until - time.monotonic() <= 0:
            return
        yield from _walks(connection, plan, mention, within, until)


def _walks(
    connection: sqlite3.Connection, plan: Plan, mention: Mention, within: Within, until: float
) -> Iterator[Path]:
    """Where the relations lead that the question speaks of."""
    entity = mention.candidates[0].entity
    asked = [guess for guess in guesses(connection, entity, plan.question, mention.text, k=METAPATHS) if guess.asked]
    for guess in asked:
        left = until - time.monotonic()
        if left <= 0:
            return
        metapath = tuple((step,) for step in guess.steps)
        if within.relations is not None and not {step.name for step in guess.steps} <= within.relations:
            continue
        limits = Limits(hub=1 << 62, triples=100_000, seconds=left)
        yield from follow(connection, [entity], metapath, walks=WALKS, each=1, within=within, limits=limits).walks
