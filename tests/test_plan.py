"""What a run will do, from names and hashes alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.sources.plan import Fresh, Plan, Step, compare
from llm_graphrag.store.documents import Stored


def stored(*items: tuple[str, str], reading: str = "r") -> dict[str, Stored]:
    return {path: Stored(n, f"v/{path}", path, digest, reading, 9) for n, (path, digest) in enumerate(items, 1)}


def plan(fresh: list[tuple[str, str]], have: dict[str, Stored], scope: list[str] | None = None) -> Plan:
    return compare([Fresh(*item) for item in fresh], have, list(have) if scope is None else scope, "r")


def test_new_changed_unchanged_gone() -> None:
    have = stored(("a.md", "1"), ("b.md", "2"), ("c.md", "3"))
    found = plan([("a.md", "1"), ("b.md", "9"), ("d.md", "4")], have)
    assert found.steps == (Step("changed", "b.md", 2), Step("new", "d.md"))
    assert (found.unchanged, [item.path for item in found.gone]) == (1, ["c.md"])


def test_another_reading_is_a_change() -> None:
    found = compare([Fresh("a.md", "1")], stored(("a.md", "1")), ["a.md"], "another")
    assert found.steps == (Step("changed", "a.md", 1),)


def test_a_rename_is_found_by_content() -> None:
    found = plan([("new/b.md", "1")], stored(("a.md", "1")))
    assert found.steps == (Step("renamed", "new/b.md", 1, "a.md"),)
    assert found.gone == ()


def test_a_copy_is_no_rename() -> None:
    assert plan([("a.md", "1"), ("b.md", "1")], stored(("a.md", "1"))).steps == (Step("new", "b.md"),)


def test_of_equal_contents_the_equal_name_moved() -> None:
    have = stored(("x/a.md", "1"), ("x/b.md", "1"))
    found = plan([("y/b.md", "1"), ("y/a.md", "1")], have)
    assert found.steps == (Step("renamed", "y/a.md", 1, "x/a.md"), Step("renamed", "y/b.md", 2, "x/b.md"))


def test_each_document_moves_once() -> None:
    found = plan([("y/a.md", "1"), ("y/b.md", "1")], stored(("x/a.md", "1")))
    assert found.steps == (Step("renamed", "y/a.md", 1, "x/a.md"), Step("new", "y/b.md"))


def test_empty_files_do_not_move() -> None:
    have = stored(("a.md", "0"))
    found = compare([Fresh("b.md", "0", empty=True)], have, ["a.md"], "r")
    assert found.steps == (Step("new", "b.md"),) and [item.path for item in found.gone] == ["a.md"]


def test_a_name_in_other_case_is_a_rename_even_with_other_content() -> None:
    assert plan([("Config.md", "2")], stored(("config.md", "1"))).steps == (
        Step("renamed", "Config.md", 1, "config.md"),
    )
    both = plan([("Config.md", "2"), ("config.md", "1")], stored(("config.md", "1")))
    assert both.steps == (Step("new", "Config.md"),) and both.unchanged == 1


def test_what_is_out_of_scope_is_neither_gone_nor_moved() -> None:
    have = stored(("a/x.md", "1"), ("b/y.md", "2"))
    found = plan([("b/z.md", "1")], have, scope=["b/y.md"])
    assert found.steps == (Step("new", "b/z.md"),)
    assert [item.path for item in found.gone] == ["b/y.md"]


PATHS = st.sampled_from(["a.md", "A.md", "b.md", "x/a.md", "x/c.md"])
CONTENTS = st.dictionaries(PATHS, st.sampled_from("123"))


@given(CONTENTS, CONTENTS)
def test_every_file_and_every_document_is_accounted_for_once(files: dict[str, str], before: dict[str, str]) -> None:
    have = stored(*before.items())
    found = plan(list(files.items()), have)
    assert sorted(step.path for step in found.steps) == sorted(
        path for path in files if before.get(path) != files[path]
    )
    assert found.unchanged == sum(before.get(path) == files[path] for path in files)
    known = [step.known for step in found.steps if step.known] + [item.id for item in found.gone]
    assert len(known) == len(set(known))
    assert sorted(known + [have[p].id for p in files if before.get(p) == files[p]]) == sorted(
        item.id for item in have.values()
    )
    assert [step.path for step in found.steps] == sorted(step.path for step in found.steps)
