"""How a decision changes the schema, and how it is changed back; each within the transaction of the decision.

What a person has done to the schema since is never undone by the way: a type that was
removed or renamed by hand, or an alias that now means another type, stays as it is.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from typing import Any

from ..facts import schema_edit
from ..facts.template import Template, folded
from ..store import schema
from ..text.shortened import shortened

__all__ = ["Change", "ReviewError", "approve", "has_actor", "map_to", "take_back"]

ORIGIN = "proposal"


class ReviewError(ValueError):
    """A decision that cannot be taken; the message says why and what to do."""


def has_actor(actor: str) -> None:
    """Raise ReviewError for a change that nobody makes."""
    if not actor.strip():
        raise ReviewError("Say who decides: a change without an actor is not made.")


@dataclass(frozen=True, slots=True)
class Change:
    """What became of the schema: its version and the diff, None and empty if it is as it was."""

    version: int | None = None
    diff: dict[str, Any] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)  # what taking it back needs to know
    mapped: int | None = None  # row of the type that was mapped to
    remark: str = ""


def approve(connection: sqlite3.Connection, row: sqlite3.Row, actor: str, now: str, note: str) -> Change:
    """Put the type that was proposed into the schema."""
    kind, name, template = row["kind"], row["name"], schema.current(connection)
    if own := schema_edit.named(template, kind, name):
        detail = {"name": own.name, "existed": True}
        remark = f"The schema had this {_words(kind)} already."
        return Change(detail=detail, remark=remark)
    if other := schema_edit.find(template, kind, name):
        raise ReviewError(
            f"{name} means {other.name} in the schema by now. "
            f"Say so: llm graphrag proposals map {row['id']} {other.name}"
        )
    version, diff = _use(connection, schema_edit.add(template, kind, name, row["description"]), actor, now, note)
    return Change(version, diff, {"name": folded(name)})


def map_to(connection: sqlite3.Connection, row: sqlite3.Row, to: str, actor: str, now: str, note: str) -> Change:
    """Make the name that was proposed an alias of the type ``to``."""
    kind, name, template = row["kind"], row["name"], schema.current(connection)
    target = schema_edit.find(template, kind, to) if to else None
    if target is None:
        raise ReviewError(_no_target(connection, template, kind, to))
    known = schema.type_row(connection, kind, target.name)
    mapped = None if known is None else int(known["id"])
    detail = {"name": target.name, "alias": name}
    if schema_edit.has_alias(template, kind, target.name, name):
        remark = f"{name} meant {target.name} already."
        return Change(detail=detail | {"existed": True}, mapped=mapped, remark=remark)
    changed = schema_edit.add_alias(template, kind, target.name, name)
    version, diff = _use(connection, changed, actor, now, note or f"{_words(kind)} {name} means {target.name}")
    return Change(version, diff, detail, mapped)


def _no_target(connection: sqlite3.Connection, template: Template, kind: str, to: str) -> str:
    known = ", ".join(item.name for item in getattr(template, schema_edit.KINDS[kind])) or "none"
    if not to:
        return f"Say which {_words(kind)} it means. The schema has: {known}."
    row = schema.type_row(connection, kind, folded(to) or to)
    if row is not None and row["retired_in"] is not None:
        return (
            f"The {_words(kind)} {to} is retired since version {row['retired_in']} of the schema. "
            f"Bring it back first: llm graphrag schema add {kind} {to}"
        )
    return f"The schema has no {_words(kind)} {shortened(to)!r}. It has: {known}."


def take_back(
    connection: sqlite3.Connection, row: sqlite3.Row, decision: sqlite3.Row, actor: str, now: str, note: str
) -> Change:
    """Change the schema back to what it was before a decision, but for what a person has changed since."""
    detail = json.loads(decision["detail"])
    if "name" not in detail or detail.get("existed"):
        return Change()
    kind, template = row["kind"], schema.current(connection)
    if decision["action"] == "map":
        if not schema_edit.has_alias(template, kind, detail["name"], detail["alias"]):
            return Change(remark=f"{detail['alias']} did not mean {detail['name']} any more.")
        changed = schema_edit.remove_alias(template, kind, detail["name"], detail["alias"])
    elif schema.was_retired(connection, kind, detail["name"], decision["schema_version"]):
        return Change(remark=_renamed(connection, template, kind, detail["name"], decision["schema_version"]))
    else:
        changed = schema_edit.remove(template, kind, detail["name"])
    version, diff = _use(connection, changed, actor, now, note)
    return Change(version, diff)


def _renamed(connection: sqlite3.Connection, template: Template, kind: str, name: str, since: int) -> str:
    """What to say of a type that is no longer what was approved. Raises ReviewError if it lives on renamed."""
    if schema_edit.named(template, kind, name):
        return f"{name} was removed and added again since; it stays in the schema."
    other = schema_edit.find(template, kind, name)
    came = None if other is None else schema.type_row(connection, kind, other.name)
    if other is not None and came is not None and came["added_in"] > since:
        raise ReviewError(
            f"{name} was renamed to {other.name} since. Remove it first: llm graphrag schema remove {kind} {other.name}"
        )
    return f"{name} was removed from the schema before."


def _use(
    connection: sqlite3.Connection, template: Template, actor: str, now: str, note: str
) -> tuple[int | None, dict[str, Any]]:
    diff = schema.use(connection, template, actor, now, note, ORIGIN)
    return (schema.version(connection), diff) if any(diff.values()) else (None, {})


def _words(kind: str) -> str:
    return kind.replace("_", " ")
