"""Which of several notes a link means."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.facts.link_targets import Candidate, Choice, choose, link_key


def notes(*paths: str, source: int = 1) -> list[Candidate]:
    return [Candidate(n, source, path, path.rsplit("/", 1)[-1]) for n, path in enumerate(paths, source * 100)]


def chosen(target: str, path: str, candidates: list[Candidate], *more: str) -> str | None:
    choice = choose([target, *more], 1, path, candidates)
    return next((c.path for c in candidates if c.document == choice.document), None)


@pytest.mark.parametrize(
    ("name", "key"),
    [("Note", "note"), ("a/b/Note", "note"), ("C# notes", "c"), ("#x", "#x"), ("a/", "a"), ("v1.2", "v1.2"), ("", "")],
)
def test_keys(name: str, key: str) -> None:
    assert link_key(name) == key


@pytest.mark.parametrize(
    ("target", "path", "wanted"),
    [
        ("todo", "index.md", "todo"),
        ("a/todo", "index.md", "a/todo"),
        ("todo", "a/here.md", "a/todo"),  # the nearest
        ("todo", "c/d/here.md", "todo"),
        ("./todo", "a/here.md", "a/todo"),
        ("../todo", "a/here.md", "todo"),
        ("/todo", "a/here.md", "todo"),
        ("TODO", "a/here.md", "a/todo"),
        ("x/todo", "a/here.md", "b/x/todo"),  # the end of a path
        ("y/todo", "a/here.md", None),
        ("odo", "index.md", None),
        ("another-todo", "index.md", "another-todo"),
        ("../../../todo", "a/here.md", "todo"),  # above the root is the root
    ],
)
def test_paths_and_distances(target: str, path: str, wanted: str | None) -> None:
    assert chosen(target, path, notes("todo", "a/todo", "b/x/todo", "another-todo")) == wanted


def test_exact_case_before_another_case_before_the_nearest_folder() -> None:
    candidates = notes("a/Note", "b/note")
    assert [chosen(name, "b/here.md", candidates) for name in ("Note", "note", "NOTE")] == [
        "a/Note",
        "b/note",
        "b/note",
    ]


def test_what_is_equal_is_taken_by_path_and_said() -> None:
    for candidates in permutations(notes("b/note", "a/Note")):
        found = choose(["NOTE"], 1, "root.md", candidates)
        assert found.rivals == ("a/Note", "b/note")
        assert found.document == next(c.document for c in candidates if c.path == "a/Note")


def test_the_first_spelling_that_anything_answers_to() -> None:
    candidates = notes("C# notes", "C")
    assert chosen("C# notes", "i.md", candidates, "C") == "C# notes"
    assert chosen("C# other", "i.md", candidates, "C") == "C"
    assert choose(["x", "y"], 1, "i.md", candidates) == Choice(None)
    assert choose([], 1, "i.md", candidates) == Choice(None)


def test_the_own_source_comes_first() -> None:
    candidates = [*notes("far/away/note", source=1), *notes("note", source=2)]
    assert choose(["note"], 1, "i.md", candidates).document == 100
    assert choose(["note"], 2, "i.md", candidates).document == 200
    assert choose(["away/note"], 2, "i.md", candidates).document == 100


def test_names_of_namespaces() -> None:
    candidates = [Candidate(1, 1, "pages/a___b", "a/b"), Candidate(2, 1, "pages/b", "b")]
    assert choose(["a/b"], 1, "pages/x.md", candidates).document == 1
    assert choose(["b"], 1, "pages/x.md", candidates).document == 2


PARTS = st.sampled_from(["a", "A", "b", "c.d", "..", "."])
PATHS = st.lists(PARTS.filter(lambda part: part not in ("..", ".")), min_size=1, max_size=3).map("/".join)


@given(
    st.lists(PARTS, min_size=1, max_size=4).map("/".join), PATHS, st.lists(PATHS, max_size=5, unique=True), st.randoms()
)
def test_order_of_candidates_does_not_matter(target: str, path: str, paths: list[str], chance: object) -> None:
    candidates = notes(*paths)
    first = choose([target], 1, path + ".md", candidates)
    chance.shuffle(candidates)  # type: ignore[attr-defined]
    assert choose([target], 1, path + ".md", candidates) == first
    assert first.rivals == () or first.document in [c.document for c in candidates if c.path == first.rivals[0]]


@given(PATHS, st.lists(PATHS, min_size=1, max_size=5, unique=True))
def test_a_full_path_finds_its_note(path: str, paths: list[str]) -> None:
    candidates = notes(*paths)
    for candidate in candidates:
        if "/" in candidate.path:
            found = choose([f"/{candidate.path}"], 1, path + ".md", candidates)
            assert found.document == candidate.document
