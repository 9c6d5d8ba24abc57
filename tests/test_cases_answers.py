"""Answers and citations that broke other tools: replies in odd shapes, places too coarse to check, empty graphs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, Vault
from scripted_model import (
    ScriptedModel,
    llm_user,  # noqa: F401 - a fixture
    scripted,  # noqa: F401 - a fixture
)

from llm_graphrag.answer.ask import Answer
from llm_graphrag.answer.reply import EMPTY, NO_ANSWER, NOTHING_HOLDS
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller

Scripted = Callable[..., ScriptedModel]


@pytest.fixture(autouse=True)
def unlogged(llm_user: Path) -> None:  # noqa: F811
    (llm_user / "logs-off").touch()


def ask(kb: KnowledgeBase, question: str, **options: Any) -> Answer:
    with Ledger.open(kb.path) as ledger:
        return kb.ask(question, caller=Caller("scripted", ledger), **options)


# -- 132: the model did not answer in the form that was asked for ------------------------------------------------

NOTE = "Ana Ruiz repairs clocks for Blue Harbour in Lisbon.\n"
WHERE = "Where does Ana Ruiz repair clocks?"


@pytest.mark.parametrize(
    ("reply", "why"),
    [("plain words", NOTHING_HOLDS), ("", EMPTY), ('```json\n{"points": []}\n```', NO_ANSWER)],
)
def test_132_a_reply_without_an_answer_is_said_to_be_one(
    kb: KnowledgeBase,
    vault: Vault,
    scripted: Scripted,  # noqa: F811
    reply: str,
    why: str,
) -> None:
    kb.add([vault({"note.md": NOTE})])
    scripted([reply])
    answer = ask(kb, WHERE)
    assert (answer.verdict, answer.answer) == ("abstained", "")
    assert answer.hint.startswith(why)
    assert [c.quote for c in answer.citations] == [NOTE.strip()]
    (step,) = kb.connection.execute("SELECT detail FROM kg_steps WHERE kind = 'answer'").fetchone()
    assert json.loads(step)["reply"] == reply


@pytest.mark.parametrize(
    ("reply", "verdict", "text", "missing"),
    [
        ("In Lisbon [1].", "answered", "In Lisbon [1].", ""),
        ("In Lisbon [1], I would say.", "answered", "In Lisbon [1], I would say.", ""),
        ("```\nIn Lisbon [1].\n```", "answered", "In Lisbon [1].", ""),
        (
            '```json\n{"answer": "In Lisbon [1].", "missing": "since when"}\n```',
            "partial",
            "In Lisbon [1].",
            "since when",
        ),
        ('{"answer": "In Lisbon [1]."', "answered", "In Lisbon [1].", ""),
        ("In Lisbon [1]. And in Porto.", "partial", "In Lisbon [1]. And in Porto.", ""),
        ("In Lisbon [1].\nNOT IN THE NOTES: since when", "partial", "In Lisbon [1].", "since when"),
    ],
)
def test_132_plain_text_is_text_and_what_is_missing_is_said(
    kb: KnowledgeBase,
    vault: Vault,
    scripted: Scripted,  # noqa: F811
    reply: str,
    verdict: str,
    text: str,
    missing: str,
) -> None:
    kb.add([vault({"note.md": NOTE})])
    scripted([reply])
    answer = ask(kb, WHERE)
    assert (answer.verdict, answer.answer, answer.missing) == (verdict, text, missing)


# -- 134: a citation leads to the place -------------------------------------------------------------------------

CLOCK = "Ana Ruiz repaired the harbour clock in 1999."
LONG = ("Filler sentence about tides. " * 400) + f"\n\n{CLOCK}\n\n" + ("More filler on ropes. " * 400)
FILES = {
    "long.md": LONG,
    "again.md": f"# Diary\n\nWind.\n{CLOCK}\n",
    "fm.md": '---\nemployer: "[[Blue Harbour]]"\n---\n',
    "rows.csv": "name,repaired\nAna Ruiz,harbour clock\n",
}


@pytest.fixture
def files(run: Run, vault: Vault) -> Run:
    folder = vault(FILES)
    run("add", folder)
    run("add", folder / "rows.csv")
    return run


def number(prompt: str, name: str) -> str:
    found = re.search(rf"<passage (\d+) \w+>\n\(from {name}[^\n]*\)\n(?:(?!</passage).)*clock", prompt, re.DOTALL)
    assert found is not None, prompt
    return f"[{found[1]}]"


def test_134_the_same_fact_in_two_notes_and_a_row(files: Run, scripted: Scripted, tmp_path: Path) -> None:  # noqa: F811
    """One sentence of a long note; again in another note; the cell of a row."""

    def reply(prompt: str, system: str | None) -> str:
        notes = number(prompt, "vault/long.md") + number(prompt, "vault/again.md")
        row = number(prompt, "rows.csv/")
        return f"Ana Ruiz repaired the harbour clock in 1999 {notes}. The table has the harbour clock, too {row}."

    scripted(reply)
    answer = json.loads(files("ask", "When did Ana Ruiz repair the harbour clock?", "-m", "scripted", "--json").stdout)
    cited = {c["uri"].split("/")[-1].split("-")[0]: c for c in answer["citations"]}
    assert set(cited) == {"long.md", "again.md", "row"}
    for name in ("long.md", "again.md"):
        citation = cited[name]
        lines = (tmp_path / "vault" / name).read_text("utf-8").splitlines()
        assert (citation["quote"], lines[citation["line"] - 1]) == (CLOCK, CLOCK)
    assert (cited["row"]["row"], cited["row"]["column"], cited["row"]["quote"]) == (
        2,
        "repaired",
        "repaired: harbour clock",
    )
    printed = files("ask", "When did Ana Ruiz repair the harbour clock?", "-m", "scripted").stdout
    assert f"[{cited['long.md']['number']}] vault/long.md:3\n    {CLOCK}\n" in printed
    assert f"[{cited['row']['number']}] {cited['row']['uri']} (row 2, column repaired)\n    repaired: harb" in printed


def test_134_a_fact_of_the_frontmatter(files: Run, scripted: Scripted) -> None:  # noqa: F811
    scripted(lambda prompt, system: f"Blue Harbour is the employer {fm(prompt)}.")
    printed = files("ask", "Who is the employer in fm?", "-m", "scripted").stdout
    assert 'vault/fm.md:2\n    employer: "[[Blue Harbour]]"\n' in printed


def fm(prompt: str) -> str:
    found = re.search(r"<passage (\d+) \w+>\n\(from vault/fm\.md", prompt)
    assert found is not None
    return f"[{found[1]}]"


def test_134_without_a_model_the_places_are_the_same(files: Run) -> None:
    printed = files("ask", "When did Ana Ruiz repair the harbour clock?").stdout
    assert f"vault/long.md:3\n    {CLOCK}\n" in printed
    assert "(row 2, column repaired)\n    repaired: harbour clock\n" in printed


# -- 135: graphs with next to nothing in them ---------------------------------------------------------------------


@pytest.mark.parametrize("question", ["", " ", "?", "qqqqzzzz", "Hm"])
def test_135_every_question_is_answered_or_said_to_have_found_nothing(
    run: Run,
    vault: Vault,
    scripted: Scripted,  # noqa: F811
    question: str,
) -> None:
    model = scripted('{"entities": [{"name": "Hm"}], "triples": []}')
    run("add", vault({"note.md": "Hm.\n"}))
    with_model = run("ask", question, "-m", "scripted", "--no-vectors").stdout
    assert "Searched 1 passage of 1 note " in with_model
    if question == "Hm":
        assert with_model.startswith(f"{NO_ANSWER} Nearest to the question is:\n[1] vault/note.md:1\n    Hm.\n")
    else:
        assert with_model == run("ask", question, "--no-vectors").stdout
        assert model.calls == []


def test_135_entities_without_facts_and_without_types(
    kb: KnowledgeBase,
    vault: Vault,
    scripted: Scripted,  # noqa: F811
) -> None:
    kb.add([vault({"a.md": "Ana Ruiz. Ben Okri. Ana Ruiz met Ben Okri.", "b.md": "[[Ana Ruiz]]"})])
    kb.connection.execute("DELETE FROM kg_triples")
    kb.connection.execute("DELETE FROM kg_evidence")
    kb.connection.execute("UPDATE kg_entities SET type = ''")
    scripted(
        lambda prompt, system: f"Ana Ruiz met Ben Okri [{1 if prompt.index('a.md') < prompt.index('b.md') else 2}]."
    )
    answer = ask(kb, "Whom did Ana Ruiz meet?")
    assert (answer.verdict, answer.facts) == ("answered", ())
    assert [c.quote for c in answer.citations] == ["Ana Ruiz met Ben Okri."]
