"""The path page: how two things are connected, as text with the sentence for every hop, and as a picture."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import path_queries
from ..ends import MOST_HOPS, Asked, asked
from ..page import MovedError, Problem, Visit, arrive, redirect, remember, respond, run
from ..path_queries import WALKS_TRIED, Found
from ..path_records import End, Reached, Route, Start
from ..picture import Picture, of_routes, signs
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
    """Not ``ok``: a name is unknown (404), or the metapath is no good (400); ``error`` says it."""

    title: str
    json_url: str
    ok: bool
    status: int
    error: str
    source: End
    target: End
    via: End
    metapath: str
    k: int
    max_hops: int
    mentions: bool
    note: str
    farther_url: str | None  # the same with more hops, where nothing was found
    mentions_url: str | None  # the same over sentences that name two things, where no facts connect them
    starts: tuple[Start, ...]  # relations to follow from ``source``, where nothing else is asked
    reached: tuple[Reached, ...]
    reached_count: int
    walk_count: int
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
    return await respond(datasette, request, database, record, "path", visit.json, stale, record.status)


def build(connection: sqlite3.Connection, visit: Visit) -> PathPage:
    question = asked(connection, visit)
    if question.moved_from(visit.args):
        raise MovedError(visit.links.paths(question.args, json=visit.json))
    found, note, error, status = Found(), _what_is_missing(question), "", 200
    starts: tuple[Start, ...] = ()
    if unknown := [f"“{_short(end.name)}”" for end in question.ends if end.unknown]:
        error, status = f"Nothing here is called {', '.join(unknown)}.", 404
    elif question.ready:
        if not has_table(connection, "kg_counts"):
            raise UnusableError(501, "Its derived tables are missing. Make them with: llm graphrag rebuild")
        try:
            found = _search(connection, visit, question)
            note = _what_was_found(question, found)
        except ValueError as unreadable:
            if not question.metapath:
                raise
            error, status = str(unreadable), 400
    elif question.source.entity and not question.target.name:
        starts = path_queries.starts(
            connection, question.source.entity.id,
            lambda metapath: visit.links.paths({**question.args, "metapath": metapath}),
        )  # fmt: skip
    nothing = question.ready and not question.metapath and not error and not found.routes
    return PathPage(
        title=_title(question),
        json_url=visit.links.paths(question.args, json=True),
        ok=not error,
        status=status,
        error=error,
        source=question.source,
        target=question.target,
        via=question.via,
        metapath=question.metapath,
        k=question.k,
        max_hops=question.max_hops,
        mentions=question.mentions,
        note=note,
        farther_url=_farther(visit, question, found) if nothing else None,
        mentions_url=_with(visit, question, mentions=1) if nothing and not question.via.name else None,
        starts=starts,
        reached=found.reached,
        reached_count=found.count,
        walk_count=found.walks,
        paths=found.routes,
        truncated=found.truncated,
        picture=of_routes(found.routes, [end.entity.id for end in question.ends if end.entity], signs(connection)),
    )


def _search(connection: sqlite3.Connection, visit: Visit, question: Asked) -> Found:
    """Raises ValueError if the metapath cannot be followed."""
    source, target, via = (end.entity.id if end.entity else None for end in question.ends)
    assert source is not None  # else it would not be ready
    seconds = SHARE * visit.links.datasette.setting("sql_time_limit_ms") / 1000
    if question.metapath:
        if via is not None:
            raise ValueError("A metapath says by itself what it goes through. Leave one of the two empty.")
        return path_queries.followed(connection, source, target, question.metapath, seconds)
    assert target is not None
    found = path_queries.shortest(connection, source, target, via, question.k, question.max_hops, seconds)
    if found.routes or via is not None or not question.mentions:
        return found
    return path_queries.together(connection, source, target, question.k, question.max_hops, seconds / 2)


def _with(visit: Visit, question: Asked, **other: int) -> str | None:
    """The address of the same question with something else in it; None if that changes nothing."""
    args = {**question.args, **{name: str(value) for name, value in other.items()}}
    return visit.links.paths(args) if args != question.args else None


def _farther(visit: Visit, question: Asked, found: Found) -> str | None:
    """The address of the same question with longer paths, None if there would be nothing more."""
    if found.nearest == 0 or (found.nearest or 0) > MOST_HOPS:
        return None
    return _with(visit, question, max_hops=found.nearest or min(question.max_hops + 2, MOST_HOPS))


def _title(question: Asked) -> str:
    names = [_short(end.name) for end in (question.source, question.target) if end.name]
    return f"{' to '.join(names)}: paths" if names else "Paths"


def _short(name: str) -> str:
    return name if len(name) <= 80 else name[:79] + "…"


def _what_is_missing(question: Asked) -> str:
    """What has to be said before anything can be looked for, "" if nothing."""
    if question.ready:
        return ""
    if not question.source.name:
        return "Type two names to see how they are connected, with the sentence that states each step."
    if question.source.entity and not question.target.name:
        return "Type the other name, or follow one of its relations."
    return ""


def _what_was_found(question: Asked, found: Found) -> str:
    """What the paths do not say by themselves: that there are none, and what was tried."""
    source, target, via = (_short(end.name) for end in question.ends)
    if question.metapath:
        if found.reached:
            return "" if found.routes else f"It leads there, by walks beyond those that are looked at ({WALKS_TRIED})."
        if found.truncated:
            where = f" to {target}" if target else ""
            return (
                f"Within what a page may read, {_short(question.metapath)} was not found to lead from {source}{where}. "
                "It may yet: llm graphrag follow reads more."
            )
        return f"{_short(question.metapath)} leads from {source} {f'not to {target}' if target else 'nowhere'}."
    if not found.routes:
        hops = f"{question.max_hops} hop{'s' if question.max_hops > 1 else ''}"
        through = f" through {via}, with at most {hops} on either side of it," if via else f" of at most {hops}"
        also = ", and sentences that name two things" if question.mentions and not via else ""
        if found.nearest == 0:
            return (
                f"No facts connect {source} and {target}, however far one goes. "
                f"Every relation was followed, both ways{also}."
            )
        nearest = f" The nearest has {found.nearest}." if found.nearest else ""
        followed = f"Facts of every relation were followed, both ways{also}"
        read = ", as far as a page may read" if found.truncated else ""
        return f"No path{through} was found between {source} and {target}.{nearest} {followed}{read}."
    if not found.routes[0].hops:
        return "Both names mean the same entity."
    if not found.routes[0].hops[0].triple:
        return "No facts connect them. These sentences name them together, which proves less."
    return ""
