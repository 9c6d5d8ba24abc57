"""Which entities may be one: pairs whose names are alike, weighed by all that is known of the two.

``candidates`` only reads. ``suggest`` stores those with little doubt as suggestions, in place of the earlier ones;
what a person has decided on stays, and what was rejected is never suggested again, nor anything that would join it.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..facts.doubt import THRESHOLD, Signals, doubt
from ..facts.likeness import CLOSE, PARTS, REASONS, Likeness, likeness
from ..facts.merges import Node, Pair, groups
from ..facts.name_blocks import pairs
from ..facts.name_forms import Form, form
from ..settings import Settings
from ..store import merges
from ..store.connection import transaction
from ..store.merges import APPROVED, REJECTED, Suggestion
from .merge_signals import Known, read

__all__ = ["Candidate", "candidates", "suggest"]

STRENGTH = {kind: place for place, kind in enumerate(REASONS)}

Ids = tuple[int, int]  # of two entities, the smaller first

NAMES = """
  SELECT e.id, e.key, e.type, e.merged_into, a.name, a.kind, a.key FROM kg_entities e
  JOIN kg_aliases a ON a.entity = e.id AND a.kind <> 'spelling' ORDER BY e.id, a.kind <> 'name', a.id"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two entities whose names are alike, with the doubt that they are one."""

    kept: int
    merged: int
    pair: Pair
    signals: Signals
    doubt: float

    @property
    def reason(self) -> str:
        """What speaks for it, in words."""
        signals = self.signals
        said = [REASONS[signals.kind]]
        if signals.together:
            said.append("written one after the other in brackets")
        if signals.neighbours >= 0.05:
            said.append(f"they share {signals.neighbours:.0%} of their connections")
        if signals.apart:
            said.append("but a date or number that there is one of differs")
        if signals.related:
            said.append("but a fact has them as its two ends")
        if signals.rivals:
            said.append(f"but {signals.rivals} other names would fit as well")
        return "; ".join(said)


@dataclass(slots=True)
class _Entities:
    """All entities with their names, taken apart."""

    nodes: dict[int, Node]
    roots: dict[int, int]
    owners: list[int]  # of each name
    keys: list[str]
    forms: list[Form]
    own: list[bool]  # whether it is the name that the entity is shown by
    turned: set[int]  # entities shown by a name like 'Ruiz, Ana'


def candidates(connection: sqlite3.Connection, settings: Settings) -> list[Candidate]:
    """All pairs that may be one, whatever the doubt, the least first; without those that are, or must not be."""
    entities = _entities(connection)
    alike = _alike(entities)
    _leave_out_decided(connection, entities, alike)
    concerned = {entity for pair in alike for entity in pair}
    known = read(connection, concerned, entities.roots, bool(settings.embedding_model))
    rivals = _rivals(entities, alike)
    found = [
        _candidate(entities, known, pair, kind, rivals[pair])
        for pair, kind in alike.items()
        if not (kind.kind in PARTS and rivals[pair])
    ]
    return sorted(found, key=lambda candidate: (candidate.doubt, candidate.pair))


def suggest(connection: sqlite3.Connection, settings: Settings, limit: int | None = None) -> list[Candidate]:
    """Store the ``limit`` least doubtful candidates (None: all) up to the threshold as suggestions; returns them.

    What imported files say to be the same stays suggested beside them.
    """
    with transaction(connection):
        found = [c for c in candidates(connection, settings) if c.doubt <= THRESHOLD][:limit]
        alike = [Suggestion(c.pair, c.reason, c.doubt) for c in found]
        pairs = {frozenset((item.pair.kept, item.pair.merged)) for item in alike}
        told = [item for item in merges.said(connection) if frozenset((item.pair.kept, item.pair.merged)) not in pairs]
        merges.put_suggestions(connection, [*alike, *told])
    return found


def _entities(connection: sqlite3.Connection) -> _Entities:
    found = _Entities({}, {}, [], [], [], [], set())
    for entity, key, type_, root, name, kind, alias_key in connection.execute(NAMES):
        found.nodes[entity] = (key, type_)
        if root is not None:
            found.roots[entity] = root
        found.owners.append(entity)
        found.keys.append(alias_key)
        found.forms.append(form(name))
        found.own.append(kind == "name")
        if kind == "name" and found.forms[-1].comma:
            found.turned.add(entity)
    return found


def _alike(entities: _Entities) -> dict[Ids, Likeness]:
    """(entity, entity) -> in which way their names are alike, the strongest; ``short`` is a place in the pair.

    Other names can be those of several: there the entity that is shown by its name is the one that may mean others too.
    """
    found: dict[Ids, Likeness] = {}
    for one, other in pairs(entities.forms):
        a, b = entities.owners[one], entities.owners[other]
        if a == b or (kind := _compare(entities, one, other)) is None:
            continue
        if entities.own[one] != entities.own[other]:
            kind = Likeness(kind.kind, 0 if entities.own[one] else 1)
        if a > b:
            a, b = b, a
            kind = Likeness(kind.kind, None if kind.short is None else 1 - kind.short)
        known = found.get((a, b))
        if known is None or STRENGTH[kind.kind] < STRENGTH[known.kind]:
            found[a, b] = kind
    return found


