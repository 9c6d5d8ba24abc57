"""The document page: the text as it was read, with what it states and whom it names marked in place."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from llm_graphrag.store.imported import DOCUMENT as IMPORTED

from .. import document_queries
from ..document_queries import Document, Heading, Passage
from ..page import MissingError, MovedError, Visit, serve
from ..urls import page_of

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.utils.asgi import Request

TABLES = ("kg_documents", "kg_chunks", "kg_evidence", "kg_mentions", "kg_entities")


@dataclass(frozen=True)
class DocumentPage:
    title: str
    json_url: str
    document: Document
    headings: list[Heading]
    passages: list[Passage]
    page: int
    pages: int
    chosen: int | None  # the evidence to point out
    reading: bool

    @property
    def is_read(self) -> bool:
        """Whether there is a text to read: rows of a graph that was imported are none."""
        return self.document.kind != IMPORTED

    @property
    def chosen_passage(self) -> int | None:
        """The chunk that holds the chosen evidence."""
        holders = [p.id for p in self.passages if any(s.evidence == self.chosen for s in p.statements)]
        return holders[0] if holders else None

    @property
    def text(self) -> str:
        """The text of this page, in one piece."""
        return "".join(passage.text for passage in self.passages)


async def document(datasette: Datasette, request: Request) -> Response:
    """``/DB/-/graph/document/URI`` and ``/DB/-/graph/document-id/ID``"""
    return await serve(datasette, request, template="document", tables=TABLES, build=build)


async def chunk(datasette: Datasette, request: Request) -> Response:
    """``/DB/-/graph/chunk/ID``: leads to the chunk within its document."""
    return await serve(datasette, request, template="document", tables=TABLES, build=go_to_chunk)


def build(connection: sqlite3.Connection, visit: Visit) -> DocumentPage:
    found = _find(connection, visit)
    pages = page_of(found.last_seq)
    page = min(visit.number("page", 1, least=1), pages)
    chosen = visit.number("evidence") or None
    reading = visit.args.get("view") == "reading" and found.kind != IMPORTED
    return DocumentPage(
        title=found.ref.title or found.ref.uri,
        json_url=visit.links.document(found.ref, json=True, page=page if page > 1 else None),
        document=found,
        headings=document_queries.headings(connection, found.ref.id),
        passages=document_queries.passages(connection, found.ref.id, page),
        page=page,
        pages=pages,
        chosen=chosen,
        reading=reading,
    )


def _find(connection: sqlite3.Connection, visit: Visit) -> Document:
    from datasette.utils import tilde_decode

    if "id" in visit.parts:
        found = document_queries.document(connection, number=int(visit.parts["id"]))
        if found is None:
            raise MissingError(f"There is no document number {visit.parts['id']}.")
        return found
    uri = tilde_decode(visit.parts["name"])
    found = document_queries.document(connection, uri=uri)
    if found is None and "%" in uri:  # typed by hand, so encoded by the browser
        found = document_queries.document(connection, uri=unquote(uri))
        if found is not None:
            raise MovedError(visit.links.document(found.ref, json=visit.json))
    if found is None:
        near = document_queries.near_documents(connection, uri)
        raise MissingError(f"There is no document “{uri[:200]}”.", tuple(near))
    return found


def go_to_chunk(connection: sqlite3.Connection, visit: Visit) -> DocumentPage:
    place = document_queries.place_of_chunk(connection, int(visit.parts["id"]))
    if place is None:
        raise MissingError(f"There is no passage number {visit.parts['id']}: its document may have been changed.")
    raise MovedError(visit.links.passage(*place))
