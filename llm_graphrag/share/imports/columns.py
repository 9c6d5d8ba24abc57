"""Which column of a table is what: by what a person said, else by its name, else by its place.

Where neither the file nor a person says it, what was taken for what is told, with the option that says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...text.counted import counted
from ...text.normalise import clean_name
from .header import is_header

__all__ = ["ColumnError", "Columns", "Named", "key_columns", "node_columns", "triple_columns"]

#: Role → the names of columns that mean it, the surest first. Colons are those of neo4j-admin's headers. Names of heads
#: and tails go in pairs: beside from and to, a source is where a row comes from.
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
    "aliases": ("aliases", "alias", "synonyms", "also_known_as", "other_names", "altlabel"),
}

DIRECTIONS = {"directed", "undirected", "mutual"}
ENDS = ("head", "relation", "tail")
SHOWN = 40  # characters of a cell in a message

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
    said: str = ""  # how they were taken, if nothing says it


def triple_columns(
    first: Sequence[str], named: Named, header: bool | None, rows: Sequence[Sequence[str]] = ()
) -> Columns:
    """The columns of a table of triples, told from its first row and some of the others. Raises ColumnError.

    >>> triple_columns(["Subject", "Predicate", "Object", "Score"], Named(), None).roles["confidence"]
    3
    >>> triple_columns(["Ada", "knows", "Ben"], Named(), None).has_header
    False
    """
    names = _names(first)
    found = {} if header is False else _of_triples(names)
    if _says_directions(names, rows):
        found["relation"] = names.index("label")
    by_name = [name for name in (named.head, named.relation, named.tail) if name and not name.isdigit()]
    known = found.keys() & {*ENDS, "value"}
    if header or (header is None and (len(known) > 1 or by_name)):
        roles, said = _of_header(first, found, named, by_place=header is True and not known)
        taken = set(roles.values())
        others = {name: place for place, name in enumerate(names) if place not in taken and name}
        return Columns(roles, others, True, said)
    if named.any:
        roles = {role: _place(wanted, first, False) for role in ENDS if (wanted := getattr(named, role))}
        _refuse_missing(roles, "Without a header columns have numbers, from 1 on")
    else:
        if header is None and len(first) != 3:
            _refuse_nodes(names, first)
        if len(first) < 3:
            raise ColumnError(
                f"its first row has {counted(len(first), 'cell')}; a triple needs three: head, relation, tail."
                " If another sign separates them: --delimiter SIGN"
            )
        roles = dict(zip(ENDS, range(3), strict=True))
    if header is False:
        return Columns(roles, {}, False)
    return _guessed(first, names, rows, roles, named)


def _says_directions(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether ``type`` says which edges are directed, as in Gephi's tables, where ``label`` is the relation."""
    if not {"type", "label"} <= {*names}:
        return False
    kinds, labels = (
        {row[at].strip().lower() for row in rows if at < len(row)} for at in map(names.index, ("type", "label"))
    )
    return bool(labels - {""}) and kinds <= DIRECTIONS


def key_columns(keys: Sequence[str], named: Named) -> Columns:
    """The columns of JSON objects with these keys. Raises ColumnError."""
    roles, _ = _of_header(keys, _of_triples(_names(keys)), named)
    return Columns(roles, {}, True)


def _of_header(
    first: Sequence[str], found: Mapping[str, int], named: Named, by_place: bool = False
) -> tuple[dict[str, int], str]:
    """Roles of the columns that a header names, and what was concluded. Raises ColumnError."""
    roles = dict(found)
    for role in ENDS:
        if wanted := getattr(named, role):
            at = _place(wanted, first, True)
            roles = {other: place for other, place in roles.items() if place != at} | {role: at}
    free = [place for place in range(len(first)) if place not in roles.values()]
    missing = _missing(roles)
    if len(first) == 3 and missing and len(missing) == len(free) and (by_place or len(free) == 1):
        roles |= dict(zip(missing, free, strict=True))
        taken = ", ".join(f"{_shown(first[roles[role]])} as the {role}" for role in missing)
        return roles, f"columns were read so: {taken}. If that is wrong: --head, --relation, --tail COLUMN"
    _refuse_missing(roles, f"The columns are: {', '.join(name[:30] for name in first[:20])}")
    return roles, ""


def _missing(roles: Mapping[str, int]) -> list[str]:
    if {"head", "kind"} <= roles.keys():
        return []
    return [role for role in ENDS if role not in roles and not (role == "tail" and "value" in roles)]


def _refuse_missing(roles: Mapping[str, int], there: str) -> None:
    if missing := _missing(roles):
        raise ColumnError(f"which column is the {missing[0]}? Name it: --{missing[0]} COLUMN. {there}")


def _refuse_nodes(names: Sequence[str], first: Sequence[str]) -> None:
    """Raise ColumnError for a table of nodes that is read as one of triples."""
    found = _by_name(names, NODES)
    if len(found) > 1 and {"id", "name"} & found.keys():
        shown = ", ".join(name.strip()[:30] for name in first[:20])
        raise ColumnError(
            f"it looks like a table of nodes, with the columns {shown}: read it with --nodes FILE"
            " (--no-header: its first row is a triple)"
        )


def _guessed(
    first: Sequence[str], names: Sequence[str], rows: Sequence[Sequence[str]], roles: Mapping[str, int], named: Named
) -> Columns:
    """The columns of a table whose first row may name them, which the rows below it may tell."""
    places = [roles[role] for role in ENDS]
    below = [[row[place] for place in places] for row in rows if len(row) > max(places)]
    has_header = is_header([first[place] for place in places], below)
    if has_header is not False and not named.any:
        _refuse_nodes(names, first)
    head, relation, tail = (_shown(first[place]) for place in places)
    said = ""
    if has_header:
        said = (
            f"its first row was read as names of columns: {head} is the head, {relation} the relation, {tail} the tail"
            " (--no-header: it is a triple)"
        )
    elif len(first) > 3 and not named.any:
        said = (
            f"its rows have {len(first)} columns, of which the first three were read: {head} —{relation}→ {tail}."
            " If that is wrong: --head, --relation, --tail NUMBER, or --header"
        )
    elif has_header is None:
        said = f"its first row was read as a triple, {head} —{relation}→ {tail}. If it names the columns: --header"
    others = {name: place for place, name in enumerate(names) if place not in places and name} if has_header else {}
    return Columns(roles, others, bool(has_header), said)


def _shown(cell: str) -> str:
    return clean_name(cell)[:SHOWN] or "(empty)"


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


def _of_triples(names: Sequence[str]) -> dict[str, int]:
    pairs = zip(TRIPLES["head"], TRIPLES["tail"], strict=True)
    pair = next(((head, tail) for head, tail in pairs if head in names and tail in names), None)
    ends: dict[str, tuple[str, ...]] = {"head": (pair[0],), "tail": (pair[1],)} if pair else {}
    return _by_name(names, {**TRIPLES, **ends})


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
