"""Ask without a model: cited evidence, staleness, what is stored, and what is said where nothing is found."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from llm_graphrag.answer.ask import StaleError, ask
from llm_graphrag.answer.context import build
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes.search import HINT, prepare, rank, show

CLOCK = "Ana Ruiz repaired the harbour clock in 1999."
NOTES = {
    "long.md": f"# Tides\n\n{'Filler on tides. ' * 300}\n\n## Clock\n\n{CLOCK}\n\n{'More on ropes. ' * 200}",
    "again.md": f"# Diary\n\nWind today.\n{CLOCK} Rain later.",
    "Ana Ruiz.md": "---\nemployer: \"[[Blue Harbour]]\"\nborn: 1961\n---\nShe likes tea.",
    "Blue Harbour.md": "# Blue Harbour\n\nA yard.",
}  # fmt: skip


@pytest.fixture
def notes(kb: KnowledgeBase, vault) -> KnowledgeBase:  # type: ignore[no-untyped-def]
    kb.add([vault(NOTES)])
    return kb


def test_each_citation_gives_the_line_and_the_sentence(notes: KnowledgeBase, tmp_path: Path) -> None:
    """Case 134: the fact in one sentence of a long note, and again in another note."""
    answer = ask(notes.connection, "Who repaired the harbour clock?")
    assert answer.verdict == "evidence"
    cited = {c.uri: c for c in answer.citations if c.quote == CLOCK}
    assert set(cited) == {"vault/long.md", "vault/again.md"}
    for citation in answer.citations:
        chunk = notes.connection.execute("SELECT text FROM kg_chunks WHERE id = ?", [citation.chunk]).fetchone()[0]
        assert chunk[citation.start : citation.end] == citation.quote
        lines = (tmp_path / citation.uri).read_text("utf-8").splitlines()
        assert citation.quote.splitlines()[0] in lines[citation.line - 1]
    assert cited["vault/long.md"].heading == "Tides > Clock"
    assert [c.number for c in answer.citations] == list(range(1, len(answer.citations) + 1))


def test_a_fact_of_the_frontmatter_is_quoted_as_it_stands(notes: KnowledgeBase) -> None:
    answer = ask(notes.connection, "Who is the employer of Ana Ruiz?")
    (citation,) = [c for c in answer.citations if c.uri == "vault/Ana Ruiz.md"]
    assert (citation.quote, citation.line) == ('employer: "[[Blue Harbour]]"', 2)
    (fact,) = [f for f in answer.facts if f.tail == "Blue Harbour"]
    assert (fact.kind, fact.head, fact.relation, fact.number) == ("triple", "Ana Ruiz", "employer", citation.number)
    assert (fact.uri, fact.line) == ("vault/Ana Ruiz.md", 2)
    assert "[[Blue Harbour]]" in fact.quote


def test_an_attribute_that_is_asked_for_is_shown(notes: KnowledgeBase) -> None:
    answer = ask(notes.connection, "When was Ana Ruiz born?")
    assert [(f.kind, f.relation, f.tail) for f in answer.facts if f.kind == "attribute"] == [
        ("attribute", "born", "1961")
    ]
    assert ask(notes.connection, "Does Ana Ruiz like tea?").searched.linked == ("Ana Ruiz",)


def test_passages_are_in_reading_order_and_what_is_cut_is_counted(notes: KnowledgeBase) -> None:
    plan = prepare(notes.connection, "Who repaired the harbour clock? Filler on tides and ropes.")
    hits = show(notes.connection, plan, rank(notes.connection, plan, 8), 8)
    context = build(notes.connection, hits, plan.terms, budget=700)
    assert context.cut == len(hits) - len(context.passages) > 0
    assert 0 < context.tokens <= 700
    assert [p.number for p in context.passages] == list(range(1, len(context.passages) + 1))
    by_document: dict[int, list[int]] = {}
    for passage in context.passages:
        by_document.setdefault(passage.hit.document, []).append(passage.hit.chunk)
    assert len(by_document) >= 1
    assert all(chunks == sorted(chunks) for chunks in by_document.values())
    assert build(notes.connection, hits, plan.terms, budget=1).passages != ()


# -- nothing found ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["", "   ", "?!"])
def test_an_empty_question_gets_a_hint(notes: KnowledgeBase, question: str) -> None:
    answer = ask(notes.connection, question)
    assert (answer.verdict, answer.citations, answer.hint) == ("abstained", (), HINT)


def test_a_question_without_a_matching_word_says_what_was_searched(notes: KnowledgeBase) -> None:
    """Case 135."""
    answer = ask(notes.connection, "qqqqzzzz Zelda?")
    assert (answer.verdict, answer.citations, answer.facts) == ("abstained", (), ())
    assert answer.searched.documents == 4
    assert answer.searched.words == ("qqqqzzzz", "Zelda")
    assert answer.searched.unknown == ("Zelda",)
    assert answer.hint.startswith("Nothing was found.")


def test_an_empty_knowledge_base_says_so(kb: KnowledgeBase) -> None:
    assert "llm graphrag add" in ask(kb.connection, "Hm?").hint


def test_one_entity_without_facts(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    """Case 135: a graph of one entity."""
    kb.add([vault({"Hm.md": "Hm."})])
    answer = ask(kb.connection, "Hm?")
    assert [(c.uri, c.quote) for c in answer.citations] == [("vault/Hm.md", "Hm.")]
    assert answer.facts == ()


def test_an_entity_without_any_passage(kb: KnowledgeBase) -> None:
    kb.connection.execute("INSERT INTO kg_entities(name, key, origin) VALUES ('Lone', 'lone', 'user')")
    kb.connection.execute(
        "INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (1, 'Lone', 'lone', 'name', 'user')"
    )
    answer = ask(kb.connection, "Who is Lone?")
    assert (answer.verdict, answer.searched.linked, answer.searched.entities) == ("abstained", ("Lone",), 1)


# -- staleness ---------------------------------------------------------------------------------------------------


def test_changed_and_missing_notes_are_said_to_be(notes: KnowledgeBase, vault, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Case 072."""
    assert all(c.stale is None for c in ask(notes.connection, "Who repaired the harbour clock?").citations)
    vault({"again.md": "Something else."})
    (tmp_path / "vault" / "Blue Harbour.md").unlink()
    stale = {c.uri: c.stale for c in ask(notes.connection, "Who repaired the clock of Blue Harbour?", k=10).citations}
    assert stale["vault/again.md"] == "changed on disk since it was read"
    assert stale["vault/Blue Harbour.md"] == "its file is gone"
    assert stale["vault/long.md"] is None


