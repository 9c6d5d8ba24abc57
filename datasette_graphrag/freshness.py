"""Whether what a page shows still stands in the files it was read from.

Only for a file that may change, on the machine that has the sources; a published copy
stands for itself. The paths come out of the database, so what is not a plain file of
ordinary size (a device, a pipe) is left alone.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .records import DocumentRef

MAX_DOCUMENTS = 60
MAX_BYTES = 5_000_000

_FILES = """
  SELECT d.id, d.path, s.root FROM json_each(:documents) f CROSS JOIN kg_documents d ON d.id = f.value
  JOIN kg_sources s ON s.id = d.source WHERE s.kind = 'folder'"""


@dataclasses.dataclass(frozen=True)
class Stale:
    """A document on the page that is no longer as it was read, and in which way."""

    document: DocumentRef
    reason: str


def stale_on(connection: sqlite3.Connection, record: object) -> list[Stale]:
    """The documents that a page speaks of and that have changed since they were read."""
    refs: dict[int, DocumentRef] = {}
    for ref in documents_in(record):
        if len(refs) >= MAX_DOCUMENTS:
            break
        refs.setdefault(ref.id, ref)
    rows = connection.execute(_FILES, {"documents": json.dumps(list(refs))}).fetchall()
    plain = [row["id"] for row in rows if _may_be_read(Path(row["root"]) / row["path"])]
    if not plain:
        return []
    from llm_graphrag.sources.stale import stale

    return [Stale(refs[number], reason) for number, reason in sorted(stale(connection, plain).items())]


def _may_be_read(path: Path) -> bool:
    try:
        status = path.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES


def documents_in(value: Any) -> Iterator[DocumentRef]:
    """Every document that a record mentions."""
    if isinstance(value, DocumentRef):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from documents_in(getattr(value, field.name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from documents_in(item)
