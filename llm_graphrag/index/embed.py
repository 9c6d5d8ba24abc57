"""Vectors of a knowledge base, written: what is new or changed is embedded, what is gone loses its vector.

After the first time only what the change log names is looked at. A model is called
outside of any transaction, a batch at a time, and what it gave is checked before it
is stored; an interrupted run goes on where it stopped. Vectors of another model are
made beside the old ones, which stay in use until the new are complete.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..store.connection import transaction
from ..store.settings import get_setting, put_setting
from .encoders import Encoder, EncoderError
from .vectors import COLLECTIONS, DIMENSIONS, MODEL

POSITION = "vectors.position"  # how far the change log has been followed
NOTHING = "vectors.nothing"  # chunks that hold nothing to embed
NEW = "-new"  # ending of the collections of a model that is not yet in use
BATCH = 256
TABLES = {"chunks": "kg_chunks", "entities": "kg_entities"}

TEXTS = {
    "chunks": """SELECT c.id, d.title, c.heading, c.text, d.uri FROM json_each(?) w
                 CROSS JOIN kg_chunks c ON c.id = w.value JOIN kg_documents d ON d.id = c.document""",
    "entities": """SELECT e.id, e.name, e.type, '', e.name FROM json_each(?) w
                   CROSS JOIN kg_entities e ON e.id = w.value""",
}

_FRONTMATTER = re.compile(r"\A---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_IMAGE = re.compile(r"!\[\[[^\[\]]*\]\]|!\[[^\[\]]*\]\([^()]*\)")
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]|\[([^\[\]]*)\]\([^()]*\)")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many vectors were made, how many were removed, and how many things hold nothing to embed."""

    made: int = 0
    removed: int = 0
    nothing: int = 0


def embed(connection: sqlite3.Connection, encoder: Encoder, progress: Progress, full: bool = False) -> Embedded:
    """Bring the vectors in step with chunks and entities.

    ``full`` compares everything instead of following the change log. Raises
    EncoderError if the model is not that of the file's vectors, or misbehaves; what
    was embedded before that is kept.
    """
    known = get_setting(connection, MODEL)
    if known and known != encoder.model_id:
        raise EncoderError(
            f"The vectors here are by {known}, not by {encoder.model_id}. "
            f"To change the model: llm graphrag embed --model {encoder.model_id}"
        )
    _make_tables(connection)
    end = connection.execute("SELECT coalesce(max(seq), 0) FROM kg_changes").fetchone()[0]
    position = None if full or not known else get_setting(connection, POSITION)
    done = _bring_in_step(connection, encoder, COLLECTIONS, position, progress)
    with transaction(connection):
        put_setting(connection, POSITION, end)
    return done


def remove_gone(connection: sqlite3.Connection) -> int:
    """Remove the vectors of what was deleted since the vectors were last brought in step; no model is needed."""
    position = get_setting(connection, POSITION)
    if position is None:
        return 0
    removed = 0
    for kind, name in COLLECTIONS.items():
        row = connection.execute("SELECT id FROM collections WHERE name = ?", [name]).fetchone()
        with transaction(connection):
            cursor = connection.execute(
                """DELETE FROM embeddings WHERE collection_id = ? AND id IN
                     (SELECT CAST(id AS TEXT) FROM kg_changes
                      WHERE "table" = ? AND seq > ? AND operation = 'delete')""",
                [row[0] if row else None, TABLES[kind], position],
            )
        removed += cursor.rowcount
    _chunks_of_nothing(connection)
    return removed


def _chunks_of_nothing(connection: sqlite3.Connection) -> set[int]:
    """The chunks that hold nothing to embed; those that are gone are taken off the list."""
    noted = get_setting(connection, NOTHING, [])
    rows = connection.execute(
        "SELECT c.id FROM json_each(?) w CROSS JOIN kg_chunks c ON c.id = w.value ORDER BY c.id", [json.dumps(noted)]
    )
    left = [row[0] for row in rows]
    if left != noted:
        with transaction(connection):
            put_setting(connection, NOTHING, left)
    return set(left)


