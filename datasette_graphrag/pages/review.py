"""The review pages: what models propose, entities that may be one, and the log of what was decided.

Reading changes nothing; a decision is a POST to the address of the page that it was taken on (decide.py), and ends
there again. Addresses are made of known parts only, so nothing that was sent decides where it ends.
"""

from __future__ import annotations

import re
import sqlite3
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
TABS = ("proposals", "merges", "log")
FIRST = {"proposals": "open", "merges": "suggested", "log": ""}  # what a tab shows unless a status is chosen
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
        showing = showing if showing in TABS else TABS[0]
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
        if now["show"] == TABS[0]:
            now["show"] = None
        if now["page"] == 1:
            now["page"] = None
        return now


def build_list(connection: sqlite3.Connection, visit: Visit) -> ReviewPage:
    queries.check(connection, visit.database)
    filters = Filters.of(visit)
    by_kind = queries.proposal_numbers(connection)
    merges = queries.merge_numbers(connection)
    numbers = {
        "proposals": {status: sum(n for (own, _), n in by_kind.items() if own == status) for status, _ in by_kind},
        "merges": merges,
        "log": {"": queries.decision_count(connection)},
    }
    total = numbers[filters.showing].get(filters.status, 0)
    if filters.kind is not None:
        total = by_kind.get((filters.status, filters.kind), 0)
    size = PER_PAGE[filters.showing]
    pages = max(-(-total // size), 1)
    page = min(filters.page, pages)  # the last of a page may just have been decided on
    offset = (page - 1) * size

    def href(**changed: Any) -> str:
        return visit.links.review(**filters.args(**changed))

    def choices(values: tuple[str, ...], counts: dict[str, int]) -> list[Choice]:
        return [Choice(v, counts.get(v, 0), href(status=v, page=1), v == filters.status) for v in values]

    kinds = [
        Choice(
            kind, by_kind.get((filters.status, kind), 0),
            href(kind=None if kind == filters.kind else kind, page=1), kind == filters.kind,
        )
        for kind in queries.KINDS
    ]  # fmt: skip
    return ReviewPage(
        title="Review",
        json_url=visit.links.review(json=True, **filters.args(page=page)),
        here=href(page=page),
        showing=filters.showing,
        may_review=visit.may_review,
        tabs=[
            Choice(
                tab, numbers[tab].get(FIRST[tab], 0), href(show=tab, status=FIRST[tab], kind=None, page=1),
                tab == filters.showing,
            )
            for tab in TABS
        ],
        statuses=choices(STATUSES[filters.showing], numbers[filters.showing]),
        kinds=kinds if filters.showing == "proposals" else [],
        proposals=queries.proposal_page(connection, filters.status, filters.kind, size, offset)
        if filters.showing == "proposals"
        else [],
        merges=queries.merge_page(connection, filters.status, size, offset) if filters.showing == "merges" else [],
        log=queries.log_page(connection, size, offset) if filters.showing == "log" else [],
        types=queries.types(connection),
        decided=_just_decided(connection, visit),
        left=queries.left_to_do(connection),
        total=total,
        page=page,
        pages=pages,
        previous_url=href(page=page - 1) if page > 1 else None,
        next_url=href(page=page + 1) if page < pages else None,
    )  # fmt: skip


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
