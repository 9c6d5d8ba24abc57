"""Windows become a file of requests for a provider's batch, with the most that they can cost set aside.

What is written and what is marked are one transaction: windows, reservations and the
file appear together, or not at all. A request is named after what it asks (and how often
that was asked before), so an export that was cut off and made again names it the same.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..facts.llm.window import Window
from ..ledger import BudgetExceeded, Ledger
from ..sources.ingest import utc_now
from ..store import batches, model_calls, schema
from ..store.connection import transaction
from ..store.extractions import Asking
from .asking import PURPOSE, Reader
from .batch_formats import MOST_BYTES, MOST_REQUESTS, as_written, key_of, request_body, request_line
from .planning import Options, plan, window_to_ask

__all__ = ["Exported", "export_requests", "forget_exported"]

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Exported:
    """What was written. ``stopped`` says why windows are ``left``: budget, or size; empty if none are."""

    windows: int = 0
    left: int = 0
    tokens: int = 0  # set aside
    cost: float | None = 0.0  # USD; None if the price is not known
    stopped: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request before it has its name."""

    extraction: int
    window: Window
    key: str
    estimate: int
    limit: int


def export_requests(
    connection: sqlite3.Connection, reader: Reader, options: Options, path: Path, format: str, progress: Progress
) -> Exported:
    """Write requests about what has not been read to ``path``.

    Raises ValueError if there is such a file already, or the model cannot be asked in a batch.
    """
    if path.exists():
        raise ValueError(f"{path} exists already; name a file that does not, for its requests may have been sent")
    if reader.two_step:
        raise ValueError("The second of two steps asks about the reply to the first, so they do not fit into a batch")
    caller = reader.caller
    asking = Asking(caller.model_id, reader.prompt_hash, schema.version(connection), reader.mode)
    export = _Export(connection, Ledger(connection, caller.ledger.run), asking, format)
    found = plan(connection, options, asking)
    with tempfile.TemporaryFile() as bodies:
        prepared = _prepare(connection, reader, found, format, bodies, progress)
        bodies.seek(0)
        return export.write(prepared, bodies, path)


def _prepare(
    connection: sqlite3.Connection,
    reader: Reader,
    windows: Sequence[int],
    format: str,
    bodies: IO[bytes],
    progress: Progress,
) -> list[_Prepared]:
    """Put the requests together, a line of ``bodies`` each; nothing is changed yet."""
    caller, prepared = reader.caller, []
    for number, extraction in enumerate(windows):
        progress("requests", number, len(windows))
        window = window_to_ask(connection, extraction)
        if not window.chunks:
            continue
        request = as_written(format, caller.as_sent(reader.request(window)))
        limit = request.limit or reader.most(window)
        body = request_body(format, caller.model, request, caller.options, limit)
        bodies.write(json.dumps(body).encode() + b"\n")
        prepared.append(_Prepared(extraction, window, key_of(body), request.estimate, limit))
    return prepared


class _Export:
    """Names requests, sets aside what they may cost, marks their windows, and writes the file."""

    def __init__(self, connection: sqlite3.Connection, ledger: Ledger, asking: Asking, format: str) -> None:
        self.connection, self.ledger, self.asking, self.format = connection, ledger, asking, format
        self.report = Exported()
        self.now = utc_now()
        self._asked: Counter[str] = Counter()

    def write(self, prepared: Sequence[_Prepared], bodies: IO[bytes], path: Path) -> Exported:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.resolve().parent)  # for its owner alone
        written = Path(name)
        try:
            with transaction(self.connection):
                with os.fdopen(descriptor, "wb") as file:
                    self._write_lines(prepared, bodies, file)
                    file.flush()
                    os.fsync(file.fileno())
                if self.report.windows:
                    written = written.replace(path)
        except BaseException:
            written.unlink(missing_ok=True)  # nothing is marked, so nothing may be sent
            raise
        if not self.report.windows:
            written.unlink()
        return self.report

    def _write_lines(self, prepared: Sequence[_Prepared], bodies: IO[bytes], file: IO[bytes]) -> None:
        self._asked = Counter(call.custom_id.rpartition("-")[0] for call in batches.calls(self.connection))
        for number, (request, body) in enumerate(zip(prepared, bodies, strict=True)):
            self._asked[request.key] += 1
            custom_id = f"{request.key}-{self._asked[request.key]}"
            line = request_line(self.format, custom_id, body.decode().rstrip())
            if not self._fits(file.tell() + len(line)) or not self._export(request, custom_id, file, line):
                self.report.left = len(prepared) - number
                return

    def _fits(self, size: int) -> bool:
        if self.report.windows < MOST_REQUESTS[self.format] and size <= MOST_BYTES[self.format]:
            return True
        self.report.stopped = "size"
        self.report.why = "A batch takes no more; export the rest to another file"
        return False

    def _export(self, request: _Prepared, custom_id: str, file: IO[bytes], line: bytes) -> bool:
        """Set aside, mark, write; False if the budget does not allow it."""
        model, extraction = self.asking.model, request.extraction
        if window_to_ask(self.connection, extraction) != request.window:
            return True  # its notes have changed just now
        try:
            held = self.ledger.reserve(PURPOSE, model, request.estimate, request.limit, extraction)
        except BudgetExceeded as error:
            self.report.stopped, self.report.why = "budget", str(error)
            return False
        if not batches.export(self.connection, extraction, custom_id, self.asking, self.now):
            self.ledger.release(held)  # another process has it
            return True
        batches.bind(self.connection, held.id, custom_id)
        file.write(line)
        self.report.windows += 1
        self.report.tokens += held.tokens
        known = self.report.cost is not None and held.cost is not None
        self.report.cost = (self.report.cost or 0.0) + (held.cost or 0.0) if known else None
        return True


def forget_exported(connection: sqlite3.Connection, documents: Sequence[int] | None = None) -> int:
    """Take windows back that were exported, all or those of ``documents``; what was set aside for them is released.

    Returns how many. Replies that come all the same can still be imported.
    """
    with transaction(connection):
        windows = set(batches.exported(connection, documents))
        batches.take_back(connection, windows)
        for call in batches.calls(connection):
            if call.status == "reserved" and (documents is None or call.extraction in windows):
                model_calls.close_call(connection, call.id, "released")
    return len(windows)
