"""What people who tried it first ran into."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.plugin import graphrag
from llm_graphrag.sources.ingest import Options


@pytest.fixture
def kb(tmp_path: Path):
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.set(embedding_model="")
        yield kb


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_does_not_block(kb: KnowledgeBase, vault: Path) -> None:
    (vault / "a.md").write_text("Ana.")
    os.mkfifo(vault / "pipe.md")
    report = kb.add([vault])
    assert report.new == 1
    assert [remark.path for remark in report.skipped] == ["pipe.md"]


def test_code_of_org_files_is_never_read_for_names(kb: KnowledgeBase, vault: Path) -> None:
    (vault / "keys.org").write_text("Press ~Ctrl-Quux~ twice.\n")
    kb.add([vault])
    (vault / "new.md").write_text("# Press\n\nThe Press is a note.\n")  # the older file is searched for its name
    (vault / "Quux.md").write_text("A key.")
    kb.add([vault])
    keys = {row[0] for row in kb.connection.execute("SELECT key FROM kg_entities")}
    assert not any("ctrl" in key for key in keys)
    assert kb.check() == []


def test_a_forgotten_name_stays_away_though_a_note_is_about_it(kb: KnowledgeBase, vault: Path) -> None:
    (vault / "Dome.md").write_text("---\naliases: [the roof]\n---\nCedar.")
    (vault / "Home.md").write_text("See [[Dome]].")
    kb.add([vault])
    assert kb.forget("the roof", never=True)["name"] == "Dome"
    (vault / "Home.md").write_text("See [[Dome]]. Again [[Dome]], and the Dome.")
    kb.add([vault])
    assert kb.connection.execute("SELECT count(*) FROM kg_triples").fetchone()[0] == 0
    entity = kb.connection.execute("SELECT id FROM kg_entities WHERE name = 'Dome'").fetchone()[0]
    mentioned = kb.connection.execute(
        """SELECT count(*) FROM kg_mentions m JOIN kg_chunks c ON c.id = m.chunk
           JOIN kg_documents d ON d.id = c.document WHERE m.entity = ? AND d.path = 'Home.md'""",
        [entity],
    )
    assert mentioned.fetchone()[0] == 0
    assert kb.check() == []


def test_a_dry_run_says_what_prune_would_remove(kb: KnowledgeBase, vault: Path) -> None:
    (vault / "a.md").write_text("Ana.")
    kb.add([vault])
    (vault / "a.md").unlink()
    report = kb.add([vault], Options(prune=True, dry_run=True))
    assert (report.planned, report.removed) == ([("remove", "a.md")], 1)
    assert kb.connection.execute("SELECT count(*) FROM kg_documents").fetchone()[0] == 1


def test_check_names_the_cause_of_an_interrupted_run_only(kb: KnowledgeBase, vault: Path) -> None:
    (vault / "a.md").write_text("---\nmood: calm\n---\nAna.")
    kb.add([vault])
    kb.connection.execute("UPDATE kg_documents SET scanned = 0")
    kb.connection.execute("DELETE FROM kg_counts")
    assert [problem.message for problem in kb.check()] == [
        "1 document of an interrupted run is unfinished: run add again"
    ]


def test_check_reads_a_file_that_cannot_be_written(tmp_path: Path, kb: KnowledgeBase, vault: Path, monkeypatch) -> None:
    (vault / "a.md").write_text("Ana.")
    kb.add([vault])
    kb.close()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    run = CliRunner().invoke(graphrag, ["check", "-d", str(tmp_path / "kb.db")])
    assert (run.exit_code, run.output) == (0, "All is well.\n")
