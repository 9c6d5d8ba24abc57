"""Chunks and their full text.

A chunk whose text, document and place among equals are unchanged keeps its id, and
with it everything that was ever said about it. Full text is an external-content
FTS5 table over the view ``kg_chunk_search``; this module alone keeps the two in
step, by taking the old rows out as they were written and putting the new ones in.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..text.chunks import Chunk
from ..text.cjk import search_text
from . import changes


@dataclass(frozen=True, slots=True)
class ChunkChange:
    """Ids of the chunks of a document after a write, in order, and what happened."""

    ids: tuple[int, ...]
    new: frozenset[int]


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def put_chunks(
    connection: sqlite3.Connection,
    document: int,
    text: str,
    chunks: Sequence[Chunk],
    section_ids: Mapping[int, int],
    headings: Mapping[int, str],
    searchable_before: Mapping[int, tuple[str, str, str]],
    losing: Callable[[Sequence[int]], None],
) -> ChunkChange:
    """Bring the chunks of a document in step with ``text``.

    ``headings`` gives the heading path by section seq; ``searchable_before`` is
    what ``searchable`` returned before the document row was changed. ``losing`` is
    told the ids of chunks that are about to go, and with them all that rests on them.
    """
    reusable = _by_hash(connection, document)
    ids: list[int] = []
    new: set[int] = set()
    for chunk in chunks:
        body = text[chunk.start : chunk.end]
        digest = text_hash(body)
        section = None if chunk.section is None else section_ids[chunk.section]
        heading = "" if chunk.section is None else headings[chunk.section]
        place = (section, chunk.seq, chunk.start, chunk.end, chunk.line, heading)
        row = reusable[digest].pop(0) if reusable[digest] else None
        if row is None:
            new_id = _insert(connection, document, place, chunk.tokens, body, digest)
            ids.append(new_id)
            new.add(new_id)
            continue
        ids.append(row["id"])
        if tuple(row[k] for k in ("section", "seq", "start", "end", "line", "heading")) != place:
            connection.execute(
                "UPDATE kg_chunks SET section = ?, seq = ?, start = ?, end = ?, line = ?, heading = ? WHERE id = ?",
                [*place, row["id"]],
            )
    gone = [row["id"] for rows in reusable.values() for row in rows]
    losing(gone)
    unindex(connection, {id_: searchable_before[id_] for id_ in gone})
    connection.executemany("DELETE FROM kg_chunks WHERE id = ?", [[id_] for id_ in gone])
    changes.record(connection, "kg_chunks", gone, "delete")
    _reindex(connection, document, {k: v for k, v in searchable_before.items() if k not in set(gone)})
    return ChunkChange(tuple(ids), frozenset(new))


def _by_hash(connection: sqlite3.Connection, document: int) -> dict[str, list[sqlite3.Row]]:
    rows = connection.execute(
        """SELECT id, section, seq, start, end, line, heading, content_hash
           FROM kg_chunks WHERE document = ? ORDER BY seq""",
        [document],
    )
    found: dict[str, list[sqlite3.Row]] = defaultdict(list)
    for row in rows:
        found[row["content_hash"]].append(row)
    return found


def _insert(
    connection: sqlite3.Connection, document: int, place: tuple[object, ...], tokens: int, body: str, digest: str
) -> int:
    cursor = connection.execute(
        """INSERT INTO kg_chunks(document, section, seq, start, end, line, heading, tokens, text, search_text,
             content_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        [document, *place, tokens, body, search_text(body), digest],
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def searchable(connection: sqlite3.Connection, document: int) -> dict[int, tuple[str, str, str]]:
    """What full text holds of a document's chunks: (title, heading, text) by chunk id."""
    rows = connection.execute(
        """SELECT s.id, s.title, s.heading, s.text FROM kg_chunks c
           CROSS JOIN kg_chunk_search s ON s.id = c.id WHERE c.document = ?""",
        [document],
    )
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


def unindex(connection: sqlite3.Connection, rows: Mapping[int, tuple[str, str, str]]) -> None:
    """Take rows out of full text; they must be exactly as they were put in."""
    connection.executemany(
        "INSERT INTO kg_chunks_fts(kg_chunks_fts, rowid, title, heading, text) VALUES ('delete', ?, ?, ?, ?)",
        [(id_, *row) for id_, row in rows.items()],
    )


def delete(connection: sqlite3.Connection, chunks: Sequence[int]) -> None:
    """Delete chunks, their full text with them; what rests on them goes too and has to be released before."""
    rows = connection.execute(
        "SELECT s.id, s.title, s.heading, s.text FROM json_each(?) w CROSS JOIN kg_chunk_search s ON s.id = w.value",
        [json.dumps(list(chunks))],
    )
    unindex(connection, {row[0]: (row[1], row[2], row[3]) for row in rows.fetchall()})
    connection.executemany("DELETE FROM kg_chunks WHERE id = ?", [[id_] for id_ in chunks])
    changes.record(connection, "kg_chunks", chunks, "delete")


def _reindex(connection: sqlite3.Connection, document: int, before: Mapping[int, tuple[str, str, str]]) -> None:
    after = searchable(connection, document)
    unindex(connection, {id_: row for id_, row in before.items() if after.get(id_) != row})
    added = {id_: row for id_, row in after.items() if before.get(id_) != row}
    connection.executemany(
        "INSERT INTO kg_chunks_fts(rowid, title, heading, text) VALUES (?, ?, ?, ?)",
        [(id_, *row) for id_, row in added.items()],
    )
    changes.record(connection, "kg_chunks", (id_ for id_ in added if id_ in before), "update")
    changes.record(connection, "kg_chunks", (id_ for id_ in added if id_ not in before), "insert")


def texts_of(connection: sqlite3.Connection, documents: Iterable[int]) -> dict[int, str]:
    """The whole text of documents: their chunks end to end."""
    found: dict[int, list[str]] = defaultdict(list)
    for document in documents:
        rows = connection.execute("SELECT text FROM kg_chunks WHERE document = ? ORDER BY seq", [document])
        found[document] = [row[0] for row in rows]
    return {document: "".join(parts) for document, parts in found.items()}
