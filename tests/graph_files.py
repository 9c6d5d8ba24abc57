"""Knowledge bases with a graph of one's own, made without notes: for tests of what walks on triples."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from llm_graphrag.store.connection import open_in_memory
from llm_graphrag.store.counts import recount_all
from llm_graphrag.text.normalise import name_key

Triple = tuple[str, str, str]


def graph(triples: Iterable[Triple], types: dict[str, str] | None = None) -> sqlite3.Connection:
    """A knowledge base of these triples: one document, one chunk a triple, one row of evidence each."""
    connection = open_in_memory()
    add_triples(connection, triples, types)
    return connection


def hub(leaves: int = 100_000) -> sqlite3.Connection:
    """A hub with very many leaves, joined in a circle of three besides; no sentences, no names, for speed."""
    connection = open_in_memory()
    connection.execute("BEGIN")
    names = ["hub", "knot", *(f"leaf {n}" for n in range(leaves))]
    connection.executemany(
        "INSERT INTO kg_entities(id, name, key, origin) VALUES (?, ?, ?, 'user')",
        [(n, name, name) for n, name in enumerate(names, 1)],
    )
    triples = [(1, "r", n) for n in range(3, leaves + 3)] + [(2, "r", 1), (3, "r", 4), (2, "r", 3)]
    connection.executemany("INSERT INTO kg_triples(head, relation, tail, evidence) VALUES (?, ?, ?, 1)", triples)
    recount_all(connection)
    connection.execute("COMMIT")
    return connection


def add_triples(
    connection: sqlite3.Connection,
    triples: Iterable[Triple],
    types: dict[str, str] | None = None,
    uri: str = "graph/notes.md",
) -> None:
    """Add triples to a file, stated by one document; entities are found by their names."""
    connection.execute("BEGIN")
    types = types or {}
    listed = list(dict.fromkeys(triples))
    document = connection.execute(
        """INSERT INTO kg_documents(uri, kind, title, name, name_key, content_hash, added, updated)
           VALUES (?, 'note', 'notes', 'notes', 'notes', '', '2026-01-01', '2026-01-01')""",
        [uri],
    ).lastrowid
    have = dict(connection.execute("SELECT name, id FROM kg_entities").fetchall())
    names = [n for n in dict.fromkeys(name for head, _, tail in listed for name in (head, tail)) if n not in have]
    first = connection.execute("SELECT coalesce(max(id), 0) FROM kg_entities").fetchone()[0] + 1
    connection.executemany(
        "INSERT INTO kg_entities(id, name, type, key, origin) VALUES (?, ?, ?, ?, 'user')",
        [(id_, name, types.get(name, ""), f"{name_key(name)} {id_}") for id_, name in enumerate(names, first)],
    )
    have.update((name, id_) for id_, name in enumerate(names, first))
    connection.executemany(
        "INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (?, ?, ?, 'name', 'user')",
        [(have[name], name, name_key(name)) for name in names],
    )
    triple = connection.execute("SELECT coalesce(max(id), 0) FROM kg_triples").fetchone()[0] + 1
    chunk = connection.execute("SELECT coalesce(max(id), 0) FROM kg_chunks").fetchone()[0] + 1
    quotes = [f"{head} {relation} {tail}." for head, relation, tail in listed]
    connection.executemany(
        "INSERT INTO kg_triples(id, head, relation, tail, evidence) VALUES (?, ?, ?, ?, 1)",
        [(n, have[head], relation, have[tail]) for n, (head, relation, tail) in enumerate(listed, triple)],
    )
    connection.executemany(
        """INSERT INTO kg_chunks(id, document, seq, start, end, line, tokens, text, content_hash)
           VALUES (?, ?, ?, 0, ?, ?, 1, ?, '')""",
        [(chunk + n, document, n, len(quote), n + 1, quote) for n, quote in enumerate(quotes)],
    )
    connection.executemany(
        """INSERT INTO kg_evidence(kind, head, relation, tail, chunk, start, end, quote, origin, triple, head_entity,
           tail_entity) VALUES ('triple', ?, ?, ?, ?, 0, ?, ?, 'user', ?, ?, ?)""",
        [
            (head, relation, tail, chunk + n, len(quotes[n]), quotes[n], triple + n, have[head], have[tail])
            for n, (head, relation, tail) in enumerate(listed)
        ],
    )
    mentions = [
        (chunk + n, start, end, name_key(name), have[name])
        for n, (head, relation, tail) in enumerate(listed)
        for name, start, end in (
            (head, 0, len(head)),
            (tail, len(head) + len(relation) + 2, len(quotes[n]) - 1),
        )
    ]
    connection.executemany(
        "INSERT INTO kg_mentions(chunk, start, end, key, entity, origin) VALUES (?, ?, ?, ?, ?, 'user')", mentions
    )
    connection.execute("INSERT INTO kg_chunks_fts(kg_chunks_fts) VALUES ('rebuild')")
    recount_all(connection)
    connection.execute("COMMIT")


def id_of(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute("SELECT id FROM kg_entities WHERE name = ?", [name]).fetchone()[0])
