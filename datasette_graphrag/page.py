"""What every page does before and after its own work.

A page is a function from a connection and a request to a record. ``serve`` finds the
database, asks for permission, runs that function in one of Datasette's read threads under
the site's time limit, and turns the record into HTML or, under ``.json``, into JSON. What
can go wrong (no such database, no knowledge base, a newer version, a file that was taken
away, a name that nobody bears) ends as a page that says so, for that database only.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import compat, markup
from .freshness import Stale, stale_on
from .queries import UnusableError, check
from .records import DocumentRef, EntityRef
from .tables import defaults_for
from .urls import Links

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.database import Database
    from datasette.utils.asgi import Request


@dataclass(frozen=True)
class Visit:
    """What a page is asked: the parts of its address, the arguments after ``?``, and where links lead."""

    database: str
    parts: dict[str, str]
    args: dict[str, str]
    links: Links
    json: bool
    may_review: bool = False

    def number(self, name: str, default: int = 0, least: int = 0) -> int:
        """An argument as a number that SQLite can hold; anything else is the default."""
        text = self.args.get(name, "")
        return max(int(text), least) if text.isascii() and text.isdigit() and len(text) < 18 else default


class MissingError(LookupError):
    """There is no such thing (404); ``near`` are things of a like name."""

    def __init__(self, message: str, near: tuple[EntityRef | DocumentRef, ...] = ()) -> None:
        super().__init__(message)
        self.near = near


class MovedError(Exception):
    """The page is elsewhere."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


@dataclass(frozen=True)
class Problem:
    """A page that could not be shown, and why."""

    status: int
    title: str
    message: str
    near: tuple[EntityRef | DocumentRef, ...] = ()


Build = Callable[[sqlite3.Connection, Visit], Any]


async def serve(
    datasette: Datasette,
    request: Request,
    *,
    template: str,
    tables: tuple[str, ...],
    build: Build,
    patience: int = 1,
    reviews: bool = False,
) -> Response:
    """Answer a request with the record that ``build`` makes of it, in ``patience`` times the site's time limit.

    ``reviews`` if the page is another for who may decide. Raises Datasette's Forbidden if the actor may not see the
    database or one of the tables.
    """
    arrived = await arrive(datasette, request, tables, reviews)
    if not isinstance(arrived, tuple):
        return arrived
    database, visit = arrived
    if request.method not in ("GET", "HEAD"):
        problem = Problem(405, "Nothing to change here", "This page can only be read.")
        return await respond(datasette, request, database, problem, "error", visit.json)
    return await show(datasette, request, database, visit, template=template, build=build, patience=patience)


async def arrive(
    datasette: Datasette, request: Request, tables: tuple[str, ...], reviews: bool = False
) -> tuple[Database, Visit] | Response:
    """The database and what is asked of it; or a page that says why not. Raises Forbidden as ``serve`` does."""
    from datasette.utils.asgi import Forbidden

    parts = dict(request.url_vars)
    wants_json = bool(parts.pop("json", None))
    database = compat.find_database(datasette, parts.pop("database"))
    if database is None:
        problem = Problem(404, "Database not found", "There is no database of this name here.")
        return await respond(datasette, request, None, problem, "error", wants_json)
    try:
        allowed = await compat.may_view(datasette, request.actor, database.name, tables)
    except sqlite3.Error:  # to know a table Datasette reads the file, which may be damaged; that is said below
        allowed = await compat.may_view(datasette, request.actor, database.name, ())
    if not allowed:
        raise Forbidden("view-database")
    links = Links(datasette, database.name)
    args = {key: request.args.get(key) or "" for key in request.args}
    may_review = reviews and await compat.may_review(datasette, request.actor, database)
    return database, Visit(database.name, parts, args, links, wants_json, may_review)


async def show(
    datasette: Datasette,
    request: Request,
    database: Database,
    visit: Visit,
    *,
    template: str,
    build: Build,
    patience: int = 1,
    status: int = 200,
) -> Response:
    """Build the record and answer with it."""
    record, stale = await run(datasette, database, visit, build, patience)
    if isinstance(record, MovedError):
        return redirect(record.url)
    template = "error" if isinstance(record, Problem) else template
    if not isinstance(record, Problem):
        await remember(datasette, database)
    return await respond(datasette, request, database, record, template, visit.json, stale, status)


