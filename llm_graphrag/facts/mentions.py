"""Extractor ``lexical``: where names stand in a text, found without a model.

Names of notes that stand elsewhere come first, then what a name finder finds by
itself (finders.py). A place is claimed once, by the first of these that covers it.
Nothing is read in code, comments or links; links are mentions by themselves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from ..hookspecs import NameFinder
from .claims import Mention
from .names import NameMatcher, masked

ORIGIN = "lexical"
MAX_NAME = 120


def mentions(text: str, skip: Sequence[tuple[int, int]], names: NameMatcher[str], finder: NameFinder) -> list[Mention]:
    """All mentions in ``text`` outside the spans ``skip``, in order, without overlaps."""
    taken = _Taken()
    found: list[Mention] = []
    visible = masked(text, skip)
    for start, end in [*((match.start, match.end) for match in names.find(visible)), *finder(visible)]:
        if end - start <= MAX_NAME and visible[start:end] == text[start:end] and taken.take(start, end):
            found.append(Mention(text[start:end], start, end, ORIGIN))
    return sorted(found, key=lambda mention: mention.start)


class _Taken:
    """Disjoint spans, kept in order."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def take(self, start: int, end: int) -> bool:
        place = bisect_left(self.starts, start)
        if place < len(self.starts) and self.starts[place] < end:
            return False
        if place and self.ends[place - 1] > start:
            return False
        self.starts.insert(place, start)
        self.ends.insert(place, end)
        return True
