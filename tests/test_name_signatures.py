"""Names that are spelled alike are read from bitmaps, which stay in step with the names."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Vault
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import dump

from llm_graphrag.facts.name_grams import (
    BITS,
    Tally,
    asked_bits,
    bitmaps,
    folded,
    initials,
    initials_bits,
    length_bits,
)
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.store import name_signatures
from llm_graphrag.text.normalise import name_key

SYLLABLES = "ba do ke lu mi no pra ste tor vin".split()


def made_up(count: int, seed: int = 1) -> list[str]:
    chooser = random.Random(seed)
    names: dict[str, None] = {}
    while len(names) < count:
        words = ("".join(chooser.choices(SYLLABLES, k=chooser.randint(2, 3))).title() for _ in range(2))
        names[" ".join(words)] = None
    return list(names)


def put(kb: KnowledgeBase, names: list[str]) -> None:
    for name in names:
        cursor = kb.connection.execute(
            "INSERT INTO kg_entities(name, key, origin) VALUES (?, ?, 'user')", [name, name_key(name)]
        )
        kb.connection.execute(
            "INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (?, ?, ?, 'name', 'user')",
            [cursor.lastrowid, name, name_key(name)],
        )


def state(kb: KnowledgeBase) -> list[tuple[object, ...]]:
    return [tuple(row) for row in kb.connection.execute("SELECT * FROM kg_name_signatures ORDER BY id")]


def covered(kb: KnowledgeBase) -> int:
    row = kb.connection.execute("SELECT names FROM kg_name_signatures WHERE id = -1").fetchone()
    return row[0] if row else 0


def linked(kb: KnowledgeBase, mention: str) -> list[str]:
    return [c.name for c in kb.link([mention], vectors=False).flat()]


# -- bits --------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=24), min_size=1, max_size=6))
def test_one_name_and_many_have_the_same_bits(names: list[str]) -> None:
    keys = [name_key(name) for name in names]
    rows = bitmaps(keys, list(range(len(keys))), 64)
    assert len(rows) == BITS
    for place, key in enumerate(keys):
        have = {bit for bit, row in enumerate(rows) if row[place // 8] >> place % 8 & 1}
        words = folded(key)
        assert set(asked_bits(words)) <= have
        for letters in initials(words):
            assert set(initials_bits(letters)) <= have
        first, *after = length_bits(words)
        assert first in have
        assert not set(after) & have or len(words) > 28


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**12 - 1), st.integers(0, 2)), max_size=30))
def test_bitmaps_are_counted(added: list[tuple[int, int]]) -> None:
    tally, wanted = Tally(), Counter[int]()
    for bitmap, digit in added:
        tally.add(bitmap, digit)
        wanted.update({place: 1 << digit for place in range(12) if bitmap >> place & 1})
    for count in range(1, max(wanted.values(), default=0) + 2):
        assert list(tally.places(count)) == [place for place in range(12) if wanted[place] == count]


# -- the table -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def names() -> list[str]:
    return made_up(900)


@pytest.fixture
def many(kb: KnowledgeBase, names: list[str]) -> Iterator[KnowledgeBase]:
    put(kb, names)
    name_signatures.refresh(kb.connection)
    yield kb


def test_few_names_wait(kb: KnowledgeBase) -> None:
    put(kb, made_up(100))
    name_signatures.refresh(kb.connection)
    assert covered(kb) == 0
    assert linked(kb, made_up(100)[3].lower()[:-1] + "x")[:1] == made_up(100)[3:4]


def test_many_names_are_covered_and_found(many: KnowledgeBase, names: list[str]) -> None:
    assert covered(many) == len(names)
    statements: list[str] = []
    many.connection.set_trace_callback(statements.append)
    chooser = random.Random(3)
    for name in chooser.sample(names, 60):
        at = chooser.randrange(1, len(name) - 1)
        assert name in linked(many, name[:at] + "q" + name[at + 1 :]), name
        assert {name, " ".join(reversed(name.split()))} & set(linked(many, " ".join(reversed(name.split())) + "s"))
    many.connection.set_trace_callback(None)
    assert not [s for s in statements if "kg_names_fts" in s]


def test_rebuild_makes_the_same_and_check_knows_it(many: KnowledgeBase) -> None:
    kept = state(many)
    many.rebuild()
    assert state(many) == kept
    first = dump(many.connection)
    many.rebuild()
    assert dump(many.connection) == first
    many.connection.execute("UPDATE kg_name_signatures SET names = zeroblob(8192) WHERE id = 3")
    assert [(p.table, p.row) for p in many.check() if p.table == "kg_name_signatures"] == [("kg_name_signatures", 0)]
    many.rebuild()
    assert state(many) == kept


def test_what_is_new_is_found_before_and_after_it_is_covered(many: KnowledgeBase) -> None:
    put(many, ["Zebulon Quist"])
    assert covered(many) == 900
    assert linked(many, "Zebulan Quist") == ["Zebulon Quist"]
    put(many, [f"{name} the Elder" for name in made_up(600)])
    name_signatures.refresh(many.connection)
    assert covered(many) == 1501
    assert linked(many, "Zebulan Quist") == ["Zebulon Quist"]
    assert not [p for p in many.check() if p.table == "kg_name_signatures"]


def test_what_is_deleted_is_not_found(many: KnowledgeBase, names: list[str]) -> None:
    many.connection.execute("DELETE FROM kg_entities WHERE name = ?", [names[5]])
    assert names[5] not in linked(many, names[5] + "x")
    assert not [p for p in many.check() if p.table == "kg_name_signatures"]


def test_an_id_that_comes_again_is_covered_anew(many: KnowledgeBase, names: list[str]) -> None:
    """The last surface forms are deleted and others get their ids."""
    name_signatures.watch(many.connection)
    many.connection.execute("DELETE FROM kg_entities WHERE id > 890")
    put(many, ["Zebulon Quist", "Wanda Orloff"])
    assert covered(many) == 890
    assert linked(many, "Zebulan Quist") == ["Zebulon Quist"]
    assert linked(many, "Vanda Orloff") == ["Wanda Orloff"]
    assert not [p for p in many.check() if p.table == "kg_name_signatures"]


def test_notes_keep_the_table_in_step(kb: KnowledgeBase, vault: Vault, names: list[str]) -> None:
    kb.set(embedding_model="")
    kb.add([vault({f"{name}.md": "x" for name in names[:520]})])
    assert covered(kb) == 520
    kb.add([vault({"Zebulon Quist.md": "x"})])
    assert linked(kb, "Zebulan Quist") == ["Zebulon Quist"]
    assert kb.check() == []


def test_a_file_without_the_table_still_answers(many: KnowledgeBase, tmp_path: Path, names: list[str]) -> None:
    put(many, [f"{name} {number}" for number in range(3) for name in names] + ["Bank of the Orient Trust"])
    many.connection.execute("DROP TABLE kg_name_signatures")
    with KnowledgeBase.open(tmp_path / "kb.db", readonly=True) as kb:
        assert names[7] in linked(kb, names[7][:-1] + "q")
        assert linked(kb, "BOTOT") == linked(kb, "BOT") == ["Bank of the Orient Trust"]
        assert linked(kb, names[7]) == [names[7]]
    many.add_text(b"[[Zebulon Quist]]", "note")
    assert covered(many) > 3600
    assert not [p for p in many.check() if p.table == "kg_name_signatures"]


def test_initials_are_found_among_many(many: KnowledgeBase) -> None:
    put(many, ["Bank of the Orient Trust"])
    many.rebuild()
    for letters in ("BOTOT", "BOT", "B.O.T."):
        assert linked(many, letters) == ["Bank of the Orient Trust"]
