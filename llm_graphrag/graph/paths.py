"""How two things are connected: the best paths between them, with a sentence for every hop.

``shortest_paths`` looks from both ends at once, over triples in either direction, reading
frontiers from the file; the graph is never loaded (``graph.ways`` has the algorithm,
``graph.frontier`` the SQL). A path is a list of entities without repetition, with a ``Hop``
between each two: the triple, its direction, its best sentence and place.

Best first means: few hops, then entities that are joined to few others, then ids. What is
joined to more than one in fifty of all entities, and to more than ``CROWD`` (a change log, a
list of all things), joins any two, so it counts as two more hops; it is still found if there
is nothing better.

Values in, values out: it needs an open connection and nothing else of ours, so that a page
can use it without llm.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise

from .frontier import EVERYTHING, Frontier, Limits, Within
from .hops import Evidence, Hop, Joined, Node, hops_between, nodes_of
from .ways import Way, best_ways, first_way

__all__ = [
    "Evidence",
    "Hop",
    "Joined",
    "Limits",
    "Node",
    "Path",
    "Paths",
    "Within",
    "crowd",
    "shortest_path",
    "shortest_paths",
]

K = 3
MAX_HOPS = 4
FAR = 40  # hops: what is farther apart than this is not connected, for all that anybody learns from it
CROWD = 50  # facts: what has fewer is never too common to tell anything
CROWD_SHARE = 0.02  # of all entities
LEGS = 10

KEPT = """
    SELECT f.value, coalesce(e.merged_into, e.id)
    FROM json_each(:nodes) f CROSS JOIN kg_entities e ON e.id = f.value
"""
ENTITIES = "SELECT coalesce(sum(n.n), 0) FROM kg_counts n WHERE n.kind = 'entity_type'"


@dataclass(frozen=True, slots=True)
class Path:
    """Entities from one end to the other, and the hops between them; one entity and no hop if the ends are one.

    ``length`` is the number of hops; ``crowded`` how many entities on the way are joined to too much to tell anything.
    """

    nodes: tuple[Node, ...]
    hops: tuple[Hop, ...]
    crowded: int = 0

    @property
    def length(self) -> int:
        return len(self.hops)


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths, best first. ``truncated``: a bound was met, so there may be others, and better ones."""

    paths: tuple[Path, ...]
    truncated: bool = False


def shortest_paths(
    connection: sqlite3.Connection,
    sources: Iterable[int],
    targets: Iterable[int],
    k: int = K,
    max_hops: int = MAX_HOPS,
    *,
    within: Within = EVERYTHING,
    limits: Limits | None = None,
    hub_hops: int = 2,
) -> Paths:
    """Return the k best simple paths of at most ``max_hops`` hops between each source and each target, best first.

    Sources and targets are ids of entities; merged ones stand for what they were merged into. A source that is a target
    too has a path without hops to itself. ``hub_hops`` is what an entity that is joined to too much counts for, 0 to
    have it count like any other. Raises ValueError for an id that is none.
    """
    starts, ends = list(dict.fromkeys(sources)), list(dict.fromkeys(targets))
    stands_for = kept(connection, {*starts, *ends})
    starts, ends = (list(dict.fromkeys(stands_for[id_] for id_ in ids)) for ids in (starts, ends))
    frontier = Frontier(connection, within, limits, {*starts, *ends})
    frontier.join_hubs({*starts, *ends})
    hub = crowd(connection) if hub_hops else 0
    found: list[Way] = []
    missed = False
    for start in starts:
        for end in ends:
            ways, gave_up = best_ways(
                start, end, frontier.neighbours, frontier.degrees,
                k=k, max_hops=max_hops, hub=hub or math.inf, hub_hops=hub_hops,
            )  # fmt: skip
            found += ways
            missed |= gave_up
    return Paths(_described(connection, sorted(found), frontier, within), frontier.truncated or missed)


