"""Which column of a table is what: by what a person said, else by its name, else by its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["ColumnError", "Columns", "Named", "node_columns", "triple_columns"]

#: Role → the names of columns that mean it, the surest first. Colons are those of neo4j-admin's headers.
TRIPLES = {
    "head": ("head", "subject", "subj", "start_id", "source", "from", "src", "start", "s"),
    "tail": ("tail", "object", "obj", "end_id", "target", "to", "dst", "end", "o"),
    "relation": ("relation", "predicate", "relationship", "property", "edge", "rel", "pred", "type", "label", "p"),
    "kind": ("kind",),
    "head_type": ("head_type", "subject_type", "source_type", "from_type"),
    "tail_type": ("tail_type", "object_type", "target_type", "to_type"),
    "value": ("value", "literal"),
    "confidence": ("confidence", "score"),
    "quote": ("quote", "sentence"),
    "source": ("source", "uri", "document", "provenance"),
    "language": ("language", "lang"),
    "datatype": ("datatype",),
    "evidence": ("evidence",),  # counted, not read
}

NODES = {
    "id": ("id", "node_id", "key", "iri", "uri"),
    "name": ("name", "label", "title"),
    "type": ("type", "types", "labels", "kind", "category", "class"),
    "aliases": ("aliases", "alias", "synonyms", "also_known_as", "altlabel"),
}

_TYPED = re.compile(r"(.*):(?:string|int|long|float|double|boolean|date|datetime)(?:\[\])?", re.IGNORECASE)


class ColumnError(ValueError):
    """The columns do not say what is what; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a person said of the columns: names, or numbers from 1."""

    head: str = ""
    relation: str = ""
    tail: str = ""

    @property
    def any(self) -> bool:
        return bool(self.head or self.relation or self.tail)


@dataclass(frozen=True, slots=True)
class Columns:
    """Places of columns by role, those of no role by name; ``has_header`` if the first row names them."""

    roles: Mapping[str, int]
    others: Mapping[str, int]
    has_header: bool


def triple_columns(first: Sequence[str], named: Named, header: bool | None) -> Columns:
    """The columns of a table of triples, told from its first row. Raises ColumnError.

    >>> triple_columns(["Subject", "Predicate", "Object", "Score"], Named(), None).roles["confidence"]
    3
    >>> triple_columns(["Ada", "knows", "Ben"], Named(), None).has_header
    False
    """
    width = len(first)
    names = _names(first)
    found = {} if header is False else _by_name(names, TRIPLES)
    is_header = header is True or (header is None and {"head", "tail"} <= found.keys())
    if named.any and header is None:
        said = [name for name in (named.head, named.relation, named.tail) if name and not name.isdigit()]
        is_header = is_header or bool(said)
    roles = found if is_header else {}
    for role in ("head", "relation", "tail"):
        wanted = getattr(named, role)
        if wanted:
            at = _place(wanted, first, is_header)
            roles = {other: place for other, place in roles.items() if place != at} | {role: at}
    if not is_header and not named.any:
        if width < 3:
            raise ColumnError(f"its rows have {width} columns; a triple needs three: head, relation, tail")
        roles = {"head": 0, "relation": 1, "tail": 2}
    missing = [role for role in ("head", "relation", "tail") if role not in roles]
    if missing == ["tail"] and "value" in roles:
        missing = []
    if missing and not {"head", "kind"} <= roles.keys():
        shown = ", ".join(name[:30] for name in first[:20])
        raise ColumnError(
            f"which column is the {missing[0]}? Name it: --{missing[0]} COLUMN. "
            + (f"The columns are: {shown}" if is_header else "Without a header columns have numbers, from 1 on")
        )
    taken = set(roles.values())
    others = {name: place for place, name in enumerate(names) if place not in taken and name} if is_header else {}
    return Columns(roles, others, is_header)


def node_columns(first: Sequence[str]) -> Columns:
    """The columns of a table of nodes, which has a header. Raises ColumnError."""
    names = _names(first)
    roles = _by_name(names, NODES)
    if not {"id", "name"} & roles.keys():
        shown = ", ".join(name[:30] for name in first[:20])
        raise ColumnError(f"a table of nodes needs a header with a column id or name. Its first row is: {shown}")
    taken = set(roles.values())
    return Columns(roles, {name: place for place, name in enumerate(names) if place not in taken and name}, True)


def _names(first: Iterable[str]) -> list[str]:
    """Names of columns as they are compared, without the types that neo4j-admin's headers have."""
    found = []
    for cell in first:
        name = cell.strip()
        typed = _TYPED.fullmatch(name)
        name = typed[1] if typed else name
        plain = name.split("(")[0]  # :START_ID(Person)
        if plain.startswith(":") or re.fullmatch(r"\w+:ID", plain):
            name = "labels" if plain.upper() == ":LABEL" else plain.rsplit(":", 1)[-1]
        found.append(re.sub(r"[\s-]+", "_", name.strip()).lower())
    return found


def _by_name(names: Sequence[str], meanings: Mapping[str, Sequence[str]]) -> dict[str, int]:
    roles: dict[str, int] = {}
    for role, words in meanings.items():
        place = next(
            (names.index(word) for word in words if word in names and names.index(word) not in roles.values()), None
        )
        if place is not None:
            roles[role] = place
    return roles


def _place(wanted: str, first: Sequence[str], is_header: bool) -> int:
    if is_header:
        for same in (str.strip, lambda name: name.strip().casefold()):
            cells = [same(cell) for cell in first]
            if same(wanted) in cells:
                return cells.index(same(wanted))
    if wanted.isdigit() and 1 <= int(wanted) <= len(first):
        return int(wanted) - 1
    shown = ", ".join(cell.strip()[:30] for cell in first[:20]) if is_header else f"1 to {len(first)}"
    raise ColumnError(f"there is no column {wanted!r}. The columns are: {shown}")
