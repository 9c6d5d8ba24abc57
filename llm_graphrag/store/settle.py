"""After documents were written: who every changed name means now, and what the claims add up to.

One ``Settlement`` goes through a batch of writes and ends it, inside the same
transaction, so that at every commit links point at the notes that exist, facts
equal their evidence, no entity stands without support, and counters are right.
Only what the batch touched is looked at; the work grows with the change, not with
the file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..facts.link_targets import Candidate, bare, choose
from . import changes, counts, history, joining, name_signatures, note_entities, splits
from .entities import Names
from .entity_state import adopt_types, delete, own_keys, restate, undeclared_keys, unsupported
from .evidence import move_imported_mentions, put_link_mention, touch


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A link that two notes answer to equally well."""

    uri: str
    target: str
    rivals: tuple[str, ...]


@dataclass(slots=True)
class Settlement:
    """What a batch of writes has changed, and the work that ends it."""

    connection: sqlite3.Connection
    names: Names
    document_keys: set[str] = field(default_factory=set)  # link keys of notes that came, went or were renamed
    keys: set[str] = field(default_factory=set)  # keys whose meaning may have changed
    evidence: set[int] = field(default_factory=set)  # new rows; links among them have no tail yet
    entities: set[int] = field(default_factory=set)  # that won support
    lost: set[int] = field(default_factory=set)  # that lost some: their spellings may be fewer
    ambiguities: list[Ambiguity] = field(default_factory=list)
    facts: int = 0  # that came, less those that went, as claims were aggregated
    run: history.Run = field(default_factory=history.Run)  # to which the changes are written in the log
    halves: splits.Halves = field(init=False)

    def __post_init__(self) -> None:
        history.watch(self.connection)
        self.connection.execute(
            "CREATE TEMP TABLE IF NOT EXISTS touched(kind TEXT, id INTEGER, PRIMARY KEY (kind, id)) WITHOUT ROWID"
        )
        joining.watch(self.connection)
        name_signatures.watch(self.connection)

    def assign_notes(self, keys: Iterable[str]) -> None:
        """Name the entities of notes whose group keys are ``keys``; their old and new names may mean something else."""
        done = note_entities.assign(self.connection, keys)
        self.keys |= done.keys
        self.entities |= done.taken
        self.lost |= done.orphans
        self.document_keys |= done.link_keys
        self.names.forget(done.keys)

    def finish(self) -> None:
        """Resolve, aggregate, sweep and count, and be ready for the next batch."""
        self.halves = splits.Halves(self.connection, self.names)
        won, lost = self.halves.move(self._move)
        self.entities |= won
        self.lost |= lost
        self.keys |= undeclared_keys(self.connection, self.lost)
        self._resolve(self.keys)
        if typed := self.names.take_typed():
            self._resolve(typed)  # what a model had typed is an entity of its own again: untyped names may mean it
        self._resolve_mentions()
        imported = move_imported_mentions(self.connection, self.keys)
        self.entities |= imported
        self.lost |= imported
        self.lost |= self.halves.passed
        self._scan_again()
        self._aggregate()
        self.entities |= self.lost
        keys = self.keys | own_keys(self.connection, self.entities)
        self._sweep()
        adopt_types(self.connection, keys)
        self._join()
        restate(self.connection, self.entities, self.lost)
        counts.recount_entities(self.connection, self.entities)
        history.record(self.connection, self.run)
        self.document_keys.clear()
        self.keys.clear()
        self.evidence.clear()
        self.entities.clear()
        self.lost.clear()

    def _sweep(self) -> None:
        """Delete what nothing supports any more; what was merged into it is on its own until ``_join``."""
        self.entities |= joining.roots_of(self.connection, self.entities)
        gone = unsupported(self.connection, self.entities)
        if freed := joining.detach(self.connection, gone):
            self.entities |= freed
            self._aggregate()
        delete(self.connection, gone)
        if gone or self.lost:
            self.names.clear()

    def _join(self) -> None:
        """Entities may have come, gone or got a type: those that decisions join are joined now, and only those."""
        if moved := joining.join(self.connection):
            self.entities |= moved
            self._aggregate()

    def _resolve(self, keys: set[str]) -> None:
        self.keys |= keys
        self.names.forget(self.keys)
        self._resolve_heads()
        self._resolve_tails()

    def _scan_again(self) -> None:
        """Documents that hold a name whose meaning changed are scanned again: it may no longer be one."""
        self.connection.execute(
            """UPDATE kg_documents SET scanned = 0 WHERE scanned = 1 AND id IN
                 (SELECT c.document FROM json_each(?) w CROSS JOIN kg_mentions m ON m.key = w.value
                  JOIN kg_chunks c ON c.id = m.chunk WHERE m.origin = 'lexical')""",
            [_json(self.keys)],
        )

    def _resolve_heads(self) -> None:
        rows = self.connection.execute(
            """SELECT v.id, v.head, v.head_key, v.head_type, v.head_entity, v.origin, v.triple, v.attribute, c.document
               FROM json_each(?) w CROSS JOIN kg_evidence v ON v.head_key = w.value
               CROSS JOIN kg_chunks c ON c.id = v.chunk ORDER BY v.head_type = '', v.id""",
            [_json(self.keys)],
        ).fetchall()
        for row in rows:
            entity = self.names.resolve(row["head"], row["origin"], row["head_key"], row["head_type"])
            self._move(row, "head_entity", self.halves.of(entity, row["document"]))

    def _resolve_tails(self) -> None:
        rows = self.connection.execute(
            """WITH asked AS (
                 SELECT v.id FROM json_each(:links) w CROSS JOIN kg_evidence v ON v.link_key = w.value
                 UNION SELECT v.id FROM json_each(:keys) w CROSS JOIN kg_evidence v ON v.tail_key = w.value
                 UNION SELECT v.id FROM json_each(:new) w CROSS JOIN kg_evidence v ON v.id = w.value
                   WHERE v.link_key IS NOT NULL
               )
               SELECT v.id, v.tail, v.tail_key, v.tail_type, v.tail_entity, v.link_key, v.detail, v.origin,
                 v.triple, v.attribute, v.chunk, d.source, d.path, d.uri, d.id AS document
               FROM asked CROSS JOIN kg_evidence v ON v.id = asked.id JOIN kg_chunks c ON c.id = v.chunk
               JOIN kg_documents d ON d.id = c.document""",
            {"links": _json(self.document_keys), "keys": _json(self.keys), "new": json.dumps(sorted(self.evidence))},
        ).fetchall()
        candidates = self._candidates({row["link_key"] for row in rows if row["link_key"]})
        self.names.preload(row["tail_key"] for row in rows if row["tail_key"])
        for row in rows:
            entity = self.halves.of(self._tail(row, candidates), row["document"])
            if row["link_key"] is not None and entity != row["tail_entity"]:
                put_link_mention(self.connection, row, entity)
            self._move(row, "tail_entity", entity)

    def _tail(self, row: sqlite3.Row, candidates: dict[str, list[tuple[Candidate, int]]]) -> int | None:
        if row["tail_key"] in self.names.blocked:
            return None
        offered = candidates.get(row["link_key"] or "", [])
        if offered:
            detail = json.loads(row["detail"])
            spellings = [detail.get("written", "").split("|")[0].strip(), detail.get("target", row["tail"])]
            choice = choose(
                [spelling for spelling in spellings if spelling],
                row["source"],
                row["path"],
                [candidate for candidate, _ in offered],
            )
            if choice.rivals:
                self.ambiguities.append(Ambiguity(row["uri"], row["tail"], choice.rivals))
            if choice.document is not None:
                return next(entity for candidate, entity in offered if candidate.document == choice.document)
        return self.names.resolve(row["tail"], row["origin"], row["tail_key"], row["tail_type"])

    def _candidates(self, keys: set[str]) -> dict[str, list[tuple[Candidate, int]]]:
        """The notes that links with these keys could mean; a note named ``C# notes`` answers to ``c`` too."""
        found: dict[str, list[tuple[Candidate, int]]] = {key: [] for key in keys}
        rows = self.connection.execute(
            """SELECT w.value, d.id, d.source, d.path, d.name, d.entity
               FROM json_each(?) w CROSS JOIN kg_documents d ON d.name_key = w.value
               WHERE d.entity IS NOT NULL""",
            [_json(keys)],
        )
        for key, document, source, path, name, entity in rows:
            stem = bare(path) if path else name
            found[key].append((Candidate(document, source, stem, name, path), entity))
        return found

    def _resolve_mentions(self) -> None:
        rows = self.connection.execute(
            """SELECT m.chunk, m.start, m.end, m.key, m.entity, m.origin, c.document,
                 substr(c.text, m.start + 1, m.end - m.start) AS name
               FROM json_each(?) w CROSS JOIN kg_mentions m ON m.key = w.value JOIN kg_chunks c ON c.id = m.chunk
               WHERE m.origin NOT IN ('link', 'import')""",
            [_json(self.keys)],
        ).fetchall()
        for row in rows:
            entity = self.halves.of(self.names.resolve(row["name"], row["origin"], row["key"]), row["document"])
            if entity == row["entity"] or entity is None:
                continue
            self.connection.execute(
                "UPDATE kg_mentions SET entity = ? WHERE chunk = ? AND start = ? AND end = ? AND key = ?",
                [entity, row["chunk"], row["start"], row["end"], row["key"]],
            )
            self.entities.add(entity)
            self.lost.add(row["entity"])

    def _move(self, row: sqlite3.Row, column: str, entity: int | None) -> None:
        if entity == row[column]:
            return
        touch(self.connection, row["triple"], row["attribute"])
        statement = {
            "head_entity": "UPDATE kg_evidence SET head_entity = ?, triple = NULL, attribute = NULL WHERE id = ?",
            "tail_entity": "UPDATE kg_evidence SET tail_entity = ?, triple = NULL, attribute = NULL WHERE id = ?",
        }[column]
        self.connection.execute(statement, [entity, row["id"]])
        if entity is not None:
            self.entities.add(entity)
        if row[column] is not None:
            self.lost.add(row[column])

    def _aggregate(self) -> None:
        """Make facts of the claims that have none, count those that were touched, drop those without evidence."""
        connection = self.connection
        highest = connection.execute("SELECT max(id) FROM kg_triples").fetchone()[0] or 0
        for statement in LOOSE_TRIPLES + LOOSE_ATTRIBUTES:
            rows = connection.execute(statement).rowcount
            self.facts += rows if statement.startswith("INSERT INTO kg_") else 0
        new = connection.execute("SELECT id FROM kg_triples WHERE id > ?", [highest]).fetchall()
        changes.record(connection, "kg_triples", (row[0] for row in new), "insert")
        ends = connection.execute(
            """SELECT t.head, t.tail FROM temp.touched w CROSS JOIN kg_triples t ON t.id = w.id WHERE w.kind = 'triple'
               UNION SELECT a.entity, a.entity FROM temp.touched w CROSS JOIN kg_attributes a ON a.id = w.id
               WHERE w.kind = 'attribute'"""
        )
        self.entities.update(id_ for row in ends for id_ in row)
        for statement in COUNT_FACTS:
            connection.execute(statement)
        gone = connection.execute(
            """SELECT t.id FROM temp.touched w CROSS JOIN kg_triples t ON t.id = w.id
               WHERE w.kind = 'triple' AND t.evidence = 0"""
        ).fetchall()
        changes.record(connection, "kg_triples", (row[0] for row in gone), "delete")
        for statement in DROP_EMPTY:
            rows = connection.execute(statement).rowcount
            self.facts -= rows if statement.startswith("DELETE FROM kg_") else 0


