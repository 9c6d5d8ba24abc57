"""What a reply says once it has been checked: claims with their quotes, wishes for new types, and what was dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Dropped", "ModelClaim", "Reading", "Wish"]


@dataclass(frozen=True, slots=True)
class ModelClaim:
    """One statement of a model whose quote stands in a chunk of its window.

    ``relation`` is the name in the schema of a relation or an attribute, ``type`` for an entity's type, ``alias`` for
    another name of it; ``tail`` accordingly a name, a value, a type or a name. Types are names in the schema, or empty.
    """

    kind: str  # triple, attribute, type, alias
    head: str
    head_type: str
    relation: str
    tail: str
    tail_type: str
    number: int  # of the chunk in its window
    start: int  # of the quote, in code points of the chunk's text
    end: int
    confidence: float = 1.0
    flags: tuple[str, ...] = ()  # what was put right: reversed, rehomed, fuzzy, located


@dataclass(frozen=True, slots=True)
class Wish:
    """A type that the model asked for because the schema has none that fits."""

    kind: str  # entity_type, relation, attribute
    name: str
    description: str
    confidence: float
    number: int
    start: int
    end: int
    instead_of: str | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """An item of a reply that was not taken, as it was given, and why."""

    kind: str  # entity, alias, attribute, triple, proposal, reply
    reason: str  # a short fixed phrase, so that it can be counted
    item: Any  # JSON
    detail: str = ""  # what exactly: the unknown type, the quote


@dataclass(frozen=True, slots=True)
class Reading:
    claims: tuple[ModelClaim, ...]
    wishes: tuple[Wish, ...] = ()
    dropped: tuple[Dropped, ...] = ()
