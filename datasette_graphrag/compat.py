"""Datasette 0.65 and 1.0 behind one face; no other module asks which of them is running.

Three things differ for pages that only read: how a permission is asked for, where
defaults for tables are kept (a hook in 0.65; the configuration and the internal
database in 1.0), and how a plugin's static files are found. Three more for pages that
change something: who may, how a form is known to be ours, and how a write gets its turn.
"""

from __future__ import annotations

import copy
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database
    from datasette.utils.asgi import Request

T = TypeVar("T")

DISTRIBUTION = "llm-graphrag"
REVIEW = "graphrag-review"  # the permission to decide on proposals and merges
CONFIGURED = "datasette-graphrag"  # the name of our settings in a site's configuration
_SEEN = "_graphrag_table_defaults"  # kept on the Datasette that they belong to
_STATIC = "_graphrag_static_name"


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


async def may_review(datasette: Datasette, actor: dict[str, Any] | None, database: Database) -> bool:
    """Whether the actor may decide on proposals and merges: never where nothing can change, or without an id to log."""
    if not can_change(database) or not name_of(actor):
        return False
    if hasattr(datasette, "allowed"):
        from datasette.resources import DatabaseResource

        resource = DatabaseResource(database=database.name)
        return bool(await datasette.allowed(action=REVIEW, resource=resource, actor=actor))
    return bool(await datasette.permission_allowed(actor, REVIEW, resource=database.name, default=False))


def can_change(database: Database) -> bool:
    """Whether a database is a file that may be written to, with the folder around it."""
    if not database.is_mutable or database.is_memory or not database.path:
        return False
    path = Path(database.path).absolute()
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def name_of(actor: dict[str, Any] | None) -> str:
    """What an actor is called in the log, "" if nothing says."""
    found = (actor or {}).get("id")
    return "" if found is None else str(found).strip()


def is_reviewer(datasette: Datasette, actor: dict[str, Any] | None, action: str, database: Any) -> bool | None:
    """For the hook ``permission_allowed`` of 0.65: root, and whom the plugin's setting ``review`` allows.

    None where it says nothing, so that other plugins may grant it. 1.0 has ``permissions:`` of its own.
    """
    from datasette.utils import actor_matches_allow

    if action != REVIEW:
        return None
    configured = datasette.plugin_config(CONFIGURED, database=database if isinstance(database, str) else None) or {}
    allow = configured.get("review") if isinstance(configured, dict) else None
    if (actor or {}).get("id") == "root" or (allow is not None and actor_matches_allow(actor, allow)):
        return True
    return None


def review_action() -> Any:
    """For the hook ``register_actions`` of 1.0; root has every action."""
    from datasette.permissions import Action
    from datasette.resources import DatabaseResource

    return Action(
        name=REVIEW,
        description="Decide on the proposals and merges of a knowledge base",
        resource_class=DatabaseResource,
        also_requires="view-database",
    )


def is_our_form(datasette: Datasette, request: Request, token: str) -> bool:
    """Whether a form comes from a page of this site.

    1.0 has looked at the headers before we are called. 0.65 looks at a token, but not where a request brings no
    cookie, though a proxy or a password may have signed it in: so it is asked for in any case.
    """
    if hasattr(datasette, "allowed"):
        return True
    expected: str = request.scope["csrftoken"]()
    return secrets.compare_digest(token.encode("utf-8"), expected.encode("utf-8"))


def has_token(request: Request) -> bool:
    """Whether a request is signed in by a token alone, which no browser sends by itself."""
    scheme = str(request.headers.get("authorization", "")).partition(" ")[0]
    return scheme.lower() == "bearer" and not request.headers.get("cookie")


async def in_write_queue(datasette: Datasette, database: Database, work: Callable[[], T]) -> T:
    """Do ``work`` when it is its turn among the writes to a database; it opens a connection of its own.

    Datasette's stays as it is: without our temporary tables, foreign keys and waiting time.
    """

    def turn(connection: sqlite3.Connection) -> T:
        return work()

    alone = {"transaction": False} if hasattr(datasette, "allowed") else {}
    result: T = await database.execute_write_fn(turn, **alone)
    return result


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


def table_defaults(datasette: Datasette, key: str | None, database: str | None) -> dict[str, Any]:
    """For the hook ``get_metadata`` of 0.65; the owner's own metadata is merged over it.

    The hook is called for every permission and every setting of a page, with the key that is wanted; defaults for
    tables are only ever read as a whole (``databases``, or no key).
    """
    seen: dict[str, dict[str, Any]] = getattr(datasette, _SEEN, {})
    names = seen if database is None else {database} & seen.keys()
    if key not in (None, "databases") or not names:
        return {}
    local = (getattr(datasette, "_metadata_local", None) or {}).get("databases") or {}
    # Datasette merges into what it is given: hand out copies, as deep as it may write.
    return {
        "databases": {
            name: {
                "tables": {
                    table: _unless_ordered(defaults, ((local.get(name) or {}).get("tables") or {}).get(table))
                    for table, defaults in seen[name].items()
                }
            }
            for name in names
        }
    }


def _unless_ordered(defaults: dict[str, Any], theirs: dict[str, Any] | None) -> dict[str, Any]:
    """A copy, without our order if the owner chose one (a table cannot have both ``sort`` and ``sort_desc``)."""
    mine = {name: dict(value) if isinstance(value, dict) else value for name, value in defaults.items()}
    if {"sort", "sort_desc"} & (theirs or {}).keys():
        mine = {name: value for name, value in mine.items() if not name.startswith("sort")}
    return mine


def static_url(datasette: Datasette, name: str) -> str:
    """The address of one of our static files: Datasette serves them under the distribution's name."""
    plugin = getattr(datasette, _STATIC, None)
    if plugin is None:
        from datasette.plugins import get_plugins

        names = {found["name"] for found in get_plugins() if found["static_path"]}
        plugin = DISTRIBUTION if DISTRIBUTION in names else __package__
        setattr(datasette, _STATIC, plugin)
    return f"{datasette.urls.static_plugins(plugin, name)}?{_digest(name)}"


@lru_cache(maxsize=16)
def _digest(name: str) -> str:
    return hashlib.sha256((files(__package__) / "static" / name).read_bytes()).hexdigest()[:8]
