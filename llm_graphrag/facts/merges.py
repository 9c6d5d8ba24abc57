"""What approved merges say of the entities that there are: which ones are joined, and under which.

A decision is about two natural keys, so it outlives the rows: what is joined is computed from the decisions and from
the entities as they are now, whatever came first. Approved pairs join transitively, also through one that is gone:
with *B* merged into *A* and *C* into *B*, C stays with A when nothing names B any more.

A name can get a type after it was decided on, or lose it. A decision about a key that has no entity of that type
holds for the only entity of that key, if one of the two types is empty: that is where an untyped mention belongs
too. Such a wide reading joins only ends whose types agree, and never a pair that was rejected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

__all__ = ["Node", "Pair", "groups", "roots", "separated"]

Node = tuple[str, str]  # key and type of an entity


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """Two entities about which a person has decided."""

    kept: Node
    merged: Node


class _Groups:
    """Sets that grow together (union-find); what was never joined is a set of its own."""

    def __init__(self) -> None:
        self._above: dict[Node, Node] = {}

    def find(self, node: Node) -> Node:
        while (above := self._above.get(node, node)) != node:
            self._above[node] = self._above.get(above, above)
            node = above
        return node

    def join(self, one: Node, other: Node) -> None:
        first, last = sorted((self.find(one), self.find(other)))
        self._above[last] = first

    def together(self, one: Node, other: Node) -> bool:
        return self.find(one) == self.find(other)


def groups(pairs: Iterable[Pair]) -> dict[Node, Node]:
    """Node -> a node that stands for all that ``pairs`` join it to, by natural keys alone.

    >>> a, b, c = ("a", ""), ("b", ""), ("c", "")
    >>> groups([Pair(a, b), Pair(b, c)])
    {('a', ''): ('a', ''), ('b', ''): ('a', ''), ('c', ''): ('a', '')}
    """
    pairs = list(pairs)
    joined = _Groups()
    for pair in pairs:
        joined.join(pair.kept, pair.merged)
    return {node: joined.find(node) for node in sorted({n for pair in pairs for n in (pair.kept, pair.merged)})}


def separated(approved: Iterable[Pair], rejected: Iterable[Pair]) -> Pair | None:
    """A rejected pair that ``approved`` would join all the same, None if there is none.

    >>> a, b, c = ("a", ""), ("b", ""), ("c", "")
    >>> separated([Pair(a, b), Pair(b, c)], [Pair(a, c)])
    Pair(kept=('a', ''), merged=('c', ''))
    """
    stands_for = groups(approved)
    for pair in sorted(rejected):
        if stands_for.get(pair.kept, pair.kept) == stands_for.get(pair.merged, pair.merged):
            return pair
    return None


@dataclass(slots=True)
class _Reading:
    """Approved pairs read on the entities that there are."""

    rows: frozenset[Node]
    types: dict[str, list[str]] = field(default_factory=dict)
    joined: _Groups = field(default_factory=_Groups)
    above: dict[Node, set[Node]] = field(default_factory=dict)  # merged -> those that it was merged into

    def __post_init__(self) -> None:
        for key, type_ in sorted(self.rows):
            self.types.setdefault(key, []).append(type_)

    def means(self, node: Node) -> Node:
        """The entity that a decision about ``node`` is about now; ``node`` itself where it is exact, or none is."""
        key, type_ = node
        types = self.types.get(key, [])
        if type_ not in types and len(types) == 1 and "" in (type_, types[0]):
            return (key, types[0])
        return node

    def put(self, pair: Pair) -> None:
        if pair.kept != pair.merged:
            self.joined.join(pair.kept, pair.merged)
            self.above.setdefault(pair.merged, set()).add(pair.kept)

    def reached(self, node: Node) -> set[Node]:
        """The entities that there are among all that ``node`` was merged into, step by step."""
        seen: set[Node] = set()
        waiting = [node]
        while waiting:
            for other in self.above.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return seen & self.rows - {node}


def roots(rows: Collection[Node], approved: Iterable[Pair], rejected: Iterable[Pair] = ()) -> dict[Node, Node]:
    """Entity -> the entity that it is joined to, for those of ``rows`` that are joined to another one.

    The root of a group is the one that was merged into none of the others that are there; of several, a typed one,
    then the first by its key. Decisions that run in a circle join all the same.

    >>> ana, short, letter = ("ana ruiz", "person"), ("a. ruiz", ""), ("ruiz, a", "")
    >>> decided = [Pair(ana, short), Pair(short, letter)]
    >>> roots([ana, short, letter], decided) == {short: ana, letter: ana}
    True
    >>> roots([ana, letter], decided), roots([("ana ruiz", ""), letter], decided)
    ({('ruiz, a', ''): ('ana ruiz', 'person')}, {('ruiz, a', ''): ('ana ruiz', '')})
    """
    reading = _Reading(frozenset(rows))
    wide = []
    for pair in sorted(approved):
        read = Pair(reading.means(pair.kept), reading.means(pair.merged))
        if read == pair:
            reading.put(pair)
        else:
            wide.append(read)
    apart = [p for pair in rejected for p in (pair, Pair(reading.means(pair.kept), reading.means(pair.merged)))]
    for pair in sorted(wide):
        types = {pair.kept[1], pair.merged[1]}
        if (len(types) == 1 or "" in types) and not _would_join(reading.joined, pair, apart):
            reading.put(pair)
    found: dict[Node, Node] = {}
    for members in _members(reading):
        root = _root(reading, members)
        found.update((node, root) for node in members if node != root)
    return found


def _would_join(joined: _Groups, pair: Pair, apart: Iterable[Pair]) -> bool:
    ends = {joined.find(pair.kept), joined.find(pair.merged)}
    return any(
        other.kept != other.merged and {joined.find(other.kept), joined.find(other.merged)} == ends for other in apart
    )


def _members(reading: _Reading) -> Iterator[list[Node]]:
    """The entities of each group that has several."""
    found: dict[Node, list[Node]] = {}
    for node in sorted(reading.rows):
        found.setdefault(reading.joined.find(node), []).append(node)
    return (members for members in found.values() if len(members) > 1)


def _root(reading: _Reading, members: list[Node]) -> Node:
    free = [node for node in members if not reading.reached(node)] or members
    return min(free, key=lambda node: (node[1] == "", node))