def change_model(connection: sqlite3.Connection, encoder: Encoder, progress: Progress) -> Embedded:
    """Make all vectors anew by another model, beside the old ones, and put them in their place when complete."""
    if get_setting(connection, MODEL) in (None, encoder.model_id):
        return embed(connection, encoder, progress, full=True)
    _make_tables(connection)
    end = connection.execute("SELECT coalesce(max(seq), 0) FROM kg_changes").fetchone()[0]
    beside = {kind: name + NEW for kind, name in COLLECTIONS.items()}
    _drop_if_of_another_model(connection, beside, encoder.model_id)
    done = _bring_in_step(connection, encoder, beside, None, progress)
    row = connection.execute(
        """SELECT length(e.embedding) / 4 FROM embeddings e JOIN collections c ON c.id = e.collection_id
           WHERE c.name = ? LIMIT 1""",
        [beside["chunks"]],
    ).fetchone()
    with transaction(connection):
        for kind, name in COLLECTIONS.items():
            _drop(connection, name)
            connection.execute("UPDATE collections SET name = ? WHERE name = ?", [name, beside[kind]])
        put_setting(connection, MODEL, encoder.model_id)
        put_setting(connection, DIMENSIONS, row[0] if row else 0)
        put_setting(connection, POSITION, end)
    return done


def _bring_in_step(
    connection: sqlite3.Connection,
    encoder: Encoder,
    collections: dict[str, str],
    position: int | None,
    progress: Progress,
) -> Embedded:
    made = removed = 0
    nothing = _chunks_of_nothing(connection)
    for kind, name in collections.items():
        writer = _Collection(connection, encoder, kind, name, nothing)
        wanted, gone = writer.changed(position) if position is not None else writer.compared()
        removed += writer.remove(gone)
        for start in range(0, len(wanted), BATCH):
            progress(f"vectors of {kind}", start, len(wanted))
            made += writer.add(wanted[start : start + BATCH])
    return Embedded(made, removed, len(nothing))


class _Collection:
    """One collection being written."""

    def __init__(
        self, connection: sqlite3.Connection, encoder: Encoder, kind: str, name: str, nothing: set[int]
    ) -> None:
        self.connection, self.encoder, self.kind, self.name = connection, encoder, kind, name
        self.nothing = nothing
        row = connection.execute("SELECT id FROM collections WHERE name = ?", [name]).fetchone()
        self.id: int | None = None if row is None else row[0]

    def changed(self, position: int) -> tuple[list[int], list[int]]:
        """(ids to embed, ids gone) since a place in the change log."""
        rows = self.connection.execute(
            'SELECT id, operation FROM kg_changes WHERE "table" = ? AND seq > ? ORDER BY seq',
            [TABLES[self.kind], position],
        ).fetchall()
        gone = [row[0] for row in rows if row[1] == "delete"]
        return [row[0] for row in rows if row[1] != "delete"], gone

    def compared(self) -> tuple[list[int], list[int]]:
        """(all ids, ids that have a vector and are gone)."""
        statement = {"chunks": "SELECT id FROM kg_chunks", "entities": "SELECT id FROM kg_entities"}[self.kind]
        there = {row[0] for row in self.connection.execute(statement)}
        have = self.connection.execute("SELECT id FROM embeddings WHERE collection_id = ?", [self.id])
        return sorted(there), [int(row[0]) for row in have if int(row[0]) not in there]

    def remove(self, ids: Sequence[int]) -> int:
        with transaction(self.connection):
            before = self.connection.total_changes
            self.connection.executemany(
                "DELETE FROM embeddings WHERE collection_id = ? AND id = ?", [(self.id, str(id_)) for id_ in ids]
            )
            return self.connection.total_changes - before

    def add(self, ids: Sequence[int]) -> int:
        """Embed those of ``ids`` whose text differs from what was embedded; returns how many."""
        texts = dict(self._texts(ids))
        fresh = [(id_, text, uri) for id_, (text, uri) in texts.items() if text]
        have = self._hashes(ids)
        fresh = [item for item in fresh if have.get(item[0]) != _digest(item[1])]
        vectors = self.encoder.encode([text for _, text, _ in fresh]) if fresh else None
        with transaction(self.connection):
            if self.kind == "chunks":
                self._note_nothing({id_ for id_, (text, _) in texts.items() if not text}, set(texts))
            if vectors is None:
                return 0
            self._check(vectors.shape)
            self._store(fresh, vectors)
        return len(fresh)

    def _texts(self, ids: Sequence[int]) -> Iterator[tuple[int, tuple[str, str]]]:
        for id_, title, heading, text, uri in self.connection.execute(TEXTS[self.kind], [json.dumps(list(ids))]):
            if self.kind == "entities":
                yield id_, (f"{title} ({heading.replace('_', ' ')})" if heading else title, uri)
            else:
                yield id_, (embedding_text(title, heading, text), uri)

    def _hashes(self, ids: Sequence[int]) -> dict[int, bytes]:
        rows = self.connection.execute(
            """SELECT e.id, e.content_hash FROM json_each(?) w
               CROSS JOIN embeddings e ON e.collection_id = ? AND e.id = w.value""",
            [json.dumps([str(id_) for id_ in ids]), self.id],
        )
        return {int(row[0]): row[1] for row in rows}

    def _note_nothing(self, empty: set[int], seen: set[int]) -> None:
        after = (self.nothing - seen) | empty
        if after != self.nothing:
            self.nothing.clear()
            self.nothing |= after
            put_setting(self.connection, NOTHING, sorted(after))

    def _check(self, shape: tuple[int, ...]) -> None:
        """The first vectors say how long they are; all later ones have to agree."""
        dimensions = shape[1]
        if self.name == COLLECTIONS[self.kind]:
            known = get_setting(self.connection, DIMENSIONS)
        else:
            row = self.connection.execute(
                "SELECT length(embedding) / 4 FROM embeddings WHERE collection_id = ? LIMIT 1", [self.id]
            ).fetchone()
            known = row[0] if row else None
        if known not in (None, dimensions) or dimensions == 0:
            raise EncoderError(
                f"{self.encoder.model_id} gave vectors of {dimensions} dimensions, those here have {known}; "
                "nothing of this batch was stored"
            )
        if self.name == COLLECTIONS[self.kind] and known is None:
            put_setting(self.connection, MODEL, self.encoder.model_id)
            put_setting(self.connection, DIMENSIONS, dimensions)

    def _store(self, fresh: Sequence[tuple[int, str, str]], vectors: object) -> None:
        import numpy

        if self.id is None:  # another process may have made it since
            self.connection.execute(
                "INSERT INTO collections(name, model) VALUES (?, ?) ON CONFLICT(name) DO NOTHING",
                [self.name, self.encoder.model_id],
            )
            self.id = self.connection.execute("SELECT id FROM collections WHERE name = ?", [self.name]).fetchone()[0]
        rows = numpy.asarray(vectors, "<f4")
        now = int(time.time())
        self.connection.executemany(
            """INSERT OR REPLACE INTO embeddings(collection_id, id, embedding, content_hash, metadata, updated)
               VALUES (?, ?, ?, ?, ?, ?)""",
            [
                (self.id, str(id_), row.tobytes(), _digest(text), json.dumps({"of": uri}, ensure_ascii=False), now)
                for (id_, text, uri), row in zip(fresh, rows, strict=True)
                if row.any()
            ],
        )


