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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Degrees", "Neighbours", "Pieces", "Way", "best_ways", "first_way"]

Neighbours = Callable[[Sequence[int]], Mapping[int, Collection[int]]]
"""Nodes -> their neighbours, undirected. What it leaves out has none."""

Degrees = Callable[[Collection[int]], Mapping[int, int]]
"""Nodes -> how many facts each has. What it leaves out has one."""

Pieces = Callable[[Sequence[int]], Iterator[tuple[int, Sequence[int]]]]
"""Nodes -> (node, some of its neighbours), piece by piece, as they are read."""

STEPS = 20_000  # of the best-first search for one length
HUB = 1 << 40  # added to the cost of a node that is a hub
FEW = 64  # nodes of a level whose degrees are looked up, to read rare ones first and to compare the two sides
USUAL = 30  # degree that nodes of a larger level are taken to have
NEVER = 1 << 30  # level of a node that is to be avoided
NOTHING: tuple[None, Sequence[int]] = (None, ())
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


class _Reach:
    """What is known around one end: whole levels, and of the one beyond them what was seen so far."""

    __slots__ = ("cost", "levels", "pieces", "read", "seen")

    def __init__(self, end: int, pieces: Iterator[tuple[int, Sequence[int]]], cost: int) -> None:
        self.levels = [{end}]
        self.seen = {end}
        self.read: list[tuple[int, Sequence[int]]] = []
        self.pieces = pieces  # still to be read of the last level
        self.cost = cost

    @property
    def radius(self) -> int:
        return len(self.levels) - 1

    def distance(self, node: int) -> int:
        return next((depth for depth, level in enumerate(self.levels) if node in level), len(self.levels))

    def deeper(self) -> list[int]:
        """Make a whole level of what was seen beyond the last one, and return it."""
        self.levels.append(self.seen.difference(*self.levels))
        return list(self.levels[-1])

    def back(self, node: int) -> list[int]:
        """The way back to the end."""
        way = [node]
        for level in reversed(self.levels[: self.distance(node)]):
            way.append(next(to for to, near in self.read if to in level and way[-1] in near))
        return way


def first_way(
    source: int,
    target: int,
    pieces: Pieces,
    degrees: Degrees,
    max_hops: int,
    cut: Callable[[], bool] | None = None,
) -> tuple[int, ...] | None:
    """Return a path with as few hops as can be, None if there is none so short.

    A level is read to its end, or to the first triple that joins the two searches. With ``cut``, which says whether any
    node was read only in part, both ends are read a piece at a time in turn instead, the one where less was read. As
    long as nothing is cut the path has as few hops as can be, since the rest of a level is read to be sure; else that
    would prove nothing, and the first path that is met is taken.

    >>> line = {1: [2], 2: [1, 3], 3: [2]}
    >>> first_way(1, 3, lambda nodes: ((n, line[n]) for n in nodes), lambda nodes: {}, max_hops=2)
    (1, 2, 3)
    """
    if source == target:
        return (source,)
    in_turn = cut is not None
    known = {} if in_turn else degrees([source, target])
    sides = tuple(_Reach(end, pieces([end]), known.get(end, 1)) for end in (source, target))
    farther: tuple[int, ...] | None = None  # a path of one hop more than there might be
    met = False
    while True:
        side, other = sides if sides[0].cost <= sides[1].cost else sides[::-1]
        node, near = next(side.pieces, NOTHING)
        if node is None:
            level = [] if met else side.deeper()
            if not level or side.radius + other.radius >= max_hops:
                return farther
            if not in_turn:
                level, side.cost = _in_order(level, degrees)
            side.pieces = pieces(level)
            continue
        side.read.append((node, near))
        side.seen.update(near)
        side.cost += len(near) + 1 if in_turn else 0
        if other.seen.isdisjoint(near):
            continue
        met = True
        joint = min(other.seen.intersection(near), key=lambda to: (side.distance(to) + other.distance(to), to))
        hops = side.distance(joint) + other.distance(joint)
        if hops <= max_hops:
            farther = (*reversed(sides[0].back(joint)), *sides[1].back(joint)[1:])
            if hops == side.radius + other.radius + 1 or (cut and cut()):
                return farther


def _in_order(level: list[int], degrees: Degrees) -> tuple[list[int], int]:
    """The nodes in the order in which to read them, and about how many triples that is."""
    if len(level) > FEW:
        return level, len(level) * USUAL
    known = degrees(level)
    level.sort(key=lambda node: known.get(node, 1))
    return level, sum(known.get(node, 1) for node in level)


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
