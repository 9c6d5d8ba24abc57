"""A run: which windows are asked about, by how many workers, until when.

Windows are planned in the file, claimed one by one, asked about by threads and written
by the one thread that started the run, each in a transaction of its own. So a run that
is killed at any moment loses the calls in flight and nothing else, and the next one
goes on with the windows that are missing. No transaction is open while a model thinks.

A run ends early when the budget is spent, when it is interrupted (calls in flight are
waited for; a second Ctrl-C does not), or when calls fail in a way that all others will.
"""

from __future__ import annotations

import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from ..facts.llm.reply import CUT_OFF
from ..facts.llm.window import Window
from ..ledger import process_name
from ..sources.ingest import utc_now
from ..store import extractions
from ..store.connection import transaction
from ..store.extractions import Asking
from .asking import CUT, DONE, FAILED, FATAL, REFUSED, STOPPED, Outcome, Reader
from .commit import Committer
from .planning import Options, plan, window_to_ask
from .pool import Pool, open_pool

__all__ = ["Options", "Report", "Run"]

SAME_ERRORS = 3  # windows in a row that fail alike, for a reason that will not pass by itself
SAME_TROUBLES = 12  # … and for one that may
MOST_HALVINGS = 2
POLL_SECONDS = 0.2

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Report:
    """What a run did. ``stopped`` says why it ended early: budget, interrupted, errors; empty if it did not."""

    windows: int = 0
    done: int = 0
    failed: int = 0
    left: int = 0
    halved: int = 0  # windows whose reply did not fit, to be asked about again in two
    cut: int = 0  # windows of which the end of the reply is missing, though they cannot be smaller
    lost_calls: int = 0  # that broke off, and count in full
    lost_tokens: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    wishes: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    stopped: str = ""
    why: str = ""
    warnings: list[str] = field(default_factory=list)


