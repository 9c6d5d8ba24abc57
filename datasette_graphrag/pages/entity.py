"""The entity page: who it is, what is said of it and in which words, and where it is named."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from .. import entity_queries, queries
from ..ends import address
from ..page import MissingError, MovedError, Visit, serve
from ..picture import Picture, around
from ..records import DocumentRef, Duplicate, EntityRef, Group, Snippet

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.utils.asgi import Request

TABLES = ("kg_entities", "kg_aliases", "kg_triples", "kg_attributes", "kg_evidence", "kg_chunks", "kg_documents")
DIRECTIONS = ("out", "in", "attribute")


@dataclass(frozen=True)
class EntityPage:
    title: str
    json_url: str
    entity: EntityRef
    type_description: str
    aliases: list[str]
    attributes: list[Group]
    outgoing: list[Group]
    incoming: list[Group]
    mentions: list[Snippet]
    more_mentions: int | None
    about: list[DocumentRef]
    named_in: list[tuple[DocumentRef, int]]
    named_more: bool  # it is named still more often
    homonyms: list[EntityRef]
    paths_url: str
    picture: Picture | None
    duplicates: list[Duplicate]  # for who may decide about them


@dataclass(frozen=True)
class GroupPage:
    """The facts of one relation, page by page."""

    title: str
    json_url: str
    entity: EntityRef
    group: Group
    next_url: str | None
    first_url: str | None


@dataclass(frozen=True)
class MentionsPage:
    """The passages that name an entity, page by page."""

    title: str
    json_url: str
    entity: EntityRef
    mentions: list[Snippet]
    next_url: str | None
    first_url: str | None


@dataclass(frozen=True)
class ChoicePage:
    """Several entities bear the name: which one is meant?"""

    title: str
    json_url: str
    name: str
    choices: list[EntityRef]


async def entity(datasette: Datasette, request: Request) -> Response:
    """``/DB/-/graph/entity/NAME`` and ``/DB/-/graph/entity-id/ID``"""
    return await serve(datasette, request, template="entity", tables=TABLES, build=build, reviews=True)


def build(connection: sqlite3.Connection, visit: Visit) -> Any:
    found = _find(connection, visit)
    if isinstance(found, ChoicePage):
        return found
    if visit.args.get("relation") is not None and visit.args.get("direction") in DIRECTIONS:
        return _group_page(connection, visit, found)
    if "mentions" in visit.args:
        return _mentions_page(connection, visit, found)
    snippets, more = entity_queries.mentions(connection, found.id)
    outgoing, incoming = (entity_queries.groups(connection, found.id, direction) for direction in ("out", "in"))
    named_in, named_more = entity_queries.documents_naming(connection, found.id)
    return EntityPage(
        title=found.name,
        json_url=visit.links.entity(found, json=True),
        entity=found,
        type_description=entity_queries.type_description(connection, found.type),
        aliases=entity_queries.aliases(connection, found),
        attributes=entity_queries.groups(connection, found.id, "attribute"),
        outgoing=outgoing,
        incoming=incoming,
        mentions=snippets,
        more_mentions=more,
        about=entity_queries.documents_about(connection, found.id),
        named_in=named_in,
        named_more=named_more,
        homonyms=entity_queries.homonyms(connection, found.id),
        paths_url=visit.links.paths(address(connection, "from", found)),
        picture=around(connection, found, [*outgoing, *incoming]),
        duplicates=entity_queries.duplicates(connection, found.id) if visit.may_review else [],
    )


def _find(connection: sqlite3.Connection, visit: Visit) -> EntityRef | ChoicePage:
    """The entity that the address means; raises MissingError with near names, MovedError to its own address."""
    from datasette.utils import tilde_decode

    if "id" in visit.parts:
        found = queries.entity_by_id(connection, int(visit.parts["id"]))
        if found is None:
            raise MissingError(f"There is no entity number {visit.parts['id']}.")
        return found
    type_ = visit.args.get("type")
    raw = visit.parts["name"]
    name = tilde_decode(raw)
    candidates = queries.entities_called(connection, name, type_)
    if not candidates and "%" in raw:  # typed by hand, so encoded by the browser
        name = unquote(raw)
        candidates = queries.entities_called(connection, name, type_)
        if len(candidates) == 1:
            raise MovedError(visit.links.entity(candidates[0], json=visit.json))
    if not candidates:
        near = queries.entities_called(connection, name) or queries.near_names(connection, name)
        of_type = f" of the type {type_}" if type_ else ""
        raise MissingError(f"Nothing here is called “{_short(name)}”{of_type}.", tuple(near))
    if len(candidates) > 1:
        json_url = visit.links.entity(EntityRef(candidates[0].id, name), json=True, type=type_)
        return ChoicePage(f"{_short(name)}: which one?", json_url, name, candidates)
    if candidates[0].name != name:  # another spelling, or joined to it
        raise MovedError(visit.links.entity(candidates[0], json=visit.json))
    return candidates[0]


def _short(name: str) -> str:
    return name if len(name) <= 120 else name[:119] + "…"


def _group_page(connection: sqlite3.Connection, visit: Visit, found: EntityRef) -> GroupPage:
    relation, direction = visit.args["relation"], visit.args["direction"]
    after = visit.number("next")
    group = entity_queries.group_page(connection, found.id, direction, relation, after)
    if group is None:
        raise MissingError(f"“{_short(found.name)}” has no (further) facts of the kind {_short(relation)}.", (found,))
    here: dict[str, Any] = {"relation": relation, "direction": direction}
    return GroupPage(
        title=f"{relation.replace('_', ' ')}: {_short(found.name)}",
        json_url=visit.links.entity(found, json=True, **here, next=after or None),
        entity=found,
        group=group,
        next_url=visit.links.entity(found, **here, next=group.next) if group.next else None,
        first_url=visit.links.entity(found, **here) if after else None,
    )


def _mentions_page(connection: sqlite3.Connection, visit: Visit, found: EntityRef) -> MentionsPage:
    after = visit.number("mentions")
    snippets, more = entity_queries.mentions(connection, found.id, after)
    return MentionsPage(
        title=f"Mentions: {_short(found.name)}",
        json_url=visit.links.entity(found, json=True, mentions=after),
        entity=found,
        mentions=snippets,
        next_url=visit.links.entity(found, mentions=more) if more else None,
        first_url=visit.links.entity(found, mentions=0) if after else None,
    )
