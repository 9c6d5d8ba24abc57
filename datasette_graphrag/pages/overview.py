"""The overview: what is in this knowledge base, what it does not cover, and where to start."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import queries
from ..page import Visit, serve
from ..records import Counted, DocumentRef, EntityRef

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.utils.asgi import Request

TABLES = ("kg_documents", "kg_entities", "kg_triples", "kg_attributes")


@dataclass(frozen=True)
class OverviewPage:
    title: str
    json_url: str
    totals: dict[str, int]
    types: list[Counted]
    relations: list[Counted]
    attributes: list[Counted]
    hubs: list[tuple[EntityRef, int]]
    recent: list[tuple[DocumentRef, str]]
    coverage: dict[str, int | None]

    @property
    def empty(self) -> bool:
        return not any(self.totals.values())


async def overview(datasette: Datasette, request: Request) -> Response:
    """``/DB/-/graph``"""
    return await serve(datasette, request, template="overview", tables=TABLES, build=build)


def build(connection: sqlite3.Connection, visit: Visit) -> OverviewPage:
    totals = queries.totals(connection)
    return OverviewPage(
        title=f"{visit.database}: knowledge graph",
        json_url=visit.links.overview(json=True),
        totals=totals,
        types=queries.most_common(connection, "entity_type"),
        relations=queries.most_common(connection, "relation"),
        attributes=queries.most_common(connection, "attribute"),
        hubs=queries.most_connected(connection),
        recent=queries.recent_documents(connection),
        coverage=queries.coverage(connection, totals["documents"]),
    )
