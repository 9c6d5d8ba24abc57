"""Which process wrote a row, and whether it still runs: so that what a dead one left open is found.

A name holds the process id, when that process started, and the machine, as it was
booted: ``4711.88213@heron/1f0c9a2e/4026531836``. A process id alone is not enough, for
it is given out again. Where a process cannot be looked at (another machine, another
container, Windows, whose ``os.kill`` would end it) only age tells: a row is then taken
to be of a dead process when it is older than the longest that any call may take.
"""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

__all__ = ["AGE_LIMIT", "BATCH", "is_alive", "process_name"]

AGE_LIMIT = timedelta(hours=1)
"""A row of a process that cannot be looked at counts as left behind after this: four times what a call may take, unless
its time-out was made longer; one that is settled after all is put right (model_calls.settle_call)."""


BATCH = "batch"
"""In place of a process: a batch at a provider, which goes on until its replies come or a person takes it back."""


def process_name() -> str:
    """The name of this process, the same as long as it runs and no other's, ever."""
    return _name_of(os.getpid())


def is_alive(name: str, since: str | None = None) -> bool:
    """Whether the process called ``name`` runs; ``since`` is when it wrote the row in question (ISO 8601, UTC).

    Without ``since`` a process that cannot be looked at counts as alive.
    """
    if name in (process_name(), BATCH):
        return True
    process, _, place = name.partition("@")
    pid, _, started = process.partition(".")
    host, _, booted = place.partition("/")
    own_host, _, own_booted = _place().partition("/")
    boot, own_boot = booted.partition("/")[0], own_booted.partition("/")[0]
    if host == own_host and boot and own_boot and boot != own_boot:
        return False  # this machine has been started anew
    if place != _place() or os.name == "nt" or not pid.isdecimal():
        return _is_young(since)
    found = _started(int(pid))
    if found is None:
        return False
    return not started or not found or started == found


@cache
def _name_of(pid: int) -> str:
    return f"{pid}.{_started(pid) or ''}@{_place()}"


@cache
def _place() -> str:
    """Host, boot and process namespace: within one place, a process id means one process."""
    host = platform.node().replace("/", "-").replace("@", "-") or "localhost"
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:8]
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return f"{host}//"
    return f"{host}/{boot}/{space}"


def _started(pid: int) -> str | None:
    """When a process of this machine started, "" if that cannot be known, None if there is no such process."""
    if platform.system() == "Linux":
        return _started_on_linux(pid)
    if os.name == "nt":
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    try:
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=5, env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.SubprocessError):
        return ""
    return "-".join(shown.stdout.split()).replace("@", "-").replace(".", "-")


def _started_on_linux(pid: int) -> str | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:
        return ""
    state, *fields = status.rpartition(")")[2].split()  # the name before it may hold anything
    return None if state in "ZX" else fields[18]  # field 22 of proc(5): ticks from boot to start


def _is_young(since: str | None) -> bool:
    if since is None:
        return True
    written = datetime.fromisoformat(since)
    if written.tzinfo is None:
        written = written.replace(tzinfo=timezone.utc)
    return datetime.now(timezone.utc) - written < AGE_LIMIT
