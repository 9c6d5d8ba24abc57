"""What every route promises, and what the SQL of the routes may cost."""

from __future__ import annotations

import sqlite3

import pytest

from llm_graphrag.graph import view
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes import bridges, entities, fusion, passages, terms
from llm_graphrag.routes.registry import ROUTES, run
from llm_graphrag.routes.search import SHOWN, prepare

NOTES = {
    "Night Train.md": "*Night Train* is a film. It was directed by [[Lena Holt]].",
    "Lena Holt.md": "Lena Holt was born in [[Graz]] and studied painting.",
    "Graz.md": "A town on the river Mur.",
    "Old Tram.md": "Old Tram is a film about a tram.",
    "Train.md": "Trains run on rails at night.",
    "Karl Holt.md": "Karl Holt was born in Linz.",
}
QUESTION = "Where was the director of the film Night Train born?"


@pytest.fixture
def notes(kb: KnowledgeBase, vault) -> KnowledgeBase:  # type: ignore[no-untyped-def]
    kb.add([vault(NOTES)])
    return kb


def title_of(kb: KnowledgeBase, chunk: int) -> str:
    sql = "SELECT d.name FROM kg_chunks c JOIN kg_documents d ON d.id = c.document WHERE c.id = ?"
    return str(kb.connection.execute(sql, [chunk]).fetchone()[0])


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("question", [QUESTION, "train", "", "?!", "東京", "zzzz qqqq", "'; DROP TABLE kg_chunks; --"])
def test_a_route_gives_proposals_best_first(notes: KnowledgeBase, name: str, question: str) -> None:
    plan = prepare(notes.connection, question)
    first = run(notes.connection, plan, 100)
    proposals = ROUTES[name](notes.connection, plan, 2, first)
    assert len(proposals) <= 2
    assert [p.score for p in proposals] == sorted((p.score for p in proposals), reverse=True)
    assert len({p.chunk for p in proposals}) == len(proposals)
    assert all(0 <= value <= 1 for p in proposals for value in p.signals.values())
    assert ROUTES[name](notes.connection, plan, 2, first) == proposals


def test_a_route_writes_nothing(notes: KnowledgeBase) -> None:
    before = notes.connection.total_changes
    run(notes.connection, prepare(notes.connection, QUESTION), 10)
    assert notes.connection.total_changes == before


def test_words_find_what_is_written(notes: KnowledgeBase) -> None:
    found = passages.passages(notes.connection, prepare(notes.connection, "trains at night"), 10)
    assert {title_of(notes, p.chunk) for p in found} == {"Train", "Night Train"}
    assert found[0].signals["words"] == 1.0
    assert found[0].signals["coverage"] == 1.0


def test_entities_find_the_note_that_is_named(notes: KnowledgeBase) -> None:
    found = entities.entities(notes.connection, prepare(notes.connection, "Lena Holt"), 10)
    assert [(title_of(notes, p.chunk), p.signals.get("named")) for p in found] == [
        ("Lena Holt", 1.0),
        ("Night Train", None),
    ]


def test_a_bridge_leads_to_the_note_that_shares_no_word_with_the_question(notes: KnowledgeBase) -> None:
    plan = prepare(notes.connection, "Who directed Night Train?")
    parent = next(p.chunk for p in passages.passages(notes.connection, plan, 1))
    found = bridges.bridges(notes.connection, plan, {parent: 1.0})
    assert title_of(notes, found[0].chunk) == "Lena Holt"
    assert found[0].signals["bridge_own"] == 1.0


