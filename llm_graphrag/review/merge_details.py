"""What a person looks at to decide on a merge: the list, and for one pair both entities side by side.

Each entity is shown as its own evidence has it, whatever it is merged into: the passages that name it, and what is
stated of it. ``shared`` is what both state, and would be one fact; ``between`` what would be a fact about itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from ..store import decisions, merges
from ..store.headings import outlines
from ..store.merges import STATUSES
from ..text.sentences import sentence_around, sentence_spans
from .merge_rows import KIND
from .proposals import ReviewError

__all__ = ["Detail", "Listed", "Passage", "Side", "Stated", "detail", "listed", "numbers"]

PASSAGES = 6
STATED = 60


@dataclass(frozen=True, slots=True)
class Listed:
    """One pair. ``joined``: the two are one entity now. An id is None, and the name a key, where one is not there."""

    id: int
    status: str  # suggested, approved, rejected, undone
    doubt: float | None  # 0 to 1; None for a merge by hand
    reason: str
    kept: str
    kept_type: str
    kept_id: int | None
    merged: str
    merged_type: str
    merged_id: int | None
    joined: bool
    decided_by: str | None
    decided_at: str | None


@dataclass(frozen=True, slots=True)
class Passage:
    """A place that names an entity. ``before``, ``name`` and ``after`` together are the sentence, as it stands."""

    uri: str
    title: str
    heading: str
    line: int
    before: str
    name: str
    after: str
    private: bool
    document: int
    chunk: int


@dataclass(frozen=True, slots=True, order=True)
class Stated:
    """What is stated of an entity: ``other`` is the name of the other end of a triple, or a value."""

    relation: str
    direction: str  # out, in, attribute
    other: str
    other_id: int | None
    evidence: int  # statements


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two entities, as it is by itself."""

    id: int | None
    key: str
    name: str
    type: str
    aliases: tuple[str, ...]
    notes: tuple[str, ...]  # uris of the notes about it
    chunks: int  # that name it
    passages: tuple[Passage, ...]  # the first of them
    stated: tuple[Stated, ...]
    with_it: tuple[str, ...]  # names of what is merged with it by other decisions


@dataclass(frozen=True, slots=True)
class Detail:
    """A pair with all that there is to see of it."""

    listed: Listed
    kept: Side
    merged: Side
    shared: tuple[Stated, ...]  # stated of both; evidence of both counted
    between: tuple[Stated, ...]  # of the kept one, with the merged one as the other end
    differing: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]  # attribute, values of each
    log: tuple[sqlite3.Row, ...]  # decisions about the pair (kg_decisions), newest first


def listed(
    connection: sqlite3.Connection, statuses: Iterable[str] = STATUSES, limit: int = -1, offset: int = 0
) -> list[Listed]:
    """Pairs of these statuses, suggestions with the least doubt first; those that are one through others left out."""
    return [_listed(row) for row in merges.listed(connection, statuses, limit, offset)]


def numbers(connection: sqlite3.Connection) -> dict[str, int]:
    """How many pairs ``listed`` has of each status."""
    return merges.numbers(connection)


def detail(connection: sqlite3.Connection, merge: int) -> Detail:
    """All there is to see of a pair. Raises ReviewError if there is none of this id."""
    row = merges.one(connection, merge)
    if row is None:
        raise ReviewError(f"There is no merge {merge}. See: llm graphrag merges list")
    shown = _listed(row)
    kept = _side(connection, shown.kept_id, row["kept_key"], shown.kept, shown.kept_type)
    merged = _side(connection, shown.merged_id, row["merged_key"], shown.merged, shown.merged_type)
    ends = {kept.id, merged.id}
    mine = {_fact(item): item for item in kept.stated if item.other_id not in ends or item.other_id is None}
    theirs = {_fact(item): item for item in merged.stated}
    return Detail(
        listed=shown,
        kept=kept,
        merged=merged,
        shared=tuple(
            Stated(item.relation, item.direction, item.other, item.other_id, item.evidence + theirs[fact].evidence)
            for fact, item in sorted(mine.items(), key=repr)
            if fact in theirs
        ),
        between=tuple(item for item in kept.stated if item.other_id is not None and item.other_id == merged.id),
        differing=_differing(kept, merged),
        log=tuple(decisions.of(connection, KIND, merge)),
    )


def _fact(item: Stated) -> tuple[str, str, object]:
    return (item.relation, item.direction, item.other if item.other_id is None else item.other_id)


