"""What has changed: the log of runs, read for a person.

The log (``store/history.py``) says of every run which notes and facts came, went and changed. Here several runs are
added up, and what belongs together is told as one change: a fact whose end has got a type or another spelling is not
one that went and one that came, and neither is an attribute that has another value.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..text.normalise import name_key
from .runs import Decision, RunLog, decisions, runs, schema_versions, span

__all__ = ["Changed", "Fact", "History", "Note", "Renamed", "Valued", "history"]

_DAY = "0001-01-01T00:00:00"  # completes the beginning of a date


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    kind: str  # triple, attribute
    head: str
    head_type: str
    relation: str
    tail: str
    tail_type: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A fact that has other evidence than before."""

    fact: Fact
    evidence_before: int
    evidence: int
    confidence_before: float | None
    confidence: float | None


@dataclass(frozen=True, slots=True, order=True)
class Valued:
    """An attribute of which one value was replaced by one other."""

    head: str
    head_type: str
    attribute: str
    before: str
    value: str


@dataclass(frozen=True, slots=True, order=True)
class Renamed:
    """An entity that is spelled or typed otherwise in ``facts`` facts, which are else as they were."""

    name_before: str
    type_before: str
    name: str
    type: str
    facts: int


@dataclass(frozen=True, slots=True)
class Note:
    """A note: None for what was not there before, or is gone; ``edited`` if its text differs."""

    uri_before: str | None
    uri: str | None
    edited: bool


@dataclass(slots=True)
class History:
    """What several runs have changed together; the facts of ``counted`` runs are not in it."""

    runs: list[RunLog] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    added: list[Fact] = field(default_factory=list)
    gone: list[Fact] = field(default_factory=list)
    values: list[Valued] = field(default_factory=list)
    renamed: list[Renamed] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    schema: list[Decision] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


def history(
    connection: sqlite3.Connection, *, since: str | None = None, run: int | None = None, last: int | None = None
) -> History:
    """What was changed since a date, by one run, or by the last runs; by all that are kept if nothing is said.

    Raises ValueError for what is no date, and for a run that is not there.
    """
    if since is not None and not _is_date(since):
        raise ValueError(f"--since takes a date like 2026-01-31, not {since!r}.")
    since = since and since.replace(" ", "T")
    wanted = runs(connection, last, since)
    if run is not None:
        wanted = [item for item in wanted if item.id == run]
        if not wanted:
            kept = connection.execute("SELECT min(id), max(id) FROM kg_runs").fetchone()
            there = f"Runs {kept[0]} to {kept[1]} are kept" if kept[0] else "No run is kept"
            raise ValueError(f"There is no run {run}. {there}; see: llm graphrag history")
    found = History(runs=wanted, counted=sorted(item.id for item in wanted if not item.listed))
    ids = sorted(item.id for item in wanted)
    found.notes = _notes(connection, ids)
    _facts(connection, ids, found)
    bounds = span(connection, ids, since, closed=run is not None)
    found.schema = schema_versions(connection, bounds)
    found.decisions = decisions(connection, bounds)
    return found


def _is_date(text: str) -> bool:
    """Whether this is the beginning of an ISO date that there is."""
    if len(text) not in (4, 7, 10, 13, 16, 19):
        return False
    try:
        datetime.fromisoformat(text.replace(" ", "T") + _DAY[len(text) :])
    except ValueError:
        return False
    return True


def _notes(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Note]:
    """Notes by uri; what was removed and is there again under the same uri was edited, or nothing happened."""
    rows = connection.execute(
        """SELECT document, uri_before, uri, hash_before, hash FROM json_each(?) w CROSS JOIN kg_note_log n
           ON n.run = w.value ORDER BY n.run""",
        [json.dumps(ids)],
    )
    states: dict[int, tuple[Any, ...]] = {}
    for document, uri_before, uri, hash_before, hash_ in rows:
        first = states.get(document, (uri_before, hash_before))
        states[document] = (*first[:2], uri, hash_)
    gone = {state[0]: state for state in states.values() if state[2] is None}
    found = []
    for uri_before, hash_before, uri, hash_ in states.values():
        if uri_before is None and uri in gone:
            uri_before, hash_before = gone.pop(uri)[:2]
        if uri is not None and (uri_before, hash_before) != (uri, hash_):
            found.append(Note(uri_before, uri, uri_before is not None and hash_before != hash_))
    found += [Note(uri, None, False) for uri in gone if uri is not None]
    return sorted(found, key=lambda note: note.uri or note.uri_before or "")


