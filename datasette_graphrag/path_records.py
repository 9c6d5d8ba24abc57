"""What the path page shows: the ends as somebody named them, the ways between them, a sentence for every hop."""

from __future__ import annotations

from dataclasses import dataclass

from .records import EntityRef, Quote, Snippet


@dataclass(frozen=True)
class Choice:
    """An entity that may be meant, and the same page with it."""

    entity: EntityRef
    href: str = ""


@dataclass(frozen=True)
class End:
    """What stands in one field of the form: an entity, or a name that several bear (choices) or none (near)."""

    field: str  # from, to, via
    name: str = ""
    entity: EntityRef | None = None
    choices: tuple[Choice, ...] = ()
    bearers: int = 0  # how many bear the name, of whom ``choices`` are the first
    near: tuple[Choice, ...] = ()
    types: tuple[str, ...] = ()  # of all that bear the name, if there are several

    @property
    def unknown(self) -> bool:
        return bool(self.name) and self.entity is None and not self.choices


@dataclass(frozen=True)
class Start:
    """A relation by which an entity can be left: a metapath of one step, and the page that follows it."""

    metapath: str
    count: int
    capped: bool  # there are more than ``count``
    href: str


@dataclass(frozen=True)
class Reached:
    """Where a metapath leads, and by how many different walks."""

    entity: EntityRef
    walks: int


@dataclass(frozen=True)
class Also:
    """One more triple between the same two entities."""

    relation: str
    forward: bool


@dataclass(frozen=True)
class Hop:
    """A triple on the way; ``forward`` if it reads in the direction of the way.

    Without a triple (0) it is no fact: a passage names both, ``named``.
    """

    triple: int
    relation: str
    forward: bool
    statements: int
    quote: Quote | None
    also: tuple[Also, ...] = ()
    named: Snippet | None = None


@dataclass(frozen=True)
class Route:
    """Entities from one end to the other; ``hops[i]`` leads from ``nodes[i]`` to the next."""

    nodes: tuple[EntityRef, ...]
    hops: tuple[Hop, ...]

    @property
    def length(self) -> int:
        return len(self.hops)
