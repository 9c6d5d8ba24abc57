"""From a row to what it states, whatever kind of file it stands in.

A reader gives every row as cells by role (``head``, ``relation``, ``tail``, …) with the span of the row in the text.
Here the cells become statements: names cleaned, relations and types as identifiers, values as they are. A row that
cannot be used raises ``RowError`` with the reason; the reader knows the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from ...facts.claims import ALSO_KNOWN_AS, IS_A
from ...sources.converters import UNPRINTABLE
from ...store.imported import Statement
from ...text.normalise import clean_name, fold_identifier, name_key

__all__ = ["HALVES", "KINDS", "MAX_NAME", "MAX_QUOTE", "SURROGATE", "Maker", "Node", "RowError", "Span"]

MAX_NAME = 2_000
MAX_QUOTE = 2_000  # a row that is longer is quoted in part, from its beginning or from the value on

SURROGATE = re.compile("[\ud800-\udfff]")  # half a character: JSON and N-Triples can write it, nothing can store it
HALVES = "{} without the other half (a lone surrogate); U+FFFD stands there"

KINDS = ("triple", "attribute", "type", "alias", "entity")


class RowError(ValueError):
    """A row that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Node:
    """What an id of a nodes file stands for."""

    name: str
    type: str = ""

    @property
    def said(self) -> tuple[str, str]:
        """Name and type."""
        return self.name, self.type


@dataclass(frozen=True, slots=True)
class Span:
    """Where a row stands in the text."""

    text: str
    start: int
    end: int

    def find(self, cell: str, at: int | None = None) -> int:
        """Where a cell stands in the row as it is, looked for from ``at`` on; -1 if it is nowhere."""
        return self.text.find(cell, self.start if at is None else at, self.end)

    def quote(self, at: int, length: int) -> tuple[int, int]:
        """What is quoted of the row: all of it, or a part that holds what stands at ``at`` if it is long."""
        if self.end - self.start <= MAX_QUOTE:
            return self.start, self.end
        start = self.start if at < 0 or at + length <= self.start + MAX_QUOTE else at
        return start, min(self.end, start + MAX_QUOTE)


_PLAIN = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


