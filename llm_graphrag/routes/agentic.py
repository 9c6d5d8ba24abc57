"""Route ``agentic``: a model walks the graph from what a question names, a hop at a time, and picks where to go.

A round is two choices by number, from what there is: relations that lead on from the things in hand, then things, or
whole groups of things, that these led to. Whatever the model says, it gets no further than ``Caps``: so many relations
and things a round, so many rounds, so many triples a round; a group counts as one choice, for "all films of this
director" is one thought. It ends when the model has enough or takes none of what is offered, when nothing new is
found, at a cap, when the budget is used up, at a choice that cannot be used, or with an error; what was found until
then is returned, and why it ended. What leads only back to where it began is not offered.

Every call goes through the ledger (purpose ``explore``). Names are data: they reach the model as JSON strings, and of
what it replies only numbers that were offered count, or names that are those of what was offered.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from ..failures import ModelError, Stopped
from ..graph.hops import Evidence, Node, evidence_of, nodes_of
from ..graph.metapath_text import Relation
from ..graph.paths import kept
from ..graph.relation_words import likeness, question, reading
from ..ledger import BudgetExceeded
from ..text.normalise import clean_name
from ..text.shortened import listed
from .agentic_prompt import (
    MAX_OUTPUT,
    RELATIONS,
    THINGS,
    Group,
    Offer,
    chosen,
    relations_prompt,
    schema_of,
    things_prompt,
)

if TYPE_CHECKING:
    from ..models import Caller

__all__ = ["Caps", "Exploration", "Explored", "Round", "explore"]

MOST_OFFERS = 40  # relations shown to the model, those that the question speaks of first
MOST_SHOWN = 60  # things shown to the model beside their groups
SHOWN = 80  # letters of a reply that is no choice
SAMPLES = 3  # names that stand for what a relation leads to

OFFERS = """
    SELECT t.relation, 1, count(*), min(t.tail), max(t.tail)
    FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.head = f.value
      AND t.tail NOT IN (SELECT value FROM json_each(:origin)) {new} {out}
    GROUP BY t.relation
    UNION ALL
    SELECT t.relation, 0, count(*), min(t.head), max(t.head)
    FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.tail = f.value
      AND t.head NOT IN (SELECT value FROM json_each(:origin)) {new} {out}
    GROUP BY t.relation
