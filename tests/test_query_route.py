"""Route ``query``: rows of a SELECT become the passages, and the facts, that state them."""

from __future__ import annotations

import json

import pytest
from conftest import Run, Vault

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes.hits import Proposal, Proposals
from llm_graphrag.routes.query import NO_PLACE, NO_SELECT, query
from llm_graphrag.routes.search import prepare

NOTES = {
    "Ana.md": "---\nborn: 1961\n---\nAna built the [[Dome]] with [[Ben]].\n\nShe likes tea.",
    "Ben.md": "Ben paid for the [[Dome]].",
    "Dome.md": "A roof that turns.",
    "tea.md": "Tea is brown. Cora drinks it, says [[Ana]].",
}


@pytest.fixture
def notes(kb: KnowledgeBase, vault: Vault) -> KnowledgeBase:
    kb.add([vault(NOTES)])
    return kb


def asked(kb: KnowledgeBase, sql: str, k: int = 10, where: str | None = None) -> list[Proposal]:
    return query(kb.connection, prepare(kb.connection, sql, where=where, vectors=False), k, {})


def shown(kb: KnowledgeBase, proposals: list[Proposal]) -> list[tuple[str, list[str]]]:
    """(note, facts) of each proposal."""
    of = "SELECT d.path FROM kg_chunks c JOIN kg_documents d ON d.id = c.document WHERE c.id = ?"
    return [(kb.connection.execute(of, [p.chunk]).fetchone()[0], [fact.text for fact in p.facts]) for p in proposals]


FACTS = "SELECT head, relation, tail FROM kg_facts"


def test_a_fact_comes_with_its_sentence(notes: KnowledgeBase) -> None:
    found = asked(notes, f"{FACTS} WHERE relation = 'links_to' AND tail = 'Dome' ORDER BY head DESC")
    assert shown(notes, found) == [("Ben.md", ["Ben —links to→ Dome"]), ("Ana.md", ["Ana —links to→ Dome"])]
    assert [p.score for p in found] == [1, 0.5] and found[0].signals == {"query": 1}
    (evidence,) = found[0].facts[0].evidence
    assert (evidence.quote, evidence.line) == ("Ben paid for the [[Dome]].", 1)
    triple = notes.connection.execute("SELECT id FROM kg_triples ORDER BY id LIMIT 1").fetchone()[0]
    assert found[1].facts[0].triples == (triple,)
    by_id = asked(notes, f"SELECT triple FROM kg_entity_facts WHERE triple = {triple}")
    assert shown(notes, by_id) == [("Ana.md", ["Ana —links to→ Dome"])]


def test_a_value_comes_with_its_sentence(notes: KnowledgeBase) -> None:
    found = asked(notes, f"{FACTS} WHERE relation = 'born'")
    assert shown(notes, found) == [("Ana.md", ["Ana —born→ 1961"])]
    assert found[0].facts[0].evidence[0].quote == "born: 1961"


def test_a_passage_is_taken_as_it_is(notes: KnowledgeBase) -> None:
    sql = "SELECT c.id AS chunk FROM kg_chunks c JOIN kg_documents d ON d.id = c.document WHERE d.title = 'tea'"
    assert shown(notes, asked(notes, sql)) == [("tea.md", [])]
    assert asked(notes, "SELECT 123456 AS chunk") == []


def test_names_lead_to_what_joins_them_with_the_query(notes: KnowledgeBase) -> None:
    found = asked(notes, "SELECT tail FROM kg_facts WHERE head = 'Ana' AND relation = 'links_to' ORDER BY tail")
    assert shown(notes, found) == [("Ana.md", ["Ana —links to→ Ben", "Ana —links to→ Dome"])]
    assert shown(notes, asked(notes, "SELECT name FROM kg_entities WHERE id = (SELECT max(id) FROM kg_entities)"))


def test_names_alone_lead_to_what_is_about_them(notes: KnowledgeBase) -> None:
    found = asked(notes, "SELECT 'do' || 'me' AS name")
    assert shown(notes, found) == [("Dome.md", [])]
    assert asked(notes, "SELECT 'no such thing', '', NULL, 3") == []


def test_scope_and_k_hold(notes: KnowledgeBase) -> None:
    sql = f"{FACTS} WHERE relation = 'links_to' AND tail = 'Dome'"
    assert shown(notes, asked(notes, sql, where="title = 'Ben'")) == [("Ben.md", ["Ben —links to→ Dome"])]
    assert asked(notes, "SELECT id AS chunk FROM kg_chunks", where="title = 'nothing'") == []
    assert asked(notes, "SELECT 'Ana' AS name", where="title = 'nothing'") == []
    assert len(asked(notes, "SELECT id AS chunk FROM kg_chunks", k=2)) == 2
    assert asked(notes, "SELECT id AS chunk FROM kg_chunks", k=0) == []


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("Who built the dome?", NO_SELECT),
        ("With whom did Ana build it?", NO_SELECT),
        ("Select the best roof", 'The query cannot be run: near "roof"'),
        ("SELECT * FROM kg_settings", "kg_settings cannot be queried."),
        ("SELECT 1; DELETE FROM kg_chunks", "Only one query at a time"),
        ("SELECT 1 WHERE 0", "The query gave no rows."),
        ("SELECT count(*) AS n FROM kg_entities", NO_PLACE),
        ("SELECT 123456 AS chunk", NO_PLACE),
    ],
)
def test_what_cannot_be_run_is_said(notes: KnowledgeBase, question: str, note: str) -> None:
    found = asked(notes, question)
    assert found == []
    assert isinstance(found, Proposals)
    assert [said[: len(note)] for said in found.notes] == [note]


def test_a_knowledge_base_in_memory_has_no_file() -> None:
    with KnowledgeBase.in_memory() as kb:
        found = asked(kb, "SELECT 1")
        assert isinstance(found, Proposals)
        assert found == [] and "in memory cannot be queried" in found.notes[0]


def test_the_same_question_has_the_same_hits(notes: KnowledgeBase) -> None:
    assert asked(notes, FACTS) == asked(notes, FACTS) != []


def test_search_asks_it_by_name(run: Run, vault: Vault) -> None:
    run("add", vault(NOTES))
    sql = f"{FACTS} WHERE relation = 'born'"
    (hit,) = json.loads(run("search", sql, "--route", "query", "--json").stdout)
    assert hit["uri"] == "vault/Ana.md" and [fact["text"] for fact in hit["facts"]] == ["Ana —born→ 1961"]
    result = run("search", "SELECT * FROM kg_settings", "--route", "query")
    assert "kg_settings cannot be queried." in result.output
