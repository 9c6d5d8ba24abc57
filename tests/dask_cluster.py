"""A Dask cluster on this machine, for tests: a scheduler and workers as processes of their own, which may be killed.

Workers know the scripted model. What it says (``say``) depends on the prompt alone: notes with certain words have it
reply in ways that need a second call, or fail.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import extraction_model
import llm
from extraction_model import chunks, reading
from scripted_model import Delay, HttpError, environment, from_environment, registered

PATIENCE = 60  # seconds for a process to start on a busy machine
KEPT = ExitStack()
KEY = "sk-verysecret"


def say(prompt: str, system: str | None = None) -> Any:
    """hail: unusable until it is told so; flood: an error; storm: cut off unless it is about one chunk; fog: slowly."""
    if "Now only the names" in prompt:
        return json.dumps({"entities": reading(prompt)["entities"]})
    if "flood" in prompt:
        return HttpError(400, "no boats on this street")
    if "hail" in prompt and "could not be used" not in prompt:
        return "I would rather not."
    said = extraction_model.say(prompt)
    if "storm" in prompt and len(chunks(prompt)) > 1:
        return said[: len(said) // 2] + " x" * 9000
    return Delay(0.25, said) if "fog" in prompt else said


class Keyed(llm.KeyModel):
    """Says the same to whoever has the key."""

    model_id = "keyed"
    needs_key = "keyed"

    class Options(llm.Options):
        max_tokens: int | None = None

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any = None, key: str | None = None
    ) -> Iterator[str]:
        if key != KEY:
            raise HttpError(401, "no such key")
        said = say(prompt.prompt)
        if isinstance(said, Exception):
            raise said
        yield said


def dask_setup(worker: Any) -> None:
    """Dask calls this in a worker that is started with ``--preload dask_cluster``."""
    KEPT.enter_context(registered(from_environment(), Keyed()))


class Processes:
    """One scheduler and its workers; ``calls`` counts what models were asked, by prompt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "calls.jsonl"
        (folder / "user").mkdir()
        self.environment = environment(folder / "user", function="dask_cluster:say", log=self.log)
        self.output = folder / "output.txt"
        self._output: IO[bytes] = self.output.open("ab")
        self.workers: list[subprocess.Popen[bytes]] = []
        found = folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(found))
        self.scheduler = self._start("dask_scheduler", *options)
        end = time.monotonic() + PATIENCE
        while not found.exists() or not found.read_text("utf-8"):
            assert self.scheduler.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.05)
        self.address: str = json.loads(found.read_text("utf-8"))["address"]

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        line = [sys.executable, "-m", f"distributed.cli.{program}", *arguments]
        return subprocess.Popen(
            line, env=self.environment, stdout=self._output, stderr=subprocess.STDOUT, cwd=self.folder
        )

    def ensure(self, number: int) -> None:
        """Have ``number`` workers, of two threads each."""
        from distributed import Client

        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < number:
            options = ("--no-nanny", "--no-dashboard", "--nthreads", "2", "--host", "127.0.0.1")
            self.workers.append(
                self._start("dask_worker", self.address, *options, "--memory-limit", "0", "--preload", "dask_cluster")
            )
        with Client(self.address, timeout=PATIENCE, set_as_default=False) as client:
            end = time.monotonic() + PATIENCE
            while len(client.nthreads()) != number:
                assert time.monotonic() < end, self.said()
                time.sleep(0.05)

    def said(self) -> str:
        """What all of them wrote to their terminals."""
        return self.output.read_text("utf-8", "replace")

    def calls(self) -> Counter[str]:
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return Counter(json.loads(line)["prompt"] for line in lines)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self._output.close()