def _json(keys: Iterable[str]) -> str:
    return json.dumps(sorted(keys), ensure_ascii=False)


LOOSE_TRIPLES = (
    """CREATE TEMP TABLE linked AS
        SELECT v.id AS evidence, v.relation,
          CASE v.reversed WHEN 0 THEN coalesce(h.merged_into, h.id) ELSE coalesce(t.merged_into, t.id) END AS head,
          CASE v.reversed WHEN 0 THEN coalesce(t.merged_into, t.id) ELSE coalesce(h.merged_into, h.id) END AS tail
        FROM kg_evidence v INDEXED BY kg_evidence_loose_triple
        CROSS JOIN kg_entities h ON h.id = v.head_entity CROSS JOIN kg_entities t ON t.id = v.tail_entity
        WHERE v.kind = 'triple' AND v.triple IS NULL""",
    """INSERT INTO kg_triples(head, relation, tail) SELECT DISTINCT head, relation, tail FROM temp.linked WHERE true
       ORDER BY evidence ON CONFLICT(head, relation, tail) DO NOTHING""",
    """UPDATE kg_evidence SET triple =
         (SELECT f.id FROM temp.linked l CROSS JOIN kg_triples f
            ON f.head = l.head AND f.relation = l.relation AND f.tail = l.tail WHERE l.rowid = own.place)
       FROM (SELECT evidence, rowid AS place FROM temp.linked) AS own WHERE kg_evidence.id = own.evidence""",
    """INSERT OR IGNORE INTO temp.touched(kind, id) SELECT DISTINCT 'triple', v.triple FROM temp.linked l
       CROSS JOIN kg_evidence v ON v.id = l.evidence""",
    "DROP TABLE temp.linked",
)

