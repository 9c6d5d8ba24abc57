"""Datasette 0.65 and 1.0 behind one face; no other module asks which of them is running.

Three things differ for pages that only read: how a permission is asked for, where
defaults for tables are kept (a hook in 0.65; the configuration and the internal
database in 1.0), and how a plugin's static files are found.
"""

from __future__ import annotations

import copy
import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database

DISTRIBUTION = "llm-graphrag"
_SEEN = "_graphrag_table_defaults"


def find_database(datasette: Datasette, route: str) -> Database | None:
    """The database whose (tilde-encoded) route this is, None if there is none."""
    from datasette.utils import tilde_decode

    try:
        return datasette.get_database(route=tilde_decode(route))
    except KeyError:
        return None


async def may_view(datasette: Datasette, actor: dict[str, Any] | None, database: str, tables: tuple[str, ...]) -> bool:
    """Whether the actor may see the database and every one of the tables."""
    if hasattr(datasette, "allowed"):
        from datasette.resources import DatabaseResource, TableResource

        resources = [("view-database", DatabaseResource(database=database))]
        resources += [("view-table", TableResource(database=database, table=table)) for table in tables]
        for action, resource in resources:
            if not await datasette.allowed(action=action, resource=resource, actor=actor):
                return False
        return True
    whole = [("view-database", database), "view-instance"]
    for checks in [whole, *([("view-table", (database, table)), *whole] for table in tables)]:
        visible, _ = await datasette.check_visibility(actor, permissions=checks)
        if not visible:
            return False
    return True


async def set_table_defaults(datasette: Datasette, database: str, tables: dict[str, dict[str, Any]]) -> None:
    """Give tables a description, a label, facets and an order, wherever the site's owner has not.

    On 0.65 they are only remembered here: ``table_defaults`` hands them out through the hook.
    """
    seen: dict[str, dict[str, Any]] = getattr(datasette, _SEEN, {})
    if database in seen:
        return
    setattr(datasette, _SEEN, {**seen, database: tables})
    if not hasattr(datasette, "set_resource_metadata"):
        return
    if datasette.config is None:
        datasette.config = {}
    config = _child(_child(_child(datasette.config, "databases"), database), "tables")
    for table, defaults in tables.items():
        mine = {key: value for key, value in defaults.items() if key not in ("description", "columns")}
        theirs = _child(config, table)
        ordered = "sort" in theirs or "sort_desc" in theirs
        for key, value in mine.items():
            if not (ordered and key.startswith("sort")):
                theirs.setdefault(key, copy.copy(value))
        await _describe(datasette, database, table, defaults)


async def _describe(datasette: Datasette, database: str, table: str, defaults: dict[str, Any]) -> None:
    known = await datasette.get_resource_metadata(database, table)
    if defaults.get("description") and not {"description", "description_html"} & set(known):
        await datasette.set_resource_metadata(database, table, "description", defaults["description"])
    for column, text in defaults.get("columns", {}).items():
        if "description" not in await datasette.get_column_metadata(database, table, column):
            await datasette.set_column_metadata(database, table, column, "description", text)


def _child(parent: dict[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(parent.get(key), dict):
        parent[key] = {}
    child: dict[str, Any] = parent[key]
    return child


def table_defaults(datasette: Datasette, database: str | None) -> dict[str, Any]:
    """For the hook ``get_metadata`` of 0.65; the owner's own metadata is merged over it."""
    seen: dict[str, dict[str, Any]] = getattr(datasette, _SEEN, {})
    wanted = seen if database is None else {name: seen[name] for name in (database,) if name in seen}
    local = getattr(datasette, "_metadata_local", None) or {}
    databases = copy.deepcopy(wanted)  # Datasette merges into what it is given
    for name, tables in databases.items():
        for table, theirs in (((local.get("databases") or {}).get(name) or {}).get("tables") or {}).items():
            if table in tables and isinstance(theirs, dict) and {"sort", "sort_desc"} & set(theirs):
                tables[table].pop("sort", None)
                tables[table].pop("sort_desc", None)
    return {"databases": {name: {"tables": tables} for name, tables in databases.items()}} if databases else {}


def static_url(datasette: Datasette, name: str) -> str:
    """The address of one of our static files: Datasette serves them under the distribution's name."""
    from datasette.plugins import get_plugins

    names = {plugin["name"] for plugin in get_plugins() if plugin["static_path"]}
    plugin = DISTRIBUTION if DISTRIBUTION in names else __package__
    return f"{datasette.urls.static_plugins(plugin, name)}?{_digest(name)}"


@lru_cache(maxsize=16)
def _digest(name: str) -> str:
    return hashlib.sha256((files(__package__) / "static" / name).read_bytes()).hexdigest()[:8]
