"""Metapaths as they are written: steps over relations, such as ``^directed_by/starred_actors|written_by``.

Steps are separated by ``/``. Each is a relation, from head to tail; ``^relation``, the other way; ``*``, any relation
either way; or a choice of these, ``a|b``. A name that holds one of ``/ | ^ * "`` stands in double quotes, with ``\\``
before a quote or a backslash in it. A relation is found as it is written in the file, else with case, spaces, dashes
and underscores taken as equal.
"""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..text.normalise import fold_identifier
from ..text.shortened import listed, shortened

__all__ = ["Metapath", "Relation", "known", "known_relations", "parse", "resolved", "written"]

MAX_STEPS = 12
SPECIAL = frozenset('/|^*"\\')

# The relations of the file, one index look-up each.
RELATIONS = """
    WITH RECURSIVE r(name) AS (
      SELECT min(relation) FROM kg_triples
      UNION ALL
      SELECT (SELECT min(t.relation) FROM kg_triples t WHERE t.relation > r.name) FROM r WHERE r.name IS NOT NULL)
    SELECT name FROM r WHERE name IS NOT NULL
    UNION SELECT name FROM kg_types WHERE kind = 'relation' AND retired_in IS NULL
"""


@dataclass(frozen=True, slots=True)
class Relation:
    """One way to take a step: over a relation, from head to tail or back; ``name`` None: over any, either way."""

    name: str | None
    forward: bool = True


Metapath = tuple[tuple[Relation, ...], ...]
"""The steps, each a choice of relations."""


def parse(metapath: str | Sequence[str]) -> Metapath:
    """Return the steps of a metapath: of a text, or of a list with one step an item, in which ``/`` is a letter.

    Raises ValueError, saying where, for what cannot be read, TypeError for what is no text.

    >>> parse("^directed by/ starred_actors|written_by /*")
    ((Relation(name='directed by', forward=False),), (Relation(name='starred_actors', forward=True), \
Relation(name='written_by', forward=True)), (Relation(name=None, forward=True),))
    """
    if isinstance(metapath, str):
        steps = list(_split(metapath, "/")) if metapath.strip() else []
    elif all(isinstance(step, str) for step in metapath):
        steps = list(metapath)
    else:
        raise TypeError(f"A metapath is a text or a list of texts, not {shortened(repr(metapath))}.")
    if not steps:
        raise ValueError("The metapath is empty. Give steps such as: directed_by/^starred_actors")
    if len(steps) > MAX_STEPS:
        raise ValueError(f"The metapath has {len(steps)} steps; {MAX_STEPS} are the most.")
    return tuple(tuple(_relation(part, step) for part in _split(step, "|")) for step in steps)


def written(metapath: Metapath) -> str:
    """A metapath as ``parse`` reads it."""

    def one(relation: Relation) -> str:
        name = "*" if relation.name is None else relation.name
        if relation.name is not None and (set(name) & SPECIAL or name != name.strip()):
            name = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return name if relation.forward else f"^{name}"

    return "/".join("|".join(map(one, step)) for step in metapath)


def _split(text: str, at: str) -> Iterator[str]:
    """The pieces of a text between separators that do not stand in quotes."""
    piece, quoted, escaped = "", False, False
    for letter in text:
        if letter == at and not quoted:
            yield piece
            piece = ""
            continue
        if letter == '"' and not escaped:
            quoted = not quoted
        escaped = quoted and letter == "\\" and not escaped
        piece += letter
    if quoted:
        raise ValueError(f"A quotation mark in the metapath {shortened(text)!r} is not closed.")
    yield piece


def _relation(part: str, step: str) -> Relation:
    name, forward = part.strip(), True
    if name.startswith("^"):
        name, forward = name[1:].strip(), False
    if name == "*":
        if not forward:
            raise ValueError("^* says nothing: * goes both ways already.")
        return Relation(None)
    if name.startswith('"') and name.endswith('"') and len(name) > 1:
        name = name[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    elif set(name) & SPECIAL - {"/", "\\"}:
        raise ValueError(f"{shortened(name)!r} in the metapath holds a special letter: write it in double quotes.")
    if not name.strip():
        raise ValueError(f"A step of the metapath is empty: {shortened(step)!r}. Give a relation, ^relation or *.")
    return Relation(name, forward)


def known_relations(connection: sqlite3.Connection) -> list[str]:
    """The relations of the triples in the file and those of its schema, by name."""
    return sorted(row[0] for row in connection.execute(RELATIONS))


def resolved(connection: sqlite3.Connection, metapath: Metapath) -> Metapath:
    """The metapath with relations as the file writes them.

    Raises ValueError with the nearest names for one that it has not.
    """
    names = list(dict.fromkeys(r.name for step in metapath for r in step if r.name is not None))
    as_known = dict(zip(names, known(connection, names), strict=True))

    def resolve(relation: Relation) -> Relation:
        return relation if relation.name is None else Relation(as_known[relation.name], relation.forward)

    return tuple(tuple(dict.fromkeys(map(resolve, step))) for step in metapath)


def known(connection: sqlite3.Connection, names: Sequence[str]) -> list[str]:
    """The names of relations as the file writes them. Raises ValueError with the nearest names for one it has not."""
    there = known_relations(connection)
    exact = set(there)
    folded: dict[str, str] = {}
    for name in there:
        folded.setdefault(_folded(name), name)
    for name in names:
        if name not in exact and (_folded(name) not in folded or name.startswith("^")):
            raise ValueError(_unknown(name, there, folded))
    return [name if name in exact else folded[_folded(name)] for name in names]


def _unknown(name: str, there: Sequence[str], folded: Mapping[str, str]) -> str:
    """What is said of a relation that is not there."""
    said = f"There is no relation {shortened(name)!r} in this file."
    if name.startswith("^") and _folded(name) in folded:
        return f"{said} Leave out the ^: {shortened(folded[_folded(name)])} is there."
    near = [folded[key] for key in difflib.get_close_matches(_folded(name), folded, n=3, cutoff=0.5)]
    if near:
        return f"{said} Did you mean {' or '.join(map(shortened, near))}?"
    return f"{said} It has: {listed(there)}." if there else said


def _folded(name: str) -> str:
    try:
        return fold_identifier(name)
    except ValueError:
        return name
