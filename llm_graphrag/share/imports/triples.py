"""Tables and JSON lines of triples, read into statements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...store.imported import Statement
from ...text.counted import counted
from ..facts_table import HEADER, unescaped
from .columns import ColumnError, Columns, key_columns, triple_columns
from .header import ROWS
from .options import ImportOptions
from .reading import Reading, UnreadableError, lines
from .statements import HALVES, SURROGATE, Maker, RowError, Span
from .table import Broken, Row, cut, table_rows

__all__ = ["json_cells", "read_lines", "read_table"]

WIDER = "more cells than the header has: is a separator inside a cell that is not in quotation marks?"


def read_table(reading: Reading, options: ImportOptions, is_tsv: bool, maker: Maker) -> None:
    """Read ``reading.text`` as a table. Raises UnreadableError if its columns do not say what is what."""
    text = reading.text
    columns: Columns | None = None
    width, ours = 0, False
    plain: tuple[int, ...] = ()  # the places of head, relation and tail, if there is no more to it
    delimiter = cut(text, options.delimiter, is_tsv)
    for row in table_rows(text, delimiter):
        if isinstance(row, Broken):
            reading.skip(row.start, row.end, row.line, row.reason)
            continue
        if columns is None:
            _refuse_json(text[row.start : row.end])
            below = islice(table_rows(text, delimiter), 1, ROWS + 1)
            sample = [other.cells for other in below if isinstance(other, Row) and other.start > row.start]
            columns = _columns(reading, row, options, sample)
            width = len(row.cells)
            only = columns.roles.keys() == {"head", "relation", "tail"} and not maker.nodes and not maker.attributes
            plain = tuple(columns.roles[role] for role in ("head", "relation", "tail")) if only else ()
            ours = tuple(row.cells) == HEADER
            if columns.has_header:
                reading.add(row.start, row.end, ())
                continue
        try:
            if len(row.cells) > width and any(cell.strip() for cell in row.cells[width:]):
                raise RowError(WIDER)
            if plain and len(row.cells) >= width:
                head, relation, tail = (row.cells[at] for at in plain)
                reading.add(row.start, row.end, (maker.triple(head, relation, tail, Span(text, row.start, row.end)),))
                continue
            cells = {role: row.cells[at] for role, at in columns.roles.items() if at < len(row.cells)}
            if ours:
                cells = {role: unescaped(cell) for role, cell in cells.items()}
            stated = list(maker.statements(cells, Span(text, row.start, row.end)))
        except RowError as error:
            reading.skip(row.start, row.end, row.line, str(error))
        else:
            reading.add(row.start, row.end, stated)


def _refuse_json(written: str) -> None:
    """Raise UnreadableError for JSON lines that are read as a table."""
    if written.lstrip()[:1] not in ("{", "["):
        return
    try:
        json.loads(written)
    except (ValueError, RecursionError):
        return  # a table after all
    raise UnreadableError("its first row is JSON, so it is no table; read it with --format jsonl")


def _columns(reading: Reading, row: Row, options: ImportOptions, below: Sequence[Sequence[str]]) -> Columns:
    try:
        columns = triple_columns(row.cells, options.columns, options.header, below)
    except ColumnError as error:
        raise UnreadableError(str(error)) from error
    if columns.said:
        reading.warn(columns.said, row.line)
    if columns.others:
        reading.warn(f"columns that are not read: {', '.join(columns.others)}", row.line)
    return columns


def read_lines(reading: Reading, options: ImportOptions, maker: Maker) -> None:
    """Read ``reading.text`` as JSON lines: an object a line, or a list of head, relation, tail."""
    text, halves = reading.text, 0
    for start, end, line in lines(text):
        try:
            cells, number = json_cells(text[start:end])
            halves += number
            stated = list(_of_cells(cells, options, maker, Span(text, start, end)))
        except RowError as error:
            reading.skip(start, end, line, str(error))
        else:
            reading.add(start, end, stated)
    if halves:
        reading.warn(HALVES.format(counted(halves, "half character")))


def json_cells(written: str) -> tuple[dict[str, str], int]:
    """The cells of an object, or of a list of three; and how many lone surrogates, which JSON can write, were replaced.

    Raises RowError.
    """
    try:
        value = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise RowError(f"it is no JSON: {str(error)[:100]}") from error
    if isinstance(value, list) and len(value) == 3:
        value = dict(zip(("head", "relation", "tail"), value, strict=True))
    if not isinstance(value, dict):
        raise RowError("it is neither a JSON object nor a list of head, relation and tail")
    replaced = [(name, *SURROGATE.subn("\ufffd", _cell(item))) for name, item in value.items() if item is not None]
    return {name: cell for name, cell, _ in replaced}, sum(number for _, _, number in replaced)


def _of_cells(cells: Mapping[str, str], options: ImportOptions, maker: Maker, span: Span) -> Iterator[Statement]:
    names = list(cells)
    try:
        columns = key_columns(names, options.columns)
    except ColumnError as error:
        raise RowError(str(error)) from error
    yield from maker.statements({role: cells[names[at]] for role, at in columns.roles.items()}, span)


def _cell(value: Any) -> str:
    """A JSON value as a cell."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