def test_the_rest_of_the_question_chooses_among_bridges(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    kb.add([vault({
        "Boat.md": "Ida Berg and Ole Lund share the Boat.",
        "Ida Berg.md": "Ida Berg keeps bees.",
        "Ole Lund.md": "Ole Lund paints doors.",
    })])  # fmt: skip
    for question, wanted in (("who of the Boat keeps bees", "Ida Berg"), ("who of the Boat paints doors", "Ole Lund")):
        plan = prepare(kb.connection, question)
        boat = kb.connection.execute(
            "SELECT c.id FROM kg_chunks c JOIN kg_documents d ON d.id = c.document WHERE d.name = 'Boat'"
        ).fetchone()[0]
        assert title_of(kb, bridges.bridges(kb.connection, plan, {boat: 1.0})[0].chunk) == wanted


def test_fusion_finds_both_steps(notes: KnowledgeBase) -> None:
    ranked = fusion.fuse(notes.connection, prepare(notes.connection, QUESTION))
    assert [title_of(notes, p.chunk) for p in ranked[:2]] == ["Night Train", "Lena Holt"]
    assert all(p.signals.keys() <= fusion.WEIGHTS.keys() for p in ranked)


def test_hubs_are_not_expanded_beyond_their_mass(notes: KnowledgeBase) -> None:
    entity = notes.connection.execute("SELECT id FROM kg_entities WHERE key = 'lena holt'").fetchone()[0]
    graph = view.GraphView(notes.connection, total=6, epsilon=0.1)
    assert graph.neighbours({-entity: 1e-3}) == {}
    assert {node for node, _ in graph.neighbours({-entity: 1.0})[-entity]} != set()


def test_a_common_word_is_not_listed(notes: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "COMMON", 2)
    (film, holt) = terms.read_terms(notes.connection, "film holt", 6)
    assert (film.rarity, holt.rarity) == (0.0, 0.0)
    assert terms.coverage((film, holt), 1) == 0.0


STATEMENTS = {
    "entities of chunks": (view.ENTITIES_OF_CHUNKS, {"nodes": "[1]"}),
    "chunks of entities": (view.CHUNKS_OF_ENTITIES, {"nodes": "[1]"}),
    "entities of entities": (view.ENTITIES_OF_ENTITIES, {"nodes": "[1]"}),
    "degrees": (view.DEGREES, {"nodes": "[1]"}),
    "linked": (entities.CHUNKS, {"entities": "[1]", "limit": 5}),
    "shared": (bridges.ENTITIES, {"chunks": "[1]", "rare": 40}),
    "reached": (bridges.CHUNKS, {"entities": "[1]", "rare": 40}),
    "scope": (fusion.IN_SCOPE, {"chunks": "[1]", "documents": "[1]"}),
    "shown": (SHOWN, {"chunks": "[1]"}),
}


def scans(connection: sqlite3.Connection, sql: str, values: dict[str, object]) -> list[str]:
    """The steps of a plan that read a whole table of ours."""
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
    return [row[3] for row in rows if row[3].startswith("SCAN") and "VIRTUAL TABLE" not in row[3]]


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_reads_a_whole_table(notes: KnowledgeBase, name: str) -> None:
    sql, values = STATEMENTS[name]
    assert scans(notes.connection, sql, dict(values)) == []
    steps = [row[3] for row in notes.connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert not any("AUTOMATIC" in step for step in steps), steps


def test_counters_are_found_by_their_key(notes: KnowledgeBase) -> None:
    """``item`` has no affinity; without the + the planner would read every counter of the kind."""
    steps = [
        row[3] for row in notes.connection.execute(f"EXPLAIN QUERY PLAN {view.ENTITIES_OF_CHUNKS}", {"nodes": "[1]"})
    ]
    counters = [step for step in steps if step.startswith("SEARCH n ")]
    assert counters
    assert all("kind=? AND item=?" in step for step in counters), steps


def test_namedness_is_one_for_a_name_of_one_passage_and_less_for_a_common_one(notes: KnowledgeBase) -> None:
    def named(question: str) -> float:
        return fusion.namedness(prepare(notes.connection, question))

    assert named("Where is the river Mur?") == 1.0
    assert 0 < named("Who is Lena Holt?") < 1.0
    assert named("when do we go out") == 0.0
    assert fusion.blend({"a": (2.0, 4.0)}, 0.25) == {"a": 2.5}


def test_weights_are_not_negative() -> None:
    assert all(weight >= 0 for pair in fusion.WEIGHTS.values() for weight in pair)
