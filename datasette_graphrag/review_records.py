"""What the review pages show: proposals, pairs of entities, decisions; the same for HTML and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .records import DocumentRef

if TYPE_CHECKING:
    from llm_graphrag.review.proposals import Cost  # slow to import, and most pages show none


@dataclass(frozen=True)
class Place:
    """Words in their sentence: ``before``, ``quote`` and ``after`` together are the text as it stands."""

    document: DocumentRef
    chunk: int
    heading: str
    line: int
    before: str
    quote: str
    after: str
    private: bool
    confidence: float | None = None  # how sure a model was
    instead_of: str | None = None  # the type that a model would have had to use


@dataclass(frozen=True)
class Decision:
    """A line of the log. ``undoable`` if it stands, is the last about its item, and so can be taken back."""

    id: int
    at: str
    actor: str
    what: str  # proposal, merge
    item: int
    subject: str
    action: str  # approve, map, reject, postpone, split, undo
    to: str  # the type that a proposal was mapped to
    note: str
    schema_version: int | None
    undone_by: int | None
    status: str  # of the item, now
    undoable: bool


@dataclass(frozen=True)
class Proposal:
    """A type that models asked for. ``waiting`` if it can be decided on, ``undoable`` if a decision stands."""

    id: int
    kind: str  # entity_type, relation, attribute
    name: str
    description: str
    status: str
    waiting: bool
    undoable: bool
    confidence: float
    support: int  # documents
    nearest: str | None
    similarity: float | None
    mapped_to: str | None
    asked_again: int
    places: tuple[Place, ...]
    more_places: int
    cost: Cost
    decided_by: str | None
    decided_at: str | None
    decision_note: str
    schema_version: int | None
    log: tuple[Decision, ...]


@dataclass(frozen=True)
class Stated:
    """What is stated of an entity; ``other_id`` is None for a value. ``shared`` if it is stated of both of a pair."""

    relation: str
    direction: str  # out, in, attribute
    other: str
    other_id: int | None
    evidence: int
    shared: bool


@dataclass(frozen=True)
class Side:
    """One entity of a pair, as it is by itself; ``id`` is None if no note names it any more."""

    id: int | None
    name: str
    type: str
    aliases: tuple[str, ...]
    with_it: tuple[str, ...]  # names of what is merged with it by other decisions
    about: tuple[DocumentRef, ...]
    passages: int  # that name it
    places: tuple[Place, ...]  # the first of them
    stated: tuple[Stated, ...]


@dataclass(frozen=True)
class Difference:
    """An attribute of which the two have no value in common."""

    attribute: str
    kept: tuple[str, ...]
    merged: tuple[str, ...]


@dataclass(frozen=True)
class Merge:
    """Two entities that may be one, side by side."""

    id: int
    status: str
    waiting: bool
    undoable: bool
    joined: bool
    doubt: float | None  # 0 to 1; None if nobody suggested it
    reason: str
    kept: Side
    merged: Side
    between: tuple[Stated, ...]  # stated of the kept one, with the other as its end
    differing: tuple[Difference, ...]
    decided_by: str | None
    decided_at: str | None
    log: tuple[Decision, ...]


@dataclass(frozen=True)
class Choice:
    """Something to filter by, and how many rows that gives."""

    value: str
    count: int
    href: str
    chosen: bool


@dataclass(frozen=True)
class Left:
    """What approvals have left to do: windows that the next ``extract`` asks about again."""

    windows: int
    command: str


@dataclass(frozen=True)
class ReviewPage:
    """A page of proposals, of merges or of the log, whichever ``showing`` says."""

    title: str
    json_url: str
    here: str
    showing: str  # proposals, merges, log
    may_review: bool
    tabs: list[Choice]
    statuses: list[Choice]
    kinds: list[Choice]
    proposals: list[Proposal]
    merges: list[Merge]
    log: list[Decision]
    types: dict[str, list[str]]  # of the schema, by kind: what a proposal can be mapped to
    decided: list[Decision]  # just now
    left: Left
    total: int
    page: int
    pages: int
    previous_url: str | None
    next_url: str | None


@dataclass(frozen=True)
class ItemsPage:
    """Some proposals or merges with all there is to see of them; ``refused`` says why a decision was not taken."""

    title: str
    json_url: str
    here: str
    may_review: bool
    refused: str
    proposals: list[Proposal]
    merges: list[Merge]
    types: dict[str, list[str]]
    decided: list[Decision]
    left: Left
