"""Who asks about windows at the same time: a pool takes windows and gives back what came of them, in any order.

A pool of threads is all that calls to a provider need, for they only wait. On a
cluster the same threads wait for its workers instead (dask_pool.py), so that budget,
retries, repair and the two-step way are the same code wherever a call is made.
"""

from __future__ import annotations

import threading
from queue import Empty, Queue
from typing import Protocol

from ..facts.llm.window import Window
from .asking import Outcome, Reader
from .planning import Options

__all__ = ["DEFAULT_WORKERS", "Pool", "ThreadPool", "open_pool"]

DEFAULT_WORKERS = 4


class Pool(Protocol):
    """Asks about up to ``size`` windows at the same time."""

    @property
    def size(self) -> int: ...

    @property
    def warnings(self) -> list[str]:
        """What a person should know when the run is over."""

    def submit(self, extraction: int, window: Window) -> None:
        """Take a window; its outcome will come from ``next``."""

    def next(self, seconds: float) -> Outcome | None:
        """The next outcome, None if there is none within ``seconds``. Raises what a bug in a worker raised."""

    def close(self) -> None:
        """Take no more windows. Nobody waits for those in flight."""


class ThreadPool:
    """Threads of this process, up to ``size``; each is started when there is something to do for it."""

    def __init__(self, reader: Reader, size: int) -> None:
        self.warnings: list[str] = []
        self._size = size
        self._reader = reader
        self._threads = self._flying = 0
        self._tasks: Queue[tuple[int, Window] | None] = Queue()
        self._results: Queue[Outcome | BaseException] = Queue()

    @property
    def size(self) -> int:
        return self._size

    def submit(self, extraction: int, window: Window) -> None:
        self._flying += 1
        if self._flying > self._threads:
            self._threads += 1
            threading.Thread(target=self._work, name=f"extraction {self._threads}", daemon=True).start()
        self._tasks.put((extraction, window))

    def next(self, seconds: float) -> Outcome | None:
        try:
            outcome = self._results.get(timeout=seconds)
        except Empty:
            return None
        self._flying -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def close(self) -> None:
        for _ in range(self._threads):
            self._tasks.put(None)

    def _work(self) -> None:
        """A worker: windows in, outcomes out, until it is given None."""
        while (task := self._tasks.get()) is not None:
            try:
                self._results.put(self._reader.ask(*task))
            except BaseException as error:  # a bug: it is raised where the run was started
                self._results.put(error)


def open_pool(reader: Reader, options: Options) -> Pool:
    """The pool that ``options`` ask for. Raises ValueError if the cluster cannot be reached or used."""
    if options.dask is None:
        return ThreadPool(reader, options.workers or DEFAULT_WORKERS)
    from .dask_pool import DaskPool

    return DaskPool(reader, options.dask, options.workers)