def test_strict_refuses_and_names_the_notes(notes: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    assert ask(notes.connection, "Who repaired the harbour clock?", strict=True).citations
    vault({"again.md": "Something else."})
    with pytest.raises(StaleError, match=r"vault/again\.md \(changed on disk since it was read\)"):
        ask(notes.connection, "Who repaired the harbour clock?", strict=True)
    assert notes.connection.execute("SELECT count(*) FROM kg_questions").fetchone()[0] == 1


# -- storage -----------------------------------------------------------------------------------------------------


def test_an_answer_is_stored(notes: KnowledgeBase) -> None:
    answer = ask(notes.connection, "Who repaired the harbour clock?")
    row = notes.connection.execute("SELECT * FROM kg_questions").fetchone()
    assert (row["id"], row["question"], row["verdict"]) == (answer.id, answer.question, "evidence")
    citations = notes.connection.execute("SELECT * FROM kg_citations ORDER BY number").fetchall()
    assert [(c["uri"], c["line"], c["quote"]) for c in citations] == [
        (c.uri, c.line, c.quote) for c in answer.citations
    ]
    for c in citations:
        chunk = notes.connection.execute("SELECT content_hash FROM kg_chunks WHERE id = ?", [c["chunk"]]).fetchone()
        assert chunk[0] == c["content_hash"]
    steps = notes.connection.execute("SELECT kind, detail FROM kg_steps ORDER BY seq").fetchall()
    assert [step["kind"] for step in steps] == ["plan", "route", "stop"]
    assert json.loads(steps[0]["detail"])["words"] == ["repaired", "harbour", "clock"]


def test_an_answer_is_not_stored_on_request_nor_an_empty_question(notes: KnowledgeBase) -> None:
    assert ask(notes.connection, "Who repaired the harbour clock?", log=False).id is None
    assert ask(notes.connection, " ").id is None
    assert ask(notes.connection, "\ud800 clock").id == 1
    assert notes.connection.execute("SELECT count(*) FROM kg_questions").fetchone()[0] == 1


def test_a_read_only_file_is_answered_from(notes: KnowledgeBase) -> None:
    with KnowledgeBase.open(notes.path, readonly=True) as kb:
        answer = ask(kb.connection, "Who repaired the harbour clock?")
    assert (answer.id, answer.verdict) == (None, "evidence")


def test_a_file_that_is_being_written_is_answered_from(notes: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    from llm_graphrag.answer import record

    monkeypatch.setattr(record, "WAIT_MS", 10)
    other = sqlite3.connect(notes.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert ask(notes.connection, "Who repaired the harbour clock?").id is None
    other.rollback()
    assert ask(notes.connection, "Who repaired the harbour clock?").id == 1


# -- commands ----------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(run, vault):  # type: ignore[no-untyped-def]
    run("add", vault(NOTES))
    return run


def test_ask_prints_citations_facts_and_what_was_searched(filled) -> None:  # type: ignore[no-untyped-def]
    lines = filled("ask", "Who is the employer of Ana Ruiz?", "-k", "2").output.splitlines()
    assert lines[:2] == ["[1] vault/Ana Ruiz.md:2", '    employer: "[[Blue Harbour]]"']
    facts = lines[lines.index("How they are joined:") + 1 : -1]
    assert facts == ["  Ana Ruiz —employer→ Blue Harbour [1]", '    employer: "[[Blue Harbour]]"']
    assert lines[-1].startswith("Searched ")
    assert lines[-1].endswith(" of 4 notes and 6 entities for employer, Ana, Ruiz; named: Ana Ruiz.")


def test_ask_reads_standard_input_and_prints_json(filled) -> None:  # type: ignore[no-untyped-def]
    answer = json.loads(filled("ask", "-", "--json", input="Who repaired the harbour clock?\n").output)
    assert (answer["question"], answer["verdict"], answer["id"]) == ("Who repaired the harbour clock?", "evidence", 1)
    assert CLOCK in [citation["quote"] for citation in answer["citations"]]


@pytest.mark.parametrize("question", ["", "qqqqzzzz", "x\n?"])
def test_ask_finds_nothing_without_failing(filled, question: str) -> None:  # type: ignore[no-untyped-def]
    assert "Searched" in filled("ask", question).output


def test_ask_strict_is_one_line(filled, vault) -> None:  # type: ignore[no-untyped-def]
    vault({"again.md": "Something else."})
    loose = filled("ask", "Who repaired the harbour clock?")
    assert "(changed on disk since it was read)" in loose.stdout
    assert "No longer as it was read: vault/again.md" in loose.stderr
    output = filled("ask", "Who repaired the harbour clock?", "--strict", exit_code=1).output
    assert output.startswith("Error: Not answered")
    assert output.count("\n") == 1


def test_ask_no_log(filled, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    filled("ask", "Who repaired the harbour clock?", "--no-log")
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db", readonly=True) as kb:
        assert kb.connection.execute("SELECT count(*) FROM kg_questions").fetchone()[0] == 0


def test_ask_of_no_file(run) -> None:  # type: ignore[no-untyped-def]
    output = run("ask", "Who?", exit_code=1).output
    assert "There is no knowledge base" in output


def test_entity_shows_names_facts_and_sentences(filled) -> None:  # type: ignore[no-untyped-def]
    output = filled("entity", "ana ruiz").output
    assert output.startswith("Ana Ruiz")
    assert "Notes about it: vault/Ana Ruiz.md\n" in output
    assert "\nemployer →\n  Blue Harbour\n" in output
    assert '    employer: "[[Blue Harbour]]"  (vault/Ana Ruiz.md:2)\n' in output
    assert "\nborn:\n  1961\n" in output
    assert "\n← employer\n  Ana Ruiz\n" in filled("entity", "Blue Harbour").output


def test_entity_json(filled) -> None:  # type: ignore[no-untyped-def]
    (card,) = json.loads(filled("entity", "Ana Ruiz", "--json").output)
    groups = {(group["direction"], group["relation"]): group for group in card["groups"]}
    assert groups["out", "employer"]["facts"][0]["name"] == "Blue Harbour"
    assert groups["out", "employer"]["facts"][0]["quotes"][0]["uri"] == "vault/Ana Ruiz.md"
    assert groups["attribute", "born"]["count"] == 1


@pytest.mark.parametrize(("name", "near"), [("Ana Ruz", "Did you mean Ana Ruiz?"), ("Blu Harbor", "Blue Harbour?")])
def test_an_unknown_entity_gets_suggestions(filled, name: str, near: str) -> None:  # type: ignore[no-untyped-def]
    output = filled("entity", name, exit_code=1).output
    assert output.startswith(f"Error: Nothing is called {name}.")
    assert near in output


@pytest.mark.parametrize("name", ["", "?", '"', "ab", "*" * 200, "a\x1b[31m"])
def test_any_name_may_be_asked_for(filled, name: str) -> None:  # type: ignore[no-untyped-def]
    output = filled("entity", name, exit_code=1).output
    assert output.startswith("Error: Nothing is called")
    assert "\x1b" not in output


def test_a_hub_shows_the_first_facts_and_counts_the_rest(run, vault) -> None:  # type: ignore[no-untyped-def]
    run("add", vault({"Hub.md": "A hub."} | {f"p{i:02}.md": "works_at:: [[Hub]]" for i in range(15)}))
    output = run("entity", "Hub", "--limit", "4").output
    assert output.count("works_at:: [[Hub]]") == 4
    assert "… and 11 more" in output
    assert run("entity", "Hub", "--limit", "0").output.count("works_at:: [[Hub]]") == 15
