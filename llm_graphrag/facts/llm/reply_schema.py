"""The JSON schema of a reply: with a decoder that obeys it, a model cannot leave the types at all.

Only what OpenAI's structured outputs and llama.cpp's grammars both understand is used:
objects with every property required and no others, enums, arrays with ``maxItems``,
integers with a range. Arrays are capped, by the length of the text, because small models
repeat an item until the reply is full; the caps stay well below the 2,000 repetitions that
llama.cpp refuses.

A triple names its ends, it does not type them, so domains and ranges cannot be part of
the schema of the one-call way; ``validate`` checks them. In the two-step way the names
are known before the second call: ``relations_schema`` then gives one alternative for each
domain and range, with the names that may stand there. It also keeps names from being
invented.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..template import Template

__all__ = [
    "ALL",
    "ENTITIES",
    "MODES",
    "OPEN",
    "RELATIONS",
    "STRICT",
    "SUGGEST",
    "checked_mode",
    "relations_schema",
    "reply_schema",
]

SUGGEST, STRICT, OPEN = MODES = ("suggest", "strict", "open")
"""What happens to types outside the schema: quarantined, but proposals are heard; quarantined; taken as they come."""

ALL, ENTITIES, RELATIONS = "all", "entities", "relations"
"""Which part of a reply is asked for: everything in one call, or the first or second of two calls."""

PROPOSAL_KINDS = ("entity_type", "relation", "attribute")
MAX_ITEMS = 300
MAX_ALIASES, MAX_PROPOSALS = 6, 20
MAX_NAMES = 48  # entities for which alternatives are written out; each is repeated in several
_FIRST, _MORE = 40, 15  # items of a list at most: for the first chunk and for each other one
_LEAST, _SHARE = 8, 4  # … and in a short text: these and one for so many tokens, twice what thorough readings need
_LEAST_PROPOSALS, _PROPOSAL_SHARE = 3, 30

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}


def checked_mode(mode: str) -> str:
    """The mode, if it is one; raises ValueError with the known ones."""
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is unknown. Use one of {', '.join(MODES)}.")
    return mode


def reply_schema(schema: Template, mode: str, window_size: int, part: str = ALL, tokens: int | None = None) -> Schema:
    """The schema of a reply about a window of ``window_size`` chunks; ``part`` is ALL, ENTITIES or RELATIONS.

    ``tokens`` is the length of its text: of a short one, lists are short, too.

    Entities that are asked for alone have a name and a type and nothing else, for the models that need two calls.

    Raises ValueError if the mode is unknown.
    """
    checked_mode(mode)
    bound = mode != OPEN
    most = min(MAX_ITEMS, _FIRST + _MORE * (max(window_size, 1) - 1))
    proposals = MAX_PROPOSALS
    if tokens is not None:
        most = min(most, _LEAST + tokens // _SHARE)
        proposals = min(proposals, _LEAST_PROPOSALS + tokens // _PROPOSAL_SHARE)
    chunk = _chunk(window_size)
    lists: dict[str, Schema] = {}
    if part != RELATIONS:
        entity = _entity(schema, bound)
        if part == ALL:
            entity |= {
                "aliases": _list(_TEXT, MAX_ALIASES),
                "chunks": _list(chunk, min(max(window_size, 1), MAX_ITEMS)),
            }
        lists["entities"] = _list(_object(entity), most)
    if part != ENTITIES:
        attributes = [item.name for item in schema.attributes] if bound else []
        relations = [item.name for item in schema.relations] if bound else []
        lists["attributes"] = _list(_attribute(_TEXT, _one_of(attributes), chunk), most)
        lists["triples"] = _list(_triple(_TEXT, _one_of(relations), _TEXT, chunk), most)
        if mode == SUGGEST:
            lists["proposals"] = _list(_proposal(chunk), proposals)
    return _object(lists)


def relations_schema(
    schema: Template, mode: str, window_size: int, entities: Sequence[tuple[str, str]], tokens: int | None = None
) -> Schema:
    """The schema of the second of two calls: ends are names from ``entities`` (name, type) that the relation allows.

    An entity without a type may stand anywhere. With no entities, more than ``MAX_NAMES`` or in open mode it is the
    plain schema. So is a list for which the entities leave nothing to say: of one entity alone there is no triple, and
    a model that did not list the others may still name them.
    """
    plain = reply_schema(schema, mode, window_size, RELATIONS, tokens)
    if mode == OPEN or not 0 < len(entities) <= MAX_NAMES:
        return plain
    chunk = _chunk(window_size)
    attributes: dict[tuple[str, ...], list[str]] = {}
    for item in schema.attributes:
        attributes.setdefault(_fitting(entities, item.domain), []).append(item.name)
    triples: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for relation in schema.relations:
        ends = _fitting(entities, relation.domain), _fitting(entities, relation.range)
        triples.setdefault(ends, []).append(relation.name)
    lists = plain["properties"]
    _alternatives(lists["attributes"], [_attribute(_one_of(n), _one_of(r), chunk) for n, r in attributes.items() if n])
    _alternatives(
        lists["triples"],
        [
            _triple(_one_of(h), _one_of(r), _one_of(t), chunk)
            for (h, t), r in triples.items()
            if _differ(h, t, entities)
        ],
    )
    return plain


def _differ(heads: tuple[str, ...], tails: tuple[str, ...], entities: Sequence[tuple[str, str]]) -> bool:
    """Whether two of the ends may be two entities; those of one name are, if it is listed with two types."""
    names = {*heads, *tails}
    return bool(heads and tails) and (len(names) > 1 or sum(name in names for name, _ in entities) > 1)


def _fitting(entities: Sequence[tuple[str, str]], allowed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name, type_ in entities if not allowed or not type_ or type_ in allowed))


def _alternatives(array: Schema, items: list[Schema]) -> None:
    if len(items) > 1:
        array["items"] = {"anyOf": items}
    elif items:
        array["items"] = items[0]


def _object(properties: dict[str, Schema]) -> Schema:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _list(item: Schema, most: int) -> Schema:
    return {"type": "array", "maxItems": most, "items": item}


def _one_of(names: Sequence[str]) -> Schema:
    """One of the names; any text where there are none to choose from, for an empty enum can never be met."""
    return {"type": "string", "enum": list(names)} if names else _TEXT


def _chunk(window_size: int) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": max(window_size, 1)}


def _entity(schema: Template, bound: bool) -> dict[str, Schema]:
    types = [item.name for item in schema.entity_types] if bound else []
    return {"name": _TEXT, "type": _one_of(types)}


def _attribute(entity: Schema, attribute: Schema, chunk: Schema) -> Schema:
    claim = {"entity": entity, "attribute": attribute, "value": _TEXT, "chunk": chunk}
    return _object(claim | {"quote": _TEXT, "confidence": _NUMBER})


def _triple(head: Schema, relation: Schema, tail: Schema, chunk: Schema) -> Schema:
    claim = {"head": head, "relation": relation, "tail": tail, "chunk": chunk}
    return _object(claim | {"quote": _TEXT, "confidence": _NUMBER})


def _proposal(chunk: Schema) -> Schema:
    return _object(
        {
            "kind": _one_of(PROPOSAL_KINDS),
            "name": _TEXT,
            "description": _TEXT,
            "confidence": _NUMBER,
            "chunk": chunk,
            "quote": _TEXT,
            "instead_of": {"type": ["string", "null"]},
        }
    )
