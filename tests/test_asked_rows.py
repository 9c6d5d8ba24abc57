"""Search and ask over an imported graph: the row that states what is asked for comes first, and is the one shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run, Vault

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes.asked import ASKED, FULL, asked_rows
from llm_graphrag.routes.search import prepare, rank

LEAVES = [f"Leaf {n},likes,Leaf {n + 1}" for n in range(1, 40)]
FILMS = [
    row
    for n in range(1, 60)
    for row in (
        f"Film {n} Dawn,directed_by,Person {n % 7} Roe", f"Film {n} Dawn,starred_actors,Actor {n} Lund",
        f"Film {n} Dawn,release_year,{1950 + n}", f"Film {n} Dawn,has_tags,director's cut",
    )
]  # fmt: skip


@pytest.fixture
def graph(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    kb.set(embedding_model="")
    for name, rows in (("leaves.csv", LEAVES), ("films.csv", FILMS)):
        (tmp_path / name).write_text("\n".join(["head,relation,tail", *rows]) + "\n", "utf-8")
    kb.import_graph([tmp_path / "leaves.csv", tmp_path / "films.csv"])
    return kb


ASKED_FOR = [
    ("What does Leaf 6 like?", "Leaf 6,likes,Leaf 7"),
    ("Who likes Leaf 6?", "Leaf 5,likes,Leaf 6"),
    ("Which leaf likes the Leaf 30?", "Leaf 29,likes,Leaf 30"),
    ("Who directed Film 40 Dawn?", "Film 40 Dawn,directed_by,Person 5 Roe"),
    ("the director of Film 8 Dawn was who", "Film 8 Dawn,directed_by,Person 1 Roe"),
    ("when was Film 51 Dawn released", "Film 51 Dawn,release_year,2001"),
    ("In what did Actor 33 Lund star?", "Film 33 Dawn,starred_actors,Actor 33 Lund"),
    ("Who directed the film starring Actor 12 Lund?", "Film 12 Dawn,directed_by,Person 5 Roe"),
]


@pytest.mark.parametrize(("question", "row"), ASKED_FOR)
def test_the_row_that_answers_is_found_first_and_cited(graph: KnowledgeBase, question: str, row: str) -> None:
    (hit,) = graph.search(question, k=1)
    assert "".join(text for text, _ in hit.snippet) == row
    lines = ["head,relation,tail", *(LEAVES if hit.uri == "leaves.csv" else FILMS)]
    assert lines[hit.line - 1] == row
    answer = graph.ask(question)
    assert answer.verdict == "evidence"
    assert (row, hit.line) in [(citation.quote, citation.line) for citation in answer.citations]
    assert (answer.facts[0].quote, answer.facts[0].line) == (row, hit.line)
    assert answer.facts[0].number is not None


def test_a_question_that_asks_for_nothing_has_no_such_row(graph: KnowledgeBase) -> None:
    for question in ("How tall is Leaf 6?", "Who directed Film 999?", "", "like"):
        assert asked_rows(graph.connection, prepare(graph.connection, question)) == {}
    plan = prepare(graph.connection, "What does Leaf 6 like?", where="uri = 'films.csv'")
    assert asked_rows(graph.connection, plan) == {}


LONGER = ["Jaws 3-D,directed_by,Joe Alves", "Jaws 3-D,has_tags,shark", "Jaws 3-D,starred_actors,Dennis Quaid",
          "Jaws 2,has_tags,shark", "Raise the Titanic,release_year,1980"]  # fmt: skip
NAMED = ["Jaws,directed_by,Steven Spielberg", "Jaws,has_tags,shark", "Jaws,release_year,1975",
         "Titanic,directed_by,James Cameron"]  # fmt: skip


@pytest.fixture
def sharks(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    kb.set(embedding_model="")
    filling = [
        f"Long film {n} of the sea and the great white shark that nobody saw,has_tags,tag {n}" for n in range(90)
    ]
    rows = [row for n in range(6) for row in (*filling[n * 15 : n * 15 + 15], *LONGER[n : n + 1], *NAMED[n : n + 1])]
    (tmp_path / "films.csv").write_text("\n".join(["head,relation,tail", *rows]) + "\n", "utf-8")
    kb.import_graph([tmp_path / "films.csv"])
    return kb


@pytest.mark.parametrize("question", ["jaws", "Jaws", "What is Jaws?"])
def test_the_rows_of_what_is_named_come_before_those_of_longer_names(sharks: KnowledgeBase, question: str) -> None:
    hits = sharks.search(question, k=3)
    assert {"".join(text for text, _ in hit.snippet) for hit in hits} == set(NAMED[:3])
    assert {citation.quote for citation in sharks.ask(question, k=3).citations} == set(NAMED[:3])


def test_a_note_about_what_is_named_stays_first(sharks: KnowledgeBase, vault: Vault) -> None:
    sharks.add([vault({"Jaws.md": "A film that I saw in Porto."})])
    assert sharks.search("Jaws", k=1)[0].uri.endswith("Jaws.md")
    plan = prepare(sharks.connection, "Jaws")
    assert asked_rows(sharks.connection, plan) == {}


def test_what_it_added_is_explained(graph: KnowledgeBase) -> None:
    hit = graph.search("What does Leaf 6 like?", k=1)[0]
    (part,) = (part for part in hit.parts if part.signal == "asked")
    assert (part.value, part.added) == (1.0, ASKED)
    assert sum(p.added for p in hit.parts) == pytest.approx(hit.score)
    assert hit.reasons["facts"] == ASKED


def test_a_long_list_leaves_room_for_notes(graph: KnowledgeBase, vault: Vault) -> None:
    graph.add([vault({"Person 3 Roe.md": "Of what Person 3 Roe directed, nothing was seen abroad."})])
    question = "what did Person 3 Roe direct"
    ranked = rank(graph.connection, prepare(graph.connection, question), 10)
    values = [p.signals["asked"] for p in ranked if p.rows]
    assert values == sorted(values, reverse=True) and values[:FULL] == [1.0] * FULL and values[FULL] < 1
    assert sum(len(p.rows) for p in ranked) == len([row for row in FILMS if row.endswith("Person 3 Roe")])
    hits = graph.search(question, k=20)
    note = next(n for n, hit in enumerate(hits) if hit.uri.endswith("Person 3 Roe.md"))
    assert FULL <= note < max(n for n, hit in enumerate(hits) if hit.rows)


def test_notes_alone_are_ranked_as_ever(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"Ana.md": "---\nlikes: '[[Ben]]'\n---\nAna sails."})])
    plan = prepare(kb.connection, "What does Ana like?")
    assert asked_rows(kb.connection, plan) == {}
    assert all("asked" not in p.signals for p in rank(kb.connection, plan, 5))


def test_the_command_shows_the_row(graph: KnowledgeBase, run: Run) -> None:
    found = json.loads(run("search", "Who likes Leaf 6?", "-k", "1", "-d", graph.path, "--json").stdout)
    assert [(hit["line"], hit["snippet"]) for hit in found] == [(6, "Leaf 5,likes,Leaf 6")]
