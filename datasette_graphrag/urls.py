"""Where everything lives: a name becomes an address, and the address leads back to that very entity.

Names hold slashes, dots, percent signs and anything else, so they travel tilde-encoded
(Datasette's own encoding), which leaves no dot for ``.json`` to be confused with. A name
that several entities carry is told apart by ``?type=``; one whose address would be too
long for a browser goes by its number. Every address starts with Datasette's ``base_url``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from .records import CHUNKS_PER_PAGE, DocumentRef, Duplicate, EntityRef, Hit, Quote, Snippet
from .review_records import Decision, Merge, Place, Proposal, Side, Stated

if TYPE_CHECKING:
    from datasette.app import Datasette

MAX_ENCODED = 1000  # code points of an encoded name; servers and proxies take about 8,000 in all


@dataclass(frozen=True)
class Links:
    """Addresses of the pages of one database; each method gives a path that honours ``base_url``."""

    datasette: Datasette
    database: str

    def _path(self, rest: str = "", **args: Any) -> str:
        query = urlencode([(key, value) for key, value in args.items() if value is not None])
        return f"{self.datasette.urls.database(self.database)}/-/graph{rest}" + (f"?{query}" if query else "")

    def overview(self, json: bool = False) -> str:
        return self._path(".json" if json else "")

    def entity(self, entity: EntityRef, json: bool = False, **args: Any) -> str:
        """The page of an entity; exact for every name."""
        suffix = ".json" if json else ""
        encoded = _encode(entity.name)
        if not encoded or len(encoded) > MAX_ENCODED:
            return self._path(f"/entity-id/{entity.id}{suffix}", **args)
        if entity.shared:
            args = {"type": entity.type, **args}
        return self._path(f"/entity/{encoded}{suffix}", **args)

    def entity_id(self, number: int) -> str:
        return self._path(f"/entity-id/{number}")

    def document(self, document: DocumentRef, json: bool = False, **args: Any) -> str:
        """The page of a document."""
        suffix = ".json" if json else ""
        encoded = _encode(document.uri)
        if not encoded or len(encoded) > MAX_ENCODED:
            return self._path(f"/document-id/{document.id}{suffix}", **args)
        return self._path(f"/document/{encoded}{suffix}", **args)

    def document_id(self, number: int) -> str:
        return self._path(f"/document-id/{number}")

    def chunk(self, number: int) -> str:
        """Leads to the chunk within the page of its document."""
        return self._path(f"/chunk/{number}")

    def passage(self, document: DocumentRef, seq: int, anchor: str = "", **args: Any) -> str:
        """A place in a document: the page of its text that holds chunk ``seq``, at the anchor."""
        page = page_of(seq)
        return self.document(document, page=page if page > 1 else None, **args) + f"#{anchor or f'chunk-{seq}'}"

    def quote(self, quote: Quote) -> str:
        """The sentence itself, highlighted."""
        return self.passage(quote.document, quote.seq, f"evidence-{quote.evidence}", evidence=quote.evidence)

    def search(self, q: str | None = None, json: bool = False, **args: Any) -> str:
        return self._path("/search" + (".json" if json else ""), q=q, **args)

    def paths(self, args: Mapping[str, str], json: bool = False) -> str:
        """The path page; the arguments (``from``, ``to`` …) are what is asked of it."""
        return self._path("/path" + (".json" if json else ""), **args)

    def names(self) -> str:
        """Where fields for names are completed from."""
        return self._path("/names.json")

    def review(self, json: bool = False, **args: Any) -> str:
        """The review page, by its filters."""
        return self._path("/review" + (".json" if json else ""), **args)

    def review_item(self, what: str, number: int, json: bool = False, **args: Any) -> str:
        """A proposal or merge by itself; ``what`` says which of the two."""
        return self._path(f"/review/{what}/{number}" + (".json" if json else ""), **args)

    def rows(self, table: str, **filters: Any) -> str:
        """Datasette's own page of a table, filtered."""
        query = urlencode(filters)
        return str(self.datasette.urls.table(self.database, table)) + (f"?{query}" if query else "")

    def of(self, thing: object) -> str | None:
        """The address of a record, None if it has none."""
        if isinstance(thing, EntityRef):
            return self.entity(thing)
        if isinstance(thing, DocumentRef):
            return self.document(thing)
        if isinstance(thing, Quote):
            return self.quote(thing)
        if isinstance(thing, Snippet):
            return self.passage(thing.document, thing.seq)
        if isinstance(thing, Proposal | Merge):
            return self.review_item(type(thing).__name__.lower(), thing.id)
        if isinstance(thing, Duplicate):
            return self.review_item("merge", thing.merge)
        if isinstance(thing, Decision):
            return self.review_item(thing.what, thing.item)
        if isinstance(thing, Stated | Side):
            number = thing.id if isinstance(thing, Side) else thing.other_id
            return None if number is None else self.entity_id(number)
        return self.chunk(thing.chunk) if isinstance(thing, Hit | Place) else None


def page_of(seq: int) -> int:
    """The page of a document's text, from 1, that holds chunk ``seq``."""
    return max(seq, 0) // CHUNKS_PER_PAGE + 1


def _encode(name: str) -> str:
    from datasette.utils import tilde_encode

    return str(tilde_encode(name))
