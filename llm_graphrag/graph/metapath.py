"""Following a metapath: "who starred in what this director directed" as steps over relations.

A metapath is a list of steps: ``^directed_by/starred_actors`` goes from a director to the films
(``^``: against the direction of the triple) and on to their actors. ``a|b`` takes either, ``*``
any relation in either direction (``graph.metapath_text`` reads them).

What comes of it are the ends, with the number of walks that lead to each, counted a level at a
time and never by walking them, so hubs and cycles cost no more than their triples; and the
first walks, with a sentence for every hop. A walk never returns to where it began; with
``simple`` it visits nothing twice, which has to be walked out and so has a bound.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .frontier import EVERYTHING, Limits, Within
from .hops import Node, hops_of, nodes_of
from .metapath_text import Metapath, Relation, known_relations, parse, resolved, written
from .paths import Path, kept

__all__ = ["End", "Followed", "Metapath", "Relation", "follow", "known_relations", "parse", "written"]

LIMITS = Limits(hub=1 << 62, triples=2_000_000, seconds=10.0)
LOOK = 5_000  # triples read between two looks at the clock
SLICE = 500
STEPS = 200_000  # of walking out simple walks

OUT = """
    SELECT f.value, t.tail, t.id, 1 FROM json_each(:nodes) f
    CROSS JOIN json_each(:out) r CROSS JOIN kg_triples t ON t.head = f.value AND t.relation = r.value {where_out}
"""
IN = """
    SELECT f.value, t.head, t.id, 0 FROM json_each(:nodes) f
    CROSS JOIN json_each(:in) r CROSS JOIN kg_triples t ON t.tail = f.value AND t.relation = r.value {where_in}
"""
ANY = """
    SELECT f.value, t.tail, t.id, 1 FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.head = f.value {where_out}
    UNION ALL
    SELECT f.value, t.head, t.id, 0 FROM json_each(:nodes) f CROSS JOIN kg_triples t
    ON t.tail = f.value AND t.head <> f.value {where_in}
