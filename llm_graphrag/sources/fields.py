"""Inline fields and tasks: what a line says beyond its text.

``Key:: value`` at the start of a line, ``[key:: value]`` and ``(key:: value)`` within
one, as Dataview and Logseq write them, and the tasks of lists. A value that is
nothing but a list of links is one field for each link; any other value stays whole,
because only the schema knows which keys hold lists. ``::`` inside a link, a URL or
code is no field, nor is ``std::vector``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from .blocks import Region
from .dialects import Dialect
from .inline import KEY, BracketField
from .note import Field, Link, Tag, Task

_LINE_FIELD = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:\[.\][ \t]+)?[*_~]{0,3}"
    rf"({KEY})[*_~]{{0,3}}[ \t]*::[*_~]{{0,3}}(?=[ \t]|\[\[)[ \t]*"
)
_LETTER = re.compile(r"[^\W\d_]")
_SEPARATORS = re.compile(r"[\s,;/&+|·•、，]*(?:(?:and|or|und|oder|et|ou|y|e|och|和|与|跟)\b[\s,]*)?\Z")
_TASK = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([^\n])\][ \t]+(\S.*)")
_KEYWORD = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?(?:#{1,6}[ \t]+)?"
    r"(TODO|DOING|DONE|NOW|LATER|WAITING|WAIT|CANCELED|CANCELLED|IN-PROGRESS)[ \t]+(\S.*)"
)
_DUE = re.compile(r"(?:📅|📆|🗓)\uFE0F?[ \t]*(\d{4}-\d\d-\d\d)")
_DEADLINE = re.compile(r"[ \t]*(?:SCHEDULED:[^\n]*\n[ \t]*)?DEADLINE:[ \t]*<(\d{4}-\d\d-\d\d)")
_TAGS = re.compile(r"\s*(?:#?\[\[([^\[\]\n]+)\]\]|([^,，]+))")


class Spans:
    """A set of spans that answers whether a position, or a range, is inside one of them."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self.merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if self.merged and start < self.merged[-1][1]:
                if end > self.merged[-1][1]:
                    self.merged[-1] = (self.merged[-1][0], end)
            else:
                self.merged.append((start, end))
        self._starts = [start for start, _ in self.merged]

    def holds(self, position: int) -> bool:
        index = bisect_right(self._starts, position) - 1
        return index >= 0 and position < self.merged[index][1]


def lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The spans of the lines in ``[start, end)``, without their line ends."""
    while start <= end:
        stop = text.find("\n", start, end)
        if stop < 0:
            stop = end
        yield start, stop
        start = stop + 1


def line_fields(text: str, regions: Sequence[Region], closed: Spans) -> Iterator[BracketField]:
    """The ``Key:: value`` lines of the text regions; ``closed`` holds links, code and bracketed fields."""
    for region in regions:
        if region.kind != "text" or text.find("::", region.start, region.end) < 0:
            continue
        for start, end in lines(text, region.start, region.end):
            if text.find("::", start, end) < 0:
                continue
            match = _LINE_FIELD.match(text, start, end)
            if not match or not _LETTER.search(match[1]) or closed.holds(match.start(1)):
                continue
            stop = start + len(text[start:end].rstrip())
            if match.end() < stop and not closed.holds(text.index("::", match.end(1))):
                yield BracketField(match.end(), stop, *match.span(1))


def make_fields(text: str, found: Iterable[BracketField], links: Sequence[Link], syntax: str) -> list[Field]:
    """Fields with the links that stand in their values; ``links`` are sorted by start."""
    starts = [link.start for link in links]
    fields: list[Field] = []
    for item in found:
        first, last = bisect_left(starts, item.start), bisect_left(starts, item.end)
        inside = tuple(link for link in links[first:last] if link.end <= item.end)
        fields += split_value(text, item, inside, syntax)
    return fields


def split_value(text: str, item: BracketField, links: Sequence[Link], syntax: str) -> list[Field]:
    """One field for each link of a list of links, or one for the whole value."""
    key = " ".join(text[item.key_start : item.key_end].split())
    spans = [(link.start, link.end, (link,)) for link in links]
    if not spans or not only_links(text, item.start, item.end, links):
        return [Field(key, text[item.start : item.end], item.start, item.end, item.key_start, item.key_end,
                      syntax, tuple(links))]  # fmt: skip
    return [Field(key, text[start:end], start, end, item.key_start, item.key_end, syntax, inside)
            for start, end, inside in spans]  # fmt: skip


def only_links(text: str, start: int, end: int, links: Sequence[Link]) -> bool:
    """Whether ``[start, end)`` holds links and separators and nothing else."""
    position = start
    for link in links:
        if not _SEPARATORS.match(text, position, link.start):
            return False
        position = link.end
    return bool(_SEPARATORS.match(text, position, end))


def property_tags(text: str, field: BracketField) -> Iterator[Tag]:
    """The tags of a Logseq ``tags::`` property: comma-separated, with or without brackets."""
    for match in _TAGS.finditer(text, field.start, field.end):
        group = 1 if match[1] else 2
        name = match[group].strip().removeprefix("#")
        if name:
            start = match.start(group) + match[group].index(name)
            yield Tag(name, start, start + len(name), "text")


def tasks(text: str, regions: Sequence[Region], closed: Spans, dialect: Dialect) -> Iterator[Task]:
    """The tasks of the text: list items with a box, and Logseq's keywords."""
    for region in regions:
        if region.kind not in ("text", "heading"):
            continue
        for start, end in lines(text, region.start, region.end):
            if not (match := _task(text, start, end, dialect)) or closed.holds(match.start(1)):
                continue
            due = _DUE.search(match[2]) or (_DEADLINE.match(text, end + 1) if dialect.keywords else None)
            yield Task(match[1], match[2].rstrip(), match.start(1) - (match.re is _TASK), end, due[1] if due else None)


def _task(text: str, start: int, end: int, dialect: Dialect) -> re.Match[str] | None:
    match = _TASK.match(text, start, end) if text.find("[", start, end) >= 0 else None
    if not match and dialect.keywords:
        match = _KEYWORD.match(text, start, end)
    return match
