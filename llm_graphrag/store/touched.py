"""How what a batch touches was before it: notes, names, facts, and which entities were joined.

Triggers of this connection note the state of a row the first time that it is changed,
made or deleted, whoever does it; compared with the tables as they are, that is the
difference a batch has made. The notes are temporary tables: they are rolled back with
the batch, and nobody else sees them. New documents need no trigger, which would be dear
with their many indexes: their ids are higher than any before.
"""

from __future__ import annotations

import sqlite3
from typing import Any

Natural = tuple[str, str, str, str, str, str]  # kind, head, its type, relation, tail or value, its type
State = tuple[int, float | None]  # statements and confidence of a fact; GONE where it is not there
Counts = dict[str, dict[str, int]]  # notes, facts → added, gone, changed

GONE: State = (0, None)

WATCH = (
    "CREATE TEMP TABLE IF NOT EXISTS note_was(id INTEGER PRIMARY KEY, uri TEXT, hash TEXT)",
    "CREATE TEMP TABLE IF NOT EXISTS name_was(id INTEGER PRIMARY KEY, name TEXT, type TEXT)",
    "CREATE TEMP TABLE IF NOT EXISTS join_was(id INTEGER PRIMARY KEY)",
    """CREATE TEMP TABLE IF NOT EXISTS triple_was(
         id INTEGER PRIMARY KEY, head INTEGER, relation TEXT, tail INTEGER, evidence INTEGER, confidence REAL)""",
    """CREATE TEMP TABLE IF NOT EXISTS attribute_was(
         id INTEGER PRIMARY KEY, entity INTEGER, attribute TEXT, value TEXT, evidence INTEGER, confidence REAL)""",
    "CREATE TEMP TABLE IF NOT EXISTS note_mark AS SELECT coalesce(max(id), 0) AS highest FROM main.kg_documents",
    """CREATE TEMP TRIGGER IF NOT EXISTS note_changed AFTER UPDATE OF uri, content_hash ON main.kg_documents
       WHEN old.uri <> new.uri OR old.content_hash <> new.content_hash
       BEGIN INSERT OR IGNORE INTO note_was VALUES (old.id, old.uri, old.content_hash); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS note_went AFTER DELETE ON main.kg_documents
       BEGIN INSERT OR IGNORE INTO note_was VALUES (old.id, old.uri, old.content_hash); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS name_changed AFTER UPDATE OF name, type ON main.kg_entities
       WHEN old.name <> new.name OR old.type <> new.type
       BEGIN INSERT OR IGNORE INTO name_was VALUES (old.id, old.name, old.type); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS name_went AFTER DELETE ON main.kg_entities
       BEGIN INSERT OR IGNORE INTO name_was VALUES (old.id, old.name, old.type); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS join_changed AFTER UPDATE OF merged_into ON main.kg_entities
       WHEN old.merged_into IS NOT new.merged_into
       BEGIN INSERT OR IGNORE INTO join_was VALUES (old.id); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS triple_came AFTER INSERT ON main.kg_triples
       BEGIN INSERT OR IGNORE INTO triple_was VALUES (new.id, new.head, new.relation, new.tail, 0, NULL); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS triple_changed AFTER UPDATE OF evidence, confidence ON main.kg_triples
       WHEN old.evidence <> new.evidence OR old.confidence <> new.confidence BEGIN INSERT OR IGNORE INTO triple_was
       VALUES (old.id, old.head, old.relation, old.tail, old.evidence, old.confidence); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS triple_went AFTER DELETE ON main.kg_triples BEGIN INSERT OR IGNORE INTO
       triple_was VALUES (old.id, old.head, old.relation, old.tail, old.evidence, old.confidence); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS attribute_came AFTER INSERT ON main.kg_attributes BEGIN INSERT OR IGNORE INTO
       attribute_was VALUES (new.id, new.entity, new.attribute, new.value, 0, NULL); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS attribute_changed AFTER UPDATE OF evidence, confidence ON main.kg_attributes
       WHEN old.evidence <> new.evidence OR old.confidence <> new.confidence BEGIN INSERT OR IGNORE INTO attribute_was
       VALUES (old.id, old.entity, old.attribute, old.value, old.evidence, old.confidence); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS attribute_went AFTER DELETE ON main.kg_attributes BEGIN INSERT OR IGNORE INTO
       attribute_was VALUES (old.id, old.entity, old.attribute, old.value, old.evidence, old.confidence); END""",
)

