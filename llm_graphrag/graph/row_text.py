"""Rows of a query as sentences: facts as arrows, everything else by the names of its columns."""

from __future__ import annotations

from collections.abc import Sequence

from .verbalize import fact_text

__all__ = ["row_text"]

FACT = ("head", "relation", "tail")

Cell = str | int | float | None


def row_text(columns: Sequence[str], row: Sequence[Cell]) -> str:
    """Return what one row says, on one line as far as its cells are.

    >>> row_text(["head", "relation", "tail", "evidence"], ["Ana", "works_at", "Kestrel", 2])
    'Ana —works at→ Kestrel (evidence: 2)'
    >>> row_text(["name"], ["Ana"]), row_text(["name", "notes"], ["Ana", 3])
    ('Ana', 'name: Ana; notes: 3')
    """
    named = dict(zip(columns, row, strict=True))
    if not all(isinstance(named.get(column), str) for column in FACT):
        return _said(list(columns), row) if len(row) != 1 else _cell(row[0])
    fact = fact_text(str(named["head"]), str(named["relation"]), [str(named["tail"])])
    rest = [(column, cell) for column, cell in zip(columns, row, strict=True) if column not in FACT]
    more = _said([column for column, _ in rest], [cell for _, cell in rest])
    return f"{fact} ({more})" if more else fact


def _said(columns: Sequence[str], cells: Sequence[Cell]) -> str:
    return "; ".join(
        f"{column}: {_cell(cell)}" for column, cell in zip(columns, cells, strict=True) if cell is not None
    )


def _cell(cell: Cell) -> str:
    return "nothing" if cell is None else str(cell)
