"""Which entities are one: ``kg_entities.merged_into``, which follows from what a person has decided (``merges.py``).

``join`` is the only code that joins entities. It runs at the end of every settlement and looks at the keys whose
entities came, went, or got another type since; triggers of this connection note them (``watch``). An entity whose
group changed hands all its evidence to be aggregated anew, so facts are exact after a merge, an undo, and after any
edit, delete or reading in between. The rules are in ``facts/merges.py``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..facts.merges import Node, Pair, roots
from . import changes
from .merges import APPROVED, REJECTED, STATUSES, drop_suggestions

WATCH = (
    "CREATE TEMP TABLE IF NOT EXISTS touched_keys(key TEXT PRIMARY KEY) WITHOUT ROWID",
    """CREATE TEMP TRIGGER IF NOT EXISTS entity_came AFTER INSERT ON main.kg_entities
       BEGIN INSERT OR IGNORE INTO touched_keys(key) VALUES (new.key); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS entity_went AFTER DELETE ON main.kg_entities
       BEGIN INSERT OR IGNORE INTO touched_keys(key) VALUES (old.key); END""",
    """CREATE TEMP TRIGGER IF NOT EXISTS entity_changed AFTER UPDATE OF key, type ON main.kg_entities
       WHEN old.key <> new.key OR old.type <> new.type
       BEGIN INSERT OR IGNORE INTO touched_keys(key) VALUES (old.key), (new.key); END""",
)


def watch(connection: sqlite3.Connection) -> None:
    """From now on, note the keys of entities that come, go or change."""
    for statement in WATCH:
        connection.execute(statement)


def touch_keys(connection: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Have the next settlement look at what is decided about these keys."""
    connection.executemany("INSERT OR IGNORE INTO temp.touched_keys(key) VALUES (?)", [[key] for key in keys])


# -- merged_into -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Decided:
    """All decisions, and the keys that they are about."""

    approved: tuple[Pair, ...]
    rejected: tuple[Pair, ...]
    keys: frozenset[str]  # of decisions that were taken back too

    def connected(self, keys: Iterable[str]) -> set[str]:
        """``keys`` and all that approved pairs connect them with."""
        beside: dict[str, set[str]] = {}
        for pair in self.approved:
            beside.setdefault(pair.kept[0], set()).add(pair.merged[0])
            beside.setdefault(pair.merged[0], set()).add(pair.kept[0])
        found = set(keys)
        waiting = list(found)
        while waiting:
            fresh = beside.get(waiting.pop(), set()) - found
            found |= fresh
            waiting += fresh
        return found

    def roots(self, rows: Iterable[Node], keys: set[str] | None = None) -> dict[Node, Node]:
        """What ``rows``, all entities of ``keys`` (None: of all keys), are joined to."""
        approved = [p for p in self.approved if keys is None or p.kept[0] in keys]
        rejected = [p for p in self.rejected if keys is None or {p.kept[0], p.merged[0]} <= keys]
        return roots(list(rows), approved, rejected)


def _decided(connection: sqlite3.Connection) -> _Decided:
    found: dict[str, list[Pair]] = {status: [] for status in STATUSES}
    for status, pair in _pairs(connection):
        found[status].append(pair)
    keys = {node[0] for status in STATUSES[1:] for pair in found[status] for node in (pair.kept, pair.merged)}
    return _Decided(tuple(found[APPROVED]), tuple(found[REJECTED]), frozenset(keys))


def _pairs(connection: sqlite3.Connection) -> Iterator[tuple[str, Pair]]:
    rows = connection.execute(
        """SELECT status, kept_key, kept_type, merged_key, merged_type FROM kg_merges
           WHERE status IN ('approved', 'rejected', 'undone')"""
    )
    return ((row[0], Pair((row[1], row[2]), (row[3], row[4]))) for row in rows)


def join(connection: sqlite3.Connection) -> set[int]:
    """Make ``merged_into`` what the decisions say, for the keys touched since; returns entities to be counted again.

    Evidence of entities that moved is loose afterwards and has yet to be aggregated.
    """
    drop_suggestions(connection)
    decided = _decided(connection)
    touched = {row[0] for row in connection.execute("SELECT key FROM temp.touched_keys")}
    strays = _strays(connection)
    connection.execute("DELETE FROM temp.touched_keys")
    keys = decided.connected(touched & decided.keys)
    if not keys and not strays:
        return set()
    rows = connection.execute(
        """SELECT e.id, e.key, e.type, e.merged_into FROM json_each(?) w
           CROSS JOIN kg_entities e ON e.key = w.value""",
        [_json(keys)],
    ).fetchall()
    ids = {(row["key"], row["type"]): row["id"] for row in rows}
    wanted = {ids[node]: ids[root] for node, root in decided.roots(ids, keys).items()}
    have = {row["id"]: row["merged_into"] for row in rows} | strays
    return _move(connection, {id_: (old, wanted.get(id_)) for id_, old in have.items() if old != wanted.get(id_)})


