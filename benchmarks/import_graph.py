"""What it costs to import a graph: python benchmarks/import_graph.py KB.tsv [--limit N] [--write]

Three ways to put the same rows into the same tables, each into a file of its own, in processor seconds: the import,
which reads the file, finds out who is who, and counts; ``executemany`` of the rows that it has written, which is the
least that can be done; and sqlite-utils' ``upsert_all`` of them. A part of the file is enough for the comparison; the
import as a whole is measured on all of it, as the command.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import tempfile
import time
from pathlib import Path

from ingest import LLM, measured
from report import table, write_section
from sqlite_utils import Database

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.share.imports.options import ImportOptions
from llm_graphrag.share.imports.run import import_graph
from llm_graphrag.store.connection import many_writes, transaction

#: In an order in which rows come after those that they refer to.
TABLES = (
    "kg_sources", "kg_documents", "kg_chunks", "kg_entities", "kg_aliases", "kg_mentions", "kg_triples",
    "kg_attributes", "kg_evidence", "kg_counts", "kg_changes",
)  # fmt: skip
KEYS = {"kg_mentions": ("chunk", "start", "end", "key"), "kg_counts": ("kind", "item"), "kg_changes": ("seq",)}
FULL_TEXT = (
    "INSERT INTO kg_chunks_fts(rowid, title, heading, text) SELECT id, title, heading, text FROM kg_chunk_search"
)
UPSERTED = 20_000  # rows a call


def imported(path: Path, folder: Path) -> tuple[float, KnowledgeBase]:
    """Processor seconds of an import, and the file."""
    kb = KnowledgeBase.open(folder / "import.db", create=True)
    began = time.process_time()
    import_graph(kb.connection, kb.settings, [path], ImportOptions(schema=False))
    return time.process_time() - began, kb


def rows_of(kb: KnowledgeBase) -> dict[str, tuple[list[str], list[tuple[object, ...]]]]:
    """Columns and rows of every table that was written."""
    found = {}
    for name in TABLES:
        cursor = kb.connection.execute(f"SELECT * FROM {name}")  # noqa: S608 - our own names
        found[name] = [column[0] for column in cursor.description], list(map(tuple, cursor))
    return found


def bare(rows: dict[str, tuple[list[str], list[tuple[object, ...]]]], folder: Path) -> float:
    """Processor seconds of executemany, a transaction a table."""
    kb = KnowledgeBase.open(folder / "bare.db", create=True)
    began = time.process_time()
    with many_writes(kb.connection):
        for name, (columns, values) in rows.items():
            listed, marks = ", ".join(f'"{column}"' for column in columns), ", ".join("?" * len(columns))
            with transaction(kb.connection):
                kb.connection.executemany(f"INSERT INTO {name}({listed}) VALUES ({marks})", values)  # noqa: S608
        with transaction(kb.connection):
            kb.connection.execute(FULL_TEXT)
    spent = time.process_time() - began
    kb.close()
    return spent


def upserted(rows: dict[str, tuple[list[str], list[tuple[object, ...]]]], folder: Path) -> float:
    """Processor seconds of sqlite-utils' upsert_all."""
    kb = KnowledgeBase.open(folder / "upsert.db", create=True)
    database = Database(kb.connection, execute_plugins=False)
    began = time.process_time()
    with many_writes(kb.connection):
        for name, (columns, values) in rows.items():
            for start in range(0, len(values), UPSERTED):
                records = (dict(zip(columns, row, strict=True)) for row in values[start : start + UPSERTED])
                database.table(name).upsert_all(records, pk=KEYS.get(name, "id"))
        kb.connection.execute(FULL_TEXT)
        if kb.connection.in_transaction:
            kb.connection.commit()
    spent = time.process_time() - began
    kb.close()
    return spent


def sizes(path: Path) -> list[tuple[str, int]]:
    """Bytes by table and index, largest first; nothing where this SQLite cannot tell."""
    try:
        with sqlite3.connect(path) as connection:
            return connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY 1 ORDER BY 2 DESC").fetchall()
    except sqlite3.OperationalError:
        return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--limit", type=int, default=40_000, help="lines for the comparison")
    parser.add_argument("--write", action="store_true", help="put the table into BENCHMARKS.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        lines = options.file.read_text("utf-8").splitlines(keepends=True)
        part = folder / f"part{options.file.suffix}"
        part.write_text("".join(lines[: options.limit]), encoding="utf-8")
        ours, kb = imported(part, folder)
        rows, triples = rows_of(kb), kb.totals()["triples"]
        kb.close()
        least, most = bare(rows, folder), upserted(rows, folder)
        database = folder / "kb.db"
        environment = os.environ | {"LLM_USER_PATH": temporary, "LLM_GRAPHRAG_DB": str(database)}
        wall, processor, memory = measured([*LLM, "graphrag", "import", str(options.file)], environment)
        again, _, _ = measured([*LLM, "graphrag", "import", str(options.file)], environment)
        with KnowledgeBase.open(database) as whole:
            problems = whole.check()
            totals = whole.totals()
            whole.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = database.stat().st_size
        by_table = sizes(database)
    if problems:
        raise SystemExit(f"check finds: {problems[:3]}")
    measures: list[list[object]] = [
        [f"the command on {len(lines):,} lines, with vectors of names and chunks: wall s", f"{wall:.1f}"],
        ["the same, processor s", f"{processor:.1f}"],
        ["the same, peak MB", f"{memory:.0f}"],
        ["the same again, nothing changed: wall s", f"{again:.1f}"],
        ["triples", f"{totals['triples']:,}"],
        ["bytes a triple, whole file", f"{size / totals['triples']:.0f}"],
        ["bytes a triple without vectors", f"{without_vectors(size, by_table) / totals['triples']:.0f}"],
        [f"import of {triples:,} triples: processor s", f"{ours:.1f}"],
        ["bare executemany of the same rows: processor s", f"{least:.1f}"],
        ["sqlite-utils upsert_all of the same rows: processor s", f"{most:.1f}"],
        ["import against bare executemany", f"{ours / least:.2f}"],
        ["upsert_all against import", f"{most / ours:.2f}"],
    ]
    text = table(["measure", ""], measures)
    if by_table:
        largest = [[name, f"{number / totals['triples']:.0f}"] for name, number in by_table[:14]]
        text += "\n\n" + table(["table or index", "bytes a triple"], largest)
    print(text)
    if options.write:
        write_section(
            "Import of a graph",
            f"python benchmarks/import_graph.py {options.file.name} --limit {options.limit} --write",
            text,
        )


def without_vectors(size: int, by_table: list[tuple[str, int]]) -> int:
    """The size of the file but for llm's tables of vectors."""
    return size - sum(number for name, number in by_table if "embeddings" in name or "collections" in name)


if __name__ == "__main__":
    main()
