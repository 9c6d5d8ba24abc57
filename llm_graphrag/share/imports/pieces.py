"""The text of an imported file in chunks of many whole rows, cut so that an edit moves few of them.

Where a chunk ends is decided by the row it ends with, not by what came before: a row that is added or removed changes
its own chunk, at most the next one too, and all others keep their text and with it their ids, their evidence and their
vectors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from zlib import crc32

from ...store.imported import Piece, Statement
from ...text.normalise import is_blank

__all__ = ["MAX_CHARACTERS", "pieces"]

MIN_CHARACTERS, MAX_CHARACTERS = 500, 2_000  # of a chunk of several rows
ENDS = 8  # one of so many rows is an end
MAX_ROW = 4_000  # a longer row is cut


def pieces(text: str, rows: Sequence[tuple[int, int]], statements: Sequence[Sequence[Statement]]) -> list[Piece]:
    """Cut ``text``; ``rows`` are the spans of all its rows in order, ``statements`` what each of them states.

    >>> text = "a,r,b\\n" * 300
    >>> cut = pieces(text, [(i * 6, i * 6 + 5) for i in range(300)], [()] * 300)
    >>> cut[0].start, cut[-1].end == len(text), all(a.end == b.start for a, b in zip(cut, cut[1:]))
    (0, True, True)
    """
    if is_blank(text):
        return []
    found: list[Piece] = []
    line, counted = 1, 0
    for start, end in _spans(text, rows):
        line += text.count("\n", counted, start)
        counted = start
        found.append(Piece(len(found), start, end, line))
    starts = [piece.start for piece in found]
    at = 0
    for (start, end), stated in zip(rows, statements, strict=True):
        while start >= found[at].end:
            at += 1
        if end <= found[at].end:
            found[at].statements += stated
            continue
        for statement in stated:  # of a row that is cut
            piece = found[bisect_right(starts, statement.start) - 1]
            piece.statements.append(_within(statement, piece))
    return found


def _within(statement: Statement, piece: Piece) -> Statement:
    """A statement whose quote ends with the chunk, and whose names stand in it or nowhere."""
    head, tail = (
        span if span is not None and piece.start <= span[0] and span[1] <= piece.end else None
        for span in (statement.head_span, statement.tail_span)
    )
    return replace(statement, end=min(statement.end, piece.end), head_span=head, tail_span=tail)


def _spans(text: str, rows: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans of the chunks, which cover the text."""
    begin = 0
    for number, (start, end) in enumerate(rows):
        following = rows[number + 1][0] if number + 1 < len(rows) else len(text)
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
