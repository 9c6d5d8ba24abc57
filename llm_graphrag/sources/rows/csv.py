"""CSV and TSV: every row below the header, whatever separates the cells.

The separator is the one that cuts most rows into as many cells as the header has. Rows
with more or fewer cells are kept and reported by line; a quote that is never closed is
reported too, because it takes the rest of the file into one cell.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from .feed import Record, Remarks, UnreadableError
from .table import unique_names
from .text import read_text

_TOLD = re.compile(r'"?sep=([^\n"])"?[ ,;\t|]*(?:\n|$)', re.IGNORECASE)
SEPARATORS = ",;\t|"
SAMPLE = 50  # rows that are looked at for the separator
MAX_CELL = 50_000_000


def records(path: Path, encoding: str, remarks: Remarks) -> Iterator[Record]:
    """The rows of a file. Raises UnreadableError if it is no text."""
    text = read_text(path, encoding, remarks)
    lines = text.split("\n")
    told = told_separator(text)
    if told:
        lines[0] = ""
    before = csv.field_size_limit(MAX_CELL)
    try:
        yield from _rows(lines, told or ("\t" if path.suffix.lower() == ".tsv" else separator(lines)), remarks)
    except csv.Error as error:
        raise UnreadableError(f"not CSV: {error}") from error
    finally:
        csv.field_size_limit(before)


def told_separator(text: str) -> str:
    """The character that a first line for Excel names; empty if there is none.

    >>> told_separator("sep=;\\nname;age\\n"), told_separator("sep,len\\n")
    (';', '')
    """
    found = _TOLD.match(text)
    return found[1] if found else ""


def separator(lines: Sequence[str]) -> str:
    """The character that separates cells.

    >>> separator(["Name;Firma;Umsatz", "Ada;Kestrel, Ltd;1,5"]), separator(["one column", "a, b"])
    (';', ',')
    """
    return max(SEPARATORS, key=lambda sign: _fits(lines, sign))


def _fits(lines: Sequence[str], sign: str) -> tuple[float, int]:
    """How many of the first rows have as many cells as the header, and how many those are."""
    rows = [row for row in islice(csv.reader(_ended(lines), delimiter=sign), SAMPLE) if row]
    width = len(rows[0]) if rows else 0
    if width < 2:
        return 0, 0
    return sum(len(row) == width for row in rows) / len(rows), width


def _rows(lines: Sequence[str], sign: str, remarks: Remarks) -> Iterator[Record]:
    reader = csv.reader(_ended(lines), delimiter=sign)
    header: list[str] = []
    last = 0
    for number, cells in enumerate(reader, 1):
        line, last = last + 1, reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if not header:
            header = unique_names(cells)
            continue
        if len(cells) != len(header):
            more = "the last ones are kept as numbered columns" if len(cells) > len(header) else "the others are empty"
            remarks.warn(f"{len(cells)} cells where the header has {len(header)}; {more}", line)
        names = unique_names([*header, *[""] * (len(cells) - len(header))])
        if last >= len(lines) - 1 and last > line and sum(part.count('"') for part in lines[line - 1 :]) % 2:
            remarks.warn("a quote opens here and is never closed: all the rest of the file is in one cell", line)
        yield Record(dict(zip(names, cells, strict=False)), {"row": number, "line": line})


def _ended(lines: Sequence[str]) -> Iterator[str]:
    """Lines with their ends, as the reader wants them; no empty line after the last one."""
    last = len(lines) - 1
    for number, line in enumerate(lines):
        if number < last:
            yield line + "\n"
        elif line:
            yield line
