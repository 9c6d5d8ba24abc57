"""Different things of one name: where a graph has ids, two ids are two things, whatever they are called.

An entity is known by its name and its type, so two things that would be one entity get different names: the first keeps
its name, the next is ``Hamlet (2)``. Types tell things apart too; what has none comes after what has one, because a
name without a type may mean an entity with one. A name that was made stays when a file is read again, whatever has
come before it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from typing import TypeVar

from ...text.normalise import name_key
from .statements import MAX_NAME, Node

__all__ = ["Thing", "is_made_of", "kept", "numbered", "told_by_id"]

_MADE = re.compile(r" (\(\d+\)|<[^<>]*>)$")  # what stands behind a name that was made

Thing = TypeVar("Thing", bound=Hashable)


def told_by_id(
    things: Mapping[Thing, Node], others: Collection[Node] = (), taken: Collection[str] = ()
) -> dict[Thing, str]:
    """New names for things whose name another has, in the order of the things.

    ``others`` keep their names; ``taken`` are keys that nothing here may have, of whichever type.

    >>> film, play = Node("Hamlet", "film"), Node("Hamlet", "play")
    >>> told_by_id({1: film, 2: film, 3: play, 4: Node("Macbeth", "play"), 5: Node("HAMLET", "film")})
    {2: 'Hamlet (2)', 5: 'HAMLET (3)'}
    >>> told_by_id({1: Node("Paris"), 2: Node("Paris", "city")}), told_by_id({1: film}, [film])
    ({1: 'Paris (2)'}, {1: 'Hamlet (2)'})
    >>> told_by_id({1: film}, [play]), told_by_id({1: film}, taken=["hamlet"])
    ({}, {1: 'Hamlet (2)'})
    """
    groups: dict[str, list[Thing]] = defaultdict(list)
    for thing, node in things.items():
        groups[name_key(node.name)].append(thing)
    held: dict[str, list[str]] = defaultdict(list)  # by key, the types of those that keep it
    for node in others:
        held[name_key(node.name)].append(node.type)
    reserved, taken = frozenset(taken), groups.keys() | held.keys() | {*taken}
    found: dict[Thing, str] = {}
    for key, group in groups.items():
        types, number = held.get(key, []), 2
        if len(group) == 1 and not types and key not in reserved:
            continue
        for thing in sorted(group, key=lambda thing: not things[thing].type):
            node = things[thing]
            if key not in reserved and _is_apart(node.type, types):
                types.append(node.type)
                continue
            found[thing], number = numbered(node.name, number, taken)
    return found


def kept(
    things: Mapping[Thing, Node],
    before: Mapping[Thing, Collection[str]],
    others: Collection[Node] = (),
    taken: Collection[str] = (),
) -> dict[Thing, str]:
    """The names that things had before, if these were made of what they are called now and still tell them apart.

    >>> kept({1: Node("Hamlet"), 2: Node("Hamlet"), 3: Node("Duel")}, {1: ["Hamlet (2)"], 2: ["Lear"], 3: ["Duel"]})
    {1: 'Hamlet (2)', 3: 'Duel'}
    """
    found: dict[Thing, str] = {}
    for thing, node in things.items():
        if name := next((name for name in before.get(thing, ()) if is_made_of(name, node.name)), ""):
            found[thing] = name
    lost = told_by_id({thing: replace(things[thing], name=name) for thing, name in found.items()}, others, taken)
    return {thing: name for thing, name in found.items() if thing not in lost}


def is_made_of(name: str, plain: str) -> bool:
    """Whether a name is another one, as it is or with what tells it apart."""
    return plain in (name, _MADE.sub("", name))


def _is_apart(type_: str, types: Collection[str]) -> bool:
    """Whether one more thing of a name is told from the others by its type; one without a type never is."""
    return not types or (bool(type_) and type_ not in types and "" not in types)


def numbered(name: str, number: int, taken: Collection[str]) -> tuple[str, int]:
    """A name with the first number from ``number`` on that gives it a key of its own, and the number after that.

    >>> numbered("Hamlet", 2, {"hamlet", "hamlet (2)"})
    ('Hamlet (3)', 4)
    """
    while True:
        made = f"{name[: MAX_NAME - len(str(number)) - 3].rstrip()} ({number})"
        number += 1
        if name_key(made) not in taken:
            return made, number
