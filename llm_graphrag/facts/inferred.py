"""A schema told from facts: the types, relations and attributes that there are, and which types their ends have.

What the schema in force says stays; only what it does not have is added, and a relation that was told from facts before
is widened. A relation of which one end ever has no type is open at that end, since nothing can be said of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from . import schema_edit
from .template import AttributeType, EntityType, Relation, Template, TemplateError
from .template_file import MAX_TYPES

__all__ = ["Ends", "Inferred", "Seen", "infer"]

ANYTHING = "entity"  # the type of a schema for a graph without types, which needs one


@dataclass(slots=True)
class Ends:
    """How often a relation or attribute was seen, and between which types; '' is none."""

    number: int = 0
    domain: set[str] = field(default_factory=set)
    range: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Seen:
    """What facts are made of: types with their numbers, relations and attributes with their ends."""

    types: dict[str, int] = field(default_factory=dict)
    relations: dict[str, Ends] = field(default_factory=dict)
    attributes: dict[str, Ends] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inferred:
    """A schema, what was added to it by kind, and what there was no room or no name for."""

    template: Template
    added: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()


def infer(template: Template, seen: Seen, told: Iterable[tuple[str, str]] = ()) -> Inferred:
    """The schema with what it lacks; ``told`` are (kind, name) of what was told from facts before.

    >>> seen = Seen({"film": 2, "person": 3}, {"directed_by": Ends(3, {"film"}, {"person"})})
    >>> done = infer(Template("own"), seen)
    >>> done.added["relation"], done.template.relations[0].domain, done.template.relations[0].range
    (('directed_by',), ('film',), ('person',))
    """
    build = _Build(template)
    types = _by_number(seen.types)
    if not template.entity_types and not types:
        build.add("entity_type", ANYTHING, "Anything: the graph that was imported gives no types")
    for name in types:
        build.add("entity_type", name)
    widened = set(told)
    for kind, found in (("relation", seen.relations), ("attribute", seen.attributes)):
        for name in _by_number({name: ends.number for name, ends in found.items()}):
            build.put(kind, name, found[name], (kind, name) in widened)
    return Inferred(build.template, {kind: tuple(names) for kind, names in build.added.items()}, tuple(build.left_out))


def _by_number(numbers: Mapping[str, int]) -> list[str]:
    return sorted(numbers, key=lambda name: (-numbers[name], name))


class _Build:
    """A template that grows, one checked type at a time."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.added: dict[str, list[str]] = {"entity_type": [], "relation": [], "attribute": []}
        self.left_out: list[str] = []

    def add(self, kind: str, name: str, description: str = "", **more: Any) -> None:
        """Add a type if the schema has none of this name, and can have one."""
        if schema_edit.find(self.template, kind, name):
            return
        if len(getattr(self.template, schema_edit.KINDS[kind])) >= MAX_TYPES:
            self.left_out.append(name)
            return
        try:
            self.template = schema_edit.add(self.template, kind, name, description, **more)
        except TemplateError:  # a name that no schema can have, or the inverse of a relation
            self.left_out.append(name)
        else:
            self.added[kind].append(name)

    def put(self, kind: str, name: str, ends: Ends, widen: bool) -> None:
        """Add a relation or attribute with its ends, or widen one that was told from facts."""
        more: dict[str, Any] = {"domain": self._ends(ends.domain)}
        if kind == "relation":
            more["range"] = self._ends(ends.range)
        known = schema_edit.named(self.template, kind, name)
        if known is None or isinstance(known, EntityType) or not widen or getattr(known, "symmetric", False):
            self.add(kind, name, **more)
            return
        wider = replace(known, **_wider(known, more))
        items = getattr(self.template, schema_edit.KINDS[kind])
        changed = tuple(wider if item.name == known.name else item for item in items)
        lists: dict[str, Any] = {schema_edit.KINDS[kind]: changed}
        self.template = replace(self.template, **lists)

    def _ends(self, types: set[str]) -> tuple[str, ...]:
        """The types of the schema that an end has; none, which allows all, if one of them is not there."""
        found = [self.template.resolve_type(name) for name in sorted(types)]
        return tuple(dict.fromkeys(item.name for item in found if item)) if all(found) else ()


def _wider(known: Relation | AttributeType, more: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Domain and range with what they have yet to allow; an end that allows all stays so."""
    wider = {}
    for key, types in more.items():
        before = getattr(known, key)
        wider[key] = tuple(dict.fromkeys((*before, *types))) if before and types else ()
    return wider