CLEAR = (
    "DELETE FROM temp.note_was",
    "DELETE FROM temp.name_was",
    "DELETE FROM temp.join_was",
    "DELETE FROM temp.triple_was",
    "DELETE FROM temp.attribute_was",
    "UPDATE temp.note_mark SET highest = (SELECT coalesce(max(id), 0) FROM main.kg_documents)",
)

NEW_NOTES = """
  INSERT OR IGNORE INTO temp.note_was SELECT id, NULL, NULL FROM main.kg_documents
  WHERE id > (SELECT highest FROM temp.note_mark) AND added = ?"""


def watch(connection: sqlite3.Connection) -> None:
    """From now on, note how what is changed was before. Called first on a connection: temporary tables stay in memory.

    On disk, every statement that fires a trigger would write a journal of its own.
    """
    if not connection.in_transaction and not _one(connection, "SELECT count(*) FROM sqlite_temp_master"):
        connection.execute("PRAGMA temp_store = MEMORY")
    for statement in WATCH:
        connection.execute(statement)


def clear(connection: sqlite3.Connection) -> None:
    """Begin anew: what has changed so far was before."""
    for statement in CLEAR:
        connection.execute(statement)


def is_any(connection: sqlite3.Connection, now: str) -> bool:
    """Whether anything was touched; notes that were added ``now`` are new, others came from elsewhere."""
    connection.execute(NEW_NOTES, [now])
    return bool(_one(connection, TOUCHED))


def was_empty(connection: sqlite3.Connection) -> bool:
    """Whether there was no note before."""
    return bool(_one(connection, FIRST))


def has_emptied(connection: sqlite3.Connection) -> bool:
    """Whether notes went, and there is none now."""
    return bool(_one(connection, EMPTIED))


def has_joined(connection: sqlite3.Connection) -> bool:
    """Whether an entity was joined to another one, or set free."""
    return bool(_one(connection, "SELECT EXISTS (SELECT 1 FROM temp.join_was)"))


def _one(connection: sqlite3.Connection, statement: str) -> Any:
    return connection.execute(statement).fetchone()[0]


def counted(connection: sqlite3.Connection) -> Counts:
    """How many notes and facts came, went and changed."""
    facts = [sum(pair) for pair in zip(*(connection.execute(statement).fetchone() for statement in COUNT), strict=True)]
    return {"notes": named(connection.execute(COUNT_NOTES).fetchone()), "facts": named(facts)}


def named(numbers: Any) -> dict[str, int]:
    """Three numbers under what they count."""
    return dict(zip(("added", "gone", "changed"), numbers, strict=True))


