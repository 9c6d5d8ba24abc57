"""``query``: what it gives, what it says, and that it leaves no trace."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run, Vault
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm_graphrag.graph.row_text import row_text
from llm_graphrag.knowledge_base import KnowledgeBase, KnowledgeBaseError
from llm_graphrag.store import query as query_module
from llm_graphrag.store.process import Ended, Process
from llm_graphrag.store.query import Queries, QueryError, open_at_rest, query
from llm_graphrag.store.queryable import FUNCTIONS, RELATIONS

ROOT = Path(__file__).parent.parent
HOSTILE = "A —b→ \x1b[31mC</td>%s'\"`; DROP TABLE kg_chunks"
NOTES = {
    "Ana.md": "---\nborn: 1961\n---\nAna works with [[Ben]] on silver mirrors. #boats",
    "Ben.md": "Ben knows [[Ana]] and [[Cora]].",
    "odd.md": f'---\nmotto: "{HOSTILE[:7]}"\n---\n[[Ana]]\n\n{HOSTILE}',
}


@pytest.fixture
def path(tmp_path: Path, vault: Vault) -> Path:
    """A knowledge base nobody has open."""
    file = tmp_path / "kb.db"
    with KnowledgeBase.open(file, create=True) as kb:
        kb.add([vault(NOTES)])
    return file


def test_every_documented_name_can_be_queried(path: Path) -> None:
    page = (ROOT / "docs" / "the-file.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\bkg_[a-z_]+\b", page)) <= {*RELATIONS}
    with Queries(path) as queries:
        for name, table in RELATIONS.items():
            columns = ", ".join(f'"{column}"' for column in table.columns)
            assert queries.run(f"SELECT {columns} FROM {name}").columns == table.columns
            assert queries.run(f"SELECT count(*) FROM {name}").columns == ("count(*)",)


def test_the_examples_on_the_page_about_the_file_run(path: Path) -> None:
    page = (ROOT / "docs" / "the-file.md").read_text(encoding="utf-8")
    examples = re.findall(r"```sql\n(.*?)```", page, re.DOTALL) + re.findall(r'\.db "(select .*?)"', page)
    assert len(examples) >= 4
    with Queries(path) as queries:
        for example in examples:
            queries.run(example)
        for example in re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "query.md").read_text("utf-8"), re.DOTALL):
            assert queries.run(example).columns == ("name",)
        assert queries.run(examples[2]).rows == (("Ana", "", 1),)  # full text


def test_rows_and_what_is_left_out(path: Path) -> None:
    found = query(path, "SELECT head, tail FROM kg_facts WHERE relation = 'links_to' ORDER BY head, tail")
    assert found.columns == ("head", "tail")
    assert found.rows == (("Ana", "Ben"), ("Ben", "Ana"), ("Ben", "Cora"), ("odd", "Ana"))
    assert found.truncated == "" and 0 <= found.seconds < 1
    three = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < {n}) SELECT x FROM r"
    assert query(path, three.format(n=3), rows=3).truncated == ""
    assert query(path, three.format(n=4), rows=3).rows == ((1,), (2,), (3,))
    assert query(path, three.format(n=4), rows=3).truncated == "rows"


def test_size_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_module, "BYTES", 100)
    nine = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 9)"
    found = query(path, nine + " SELECT 'twenty characters 20' FROM r")
    assert (len(found.rows), found.truncated) == (5, "bytes")
    with pytest.raises(QueryError, match=r"One row of the result is longer than 100 characters\. Select less"):
        query(path, f"SELECT '{'x' * 101}'")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM kg_fact", "There is no table kg_fact. Is it kg_facts?"),
        ("SELECT * FROM main.kg_entitis", "There is no table main.kg_entitis. Is it kg_entities?"),
        ("SELECT relaton FROM kg_facts", "There is no column relaton here. Is it kg_facts.relation"),
        ("SELECT f.nothing_like_it FROM kg_facts f", "There is no column f.nothing_like_it here. llm graphrag"),
        ("SELECT lenth(head) FROM kg_facts", "There is no function lenth(). Is it length?"),
        ("SELECT * FROM kg_settings", "kg_settings cannot be queried. llm graphrag query --schema lists"),
        ("SELECT hex(head) FROM kg_facts", "The function hex() cannot be used in a query. llm graphrag"),
        ("DELETE FROM kg_tags", "A query only reads; this one does something else."),
        ("PRAGMA user_version", "A query only reads; this one does something else."),
        ("SELECT 1; SELECT 2", "Only one query at a time: there is something after the semicolon."),
        ("-- only a comment", "The query is not complete, or empty."),
        (" ;\n", "The query is empty. An example: SELECT head, relation, tail FROM kg_facts"),
        ("SELECT '\x00'", "The query has a character at position 9 that is no text; take it out."),
        ("x" * 100_001, "The query has 100,001 characters; at most 100,000 are read."),
        ("SELECT rowid FROM kg_chunks_fts WHERE kg_chunks_fts MATCH 'it''s'", "The query cannot be run: fts5: syntax"),
        ("SELECT ? FROM kg_facts", "The query cannot be run: Incorrect number of bindings"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(path: Path, sql: str, message: str) -> None:
    with pytest.raises(QueryError) as error:
        query(path, sql)
    assert str(error.value).startswith(message)


def test_time_and_memory_are_bounded(path: Path) -> None:
    endless = "WITH RECURSIVE r(x) AS (SELECT {start} UNION ALL SELECT {next} FROM r) SELECT count(*) FROM r"
    with Queries(path) as queries:
        began = time.monotonic()
        with pytest.raises(QueryError, match=r"took longer than 0\.2 seconds and was ended"):
            queries.run(endless.format(start="1", next="x + 1"), seconds=0.2)
        assert time.monotonic() - began < 3  # its process has to start, too
        with pytest.raises(QueryError, match="took more memory than it may"):
            queries.run(endless.format(start="'ab'", next="x || x"), seconds=5)
        # One function at work, which SQLite itself cannot be told to stop.
        long = "WITH RECURSIVE s(x) AS (SELECT 'aaaaaaaa' UNION ALL SELECT x || x FROM s WHERE length(x) < 8000000)"
        with pytest.raises(QueryError, match=r"took longer than 0\.5 seconds"):
            queries.run(f"{long} SELECT max(instr(x, substr(x, 1, length(x) / 2) || 'b')) FROM s", seconds=0.5)
        assert queries.run("SELECT 1").rows == ((1,),)


# The file ---------------------------------------------------------------------------------


def listing(folder: Path) -> set[str]:
    return {found.name for found in folder.iterdir()}


def test_no_file_appears(path: Path) -> None:
    before = listing(path.parent)
    with Queries(path) as queries:
        queries.run("SELECT * FROM kg_chunks_fts WHERE kg_chunks_fts MATCH 'mirrors'")
        assert listing(path.parent) == before
    with open_at_rest(path) as connection:
        assert connection.execute("SELECT count(*) FROM kg_documents").fetchone()[0] == 3
        assert listing(path.parent) == before


def test_what_a_writer_has_not_moved_into_the_file_yet_is_seen(path: Path) -> None:
    with KnowledgeBase.open(path) as kb:
        kb.connection.execute("PRAGMA wal_autocheckpoint = 0")
        kb.connection.execute("INSERT INTO kg_tags VALUES (1, 'late')")
        assert path.with_name("kb.db-wal").stat().st_size > 0
        assert query(path, "SELECT count(*) FROM kg_tags").rows == ((2,),)


def test_a_file_that_changes_meanwhile_is_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uris: list[str] = []
    ask = Process.ask

    def asked(self: Process, request: dict[str, str], seconds: float) -> dict[str, object]:
        reply = ask(self, request, seconds)
        uris.append(request["uri"])
        if len(uris) == 1:
            with sqlite3.connect(path) as other:
                other.execute("INSERT INTO kg_tags VALUES (1, 'new')")
            other.close()
        return reply

    monkeypatch.setattr(Process, "ask", asked)
    assert query(path, "SELECT count(*) FROM kg_tags").rows == ((2,),)
    assert ["immutable" in uri for uri in uris] == [True, False]


def test_names_of_files_are_taken_as_they_are(path: Path) -> None:
    odd = path.parent / "50% of it? #1 &mode=rwc.db"
    path.rename(odd)
    assert query(odd, "SELECT count(*) FROM kg_documents").rows == ((3,),)


def test_what_is_no_knowledge_base_is_said(tmp_path: Path) -> None:
    for file, message in ((tmp_path / "none.db", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(KnowledgeBaseError, match=message):
            query(file, "SELECT 1")
    (tmp_path / "text.db").write_text("Not a database at all, but long enough to have a header. " * 20)
    with pytest.raises(KnowledgeBaseError, match="cannot be read: file is not a database"):
        query(tmp_path / "text.db", "SELECT 1")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (a)").connection.close()
    with pytest.raises(ValueError, match="is not a knowledge base"):
        query(tmp_path / "other.db", "SELECT 1")


def test_a_process_that_is_gone_is_started_again(path: Path) -> None:
    with Queries(path) as queries:
        queries.run("SELECT 1")
        running = queries._process._running
        assert running is not None
        running.kill()
        running.wait()
        assert queries.run("SELECT 2").rows == ((2,),)


def test_an_interrupted_query_leaves_no_process(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Queries(path) as queries:
        queries.prepare()
        running = queries._process._running
        assert running is not None and running.stdout is not None

        def interrupted() -> bytes:
            raise KeyboardInterrupt

        monkeypatch.setattr(
            running, "stdout", type("Pipe", (), {"readline": staticmethod(interrupted), "close": int})()
        )
        with pytest.raises(KeyboardInterrupt):
            queries.run("SELECT 1")
        assert running.poll() is not None


def test_a_process_that_does_not_start_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Ended):
        Process("llm_graphrag.no_such_module").start()
    monkeypatch.setattr(query_module, "WORKER", "llm_graphrag.no_such_module")
    with pytest.raises(QueryError, match="The process for queries does not start"):
        query(path, "SELECT 1")


def test_threads_have_a_process_each(path: Path) -> None:
    found: list[object] = []

    def ask(number: int) -> None:
        with Queries(path) as queries:
            found.extend(queries.run(f"SELECT {number} + {turn}").rows[0][0] for turn in range(5))

    threads = [threading.Thread(target=ask, args=[100 * number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found, key=str) == sorted((100 * n + turn for n in range(3) for turn in range(5)), key=str)


# Cells -------------------------------------------------------------------------------------

Cells = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("shared") / "kb.db"
    KnowledgeBase.open(file, create=True).close()
    return file


@pytest.fixture(scope="module")
def run_one(shared: Path) -> Callable[[str], object]:
    queries = Queries(shared)
    return lambda sql: queries.run(sql).rows[0][0]


@given(value=Cells)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_value_comes_back_as_it_is(run_one: Callable[[str], object], value: object) -> None:
    if isinstance(value, str):
        assert run_one("SELECT '" + value.replace("'", "''") + "'") == value
    elif isinstance(value, float) and abs(value) == float("inf"):
        assert run_one("SELECT 9e999" if value > 0 else "SELECT -9e999") == ("Infinity" if value > 0 else "-Infinity")
    elif value is None:
        assert run_one("SELECT NULL") is None
    elif isinstance(value, int):
        written = "-9223372036854775807 - 1" if value == -(2**63) else str(value)
        assert run_one(f"SELECT {written}") == value
    else:
        assert run_one(f"SELECT {value!r}") == pytest.approx(value, rel=1e-15)


def test_a_row_in_words() -> None:
    assert row_text(["relation", "head", "tail"], ["links_to", "A → B", "C"]) == '"A → B" —links to→ C'
    assert row_text(["a", "b"], [None, None]) == ""
    assert row_text(["a"], [None]) == "nothing"
    assert row_text(["head", "relation", "tail"], ["A", "b", None]) == "head: A; relation: b"


# The command -------------------------------------------------------------------------------


@pytest.fixture
def filled(run: Run, vault: Vault) -> Run:
    run("add", vault(NOTES))
    return run


def test_a_table_is_printed(filled: Run) -> None:
    sql = "SELECT head, relation AS how, NULL AS n FROM kg_facts WHERE tail = 'Ana' ORDER BY head"
    result = filled("query", sql)
    assert result.stdout == "head  how       n\nBen   links_to\nodd   links_to\n"
    assert re.fullmatch(r"2 rows in \d\.\d\d s\.\n", result.stderr)
    assert filled("query", "-", input=sql).stdout == result.stdout
    assert "1 row in" in filled("query", sql, "--limit", "1").stderr
    assert filled("query", sql, "--limit", "1").stderr.endswith("; there are more: --limit.\n")
    assert filled("query", "SELECT head FROM kg_facts WHERE 0").stdout == "head\n"


def test_json_has_it_all(filled: Run) -> None:
    found = json.loads(filled("query", "SELECT head, evidence FROM kg_facts WHERE tail = 'Cora'", "--json").stdout)
    assert found.pop("seconds") < 1
    assert found == {"columns": ["head", "evidence"], "rows": [["Ben", 1]], "truncated": ""}


def test_csv_has_it_as_it_is(filled: Run) -> None:
    result = filled("query", "SELECT text, 1.5, NULL FROM kg_chunks WHERE text LIKE '%DROP%'", "--csv")
    header, row = csv.reader(io.StringIO(result.stdout))
    assert header == ["text", "1.5", "NULL"]
    assert HOSTILE in row[0] and row[1:] == ["1.5", ""]


def test_a_terminal_is_not_steered(filled: Run) -> None:
    sql = "SELECT text AS \"\x1b[2Jx\" FROM kg_chunks WHERE text LIKE '%DROP%'"
    for options in ((), ("--json",)):
        assert "\x1b" not in filled("query", sql, *options).output
    assert "\x1b" not in filled("query", "SELECT \x1b", exit_code=1).output


def test_the_schema_is_printed(filled: Run) -> None:
    shown = filled("query", "--schema").stdout
    assert "kg_facts(id, kind, head," in shown
    assert "links_to  4  Ana → Ben" in shown and "born  1  Ana → 1961" in shown
    found = json.loads(filled("query", "--schema", "--json").stdout)
    assert {*found["tables"]} == {*RELATIONS} and found["functions"] == sorted(FUNCTIONS)
    word = found["relations"][0]
    assert [word[name] for name in ("name", "count", "head", "tail")] == ["links_to", 4, "Ana", "Ben"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give a query, or --schema"),
        (("SELECT 1", "--csv", "--json"), "Give --csv or --json, not both."),
        (("SELECT 1", "--schema"), "--schema stands alone"),
        (("SELECT 1", "--budget", "1usd"), "--budget is for a model, and none is asked. Name one: -m MODEL"),
        (("SELECT 1", "--time-limit", "nan"), "is not a number"),
        (("SELECT 1", "--time-limit", "600"), "is not in the range"),
        (("SELECT 1", "--limit", "0"), "is not in the range"),
    ],
)
def test_wrong_options(filled: Run, arguments: tuple[str, ...], message: str) -> None:
    assert message in filled("query", *arguments, exit_code=2).stderr


def test_errors_are_one_line(filled: Run, tmp_path: Path) -> None:
    for arguments in (
        ("SELECT * FROM kg_fact",),
        ("SELECT 1", "-d", tmp_path / "none.db"),
        ("--schema", "-d", tmp_path),
    ):
        result = filled("query", *arguments, exit_code=2 if arguments[-1] == tmp_path else 1)
        assert result.stdout == "" and "Error: " in result.stderr
    error = filled("query", "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT count(*) FROM r",
                   "--time-limit", "0.1", exit_code=1).stderr  # fmt: skip
    assert error.startswith("Error: The query took longer than 0.1 seconds and was ended.") and error.count("\n") == 1


def test_a_file_that_cannot_be_written_is_read(path: Path, run: Run) -> None:
    os.chmod(path, 0o444)
    os.chmod(path.parent, 0o555)
    try:
        assert run("query", "SELECT count(*) AS n FROM kg_documents", "-d", path).stdout == "n\n3\n"
    finally:
        os.chmod(path.parent, 0o755)
