"""Search: whatever is typed, what is found, and how it is shown."""

from __future__ import annotations

import json

import pytest

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes.hits import Term
from llm_graphrag.routes.search import HINT, search
from llm_graphrag.routes.snippets import snippet, visible

QUERIES = [
    "park.", "ask-codex", "it's",
    'foo"bar', "GB/s", "grammar::fa", "AND", "NOT", "OR", "a AND", "*", "-", ":", "(", ")",
    "a*b", '"', "", "   ", "NEAR(", "col:x", "^x", "x^", "a + b", "{a b}:c", "C++", "C#", "what is this?", "a, b", "😀",
    "'; drop table f; --", "x" * 2000, "title: ana", "\x00", "\ud800", "a\nb",
]  # fmt: skip
NOTES = {
    "n.md": "The park. Use ask-codex and grammar::fa; it's foo\"bar at GB/s in C++ or C#.",
    "times.md": "grammar::fa at 12:30, std::vector, http://x.y/z",
    "work/plan.md": "---\ntags: [work/budget]\n---\n# Plan\n\nThe budget of the park is small.",
    "home/list.md": "---\ntags: [home]\n---\n# List\n\nBuy a lamp for the park bench.",
    "coat.md": "# Coat\n\nSome prose first.\n\nThe mirror was coated with silver in 1890.",
    "東京.md": "東京都の人口は多い。京都は古い。",
}


@pytest.fixture
def notes(kb: KnowledgeBase, vault) -> KnowledgeBase:  # type: ignore[no-untyped-def]
    kb.add([vault(NOTES)])
    return kb


def found(kb: KnowledgeBase, query: str, **options) -> list[str]:  # type: ignore[no-untyped-def]
    return [hit.uri.removeprefix("vault/") for hit in search(kb.connection, query, **options)]


@pytest.mark.parametrize("query", QUERIES)
def test_nothing_raises(notes: KnowledgeBase, query: str) -> None:
    """Case 099: 30 of these are syntax errors in a plain FTS5 MATCH."""
    for hit in search(notes.connection, query):
        assert hit.snippet


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("park.", {"n.md", "work/plan.md", "home/list.md"}),
        ("ask-codex", {"n.md"}),
        ("GB/s", {"n.md"}),
        ("grammar::fa", {"n.md", "times.md"}),
        ("http://x.y/z", {"times.md"}),
        ("12:30", {"times.md"}),
        ("std::vector", {"times.md"}),
        ("coating", {"coat.md"}),
        ("人口", {"東京.md"}),
        ("東京", {"東京.md"}),
    ],
)
def test_punctuation_is_text(notes: KnowledgeBase, query: str, wanted: set[str]) -> None:
    """Cases 099 and 102."""
    assert set(found(notes, query, vectors=False)) == wanted
    assert set(found(notes, query)) >= wanted


def test_operators_are_words(notes: KnowledgeBase) -> None:
    assert "coat.md" not in found(notes, "budget NOT park")
    assert set(found(notes, "budget NOT park")) == {"work/plan.md", "n.md", "home/list.md"}


def test_advanced_gives_operators_a_meaning(notes: KnowledgeBase) -> None:
    assert found(notes, "park NOT budget NOT lamp", advanced=True) == ["n.md"]
    assert set(found(notes, '"coated with" OR lam*', advanced=True)) == {"coat.md", "home/list.md"}
    assert set(found(notes, "(budget OR lamp) AND park", advanced=True)) == {"work/plan.md", "home/list.md"}


@pytest.mark.parametrize(
    ("query", "position"), [("NOT x", 1), ("(a OR b", 1), ("a NEAR/2 b AND", 12), ("a ) b", 3), ('"a', 1)]
)
def test_an_advanced_mistake_is_one_sentence_with_its_position(notes: KnowledgeBase, query: str, position: int) -> None:
    """Case 101."""
    with pytest.raises(ValueError, match=f"position {position}") as caught:
        search(notes.connection, query, advanced=True)
    assert "fts5" not in str(caught.value)


@pytest.mark.parametrize("query", ["tier1-test AND unicode", "zz OR b-c", "a NEAR/2 b", "title:ana"])
def test_advanced_quotes_words(notes: KnowledgeBase, query: str) -> None:
    assert search(notes.connection, query, advanced=True) == []