@dataclass
class Maker:
    """Makes statements of cells.

    ``nodes`` says what ids stand for, ``attributes`` which relations, as identifiers, have literal tails, ``own`` how
    the schema spells the names of types that it has, by identifier. Where there are ``attributes``, ``relations``
    collects the identifiers of all relations.
    """

    nodes: Mapping[str, Node] = field(default_factory=dict)
    attributes: Collection[str] = ()
    own: Mapping[str, str] = field(default_factory=dict)
    relations: set[str] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)
    _identifiers: dict[str, str] = field(default_factory=dict)

    def statements(self, cells: Mapping[str, str], span: Span) -> Iterator[Statement]:
        """What one row states. Raises RowError."""
        kind = self._kind(cells)
        head, head_type, head_span, after = self._end(cells, "head", span, span.start)
        confidence = _confidence(cells.get("confidence", ""))
        detail = _detail(cells, span)
        if kind == "entity":
            yield from self.entity(head, head_type, span, head_span, confidence, detail)
            return
        if kind in ("type", "alias"):
            yield from self._about(kind, head, head_type, cells, span, head_span, confidence, detail)
            return
        relation = self.identifier(cells.get("relation", ""), "relation")
        if kind == "attribute":
            value = value_of(cells.get("tail", "") or cells.get("value", ""))
            if not value.strip():
                raise RowError(f"the value of {relation} is empty")
            place = _quoted(cells, span, span.find(value, after), len(value))
            yield Statement(kind, head, head_type, relation, value, "", *place, head_span, None, confidence, detail)
            return
        tail, tail_type, tail_span, _ = self._end(cells, "tail", span, after)
        at, to = tail_span or (-1, -1)
        place = _quoted(cells, span, at, to - at)
        ends = (head, head_type, relation, tail, tail_type)
        yield Statement("triple", *ends, *place, head_span, tail_span, confidence, detail)

    def triple(self, head: str, relation: str, tail: str, span: Span) -> Statement:
        """What a row of three cells states, fast: most rows of most graphs are no more. Raises RowError."""
        text, start, end = span.text, span.start, span.end
        head, tail = self.name(head, "head"), self.name(tail, "tail")
        found = text.find(head, start, end)
        head_span = None if found < 0 else (found, found + len(head))
        at = text.find(tail, head_span[1] if head_span else start, end)
        tail_span = None if at < 0 else (at, at + len(tail))
        place = span.quote(at, len(tail))
        return Statement(
            "triple", head, "", self.identifier(relation, "relation"), tail, "", *place, head_span, tail_span
        )

    def _kind(self, cells: Mapping[str, str]) -> str:
        kind = cells.get("kind", "").strip().lower()
        if kind and kind not in KINDS:
            raise RowError(f"its kind {kind[:40]!r} is none of {', '.join(KINDS)}")
        relation = folded(cells.get("relation", "")) if self.attributes else ""
        if relation:
            self.relations.add(relation)
        if kind:
            return kind
        if cells.get("value", "") and not cells.get("tail", "").strip():
            return "attribute"
        return "attribute" if relation in self.attributes else "triple"

    def entity(
        self, name: str, type_: str, span: Span, at: tuple[int, int] | None, confidence: float = 1.0, detail: str = "{}"
    ) -> Iterator[Statement]:
        """That there is an entity, which is named ``at``: its type says so, else its name."""
        place = span.quote(*((at[0], at[1] - at[0]) if at else (-1, 0)))
        kind, relation, tail = ("type", IS_A, type_) if type_ else ("alias", ALSO_KNOWN_AS, name)
        yield Statement(kind, name, type_, relation, tail, "", *place, at, None, confidence, detail)

    def _about(
        self, kind: str, head: str, head_type: str, cells: Mapping[str, str], span: Span, at: tuple[int, int] | None,
        confidence: float, detail: str,
    ) -> Iterator[Statement]:  # fmt: skip
        """A type, or another name."""
        if kind == "type":
            type_ = self.identifier(cells.get("tail", "") or cells.get("head_type", ""), "type")
            yield from self.entity(head, type_, span, at, confidence, detail)
            return
        alias = self.name(cells.get("tail", "") or cells.get("value", ""), "alias")
        place = span.quote(span.find(alias), len(alias))
        yield Statement("alias", head, head_type, ALSO_KNOWN_AS, alias, "", *place, at, None, confidence, detail)

    def _end(
        self, cells: Mapping[str, str], role: str, span: Span, after: int
    ) -> tuple[str, str, tuple[int, int] | None, int]:
        """Name and type of an end, where it is named, and where to go on looking."""
        cell = cells.get(role, "")
        node = self.nodes.get(cell.strip()) if self.nodes else None
        type_ = cells.get(f"{role}_type", "").strip()
        if node is None:
            name = written = self.name(cell, role)
        else:
            name, type_, written = node.name, type_ or node.type, cell.strip()
        type_ = self.identifier(type_, f"{role}_type") if type_ else ""
        at = span.find(written, after)
        if at < 0:
            return name, type_, None, after
        return name, type_, (at, at + len(written)), at + len(written)

    def name(self, cell: str, role: str) -> str:
        """A cell as a name. Raises RowError if it is none."""
        name = self._names.get(cell)
        if name is None:
            name = clean_name(cell)
            if not name_key(name):
                raise RowError(f"its {role} is empty")
            if len(name) > MAX_NAME:
                raise RowError(
                    f"its {role} has {len(name):,} characters, a name at most {MAX_NAME:,}; a text is an attribute"
                )
            self._names[cell] = name
        return name

    def identifier(self, cell: str, role: str) -> str:
        """A cell as the name of a type, relation or attribute. Raises RowError if it is none."""
        found = self._identifiers.get(cell)
        if found is None:
            identifier = folded(cell)
            if not identifier:
                shown = f" {cell.strip()[:40]!r} holds no letter or digit" if cell.strip() else " is empty"
                raise RowError(f"its {role}{shown}")
            if len(identifier) > MAX_NAME:
                raise RowError(f"its {role} has {len(identifier):,} characters, at most {MAX_NAME:,} are read")
            found = self._identifiers[cell] = self.own.get(identifier, identifier)
        return found


def folded(cell: str) -> str:
    """The identifier of a cell; empty if it has none."""
    if _PLAIN.fullmatch(cell):
        return cell
    try:
        return fold_identifier(cell)
    except ValueError:
        return ""


def value_of(cell: str) -> str:
    """A cell as the value of an attribute: as it is, without control characters, with the line ends of texts here."""
    if cell.isascii() and cell.isprintable():
        return cell
    return UNPRINTABLE.sub("", cell.replace("\r\n", "\n").replace("\r", "\n"))


def _quoted(cells: Mapping[str, str], span: Span, at: int, length: int) -> tuple[int, int]:
    """The row has a quote of its own, which may stand there as CSV or JSON escapes it, or is the quote."""
    quote = cells.get("quote", "").strip()
    for written in (quote, quote.replace('"', '""'), json.dumps(quote, ensure_ascii=False)[1:-1]) if quote else ():
        if (found := span.find(written)) >= 0:
            return found, min(found + len(written), found + MAX_QUOTE)
    return span.quote(at, length)


def _confidence(cell: str) -> float:
    if not cell.strip():
        return 1.0
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise RowError(f"its confidence {cell.strip()[:40]!r} is no number from 0 to 1")
    return value


def _detail(cells: Mapping[str, str], span: Span) -> str:
    """What else is to be kept with a statement: where the row says it comes from, language and datatype.

    And the quote, where the text of the row holds it only with escapes, so that an export does not escape these again.
    """
    detail = {name: cell for name in ("language", "datatype", "source") if (cell := cells.get(name, "").strip())}
    quote = cells.get("quote", "").strip()
    if quote and span.find(quote) < 0:
        detail["quote"] = quote[:MAX_QUOTE]
    return json.dumps(detail, ensure_ascii=False, sort_keys=True) if detail else "{}"
