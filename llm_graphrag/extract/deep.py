"""Reading what a question needs: the windows of its best-ranked chunks that no model has read yet.

What is read stays. Asked the same question again, nothing is read but notes that came
since: which chunks rank best may change with what was read, and would otherwise go on
drawing in the next ones, question after question.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence

from ..store import extractions
from ..store.connection import transaction
from ..store.settings import get_setting, put_setting
from .run import Options

__all__ = ["options_for", "remember"]

MEMORY = "deepened"  # pairs of question and highest chunk id that there was when it was read for
REMEMBERED = 1_000


def options_for(
    connection: sqlite3.Connection, question: str, ranked: Sequence[int], windows: int, window_tokens: int
) -> Options:
    """The run that reads for ``question``: as many of the chunks, best first, as fit into ``windows`` windows.

    Those that an earlier run planned and did not come to, or failed at, are read in the windows that it planned.
    """
    seen = dict(get_setting(connection, MEMORY, [])).get(_key(question), 0)
    tokens = {c.chunk: c.tokens for c in extractions.pending(connection, ranked)}
    planned = extractions.waiting_chunks(connection, ranked)
    chosen: list[int] = []
    held, taken = 0, set[int]()
    for chunk in ranked:
        if chunk <= seen or (chunk not in tokens and chunk not in planned):
            continue
        held += tokens.get(chunk, 0)
        taken |= {planned[chunk]} if chunk in planned else set()
        if chosen and len(taken) * window_tokens + held > windows * window_tokens:
            break
        chosen.append(chunk)
    return Options(chunks=chosen, limit=windows, repair=False, window_tokens=window_tokens)


def remember(connection: sqlite3.Connection, question: str) -> None:
    """The question has been read for, all that there is."""
    with transaction(connection):
        memory = [pair for pair in get_setting(connection, MEMORY, []) if pair[0] != _key(question)]
        highest = connection.execute("SELECT coalesce(max(id), 0) FROM kg_chunks").fetchone()[0]
        put_setting(connection, MEMORY, [*memory, [_key(question), highest]][-REMEMBERED:])


def _key(question: str) -> str:
    return hashlib.sha256(json.dumps(" ".join(question.split()).casefold()).encode()).hexdigest()[:16]
