"""The text of a note as the file holds it, with its lines and passages: where a quote stands, and where it went."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from dataclasses import dataclass, field

__all__ = ["NoteText", "Passage", "note_text"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk: ``start`` and ``end`` in the note."""

    id: int
    seq: int
    start: int
    end: int
    tokens: int
    content_hash: str


@dataclass(frozen=True)
class NoteText:
    """A note's text; lines and columns count from 1, columns in code points."""

    text: str
    passages: tuple[Passage, ...]
    _lines: list[int] = field(init=False, repr=False)
    _starts: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        lines, at = [0], self.text.find("\n")
        while at >= 0:
            lines.append(at + 1)
            at = self.text.find("\n", at + 1)
        object.__setattr__(self, "_lines", lines)
        object.__setattr__(self, "_starts", [passage.start for passage in self.passages])

    def place(self, position: int) -> tuple[int, int]:
        """Line and column of a position.

        >>> NoteText("ab\\ncd", ()).place(4), NoteText("ab\\ncd", ()).find("cd", 1, 1)
        ((2, 2), 3)
        """
        line = bisect_right(self._lines, position)
        return line, position - self._lines[line - 1] + 1

    def find(self, quote: str, line: int, column: int) -> int | None:
        """Where a quote stands that stood at a place: there, else nearest to it; None if it is nowhere."""
        at = self._lines[line - 1] + column - 1 if line <= len(self._lines) else len(self.text)
        at = min(at, len(self.text))
        if self.text.startswith(quote, at):
            return at
        before, after = self.text.rfind(quote, 0, at + len(quote)), self.text.find(quote, at)
        found = [place for place in (before, after) if place >= 0]
        return min(found, key=lambda place: (abs(place - at), place), default=None)

    def passage(self, start: int, end: int) -> Passage | None:
        """The passage that holds a span; None if it runs over the end of one."""
        found = bisect_right(self._starts, start) - 1
        if found < 0 or end > self.passages[found].end:
            return None
        return self.passages[found]


def note_text(connection: sqlite3.Connection, document: int) -> NoteText:
    """The text of a document, from its chunks."""
    rows = connection.execute(
        "SELECT id, seq, start, end, tokens, content_hash, text FROM kg_chunks WHERE document = ? ORDER BY seq",
        [document],
    ).fetchall()
    return NoteText("".join(row["text"] for row in rows), tuple(Passage(*row[:6]) for row in rows))
