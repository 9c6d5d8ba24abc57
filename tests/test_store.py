"""The file itself: what opens, what is refused and how, and what other tools see in it."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run, Vault
from rows import dump
from sqlite_utils import Database

from llm_graphrag.knowledge_base import KnowledgeBase, KnowledgeBaseError
from llm_graphrag.settings import Settings
from llm_graphrag.store import migrations
from llm_graphrag.store.connection import open_in_memory, open_to_read, open_to_write, transaction
from llm_graphrag.store.settings import get_setting, put_setting

# -- migrations ----------------------------------------------------------------------


def test_migrations_are_applied_once(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    KnowledgeBase.open(path, create=True).close()
    with KnowledgeBase.open(path) as kb:
        before, changes = dump(kb.connection), kb.connection.total_changes
        migrations.apply(kb.connection)
        assert (dump(kb.connection), kb.connection.total_changes) == (before, changes)
        assert migrations.applied(kb.connection) == set(migrations.NAMES)


def test_statements_of_the_schema_are_split_at_their_ends() -> None:
    found = migrations.statements(migrations.sql("0001_initial"))
    assert all(sqlite3.complete_statement(statement) for statement in found)
    assert len([s for s in found if "CREATE TRIGGER" in s]) == 3
    assert migrations.statements("SELECT 1;\n-- a; b\nSELECT 2;\n") == ["SELECT 1;", "-- a; b\nSELECT 2;"]


def test_migrations_share_the_file_with_those_of_others(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    db = Database(path)
    db["_sqlite_migrations"].insert(
        {"migration_set": "llm", "name": "m001", "applied_at": "2026"}, pk=("migration_set", "name")
    )
    db["mine"].insert({"id": 1, "text": "kept"})
    db.close()
    with KnowledgeBase.open(path, create=True) as kb:
        assert kb.totals()["documents"] == 0
        assert [tuple(row) for row in kb.connection.execute("SELECT * FROM mine")] == [(1, "kept")]
        assert kb.check() == []


def newer(path: Path) -> None:
    KnowledgeBase.open(path, create=True).close()
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO _sqlite_migrations(migration_set, name, applied_at) VALUES ('graphrag', '0999_later', '2030')"
        )


@pytest.mark.parametrize("open_", [open_to_read, open_to_write])
def test_a_newer_version_is_refused(tmp_path: Path, open_: object) -> None:
    path = tmp_path / "kb.db"
    newer(path)
    with pytest.raises(
        ValueError, match=r"newer version of llm-graphrag \(it has 0999_later\). Upgrade with: llm install"
    ):
        open_(path)  # type: ignore[operator]


def test_a_newer_version_is_said_in_one_line(tmp_path: Path, run: Run, vault: Vault) -> None:
    path = tmp_path / "kb.db"
    newer(path)
    for command in (["status"], ["add", vault({"a.md": "x"})], ["check"], ["schema", "show"]):
        result = run(*command, "-d", path, exit_code=1)
        assert (
            result.stderr.startswith("Error: ") and "newer version" in result.stderr and result.stderr.count("\n") == 1
        )


# -- what is no knowledge base ----------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("ask", "tea"), ("search", "tea"), ("status",), ("check",), ("rebuild",), ("embed",), ("remove", "x"),
        ("forget", "x"), ("entity", "x"), ("link", "x"), ("path", "x", "y"), ("follow", "x", "*"),
        ("query", "SELECT 1"), ("extract",), ("proposals", "list"), ("merges", "list"), ("history",), ("spend",),
        ("export", "out.csv"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["other", "empty"])
def test_no_command_writes_into_the_file_of_another_program(
    tmp_path: Path, run: Run, command: tuple[str, ...], kind: str
) -> None:
    path = tmp_path / "shop.db"
    path.touch()
    if kind == "other":
        Database(path)["orders"].insert({"id": 1})
    before = path.read_bytes()
    result = run(*command, "-d", path, exit_code=1)
    assert "is not a knowledge base. Make one with: llm graphrag add FOLDER -d" in result.stderr
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir() if found.name.startswith("shop")] == ["shop.db"]


def test_a_file_with_tables_of_our_names_is_refused(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "shop.db"
    Database(path)["kg_entities"].insert({"id": 1})
    assert "another program's: table kg_entities already exists. Take another file with -d" in (
        run("init", "-d", path, exit_code=1).stderr
    )


def test_other_files_are_refused(tmp_path: Path, run: Run) -> None:
    text = tmp_path / "text.db"
    text.write_text("no database, but quite a long text " * 99)
    other = tmp_path / "other.db"
    Database(other)["mine"].insert({"id": 1})
    empty = tmp_path / "empty.db"
    empty.write_bytes(b"")
    for path, message in (
        (tmp_path / "missing.db", "There is no knowledge base at"),
        (text, "cannot be read: file is not a database"),
        (other, "is not a knowledge base. Make one with: llm graphrag add FOLDER -d"),
        (empty, "is not a knowledge base"),
        (tmp_path, "is a folder; name the file of a knowledge base"),
    ):
        with pytest.raises(ValueError, match=message.replace("(", r"\(")):
            KnowledgeBase.open(path, readonly=True)
    assert "There is no knowledge base at" in run("status", exit_code=1).stderr
    assert "is not a knowledge base" in run("status", "-d", other, exit_code=1).stderr
    with pytest.raises(KnowledgeBaseError, match="cannot be opened for writing: file is not a database"):
        KnowledgeBase.open(text)
    with pytest.raises(KnowledgeBaseError, match="Make one with: llm graphrag add FOLDER"):
        KnowledgeBase.open(tmp_path / "missing.db")
    assert not (tmp_path / "missing.db").exists()
    assert other.stat().st_size > 0 and [row["id"] for row in Database(other)["mine"].rows] == [1]


def test_a_folder_of_its_own_is_made(tmp_path: Path) -> None:
    KnowledgeBase.open(tmp_path / "a" / "b" / "kb.db", create=True).close()
    assert (tmp_path / "a" / "b" / "kb.db").is_file()


@pytest.mark.parametrize("name", ["with space.db", "100%.db", "what?.db", "a#b.db", "ø.db"])
def test_odd_file_names(tmp_path: Path, vault: Vault, name: str) -> None:
    if sys.platform == "win32" and "?" in name:
        pytest.skip("not a name there")
    with KnowledgeBase.open(tmp_path / name, create=True) as kb:
        kb.add([vault({"a.md": "x"})])
    with KnowledgeBase.open(tmp_path / name, readonly=True) as kb:
        assert kb.totals()["documents"] == 1
    assert (tmp_path / name).is_file()


# -- reading -------------------------------------------------------------------------------


def test_a_reader_writes_nothing(tmp_path: Path, vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({"a.md": "[[b]]"})])
    with KnowledgeBase.open(kb.path, readonly=True) as reader:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.connection.execute("DELETE FROM kg_documents")
        assert reader.totals()["documents"] == 1
        with transaction(kb.connection):
            kb.connection.execute("DELETE FROM kg_documents")
            assert reader.totals()["documents"] == 1
        assert reader.totals()["documents"] == 0


LOOK = """
import os, sys
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources import ingest
if os.getuid() == 0:  # to whom nothing is forbidden
    os.setgid(65534)
    os.setuid(65534)
