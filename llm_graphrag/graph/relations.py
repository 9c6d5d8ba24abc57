"""Which relations a question asks for: from an entity and a question to metapaths of one or two steps, without a model.

Only relations that the entity really has, and that what they lead to really has, are weighed. A metapath is as good as
it explains the words of the question (``graph.relation_words``): each word counts for the step that it speaks of most;
a step of which no word speaks counts against it, and so does an end of another kind than the question asks for. Words
that stand next to the entity speak of the first step; "who likes Ana" asks for the head of likes, "what does Ana like"
for the tail.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .metapath_text import Metapath, Relation
from .relation_words import Question, Reading, is_head, leads_to, likeness, question, reading

__all__ = ["Guess", "guesses"]

SAMPLES = 5  # of what stands at the end of a step, so many names are looked at
BRANCHES = 200  # of what a first step leads to, so many are looked at for what they have
SUPPORT = 0.5  # a step of which some word speaks this much is asked for
UNASKED = 1.5  # what a step costs of which no word speaks
BACKWARDS = 0.1  # what a step costs from tail to head: the name is that of the other direction
READ_INTO = 0.3  # for a first step from the tail where its relation stands just before the name: "who likes Ana"
LONGER = 0.25  # what a second step costs
RIGHT_KIND, UNSAID_KIND = 0.5, 0.1
OTHERS_ASKED, OTHERS_UNASKED, OTHERS_LEFT, OTHERS_ELSEWHERE = 0.8, 1.5, 0.5, 0.3
NEXT = 0.1  # for the nearest word speaking of the first step
END_WORDS = 0.7  # what a word that names the type of the end is worth, beside one that names the relation

STEPS = """
    SELECT f.value AS entity, t.relation, 0 AS inverse, min(t.tail), max(t.tail)
    FROM json_each(:entities) f CROSS JOIN kg_triples t ON t.head = f.value GROUP BY f.value, t.relation
    UNION ALL
    SELECT f.value, t.relation, 1, min(t.head), max(t.head)
    FROM json_each(:entities) f CROSS JOIN kg_triples t ON t.tail = f.value GROUP BY f.value, t.relation
"""
REACHED = {
    True: "SELECT tail FROM kg_triples WHERE head = ? AND relation = ? LIMIT ?",
    False: "SELECT head FROM kg_triples WHERE tail = ? AND relation = ? LIMIT ?",
}
ENDS = """
    SELECT e.id, e.name, e.type FROM json_each(:entities) f CROSS JOIN kg_entities e ON e.id = f.value
"""
SCHEMA = """
    SELECT name, description, aliases, inverse FROM kg_types
    WHERE kind = 'relation' AND retired_in IS NULL AND name IN (SELECT value FROM json_each(:names))