class Run:
    """One run over a file; ``plan`` first, then call it."""

    def __init__(
        self, committer: Committer, reader: Reader, schema_version: int, options: Options, stop: threading.Event
    ) -> None:
        self.connection = committer.connection
        self.committer, self.reader, self.options = committer, reader, options
        self.asking = Asking(reader.caller.model_id, reader.prompt_hash, schema_version, reader.mode)
        self.report = Report()
        self.stop = stop  # ends pauses between attempts
        self._stopped_here = False
        self._process = process_name()
        self._waiting: deque[int] = deque()
        self._refused: list[int] = []
        self._flying: set[int] = set()
        self._row: Counter[str] = Counter()  # the same error in a row
        self._depth: dict[int, int] = {}  # how often a window is a half

    def plan(self) -> list[int]:
        """Recover what dead processes left, plan what no window holds; returns the windows to be asked about."""
        found = plan(self.connection, self.options, self.asking)
        self._waiting = deque(found)
        self.report.windows = len(found)
        return found

    def __call__(self, progress: Progress) -> Report:
        """Ask about the planned windows; returns the report, also when it ended early.

        Raises ValueError if the cluster that is to make the calls cannot be used.
        """
        if not self._waiting:
            return self.report
        pool = open_pool(self.reader, self.options)
        try:
            with self._interruptible():
                self._drive(pool, progress)
        finally:
            for extraction in self._flying:  # the second Ctrl-C, or a bug
                self.committer.give_back(extraction)
            pool.close()
            if self._stopped_here and self.report.stopped != "interrupted":
                self.stop.clear()  # whoever asks next with the same caller was not told to stop
        self.report.warnings += pool.warnings
        self.report.lost_calls, self.report.lost_tokens = self.reader.caller.ledger.lost()
        self.report.left = self.report.windows - self.report.done - self.report.failed
        return self.report

    def _drive(self, pool: Pool, progress: Progress) -> None:
        while True:
            while len(self._flying) < pool.size and not self.report.stopped and (task := self._next()) is not None:
                self._flying.add(task[0])
                pool.submit(*task)
            if not self._flying and self._refused and not self.report.stopped:
                self._retry_refused()  # nothing else holds a part of the budget now
                continue
            if not self._flying:
                return
            progress("windows", self.report.done + self.report.failed, self.report.windows)
            outcome = pool.next(POLL_SECONDS)
            if outcome is not None:
                self._flying.discard(outcome.extraction)
                self._take(outcome)

    def _next(self) -> tuple[int, Window] | None:
        """The next window that this process could claim."""
        while self._waiting:
            extraction = self._waiting.popleft()
            self.committer.file.ensure()
            with transaction(self.connection):
                if not extractions.claim(self.connection, extraction, self._process, self.asking, utc_now()):
                    self.report.windows -= 1  # another process has it, or its notes are gone
                    continue
            window = window_to_ask(self.connection, extraction)
            if window.chunks:
                return extraction, window
        return None

    # -- what came of a window ----------------------------------------------------

    def _take(self, outcome: Outcome) -> None:
        report = self.report
        report.calls += outcome.calls
        report.input_tokens += outcome.input_tokens
        report.output_tokens += outcome.output_tokens
        take = {
            DONE: self._done, CUT: self._halve, FAILED: self._failed, REFUSED: self._refuse, FATAL: self._fatal,
            STOPPED: self._unasked,
        }  # fmt: skip
        take[outcome.kind](outcome)

    def _halve(self, outcome: Outcome) -> None:
        """The reply did not fit: two smaller windows take the place of this one."""
        depth = self._depth.pop(outcome.extraction, 0) + 1
        if depth > MOST_HALVINGS:
            outcome.error = "the reply does not fit into the longest one, of parts of the window neither"
            self._failed(outcome)
            return
        with transaction(self.connection):
            halves = extractions.halve(self.connection, outcome.extraction, self.asking)
        self._depth.update(dict.fromkeys(halves, depth))
        self.report.halved += 1
        if self.options.limit is None:  # a limit is one of calls, too
            self._waiting.extendleft(reversed(halves))
            self.report.windows += len(halves) - 1

    def _done(self, outcome: Outcome) -> None:
        assert outcome.reading is not None and outcome.reply is not None
        reading = outcome.reading
        self.report.kept += self.committer.done(
            outcome.extraction, reading, outcome.reply, self.asking.schema_version, utc_now()
        )
        self.report.done += 1
        self.report.cut += any(item.kind == "reply" and item.reason.startswith(CUT_OFF) for item in reading.dropped)
        self.report.dropped.update(item.reason for item in reading.dropped)
        self.report.wishes += len(reading.wishes)
        self._row.clear()
        self._retry_refused()

    def _retry_refused(self) -> None:
        """What a call had reserved and did not need may be enough for another."""
        self._waiting.extendleft(reversed(self._refused))
        self._refused.clear()

    def _failed(self, outcome: Outcome) -> None:
        self.committer.failed(outcome.extraction, outcome.error, outcome.reply, utc_now())
        self.report.failed += 1
        self.report.errors[outcome.error] += 1
        if outcome.reply is not None:
            self._row.clear()
            return
        row = self._row[outcome.error] + 1
        self._row = Counter({outcome.error: row})
        if row >= (SAME_TROUBLES if outcome.transient else SAME_ERRORS):
            self._end("errors", outcome.error)

    def _refuse(self, outcome: Outcome) -> None:
        self.committer.give_back(outcome.extraction)
        if self._flying:
            self._refused.append(outcome.extraction)
        else:
            self._end("budget", outcome.error)

    def _fatal(self, outcome: Outcome) -> None:
        self.committer.give_back(outcome.extraction)
        self.report.errors[outcome.error] += 1
        self._end("errors", outcome.error)

    def _unasked(self, outcome: Outcome) -> None:
        self.committer.give_back(outcome.extraction)

    def _end(self, stopped: str, why: str) -> None:
        if not self.report.stopped:
            self.report.stopped, self.report.why = stopped, why
            self._stopped_here |= not self.stop.is_set()
            self.stop.set()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """The first Ctrl-C ends the run after the calls in flight, the second at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self.report.stopped == "interrupted":
                raise KeyboardInterrupt
            self.report.stopped = ""
            self._end("interrupted", "Interrupted; the next run goes on here.")

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
