"""The routes, in the order in which they run.

A route is one function ``(connection, plan, k, found) -> proposals``, best first:
``found`` holds what the routes before it proposed, by name. A route reads the
knowledge base and never writes, calls no model, and gives the same proposals for the
same file and question. Bridges run last and more than once, from what fusion ranks
first (``routes.fusion``), so they stand apart.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence

from .entities import entities
from .hits import Plan, Proposal
from .passages import passages
from .ppr import ppr
from .vectors import vectors

__all__ = ["ROUTES", "Found", "Route", "run"]

Found = Mapping[str, Sequence[Proposal]]
Route = Callable[[sqlite3.Connection, Plan, int, Found], list[Proposal]]

ROUTES: dict[str, Route] = {
    "passages": passages,
    "vectors": vectors,
    "entities": entities,
    "ppr": ppr,
}


def run(connection: sqlite3.Connection, plan: Plan, k: int) -> dict[str, list[Proposal]]:
    """Run every route; returns name -> proposals."""
    found: dict[str, list[Proposal]] = {}
    for name, route in ROUTES.items():
        found[name] = route(connection, plan, k, found)
    return found
