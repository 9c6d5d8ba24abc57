"""A pool whose calls are made by the workers of a Dask cluster.

Its threads are those of any pool, and so is what they do: reserve, ask, settle, try
again, halve, all of it here, where the ledger is. Only the call itself is made
elsewhere: the model that the threads are given is the real one as far as its name,
options and log go, but what it is asked travels to a worker, and the reply back.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from enum import Enum
from typing import Any

from ..models import Caller
from .asking import Reader
from .cluster import Cluster
from .dask_worker import Answer, Task
from .pool import ThreadPool

__all__ = ["DaskPool"]

MOST_CALLS = 64
"""Calls at the same time unless a person says how many: each has a thread here that waits for it."""


class DaskPool(ThreadPool):
    """As many calls at the same time as the cluster has threads, or ``workers`` if that is less.

    Raises ValueError if the cluster cannot be reached or used.
    """

    def __init__(self, reader: Reader, address: str, workers: int | None) -> None:
        caller = reader.caller
        self._cluster = Cluster(address, caller.model_id, key_comes=caller.key is not None)
        super().__init__(replace(reader, caller=_elsewhere(caller, self._cluster)), workers or MOST_CALLS)
        self.warnings = self._cluster.warnings

    @property
    def size(self) -> int:
        """Grows and shrinks with the cluster; with no worker left one call waits for the next, or ends the run."""
        return min(self._size, max(1, self._cluster.threads))

    def close(self) -> None:
        super().close()
        self._cluster.close()


def _elsewhere(caller: Caller, cluster: Cluster) -> Caller:
    """The same caller, ledger and log and all, but its model is asked on the cluster.

    A key travels only if a person gave one; without, each worker has its own.
    """
    own, model = copy.copy(caller), copy.copy(caller.model)
    key = caller.model.get_key(caller.key) if caller.key is not None else None

    def execute(prompt: Any, stream: bool, response: Any, conversation: Any = None, **_: Any) -> Iterator[str]:
        said = {name: value for name, value in prompt.options if value is not None}
        options = {name: value.value if isinstance(value, Enum) else value for name, value in said.items()}
        task = Task(caller.model_id, caller.timeout, prompt.prompt, prompt.system, prompt.schema, options, key)
        with closing(cluster.call(task)) as signs:
            for answer in signs:
                if answer is not None:
                    _note(response, answer)
                yield "" if answer is None else answer.text

    model.execute = execute
    model.get_key = lambda explicit=None: key
    model.can_stream = True
    own.model = model
    return own


def _note(response: Any, answer: Answer) -> None:
    """Tell a response what its provider said beside the text."""
    if answer.input_tokens is not None or answer.output_tokens is not None:
        response.set_usage(input=answer.input_tokens, output=answer.output_tokens, details=answer.token_details)
    if answer.resolved_model:
        response.set_resolved_model(answer.resolved_model)