LOOSE_ATTRIBUTES = (
    """CREATE TEMP TABLE linked AS
        SELECT v.id AS evidence, coalesce(h.merged_into, h.id) AS entity, v.relation AS attribute, v.tail AS value
        FROM kg_evidence v INDEXED BY kg_evidence_loose_attribute CROSS JOIN kg_entities h ON h.id = v.head_entity
        WHERE v.kind = 'attribute' AND v.attribute IS NULL""",
    """INSERT INTO kg_attributes(entity, attribute, value) SELECT DISTINCT entity, attribute, value FROM temp.linked
       WHERE true ORDER BY evidence ON CONFLICT(entity, attribute, value) DO NOTHING""",
    """UPDATE kg_evidence SET attribute =
         (SELECT f.id FROM temp.linked l CROSS JOIN kg_attributes f
            ON f.entity = l.entity AND f.attribute = l.attribute AND f.value = l.value WHERE l.rowid = own.place)
       FROM (SELECT evidence, rowid AS place FROM temp.linked) AS own WHERE kg_evidence.id = own.evidence""",
    """INSERT OR IGNORE INTO temp.touched(kind, id) SELECT DISTINCT 'attribute', v.attribute FROM temp.linked l
       CROSS JOIN kg_evidence v ON v.id = l.evidence""",
    "DROP TABLE temp.linked",
)

COUNT_FACTS = (
    """UPDATE kg_triples SET
         evidence = (SELECT count(*) FROM kg_evidence v WHERE v.triple = kg_triples.id),
         confidence = coalesce((SELECT max(confidence) FROM kg_evidence v WHERE v.triple = kg_triples.id), 0)
       WHERE id IN (SELECT id FROM temp.touched WHERE kind = 'triple')""",
    """UPDATE kg_attributes SET
         evidence = (SELECT count(*) FROM kg_evidence v WHERE v.attribute = kg_attributes.id),
         confidence = coalesce((SELECT max(confidence) FROM kg_evidence v WHERE v.attribute = kg_attributes.id), 0)
       WHERE id IN (SELECT id FROM temp.touched WHERE kind = 'attribute')""",
)

DROP_EMPTY = (
    "DELETE FROM kg_triples WHERE evidence = 0 AND id IN (SELECT id FROM temp.touched WHERE kind = 'triple')",
    "DELETE FROM kg_attributes WHERE evidence = 0 AND id IN (SELECT id FROM temp.touched WHERE kind = 'attribute')",
    "DELETE FROM temp.touched",
)
