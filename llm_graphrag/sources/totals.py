"""How much of everything a file holds."""

from __future__ import annotations

import sqlite3

TOTALS = {
    "documents": "SELECT count(*) FROM kg_documents",
    "chunks": "SELECT count(*) FROM kg_chunks",
    "entities": "SELECT count(*) FROM kg_entities WHERE merged_into IS NULL",
    "triples": "SELECT count(*) FROM kg_triples",
    "attributes": "SELECT count(*) FROM kg_attributes",
    "evidence": "SELECT count(*) FROM kg_evidence",
    "mentions": "SELECT count(*) FROM kg_mentions",
    "links": "SELECT count(*) FROM kg_evidence WHERE link_key IS NOT NULL",
    "tags": "SELECT count(DISTINCT tag) FROM kg_tags",
}


def totals(connection: sqlite3.Connection) -> dict[str, int]:
    """How much of everything the file holds."""
    return {name: int(connection.execute(statement).fetchone()[0]) for name, statement in TOTALS.items()}
