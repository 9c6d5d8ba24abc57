"""What a run over sources did, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about one path that a person may want to know."""

    path: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """One value of a field that the schema reads as a list."""

    path: str
    line: int
    key: str
    values: tuple[str, ...]


@dataclass(slots=True)
class Report:
    """Counts and reasons of one run; ``skipped`` are files that were not read, by path."""

    new: int = 0
    changed: int = 0
    renamed: int = 0
    unchanged: int = 0
    empty: int = 0
    removed: int = 0
    gone: list[str] = field(default_factory=list)
    skipped: list[Remark] = field(default_factory=list)
    ignored: int = 0
    warnings: list[Remark] = field(default_factory=list)
    planned: list[tuple[str, str]] = field(default_factory=list)  # dry run: (action, path)
    splits: list[Split] = field(default_factory=list)  # dry run: values that would become several facts
    totals: dict[str, int] = field(default_factory=dict)

    def uncount(self, action: str) -> None:
        """A planned step that could not be done is not counted as done."""
        setattr(self, action, getattr(self, action) - 1)

    @property
    def written(self) -> int:
        return self.new + self.changed + self.renamed

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
