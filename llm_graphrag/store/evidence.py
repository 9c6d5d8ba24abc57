"""Claims and mentions as rows: a document's are compared with what it said before, and only the difference is written.

Positions become positions within the chunk that holds the quote; a quote never
crosses a chunk. Rows keep their entity once they have one; who a name means is
asked of ``Names`` when the row is new, and again by ``settle.py`` when the meaning
of its key has changed.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from ..facts.claims import Claim, Mention
from ..facts.link_targets import link_key
from ..text.chunks import Chunk
from ..text.normalise import name_key
from ..text.sentences import sentence_around
from .entities import Names

Row = tuple[Any, ...]


class Places:
    """Finds the chunk and the sentence for a position of one document, which is called ``name``."""

    def __init__(
        self, name: str, text: str, chunks: Sequence[Chunk], ids: Sequence[int], sentences: Sequence[tuple[int, int]]
    ) -> None:
        self.name, self.text, self.chunks, self.ids, self.sentences = name, text, chunks, ids, sentences
        self._starts = [chunk.start for chunk in chunks]
        self._ends = {id_: chunk.end for id_, chunk in zip(ids, chunks, strict=True)}

    def end_of(self, chunk: int) -> int:
        """Where a chunk, named by its row id, ends in the document."""
        return self._ends[chunk]

    def of(self, start: int, end: int) -> tuple[int, int, int, int] | None:
        """(chunk id, offset of the chunk, quote start, quote end), the last two within the chunk."""
        place = bisect_right(self._starts, start) - 1
        if place < 0:
            return None
        chunk = self.chunks[place]
        end = min(end, chunk.end)
        if start >= end:
            return None
        first, last = sentence_around(self.text, self.sentences, start, end)
        first, last = max(first, chunk.start), min(last, chunk.end)
        return self.ids[place], chunk.start, first - chunk.start, last - chunk.start


def put_claims(
    connection: sqlite3.Connection,
    document: int,
    entity: int | None,
    places: Places,
    claims: Iterable[Claim],
    names: Names,
    origin: str,
    schema_version: int,
) -> tuple[set[int], set[int]]:
    """Make the claims of ``origin`` in a document exactly ``claims``.

    Returns the ids of evidence rows that are new (their links have yet to be
    resolved), and entities that lost a claim. Facts that lost one are recounted
    from the table ``temp.touched``, which settle.py reads.
    """
    wanted: dict[Row, Claim] = {}
    for claim in claims:
        row = _row(claim, places)
        if row is not None:
            wanted.setdefault(row, claim)
    have = _stored(connection, document, origin)
    losing = _delete(connection, [have[row] for row in have.keys() - wanted.keys()])
    new: set[int] = set()
    for row in (row for row in wanted if row not in have):
        new.add(_insert(connection, row, wanted[row], places, entity, names, schema_version))
    return new, losing


def _row(claim: Claim, places: Places) -> Row | None:
    place = places.of(claim.start, claim.end)
    if place is None:
        return None
    chunk, offset, start, end = place
    detail = dict(claim.detail)
    if "at" in detail:
        detail["at"] = [position - offset for position in detail["at"]]
    return (chunk, start, end, claim.kind, claim.head or "", claim.relation, claim.tail, _json(detail))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _stored(connection: sqlite3.Connection, document: int, origin: str) -> dict[Row, int]:
    rows = connection.execute(
        """SELECT v.id, v.chunk, v.start, v.end, v.kind, CASE WHEN v.head_key IS NULL THEN '' ELSE v.head END,
             v.relation, v.tail, v.detail
           FROM kg_chunks c CROSS JOIN kg_evidence v ON v.chunk = c.id WHERE c.document = ? AND v.origin = ?""",
        [document, origin],
    )
    return {tuple(row)[1:]: row[0] for row in rows}


def _insert(
    connection: sqlite3.Connection,
    row: Row,
    claim: Claim,
    places: Places,
    entity: int | None,
    names: Names,
    schema_version: int,
) -> int:
    chunk, start, end, kind, head, relation, tail, detail = row
    chunk_start = places.chunks[places.ids.index(chunk)].start
    head_key = None if claim.head is None else name_key(claim.head)
    triple = kind == "triple"
    tail_key = name_key(tail) if triple else None
    link = link_key(claim.target) if triple and claim.target else None
    head_entity = entity if claim.head is None else names.resolve(head, claim.origin, head_key)
    tail_entity = names.resolve(tail, claim.origin, tail_key) if triple and link is None else None
    cursor = connection.execute(
        """INSERT INTO kg_evidence(kind, head, head_key, head_type, head_entity, relation, tail, tail_key, tail_type,
             tail_entity, link_key, reversed, chunk, start, end, quote, confidence, origin, schema_version, detail)
           VALUES (:kind, :head, :head_key, :head_type, :head_entity, :relation, :tail, :tail_key, :tail_type,
             :tail_entity, :link, :reversed, :chunk, :start, :end, :quote, :confidence, :origin, :schema_version,
             :detail)""",
        {
            "kind": kind, "head": head or places.name, "reversed": int(claim.reversed), "head_key": head_key,
            "head_type": claim.head_type, "head_entity": head_entity, "relation": relation, "tail": tail,
            "tail_key": tail_key, "tail_type": claim.tail_type, "tail_entity": tail_entity, "link": link,
            "chunk": chunk, "start": start, "end": end, "quote": places.text[chunk_start + start : chunk_start + end],
            "confidence": claim.confidence, "origin": claim.origin, "schema_version": schema_version,
            "detail": detail,
        },
    )  # fmt: skip
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _delete(connection: sqlite3.Connection, ids: Sequence[int]) -> set[int]:
    """Delete evidence; its facts go to ``temp.touched``, its entities are returned."""
    losing: set[int] = set()
    for id_ in ids:
        row = connection.execute(
            """SELECT triple, attribute, head_entity, tail_entity, chunk, link_key, tail_key, detail
               FROM kg_evidence WHERE id = ?""",
            [id_],
        ).fetchone()
        if row["link_key"] is not None:
            put_link_mention(connection, row, None)
        touch(connection, row["triple"], row["attribute"])
        losing |= {row[key] for key in ("head_entity", "tail_entity") if row[key] is not None}
        connection.execute("DELETE FROM kg_evidence WHERE id = ?", [id_])
    return losing


def put_link_mention(connection: sqlite3.Connection, row: sqlite3.Row, entity: int | None) -> None:
    """A link is a mention of what it means: write it for ``entity``, or take it away for None."""
    start, end = json.loads(row["detail"])["at"]
    place = [row["chunk"], start, end, row["tail_key"]]
    if entity is None:
        connection.execute(
            "DELETE FROM kg_mentions WHERE chunk = ? AND start = ? AND end = ? AND key = ? AND origin = 'link'", place
        )
        return
    connection.execute(
        """INSERT INTO kg_mentions(chunk, start, end, key, entity, origin) VALUES (?, ?, ?, ?, ?, 'link')
           ON CONFLICT DO UPDATE SET entity = excluded.entity, origin = 'link'""",
        [*place, entity],
    )


def touch(connection: sqlite3.Connection, triple: int | None, attribute: int | None) -> None:
    """Mark a fact whose evidence changed, to be counted again."""
    if triple is not None:
        connection.execute("INSERT OR IGNORE INTO temp.touched(kind, id) VALUES ('triple', ?)", [triple])
    if attribute is not None:
        connection.execute("INSERT OR IGNORE INTO temp.touched(kind, id) VALUES ('attribute', ?)", [attribute])


def move_imported_mentions(connection: sqlite3.Connection, keys: Iterable[str]) -> set[int]:
    """An imported chunk mentions what its rows state: give the mentions of these keys whom the first row now means.

    Returns the entities that won or lost one.
    """
    rows = connection.execute(MOVED_MENTIONS, [json.dumps(sorted(keys), ensure_ascii=False)]).fetchall()
    connection.executemany(
        "UPDATE kg_mentions SET entity = ? WHERE chunk = ? AND start = ? AND end = ? AND key = ?",
        [(row["stated"], row["chunk"], row["start"], row["end"], row["key"]) for row in rows],
    )
    return {row[which] for row in rows for which in ("stated", "entity")}


def release_chunks(connection: sqlite3.Connection, chunks: Sequence[int]) -> set[int]:
    """Mark the facts that rest on chunks which are about to be deleted; returns the entities that lose support."""
    if not chunks:
        return set()
    wanted = json.dumps(chunks)
    for statement in TOUCH_CHUNKS:
        connection.execute(statement, [wanted])
    rows = connection.execute(ENTITIES_OF_CHUNKS, {"chunks": wanted})
    return {row[0] for row in rows if row[0] is not None}


def put_mentions(
    connection: sqlite3.Connection,
    document: int,
    places: Places,
    mentions: Iterable[Mention],
    names: Names,
    origin: str,
) -> tuple[set[int], set[int]]:
    """Make the mentions of ``origin`` in a document exactly ``mentions``; returns entities that won, that lost one."""
    wanted: dict[tuple[int, int, int, str], str] = {}
    for mention in mentions:
        place = places.of(mention.start, mention.end)
        key = name_key(mention.name)
        if place is None or not key:
            continue
        chunk, offset, _, _ = place
        if mention.end > places.end_of(chunk):
            continue  # a name cut by a chunk boundary is in neither chunk
        wanted.setdefault((chunk, mention.start - offset, mention.end - offset, key), mention.name)
    rows = connection.execute(
        """SELECT m.chunk, m.start, m.end, m.key, m.entity FROM kg_chunks c CROSS JOIN kg_mentions m ON m.chunk = c.id
           WHERE c.document = ? AND m.origin = ?""",
        [document, origin],
    )
    have = {tuple(row)[:4]: row[4] for row in rows}
    gone = have.keys() - wanted.keys()
    if gone:
        connection.executemany(
            "DELETE FROM kg_mentions WHERE chunk = ? AND start = ? AND end = ? AND key = ?", list(gone)
        )
    lost = {have[row] for row in gone if have[row] is not None}
    won: set[int] = set()
    fresh = [row for row in wanted if row not in have]
    names.preload(row[3] for row in fresh)
    inserted = []
    for row in fresh:
        entity = names.resolve(wanted[row], origin, row[3])
        if entity is not None:
            inserted.append((*row, entity, origin))
            won.add(entity)
    connection.executemany(
        "INSERT OR IGNORE INTO kg_mentions(chunk, start, end, key, entity, origin) VALUES (?, ?, ?, ?, ?, ?)", inserted
    )
    return won, lost


MOVED_MENTIONS = """
  SELECT * FROM (
    SELECT m.chunk, m.start, m.end, m.key, m.entity,
      (SELECT CASE WHEN v.head_key = m.key THEN v.head_entity ELSE v.tail_entity END FROM kg_evidence v
       WHERE v.chunk = m.chunk AND v.origin = 'import' AND m.key IN (v.head_key, v.tail_key) ORDER BY v.id LIMIT 1)
      AS stated
    FROM json_each(?) w CROSS JOIN kg_mentions m ON m.key = w.value WHERE m.origin = 'import')
  WHERE stated <> entity"""

TOUCH_CHUNKS = (
    """INSERT OR IGNORE INTO temp.touched(kind, id) SELECT 'triple', v.triple FROM json_each(?) w
       CROSS JOIN kg_evidence v ON v.chunk = w.value WHERE v.triple IS NOT NULL""",
    """INSERT OR IGNORE INTO temp.touched(kind, id) SELECT 'attribute', v.attribute FROM json_each(?) w
       CROSS JOIN kg_evidence v ON v.chunk = w.value WHERE v.attribute IS NOT NULL""",
)

ENTITIES_OF_CHUNKS = """
  SELECT v.head_entity FROM json_each(:chunks) w CROSS JOIN kg_evidence v ON v.chunk = w.value
  UNION SELECT v.tail_entity FROM json_each(:chunks) w CROSS JOIN kg_evidence v ON v.chunk = w.value
  UNION SELECT m.entity FROM json_each(:chunks) w CROSS JOIN kg_mentions m ON m.chunk = w.value"""
