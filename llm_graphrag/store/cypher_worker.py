"""The process in which openCypher runs: the facts in memory, in a graph that refuses changes, and no way to a file.

The graph is a copy made by KGLite, so nothing that a query does can reach the knowledge
base. Its language can also read files (LOAD CSV). So when the graph is there, this process
gives up opening any: from then on the system grants it no further descriptor. What Windows
has no such limit for is not run there.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from .process import serve
from .query_worker import cell

__all__ = ["FACTS", "main"]

FACTS = 300_000  # the most that are copied; 130,000 take 4 seconds and 220 MB
ADDRESSES = 2 * 1024 * 1024 * 1024
MESSAGE = 300  # characters

COUNT = "SELECT (SELECT count(*) FROM kg_triples) + (SELECT count(*) FROM kg_attributes)"
ENTITIES = "SELECT id, name, CASE type WHEN '' THEN 'Entity' ELSE type END FROM kg_entities WHERE merged_into IS NULL"
TRIPLES = "SELECT head, relation, tail FROM kg_triples ORDER BY id"
ATTRIBUTES = "SELECT entity, attribute, value FROM kg_attributes ORDER BY id"


def answer(request: dict[str, Any]) -> dict[str, Any]:
    if "uri" in request:
        return load(request["uri"])
    try:
        return run(request)
    except Exception as error:  # KGLite's own, of many classes
        return said(error)


def load(uri: str) -> dict[str, Any]:
    """Copy the graph, once; what a process has copied, it keeps."""
    global GRAPH
    try:
        import resource

        import kglite
    except ImportError as error:
        return {"error": "system" if error.name == "resource" else "missing"}
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            facts = connection.execute(COUNT).fetchone()[0]
            if facts > FACTS:
                return {"error": "size", "facts": facts}
            spec = described(connection)
    except sqlite3.Error as error:
        return {"error": "file", "message": str(error)}
    GRAPH = kglite.from_records(spec, on_missing_endpoint="drop")
    GRAPH.lock_schema()
    GRAPH.read_only(True)
    GRAPH.cypher("MATCH (n) RETURN count(n)")  # what it opens for itself, it opens now
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    return {"facts": facts}


GRAPH: Any = None


def described(connection: sqlite3.Connection) -> dict[str, Any]:
    """The graph as KGLite reads it: nodes by label, facts by relation and the labels of their ends.

    A value is a node labelled Value, one for all that have it; its id is negative, so that none is an entity's.
    """
    nodes: dict[str, list[dict[str, Any]]] = {}
    label: dict[int, str] = {}
    for id_, name, type_ in connection.execute(ENTITIES):
        label[id_] = type_
        nodes.setdefault(type_, []).append({"id": id_, "name": name})
    edges: dict[tuple[str, str, str], list[dict[str, int]]] = {}
    for head, relation, tail in connection.execute(TRIPLES):
        if head in label and tail in label:
            edges.setdefault((relation, label[head], label[tail]), []).append({"from": head, "to": tail})
    values: dict[str, int] = {}
    for entity, attribute, value in connection.execute(ATTRIBUTES):
        if entity in label:
            id_ = values.setdefault(value, -len(values) - 1)
            edges.setdefault((attribute, label[entity], "Value"), []).append({"from": entity, "to": id_})
    if values:
        nodes.setdefault("Value", []).extend({"id": id_, "name": value} for value, id_ in values.items())
    return {
        "nodes": [
            {"type": type_, "id_field": "id", "title_field": "name", "records": records}
            for type_, records in nodes.items()
        ],
        "connections": [
            {"type": relation, "source_type": source, "source_id_field": "from",
             "target_type": target, "target_id_field": "to", "records": records}
            for (relation, source, target), records in edges.items()
        ],
    }  # fmt: skip


def run(request: dict[str, Any]) -> dict[str, Any]:
    limit, room = request["rows"], request["bytes"]
    result = GRAPH.cypher(request["query"], timeout_ms=int(request["seconds"] * 1000), row_limit=limit + 1)
    if isinstance(result, str):  # FORMAT CSV
        return {"columns": ["csv"], "rows": [[result[:room]]], "truncated": "bytes" if len(result) > room else ""}
    rows: list[list[Any]] = []
    truncated = ""
    for row in result:
        cells = [shown(value) for value in row.values()]
        room -= sum(len(value) if isinstance(value, str) else 8 for value in cells)
        if len(rows) == limit or room < 0:
            truncated = "rows" if len(rows) == limit else "bytes"
            break
        rows.append(cells)
    return {"columns": list(result.columns), "rows": rows, "truncated": truncated}


def shown(value: Any) -> Any:
    """A value of a result as a cell: a node by its name, a fact by its relation, a path as it goes."""
    if isinstance(value, dict) and "nodes" in value and "relationships" in value:
        return path(value)
    if isinstance(value, dict) and "labels" in value:
        return value.get("properties", {}).get("name", "")
    if isinstance(value, dict) and "type" in value and "start" in value:
        return value["type"]
    if isinstance(value, list):
        return ", ".join(str(shown(item)) for item in value)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return cell(value)
    return str(value)


def path(value: dict[str, Any]) -> str:
    nodes = value["nodes"]
    text = str(shown(nodes[0])) if nodes else ""
    for before, edge, after in zip(nodes, value["relationships"], nodes[1:], strict=False):
        arrow = f"—{edge['type']}→" if edge["start"] == before["id"] else f"←{edge['type']}—"
        text += f" {arrow} {shown(after)}"
    return text


def said(error: Exception) -> dict[str, Any]:
    name = type(error).__name__
    if name == "CypherTimeoutError":
        return {"error": "time"}
    if name == "ReadOnlyError":
        return {"error": "denied", "what": "action", "name": ""}
    if "os error 24" in str(error):  # no descriptor left
        return {"error": "denied", "what": "file", "name": ""}
    return {"error": "cypher", "message": " ".join(str(error).split())[:MESSAGE]}


def main() -> None:
    serve(answer, ADDRESSES)