def paths_via(
    connection: sqlite3.Connection,
    source: int,
    via: int,
    target: int,
    k: int = K,
    max_hops: int = MAX_HOPS,
    *,
    within: Within = EVERYTHING,
    limits: Limits | None = None,
    hub_hops: int = 2,
) -> Paths:
    """Return the k best simple paths from source to target over a third entity, ``max_hops`` at most on each side.

    The best ways to it are taken, and each goes on without what it has visited; so a path is missed only if its first
    part is none of the ``LEGS`` best. Raises ValueError for an id that is none.
    """
    stands_for = kept(connection, {source, via, target})
    start, middle, end = stands_for[source], stands_for[via], stands_for[target]
    if middle in (start, end):
        return shortest_paths(connection, [start], [end], k, max_hops, within=within, limits=limits, hub_hops=hub_hops)
    frontier = Frontier(connection, within, limits, {start, middle, end})
    frontier.join_hubs({start, middle, end})
    hub = crowd(connection) if hub_hops else 0

    def ways(a: int, b: int, wanted: int, avoid: Collection[int]) -> tuple[list[Way], bool]:
        return best_ways(
            a, b, frontier.neighbours, frontier.degrees,
            k=wanted, max_hops=max_hops, hub=hub or math.inf, hub_hops=hub_hops, avoid=avoid,
        )  # fmt: skip

    legs, missed = ways(start, middle, max(k, LEGS), {end} - {start})
    found: list[Way] = []
    for leg in legs:
        onward, gave_up = ways(middle, end, k, set(leg.nodes) - {middle, end})
        found += [Way(leg.worth + way.worth, leg.cost + way.cost, leg.nodes + way.nodes[1:]) for way in onward]
        missed |= gave_up
    best = sorted(found)[:k]
    return Paths(_described(connection, best, frontier, within), frontier.truncated or missed)


def shortest_path(
    connection: sqlite3.Connection,
    source: int,
    target: int,
    max_hops: int = FAR,
    *,
    within: Within = EVERYTHING,
    limits: Limits | None = None,
    hub_cap: int | None = None,
) -> Paths:
    """Return one path with as few hops as can be, or none: how far apart two entities are, and no more.

    Much faster than ``shortest_paths``, since what joins everything is as good as anything else. With ``hub_cap`` no
    more triples than that are read of one entity, so that it takes hardly longer in a graph of
    millions; once that left any out (``truncated``), the path may have a hop or so more than the shortest. Raises
    ValueError for an id that is none.
    """
    stands_for = kept(connection, {source, target})
    start, end = stands_for[source], stands_for[target]
    frontier = Frontier(connection, within, limits, {start, end})
    pieces = frontier.pieces if hub_cap is None else lambda ids: frontier.pieces(ids, hub_cap)
    cut = None if hub_cap is None else lambda: frontier.truncated
    nodes = first_way(start, end, pieces, frontier.degrees, max_hops, cut)
    ways = [Way(len(nodes) - 1, 0, nodes)] if nodes else []
    return Paths(_described(connection, ways, frontier, within), frontier.truncated)


def crowd(connection: sqlite3.Connection) -> int:
    """The number of facts above which an entity is joined to too much to tell anything."""
    return max(CROWD, int(connection.execute(ENTITIES).fetchone()[0] * CROWD_SHARE))


def kept(connection: sqlite3.Connection, ids: Collection[int]) -> dict[int, int]:
    """Return id -> the entity that it stands for: itself, or what it is merged into.

    Raises ValueError for an id that is none.
    """
    found = dict(connection.execute(KEPT, {"nodes": json.dumps(sorted(ids))}).fetchall())
    for id_ in sorted(ids):
        if id_ not in found:
            raise ValueError(f"There is no entity with the id {id_}.")
    return found


def _described(
    connection: sqlite3.Connection, ways: Collection[Way], frontier: Frontier, within: Within
) -> tuple[Path, ...]:
    if not ways:
        return ()
    nodes = nodes_of(connection, {node for way in ways for node in way.nodes})
    pairs = {pair for way in ways for pair in pairwise(way.nodes)}
    hops = hops_between(connection, pairs, frontier.degrees({*nodes}), within)
    return tuple(
        Path(
            tuple(nodes[id_] for id_ in way.nodes),
            tuple(hops[pair] for pair in pairwise(way.nodes)),
            way.hubs,
        )
        for way in ways
    )
