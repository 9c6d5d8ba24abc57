"""The k best simple paths between two nodes, from two searches that meet.

Breadth-first search from both ends, the cheaper side first, until the two radii add up to
a length; then every walk of exactly that length lies inside the two searches, and their
levels say which steps can still arrive. Among these a best-first search takes the best
simple ones: its bound, the cheapest way on from a node with so many hops left, is exact
for walks, so hardly anything is looked at in vain. Lengths are tried one after another
until there are k paths, so a far end is never looked for past what is needed.

What is best: few hops, then nodes that few others are joined to, then small ids. A node
that is joined to a great part of everything (a change log, a list of all things) joins any
two and so says nothing of them: it counts as ``hub_hops`` further hops.

``first_way`` only asks for one path with as few hops as can be. It stops at the first triple
that joins the two searches, so it reads a few hundred triples where all of a level would be
tens of thousands.

The module knows no SQL: neighbours and degrees come from callbacks, a frontier at a time
(``graph.frontier``), as in ``graph.rank``.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Degrees", "Neighbours", "Triples", "Way", "best_ways", "first_way"]

Neighbours = Callable[[Sequence[int]], Mapping[int, Collection[int]]]
"""Nodes -> their neighbours, undirected. What it leaves out has none."""

Degrees = Callable[[Collection[int]], Mapping[int, int]]
"""Nodes -> how many facts each has. What it leaves out has one."""

Triples = Callable[[Sequence[int]], Iterable[tuple[int, int]]]
"""Nodes -> (node, neighbour), one after another, as they are read."""

STEPS = 20_000  # of the best-first search for one length
HUB = 1 << 40  # added to the cost of a node that is a hub
FEW = 64  # nodes of a level whose degrees are looked up, to read rare ones first and to compare the two sides
USUAL = 30  # degree that nodes of a larger level are taken to have
NEVER = 1 << 30  # level of a node that is to be avoided
UNIT = 1_000  # cost of a factor of two in degree; whole numbers, so that sums are exact


@dataclass(frozen=True, slots=True, order=True)
class Way:
    """A simple path, ordered from best to worst."""

    worth: int  # hops, hubs counting as more
    cost: int  # hubs first, then the logarithm of the degrees between the ends
    nodes: tuple[int, ...]

    @property
    def hubs(self) -> int:
        return self.cost // HUB


@dataclass(slots=True)
class _Side:
    """The search from one end: the level of each node, and from which nodes it was reached."""

    level: dict[int, int]
    frontier: list[int]
    radius: int = 0
    behind: dict[int, list[int]] = field(default_factory=dict)

    def expand(self, near: Mapping[int, Collection[int]], other: _Side) -> bool:
        """Take the next level in; returns whether it touches what the other side has reached."""
        self.radius += 1
        fresh, met = [], False
        for node in self.frontier:
            for to in near.get(node, ()):
                self.behind.setdefault(to, []).append(node)
                if to not in self.level:
                    self.level[to] = self.radius
                    fresh.append(to)
                    met = met or to in other.level
        self.frontier = fresh
        return met


def best_ways(
    source: int,
    target: int,
    neighbours: Neighbours,
    degrees: Degrees,
    *,
    k: int = 3,
    max_hops: int = 4,
    hub: float = math.inf,
    hub_hops: int = 2,
    avoid: Collection[int] = (),
) -> tuple[list[Way], bool]:
    """Return the k best simple paths of at most ``max_hops`` hops, best first, and whether any may have been missed.

    Only a search that takes ``STEPS`` steps without finding k paths of one length misses any. A node with more than
    ``hub`` facts counts as ``hub_hops`` more hops, unless it is one of the ends. A node's way to itself has no hops.
    What is to be avoided is on no path.

    >>> square = {1: [2, 3], 2: [1, 4], 3: [1, 4], 4: [2, 3]}
    >>> near, degrees = lambda nodes: square, lambda nodes: {n: 2 for n in nodes}
    >>> [way.nodes for way in best_ways(1, 4, near, degrees)[0]]
    [(1, 2, 4), (1, 3, 4)]
    """
    if k < 1 or source == target:
        return [Way(0, 0, (source,))][:k] if k > 0 else [], False
    shut = dict.fromkeys(avoid, NEVER)
    near, far = _Side(shut | {source: 0}, [source]), _Side(shut | {target: 0}, [target])
    found: list[Way] = []
    met = missed = False
    for length in range(1, max_hops + 1):
        side, other = (near, far) if _cheaper(near, far, degrees) else (far, near)
        met |= side.expand(neighbours(side.frontier) if side.frontier else {}, other)
        if met:
            ways, complete = _of_length(near, far, source, target, degrees, k, hub, hub_hops)
            found = sorted([*found, *ways])[:k]
            missed |= not complete
        elif not side.frontier:
            break  # one side has seen all there is, without the other end
        if len(found) == k and found[-1].worth <= length:
            break
    return found, missed


def first_way(source: int, target: int, triples: Triples, degrees: Degrees, max_hops: int) -> tuple[int, ...] | None:
    """Return a path with as few hops as can be, the one that is met first; None if there is none so short.

    >>> line = {1: [2], 2: [1, 3], 3: [2]}
    >>> first_way(1, 3, lambda nodes: [(n, m) for n in nodes for m in line[n]], lambda nodes: {}, max_hops=2)
    (1, 2, 3)
    """
    if source == target:
        return (source,)
    behind: tuple[dict[int, int], dict[int, int]] = ({source: source}, {target: target})
    known = degrees([source, target])
    levels = [([source], known.get(source, 1)), ([target], known.get(target, 1))]
    for _ in range(max_hops):
        side = 0 if levels[0][1] <= levels[1][1] else 1
        mine, other, fresh = behind[side], behind[1 - side], []
        for node, to in triples(levels[side][0]):
            if to not in mine:
                mine[to] = node
                if to in other:
                    return (*reversed(_back(behind[0], to)), *_back(behind[1], to)[1:])
                fresh.append(to)
        if not fresh:
            return None
        levels[side] = _next_level(fresh, degrees)
    return None


def _next_level(nodes: list[int], degrees: Degrees) -> tuple[list[int], int]:
    """The nodes in the order in which to read them, and about how many triples that is."""
    if len(nodes) > FEW:
        return nodes, len(nodes) * USUAL
    known = degrees(nodes)
    nodes.sort(key=lambda node: known.get(node, 1))
    return nodes, sum(known.get(node, 1) for node in nodes)


def _back(behind: Mapping[int, int], node: int) -> list[int]:
    """The way back to where a search began."""
    way = [node]
    while behind[node] != node:
        node = behind[node]
        way.append(node)
    return way


def _cheaper(near: _Side, far: _Side, degrees: Degrees) -> bool:
    """Whether the next level of ``near`` is the smaller one to read."""
    if not near.frontier or not far.frontier:
        return not near.frontier
    known = degrees([*near.frontier, *far.frontier])
    return sum(known.get(n, 1) for n in near.frontier) <= sum(known.get(n, 1) for n in far.frontier)


def _of_length(
    near: _Side, far: _Side, source: int, target: int, degrees: Degrees, k: int, hub: float, hub_hops: int
) -> tuple[list[Way], bool]:
    """The k best simple paths whose hops are as many as the two radii together; and whether the search was complete."""
    steps = _pruned(_layers(near, far, source, target), source, target)
    if not steps:
        return [], True
    length = len(steps)
    known = degrees({node for step in steps for node in step} - {source})
    costs = {target: 0}
    for node in (node for step in steps for node in step):
        degree = max(1, known.get(node, 1))
        costs[node] = int(math.log2(degree) * UNIT) + (HUB if degree > hub else 0)
    rest = _cheapest(steps, costs, target)
    ways = []
    for taken, nodes in _best_first(steps, costs, rest, source):
        if nodes:
            ways.append(Way(length + hub_hops * (taken // HUB), taken, nodes))
        if len(ways) == k or not nodes:
            return ways, bool(nodes)
    return ways, True


Steps = list[dict[int, list[int]]]
"""For each place on the way, node there -> nodes at the next place."""


def _layers(near: _Side, far: _Side, source: int, target: int) -> Steps:
    """The steps of walks from source to target whose hops are the two radii together, the ends only at the ends."""
    middle, length = near.radius, near.radius + far.radius
    few, many = sorted((near.level, far.level), key=len)
    joint = [node for node, level in few.items() if level < NEVER and node in many]
    if middle:
        joint = [node for node in joint if node != source]
    if far.radius:
        joint = [node for node in joint if node != target]
    steps: Steps = [{} for _ in range(length)]
    here = joint
    for place in range(middle, length):
        left = length - place - 1
        for node in here:
            onward = [
                to
                for to in dict.fromkeys(far.behind.get(node, ()))
                if far.level[to] <= left and to != source and (to != target or not left)
            ]
            if onward:
                steps[place][node] = onward
        here = list(dict.fromkeys(to for onward in steps[place].values() for to in onward))
    here = joint
    for place in range(middle - 1, -1, -1):
        before: dict[int, list[int]] = {}
        for node in here:
            for back in dict.fromkeys(near.behind.get(node, ())):
                if near.level[back] <= place and back != target and (back != source or not place):
                    before.setdefault(back, []).append(node)
        steps[place] = before
        here = list(before)
    return steps


def _pruned(steps: Steps, source: int, target: int) -> Steps:
    """The steps that lie on a walk from source to target; none at all if there is no such walk."""
    alive = {target}
    for place in range(len(steps) - 1, -1, -1):
        kept = {node: [to for to in onward if to in alive] for node, onward in steps[place].items()}
        steps[place] = {node: onward for node, onward in kept.items() if onward}
        alive = set(steps[place])
    alive = {source} & alive
    for place, step in enumerate(steps):
        steps[place] = {node: onward for node, onward in step.items() if node in alive}
        alive = {to for onward in steps[place].values() for to in onward}
    return steps if alive else []


def _cheapest(steps: Steps, costs: Mapping[int, int], target: int) -> list[dict[int, int]]:
    """For each place, node -> the least cost of the nodes still to come."""
    rest: list[dict[int, int]] = [{} for _ in steps] + [{target: 0}]
    for place in range(len(steps) - 1, -1, -1):
        after = rest[place + 1]
        rest[place] = {node: min(costs[to] + after[to] for to in onward) for node, onward in steps[place].items()}
    return rest


def _best_first(
    steps: Steps, costs: Mapping[int, int], rest: Sequence[Mapping[int, int]], source: int
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield (cost, nodes) of simple paths, least cost first, then by ids; an empty one if the search was given up."""
    heap: list[tuple[int, tuple[int, ...], int]] = [(rest[0][source], (source,), 0)]
    for _ in range(STEPS):
        if not heap:
            return
        bound, nodes, cost = heapq.heappop(heap)
        place = len(nodes) - 1
        if place == len(steps):
            yield bound, nodes
            continue
        for to in steps[place][nodes[-1]]:
            if to not in nodes:
                spent = cost + costs[to]
                heapq.heappush(heap, (spent + rest[place + 1][to], (*nodes, to), spent))
    if heap:
        yield 0, ()
