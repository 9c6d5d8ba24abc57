"""What is asked of the path page: which entities its fields mean, and the one address for it.

A name means what it means in the terminal (``llm_graphrag.graph.named``), in any spelling, and
so does ``#12``, a number; the address has the entity's own name. One that several entities
have is told apart by ``from_type=`` (``to_type``, ``via_type``); what a name and a type do not
lead to, or what is too long for an address, goes by its number (``from_id``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote_plus

from llm_graphrag.graph.named import named

from .page import MissingError, Visit
from .path_records import Choice, End
from .queries import entity_by_id, entity_refs, near_names
from .records import EntityRef
from .urls import MAX_ENCODED

FIELDS = ("from", "to", "via")
OURS = (
    *(f"{field}{part}" for field in FIELDS for part in ("", "_type", "_id")),
    "metapath",
    "k",
    "max_hops",
    "mentions",
)
K, MAX_HOPS = 3, 4
MOST_PATHS, MOST_HOPS = 20, 8
MOST_CHOICES = 50  # of those that bear a name


@dataclass(frozen=True)
class Asked:
    """``args`` are those of the page's own address, whatever the address was that led here.

    ``mentions``: where there is no path of facts, sentences that name two things will do.
    """

    source: End
    target: End
    via: End
    metapath: str
    k: int
    max_hops: int
    mentions: bool
    args: Mapping[str, str]

    @property
    def ends(self) -> tuple[End, End, End]:
        return self.source, self.target, self.via

    @property
    def ready(self) -> bool:
        """Whether it is clear what is asked: every name means one entity, and there is an end or a metapath."""
        clear = all(end.entity or not end.name for end in self.ends)
        return bool(clear and self.source.entity and (self.target.entity or self.metapath))

    def moved_from(self, args: Mapping[str, str]) -> bool:
        """Whether these arguments are not those of the page's own address."""
        return {name: value for name, value in args.items() if name in OURS} != self.args


def asked(connection: sqlite3.Connection, visit: Visit) -> Asked:
    """Read the arguments of an address. Raises MissingError for the number of no entity."""
    metapath = visit.args.get("metapath", "").strip()
    k = min(visit.number("k", K, least=1), MOST_PATHS)
    max_hops = min(visit.number("max_hops", MAX_HOPS, least=1), MOST_HOPS)
    ends, args = [], {}
    for field in FIELDS:
        end, own = _end(connection, visit, field)
        ends.append(end)
        args.update(own)
    numbers = {"k": (k, K), "max_hops": (max_hops, MAX_HOPS)}
    args |= {"metapath": metapath} if metapath else {}
    args |= {name: str(number) for name, (number, default) in numbers.items() if number != default}
    mentions = visit.args.get("mentions") == "1"
    args |= {"mentions": "1"} if mentions else {}
    source, target, via = (_with_links(connection, visit, end, args) for end in ends)
    return Asked(source, target, via, metapath, k, max_hops, mentions, args)


def address(connection: sqlite3.Connection, field: str, entity: EntityRef) -> dict[str, str]:
    """The arguments that put an entity into a field."""
    name = entity.name
    if name.strip() and len(quote_plus(name)) <= MAX_ENCODED:
        meant = entities_named(connection, name)
        if [found.id for found in meant] == [entity.id]:
            return {field: name}
        if [found.id for found in meant if found.type == entity.type] == [entity.id]:
            return {field: name, f"{field}_type": entity.type}
    return {f"{field}_id": str(entity.id)}


def entities_named(connection: sqlite3.Connection, name: str) -> list[EntityRef]:
    """The entities that a name may mean."""
    return list(entity_refs(connection, [node.id for node in named(connection, name)]).values())


def _end(connection: sqlite3.Connection, visit: Visit, field: str) -> tuple[End, dict[str, str]]:
    """What a field means, and the arguments that say so."""
    name, type_ = visit.args.get(field, ""), visit.args.get(f"{field}_type")
    if not name.strip():
        number = visit.number(f"{field}_id")
        if not number:
            return End(field), {}
        entity = entity_by_id(connection, number)
        if entity is None:
            raise MissingError(f"There is no entity number {number}.")
        return End(field, entity.name, entity), address(connection, field, entity)
    called = entities_named(connection, name)
    found = [entity for entity in called if entity.type == type_] or called
    types = tuple(sorted({entity.type for entity in called})) if len(called) > 1 else ()
    if len(found) == 1:
        return End(field, found[0].name, found[0], types=types), address(connection, field, found[0])
    args = {field: name}
    if type_ is not None and len(found) < len(called):
        args[f"{field}_type"] = type_
    choices = tuple(Choice(entity) for entity in found[:MOST_CHOICES])
    near = () if found else tuple(Choice(entity) for entity in near_names(connection, name))
    return End(field, name, None, choices, len(found), near, types), args


def _with_links(connection: sqlite3.Connection, visit: Visit, end: End, args: Mapping[str, str]) -> End:
    """The end, with an address for each entity that may be meant."""
    others = {name: value for name, value in args.items() if name.partition("_")[0] != end.field}

    def href(entity: EntityRef) -> str:
        chosen = {**others, **address(connection, end.field, entity)}
        return visit.links.paths({name: chosen[name] for name in OURS if name in chosen})

    def linked(choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        return tuple(replace(choice, href=href(choice.entity)) for choice in choices)

    return replace(end, choices=linked(end.choices), near=linked(end.near))
