"""One sidecar becomes rows: which passages it covers, where its statements stand now, and their evidence.

Called within a transaction; the settlement that turns evidence into facts is the caller's.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..store import extractions, schema
from ..store.extractions import Asking, Candidate
from ..store.model_claims import remove_model_claims
from ..store.settle import Settlement
from ..text.normalise import name_key
from .note_text import NoteText, Passage, note_text
from .sidecar_file import Fact, Reading, Sidecar
from .sidecars import PASSAGE

__all__ = ["Note", "Put", "find_note", "put_sidecar"]

MODEL = "llm"
STATED = (MODEL, "user")  # other origins come back with the notes

Window = tuple[int, str, str, str]  # id, model, prompt and time of a reading that is here


@dataclass(frozen=True, slots=True)
class Note:
    """The document that a sidecar is about."""

    id: int
    uri: str
    name: str
    entity: int | None
    private: bool


@dataclass(slots=True)
class Put:
    """What became of a sidecar. ``lost`` are statements whose quotes stand in no passage, with the reason."""

    facts: int = 0
    there: int = 0
    passages: int = 0
    later: int = 0
    changed: int = 0
    lost: list[tuple[Fact, str]] = field(default_factory=list)


def find_note(connection: sqlite3.Connection, uri: str) -> Note | None:
    """The note of this uri, else the only one of this path: a folder may have been added under another name."""
    columns = "SELECT id, uri, name, entity, private FROM kg_documents WHERE"
    rows = connection.execute(f"{columns} uri = ?", [uri]).fetchall()
    path = uri.partition("/")[2]
    if not rows and path:
        rows = connection.execute(f"{columns} path = ?", [path]).fetchall()
    if len(rows) != 1:
        return None
    id_, own_uri, name, entity, private = rows[0]
    return Note(id_, own_uri, name, entity, bool(private))


def put_sidecar(connection: sqlite3.Connection, settlement: Settlement, note: Note, sidecar: Sidecar) -> Put:
    """Store what a sidecar says of a note, as far as it stands there and nobody has read it later."""
    return _Putting(connection, settlement, note).put(sidecar)


class _Putting:
    """One sidecar on its way into the file."""

    def __init__(self, connection: sqlite3.Connection, settlement: Settlement, note: Note) -> None:
        self.connection, self.settlement, self.note = connection, settlement, note
        self.text: NoteText = note_text(connection, note.id)
        self.here = _windows(connection, note.id)
        self.done = Put()
        self.window: dict[int, int] = {}  # passage → the window that counts for it
        self.later: set[int] = set()  # passages that keep what they have

    def put(self, sidecar: Sidecar) -> Put:
        taken = self._cover(sidecar.readings)
        stated = sorted(fact for fact in sidecar.facts if fact.origin in STATED)
        stated.sort(key=lambda fact: fact.origin != MODEL)  # what a person says is of what is there
        placed = [place for fact in stated if (place := self._place(fact)) is not None]
        replaced = self._clear([p.id for passages in taken.values() for p in passages])
        planned = [self._plan(reading, passages) for reading, passages in taken.items()]
        kept = dict.fromkeys(planned, 0)
        for fact, passage, start in placed:
            window = self.window.get(passage.id) if fact.origin == MODEL else None
            row = self._row(fact, passage, start, window)
            stored = self.connection.execute(INSERT, row).rowcount > 0
            if replaced:  # a name may have been looked up before what types it was here again
                self.settlement.keys |= {str(row[key]) for key in ("head_key", "tail_key") if row[key]}
            self.done.facts += stored
            self.done.there += not stored
            if window in kept:
                kept[window] += stored
        for planned_window, number in kept.items():
            self.connection.execute(READ, {"window": planned_window, "kept": number})
            self.connection.execute(ALONE, {"window": planned_window})
        self.settlement.keys |= self.settlement.names.take_typed()
        self.done.later = len(self.later)
        return self.done

    def _clear(self, passages: Sequence[int]) -> bool:
        """Take away what models said of these passages before; whether they had said anything."""
        said = self.connection.execute(
            """SELECT 1 FROM json_each(?) w CROSS JOIN kg_evidence v ON v.chunk = w.value WHERE v.origin = 'llm'""",
            [json.dumps(passages)],
        ).fetchone()
        remove_model_claims(self.connection, self.settlement, passages)
        return said is not None

    # -- what was read ------------------------------------------------------------------

    def _cover(self, readings: Iterable[Reading]) -> Mapping[Reading, list[Passage]]:
        """The passages that readings count for; those that they are too old for, or the same, are remembered."""
        free: dict[str, list[Passage]] = defaultdict(list)
        for passage in self.text.passages:
            free[passage.content_hash[:PASSAGE]].append(passage)
        taken: dict[Reading, list[Passage]] = defaultdict(list)
        for reading in readings:
            for digest in reading.passages:
                if not free.get(digest):
                    self.done.changed += 1
                    continue
                passage = free[digest].pop(0)
                window = self.here.get(passage.id)
                if window is not None and window[1:] == (reading.model, reading.prompt, reading.at):
                    self.window[passage.id] = window[0]
                elif window is not None and window[3] >= reading.at:
                    self.later.add(passage.id)
                else:
                    taken[reading].append(passage)
                    self.done.passages += 1
                    self.window[passage.id] = 0  # it has yet to be planned
        return taken

    def _plan(self, reading: Reading, passages: Sequence[Passage]) -> int:
        """A window in which these passages were read, without its reply: that stays with those who paid for it."""
        versions = {row["version"] for row in schema.versions(self.connection)}
        version = reading.schema_version if reading.schema_version in versions else max(versions)
        asking = Asking(reading.model, reading.prompt, version, reading.mode)
        chunks = [Candidate(p.id, self.note.id, p.seq, p.tokens, self.note.private) for p in passages]
        [window] = extractions.plan(self.connection, [chunks], asking)
        self.connection.execute("UPDATE kg_extractions SET finished = ? WHERE id = ?", [reading.at, window])
        self.window.update((passage.id, window) for passage in passages)
        return window

    # -- statements ---------------------------------------------------------------------

    def _place(self, fact: Fact) -> tuple[Fact, Passage, int] | None:
        """Where a statement stands, as (fact, passage, start in it); None if nowhere, or if it is not to be taken."""
        at = self.text.find(fact.quote, fact.line, fact.column)
        if at is None:
            self.done.lost.append((fact, "its quote no longer stands in the note"))
            return None
        passage = self.text.passage(at, at + len(fact.quote))
        if passage is None:
            self.done.lost.append((fact, "its quote runs over the end of a passage here (see init --chunk-tokens)"))
            return None
        if fact.origin == MODEL and passage.id not in self.window and passage.id in self.here:
            self.later.add(passage.id)
        if fact.origin == MODEL and passage.id in self.later:
            return None
        return fact, passage, at - passage.start

    def _row(self, fact: Fact, passage: Passage, start: int, window: int | None) -> dict[str, object]:
        names, triple = self.settlement.names, fact.kind == "triple"
        head_key = None if fact.of_note else name_key(fact.head)
        tail_key = name_key(fact.tail) if triple else None
        head = self.note.entity if fact.of_note else names.resolve(fact.head, fact.origin, head_key, fact.head_type)
        tail = names.resolve(fact.tail, fact.origin, tail_key, fact.tail_type) if triple else None
        self.settlement.entities |= {entity for entity in (head, tail) if entity is not None}
        return {
            "kind": fact.kind, "head": self.note.name if fact.of_note else fact.head, "head_key": head_key,
            "head_type": fact.head_type, "head_entity": head, "relation": fact.relation, "tail": fact.tail,
            "tail_key": tail_key, "tail_type": fact.tail_type, "tail_entity": tail, "reversed": int(fact.reversed),
            "chunk": passage.id, "start": start, "end": start + len(fact.quote), "quote": fact.quote,
            "confidence": fact.confidence, "origin": fact.origin, "extraction": window or None,
            "schema_version": fact.schema_version, "detail": fact.detail,
        }  # fmt: skip


def _windows(connection: sqlite3.Connection, document: int) -> dict[int, Window]:
    """Passage → the window in which it was read, or is being read, here."""
    rows = connection.execute(WINDOWS, {"document": document, "now": NOW})
    return {row[0]: (row[1], row[2], row[3], row[4]) for row in rows}


NOW = "9999"  # later than every time: what is being asked about at this moment is not to be overtaken

WINDOWS = """
  SELECT c.id, e.id, e.model, e.prompt_hash,
    iif(e.status IN ('claimed', 'exported'), :now, coalesce(e.finished, ''))
  FROM kg_chunks c CROSS JOIN kg_extraction_chunks x ON x.chunk = c.id
  CROSS JOIN kg_extractions e ON e.id = x.extraction
  WHERE c.document = :document AND e.status IN ('done', 'claimed', 'exported') ORDER BY e.id"""

INSERT = """
  INSERT INTO kg_evidence(kind, head, head_key, head_type, head_entity, relation, tail, tail_key, tail_type,
    tail_entity, reversed, chunk, start, end, quote, confidence, origin, extraction, schema_version, detail)
  VALUES (:kind, :head, :head_key, :head_type, :head_entity, :relation, :tail, :tail_key, :tail_type,
    :tail_entity, :reversed, :chunk, :start, :end, :quote, :confidence, :origin, :extraction, :schema_version, :detail)
  ON CONFLICT DO NOTHING"""

READ = "UPDATE kg_extractions SET status = 'done', kept = :kept WHERE id = :window"

#: What other windows said of its passages no longer counts.
ALONE = """
  UPDATE kg_extraction_chunks SET chunk = NULL WHERE extraction <> :window AND chunk IN
    (SELECT chunk FROM kg_extraction_chunks WHERE extraction = :window)"""
