"""The search page: passages and entities for whatever a person types."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llm_graphrag.text.fts import query_terms

from .. import search_queries
from ..page import Visit, serve
from ..records import EntityRef, Hit

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.utils.asgi import Request

TABLES = ("kg_documents", "kg_chunks", "kg_entities", "kg_aliases")
PER_PAGE = 20
MAX_PAGE = 10
PATIENCE = 4  # the time limit is meant for one query; a search asks several dozen


@dataclass(frozen=True)
class SearchPage:
    title: str
    json_url: str
    q: str
    hint: str
    entities: list[EntityRef]
    hits: list[Hit]
    page: int
    next_url: str | None
    previous_url: str | None


async def search(datasette: Datasette, request: Request) -> Response:
    """``/DB/-/graph/search?q=``"""
    return await serve(datasette, request, template="search", tables=TABLES, build=build, patience=PATIENCE)


def build(connection: sqlite3.Connection, visit: Visit) -> SearchPage:
    q = visit.args.get("q", "").replace("\x00", " ").strip()
    page = min(visit.number("page", 1, least=1), MAX_PAGE)
    hits = search_queries.passages(connection, q, PER_PAGE + 1, (page - 1) * PER_PAGE) if query_terms(q) else []
    entities = search_queries.entities(connection, q) if page == 1 else []
    more = len(hits) > PER_PAGE and page < MAX_PAGE
    return SearchPage(
        title=f"{q[:80]}: search" if q else "Search",
        json_url=visit.links.search(q, json=True, page=page if page > 1 else None),
        q=q,
        hint=_hint(q, hits, entities),
        entities=entities,
        hits=hits[:PER_PAGE],
        page=page,
        next_url=visit.links.search(q, page=page + 1) if more else None,
        previous_url=visit.links.search(q, page=page - 1) if page > 1 else None,
    )


def _hint(q: str, hits: list[Hit], entities: list[EntityRef]) -> str:
    if not q:
        return "Type a name, a few words or a whole question."
    if hits or entities:
        return ""
    if not query_terms(q):
        return "There is no word in this query, only punctuation."
    return "No passage and no name matches. Other words may: try fewer of them, or a name."
