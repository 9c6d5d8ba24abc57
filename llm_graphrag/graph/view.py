"""The graph that questions walk on, read from the tables a frontier at a time.

Nodes are chunks and entities in one number line: a chunk is its id, an entity is its
id negated. Edges, all undirected:

- a mention joins a chunk and an entity; it weighs the entity's rarity
- a document's own entity is joined to all of its chunks, heavier than a mention; the
  note ``Mercury (planet)`` is joined to the plain name ``Mercury`` in the same way
- a triple joins two entities

What is merged into an entity (kg_entities.merged_into) is no node of its own: its
mentions and notes are the entity's.

Nothing is loaded beforehand. A hub, whose mass would be spread thinner than
``epsilon`` an edge, is not expanded: that bounds what a question can read. Statements
have the form that SQLite 3.40 plans well (specs: ``json_each`` CROSS JOIN the indexed
table); ``+entity`` keeps the primary key of ``kg_counts`` usable, whose ``item`` has no
affinity.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Mapping

__all__ = ["GraphView", "count_chunks", "rarity"]

OWN_WEIGHT = 3.0  # added for a document's own entity: with its mention 4 in all, what the experiment found best
TRIPLE_WEIGHT = 1.0

ENTITIES_OF_CHUNKS = """
    SELECT DISTINCT f.value AS chunk, coalesce(e.merged_into, e.id) AS entity, 0 AS own, n.n AS chunks
    FROM json_each(:nodes) f
    CROSS JOIN kg_mentions m ON m.chunk = f.value
    CROSS JOIN kg_entities e ON e.id = m.entity
    LEFT JOIN kg_counts n ON n.kind = 'chunks' AND n.item = coalesce(e.merged_into, e.id)
    UNION ALL
    SELECT f.value, coalesce(e.merged_into, e.id), 1, n.n
    FROM json_each(:nodes) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
    CROSS JOIN kg_entities e ON e.id = d.entity
    LEFT JOIN kg_counts n ON n.kind = 'chunks' AND n.item = coalesce(e.merged_into, e.id)
    UNION ALL
    SELECT f.value, b.id, 1, n.n
    FROM json_each(:nodes) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
    CROSS JOIN kg_entities e ON e.id = d.entity AND e.key LIKE '%_ (%)'
    CROSS JOIN kg_entities b ON b.key = substr(e.key, 1, instr(e.key, ' (') - 1)
    LEFT JOIN kg_counts n ON n.kind = 'chunks' AND n.item = +b.id
"""
CHUNKS_OF_ENTITIES = """
    SELECT f.value AS entity, m.chunk AS chunk, 0 AS own
    FROM json_each(:nodes) f
    CROSS JOIN kg_mentions m ON m.entity = f.value
    UNION
    SELECT f.value, m.chunk, 0
    FROM json_each(:nodes) f
    CROSS JOIN kg_entities e ON e.merged_into = f.value
    CROSS JOIN kg_mentions m ON m.entity = e.id
    UNION ALL
    SELECT f.value, c.id, 1
    FROM json_each(:nodes) f
    CROSS JOIN kg_documents d ON d.entity = f.value
    CROSS JOIN kg_chunks c ON c.document = d.id
    UNION ALL
    SELECT f.value, c.id, 1
    FROM json_each(:nodes) f
    CROSS JOIN kg_entities e ON e.merged_into = f.value
    CROSS JOIN kg_documents d ON d.entity = e.id
    CROSS JOIN kg_chunks c ON c.document = d.id
    UNION ALL
    SELECT f.value, c.id, 1
    FROM json_each(:nodes) f
    CROSS JOIN kg_entities e ON e.id = f.value
    CROSS JOIN kg_entities q ON q.key > e.key || ' (' AND q.key < e.key || ' )'
    CROSS JOIN kg_documents d ON d.entity = q.id
    CROSS JOIN kg_chunks c ON c.document = d.id
"""
ENTITIES_OF_ENTITIES = """
    SELECT f.value AS entity, t.tail AS other FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.head = f.value
    UNION
    SELECT f.value, t.head FROM json_each(:nodes) f CROSS JOIN kg_triples t ON t.tail = f.value
"""
DEGREES = """
    SELECT f.value AS entity, sum(n.n) AS n
    FROM json_each(:nodes) f
    CROSS JOIN kg_counts n ON n.kind IN ('chunks', 'facts') AND n.item = f.value
    GROUP BY f.value
"""


def rarity(chunks: int | None, total: int) -> float:
    """How much a name tells that stands in ``chunks`` of ``total`` chunks: log(1 + total / chunks)."""
    return math.log(1 + total / max(1, chunks or 1))


def count_chunks(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM kg_chunks").fetchone()[0])


class GraphView:
    """Neighbours of chunks (positive) and entities (negative), cached for one question."""

    def __init__(self, connection: sqlite3.Connection, total: int, epsilon: float = 1e-5) -> None:
        self.connection = connection
        self.total = total
        self.epsilon = epsilon
        self.edges: dict[int, list[tuple[int, float]]] = {}
        self.degrees: dict[int, int] = {}

    def neighbours(self, frontier: Mapping[int, float]) -> dict[int, list[tuple[int, float]]]:
        """Return node -> [(neighbour, weight)] for the nodes of the frontier that are no hubs for their mass."""
        chunks = [node for node in frontier if node > 0 and node not in self.edges]
        entities = [-node for node in frontier if node < 0 and node not in self.edges]
        if chunks:
            self._read_chunks(chunks)
        if entities:
            self._read_degrees(entities)
            self._read_entities([e for e in entities if self.degrees[e] * self.epsilon < frontier[-e]])
        return {node: self.edges[node] for node in frontier if node in self.edges}

    def _rows(self, sql: str, nodes: Iterable[int]) -> list[sqlite3.Row]:
        return self.connection.execute(sql, {"nodes": json.dumps(list(nodes))}).fetchall()

    def _read_chunks(self, chunks: Collection[int]) -> None:
        self.edges.update((chunk, []) for chunk in chunks)
        for chunk, entity, own, count in self._rows(ENTITIES_OF_CHUNKS, chunks):
            weight = rarity(count, self.total) * (OWN_WEIGHT if own else 1.0)
            self.edges[chunk].append((-entity, weight))

    def _read_degrees(self, entities: Collection[int]) -> None:
        self.degrees.update((entity, 1) for entity in entities if entity not in self.degrees)
        self.degrees.update((entity, n) for entity, n in self._rows(DEGREES, entities))

    def _read_entities(self, entities: Collection[int]) -> None:
        if not entities:
            return
        self.edges.update((-entity, []) for entity in entities)
        for entity, chunk, own in self._rows(CHUNKS_OF_ENTITIES, entities):
            self.edges[-entity].append((chunk, OWN_WEIGHT if own else 1.0))
        for entity, other in self._rows(ENTITIES_OF_ENTITIES, entities):
            if other != entity:
                self.edges[-entity].append((-other, TRIPLE_WEIGHT))
