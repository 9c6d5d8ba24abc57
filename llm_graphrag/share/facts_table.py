"""The table of an exported graph: its columns, and cells that no spreadsheet takes for formulas."""

from __future__ import annotations

import re

__all__ = ["HEADER", "escaped", "unescaped"]

HEADER = (
    "kind", "head", "head_type", "relation", "tail", "tail_type", "language", "datatype", "evidence", "confidence",
    "quote", "source",
)  # fmt: skip

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")


def escaped(cell: str) -> str:
    """A cell with an apostrophe in front if a spreadsheet would take it for a formula; numbers are left alone.

    >>> [escaped(cell) for cell in ("=1+1", "-5", "'=x", "Ada", "-x")]
    ["'=1+1", '-5', "''=x", 'Ada', "'-x"]
    """
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def unescaped(cell: str) -> str:
    """What ``escaped`` was given.

    >>> [unescaped(escaped(cell)) for cell in ("=1", "''=x", "'tis", "-5")]
    ['=1', "''=x", "'tis", '-5']
    """
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell[1:]) else cell
