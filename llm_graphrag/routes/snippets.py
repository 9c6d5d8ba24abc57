"""The piece of a passage that is shown for a question, with the matching words marked.

The sentence that says most of the question is shown, with what stands around it while
there is room. A snippet is one line: white space becomes single spaces, and characters
that would steer a terminal or turn the direction of writing are dropped, since notes
can come from anybody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..text.sentences import row_spans, sentence_spans
from .hits import Term
from .terms import telling_terms
from .words import places, rate

__all__ = ["WIDTH", "best_sentence", "piece_naming", "snippet", "visible"]

WIDTH = 240

_STEERING = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]+"
)
_SPACE = re.compile(r"\s+")
_HEADING = re.compile(r"#{1,6}\s")
_ALNUM = re.compile(r"\w")


def visible(text: str) -> str:
    """Text on one line, without characters that a terminal would obey.

    >>> visible("red\\x1b[31m  alert\\nnow")
    'red[31m alert now'
    """
    return _SPACE.sub(" ", _STEERING.sub("", text))


def best_sentence(text: str, terms: Sequence[Term], rows: bool = False) -> tuple[int, int]:
    """Return the span of the sentence that says most of the question; the first of prose if none says anything.

    In a text of rows every line is a sentence.
    """
    found = row_spans(text) if rows else sentence_spans(text)
    spans = found or [(0, len(text))]

    def value(span: tuple[int, int]) -> tuple[float, bool]:
        piece = text[span[0] : span[1]]
        heading = _HEADING.match(piece) is not None
        return rate(piece, terms) * (0.5 if heading else 1.0), not heading and _ALNUM.search(piece) is not None

    return max(spans, key=value)


def snippet(
    text: str,
    terms: Sequence[Term],
    width: int = WIDTH,
    rows: bool = False,
    sentence: tuple[int, int] | None = None,
) -> tuple[tuple[str, bool], ...]:
    """Return the piece to show as (text, marked) parts, at most about ``width`` characters.

    ``sentence`` is the best sentence, where it is known already.

    >>> snippet("Ana sails. The lens has a silver coating.", [Term("coatings", frozenset(), 1.0)], 32)
    (('… The lens has a silver ', False), ('coating', True), ('.', False))
    """
    start, end = sentence or best_sentence(text, terms, rows)
    if rows:  # the rows around it are about something else
        text, start, end = text[start:end], 0, end - start
    if end - start > width:
        hits = [(a, b) for a, b, _ in places(text[start:end], terms)]
        middle = start + hits[0][0] if hits else start
        start = _word_start(text, max(start, middle - width // 4))
        end = _word_end(text, min(end, start + width))
    else:
        end = _word_end(text, min(len(text), start + width))
        if end == len(text):
            start = _word_start(text, max(0, end - width)) if end - start < width // 2 else start
    parts: list[tuple[str, bool]] = [("… ", False)] if text[:start].strip() else []
    at = start
    for a, b, _ in places(text[start:end], terms):
        a, b = max(start + a, at), start + b
        if b > a:
            parts += [(text[at:a], False), (text[a:b], True)]
            at = b
    parts += [(text[at:end], False)] + ([(" …", False)] if text[end:].strip() else [])
    return _joined(parts)


def piece_naming(text: str, names: Sequence[str], width: int = WIDTH) -> str:
    """Return a sentence on one line; of a long one about ``width`` letters where it names these things.

    >>> piece_naming("It is long. We ate stale bread. Then a Fireball hit us.", ["Fireball"], 30)
    '… Then a Fireball hit us.'
    """
    if len(text) <= width:
        return visible(text).strip()
    named = [place for name in names if (place := _place(text, name))]
    spans = _joined_spans([_around(text, place, width // len(named)) for place in sorted(named)])
    spans = spans or [(0, _word_end(text, width))]
    shown = " … ".join(text[start:end].strip() for start, end in spans)
    before, after = "… " * bool(text[: spans[0][0]].strip()), " …" * bool(text[spans[-1][1] :].strip())
    return visible(before + shown + after).strip()


def _place(text: str, name: str) -> tuple[int, int] | None:
    """Where a thing is named, else where a word of its name stands."""
    if found := re.search(re.escape(name), text, re.IGNORECASE):
        return found.span()
    words = places(text, [Term(word, frozenset(), 1.0) for word in telling_terms(name)])
    return words[0][:2] if words else None


def _around(text: str, place: tuple[int, int], width: int) -> tuple[int, int]:
    """Whole words around a place, most of them behind it."""
    start = _word_start(text, max(0, place[0] - width // 4))
    return start, _word_end(text, max(place[1], start + width))


def _joined_spans(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, joined where they touch."""
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((start, end))
    return out


def _joined(parts: Sequence[tuple[str, bool]]) -> tuple[tuple[str, bool], ...]:
    joined: list[tuple[str, bool]] = []
    for text, marked in parts:
        text = visible(text)
        if joined and joined[-1][1] == marked:
            joined[-1] = _SPACE.sub(" ", joined[-1][0] + text), marked
        elif text:
            joined.append((text, marked))
    return tuple(joined)


def _word_start(text: str, at: int) -> int:
    """The beginning of the word at a place, unless that is far away."""
    cut = max(text.rfind(" ", max(0, at - 24), at), text.rfind("\n", max(0, at - 24), at))
    return cut + 1 if cut >= 0 else (at if at > 24 else 0)


def _word_end(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    cut = max(text.rfind(" ", at - 24, at), text.rfind("\n", at - 24, at))
    return cut if cut > 0 else at
