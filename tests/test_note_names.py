"""Who a name is, and what notes of one name are called."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.facts.identity import (
    MODEL_NAME,
    OTHER_NAME,
    OWN_NAME,
    Declared,
    NamedNote,
    looks_like_identifier,
    note_names,
    pick,
    preferred_spelling,
)
from llm_graphrag.text.normalise import name_key


def note(number: int, path: str, type_: str = "", name: str | None = None, source: str = "v") -> NamedNote:
    return NamedNote(number, f"{source}/{path}", path, path.rsplit("/", 1)[-1] if name is None else name, type_)


def picked(declared: Iterable[Declared], spelling: str, type_: str = "") -> int | None:
    found = pick(declared, spelling, type_)
    return None if found is None else found.entity


def test_a_name_alone_is_enough() -> None:
    assert note_names([note(1, "deep/down/README")]) == {1: "README"}
    assert note_names([]) == {}


def test_two_of_a_name_are_told_apart_by_path_and_by_source() -> None:
    group = [note(1, "README"), note(2, "a/README"), note(3, "README", source="w")]
    assert note_names(group) == {1: "v/README", 2: "a/README", 3: "w/README"}
    same = [note(1, "a/README"), note(2, "a/README", source="w")]
    assert note_names(same) == {1: "v/a/README", 2: "w/a/README"}


def test_types_tell_apart_without_paths() -> None:
    assert note_names([note(1, "a/Marlow", "person"), note(2, "b/Marlow", "place")]) == {1: "Marlow", 2: "Marlow"}
    assert note_names([note(1, "a/Marlow", "person"), note(2, "b/Marlow")]) == {1: "Marlow", 2: "Marlow"}


def test_case_is_no_difference() -> None:
    assert note_names([note(1, "a/Note"), note(2, "b/note")]) == {1: "a/Note", 2: "b/note"}


def test_even_uris_may_have_one_key() -> None:
    group = [note(1, "x-y/Note"), note(2, "x\u2010y/Note"), note(3, "X-Y/note")]
    for order in permutations(group):
        assert note_names(order) == {3: "v/X-Y/note", 1: "v/x-y/Note (2)", 2: "v/x\u2010y/Note (3)"}


NOTES = st.lists(
    st.tuples(st.sampled_from(["a/", "A/", "b/", "a-", "a\u2010", ""]), st.sampled_from(["N", "n", "M"]),
              st.sampled_from(["", "person"]), st.sampled_from("vw")),
    max_size=6, unique=True,
)  # fmt: skip


@given(NOTES, st.randoms())
def test_names_are_unique_by_key_and_type_and_order_does_not_matter(
    rows: list[tuple[str, ...]], chance: object
) -> None:
    group = [note(n, folder + name, type_, name, source) for n, (folder, name, type_, source) in enumerate(rows)]
    unique = {item.uri: item for item in group}
    group = list(unique.values())
    names = note_names(group)
    keys = [(name_key(names[item.document]), item.type) for item in group]
    assert len(set(keys)) == len(keys)
    chance.shuffle(group)  # type: ignore[attr-defined]
    assert note_names(group) == names


# -- who is meant --------------------------------------------------------------------------


def test_the_only_one_that_declares_a_name_is_meant() -> None:
    assert pick([], "Ana") is None
    assert picked([Declared(7, "Ana", OWN_NAME)], "ANA") == 7
    assert picked([Declared(7, "Ana", OTHER_NAME)], "ana") == 7


def test_own_names_come_before_aliases() -> None:
    both = [Declared(1, "Ana", OTHER_NAME), Declared(2, "Ana", OWN_NAME)]
    assert picked(both, "Ana") == picked(reversed(both), "Ana") == 2


def test_the_spelling_decides_among_several_or_nothing_does() -> None:
    both = [Declared(1, "Plum", OWN_NAME), Declared(2, "plum", OWN_NAME), Declared(3, "PLUM", OTHER_NAME)]
    assert [picked(both, name) for name in ("Plum", "plum", "PLUM", "pLum")] == [1, 2, None, None]
    same = [Declared(1, "Ana", OWN_NAME), Declared(2, "Ana", OWN_NAME)]
    assert pick(same, "Ana") is None


def test_one_entity_under_two_spellings_is_one() -> None:
    assert picked([Declared(1, "Ana", OWN_NAME), Declared(1, "ANA", OWN_NAME)], "ana") == 1


# -- which spelling is shown -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("SYSTEMS", "Systems", "Systems"), ("loose ends", "Loose Ends", "Loose Ends"),
        ("Loose ends", "Loose Ends", "Loose Ends"),
        ("NASA", "nasa", "nasa"), ("a", "A", "A"),
    ],
)  # fmt: skip
def test_spellings(one: str, other: str, shown: str) -> None:
    assert preferred_spelling(one, other) == preferred_spelling(other, one) == shown


@given(st.lists(st.text("aAbB -", min_size=1), min_size=1, max_size=5), st.randoms())
def test_the_spelling_does_not_depend_on_the_order(names: list[str], chance: object) -> None:
    def shown(order: list[str]) -> str:
        best = order[0]
        for name in order[1:]:
            best = preferred_spelling(best, name)
        return best

    first = shown(names)
    chance.shuffle(names)  # type: ignore[attr-defined]
    assert shown(names) == first


@pytest.mark.parametrize(
    ("stem", "is_one"),
    [
        ("20240131", True), ("202401311200", True), ("2024-01-31", False), ("2024_01", False), ("1984", False),
        ("w00042", True), ("zk-2024.0001", True), ("Ana2024", True), ("@abara2010", False), ("a3f9c1d2", True),
        ("abcdefab", False), ("550e8400-e29b-41d4-a716-446655440000", True), ("v1.2", False), ("Catch 22", False),
        ("12345", True), ("123", False),
    ],
)  # fmt: skip
def test_identifiers(stem: str, is_one: bool) -> None:
    assert looks_like_identifier(stem) is is_one


def test_what_a_model_typed_comes_after_what_a_person_wrote() -> None:
    note_, model = Declared(1, "Apple", OTHER_NAME, "company"), Declared(2, "Apple", MODEL_NAME, "fruit")
    assert picked([model], "apple") == 2
    assert picked([note_, model], "apple") == 1
    assert picked([note_, model], "apple", "fruit") is None  # the entity of that key and type
    assert picked([note_, model], "apple", "company") == 1
    assert picked([note_, model], "apple", "place") is None
    assert picked([model, Declared(3, "Apple", MODEL_NAME, "company")], "Apple") is None


def test_a_note_without_a_type_takes_what_a_model_typed() -> None:
    untyped = Declared(1, "Ana", OWN_NAME)
    assert picked([untyped], "ana", "person") == 1
    assert picked([untyped, Declared(2, "Ana", MODEL_NAME, "person")], "ana", "person") == 1
    assert picked([untyped, Declared(2, "Ana", MODEL_NAME, "place")], "ana", "person") == 1
