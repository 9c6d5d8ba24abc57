"""Rows of an imported graph as chunks and evidence, many at a time.

A file of triples is one document; its lines are its text, and every row states its facts itself: evidence of origin
``import`` whose quote is the row. So that a million rows can be had, nothing here is done row by row: names are looked
up a batch at a time, new entities, facts, claims and mentions are written with ``executemany`` under ids that are given
out beforehand. What the batch means for everything else, the settlement finds out as it does for notes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..text.cjk import search_text
from ..text.normalise import name_key
from ..text.tokens import count_tokens
from . import changes
from .chunks import text_hash
from .evidence import release_chunks
from .imported_names import End, ImportedNames
from .settle import Settlement

__all__ = ["DOCUMENT", "Piece", "Statement", "chunks_by_hash", "place_chunks", "put_pieces", "read_with", "stated_in",
           "states"]  # fmt: skip

DOCUMENT = "import"  # kind of the documents, and of their sources


@dataclass(frozen=True, slots=True)
class Statement:
    """What a row states. Positions are code points of the document; ``head_span`` and ``tail_span`` are where the ends
    are named, None where they are not."""

    kind: str  # triple, attribute, type, alias
    head: str
    head_type: str
    relation: str
    tail: str
    tail_type: str
    start: int  # of the quote
    end: int
    head_span: tuple[int, int] | None = None
    tail_span: tuple[int, int] | None = None
    confidence: float = 1.0
    detail: str = "{}"


@dataclass(slots=True)
class Piece:
    """A chunk of the document with what its rows state."""

    seq: int
    start: int
    end: int
    line: int
    statements: list[Statement] = field(default_factory=list)
    id: int | None = None  # of the chunk, if it is there already


def put_pieces(
    connection: sqlite3.Connection,
    settlement: Settlement,
    document: int,
    title: str,
    text: str,
    pieces: Sequence[Piece],
    schema_version: int,
) -> None:
    """Write pieces of a document: new ones, and those whose rows are to be stated anew.

    The settlement has yet to be finished; until then what is stated anew keeps the ids of its facts.
    """
    _unstate(connection, settlement, [piece.id for piece in pieces if piece.id is not None])
    ids = {piece.seq: piece.id for piece in pieces if piece.id is not None}
    ids |= _put_chunks(connection, document, title, text, [piece for piece in pieces if piece.id is None])
    keys: dict[str, str] = {}
    for piece in pieces:
        for s in piece.statements:
            if s.head not in keys:
                keys[s.head] = name_key(s.head)
            if s.kind == "triple" and s.tail not in keys:
                keys[s.tail] = name_key(s.tail)
    names = ImportedNames(connection, settlement)
    names.resolve(_ends(pieces, keys))
    facts = _Facts(connection, names)
    facts.look_up()
    _put_claims(connection, names, facts, ids, text, pieces, keys, schema_version)
    facts.write()
    _put_mentions(connection, names, ids, pieces, keys)
    settlement.entities |= names.entities


def _unstate(connection: sqlite3.Connection, settlement: Settlement, chunks: Sequence[int]) -> None:
    """Take away what the rows of these chunks state."""
    settlement.lost |= release_chunks(connection, chunks)
    for table in ("kg_evidence", "kg_mentions"):
        connection.executemany(
            f"DELETE FROM {table} WHERE chunk = ? AND origin = 'import'",  # noqa: S608 - our own names
            [[id_] for id_ in chunks],
        )


def _ends(pieces: Iterable[Piece], keys: Mapping[str, str]) -> list[End]:
    """The names of a batch with their types, each once, in the order of the file."""
    found: dict[End, None] = {}
    for piece in pieces:
        for s in piece.statements:
            found[s.head, s.head_type, keys[s.head]] = None
            if s.kind == "triple":
                found[s.tail, s.tail_type, keys[s.tail]] = None
    return list(found)


def _put_chunks(
    connection: sqlite3.Connection, document: int, title: str, text: str, pieces: Sequence[Piece]
) -> dict[int, int]:
    """Insert chunks with their full text; returns ids by seq."""
    first = next_id(connection, "kg_chunks")
    ids = {piece.seq: first + place for place, piece in enumerate(pieces)}
    rows, indexed = [], []
    for piece in pieces:
        body = text[piece.start : piece.end]
        searched = search_text(body)
        place = (piece.seq, piece.start, piece.end, piece.line)
        rows.append((ids[piece.seq], document, *place, count_tokens(body), body, searched, text_hash(body)))
        indexed.append((ids[piece.seq], title, "", body if searched is None else searched))
    connection.executemany(
        """INSERT INTO kg_chunks(id, document, seq, start, end, line, tokens, text, search_text, content_hash)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        rows,
    )
    connection.executemany("INSERT INTO kg_chunks_fts(rowid, title, heading, text) VALUES (?, ?, ?, ?)", indexed)
    changes.record(connection, "kg_chunks", ids.values(), "insert")
    return ids


