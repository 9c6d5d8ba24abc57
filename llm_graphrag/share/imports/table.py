"""Tables: CSV with whatever separates its cells, and TSV.

Two readers, because the two differ in what a quotation mark is. In TSV a line is a row and a quotation mark is a
character, except where a whole cell stands in quotation marks as spreadsheets write it. In CSV a cell in quotation
marks may hold separators and line ends; one that is never closed would take the rest of the file with it, so that row
is given up and reading goes on in its second line.
"""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from ...sources.rows.csv import separator, told_separator

__all__ = ["MAX_CELL", "Broken", "Row", "cut", "table_rows"]

MAX_CELL = 4_000_000
SAMPLE = 100_000  # characters in which the separator is looked for; a cell of csv is at most a bit longer


@dataclass(frozen=True, slots=True)
class Row:
    """A row with its cells; ``line`` counts from 1."""

    cells: list[str]
    start: int
    end: int  # without the end of the line
    line: int


@dataclass(frozen=True, slots=True)
class Broken:
    """A line of which nothing can be made."""

    reason: str
    start: int
    end: int
    line: int


def cut(text: str, delimiter: str, is_tsv: bool) -> str:
    """The separator of a table: the one that was named, the tab of a TSV file, or the one that fits best."""
    if delimiter:
        return delimiter
    if told := told_separator(text):
        return told
    head = text[:SAMPLE]
    return "\t" if is_tsv and "\t" in head else separator(head.split("\n"))


def table_rows(text: str, delimiter: str) -> Iterator[Row | Broken]:
    """All rows that are not empty, without a first line in which Excel names the separator."""
    told = bool(told_separator(text))
    rows: Iterator[Row | Broken] = _tab_rows(text) if delimiter == "\t" else _quoted_rows(text, delimiter)
    return (row for row in rows if not (told and row.line == 1))


def _tab_rows(text: str) -> Iterator[Row]:
    start = 0
    for line, written in enumerate(text.split("\n"), 1):
        end = start + len(written)
        if written and not written.isspace():
            cells = written.split("\t")
            if '"' in written:
                cells = [_unquoted(cell) for cell in cells]
            yield Row(cells, start, end, line)
        start = end + 1


def _unquoted(cell: str) -> str:
    """A cell without the quotation marks that a spreadsheet has put around it.

    >>> _unquoted('"a ""b"" c"'), _unquoted('"Crocodile" Dundee'), _unquoted('"'), _unquoted('"a" and "b"')
    ('a "b" c', '"Crocodile" Dundee', '"', '"a" and "b"')
    """
    if len(cell) < 2 or not (cell[0] == cell[-1] == '"'):
        return cell
    inner = cell[1:-1]
    return inner.replace('""', '"') if '"' not in inner.replace('""', "") else cell


def _quoted_rows(text: str, delimiter: str) -> Iterator[Row | Broken]:
    lines = _Lines(text)
    before = csv.field_size_limit(MAX_CELL)
    try:
        while lines.begin < len(text):
            broken = yield from _until_broken(lines, delimiter)
            if broken is None:
                return
            yield broken
    finally:
        csv.field_size_limit(before)


class _Lines:
    """The lines of a text for the csv module, from ``begin`` on; ``place`` is where the next one begins."""

    def __init__(self, text: str) -> None:
        self.text, self.begin, self.place, self.line = text, 0, 0, 0

    def __iter__(self) -> Iterator[str]:
        text, size = self.text, len(self.text)
        while self.place < size:
            end = text.find("\n", self.place) + 1 or size
            written = text[self.place : end]
            self.place = end
            self.line += 1
            yield written

    def back(self, place: int, line: int) -> None:
        """Go on at another line."""
        self.begin = self.place = place
        self.line = line


def _until_broken(lines: _Lines, delimiter: str) -> Generator[Row, None, Broken | None]:
    """Rows up to one that takes the rest of the file, which is returned as the value of the generator."""
    text = lines.text
    reader = csv.reader(iter(lines), delimiter=delimiter)
    while True:
        start, line = lines.place, lines.line + 1
        try:
            cells = next(reader)
        except StopIteration:
            return None
        except csv.Error as error:
            return _give_up(lines, start, line, str(error))
        end = lines.place - text.endswith("\n", start, lines.place)
        if lines.place >= len(text) and lines.line > line and text.count('"', start, end) % 2:
            return _give_up(lines, start, line, "a quotation mark opens here and is never closed")
        if any(cell and not cell.isspace() for cell in cells):
            yield Row(cells, start, end, line)


def _give_up(lines: _Lines, start: int, line: int, reason: str) -> Broken:
    end = lines.text.find("\n", start)
    end = len(lines.text) if end < 0 else end
    lines.back(min(end + 1, len(lines.text)), line)
    return Broken(reason, start, end, line)
