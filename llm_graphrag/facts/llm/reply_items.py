"""The items of a reply, by their shapes: what a model calls a field does not matter as long as nothing is guessed.

An object is a triple, an attribute, an entity or a proposal by the fields it has, wherever
it stands; the list it stands in only decides what else could be either. Fields have the
names that models use for them (subject, source, head; evidence, quote). Values are made
text here; whether they are any good is for ``validate`` to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...text.normalise import is_blank
from .json_text import Numeral, brief, storable

__all__ = [
    "ATTRIBUTE",
    "ENTITY",
    "PROPOSAL",
    "TRIPLE",
    "RawAttribute",
    "RawEntity",
    "RawItem",
    "RawProposal",
    "RawTriple",
    "folded_keys",
    "kind_of",
    "read_item",
    "scalar",
    "squashed",
]

ENTITY, ATTRIBUTE, TRIPLE, PROPOSAL = "entity", "attribute", "triple", "proposal"

_MAX_VALUES = 50  # tails or values in one item

HEAD = ("head", "subject", "source", "subj", "headentity", "sourceentity", "from")
RELATION = ("relation", "predicate", "relationship", "relationtype", "rel", "edge", "verb", "label", "type")
TAIL = ("tail", "object", "target", "obj", "tailentity", "targetentity", "to")
OWNER = ("entity", "subject", "head", "node", "entityname")
PROPERTY = ("attribute", "property", "attributename", "propertyname", "key")
VALUE = ("value", "attributevalue", "propertyvalue")
NAME = ("name", "entity", "entityname", "label", "id")
TYPE = ("type", "entitytype", "category", "class")
ALIASES = ("aliases", "alias", "alsoknownas", "othernames")
CHUNKS = ("chunks", "chunk", "chunkid", "chunkids")
CHUNK = ("chunk", "chunkid", "chunknumber", "chunks")
QUOTE = ("quote", "evidence", "sentence", "sourcetext", "snippet", "example")
CONFIDENCE = ("confidence", "score", "probability", "certainty")
KIND = ("kind", "proposalkind", "type")
INSTEAD = ("insteadof", "nearest", "replaces")

_PROPOSED = {"entitytype": "entity_type", "entity": "entity_type", "nodetype": "entity_type", "node": "entity_type"}
_PROPOSED |= {"relation": "relation", "relationtype": "relation", "relationship": "relation", "edge": "relation"}
_PROPOSED |= {"attribute": "attribute", "attributetype": "attribute", "property": "attribute"}
_WORDS = {"veryhigh": 0.95, "high": 0.9, "medium": 0.6, "moderate": 0.6, "low": 0.3, "verylow": 0.1}
_NUMBERED = re.compile(r"\D{0,10}(\d{1,6})\D?")


@dataclass(frozen=True, slots=True)
class RawEntity:
    name: str
    type: str
    aliases: tuple[str, ...]
    chunks: tuple[int, ...]
    id: str
    item: Any


@dataclass(frozen=True, slots=True)
class RawAttribute:
    entity: str
    attribute: str
    value: str
    chunk: int | None
    quote: str
    confidence: float | None
    item: Any


@dataclass(frozen=True, slots=True)
class RawTriple:
    head: str
    relation: str
    tail: str
    chunk: int | None
    quote: str
    confidence: float | None
    head_type: str
    tail_type: str
    item: Any


@dataclass(frozen=True, slots=True)
class RawProposal:
    kind: str
    name: str
    description: str
    chunk: int | None
    quote: str
    confidence: float | None
    instead_of: str | None
    item: Any


RawItem = RawEntity | RawAttribute | RawTriple | RawProposal
Fields = Mapping[str, Any]


def squashed(key: str) -> str:
    """A key without case and separators: ``head_type``, ``Head Type`` and ``headType`` are one."""
    return re.sub(r"[\W_]+", "", key).lower()


def folded_keys(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item by squashed keys; of several that squash alike the first that is not null."""
    found: dict[str, Any] = {}
    for key, value in item.items():
        if found.get(name := squashed(str(key))) is None:
            found[name] = value
    return found


def kind_of(fields: Fields, expected: str = "") -> str:
    """What an item is by its fields, empty if it is none; ``expected`` is the kind of the list it stands in.

    >>> kind_of({"source": "Ana", "type": "knows", "target": "Bo"}), kind_of({"name": "Ana", "type": "person"})
    ('triple', 'entity')
    >>> kind_of({"name": "Ana"}), kind_of({"name": "Ana"}, "entity"), kind_of({"head": "Ana", "relation": "knows"})
    ('', 'entity', 'triple')
    """
    head, tail = _has(fields, HEAD), _has(fields, TAIL)
    relation = _has(fields, RELATION[:-2]) or (_has(fields, RELATION) and head and tail)
    if head + tail + relation == 3:
        return TRIPLE
    if _has(fields, PROPERTY) and (_has(fields, OWNER) or _has(fields, VALUE)):
        return ATTRIBUTE
    if head + tail + relation == 2 or (expected == TRIPLE and (head or tail)):
        return TRIPLE
    if _has(fields, ("name",)) and (expected == PROPOSAL or _proposal_kind(fields, ("kind", "proposalkind"))):
        return PROPOSAL
    if _has(fields, NAME) and (expected == ENTITY or _has(fields, (*TYPE, *ALIASES, *CHUNKS))):
        return ENTITY
    return ""