def _differing(kept: Side, merged: Side) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Attributes that both have, with no value in common."""
    values: list[dict[str, set[str]]] = [{}, {}]
    for side, found in zip((kept, merged), values, strict=True):
        for item in side.stated:
            if item.direction == "attribute":
                found.setdefault(item.relation, set()).add(item.other)
    one, other = values
    return tuple(
        (name, tuple(sorted(one[name])), tuple(sorted(other[name])))
        for name in sorted(one.keys() & other.keys())
        if not one[name] & other[name]
    )


def _listed(row: sqlite3.Row) -> Listed:
    return Listed(
        row["id"], row["status"], row["doubt"], row["reason"], row["kept_name"], row["kept_type"], row["kept_id"],
        row["merged_name"], row["merged_type"], row["merged_id"], bool(row["joined"]), row["decided_by"],
        row["decided_at"],
    )  # fmt: skip


# -- one entity ------------------------------------------------------------------------

ALIASES = "SELECT DISTINCT name FROM kg_aliases WHERE entity = :entity AND name <> :name ORDER BY name"
NOTES = "SELECT uri FROM kg_documents WHERE entity = :entity ORDER BY uri"
CHUNKS = "SELECT count(DISTINCT chunk) FROM kg_mentions WHERE entity = :entity"
WITH_IT = """
  SELECT o.name FROM kg_entities e JOIN kg_entities o
    ON o.id <> e.id AND coalesce(o.merged_into, o.id) = coalesce(e.merged_into, e.id)
  WHERE e.id = :entity ORDER BY o.name"""
NAMED = """
  SELECT p.start, p.end, c.id AS chunk, c.text, c.line, d.id AS document, d.uri, d.title, d.private
  FROM (SELECT chunk, start, end FROM (
          SELECT chunk, start, end, row_number() OVER (PARTITION BY chunk ORDER BY rank, start, end) AS place FROM (
            SELECT chunk, start, end, 0 AS rank FROM kg_evidence
              WHERE head_entity = :entity AND origin = 'llm' AND kind IN ('triple', 'attribute')
            UNION ALL SELECT chunk, start, end, 0 FROM kg_evidence WHERE tail_entity = :entity AND origin = 'llm'
            UNION ALL SELECT chunk, start, end, 1 FROM kg_mentions WHERE entity = :entity
            UNION ALL SELECT chunk, start, end, 1 FROM kg_evidence
              WHERE head_entity = :entity AND origin = 'llm' AND kind NOT IN ('triple', 'attribute')))
        WHERE place = 1) p
  JOIN kg_chunks c ON c.id = p.chunk JOIN kg_documents d ON d.id = c.document
  ORDER BY row_number() OVER (PARTITION BY d.id ORDER BY c.seq), d.uri, c.seq LIMIT :limit"""
OF_ENTITY = """
  SELECT * FROM (
  SELECT v.relation AS relation, 'attribute' AS direction, v.tail AS other, NULL AS other_id, count(*) AS evidence
    FROM kg_evidence v WHERE v.head_entity = :entity AND v.kind = 'attribute' GROUP BY v.relation, v.tail
  UNION ALL SELECT v.relation, iif(v.reversed, 'in', 'out'), o.name, o.id, count(*)
    FROM kg_evidence v JOIN kg_entities o ON o.id = v.tail_entity
    WHERE v.head_entity = :entity AND v.kind = 'triple' GROUP BY v.relation, v.reversed, o.id
  UNION ALL SELECT v.relation, iif(v.reversed, 'out', 'in'), o.name, o.id, count(*)
    FROM kg_evidence v JOIN kg_entities o ON o.id = v.head_entity
    WHERE v.tail_entity = :entity AND v.kind = 'triple' AND v.head_entity <> v.tail_entity
    GROUP BY v.relation, v.reversed, o.id)
  ORDER BY evidence DESC, direction = 'in', direction, relation, other, other_id LIMIT :limit"""


def _side(connection: sqlite3.Connection, entity: int | None, key: str, name: str, type_: str) -> Side:
    values = {"entity": entity, "name": name}
    return Side(
        id=entity,
        key=key,
        name=name,
        type=type_,
        aliases=tuple(row[0] for row in connection.execute(ALIASES, values)),
        notes=tuple(row[0] for row in connection.execute(NOTES, values)),
        chunks=connection.execute(CHUNKS, values).fetchone()[0],
        passages=tuple(_passages(connection, entity)),
        stated=tuple(Stated(*row) for row in connection.execute(OF_ENTITY, values | {"limit": STATED})),
        with_it=tuple(row[0] for row in connection.execute(WITH_IT, values)),
    )


def _passages(connection: sqlite3.Connection, entity: int | None) -> Iterable[Passage]:
    """The first sentences that name an entity, of many notes rather than of one."""
    rows = connection.execute(NAMED, {"entity": entity, "limit": PASSAGES}).fetchall()
    outline = outlines(connection, {row["chunk"] for row in rows})
    for row in rows:
        text, start, end = row["text"], row["start"], row["end"]
        first, last = sentence_around(text, sentence_spans(text), start, end)
        yield Passage(
            row["uri"], row["title"], outline[row["chunk"]].path(start), row["line"] + text.count("\n", 0, start),
            text[first:start], text[start:end], text[end:last], bool(row["private"]), row["document"], row["chunk"],
        )  # fmt: skip
