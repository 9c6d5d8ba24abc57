"""Which windows are to be asked about: what earlier runs left, and what no window holds yet.

The same for a run and for a file of requests. Windows are planned in the file before
anything is asked, so that whoever comes next finds exactly what is missing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..facts.llm.window import Window
from ..ledger import is_alive
from ..store import extractions
from ..store.connection import transaction
from ..store.extractions import Asking, Candidate
from .windows import leading_context, pack

__all__ = ["Options", "plan", "window_to_ask"]


@dataclass(frozen=True, slots=True)
class Options:
    """Which windows, and how."""

    workers: int | None = None  # calls at the same time; None is 4, or all that the cluster has room for
    limit: int | None = None  # windows; what a reply does not fit into is then left to the next run
    repair: bool = True  # ask once more where a reply cannot be used
    window_tokens: int = 2_000
    chunks: Sequence[int] | None = None
    documents: Sequence[int] | None = None
    again: bool = False  # also what is done
    failed: bool = False  # only what failed
    dask: str | None = None  # address of a scheduler whose workers make the calls


def plan(connection: sqlite3.Connection, options: Options, asking: Asking) -> list[int]:
    """Recover what dead processes left, plan what no window holds; returns the windows to be asked about."""
    with transaction(connection):
        extractions.recover(connection, is_alive)
        extractions.dissolve(connection, asking)
        if not options.failed:
            candidates = extractions.pending(connection, options.chunks, options.documents, options.again)
            extractions.plan(connection, _pack(candidates, options), asking)
    found = extractions.waiting(connection, options.chunks, options.documents, options.failed)
    return found[: options.limit]


def _pack(candidates: Sequence[Candidate], options: Options) -> Iterator[list[Candidate]]:
    """As many windows as the limit allows; in what order ``chunks`` were asked for, if they were."""
    for number, window in enumerate(pack(candidates, options.window_tokens)):
        if options.limit is not None and number >= options.limit:
            return
        yield window


def window_to_ask(connection: sqlite3.Connection, extraction: int) -> Window:
    """A window as it is shown to a model, with what stands before it; without chunks if its notes are gone."""
    window = extractions.window(connection, extraction)
    if not window.chunks:
        return window
    before = extractions.before(connection, window.chunks[0].chunk)
    return Window(window.chunks, leading_context(before), window.private)
