"""A small part of the graph as nodes and edges, for the browser to draw: some paths, or what lies around an entity.

Never more than ``MOST`` nodes; ``left_out`` says how many are not shown. Whatever is in a
picture stands in the text of its page or one click from it, so nothing is lost without
JavaScript. ``level`` is where a node stands on the way from one end to the other, so that
paths can be drawn from left to right. A type has the same shape and colour in every picture of
a file: they go by the order in which types came into it.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from markupsafe import Markup

from .path_records import Route
from .queries import entity_refs, has_table
from .records import EntityRef, Group
from .urls import Links

MOST = 300
KINDS = 8  # entries of a legend
SHAPES = 7  # and as many colours, so that 49 types have a sign of their own; one more is for all others
OTHERS = "other types"
AROUND = 70  # neighbours of one entity: what can still be told apart
COUNTED = 1_000  # neighbours that are counted
LOOKED_AT = 20_000  # facts read to find what joins the neighbours to one another


@dataclass(frozen=True)
class Node:
    """``end``: one of those that were asked about; ``kind``: its place in the picture's legend."""

    entity: EntityRef
    level: int
    end: bool
    kind: int


@dataclass(frozen=True)
class Edge:
    """A triple between two of the nodes, by the ids of their entities."""

    head: int
    relation: str
    tail: int


@dataclass(frozen=True)
class Kind:
    """An entry of the legend: a type, or all others, how many nodes are of it, and what they look like."""

    name: str
    count: int
    shape: int
    colour: int


@dataclass(frozen=True)
class Picture:
    drawn: str  # paths, around
    legend: tuple[Kind, ...]  # types of entities, the most frequent first, the last for all others
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: int
    more: bool  # there are more than ``left_out``

    def embedded(self, links: Links) -> Markup:
        """The picture as JSON that may stand inside a script tag."""
        from .page import as_json

        text = json.dumps(as_json(self, links), ensure_ascii=True, separators=(",", ":"))
        for character in "<>&":
            text = text.replace(character, f"\\u{ord(character):04x}")
        return Markup(text)


_TYPES = """
  WITH RECURSIVE step(type, n) AS (
    SELECT min(type), 1 FROM kg_entities
    UNION ALL
    SELECT (SELECT min(type) FROM kg_entities WHERE type > step.type), n + 1
    FROM step WHERE step.type IS NOT NULL AND n < :limit)
  SELECT type FROM step WHERE type IS NOT NULL ORDER BY (SELECT min(id) FROM kg_entities e WHERE e.type = step.type)"""
MOST_TYPES = 1_000


