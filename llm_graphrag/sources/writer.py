"""Write parsed notes into the knowledge base, a batch of documents at a time.

Every batch is one transaction that leaves a consistent file: documents, chunks,
full text and claims in step, links pointing at the notes that exist. Looking for
names is a second pass, because it needs the names of all notes; a document that has
yet to be scanned is marked so, and an interrupted run goes on with those.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..facts import link
from ..facts.claims import TAGGED, Claim
from ..facts.lexical import NameMatcher
from ..facts.mentions import ORIGIN, mentions
from ..plugins import name_finder
from ..settings import Settings
from ..store import changes, counts, extractions, name_signatures, note_entities, schema
from ..store import chunks as chunk_store
from ..store import documents as document_store
from ..store.connection import SameFile, transaction
from ..store.entities import Names, keys_of
from ..store.evidence import Places, put_claims, put_mentions, release_chunks
from ..store.settle import Settlement
from ..text import chunks as chunking
from ..text.fts import fts_query
from ..text.sentences import sentence_spans
from .note import Note

BATCH_DOCUMENTS = 200
BATCH_SECONDS = 0.5
BATCH_CHUNKS = 500  # of an imported file that is deleted
MANY_NAMES = 300  # above this, reading every document again is cheaper than a query a name

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Item:
    """A parsed note with its place: what a reader hands to the writer."""

    document: document_store.Document
    note: Note
    claims: tuple[Claim, ...]
    known: int | None = None


class Writer:
    """Writes items; ``finish`` must follow, which scans for names and counts."""

    def __init__(self, connection: sqlite3.Connection, settings: Settings) -> None:
        self.connection = connection
        self.target_tokens = settings.chunk_tokens
        self.finder = name_finder(settings.names)
        self.schema_version = schema.version(connection)
        self.names = Names(connection)
        self.settlement = Settlement(connection, self.names)
        self.closed: dict[int, tuple[tuple[int, int], ...]] = {}  # spans not to be read for names, by document
        self._matcher: NameMatcher[str] | None = None
        self._seen = self._data_version()
        self._file = SameFile(connection)

    def write(self, items: Iterable[Item], now: str) -> Iterator[int]:
        """Write items in batches; yields how many are done after each."""
        done = 0
        for batch in batches(items):
            with self._batch():
                keys: set[str] = set()
                for item in batch():
                    keys |= self._write(item, now)
                    done += 1
                self.settlement.assign_notes(keys)
            yield done

    def delete(self, documents: Sequence[int]) -> None:
        """Delete documents with everything that only they support."""
        for id_ in documents:
            self._shorten(id_)
        for start in range(0, len(documents), BATCH_DOCUMENTS):
            with self._batch():
                keys = {self._delete(id_) for id_ in documents[start : start + BATCH_DOCUMENTS]}
                self.settlement.assign_notes(keys)

    def _shorten(self, document: int) -> None:
        """Take what a large imported file states away a part at a time, but for the last: no transaction is long."""
        rows = self.connection.execute(
            """SELECT c.id FROM kg_documents d JOIN kg_chunks c ON c.document = d.id
               WHERE d.id = ? AND d.kind = 'import' ORDER BY c.seq""",
            [document],
        )
        chunks = [row[0] for row in rows]
        for start in range(0, len(chunks) - BATCH_CHUNKS, BATCH_CHUNKS):
            part = chunks[start : start + BATCH_CHUNKS]
            with self._batch():
                self.connection.execute("UPDATE kg_documents SET content_hash = '' WHERE id = ?", [document])
                self._release(part)
                chunk_store.delete(self.connection, part)

    def finish(self, progress: Progress, reparse: Callable[[str, str, str], Note]) -> None:
        """Look for names in what is new, and for new names in what is old; then count facets."""
        self._mark_older()
        self._matcher = None
        with transaction(self.connection):  # in an imported graph every name is known
            self.connection.execute("UPDATE kg_documents SET scanned = 1 WHERE scanned = 0 AND kind = 'import'")
        rows = self.connection.execute("SELECT id FROM kg_documents WHERE scanned = 0 ORDER BY id")
        waiting = [row[0] for row in rows]
        for start in range(0, len(waiting), BATCH_DOCUMENTS):
            progress("names", start, len(waiting))
            with self._batch():
                matcher = self._matcher = self._matcher or self._known_names()
                for document in waiting[start : start + BATCH_DOCUMENTS]:
                    self._scan(document, matcher, reparse)
        with transaction(self.connection):
            extractions.sweep(self.connection)
            counts.recount_facets(self.connection)
            name_signatures.refresh(self.connection)

    # -- one batch -------------------------------------------------------------

    @contextmanager
    def _batch(self) -> Iterator[None]:
        """A transaction that settles before it commits, and forgets what it looked up if it fails."""
        try:
            self._file.ensure()
            with transaction(self.connection):
                self._heed_others()
                yield
                self.settlement.finish()
        except BaseException:
            self.names.clear()
            raise

    def _heed_others(self) -> None:
        """What was looked up is not trusted when another process has written since."""
        version = self._data_version()
        if version != self._seen:
            self._seen, self._matcher = version, None
            self.names.clear()
            self.closed.clear()

    def _data_version(self) -> int:
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])

    def _write(self, item: Item, now: str) -> set[str]:
        """Write one document up to its claims; returns the group keys whose notes have to be named."""
        connection, document, note = self.connection, item.document, item.note
        row = connection.execute(
            """SELECT id, name, name_key, group_key, entity, path FROM kg_documents
               WHERE uri = ? OR id = ? ORDER BY id = ? DESC""",
            [document.uri, item.known, item.known],
        ).fetchone()
        known = None if row is None else int(row["id"])
        before = {} if known is None else chunk_store.searchable(connection, known)
        id_ = document_store.put_document(connection, document, known, now)
        outline, parts = chunking.chunk(
            note.text,
            note.headings,
            self.target_tokens,
            note.frontmatter[1] if note.frontmatter else 0,
            note.parts_level,
        )
        section_ids = document_store.put_sections(connection, id_, outline)
        change = chunk_store.put_chunks(
            connection, id_, note.text, parts, section_ids, heading_paths(outline), before, self._release
        )
        places = Places(document.name, note.text, parts, change.ids, sentence_spans(note.text) if item.claims else [])
        document_store.put_tags(connection, id_, (claim.tail for claim in item.claims if claim.relation == TAGGED))
        entity = None if row is None else row["entity"]
        new, losing = put_claims(
            connection, id_, entity, places, item.claims, self.names, link.ORIGIN, self.schema_version
        )
        if row is not None and row["name"] != document.name:
            connection.execute(RENAME_HEADS, [document.name, id_])
        self.settlement.evidence |= new
        self.settlement.lost |= losing
        self.closed[id_] = closed_spans(note)
        changes.record(connection, "kg_documents", [id_], "insert" if known is None else "update")
        if row is None or row["path"] != document.path or row["name_key"] != document.name_key:
            self.settlement.document_keys |= {document.name_key} | ({row["name_key"]} if row else set())
        return {document.group_key} | ({row["group_key"]} if row else set())

    def _delete(self, id_: int) -> str:
        """Delete one document; returns its group key."""
        connection, settlement = self.connection, self.settlement
        row = connection.execute("SELECT name_key, group_key, entity FROM kg_documents WHERE id = ?", [id_]).fetchone()
        if row["entity"] is not None:
            settlement.lost.add(row["entity"])
            settlement.keys |= keys_of(connection, row["entity"])
            note_entities.release(connection, row["entity"])
        settlement.document_keys.add(row["name_key"])
        before = chunk_store.searchable(connection, id_)
        self._release(list(before))
        chunk_store.unindex(connection, before)
        changes.record(connection, "kg_chunks", before, "delete")
        connection.execute("DELETE FROM kg_documents WHERE id = ?", [id_])
        changes.record(connection, "kg_documents", [id_], "delete")
        self.closed.pop(id_, None)
        return str(row["group_key"])

    def _release(self, chunks: Sequence[int]) -> None:
        self.settlement.lost |= release_chunks(self.connection, chunks)

    # -- names -----------------------------------------------------------------

    def _known_names(self) -> NameMatcher[str]:
        rows = self.connection.execute(
            """SELECT DISTINCT a.name FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity
               WHERE a.kind <> 'spelling' AND NOT (a.kind = 'alias' AND a.origin IN ('llm', 'import'))
                 AND (e.type <> '' OR e.origin IN ('user', 'import')
                 OR EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id))
               ORDER BY a.name"""
        )
        return NameMatcher([(row[0], row[0]) for row in rows])

    def _mark_older(self) -> None:
        """Have older documents scanned again that may hold names which are new."""
        connection = self.connection
        rows = connection.execute("SELECT DISTINCT name FROM kg_aliases WHERE scanned = 0").fetchall()
        older = connection.execute("SELECT 1 FROM kg_documents WHERE scanned = 1 LIMIT 1").fetchone()
        with transaction(connection):
            if rows and older and len(rows) > MANY_NAMES:
                connection.execute("UPDATE kg_documents SET scanned = 0 WHERE scanned = 1")
            elif rows and older:
                for (name,) in rows:
                    self._mark_holding(name)
            connection.execute("UPDATE kg_aliases SET scanned = 1 WHERE scanned = 0")

    def _mark_holding(self, name: str) -> None:
        query = fts_query(name, "phrase")
        if query:
            self.connection.execute(
                """UPDATE kg_documents SET scanned = 0 WHERE scanned = 1 AND id IN
                     (SELECT c.document FROM kg_chunks_fts f JOIN kg_chunks c ON c.id = f.rowid
                      WHERE kg_chunks_fts MATCH ?)""",
                [query],
            )

    def _scan(self, document: int, matcher: NameMatcher[str], reparse: Callable[[str, str, str], Note]) -> None:
        connection = self.connection
        rows = connection.execute(
            "SELECT id, start, end, line, tokens, text FROM kg_chunks WHERE document = ? ORDER BY seq", [document]
        ).fetchall()
        text = "".join(row["text"] for row in rows)
        if document not in self.closed:
            row = connection.execute(
                "SELECT s.dialect, d.path FROM kg_documents d LEFT JOIN kg_sources s ON s.id = d.source WHERE d.id = ?",
                [document],
            ).fetchone()
            self.closed[document] = closed_spans(reparse(text, row["dialect"] or "plain", row["path"]))
        parts = [chunking.Chunk(i, r["start"], r["end"], None, r["line"], r["tokens"]) for i, r in enumerate(rows)]
        places = Places("", text, parts, [row["id"] for row in rows], [])
        found = mentions(text, self.closed.pop(document), matcher, self.finder)
        won, lost = put_mentions(connection, document, places, found, self.names, ORIGIN)
        self.settlement.entities |= won
        self.settlement.lost |= lost
        connection.execute("UPDATE kg_documents SET scanned = 1 WHERE id = ?", [document])


def batches(items: Iterable[Item]) -> Iterator[Callable[[], Iterator[Item]]]:
    """Cut a stream into batches by number and time; each is to be read to its end before the next."""
    stream = iter(items)
    for first in stream:

        def batch(first: Item = first) -> Iterator[Item]:
            began, taken, item = time.monotonic(), 0, first
            while True:
                yield item
                taken += 1
                if taken >= BATCH_DOCUMENTS or time.monotonic() - began > BATCH_SECONDS:
                    return
                following = next(stream, None)
                if following is None:
                    return
                item = following

        yield batch


def heading_paths(outline: Sequence[chunking.Section]) -> dict[int, str]:
    """'A > B' by section seq."""
    paths: dict[int, str] = {}
    for section in outline:
        above = "" if section.parent is None else paths[section.parent] + " > "
        paths[section.seq] = above + section.heading
    return paths


def closed_spans(note: Note) -> tuple[tuple[int, int], ...]:
    """Spans in which no names are looked for: code, links, tags, and the keys of fields and frontmatter."""
    spans = [*note.code, *((link.start, link.end) for link in note.links), *((tag.start, tag.end) for tag in note.tags)]
    for field_ in note.fields:
        spans.append((field_.key_start, field_.key_end))
        if field_.key.strip().lower() == "type":
            spans.append((field_.start, field_.end))  # a kind of thing, not the name of one
        spans.extend((link.start, link.end) for link in field_.links)
    return tuple(sorted(spans))


RENAME_HEADS = """
  UPDATE kg_evidence SET head = ? WHERE head_key IS NULL AND chunk IN (SELECT id FROM kg_chunks WHERE document = ?)"""
