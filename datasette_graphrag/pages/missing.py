"""Any other address under /-/graph/: says that there is no such page."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from ..page import MissingError, Visit, serve

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.utils.asgi import Request


async def missing(datasette: Datasette, request: Request) -> Response:
    return await serve(datasette, request, template="error", tables=(), build=build)


def build(connection: sqlite3.Connection, visit: Visit) -> None:
    raise MissingError("There is no such page in this knowledge graph.")