def _compare(entities: _Entities, one: int, other: int) -> Likeness | None:
    types = [entities.nodes[entities.owners[place]][1] for place in (one, other)]
    differ = "" not in types and types[0] != types[1]
    own = entities.own[one] + entities.own[other]
    if entities.keys[one] == entities.keys[other]:
        return Likeness("homonym") if own == 2 else None if differ else Likeness("alias" if own else "shared")
    if differ or not own:
        return None
    return likeness(entities.forms[one], entities.forms[other], [type_.lower() for type_ in types if type_])


def _leave_out_decided(connection: sqlite3.Connection, entities: _Entities, alike: dict[Ids, Likeness]) -> None:
    """Leave out pairs that are joined, and those that would join what was rejected."""
    stands_for = groups(merges.decided_pairs(connection, APPROVED))
    rejected = {
        frozenset((stands_for.get(pair.kept, pair.kept), stands_for.get(pair.merged, pair.merged)))
        for pair in merges.decided_pairs(connection, REJECTED)
    }
    for a, b in list(alike):
        nodes = (entities.nodes[a], entities.nodes[b])
        joined = entities.roots.get(a, a) == entities.roots.get(b, b)
        if joined or frozenset(stands_for.get(node, node) for node in nodes) in rejected:
            del alike[a, b]


def _rivals(entities: _Entities, alike: Mapping[Ids, Likeness]) -> dict[Ids, int]:
    """How many other things the shorter name of a pair would fit as well; names of one thing count once."""
    things = _things(entities, alike)
    fitting: dict[int, set[int]] = defaultdict(set)
    for pair, kind in alike.items():
        for short, long in _directions(pair, kind):
            fitting[short].add(things.get(long, long))
    return {
        pair: max((len(fitting[short]) - 1 for short, _ in _directions(pair, kind)), default=0)
        for pair, kind in alike.items()
    }


def _things(entities: _Entities, alike: Mapping[Ids, Likeness]) -> dict[int, int]:
    """Entity -> one that stands for all that are joined with it, or named so much alike that they do not rival."""
    stands_for = dict(entities.roots)

    def find(entity: int) -> int:
        while (above := stands_for.get(entity, entity)) != entity:
            entity = above
        return entity

    for (a, b), kind in alike.items():
        close = kind.kind in CLOSE and (kind.short is None or kind.kind == "middle")
        if close and (one := find(a)) != (other := find(b)):
            stands_for[max(one, other)] = min(one, other)
    return {entity: find(entity) for entity in stands_for}


def _directions(pair: Ids, kind: Likeness) -> Iterator[Ids]:
    """(name that may stand for others, other): the shorter one; both ways where none is."""
    a, b = pair
    if kind.short == 0 or kind.kind in ("slip", "typo", "homonym"):
        yield a, b
    if kind.short == 1 or kind.kind in ("slip", "typo", "homonym"):
        yield b, a


def _candidate(entities: _Entities, known: Known, pair: Ids, kind: Likeness, rivals: int) -> Candidate:
    a, b = pair
    roots = (entities.roots.get(a, a), entities.roots.get(b, b))
    signals = Signals(
        kind=kind.kind,
        neighbours=round(known.shared(*roots), 4),
        cosine=known.cosine(a, b),
        rivals=rivals,
        typed=entities.nodes[a][1] == entities.nodes[b][1] != "",
        together=known.together(a, b),
        read_with=round(known.read_with(a, b), 4),
        apart=known.apart(*roots),
        related=known.related(*roots),
        notes=a in known.notes and b in known.notes,
    )
    kept, merged = _kept_first(entities, known, pair, kind)
    return Candidate(kept, merged, Pair(entities.nodes[kept], entities.nodes[merged]), signals, doubt(signals))


def _kept_first(entities: _Entities, known: Known, pair: Ids, kind: Likeness) -> Sequence[int]:
    """The entity to keep, then the other: the one with a note, with a type, with the longer name, the better known."""

    def weight(entity: int) -> tuple[bool, bool, bool, int]:
        short = entity in entities.turned or (kind.short is not None and pair[kind.short] == entity)
        mentions = len(known.places.get(entity, ()))
        facts = known.facts.get(entities.roots.get(entity, entity), 0)
        return (entity in known.notes, entities.nodes[entity][1] != "", not short, mentions + facts)

    return sorted(sorted(pair, key=entities.nodes.__getitem__), key=weight, reverse=True)
