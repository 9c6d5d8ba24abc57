"""Tables of nodes: what an id stands for, with its type, its other names, and further columns as attributes.

Two nodes of one name and one type would be one entity, since that is what an entity is known by. Where a table has ids,
it says that they are two: the second is called ``Hamlet (2)``, and the plain name becomes another name of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...facts.claims import ALSO_KNOWN_AS
from ...sources.rows.feed import UnreadableError
from ...store.imported import Statement
from .columns import ColumnError, node_columns
from .elsewhere import Elsewhere
from .namesakes import kept
from .reading import Reading
from .statements import Maker, Node, RowError, Span, value_of
from .table import Broken, cut, table_rows

__all__ = ["read_nodes"]

MORE_TYPES = "also_a"  # the attribute that holds types after the first


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
    reading: Reading, delimiter: str, is_tsv: bool, maker: Maker, elsewhere: Elsewhere | None
) -> tuple[dict[str, Node], dict[str, str]]:
    """Read ``reading.text``; returns what ids stand for, and the names that were made to tell nodes apart, by id.

    ``maker.nodes`` are those of other tables. Without ``elsewhere`` nodes of one name are one thing. Raises
    UnreadableError if it is no table of nodes.
    """
    records: dict[int, _Record] = {}
    for place, record in enumerate(_records(reading, delimiter, is_tsv, maker)):
        if record is not None:
            records[place] = record
    nodes: dict[str, Node] = {}
    for record in records.values():
        nodes.setdefault(record.id, Node(record.name, record.types[0] if record.types else ""))
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


def _records(reading: Reading, delimiter: str, is_tsv: bool, maker: Maker) -> Iterator[_Record | None]:
    """A record for every row, which is added to the reading without statements; None for one that cannot be used."""
    text, columns = reading.text, None
    for row in table_rows(text, cut(text, delimiter, is_tsv)):
        if isinstance(row, Broken):
            reading.skip(row.start, row.end, row.line, row.reason)
            yield None
            continue
        if columns is None:
            try:
                columns = node_columns(row.cells)
            except ColumnError as error:
                raise UnreadableError(str(error)) from error
            written = [cell.strip() for cell in row.cells]
            reading.add(row.start, row.end, ())
            yield None
            continue
        try:
            cells = {role: row.cells[at].strip() for role, at in columns.roles.items() if at < len(row.cells)}
            others = {
                written[at]: value for name, at in columns.others.items()
                if at < len(row.cells) and (value := value_of(row.cells[at])).strip()
            }  # fmt: skip
            id_name = written[columns.roles["id"]] if "id" in columns.roles else ""
            record = _record(cells, others, id_name, Span(text, row.start, row.end), row.line, maker)
        except RowError as error:
            reading.skip(row.start, row.end, row.line, str(error))
            yield None
        else:
            reading.add(row.start, row.end, ())
            yield record


def _record(
    cells: Mapping[str, str], others: Mapping[str, str], id_name: str, span: Span, line: int, maker: Maker
) -> _Record:
    name = maker.name(cells.get("name", "") or cells.get("id", ""), "name")
    id_ = cells.get("id", "") or name
    types = tuple(maker.identifier(part, "type") for part in _parts(cells.get("type", "")))
    aliases = tuple(maker.name(part, "alias") for part in _parts(cells.get("aliases", "")))
    attributes = [(maker.identifier(column, "column"), value) for column, value in others.items()]
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
