"""JSON values out of what a model wrote, however it is wrapped, cut off or damaged.

A reply that is JSON is read as JSON. Everything else is searched for complete objects:
wherever a brace opens, the strict decoder gets its chance, so damage in one place never
costs an object in another. What is left between them and closed, but not JSON (single
quotes, trailing commas, comments), goes piece by piece to json_repair. What was opened and
never closed is the half of something; it is reported and not completed by a guess.

Time is bounded: a reply is read up to ``MAX_TEXT`` characters, decoding stops when failed
attempts have cost a multiple of that, and only short pieces are repaired. Nothing is ever
evaluated.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import json_repair

__all__ = ["MAX_TEXT", "Found", "Numeral", "Unread", "brief", "find_values", "storable"]

MAX_TEXT = 400_000
_MAX_PIECE, _MAX_REPAIRED = 3_000, 150_000  # characters of one piece, and of all together
_MAX_BRACKETS = 50  # in a piece: nested ones take json_repair time that grows with their square
_WASTE = 40  # characters that failed attempts may cost, per character of the reply
_TOO_DEEP = 5_000  # what an attempt costs that ends in too many levels
_ATTEMPT = 100  # what any attempt costs, and a share of its place, for the error counts the lines before it

_TAG = re.compile(
    r"<(/?)(?:think|thinking|thought|reasoning|reflection|scratchpad)>|\[(/?)THINK\]|<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n")
_OBJECT = re.compile(r"\{\s*[\"}]")
_ARRAY = re.compile(r"[\[,]\s*(?=\[\s*\")")  # what stands before an array of strings within another
_PIECE = re.compile(r"\{[^{}\0]*\}")
_OPENED = re.compile(r"\{[^{}\0]*")
_MEMBER = re.compile(r"\{\s*[\"']?\w+[\"']?\s*:\s*[^\s\[{\0]")  # an object whose first member is no list and no object
_BLANK = "\ufeff\u200b \t\r\n"


class Numeral(float):
    """A number that remembers how it was written, for 0.90 as a value is not 0.9."""

    written: str


@dataclass(frozen=True, slots=True)
class Unread:
    """An object that could not be read."""

    text: str
    cut: bool  # the reply ends in it


@dataclass(frozen=True, slots=True)
class Found:
    """The values of a reply in the order of its text, and what could not be read."""

    values: tuple[Any, ...]
    unread: tuple[Unread, ...] = ()


def find_values(text: str) -> Found:
    """Return the JSON values of a reply; of reasoning before the answer, none.

    >>> find_values('Here: {"a": 1} and {"a": 2, "b": "cut o').values
    ({'a': 1},)
    """
    cut = len(text) > MAX_TEXT
    text = text[:MAX_TEXT].replace("\0", " ").strip(_BLANK)
    for candidate in (text, _without_fence(text)):
        try:
            return Found((_DECODER.decode(candidate),))
        except (ValueError, RecursionError):
            continue
    answer, unfinished = _answer(text)
    found = _Search(answer).found()
    return Found(found.values, (*found.unread, Unread("", True))) if cut or unfinished else found


def _without_fence(text: str) -> str:
    opening = _FENCE.match(text)
    return text[opening.end() : -3].strip(_BLANK) if opening and text.endswith("```") else text


def _answer(text: str) -> tuple[str, bool]:
    """What stands outside of reasoning, and whether the reply ends in reasoning. A tag in quotation marks is text."""
    kept: list[str] = []
    start, quotes, seen, inside = 0, 0, 0, False
    for tag in _TAG.finditer(text):
        quotes += text.count('"', seen, tag.start())
        seen = tag.end()
        closing = bool(tag[1] or tag[2]) or tag[0].startswith("<|")
        if not inside and quotes % 2:
            continue
        if closing:
            kept = kept if inside else []
            inside, start = False, tag.end()
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
        quotes = 0
    return "".join(kept) + ("" if inside else text[start:]), inside


# -- strict JSON ----------------------------------------------------------------------


def _merged(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; lists and objects under one key are joined, of other values the last one counts."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    found = {}
    for key, value in pairs:
        before = found.get(key)
        if not isinstance(before, (list, dict)):
            found[key] = value
        elif isinstance(value, (list, dict)):
            found[key] = [*_listed(before), *_listed(value)]
    return found


def _listed(value: list[Any] | dict[str, Any]) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _number(written: str) -> Numeral | None:
    number = Numeral(written)
    number.written = written
    return number if math.isfinite(number) else None


def _integer(written: str) -> int | Numeral | None:
    return int(written) if len(written) < 20 else _number(written)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_merged,
    parse_float=_number,
    parse_int=_integer,
    parse_constant=lambda _: None,  # NaN, Infinity
    strict=False,  # line breaks within strings
)


# -- damaged JSON ---------------------------------------------------------------------


class _Search:
    """Finds what is complete in a text that is not JSON. What has been read is blotted out with NUL."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.rest = text  # of the same length
        self.values: list[tuple[int, Any]] = []
        self.waste = _WASTE * len(text) + _TOO_DEEP

    def found(self) -> Found:
        self._keep(self._objects())
        self._keep(self._repaired())
        self._keep(self._arrays())
        values = tuple(value for _, value in sorted(self.values, key=lambda item: item[0]))
        return Found(values, tuple(self._unread()))

    def _keep(self, found: Iterator[tuple[int, int, Any]]) -> None:
        parts, at = [], 0
        for start, end, value in found:
            self.values.append((start, value))
            parts += [self.rest[at:start], "\0" * (end - start)]
            at = end
        self.rest = "".join(parts) + self.rest[at:]

    def _objects(self) -> Iterator[tuple[int, int, Any]]:
        """Every complete object, the outermost of those within each other."""
        until = 0
        for opening in _OBJECT.finditer(self.text):
            if opening.start() < until:
                continue
            value, end = self._decode(opening.start())
            if end:
                yield opening.start(), end, value
                until = end

    def _decode(self, at: int) -> tuple[Any, int]:
        """The value that begins here and where it ends, 0 if it is none."""
        if self.waste < 0:
            return None, 0
        try:
            return _DECODER.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            self.waste -= error.pos - at + error.pos // 32 + _ATTEMPT
        except (ValueError, RecursionError):
            self.waste -= _TOO_DEEP
        return None, 0

    def _repaired(self) -> Iterator[tuple[int, int, Any]]:
        repaired = 0
        for piece in _PIECE.finditer(self.rest):
            if len(piece[0]) > _MAX_PIECE or piece[0].count("[") + piece[0].count("(") > _MAX_BRACKETS:
                continue
            repaired += len(piece[0])
            if repaired > _MAX_REPAIRED:
                return
            try:
                value = json_repair.loads(piece[0])
            except Exception:  # whatever a repair stumbles over, the piece stays unread
                continue
            if isinstance(value, dict) and value:
                yield *piece.span(), value

    def _arrays(self) -> Iterator[tuple[int, int, Any]]:
        """Arrays of three strings in a list that was not read as a whole."""
        until = 0
        for before in _ARRAY.finditer(self.rest):
            if before.end() < until:
                continue
            value, end = self._decode(before.end())
            if isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) for part in value):
                yield before.end(), end, [value]
                until = end

    def _unread(self) -> Iterator[Unread]:
        """Objects with members of their own that are in no value, and whether the reply ends open."""
        rest = self.rest.rstrip("`" + _BLANK)
        closed = max(rest.rfind("}"), rest.rfind("\0"))
        cut = rest.count("{") + rest.count("[") > rest.count("}") + rest.count("]")
        reported = False
        for opened in _OPENED.finditer(rest):
            if _MEMBER.match(opened[0]):
                last = cut and opened.start() > closed
                reported |= last
                yield Unread(opened[0].strip(), last)
        if cut and not reported:
            yield Unread("", True)


# -- what is kept of a value that is dropped ------------------------------------------

_MAX_DEPTH, _MAX_LENGTH, _MAX_PARTS = 5, 1_000, 30
_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """A text without lone surrogates, which JSON can hold and a database cannot."""
    return _SURROGATE.sub("\ufffd", text)


def brief(item: Any, depth: int = 0) -> Any:
    """An item as JSON that can be stored: as it was given, but for what is endless, nested for ever or no text."""
    if isinstance(item, str):
        text = item if len(item) <= _MAX_LENGTH else item[:_MAX_LENGTH] + "…"
        return storable(text)
    if isinstance(item, dict):
        if depth >= _MAX_DEPTH:
            return "…"
        return {brief(str(key)): brief(value, depth + 1) for key, value in list(item.items())[:_MAX_PARTS]}
    if isinstance(item, list):
        return "…" if depth >= _MAX_DEPTH else [brief(part, depth + 1) for part in item[:_MAX_PARTS]]
    if isinstance(item, float):
        return float(item) if math.isfinite(item) else None
    return item if isinstance(item, (bool, int)) else None
