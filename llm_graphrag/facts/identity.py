"""Who a name is: pure rules over what has been declared, so that arrival order does not matter.

An entity is its key and its type. A name written without a type belongs to the one
entity that declares it; own names count before titles and aliases, and those before
names that only a model or an imported row has typed; among several notes, the one
spelled exactly so; and if that does not settle it, to the untyped entity of that key. Notes are declared
entities. A name that a model has typed belongs to the entity of that type, else to a
note that gives no type, else it is an entity of its own. Two notes of one name and one
type are told apart by their paths.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..text.normalise import clean_name, name_key

OWN_NAME, OTHER_NAME, MODEL_NAME = 0, 1, 2

_IDENTIFIER = re.compile(
    r"[A-Za-z]{0,3}[-_.]?\d{4,}([-_.]?\d+)*|[0-9a-f]{8,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)
_DATE = re.compile(r"\d{4}[-_.]\d\d([-_.]\d\d)?|\d{4}")


@dataclass(frozen=True, slots=True)
class Declared:
    """An entity that claims a name: a note, one made by hand, or one that a model has typed."""

    entity: int
    name: str
    rank: int  # OWN_NAME, OTHER_NAME, MODEL_NAME
    type: str = ""


def pick(declared: Iterable[Declared], spelling: str, type_: str = "") -> Declared | None:
    """What claims ``spelling``, or None for the entity of its key and ``type_`` that no note claims.

    >>> apple, fruit = Declared(1, "Apple", OWN_NAME, "company"), Declared(2, "apple", MODEL_NAME, "fruit")
    >>> pick([apple, fruit], "apple").entity, pick([apple, fruit], "Apple", "fruit")
    (1, None)
    >>> pick([apple], "Apple", "place"), pick([Declared(3, "Ana", OWN_NAME)], "Ana", "person").entity
    (None, 3)
    """
    declared = list(declared)
    if not type_:
        return _pick(declared, spelling)
    by_hand = [item for item in declared if item.rank != MODEL_NAME]
    typed = [item for item in by_hand if item.type == type_]
    return _pick(typed or [item for item in by_hand if not item.type], spelling)


def _pick(declared: Sequence[Declared], spelling: str) -> Declared | None:
    for rank in (OWN_NAME, OTHER_NAME, MODEL_NAME):
        ranked = [item for item in declared if item.rank == rank]
        if not ranked:
            continue
        if len({item.entity for item in ranked}) == 1:
            return ranked[0]
        if rank == MODEL_NAME:  # shown by the best of their spellings, which more claims change
            return None
        exact = {item.entity: item for item in ranked if item.name == spelling}
        return next(iter(exact.values())) if len(exact) == 1 else None
    return None


@dataclass(frozen=True, slots=True)
class NamedNote:
    document: int
    uri: str  # unique; without extension where that stays unique
    path: str  # within its source, likewise
    name: str
    type: str


def group_key(name: str) -> str:
    """What all names that could get one key share, alone or at the end of a path: letters and digits of the last part.

    Keys drop punctuation at their ends, so ``!`` alone is a key and ``a/!`` has that of ``a/``.

    >>> [group_key(name) for name in ("a/C#", "c", "!", "x/]]", "Mira (2)")]
    ['c', 'c', '', '', 'mira2']
    """
    return "".join(character for character in name_key(name.rsplit("/", 1)[-1]) if character.isalnum())


def note_names(group: Sequence[NamedNote]) -> dict[int, str]:
    """Names for the entities of notes that share a last name part, unique by (key, type).

    >>> a, b = NamedNote(1, "v/a/README", "a/README", "README", ""), NamedNote(2, "v/README", "README", "README", "")
    >>> note_names([a]), note_names([a, b])
    ({1: 'README'}, {1: 'a/README', 2: 'v/README'})
    """
    plain = Counter((name_key(note.name), note.type) for note in group)
    names = {
        note.document: note.name if plain[name_key(note.name), note.type] == 1 else _path_name(note) for note in group
    }
    keys = Counter((name_key(names[note.document]), note.type) for note in group)
    return {
        note.document: clean_name(
            names[note.document] if keys[name_key(names[note.document]), note.type] == 1 else _numbered(note, group)
        )
        for note in group
    }


def _path_name(note: NamedNote) -> str:
    return note.path if "/" in note.path else note.uri


def _numbered(note: NamedNote, group: Sequence[NamedNote]) -> str:
    """The whole uri, and a number where even uris have one key (``a-b`` written with two kinds of dash)."""
    rivals = sorted(other.uri for other in group if name_key(other.uri) == name_key(note.uri))
    place = rivals.index(note.uri)
    return note.uri if place == 0 else f"{note.uri} ({place + 1})"


def looks_like_identifier(stem: str) -> bool:
    """Whether a file name is only a number or a hash, so that the title is the better name.

    >>> [looks_like_identifier(s) for s in ("202401311200", "w00042", "2025-01-31", "1984", "@abara2010", "a3f9c1d2")]
    [True, True, False, False, False, True]
    """
    if _DATE.fullmatch(stem) or not _IDENTIFIER.fullmatch(stem):
        return False
    return any(character.isdigit() for character in stem)


def preferred_spelling(current: str, other: str) -> str:
    """Of two spellings of one key the one to show; the same whichever came first.

    >>> preferred_spelling("SYSTEMS", "Systems"), preferred_spelling("ana", "Ana")
    ('Systems', 'Ana')
    """
    return max(current, other, key=lambda s: (sum(w[:1].isupper() and not w[1:].isupper() for w in s.split()), s))
