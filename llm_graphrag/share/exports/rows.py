"""The graph as rows of one table: entities, their other names, attributes and triples; as CSV, JSON lines and Parquet.

``import`` reads the table back to the same graph. In CSV, a cell that a spreadsheet would take for a formula gets an
apostrophe in front, which the import of such a table takes off again.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..facts_table import HEADER, escaped
from .graph import Graph, Stated

__all__ = ["to_csv", "to_jsonl", "to_parquet"]

Row = tuple[str, str, str, str, str, str, str, str, int, float | None, str, str]

PARQUET_ROWS = 50_000
MISSING = "Parquet needs the extra parquet: llm install 'llm-graphrag[parquet]'"


def rows(graph: Graph) -> Iterator[Row]:
    """All rows, in an order that depends on names alone."""
    for entity in graph.entities:
        yield ("entity", entity.name, entity.type, "", "", "", "", "", 0, None, "", "")
        for alias in entity.aliases:
            yield ("alias", entity.name, entity.type, "alias", alias, "", "", "", 0, None, "", "")
    for a in graph.attributes():
        said = (a.attribute, a.value, "", a.language, a.datatype)
        yield ("attribute", a.entity.name, a.entity.type, *said, *_told(a.stated))
    for t in graph.triples():
        yield ("triple", t.head.name, t.head.type, t.relation, t.tail.name, t.tail.type, "", "", *_told(t.stated))


def _told(stated: Stated) -> tuple[int, float, str, str]:
    return stated.evidence, stated.confidence, stated.quote, stated.source


def to_csv(graph: Graph, out: Path) -> str:
    """Write CSV."""
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for row in rows(graph):
            writer.writerow([escaped(cell) if isinstance(cell, str) else _number(cell) for cell in row])
    return ""


def _number(value: int | float | None) -> str:
    return f"{value:.15g}" if value else ""


def to_jsonl(graph: Graph, out: Path) -> str:
    """Write JSON lines: an object a row, without what is empty."""
    with out.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows(graph):
            filled = {name: value for name, value in zip(HEADER, row, strict=True) if value}
            file.write(json.dumps(filled, ensure_ascii=False) + "\n")
    return ""


def to_parquet(graph: Graph, out: Path) -> str:
    """Write Parquet, some rows at a time. Raises ValueError without pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ValueError(MISSING) from error
    kinds: dict[str, Any] = {"evidence": pa.int64(), "confidence": pa.float64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in HEADER])
    batch: list[Row] = []
    with pq.ParquetWriter(out, schema) as writer:
        for row in rows(graph):
            batch.append(row)
            if len(batch) == PARQUET_ROWS:
                writer.write_table(_table(pa, batch, schema))
                batch.clear()
        writer.write_table(_table(pa, batch, schema))
    return ""


def _table(pa: Any, batch: list[Row], schema: Any) -> Any:
    columns = list(zip(*batch, strict=True)) or [() for _ in HEADER]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
