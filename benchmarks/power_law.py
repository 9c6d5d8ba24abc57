"""A large graph as graphs of facts are: few entities with very many triples, many with few. For measuring speed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np

from llm_graphrag.store.connection import open_to_write

__all__ = ["make", "random_pairs"]

EXPONENT = 0.7  # of the share of the i-th entity: with a million triples the largest hub has about 14,000
RELATIONS = 40


def make(path: Path, triples: int, seed: int = 1) -> None:
    """Write a knowledge base with ``triples`` distinct triples among a quarter as many entities, without notes."""
    generator = np.random.default_rng(seed)
    entities = triples // 4
    shares = np.arange(1, entities + 1, dtype=np.float64) ** -EXPONENT
    order = generator.permutation(entities) + 1  # hubs have any ids
    ends = generator.choice(order, size=(triples + triples // 50, 2), p=shares / shares.sum())
    relations = generator.integers(0, RELATIONS, size=len(ends))
    numbered = zip(ends, relations, strict=True)
    rows = {(int(head), f"relation_{relation:02}", int(tail)): None for (head, tail), relation in numbered}
    connection = open_to_write(path, create=True)
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO kg_entities(id, name, key, origin) VALUES (?, ?, ?, 'import')",
        ((n, f"entity {n}", f"entity {n}") for n in range(1, entities + 1)),
    )
    connection.executemany(
        "INSERT INTO kg_triples(head, relation, tail, evidence) VALUES (?, ?, ?, 1)", list(rows)[:triples]
    )
    connection.execute(
        """INSERT INTO kg_counts(kind, item, n) SELECT 'facts', id, sum(n) FROM (
             SELECT head AS id, count(*) AS n FROM kg_triples GROUP BY head
             UNION ALL SELECT tail, count(*) FROM kg_triples WHERE tail <> head GROUP BY tail) GROUP BY id"""
    )
    connection.execute("INSERT INTO kg_counts(kind, item, n) VALUES ('entity_type', '', ?)", [entities])
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def random_pairs(connection: sqlite3.Connection, number: int, seed: int = 2) -> list[tuple[int, int]]:
    """Pairs of entities that have facts, the same ones each time."""
    known = np.array([row[0] for row in connection.execute("SELECT item FROM kg_counts WHERE kind = 'facts'")])
    chosen = np.random.default_rng(seed).choice(known, size=(number, 2))
    return [(int(a), int(b)) for a, b in chosen]