with KnowledgeBase.open(sys.argv[1], readonly=True) as kb:
    print(kb.totals()["documents"], [row[0] for row in kb.connection.execute("SELECT text FROM kg_chunks")])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_080_reading_in_a_folder_that_cannot_be_written(tmp_path: Path, vault: Vault) -> None:
    folder = tmp_path / "readonly"
    folder.mkdir()
    with KnowledgeBase.open(folder / "kb.db", create=True) as kb:
        kb.add([vault({"a.md": "Mira mends kettles."})])
    for path in (*folder.iterdir(), folder):
        path.chmod(path.stat().st_mode & ~stat.S_IWUSR & ~stat.S_IWGRP & ~stat.S_IWOTH)
    parents = [parent for parent in folder.parents if parent.stat().st_uid == os.getuid() and parent != Path("/")]
    modes = {parent: parent.stat().st_mode for parent in parents}
    try:
        for parent in parents:
            parent.chmod(modes[parent] | stat.S_IXOTH)
        done = subprocess.run([sys.executable, "-c", LOOK, folder / "kb.db"], capture_output=True, check=False)
    finally:
        for parent, mode in modes.items():
            parent.chmod(mode)
        folder.chmod(0o755)
    assert done.stdout.decode().strip() == "1 ['Mira mends kettles.']", done.stderr.decode()
    assert sorted(path.name for path in folder.iterdir()) == ["kb.db"]


# -- transactions, foreign keys, settings ------------------------------------------------------


