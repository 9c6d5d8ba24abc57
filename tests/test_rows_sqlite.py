"""SQLite: tables, views and queries are read, and nothing else is done to the file."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Run
from rows import dump, facts
from source_files import SHARED, needs_shared, texts, titles

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources.ingest import Options
from llm_graphrag.sources.rows.open import RowOptions
from llm_graphrag.sources.stale import stale
from llm_graphrag.sources.status import status_of

SCRIPT = """
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT, year INTEGER, size REAL, photo BLOB);
INSERT INTO notes VALUES (1, 'Clock', 'It [[rings]].', 1999, 1.5, x'00ff'),
  (2, 'Tower', '<div><b>High</b> &amp; old</div>', 2021, NULL, NULL);
CREATE TABLE pairs (a TEXT, b TEXT, name TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID;
INSERT INTO pairs VALUES ('x/y', '1,2', 'One'), ('.', '..', 'Two');
CREATE TABLE loose (word TEXT);
INSERT INTO loose VALUES ('same'), ('same'), (NULL);
CREATE VIEW late AS SELECT title, body FROM notes WHERE year > 2000;
CREATE VIRTUAL TABLE search USING fts5(title, body, content='notes', content_rowid='id');
INSERT INTO search(search) VALUES ('rebuild');
CREATE TABLE "odd ""name""; --" (value TEXT);
INSERT INTO "odd ""name""; --" VALUES ('x');
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCRIPT)
    return path


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_table(kb: KnowledgeBase, data: Path) -> None:
    before = hashlib.sha256(data.read_bytes()).hexdigest()
    report = kb.add([data], rows=RowOptions(table="notes"))
    assert texts(kb) == {
        "data.db/notes/1": "---\nid: 1\nyear: 1999\nsize: 1.5\n---\n\n# Clock\n\nIt [[rings]].\n",
        "data.db/notes/2": "---\nid: 2\nyear: 2021\n---\n\n# Tower\n\n**High** & old\n",
    }
    assert ("Clock", "links_to", "rings") in facts(kb)
    assert [remark.message for remark in report.warnings] == ["column 'photo': 1 binary values left out"]
    assert hashlib.sha256(data.read_bytes()).hexdigest() == before
    assert kb.check() == []


def test_tables_of_all_kinds(kb: KnowledgeBase, data: Path) -> None:
    for table in ("pairs", "loose", "late", 'odd "name"; --'):
        kb.add([data], rows=RowOptions(table=table))
    found = titles(kb)
    assert {uri: title for uri, title in found.items() if "pairs" in uri or "late" in uri}.items() >= {
        ("data.db/pairs/1%2C2,x/y", "One"),
        ("data.db/pairs/..,.", "Two"),
    }
    loose = [uri for uri in found if "loose" in uri]
    assert len(loose) == 2 and loose[1] == loose[0] + "~2"
    assert "Tower" in found.values()
    assert any(uri.startswith('data.db/odd "name"; --/row-') for uri in found)
    assert kb.check() == []


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (None, "say which table with --table, or give a query with --sql"),
        ("nope", "there is no table 'nope' to add"),
        ("search", "'search' is an index, not a table of its own"),
        ("search_data", "'search_data' is an index, not a table of its own"),
    ],
)
def test_the_error_lists_the_tables(run: Run, data: Path, table: str | None, words: str) -> None:
    result = run("add", data, *(["--table", table] if table else []), exit_code=1)
    assert words in result.output
    assert 'Tables: late, loose, notes, odd "name"; --, pairs' in result.output


def test_where_and_sync(kb: KnowledgeBase, data: Path) -> None:
    assert kb.add([data], rows=RowOptions(table="notes", where="year > 2000 -- late")).new == 1
    assert kb.add([data], rows=RowOptions(table="notes")).unchanged == 1  # the condition is remembered
    assert kb.add([data], rows=RowOptions(table="notes", where="")).new == 1
    before = dump(kb.connection)
    assert kb.add([data], rows=RowOptions(table="notes")).unchanged == 2
    assert dump(kb.connection) == before
    change(data, "UPDATE notes SET body = 'It is silent.' WHERE id = 1")
    ids = {row[0]: row[1] for row in kb.connection.execute("SELECT id, uri FROM kg_documents")}
    assert [ids[number] for number in stale(kb.connection)] == ["data.db/notes/1"]
    change(data, "DELETE FROM notes WHERE id = 2")
    report = kb.add([data], Options(prune=True), rows=RowOptions(table="notes"))
    assert (report.changed, report.removed, list(titles(kb))) == (1, 1, ["data.db/notes/1"])
    assert status_of(kb.connection)["stale"] == []
    assert kb.check() == []


