"""datasette-graphrag: browse a knowledge base in Datasette. Hooks only; the pages are in ``pages/``."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from datasette import hookimpl

if TYPE_CHECKING:
    from datasette.app import Datasette

__all__: list[str] = []


@hookimpl
def register_routes(datasette: Datasette) -> list[tuple[str, Callable[..., Any]]]:
    from .pages.document import chunk, document
    from .pages.entity import entity
    from .pages.missing import missing
    from .pages.names import names
    from .pages.overview import overview
    from .pages.path import path
    from .pages.review import review
    from .pages.search import search

    base, json, name, number = (
        r"^/(?P<database>[^/]+)/-/graph",
        r"(?P<json>\.json)?$",
        "(?P<name>[^/]*?)",
        r"(?P<id>\d{1,18})",
    )
    return [
        (rf"{base}/?{json}", overview),
        (rf"{base}/search{json}", search),
        (rf"{base}/entity/{name}{json}", entity),
        (rf"{base}/entity-id/{number}{json}", entity),
        (rf"{base}/document/{name}{json}", document),
        (rf"{base}/document-id/{number}{json}", document),
        (rf"{base}/chunk/{number}{json}", chunk),
        (rf"{base}/path{json}", path),
        (rf"{base}/names(?P<json>\.json)$", names),
        (rf"{base}/review{json}", review),
        (rf"{base}/review/(?P<what>proposal|merge)/{number}{json}", review),
        (rf"{base}/.*?{json}", missing),
    ]


@hookimpl
def startup(datasette: Datasette) -> Callable[[], Awaitable[None]]:
    async def inner() -> None:
        from .page import remember

        for database in list(datasette.databases.values()):
            if await _is_knowledge_base(datasette, database.name):
                await remember(datasette, database)

    return inner


@hookimpl
def get_metadata(datasette: Datasette, key: str | None, database: str | None, table: str | None) -> dict[str, Any]:
    """Datasette 0.65 only; 1.0 is told at startup."""
    from .compat import table_defaults

    return table_defaults(datasette, key, database)


@hookimpl
def permission_allowed(datasette: Datasette, actor: dict[str, Any] | None, action: str, resource: Any) -> bool | None:
    """Datasette 0.65 only."""
    from .compat import is_reviewer

    return is_reviewer(datasette, actor, action, resource)


@hookimpl
def register_actions() -> list[Any]:
    """Datasette 1.0 only."""
    from .compat import review_action

    return [review_action()]


@hookimpl
def menu_links(datasette: Datasette, actor: dict[str, Any] | None) -> Callable[[], Awaitable[list[dict[str, str]]]]:
    async def inner() -> list[dict[str, str]]:
        names = [name for name in datasette.databases if await _shows(datasette, actor, name)]
        return [
            _overview(datasette, name, f"Graph of {name}" if len(names) > 1 else "Knowledge graph") for name in names
        ]

    return inner


@hookimpl
def database_actions(
    datasette: Datasette, actor: dict[str, Any] | None, database: str
) -> Callable[[], Awaitable[list[dict[str, str]]]]:
    async def inner() -> list[dict[str, str]]:
        if not await _shows(datasette, actor, database):
            return []
        return [_overview(datasette, database, "Browse the knowledge graph")]

    return inner


@hookimpl
def table_actions(
    datasette: Datasette, actor: dict[str, Any] | None, database: str, table: str
) -> Callable[[], Awaitable[list[dict[str, str]]]]:
    async def inner() -> list[dict[str, str]]:
        if not table.startswith("kg_") or not await _shows(datasette, actor, database):
            return []
        return [_overview(datasette, database, "Browse the knowledge graph")]

    return inner


@hookimpl
def render_cell(
    row: Any, value: Any, column: str, table: str | None, database: str, datasette: Datasette
) -> Callable[[], Awaitable[str | None]] | None:
    if value is None or not (table or "").startswith("kg_"):
        return None

    async def inner() -> str | None:
        from .cells import cell

        return await cell(datasette, database, table, column, value, row)

    return inner


def _overview(datasette: Datasette, database: str, label: str) -> dict[str, str]:
    from .urls import Links

    return {
        "href": Links(datasette, database).overview(),
        "label": label,
        "description": "Entities, facts and the sentences behind them",
    }


async def _shows(datasette: Datasette, actor: dict[str, Any] | None, database: str) -> bool:
    """Whether this is a knowledge base whose overview the actor may see."""
    from .compat import may_view
    from .pages.overview import TABLES

    try:
        return await _is_knowledge_base(datasette, database) and await may_view(datasette, actor, database, TABLES)
    except sqlite3.Error:
        return False


async def _is_knowledge_base(datasette: Datasette, database: str) -> bool:
    from .queries import is_knowledge_base

    try:
        return bool(await datasette.get_database(database).execute_fn(is_knowledge_base))
    except (KeyError, sqlite3.Error):  # taken away, or no database at all: others must not suffer
        return False
