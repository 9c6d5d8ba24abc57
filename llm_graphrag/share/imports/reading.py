"""What a reader gives of a file: its text, the spans of its rows, what each states, and what could not be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...sources.report import Remark
from ...store.imported import Statement

__all__ = ["Reading", "UnreadableError"]

from ...sources.rows.feed import UnreadableError


@dataclass(slots=True)
class Reading:
    """A file that was read. ``skipped`` are the rows that could not be used, with their lines."""

    name: str
    text: str = ""
    rows: list[tuple[int, int]] = field(default_factory=list)
    statements: list[Sequence[Statement]] = field(default_factory=list)
    skipped: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    used: int = 0  # rows that state something

    def add(self, start: int, end: int, stated: Sequence[Statement]) -> None:
        """A row and what it states."""
        self.rows.append((start, end))
        self.statements.append(stated)
        self.used += bool(stated)

    def skip(self, start: int, end: int, line: int, reason: str) -> None:
        """A row that cannot be used."""
        self.rows.append((start, end))
        self.statements.append(())
        self.skipped.append(Remark(self.name, reason, line))

    def warn(self, message: str, line: int | None = None) -> None:
        """Something was read otherwise than it stands there."""
        self.warnings.append(Remark(self.name, message, line))
