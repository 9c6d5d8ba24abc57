"""What a question names, found without a model."""

from __future__ import annotations

import pytest

from llm_graphrag.graph.candidates import Mention, flat
from llm_graphrag.graph.mentions import find_mentions
from llm_graphrag.knowledge_base import KnowledgeBase

NOTES = {
    "Ana Petrov.md": "---\naliases: [Anka]\n---\nAna Petrov lives in Porto. She met Ben in the Grand Hotel Royal.",
    "Petrov.md": "A name.",
    "docker.md": "Containers.",
    "C++.md": "A language.",
    "Mercury (planet).md": "The first planet. Mercury is hot.",
    "東京.md": "首都です。",
    "Tide Tables.md": "When to sail. Ben wrote it.",
}


@pytest.fixture
def notes(kb: KnowledgeBase, vault) -> KnowledgeBase:  # type: ignore[no-untyped-def]
    kb.add([vault(NOTES)])
    return kb


def named(mentions: list[Mention]) -> list[tuple[str, list[str]]]:
    return [(m.text, [c.name for c in m.candidates]) for m in mentions]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Where does Ana Petrov live?", [("Ana Petrov", ["Ana Petrov"])]),
        ("where does ana petrov live?", [("ana petrov", ["Ana Petrov"])]),
        ("Is Anka's boat new?", [("Anka", ["Ana Petrov"])]),
        ("Who is Petrov?", [("Petrov", ["Petrov"])]),
        ("how do I stop docker", [("docker", ["docker"])]),
        ("templates in C++?", [("C++", ["C++"])]),
        ("How hot is Mercury (planet)?", [("Mercury (planet)", ["Mercury (planet)"])]),
        ("東京都の人口", [("東京", ["東京"])]),
        ("tide tables for Ana Petrov", [("tide tables", ["Tide Tables"]), ("Ana Petrov", ["Ana Petrov"])]),
        ("What does “Grand Hotel Royal” cost?", [("Grand Hotel Royal", ["Grand Hotel Royal"])]),
    ],
)
def test_names_are_found(notes: KnowledgeBase, question: str, wanted: list[tuple[str, list[str]]]) -> None:
    assert named(find_mentions(notes.connection, question)) == wanted


def test_a_name_without_its_qualifier_finds_the_note(notes: KnowledgeBase) -> None:
    (mention,) = find_mentions(notes.connection, "How hot is Mercury?")
    qualified = [c for c in mention.candidates if c.method == "qualified"]
    assert [c.name for c in qualified] == ["Mercury (planet)"]
    assert qualified[0].note


@pytest.mark.parametrize("written", ["graph view", "Graph-View", "graph_view"])
@pytest.mark.parametrize("file", ["graph view.md", "graph-view.md", "graph_view.md"])
def test_words_are_joined_by_dashes_or_spaces(kb: KnowledgeBase, vault, written: str, file: str) -> None:  # type: ignore[no-untyped-def]
    kb.add([vault({file: "What joins notes.", "view.md": "A view.", "graph.md": "A graph."})])
    (link,) = kb.link([written]).mentions
    best = link.candidates[0]
    name = file.removesuffix(".md")
    same = written.lower() == name
    assert (best.name, best.method, best.score) == (name, *(("exact", 1.0) if same else ("dashes", 0.93)))
    assert [c.name for c in link.candidates if c.method == "dashes"] == ([] if same else [name])
    (mention,) = find_mentions(kb.connection, f"Where is the {written} shown?")
    assert [c.name for c in mention.candidates] == [name]


def test_the_longest_name_wins_its_words(notes: KnowledgeBase) -> None:
    assert [m.text for m in find_mentions(notes.connection, "Ana Petrov or Petrov?")] == ["Ana Petrov", "Petrov"]


def test_an_alias_is_worth_a_little_less_than_a_name(notes: KnowledgeBase) -> None:
    by_name, by_alias = flat(find_mentions(notes.connection, "Are Petrov and Anka one?"))
    assert (by_name.method, by_alias.method) == ("exact", "alias")
    assert 1 >= by_name.score > by_alias.score > 0.9


def test_what_is_not_known_is_reported(notes: KnowledgeBase) -> None:
    mentions = find_mentions(notes.connection, 'Did Zelda Quist read "The Odd Book" with Ben?')
    assert named(mentions) == [("Zelda Quist", []), ("The Odd Book", []), ("Ben", ["Ben"])]


@pytest.mark.parametrize("question", ["", "   ", "?!", "what is this?", "the of and", "\n", "😀", "\x00", "x" * 10_000])
def test_nothing_is_named(notes: KnowledgeBase, question: str) -> None:
    assert find_mentions(notes.connection, question) == []


def test_words_of_other_notes_are_not_names_when_written_small(notes: KnowledgeBase) -> None:
    """``Porto`` is an entity, but no note; in a question that uses capitals, ``porto`` is a word."""
    assert named(find_mentions(notes.connection, "Did Ben drink porto?")) == [("Ben", ["Ben"])]


def test_only_a_string_is_a_question(notes: KnowledgeBase) -> None:
    with pytest.raises(TypeError, match="a question is a string"):
        find_mentions(notes.connection, ["Ana"])  # type: ignore[arg-type]


def test_the_same_question_gives_the_same_mentions(notes: KnowledgeBase) -> None:
    question = "Mercury, Anka and docker in 東京"
    assert find_mentions(notes.connection, question) == find_mentions(notes.connection, question)


def test_names_are_looked_up_by_index(notes: KnowledgeBase) -> None:
    from llm_graphrag.graph.mentions import LOOK_UP

    plan = [row[3] for row in notes.connection.execute("EXPLAIN QUERY PLAN " + LOOK_UP, {"keys": '["ana"]'})]
    assert not [
        step
        for step in plan
        if step.startswith("SCAN")
        and "json_each" not in step
        and "VIRTUAL" not in step
        and not step.startswith(("SCAN f", "SCAN found", "SCAN k"))
    ], plan
    assert any("kg_aliases_key" in step for step in plan), plan