"""


@dataclass(frozen=True, slots=True)
class Guess:
    """A metapath that a question may ask for, and how much speaks for it; scores of one question can be compared."""

    steps: tuple[Relation, ...]
    score: float
    unasked: tuple[Relation, ...] = ()  # steps of which no word of the question speaks
    told: bool = True  # whether any word speaks of a step, or of what stands at the end
    against: bool = False  # the question asks for the other direction of the first step, and nothing is there

    @property
    def asked(self) -> bool:
        """Whether words of the question speak of every step."""
        return not self.unasked

    @property
    def metapath(self) -> Metapath:
        return tuple((step,) for step in self.steps)


@dataclass(slots=True)
class _Around:
    """What can be followed from an entity: the first steps, and after each of them the second."""

    first: list[Relation] = field(default_factory=list)
    second: dict[Relation, set[Relation]] = field(default_factory=dict)
    ends: dict[Relation, set[int]] = field(default_factory=dict)  # a few entities that a step leads to


def guesses(
    connection: sqlite3.Connection, entity: int, text: str, name: str = "", *, hops: int = 2, k: int = 5
) -> list[Guess]:
    """Return the k metapaths of at most ``hops`` (1 or 2) steps that a question most probably asks for, best first.

    ``name`` is how the question writes the entity. Empty if the entity is in no triple. Ties: fewer steps, then names.
    """
    if hops not in (1, 2):
        raise ValueError(f"hops must be 1 or 2, not {hops!r}")
    around = _around(connection, entity, hops)
    readings = _readings(connection, around.ends)
    asked = question(text, name)
    ways: list[tuple[Relation, ...]] = [(step,) for step in around.first]
    ways += [(one, two) for one in around.first for two in around.second.get(one, ())]
    found = [_weighed(way, asked, readings) for way in ways]
    found.sort(
        key=lambda guess: (-guess.score, len(guess.steps), [(str(step.name), not step.forward) for step in guess.steps])
    )
    both_ways = _both_ways(connection, around.first)
    return [replace(guess, against=_against(guess.steps[0], asked, around.first, both_ways)) for guess in found[:k]]


def _against(step: Relation, asked: Question, there: Collection[Relation], both_ways: Collection[str]) -> bool:
    head = is_head(asked, str(step.name))
    other = Relation(step.name, not step.forward)
    return head is not None and head != step.forward and other not in there and step.name not in both_ways


def _both_ways(connection: sqlite3.Connection, steps: Collection[Relation]) -> set[str]:
    """The relations that are their own inverse by the schema, as *married*."""
    names = json.dumps(sorted({str(step.name) for step in steps}))
    return {row[0] for row in connection.execute(SCHEMA, {"names": names}) if row[0] == row[3]}


def _weighed(way: tuple[Relation, ...], asked: Question, readings: Mapping[Relation, Reading]) -> Guess:
    read = [readings[step] for step in way]
    last = read[-1]
    spoken = [[likeness(word, step.words) for step in read] for word in asked.words]
    ends = [likeness(word, last.ends) for word in asked.words]
    score = sum(max(*values, END_WORDS * end) for values, end in zip(spoken, ends, strict=True))
    right_kind = bool(asked.kind) and last.kind == asked.kind
    unasked = []
    for n, step in enumerate(way):
        most = max((values[n] for values in spoken), default=0.0)
        if n == len(way) - 1 and right_kind and asked.kind != "person":
            most = max(most, SUPPORT)  # "when" speaks of the only date there is
        if most < SUPPORT:
            unasked.append(step)
            score -= UNASKED * (1 - most)
    score -= BACKWARDS * sum(not step.forward for step in way)
    if leads_to(asked, str(way[0].name)):
        score += -READ_INTO if way[0].forward else READ_INTO
    if right_kind:
        score += RIGHT_KIND
    elif last.kind and asked.kind:
        score -= RIGHT_KIND
    elif last.kind in ("person", "date"):
        score -= UNSAID_KIND
    if len(way) == 2:
        score -= LONGER
        back = way[0].name == way[1].name
        if back:
            score += OTHERS_ASKED if asked.others else -OTHERS_UNASKED
        elif asked.others:
            score -= OTHERS_ELSEWHERE
        telling = [n for n, values in enumerate(spoken) if max(values) >= SUPPORT and values[0] != values[1]]
        if telling:
            nearest = min(telling, key=lambda n: asked.distances[n])
            score += NEXT if spoken[nearest][0] > spoken[nearest][1] else -NEXT
    elif asked.others:
        score -= OTHERS_LEFT
    told = len(unasked) < len(way) or max(ends, default=0.0) >= SUPPORT
    return Guess(way, round(score, 6), tuple(unasked), told)


def _around(connection: sqlite3.Connection, entity: int, hops: int) -> _Around:
    around = _Around()
    for _, step, ends in _steps(connection, [entity]):
        around.first.append(step)
        around.ends.setdefault(step, set()).update(ends)
    if hops == 1:
        return around
    for first in around.first:
        rows = connection.execute(REACHED[first.forward], [entity, first.name, BRANCHES])
        reached = [id_ for (id_,) in rows if id_ != entity]
        for _, step, ends in _steps(connection, reached):
            if {entity} != ends:  # it leads elsewhere than back
                around.second.setdefault(first, set()).add(step)
                around.ends.setdefault(step, set()).update(ends - {entity})
    return around


def _steps(connection: sqlite3.Connection, entities: Collection[int]) -> Iterable[tuple[int, Relation, set[int]]]:
    for entity, relation, inverse, *ends in connection.execute(STEPS, {"entities": json.dumps(list(entities))}):
        yield entity, Relation(relation, not inverse), set(ends)


def _readings(connection: sqlite3.Connection, ends: Mapping[Relation, Collection[int]]) -> dict[Relation, Reading]:
    few = {step: sorted(ids)[:SAMPLES] for step, ids in ends.items()}
    wanted = sorted({id_ for ids in few.values() for id_ in ids})
    known = {row[0]: row for row in connection.execute(ENDS, {"entities": json.dumps(wanted)})}
    names = json.dumps(sorted({str(step.name) for step in ends}))
    schema = {row[0]: row for row in connection.execute(SCHEMA, {"names": names})}
    found = {}
    for step, ids in few.items():
        rows = [known[id_] for id_ in ids if id_ in known]
        types = dict.fromkeys(row[2] for row in rows if row[2])
        texts, end = _said(step, schema.get(str(step.name)))
        found[step] = reading(texts, types, end, [row[1] for row in rows])
    return found


def _said(step: Relation, row: Sequence[str] | None) -> tuple[list[str], str]:
    """What names or describes a step, and the name that says what stands at its end."""
    relation = str(step.name)
    if row is None:
        return [relation], relation if step.forward else ""
    name, description, aliases, inverse = row
    return [name, *json.loads(aliases), inverse or "", description], name if step.forward else inverse or ""
