"""What a source of rows is: a feed that can be read again, and gives documents one by one.

Every row becomes a small Markdown note, its *rendered* text, which is what is stored
and quoted. Its path within the source is its key, so that it is found again when the
file has changed; a row without a key is found by its content. A feed is read twice, once to
compare and once to write, so that a large table never stands in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from ..report import Remark

Value = str | list[str]
"""A cell as text; a list of texts where the source has a list of plain values."""


class UnreadableError(ValueError):
    """A file cannot be read at all; the message says why. Nothing of it is stored."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row as it was read: its cells by column, without the empty ones, and where it stands."""

    values: Mapping[str, Value]
    place: Mapping[str, int] = field(default_factory=dict)  # row, line
    key: str | None = None  # given by the source apart from its columns


@dataclass(frozen=True)
class Rendered:
    """One document of a feed; ``metadata`` says where it stands and which column is what."""

    path: str
    title: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def content_hash(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()


@dataclass(slots=True)
class Remarks:
    """What a reading has to say; ``path`` is the name under which it is said."""

    path: str
    skipped: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)

    def skip(self, reason: str, line: int | None = None) -> None:
        """A part was left out."""
        self.skipped.append(Remark(self.path, reason, line))

    def warn(self, message: str, line: int | None = None) -> None:
        """Something was read otherwise than it stands there."""
        self.warnings.append(Remark(self.path, message, line))


class Feed(Protocol):
    """One source: ``kind`` and ``root`` identify it, ``options`` are all that is needed to open it again."""

    name: str
    kind: str
    root: str
    document_kind: str
    parts_level: int  # of the headings that begin an exchange
    options: dict[str, Any]

    def read(self, remarks: Remarks) -> Iterator[Rendered]:
        """All documents. Raises UnreadableError, or ValueError if what was asked for is not there."""
        ...

    def fingerprint(self) -> str:
        """Something that differs when the source may have changed; empty if it is not there."""
        ...
