"""A Dask cluster as a place where calls are made: who its workers are, and one call at a time on each of their threads.

Dask runs a task again by itself when its worker dies, which would be a second call that
no ledger knows of. So a call is bound to one worker process, by its address and by its
id, and the death of that process ends the call here: it counts as lost, and whether it
is made again, with a new reservation, is decided where every other failure is.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..failures import Failure, ReadElsewhere
from ..text.error_text import error_text
from .dask_worker import Answer, Described, Stale, Task, ask, describe

__all__ = ["Cluster"]

RPC_SECONDS = 10.0
"""How long the scheduler, or a worker that has ended a task, may take to answer."""

DESCRIBE_SECONDS = 60.0
"""How long workers may take to say who they are: the first import of llm with its plugins takes a while."""

CLOSE_SECONDS = 3.0
"""How long leaving may take. A scheduler that does not hear of it notices by itself."""

NOBODY_SECONDS = 30.0
"""How long a call waits for a worker where there is none: a nanny brings a dead one back within that time."""

LOOK_SECONDS = 0.5
"""Between two looks at who is there, and at whether a call has ended."""

START = "Start one with: dask scheduler; and its workers with: dask worker"
NOT_INSTALLED = "--dask needs Dask. Install it with: llm install 'llm-graphrag[dask]'"


@dataclass(slots=True)
class _Member:
    """A worker process that can be used."""

    address: str
    id: str
    threads: int
    busy: int = 0


class _Gone(Exception):
    """The scheduler does not answer any more."""


class Cluster:
    """The workers behind one scheduler, for calls to ``model``; any thread may use it.

    Raises ValueError if Dask is not installed, no scheduler answers at ``address``, or no worker can be used.
    """

    def __init__(self, address: str, model: str, key_comes: bool) -> None:
        self.address = address
        self.warnings: list[str] = []
        self._model, self._key_comes = model, key_comes
        self._members: dict[str, _Member] = {}
        self._asked: dict[str, Any] = {}  # by address: what will say who a worker is
        self._refused: dict[str, str] = {}  # by address: why a worker is not used
        self._changed = threading.Condition()
        self._looking = threading.Lock()
        self._looked = float("-inf")
        self._client = _connect(address)
        try:
            self._wait_for_members()
        except BaseException:
            self.close()
            raise

    @property
    def threads(self) -> int:
        """Calls that can be made at the same time, as things stand."""
        with self._changed:
            return sum(member.threads for member in self._members.values())

    def close(self) -> None:
        """Leave the cluster; what it still works on for us is dropped."""
        with suppress(TimeoutError, asyncio.TimeoutError):
            self._client.close(timeout=CLOSE_SECONDS)

    def call(self, task: Task) -> Generator[Answer | None, None, None]:
        """Make a call on a worker: None from time to time, and at last the answer.

        Raises ReadElsewhere with what failed, there or on the way.
        """
        began = time.monotonic()
        while (member := self._take()) is None:
            yield None
            self._wait(task.timeout - (time.monotonic() - began), NOBODY_SECONDS - (time.monotonic() - began))
        future = None
        try:
            future = self._submit(member.address, ask, task, member.id)
            yield from self._until_done(future, member)
        finally:
            if future is not None:
                future.cancel()
            with self._changed:
                member.busy -= 1
                self._changed.notify_all()

    # -- one call -----------------------------------------------------------------

    def _take(self) -> _Member | None:
        """A thread of the worker that has most of them free."""
        with self._changed:
            free = [member for member in self._members.values() if member.busy < member.threads]
            if not free:
                return None
            member = max(free, key=lambda one: one.threads - one.busy)
            member.busy += 1
            return member

    def _wait(self, while_busy: float, while_nobody: float) -> None:
        """Wait a moment for a free thread. Raises ReadElsewhere if that has taken too long; nothing was sent."""
        with self._changed:
            self._changed.wait(LOOK_SECONDS)
        try:
            self._look()
        except _Gone as error:
            raise _failed(str(error), charged=False, fatal=True) from error
        if self.threads:
            if while_busy < 0:
                raise _failed(f"no thread of the workers at {self.address} became free", charged=False)
        elif min(while_nobody, while_busy) < 0:
            message = f"No worker is left at {self.address}. {START} {self.address}"
            raise _failed(message, charged=False, fatal=True)

    def _submit(self, address: str, function: Callable[..., Any], *arguments: object) -> Any:
        """Have one worker do something, and no other in its place."""
        return self._client.submit(
            function, *arguments,
            key=f"graphrag-{uuid.uuid4().hex}", workers=[address], allow_other_workers=False, pure=False,
        )  # fmt: skip

    def _until_done(self, future: Any, member: _Member) -> Generator[Answer | None, None, None]:
        try:
            came = yield from self._result(future, member)
        except _Gone as error:
            raise _failed(str(error), fatal=True) from error
        if isinstance(came, Stale):
            self._forget(member)
            raise _failed(f"the Dask worker at {member.address} was started anew during the call")
        if isinstance(came, Failure):
            raise ReadElsewhere(came)
        yield came

    def _result(self, future: Any, member: _Member) -> Generator[Answer | None, None, Answer | Failure | Stale]:
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(LOOK_SECONDS):
            self._look()
            if self._members.get(member.address) is not member:
                raise _failed(f"the Dask worker at {member.address} went away during the call")
            yield None
        try:
            came: Answer | Failure | Stale = future.result(timeout=RPC_SECONDS)
        except Exception as error:  # of Dask: the task itself raises nothing
            self._look(now=True)
            raise _failed(f"Dask: {error_text(error) or type(error).__name__}") from error
        return came

    # -- who is there --------------------------------------------------------------

    def _wait_for_members(self) -> None:
        """Wait until all workers have said who they are. Raises ValueError if none can be used."""
        end = time.monotonic() + DESCRIBE_SECONDS
        try:
            self._look()
            while self._asked and time.monotonic() < end:
                time.sleep(LOOK_SECONDS / 5)
                self._look()
        except _Gone as error:
            raise ValueError(str(error)) from error
        if self._members:
            return
        if self._refused:
            raise ValueError(next(iter(self._refused.values())))
        if self._asked:
            raise ValueError(f"The workers at {self.address} did not answer within {DESCRIBE_SECONDS:g} seconds")
        start = f"Start some with: dask worker {self.address}"
        raise ValueError(f"The Dask scheduler at {self.address} has no workers. {start}")

    def _look(self, now: bool = False) -> None:
        """Bring in step who is there, but for ``now`` not more often than every LOOK_SECONDS. Raises _Gone."""
        with self._looking:
            if not now and time.monotonic() - self._looked < LOOK_SECONDS:
                return
            try:
                there = self._client.nthreads()
            except Exception as error:  # of Dask, of sockets, of tornado
                raise _Gone(f"The Dask scheduler at {self.address} went away") from error
            self._looked = time.monotonic()
            self._compare(there)

    def _compare(self, there: dict[str, int]) -> None:
        with self._changed:
            for address in {*self._members, *self._asked, *self._refused} - set(there):
                for known in (self._members, self._asked, self._refused):
                    known.pop(address, None)
            for address, threads in there.items():
                if address in self._asked:
                    if self._asked[address].done():
                        self._admit(address, threads, self._asked.pop(address))
                elif address not in self._members and address not in self._refused:
                    self._asked[address] = self._submit(address, describe, self._model, self._key_comes)
            self._changed.notify_all()

    def _admit(self, address: str, threads: int, future: Any) -> None:
        """A worker has said who it is: it is used, or it is said why not."""
        problem = ""
        try:
            described: Described = future.result(timeout=RPC_SECONDS)
        except Exception as error:  # there is no such module there, or it is another one
            why = error_text(error) or type(error).__name__
            problem = f"cannot run llm-graphrag {__version__} ({why}): install it there, and at the scheduler"
        else:
            if described.version != __version__:
                problem = f"has llm-graphrag {described.version}, not {__version__}: install the same version there"
            elif described.problem:
                problem = f"cannot call {self._model}: {error_text(described.problem)}"
        if problem:
            self._refused[address] = f"The Dask worker at {address} {' '.join(problem.split())}"
            self.warnings.append(f"{self._refused[address]}. It was not used.")
        else:
            self._members[address] = _Member(address, described.id, max(1, threads))

    def _forget(self, member: _Member) -> None:
        with self._changed:
            if self._members.get(member.address) is member:
                del self._members[member.address]


def _failed(message: str, charged: bool = True, fatal: bool = False) -> ReadElsewhere:
    """A call failed on the way; ``charged`` if it may have been made, for nobody will say what it cost."""
    return ReadElsewhere(Failure(message, status=None, charged=charged, retry=not fatal, fatal=fatal, retry_after=None))


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError(NOT_INSTALLED) from error
    try:
        return Client(address, timeout=RPC_SECONDS, set_as_default=False, name="llm-graphrag")
    except Exception as error:  # of sockets, of TLS, of what is no address
        why = error_text(error) or type(error).__name__
        raise ValueError(f"No Dask scheduler answers at {address} ({why}). {START} {address}") from error
