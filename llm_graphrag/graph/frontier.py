"""The triples around a frontier of entities, read a statement at a time and no further than allowed.

Whoever walks the graph (``graph.paths``, ``graph.metapath``) asks for the neighbours of many
entities at once. Each entity is read once; what a walk may cost is bounded three ways: by
the triples read of one entity (a hub has hundreds of thousands), by the triples read in all,
and by the clock. Where a bound is met, ``truncated`` says so, and the triples that are read
are always the same ones, unless it was the clock.

``Within`` narrows the graph: to some relations, to entities of some types, to triples that
some documents state. Statements have the form that SQLite 3.40 plans well (``graph.view``).
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

__all__ = ["EVERYTHING", "Frontier", "Limits", "Within"]

SLICE = 500  # entities of a frontier read by one statement: between two, the bounds are looked at
FEW = 24  # of them at first, where the reader may soon have enough; then twice as many, and so on
PIECE = 200  # triples of one entity read at a time, where the reader may soon have enough

DEGREES = """
    SELECT f.value, n.n FROM json_each(:nodes) f CROSS JOIN kg_counts n ON n.kind = 'facts' AND n.item = f.value
"""
NEAR = """
    SELECT f.value, t.tail FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.head = f.value {where_out}
    UNION ALL
    SELECT f.value, t.head FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.tail = f.value {where_in}
"""
NEAR_A_HUB = """
    SELECT f.value, t.tail FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.id IN (
      SELECT o.id FROM kg_triples o WHERE o.head = f.value {relation} ORDER BY o.relation, o.tail LIMIT :hub)
    {where_out}
    UNION ALL
    SELECT f.value, t.head FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.id IN (
      SELECT o.id FROM kg_triples o WHERE o.tail = f.value {relation} ORDER BY o.relation, o.head LIMIT :hub)
    {where_in}
"""
NEAR_ONE = """
      SELECT other FROM (
        SELECT t.tail AS other FROM kg_triples t WHERE t.head = {node} {where_out} ORDER BY t.relation, t.tail)
      UNION ALL
      SELECT other FROM (
        SELECT t.head AS other FROM kg_triples t WHERE t.tail = {node} {where_in} ORDER BY t.relation, t.head)
"""
FIRST = "SELECT f.value, (SELECT json_group_array(other) FROM ({near} LIMIT :piece)) FROM json_each(:nodes) f"
REST = "SELECT other FROM ({near}) LIMIT -1 OFFSET :piece"
JOINED = """
    SELECT f.value, t.tail FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.head = f.value
    WHERE t.tail IN (SELECT value FROM json_each(:nodes)) {where_out}
