"""The routes, and how they are run.

A route is one function ``(connection, plan, k, found) -> proposals``, best first, at most k:
``found`` holds what the routes before it proposed, by name. A route reads the knowledge base
and never writes, calls no model, keeps to ``plan.documents``, gives the same proposals for the
same file and question, and comes back in a second or two whatever the graph is like
(tests/route_compliance.py has all of it as tests).

``ROUTES`` are those that make up the ranking of every search, in the order in which they run.
Bridges run last and more than once, from what fusion ranks first (``routes.fusion``), so they
stand apart. ``scoring`` and ``paths`` find facts, and ``query`` takes a SELECT; they, and routes of
plugins, are asked for by name: ``llm graphrag search --route scoring``.

Scope and type filter are applied here, to every route alike: it is asked for more than is wanted,
and what is not of the scope, or not about the types, is left out. If nothing is about the types,
the route runs without them, and the proposals say so.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import pluggy

from ..hookspecs import Route
from .entities import entities
from .hits import Plan, Proposal, Proposals
from .involved import about
from .passages import passages
from .ppr import ppr
from .vectors import vectors

__all__ = ["ROUTES", "Found", "Route", "all_routes", "ask", "in_scope", "run", "run_named"]

Found = Mapping[str, Sequence[Proposal]]

ROUTES: dict[str, Route] = {
    "passages": passages,
    "vectors": vectors,
    "entities": entities,
    "ppr": ppr,
}


def _scoring(connection: sqlite3.Connection, plan: Plan, k: int, found: Found) -> list[Proposal]:
    from .scoring import scoring

    return scoring(connection, plan, k, found)


def _paths(connection: sqlite3.Connection, plan: Plan, k: int, found: Found) -> list[Proposal]:
    from .paths import paths

    return paths(connection, plan, k, found)


def _query(connection: sqlite3.Connection, plan: Plan, k: int, found: Found) -> list[Proposal]:
    from .query import query

    return query(connection, plan, k, found)


#: Imported when they are asked for: what tells relations apart by their words need not be loaded for every search.
BY_NAME: dict[str, Route] = {"scoring": _scoring, "paths": _paths, "query": _query}

MORE = 5  # times as many proposals are asked for, where a filter will leave some out
HEAD = 10  # of reciprocal ranks, where several routes are asked

IN_SCOPE = """
    SELECT c.id FROM json_each(:chunks) f CROSS JOIN kg_chunks c ON c.id = f.value
    WHERE c.document IN (SELECT value FROM json_each(:documents))
"""

hookimpl = pluggy.HookimplMarker("llm_graphrag")


@hookimpl
def register_routes(register: Callable[[str, Route], None]) -> None:
    for name, route in (ROUTES | BY_NAME).items():
        register(name, route)


def all_routes() -> dict[str, Route]:
    """Every route by name, those of plugins too."""
    from ..plugins import routes

    return routes()


def ask(connection: sqlite3.Connection, plan: Plan, name: str, route: Route, k: int, found: Found) -> Proposals:
    """Run one route within the scope of the plan, its type filter applied, unless that leaves nothing."""
    if plan.documents is None:
        return _typed(connection, plan, name, route, k, found)

    def scoped(connection: sqlite3.Connection, plan: Plan, k: int, found: Found) -> list[Proposal]:
        more = route(connection, plan, k * MORE, found)
        allowed = in_scope(connection, [p.chunk for p in more], plan.documents or ())
        return Proposals([p for p in more if p.chunk in allowed][:k], _notes(more))

    return _typed(connection, plan, name, scoped, k, found)


def _typed(connection: sqlite3.Connection, plan: Plan, name: str, route: Route, k: int, found: Found) -> Proposals:
    if plan.involved is not None:
        more = route(connection, plan, k * MORE, found)
        allowed = about(connection, [p.chunk for p in more], plan.involved)
        if kept := [p for p in more if p.chunk in allowed][:k]:
            return Proposals(kept, _notes(more))
    given = route(connection, replace(plan, involved=None), k, found)
    notes = _notes(given)
    if plan.involved is not None and given:
        notes += (f"Route {name} found nothing of the types asked for; it ran without them.",)
    return Proposals(given, notes)


def _notes(proposals: Sequence[Proposal]) -> tuple[str, ...]:
    return proposals.notes if isinstance(proposals, Proposals) else ()


def run(connection: sqlite3.Connection, plan: Plan, k: int) -> dict[str, Proposals]:
    """Run the routes of every search; returns name -> proposals.

    What is out of scope may be among them: it can lead to what is in it, and fusion leaves it out at the end.
    """
    found: dict[str, Proposals] = {}
    for name, route in ROUTES.items():
        found[name] = _typed(connection, plan, name, route, k, found)
    return found


def in_scope(connection: sqlite3.Connection, chunks: Sequence[int], documents: Collection[int]) -> set[int]:
    """Those of some chunks that are of some documents."""
    values = {"chunks": json.dumps(chunks), "documents": json.dumps(sorted(documents))}
    return {row[0] for row in connection.execute(IN_SCOPE, values)}


def run_named(connection: sqlite3.Connection, plan: Plan, names: Sequence[str], k: int) -> Proposals:
    """Run some routes by name and return one ranking of at most k.

    The score of a single route is its own; of several it is the sum of reciprocal ranks, the best at 1. A route that
    builds on others is given them. Signals are then the score by route. Raises ValueError for a name that is no route.
    """
    known = all_routes()
    for name in names:
        if name not in known:
            raise ValueError(f"There is no route {name!r}. There are: {', '.join(sorted(known))}.")
    chosen = list(dict.fromkeys(names))
    found: dict[str, Proposals] = {}
    needed = [name for name in ROUTES if name in chosen or any(other not in ROUTES for other in chosen)]
    if "ppr" in chosen and "passages" not in needed:
        needed.insert(0, "passages")
    for name in dict.fromkeys([*needed, *chosen]):
        found[name] = ask(connection, plan, name, known[name], k, found)
    notes = tuple(note for name in chosen for note in found[name].notes)
    return Proposals(_fused({name: found[name] for name in chosen})[:k], notes)


def _fused(found: Mapping[str, Sequence[Proposal]]) -> list[Proposal]:
    """One proposal a chunk, with the share of every route, best first."""
    single = len(found) == 1
    shares: dict[int, dict[str, float]] = {}
    facts: dict[int, dict[str, None]] = {}
    by_text = {fact.text: fact for proposals in found.values() for p in proposals for fact in reversed(p.facts)}
    for name, proposals in found.items():
        for rank, p in enumerate(proposals):
            shares.setdefault(p.chunk, {})[name] = p.score if single else HEAD / (HEAD + rank) / len(found)
            facts.setdefault(p.chunk, {}).update((fact.text, None) for fact in p.facts)
    merged = [
        Proposal(chunk, sum(of.values()), of, tuple(by_text[text] for text in facts[chunk]))
        for chunk, of in shares.items()
    ]
    return merged if single else sorted(merged, key=lambda p: (-p.score, p.chunk))
