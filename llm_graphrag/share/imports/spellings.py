"""Names of one file that have one key, such as ``Suburbia`` and ``SubUrbia``, are two things, not one.

In notes, names that differ in case, dashes or marks at their ends are one name. In the file of a graph names are what
tells things apart. The spelling of most statements keeps its name; every other one is numbered, ``Suburbia (2)``, with
the spelling as an alias, so that it is found by it. They may still be one thing that was written carelessly: merges
suggest it, and ``--join-spellings`` has them read as one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ...facts.claims import ALSO_KNOWN_AS
from ...store.imported import Statement
from ...text.normalise import name_key
from .namesakes import numbered

__all__ = ["told_apart"]

Rows = Sequence[Sequence[Statement]]


def told_apart(rows: Rows, own: Collection[str] = ()) -> tuple[Rows, dict[str, str]]:
    """Return what rows state, with spellings told apart, and spelling -> the name that was made of it.

    ``own`` are names of nodes, which keep them.

    >>> statement = Statement("triple", "SubUrbia", "", "tag", "robots", "", 0, 20)
    >>> other = replace(statement, head="Suburbia")
    >>> rows, named = told_apart([[statement], [statement], [other]])
    >>> named, [s.head for s in rows[2]], rows[2][1].kind, rows[2][1].tail
    ({'Suburbia': 'Suburbia (2)'}, ['Suburbia (2)', 'Suburbia (2)'], 'alias', 'Suburbia')
    """
    named = _named(rows, frozenset(own))
    if not named:
        return rows, {}
    told: set[str] = set()
    return [_row(row, named, told) if _says(row, named) else row for row in rows], named


def _named(rows: Rows, own: frozenset[str]) -> dict[str, str]:
    types: dict[str, set[str]] = defaultdict(set)
    counted: Counter[str] = Counter()
    for row in rows:
        for name, type_ in (end for statement in row for end in _ends(statement)):
            types[name].add(type_)
            counted[name] += 1
    spellings: dict[str, list[str]] = defaultdict(list)
    for name in types:
        spellings[name_key(name)].append(name)
    taken = spellings.keys() | set(map(name_key, own))
    named = {}
    for key, names in spellings.items():
        if len(names) == 1 or not key or _typed_apart([types[name] for name in names]):
            continue
        number = 2
        free = sorted((name for name in names if name not in own), key=lambda name: (-counted[name], name))
        for name in free if len(free) < len(names) else free[1:]:
            named[name], number = numbered(name, number, taken)
    return named


def _typed_apart(types: Sequence[set[str]]) -> bool:
    """Whether types tell them apart already: all are typed, and no two alike."""
    every = [type_ for of in types for type_ in of]
    return "" not in every and len(every) == len(set(every))


def _ends(statement: Statement) -> Iterable[tuple[str, str]]:
    yield statement.head, statement.head_type
    if statement.kind == "triple":
        yield statement.tail, statement.tail_type


def _says(row: Sequence[Statement], named: dict[str, str]) -> bool:
    return any(name in named for statement in row for name, _ in _ends(statement))


def _row(row: Sequence[Statement], named: dict[str, str], told: set[str]) -> list[Statement]:
    """What a row states of the names made; the first row of a spelling says that it is one of the name."""
    found: list[Statement] = []
    for statement in row:
        head = named.get(statement.head, statement.head)
        tail = named.get(statement.tail, statement.tail) if statement.kind == "triple" else statement.tail
        found.append(replace(statement, head=head, tail=tail))
        for name, type_ in _ends(statement):
            if name in named and name not in told:
                told.add(name)
                place = statement.start, statement.end
                found.append(Statement("alias", named[name], type_, ALSO_KNOWN_AS, name, "", *place))
    return found