def notes(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    """(id, uri_before, uri, hash_before, hash) of notes that are not as they were."""
    return connection.execute(NOTES).fetchall()


def facts(connection: sqlite3.Connection) -> list[tuple[Natural, State, State]]:
    """Facts that are not as they were: their natural key, how they were, how they are."""
    for statement in RENAMED:  # a fact under another name is another fact
        connection.execute(statement)
    before: dict[Natural, State] = {}
    after: dict[Natural, State] = {}
    for statement in (TRIPLES, ATTRIBUTES):
        for kind, relation, *rest in connection.execute(statement):
            was, now = rest[:6], rest[6:]
            if was[4]:
                before[kind, was[0], was[1], relation, was[2], was[3]] = (was[4], was[5])
            if now[4]:
                after[kind, now[0], now[1], relation, now[2], now[3]] = (now[4], now[5])
    keys = sorted(before.keys() | after.keys())
    found = ((key, before.get(key, GONE), after.get(key, GONE)) for key in keys)
    return [(key, was, now) for key, was, now in found if was != now]


TOUCHED = """
  SELECT EXISTS (SELECT 1 FROM temp.triple_was) OR EXISTS (SELECT 1 FROM temp.attribute_was)
    OR EXISTS (SELECT 1 FROM temp.name_was) OR EXISTS (SELECT 1 FROM temp.note_was)"""

EMPTIED = """
  SELECT EXISTS (SELECT 1 FROM temp.note_was WHERE uri IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM main.kg_documents)"""

FIRST = """
  SELECT NOT EXISTS (SELECT 1 FROM temp.note_was WHERE uri IS NOT NULL) AND NOT EXISTS (
    SELECT 1 FROM main.kg_documents d WHERE NOT EXISTS (SELECT 1 FROM temp.note_was w WHERE w.id = d.id))"""

COUNT = (
    """SELECT coalesce(sum(w.evidence = 0 AND f.id IS NOT NULL), 0), coalesce(sum(w.evidence > 0 AND f.id IS NULL), 0),
         coalesce(sum(w.evidence > 0 AND (w.evidence, w.confidence) <> (f.evidence, f.confidence)), 0)
       FROM temp.triple_was w LEFT JOIN main.kg_triples f ON f.id = w.id""",
    """SELECT coalesce(sum(w.evidence = 0 AND f.id IS NOT NULL), 0), coalesce(sum(w.evidence > 0 AND f.id IS NULL), 0),
         coalesce(sum(w.evidence > 0 AND (w.evidence, w.confidence) <> (f.evidence, f.confidence)), 0)
       FROM temp.attribute_was w LEFT JOIN main.kg_attributes f ON f.id = w.id""",
)

COUNT_NOTES = """
  SELECT coalesce(sum(w.uri IS NULL AND d.id IS NOT NULL), 0), coalesce(sum(w.uri IS NOT NULL AND d.id IS NULL), 0),
    coalesce(sum((w.uri, w.hash) <> (d.uri, d.content_hash)), 0)
  FROM temp.note_was w LEFT JOIN main.kg_documents d ON d.id = w.id"""

RENAMED = (
    """INSERT OR IGNORE INTO temp.triple_was SELECT t.id, t.head, t.relation, t.tail, t.evidence, t.confidence
       FROM temp.name_was w CROSS JOIN main.kg_entities e ON e.id = w.id CROSS JOIN main.kg_triples t ON t.head = w.id
       WHERE (e.name, e.type) <> (w.name, w.type)""",
    """INSERT OR IGNORE INTO temp.triple_was SELECT t.id, t.head, t.relation, t.tail, t.evidence, t.confidence
       FROM temp.name_was w CROSS JOIN main.kg_entities e ON e.id = w.id CROSS JOIN main.kg_triples t ON t.tail = w.id
       WHERE (e.name, e.type) <> (w.name, w.type)""",
    """INSERT OR IGNORE INTO temp.attribute_was
       SELECT a.id, a.entity, a.attribute, a.value, a.evidence, a.confidence
       FROM temp.name_was w CROSS JOIN main.kg_entities e ON e.id = w.id
       CROSS JOIN main.kg_attributes a ON a.entity = w.id WHERE (e.name, e.type) <> (w.name, w.type)""",
)

TRIPLES = """
  SELECT 'triple', w.relation, coalesce(hw.name, h.name), coalesce(hw.type, h.type), coalesce(tw.name, t.name),
    coalesce(tw.type, t.type), w.evidence, w.confidence, h.name, h.type, t.name, t.type, f.evidence, f.confidence
  FROM temp.triple_was w LEFT JOIN main.kg_triples f ON f.id = w.id
  LEFT JOIN main.kg_entities h ON h.id = w.head LEFT JOIN temp.name_was hw ON hw.id = w.head
  LEFT JOIN main.kg_entities t ON t.id = w.tail LEFT JOIN temp.name_was tw ON tw.id = w.tail"""

ATTRIBUTES = """
  SELECT 'attribute', w.attribute, coalesce(hw.name, h.name), coalesce(hw.type, h.type), w.value, '',
    w.evidence, w.confidence, h.name, h.type, w.value, '', f.evidence, f.confidence
  FROM temp.attribute_was w LEFT JOIN main.kg_attributes f ON f.id = w.id
  LEFT JOIN main.kg_entities h ON h.id = w.entity LEFT JOIN temp.name_was hw ON hw.id = w.entity"""

NOTES = """
  SELECT w.id, w.uri AS uri_before, d.uri, w.hash AS hash_before, d.content_hash AS hash
  FROM temp.note_was w LEFT JOIN main.kg_documents d ON d.id = w.id
  WHERE w.uri IS NOT d.uri OR w.hash IS NOT d.content_hash ORDER BY w.id"""
