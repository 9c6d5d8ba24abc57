"""``llm graphrag merges``: what it prints, as text and as JSON, and its errors in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run, Vault

NOTES = {
    "Ana Ruiz.md": "---\ntype: person\nborn: 1971\n---\nAna Ruiz builds boats.\n\nemployer:: [[Kestrel Works]]\n",
    "log.md": "We met [[A. Ruiz]] at the harbour.\n\nguest:: [[A. Ruiz]]\n",
    "plan.md": "Ask [[A. Ruiz]], that is [[Ana Ruiz]].\n",
    "firm.md": "The [[Kestrel-Works]] and [[Otto Lund]].\n",
}


@pytest.fixture
def ready(run: Run, vault: Vault) -> Run:
    run("add", vault(NOTES))
    return run


def lines(run: Run, *arguments: object, exit_code: int = 0) -> list[str]:
    return [line.rstrip() for line in run("merges", *arguments, exit_code=exit_code).output.splitlines()]


def test_from_the_suggestion_to_the_undo(ready: Run) -> None:
    assert lines(ready, "list") == [
        "No pair waits for a decision.", "Look for names that are alike with: llm graphrag merges suggest",
    ]  # fmt: skip
    found = lines(ready, "suggest")
    assert found[0] == "   1  Kestrel Works = Kestrel-Works"
    assert found[1].startswith("      suggested; doubt 0.0")
    assert found[1].endswith("; spaces, hyphens, accents or the spelling of letters differ")
    assert found[2] == "   2  Ana Ruiz (person) = A. Ruiz"
    assert found[-1] == "Both side by side: llm graphrag merges show NUMBER"
    assert lines(ready, "list") == found
    assert lines(ready, "approve", 1, 2, "--actor", "me", "--note", "one firm") == [
        "Joined: Kestrel Works = Kestrel-Works.",
        "Joined: Ana Ruiz (person) = A. Ruiz. 1 fact fewer, which both had.",
        "To take it back: llm graphrag merges undo 1 2",
    ]
    assert lines(ready, "list")[0] == "No pair waits for a decision."
    assert "Also there: 2 approved (--status)." in lines(ready, "list")
    [approved] = [line for line in lines(ready, "list", "--status", "approved") if "by me on" in line][:1]
    assert "approved; doubt" in approved
    assert ready("entity", "A. Ruiz").output.startswith("Ana Ruiz  (person)\nAlso called: A. Ruiz\n")
    assert lines(ready, "undo", 2, "--actor", "you") == [
        "Taken back: Ana Ruiz (person) = A. Ruiz is suggested again. 1 fact more."
    ]
    assert [line.split("  ")[-2] + "  " + line.split("  ")[-1] for line in lines(ready, "log")] == [
        "you  undo Ana Ruiz (person) = A. Ruiz",
        "me  approve Ana Ruiz (person) = A. Ruiz, taken back by 3: one firm",
        "me  approve Kestrel Works = Kestrel-Works: one firm",
    ]
    assert lines(ready, "reject", 2)[0] == "Never to be joined: Ana Ruiz (person) = A. Ruiz."
    assert lines(ready, "suggest") == ["No two entities are named so much alike that they may be one."]
    assert ready("check").output == "All is well.\n"


def test_both_sides_are_shown(ready: Run) -> None:
    ready("merges", "suggest")
    shown = lines(ready, "show", 2)
    assert shown[0] == "Ana Ruiz (person) = A. Ruiz"
    assert shown[3:9] == [
        "Kept: Ana Ruiz (person)",
        "  notes: vault/Ana Ruiz.md",
        "  vault/Ana Ruiz.md:5",
        "    Ana Ruiz builds boats.",
        "  vault/plan.md:1",
        "    Ask [[A. Ruiz]], that is [[Ana Ruiz]].",
    ]
    assert "  born: 1971" in shown
    assert "  employer → Kestrel Works" in shown
    assert "Merged: A. Ruiz" in shown
    assert "  ← guest log" in shown
    assert shown[-3:] == [
        "Stated of both, one fact if they are joined:",
        "  ← links to plan  (2 times)",
        "Decide: llm graphrag merges approve|reject 2",
    ]
    ready("merges", "approve", 2)
    assert "  merged with: A. Ruiz" in lines(ready, "show", 2)


def test_by_hand(ready: Run) -> None:
    assert lines(ready, "by-hand", "Ana Ruiz", "Otto Lund")[0] == "Joined: Ana Ruiz (person) = Otto Lund."
    assert lines(ready, "by-hand", "Kestrel Works", "log", "--never")[0] == "Never to be joined: Kestrel Works = log."
    assert lines(ready, "list", "--status", "all", "--limit", 1)[-1] == "… and 1 more; --limit 0 lists all"
    ready("remove", "vault/firm.md")
    shown = lines(ready, "list", "--status", "approved")
    assert shown[0] == "   1  Ana Ruiz (person) = otto lund"
    assert shown[1].startswith("      approved; by hand; by ")
    assert shown[1].endswith("; not in force: not both are there")
    assert "  No note names it any more; the decision holds for when one does." in lines(ready, "show", 1)


def test_json(ready: Run) -> None:
    found = json.loads(ready("merges", "suggest", "--json").output)
    assert [(row["kept"], row["merged"], row["status"], row["joined"]) for row in found] == [
        ("Kestrel Works", "Kestrel-Works", "suggested", False), ("Ana Ruiz", "A. Ruiz", "suggested", False),
    ]  # fmt: skip
    assert json.loads(ready("merges", "list", "--json").output) == found
    shown = json.loads(ready("merges", "show", "2", "--json").output)
    assert shown["kept_entity"]["passages"][0]["name"] == "Ana Ruiz"
    assert shown["shared"] == [
        {"relation": "links_to", "direction": "in", "other": "plan", "other_id": shown["shared"][0]["other_id"],
         "evidence": 2}
    ]  # fmt: skip
    [done] = json.loads(ready("merges", "approve", "2", "--json").output)
    assert (done["action"], done["status"], done["before"], done["facts"]) == ("approve", "approved", "suggested", -1)
    [undone] = json.loads(ready("merges", "undo", "2", "--json").output)
    assert (undone["status"], undone["facts"]) == ("suggested", 1)
    hand = json.loads(ready("merges", "by-hand", "Ana Ruiz", "A. Ruiz", "--json").output)
    assert (hand["merge"], hand["before"]) == (2, "suggested")
    assert [row["action"] for row in json.loads(ready("merges", "log", "--json").output)] == [
        "approve",
        "undo",
        "approve",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["approve", 99], "Error: There is no merge 99. See: llm graphrag merges list"),
        (["show", 99], "Error: There is no merge 99. See: llm graphrag merges list"),
        (["undo", 1], "Error: Nothing was decided about Kestrel Works = Kestrel-Works that could be taken back."),
        (
            ["by-hand", "Ana Ruiz", "Nobody"],
            "Error: There is no entity 'Nobody'. Find its name with: llm graphrag entity 'Nobody'",
        ),
        (["by-hand", "Ana Ruiz", "ANA RUIZ"], "Error: 'Ana Ruiz' and 'ANA RUIZ' are names of one entity, 'Ana Ruiz'."),
    ],
)
def test_errors_are_one_line(ready: Run, arguments: list[object], message: str) -> None:
    ready("merges", "suggest")
    assert lines(ready, *arguments, exit_code=1) == [message]


def test_deciding_twice_says_who_was_first(ready: Run) -> None:
    ready("merges", "suggest")
    ready("merges", "approve", 1, "--actor", "me")
    [error] = lines(ready, "reject", 1, exit_code=1)
    assert error.startswith("Error: Kestrel Works = Kestrel-Works was approved by me on ")
    assert error.endswith("To decide anew, take that back: llm graphrag merges undo 1")


def test_there_has_to_be_a_file(run: Run, tmp_path: Path) -> None:
    for command in (["suggest"], ["list"], ["approve", "1"], ["log"]):
        result = run("merges", *command, "-d", tmp_path / "none.db", exit_code=1)
        assert result.output.startswith("Error: There is no knowledge base at ")