def embedding_text(title: str, heading: str, text: str) -> str:
    """What is embedded of a chunk: title, headings and prose without markup; empty if there is no prose.

    >>> embedding_text("Boats", "Boats > Heron", "See [[Ana|her]] ![[keel.png]]")
    'Boats\\nHeron\\nSee her'
    >>> embedding_text("Boats", "", "---\\ntags: [a]\\n---\\n![[keel.png]]")
    ''
    """
    body = _IMAGE.sub(" ", _FRONTMATTER.sub("", text))
    body = _LINK.sub(lambda match: match[1] or match[2] or "", body).strip()
    if not any(character.isalnum() for character in body):
        return ""
    headings = [part for part in heading.split(" > ") if part and part != title]
    return "\n".join([title, *headings, body])


def _digest(text: str) -> bytes:
    """As llm hashes content."""
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).digest()


def _make_tables(connection: sqlite3.Connection) -> None:
    """llm's tables for vectors, made by llm's own migrations if they are not there."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'embeddings'").fetchone():
        return
    from llm.embeddings_migrations import embeddings_migrations
    from sqlite_utils import Database

    with transaction(connection):  # of two processes the second finds them made
        embeddings_migrations.apply(Database(connection, execute_plugins=False))


def _drop(connection: sqlite3.Connection, name: str) -> None:
    connection.execute(
        "DELETE FROM embeddings WHERE collection_id = (SELECT id FROM collections WHERE name = ?)", [name]
    )
    connection.execute("DELETE FROM collections WHERE name = ?", [name])


def _drop_if_of_another_model(connection: sqlite3.Connection, names: dict[str, str], model: str) -> None:
    with transaction(connection):
        for name in names.values():
            row = connection.execute("SELECT model FROM collections WHERE name = ?", [name]).fetchone()
            if row is not None and row[0] != model:
                _drop(connection, name)
