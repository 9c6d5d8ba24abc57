"""The bound: which type, relation or attribute of the schema a model means, and what may stand at its ends.

Names are resolved by folded form, alias and inverse, nothing else: a near miss is no hit.
In open mode a name that the schema does not have is taken under its folded form, so that
whatever a model writes, what is stored as a type is an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...text.normalise import clean_name, fold_identifier, is_blank, name_key
from ..template import Template
from .reply_schema import OPEN, checked_mode

__all__ = ["MAX_VALUE", "Bound", "Meant", "identifier", "value_fault"]

MAX_TYPE = 80  # characters, as in templates
MAX_VALUE = 1_000

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Meant:
    """A relation or an attribute, and what may stand at its ends; empty allows everything."""

    name: str
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    inverse: bool = False  # written from tail to head
    kind: str = "text"  # of an attribute's value


class Bound:
    """A schema and the mode it is applied in."""

    def __init__(self, schema: Template, mode: str) -> None:
        self.schema = schema
        self.mode = checked_mode(mode)

    def entity_type(self, written: str) -> str | None:
        """The type that is meant, None if there is none."""
        for spelling in _spellings(written):
            if found := self.schema.resolve_type(spelling):
                return found.name
        return self._opened(written)

    def nouns(self, types: Iterable[str]) -> frozenset[str]:
        """The words that mean something of these types: their names and aliases."""
        found = (self.schema.resolve_type(type_) for type_ in types if type_)
        return frozenset(name_key(word) for item in found if item for word in (item.name, *item.aliases))

    def relation(self, written: str) -> Meant | None:
        """The relation that is meant, None if there is none."""
        for spelling in _spellings(written):
            found = self.schema.resolve_relation(spelling)
            inverse = found or self.schema.resolve_inverse(spelling)
            if inverse:
                return Meant(inverse.name, inverse.domain, inverse.range, inverse=found is None)
        if self.attribute(written, known=True):
            return None
        name = self._opened(written)
        return Meant(name) if name else None

    def attribute(self, written: str, known: bool = False) -> Meant | None:
        """The attribute that is meant, None if there is none; ``known`` asks the schema only."""
        for spelling in _spellings(written):
            if found := self.schema.resolve_attribute(spelling):
                return Meant(found.name, found.domain, kind=found.kind)
        name = "" if known else self._opened(written)
        return Meant(name) if name else None

    def is_relation(self, written: str) -> bool:
        """Whether the schema has a relation of this name."""
        names = _spellings(written)
        return any(self.schema.resolve_relation(name) or self.schema.resolve_inverse(name) for name in names)

    def allows(self, types: tuple[str, ...], type_: str) -> bool:
        """Whether a type may stand where ``types`` may; none, or in open mode a new one, may stand anywhere."""
        if not types or not type_ or type_ in types:
            return True
        return self.mode == OPEN and self.schema.resolve_type(type_) is None

    def has(self, kind: str, name: str) -> bool:
        """Whether the schema has a type of this kind (entity_type, relation, attribute) under this name."""
        if kind == "entity_type":
            return any(self.schema.resolve_type(spelling) for spelling in _spellings(name))
        return self.is_relation(name) if kind == "relation" else self.attribute(name, known=True) is not None

    def resolved(self, kind: str, name: str) -> str:
        """The schema's own name for a type, or the name as written if it has none."""
        for spelling in _spellings(name):
            resolve = {"entity_type": self.schema.resolve_type, "relation": self.schema.resolve_relation}
            found = resolve.get(kind, self.schema.resolve_attribute)(spelling)
            if found:
                return found.name
        return name

    def _opened(self, written: str) -> str | None:
        return identifier(written) if self.mode == OPEN else None


def identifier(written: str) -> str | None:
    """The folded form that a new type is known by, None if there is none of a usable length.

    >>> identifier('a"]; DROP TABLE entities; --'), identifier("__proto__"), identifier("--"), identifier("x" * 99)
    ('a_drop_table_entities', 'proto', None, None)
    """
    try:
        name = fold_identifier(clean_name(written))
    except ValueError:
        return None
    return name if len(name) <= MAX_TYPE else None


def _spellings(written: str) -> tuple[str, ...]:
    """As written, and with camel case taken apart."""
    parted = _CAMEL.sub("_", written)
    return (written,) if parted == written else (written, parted)


# -- kinds of values ------------------------------------------------------------------

_TIME = re.compile(
    r"""\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|september|october
    |november|december|mon|tues?|wednes|thurs?|fri|satur|sun|spring|summer|autumn|fall|winter|century|centuries|decades?
    |millenni\w+|years?|months?|weeks?|days?|era|epoch|ages?|period|dynasty|reign|antiquity|ancient|medieval|modern
    |prehistor\w+|renaissance|war|early|mid|late|before|after|during|circa|present|today|now|current\w*|recent\w*
    |yesterday|tomorrow|tonight|morning|noon|evening|midnight|easter|christmas|new\s+year|one|two|three|four|five|six
    |seven|eight|nine|ten|first|second|third|\w+teenth|\w+day|living|ongoing|[mdclxvi]+)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_COUNT = re.compile(
    r"""\b(?:zero|none|no|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|fou?rty
    |fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?|billions?|dozens?|half|third|quarter|single|once
    |twice|couple|several|few|many|pairs?|double|[mdclxvi]+)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_NOTHING = re.compile(  # what models write where there is nothing to write
    r"[-–—?.\s]+|n/?a|null|none|nil|unknown|unspecified|undefined|(?:is\s)?(?:not|never)\s(?:\w+\s)?"
    r"(?:given|known|stated|mentioned|specified|provided|applicable|available)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[^\s.:/]+[.:/]\S*[^\s.:/]\S*")


def value_fault(kind: str, value: str) -> str:
    """Why a value is none, or cannot be of its kind at all; empty if it can. Other languages get the benefit.

    >>> [value_fault("date", v) for v in ("c. 995", "the late Middle Ages", "French", "秋")]
    ['', '', 'value is no date', '']
    >>> [value_fault("number", v) for v in ("3.2 km²", "a dozen", "large")]
    ['', '', 'value is no number']
    >>> [value_fault("url", v) for v in ("https://example.org/a", "example.org", "see below")]
    ['', '', 'value is no url']
    >>> [value_fault("text", v) for v in ("a smith", "", "Not mentioned", "x" * 1001)]
    ['', 'value is empty', 'value is empty', 'value is too long']
    """
    if is_blank(value) or _NOTHING.fullmatch(value):
        return "value is empty"
    if len(value) > MAX_VALUE:
        return "value is too long"
    if kind == "url":
        return "" if _ADDRESS.fullmatch(value) else "value is no url"
    words = {"date": _TIME, "number": _COUNT}.get(kind)
    if words is None or not value.isascii() or any(map(str.isdigit, value)) or words.search(value):
        return ""
    return f"value is no {kind}"
