"""From bytes to a parsed note with its claims: the part of a run that needs no database.

It is most of the work, so a large run does it in other processes while this one
writes. Readings come back in the order in which they were asked for, a bounded
number ahead, so that memory does not grow with the vault.
"""

from __future__ import annotations

import hashlib
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ..facts import link
from ..facts.claims import Claim
from ..facts.template import Template
from .converters import convert, converter_of
from .dialects import Dialect
from .encoding import UndecodableError, decode
from .markdown import parse_note
from .note import Note

FEW = 400  # below this, starting processes costs more than it saves
BLOCK = 40  # files a process reads at a time
AHEAD = 3  # blocks a process may be ahead


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read, or why not: exactly one of ``note`` and ``error`` is there."""

    content_hash: str = ""
    note: Note | None = None
    claims: tuple[Claim, ...] = ()
    remarks: tuple[str, ...] = ()
    error: str | None = None


def read_bytes(data: bytes, name: str, dialect: Dialect, template: Template) -> Reading:
    """Decode or convert, and parse one note. ``name`` is its file name: only the extension matters."""
    digest = hashlib.sha256(data).hexdigest()
    converter, parts_level = converter_of(name), 0
    try:
        if converter is None:
            decoded = decode(data)
            text, remarks = decoded.text, decoded.notes
        else:
            converted = convert(data, converter)
            text, remarks, parts_level, name = converted.text, converted.warnings, converted.parts_level, ""
    except UndecodableError as error:
        return Reading(digest, error=f"not text: {error}")
    except ValueError as error:
        return Reading(digest, error=str(error))
    return read_text(text, digest, name, dialect, template, remarks, parts_level)


def read_text(
    text: str,
    digest: str,
    name: str,
    dialect: Dialect,
    template: Template,
    remarks: tuple[str, ...] = (),
    parts_level: int = 0,
) -> Reading:
    """Parse one text and make its claims."""
    note = parse_note(text, dialect, name)
    if parts_level:
        note = replace(note, parts_level=parts_level)
    return Reading(digest, note, tuple(link.claims(note, template)), remarks)


def read_file(path: Path, dialect: Dialect, template: Template) -> Reading:
    """Read one file; what the system refuses is an error of the reading."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return Reading(error=error.strerror or str(error))
    return read_bytes(data, path.name, dialect, template)


def read_files(paths: Sequence[Path], dialect: Dialect, template: Template, workers: int) -> Iterator[Reading]:
    """Read files in order, with ``workers`` other processes if there are many."""
    if workers < 1 or len(paths) < FEW:
        yield from (read_file(path, dialect, template) for path in paths)
        return
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing import get_context

    blocks = (paths[start : start + BLOCK] for start in range(0, len(paths), BLOCK))
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start, (dialect, template))
    try:
        waiting: deque[Future[list[Reading]]] = deque(
            pool.submit(_read_block, block) for block in islice(blocks, workers * AHEAD)
        )
        while waiting:
            readings = waiting.popleft().result()
            waiting.extend(pool.submit(_read_block, block) for block in islice(blocks, 1))
            yield from readings
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_how: list[tuple[Dialect, Template]] = []  # of a reading process: set once when it starts


def _start(dialect: Dialect, template: Template) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that writes
    _how.append((dialect, template))


def _read_block(paths: Sequence[Path]) -> list[Reading]:
    return [read_file(path, *_how[-1]) for path in paths]
