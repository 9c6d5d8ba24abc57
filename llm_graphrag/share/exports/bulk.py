"""Folders for the bulk loaders of graph databases: neo4j-admin, and the COPY of ladybug and kuzu.

The texts are loaded, not opened in a spreadsheet: cells are as they are.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from .graph import Graph

__all__ = ["to_ladybug", "to_neo4j"]

LIST = "\x1f"  # between the items of a list: stands in no name
NEO4J = (
    "Load it with: neo4j-admin database import full --nodes={0}/nodes.csv --relationships={0}/relationships.csv"
    " --array-delimiter=U+001F --multiline-fields=true"
)
LADYBUG = "Run the statements of load.cypher in that folder, with ladybug or kuzu."

LOAD = """\
CREATE NODE TABLE Entity(id INT64, name STRING, type STRING, aliases STRING, attributes STRING, PRIMARY KEY(id));
CREATE REL TABLE Related(
  FROM Entity TO Entity, relation STRING, evidence INT64, confidence DOUBLE, quote STRING, source STRING);
COPY Entity FROM "entities.csv" (HEADER=true, PARALLEL=false, QUOTE='"', ESCAPE='"');
COPY Related FROM "relations.csv" (HEADER=true, PARALLEL=false, QUOTE='"', ESCAPE='"');
"""


def to_neo4j(graph: Graph, out: Path) -> str:
    """Write nodes.csv and relationships.csv."""
    attributes = graph.values()
    columns = sorted({name for of in attributes.values() for name in of})
    taken = {"id", "name", "aliases", "type"}
    header = [":ID", "name", "aliases:string[]", *(f"{_column(name, taken)}:string[]" for name in columns), ":LABEL"]
    nodes = (
        [f"n{e.number}", e.name, _items(e.aliases), *(_items(attributes.get(e.number, {}).get(c, ())) for c in columns),
         _label(e.type) or "Entity"]
        for e in graph.entities
    )  # fmt: skip
    _write(out / "nodes.csv", header, nodes)
    _write(
        out / "relationships.csv",
        [":START_ID", ":END_ID", ":TYPE", "evidence:int", "confidence:float", "quote", "source"],
        (
            [f"n{t.head.number}", f"n{t.tail.number}", t.relation, t.stated.evidence, t.stated.sure,
             t.stated.quote, t.stated.source]
            for t in graph.triples()
        ),
    )  # fmt: skip
    return NEO4J.format(out)


def _column(name: str, taken: set[str]) -> str:
    """A name of a column without what a header of neo4j-admin would take for a sign."""
    plain = re.sub(r"[:;,{}()\[\]]", "_", name)
    while plain in taken:
        plain += "_"
    taken.add(plain)
    return plain


def _label(type_: str) -> str:
    return re.sub("[;\x1f]", "_", type_)


def _items(values: Iterable[str]) -> str:
    return LIST.join(value.replace(LIST, " ") for value in values)


def to_ladybug(graph: Graph, out: Path) -> str:
    """Write entities.csv, relations.csv, and the statements that load them; lists and attributes are JSON."""
    attributes = graph.values()
    _write(
        out / "entities.csv",
        ["id", "name", "type", "aliases", "attributes"],
        (
            [e.number, e.name, e.type, json.dumps(e.aliases, ensure_ascii=False),
             json.dumps(attributes.get(e.number, {}), ensure_ascii=False)]
            for e in graph.entities
        ),
    )  # fmt: skip
    _write(
        out / "relations.csv",
        ["from", "to", "relation", "evidence", "confidence", "quote", "source"],
        (
            [t.head.number, t.tail.number, t.relation, t.stated.evidence, t.stated.sure, t.stated.quote,
             t.stated.source]
            for t in graph.triples()
        ),
    )  # fmt: skip
    (out / "load.cypher").write_text(LOAD, encoding="utf-8")
    return LADYBUG


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(header)
        writer.writerows(rows)
