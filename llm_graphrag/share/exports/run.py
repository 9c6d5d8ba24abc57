"""One export: the scope becomes documents, the documents a graph, and the graph a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...plugins import exporters
from ...routes.scope import scope
from .formats import format_of, write
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
    documents = scope(connection, where, tag, since)
    if not private:
        rows = connection.execute("SELECT id FROM kg_documents WHERE private = 0")
        public = frozenset(row[0] for row in rows)
        documents = public if documents is None else documents & public
    graph = Graph(connection, documents, relations, types)
    hint = write(graph, out, known[name], overwrite)
    return Exported(name, len(graph.entities), graph.taken["attribute"], graph.taken["triple"], hint)
