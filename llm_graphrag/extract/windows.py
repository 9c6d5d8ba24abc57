"""Windows: pending chunks packed for one call each.

A window holds whole chunks up to a number of tokens. Small documents share one, a
document that fits into a window is not spread over two, and a long one goes on in the
next. Private and public notes never share a window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from ..store.extractions import Candidate
from ..text.sentences import sentence_spans
from ..text.tokens import count_tokens

__all__ = ["CONTEXT_TOKENS", "leading_context", "pack"]

CONTEXT_TOKENS = 100
HEADER_TOKENS = 12  # number, title and heading of a chunk


def pack(candidates: Iterable[Candidate], tokens: int) -> Iterator[list[Candidate]]:
    """Windows of at most ``tokens`` tokens (a chunk that is larger has one of its own), in the order given.

    >>> chunks = [Candidate(1, 1, 0, 300, False), Candidate(2, 2, 0, 500, False), Candidate(3, 2, 1, 400, False)]
    >>> [[c.chunk for c in window] for window in pack(chunks, 1000)]
    [[1], [2, 3]]
    """
    window: list[Candidate] = []
    held = 0
    for _, group in groupby(candidates, key=lambda c: c.document):
        document = list(group)
        whole = sum(map(_cost, document))
        if window and (window[0].private != document[0].private or (held + whole > tokens and whole <= tokens)):
            yield window
            window, held = [], 0
        for candidate in document:
            if window and held + _cost(candidate) > tokens:
                yield window
                window, held = [], 0
            window.append(candidate)
            held += _cost(candidate)
    if window:
        yield window


def _cost(candidate: Candidate) -> int:
    return candidate.tokens + HEADER_TOKENS


def leading_context(before: str, tokens: int = CONTEXT_TOKENS) -> str:
    """The last whole sentences of ``before`` that make up at most ``tokens`` tokens."""
    start = len(before)
    for first, _ in reversed(sentence_spans(before)):
        if count_tokens(before[first:]) > tokens:
            break
        start = first
    return before[start:].strip()