"""
RELATION = "AND {alias}.relation IN (SELECT value FROM json_each(:relations))"
TYPE = """AND EXISTS (SELECT 1 FROM kg_entities e WHERE e.id = t.{end}
  AND (e.type IN (SELECT value FROM json_each(:types)) OR e.id IN (SELECT value FROM json_each(:ends))))"""
DOCUMENT = """AND EXISTS (SELECT 1 FROM kg_evidence v CROSS JOIN kg_chunks c ON c.id = v.chunk
  WHERE v.triple = t.id AND c.document IN (SELECT value FROM json_each(:documents)))"""


@dataclass(frozen=True, slots=True)
class Within:
    """The part of the graph to stay in; None: no such condition."""

    relations: frozenset[str] | None = None
    types: frozenset[str] | None = None  # of entities between the ends; the ends themselves may have any
    documents: frozenset[int] | None = None  # a triple counts if one of them states it


EVERYTHING = Within()


@dataclass(frozen=True, slots=True)
class Limits:
    """What one question may read."""

    hub: int = 10_000  # triples of one entity, in each direction
    triples: int = 500_000  # in all
    seconds: float = 2.0


class Frontier:
    """Neighbours and degrees of entities, for one question."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        within: Within = EVERYTHING,
        limits: Limits | None = None,
        ends: Collection[int] = (),
    ) -> None:
        self.connection = connection
        self.limits = limits or Limits()
        self.truncated = False
        self._until = time.monotonic() + self.limits.seconds
        self._left = self.limits.triples
        self._near: dict[int, dict[int, None]] = {}
        self._degrees: dict[int, int] = {}
        narrowed = (part is not None for part in (within.relations, within.types, within.documents))
        self._near_sql, self._hub_sql, self._joined_sql, self._first_sql, self._rest_sql = _statements(*narrowed)
        self._values = _values(within, ends, self.limits.hub)

    def spent(self) -> bool:
        """Whether nothing more may be read; ``truncated`` then says so."""
        spent = self._left <= 0 or time.monotonic() > self._until
        self.truncated |= spent
        return spent

    def degrees(self, nodes: Collection[int]) -> Mapping[int, int]:
        """Entity -> its number of facts, attributes included, whatever part of the graph is looked at."""
        new = [node for node in nodes if node not in self._degrees]
        if new:
            self._degrees.update(dict.fromkeys(new, 1))
            self._degrees.update(self._rows(DEGREES, new))
        return self._degrees

    def neighbours(self, nodes: Sequence[int]) -> Mapping[int, Collection[int]]:
        """Entity -> the entities that it shares a triple with, itself excepted. Few facts first, if not all fit."""
        new = [node for node in nodes if node not in self._near]
        if new:
            degrees = self.degrees(new)
            plain = [node for node in new if degrees[node] <= self.limits.hub]
            hubs = [node for node in new if degrees[node] > self.limits.hub]
            if sum(degrees[node] for node in plain) > self._left:
                plain.sort(key=lambda node: (degrees[node], node))
            for sql, part in ((self._near_sql, plain), (self._hub_sql, hubs)):
                for some in _slices(part):
                    if self.spent():
                        return self._near
                    self._read(sql, some)
        return self._near

    def pieces(self, nodes: Sequence[int], cap: int | None = None) -> Iterator[tuple[int, list[int]]]:
        """(entity, entities that it shares a triple with), a piece at a time, as they are read; who has enough stops.

        Of every entity the first piece comes first, then what is left of hubs. With ``cap``, which is the size of a
        piece then, the first is all.
        """
        size = cap or PIECE
        hubs = []
        for part in _growing(nodes):
            if self.spent():
                return
            for node, others in self._rows(self._first_sql, part, piece=size):
                near = json.loads(others)
                if len(near) == size:
                    self.truncated |= cap is not None
                    hubs.append(node)
                self._left -= len(near)
                yield node, near
                if self._left <= 0:
                    self.truncated = True
                    return
        for node in hubs if cap is None else ():
            rest = self._rows(self._rest_sql, (), piece=size, node=node)
            while not self.spent() and (rows := rest.fetchmany(size)):
                self._left -= len(rows)
                yield node, [other for (other,) in rows]

    def join_hubs(self, nodes: Collection[int]) -> None:
        """Make sure that hubs among ``nodes`` that share a triple are neighbours, however little is read of them."""
        degrees = self.degrees(nodes)
        hubs = [node for node in nodes if degrees[node] > self.limits.hub]
        if len(hubs) < 2:
            return
        self.neighbours(hubs)
        for head, tail in self._rows(self._joined_sql, hubs):
            if head != tail:
                self._near.setdefault(head, {})[tail] = self._near.setdefault(tail, {})[head] = None

    def _rows(self, sql: str, nodes: Sequence[int], **values: object) -> sqlite3.Cursor:
        cursor = self.connection.cursor()
        cursor.row_factory = None  # plain tuples, whatever the connection makes of rows
        return cursor.execute(sql, {**self._values, **values, "nodes": json.dumps(nodes)})

    def _read(self, sql: str, nodes: Sequence[int]) -> None:
        near = self._near
        near.update((node, {}) for node in nodes)
        rows = self._rows(sql, nodes).fetchall()
        for node, other in rows:
            if node != other:
                near[node][other] = None
        self._left -= len(rows)
        if sql is self._hub_sql:
            self.truncated = True


def _slices(nodes: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(nodes), SLICE):
        yield nodes[start : start + SLICE]


def _growing(nodes: Sequence[int]) -> Iterator[Sequence[int]]:
    start, size = 0, FEW
    while start < len(nodes):
        yield nodes[start : start + size]
        start, size = start + size, min(2 * size, SLICE)


def _values(within: Within, ends: Collection[int], hub: int) -> dict[str, object]:
    """What the statements are given beside the entities; no text of a user's stands in a statement itself."""
    return {
        "hub": hub,
        "relations": json.dumps(sorted(within.relations or ())),
        "types": json.dumps(sorted(within.types or ())),
        "ends": json.dumps(sorted(ends)),
        "documents": json.dumps(sorted(within.documents or ())),
    }


@cache
def _statements(relations: bool, types: bool, documents: bool) -> tuple[str, str, str, str, str]:
    """The statements for plain entities, hubs, hubs among themselves, first pieces, and what is left after them."""
    relation = RELATION if relations else ""
    parts = {}
    for way, end in (("out", "tail"), ("in", "head")):
        type_ = TYPE.format(end=end) if types else ""
        parts[f"where_{way}"] = " ".join((relation.format(alias="t"), type_, DOCUMENT if documents else ""))
    of_hubs = NEAR_A_HUB.format(**parts, relation=relation.format(alias="o"))
    first = FIRST.format(near=NEAR_ONE.format(**parts, node="f.value"))
    rest = REST.format(near=NEAR_ONE.format(**parts, node=":node"))
    return NEAR.format(**parts), of_hubs, JOINED.format(**parts), first, rest
