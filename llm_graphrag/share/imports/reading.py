"""What a reader gives of a file: its text, the spans of its rows, what each states, and what could not be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ...sources.report import Remark
from ...sources.rows.feed import UnreadableError
from ...store.imported import Statement

__all__ = ["Reading", "StatedRow", "UnreadableError", "lines"]

StatedRow = tuple[int, int, Sequence[Statement]]
"""Start and end of a row, and what it states."""


@dataclass(slots=True)
class Reading:
    """A file that was read. ``skipped`` are the rows that could not be used, with their lines.

    Rows of a large file need not be in memory: ``later`` gives them when they are written, ``total`` says how many.
    """

    name: str
    text: str = ""
    rows: list[tuple[int, int]] = field(default_factory=list)
    statements: list[Sequence[Statement]] = field(default_factory=list)
    skipped: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    used: int = 0  # rows that state something
    total: int = 0
    given: int = 0  # rows that ``each`` has given so far
    stated: int = 0  # what these state
    later: Callable[[], Iterator[StatedRow]] | None = None

    def add(self, start: int, end: int, stated: Sequence[Statement]) -> None:
        """A row and what it states."""
        self.rows.append((start, end))
        self.statements.append(stated)
        self.total += 1
        self.used += bool(stated)

    def skip(self, start: int, end: int, line: int, reason: str) -> None:
        """A row that cannot be used."""
        self.add(start, end, ())
        self.skipped.append(Remark(self.name, reason, line))

    def warn(self, message: str, line: int | None = None) -> None:
        """Something was read otherwise than it stands there."""
        self.warnings.append(Remark(self.name, message, line))

    def each(self) -> Iterator[StatedRow]:
        """All rows with what they state, in order, counted as they are taken."""
        here = ((start, end, said) for (start, end), said in zip(self.rows, self.statements, strict=True))
        for row in self.later() if self.later else here:
            self.given += 1
            self.stated += len(row[2])
            yield row


def lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and number of every line that is not empty."""
    start, number = 0, 1
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if not text[start:end].isspace() and end > start:
            yield start, end, number
        start, number = end + 1, number + 1
