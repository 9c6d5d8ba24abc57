"""A decision that somebody sends: what it is about, read strictly from a form or from JSON, and carried out.

Carrying out is one transaction of ``llm_graphrag.review``, which never asks a model: all
that was ordered is done and logged, or nothing is. What a person saw travels with the
order (the status of each item), so that nobody decides over what is no longer so.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm_graphrag import settings
from llm_graphrag.facts.template import TemplateError
from llm_graphrag.review import merges, proposals
from llm_graphrag.review.proposals import ReviewError, StaleError
from llm_graphrag.store.connection import KnowledgeBaseError, open_to_write, transaction

from .review_queries import status_of

ACTIONS = {
    "proposal": ("approve", "map", "reject", "postpone", "undo"),
    "merge": ("approve", "reject", "undo"),
}
MOST_ITEMS = 200
MOST_TEXT = 2_000  # characters of a note
WAIT_MS = 5_000  # for another program to end its transaction; Datasette's other writes wait meanwhile
_HIGHEST = "SELECT coalesce(max(id), 0) FROM kg_decisions"


class OrderError(ValueError):
    """What was sent is no decision; the message says why."""


@dataclass(frozen=True)
class Item:
    id: int
    seen: str | None  # the status that the person saw


@dataclass(frozen=True)
class Order:
    what: str  # proposal, merge
    action: str
    items: tuple[Item, ...]
    to: str = ""  # the type that a proposal is mapped to
    note: str = ""


@dataclass(frozen=True)
class Done:
    """What was done: the ids of its decisions in the log, facts more than before, replies that were read again."""

    first: int
    last: int
    facts: int
    replies: int
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """Why nothing was done: ``status`` for the reply, and the items that it is because of."""

    status: int
    message: str
    items: tuple[int, ...] = ()


def from_form(fields: Mapping[str, Sequence[str]]) -> Order:
    """Read the fields of a form: ``what``, ``action``, ``item`` (``ID:STATUS``, several), ``to``, ``note``."""
    items = []
    for written in fields.get("item", ()):
        number, _, seen = written.partition(":")
        items.append(Item(_number(number), seen or None))
    one = {name: fields[name][-1] for name in ("what", "action", "to", "note") if fields.get(name)}
    return _order(one.get("what", ""), one.get("action", ""), items, one.get("to", ""), one.get("note", ""))


def from_json(data: Any) -> Order:
    """Read an object like the fields of a form; ``items`` is a list of ids, or of ``{"id": …, "expected": …}``."""
    if not isinstance(data, dict):
        raise OrderError("Send a JSON object with what, action and items.")
    written = data.get("items")
    if not isinstance(written, list):
        raise OrderError("“items” has to be a list.")
    items = []
    for item in written:
        entry = item if isinstance(item, dict) else {"id": item}
        number, seen = entry.get("id"), entry.get("expected")
        if isinstance(number, bool) or not isinstance(number, int) or not (seen is None or isinstance(seen, str)):
            raise OrderError("Each of “items” has to be a number, or an object with “id” and “expected”.")
        items.append(Item(_number(str(number)), seen))
    texts = [data.get(name) or "" for name in ("what", "action", "to", "note")]
    if not all(isinstance(text, str) for text in texts):
        raise OrderError("“what”, “action”, “to” and “note” have to be texts.")
    what, action, to, note = texts
    return _order(what, action, items, to, note)


def _number(written: str) -> int:
    if not (written.isascii() and written.isdigit() and len(written) <= 18):
        raise OrderError(f"{written[:40]!r} is no number of a proposal or merge.")
    return int(written)


def _order(what: str, action: str, items: Sequence[Item], to: str, note: str) -> Order:
    if what not in ACTIONS:
        raise OrderError(f"“what” has to be one of {', '.join(ACTIONS)}.")
    if action not in ACTIONS[what]:
        raise OrderError(f"“action” has to be one of {', '.join(ACTIONS[what])} for a {what}.")
    unique = {item.id: item for item in items}
    if not unique:
        raise OrderError("Nothing was chosen: tick what it is to be done with.")
    if len(unique) > MOST_ITEMS:
        raise OrderError(f"At most {MOST_ITEMS} can be decided at once.")
    note = note.replace("\x00", " ").strip()
    if max(len(note), len(to)) > MOST_TEXT:
        raise OrderError(f"A note may have at most {MOST_TEXT:,} characters.")
    try:
        (note + to).encode("utf-8")
    except UnicodeEncodeError:
        raise OrderError("The note holds what is no character.") from None
    return Order(what, action, tuple(unique.values()), to.strip(), note)


def carry_out(path: Path, order: Order, actor: str) -> Done | Refused:
    """Do what was ordered, in one transaction of a connection of its own."""
    try:
        with closing(open_to_write(path)) as connection:
            connection.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
            with transaction(connection):
                return _done(connection, order, actor)
    except _ChangedError as changed:
        return changed.refused
    except StaleError as error:
        return Refused(409, str(error), tuple(item.id for item in order.items))
    except (ReviewError, TemplateError) as error:
        return Refused(400, str(error), tuple(item.id for item in order.items))
    except KnowledgeBaseError as error:  # its message has the path
        return Refused(503, f"The file cannot be written: {error.__cause__ or 'it is gone'}.")
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            return Refused(503, "Another program is writing to the file. Nothing was changed; try again in a moment.")
        return Refused(503, f"The file cannot be written: {error}. Nothing was changed.")


class _ChangedError(Exception):
    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


def _done(connection: sqlite3.Connection, order: Order, actor: str) -> Done:
    _as_seen(connection, order)
    before = connection.execute(_HIGHEST).fetchone()[0]
    take = _on_proposals if order.what == "proposal" else _on_merges
    facts, replies, remarks = take(connection, order, actor)
    return Done(before + 1, connection.execute(_HIGHEST).fetchone()[0], facts, replies, remarks)


def _as_seen(connection: sqlite3.Connection, order: Order) -> None:
    """Raise _ChangedError if an item is not there, or is not what the person saw."""
    now = {item.id: status_of(connection, order.what, item.id) for item in order.items}
    missing = [id_ for id_, status in now.items() if status is None]
    if missing:
        raise _ChangedError(Refused(404, f"There is no {order.what} {missing[0]}.", tuple(missing)))
    changed = tuple(item.id for item in order.items if item.seen is not None and now[item.id] != item.seen)
    if changed:
        several = f"{len(changed)} of these have" if len(changed) > 1 else "This has"
        raise _ChangedError(Refused(409, f"{several} changed since you looked. Nothing was decided.", changed))


def _on_proposals(connection: sqlite3.Connection, order: Order, actor: str) -> tuple[int, int, tuple[str, ...]]:
    values, ids = settings.load(connection), [item.id for item in order.items]
    if order.action == "undo":
        done = [proposals.undo(connection, values, id_, actor=actor, note=order.note) for id_ in ids]
        facts, replies = sum(item.facts for item in done), sum(item.replayed.windows for item in done)
    else:
        done = proposals.decide_all(
            connection, values, ids, order.action, actor=actor, to=order.to or None, note=order.note,
            expected={item.id: item.seen for item in order.items if item.seen is not None},
        )  # fmt: skip
        facts, replies = done[0].facts, done[0].replayed.windows
    return facts, replies, tuple(item.remark for item in done if item.remark)


def _on_merges(connection: sqlite3.Connection, order: Order, actor: str) -> tuple[int, int, tuple[str, ...]]:
    values = settings.load(connection)
    one = {"approve": merges.approve, "reject": merges.reject, "undo": merges.undo}[order.action]
    done = [one(connection, values, item.id, actor=actor, note=order.note, expected=item.seen) for item in order.items]
    return sum(item.facts for item in done), 0, ()