"""
DOCUMENT = """AND EXISTS (SELECT 1 FROM kg_evidence v CROSS JOIN kg_chunks c ON c.id = v.chunk
  WHERE v.triple = t.id AND c.document IN (SELECT value FROM json_each(:documents)))"""
TYPE = """AND EXISTS (SELECT 1 FROM kg_entities e WHERE e.id = t.{end}
  AND e.type IN (SELECT value FROM json_each(:types)))"""


@dataclass(frozen=True, slots=True)
class End:
    """Where walks from one source lead: after how many steps, and how many different walks."""

    source: Node
    node: Node
    steps: int
    walks: int


@dataclass(frozen=True, slots=True)
class Followed:
    """The ends by source and steps, most walks first, then by name; walks in the order of their ends.

    ``truncated``: a bound was met, so there may be more of both. ``walks`` may be fewer than there are, as asked for.
    """

    metapath: Metapath
    ends: tuple[End, ...]
    walks: tuple[Path, ...]
    truncated: bool = False


def follow(
    connection: sqlite3.Connection,
    sources: Iterable[int],
    metapath: str | Sequence[str] | Metapath,
    *,
    simple: bool = False,
    prefixes: bool = False,
    walks: int | None = 100,
    each: int | None = None,
    within: Within = EVERYTHING,
    limits: Limits = LIMITS,
) -> Followed:
    """Return where a metapath leads from each of some entities, with at most ``walks`` walks in all.

    ``each``: the most of one end, None for no limit. ``prefixes`` also gives the ends of every shorter beginning of it.
    ``within``: types are those of entities on the way, relations those that ``*`` may take. Raises ValueError for an
    unknown id, or a metapath that is empty, unreadable or names a relation that is not there.
    """
    ids = list(dict.fromkeys(sources))
    steps = resolved(connection, _parsed(metapath))
    stands_for = kept(connection, set(ids))
    starts = list(dict.fromkeys(stands_for[id_] for id_ in ids))
    reader = _Reader(connection, within, limits)
    found: list[tuple[int, int, Mapping[int, int], _Walks]] = []
    for start in starts:
        levels = _levels(reader, start, steps)
        for length in range(1, len(steps) + 1) if prefixes else [len(steps)]:
            part = levels[:length]
            counts, of = (_simple if simple else _counted)(reader, start, part)
            found.append((start, length, counts, of))
    return _followed(connection, steps, found, (walks, each), within, reader)


def _parsed(metapath: str | Sequence[str] | Metapath) -> Metapath:
    if not isinstance(metapath, str) and metapath and all(isinstance(step, tuple) for step in metapath):
        return tuple(metapath)  # type: ignore[arg-type]
    return parse(metapath)  # type: ignore[arg-type]


Back = dict[int, list[tuple[int, int, bool]]]
"""Entity -> (entity of the level before, triple, forward) of each step that leads to it."""

_Walk = tuple[tuple[int, ...], tuple[tuple[int, bool], ...]]
_Walks = Callable[[int], Iterator[_Walk]]
"""The walks to an end, one after another."""


class _Reader:
    """Reads the triples of one step, and knows when to stop."""

    def __init__(self, connection: sqlite3.Connection, within: Within, limits: Limits) -> None:
        self.connection = connection
        self.within = within
        self.truncated = False
        self._left = limits.triples
        self._until = time.monotonic() + limits.seconds

    def spent(self) -> bool:
        spent = self._left <= 0 or time.monotonic() > self._until
        self.truncated |= spent
        return spent

    def step(self, nodes: Sequence[int], step: Sequence[Relation], last: bool) -> Iterator[tuple[int, int, int, int]]:
        """(entity, entity it leads to, triple, forward), the entities in order."""
        sql, values = self._statement(step, last)
        for start in range(0, len(nodes), SLICE):
            if self.spent():
                return
            cursor = self.connection.cursor()
            cursor.row_factory = None
            for row in cursor.execute(sql, {**values, "nodes": json.dumps(nodes[start : start + SLICE])}):
                if self._left <= 0 or (self._left % LOOK == 0 and self.spent()):
                    self.truncated = True
                    return
                self._left -= 1
                yield row

    def _statement(self, step: Sequence[Relation], last: bool) -> tuple[str, dict[str, object]]:
        within = self.within
        parts = {"where_out": "", "where_in": ""}
        values: dict[str, object] = {}
        if within.documents is not None:
            values["documents"] = json.dumps(sorted(within.documents))
            parts = dict.fromkeys(parts, DOCUMENT)
        if within.types is not None and not last:
            values["types"] = json.dumps(sorted(within.types))
            parts["where_out"] += TYPE.format(end="tail")
            parts["where_in"] += TYPE.format(end="head")
        names = {way: sorted(r.name for r in step if r.name is not None and r.forward is way) for way in (True, False)}
        values |= {"out": json.dumps(names[True]), "in": json.dumps(names[False])}
        if any(relation.name is None for relation in step):
            if within.relations is None:
                return ANY.format(**parts), values
            both = sorted(within.relations)
            values |= {
                "out": json.dumps(sorted({*names[True], *both})),
                "in": json.dumps(sorted({*names[False], *both})),
            }
        chosen = [sql for sql, way in ((OUT, "out"), (IN, "in")) if values[way] != "[]"]
        return " UNION ALL ".join(chosen or [OUT]).format(**parts), values


def _levels(reader: _Reader, start: int, steps: Metapath) -> list[Back]:
    """For each step, what it leads to and from where; never back to the start."""
    levels: list[Back] = []
    here = [start]
    for place, step in enumerate(steps):
        level: Back = {}
        for node, to, triple, forward in reader.step(here, step, place + 1 == len(steps)):
            if to != start:
                level.setdefault(to, []).append((node, triple, bool(forward)))
        levels.append(level)
        here = sorted(level)
    return levels


def _counted(reader: _Reader, start: int, levels: Sequence[Back]) -> tuple[Mapping[int, int], _Walks]:
    """End -> number of walks to it, and how to have them one after another."""
    counts = {start: 1}
    for level in levels:
        counts = {to: sum(counts[node] for node, _, _ in back) for to, back in level.items()}

    def walks(node: int, place: int = len(levels)) -> Iterator[_Walk]:
        """Back from the end; every step back leads to the start, so no walk is begun in vain."""
        if not place:
            yield (node,), ()
            return
        for before, triple, forward in levels[place - 1][node]:
            for nodes, hops in walks(before, place - 1):
                yield (*nodes, node), (*hops, (triple, forward))

    return counts, walks


def _simple(reader: _Reader, start: int, levels: Sequence[Back]) -> tuple[Mapping[int, int], _Walks]:
    """The same for walks that visit nothing twice: they are walked out, as many as ``STEPS`` allows."""
    left = STEPS

    def walks(node: int, place: int, after: tuple[int, ...]) -> Iterator[_Walk]:
        nonlocal left
        left -= 1
        if left < 0 or (left % 1_000 == 0 and reader.spent()):
            reader.truncated = True
            return
        if not place:
            yield (node,), ()
            return
        for before, triple, forward in levels[place - 1][node]:
            if before != node and before not in after:
                for nodes, hops in walks(before, place - 1, (*after, node)):
                    yield (*nodes, node), (*hops, (triple, forward))

    found = {end: list(walks(end, len(levels), ())) for end in sorted(levels[-1])}
    return {end: len(of) for end, of in found.items() if of}, lambda end: iter(found[end])


def _followed(
    connection: sqlite3.Connection,
    steps: Metapath,
    found: Sequence[tuple[int, int, Mapping[int, int], _Walks]],
    limits: tuple[int | None, int | None],
    within: Within,
    reader: _Reader,
) -> Followed:
    """Names and sentences for what was found: of each end the first walk before the second of any."""
    nodes = nodes_of(connection, {id_ for start, _, counts, _ in found for id_ in (start, *counts)})
    ends: list[End] = []
    walks: list[tuple[int, Iterator[_Walk]]] = []
    for start, length, counts, of in found:
        listed = sorted(counts, key=lambda end: (-counts[end], nodes[end].name, end))
        walks += [(len(ends) + place, of(end)) for place, end in enumerate(listed)]
        ends += [End(nodes[start], nodes[end], length, counts[end]) for end in listed]
    shown = _in_turn(walks, *limits)
    nodes |= nodes_of(connection, {id_ for _, (on, _) in shown for id_ in on} - nodes.keys())
    hops = hops_of(connection, {hop for _, (_, over) in shown for hop in over}, within.documents)
    paths = tuple(Path(tuple(nodes[id_] for id_ in on), tuple(hops[hop] for hop in over)) for _, (on, over) in shown)
    return Followed(steps, tuple(ends), paths, reader.truncated)


def _in_turn(
    walks: Collection[tuple[int, Iterator[_Walk]]], limit: int | None, each: int | None
) -> list[tuple[int, _Walk]]:
    """The first walks, one of each end in turn, then put in the order of the ends; None: no limit."""
    taken: list[tuple[int, _Walk]] = []
    most = math.inf if limit is None else limit
    turn, waiting = 0, list(walks)
    while waiting and len(taken) < most and (each is None or turn < each):
        still = []
        for place, of in waiting:
            if len(taken) == most:
                break
            if (walk := next(of, None)) is not None:
                taken.append((place, walk))
                still.append((place, of))
        turn, waiting = turn + 1, still
    return sorted(taken, key=lambda item: item[0])
