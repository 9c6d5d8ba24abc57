"""Abstaining: what the confidence of an answer is made of, and where it draws the line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_graphrag.answer import confidence
from llm_graphrag.answer.ask import NOT_HELD, ask
from llm_graphrag.answer.confidence import FEATURES, WITH_VECTORS, WITHOUT_VECTORS, Table, features, table_for
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes.search import prepare, rank

EXAMPLES = Path(__file__).parent.parent / "examples"
QUESTIONS = [json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text("utf-8").splitlines()]
ANSWERABLE = [q["question"] for q in QUESTIONS if q.get("answerable", True)]
FOREIGN = [
    "What is the capital of Peru?",
    "Who won the football world cup in 1998?",
    "How do I install Kubernetes on Windows?",
    "Which enzyme breaks down lactose?",
    "when does the next train to Berlin leave",
]


@pytest.fixture(scope="module")
def larkmoor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path_factory.mktemp("larkmoor") / "kb.db", create=True) as kb:
        kb.add([EXAMPLES / "vault"])
        yield kb


def found(kb: KnowledgeBase, question: str, vectors: bool = True) -> dict[str, float]:
    plan = prepare(kb.connection, question, vectors=vectors)
    return features(plan, rank(kb.connection, plan, 5))


@pytest.mark.parametrize("vectors", [True, False], ids=["vectors", "none"])
@pytest.mark.parametrize("question", ANSWERABLE)
def test_what_the_example_notes_answer_is_answered(larkmoor: KnowledgeBase, question: str, vectors: bool) -> None:
    answer = ask(larkmoor.connection, question, vectors=vectors, log=False)
    assert (answer.verdict, answer.hint) == ("evidence", "")
    assert answer.confidence >= answer.threshold


@pytest.mark.parametrize("vectors", [True, False], ids=["vectors", "none"])
@pytest.mark.parametrize("question", FOREIGN)
def test_what_no_note_speaks_of_is_not_answered(larkmoor: KnowledgeBase, question: str, vectors: bool) -> None:
    answer = ask(larkmoor.connection, question, vectors=vectors, log=False)
    assert answer.verdict == "abstained"
    assert answer.confidence < answer.threshold
    assert answer.hint == NOT_HELD if answer.citations else answer.hint.startswith("Nothing was found.")


def test_features_say_what_stands_where(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    kb.add([vault({"a.md": "Ana Ruiz repaired the clock.", "b.md": "The harbour is cold.", "c.md": "Ben sleeps."})])
    whole = found(kb, "Who repaired the clock?")
    assert (whole["held"], whole["together"], whole["nowhere"]) == (1.0, 1.0, 0.0)
    assert (whole["names_missing"], whole["names_unknown"]) == (0.0, 0.0)
    apart = found(kb, "clock harbour")
    assert (apart["held"], apart["together"]) == (0.5, 1.0)
    absent = found(kb, "Did Zelda repair the clock?")
    assert (absent["names_missing"], absent["names_unknown"]) == (1.0, 1.0)
    assert 0 < absent["nowhere"] < 1
    assert found(kb, "")["held"] == 0.0


@pytest.mark.parametrize("question", [*ANSWERABLE, *FOREIGN, "", "?!", "\ud800 Zelda", "東京"])
def test_features_are_shares(larkmoor: KnowledgeBase, question: str) -> None:
    for vectors in (True, False):
        values = found(larkmoor, question, vectors)
        assert values.keys() == FEATURES.keys()
        assert all(0 <= value <= 1 for value in values.values())
        assert vectors or values["near"] == 0.0


def test_confidence_is_a_logistic_sum() -> None:
    table = Table(-1.0, {"held": 2.0, "nowhere": -4.0}, 0.5)
    assert confidence.confidence(table, {"held": 0.5, "nowhere": 0.0}) == 0.5
    assert confidence.confidence(table, {"held": 1.0, "nowhere": 0.0}) == pytest.approx(0.7311, abs=1e-4)
    assert confidence.confidence(table, {"held": 0.0, "nowhere": 1.0}) == pytest.approx(0.0067, abs=1e-4)


@pytest.mark.parametrize("table", [WITH_VECTORS, WITHOUT_VECTORS], ids=["vectors", "none"])
def test_a_feature_speaks_only_one_way(table: Table) -> None:
    against = {"nowhere", "names_missing", "names_unknown", "size"}
    assert table.weights.keys() <= FEATURES.keys()
    assert all(weight < 0 if name in against else weight > 0 for name, weight in table.weights.items())
    assert 0 < table.threshold < 1


def test_a_file_without_vectors_has_its_own_table(larkmoor: KnowledgeBase) -> None:
    assert table_for(prepare(larkmoor.connection, "mirror")) is WITH_VECTORS
    assert table_for(prepare(larkmoor.connection, "mirror", vectors=False)) is WITHOUT_VECTORS
    assert "near" not in WITHOUT_VECTORS.weights


def test_how_many_passages_are_shown_does_not_matter(larkmoor: KnowledgeBase) -> None:
    sure = {ask(larkmoor.connection, ANSWERABLE[0], k=k, log=False).confidence for k in (1, 5, 20)}
    assert len(sure) == 1


def test_the_command_says_so_first_and_shows_the_nearest(run, vault) -> None:  # type: ignore[no-untyped-def]
    run("add", vault({"a.md": "Ana Ruiz repaired the harbour clock.", "b.md": "The capital letters are worn."}))
    lines = run("ask", "What is the capital of Peru?").output.splitlines()
    assert lines[:3] == [NOT_HELD, "[1] vault/b.md:1", "    The capital letters are worn."]
    assert lines[-1].startswith("Searched ")
    answer = json.loads(run("ask", "What is the capital of Peru?", "--json").output)
    assert answer["verdict"] == "abstained"
    assert answer["confidence"] < answer["threshold"] == WITH_VECTORS.threshold
    assert answer["citations"] != []
    plain = json.loads(run("ask", "Who repaired the clock?", "--no-vectors", "--json").output)
    assert (plain["verdict"], plain["threshold"]) == ("evidence", WITHOUT_VECTORS.threshold)


def test_the_line_is_stored_with_the_answer(larkmoor: KnowledgeBase) -> None:
    answer = ask(larkmoor.connection, FOREIGN[1])
    sql = "SELECT s.detail FROM kg_steps s WHERE s.question = ? AND s.kind = 'stop'"
    detail = json.loads(larkmoor.connection.execute(sql, [answer.id]).fetchone()[0])
    assert (detail["reason"], detail["confidence"]) == ("abstained", answer.confidence)
    assert detail["threshold"] == answer.threshold
