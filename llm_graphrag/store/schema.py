"""The schema of a knowledge base: types as rows, a version a change, retired but never deleted.

A fresh file has no schema: version 0, under which a note's keys keep their own
names. ``use`` makes the first version from a template; a later ``use`` is a new
version whose diff says what came and what was retired.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from ..facts.template import AttributeType, EntityType, Relation, Template
from .connection import transaction
from .settings import get_setting, put_setting

FRONTMATTER = "schema.frontmatter"

#: What keys mean before any template is chosen: only what every vault agrees on.
NO_SCHEMA = Template(name="", title="No schema", frontmatter={"type": "type", "alias": "alias", "tag": "tag"})


def version(connection: sqlite3.Connection) -> int:
    """The current schema version; 0 if no template was ever used."""
    return int(connection.execute("SELECT coalesce(max(version), 0) FROM kg_schema_versions").fetchone()[0])


def current(connection: sqlite3.Connection) -> Template:
    """The schema in force, as a template."""
    row = connection.execute("SELECT template FROM kg_schema_versions ORDER BY version DESC LIMIT 1").fetchone()
    if row is None:
        return NO_SCHEMA
    rows = connection.execute("SELECT * FROM kg_types WHERE retired_in IS NULL ORDER BY id").fetchall()
    return Template(
        name=row[0],
        entity_types=tuple(_entity_type(row) for row in rows if row["kind"] == "entity_type"),
        relations=tuple(_relation(row) for row in rows if row["kind"] == "relation"),
        attributes=tuple(_attribute(row) for row in rows if row["kind"] == "attribute"),
        frontmatter=get_setting(connection, FRONTMATTER, {}),
    )


def versions(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    """All versions, newest first."""
    return connection.execute("SELECT * FROM kg_schema_versions ORDER BY version DESC").fetchall()


def use(
    connection: sqlite3.Connection, template: Template, actor: str, now: str, note: str = "", origin: str = "template"
) -> dict[str, Any]:
    """Make ``template`` the schema; returns the diff. Nothing is written if it is the schema already.

    ``origin`` says where types come from that the schema did not have: template, user, proposal.
    """
    wanted = {(kind, item.name): item for kind, item in _items(template)}
    rows = connection.execute("SELECT * FROM kg_types WHERE retired_in IS NULL").fetchall()
    have = {(row["kind"], row["name"]): row for row in rows}
    changed = [key for key in wanted.keys() & have.keys() if _columns(wanted[key]) != _stored_columns(have[key])]
    diff = {
        "added": sorted(map(list, wanted.keys() - have.keys())),
        "retired": sorted(map(list, have.keys() - wanted.keys())),
        "changed": sorted(map(list, changed)),
        "frontmatter": template.frontmatter != get_setting(connection, FRONTMATTER, {}),
    }
    if not any(diff.values()) and version(connection):
        return diff
    with transaction(connection):
        number = version(connection) + 1
        connection.execute(
            "INSERT INTO kg_schema_versions(version, template, actor, at, note, diff) VALUES (?, ?, ?, ?, ?, ?)",
            [number, template.name, actor, now, note, json.dumps(diff, ensure_ascii=False)],
        )
        for key in have.keys() - wanted.keys():
            connection.execute("UPDATE kg_types SET retired_in = ? WHERE id = ?", [number, have[key]["id"]])
        for kind, item in _items(template):
            _put(connection, kind, item, number, origin)
        put_setting(connection, FRONTMATTER, template.frontmatter)
    return diff


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
