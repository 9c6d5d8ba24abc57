"""The schema of a knowledge base: a version a change, types as rows, retired but never deleted.

A fresh file has no schema: version 0, under which a note's keys keep their own
names. ``use`` makes the first version from a template; a later ``use`` is a new
version whose diff says what came and what was retired. Each version is kept whole, as
TOML, beside its diff: the last one is the schema in force, and each can be had again.
``kg_types`` holds the same in rows, for SQL.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..facts.schema_edit import is_target
from ..facts.template import AttributeType, EntityType, Relation, Template, TemplateError
from ..facts.template_file import read_template, to_toml
from .connection import transaction
from .settings import get_setting, put_setting

FRONTMATTER = "schema.frontmatter"
TOML = "toml"  # key of a version's diff under which it is kept whole
UNNAMED = "own"  # name of a schema that has none, which would read as if there were no schema

#: What keys mean before any template is chosen: only what every vault agrees on.
NO_SCHEMA = Template(name="", title="No schema", frontmatter={"type": "type", "alias": "alias", "tag": "tag"})


@dataclass(frozen=True, slots=True)
class Version:
    """A schema as it was. ``doubts`` say what is not known for sure; none unless it is of an early file."""

    number: int
    template: Template
    doubts: tuple[str, ...] = ()


def version(connection: sqlite3.Connection) -> int:
    """The current schema version; 0 if no template was ever used."""
    return int(connection.execute("SELECT coalesce(max(version), 0) FROM kg_schema_versions").fetchone()[0])


def current(connection: sqlite3.Connection) -> Template:
    """The schema in force, as a template."""
    row = connection.execute("SELECT * FROM kg_schema_versions ORDER BY version DESC LIMIT 1").fetchone()
    return NO_SCHEMA if row is None else _kept(row) or _of_rows(connection, row["template"])


def versions(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    """All versions, newest first."""
    return connection.execute("SELECT * FROM kg_schema_versions ORDER BY version DESC").fetchall()


def at(connection: sqlite3.Connection, number: int) -> Version:
    """A version of the schema. Raises TemplateError if there is none of this number."""
    rows = {row["version"]: row for row in versions(connection)}
    if number not in rows:
        known = f"1 to {max(rows)}" if rows else "none"
        raise TemplateError(f"There is no version {number} of the schema. There are: {known}.")
    kept = _kept(rows[number])
    return Version(number, kept) if kept else _derived(connection, number, rows)


def types(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    """The types of the schema in force as rows, the oldest first."""
    return connection.execute("SELECT * FROM kg_types WHERE retired_in IS NULL ORDER BY id").fetchall()


def type_row(connection: sqlite3.Connection, kind: str, name: str) -> sqlite3.Row | None:
    """A type, of the schema in force or retired; None if there never was one of this name."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM kg_types WHERE kind = ? AND name = ?", [kind, name]
    ).fetchone()
    return row


def changed_since(connection: sqlite3.Connection, number: int) -> set[tuple[str, str]]:
    """(kind, name) of all types that came, changed or were retired after a version."""
    later = connection.execute("SELECT diff FROM kg_schema_versions WHERE version > ?", [number])
    diffs = [json.loads(row[0]) for row in later]
    return {
        (kind, name) for diff in diffs for key in ("added", "retired", "changed") for kind, name in diff.get(key, ())
    }


def was_retired(connection: sqlite3.Connection, kind: str, name: str, since: int) -> bool:
    """Whether a version after ``since`` has retired a type, even if a later one took it up again."""
    later = connection.execute("SELECT diff FROM kg_schema_versions WHERE version > ?", [since])
    return any([kind, name] in json.loads(row[0]).get("retired", ()) for row in later)


def _kept(row: sqlite3.Row) -> Template | None:
    text = json.loads(row["diff"]).get(TOML)
    return None if text is None else _read(text)


@lru_cache(maxsize=16)
def _read(text: str) -> Template:
    return read_template(text, "The schema")


