"""Where a type was asked for: each quote in its sentence, in the note and line it stands in."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from ..store import proposals
from ..store.headings import outlines
from ..text.sentences import sentence_around, sentence_spans

__all__ = ["Place", "places"]


@dataclass(frozen=True, slots=True)
class Place:
    """A quote that asks for a type. ``before``, ``quote`` and ``after`` together are the sentence, as it stands."""

    uri: str
    title: str
    heading: str
    line: int
    before: str
    quote: str
    after: str
    confidence: float
    instead_of: str | None
    private: bool
    document: int
    chunk: int


def places(connection: sqlite3.Connection, proposal: int, limit: int = -1) -> list[Place]:
    """The places that asked for a proposal, in reading order; ``limit`` of them, of many notes rather than of one."""
    found = []
    rows = proposals.evidence(connection, proposal, limit)
    outline = outlines(connection, {row["chunk"] for row in rows})
    for row in rows:
        text, start, end = row["text"], row["start"], row["end"]
        first, last = sentence_around(text, sentence_spans(text), start, end)
        found.append(
            Place(
                row["uri"], row["title"], outline[row["chunk"]].path(start), row["line"], text[first:start],
                text[start:end], text[end:last], row["confidence"], row["instead_of"], bool(row["private"]),
                row["document"], row["chunk"],
            )
        )  # fmt: skip
    return found
