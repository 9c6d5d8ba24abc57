"""Different things of one name: where a graph has ids, two ids are two things, whatever they are called.

An entity is known by its name and its type, so two things that would be one entity get different names: the first keeps
its name, the next is ``Hamlet (2)``. Those with a type come before those without, because a name without a type means
the only typed entity of that name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

from ...text.normalise import name_key
from .statements import MAX_NAME, Node

__all__ = ["numbered", "told_by_id"]

Thing = TypeVar("Thing", bound=Hashable)


def told_by_id(things: Mapping[Thing, Node], others: Collection[Node] = ()) -> dict[Thing, str]:
    """New names for things whose name another has, in the order of the things; ``others`` keep their names.

    >>> film, play = Node("Hamlet", "film"), Node("Hamlet", "play")
    >>> told_by_id({1: film, 2: film, 3: play, 4: Node("Macbeth", "play"), 5: Node("HAMLET", "film")})
    {2: 'Hamlet (2)', 5: 'HAMLET (3)'}
    >>> told_by_id({1: Node("Paris"), 2: Node("Paris", "city")}), told_by_id({1: film}, [film])
    ({1: 'Paris (2)'}, {1: 'Hamlet (2)'})
    """
    groups: dict[str, list[Thing]] = defaultdict(list)
    for thing, node in things.items():
        groups[name_key(node.name)].append(thing)
    held: dict[str, list[str]] = defaultdict(list)  # by key, the types of those that keep it
    for node in others:
        held[name_key(node.name)].append(node.type)
    taken = groups.keys() | held.keys()
    found: dict[Thing, str] = {}
    for key, group in groups.items():
        types, number = held.get(key, []), 2
        if len(group) == 1 and not types:
            continue
        for thing in sorted(group, key=lambda thing: not things[thing].type):
            node = things[thing]
            if _is_apart(node.type, types):
                types.append(node.type)
                continue
            found[thing], number = numbered(node.name, number, taken)
    return found


def _is_apart(type_: str, types: Collection[str]) -> bool:
    """Whether one more thing of a name is told from the others by its type."""
    typed = {*types, type_} - {""}
    return type_ not in types and not (len(typed) == 1 and ("" in types or not type_))


def numbered(name: str, number: int, taken: Collection[str]) -> tuple[str, int]:
    """A name with the first number from ``number`` on that gives it a key of its own, and the number after that.

    >>> numbered("Hamlet", 2, {"hamlet", "hamlet (2)"})
    ('Hamlet (3)', 4)
    """
    while True:
        made = f"{name[: MAX_NAME - len(str(number)) - 3]} ({number})"
        number += 1
        if name_key(made) not in taken:
            return made, number
