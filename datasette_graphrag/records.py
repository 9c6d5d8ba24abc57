"""What travels from the SQL to the pages: small frozen records, the same for HTML and JSON."""

from __future__ import annotations

from dataclasses import dataclass

CHUNKS_PER_PAGE = 30  # of a document's text, about 40 KB


@dataclass(frozen=True)
class EntityRef:
    """An entity to link to. ``shared``: another entity has this name too, so the type must be told."""

    id: int
    name: str
    type: str = ""
    shared: bool = False


@dataclass(frozen=True)
class DocumentRef:
    id: int
    uri: str
    title: str


@dataclass(frozen=True)
class Quote:
    """One row of evidence: the sentence and where it stands."""

    evidence: int
    text: str
    document: DocumentRef
    chunk: int
    seq: int
    line: int
    heading: str
    origin: str
    confidence: float


@dataclass(frozen=True)
class Fact:
    """A triple seen from one of its ends, or an attribute (``other`` is None and ``value`` is set)."""

    id: int
    other: EntityRef | None
    value: str
    confidence: float
    evidence: int
    quotes: tuple[Quote, ...]

    @property
    def more(self) -> int:
        """How many quotes are not shown."""
        return max(self.evidence - len(self.quotes), 0)


@dataclass(frozen=True)
class Group:
    """Facts of one relation in one direction, or of one attribute."""

    name: str
    direction: str  # out, in, attribute
    count: int
    capped: bool  # there are more than ``count``
    facts: tuple[Fact, ...]
    next: int | None = None

    @property
    def more(self) -> int:
        return max(self.count - len(self.facts), 0)


@dataclass(frozen=True)
class Snippet:
    """A passage that names an entity: pieces of text, each marked or not."""

    chunk: int
    seq: int
    line: int
    heading: str
    document: DocumentRef
    parts: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Hit:
    """A passage found by a question."""

    chunk: int
    document: DocumentRef
    heading: str
    line: int
    parts: tuple[tuple[str, bool], ...]
    score: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Duplicate:
    """An entity that may be the same as another one; ``merge`` is the suggestion to join the two."""

    merge: int
    entity: EntityRef
    doubt: float


@dataclass(frozen=True)
class Completion:
    """An entity whose name may be meant; ``alias``: by which other name it was found.

    ``typed`` and ``type`` are what the fields for a name and its type need to lead to it.
    """

    entity: EntityRef
    alias: str = ""
    typed: str = ""
    type: str | None = None


@dataclass(frozen=True)
class Counted:
    """A name with a number and the address where its rows are listed."""

    name: str
    count: int
    description: str = ""
