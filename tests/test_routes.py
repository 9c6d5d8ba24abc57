"""What every route promises, and what the SQL of the routes may cost."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest

from llm_graphrag.graph import view
from llm_graphrag.index.vectors import open_vectors
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes import bridges, entities, fusion, passages, registry, terms, vectors, weights
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
    found, explained = bridges.bridges(notes.connection, plan, {parent: 1.0})
    assert title_of(notes, found[0].chunk) == "Lena Holt"
    assert found[0].signals["bridge_own"] == 1.0
    assert found[0].signals["bridge"] == 1.0
    assert explained[found[0].chunk] >= {"night", "train"}


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
        assert title_of(kb, bridges.bridges(kb.connection, plan, {boat: 1.0})[0][0].chunk) == wanted


def test_a_chain_asks_of_its_third_note_what_the_first_two_leave_open(notes: KnowledgeBase) -> None:
    plan = prepare(notes.connection, "On which river is the town where Night Train's director Lena Holt was born?")
    chunk = {title_of(notes, c): c for (c,) in notes.connection.execute("SELECT id FROM kg_chunks")}
    first, explained = bridges.bridges(notes.connection, plan, {chunk["Night Train"]: 1.0})
    assert "Lena Holt" not in {title_of(notes, p.chunk) for p in first}  # the question names it: no bridge
    _, second = bridges.bridges(
        notes.connection, plan, {chunk["Lena Holt"]: 1.0}, {chunk["Lena Holt"]: frozenset({"night"})}
    )
    assert second[chunk["Graz"]] >= {"lena", "holt", "night"}
    assert explained == {} or all("train" in words for words in explained.values())


def test_what_a_passage_adds_is_counted_against_its_parent(notes: KnowledgeBase) -> None:
    plan = prepare(notes.connection, "film painting")
    chunk = {title_of(notes, c): c for (c,) in notes.connection.execute("SELECT id FROM kg_chunks")}
    (found,) = [
        p
        for p in bridges.bridges(notes.connection, plan, {chunk["Night Train"]: 1.0})[0]
        if p.chunk == chunk["Lena Holt"]
    ]
    painting = next(t for t in plan.terms if t.text == "painting")
    assert found.signals["bridge_new"] == pytest.approx(painting.rarity / sum(t.rarity for t in plan.terms))


def test_three_steps_are_found(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    kb.add([vault({
        "Night Train.md": "*Night Train* was directed by [[Lena Holt]].",
        "Lena Holt.md": "Lena Holt was born in [[Graz]].",
        "Graz.md": "Lies on the Mur; its mayor is [[Ivo Stern]].",
        "Ivo Stern.md": "Keeps bees and plays chess.",
    } | {f"noise {i}.md": f"The mayor of town {i} was born at night, they said." for i in range(30)})])  # fmt: skip
    question = "Who is the mayor of the place where the director of Night Train was born?"
    ranked = fusion.fuse(kb.connection, prepare(kb.connection, question))
    assert {title_of(kb, p.chunk) for p in ranked[:4]} == {"Night Train", "Lena Holt", "Graz", "Ivo Stern"}


def test_fusion_finds_both_steps(notes: KnowledgeBase) -> None:
    ranked = fusion.fuse(notes.connection, prepare(notes.connection, QUESTION))
    assert [title_of(notes, p.chunk) for p in ranked[:2]] == ["Night Train", "Lena Holt"]
    assert {"cosine", "bridge", "mass", "words"} <= {name for p in ranked for name in p.signals}
    assert all(0 <= value <= 1 for p in ranked for value in p.signals.values())


# -- vectors -----------------------------------------------------------------------------------------------------


def test_vectors_find_what_is_said_in_other_words(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    kb.add([vault({"a.md": "The physician examined her patient.", "b.md": "A recipe for bread with rye."})])
    plan = prepare(kb.connection, "doctor")
    assert passages.passages(kb.connection, plan, 5) == []
    (found,) = vectors.vectors(kb.connection, plan, 5)
    assert title_of(kb, found.chunk) == "a"
    assert found.signals["cosine_rank"] == 1.0
    assert vectors.NEAR <= found.signals["cosine"] == found.score < 1
    assert [title_of(kb, p.chunk) for p in fusion.fuse(kb.connection, plan)] == ["a"]


def test_without_vectors_nothing_is_near(notes: KnowledgeBase) -> None:
    plan = prepare(notes.connection, QUESTION, vectors=False)
    assert plan.meaning is None
    assert vectors.vectors(notes.connection, plan, 5) == []
    assert weights.weights_of(plan) is weights.WITHOUT_VECTORS
    ranked = fusion.fuse(notes.connection, plan)
    assert [title_of(notes, p.chunk) for p in ranked[:2]] == ["Night Train", "Lena Holt"]
    assert not any("cosine" in name for p in ranked for name in p.signals)


def test_vectors_keep_to_the_scope(notes: KnowledgeBase) -> None:
    plan = prepare(notes.connection, "film", where="title = 'Old Tram'")
    assert {title_of(notes, p.chunk) for p in vectors.vectors(notes.connection, plan, 5)} == {"Old Tram"}


def test_vectors_opened_before_are_used_again(notes: KnowledgeBase) -> None:
    opened = open_vectors(notes.connection)
    assert opened is not None
    plan = prepare(notes.connection, QUESTION, vectors=opened)
    assert plan.meaning is not None
    assert plan.meaning.chunks is opened


def test_a_model_that_may_cost_is_called_only_on_request(notes: KnowledgeBase) -> None:
    for value in ('"some-paid-model"',):
        notes.connection.execute("UPDATE kg_settings SET value = ? WHERE key = 'vectors.model'", [value])
    assert prepare(notes.connection, QUESTION).meaning is None
    with pytest.raises(ValueError, match="--no-vectors"):
        prepare(notes.connection, QUESTION, models=True)


def test_what_is_left_of_a_question() -> None:
    assert bridges._without("Who directed Night Train?", frozenset({"night", "train", "the"})) == "Who directed"
    assert bridges._without("Night Train", frozenset({"night", "train"})) == "Night Train"


def test_numpy_is_not_loaded_for_a_file_without_vectors(notes: KnowledgeBase) -> None:
    script = (
        "import sys; from llm_graphrag.knowledge_base import KnowledgeBase\n"
        "kb = KnowledgeBase.open(sys.argv[1], readonly=True)\n"
        "kb.search(sys.argv[2], vectors=sys.argv[3] == 'True')\n"
        "print('numpy' in sys.modules, 'llm' in sys.modules)"
    )
    with KnowledgeBase.open(notes.path) as writer:
        writer.connection.execute("PRAGMA wal_checkpoint")

    def loaded(vectors: bool) -> list[str]:
        arguments = [sys.executable, "-c", script, str(notes.path), QUESTION, str(vectors)]
        return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()

    assert loaded(True) == ["True", "False"]
    assert loaded(False) == ["False", "False"]
    notes.connection.execute("DELETE FROM kg_settings WHERE key LIKE 'vectors.%'")
    assert loaded(True) == ["False", "False"]


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
    "within": (vectors.CHUNKS, {"documents": "[1]"}),
    "scope": (registry.IN_SCOPE, {"chunks": "[1]", "documents": "[1]"}),
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
        return weights.namedness(prepare(notes.connection, question))

    assert named("Where is the river Mur?") == 1.0
    assert 0 < named("Who is Lena Holt?") < 1.0
    assert named("when do we go out") == 0.0
    assert weights.blend({"a": (2.0, 4.0)}, 0.25) == {"a": 2.5}


@pytest.mark.parametrize("table", [weights.WITH_VECTORS, weights.WITHOUT_VECTORS], ids=["with", "without"])
def test_weights_are_not_negative_and_explained(table: weights.Weights) -> None:
    assert all(weight >= 0 for pair in table.values() for weight in pair)
    assert all(any(pair) for pair in table.values())  # what weighs nothing does not stand there
    assert table.keys() <= weights.SIGNALS.keys()


def test_only_the_table_for_vectors_weighs_meaning() -> None:
    assert "cosine" in weights.WITH_VECTORS
    assert not [name for name in weights.WITHOUT_VECTORS if name.startswith("cosine")]