def next_id(connection: sqlite3.Connection, table: str) -> int:
    """The first id that was never given to a row of an AUTOINCREMENT table."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchone()
    return 1 if row is None else int(row[0]) + 1


class _Facts:
    """The facts that a batch states: those there are, and those that get a number here."""

    def __init__(self, connection: sqlite3.Connection, names: ImportedNames) -> None:
        self.connection, self.names = connection, names
        self.triples: dict[tuple[int, str, int], int] = {}
        self.attributes: dict[tuple[int, str, str], int] = {}
        self._evidence: dict[str, dict[int, tuple[int, float]]] = {"triple": {}, "attribute": {}}
        self._known: dict[str, set[int]] = {"triple": set(), "attribute": set()}

    def look_up(self) -> None:
        """Look up the facts of entities that were there before the batch."""
        before = json.dumps(sorted(self.names.roots_before()))
        for id_, *fact in self.connection.execute(KNOWN_TRIPLES, [before]):
            self.triples[fact[0], fact[1], fact[2]] = id_
        for id_, *fact in self.connection.execute(KNOWN_ATTRIBUTES, [before]):
            self.attributes[fact[0], fact[1], fact[2]] = id_
        self._known = {"triple": set(self.triples.values()), "attribute": set(self.attributes.values())}
        self._next = {
            "triple": next_id(self.connection, "kg_triples"), "attribute": next_id(self.connection, "kg_attributes"),
        }  # fmt: skip

    def triple(self, head: int, relation: str, tail: int, confidence: float) -> int:
        """The id of a triple that one more claim states."""
        return self._count("triple", self.triples, (self.names.root(head), relation, self.names.root(tail)), confidence)

    def attribute(self, entity: int, attribute: str, value: str, confidence: float) -> int:
        """The id of an attribute that one more claim states."""
        return self._count("attribute", self.attributes, (self.names.root(entity), attribute, value), confidence)

    def _count(self, kind: str, facts: dict[tuple[int, str, int], int] | dict[tuple[int, str, str], int],
               fact: tuple[int, str, int] | tuple[int, str, str], confidence: float) -> int:  # fmt: skip
        id_ = facts.get(fact)  # type: ignore[arg-type]
        if id_ is None:
            id_ = facts[fact] = self._next[kind]  # type: ignore[index]
            self._next[kind] += 1
        number, best = self._evidence[kind].get(id_, (0, 0.0))
        self._evidence[kind][id_] = number + 1, max(best, confidence)
        return id_

    def write(self) -> None:
        """Insert the new facts with their evidence counted; those that were there are to be counted again."""
        for kind, statement in INSERT_FACTS.items():
            facts = self.triples if kind == "triple" else self.attributes
            known, evidence = self._known[kind], self._evidence[kind]
            rows = [(id_, *fact, *evidence[id_]) for fact, id_ in facts.items() if id_ not in known]
            self.connection.executemany(statement, rows)
            if kind == "triple":
                changes.record(self.connection, "kg_triples", (row[0] for row in rows), "insert")
            self.connection.executemany(
                "INSERT OR IGNORE INTO temp.touched(kind, id) VALUES (?, ?)",
                [(kind, id_) for id_ in evidence if id_ in known],
            )


KNOWN_TRIPLES = """
  SELECT t.id, t.head, t.relation, t.tail FROM json_each(?) w CROSS JOIN kg_triples t ON t.head = w.value"""

KNOWN_ATTRIBUTES = """
  SELECT t.id, t.entity, t.attribute, t.value FROM json_each(?) w CROSS JOIN kg_attributes t ON t.entity = w.value"""

INSERT_FACTS = {
    "triple": "INSERT INTO kg_triples(id, head, relation, tail, evidence, confidence) VALUES (?, ?, ?, ?, ?, ?)",
    "attribute": """INSERT INTO kg_attributes(id, entity, attribute, value, evidence, confidence)
                    VALUES (?, ?, ?, ?, ?, ?)""",
}

INSERT_CLAIM = """
  INSERT INTO kg_evidence(kind, head, head_key, head_type, head_entity, relation, tail, tail_key, tail_type,
    tail_entity, chunk, start, end, quote, confidence, origin, schema_version, detail, triple, attribute)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'import', ?, ?, ?, ?)"""


def _put_claims(
    connection: sqlite3.Connection,
    names: ImportedNames,
    facts: _Facts,
    ids: Mapping[int, int],
    text: str,
    pieces: Sequence[Piece],
    keys: Mapping[str, str],
    schema_version: int,
) -> None:
    rows = []
    for piece in pieces:
        chunk, offset = ids[piece.seq], piece.start
        seen: set[tuple[object, ...]] = set()
        row = -1
        for s in piece.statements:
            if s.start != row:
                row = s.start
                seen.clear()
            same = (s.end, s.kind, s.head, s.relation, s.tail, s.detail)
            if same in seen:
                continue
            seen.add(same)
            head, tail, triple, attribute, tail_key = names.of(s.head, s.head_type), None, None, None, None
            if s.kind == "triple":
                tail, tail_key = names.of(s.tail, s.tail_type), keys[s.tail]
                if head is not None and tail is not None:
                    triple = facts.triple(head, s.relation, tail, s.confidence)
            elif s.kind == "attribute" and head is not None:
                attribute = facts.attribute(head, s.relation, s.tail, s.confidence)
            place = (chunk, s.start - offset, s.end - offset, text[s.start : s.end])
            rows.append(
                (s.kind, s.head, keys[s.head], s.head_type, head, s.relation, s.tail, tail_key, s.tail_type, tail,
                 *place, s.confidence, schema_version, s.detail, triple, attribute)
            )  # fmt: skip
    connection.execute("PRAGMA defer_foreign_keys = ON")  # the facts follow, when their evidence has been counted
    connection.executemany(INSERT_CLAIM, rows)


def _put_mentions(
    connection: sqlite3.Connection,
    names: ImportedNames,
    ids: Mapping[int, int],
    pieces: Sequence[Piece],
    keys: Mapping[str, str],
) -> None:
    """A key that is named in a chunk is a mention, where it is named first, of whom the first row with it means.

    One a chunk is enough, since what is asked is which chunks mention an entity; and so ``move_imported_mentions`` can
    tell from the claims alone whom it means by now.
    """
    rows = []
    for piece in pieces:
        chunk, offset = ids[piece.seq], piece.start
        meant: dict[str, int | None] = {}
        placed: set[str] = set()
        for s in piece.statements:
            ends = [(s.head, s.head_type, s.head_span)]
            if s.kind == "triple":
                ends.append((s.tail, s.tail_type, s.tail_span))
            for name, type_, span in ends:
                key = keys[name]
                if key not in meant:
                    meant[key] = names.of(name, type_)
                entity = meant[key]
                if span is not None and entity is not None and key not in placed:
                    placed.add(key)
                    rows.append((chunk, span[0] - offset, span[1] - offset, key, entity))
    connection.executemany(
        "INSERT OR IGNORE INTO kg_mentions(chunk, start, end, key, entity, origin) VALUES (?, ?, ?, ?, ?, 'import')",
        rows,
    )


def states(piece: Piece) -> set[tuple[object, ...]]:
    """What the rows of a piece state, comparable with ``stated_in``."""
    return {
        (s.kind, s.head, s.head_type, s.relation, s.tail, s.tail_type, s.start - piece.start, s.end - piece.start,
         s.confidence, s.detail)
        for s in piece.statements
    }  # fmt: skip


def stated_in(connection: sqlite3.Connection, chunks: Collection[int]) -> dict[int, set[tuple[object, ...]]]:
    """What is stored of the rows in these chunks, by chunk."""
    found: dict[int, set[tuple[object, ...]]] = {}
    for chunk, *stated in connection.execute(STATED, [json.dumps(list(chunks))]):
        found.setdefault(chunk, set()).add(tuple(stated))
    return found


STATED = """
  SELECT v.chunk, v.kind, v.head, v.head_type, v.relation, v.tail, v.tail_type, v.start, v.end, v.confidence, v.detail
  FROM json_each(?) w CROSS JOIN kg_evidence v ON v.chunk = w.value WHERE v.origin = 'import'"""


def read_with(connection: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """Name and place of the imported files that were read with a table of nodes, which is at a place too."""
    return [tuple(row) for row in connection.execute(READ_WITH, [DOCUMENT, table])]


READ_WITH = """
  SELECT s.name, s.root FROM kg_sources s, json_each(s.options, '$.read.nodes') n
  WHERE s.kind = ? AND n.value = ? ORDER BY s.name"""


def chunks_by_hash(connection: sqlite3.Connection, document: int) -> dict[str, list[sqlite3.Row]]:
    """The chunks of a document by the hash of their text, in order."""
    found: dict[str, list[sqlite3.Row]] = {}
    for row in connection.execute(
        "SELECT id, seq, start, end, line, content_hash FROM kg_chunks WHERE document = ? ORDER BY seq", [document]
    ):
        found.setdefault(row["content_hash"], []).append(row)
    return found


def place_chunks(connection: sqlite3.Connection, moved: Collection[tuple[Piece, int]]) -> None:
    """Bring the places of chunks that stay up to date."""
    connection.executemany(
        "UPDATE kg_chunks SET seq = ?, start = ?, end = ?, line = ? WHERE id = ?",
        [(piece.seq, piece.start, piece.end, piece.line, id_) for piece, id_ in moved],
    )