def _of_rows(connection: sqlite3.Connection, name: str) -> Template:
    return _template(name, types(connection), get_setting(connection, FRONTMATTER, {}))


def _derived(connection: sqlite3.Connection, number: int, rows: dict[int, sqlite3.Row]) -> Version:
    """A version that was not kept whole: which types it had is known from the diffs, what they were from today's."""
    names: set[tuple[str, str]] = set()
    for n in range(1, number + 1):
        diff = json.loads(rows[n]["diff"]) if n in rows else {}
        names |= {(kind, name) for kind, name in diff.get("added", ())}
        names -= {(kind, name) for kind, name in diff.get("retired", ())}
    later = [json.loads(rows[n]["diff"]) for n in rows if n > number]
    changed = sorted({name for diff in later for kind, name in diff.get("changed", ()) if (kind, name) in names})
    doubts = [f"Version {number} was not kept whole: its title and description are not known."]
    doubts += [f"These have changed since and are shown as they are today: {', '.join(changed)}."] if changed else []
    if any(diff.get("frontmatter") for diff in later):
        doubts.append("What keys of notes meant has changed since and is shown as it is today.")
    found = connection.execute("SELECT * FROM kg_types ORDER BY id").fetchall()
    template = _template(
        rows[number]["template"],
        [row for row in found if (row["kind"], row["name"]) in names],
        get_setting(connection, FRONTMATTER, {}),
    )
    return Version(number, _fitting(template), tuple(doubts))


def _fitting(template: Template) -> Template:
    """Without references to types that the template does not have."""
    types = {item.name for item in template.entity_types}

    def kept(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if name in types)

    return replace(
        template,
        relations=tuple(replace(r, domain=kept(r.domain), range=kept(r.range)) for r in template.relations),
        attributes=tuple(replace(a, domain=kept(a.domain)) for a in template.attributes),
        frontmatter={key: value for key, value in template.frontmatter.items() if is_target(template, value)},
    )


def use(
    connection: sqlite3.Connection, template: Template, actor: str, now: str, note: str = "", origin: str = "template"
) -> dict[str, Any]:
    """Make ``template`` the schema; returns the diff. Nothing is written if it is the schema already.

    ``origin`` says where types come from that the schema did not have: template, user, proposal. Raises TemplateError
    if the template could not be read back from a file.
    """
    template = read_template(to_toml(template if template.name else replace(template, name=UNNAMED)), "The schema")
    with transaction(connection):
        before, number = current(connection), version(connection) + 1
        have = {(row["kind"], row["name"]): row for row in types(connection)}
        diff = _diff(before, template, have)
        if not any(diff.values()) and number > 1:
            return diff
        kept = diff | {TOML: to_toml(template)}
        connection.execute(
            "INSERT INTO kg_schema_versions(version, template, actor, at, note, diff) VALUES (?, ?, ?, ?, ?, ?)",
            [number, template.name, actor, now, note, json.dumps(kept, ensure_ascii=False)],
        )
        for key in have.keys() - {(kind, item.name) for kind, item in _items(template)}:
            connection.execute("UPDATE kg_types SET retired_in = ? WHERE id = ?", [number, have[key]["id"]])
        for kind, item in _items(template):
            _put(connection, kind, item, number, origin)
        put_setting(connection, FRONTMATTER, template.frontmatter)
    return diff


def _diff(before: Template, after: Template, have: dict[tuple[str, str], sqlite3.Row]) -> dict[str, Any]:
    """What came, what went, what is another; ``about`` is name, title, description and the order of the lists."""
    wanted = {(kind, item.name): item for kind, item in _items(after)}
    changed = [key for key in wanted.keys() & have.keys() if _columns(wanted[key]) != _stored_columns(have[key])]
    return {
        "added": sorted(map(list, wanted.keys() - have.keys())),
        "retired": sorted(map(list, have.keys() - wanted.keys())),
        "changed": sorted(map(list, changed)),
        "frontmatter": after.frontmatter != before.frontmatter,
        "about": bool(have) and (_about(before) != _about(after) or _order(before, after) != _order(after, before)),
    }


