"""SQL of the document page: the text chunk by chunk, what it states and whom it names, headings, near titles."""

from __future__ import annotations

import difflib
import sqlite3
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from llm_graphrag.store.headings import outlines
from llm_graphrag.text.normalise import name_key

from .queries import entity_by_id, entity_ref
from .records import CHUNKS_PER_PAGE, DocumentRef, EntityRef

EVIDENCE_PER_CHUNK = 80
MENTIONS_PER_CHUNK = 400
HEADINGS = 300


@dataclass(frozen=True)
class Statement:
    """One row of evidence as the document page shows it: the ends as links where they are known."""

    evidence: int
    start: int
    end: int
    head: str
    head_entity: EntityRef | None
    relation: str
    tail: str
    tail_entity: EntityRef | None
    kind: str
    origin: str
    confidence: float


@dataclass(frozen=True)
class Naming:
    """A place in a chunk where an entity is named."""

    start: int
    end: int
    entity: EntityRef


@dataclass(frozen=True)
class Passage:
    """A chunk with everything that stands in it."""

    id: int
    seq: int
    start: int
    end: int
    line: int
    heading: str
    text: str
    statements: tuple[Statement, ...]
    namings: tuple[Naming, ...]


@dataclass(frozen=True)
class Heading:
    """A heading and the chunk in which it stands."""

    seq: int
    level: int
    text: str
    chunk_seq: int


@dataclass(frozen=True)
class Document:
    """A row of kg_documents, with its tags and the entity it is about."""

    ref: DocumentRef
    kind: str
    folder: str
    private: bool
    length: int
    added: str
    updated: str
    about: EntityRef | None
    tags: tuple[str, ...]
    last_seq: int


_BY_URI = "SELECT * FROM kg_documents WHERE uri = :uri"
_BY_ID = "SELECT * FROM kg_documents WHERE id = :id"
_TAGS = "SELECT tag FROM kg_tags WHERE document = :document ORDER BY tag LIMIT 50"
_LAST = "SELECT max(seq) FROM kg_chunks WHERE document = :document"


def document(connection: sqlite3.Connection, uri: str | None = None, number: int | None = None) -> Document | None:
    """The document with this uri or this id."""
    sql, args = (_BY_URI, {"uri": uri}) if number is None else (_BY_ID, {"id": number})
    row = connection.execute(sql, args).fetchone()
    if row is None:
        return None
    key = {"document": row["id"]}
    return Document(
        ref=DocumentRef(row["id"], row["uri"], row["title"]),
        kind=row["kind"],
        folder=row["folder"],
        private=bool(row["private"]),
        length=row["length"],
        added=row["added"],
        updated=row["updated"],
        about=entity_by_id(connection, row["entity"]) if row["entity"] is not None else None,
        tags=tuple(tag["tag"] for tag in connection.execute(_TAGS, key)),
        last_seq=connection.execute(_LAST, key).fetchone()[0] or 0,
    )


_CHUNKS = """
  SELECT id, seq, start, end, line, text FROM kg_chunks
  WHERE document = :document AND seq >= :first AND seq < :beyond ORDER BY seq"""
_STATEMENTS = """
  SELECT v.*, h.id AS h_id, h.name AS h_name, h.type AS h_type,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = h.key AND x.id <> h.id) AS h_shared,
         t.id AS t_id, t.name AS t_name, t.type AS t_type,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = t.key AND x.id <> t.id) AS t_shared
  FROM kg_evidence v LEFT JOIN kg_entities h ON h.id = v.head_entity LEFT JOIN kg_entities t ON t.id = v.tail_entity
  WHERE v.chunk = :chunk ORDER BY v.start, v.id LIMIT :limit"""
_NAMINGS = """
  SELECT m.start, m.end, e.id, e.name, e.type,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM kg_mentions m JOIN kg_entities e ON e.id = m.entity
  WHERE m.chunk = :chunk ORDER BY m.start, m.end LIMIT :limit"""


