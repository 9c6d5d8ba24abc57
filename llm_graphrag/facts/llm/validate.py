"""From what a model wrote to what may be stored: every claim with the sentence it stands in, the rest with its reason.

The steps, in this order, for each item alone: shape (reply.py); type, relation or attribute
(types.py); domain, range and direction; the quote, which must stand in a chunk and is then
the chunk's own text; the names, which must be names and stand in the document (names.py,
places.py); duplicates. An item that fails a step is dropped with the step's reason.

Nothing here raises for anything a model can write but ``ReplyError``, for a reply that
says nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...text.normalise import clean_name
from ..template import Template
from .ends import End, Ends, Fit
from .locate import Locator, Value
from .names import name_fault
from .places import Places, Spot
from .reading import Dropped, ModelClaim, Reading, Wish
from .reply import RawAttribute, RawProposal, RawReply, RawTriple, parse_reply
from .reply_schema import SUGGEST
from .types import MAX_VALUE, Bound, Meant, identifier, value_fault
from .window import Window

__all__ = ["listed_entities", "read"]

DEFAULT_CONFIDENCE = 0.8  # of a claim that the model gave none
DEFAULT_WISH_CONFIDENCE = 0.5

UNKNOWN_RELATION, UNKNOWN_ATTRIBUTE = "unknown relation", "unknown attribute"
QUOTE_NOT_FOUND, NAMES_NOT_IN_TEXT = "quote not found", "names not in the text"
SAME, NO_DOMAIN, UNKNOWN_END = "head and tail are the same", "domain or range", "end of unknown type"


def read(text: str, window: Window, schema: Template, mode: str) -> Reading:
    """Read a reply about a window: claims, wishes for types (in suggest mode) and what was dropped.

    Raises ReplyError if the reply cannot be used, ValueError if the mode is unknown.
    """
    return _Reader(window, schema, mode).read(parse_reply(text))


def listed_entities(text: str, window: Window, schema: Template, mode: str) -> tuple[tuple[str, str], ...]:
    """The (name, type) of the entities that a reply lists and that stand in the window: for the second of two calls.

    Raises ReplyError if the reply cannot be used.
    """
    reader = _Reader(window, schema, mode)
    reader.ends.add(parse_reply(text).entities)
    return tuple(dict.fromkeys((entity.name, entity.type) for entity in reader.ends.listed()))


class _Reader:
    def __init__(self, window: Window, schema: Template, mode: str) -> None:
        self.bound = Bound(schema, mode)
        self.places = Places(window)
        self.locator = Locator(self.places)
        self.dropped: list[Dropped] = []
        self.ends = Ends(self.bound, self.places, self.dropped)
        self.facts: list[ModelClaim] = []

    def read(self, reply: RawReply) -> Reading:
        self.dropped += reply.dropped
        self.ends.add(reply.entities)
        for triple in reply.triples:
            self._triple(triple)
        for attribute in reply.attributes:
            self._attribute(attribute)
        wishes = [wish for raw in reply.proposals if (wish := self._wish(raw))]
        claims = [*self.ends.claims(), *self.ends.typed(self.facts)]
        return Reading(_once(claims), _wishes_once(wishes), tuple(self.dropped))

    def _drop(self, kind: str, reason: str, raw: RawTriple | RawAttribute | RawProposal, detail: str = "") -> None:
        self.dropped.append(Dropped(kind, reason, raw.item, detail[:200]))

    # -- triples ----------------------------------------------------------------------

    def _triple(self, raw: RawTriple) -> None:
        meant = self.bound.relation(raw.relation)
        if meant is None:
            if self.bound.attribute(raw.relation, known=True):  # an attribute that was put among the triples
                self._attribute(RawAttribute(raw.head, raw.relation, raw.tail, *_rest(raw)))
            else:
                self._drop("triple", UNKNOWN_RELATION, raw, raw.relation)
            return
        ends = (raw.head, raw.head_type), (raw.tail, raw.tail_type)
        head, tail = (self.ends.find(*end) for end in (reversed(ends) if meant.inverse else ends))
        fit = self.ends.fit(head, tail, meant)
        if fit is None:
            unknown = [end.name for end in (head, tail) if end.is_unknown]
            detail = ", ".join(unknown) or f"{_types(head.types)} -> {_types(tail.types)}"
            self._drop("triple", UNKNOWN_END if unknown else NO_DOMAIN, raw, detail)
            return
        if fit.reversed:
            head, tail = tail, head
        spot, wrong = self.locator.spot(raw.chunk, raw.quote, head, tail, self.ends.others(head, tail))
        if spot is None:
            self._not_found("triple", raw, head, tail)
        elif fault := name_fault(head.name) or name_fault(tail.name):
            self._drop("triple", fault, raw)
        elif self.ends.are_same(head, fit.head_type, tail, fit.tail_type):
            self._drop("triple", SAME, raw)
        elif wrong:
            self._drop("triple", NAMES_NOT_IN_TEXT, raw, wrong)
        else:
            self._keep("triple", head, fit, meant, tail, spot, raw.confidence)

    def _not_found(self, kind: str, raw: RawTriple | RawAttribute, *ends: End) -> None:
        """Drop for want of a sentence; if a name stands nowhere, there cannot be one."""
        absent = "" if raw.quote else self.locator.absent(*ends)
        detail = absent or raw.quote or "no sentence says so"
        self._drop(kind, NAMES_NOT_IN_TEXT if absent else QUOTE_NOT_FOUND, raw, detail)

    # -- attributes -------------------------------------------------------------------

    def _attribute(self, raw: RawAttribute) -> None:
        if self.bound.is_relation(raw.attribute) and not self.bound.attribute(raw.attribute, known=True):
            self._triple(RawTriple(raw.entity, raw.attribute, raw.value, *_rest(raw)[:-1], "", "", raw.item))
            return
        meant = self.bound.attribute(raw.attribute)
        if meant is None:
            self._drop("attribute", UNKNOWN_ATTRIBUTE, raw, raw.attribute)
            return
        owner, value = self.ends.find(raw.entity), Value(clean_name(raw.value[: 2 * MAX_VALUE]), meant.kind)
        type_ = self.ends.owner(owner, meant)
        if type_ is None:
            self._drop("attribute", UNKNOWN_END if owner.is_unknown else NO_DOMAIN, raw, _types(owner.types))
            return
        if fault := value_fault(meant.kind, value.name):
            self._drop("attribute", fault, raw, value.name[:80])
            return
        spot, wrong = self.locator.spot(raw.chunk, raw.quote, owner, value, self.ends.others(owner))
        if spot is None:
            self._not_found("attribute", raw, owner)
        elif fault := name_fault(owner.name):
            self._drop("attribute", fault, raw)
        elif wrong:
            self._drop("attribute", NAMES_NOT_IN_TEXT, raw, wrong)
        else:
            self._keep("attribute", owner, Fit(type_, ""), meant, value, spot, raw.confidence)

    def _keep(
        self, kind: str, head: End, fit: Fit, meant: Meant, tail: End | Value, spot: Spot, confidence: float | None
    ) -> None:
        head_type = fit.head_type or _only(meant.domain)
        tail_type = fit.tail_type or (_only(meant.range) if isinstance(tail, End) else "")
        sure = DEFAULT_CONFIDENCE if confidence is None else confidence
        flags = (("reversed",) if fit.reversed else ()) + spot.flags
        names = head.name, head_type, meant.name, tail.name, tail_type
        self.facts.append(ModelClaim(kind, *names, spot.number, spot.start, spot.end, sure, flags))
        self.ends.expect(head, head_type)
        if isinstance(tail, End):
            self.ends.expect(tail, tail_type)

    # -- wishes -----------------------------------------------------------------------

    def _wish(self, raw: RawProposal) -> Wish | None:
        name = identifier(raw.name)
        if self.bound.mode != SUGGEST:
            self._drop("proposal", "proposals are not asked for", raw)
        elif name is None:
            self._drop("proposal", "no usable name", raw, raw.name[:80])
        elif self.bound.has(raw.kind, raw.name):
            self._drop("proposal", "already in the schema", raw, self.bound.resolved(raw.kind, raw.name))
        elif (spot := self.locator.words(raw.chunk, raw.quote)) is None:
            self._drop("proposal", QUOTE_NOT_FOUND, raw, raw.quote)
        else:
            sure = DEFAULT_WISH_CONFIDENCE if raw.confidence is None else raw.confidence
            instead = self.bound.resolved(raw.kind, clean_name(raw.instead_of)) if raw.instead_of else None
            description = clean_name(raw.description)[:300]
            return Wish(raw.kind, name, description, sure, spot.number, spot.start, spot.end, instead)
        return None


def _rest(raw: RawTriple | RawAttribute) -> tuple[int | None, str, float | None, object]:
    return raw.chunk, raw.quote, raw.confidence, raw.item


def _only(types: tuple[str, ...]) -> str:
    """The type that a domain or range leaves, empty if it leaves a choice."""
    return types[0] if len(types) == 1 else ""


def _types(types: Iterable[str]) -> str:
    return "|".join(type_ or "unknown" for type_ in types)


def _once(claims: Iterable[ModelClaim]) -> tuple[ModelClaim, ...]:
    """Each fact once per quote, with the highest confidence that was given for it."""
    found: dict[ModelClaim, ModelClaim] = {}
    for claim in claims:
        key = replace(claim, confidence=0.0, flags=())
        before = found.get(key)
        if before is None:
            found[key] = claim
        elif claim.confidence > before.confidence:
            found[key] = replace(before, confidence=claim.confidence)
    return tuple(found.values())


def _wishes_once(wishes: Iterable[Wish]) -> tuple[Wish, ...]:
    found: dict[tuple[str, str, int, int, int], Wish] = {}
    for wish in wishes:
        key = (wish.kind, wish.name, wish.number, wish.start, wish.end)
        if key not in found or wish.confidence > found[key].confidence:
            found[key] = wish
    return tuple(found.values())
