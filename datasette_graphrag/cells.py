"""Cells of our tables on Datasette's own pages: ids become links to the pages of the graph.

Only addresses that need no look-up are used, so a page of a hundred rows costs no query:
an entity and a document have an address by number, a chunk leads to its place in the text.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .records import DocumentRef
from .urls import Links

if TYPE_CHECKING:
    from datasette.app import Datasette

# (table, column) → what the value is, or (what, the column that holds its id)
_IDS: dict[tuple[str, str], str] = {
    ("kg_documents", "entity"): "entity",
    ("kg_entities", "merged_into"): "entity",
    ("kg_aliases", "entity"): "entity",
    ("kg_mentions", "entity"): "entity",
    ("kg_mentions", "chunk"): "chunk",
    ("kg_triples", "head"): "entity",
    ("kg_triples", "tail"): "entity",
    ("kg_attributes", "entity"): "entity",
    ("kg_evidence", "head_entity"): "entity",
    ("kg_evidence", "tail_entity"): "entity",
    ("kg_evidence", "chunk"): "chunk",
    ("kg_sections", "document"): "document",
    ("kg_tags", "document"): "document",
    ("kg_chunks", "document"): "document",
    ("kg_proposal_evidence", "chunk"): "chunk",
    ("kg_citations", "chunk"): "chunk",
    ("kg_findings", "chunk"): "chunk",
    ("kg_findings", "object"): "document",
    ("kg_extraction_chunks", "chunk"): "chunk",
    ("kg_entity_facts", "entity"): "entity",
    ("kg_entity_facts", "other"): "entity",
    ("kg_document_entities", "document"): "document",
    ("kg_document_entities", "entity"): "entity",
    ("kg_document_entities", "first_chunk"): "chunk",
    ("kg_facts", "head_id"): "entity",
    ("kg_facts", "tail_id"): "entity",
}
_NAMED: dict[tuple[str, str], tuple[str, str]] = {
    ("kg_entities", "name"): ("entity", "id"),
    ("kg_documents", "title"): ("document", "id"),
    ("kg_facts", "head"): ("entity", "head_id"),
    ("kg_facts", "tail"): ("entity", "tail_id"),
}
_LABELS = {
    "entity": "SELECT name FROM kg_entities WHERE id = :id",
    "document": "SELECT title FROM kg_documents WHERE id = :id",
}
_VIEWS = frozenset({"kg_entity_facts", "kg_document_entities"})  # Datasette knows no labels for their ids


async def cell(datasette: Datasette, database: str, table: str | None, column: str, value: Any, row: Any) -> str | None:
    """The link for a cell, None to leave it to Datasette."""
    place = (table or "", column)
    if place in _IDS:
        number, label = (value.get("value"), value.get("label")) if isinstance(value, dict) else (value, None)
        if not isinstance(number, int):
            return None
        if not label and table in _VIEWS and _IDS[place] in _LABELS:
            label = await _label(datasette, database, _IDS[place], number)
        return _link(datasette, database, _IDS[place], number, label)
    if place in _NAMED and isinstance(value, str):
        what, id_column = _NAMED[place]
        try:
            number = row[id_column]
        except (KeyError, IndexError):
            return None
        return _link(datasette, database, what, number, value) if isinstance(number, int) else None
    if place in (("kg_facts", "uri"), ("kg_documents", "uri")) and isinstance(value, str) and value:
        return _anchor(Links(datasette, database).document(DocumentRef(_id(row), value, "")), value)
    return None


def _id(row: Any) -> int:
    try:
        return int(row["id"])
    except (KeyError, IndexError, TypeError, ValueError):
        return 0


async def _label(datasette: Datasette, database: str, what: str, number: int) -> str | None:
    try:
        row = (await datasette.get_database(database).execute(_LABELS[what], {"id": number})).first()
    except sqlite3.Error:
        return None
    return row[0] if row else None


def _link(datasette: Datasette, database: str, what: str, number: int, label: Any) -> str:
    links = Links(datasette, database)
    if what == "chunk":
        return _anchor(links.chunk(number), str(label or f"passage {number}"))
    url = links.entity_id(number) if what == "entity" else links.document_id(number)
    return _anchor(url, str(label or f"#{number}"))


def _anchor(url: str, text: str) -> str:
    return Markup('<a href="{}"><bdi>{}</bdi></a>').format(url, text if len(text) <= 200 else text[:199] + "…")
