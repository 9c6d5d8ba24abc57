"""Reading a reply: the lists of raw items it holds, or the reason why it cannot be used.

A model is asked for one object of four lists. What comes is fenced, wrapped, explained,
cut off, or a bare item. All of it is read that can be read without guessing; an item of
the wrong shape is dropped alone, with its reason. A list that is there and empty says
that there is nothing; a reply without any list or item says nothing at all, and that is
an error, so that no chunk counts as read that was not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...text.normalise import is_blank
from .json_text import brief, find_values
from .reading import Dropped
from .reply_items import (
    ATTRIBUTE,
    ENTITY,
    PROPOSAL,
    TRIPLE,
    RawAttribute,
    RawEntity,
    RawItem,
    RawProposal,
    RawTriple,
    folded_keys,
    kind_of,
    read_item,
    squashed,
)

__all__ = ["RawAttribute", "RawEntity", "RawProposal", "RawReply", "RawTriple", "ReplyError", "parse_reply"]

MAX_ITEMS = 2_000  # of all lists together; a window has a tenth of that
MAX_DROPPED = 500
_MAX_DEPTH = 8

WRONG_SHAPE, INCOMPLETE = "wrong shape", "field missing"
CUT_OFF, BROKEN, TOO_MANY = "cut off", "broken JSON", "too many items"
NO_LIST = "JSON without a list of entities, attributes or triples"
REPLY = "reply"  # the kind of what is dropped and is no item

_LISTS = dict.fromkeys(("entities", "nodes", "vertices"), ENTITY)
_LISTS |= dict.fromkeys(("attributes", "properties", "attributefacts"), ATTRIBUTE)
_LISTS |= dict.fromkeys(("triples", "triple", "triplets", "relations", "relationships", "facts", "edges"), TRIPLE)
_LISTS |= dict.fromkeys(("proposals", "proposedtypes", "newtypes"), PROPOSAL)
_WRAPPERS = frozenset(
    "result results output outputs response answer reply data json graph knowledgegraph extraction content".split()
)


class ReplyError(ValueError):
    """A reply that cannot be used; the message is a short fixed reason."""


@dataclass(frozen=True, slots=True)
class RawReply:
    """What a reply says, unchecked, and what of it had the wrong shape."""

    entities: tuple[RawEntity, ...] = ()
    attributes: tuple[RawAttribute, ...] = ()
    triples: tuple[RawTriple, ...] = ()
    proposals: tuple[RawProposal, ...] = ()
    dropped: tuple[Dropped, ...] = ()


def parse_reply(text: str) -> RawReply:
    """Read a reply.

    Raises ReplyError: empty reply, no JSON, broken JSON, cut off (before the first item was complete), JSON without a
    list of what was asked for, no readable item.

    >>> parse_reply('Sure: {"triples": [{"subject": "Ana", "predicate": "knows", "object": "Bo"}]}').triples[0].tail
    'Bo'
    """
    if is_blank(text):
        raise ReplyError("empty reply")
    found = find_values(text)
    collector = _Collector()
    for value in found.values:
        collector.walk(value, bare=True)
    for unread in found.unread:
        collector.drop(REPLY, CUT_OFF if unread.cut else BROKEN, unread.text)
    if not collector.items:
        _complain(text, found.values, collector)
    return collector.reply()


def _complain(text: str, values: Sequence[Any], collector: _Collector) -> None:
    """Raise if nothing was read and the reply did not say that there is nothing."""
    reasons = {item.reason for item in collector.dropped}
    if CUT_OFF in reasons:
        raise ReplyError(CUT_OFF)
    if collector.dropped:
        raise ReplyError(BROKEN if reasons == {BROKEN} else "no readable item")
    if not collector.said_so:
        raise ReplyError(NO_LIST if values else BROKEN if "{" in text or "[" in text else "no JSON")


@dataclass
class _Collector:
    """Walks through the values of a reply and keeps what is an item."""

    items: list[RawItem] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    said_so: bool = False  # a known list was there, be it empty
    left: int = 0  # items past the limit

    def drop(self, kind: str, reason: str, item: Any, detail: str = "") -> None:
        if len(self.dropped) < MAX_DROPPED:
            self.dropped.append(Dropped(kind, reason, brief(item), detail))
        else:
            self.left += 1

    def walk(self, value: Any, expected: str = "", depth: int = 0, bare: bool = False) -> None:
        """Read a value: ``expected`` is the kind of the list it stands in, ``bare`` a list that is the whole answer."""
        if depth > _MAX_DEPTH:
            self.drop(expected or REPLY, WRONG_SHAPE, value, "nested too deeply")
        elif isinstance(value, list):
            self.said_so |= bare and not value
            for inner in value:
                if (bare or expected in (TRIPLE, ATTRIBUTE)) and _is_array_item(inner):
                    self._array(inner, expected)
                else:
                    self.walk(inner, expected, depth + 1, bare and isinstance(inner, list))
        elif isinstance(value, dict):
            self._object(value, expected, depth)
        elif expected:
            self.drop(expected, WRONG_SHAPE, value)
        elif isinstance(value, str) and value.lstrip()[:1] in ("{", "["):  # JSON within a string
            for inner in find_values(value).values if depth < 3 else ():
                self.walk(inner, depth=depth + 3, bare=True)

    def _array(self, values: list[Any], expected: str) -> None:
        kind, names = TRIPLE, ("head", "relation", "tail")
        if expected == ATTRIBUTE:
            kind, names = ATTRIBUTE, ("entity", "attribute", "value")
        self._item(kind, dict(zip(names, values, strict=True)), values)

    def _object(self, value: dict[str, Any], expected: str, depth: int) -> None:
        known = {key for key, inner in value.items() if squashed(key) in _LISTS and isinstance(inner, (list, dict))}
        kind = kind_of(folded_keys(value), expected)
        if kind:
            self._item(kind, value, value)
        elif expected and value and not known:
            self.drop(expected, WRONG_SHAPE, value)
        self.said_so |= bool(known)
        for key, inner in value.items():
            if key in known:
                self.walk(inner, _LISTS[squashed(key)], depth + 1)
            elif not kind and not expected:
                self.walk(inner, depth=depth + 1, bare=squashed(key) in _WRAPPERS)

    def _item(self, kind: str, item: dict[str, Any], given: Any) -> None:
        read = read_item(kind, item, given)
        if isinstance(read, str):
            self.drop(kind, INCOMPLETE, given, read)
            return
        room = max(0, MAX_ITEMS - len(self.items))
        self.items += read[:room]
        self.left += len(read[room:])

    def reply(self) -> RawReply:
        if self.left:
            self.dropped.append(Dropped(REPLY, TOO_MANY, self.left))
        entities = tuple(item for item in self.items if isinstance(item, RawEntity))
        names = {entity.name for entity in entities}
        ids = {entity.id: entity.name for entity in entities if entity.id and entity.id not in names}
        triples = (item for item in self.items if isinstance(item, RawTriple))
        attributes = (item for item in self.items if isinstance(item, RawAttribute))
        return RawReply(
            entities,
            tuple(replace(item, entity=ids.get(item.entity, item.entity)) for item in attributes),
            tuple(replace(t, head=ids.get(t.head, t.head), tail=ids.get(t.tail, t.tail)) for t in triples),
            tuple(item for item in self.items if isinstance(item, RawProposal)),
            tuple(self.dropped),
        )


def _is_array_item(value: Any) -> bool:
    """Whether it is an array of three texts: head, relation, tail."""
    return isinstance(value, list) and len(value) == 3 and all(isinstance(part, (str, int, float)) for part in value)
