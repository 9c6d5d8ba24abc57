"""A decision that is sent to a review page: who may, where it comes from, and what is answered.

HTML forms end, once decided, on the page they came from. JSON is for programs: it has to bring a token, since a
browser would send cookies along from anywhere.
"""

from __future__ import annotations

import json
import re
import sqlite3
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from .. import compat, orders
from .. import review_queries as queries
from ..orders import Done, Order, OrderError, Refused
from ..page import Problem, Visit, arrive, redirect, respond, run, show
from .review import TABLES, here, items_page

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette
    from datasette.database import Database
    from datasette.utils.asgi import Request

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
MOST_FIELDS = 1_000
_ANCHOR = re.compile(r"(?:proposal|merge)-\d{1,18}")


async def decide(datasette: Datasette, request: Request) -> Response:
    """Answer a POST."""
    arrived = await arrive(datasette, request, TABLES, reviews=True)
    if not isinstance(arrived, tuple):
        return arrived
    database, visit = arrived
    sent = await read(datasette, request, database, visit)
    unusable = None if isinstance(sent, Problem) else (await run(datasette, database, visit, _check))[0]
    if isinstance(sent, Problem) or unusable is not None:
        return await respond(datasette, request, database, unusable or sent, "error", visit.json)
    order, anchor = sent
    work = partial(orders.carry_out, Path(str(database.path)), order, compat.name_of(request.actor))
    outcome = await compat.in_write_queue(datasette, database, work)
    if isinstance(outcome, Refused):
        return await _refused(datasette, request, database, visit, order, outcome)
    if visit.json:
        return await _as_json(datasette, request, database, visit, outcome)
    if message := _in_words(outcome):
        datasette.add_message(request, message)
    return redirect(here(visit, done=f"{outcome.first}-{outcome.last}") + (f"#{anchor}" if anchor else ""), 303)


def _check(connection: sqlite3.Connection, visit: Visit) -> None:
    queries.check(connection, visit.database)


def _why_not(request: Request, database: Database) -> str:
    if not compat.can_change(database):
        return "This database cannot be changed here: it is immutable, or its file may not be written to."
    if not compat.name_of(request.actor):
        return "Sign in to decide: every decision is logged with the id of who takes it."
    return f"You may look, but not decide here: that takes the permission {compat.REVIEW}."


async def read(datasette: Datasette, request: Request, database: Database, visit: Visit) -> tuple[Order, str] | Problem:
    """The order that was sent, and where on the page to go on; or why it is not taken."""
    if not visit.may_review:
        return Problem(403, "Not allowed", _why_not(request, database))
    kind = str(request.headers.get("content-type", "")).partition(";")[0].strip().lower()
    if kind != (JSON if visit.json else FORM):
        wanted = f"JSON ({JSON})" if visit.json else f"a form ({FORM}), or JSON to the address that ends in .json"
        return Problem(400, "Not understood", f"Send {wanted}.")
    if visit.json and not compat.has_token(request):
        message = "Send a token (Authorization: Bearer …) and no cookie; from a browser, send the form."
        return Problem(403, "Not allowed", message)
    body = await request.post_body()
    try:
        if visit.json:
            return orders.from_json(json.loads(body)), ""
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        if not compat.is_our_form(datasette, request, fields.get("csrftoken", [""])[0]):
            message = "The form does not come from a page of this site, or is too old. Load the page again."
            return Problem(403, "Not allowed", message)
        anchor = fields.get("next", [""])[0]
        return orders.from_form(fields), anchor if _ANCHOR.fullmatch(anchor) else ""
    except OrderError as error:
        return Problem(400, "Not understood", str(error))
    except (ValueError, RecursionError):
        return Problem(400, "Not understood", "What was sent cannot be read.")


async def _refused(
    datasette: Datasette, request: Request, database: Database, visit: Visit, order: Order, refused: Refused
) -> Response:
    """Why nothing was decided, and, where there is something to look at, how things stand now."""
    if refused.status in (400, 409) and refused.items:

        def build(connection: sqlite3.Connection, visit: Visit) -> Any:
            return items_page(connection, visit, order.what, refused.items, refused.message)

        if visit.json:
            record, _ = await run(datasette, database, visit, build)
            now = {} if isinstance(record, Problem) else {"proposals": record.proposals, "merges": record.merges}
            answer = {"ok": False, "error": refused.message, "title": "Not decided", **now}
            return await respond(datasette, request, database, answer, "", True, status=refused.status)
        return await show(
            datasette, request, database, visit, template="review_items", build=build, status=refused.status
        )
    title = "Not found" if refused.status == 404 else "Not decided"
    problem = Problem(refused.status, title, refused.message)
    return await respond(datasette, request, database, problem, "error", visit.json)


async def _as_json(datasette: Datasette, request: Request, database: Database, visit: Visit, done: Done) -> Response:
    def build(connection: sqlite3.Connection, visit: Visit) -> dict[str, Any]:
        return {
            "ok": True,
            "decided": queries.decided(connection, done.first, done.last, orders.MOST_ITEMS),
            "facts": done.facts,
            "replies": done.replies,
            "remarks": done.remarks,
            "left": queries.left_to_do(connection),
        }

    record, _ = await run(datasette, database, visit, build)
    return await respond(datasette, request, database, record, "", True)


def _in_words(done: Done) -> str:
    """What a decision has led to beyond itself, "" if nothing."""
    said = list(done.remarks)
    many = f"{abs(done.facts):,} {'fact' if abs(done.facts) == 1 else 'facts'}"
    change = f"{many} {'more' if done.facts > 0 else 'fewer'}" if done.facts else "as many facts as before"
    if done.replies:
        replies = "1 kept reply" if done.replies == 1 else f"{done.replies:,} kept replies"
        said.append(f"{replies} of models read again, free: {change}.")
    elif done.facts:
        said.append(f"{change[:1].upper()}{change[1:]}.")
    return " ".join(said)
