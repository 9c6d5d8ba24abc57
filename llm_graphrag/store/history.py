"""The log of what runs have changed: which notes came, changed and went, and which facts with them.

The file holds current facts only. At the end of a settlement ``record`` writes the difference it has made
(``touched.py``) to its run, in the same transaction. So at every commit the log is exact: the facts before a run,
without those that are gone and with those that were added, are the facts after it. Within a run changes add up: a fact
that comes and goes leaves nothing.

It stays small. A run that finds no note is counted, not listed: what it added is the file. So is one from the moment
that it has changed more than ``MAX_RUN`` facts and notes, batch by batch, and so are the oldest runs where all hold
more than ``MAX_ROWS``. Only the last runs are kept (``keep``). With the last note goes the whole log.
"""

from __future__ import annotations

import getpass
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from . import touched
from .settings import get_setting, put_setting
from .touched import Counts, Natural, State

KEEP, DEFAULT_KEEP = "history.keep", 100  # runs
MAX_RUN, MAX_ROWS = 20_000, 100_000

ADD, REMOVE, MERGE, CHANGE = "add", "remove", "merge", "change"  # what runs do that nobody has named
COUNTED = (CHANGE, "forget")  # never listed: to forget somebody must not write the name down


def who() -> str:
    """The user's name, as far as the system knows it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without a user of this number
        return "unknown"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@dataclass(slots=True)
class Run:
    """Who does what; a row of ``kg_runs`` as soon as it has changed something.

    One that is given no name is called by what it does: to add or remove notes, to join entities, or to change.
    """

    what: str = ""
    at: str = field(default_factory=_now)  # also the time at which its notes are added
    actor: str = field(default_factory=who)
    detail: str = ""
    id: int | None = None
    first: bool = False  # there was no note before it
    rows: int = 0  # that it has written to the log


def watch(connection: sqlite3.Connection) -> None:
    """From now on, note what is changed."""
    touched.watch(connection)


def record(connection: sqlite3.Connection, run: Run) -> None:
    """Write to ``run`` what has changed since this was last called; belongs to the transaction that changed it."""
    if not touched.is_any(connection, run.at):
        return
    if touched.has_emptied(connection):
        connection.execute("DELETE FROM kg_runs")
        run.id = None
    elif _is_counted(connection, run):
        counts = touched.counted(connection)
        if any(any(numbers.values()) for numbers in counts.values()) and _begin(connection, run):
            _add_counts(connection, run, counts)
    else:
        facts, notes = touched.facts(connection), touched.notes(connection)
        if (facts or notes) and _begin(connection, run):
            _put(connection, run, facts, notes)
            run.rows += len(facts) + len(notes)
            if run.rows > MAX_RUN:
                _sum_up(connection, run)
    touched.clear(connection)


# -- the run ---------------------------------------------------------------------------


def _is_counted(connection: sqlite3.Connection, run: Run) -> bool:
    """Whether the changes of a run are counted, not listed."""
    row = connection.execute("SELECT counts FROM kg_runs WHERE id = ? AND at = ?", [run.id, run.at]).fetchone()
    if row is not None:
        return row["counts"] is not None
    run.id = None  # it is new, or its first transaction was rolled back
    run.first = touched.was_empty(connection)
    return run.first or (run.what or _name(connection)) in COUNTED


def _begin(connection: sqlite3.Connection, run: Run) -> bool:
    """Make the row of a run if it has none; older runs give way to it. False if no log is kept."""
    if run.id is not None:
        return True
    kept = int(get_setting(connection, KEEP, DEFAULT_KEEP))
    if kept == 0:
        return False
    prune(connection, kept - 1)
    run.what = run.what or _name(connection)
    if run.what == MERGE and not run.detail:
        run.actor, run.detail = _decision(connection) or (run.actor, "")
    run.id = connection.execute(BEGIN, [run.at, run.actor, run.what, run.detail]).lastrowid
    return True


def _name(connection: sqlite3.Connection) -> str:
    """What a run without a name does."""
    if touched.has_joined(connection):
        return MERGE
    notes = touched.notes(connection)
    if not notes:
        return CHANGE
    return REMOVE if all(row["uri"] is None for row in notes) else ADD


def _decision(connection: sqlite3.Connection) -> tuple[str, str] | None:
    """Who decided last on a merge, and on which."""
    row = connection.execute("SELECT actor, subject FROM kg_decisions WHERE kind = 'merge' ORDER BY id DESC").fetchone()
    return None if row is None else (row["actor"], row["subject"])


BEGIN = """
  INSERT INTO kg_runs(at, actor, what, detail, schema_version, decision) VALUES (?, ?, ?, ?,
    (SELECT coalesce(max(version), 0) FROM kg_schema_versions), (SELECT coalesce(max(id), 0) FROM kg_decisions))"""


# -- how much is kept --------------------------------------------------------------------


def keep(connection: sqlite3.Connection, runs: int) -> int:
    """Keep the last ``runs`` runs, now and from now on; 0 keeps no log. Returns how many were dropped."""
    put_setting(connection, KEEP, runs)
    return prune(connection, runs)


def prune(connection: sqlite3.Connection, runs: int) -> int:
    """Drop all but the last ``runs`` runs, and the lists of old ones; returns how many runs were dropped."""
    dropped = connection.execute(
        "DELETE FROM kg_runs WHERE id NOT IN (SELECT id FROM kg_runs ORDER BY id DESC LIMIT ?)", [runs]
    ).rowcount
    held = 0
    for run, rows in connection.execute(LENGTHS).fetchall():
        held += rows
        if held > MAX_ROWS:
            _sum_up(connection, Run(id=run))
    return dropped


def forget(connection: sqlite3.Connection, entity: int) -> None:
    """Take all that names an entity, by any of its names, out of the log."""
    for statement in FORGET:
        connection.execute(statement, {"entity": entity})


LENGTHS = """
  SELECT r.id, (SELECT count(*) FROM kg_fact_log f WHERE f.run = r.id)
    + (SELECT count(*) FROM kg_note_log n WHERE n.run = r.id)
  FROM kg_runs r WHERE r.counts IS NULL ORDER BY r.id DESC"""

FORGET = (
    "DELETE FROM kg_fact_log WHERE head IN (SELECT name FROM kg_aliases WHERE entity = :entity)",
    """DELETE FROM kg_fact_log WHERE kind = 'triple'
         AND tail IN (SELECT name FROM kg_aliases WHERE entity = :entity)""",
)


# -- counting ----------------------------------------------------------------------------


def _add_counts(connection: sqlite3.Connection, run: Run, more: Counts) -> None:
    row = connection.execute("SELECT counts FROM kg_runs WHERE id = ?", [run.id]).fetchone()
    counts: Counts = json.loads(row["counts"] or "{}")
    for what, numbers in more.items():
        if run.first:  # all that there is came with it
            numbers = touched.named((numbers["added"] - numbers["gone"], 0, 0))
        have = counts.get(what, {})
        counts[what] = {name: have.get(name, 0) + number for name, number in numbers.items()}
    connection.execute("UPDATE kg_runs SET counts = ? WHERE id = ?", [json.dumps(counts), run.id])


def _sum_up(connection: sqlite3.Connection, run: Run) -> None:
    """Count what a run has listed, and list it no longer."""
    notes, facts = (connection.execute(statement, [run.id]).fetchone() for statement in (SUM_NOTES, SUM_FACTS))
    _add_counts(connection, run, {"notes": touched.named(notes), "facts": touched.named(facts)})
    connection.execute("DELETE FROM kg_fact_log WHERE run = ?", [run.id])
    connection.execute("DELETE FROM kg_note_log WHERE run = ?", [run.id])


SUM_NOTES = """
  SELECT coalesce(sum(uri_before IS NULL), 0), coalesce(sum(uri IS NULL), 0),
    coalesce(sum(uri_before IS NOT NULL AND uri IS NOT NULL), 0) FROM kg_note_log WHERE run = ?"""

SUM_FACTS = """
  SELECT coalesce(sum(evidence_before = 0), 0), coalesce(sum(evidence = 0), 0),
    coalesce(sum(evidence_before > 0 AND evidence > 0), 0) FROM kg_fact_log WHERE run = ?"""


# -- listing -----------------------------------------------------------------------------


def _put(
    connection: sqlite3.Connection,
    run: Run,
    facts: Sequence[tuple[Natural, State, State]],
    notes: Sequence[sqlite3.Row],
) -> None:
    rows = [(run.id, *key, was[0], now[0], was[1], now[1]) for key, was, now in facts]
    connection.executemany(PUT_FACT, rows)
    connection.executemany(DROP_FACT, [(run.id, *key) for key, _, _ in facts])
    connection.executemany(PUT_NOTE, [(run.id, *row) for row in notes])
    connection.executemany(DROP_NOTE, [(run.id, row["id"]) for row in notes])


PUT_FACT = """
  INSERT INTO kg_fact_log(run, kind, head, head_type, relation, tail, tail_type, evidence_before, evidence,
    confidence_before, confidence) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET evidence = excluded.evidence, confidence = excluded.confidence"""

DROP_FACT = """
  DELETE FROM kg_fact_log WHERE run = ? AND kind = ? AND head = ? AND head_type = ? AND relation = ? AND tail = ?
    AND tail_type = ? AND evidence_before = evidence AND confidence_before IS confidence"""

PUT_NOTE = """
  INSERT INTO kg_note_log(run, document, uri_before, uri, hash_before, hash) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET uri = excluded.uri, hash = excluded.hash"""

DROP_NOTE = """
  DELETE FROM kg_note_log WHERE run = ? AND document = ? AND uri_before IS uri AND hash_before IS hash"""