def signs(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Type -> shape and colour; a type that is not among them has the sign of all others."""
    rows = connection.execute(_TYPES, {"limit": MOST_TYPES}).fetchmany(SHAPES * SHAPES)
    return {row["type"]: (n % SHAPES, (n + n // SHAPES) % SHAPES) for n, row in enumerate(rows)}


def _picture(
    signs: Mapping[str, tuple[int, int]],
    drawn: str,
    places: Iterable[tuple[EntityRef, int]],
    ends: Collection[int],
    edges: Iterable[Edge],
    left_out: int,
    more: bool = False,
) -> Picture:
    """The picture of entities, each with its level; the types that are rarest share one entry of the legend."""
    places = list(places)
    counted = Counter(ref.type for ref, _ in places)
    types = sorted(counted, key=lambda type_: (type_ not in signs, -counted[type_], type_))
    most = KINDS if len(types) <= KINDS and signs.keys() >= counted.keys() else KINDS - 1
    named = [type_ for type_ in types[:most] if type_ in signs]
    legend = [Kind(type_, counted[type_], *signs[type_]) for type_ in named]
    if len(types) > len(named):
        legend.append(Kind(OTHERS, sum(counted[type_] for type_ in types[len(named) :]), SHAPES, SHAPES))
    kind = {type_: min(place, len(named)) for place, type_ in enumerate(types)}
    nodes = tuple(Node(ref, level, ref.id in ends, kind[ref.type]) for ref, level in places)
    return Picture(drawn, tuple(legend), nodes, tuple(edges), left_out, more)


def of_routes(routes: Sequence[Route], ends: Iterable[int], signs: Mapping[str, tuple[int, int]]) -> Picture | None:
    """The picture of some ways, best first; None if there is nothing to draw."""
    ends = {*ends}
    nodes: dict[int, tuple[EntityRef, int]] = {}
    edges: dict[Edge, None] = {}
    left_out: set[int] = set()
    longest = max((route.length for route in routes), default=0)
    for route in routes:
        new = {ref.id for ref in route.nodes} - nodes.keys()
        if len(nodes) + len(new) > MOST:
            left_out |= new
            continue
        for place, ref in enumerate(route.nodes):
            last = place == route.length
            nodes.setdefault(ref.id, (ref, longest if last and ref.id in ends else place))
        for (a, b), hop in zip(pairwise(route.nodes), route.hops, strict=True):
            for relation, forward in [(hop.relation, hop.forward), *((o.relation, o.forward) for o in hop.also)]:
                edges[Edge(a.id, relation, b.id) if forward else Edge(b.id, relation, a.id)] = None
            if not hop.triple:  # what is named together has no direction
                edges[Edge(b.id, hop.relation, a.id)] = None
    if len(nodes) < 2:
        return None
    return _picture(signs, "paths", nodes.values(), ends, edges, len(left_out - nodes.keys()))


_NEAR = {
    "out": """SELECT t.tail AS other FROM kg_triples t WHERE t.head = :entity AND t.relation = :relation
              ORDER BY t.evidence DESC, t.tail LIMIT :limit""",
    "in": """SELECT t.head AS other FROM kg_triples t WHERE t.tail = :entity AND t.relation = :relation
             ORDER BY t.evidence DESC, t.head LIMIT :limit""",
}
_NEAR_A_HUB = {
    "out": """SELECT t.tail AS other FROM kg_triples t WHERE t.head = :entity AND t.relation = :relation
              ORDER BY t.tail LIMIT :limit""",
    "in": """SELECT t.head AS other FROM kg_triples t WHERE t.tail = :entity AND t.relation = :relation LIMIT :limit""",
}
_COUNT = """
  SELECT count(*) FROM (
    SELECT tail FROM (SELECT DISTINCT tail FROM kg_triples WHERE head = :entity AND tail <> :entity LIMIT :limit)
    UNION
    SELECT head FROM (SELECT DISTINCT head FROM kg_triples WHERE tail = :entity AND head <> :entity LIMIT :limit))"""
_FACTS = """
  SELECT f.value AS id, n.n AS n FROM json_each(:shown) f
  CROSS JOIN kg_counts n ON n.kind = 'facts' AND n.item = f.value ORDER BY 2, 1"""
_BETWEEN = """
  SELECT t.head, t.relation, t.tail FROM json_each(:few) f CROSS JOIN kg_triples t ON t.head = f.value
  WHERE t.tail IN (SELECT value FROM json_each(:shown)) AND t.tail <> t.head
  UNION
  SELECT t.head, t.relation, t.tail FROM json_each(:few) f CROSS JOIN kg_triples t ON t.tail = f.value
  WHERE t.head IN (SELECT value FROM json_each(:shown)) AND t.tail <> t.head
  ORDER BY 1, 2, 3"""


def around(connection: sqlite3.Connection, entity: EntityRef, groups: Sequence[Group]) -> Picture | None:
    """The entity with its neighbours, some of each relation in turn, and what joins those; None if it has none."""
    edges: dict[Edge, None] = {}
    lists = []
    for group in groups:
        args = {"entity": entity.id, "relation": group.name, "limit": AROUND}
        sql = (_NEAR_A_HUB if group.capped else _NEAR)[group.direction]
        others = [row["other"] for row in connection.execute(sql, args) if row["other"] != entity.id]
        lists.append([(group, other) for other in others])
    shown: dict[int, None] = {}
    for turn in zip_longest(*lists):
        for group, other in filter(None, turn):
            if other in shown or len(shown) < AROUND:
                shown[other] = None
                out = group.direction == "out"
                edges[Edge(entity.id, group.name, other) if out else Edge(other, group.name, entity.id)] = None
    refs = entity_refs(connection, [entity.id, *shown])
    if len(refs) < 2:
        return None
    for edge in _between(connection, list(shown)):
        edges.setdefault(edge)
    count = connection.execute(_COUNT, {"entity": entity.id, "limit": COUNTED + 1}).fetchone()[0]
    left_out = max(min(count, COUNTED) - len(shown), 0)
    places = [(ref, int(id_ != entity.id)) for id_, ref in refs.items()]
    return _picture(signs(connection), "around", places, [entity.id], edges, left_out, more=count > COUNTED)


def _between(connection: sqlite3.Connection, shown: list[int]) -> list[Edge]:
    """What joins the neighbours to one another, found from those that have few facts."""
    if not has_table(connection, "kg_counts"):
        return []
    few, facts = [], 0
    for row in connection.execute(_FACTS, {"shown": json.dumps(shown)}):
        facts += row["n"]
        if facts > LOOKED_AT:
            break
        few.append(row["id"])
    rows = connection.execute(_BETWEEN, {"few": json.dumps(few), "shown": json.dumps(shown)})
    return [Edge(row["head"], row["relation"], row["tail"]) for row in rows]
