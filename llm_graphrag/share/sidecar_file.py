"""The text of a sidecar: what a model or a person has stated of one note, as TOML.

One table a fact, in the order of the note, one value a line: a person can read it, and ``git diff`` shows what changed.
The same facts always give the same text. Characters that cannot be seen, or that would turn the line around, are
written as escapes. What is read back is never trusted: a table that is not as it should be is reported with its
reason, and the others are read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["HEADER", "Fact", "Fault", "Reading", "Sidecar", "SidecarError", "dumps", "loads", "quoted"]

HEADER = "# llm-graphrag facts 1: what a model or a person stated of one note. Read by: llm graphrag import --sidecars"

KINDS = ("triple", "attribute", "type", "alias")
MAX_TEXT, MAX_NUMBER = 100_000, 2**31  # of what is read back

_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


class SidecarError(ValueError):
    """A file that is no sidecar; the message says why."""


@dataclass(frozen=True, slots=True)
class Reading:
    """That a model has read passages of the note, named by the beginnings of the hashes of their texts."""

    model: str
    prompt: str
    mode: str
    schema_version: int
    at: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """One statement, and where in the note it stands; ``line`` and ``column`` of the quote count from 1."""

    line: int
    column: int
    kind: str
    head: str
    head_type: str
    relation: str
    tail: str
    tail_type: str
    quote: str
    confidence: float
    origin: str
    schema_version: int
    model: str = ""
    detail: str = "{}"
    of_note: bool = False  # the head is the note itself, whatever it is called
    reversed: bool = False


@dataclass(frozen=True, slots=True)
class Sidecar:
    """All that is said of one note, which ``note`` names by its uri."""

    note: str
    readings: tuple[Reading, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """A table that cannot be used; ``line`` is that of the note, if it says one."""

    message: str
    line: int | None = None


# -- writing ---------------------------------------------------------------------------


def dumps(sidecar: Sidecar) -> str:
    """The text of a sidecar.

    >>> print(dumps(Sidecar("v/a.md")).splitlines()[2])
    note = "v/a.md"
    """
    lines = [HEADER, "", f"note = {quoted(sidecar.note)}"]
    for reading in sidecar.readings:
        lines += ["", "[[reading]]", *_reading_lines(reading)]
    for fact in sorted(sidecar.facts):
        lines += ["", "[[fact]]", *_fact_lines(fact)]
    return "\n".join(lines) + "\n"


def _reading_lines(reading: Reading) -> Iterator[str]:
    for name in ("model", "prompt", "mode"):
        yield f"{name} = {quoted(getattr(reading, name))}"
    yield f"schema_version = {reading.schema_version}"
    yield f"at = {quoted(reading.at)}"
    yield "passages = ["
    yield from (f"  {quoted(passage)}," for passage in reading.passages)
    yield "]"


def _fact_lines(fact: Fact) -> Iterator[str]:
    yield f"kind = {quoted(fact.kind)}"
    yield f"head = {quoted(fact.head)}"
    if fact.of_note:
        yield "of_note = true"
    if fact.head_type:
        yield f"head_type = {quoted(fact.head_type)}"
    yield f"relation = {quoted(fact.relation)}"
    if fact.reversed:
        yield "reversed = true"
    yield f"tail = {quoted(fact.tail)}"
    if fact.tail_type:
        yield f"tail_type = {quoted(fact.tail_type)}"
    yield f"quote = {quoted(fact.quote)}"
    yield f"line = {fact.line}"
    yield f"column = {fact.column}"
    yield f"confidence = {float(fact.confidence)!r}"
    yield f"origin = {quoted(fact.origin)}"
    if fact.model:
        yield f"model = {quoted(fact.model)}"
    yield f"schema_version = {fact.schema_version}"
    if fact.detail != "{}":
        yield f"detail = {quoted(fact.detail)}"


def quoted(text: str) -> str:
    r"""A text as a TOML string on one line; what cannot be seen is escaped.

    >>> print(quoted('say "hi"\n'), quoted("a\u202eb\x00"), quoted("naïve 東京"))
    "say \"hi\"\n" "a\u202Eb\u0000" "naïve 東京"
    """
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if short := _SHORT.get(char):
        return short
    if char.isprintable():
        return char
    return f"\\u{ord(char):04X}" if ord(char) < 0x10000 else f"\\U{ord(char):08X}"


# -- reading ---------------------------------------------------------------------------


def loads(text: str) -> tuple[Sidecar, list[Fault]]:
    """Read a sidecar back, and what of it cannot be used. Raises SidecarError if it is none."""
    if text.partition("\n")[0].rstrip("\r") != HEADER:
        raise SidecarError("its first line is not that of a sidecar; llm graphrag export --sidecars writes them")
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SidecarError(f"it is not valid TOML: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(data.get("note"), str) or not data["note"]:
        raise SidecarError("it does not say which note it is about")
    faults: list[Fault] = []
    readings = tuple(_tables(data, "reading", _reading, faults))
    facts = tuple(sorted(_tables(data, "fact", _fact, faults)))
    return Sidecar(data["note"], readings, facts), faults


T = TypeVar("T")


def _tables(
    data: Mapping[str, Any], name: str, read: Callable[[Mapping[str, Any]], T], faults: list[Fault]
) -> Iterator[T]:
    """The tables of this name that can be read; what is wrong with the others goes to ``faults``."""
    found = data.get(name, [])
    for number, table in enumerate(found if isinstance(found, list) else [found], 1):
        line = table.get("line") if isinstance(table, dict) else None
        try:
            if not isinstance(table, dict):
                raise SidecarError("it is no table")
            yield read(table)
        except SidecarError as error:
            there = isinstance(line, int) and 0 < line < MAX_NUMBER
            faults.append(Fault(f"{name} {number}: {error}", line if there else None))


def _reading(table: Mapping[str, Any]) -> Reading:
    passages = table.get("passages")
    if not isinstance(passages, list) or not all(isinstance(p, str) and p.isalnum() for p in passages):
        raise SidecarError("its passages are no list of hashes")
    return Reading(
        model=_text(table, "model"), prompt=_text(table, "prompt"), mode=_text(table, "mode"),
        schema_version=_number(table, "schema_version"), at=_text(table, "at"), passages=tuple(passages),
    )  # fmt: skip


def _fact(table: Mapping[str, Any]) -> Fact:
    confidence = table.get("confidence")
    if not isinstance(confidence, float | int) or isinstance(confidence, bool) or not 0 <= confidence <= 1:
        raise SidecarError("its confidence is no number from 0 to 1")
    fact = Fact(
        line=_number(table, "line", 1), column=_number(table, "column", 1), kind=_text(table, "kind"),
        head=_text(table, "head"), head_type=_text(table, "head_type", ""), relation=_text(table, "relation"),
        tail=_text(table, "tail"), tail_type=_text(table, "tail_type", ""), quote=_text(table, "quote"),
        confidence=float(confidence), origin=_text(table, "origin"), schema_version=_number(table, "schema_version"),
        model=_text(table, "model", ""), detail=_detail(_text(table, "detail", "{}")),
        of_note=table.get("of_note") is True, reversed=table.get("reversed") is True,
    )  # fmt: skip
    if fact.kind not in KINDS:
        raise SidecarError(f"its kind is none of {', '.join(KINDS)}")
    if not (fact.head and fact.relation and fact.quote):
        raise SidecarError("it needs a head, a relation and a quote")
    return fact


def _text(table: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = table.get(name, default)
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise SidecarError(f"its {name} is no text" if value is not None else f"it has no {name}")
    return value


def _number(table: Mapping[str, Any], name: str, least: int = 0) -> int:
    value = table.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < MAX_NUMBER:
        raise SidecarError(f"its {name} is no number from {least}" if value is not None else f"it has no {name}")
    return value


def _detail(text: str) -> str:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise SidecarError("its detail is no JSON object")
    return text


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")
