"""A number and what it counts, as a person writes them: ``1 window``, ``2,000 windows``."""

from __future__ import annotations

from collections.abc import Mapping

HELD = {
    "documents": "document", "chunks": "chunk", "entities": "entity", "triples": "triple", "attributes": "attribute",
}  # fmt: skip


def counted(number: int, one: str, several: str = "") -> str:
    """``number`` before ``one`` thing, or before ``several``: the same with an s unless it is given.

    >>> counted(1, "window"), counted(2000, "window"), counted(0, "reply", "replies")
    ('1 window', '2,000 windows', '0 replies')
    >>> counted(1, "passage was", "passages were")
    '1 passage was'
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def held(totals: Mapping[str, int]) -> str:
    """How much a knowledge base holds of what ``totals`` counts.

    >>> held({"entities": 1, "documents": 2, "mentions": 3})
    '2 documents, 1 entity'
    """
    return ", ".join(counted(totals[several], one, several) for several, one in HELD.items() if several in totals)
