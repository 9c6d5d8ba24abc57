"""What linking gives: mentions, each with the entities that it may stand for. Values, no behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Candidate", "Linked", "Mention", "Scope", "flat"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a mention may mean."""

    entity: int
    name: str
    score: float  # 0 to 1
    method: str
    chunks: int = 0  # how many chunks mention it
    note: bool = False  # whether a document is about it
    type: str = ""
    facts: int = 0
    written: str = ""  # how its file writes it, if it has a number here

    @property
    def degree(self) -> int:
        """What it is connected to: chunks that mention it, and facts."""
        return self.chunks + self.facts


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as written, and where; best candidate first, none if it means nothing here."""

    text: str
    start: int
    end: int
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Linked:
    """Mentions in the order in which they were given, each with its candidates."""

    mentions: tuple[Mention, ...] = ()

    def __add__(self, other: Linked) -> Linked:
        return Linked(self.mentions + other.mentions)

    @property
    def unlinked(self) -> tuple[str, ...]:
        """The mentions without a candidate, each once."""
        return tuple(dict.fromkeys(mention.text for mention in self.mentions if not mention.candidates))

    def flat(self) -> list[Candidate]:
        """The candidates of all mentions, best score first, each entity once."""
        return flat(self.mentions)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which entities are wanted: of some types, on an allow list; None does not narrow."""

    types: frozenset[str] | None = None
    entities: frozenset[int] | None = None

    def admits(self, entity: int, type_: str) -> bool:
        return (self.types is None or type_ in self.types) and (self.entities is None or entity in self.entities)

    @property
    def narrow(self) -> bool:
        return self.types is not None or self.entities is not None


def flat(mentions: Sequence[Mention]) -> list[Candidate]:
    """Return the candidates of all mentions, best score first, each entity once."""
    best: dict[int, Candidate] = {}
    for candidate in (c for mention in mentions for c in mention.candidates):
        if candidate.entity not in best or candidate.score > best[candidate.entity].score:
            best[candidate.entity] = candidate
    return sorted(best.values(), key=lambda c: (-c.score, -c.degree, c.entity))