def _strays(connection: sqlite3.Connection) -> dict[int, int]:
    """Merged entities whose key was touched: it may be another one by now, about which nothing was decided."""
    return dict(
        connection.execute(
            """SELECT id, merged_into FROM kg_entities
               WHERE merged_into IS NOT NULL AND key IN (SELECT key FROM temp.touched_keys)"""
        ).fetchall()
    )


def _move(connection: sqlite3.Connection, moves: dict[int, tuple[int | None, int | None]]) -> set[int]:
    """Join each entity to another root than before; returns the entities that this changes."""
    connection.executemany(
        "UPDATE kg_entities SET merged_into = ? WHERE id = ?", [(new, id_) for id_, (_, new) in moves.items()]
    )
    loosen(connection, moves)
    concerned = {id_ for move in moves.values() for id_ in move if id_ is not None} | moves.keys()
    there = connection.execute(
        "SELECT e.id FROM json_each(?) w CROSS JOIN kg_entities e ON e.id = w.value", [_json(concerned)]
    )
    changes.record(connection, "kg_entities", [row[0] for row in there.fetchall()], "update")
    return concerned


def roots_of(connection: sqlite3.Connection, entities: Iterable[int]) -> set[int]:
    """What those of ``entities`` that are merged are merged into."""
    rows = connection.execute(
        """SELECT e.merged_into FROM json_each(?) w CROSS JOIN kg_entities e ON e.id = w.value
           WHERE e.merged_into IS NOT NULL""",
        [_json(entities)],
    )
    return {row[0] for row in rows}


def detach(connection: sqlite3.Connection, gone: Sequence[int]) -> set[int]:
    """Let go of what is merged into entities that are about to be deleted; returns those set free.

    The facts of a deleted entity go with it; here they can only be those of what was merged into it.
    """
    wanted = json.dumps(sorted(gone))
    rows = connection.execute(
        "SELECT e.id, e.key FROM json_each(?) w CROSS JOIN kg_entities e ON e.merged_into = w.value", [wanted]
    ).fetchall()
    if not rows:
        return set()
    for statement in (
        "SELECT t.id FROM json_each(?) w CROSS JOIN kg_triples t ON t.head = w.value",
        "SELECT t.id FROM json_each(?) w CROSS JOIN kg_triples t ON t.tail = w.value",
    ):
        facts = connection.execute(statement, [wanted]).fetchall()
        changes.record(connection, "kg_triples", [row[0] for row in facts], "delete")
    touch_keys(connection, [row["key"] for row in rows])
    return _move(connection, {row["id"]: (None, None) for row in rows})


LOOSEN = (
    """INSERT OR IGNORE INTO temp.touched(kind, id)
       SELECT 'triple', v.triple FROM json_each(:entities) w CROSS JOIN kg_evidence v ON v.head_entity = w.value
         WHERE v.triple IS NOT NULL
       UNION SELECT 'triple', v.triple FROM json_each(:entities) w CROSS JOIN kg_evidence v ON v.tail_entity = w.value
         WHERE v.triple IS NOT NULL
       UNION SELECT 'attribute', v.attribute FROM json_each(:entities) w
         CROSS JOIN kg_evidence v ON v.head_entity = w.value WHERE v.attribute IS NOT NULL""",
    """UPDATE kg_evidence SET triple = NULL, attribute = NULL WHERE id IN (
         SELECT v.id FROM json_each(:entities) w CROSS JOIN kg_evidence v ON v.head_entity = w.value
         UNION SELECT v.id FROM json_each(:entities) w CROSS JOIN kg_evidence v ON v.tail_entity = w.value)""",
)


def loosen(connection: sqlite3.Connection, entities: Iterable[int]) -> None:
    """Take the evidence of entities from its facts, which are to be counted again; it has yet to be aggregated."""
    for statement in LOOSEN:
        connection.execute(statement, {"entities": _json(entities)})


def misplaced(connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """(entity, what is wrong) where ``merged_into`` is not what the decisions say."""
    decided = _decided(connection)
    keys = decided.connected(decided.keys)
    rows = connection.execute(
        """SELECT id, key, type, merged_into FROM kg_entities
           WHERE merged_into IS NOT NULL OR key IN (SELECT value FROM json_each(?)) ORDER BY id""",
        [_json(keys)],
    ).fetchall()
    ids = {(row["key"], row["type"]): row["id"] for row in rows if row["key"] in keys}
    wanted = {ids[node]: ids[root] for node, root in decided.roots(ids).items()}
    for row in rows:
        if row["merged_into"] != wanted.get(row["id"]):
            said = f"into {wanted[row['id']]}" if row["id"] in wanted else "into none"
            yield row["id"], f"it is merged into {row['merged_into']}, decided was {said}"


def _json(values: Iterable[object]) -> str:
    return json.dumps(sorted(values, key=repr), ensure_ascii=False)
