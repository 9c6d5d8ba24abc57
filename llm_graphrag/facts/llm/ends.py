"""The entities of a reply: what stands at the ends of its triples, under which name and type.

A name at an end means the entity that the reply lists under that name, or under that alias
if only one does. An end that is not listed is an entity too; where the relation leaves one
type for it, that is its type. A listed entity of a type that the schema does not have is
not taken, and what relies on its type is not either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...text.normalise import clean_name, name_key
from ..claims import ALSO_KNOWN_AS, IS_A
from .names import is_description, name_fault, one_holds_the_other
from .places import Places
from .reading import Dropped, ModelClaim
from .reply import RawEntity
from .types import Bound, Meant

__all__ = ["End", "Ends", "Entity", "Fit"]

NOT_IN_TEXT, UNKNOWN_TYPE, DESCRIPTION = "name not in the text", "unknown entity type", "alias is a description"
OTHER = "alias is another entity"
_MAX_ALIASES = 20
_MAX_WRITTEN = 1_000  # characters of a name that are looked at; it is too long long before
_UNKNOWN = "?"  # the type of an end whose type the schema does not have; allowed nowhere


@dataclass
class Entity:
    """One entity of the reply."""

    name: str
    type: str
    aliases: list[str] = field(default_factory=list)
    chunks: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class End:
    """What a name at an end of a triple means: all types it could have, all forms it may stand in the text under."""

    name: str
    key: str
    types: tuple[str, ...]
    forms: tuple[str, ...]
    nouns: frozenset[str] = frozenset()  # "the film" means a film that has been named

    @property
    def is_unknown(self) -> bool:
        return self.types == (_UNKNOWN,)


@dataclass(frozen=True, slots=True)
class Fit:
    """The types under which two ends fit a relation, and whether only the other way round."""

    head_type: str
    tail_type: str
    reversed: bool = False


class Ends:
    """Collects the entities of one reply."""

    def __init__(self, bound: Bound, places: Places, dropped: list[Dropped]) -> None:
        self.bound = bound
        self.places = places
        self.dropped = dropped
        self._entities: dict[str, list[Entity]] = {}
        self._listed: set[str] = set()  # keys of all that were listed, taken or not
        self._unknown: set[str] = set()  # keys that were listed with a type that the schema does not have
        self._aliases: dict[str, set[str]] = {}  # key of an alias to keys of entities
        self._expected: dict[str, set[str]] = {}  # types that kept facts leave for an end without one

    # -- what is listed ---------------------------------------------------------------

    def add(self, entities: Sequence[RawEntity]) -> None:
        """Take the entities of a reply.

        What one of them is called is no other name of another, as weak models say of what stands nearby; unless one
        name holds the words of the other: then it may be one thing that was listed twice.
        """
        self._listed |= {name_key(clean_name(raw.name[:_MAX_WRITTEN])) for raw in entities}
        for raw in entities:
            self._add(raw)

    def listed(self) -> Iterator[Entity]:
        for same in self._entities.values():
            yield from same

    def _add(self, raw: RawEntity) -> None:
        name = clean_name(raw.name[:_MAX_WRITTEN])
        key = name_key(name)
        type_ = self.bound.entity_type(raw.type) if raw.type else ""
        fault = name_fault(name)
        if type_ is None:
            self._unknown.add(key)
            self._drop("entity", UNKNOWN_TYPE, raw, raw.type)
        elif fault or not self.places.documents_with((name,)):
            self._drop("entity", fault or NOT_IN_TEXT, raw, name)
        else:
            self._join(name, key, type_, raw)

    def _join(self, name: str, key: str, type_: str, raw: RawEntity) -> None:
        same = self._entities.setdefault(key, [])
        entity = next((other for other in same if other.type == type_ or not other.type or not type_), None)
        if entity is None:
            entity = Entity(name, type_)
            same.append(entity)
        entity.type = entity.type or type_
        entity.chunks |= set(raw.chunks)
        known = {key, *map(name_key, entity.aliases)}
        for written in raw.aliases[:_MAX_ALIASES]:
            alias = clean_name(written[:_MAX_WRITTEN])
            if name_key(alias) in known:
                continue
            fault = name_fault(alias) or (DESCRIPTION if is_description(alias) else "")
            if name_key(alias) in self._listed and not one_holds_the_other(name, alias):
                fault = fault or OTHER
            if fault or not self.places.documents_with((alias,)):
                self._drop("alias", fault or NOT_IN_TEXT, raw, alias)
                continue
            known.add(name_key(alias))
            entity.aliases.append(alias)
            self._aliases.setdefault(name_key(alias), set()).add(key)

    def _drop(self, kind: str, reason: str, raw: RawEntity, detail: str) -> None:
        self.dropped.append(Dropped(kind, reason, raw.item, detail[:200]))

    # -- what stands at an end ----------------------------------------------------------

    def find(self, written: str, type_hint: str = "") -> End:
        """What a name means; ``type_hint`` is a type that was given with it."""
        name = clean_name(written[:_MAX_WRITTEN])
        key = name_key(name)
        owners = self._aliases.get(key, set())
        if key not in self._listed and key not in self._entities and len(owners) == 1:
            key = next(iter(owners))
        entities = self._entities.get(key, [])
        hint = self.bound.entity_type(type_hint) if type_hint else ""
        types = dict.fromkeys(entity.type for entity in entities)
        if hint:
            types = dict.fromkeys((hint, *types))
        if not any(types) and (key in self._unknown or hint is None):
            types = {_UNKNOWN: None}
        forms = dict.fromkeys(form for entity in entities for form in (entity.name, *entity.aliases))
        shown = entities[0].name if entities else name
        own = () if name in forms else (name,)
        return End(shown, key, tuple(types) or ("",), (*forms, *own), self.bound.nouns(types))

    def others(self, *ends: End) -> list[str]:
        """The names of all listed entities but these."""
        keys = {end.key for end in ends}
        return [entity.name for key, same in self._entities.items() if key not in keys for entity in same[:1]]

    def fit(self, head: End, tail: End, meant: Meant) -> Fit | None:
        """The types under which the ends fit; the other way round only if both are known, and nothing else fits."""
        for turned, (first, second) in enumerate(((head, tail), (tail, head))):
            pairs = [(a, b) for a in first.types for b in second.types if self._fits(a, b, meant)]
            if turned:  # an end without a type fits anywhere, and would turn a wrong triple into a false one
                pairs = [pair for pair in pairs if all(type_ and type_ != _UNKNOWN for type_ in pair)]
            if pairs:
                apart = [pair for pair in pairs if head.key != tail.key or pair[0] != pair[1]]
                best = max(apart or pairs, key=lambda pair: bool(pair[0]) + bool(pair[1]))
                head_type, tail_type = ("" if type_ == _UNKNOWN else type_ for type_ in best)
                return Fit(head_type, tail_type, bool(turned))
        return None

    def _fits(self, head: str, tail: str, meant: Meant) -> bool:
        return self.bound.allows(meant.domain, head) and self.bound.allows(meant.range, tail)

    def owner(self, owner: End, meant: Meant) -> str | None:
        """The type under which an entity may have an attribute, None if it may not."""
        fitting = [
            "" if type_ == _UNKNOWN else type_ for type_ in owner.types if self.bound.allows(meant.domain, type_)
        ]
        return max(fitting, key=bool) if fitting else None

    @staticmethod
    def are_same(head: End, head_type: str, tail: End, tail_type: str) -> bool:
        return head.key == tail.key and (head_type == tail_type or not head_type or not tail_type)

    # -- types that facts leave ---------------------------------------------------------

    def expect(self, end: End, type_: str) -> None:
        """Remember the type that a kept fact gives to an end; one that was not listed is an entity from now on."""
        if type_ and not any(end.types):
            self._expected.setdefault(end.key, set()).add(type_)
        if end.key not in self._entities and not end.is_unknown:
            self._entities[end.key] = [Entity(end.name, type_ if any(end.types) else "")]

    def typed(self, facts: Iterable[ModelClaim]) -> Iterator[ModelClaim]:
        """The facts with the types of ends that were left open and that the other facts leave no choice for."""
        for fact in facts:
            triple = fact.kind == "triple"
            meant = self.bound.relation(fact.relation) if triple else self.bound.attribute(fact.relation)
            head_type = fact.head_type or self._only(fact.head)
            tail_type = fact.tail_type or (self._only(fact.tail) if triple else "")
            fits = meant is None or self._fits(head_type, tail_type, meant)
            yield replace(fact, head_type=head_type, tail_type=tail_type) if fits else fact

    def _only(self, name: str) -> str:
        types = self._expected.get(name_key(name), set())
        return next(iter(types)) if len(types) == 1 else ""

    # -- claims about the entities themselves ---------------------------------------------

    def claims(self) -> Iterator[ModelClaim]:
        """What each entity is and what else it is called, with a sentence for each."""
        for key, same in self._entities.items():
            for entity in same:
                type_ = entity.type or self._only(key)
                numbers = self._numbers(entity, shared=len(same) > 1)
                if type_:
                    yield from self._claims("type", entity, type_, IS_A, type_, entity.name, numbers)
                for alias in entity.aliases:
                    yield from self._claims("alias", entity, type_, ALSO_KNOWN_AS, alias, alias, numbers)

    def _numbers(self, entity: Entity, shared: bool) -> list[int]:
        """The chunks of the documents that name an entity; those it was listed for, if another shares its name."""
        documents = self.places.documents_with((entity.name,))
        numbers = [number for first in documents for number in self.places.siblings(first)]
        return [number for number in numbers if number in entity.chunks] or numbers if shared else numbers

    def _claims(
        self, kind: str, entity: Entity, type_: str, relation: str, tail: str, shown: str, numbers: list[int]
    ) -> Iterator[ModelClaim]:
        """A claim for each chunk that names it. Where the name stands within a longer one, as Porto in Porto Works, it
        counts if the entity was listed for that chunk, or if it stands nowhere else."""
        longer = self._longer(entity, shown)
        found = [(number, *place) for number in numbers if (place := self.places.sentence_with(number, shown, longer))]
        counted = [place for place in found if place[2] or place[0] in entity.chunks]
        for number, span, _ in counted or found:
            yield ModelClaim(kind, entity.name, type_, relation, tail, "", number, *span)

    def _longer(self, entity: Entity, shown: str) -> list[str]:
        """The names of other entities that hold this one."""
        key = name_key(shown)
        others = (other for same in self._entities.values() for other in same if other is not entity)
        names = (name for other in others for name in (other.name, *other.aliases))
        return [name for name in names if key in name_key(name) and name_key(name) != key]
