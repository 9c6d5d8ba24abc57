"""Replies of a provider's batch become claims and settled calls, one line at a time.

A line is matched by the custom_id under which its request was exported; that is in the
ledger, so it does not matter in which order lines come, how often, or whether the file
is whole. A line and all that follows from it are one transaction. What was used is
settled whatever becomes of the reply: the window may have been taken back and read
otherwise, or its notes be gone. Chunks that have changed meanwhile are not in the window
any more, and what is said of them is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..facts.llm.reply import ReplyError
from ..facts.template import Template
from ..ledger import Ledger, Reservation, estimate_prompt_tokens
from ..models import ModelError, find_model
from ..prices import price_of
from ..sources.ingest import utc_now
from ..store import batches, extractions, schema
from ..store.batches import BatchCall
from ..store.connection import transaction
from ..store.extractions import Asking
from ..text.error_text import error_text
from .asking import CUT, judge
from .batch_formats import ERROR, REPLY, UNASKED, Answered, LineError, provider_name, read_line, same_model
from .commit import Committer

__all__ = ["Import", "Imported"]

LONGEST_LINE = 50_000_000  # bytes; no reply is as long
SHOWN = 80  # characters of what a file says that are shown
USABLE = ("exported", "planned", "failed")

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Imported:
    """What was in a file of replies. Lines are counted once each: under done … unused, or in ``skipped``."""

    done: int = 0
    failed: int = 0
    halved: int = 0  # the reply did not fit; asked about again in two
    unasked: int = 0  # expired or cancelled; they wait again
    repeated: int = 0  # imported before
    unused: int = 0  # paid, but the window was read otherwise meanwhile, or its notes are gone
    skipped: list[tuple[int, str]] = field(default_factory=list)  # (line, why)
    changed: int = 0  # chunks that were not as they had been exported
    waiting: int = 0  # windows whose replies have not come
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0  # USD, at list price
    unpriced: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    wishes: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)


class Import:
    """One file of replies; ``committer`` writes what they say."""

    def __init__(self, committer: Committer, any_model: bool) -> None:
        self.connection = committer.connection
        self.committer, self.any_model = committer, any_model
        self.ledger = Ledger(committer.connection, "")
        self.report = Imported()
        self._schemas: dict[int, Template] = {}
        self._calls = {call.custom_id: call for call in batches.calls(self.connection)}
        self._names: dict[str, str] = {}

    def __call__(self, path: Path, progress: Progress) -> Imported:
        """Read all lines. Raises FileNotFoundError and other OSErrors."""
        for number, line in enumerate(_lines(path), 1):
            progress("replies", number, max(number, len(self._calls)))
            try:
                if line is None:
                    raise LineError("is too long to be a reply")
                if line.strip():
                    self._take(read_line(line))
            except LineError as error:
                self.report.skipped.append((number, error_text(error)))
        self.report.waiting = len(batches.exported(self.connection))
        return self.report

    def _take(self, answer: Answered) -> None:
        call = self._calls.get(answer.custom_id)
        if call is None:
            raise LineError(f"answers {answer.custom_id[:SHOWN]}, which was not exported from this knowledge base")
        if call.status == "settled" or (call.status == "released" and answer.kind != REPLY):
            self.report.repeated += 1
            return
        asked = self._asked(call.model)
        if answer.model and not self.any_model and not same_model(asked, answer.model):
            raise LineError(f"is of the model {answer.model[:SHOWN]}, not of {asked}; --any-model takes it")
        with transaction(self.connection):
            status = self._settle(call, answer)
            self._write(call, answer)
        self._calls[call.custom_id] = replace(call, status=status)

    def _asked(self, model: str) -> str:
        """What the provider calls a model; its name in llm, if its plugin is no longer there."""
        if model not in self._names:
            try:
                self._names[model] = provider_name(find_model(model))
            except ModelError:
                self._names[model] = model
        return self._names[model]

    def _settle(self, call: BatchCall, answer: Answered) -> str:
        """Record what a request used; returns what it is in the ledger then."""
        price = price_of(call.model)
        held = Reservation(call.id, call.model, call.reserved_tokens, call.reserved_cost, price)
        said = answer.input_tokens is not None or answer.output_tokens is not None
        if answer.kind != REPLY and not said:
            self.ledger.release(held)
            return "released"
        if call.status == "released":
            batches.reopen(self.connection, call.id)
        read, wrote = answer.input_tokens, answer.output_tokens
        if not read:
            read = round(call.estimated_tokens * self.ledger.calibration(call.model))
        if wrote is None or (answer.text and not wrote):
            wrote = estimate_prompt_tokens(answer.text)
        cost = self.ledger.settle(held, read, wrote, call.custom_id)
        self.report.input_tokens += read
        self.report.output_tokens += wrote
        self.report.cost += cost or 0.0
        self.report.unpriced += cost is None
        return "settled"

    # -- what becomes of the window -------------------------------------------------

    def _write(self, call: BatchCall, answer: Answered) -> None:
        held = batches.held_as(self.connection, call.extraction) if call.extraction is not None else None
        status, exported_as = held or ("", None)
        if answer.kind == UNASKED:
            self.report.unasked += 1
        elif answer.kind == ERROR:
            self.report.failed += 1
            self.report.errors[answer.error] += 1
        if answer.kind != REPLY:
            if call.extraction is not None and exported_as == call.custom_id:
                self._unanswered(call.extraction, answer)
        elif call.extraction is None or status not in USABLE:
            self.report.unused += 1
        else:
            self._read(call.extraction, answer.text)

    def _unanswered(self, extraction: int, answer: Answered) -> None:
        if answer.kind == UNASKED:
            batches.take_back(self.connection, [extraction])
        else:
            self.committer.failed(extraction, answer.error, None, utc_now())

    def _read(self, extraction: int, reply: str) -> None:
        """Store what a reply says of the chunks that are still there."""
        window = extractions.window(self.connection, extraction)
        if not window.chunks:
            self.report.unused += 1
            return
        changed = batches.changed(self.connection, extraction)
        try:
            asked = self._asking(extraction)
            kind, reading = judge(reply, window, self._schema(asked.schema_version), asked.mode)
        except ReplyError as error:
            self.committer.failed(extraction, str(error), reply, utc_now())
            self.report.failed += 1
            self.report.errors[str(error)] += 1
            return
        self.report.changed += changed
        if kind == CUT or reading is None:
            extractions.halve(self.connection, extraction, asked)
            self.report.halved += 1
            return
        self.report.kept += self.committer.done(extraction, reading, reply, asked.schema_version, utc_now())
        self.report.done += 1
        self.report.dropped.update(item.reason for item in reading.dropped)
        self.report.wishes += len(reading.wishes)

    def _schema(self, version: int) -> Template:
        """The schema under which a window was asked about; what has changed since is up to the committer."""
        if version not in self._schemas:
            self._schemas[version] = schema.at(self.connection, version).template
        return self._schemas[version]

    def _asking(self, extraction: int) -> Asking:
        row = self.connection.execute(
            "SELECT model, prompt_hash, schema_version, mode FROM kg_extractions WHERE id = ?", [extraction]
        ).fetchone()
        return Asking(*row)


def _lines(path: Path) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is too long to be read."""
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            if line.endswith(b"\n") or len(line) < LONGEST_LINE:
                yield line
                continue
            while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
            yield None
