"""Names that mean somebody else in some documents: a person has said which, and what is written there is theirs.

Two people of one name are one entity until a person splits it: a new name for one of them, and the documents that speak
of that one. The pair is a rejected one in ``kg_merges`` (the two are never to be joined), the documents stand in the
log of decisions. What a name means is still told from the notes alone; where that is the split entity and the document
is one of those, it means the other half. What a note says of itself is excepted.

The split entity is known by its key, and by its type as far as there is one: a split of no type is about all of the
key, and one of a type about those of no type too. Which others of the key exist has no part in it: that depends on what
is split.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

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

#: The entities that a split is about. A note's type is what it says, not what models make of it.
MEANT = """
  SELECT id FROM kg_entities e WHERE key = :key AND (:type = ''
    OR coalesce((SELECT d.entity_type FROM kg_documents d WHERE d.entity = e.id), e.type) IN ('', :type))"""

HALF = """
  SELECT id FROM kg_entities e WHERE key = :key
    AND coalesce((SELECT d.entity_type FROM kg_documents d WHERE d.entity = e.id), e.type) = :type"""

CLAIMS = """
  SELECT v.id, v.head_key, v.head_entity, v.tail_entity, v.triple, v.attribute, v.chunk, v.link_key, v.tail_key,
    v.detail
  FROM kg_chunks c CROSS JOIN kg_evidence v ON v.chunk = c.id
  WHERE c.document = :document AND ((v.head_entity = :entity AND v.head_key IS NOT NULL) OR v.tail_entity = :entity)"""
MENTIONS = """
  SELECT m.chunk, m.start, m.end, m.key FROM kg_chunks c CROSS JOIN kg_mentions m ON m.chunk = c.id
  WHERE c.document = :document AND m.entity = :entity AND m.origin <> 'link'"""


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


class Halves:
    """Answers for one settlement whom a name means in a document where it is split."""

    def __init__(self, connection: sqlite3.Connection, names: Names) -> None:
        self.connection, self.names = connection, names
        self.splits = standing(connection)
        self.passed: set[int] = set()  # entities that a name would have meant; nothing else may support them
        self._in: dict[int, list[Split]] = {}
        for split in self.splits:
            for document in split.documents:
                self._in.setdefault(document, []).append(split)

    def of(self, entity: int | None, document: int) -> int | None:
        """The half that ``entity`` is in this document; the entity itself if it is not split there."""
        for _ in self._in.get(document, ()):  # a half may be split itself
            for split in self._in[document]:
                if entity in self._meant(split):
                    self.passed.add(entity)
                    entity = self._half(split)
                    break
            else:
                break
        return entity

    def move(self, move: Move) -> tuple[set[int], set[int]]:
        """Give the halves what is new in their documents; returns entities that won, that lost a mention.

        ``move`` makes another entity an end of a claim, given its row, the column and the entity.
        """
        won: set[int] = set()
        lost: set[int] = set()
        for split in self.splits:
            for entity, document in product(self._meant(split), split.documents):
                values = {"document": document, "entity": entity}
                for row in self.connection.execute(CLAIMS, values).fetchall():
                    self._turn(row, entity, document, move)
                mentions = self.connection.execute(MENTIONS, values).fetchall()
                half = self.of(entity, document) if mentions else None
                self.connection.executemany(
                    "UPDATE kg_mentions SET entity = ? WHERE chunk = ? AND start = ? AND end = ? AND key = ?",
                    [(half, *row) for row in mentions],
                )
                if half is not None:
                    won.add(half)
                    lost.add(entity)
        return won, lost

    def _turn(self, row: sqlite3.Row, entity: int, document: int, move: Move) -> None:
        if row["head_entity"] == entity and row["head_key"] is not None:
            move(row, "head_entity", self.of(entity, document))
        if row["tail_entity"] == entity:
            half = self.of(entity, document)
            if row["link_key"] is not None:
                put_link_mention(self.connection, row, half)
            move(row, "tail_entity", half)

    def _meant(self, split: Split) -> list[int]:
        rows = self.connection.execute(MEANT, {"key": split.key, "type": split.type})
        return [row[0] for row in rows]

    def _half(self, split: Split) -> int:
        row = self.connection.execute(HALF, {"key": split.half_key, "type": split.half_type}).fetchone()
        if row is not None:
            return int(row[0])
        entity = insert_entity(self.connection, split.name, split.half_type, split.half_key, "lexical")
        self.names.forget([split.half_key])
        return entity


HELD = """
  SELECT v.head_key, NULL FROM kg_entities e JOIN kg_evidence v ON v.head_entity = e.id WHERE e.key = :key
  UNION SELECT v.tail_key, v.link_key FROM kg_entities e JOIN kg_evidence v ON v.tail_entity = e.id WHERE e.key = :key
  UNION SELECT m.key, NULL FROM kg_entities e JOIN kg_mentions m ON m.entity = e.id WHERE e.key = :key"""


def keys_held(connection: sqlite3.Connection, key: str) -> tuple[set[str], set[str]]:
    """The keys of names, and of links, by which a half is written: to be resolved anew when it is split no more.

    Those of its own halves too: what they hold, they have from it.
    """
    splits = standing(connection)
    names: set[str] = set()
    links: set[str] = set()
    waiting, seen = [key], {key}
    while waiting:
        key = waiting.pop()
        rows = connection.execute(HELD, {"key": key}).fetchall()
        names |= {row[0] for row in rows if row[0]}
        links |= {row[1] for row in rows if row[1]}
        fresh = {split.half_key for split in splits if split.key == key} - seen
        seen |= fresh
        waiting += sorted(fresh)
    return names, links
