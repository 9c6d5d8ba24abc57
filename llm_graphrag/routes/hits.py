"""What travels between a question and its ranked passages: values, no behaviour.

A ``Plan`` is everything known about a question before any route runs; routes read
it and never change it. A route gives ``Proposal``s, chunk ids with a score, some with
the ``Fact``s that brought them; fusion turns the proposals of all routes into one
ranking; a ``Hit`` is a line of it, ready to be shown, with the reasons that brought
it there. Lists of either say in ``notes`` what a person should know of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..graph.candidates import Mention
from ..graph.hops import Evidence
from .meaning import Meaning

__all__ = ["Fact", "Hit", "Hits", "Involved", "Part", "Plan", "Proposal", "Proposals", "Row", "Term"]


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question: which chunks hold it, and how much it tells."""

    text: str
    chunks: frozenset[int]
    rarity: float  # 0: so common that its chunks were not listed


@dataclass(frozen=True, slots=True)
class Involved:
    """What a question is about, by the names of the schema: a route looks there first."""

    types: frozenset[str] = frozenset()  # of entities
    relations: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Plan:
    """A question, taken apart."""

    question: str
    terms: tuple[Term, ...]
    mentions: tuple[Mention, ...]
    total: int  # chunks in the knowledge base
    documents: frozenset[int] | None = None  # what --where, --tag and --since leave; None: all
    match: str | None = None  # an FTS5 query to use in place of the question's words
    meaning: Meaning | None = field(default=None, compare=False)  # None: no vectors, or not to be used
    involved: Involved | None = None  # None: everything
    reranker: str | None = None  # of facts, by name (hookspecs.py)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, or a path of several, in words; ``evidence`` has a sentence for each of the triples."""

    text: str
    score: float
    triples: tuple[int, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Where a chunk of an imported graph states a triple, in code points of the chunk."""

    triple: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """A chunk that a route found, with the route's own score; signals are what fusion weighs."""

    chunk: int
    score: float
    signals: Mapping[str, float] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()  # that this chunk states, best first
    rows: tuple[Row, ...] = ()  # of a table: those that state what is asked for, best first


class Proposals(list[Proposal]):
    """Proposals, best first, with notes."""

    def __init__(self, proposals: Iterable[Proposal] = (), notes: tuple[str, ...] = ()) -> None:
        super().__init__(proposals)
        self.notes = notes


@dataclass(frozen=True, slots=True)
class Part:
    """What one signal added to a score: value x weight."""

    signal: str
    value: float
    weight: float
    added: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found, best first in its list.

    ``snippet`` is a piece of the chunk as (text, marked) parts; ``line`` is that of the sentence it shows, and
    ``heading`` the headings over it, as ``A > B``. ``reasons`` says which kind of signal, or which route, added how
    much to ``score``, ``parts`` which signal, most first; ``facts`` are those that routes found in it; ``rows``, of a
    table, state what is asked for.
    """

    chunk: int
    document: int
    uri: str
    title: str
    heading: str
    line: int
    score: float
    snippet: tuple[tuple[str, bool], ...]
    reasons: Mapping[str, float]
    parts: tuple[Part, ...] = ()
    facts: tuple[Fact, ...] = ()
    rows: tuple[Row, ...] = ()


class Hits(list[Hit]):
    """Hits, best first, with notes."""

    def __init__(self, hits: Iterable[Hit] = (), notes: tuple[str, ...] = ()) -> None:
        super().__init__(hits)
        self.notes = notes
