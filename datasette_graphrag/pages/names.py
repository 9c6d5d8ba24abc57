"""Names for a field that somebody is typing into: a short list, as JSON only."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..ends import address
from ..page import Visit, serve
from ..records import Completion
from ..search_queries import completions

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.utils.asgi import Request

TABLES = ("kg_entities", "kg_aliases")
LONGEST = 100  # what is typed; nobody completes more


@dataclass(frozen=True)
class NamesPage:
    title: str
    q: str
    names: list[Completion]


async def names(datasette: Datasette, request: Request) -> Response:
    """``/DB/-/graph/names.json?q=``"""
    return await serve(datasette, request, template="error", tables=TABLES, build=build)


def build(connection: sqlite3.Connection, visit: Visit) -> NamesPage:
    q = visit.args.get("q", "").strip()
    found = completions(connection, q) if len(q) <= LONGEST else []
    return NamesPage("Names", q, [_typed(connection, one) for one in found])


def _typed(connection: sqlite3.Connection, one: Completion) -> Completion:
    said = address(connection, "name", one.entity)
    return replace(one, typed=said.get("name", f"##{one.entity.id}"), type=said.get("name_type"))
