"""How the file of a graph writes what is told apart here by a number: ``Suburbia (2)`` may be its ``SubUrbia``.

The number stays the name, since without it two things have one. What prints names for programs gives the other beside
it, as ``written``, and only there: a name that its file has as it is says nothing more.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["spare", "written"]

_NUMBERED = re.compile(r"(.+) \(\d+\)", re.DOTALL)

ALIASES = """
    SELECT a.entity, a.name FROM json_each(:entities) f
    CROSS JOIN kg_entities e ON e.id = f.value AND e.origin = 'import'
    CROSS JOIN kg_aliases a ON a.entity = e.id AND a.kind = 'alias' AND a.origin = 'import'
    WHERE EXISTS (
      SELECT 1 FROM kg_evidence v
      WHERE v.head_entity = e.id AND v.kind = 'alias' AND v.tail = a.name AND v.origin = 'import'
        AND instr(v.quote, e.name) = 0)
"""


def written(connection: sqlite3.Connection, names: Mapping[int, str]) -> dict[int, str]:
    """Return entity -> how its file writes it, for those of ``names`` (entity -> name) that got a number here.

    One whose number stands in the row that gives the other name was called so by its file.
    """
    plain = {entity: match[1] for entity, name in names.items() if (match := _NUMBERED.fullmatch(name))}
    if not plain:
        return {}
    rows = connection.execute(ALIASES, {"entities": json.dumps(list(plain))})
    return {entity: alias for entity, alias in rows if alias == plain[entity]}


def spare(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """For ``dataclasses.asdict``: the fields, without a ``written`` that is empty.

    >>> spare([("name", "Suburbia"), ("written", "")]), spare([("written", "SubUrbia")])
    ({'name': 'Suburbia'}, {'written': 'SubUrbia'})
    """
    return {name: value for name, value in fields if value or name != "written"}
