"""The review pages: what models propose, entities that may be one, and the log of what was decided.

Reading changes nothing; a decision is a POST to the address of the page that it was taken on (decide.py), and ends
there again. Addresses are made of known parts only, so nothing that was sent decides where it ends.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import review_queries as queries
from ..page import Build, MissingError, Visit, serve
from ..review_records import Choice, Decision, ItemsPage, Merge, Proposal, ReviewPage

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.utils.asgi import Request

TABLES = (
    "kg_proposals", "kg_proposal_evidence", "kg_merges", "kg_decisions", "kg_types", "kg_entities", "kg_aliases",
    "kg_evidence", "kg_chunks", "kg_documents",
)  # fmt: skip
FIRST = {"proposals": "open", "merges": "suggested", "log": ""}  # what each tab shows unless a status is chosen
STATUSES = {"proposals": queries.PROPOSAL_STATUSES, "merges": queries.MERGE_STATUSES, "log": ()}
PER_PAGE = {"proposals": 10, "merges": 10, "log": 50}
PATIENCE = 4  # the time limit is meant for one query; a page of pairs asks a hundred
_RANGE = re.compile(r"(\d{1,18})-(\d{1,18})")


async def review(datasette: Datasette, request: Request) -> Response:
    """``/DB/-/graph/review`` and ``/DB/-/graph/review/proposal/ID``, ``/review/merge/ID``"""
    if request.method == "POST":
        from .decide import decide

        return await decide(datasette, request)
    build: Build = build_item if "id" in request.url_vars else build_list
    template = "review_items" if "id" in request.url_vars else "review"
    return await serve(
        datasette, request, template=template, tables=TABLES, build=build, patience=PATIENCE, reviews=True
    )


@dataclass(frozen=True)
class Filters:
    """What the address of a list says; anything unknown is the default."""

    showing: str
    status: str
    kind: str | None
    page: int

    @classmethod
    def of(cls, visit: Visit) -> Filters:
        showing = visit.args.get("show", "")
        showing = showing if showing in FIRST else "proposals"
        status, kind = visit.args.get("status", ""), visit.args.get("kind", "")
        return cls(
            showing,
            status if status in STATUSES[showing] else FIRST[showing],
            kind if showing == "proposals" and kind in queries.KINDS else None,
            visit.number("page", 1, least=1),
        )

    def args(self, **changed: Any) -> dict[str, Any]:
        """The arguments of the address, with some of them changed; what is the default is left out."""
        now = {"show": self.showing, "status": self.status, "kind": self.kind, "page": self.page, **changed}
        if now["status"] == FIRST[now["show"]]:
            now["status"] = None
        if now["show"] == "proposals":
            now["show"] = None
        if now["page"] == 1:
            now["page"] = None
        return now


def build_list(connection: sqlite3.Connection, visit: Visit) -> ReviewPage:
    queries.check(connection, visit.database)
    filters, numbers = Filters.of(visit), Numbers.of(connection)
    size, total = PER_PAGE[filters.showing], numbers.count(filters.showing, filters.status, filters.kind)
    pages = max(-(-total // size), 1)
    page = min(filters.page, pages)  # the last of a page may just have been decided on
    shown = _shown(connection, filters, size, (page - 1) * size)

    def href(**changed: Any) -> str:
        return visit.links.review(**filters.args(**changed))

    return ReviewPage(
        title="Review",
        json_url=visit.links.review(json=True, **filters.args(page=page)),
        here=href(page=page),
        showing=filters.showing,
        may_review=visit.may_review,
        tabs=_tabs(visit, filters, numbers),
        statuses=_statuses(visit, filters, numbers),
        kinds=_kinds(visit, filters, numbers),
        proposals=[item for item in shown if isinstance(item, Proposal)],
        merges=[item for item in shown if isinstance(item, Merge)],
        log=[item for item in shown if isinstance(item, Decision)],
        types=queries.types(connection),
        decided=_just_decided(connection, visit),
        left=queries.left_to_do(connection),
        total=total,
        page=page,
        pages=pages,
        previous_url=href(page=page - 1) if page > 1 else None,
        next_url=href(page=page + 1) if page < pages else None,
    )


def _shown(
    connection: sqlite3.Connection, filters: Filters, limit: int, offset: int
) -> Sequence[Proposal | Merge | Decision]:
    if filters.showing == "proposals":
        return queries.proposal_page(connection, filters.status, filters.kind, limit, offset)
    if filters.showing == "merges":
        return queries.merge_page(connection, filters.status, limit, offset)
    return queries.log_page(connection, limit, offset)


@dataclass(frozen=True)
class Numbers:
    """How many there are of everything that can be chosen."""

    proposals: dict[tuple[str, str], int]  # by status and kind
    merges: dict[str, int]  # by status
    decisions: int

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Numbers:
        return cls(
            queries.proposal_numbers(connection), queries.merge_numbers(connection), queries.decision_count(connection)
        )

    def count(self, showing: str, status: str, kind: str | None = None) -> int:
        if showing == "proposals":
            return sum(
                number for (own, of_kind), number in self.proposals.items() if own == status and kind in (None, of_kind)
            )
        return self.merges.get(status, 0) if showing == "merges" else self.decisions


def _tabs(visit: Visit, filters: Filters, numbers: Numbers) -> list[Choice]:
    found = []
    for tab, status in FIRST.items():
        href = visit.links.review(**filters.args(show=tab, status=status, kind=None, page=1))
        found.append(Choice(tab, numbers.count(tab, status), href, tab == filters.showing))
    return found


def _statuses(visit: Visit, filters: Filters, numbers: Numbers) -> list[Choice]:
    found = []
    for status in STATUSES[filters.showing]:
        href = visit.links.review(**filters.args(status=status, page=1))
        count = numbers.count(filters.showing, status, filters.kind)
        found.append(Choice(status, count, href, status == filters.status))
    return found


def _kinds(visit: Visit, filters: Filters, numbers: Numbers) -> list[Choice]:
    """The kinds of proposals; the one that is chosen leads back to all."""
    found = []
    for kind in queries.KINDS if filters.showing == "proposals" else ():
        chosen = kind == filters.kind
        href = visit.links.review(**filters.args(kind=None if chosen else kind, page=1))
        found.append(Choice(kind, numbers.count("proposals", filters.status, kind), href, chosen))
    return found


def _just_decided(connection: sqlite3.Connection, visit: Visit) -> list[Decision]:
    match = _RANGE.fullmatch(visit.args.get("done", ""))
    return queries.decided(connection, int(match[1]), int(match[2])) if match else []


def build_item(connection: sqlite3.Connection, visit: Visit) -> ItemsPage:
    what, number = visit.parts["what"], int(visit.parts["id"])
    return items_page(connection, visit, what, (number,))


def items_page(
    connection: sqlite3.Connection, visit: Visit, what: str, ids: tuple[int, ...], refused: str = ""
) -> ItemsPage:
    """Some proposals or merges, as they are now. Raises MissingError if there is none of these ids."""
    queries.check(connection, visit.database)
    proposals: list[Proposal] = []
    merges: list[Merge] = []
    for id_ in ids:
        if what == "proposal" and (proposal := queries.proposal(connection, id_)):
            proposals.append(proposal)
        if what == "merge" and (merge := queries.merge(connection, id_)):
            merges.append(merge)
    if not proposals and not merges:
        raise MissingError(refused or f"There is no {what} {ids[0]}. Nobody may have asked for it any more.")
    titles = [f"{p.kind.replace('_', ' ')} {p.name}" for p in proposals]
    titles += [f"{m.kept.name} = {m.merged.name}" for m in merges]
    return ItemsPage(
        title=titles[0] if len(titles) == 1 else f"{len(titles)} {what}s",
        json_url=visit.links.review_item(what, ids[0], json=True),
        here=here(visit),
        may_review=visit.may_review,
        refused=refused,
        proposals=proposals,
        merges=merges,
        types=queries.types(connection),
        decided=_just_decided(connection, visit),
        left=queries.left_to_do(connection),
    )


def here(visit: Visit, **more: Any) -> str:
    """The address of the page that is visited."""
    if "id" in visit.parts:
        return visit.links.review_item(visit.parts["what"], int(visit.parts["id"]), **more)
    return visit.links.review(**Filters.of(visit).args(), **more)