def test_a_transaction_is_all_or_nothing_and_nests() -> None:
    connection = open_in_memory()
    with pytest.raises(ZeroDivisionError), transaction(connection):
        put_setting(connection, "a", 1)
        with transaction(connection):
            put_setting(connection, "b", 2)
        assert connection.in_transaction
        1 / 0  # noqa: B018
    assert not connection.in_transaction
    assert get_setting(connection, "a") is None and get_setting(connection, "b") is None


def test_foreign_keys_are_on() -> None:
    connection = open_in_memory()
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        connection.execute("INSERT INTO kg_tags(document, tag) VALUES (99, 'x')")


def test_ids_of_documents_and_entities_are_not_used_again(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"a.md": "[[b]]"})])
    tables = ("kg_documents", "kg_chunks", "kg_entities", "kg_triples")
    before = [kb.connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0] for table in tables]
    kb.remove(["vault"])
    kb.add([vault({"a.md": "[[b]]"})])
    after = [kb.connection.execute(f"SELECT min(id) FROM {table}").fetchone()[0] for table in tables]
    assert all(new > old for old, new in zip(before, after, strict=True))


def test_settings_have_defaults_and_are_kept(tmp_path: Path) -> None:
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        assert kb.settings == Settings()
        kb.set(chunk_tokens=99)
        with pytest.raises(TypeError, match="no_such_setting"):
            kb.set(no_such_setting=1)
    with KnowledgeBase.open(tmp_path / "kb.db") as kb:
        assert kb.settings.chunk_tokens == 99
        kb.set(chunk_tokens=Settings().chunk_tokens)
        assert kb.settings == Settings()


def test_another_chunk_size_reads_every_note_again(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "A sentence of Mira Holt. " * 100, "b.md": "short"})
    kb.add([folder])
    before = kb.totals()["chunks"]
    kb.set(chunk_tokens=50)
    assert kb.add([folder]).changed == 2
    assert kb.totals()["chunks"] > before * 2
    assert kb.check() == []


@pytest.mark.parametrize("value", [None, 0, "text", ["a", "ø"], {"b": 1, "a": [True]}])
def test_a_setting_is_any_json(value: object) -> None:
    connection = open_in_memory()
    put_setting(connection, "key", "old")
    put_setting(connection, "key", value)
    assert get_setting(connection, "key", "default") == value
    assert get_setting(connection, "missing", "default") == "default"


# -- the public face ---------------------------------------------------------------------------------


def test_tables_and_views_read_well_from_outside(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add(
        [
            vault(
                {
                    "Mira.md": "---\ntype: person\n---\nboss:: [[Otto]]\nage:: 40\n",
                    "n.md": "Mira came. boss of [[Mira]].\n",
                }
            )
        ]
    )
    db = Database(kb.path)
    assert {"kg_facts", "kg_entity_facts", "kg_document_entities", "kg_review"} <= set(db.view_names())
    facts = {(row["head"], row["relation"], row["tail"]): row for row in db["kg_facts"].rows}
    assert set(facts) == {("Mira", "boss", "Otto"), ("Mira", "age", "40"), ("n", "links_to", "Mira")}
    row = facts["Mira", "boss", "Otto"]
    assert (row["kind"], row["head_type"], row["tail_type"], row["evidence"], row["quote"], row["uri"]) == (
        "triple", "person", "", 1, "boss:: [[Otto]]", "vault/Mira.md",
    )  # fmt: skip
    assert row["confidence"] == 1.0
    mira, otto = (
        db.execute("SELECT id FROM kg_entities WHERE name = ?", [name]).fetchone()[0] for name in ("Mira", "Otto")
    )
    neighbours = {
        (r["direction"], r["relation"], r["other"]) for r in db["kg_entity_facts"].rows_where("entity = ?", [mira])
    }
    note = db.execute("SELECT entity FROM kg_documents WHERE path = 'n.md'").fetchone()[0]
    assert neighbours == {("out", "boss", otto), ("in", "links_to", note)}
    document = db.execute("SELECT id FROM kg_documents WHERE path = 'n.md'").fetchone()[0]
    [held] = db["kg_document_entities"].rows_where("document = ?", [document])
    assert (held["entity"], held["mentions"]) == (mira, 2)
    assert list(db["kg_review"].rows) == []
    others = {table for table in db.table_names() if not table.startswith(("kg_", "_sqlite", "sqlite_"))}
    assert others <= {"collections", "embeddings"}  # llm's, so that `llm similar` works on the file
    db.close()


def test_old_sqlite_can_read_the_schema() -> None:
    text = migrations.sql("0001_initial") + migrations.sql("derived")
    for word in ("STRICT", "RETURNING", "->>"):
        assert word not in text
