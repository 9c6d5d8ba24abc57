"""What is derived can be dropped or spoiled at any time: ``rebuild`` makes it again, twice the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run, Vault
from rows import dump, natural

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.store.rebuild import DERIVED

NOTES = {
    "Mira.md": "---\ntype: person\naliases: [M. Holt]\ntags: [x]\n---\n# Mira\n\n"
    "boss:: [[Otto]]\n\nMet Pia Quist in 東京都.\n",
    "a/Otto.md": "Otto knows [[Mira]] and Pia Quist.\n\nage:: 41\n",
}

SPOILED = {
    "untouched": [],
    "dropped": [f"DROP TABLE {table}" for table in DERIVED],
    "garbled": [
        "UPDATE kg_counts SET n = n + 5",
        "INSERT INTO kg_counts(kind, item, n) VALUES ('tag', 'gone', 3)",
        "DELETE FROM kg_counts WHERE kind = 'facts'",
    ],
    "full text emptied": [
        "INSERT INTO kg_chunks_fts(kg_chunks_fts) VALUES ('delete-all')",
        "INSERT INTO kg_names_fts(kg_names_fts) VALUES ('delete-all')",
    ],
    "full text of other words": [
        "INSERT INTO kg_chunks_fts(rowid, title, heading, text) VALUES (1, 'zebra', 'zebra', 'zebra')",
        "INSERT INTO kg_names_fts(rowid, name) VALUES (1, 'zebra')",
    ],
}


@pytest.mark.parametrize("how", SPOILED)
def test_rebuild_makes_what_was_there(kb: KnowledgeBase, vault: Vault, how: str) -> None:
    kb.add([vault(NOTES)])
    before = natural(kb)
    for statement in SPOILED[how]:
        kb.connection.execute(statement)
    assert (kb.check() != []) if SPOILED[how] and how != "dropped" else True
    kb.rebuild()
    assert natural(kb) == before
    assert kb.check() == []
    matches = "SELECT count(*) FROM kg_chunks_fts WHERE kg_chunks_fts MATCH ?"
    assert [kb.connection.execute(matches, [word]).fetchone()[0] for word in ("pia", "zebra")] == [2, 0]
    first = dump(kb.connection)
    kb.rebuild()
    assert dump(kb.connection) == first


def test_rebuild_keeps_ids_of_what_is_not_derived(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault(NOTES)])
    tables = ("kg_documents", "kg_chunks", "kg_entities", "kg_aliases", "kg_triples", "kg_attributes", "kg_evidence")

    def rows() -> list[list[tuple[object, ...]]]:
        return [[tuple(row) for row in kb.connection.execute(f"SELECT * FROM {table}")] for table in tables]

    before = rows()
    kb.rebuild()
    assert rows() == before


def test_nothing_refers_to_a_derived_table(kb: KnowledgeBase) -> None:
    for (sql,) in kb.connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall():
        assert not any(f"REFERENCES {table}" in sql for table in DERIVED)


def test_the_command(run: Run, vault: Vault, tmp_path: Path) -> None:
    run("add", vault(NOTES))
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db") as kb:
        kb.connection.execute("UPDATE kg_counts SET n = 99")
    run("check", exit_code=1)
    assert run("rebuild").stdout == "Rebuilt.\n"
    assert run("check").stdout == "All is well.\n"
