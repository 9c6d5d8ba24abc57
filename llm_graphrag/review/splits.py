"""Splitting a name that is two: in some documents it means somebody else, and what they say is theirs.

A split is the opposite of a merge, and a decision like one: logged, undone like one, and it holds for what these
documents say later. The two are never joined (``store/splits.py``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ..facts.merges import Pair
from ..settings import Settings
from ..sources.ingest import reparse, silent, utc_now
from ..sources.writer import Writer
from ..store import decisions, merges
from ..store.connection import transaction
from ..store.merges import APPROVED, REJECTED, UNDONE
from ..store.splits import SPLIT
from ..text.normalise import clean_name, name_key
from .merge_rows import KIND, Decided, called, row_of, settled, subject, through
from .proposals import ReviewError

__all__ = ["split"]

REASON = "one name of two: split by hand"

NAMES_IT = """
  SELECT EXISTS (SELECT 1 FROM kg_chunks c JOIN kg_mentions m ON m.chunk = c.id
                 WHERE c.document = :document AND m.entity = :entity)
    OR EXISTS (SELECT 1 FROM kg_chunks c JOIN kg_evidence v ON v.chunk = c.id
               WHERE c.document = :document AND (v.tail_entity = :entity OR v.head_entity = :entity))"""


def split(
    connection: sqlite3.Connection,
    settings: Settings,
    name: str,
    half: str,
    documents: Sequence[str],
    *,
    type_: str | None = None,
    actor: str,
    note: str = "",
) -> Decided:
    """Say that in ``documents`` (uris), ``name`` is somebody else, to be called ``half``.

    What these documents say under that name becomes the other's, also after they are edited; a note about the entity
    keeps what it says of itself. Take it back with ``merges.undo``. Raises ReviewError if a name or a document is
    unknown, if ``half`` has the same key, if a document does not name the entity, or if the two are joined.
    """
    with transaction(connection):
        entity = called(connection, name, type_)
        shown, key = clean_name(half), name_key(half)
        if not key or key == entity["key"]:
            raise ReviewError(f"{half!r} is the same name as {entity['name']!r}. Say what tells the two apart.")
        found = [_document(connection, uri, entity) for uri in dict.fromkeys(documents)]
        if not found:
            raise ReviewError("Say in which documents it is somebody else.")
        pair = Pair((entity["key"], entity["type"]), (key, entity["type"]))
        id_ = merges.find(connection, pair)
        if id_ is None:
            id_ = merges.put(connection, pair, REASON, None, UNDONE)
        row = row_of(connection, id_)
        _refuse(connection, row, pair)
        now = utc_now()
        merges.turn(connection, id_, pair)
        merges.set_status(connection, id_, REJECTED, actor, now)
        decisions.record(
            connection, kind=KIND, item=id_, subject=f"{row['kept_name']} and {shown}", action=SPLIT,
            before=row["status"], actor=actor, at=now, detail={"name": shown, "documents": found}, note=note,
        )  # fmt: skip
        done = settled(connection, row, SPLIT)
        Writer(connection, settings).finish(silent, reparse)  # the new name may stand in the notes
        return done


def _document(connection: sqlite3.Connection, uri: str, entity: sqlite3.Row) -> dict[str, object]:
    row = connection.execute("SELECT id FROM kg_documents WHERE uri = ?", [uri]).fetchone()
    if row is None:
        raise ReviewError(f"There is no document {uri!r}. See: llm graphrag entity {entity['name']!r}")
    if not connection.execute(NAMES_IT, {"document": row["id"], "entity": entity["id"]}).fetchone()[0]:
        raise ReviewError(f"{uri} does not name {entity['name']!r}.")
    return {"id": row["id"], "uri": uri}


def _refuse(connection: sqlite3.Connection, row: sqlite3.Row, pair: Pair) -> None:
    if row["joined"] or row["status"] == APPROVED:
        raise ReviewError(
            f"{subject(row)} are joined, by merge {through(connection, pair)}. Take that back first: "
            "llm graphrag merges undo ID"
        )
    last = decisions.standing(connection, KIND, row["id"])
    if last is not None and last["action"] == SPLIT:
        raise ReviewError(
            f"{subject(row)} are split already. To name other documents, take that back first: "
            f"llm graphrag merges undo {row['id']}"
        )
