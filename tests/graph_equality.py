"""Two knowledge bases hold the same graph if they agree on natural keys."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from llm_graphrag.knowledge_base import KnowledgeBase

ENTITY = "(SELECT key || char(1) || type FROM kg_entities e WHERE e.id = {})"


def graph_of(kb: KnowledgeBase) -> dict[str, set[tuple[Any, ...]]]:
    """Entities, all their names, triples and attributes, by key and type."""
    statements = {
        "entities": "SELECT key, type FROM kg_entities WHERE merged_into IS NULL",
        "names": """SELECT r.key, r.type, a.name FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity
                    JOIN kg_entities r ON r.id = coalesce(e.merged_into, e.id)""",
        "triples": f"SELECT {ENTITY.format('t.head')}, relation, {ENTITY.format('t.tail')} FROM kg_triples t",
        "attributes": f"SELECT {ENTITY.format('a.entity')}, attribute, value FROM kg_attributes a",
    }
    return {name: {tuple(row) for row in kb.connection.execute(sql)} for name, sql in statements.items()}


class Fresh:
    """Empty knowledge bases in memory, copied from one that was made once."""

    def __init__(self) -> None:
        self._empty = KnowledgeBase.in_memory().connection

    def __call__(self) -> KnowledgeBase:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.row_factory = sqlite3.Row
        self._empty.backup(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        return KnowledgeBase(connection, Path(":memory:"), False)