def _facts(connection: sqlite3.Connection, ids: Sequence[int], found: History) -> None:
    states = _added_up(connection, ids)
    gone = sorted(fact for fact, (before, now, _, _) in states.items() if before and not now)
    added = sorted(fact for fact, (before, now, _, _) in states.items() if now and not before)
    found.renamed, gone, added = _renamed(gone, added, _moves(found.notes))
    found.values, found.gone, found.added = _valued(gone, added)
    found.changed = [
        Changed(fact, *state)
        for fact, state in sorted(states.items())
        if state[0] and state[1] and (state[0], state[2]) != (state[1], state[3])
    ]


def _added_up(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[Fact, tuple[Any, Any, Any, Any]]:
    """Fact → (evidence before all of the runs, after them, confidence before, after)."""
    rows = connection.execute(
        """SELECT kind, head, head_type, relation, tail, tail_type, evidence_before, evidence, confidence_before,
             confidence FROM json_each(?) w CROSS JOIN kg_fact_log f ON f.run = w.value ORDER BY f.run""",
        [json.dumps(ids)],
    )
    states: dict[Fact, tuple[Any, Any, Any, Any]] = {}
    for *names, before, now, sure_before, sure in rows:
        fact = Fact(*names)
        first = states.get(fact, (before, None, sure_before, None))
        states[fact] = (first[0], now, first[2], sure)
    return states


def _moves(notes: Iterable[Note]) -> dict[str, str]:
    """What a renamed note was called → what it is called, as keys."""
    pairs = ((note.uri_before, note.uri) for note in notes if note.uri_before and note.uri)
    return {_stem(before): _stem(now) for before, now in pairs if before != now}


def _stem(uri: str) -> str:
    return name_key(uri.rsplit("/", 1)[-1].rsplit(".", 1)[0])


def _renamed(
    gone: Sequence[Fact], added: Sequence[Fact], moves: Mapping[str, str]
) -> tuple[list[Renamed], list[Fact], list[Fact]]:
    """Pair facts that differ in spelling or type of their ends alone; returns what is left of both too."""
    coming: dict[tuple[str, ...], list[Fact]] = defaultdict(list)
    for fact in reversed(added):
        coming[_loose(fact, {})].append(fact)
    ends: Counter[tuple[str, str, str, str]] = Counter()
    left = []
    for fact in gone:
        new = next((coming[key].pop() for key in (_loose(fact, {}), _loose(fact, moves)) if coming.get(key)), None)
        if new is None:
            left.append(fact)
            continue
        for before, now in (
            ((fact.head, fact.head_type), (new.head, new.head_type)),
            ((fact.tail, fact.tail_type), (new.tail, new.tail_type)),
        ):
            if before != now:
                ends.update([(*before, *now)])
    rest = sorted(fact for facts in coming.values() for fact in facts)
    return [Renamed(*names, facts=number) for names, number in sorted(ends.items())], left, rest


def _loose(fact: Fact, moves: Mapping[str, str]) -> tuple[str, ...]:
    head = name_key(fact.head)
    if fact.kind == "attribute":
        return (fact.kind, moves.get(head, head), fact.relation, fact.tail)
    tail = name_key(fact.tail)
    return (fact.kind, moves.get(head, head), fact.relation, moves.get(tail, tail))


def _valued(gone: Sequence[Fact], added: Sequence[Fact]) -> tuple[list[Valued], list[Fact], list[Fact]]:
    """Attributes of which one value went and one came; returns what is left of both too."""
    slots: dict[tuple[str, str], tuple[list[Fact], list[Fact]]] = defaultdict(lambda: ([], []))
    for side, facts in enumerate((gone, added)):
        for fact in facts:
            if fact.kind == "attribute":
                slots[name_key(fact.head), fact.relation][side].append(fact)
    pairs = [(old[0], new[0]) for old, new in slots.values() if len(old) == len(new) == 1]
    values = sorted(Valued(new.head, new.head_type, new.relation, old.tail, new.tail) for old, new in pairs)
    told = {fact for pair in pairs for fact in pair}
    return values, [fact for fact in gone if fact not in told], [fact for fact in added if fact not in told]
