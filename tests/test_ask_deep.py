# ruff: noqa: F811 - pytest hands fixtures over by the names of arguments
"""``ask --deep``: a model reads what the question needs, once, and what it read stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from extraction_model import notes, say
from scripted_model import ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Budget, Ledger
from llm_graphrag.models import Caller

Make = Callable[..., ScriptedModel]
QUESTION = "Whom does Mira know, and where do they live?"


def model(prompt: str, system: str | None) -> str:
    """Reads windows, and answers questions from the first passage."""
    return say(prompt) if "List as JSON" in (system or "") else "Mira knows Jonas [1]."


def ask(kb: KnowledgeBase, question: str = QUESTION) -> tuple[int, int]:
    """How many calls were for reading, and how many for answering."""
    with Ledger.open(kb.path) as ledger:
        kb.ask(question, caller=Caller("scripted", ledger, log=False), deep=True)
        rows = ledger.connection.execute(
            "SELECT purpose, count(*) FROM kg_ledger WHERE run = ? GROUP BY purpose", [ledger.run]
        )
        counted = dict(rows.fetchall())
    return counted.get("extract", 0), counted.get("answer", 0)


def vault(folder: Path, number: int, padding: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in notes(number, padding).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_four_calls_at_most_and_none_for_the_same_question(tmp_path: Path, scripted: Make) -> None:
    scripted(model)
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.add([vault(tmp_path / "v", 60, padding=25)])
        kb.set(window_tokens=300)
        read, answered = ask(kb)
        assert 1 <= read <= 4 and answered == 1
        assert kb.schema.name == "general"
        statements = kb.connection.execute("SELECT count(*) FROM kg_evidence WHERE origin = 'llm'").fetchone()[0]
        assert statements > 0
        for _ in range(2):
            assert ask(kb) == (0, 1)
        assert ask(kb, QUESTION.upper()) == (0, 1)
        assert kb.check() == []


def test_what_was_added_since_is_read(tmp_path: Path, scripted: Make) -> None:
    scripted(model)
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.add([vault(tmp_path / "v", 5)])
        assert ask(kb) == (1, 1)
        (tmp_path / "v" / "new.md").write_text("# Mira again\n\nMira knows Bela. Bela lives in Graz.\n")
        kb.add([tmp_path / "v"])
        assert ask(kb) == (1, 1)
        assert ask(kb) == (0, 1)


def test_wishes_of_the_model_are_kept(tmp_path: Path, scripted: Make) -> None:
    def wishes(prompt: str, system: str | None) -> str:
        if "List as JSON" not in (system or ""):
            return "Mira knows Jonas [1]."
        wish = {
            "kind": "relation", "name": "rains_on", "description": "Weather.", "confidence": 0.9, "chunk": 1,
            "quote": "Mira knows Jonas.", "instead_of": None,
        }  # fmt: skip
        return json.dumps({"entities": [], "attributes": [], "triples": [], "proposals": [wish]})

    scripted(wishes)
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.add([vault(tmp_path / "v", 1)])
        ask(kb)
        rows = kb.connection.execute("SELECT kind, name, status FROM kg_proposals").fetchall()
        assert [tuple(row) for row in rows] == [("relation", "rains_on", "muted")]


def test_four_calls_at_most_of_a_model_that_answers_badly(tmp_path: Path, scripted: Make) -> None:
    def bad(prompt: str, system: str | None) -> str:
        return "[" * 100_000 if "List as JSON" in (system or "") else "Mira knows Jonas [1]."

    scripted(bad)
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.add([vault(tmp_path / "v", 60, padding=25)])
        kb.set(window_tokens=300)
        read, answered = ask(kb)
        assert 1 <= read <= 4 and answered == 1


def test_what_an_earlier_run_planned_and_did_not_come_to_is_read(tmp_path: Path, scripted: Make) -> None:
    scripted(model)
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb, Ledger.open(kb.path) as ledger:
        kb.add([vault(tmp_path / "v", 60, padding=25)])
        kb.set(window_tokens=300)
        ledger.set_budget(Budget.parse("1tok"), ledger.run_scope)
        assert kb.extract(Caller("scripted", ledger, log=False)).stopped == "budget"
        planned = kb.connection.execute("SELECT count(*) FROM kg_extractions WHERE status = 'planned'").fetchone()[0]
        assert planned > 4
        read, answered = ask(kb)
        assert 1 <= read <= 4 and answered == 1
        assert ask(kb) == (0, 1)


def test_a_window_that_fails_is_tried_three_times_and_then_left(tmp_path: Path, scripted: Make) -> None:
    scripted(lambda prompt, system: "no JSON" if "List as JSON" in (system or "") else "Mira knows Jonas [1].")
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.add([vault(tmp_path / "v", 3)])
        assert [ask(kb) for _ in range(4)] == [(1, 1), (1, 1), (1, 1), (0, 1)]
