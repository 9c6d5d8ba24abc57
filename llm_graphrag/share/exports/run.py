"""One export: the scope becomes documents, the documents a graph, and the graph a file."""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...plugins import exporters
from ...routes.scope import scope
from ...text.shortened import listed, shortened
from .formats import ExportError, format_of, write
from .graph import Graph

__all__ = ["Exported", "export_graph"]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written; ``hint`` says how to load it, where that is not plain."""

    format: str
    entities: int
    attributes: int
    triples: int
    hint: str = ""


def export_graph(
    connection: sqlite3.Connection,
    out: Path,
    format: str = "",
    *,
    overwrite: bool = False,
    private: bool = True,
    where: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    relations: Sequence[str] = (),
    types: Sequence[str] = (),
) -> Exported:
    """Write the graph, or what is in the scope. Raises ExportError, or ScopeError for a condition that is none."""
    known = exporters()
    name = format_of(out, format, known)
    _refuse_unknown("type", types, connection.execute(TYPES))
    _refuse_unknown("relation or attribute", relations, connection.execute(RELATIONS))
    documents = scope(connection, where, tag, since)
    if not private:
        rows = connection.execute("SELECT id FROM kg_documents WHERE private = 0")
        public = frozenset(row[0] for row in rows)
        documents = public if documents is None else documents & public
    graph = Graph(connection, documents, relations, types)
    hint = write(graph, out, known[name], overwrite)
    return Exported(name, len(graph.entities), graph.taken["attribute"], graph.taken["triple"], hint)


TYPES = "SELECT DISTINCT type FROM kg_entities WHERE type <> '' ORDER BY 1"
RELATIONS = "SELECT relation FROM kg_triples UNION SELECT attribute FROM kg_attributes ORDER BY 1"


def _refuse_unknown(what: str, names: Sequence[str], rows: Iterable[tuple[str]]) -> None:
    """Raise ExportError for a name that nothing has: what it leaves would be an empty file."""
    there = [name for (name,) in rows] if names else []
    for name in names:
        if name not in there:
            near = difflib.get_close_matches(name, there, n=3) or there
            known = f" There is: {listed(near)}." if near else ""
            raise ExportError(f"Nothing here has the {what} {shortened(name)!r}.{known}")
