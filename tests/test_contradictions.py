"""What notes say of one thing that cannot all be so, and what only looks like it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Run, Vault
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.facts.template import AttributeType, EntityType, Relation, Template, load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review import merges
from llm_graphrag.review.contradictions import Contradiction, contradictions, note_date, single_valued
from llm_graphrag.review.values import agree, agreeing, meaning, read_dates
from llm_graphrag.store import schema

SAILORS = Template(
    name="sailors",
    entity_types=(EntityType("person"), EntityType("town")),
    relations=(
        Relation("lives_in", range=("town",)),
        Relation("partner_of", symmetric=True),
        Relation("knows", is_list=True),
    ),
    attributes=(
        AttributeType("born", kind="date"),
        AttributeType("length", kind="number"),
        AttributeType("website", kind="url"),
        AttributeType("trade"),
        AttributeType("nickname", is_list=True),
    ),
    frontmatter={"type": "type"},
)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as opened:
        opened.set(embedding_model="")
        opened.use_schema(SAILORS, "test")
        yield opened


def claim(kb: KnowledgeBase, uri: str, head: str, relation: str, tail: str, confidence: float) -> None:
    """A statement of a model about the one passage of a note."""
    from llm_graphrag.facts.llm.reading import ModelClaim
    from llm_graphrag.store.connection import transaction
    from llm_graphrag.store.entities import Names
    from llm_graphrag.store.model_claims import put_model_claims
    from llm_graphrag.store.settle import Settlement

    kind = "triple" if relation in ("lives_in", "partner_of", "knows") else "attribute"
    chunk, text = kb.connection.execute(
        "SELECT c.id, c.text FROM kg_chunks c JOIN kg_documents d ON d.id = c.document WHERE d.uri = ?", [uri]
    ).fetchone()
    with transaction(kb.connection):
        settlement = Settlement(kb.connection, Names(kb.connection))
        made = ModelClaim(kind, head, "", relation, tail, "", 1, 0, len(text.rstrip()), confidence)
        assert put_model_claims(kb.connection, settlement, [made], {1: (chunk, text)}, None, 1) == 1  # type: ignore[arg-type]
        settlement.finish()


def shown(found: list[Contradiction]) -> list[tuple[str, str, list[str]]]:
    return [(item.entity, item.name, [value.value for value in item.values]) for item in found]


# -- what contradicts ---------------------------------------------------------------------


def test_two_dates_contradict_with_their_sentences_newest_first(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault(
        {
            "Mira.md": "---\ntype: person\nborn: 1971-03-02\ncreated: 2019-05-01\n---\nwords",
            "2024-01-31.md": "Mira was born in 1970.",
            "c.md": "Mira is of 2 March 1971.",
        }
    )
    kb.add([folder])
    claim(kb, "vault/2024-01-31.md", "Mira", "born", "1970", 0.7)
    claim(kb, "vault/c.md", "Mira", "born", "2 March 1971", 0.9)
    [found] = contradictions(kb.connection)
    assert (found.entity, found.type, found.kind, found.name) == ("Mira", "person", "attribute", "born")
    assert found.certainty == 0.7
    first, second = found.values
    assert (first.value, first.confidence) == ("1970", 0.7)
    [statement] = first.statements
    assert (statement.uri, statement.line, statement.dated) == ("vault/2024-01-31.md", 1, "2024-01-31")
    assert (statement.quote, statement.origin) == ("Mira was born in 1970.", "llm")
    assert second.confidence == 1.0
    assert [(s.uri, s.line, s.dated, s.written) for s in second.statements] == [
        ("vault/Mira.md", 3, "2019-05-01", "1971-03-02"),
        ("vault/c.md", 1, None, "2 March 1971"),
    ]
    assert statement.updated[:2] == "20"


def test_one_value_in_several_notations_is_no_contradiction(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault(
        {
            "Mira.md": "born:: 2 March 1971\nborn:: 1971-03-02\nborn:: March 1971\n"
            "trade:: Ship-wright\ntrade:: **ship-wright**\n"
            "length:: 1,200\nlength:: 1200.0\nwebsite:: https://Example.org/a/\nwebsite:: example.org/a\n"
            "nickname:: Mi\nnickname:: Mimi\nlives_in:: Lisbon\nlives_in:: [[lisbon]]\nknows:: Otto\nknows:: Pia\n"
        }
    )
    kb.add([folder])
    assert contradictions(kb.connection) == []


def test_relations_contradict_where_the_schema_marks_others_as_lists(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add(
        [vault({"Mira.md": "lives_in:: Lisbon\nlives_in:: [[Porto]]\n\n" + "partner_of:: [[Otto]]", "Otto.md": "x"})]
    )
    assert shown(contradictions(kb.connection)) == [("Mira", "lives_in", ["Porto", "Lisbon"])]
    kb.add([vault({"Pia.md": "partner_of:: [[Otto]]"}, "more")])
    assert ("Otto", "partner_of", ["Pia", "Mira"]) in shown(contradictions(kb.connection))
    silent = Template(
        "plain", entity_types=(EntityType("town"),), relations=(Relation("lives_in"), Relation("partner_of"))
    )
    kb.use_schema(silent, "x")
    assert contradictions(kb.connection) == []


def test_merged_entities_count_as_one(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"Mira.md": "born:: 1971", "M. Holt.md": "born:: 1970", "a.md": "[[Mira]] lives_in:: x"})
    kb.add([folder])
    assert contradictions(kb.connection) == []
    merges.merge(kb.connection, kb.settings, "Mira", "M. Holt", actor="ana")
    assert shown(contradictions(kb.connection)) == [("Mira", "born", ["1971", "1970"])]
    kb.add([vault({"Mira.md": "lives_in:: [[Porto]]", "M. Holt.md": "lives_in:: [[Oporto]]"})])
    assert shown(contradictions(kb.connection)) == [("Mira", "lives_in", ["Porto", "Oporto"])]
    merges.merge(kb.connection, kb.settings, "Porto", "Oporto", actor="ana")
    assert contradictions(kb.connection) == []


def test_the_most_certain_come_first(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"a.md": "Ana and Ben and Cid and Dan."})])
    for name, values in {
        "Ana": (("Lisbon", 0.9), ("Lisbon, Portugal", 0.9)),
        "Ben": (("carpenter", 0.6), ("sailor", 0.9)),
        "Cid": (("baker", 0.8), ("cook", 0.8), ("smith", 0.2)),
    }.items():
        for value, confidence in values:
            claim(kb, "vault/a.md", name, "trade", value, confidence)
    found = contradictions(kb.connection)
    assert [(item.entity, item.certainty) for item in found] == [("Cid", 0.8), ("Ben", 0.6), ("Ana", 0.45)]
    [ben] = kb.connection.execute("SELECT id FROM kg_entities WHERE name = 'Ben'").fetchone()
    assert [item.entity for item in contradictions(kb.connection, [ben])] == ["Ben"]


def test_what_the_schema_says_of_how_many(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert set(single_valued(kb.connection)) == {
        ("relation", "lives_in"),
        ("relation", "partner_of"),
        ("attribute", "born"),
        ("attribute", "length"),
        ("attribute", "website"),
        ("attribute", "trade"),
    }
    more = Template(**{**_fields(SAILORS), "attributes": (*SAILORS.attributes, AttributeType("rig"))})
    schema.use(kb.connection, more, "x", "", origin="proposal")
    assert ("attribute", "rig") not in single_valued(kb.connection)
    (tmp_path / "three.json").write_text('{"Nodes": ["a"], "Relations": ["r"], "Attributes": ["b"]}')
    kb.use_schema(load_template(tmp_path / "three.json"), "x")
    assert set(single_valued(kb.connection)) == {("attribute", "b")}
    with KnowledgeBase.in_memory() as empty:
        assert single_valued(empty.connection) == {}


def _fields(template: Template) -> dict[str, object]:
    return {
        name: getattr(template, name) for name in ("name", "entity_types", "relations", "attributes", "frontmatter")
    }


# -- values -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "kind", "same"),
    [
        ("2024-03-01", "1 March 2024", "date", True),
        ("2024-03-01", "March 1st, 2024", "date", True),
        ("2024-03-01", "Friday, 1 March 2024", "text", True),
        ("2024-03-01", "01.03.2024", "date", True),
        ("2024-03-01", "3.1.2024", "date", False),
        ("2024-03-01", "03/01/2024", "date", True),
        ("2024-03-01", "2024-03-01T10:30", "date", True),
        ("2024-03-01", "20240301", "date", True),
        ("2024-03-01", "2024年3月1日", "date", True),
        ("2024-03-01", "1er mars 2024", "date", True),
        ("2024-03-01", "1 de marzo de 2024", "date", True),
        ("2024-03-01", "1. März 2024", "date", True),
        ("2024-03-01", "2024-03", "date", True),
        ("2024-03-01", "2024", "date", True),
        ("2024-03-01", "2025", "date", False),
        ("2024", "2024", "text", True),
        ("spring 2024", "2024-04-02", "date", False),
        ("1,200", "1200", "text", True),
        ("1.200.000", "1,200,000", "text", True),
        ("1,5", "1.5", "number", True),
        ("1.5", "1.50", "number", True),
        ("1.5", "1.50", "text", False),
        ("007", "7", "text", False),
        ("-7", "7", "number", False),
        ("€ 12", "12 €", "text", True),
        ("90 nm", "90nm", "text", True),
        ("90 nm", "95 nm", "text", False),
        ("+351 912 345 678", "+351912345678", "text", True),
        ("12, Baker Street", "12 Baker  street", "text", True),
        ("Lisbon", "lisbon", "text", True),
        ("“Lisbon”", "[[Lisbon]].", "text", True),
        ("Straße", "Strasse", "text", False),
        ("C", "C++", "text", False),
        ("https://a.org/x/", "HTTP://A.org/x", "url", True),
        ("https://a.org/x", "https://a.org/X", "url", False),
        ("a.org", "https://a.org", "text", False),
    ],
)
def test_values_that_are_the_same(one: str, other: str, kind: str, same: bool) -> None:
    assert agree(meaning(one, kind), meaning(other, kind)) is same
    assert agree(meaning(other, kind), meaning(one, kind)) is same


@given(
    st.lists(st.text(max_size=12) | st.dates().map(str) | st.integers().map(str), max_size=8),
    st.sampled_from(["text", "date", "number", "url"]),
)
def test_every_value_is_in_one_group_and_with_itself(values: list[str], kind: str) -> None:
    meanings = [meaning(value, kind) for value in values]
    groups = agreeing(meanings)
    assert sorted(place for group in groups for place in group) == list(range(len(values)))
    assert all(agree(m, m) for m in meanings)
    assert all(agree(meanings[group[0]], meanings[place]) for group in groups for place in group)


@given(st.dates())
def test_a_date_is_read_from_every_notation(day: object) -> None:
    from datetime import date

    assert isinstance(day, date)
    wanted = (day.year, day.month, day.day)
    forms = [
        f"{day:%Y-%m-%d}",
        f"{day.day} {day:%B} {day:%Y}",
        f"{day:%B} {day.day}, {day:%Y}",
        f"{day:%d.%m.%Y}",
        f"{day:%d/%m/%Y}",
    ]
    for form in forms:
        if day.year >= 1000:
            assert wanted in read_dates(form), form


def test_the_date_of_a_note() -> None:
    assert note_date({"date": "2024-05-02", "created": "2020-01-01"}, "Ana") == "2024-05-02"
    assert note_date({"Updated": "5 May 2023 10:00"}, "Ana") == "2023-05-05"
    assert note_date({"created": "2020-01-01"}, "2024_01_31") == "2024-01-31"
    assert note_date({"date": "03/04/2024"}, "Ana") is None
    assert note_date({"columns": {"created": "2020-01"}}, "Ana") == "2020-01"
    assert note_date({"date": ["2024-01-01"]}, "1984") is None


# -- the command ----------------------------------------------------------------------------


def test_the_command(run: Run, vault: Vault) -> None:
    folder = vault(
        {
            "Mira.md": "---\ntype: person\nbirth_date: 1971\n---\n\nbirth_date:: 1970\n",
            "b.md": "status:: evil\x1b[31m\nstatus:: good",
        }
    )
    assert "does not say what has one value only" in (run("init"), run("contradictions"))[1].stdout
    run("schema", "use", "general")
    run("add", folder)
    printed = run("contradictions").stdout
    assert printed.splitlines()[-1] == "2 contradictions."
    assert "Mira (person): birth date  2 values, certain to 1\n  1971\n" in printed
    assert "    birth_date: 1971  (vault/Mira.md:3, read 20" in printed and "\x1b[31m" not in printed
    only = run("contradictions", "--entity", "MIRA").stdout
    assert "1 contradiction.\n" in only and "status" not in only
    [found] = json.loads(run("contradictions", "--entity", "mira", "--json").stdout)
    assert [value["value"] for value in found["values"]] == ["1971", "1970"]
    assert found["values"][0]["statements"][0]["line"] == 3
    assert (
        "Nothing is called Mirra. Did you mean Mira?" in run("contradictions", "--entity", "Mirra", exit_code=1).stderr
    )
    vault({"Mira.md": "x", "b.md": "y"})
    run("add", folder)
    assert run("contradictions").stdout == "No contradictions.\n"
    assert json.loads(run("contradictions", "--json").stdout) == []
