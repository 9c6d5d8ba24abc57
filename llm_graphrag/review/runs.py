"""The runs that have changed the file, and what was decided between them, as rows tell it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Counts", "Decision", "RunLog", "decisions", "runs", "schema_versions", "span"]

NAMED = 8  # types of a version that are named; the others are counted


@dataclass(frozen=True, slots=True)
class Counts:
    added: int = 0
    gone: int = 0
    changed: int = 0


@dataclass(frozen=True, slots=True)
class RunLog:
    """One run; ``listed`` is whether its changes are there one by one, or only as numbers."""

    id: int
    at: str
    actor: str
    what: str
    detail: str
    listed: bool
    notes: Counts
    facts: Counts


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided, or a version of the schema."""

    at: str
    actor: str
    what: str
    note: str


def runs(connection: sqlite3.Connection, last: int | None = None, since: str | None = None) -> list[RunLog]:
    """Runs, newest first: the last ones, those since the beginning of an ISO date, or all."""
    rows = connection.execute(
        f"{RUNS} WHERE (:since IS NULL OR r.at >= :since) ORDER BY r.id DESC LIMIT :last",
        {"since": since, "last": -1 if last is None else last},
    )
    return [_run(row) for row in rows]


RUNS = """
  SELECT r.*,
    (SELECT json_array(coalesce(sum(uri_before IS NULL), 0), coalesce(sum(uri IS NULL), 0),
       coalesce(sum(uri_before IS NOT NULL AND uri IS NOT NULL), 0)) FROM kg_note_log n WHERE n.run = r.id) AS notes,
    (SELECT json_array(coalesce(sum(evidence_before = 0), 0), coalesce(sum(evidence = 0), 0),
       coalesce(sum(evidence_before > 0 AND evidence > 0), 0)) FROM kg_fact_log f WHERE f.run = r.id) AS facts
  FROM kg_runs r"""


def _run(row: sqlite3.Row) -> RunLog:
    listed = row["counts"] is None
    counts: Mapping[str, Any] = {} if listed else json.loads(row["counts"])
    notes, facts = (
        Counts(*json.loads(row[what])) if listed else Counts(**counts.get(what, {})) for what in ("notes", "facts")
    )
    return RunLog(row["id"], row["at"], row["actor"], row["what"], row["detail"], listed, notes, facts)


def span(connection: sqlite3.Connection, ids: Sequence[int], since: str | None, closed: bool) -> dict[str, Any]:
    """Between which schema versions and decisions runs stand, as ``schema_versions`` and ``decisions`` take it.

    Each run remembers the last ones before it. What came after the newest run belongs to it, unless ``closed``.
    """
    bounds = dict.fromkeys(("version_after", "version_to", "decision_after", "decision_to")) | {"since": since}
    if since is not None or not ids:
        return bounds
    statement = "SELECT schema_version, decision FROM kg_runs WHERE {} ORDER BY id DESC LIMIT 1"
    before = connection.execute(statement.format("id < ?"), [ids[0]]).fetchone()
    if before:
        bounds["version_after"], bounds["decision_after"] = before
    later = connection.execute("SELECT 1 FROM kg_runs WHERE id > ?", [ids[-1]]).fetchone()
    if closed and later:
        bounds["version_to"], bounds["decision_to"] = connection.execute(
            statement.format("id = ?"), [ids[-1]]
        ).fetchone()
    return bounds


def schema_versions(connection: sqlite3.Connection, bounds: Mapping[str, Any]) -> list[Decision]:
    """Versions of the schema within a ``span``, and how each differs from the one before."""
    rows = connection.execute(
        """SELECT * FROM kg_schema_versions
           WHERE (:version_after IS NULL OR version > :version_after)
             AND (:version_to IS NULL OR version <= :version_to) AND (:since IS NULL OR at >= :since)
           ORDER BY version""",
        bounds,
    )
    found = []
    for row in rows:
        difference = _difference(json.loads(row["diff"]))
        found.append(Decision(row["at"], row["actor"], f"version {row['version']}: {difference}", row["note"]))
    return found


def _difference(diff: Mapping[str, Any]) -> str:
    """The diff of a schema version in words."""
    parts = [f"{word} {_listed(diff[word])}" for word in ("added", "retired", "changed") if diff.get(word)]
    parts += ["keys of notes changed"] if diff.get("frontmatter") else []
    return "; ".join(parts) or "as it was"


def _listed(types: Sequence[Sequence[str]]) -> str:
    names = ", ".join(name for _, name in types[:NAMED])
    return names if len(types) <= NAMED else f"{names} and {len(types) - NAMED:,} more"


def decisions(connection: sqlite3.Connection, bounds: Mapping[str, Any]) -> list[Decision]:
    """What persons decided on proposals and merges within a ``span``."""
    rows = connection.execute(
        """SELECT * FROM kg_decisions
           WHERE (:decision_after IS NULL OR id > :decision_after) AND (:decision_to IS NULL OR id <= :decision_to)
             AND (:since IS NULL OR at >= :since) ORDER BY id""",
        bounds,
    )
    return [
        Decision(row["at"], row["actor"], f"{row['action']} {row['kind']}: {row['subject']}", row["note"])
        for row in rows
    ]
