"""Extractor ``lexical``: where names stand in a text, found without a model.

Names of notes that stand elsewhere come first, then what looks like a name by
itself: capitalised and quoted phrases, acronyms. A place is claimed once, by the
first of these that covers it. Nothing is read in code,
comments or links; links are mentions by themselves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from .claims import Mention
from .lexical import NameMatcher, candidate_phrases

ORIGIN = "lexical"
MAX_NAME = 120


def mentions(text: str, skip: Sequence[tuple[int, int]], names: NameMatcher[str]) -> list[Mention]:
    """All mentions in ``text`` outside the spans ``skip``, in order, without overlaps."""
    taken = _Taken()
    found: list[Mention] = []
    for match in names.find(text, skip):
        if taken.take(match.start, match.end):
            found.append(Mention(text[match.start : match.end], match.start, match.end, ORIGIN))
    for name in candidate_phrases(text, skip):
        if len(name.text) <= MAX_NAME and taken.take(name.start, name.end):
            found.append(Mention(name.text, name.start, name.end, ORIGIN))
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

