"""The path page: how two things are connected, as text with the sentence for every hop, and as a picture."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import path_queries
from ..ends import MOST_HOPS, Asked, asked
from ..page import MovedError, Problem, Visit, arrive, redirect, remember, respond, run
from ..path_queries import Found
from ..path_records import End, Route
from ..picture import Picture, of_routes
from ..queries import UnusableError, has_table

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.utils.asgi import Request

TABLES = ("kg_entities", "kg_aliases", "kg_triples", "kg_evidence", "kg_chunks", "kg_documents")
PATIENCE = 2  # the time limit is meant for one query; a search for paths asks several
SHARE = 0.4  # of the time limit, for the search itself


@dataclass(frozen=True)
class PathPage:
    """``ok`` is false, and the status 404, if a name is unknown; ``error`` then says which."""

    title: str
    json_url: str
    ok: bool
    error: str
    source: End
    target: End
    via: End
    metapath: str
    k: int
    max_hops: int
    note: str
    farther_url: str | None  # the same with more hops, where nothing was found
    paths: tuple[Route, ...]
    truncated: bool
    picture: Picture | None


async def path(datasette: Datasette, request: Request) -> Response:
    """``/DB/-/graph/path?from=&to=&via=&metapath=&k=&max_hops=``"""
    arrived = await arrive(datasette, request, TABLES)
    if not isinstance(arrived, tuple):
        return arrived
    database, visit = arrived
    record, stale = await run(datasette, database, visit, build, PATIENCE)
    if isinstance(record, MovedError):
        return redirect(record.url)
    if isinstance(record, Problem):
        return await respond(datasette, request, database, record, "error", visit.json)
    await remember(datasette, database)
    status = 200 if record.ok else 404
    return await respond(datasette, request, database, record, "path", visit.json, stale, status)


def build(connection: sqlite3.Connection, visit: Visit) -> PathPage:
    question = asked(connection, visit)
    if question.moved_from(visit.args):
        raise MovedError(visit.links.paths(json=visit.json, **question.args))
    unknown = [end.name for end in question.ends if end.unknown]
    found, farther, note = Found(), None, _what_is_missing(question)
    if question.ready:
        found = _search(connection, visit, question)
        note = _what_was_found(question, found)
        if not found.routes and question.max_hops < MOST_HOPS:
            more = min(question.max_hops + 2, MOST_HOPS)
            farther = visit.links.paths(**{**question.args, "max_hops": str(more)})
    return PathPage(
        title=_title(question),
        json_url=visit.links.paths(json=True, **question.args),
        ok=not unknown,
        error=f"Nothing here is called {', '.join(f'“{_short(name)}”' for name in unknown)}." if unknown else "",
        source=question.source,
        target=question.target,
        via=question.via,
        metapath=question.metapath,
        k=question.k,
        max_hops=question.max_hops,
        note=note,
        farther_url=farther,
        paths=found.routes,
        truncated=found.truncated,
        picture=of_routes(found.routes, [end.entity.id for end in question.ends if end.entity]),
    )


def _search(connection: sqlite3.Connection, visit: Visit, question: Asked) -> Found:
    if not has_table(connection, "kg_counts"):
        raise UnusableError(501, "Its derived tables are missing. Make them with: llm graphrag rebuild")
    source, target, via = (end.entity.id if end.entity else None for end in question.ends)
    assert source is not None and target is not None
    seconds = SHARE * visit.links.datasette.setting("sql_time_limit_ms") / 1000
    return path_queries.shortest(connection, source, target, via, question.k, question.max_hops, seconds)


def _title(question: Asked) -> str:
    names = [_short(end.name) for end in (question.source, question.target) if end.name]
    return f"{' to '.join(names)}: paths" if names else "Paths"


def _short(name: str) -> str:
    return name if len(name) <= 80 else name[:79] + "…"


def _what_is_missing(question: Asked) -> str:
    """What has to be said before anything can be looked for, "" if nothing."""
    if question.ready:
        return ""
    if not question.source.name and not question.target.name:
        return "Type two names to see how they are connected, with the sentence that states each step."
    if not question.source.name or not question.target.name:
        return "Type the other name too."
    return ""


def _what_was_found(question: Asked, found: Found) -> str:
    """What the paths do not say by themselves: that there are none, and what was tried."""
    source, target, via = (_short(end.name) for end in question.ends)
    hops = f"{question.max_hops} hop{'s' if question.max_hops > 1 else ''}"
    if not found.routes:
        through = f" through {via}, with at most {hops} on either side of it," if via else f" of at most {hops}"
        return (
            f"No path{through} joins {source} and {target}. "
            "Facts of every relation were followed, in both directions."
        )
    if not found.routes[0].hops:
        return "Both names mean the same entity."
    return ""