def test_an_empty_advanced_query_finds_nothing(notes: KnowledgeBase) -> None:
    assert search(notes.connection, " ", advanced=True) == []


def test_k_is_a_limit(notes: KnowledgeBase) -> None:
    assert len(found(notes, "park", k=2)) == 2
    assert found(notes, "park", k=0) == []


def test_scopes(notes: KnowledgeBase) -> None:
    assert found(notes, "park", tag="work") == ["work/plan.md"]
    assert found(notes, "park", tag="#Work/budget") == ["work/plan.md"]
    assert found(notes, "park", tag="wor") == []
    assert found(notes, "park", where="folder = 'home'") == ["home/list.md"]
    assert found(notes, "park", where="folder like 'w%' or title = 'List'", tag="home") == ["home/list.md"]
    assert found(notes, "park", where="tag = 'home'") == ["home/list.md"]
    assert found(notes, "park", since="2999-01-01") == []
    assert len(found(notes, "park", since="2000-01-01")) == 3


def test_a_scope_holds_before_the_best_are_cut(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    notes = {f"noise/{i:03}.md": "harbour harbour harbour" for i in range(150)}
    kb.add([vault(notes | {"one/last.md": "A long note that says harbour only once, among many other words."})])
    assert found(kb, "harbour", where="folder = 'one'") == ["one/last.md"]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("", "empty"),
        ("1) OR (1", "position 2"),
        ("1; DROP TABLE kg_chunks", "position 2"),
        ("1 -- x", "position 3"),
        ("1 /* x */", "position 3"),
        ("title = 'a", "not closed"),
        ("(1", "not closed"),
        ("nope = 1", "no such column: nope"),
        ("title =", "cannot be used"),
        ("title = :x", "cannot be used"),
        ("EXISTS (SELECT 1 FROM kg_settings)", "may only read the columns"),
        ("EXISTS (SELECT 1 FROM sqlite_master)", "may only read the columns"),
        ("load_extension('x')", "may only read the columns"),
        ("randomblob(10) = 1", "may only read the columns"),
        ("1 IN (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c)", "may only read"),
    ],
)
def test_where_is_one_harmless_condition(notes: KnowledgeBase, where: str, said: str) -> None:
    with pytest.raises(ValueError, match="--where") as caught:
        search(notes.connection, "park", where=where)
    assert said in str(caught.value)
    assert len(found(notes, "park")) == 3  # the guard is gone again


def test_where_may_hold_what_looks_dangerous_in_a_string(notes: KnowledgeBase) -> None:
    assert found(notes, "park", where="title <> '; -- )'") != []


@pytest.mark.parametrize("since", ["yesterday", "2026/01/01", "'; --", ""])
def test_since_is_a_date(notes: KnowledgeBase, since: str) -> None:
    with pytest.raises(ValueError, match="--since takes a date"):
        search(notes.connection, "park", since=since)


def test_a_hit_says_where_and_why(notes: KnowledgeBase) -> None:
    (hit,) = search(notes.connection, "silver coating")
    assert (hit.title, hit.heading, hit.line) == ("Coat", "Coat", 5)
    assert "".join(text for text, _ in hit.snippet).endswith("The mirror was coated with silver in 1890.")
    assert [text for text, marked in hit.snippet if marked] == ["Coat", "coated", "silver"]
    assert hit.reasons.keys() <= {"words", "meaning", "names", "graph", "bridges"}
    assert sum(hit.reasons.values()) == pytest.approx(hit.score, abs=1e-4)


def test_the_parts_of_a_score_add_up_to_it(notes: KnowledgeBase) -> None:
    for hit in search(notes.connection, "the budget of the park"):
        assert sum(part.added for part in hit.parts) == pytest.approx(hit.score, abs=1e-4)
        assert all(part.added == pytest.approx(part.value * part.weight) for part in hit.parts)
        assert [part.added for part in hit.parts] == sorted((part.added for part in hit.parts), reverse=True)
    (hit,) = search(notes.connection, "budget", advanced=True)
    assert [(part.signal, part.weight) for part in hit.parts] == [("words", 1.0)]


