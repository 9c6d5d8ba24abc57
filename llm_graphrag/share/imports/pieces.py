"""The text of an imported file in chunks of many whole rows, cut so that an edit moves few of them.

Where a chunk ends is decided by the row it ends with, not by what came before: a row that is added or removed changes
its own chunk, at most the next one too, and all others keep their text and with it their ids, their evidence and their
vectors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from zlib import crc32

from ...store.imported import Piece, Statement
from ...text.normalise import is_blank
from .reading import StatedRow

__all__ = ["MAX_CHARACTERS", "pieces"]

MIN_CHARACTERS, MAX_CHARACTERS = 500, 2_000  # of a chunk of several rows
ENDS = 8  # one of so many rows is an end
MAX_ROW = 4_000  # a longer row is cut


def pieces(text: str, rows: Iterable[StatedRow]) -> Iterator[Piece]:
    """Cut ``text``; ``rows`` are all its rows in order, with what each of them states.

    >>> text = "a,r,b\\n" * 300
    >>> cut = list(pieces(text, [(i * 6, i * 6 + 5, ()) for i in range(300)]))
    >>> cut[0].start, cut[-1].end == len(text), all(a.end == b.start for a, b in zip(cut, cut[1:]))
    (0, True, True)
    """
    if is_blank(text):
        return
    waiting: deque[StatedRow] = deque()  # rows that were read and stand in no piece yet
    line, counted = 1, 0
    for seq, (start, end) in enumerate(_spans(text, _noted(rows, waiting))):
        line += text.count("\n", counted, start)
        counted = start
        piece = Piece(seq, start, end, line)
        while waiting and waiting[0][0] < end:
            row = waiting.popleft()
            if start <= row[0] and row[1] <= end:
                piece.statements += row[2]
                continue
            here = [statement for statement in row[2] if statement.start < end]
            piece.statements += (_within(statement, piece) for statement in here)
            if row[1] > end:  # the rest of a row that is cut
                waiting.appendleft((row[0], row[1], [said for said in row[2] if said.start >= end]))
                break
        yield piece


def _noted(rows: Iterable[StatedRow], waiting: deque[StatedRow]) -> Iterator[tuple[int, int]]:
    for row in rows:
        waiting.append(row)
        yield row[0], row[1]


def _within(statement: Statement, piece: Piece) -> Statement:
    """A statement whose quote ends with the chunk, and whose names stand in it or nowhere."""
    head, tail = (
        span if span is not None and piece.start <= span[0] and span[1] <= piece.end else None
        for span in (statement.head_span, statement.tail_span)
    )
    return replace(statement, end=min(statement.end, piece.end), head_span=head, tail_span=tail)


def _spans(text: str, rows: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans of the chunks, which cover the text."""
    begin = 0
    for (start, end), following in _with_next(rows, len(text)):
        if begin < start and end - begin > MAX_CHARACTERS:
            yield begin, start
            begin = start
        if end - begin > MAX_ROW:
            for cut in range(begin + MAX_ROW, following, MAX_ROW):
                yield begin, cut
                begin = cut
            yield begin, following
            begin = following
        elif end - begin >= MIN_CHARACTERS and crc32(text[start:end].encode("utf-8", "replace")) % ENDS == 0:
            yield begin, following
            begin = following
    if begin < len(text):
        yield begin, len(text)


def _with_next(rows: Iterable[tuple[int, int]], last: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Every row with where the one after it begins."""
    before: tuple[int, int] | None = None
    for row in rows:
        if before is not None:
            yield before, row[0]
        before = row
    if before is not None:
        yield before, last
