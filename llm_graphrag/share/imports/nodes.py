"""Nodes, as a table or JSON lines: what an id stands for, with its type, its other names, and the rest as attributes.

Two nodes of one name and one type would be one entity, since that is what an entity is known by. Where a table has ids,
it says that they are two: the second is called ``Hamlet (2)``, and the plain name becomes another name of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...facts.claims import ALSO_KNOWN_AS
from ...sources.rows.feed import UnreadableError
from ...store.imported import Statement
from .columns import ColumnError, Columns, node_columns
from .elsewhere import Elsewhere
from .namesakes import kept
from .options import JSONL, TSV
from .reading import Reading, lines
from .statements import Maker, Node, RowError, Span, folded, value_of
from .table import Broken, cut, table_rows
from .triples import json_cells

__all__ = ["read_nodes"]

MORE_TYPES = "also_a"  # the attribute that holds types after the first
LISTED = 20  # warnings of one kind
SHOWN = 40  # letters of a name in a warning


@dataclass(frozen=True, slots=True)
class _Record:
    """A row of the table."""

    id: str
    name: str
    types: tuple[str, ...]
    aliases: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    span: Span
    line: int


def read_nodes(
    reading: Reading, delimiter: str, format: str, maker: Maker, elsewhere: Elsewhere | None
) -> tuple[dict[str, Node], dict[str, str]]:
    """Read ``reading.text``; returns what ids stand for, and the names that were made to tell nodes apart, by id.

    ``maker.nodes`` are those of other tables. Without ``elsewhere`` nodes of one name are one thing. Raises
    UnreadableError if it is no table of nodes.
    """
    records: dict[int, _Record] = {}
    rows = _of_lines(reading) if format == JSONL else _of_table(reading, delimiter, format == TSV)
    for place, record in enumerate(_records(reading, rows, maker)):
        if record is not None:
            records[place] = record
    nodes: dict[str, Node] = {}
    for record in records.values():
        nodes.setdefault(record.id, Node(record.name, record.types[0] if record.types else ""))
    _say_doubles(reading, records.values())
    named = _told_apart(nodes, maker.nodes, _kind_of_ids(records), elsewhere) if elsewhere else {}
    shown = nodes | {id_: replace(nodes[id_], name=name) for id_, name in named.items()}
    for place, record in records.items():
        reading.statements[place] = list(_stated(record, shown[record.id], maker))
        reading.used += 1
    return shown, named


def _kind_of_ids(records: Mapping[int, _Record]) -> str:
    """The attribute that says the ids: ``id`` or ``iri``; empty if names are all there is."""
    return next((record.attributes[0][0] for record in records.values() if record.id != record.name), "")


def _told_apart(
    nodes: Mapping[str, Node], tables: Mapping[str, Node], kind: str, elsewhere: Elsewhere
) -> dict[str, str]:
    """New names for nodes that are called as others are."""
    others = [node for id_, node in tables.items() if id_ not in nodes]
    stay = kept(nodes, elsewhere.before(kind, nodes.keys()) if kind else {}, others)
    others += [replace(nodes[id_], name=name) for id_, name in stay.items()]
    free = {id_: node for id_, node in nodes.items() if id_ not in stay}
    named = {id_: name for id_, name in stay.items() if name != nodes[id_].name}
    return named | elsewhere.told_apart(free, others, (), nodes.keys())


def _say_doubles(reading: Reading, records: Iterable[_Record]) -> None:
    """Warn of ids that rows of different names have: they are one thing, and the first name is its name."""
    first: dict[str, _Record] = {}
    said = 0
    for record in records:
        one = first.setdefault(record.id, record)
        if one.name != record.name:
            said += 1
            if said <= LISTED:
                reading.warn(
                    f"the id {record.id[:SHOWN]!r} is that of {one.name[:SHOWN]!r} in line {one.line} and of"
                    f" {record.name[:SHOWN]!r} in line {record.line}; read as one, {one.name[:SHOWN]!r}",
                    record.line,
                )
    if said > LISTED:
        reading.warn(f"{said - LISTED:,} more rows have the id of another name, and are read as one with it")


@dataclass(frozen=True, slots=True)
class _Row:
    """Cells of a row by the names of their columns, as these are written."""

    columns: Columns
    written: Sequence[str]
    cells: Sequence[str]
    span: Span
    line: int


def _of_table(reading: Reading, delimiter: str, is_tsv: bool) -> Iterator[_Row | None]:
    """The rows of a table; None for its header, which is added to the reading, and for what cannot be used."""
    text, columns, written = reading.text, None, [""]
    for row in table_rows(text, cut(text, delimiter, is_tsv)):
        if isinstance(row, Broken):
            reading.skip(row.start, row.end, row.line, row.reason)
            yield None
        elif columns is None:
            try:
                columns = node_columns(row.cells)
            except ColumnError as error:
                raise UnreadableError(str(error)) from error
            written = [cell.strip() for cell in row.cells]
            reading.add(row.start, row.end, ())
            yield None
        else:
            yield _Row(columns, written, row.cells, Span(text, row.start, row.end), row.line)


def _of_lines(reading: Reading) -> Iterator[_Row | None]:
    """The objects of JSON lines, likewise."""
    text = reading.text
    for start, end, line in lines(text):
        try:
            cells, _ = json_cells(text[start:end])
            columns = node_columns(list(cells))
        except (RowError, ColumnError) as error:
            reading.skip(start, end, line, str(error))
            yield None
        else:
            yield _Row(columns, [*cells], [*cells.values()], Span(text, start, end), line)


def _records(reading: Reading, rows: Iterable[_Row | None], maker: Maker) -> Iterator[_Record | None]:
    """A record for every row, which is added to the reading without statements; None for one that cannot be used."""
    nameless: dict[str, None] = {}  # columns whose names hold no letter or digit
    for row in rows:
        if row is None:
            yield None
            continue
        roles, span = row.columns.roles, row.span
        others = []
        for at, (name, cell) in enumerate(zip(row.written, row.cells, strict=False)):
            value = value_of(cell)
            if not name.strip() or at in roles.values() or not value.strip():
                continue
            if folded(name):
                others.append((name, value))
            else:
                nameless[name] = None
        try:
            cells = {role: row.cells[at].strip() for role, at in roles.items() if at < len(row.cells)}
            record = _record(cells, others, row.written[roles["id"]] if "id" in roles else "", span, row.line, maker)
        except RowError as error:
            reading.skip(span.start, span.end, row.line, str(error))
            yield None
        else:
            reading.add(span.start, span.end, ())
            yield record
    if nameless:
        shown = ", ".join(repr(name[:SHOWN]) for name in [*nameless][:LISTED])
        reading.warn(f"columns that are not read, since no attribute can be called so: {shown}")


def _record(
    cells: Mapping[str, str], others: Sequence[tuple[str, str]], id_name: str, span: Span, line: int, maker: Maker
) -> _Record:
    name = maker.name(cells.get("name", "") or cells.get("id", ""), "name")
    id_ = cells.get("id", "") or name
    types = tuple(maker.identifier(part, "type") for part in _parts(cells.get("type", "")))
    aliases = tuple(maker.name(part, "alias") for part in _parts(cells.get("aliases", "")))
    attributes = [(maker.identifier(column, "column"), value) for column, value in others]
    if id_ != name:
        plain = id_name.replace(":", " ").strip() or "id"
        attributes.insert(0, ("iri" if plain.lower() in ("iri", "uri") else "id", id_))
    return _Record(id_, name, types, aliases, tuple(attributes), span, line)


def _parts(cell: str) -> list[str]:
    """The items of a cell that may hold several: a JSON list, or parts between semicolons or bars.

    >>> _parts("Person;Artist"), _parts('["a;b", "c"]'), _parts("")
    (['Person', 'Artist'], ['a;b', 'c'], [])
    """
    if cell.startswith("["):
        try:
            items = json.loads(cell)
        except ValueError:
            items = None
        if isinstance(items, list):
            return [str(item) for item in items if str(item).strip()]
    return [part.strip() for part in cell.replace("|", ";").split(";") if part.strip()]


def _stated(record: _Record, node: Node, maker: Maker) -> Iterator[Statement]:
    span = record.span
    at = span.find(record.name)
    named = None if at < 0 else (at, at + len(record.name))
    yield from maker.entity(node.name, node.type, span, named)
    plain = () if node.name == record.name else (record.name,)
    for alias in (*plain, *record.aliases):
        start, end = span.quote(span.find(alias), len(alias))
        yield Statement("alias", node.name, node.type, ALSO_KNOWN_AS, alias, "", start, end)
    more = [(MORE_TYPES, type_) for type_ in record.types if type_ != node.type]
    for attribute, value in (*record.attributes, *more):
        start, end = span.quote(span.find(value), len(value))
        yield Statement("attribute", node.name, node.type, attribute, value, "", start, end)