def test_what_is_said_in_other_words_is_found_by_meaning(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    kb.add([vault({"a.md": "The physician examined her patient.", "b.md": "A recipe for bread with rye."})])
    assert found(kb, "doctor") == ["a.md"]
    assert found(kb, "doctor", vectors=False) == []
    (hit,) = search(kb.connection, "doctor")
    assert hit.reasons.keys() == {"meaning"}


def test_equal_scores_are_ordered_by_document(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    kb.add([vault({"c.md": "the same harbour", "a.md": "the same harbour", "b.md": "the same harbour"})])
    assert found(kb, '"same harbour"', advanced=True) == ["a.md", "b.md", "c.md"]


def test_two_steps_are_found(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    kb.add([vault({
        "Night Train.md": "Night Train is a film directed by [[Lena Holt]].",
        "Lena Holt.md": "Lena Holt grew up in Graz.",
        "Other Film.md": "Another film, about a train at night.",
    })])  # fmt: skip
    assert found(kb, "Where did the director of Night Train grow up?")[:2] == ["Night Train.md", "Lena Holt.md"]


def test_an_empty_knowledge_base_finds_nothing(kb: KnowledgeBase) -> None:
    assert search(kb.connection, "anything") == []


# -- snippets ------------------------------------------------------------------------------------------------


def test_a_snippet_is_one_line_without_control_characters() -> None:
    term = Term("red", frozenset(), 1.0)
    parts = snippet("Be \x1b[31mred\x1b[0m\n\nand\tcalm\u202e.", [term])
    assert "".join(text for text, _ in parts) == "Be [31mred[0m and calm."


def test_a_long_sentence_is_cut_around_the_match() -> None:
    text = "word " * 200 + "needle " + "word " * 200
    parts = snippet(text, [Term("needles", frozenset(), 1.0)], 100)
    assert [text for text, marked in parts if marked] == ["needle"]
    assert 60 < len("".join(text for text, _ in parts)) < 130


def test_chinese_words_are_marked() -> None:
    parts = snippet("古い。東京都の人口は多い。", [Term("東京", frozenset(), 1.0), Term("京都", frozenset(), 1.0)], 8)
    assert [text for text, marked in parts if marked] == ["東京都"]


def test_visible() -> None:
    assert visible("a\x9b2Jb\u200b \n c") == "a2Jb c"


# -- the command -----------------------------------------------------------------------------------------------


@pytest.fixture
def filled(run, vault):  # type: ignore[no-untyped-def]
    run("add", vault(NOTES | {"esc.md": "An \x1b]0;owned\x07 escape\x1b[2J sequence about lamps."}))
    return run


def test_search_prints_place_and_snippet(filled) -> None:  # type: ignore[no-untyped-def]
    output = filled("search", "silver coating").output
    assert (
        output == " 1. vault/coat.md:5  Coat\n    # Coat Some prose first. The mirror was coated with silver in 1890.\n"
    )


def test_terminal_is_not_steered_by_notes(filled) -> None:  # type: ignore[no-untyped-def]
    for arguments in (["search", "escape"], ["search", "escape", "--json"], ["ask", "escape sequence"]):
        output = filled(*arguments).output
        assert "escape" in output
        assert not any(ord(c) < 32 and c != "\n" for c in output)


def test_search_json(filled) -> None:  # type: ignore[no-untyped-def]
    (hit,) = json.loads(filled("search", "silver coating", "--json").output)
    assert (hit["uri"], hit["line"], hit["matched"]) == ("vault/coat.md", 5, ["Coat", "coated", "silver"])


def test_empty_query_gives_a_hint(filled) -> None:  # type: ignore[no-untyped-def]
    assert filled("search", "  ").output == HINT + "\n"
    assert filled("search", "qqqqzzzz").output == "Nothing found.\n"
    assert json.loads(filled("search", "", "--json").output) == []


def test_errors_are_one_line(filled) -> None:  # type: ignore[no-untyped-def]
    assert filled("search", "(a", "--advanced", exit_code=1).output.count("\n") == 1
    assert "Error: --where takes one SQL condition" in filled("search", "a", "--where", "1;", exit_code=2).output
    assert "Give a query, or --batch FILE." in filled("search", exit_code=2).output


def test_explain_shows_what_each_signal_added(filled) -> None:  # type: ignore[no-untyped-def]
    lines = filled("search", "silver coating", "--explain").output.splitlines()
    assert lines[0] == " 1. vault/coat.md:5  Coat"
    assert lines[2].startswith("    score ")
    score = float(lines[2].split()[1])
    rows = [line.split() for line in lines[3:]]
    assert "cosine" in {row[5] for row in rows}
    assert sum(float(row[0]) for row in rows) == pytest.approx(score, abs=0.1)
    for added, _, value, _, weight, *_ in rows:
        assert float(added) == pytest.approx(float(value) * float(weight), abs=0.06)


def test_explain_json(filled) -> None:  # type: ignore[no-untyped-def]
    (hit,) = json.loads(filled("search", "silver coating", "--explain", "--json").output)
    assert all(part.keys() == {"signal", "value", "weight", "added"} for part in hit["explain"])
    assert sum(part["added"] for part in hit["explain"]) == pytest.approx(hit["score"], abs=1e-4)
    (hit,) = json.loads(filled("search", "silver coating", "--json").output)
    assert "explain" not in hit


def test_explain_is_of_one_query(filled, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "questions.jsonl"
    path.write_text("", encoding="utf-8")
    assert "--explain shows one query" in filled("search", "--explain", "--batch", path, exit_code=2).output


def test_search_without_vectors(filled) -> None:  # type: ignore[no-untyped-def]
    (hit,) = json.loads(filled("search", "silver coating", "--no-vectors", "--explain", "--json").output)
    assert not [part for part in hit["explain"] if part["signal"].startswith("cosine")]
    assert "meaning" not in hit["reasons"]


def test_batch(filled) -> None:  # type: ignore[no-untyped-def]
    lines = ['{"id": 1, "question": "silver coating"}', "", '{"id": "x", "question": "budget"}']
    output = filled("search", "--batch", "-", "-k", "1", input="\n".join(lines)).output
    first, second = map(json.loads, output.splitlines())
    assert (first["id"], [hit["uri"] for hit in first["hits"]]) == (1, ["vault/coat.md"])
    assert (second["id"], [hit["uri"] for hit in second["hits"]]) == ("x", ["vault/work/plan.md"])
    assert first["hits"][0].keys() == {"uri", "chunk", "score"}


def test_batch_goes_on_after_a_bad_line(filled, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "questions.jsonl"
    path.write_text('{"id": 1}\nnot json\n[1]\n{"id": 2, "question": "budget"}\n', encoding="utf-8")
    result = filled("search", "--batch", path, exit_code=3)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row.get("line") for row in rows] == [1, 2, 3, None]
    assert rows[3]["id"] == 2
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["line 1", "line 2", "line 3"]


def test_one_note_does_not_fill_the_list(kb: KnowledgeBase, vault) -> None:  # type: ignore[no-untyped-def]
    sections = "".join(f"## Part {i}\n\nThe tide tables of the harbour. {'Words. ' * 150}\n\n" for i in range(6))
    kb.add([vault({"long.md": "# Long\n\n" + sections, "short.md": "# Short\n\nTide tables, and a harbour."})])
    hits = search(kb.connection, "tide tables of the harbour", k=7)
    assert "vault/short.md" in [hit.uri for hit in hits[:2]]
    repeated = [hit.reasons.get("repeated", 0) for hit in hits if hit.uri == "vault/long.md"]
    assert repeated[:3] == [0, -0.5, -1.0]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("since", ["2026-13", "2026-02-30", "2026-01-01T25", "yesterday"])
def test_a_date_that_is_none_is_said(kb: KnowledgeBase, since: str) -> None:
    with pytest.raises(ValueError, match="--since takes a date"):
        kb.search("boat", since=since)


@pytest.mark.parametrize("since", ["2026", "2026-02", "2026-02-28", "2026-02-28 12", "2026-02-28T12:30:01"])
def test_the_beginning_of_a_date_is_enough(kb: KnowledgeBase, since: str) -> None:
    kb.search("boat", since=since)


@pytest.mark.parametrize("question", ["*", "?", "…!", "❤"])
def test_a_text_without_words_finds_nothing(notes: KnowledgeBase, question: str) -> None:
    assert search(notes.connection, question) == []