def read_item(kind: str, item: Mapping[str, Any], given: Any = None) -> list[RawItem] | str:
    """The item's fields as text, several items if it has several tails or values; what it lacks if it is not complete.

    ``given`` is what is kept of it, the item itself by default.

    >>> read_item("triple", {"head": "Ana", "relation": "knows"})
    'tail'
    """
    fields = folded_keys(item)
    reader: Callable[[Fields, Any], list[RawItem] | str]
    reader = {ENTITY: _entity, ATTRIBUTE: _attribute, TRIPLE: _triple, PROPOSAL: _proposal}[kind]
    return reader(fields, brief(item if given is None else given))


def _entity(fields: Fields, item: Any) -> list[RawItem] | str:
    name, type_ = _text(fields, NAME), _text(fields, TYPE)
    if not name:
        return "name"
    aliases = tuple(_texts(_value(fields, ALIASES)))
    chunks = tuple(number for part in _parts(_value(fields, CHUNKS)) if (number := _chunk(part)) is not None)
    return [RawEntity(name, type_, aliases, chunks, scalar(fields.get("id")), item)]


def _attribute(fields: Fields, item: Any) -> list[RawItem] | str:
    entity, attribute = _text(fields, OWNER), _text(fields, PROPERTY)
    values = list(_texts(_value(fields, VALUE)))
    if missing := [n for n, v in (("entity", entity), ("attribute", attribute), ("value", values)) if not v]:
        return ", ".join(missing)
    rest = _place(fields)
    return [RawAttribute(entity, attribute, value, *rest, item) for value in values]


def _triple(fields: Fields, item: Any) -> list[RawItem] | str:
    head, relation = _text(fields, HEAD), _text(fields, RELATION)
    tails = list(_texts(_value(fields, TAIL)))
    if missing := [n for n, v in (("head", head), ("relation", relation), ("tail", tails)) if not v]:
        return ", ".join(missing)
    rest = _place(fields)
    types = _end_type(fields, HEAD, "headtype"), _end_type(fields, TAIL, "tailtype")
    return [RawTriple(head, relation, tail, *rest, *types, item) for tail in tails]


def _proposal(fields: Fields, item: Any) -> list[RawItem] | str:
    kind, name = _proposal_kind(fields, KIND), scalar(fields.get("name"))
    if missing := [n for n, v in (("kind", kind), ("name", name)) if not v]:
        return ", ".join(missing)
    chunk, quote, confidence = _place(fields)
    description, instead = scalar(fields.get("description")), _text(fields, INSTEAD)
    return [RawProposal(kind, name, description, chunk, quote, confidence, instead or None, item)]


# -- fields ---------------------------------------------------------------------------


def _has(fields: Fields, names: Iterable[str]) -> bool:
    return any(fields.get(name) is not None for name in names)


def _value(fields: Fields, names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _parts(value: Any) -> list[Any]:
    return value[:_MAX_VALUES] if isinstance(value, list) else [value]


def scalar(value: Any) -> str:
    """A value as text: a number as it was written, the name of an object that has one; empty for what is no text.

    >>> scalar(" Ana "), scalar(1950), scalar({"name": "Ana", "type": "person"}), scalar(None), scalar(["Ana"])
    ('Ana', '1950', 'Ana', '', '')
    """
    if isinstance(value, str):
        return storable(value).strip()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Numeral):
        return value.written
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, dict):
        fields = folded_keys(value)
        name = next((fields[key] for key in (*NAME, "text", "value") if isinstance(fields.get(key), str)), "")
        return storable(str(name)).strip()
    return ""


def _texts(value: Any) -> Iterable[str]:
    return (text for part in _parts(value) if (text := scalar(part)))


def _text(fields: Fields, names: Iterable[str]) -> str:
    return next(iter(_texts(_value(fields, names))), "")


def _end_type(fields: Fields, names: Iterable[str], type_key: str) -> str:
    """The type of an end that is given with it: ``head_type``, or the ``type`` of a head that is an object."""
    end = _value(fields, names)
    return scalar(fields.get(type_key)) or (_text(folded_keys(end), TYPE) if isinstance(end, dict) else "")


def _place(fields: Fields) -> tuple[int | None, str, float | None]:
    """Chunk, quote and confidence. Evidence may be an object that holds chunk and quote itself."""
    evidence = next(iter(_parts(_value(fields, QUOTE))), None)
    within = folded_keys(evidence) if isinstance(evidence, dict) else {}
    quote = _text(within, ("quote", "text", "sentence")) if within else scalar(evidence)
    quote = "" if is_blank(quote) else quote
    chunk = next((c for source in (fields, within) for p in _parts(_value(source, CHUNK)) if (c := _chunk(p))), None)
    return chunk, quote, _confidence(_value(fields, CONFIDENCE))


def _chunk(value: Any) -> int | None:
    """The number in 3, "3", "[3]" or "chunk 3"."""
    written = scalar(value)
    match = _NUMBERED.fullmatch(written.removesuffix(".0"))
    return int(match[1]) if match else None


def _confidence(value: Any) -> float | None:
    """0 to 1; None where the model gave none that can be read as such."""
    written = scalar(value) if not isinstance(value, bool) else ""
    if (word := squashed(written)) in _WORDS:
        return _WORDS[word]
    try:
        number = float(written.removesuffix("%")) / (100 if written.endswith("%") else 1)
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def _proposal_kind(fields: Fields, names: Iterable[str]) -> str:
    return next((_PROPOSED[w] for name in names if (w := squashed(scalar(fields.get(name)))) in _PROPOSED), "")
