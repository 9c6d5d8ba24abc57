"""A module in a process of its own that is asked, and ended when it does not answer in time.

What nobody can interrupt within a process (a function of SQLite's at work on a long text, a
pattern that matches in too many ways) ends with the process. ``serve`` is the other side: it
reads one JSON line for each question and writes one for each reply. It says ``ready`` first,
so that starting, about 50 ms, is not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["Ended", "Late", "Process", "serve"]

BOOT = "import sys; sys.path += sys.argv[2:]; import importlib; importlib.import_module(sys.argv[1]).main()"
ROOT = str(Path(__file__).resolve().parents[2])
START = 20.0  # seconds that starting may take on a machine that is busy


class Late(Exception):
    """No reply in time; the process was ended."""


class Ended(Exception):
    """The process ended by itself, out of memory as a rule."""


class Process:
    """Runs ``main`` of a module of ours; ``ask`` starts it if it does not run, ``close`` ends it. For one thread.

    Only the standard library and this package can be imported in it, and what is found in ``paths``.
    """

    def __init__(self, module: str, paths: Sequence[str] = ()) -> None:
        self._command = [sys.executable, "-I", "-S", "-c", BOOT, module, ROOT, *paths]
        self._running: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        running.kill()
        for pipe in (running.stdin, running.stdout):
            if pipe is not None:
                pipe.close()
        running.wait()

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Return the reply. Raises Late after ``seconds``, or Ended; the next ask starts anew."""
        self.start()
        line = self._exchange(json.dumps(request).encode("ascii") + b"\n", seconds)
        reply: dict[str, Any] = json.loads(line)
        return reply

    def start(self) -> None:
        """Start it, if it does not run, and wait until it is ready."""
        if self._running is None or self._running.poll() is not None:
            self.close()
            self._running = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._exchange(b"", START)

    def _exchange(self, line: bytes, seconds: float) -> bytes:
        """Write a line and read one."""
        running = self._running
        assert running is not None and running.stdin is not None and running.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            running.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        reply = b""
        try:
            running.stdin.write(line)
            running.stdin.flush()
            reply = running.stdout.readline()
        except BrokenPipeError:  # it has ended
            pass
        except BaseException:  # Ctrl-C: what it would still say must not be taken for the next reply
            self.close()
            raise
        finally:
            timer.cancel()
            timer.join()
        if late.is_set():  # in the last moment, perhaps
            self.close()
        if reply.endswith(b"\n"):
            return reply
        self.close()  # nothing, or half a line
        raise Late if late.is_set() else Ended


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]], memory: int) -> None:
    """Answer until nobody asks any more; ``memory`` is the most bytes to take, where the system knows such a limit."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such module; a lower limit may hold already
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin.buffer:
        try:
            said = json.dumps(answer(json.loads(line)))
        except MemoryError:
            said = json.dumps({"error": "memory"})
        sys.stdout.write(said + "\n")
        sys.stdout.flush()
