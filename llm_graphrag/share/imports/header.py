"""Whether the first row of a table of triples names its columns, told from the rows below it.

What a column is called stands in it once, while relations come again and again, and so do many names. So a first row
whose relation comes again is a triple, and so is one of other than a few words. One that stands alone names the columns
if the relations below repeat and it is written otherwise than what stands there. Often neither can be told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ...text.normalise import clean_name
from .statements import folded

__all__ = ["ROWS", "is_header"]

ROWS = 500  # that are looked at
MANY = 20  # rows that suffice if all relations repeat, however names are written

_WORDS = re.compile(r"[^\W\d_][^\W_]*(?:[ _-][^\W_]+){0,3}")  # what columns are called
_LOWER = re.compile(r"[a-z]+(?:[ _-][a-z0-9]+)*")


def is_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool | None:
    """Whether ``first`` names the columns of ``rows``: head, relation, tail and others; None if it cannot be told.

    >>> films = [["Hamlet", "directed by", "Olivier"], ["Jaws", "directed by", "Spielberg"]]
    >>> is_header(["film", "link", "who"], films), is_header(["Duel", "Directed by", "Spielberg"], films)
    (True, False)
    >>> is_header(["tea", "goes with", "milk"], [["cat", "likes", "fish"]]) is None
    True
    """
    columns = [[clean_name(row[place]) for row in rows if len(row) > 2] for place in (0, 2)]
    relations = Counter(folded(row[1]) for row in rows if len(row) > 2)
    head, tail = clean_name(first[0]), clean_name(first[2])
    if head in columns[0] or tail in columns[1] or folded(first[1]) in relations:
        return False
    if not all(_WORDS.fullmatch(cell.strip()) for cell in first[:3]):
        return False
    repeated = sum(number for number in relations.values() if number > 1)
    if 2 * repeated <= len(columns[0]):
        return None
    differs = all(map(_LOWER.fullmatch, (head, tail))) and not any(_mostly_lower(column) for column in columns)
    every = len(columns[0]) >= MANY and repeated >= 0.95 * len(columns[0])
    return True if differs or every else None


def _mostly_lower(cells: Sequence[str]) -> bool:
    return 5 * sum(_LOWER.fullmatch(cell) is not None for cell in cells) > len(cells)
