"""Conversations of llm's own log, of both generations of its tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Run
from rows import dump, facts
from source_files import SHARED, metadata, needs_shared, texts, titles

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources.rows.open import RowOptions
from llm_graphrag.sources.stale import stale

OLD = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
  conversation_id TEXT, datetime_utc TEXT);
INSERT INTO conversations VALUES ('c1', 'Who mended the clock?', 'm1');
INSERT INTO responses VALUES
  ('r1', 'm1', 'Who mended the clock?', 'Be brief.', 'Ana Ruiz did.', 'c1', '2024-01-01T10:00:00.5'),
  ('r2', 'm2', 'And the tower?', NULL, '# Towers

```python
# unclosed', 'c1', '2024-01-01T10:05:00'),
  ('r3', 'm1', 'Alone', NULL, NULL, NULL, '2024-01-02T10:00:00');
"""
NEW = """
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
  datetime_utc TEXT);
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, text TEXT, payload TEXT);
INSERT INTO threads VALUES ('c1', 'Who mended the clock?'), ('t2', '');
INSERT INTO turns VALUES
  ('u1', 'c1', 'h1', 'h2', 'm2', '2026-01-01T09:00:00+00:00'),
  ('u2', 't2', 'h4', 'h7', 'm2', '2026-01-02 09:00:00+00:00');
INSERT INTO messages VALUES ('h0', NULL, 'system'), ('h1', 'h0', 'user'), ('h2', 'h1', 'assistant'),
  ('h4', 'h2', 'user'), ('h5', 'h4', 'assistant'), ('h6', 'h5', 'tool'), ('h7', 'h6', 'assistant');
INSERT INTO parts(message_hash, position, type, text, payload) VALUES
  ('h0', 0, 'text', 'Be brief.', NULL), ('h1', 0, 'text', 'And the bell?', NULL),
  ('h2', 1, 'text', 'it.', NULL), ('h2', 0, 'text', 'Ben rang ', NULL),
  ('h4', 0, 'text', NULL, '{"text_ref": [{"literal": "Sum "}, {"fragment": 3}, {"literal": "up"}]}'),
  ('h5', 0, 'text', 'Looking. ', NULL), ('h5', 1, 'tool_call', NULL, '{}'), ('h6', 0, 'tool_result', 'secret', NULL),
  ('h7', 0, 'text', 'Done.', NULL);
"""


def write(path: Path, *scripts: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for script in scripts:
            connection.executescript(script)
    return path


def add(kb: KnowledgeBase, path: Path) -> tuple[int, int, int]:
    report = kb.add(["llm-logs"], rows=RowOptions(logs=path))
    return report.new, report.changed, report.unchanged


def test_old_tables(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert add(kb, write(tmp_path / "logs.db", OLD)) == (2, 0, 0)
    assert texts(kb) == {
        "llm-logs/c1": "---\nmodel:\n  - m1\n  - m2\n"
        'started: "2024-01-01T10:00:00"\nended: "2024-01-01T10:05:00"\n---\n\n'
        "# Who mended the clock?\n\n"
        "## Exchange 1\n\n### Prompt\n\nWho mended the clock?\n\n### Answer\n\nAna Ruiz did.\n\n"
        "## Exchange 2\n\n### Prompt\n\nAnd the tower?\n\n### Answer\n\n#### Towers\n\n```python\n# unclosed\n```\n",
        "llm-logs/r3": '---\nmodel: m1\nstarted: "2024-01-02T10:00:00"\nended: "2024-01-02T10:00:00"\n---\n\n'
        "# Alone\n\n## Exchange 1\n\n### Prompt\n\nAlone\n",
    }
    kinds = kb.connection.execute("SELECT DISTINCT kind FROM kg_documents").fetchall()
    assert [row[0] for row in kinds] == ["conversation"]
    assert metadata(kb, "llm-logs/c1")["exchanges"] == 2
    assert ("Alone", "model", "m1") in facts(kb)
    assert kb.check() == []


def test_new_tables(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert add(kb, write(tmp_path / "logs.db", NEW)) == (2, 0, 0)
    found = texts(kb)
    assert found["llm-logs/c1"].endswith("### Prompt\n\nAnd the bell?\n\n### Answer\n\nBen rang it.\n")
    assert found["llm-logs/t2"].endswith(
        "# Sum up\n\n## Exchange 1\n\n### Prompt\n\nSum up\n\n### Answer\n\nLooking. Done.\n"
    )
    assert not any(word in text for text in found.values() for word in ("secret", "Be brief"))


def test_a_conversation_that_goes_on_in_the_new_tables(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = write(tmp_path / "logs.db", OLD)
    add(kb, path)
    write(path, NEW)
    assert list(stale(kb.connection).values()) == ["its row has changed since it was read"]
    assert add(kb, path) == (1, 1, 1)
    text = texts(kb)["llm-logs/c1"]
    places = [text.index(words) for words in ("mended", "the tower?", "the bell?")]
    assert places == sorted(places) and text.count("## Exchange") == 3
    before = dump(kb.connection)
    assert add(kb, path) == (0, 0, 3)
    assert dump(kb.connection) == before
    assert kb.check() == []


def test_a_hit_names_the_exchange(kb: KnowledgeBase, tmp_path: Path) -> None:
    add(kb, write(tmp_path / "logs.db", OLD, NEW))
    hit = kb.search("who rang the bell?")[0]
    assert (hit.uri, hit.heading) == ("llm-logs/c1", "Who mended the clock? > Exchange 3 > Prompt")


def test_the_log_of_llm_is_the_default(run: Run, tmp_path: Path) -> None:
    assert "There is no log of llm at" in run("add", "llm-logs", exit_code=1).output
    (tmp_path / "user").mkdir(exist_ok=True)
    write(tmp_path / "user" / "logs.db", OLD)
    assert "2 new" in run("add", "llm-logs").stdout
    assert "2 unchanged" in run("add", "llm-logs").stdout
    assert "Removed 2 documents" in run("remove", "llm-logs").stdout


def test_a_folder_of_that_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llm-logs").mkdir()
    (tmp_path / "llm-logs" / "a.md").write_text("Ana")
    monkeypatch.chdir(tmp_path)
    assert "1 new" in run("add", "./llm-logs").stdout


@pytest.mark.parametrize(
    "script", ["CREATE TABLE other (x)", "CREATE TABLE responses (x); CREATE TABLE conversations (y)"]
)
def test_a_file_that_is_no_log(kb: KnowledgeBase, tmp_path: Path, script: str) -> None:
    report = kb.add(["llm-logs"], rows=RowOptions(logs=write(tmp_path / "logs.db", script)))
    assert [remark.message[:12] for remark in report.skipped] == ["not a log of"]
    assert kb.totals()["documents"] == 0


@needs_shared
@pytest.mark.parametrize(("name", "conversations", "exchanges"), [
    ("logs-llm-0.15.db", 4, 6), ("logs.db", 4, 6), ("logs-mixed.db", 8, 12),
])  # fmt: skip
def test_shared_logs(kb: KnowledgeBase, name: str, conversations: int, exchanges: int) -> None:
    assert add(kb, SHARED / name) == (conversations, 0, 0)
    assert sum(text.count("## Exchange") for text in texts(kb).values()) == exchanges
    assert {"Who runs Kestrel Labs?", "我的咖啡机是什么牌子?", "<script>alert(1)</script>"} <= set(titles(kb).values())
    assert kb.check() == []
    assert add(kb, SHARED / name) == (0, 0, conversations)