def _about(template: Template) -> tuple[str, str, str]:
    return template.name, template.title, template.description


def _order(template: Template, other: Template) -> list[tuple[str, str]]:
    """The types that both have, in the order of the first."""
    shared = {(kind, item.name) for kind, item in _items(other)}
    return [(kind, item.name) for kind, item in _items(template) if (kind, item.name) in shared]


def _items(template: Template) -> list[tuple[str, EntityType | Relation | AttributeType]]:
    return [
        *(("entity_type", item) for item in template.entity_types),
        *(("relation", item) for item in template.relations),
        *(("attribute", item) for item in template.attributes),
    ]


def _columns(item: EntityType | Relation | AttributeType) -> dict[str, Any]:
    """The columns of ``kg_types`` that a type of the schema fills."""
    columns: dict[str, Any] = {
        "description": item.description, "aliases": list(item.aliases), "domain": [], "range": [],
        "list": 0, "symmetric": 0, "inverse": None, "value_kind": None,
    }  # fmt: skip
    if isinstance(item, Relation):
        columns |= {
            "domain": list(item.domain), "range": list(item.range), "list": int(item.is_list),
            "symmetric": int(item.symmetric), "inverse": item.inverse,
        }  # fmt: skip
    if isinstance(item, AttributeType):
        columns |= {"domain": list(item.domain), "list": int(item.is_list), "value_kind": item.kind}
    return columns


def _stored_columns(row: sqlite3.Row) -> dict[str, Any]:
    lists = {key: json.loads(row[key]) for key in ("aliases", "domain", "range")}
    return lists | {key: row[key] for key in ("description", "list", "symmetric", "inverse", "value_kind")}


def _put(
    connection: sqlite3.Connection, kind: str, item: EntityType | Relation | AttributeType, number: int, origin: str
) -> None:
    columns = {key: json.dumps(value) if isinstance(value, list) else value for key, value in _columns(item).items()}
    connection.execute(
        """INSERT INTO kg_types(kind, name, description, aliases, domain, range, list, symmetric, inverse, value_kind,
             origin, added_in)
           VALUES (:kind, :name, :description, :aliases, :domain, :range, :list, :symmetric, :inverse, :value_kind,
             :origin, :number)
           ON CONFLICT(kind, name) DO UPDATE SET description = excluded.description, aliases = excluded.aliases,
             domain = excluded.domain, range = excluded.range, list = excluded.list, symmetric = excluded.symmetric,
             inverse = excluded.inverse, value_kind = excluded.value_kind, retired_in = NULL""",
        {"kind": kind, "name": item.name, "number": number, "origin": origin, **columns},
    )


def _template(name: str, rows: list[sqlite3.Row], frontmatter: dict[str, str]) -> Template:
    return Template(
        name=name,
        entity_types=tuple(_entity_type(row) for row in rows if row["kind"] == "entity_type"),
        relations=tuple(_relation(row) for row in rows if row["kind"] == "relation"),
        attributes=tuple(_attribute(row) for row in rows if row["kind"] == "attribute"),
        frontmatter=frontmatter,
    )


def _entity_type(row: sqlite3.Row) -> EntityType:
    return EntityType(row["name"], row["description"], tuple(json.loads(row["aliases"])))


def _relation(row: sqlite3.Row) -> Relation:
    return Relation(
        row["name"], row["description"], tuple(json.loads(row["aliases"])), tuple(json.loads(row["domain"])),
        tuple(json.loads(row["range"])), bool(row["symmetric"]), row["inverse"], bool(row["list"]),
    )  # fmt: skip


def _attribute(row: sqlite3.Row) -> AttributeType:
    return AttributeType(
        row["name"], row["description"], tuple(json.loads(row["aliases"])), tuple(json.loads(row["domain"])),
        row["value_kind"] or "text", bool(row["list"]),
    )  # fmt: skip