def passages(connection: sqlite3.Connection, document: int, page: int) -> list[Passage]:
    """The chunks of one page of a document's text."""
    first = (page - 1) * CHUNKS_PER_PAGE
    args = {"document": document, "first": first, "beyond": first + CHUNKS_PER_PAGE}
    rows = connection.execute(_CHUNKS, args).fetchall()
    outline = outlines(connection, [row["id"] for row in rows])
    found = []
    for row in rows:
        chunk = {"chunk": row["id"]}
        statements = connection.execute(_STATEMENTS, {**chunk, "limit": EVIDENCE_PER_CHUNK})
        namings = connection.execute(_NAMINGS, {**chunk, "limit": MENTIONS_PER_CHUNK})
        found.append(
            Passage(
                **{key: row[key] for key in ("id", "seq", "start", "end", "line", "text")},
                heading=outline[row["id"]].path(0),
                statements=tuple(_statement(statement) for statement in statements),
                namings=tuple(Naming(naming["start"], naming["end"], entity_ref(naming)) for naming in namings),
            )
        )
    return found


def _statement(row: sqlite3.Row) -> Statement:
    def end(prefix: str) -> EntityRef | None:
        if row[f"{prefix}_id"] is None:
            return None
        return EntityRef(
            row[f"{prefix}_id"], row[f"{prefix}_name"], row[f"{prefix}_type"], bool(row[f"{prefix}_shared"])
        )

    return Statement(
        evidence=row["id"],
        start=row["start"],
        end=row["end"],
        head=row["head"],
        head_entity=end("h"),
        relation=row["relation"],
        tail=row["tail"],
        tail_entity=end("t"),
        kind=row["kind"],
        origin=row["origin"],
        confidence=row["confidence"],
    )


_SECTIONS = "SELECT seq, level, heading, start FROM kg_sections WHERE document = :document ORDER BY seq LIMIT :limit"
_STARTS = "SELECT seq, start FROM kg_chunks WHERE document = :document ORDER BY seq LIMIT 5000"


def headings(connection: sqlite3.Connection, document: int) -> list[Heading]:
    """Headings in order, each with the chunk that holds it."""
    rows = connection.execute(_SECTIONS, {"document": document, "limit": HEADINGS}).fetchall()
    if not rows:
        return []
    chunks = [(row["start"], row["seq"]) for row in connection.execute(_STARTS, {"document": document})]
    starts = [start for start, _ in chunks]

    def holder(start: int) -> int:
        return chunks[max(bisect_right(starts, start) - 1, 0)][1] if chunks else 0

    return [
        Heading(row["seq"], row["level"], row["heading"], holder(row["start"]))
        for row in rows
        if row["level"] and row["heading"]
    ]


_PLACE = """
  SELECT c.seq, d.id, d.uri, d.title FROM kg_chunks c JOIN kg_documents d ON d.id = c.document WHERE c.id = :chunk"""


def place_of_chunk(connection: sqlite3.Connection, chunk: int) -> tuple[DocumentRef, int] | None:
    """The document of a chunk and the chunk's place in it."""
    row = connection.execute(_PLACE, {"chunk": chunk}).fetchone()
    return (DocumentRef(row["id"], row["uri"], row["title"]), row["seq"]) if row else None


_LIKE_NAME = "SELECT id, uri, title FROM kg_documents WHERE name_key = :key ORDER BY id LIMIT 20"
_LIKE_URI = "SELECT id, uri, title FROM kg_documents WHERE uri >= :start AND uri < :end ORDER BY uri LIMIT 50"


def near_documents(connection: sqlite3.Connection, uri: str, limit: int = 8) -> list[DocumentRef]:
    """Documents whose uri resembles this one, for "Did you mean"."""
    last = uri.rstrip("/").rsplit("/", 1)[-1]
    stem = last.rsplit(".", 1)[0] if "." in last[1:] else last
    start = uri[: max(len(uri) - len(last), 3)]
    searches: list[tuple[str, dict[str, Any]]] = [
        (_LIKE_NAME, {"key": name_key(last)}),
        (_LIKE_NAME, {"key": name_key(stem)}),
        (_LIKE_URI, {"start": start, "end": start + "\U0010ffff"}),
    ]
    found = {
        row["id"]: DocumentRef(row["id"], row["uri"], row["title"])
        for sql, args in searches
        for row in connection.execute(sql, args)
    }

    def likeness(ref: DocumentRef) -> float:
        return difflib.SequenceMatcher(None, uri[-200:], ref.uri[-200:], autojunk=False).ratio()

    return sorted(found.values(), key=lambda ref: (-likeness(ref), ref.uri))[:limit]
