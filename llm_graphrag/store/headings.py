"""The headings over a place in a chunk.

A chunk may hold the end of one section and the whole of others; ``kg_chunks.heading`` is that of
the section with most of its text, for full text and vectors. What is shown of a chunk is a line
of it, and over a line stand the last heading before it and those that this one is part of, also
where they stand in chunks before. They are rows, so no text is read.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Heading", "Outline", "outlines"]

# Chunks of a document follow each other, and so do sections: those that touch a chunk lie between those that give
# most of the chunks beside it.
SECTIONS = """
    WITH RECURSIVE over(chunk, section) AS (
      SELECT c.id, s.id
      FROM json_each(:chunks) f
      CROSS JOIN kg_chunks c ON c.id = f.value
      LEFT JOIN kg_chunks b ON b.document = c.document AND b.seq = c.seq - 1
      LEFT JOIN kg_sections first ON first.id = b.section
      LEFT JOIN kg_chunks a ON a.document = c.document AND a.seq = c.seq + 1
      LEFT JOIN kg_sections last ON last.id = a.section
      CROSS JOIN kg_sections s ON s.document = c.document
        AND s.seq BETWEEN coalesce(first.seq, 0) AND coalesce(last.seq, 9e9)
      WHERE s.start < c.end AND s.end > c.start
      UNION
      SELECT over.chunk, s.parent FROM over CROSS JOIN kg_sections s ON s.id = over.section WHERE s.parent IS NOT NULL)
    SELECT c.id, s.id, s.parent, s.heading, s.start - c.start, s.end > c.start
    FROM over CROSS JOIN kg_sections s ON s.id = over.section CROSS JOIN kg_chunks c ON c.id = over.chunk
    ORDER BY c.id, s.seq
"""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as a chunk sees it."""

    section: int
    text: str
    start: int  # in code points of the chunk; negative in a chunk before


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections that touch a chunk, in order, each as the headings from the outermost down to its own."""

    sections: tuple[tuple[Heading, ...], ...] = ()

    def over(self, place: int) -> tuple[Heading, ...]:
        """The headings over a place, the outermost first; a heading is over itself.

        >>> zoo, lions, birds = Heading(1, "Zoo", -90), Heading(2, "Lions", -40), Heading(3, "Birds", 20)
        >>> outline = Outline(((zoo, lions), (zoo, birds)))
        >>> [[heading.text for heading in outline.over(place)] for place in (0, 20)]
        [['Zoo', 'Lions'], ['Zoo', 'Birds']]
        """
        found = bisect_right(self.sections, place, key=lambda section: section[-1].start)
        return self.sections[found - 1] if found else ()

    def path(self, place: int) -> str:
        """The headings over a place as ``A > B``."""
        return " > ".join(heading.text for heading in self.over(place))


def outlines(connection: sqlite3.Connection, chunks: Iterable[int]) -> dict[int, Outline]:
    """Return the outline of each chunk; one without headings has an empty one."""
    wanted = list(dict.fromkeys(chunks))
    found: dict[int, list[tuple[Heading, ...]]] = {chunk: [] for chunk in wanted}
    paths: dict[tuple[int, int], tuple[Heading, ...]] = {}  # by chunk and section
    for chunk, section, parent, text, start, touches in connection.execute(SECTIONS, {"chunks": json.dumps(wanted)}):
        path = (*paths.get((chunk, parent), ()), Heading(section, text, start))
        paths[chunk, section] = path
        if touches:
            found[chunk].append(path)
    return {chunk: Outline(tuple(sections)) for chunk, sections in found.items()}
