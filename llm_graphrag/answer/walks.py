"""What a model found on its way through the graph, as far as there is room for it among what it is shown.

A hop tells little without those that lead to it, so facts are taken a walk at a time, from what the question names to
where the walk ends: the whole of it or nothing. Walks to what the model chose last come first. What has no room is
counted. A fact whose sentence says no more than itself costs its names alone, and facts that share an end share its
cost, for so they are shown (``answer.prompt``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..text.tokens import count_tokens
from .facts import Fact

if TYPE_CHECKING:
    from ..routes.agentic import Explored

__all__ = ["OVERHEAD", "Side", "fitting", "says_it_all", "shared", "tokens_of", "walks"]

OVERHEAD = 24  # tokens around a sentence: fences and place
NUMBER = 5  # tokens of a number after a fact

Side = tuple[str, str, str]  # what facts share: (head, relation, "") or ("", relation, tail)


def walks(found: Sequence[Explored], ends: Collection[int]) -> tuple[tuple[int, ...], ...]:
    """The triples of each walk from where it began, walks to ``ends`` first, then the later ones; each walk is once.

    A walk that goes on is part of the longer ones.
    """
    into: dict[int, int] = {}  # entity -> place of the first triple that led to it
    for place, fact in enumerate(found):
        into.setdefault(fact.end.id, place)
    ways: list[list[int]] = []
    for place in range(len(found)):
        way = [place]
        while (before := into.get(found[way[0]].start.id, place)) < way[0]:
            way.insert(0, before)
        ways.append(way)
    passed = {place for way in ways for place in way[:-1]}
    whole = [way for way in ways if way[-1] not in passed]
    whole.sort(key=lambda way: (found[way[-1]].end.id not in ends, -way[-1]))
    return tuple(tuple(found[place].triple for place in way) for way in whole)


def fitting(
    walks: Sequence[Sequence[int]], facts: Mapping[int, Fact], room: int
) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """The facts of the walks that have room in so many tokens, and those that have none.

    A triple without a fact has lost its evidence, and nothing can be cited for a walk over it.
    """
    sides = shared(facts.values())
    told: dict[int, Fact] = {}
    opened: set[Side] = set()
    for walk in walks:
        new = [facts[triple] for triple in walk if triple in facts and triple not in told]
        costs = _tokens(new, sides, opened)
        if costs > room or not all(triple in facts for triple in walk):
            continue
        room -= costs
        opened.update(sides[fact] for fact in new)
        told |= {triple: facts[triple] for triple in walk}
    return tuple(told.values()), tuple(fact for triple, fact in facts.items() if triple not in told)


def tokens_of(facts: Collection[Fact]) -> int:
    """Tokens that the facts take together."""
    return _tokens(facts, shared(facts), ())


def _tokens(facts: Iterable[Fact], sides: Mapping[Fact, Side], opened: Collection[Side]) -> int:
    """Tokens that facts take, beside others that have one of the sides ``opened``."""
    tokens, known = 0, set(opened)
    for fact in facts:
        head, relation, tail = side = sides[fact]
        tokens += count_tokens(fact.tail if head else fact.head) + NUMBER
        if side not in known:
            tokens += count_tokens(f"{head} {relation} {tail}") + NUMBER
            known.add(side)
        if fact.number is None and not says_it_all(fact):
            tokens += count_tokens(fact.quote) + OVERHEAD
    return tokens


def shared(facts: Iterable[Fact]) -> dict[Fact, Side]:
    """Fact -> the side that it shares with most others.

    Facts of one side can be told in one line: *A | directed by | B; C; D*.
    """
    sides = {fact: ((fact.head, fact.relation, ""), ("", fact.relation, fact.tail)) for fact in facts}
    counts = Counter(side for both in sides.values() for side in both)
    return {fact: max(both, key=lambda side: counts[side]) for fact, both in sides.items()}


def says_it_all(fact: Fact) -> bool:
    """Whether the sentence of a fact is the fact and no more, in its order, as a row of a table is."""
    return _words(_row(fact.quote)) == _words(f"{fact.head} {fact.relation} {fact.tail}")


def _row(quote: str) -> str:
    """What a row says; of JSON lines that have the parts of a fact and nothing else, these in their order."""
    try:
        row = json.loads(quote) if quote.startswith("{") else None
    except (ValueError, RecursionError):  # it only looks like one
        row = None
    if not isinstance(row, dict):
        return quote
    parts = [row.get(name) for name in ("head", "relation", "tail")]
    return " ".join(map(str, parts)) if len(row) == len(parts) and None not in parts else quote


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()
