"""``llm graphrag proposals``: what is shown before a decision, what a decision says, how mistakes are said."""

# ruff: noqa: F811 - fixtures are imported, and are parameters
from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, Vault
from proposals_model import extract, model_facts, open_kb, proposed, say
from scripted_model import ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.store import schema


@pytest.fixture
def kb(run: Run, tmp_path: Path, vault: Vault, scripted: Any) -> Iterator[KnowledgeBase]:
    """Three notes read: ``mentors`` is open, ``sailor`` and ``fears`` are muted."""
    model: ScriptedModel = scripted(say)
    with open_kb(tmp_path, "user/graphrag.db") as opened:
        opened.add(
            [
                vault(
                    {
                        "a.md": "Mira mentors Otto.",
                        "b.md": "# Day\n\nOn Monday\nOtto mentors! Pia. Rain.",
                        "c.md": "---\nprivate: true\n---\nDan is a sailor.\n\nMira fears Dan. (0.5)",
                    }
                )
            ]
        )
        assert extract(opened).done == 3
        opened.model = model  # type: ignore[attr-defined]
        yield opened


def test_list_shows_what_waits_and_counts_the_rest(run: Run, kb: KnowledgeBase) -> None:
    assert run("proposals", "list").stdout == (
        "   1  relation mentors: It says mentors.\n"
        "      open; 2 documents; confidence 0.99; nearest knows (0.50)\n"
        "Also there: 2 muted (--muted).\n"
        "Where it was asked for, and what it costs: llm graphrag proposals show NUMBER\n"
    )
    lines = run("proposals", "list", "--muted").stdout.splitlines()
    assert lines[0].startswith("   1  relation mentors") and lines[2].startswith("   2  entity type sailor")
    assert lines[3] == "      muted; 1 document; confidence 0.90; nearest person (0.31)"
    assert lines[4].startswith("   3  relation fears")
    run("proposals", "reject", "mentors", "--actor", "ana")
    result = run("proposals", "list")
    assert result.stdout == (
        "No proposal waits for a decision.\nAlso there: 2 muted (--muted), 1 rejected (--status rejected).\n"
    )
    assert "There is no such proposal." in run("proposals", "list", "--status", "mapped").stdout
    assert len(run("proposals", "list", "--status", "all").stdout.splitlines()) == 6


def test_list_as_json(run: Run, kb: KnowledgeBase) -> None:
    (found,) = json.loads(run("proposals", "list", "--json").stdout)
    assert found == {
        "id": 1, "kind": "relation", "name": "mentors", "description": "It says mentors.", "status": "open",
        "confidence": 0.99, "support": 2, "similarity": 0.5, "asked_again": 0, "windows": 2, "decided_by": None,
        "decided_at": None, "decision_note": None, "schema_version": None, "nearest": "knows", "mapped_to": None,
    }  # fmt: skip
    found = json.loads(run("proposals", "list", "--json", "--status", "muted", "--status", "open").stdout)
    assert [item["name"] for item in found] == ["mentors", "sailor", "fears"]


def test_list_counts_notes_as_they_are_now(run: Run, kb: KnowledgeBase) -> None:
    kb.remove(["vault/a.md"])
    assert run("proposals", "list").stdout.startswith("No proposal waits")
    assert proposed(kb)["mentors"] == ("muted", 0.9, 1)


def test_list_of_a_file_that_cannot_be_written(run: Run, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode, **how: mode != os.W_OK)
    assert "relation mentors" in run("proposals", "list").stdout


def test_show_gives_each_quote_in_its_sentence(run: Run, kb: KnowledgeBase) -> None:
    tokens = kb.connection.execute(
        """SELECT sum(input_tokens + output_tokens) FROM kg_ledger WHERE extraction IN
             (SELECT extraction FROM kg_proposal_evidence WHERE proposal = 1)"""
    ).fetchone()[0]
    assert run("proposals", "show", "mentors").stdout == (
        "relation mentors: It says mentors.\n"
        "open; 2 documents; confidence 0.99; nearest knows (0.50)\n"
        "\n"
        "vault/a.md:1 (0.90)\n"
        "  Mira mentors Otto.\n"
        "\n"
        "vault/b.md:4 (0.90)\n"
        "  On Monday Otto mentors! Pia.\n"
        "\n"
        f"If approved, the next extract asks about 2 windows again: about {tokens:,} tokens, no price known "
        "(by the last time).\n"
        "Decide: llm graphrag proposals approve|map|reject|postpone 1\n"
    )
    assert "(0.50, private)" in run("proposals", "show", "fears").stdout


