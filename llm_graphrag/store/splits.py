"""Names that mean somebody else in some documents: a person has said which, and what is written there is theirs.

Two people of one name are one entity until a person splits it: a new name for one of them, and the documents that speak
of that one. The pair is a rejected one in ``kg_merges`` (the two are never to be joined), the documents stand in the
log of decisions. What a name means is still told from the notes alone; at the end of every settlement, claims and
mentions of the split entity in those documents are moved to the other half, those of notes about it excepted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from .entities import Names, insert_entity
from .evidence import put_link_mention
from .merges import REJECTED

SPLIT = "split"  # the action, in the log of decisions

Move = Callable[[sqlite3.Row, str, int | None], None]


@dataclass(frozen=True, slots=True)
class Split:
    """What is called ``key`` is, in some documents, another entity, which is shown as ``name``."""

    merge: int
    key: str
    type: str
    name: str
    half_key: str
    half_type: str
    documents: tuple[int, ...]


STANDING = """
  SELECT m.id, m.kept_key, m.kept_type, m.merged_key, m.merged_type, d.detail
  FROM kg_decisions d JOIN kg_merges m ON m.id = d.item
  WHERE d.kind = 'merge' AND d.action = 'split' AND d.undone_by IS NULL AND m.status = :rejected ORDER BY m.id"""

#: Documents by id while they are there, whatever they are called by now; else by uri.
DOCUMENTS = """
  SELECT coalesce((SELECT d.id FROM kg_documents d WHERE d.id = json_extract(w.value, '$.id')),
                  (SELECT d.id FROM kg_documents d WHERE d.uri = json_extract(w.value, '$.uri'))) AS document
  FROM json_each(:documents) w WHERE document IS NOT NULL ORDER BY document"""

#: The entity of a key and type, else the only one of the key, if one of the two types is empty.
MEANT = """
  SELECT id FROM kg_entities e WHERE key = :key AND (type = :type OR (
    (type = '' OR :type = '') AND (SELECT count(*) FROM kg_entities o WHERE o.key = e.key) = 1))"""

CLAIMS = """
  SELECT v.id, v.head_key, v.head_entity, v.tail_entity, v.triple, v.attribute, v.chunk, v.link_key, v.tail_key,
    v.detail
  FROM json_each(:documents) w CROSS JOIN kg_chunks c ON c.document = w.value
  CROSS JOIN kg_evidence v ON v.chunk = c.id
  WHERE (v.head_entity = :entity AND v.head_key IS NOT NULL) OR v.tail_entity = :entity"""
MENTIONS = """
  SELECT m.chunk, m.start, m.end, m.key FROM json_each(:documents) w CROSS JOIN kg_chunks c ON c.document = w.value
  CROSS JOIN kg_mentions m ON m.chunk = c.id WHERE m.entity = :entity AND m.origin <> 'link'"""


def standing(connection: sqlite3.Connection) -> list[Split]:
    """The splits that nobody has taken back."""
    found = []
    for row in connection.execute(STANDING, {"rejected": REJECTED}).fetchall():
        detail = json.loads(row["detail"])
        documents = connection.execute(DOCUMENTS, {"documents": json.dumps(detail["documents"])}).fetchall()
        found.append(
            Split(
                row["id"], row["kept_key"], row["kept_type"], detail["name"], row["merged_key"], row["merged_type"],
                tuple(document[0] for document in documents),
            )
        )  # fmt: skip
    return found


def apply(connection: sqlite3.Connection, names: Names, move: Move) -> tuple[set[int], set[int]]:
    """Give the halves of split names what the documents say of them; returns entities that won, that lost a mention.

    ``move`` makes another entity an end of a claim, given its row, the column and the entity. A half may be split
    itself: it is gone through again until nothing moves.
    """
    won: set[int] = set()
    lost: set[int] = set()
    splits = standing(connection)
    for _ in splits:
        moved = [_apply(connection, names, move, split, won, lost) for split in splits]
        if not any(moved):
            break
    return won, lost


def _apply(
    connection: sqlite3.Connection, names: Names, move: Move, split: Split, won: set[int], lost: set[int]
) -> bool:
    """Whether anything was moved."""
    meant = connection.execute(MEANT, {"key": split.key, "type": split.type}).fetchone()
    if meant is None:
        return False
    values = {"documents": json.dumps(split.documents), "entity": meant[0]}
    claims = connection.execute(CLAIMS, values).fetchall()
    mentions = connection.execute(MENTIONS, values).fetchall()
    if not claims and not mentions:
        return False
    half = _half(connection, names, split)
    for row in claims:
        _turn(connection, row, meant[0], half, move)
    connection.executemany(
        "UPDATE kg_mentions SET entity = ? WHERE chunk = ? AND start = ? AND end = ? AND key = ?",
        [(half, *row) for row in mentions],
    )
    if mentions:
        won.add(half)
        lost.add(meant[0])
    return True


def _turn(connection: sqlite3.Connection, row: sqlite3.Row, entity: int, half: int, move: Move) -> None:
    if row["head_entity"] == entity and row["head_key"] is not None:
        move(row, "head_entity", half)
    if row["tail_entity"] == entity:
        if row["link_key"] is not None:
            put_link_mention(connection, row, half)
        move(row, "tail_entity", half)


def _half(connection: sqlite3.Connection, names: Names, split: Split) -> int:
    row = connection.execute(
        "SELECT id FROM kg_entities WHERE key = ? AND type = ?", [split.half_key, split.half_type]
    ).fetchone()
    if row is not None:
        return int(row[0])
    entity = insert_entity(connection, split.name, split.half_type, split.half_key, "lexical")
    names.forget([split.half_key])
    return entity


HELD = """
  SELECT v.head_key, NULL FROM kg_entities e JOIN kg_evidence v ON v.head_entity = e.id
    WHERE e.key = :key AND e.type = :type
  UNION SELECT v.tail_key, v.link_key FROM kg_entities e JOIN kg_evidence v ON v.tail_entity = e.id
    WHERE e.key = :key AND e.type = :type
  UNION SELECT m.key, NULL FROM kg_entities e JOIN kg_mentions m ON m.entity = e.id
    WHERE e.key = :key AND e.type = :type"""


def keys_held(connection: sqlite3.Connection, key: str, type_: str) -> tuple[set[str], set[str]]:
    """The keys of names, and of links, by which a half is written: to be resolved anew when it is split no more.

    Those of its own halves too: what they hold, they have from it.
    """
    splits = standing(connection)
    names: set[str] = set()
    links: set[str] = set()
    waiting, seen = [(key, type_)], {(key, type_)}
    while waiting:
        key, type_ = waiting.pop()
        rows = connection.execute(HELD, {"key": key, "type": type_}).fetchall()
        names |= {row[0] for row in rows if row[0]}
        links |= {row[1] for row in rows if row[1]}
        fresh = {(s.half_key, s.half_type) for s in splits if (s.key, s.type) == (key, type_)} - seen
        seen |= fresh
        waiting += sorted(fresh)
    return names, links
