"""JSON and JSON Lines: a list of objects, an object of objects, or an object a line.

Numbers stay as they are written (0.90, 12345678901234567890). A list of plain values stays a list;
whatever is nested deeper is kept as JSON text. In JSON Lines a bad line costs that line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .feed import Record, Remarks, UnreadableError, Value
from .table import unique_names
from .text import read_text

MAX_SHOWN = 60


class Number(str):
    """A number as it was written."""

    __slots__ = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) == len(names):
        return dict(pairs)
    return dict(zip(unique_names(names), (value for _, value in pairs), strict=True))


_DECODER = json.JSONDecoder(
    parse_float=Number, parse_int=Number, parse_constant=Number, object_pairs_hook=_object, strict=False
)


def records(path: Path, encoding: str, remarks: Remarks) -> Iterator[Record]:
    """The rows of a ``.json`` file. Raises UnreadableError saying where it is no JSON, or what it holds instead."""
    text = read_text(path, encoding, remarks)
    try:
        yield from _records(_DECODER.decode(text), remarks)
    except json.JSONDecodeError as error:
        hint = ". If every line is an object, name it .jsonl" if error.msg == "Extra data" else ""
        raise UnreadableError(f"not JSON: {error.msg}, line {error.lineno}, column {error.colno}{hint}") from error
    except RecursionError as error:
        raise UnreadableError("not read: JSON that is nested too deeply") from error


def _records(value: Any, remarks: Remarks) -> Iterator[Record]:
    if isinstance(value, dict) and value and all(isinstance(item, dict) for item in value.values()):
        for number, (key, item) in enumerate(value.items(), 1):
            yield Record(_cells(item), {"row": number}, key)
    elif isinstance(value, list):
        for number, item in enumerate(value, 1):
            if isinstance(item, dict):
                yield Record(_cells(item), {"row": number})
            else:
                remarks.skip(f"item {number} is {_kind(item)}, not an object: {_shown(item)}")
    else:
        raise UnreadableError(f"holds {_kind(value)}; rows are a list of objects, or an object of objects")


def lines(path: Path, encoding: str, remarks: Remarks) -> Iterator[Record]:
    """The rows of a ``.jsonl`` file."""
    for number, line in enumerate(read_text(path, encoding, remarks).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = _DECODER.decode(line.strip())
            cells = _cells(value) if isinstance(value, dict) else None
        except json.JSONDecodeError as error:
            remarks.skip(f"not JSON: {error.msg}, column {error.colno}", number)
        except RecursionError:
            remarks.skip("JSON that is nested too deeply", number)
        else:
            if cells is None:
                remarks.skip(f"{_kind(value)}, not an object: {_shown(value)}", number)
            else:
                yield Record(cells, {"row": number, "line": number})


def _cells(item: dict[str, Any]) -> dict[str, Value]:
    return {name: _cell(value) for name, value in item.items() if value is not None}


def _cell(value: Any) -> Value:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str | bool) for part in value):
        return [part if isinstance(part, str) else _written(part) for part in value]
    return _written(value)


def _written(value: Any) -> str:
    """JSON text of a value, numbers as they were."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _kind(value: Any) -> str:
    if isinstance(value, Number):
        return "a number"
    return {dict: "one object", list: "a list", str: "a text", bool: "true or false"}.get(type(value), "null")


def _shown(value: Any) -> str:
    shown = _written(value)
    return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"