def test_show_as_json(run: Run, kb: KnowledgeBase) -> None:
    run("proposals", "postpone", "mentors", "--actor", "ana", "--note", "later")
    found = json.loads(run("proposals", "show", "1", "--json").stdout)
    assert (found["name"], found["status"], found["nearest"]) == ("mentors", "postponed", "knows")
    place = found["places"][1]
    assert (place["uri"], place["line"], place["before"], place["quote"], place["after"]) == (
        "vault/b.md", 4, "On Monday\n", "Otto mentors! Pia.", "",
    )  # fmt: skip
    assert found["cost"]["windows"] == 2 and found["cost"]["usd"] is None and found["cost"]["tokens"] > 1000
    (decision,) = found["decisions"]
    assert (decision["actor"], decision["action"], decision["note"], decision["undone_by"]) == (
        "ana", "postpone", "later", None,
    )  # fmt: skip


def test_approve_says_the_cost_before_and_what_came_of_it(run: Run, kb: KnowledgeBase) -> None:
    kb.connection.execute("UPDATE kg_ledger SET cost = 0.125")
    tokens = kb.connection.execute(
        """SELECT sum(input_tokens + output_tokens) FROM kg_ledger WHERE extraction IN
             (SELECT extraction FROM kg_proposal_evidence WHERE proposal = 1)"""
    ).fetchone()[0]
    assert run("proposals", "approve", "mentors", "--note", "for the club", "--actor", "ana").stdout == (
        f"If approved, the next extract asks about 2 windows again: about {tokens:,} tokens, $0.25 "
        "(by the last time).\n"
        "Approved: relation mentors. Schema version 2.\n"
        "2 kept replies of models read again, free: 1 fact more.\n"
        "llm graphrag extract would now ask about 2 windows once more.\n"
    )
    assert model_facts(kb) == {("Otto", "mentors", "Pia")}
    estimate = json.loads(run("extract", "-m", "scripted", "--estimate", "--json").stdout)
    assert estimate["windows"] == 2
    assert "Windows: 2 read. Calls: 2;" in run("extract", "-m", "scripted", "--yes").stdout
    assert run("proposals", "undo", "mentors", "--actor", "ben").stdout == (
        "Taken back: relation mentors is open again. Schema version 3.\n"
        "2 kept replies of models read again, free: 2 facts fewer.\n"
    )
    lines = run("proposals", "log").stdout.splitlines()
    assert [line.split("  ")[-2:] for line in lines] == [
        ["ben", "undo relation mentors, schema version 3"],
        ["ana", "approve relation mentors, schema version 2, taken back by 2: for the club"],
    ]