"""
ALONG = {
    True: """SELECT t.id, f.value, t.tail FROM json_each(:nodes) f
             CROSS JOIN kg_triples t ON t.head = f.value AND t.relation = :relation {out}
             ORDER BY f.key, t.tail LIMIT :most""",
    False: """SELECT t.id, f.value, t.head FROM json_each(:nodes) f
              CROSS JOIN kg_triples t ON t.tail = f.value AND t.relation = :relation {out}
              ORDER BY f.key, t.head LIMIT :most""",
}
NEW = "AND t.id NOT IN (SELECT value FROM json_each(:seen))"
STATED = """AND EXISTS (SELECT 1 FROM kg_evidence v CROSS JOIN kg_chunks c ON c.id = v.chunk
  WHERE v.triple = t.id AND c.document IN (SELECT value FROM json_each(:documents)))"""


class UnreadableError(ValueError):
    """A reply that is no choice among what was offered."""


@dataclass(frozen=True, slots=True)
class Caps:
    """How far a model may go, whatever it says; all but ``rounds`` hold for each round."""

    relations: int = 5
    entities: int = 3  # things or groups to go on from
    rounds: int = 3
    triples: int = 50


@dataclass(frozen=True, slots=True)
class Explored:
    """A triple that was walked over, from one entity to the next."""

    triple: int
    start: Node
    relation: Relation
    end: Node
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Round:
    """What was in hand, what the model took, and what it said that was not offered."""

    start: tuple[Node, ...]
    relations: tuple[Relation, ...]
    triples: int
    left_out: int  # triples past the cap
    next: tuple[Node, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exploration:
    """``ends`` are the things that the model went on to or stopped at last; ``stop`` says why it ended.

    ``stop`` is enough, none taken, nothing new, cap, budget, stopped, unreadable or error; ``trouble`` is the message
    of the last four.
    """

    triples: tuple[Explored, ...] = ()
    ends: tuple[Node, ...] = ()
    rounds: tuple[Round, ...] = ()
    calls: int = 0
    stop: str = "nothing new"
    trouble: str = ""


@dataclass(slots=True)
class _Walk:
    connection: sqlite3.Connection
    text: str
    caller: Caller
    caps: Caps
    documents: Collection[int] | None
    seen: set[int] = field(default_factory=set)  # triples
    triples: list[Explored] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    calls: int = 0


def explore(
    connection: sqlite3.Connection,
    text: str,
    starts: Iterable[int],
    caller: Caller,
    *,
    caps: Caps | None = None,
    documents: Collection[int] | None = None,
) -> Exploration:
    """Have a model explore from some entities what bears on a question; at most ``caps.entities`` of them.

    ``documents``: only triples that one of them states. Raises ValueError for an id that is none; a model that fails
    raises nothing.
    """
    walk = _Walk(connection, text, caller, caps or Caps(), documents)
    ids = list(dict.fromkeys(starts))
    stands_for = kept(connection, set(ids))
    here = list(dict.fromkeys(stands_for[id_] for id_ in ids))[: walk.caps.entities]
    stop, trouble = "nothing new", ""
    try:
        stop = _walked(walk, here)
    except BudgetExceeded as error:
        stop, trouble = "budget", str(error)
    except Stopped as error:
        stop, trouble = "stopped", str(error)
    except UnreadableError as error:
        stop, trouble = "unreadable", str(error)
    except ModelError as error:
        stop, trouble = "error", str(error)
    nodes = nodes_of(connection, walk.ends)
    ends = tuple(nodes[id_] for id_ in walk.ends if id_ in nodes)
    return Exploration(tuple(walk.triples), ends, tuple(walk.rounds), walk.calls, stop, trouble)


def _walked(walk: _Walk, here: list[int]) -> str:
    origin = set(here)
    for number in range(walk.caps.rounds):
        offers = _offers(walk, here, origin)
        if not offers:
            return "nothing new"
        names = {f"r{n}": offer for n, offer in enumerate(offers, 1)}
        prompt = relations_prompt(walk.text, _nodes(walk, here), names)
        spelled = {name: _spellings(offer) for name, offer in names.items()}
        taken, unknown, enough = _ask(walk, RELATIONS, prompt, spelled, walk.caps.relations)
        if not taken:
            walk.rounds.append(Round(_nodes(walk, here), (), 0, 0, (), tuple(unknown)))
            _refuse_unknown(walk, unknown, enough)
            return "enough" if enough and walk.triples else "none taken"
        relations = [names[name].relation for name in taken]
        groups, left_out = _step(walk, here, relations, origin)
        walk.rounds.append(Round(_nodes(walk, here), tuple(relations), sum(len(group) for _, group in groups), left_out,
                                 (), tuple(unknown)))  # fmt: skip
        found = [Group(relation, tuple(dict.fromkeys(end for _, end in ends))) for relation, ends in groups if ends]
        if not found:
            return "nothing new"
        walk.ends = list(dict.fromkeys(id_ for group in found for id_ in group.entities))
        if number + 1 == walk.caps.rounds:
            return "cap"
        here, enough = _next(walk, found)
        if enough:
            walk.ends = here or walk.ends
            return "enough"
        if not here:
            return "none taken"
        walk.ends = here
    return "cap"


def _next(walk: _Walk, groups: Sequence[Group]) -> tuple[list[int], bool]:
    """The things that the model goes on with, and whether it has enough."""
    nodes = nodes_of(walk.connection, {id_ for group in groups for id_ in group.entities})
    members: dict[str, tuple[int, ...]] = {f"g{n}": group.entities for n, group in enumerate(groups, 1)}
    shown = list(dict.fromkeys(id_ for group in groups for id_ in group.entities))[:MOST_SHOWN]
    members |= {f"e{n}": (id_,) for n, id_ in enumerate(shown, 1)}
    names = {id_: f"e{n}" for n, id_ in enumerate(shown, 1)}
    prompt = things_prompt(walk.text, groups, nodes, names, _facts(walk))
    spelled = {
        key: [f"group {key[1:]}"] if key.startswith("g") else [nodes[ids[0]].name] for key, ids in members.items()
    }
    taken, unknown, enough = _ask(walk, THINGS, prompt, spelled, walk.caps.entities)
    here = list(dict.fromkeys(id_ for key in taken for id_ in members[key]))
    last = walk.rounds[-1]
    walk.rounds[-1] = Round(last.start, last.relations, last.triples, last.left_out,
                            tuple(nodes[id_] for id_ in here), (*last.unknown, *unknown))  # fmt: skip
    if not here:
        _refuse_unknown(walk, unknown, enough)
    return here, enough


def _ask(
    walk: _Walk, system: str, prompt: str, offered: Mapping[str, Sequence[str]], most: int
) -> tuple[list[str], list[str], bool]:
    """The choice of the model (``agentic_prompt.chosen``). Raises UnreadableError for a reply that is none."""
    reply = walk.caller.call("explore", system, prompt, schema_of(offered, most), max_output=MAX_OUTPUT)
    walk.calls += 1
    choice = chosen(reply.text, offered, most)
    if choice is None:
        said = clean_name(reply.text)[:SHOWN] or "nothing"
        raise UnreadableError(f"{walk.caller.model_id} was to choose by number, and said: {said}")
    return choice


def _refuse_unknown(walk: _Walk, unknown: Sequence[str], enough: bool) -> None:
    """Raise UnreadableError if a model that took nothing named something, only nothing that was offered."""
    if unknown and not enough:
        raise UnreadableError(f"{walk.caller.model_id} chose only what was not offered: {listed(unknown)}")


def _offers(walk: _Walk, here: Sequence[int], origin: Collection[int]) -> list[Offer]:
    """What leads on, those first that the question speaks of; then what leads to fewer places."""
    values = _values(walk, here) | {"origin": json.dumps(list(origin)), "seen": json.dumps(list(walk.seen))}
    rows = walk.connection.execute(_sql(walk, OFFERS), values).fetchall()
    nodes = nodes_of(walk.connection, {id_ for row in rows for id_ in row[3:]})
    words = question(walk.text).words
    offers = []
    for relation, forward, count, *ends in rows:
        names = tuple(dict.fromkeys(nodes[id_].name for id_ in ends if id_ in nodes and id_ not in here))[:SAMPLES]
        offers.append(Offer(Relation(relation, bool(forward)), count, names))
    read = {offer: reading([str(offer.relation.name)], [], "", offer.samples).words for offer in offers}
    said = {offer: max((likeness(word, read[offer]) for word in words), default=0.0) for offer in offers}
    offers.sort(key=lambda o: (-round(said[o], 4), o.count, str(o.relation.name), not o.relation.forward))
    return offers[:MOST_OFFERS]


def _step(
    walk: _Walk, here: Sequence[int], relations: Sequence[Relation], origin: Collection[int]
) -> tuple[list[tuple[Relation, list[tuple[int, int]]]], int]:
    """Walk along the relations: for each, its new (triple, end), all together no more than the cap, and what is left.

    Each relation gets its turn, so that one with thousands of triples does not crowd out the others. Nothing leads back
    to where the exploration began.
    """
    found: list[list[tuple[int, int, int, Relation]]] = []
    most = walk.caps.triples + len(walk.seen) + len(origin) + 1
    for relation in relations:
        sql = _sql(walk, ALONG[relation.forward])
        rows = walk.connection.execute(sql, {**_values(walk, here), "relation": relation.name, "most": most})
        found.append([(*row, relation) for row in rows if row[0] not in walk.seen and row[2] not in origin])
    turns = [row for turn in zip_longest(*found) for row in turn if row is not None]
    fresh = list({row[0]: row for row in reversed(turns)}.values())[::-1]
    taken = fresh[: walk.caps.triples]
    nodes = nodes_of(walk.connection, {id_ for row in taken for id_ in row[1:3]})
    evidence = evidence_of(walk.connection, [row[0] for row in taken], walk.documents)
    groups: dict[Relation, list[tuple[int, int]]] = {relation: [] for relation in relations}
    for triple, start, end, relation in taken:
        walk.seen.add(triple)
        walk.triples.append(Explored(triple, nodes[start], relation, nodes[end], evidence.get(triple)))
        groups[relation].append((triple, end))
    return list(groups.items()), len(fresh) - len(taken)


def _facts(walk: _Walk) -> list[tuple[str, Relation, str]]:
    """What was found until now, the latest first."""
    return [(fact.start.name, fact.relation, fact.end.name) for fact in reversed(walk.triples)]


def _nodes(walk: _Walk, ids: Sequence[int]) -> tuple[Node, ...]:
    nodes = nodes_of(walk.connection, ids)
    return tuple(nodes[id_] for id_ in ids if id_ in nodes)


def _spellings(offer: Offer) -> list[str]:
    name = str(offer.relation.name)
    return [name] if offer.relation.forward else [f"^{name}", f"inverse of {name}"]


def _sql(walk: _Walk, sql: str) -> str:
    return sql.format(new=NEW if walk.seen else "", out="" if walk.documents is None else STATED)


def _values(walk: _Walk, here: Sequence[int]) -> dict[str, object]:
    values: dict[str, object] = {"nodes": json.dumps(list(here))}
    if walk.documents is not None:
        values["documents"] = json.dumps(sorted(walk.documents))
    return values
