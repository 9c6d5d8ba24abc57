"""What runs in the workers of a Dask cluster: one call to a model, from a task to an answer or a failure.

A worker has no knowledge base, no ledger and no log; it makes one call and says what
came of it. Nothing is raised: Dask would write the arguments of a task that raised into
the log of its worker, and a plugin's exception may be of a class that the coordinator
does not have. For the same reason a task shows neither its key nor its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from .. import __version__
from ..calls import ModelRaised, Unsendable, begin, pieces, read_failure
from ..failures import Failure
from ..models import find_model, one_request_a_call, secrets_of
from ..text.error_text import error_text

__all__ = ["Answer", "Described", "Stale", "Task", "ask", "describe"]


@dataclass(frozen=True)
class Task:
    """One call: what is asked, of which model. It says nothing of itself, for Dask writes tasks into logs."""

    model: str
    timeout: float  # seconds without a sign of life
    prompt: str = field(repr=False)
    system: str | None = field(repr=False)
    schema: Mapping[str, Any] | None = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)
    key: str | None = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """What the model wrote, and what its provider said beside it, if it did."""

    text: str = field(repr=False)
    input_tokens: int | None
    output_tokens: int | None
    token_details: dict[str, Any] | None
    resolved_model: str | None


@dataclass(frozen=True)
class Stale:
    """The task was meant for a process that is gone: another has taken its address."""


@dataclass(frozen=True)
class Described:
    """Who a worker is, and why it cannot be used, if it cannot."""

    id: str
    version: str  # of llm-graphrag
    llm: str
    problem: str = ""


def describe(model: str, key_comes: bool) -> Described:
    """Look whether this worker can call ``model``, with a key of its own unless one comes with each task."""
    try:
        found = find_model(model)
        if not key_comes:
            found.get_key()
    except Exception as error:  # of any plugin; it is said where the run was started
        return Described(_own_id(), __version__, version("llm"), error_text(error) or type(error).__name__)
    return Described(_own_id(), __version__, version("llm"))


def ask(task: Task, worker: str) -> Answer | Failure | Stale:
    """Make a call, once, if this is the process that it was meant for."""
    if _own_id() != worker:
        return Stale()
    received = False
    secrets: tuple[str | None, ...] = (task.key,)
    try:
        model = _model(task.model, task.timeout)
        secrets = secrets_of(model, task.key)
        response = begin(model, task.prompt, task.system, task.schema, task.options, task.key)
        with closing(pieces(response, task.timeout)) as texts:
            for _ in texts:
                received = True
        usage = response.usage()
        return Answer(response.text(), usage.input, usage.output, usage.details, response.resolved_model)
    except ModelRaised as error:
        return read_failure(error, received, secrets)
    except Exception as error:  # the model is gone from this worker, or its response cannot be read
        return read_failure(ModelRaised(error) if received else Unsendable(error), received, secrets)


@lru_cache(maxsize=8)
def _model(name: str, timeout: float) -> Any:
    return one_request_a_call(find_model(name), timeout)


def _own_id() -> str:
    from distributed import get_worker

    return str(get_worker().id)