async def run(
    datasette: Datasette, database: Database, visit: Visit, build: Build, patience: int = 1
) -> tuple[Any, list[Stale]]:
    """The record and what in it is out of date; or the Problem that kept it from being made, or MovedError."""
    from datasette.utils import sqlite_timelimit

    def work(connection: sqlite3.Connection) -> Any:
        with sqlite_timelimit(connection, patience * datasette.setting("sql_time_limit_ms")):
            check(connection, database.name)
            record = build(connection, visit)
        return record, stale_on(connection, record) if database.is_mutable else []

    gone = f"The file of the database {database.name} is gone. Other databases are not affected."
    if database.path and not database.is_memory and not Path(database.path).exists():
        return Problem(503, "Database not available", gone), []
    try:
        record, stale = await database.execute_fn(work)
        return record, stale
    except MovedError as moved:
        return moved, []
    except (LookupError, UnusableError, sqlite3.Error) as error:
        return _problem(database.name, error), []


def _problem(name: str, error: Exception) -> Problem:
    """What a page says of an error that is not a fault of ours; any other is raised again."""
    if isinstance(error, MissingError):
        return Problem(404, "Not found", str(error), error.near)
    if isinstance(error, UnusableError):
        return Problem(error.status, "Not a knowledge base" if error.status == 404 else "Another version", str(error))
    if isinstance(error, sqlite3.DatabaseError):
        if "interrupted" in str(error):
            return Problem(503, "Took too long", "This page took longer than this site allows (sql_time_limit_ms).")
        return Problem(503, "Database not available", f"The database {name} cannot be read: {error}")
    raise error


async def remember(datasette: Datasette, database: Database) -> None:
    """Give the tables of a knowledge base their defaults, once."""
    names = await database.table_names() + await database.view_names()
    await compat.set_table_defaults(datasette, database.name, defaults_for(names))


async def respond(
    datasette: Datasette,
    request: Request,
    database: Database | None,
    record: Any,
    template: str,
    wants_json: bool,
    stale: Sequence[Stale] = (),
    status: int = 200,
) -> Response:
    """A record as HTML or JSON; ``status`` unless the record is a Problem, which has its own."""
    from datasette import Response
    from datasette.utils import add_cors_headers

    name = database.name if database else None
    links = Links(datasette, name) if name else None
    status = record.status if isinstance(record, Problem) else status
    headers: dict[str, str] = {}
    if status == 200 and database and not database.is_mutable and request.actor is None:
        headers["Cache-Control"] = f"max-age={datasette.setting('default_cache_ttl')}"
    if wants_json:
        if datasette.cors:
            add_cors_headers(headers)
        data = as_json(record, links)
        if isinstance(record, Problem):
            data = {"ok": False, "error": record.message, **data}
        if stale:
            data["stale"] = as_json(stale, links)
        return Response.json(data, status=status, headers=headers)
    context = {
        "page": record,
        "title": record.title,
        "stale": stale,
        "database": name,
        "links": links,
        "markup": markup,
        "css": compat.static_url(datasette, "graphrag.css"),
        "own_static": partial(compat.static_url, datasette),
        "alternate_url_json": None if isinstance(record, Problem) else record.json_url,
    }
    html = await datasette.render_template(f"graphrag_{template}.html", context, request=request)
    return Response.html(html, status=status, headers=headers)


def redirect(url: str, status: int = 302) -> Response:
    from datasette import Response

    return Response.redirect(url, status=status)


def as_json(value: Any, links: Links | None) -> Any:
    """A record as plain data; whatever has a page of its own says where (``url``)."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        data = {field.name: as_json(getattr(value, field.name), links) for field in dataclasses.fields(value)}
        url = links.of(value) if links else None
        return {**data, "url": url} if url else data
    if isinstance(value, dict):
        return {str(key): as_json(item, links) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item, links) for item in value]
    return value