def test_at_a_terminal_approve_asks_unless_yes(run: Run, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_graphrag.cli.proposals._at_terminal", lambda: True)
    result = run("proposals", "approve", "mentors", input="n\n", exit_code=1)
    assert "If approved, the next extract asks about 2 windows" in result.stdout
    assert "Approve? [y/N]" in result.stderr and "Nothing was changed." in result.stderr
    assert (schema.version(kb.connection), proposed(kb)["mentors"][0]) == (1, "open")
    result = run("proposals", "approve", "mentors", "--json", input="y\n")
    assert json.loads(result.stdout)[0]["status"] == "approved"
    assert "If approved" in result.stderr
    run("proposals", "approve", "fears", "--yes", input="")
    assert schema.version(kb.connection) == 3


def test_several_at_once_are_decided_all_or_none(run: Run, kb: KnowledgeBase) -> None:
    run("proposals", "reject", "sailor", "--actor", "ana")
    error = run("proposals", "approve", "mentors", "sailor", "--yes", exit_code=1).stderr
    assert error.startswith("Error: entity type sailor was rejected by ana on 20")
    assert error.endswith("To decide anew, take that back: llm graphrag proposals undo 2\n")
    assert (schema.version(kb.connection), proposed(kb)["mentors"][0]) == (1, "open")
    run("proposals", "undo", "sailor")
    done = json.loads(run("proposals", "approve", "mentors", "2", "mentors", "--yes", "--json").stdout)
    assert [(d["proposal"], d["action"], d["schema_version"], d["windows"]) for d in done] == [
        (1, "approve", 2, 2), (2, "approve", 3, 1),
    ]  # fmt: skip
    assert done[0]["replayed"]["windows"] == 3
    assert run("proposals", "postpone", "fears").stdout == "Postponed: relation fears.\n"


def test_map_by_name_or_alias(run: Run, kb: KnowledgeBase) -> None:
    error = run("proposals", "map", "mentors", "sails", exit_code=1).stderr
    assert error == "Error: The schema has no relation 'sails'. It has: knows, lives_in.\n"
    assert run("proposals", "map", "mentors", "Has met").stdout == (
        "Mapped: relation mentors. Schema version 2.\n2 kept replies of models read again, free: 1 fact more.\n"
    )
    assert "mapped; 2 documents; confidence 0.99; nearest knows (0.50); means knows; by " in (
        run("proposals", "list", "--status", "mapped").stdout
    )


def test_a_name_has_to_mean_one_proposal(run: Run, kb: KnowledgeBase, vault: Vault) -> None:
    assert "There is no proposal sails. See: llm graphrag proposals list --status all" in (
        run("proposals", "show", "sails", exit_code=1).stderr
    )
    assert "There is no proposal 99." in run("proposals", "approve", "99", "-y", exit_code=1).stderr
    kb.add([vault({"d.md": "Pia mentors 3."})])
    extract(kb)
    error = run("proposals", "reject", "Mentors", exit_code=1).stderr
    assert error == "Error: Several proposals are called Mentors: 1 (relation), 4 (attribute). Use the number.\n"
    assert run("proposals", "reject", "4").stdout == "Rejected: attribute mentors.\n"


def test_a_proposal_that_is_called_like_a_number(run: Run, kb: KnowledgeBase) -> None:
    kb.connection.execute("UPDATE kg_proposals SET name = '1984', key = '1984' WHERE id = 3")
    assert run("proposals", "reject", "1984").stdout == "Rejected: relation 1984.\n"


def test_what_was_rejected_and_asked_for_again_says_so(run: Run, kb: KnowledgeBase, vault: Vault) -> None:
    run("proposals", "reject", "mentors", "--actor", "ana")
    kb.add([vault({"d.md": "Pia mentors Dan."})])
    extract(kb)
    line = run("proposals", "list", "--status", "rejected").stdout.splitlines()[1]
    assert line.startswith("      rejected; 3 documents; confidence 0.99; nearest knows (0.50); by ana on 20")
    assert line.endswith("; asked for again 1 time")


def test_limits_are_set_by_init_and_hold_at_once(run: Run, kb: KnowledgeBase) -> None:
    run("init", "--min-support", "1")
    assert {name: status for name, (status, _, _) in proposed(kb).items()} == {
        "mentors": "open", "sailor": "open", "fears": "muted",
    }  # fmt: skip
    run("init", "--min-confidence", "0.5")
    assert proposed(kb)["fears"][0] == "open"
    run("init", "--min-confidence", "1")
    assert {status for status, _, _ in proposed(kb).values()} == {"muted"}
    assert "not in the range" in run("init", "--min-confidence", "1.5", exit_code=2).stderr
    assert "not in the range" in run("init", "--min-support", "0", exit_code=2).stderr


def test_hostile_names_and_texts_are_printed_on_their_line(run: Run, kb: KnowledgeBase) -> None:
    kb.connection.execute("UPDATE kg_proposals SET description = ? WHERE id = 1", ["red \x1b[31m text\n\u202egnp.exe"])
    for arguments in (("list",), ("show", "1")):
        out = run("proposals", *arguments).stdout
        assert "red \\x1b[31m text\\n\\u202egnp.exe" in out
        assert "\x1b" not in out and "\u202e" not in out


def test_a_user_without_a_name_is_a_number(run: Run, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr("getpass.getuser", nobody)
    monkeypatch.setattr("os.getuid", lambda: 1234)
    run("proposals", "reject", "mentors")
    assert "  user 1234  reject relation mentors, schema version 1" in run("proposals", "log").stdout


def test_names_that_are_new_get_their_vectors(run: Run, kb: KnowledgeBase) -> None:
    kb.set(embedding_model="graphrag-static")
    run("proposals", "approve", "mentors", "-y")
    count = kb.connection.execute("SELECT count(*) FROM embeddings").fetchone()[0]
    assert count > 3
    kb.set(embedding_model="no-such-model")
    result = run("proposals", "undo", "mentors")
    assert "The facts are stored; vectors follow at the next add." in result.stderr
