"""What a run would ask and cost, before anything is asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..facts.llm.window import Window, WindowChunk
from ..store import extractions
from ..store.extractions import Candidate
from .asking import PURPOSE, Reader
from .run import Options
from .windows import leading_context, pack

__all__ = ["Estimate", "estimate", "windows_to_ask"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens are estimates; ``output_tokens`` goes by the replies so far, or is a guess where there are none.

    Before a model's first call nobody knows whether it charges for the JSON schema of the reply: ``prompt_tokens`` then
    stand half-way between ``least_prompt_tokens`` and ``most_prompt_tokens``. After it, all three are the same.
    """

    windows: int
    chunks: int
    documents: int
    text_tokens: int
    prompt_tokens: int
    least_prompt_tokens: int
    most_prompt_tokens: int
    output_tokens: int
    most_output_tokens: int
    guessed: bool


GUESSED_REPLY = 6  # tokens of a thorough reading, for each of text (benchmarks/tokens.py)

CHUNKS = """
  SELECT c.id, c.document, d.title, c.heading, c.text, c.content_hash, d.private
  FROM json_each(?) w CROSS JOIN kg_chunks c ON c.id = w.value JOIN kg_documents d ON d.id = c.document
  ORDER BY w.key"""


def windows_to_ask(connection: sqlite3.Connection, options: Options) -> list[Window]:
    """The windows that a run would ask about; nothing is written."""
    waiting = extractions.waiting(connection, options.chunks, options.documents, options.failed)
    found = [_with_context(connection, extractions.window(connection, id_)) for id_ in waiting]
    if not options.failed:
        candidates = extractions.pending(connection, options.chunks, options.documents, options.again)
        found += [_window(connection, packed) for packed in pack(candidates, options.window_tokens)]
    return [window for window in found if window.chunks][: options.limit]


def _window(connection: sqlite3.Connection, packed: Sequence[Candidate]) -> Window:
    rows = connection.execute(CHUNKS, [str([c.chunk for c in packed])]).fetchall()
    chunks = tuple(WindowChunk(number, *row[:6]) for number, row in enumerate(rows, 1))
    return _with_context(connection, Window(chunks, "", packed[0].private))


def _with_context(connection: sqlite3.Connection, window: Window) -> Window:
    if not window.chunks:
        return window
    before = extractions.before(connection, window.chunks[0].chunk)
    return Window(window.chunks, leading_context(before), window.private)


def estimate(windows: Iterable[Window], reader: Reader) -> Estimate:
    """Count what asking about ``windows`` takes."""
    caller, found = reader.caller, list(windows)
    calibration = caller.ledger.calibration(caller.model_id, PURPOSE)
    text = sum(window.tokens for window in found)
    share = caller.ledger.output_ratio(PURPOSE, caller.model_id)
    most, schemas = _prompt_tokens(reader, found)
    unsure = schemas if share is None else 0  # what was reported so far tells whether schemas are charged for
    prompts = round(calibration * (most - unsure / 2))
    return Estimate(
        windows=len(found),
        chunks=sum(len(window.chunks) for window in found),
        documents=len({c.document for window in found for c in window.chunks}),
        text_tokens=text,
        prompt_tokens=prompts,
        least_prompt_tokens=round(calibration * (most - unsure)),
        most_prompt_tokens=round(calibration * most),
        output_tokens=round(prompts * share) if share is not None else GUESSED_REPLY * text,
        most_output_tokens=sum(reader.most(window) for window in found),
        guessed=share is None,
    )


def _prompt_tokens(reader: Reader, windows: Iterable[Window]) -> tuple[int, int]:
    """What the prompts come to by the general estimate, JSON schemas included, and those alone."""
    requests = [request for window in windows for request in reader.requests(window)]
    return sum(request.estimate for request in requests), sum(request.schema_estimate for request in requests)