def test_a_query_is_a_source_of_its_own(kb: KnowledgeBase, data: Path) -> None:
    first = "SELECT n.id, n.title, n.body FROM search s JOIN notes n ON n.id = s.rowid WHERE search MATCH 'rings'"
    second = "SELECT 1 AS id, 'Other' AS title, 'x' AS title"
    kb.add([data], rows=RowOptions(sql=first))
    kb.add([data], rows=RowOptions(sql=second))
    assert titles(kb) == {"data.db/query/1": "Clock", "data.db/query-2/1": "Other"}
    assert ("Other", "title_2", "x") in facts(kb)
    assert kb.remove([str(data)]) == ["data.db/query-2/1", "data.db/query/1"]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM notes",
        "ATTACH 'other.db' AS other",
        "PRAGMA journal_mode = DELETE",
        "WITH x AS (SELECT 1) INSERT INTO loose SELECT 'x' FROM x",
        "SELECT 1; DROP TABLE notes",
        "SELECT load_extension('x')",
        "CREATE TABLE x (y)",
        "SELECT nope FROM notes",
        "nonsense",
    ],
)
def test_a_query_only_reads(run: Run, data: Path, sql: str, tmp_path: Path) -> None:
    before = data.read_bytes()
    result = run("add", data, "--sql", sql, exit_code=1)
    assert result.output.startswith("Error: data.db: --sql ")
    assert data.read_bytes() == before
    assert not (tmp_path / "other.db").exists()
    assert "0 documents" in run("status").stdout


def test_options_that_do_not_go_together(run: Run, data: Path) -> None:
    assert "without --table" in run("add", data, "--sql", "SELECT 1", "--table", "notes", exit_code=2).output
    other = data.with_name("other.db")
    other.write_bytes(data.read_bytes())
    assert "one SQLite file; 2 is added" in run("add", data, other, "--table", "notes", exit_code=2).output
    assert "--encoding is for CSV" in run("add", data, "--table", "notes", "--encoding", "utf-8", exit_code=2).output


def test_a_file_that_is_no_database(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    path.write_bytes(b"no database at all, but long enough to be one" * 30)
    assert "no SQLite database" in run("add", path, "--table", "notes", exit_code=1).output


def test_a_database_is_known_by_its_first_bytes(kb: KnowledgeBase, data: Path) -> None:
    other = data.rename(data.with_suffix(".backup"))
    assert kb.add([other], rows=RowOptions(table="notes")).new == 2


def test_text_that_is_not_utf8_and_a_write_ahead_log(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (name TEXT)")
        connection.execute("INSERT INTO t VALUES (CAST(x'416e61ff' AS TEXT))")
        connection.commit()
        kb.add([path], rows=RowOptions(table="t"))  # while another process has it open
        assert list(titles(kb).values()) == ["Ana\ufffd"]
        assert stale(kb.connection) == {}
        connection.execute("UPDATE t SET name = 'Ben'")
        connection.commit()
        assert list(stale(kb.connection).values()) == ["its row is gone"]


@needs_shared
def test_shared_notes(kb: KnowledgeBase) -> None:
    path = SHARED / "notes.db"
    assert kb.add([path], rows=RowOptions(table="notes")).new == 6
    assert kb.add([path], rows=RowOptions(table="compound")).new == 3
    assert kb.add([path], rows=RowOptions(table="no_pk")).new == 2
    assert kb.add([path], rows=RowOptions(table="odd name; with [brackets]")).new == 1
    report = kb.add([path], rows=RowOptions(table="til", where="topic = 'pluggy' OR topic = 'jq'"))
    assert report.new > 5
    found = texts(kb)
    shopping = found["notes.db/notes/x-coredata:%2F%2FAAA%2FICNote%2Fp10"]
    assert shopping.endswith("# Shopping\n\n**Shopping**\n\n- 6 apples\n- flour & butter\n")
    assert {"notes.db/compound/DE,1", "notes.db/compound/DE,a/b", "notes.db/compound/FR,1"} <= set(found)
    assert kb.check() == []
    assert kb.add([path], rows=RowOptions(table="notes")).unchanged == 6
