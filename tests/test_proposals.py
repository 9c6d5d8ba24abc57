"""Proposals: what they weigh, what reaches review, and what each decision changes and leaves."""

# ruff: noqa: F811 - fixtures are imported, and are parameters
from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Vault
from extraction_model import chunks
from hypothesis import given
from hypothesis import strategies as st
from proposals_model import extract, model_facts, open_kb, outside, proposed, say
from scripted_model import ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures

from llm_graphrag.facts.proposals import Gate, Weight, weigh
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review import proposals as review
from llm_graphrag.review.nearest import nearest
from llm_graphrag.review.places import places
from llm_graphrag.review.revalidate import REVALIDATE
from llm_graphrag.sources.ingest import Options
from llm_graphrag.store import decisions, schema
from llm_graphrag.store import proposals as store
from llm_graphrag.store.settings import get_setting

Make = Callable[..., ScriptedModel]


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with open_kb(tmp_path) as opened:
        yield opened


def decide(kb: KnowledgeBase, name: str, action: str, **options: Any) -> review.Decided:
    id_ = review.find(kb.connection, name)
    return review.decide(kb.connection, kb.settings, id_, action, **{"actor": "ana", **options})


def undo(kb: KnowledgeBase, name: str, **options: Any) -> review.Decided:
    return review.undo(kb.connection, kb.settings, review.find(kb.connection, name), **{"actor": "ben", **options})


def row(kb: KnowledgeBase, name: str) -> dict[str, Any]:
    found = store.one(kb.connection, review.find(kb.connection, name))
    assert found is not None
    return dict(found)


# -- weight and gate ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "weight"),
    [
        ([], Weight(0.0, 0)),
        ([(1, 0.7)], Weight(0.7, 1)),
        ([(1, 0.7), (1, 0.9), (1, 0.2)], Weight(0.9, 1)),  # a document counts once, by its strongest place
        ([(1, 0.5), (2, 0.6)], Weight(0.8, 2)),
        ([(1, 0.5), (2, 0.5), (3, 0.5)], Weight(0.875, 3)),
        ([(1, 0.9), (2, 0.9), (3, 0.9)], Weight(0.99, 3)),  # never more
        ([(1, 1.0)], Weight(0.99, 1)),
        ([(1, -3.0), (2, 7.5)], Weight(0.99, 2)),
    ],
)
def test_documents_count_once_and_add_up(evidence: list[tuple[int, float]], weight: Weight) -> None:
    assert weigh(evidence) == weight


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0, 1))))
def test_the_formula(evidence: list[tuple[int, float]]) -> None:
    best = {document: max(c for d, c in evidence if d == document) for document, _ in evidence}
    expected = min(1 - math.prod(1 - c for c in best.values()), 0.99)
    assert weigh(evidence) == Weight(pytest.approx(expected, abs=1e-11), len(best))
    assert weigh(reversed(evidence)) == weigh(evidence)


@pytest.mark.parametrize("mu", [0.3, 0.5, 0.8, 0.9, 0.99])
@pytest.mark.parametrize("support", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1])
def test_the_gate_on_both_sides(mu: float, support: int, epsilon: float) -> None:
    gate = Gate(mu, support)
    assert gate.status(Weight(mu, support)) == "open"
    assert gate.status(Weight(mu - epsilon, support)) == "muted"
    assert gate.status(Weight(mu + epsilon, support)) == "open"
    assert gate.status(Weight(mu, support - 1)) == "muted"
    assert gate.status(Weight(mu, support + 1)) == "open"
    assert gate.status(weigh([(d, mu if d == 0 else 0.0) for d in range(support)])) == "open"
    assert gate.status(weigh([(d, mu - epsilon if d == 0 else 0.0) for d in range(support)])) == "muted"


@pytest.mark.parametrize(
    ("sure", "documents", "status"),
    [
        (0.8, 2, "open"), (0.799999999, 2, "muted"), (0.800000001, 2, "open"),
        (0.8, 1, "muted"), (0.99, 1, "muted"), (0.8, 3, "open"), (0.5, 3, "muted"),
    ],
)  # fmt: skip
def test_proposals_fall_on_the_right_side(
    kb: KnowledgeBase, vault: Vault, scripted: Make, sure: float, documents: int, status: str
) -> None:
    """One note is as sure as said, the others are not sure at all: together they are as sure as the one."""
    scripted(say)
    notes = {f"n{n}.md": f"Mira mentors Otto. ({sure if n == 0 else 0.0})" for n in range(documents)}
    kb.add([vault(notes)])
    extract(kb)
    assert proposed(kb) == {"mentors": (status, sure, documents)}


def test_other_limits_move_what_is_undecided_and_nothing_else(kb: KnowledgeBase, vault: Vault, scripted: Make) -> None:
    scripted(say)
    kb.add([vault({"a.md": "Mira mentors Otto. (0.6)\n\nMira fears Otto. (0.6)"})])
    extract(kb)
    assert {status for status, _, _ in proposed(kb).values()} == {"muted"}
    decide(kb, "fears", "reject")
    kb.set(min_confidence=0.6, min_support=1)
    review.recount(kb.connection, kb.settings)
    assert {name: status for name, (status, _, _) in proposed(kb).items()} == {"mentors": "open", "fears": "rejected"}
    kb.set(min_confidence=0.61)
    review.recount(kb.connection, kb.settings)
    assert proposed(kb)["mentors"][0] == "muted"


# -- nearest ------------------------------------------------------------------------------


def test_the_nearest_type_by_name_by_alias_and_by_meaning(kb: KnowledgeBase) -> None:
    asked = {
        "live_in": "lives_in", "met": "knows", "acquainted_with": "knows", "has_mets": "knows", "dwells_at": "lives_in",
    }  # fmt: skip
    words = {"met": "Two people have met.", "acquainted_with": "They have met.", "dwells_at": "Where somebody lives."}
    for name in asked:
        kb.connection.execute(
            "INSERT INTO kg_proposals(kind, name, key, description) VALUES ('relation', ?, ?, ?)",
            [name, name, words.get(name, "")],
        )
    kb.connection.execute("INSERT INTO kg_proposals(kind, name, key) VALUES ('attribute', 'ages', 'ages')")
    ids = {r["name"]: r["id"] for r in kb.connection.execute("SELECT id, name FROM kg_proposals")}
    names = {r["id"]: r["name"] for r in schema.types(kb.connection)}
    found = {id_: (names[type_], likeness) for id_, type_, likeness in nearest(kb.connection, list(ids.values()))}
    assert {name: found[ids[name]][0] for name in asked} == asked
    assert found[ids["ages"]][0] == "age"
    assert found[ids["live_in"]][1] == pytest.approx(2 * 7 / 15, abs=1e-4)
    assert found[ids["has_mets"]][1] == pytest.approx(2 * 7 / 15, abs=1e-4)  # as of the alias "has met"
    assert all(0 <= likeness <= 1 for _, likeness in found.values())


def test_nothing_is_near_where_the_schema_has_nothing_of_the_kind(tmp_path: Path) -> None:
    from llm_graphrag.facts.template import EntityType, Template
    from llm_graphrag.store import schema

    with KnowledgeBase.in_memory() as kb:
        kb.connection.execute("INSERT INTO kg_proposals(id, kind, name, key) VALUES (1, 'relation', 'a', 'a')")
        assert list(nearest(kb.connection, [1])) == [(1, None, None)]
        schema.use(kb.connection, Template("t", entity_types=(EntityType("a"),)), "test", "")
        assert list(nearest(kb.connection, [1])) == [(1, None, None)]
        review.recount(kb.connection, kb.settings)
        assert list(nearest(kb.connection, [])) == []


def test_the_nearest_follows_the_schema(kb: KnowledgeBase, vault: Vault, scripted: Make) -> None:
    scripted(say)
    kb.add([vault({"a.md": "Mira mentors Otto.\n\nMira mentored Otto.", "b.md": "Mira mentors Otto."})])
    extract(kb)
    assert row(kb, "mentored")["nearest_name"] == "knows"
    decide(kb, "mentors", "approve")
    assert row(kb, "mentored")["nearest_name"] == "mentors"
    assert row(kb, "mentored")["similarity"] > 0.75


# -- what a decision does -----------------------------------------------------------------


@pytest.fixture
def asked(kb: KnowledgeBase, vault: Vault, scripted: Make) -> ScriptedModel:
    """Six notes, each a window. Two ask for ``mentors``, of which one says a fact with it all the same."""
    model = scripted(say)
    kb.add(
        [
            vault(
                {
                    "a.md": "Mira mentors Otto.",
                    "b.md": "# Day\n\nIt rained. Otto mentors! Pia. The boats stayed in.",
                    "c.md": "Pia knows Otto.",
                    "d.md": "Dan is a sailor.",
                    "e.md": "Nothing much.",
                    "f.md": "Mira fears Dan.\n\nMira knows Dan.",
                }
            )
        ]
    )
    assert extract(kb).done == 6
    return model


KNOWN = {("Pia", "knows", "Otto"), ("Mira", "knows", "Dan")}


def test_what_is_asked_for_is_kept_with_its_sentence(kb: KnowledgeBase, asked: ScriptedModel) -> None:
    assert proposed(kb) == {
        "mentors": ("open", 0.99, 2), "sailor": ("muted", 0.9, 1), "fears": ("muted", 0.9, 1),
    }  # fmt: skip
    first, second = places(kb.connection, review.find(kb.connection, "mentors"))
    assert (first.uri, first.line, first.quote) == ("vault/a.md", 1, "Mira mentors Otto.")
    assert (second.uri, second.line, second.before, second.quote, second.after) == (
        "vault/b.md", 3, "", "Otto mentors! Pia.", "",
    )  # fmt: skip
    assert (first.heading, second.heading) == ("", "Day")
    assert (second.confidence, second.instead_of, second.private) == (0.9, None, False)
    assert model_facts(kb) == KNOWN


def test_approval_reads_again_for_free_and_asks_the_asking_windows_only(
    kb: KnowledgeBase, asked: ScriptedModel
) -> None:
    calls = len(asked.calls)
    done = decide(kb, "mentors", "approve", note="why not")
    assert len(asked.calls) == calls
    assert (done.status, done.schema_version, done.diff["added"]) == ("approved", 2, [["relation", "mentors"]])
    assert (done.windows, done.facts, done.replayed.windows) == (2, 1, 2)
    assert model_facts(kb) == KNOWN | {("Otto", "mentors", "Pia")}
    item = kb.schema.resolve_relation("mentors")
    assert item is not None and item.description == "It says mentors."
    assert outside(kb) == 0
    report = extract(kb)
    assert (report.windows, report.done, report.calls) == (2, 2, 2)
    read = [text for call in asked.calls[calls:] for text in chunks(call.prompt).values()]
    assert sorted(text.split("mentors")[0][-5:] for text in read) == ["Mira ", "Otto "]
    assert model_facts(kb) == KNOWN | {("Otto", "mentors", "Pia"), ("Mira", "mentors", "Otto")}
    assert extract(kb).windows == 0
    assert kb.check() == []


def test_each_decision_is_on_record(kb: KnowledgeBase, asked: ScriptedModel) -> None:
    decide(kb, "mentors", "approve", note="why not")
    decide(kb, "sailor", "reject", actor="ben")
    decide(kb, "fears", "map", to="Has met", note="close enough")
    undo(kb, "sailor")
    log = [dict(entry) for entry in reversed(decisions.log(kb.connection, "proposal"))]
    assert [(e["actor"], e["action"], e["subject"], e["before"], e["schema_version"], e["note"]) for e in log] == [
        ("ana", "approve", "relation mentors", "open", 2, "why not"),
        ("ben", "reject", "entity type sailor", "muted", 2, ""),
        ("ana", "map", "relation fears", "muted", 3, "close enough"),
        ("ben", "undo", "entity type sailor", "rejected", 3, ""),
    ]
    assert all(e["at"] for e in log)
    assert log[1]["undone_by"] == log[3]["id"]
    versions = {v["version"]: (v["actor"], v["note"]) for v in schema.versions(kb.connection)}
    assert versions == {1: ("test", ""), 2: ("ana", "why not"), 3: ("ana", "close enough")}
    found = row(kb, "mentors")
    assert (found["decided_by"], found["decision_note"], found["schema_version"]) == ("ana", "why not", 2)


def test_undo_of_an_approval_removes_exactly_the_facts_it_brought(kb: KnowledgeBase, asked: ScriptedModel) -> None:
    before = model_facts(kb)
    decide(kb, "mentors", "approve")
    extract(kb)
    assert len(model_facts(kb)) == len(before) + 2
    done = undo(kb, "mentors")
    assert model_facts(kb) == before
    assert (done.facts, done.status, done.schema_version) == (-2, "open", 3)
    assert proposed(kb)["mentors"] == ("open", 0.99, 2)  # the places that had asked are not forgotten
    assert (kb.schema.resolve_relation("mentors"), outside(kb), kb.check()) == (None, 0, [])
    calls = len(asked.calls)
    assert extract(kb).windows == 0
    again = decide(kb, "mentors", "approve")
    assert (again.windows, again.facts) == (0, 2)  # what was paid for is not paid for twice
    assert extract(kb).windows == 0
    assert len(asked.calls) == calls


def test_undo_before_the_windows_were_asked_calls_the_asking_off(kb: KnowledgeBase, asked: ScriptedModel) -> None:
    decide(kb, "mentors", "approve")
    undo(kb, "mentors")
    assert extract(kb).windows == 0
    assert model_facts(kb) == KNOWN
    assert proposed(kb)["mentors"] == ("open", 0.99, 2)


def test_a_window_that_asked_for_two_types_is_asked_once_and_stays_marked_for_the_other(
    kb: KnowledgeBase, vault: Vault, scripted: Make
) -> None:
    model = scripted(say)
    kb.add([vault({"a.md": "Mira mentors Otto.\n\nMira fears Otto.", "b.md": "Mira fears Otto."})])
    extract(kb)
    ids = [review.find(kb.connection, name) for name in ("mentors", "fears")]
    assert [review.cost(kb.connection, id_).windows for id_ in ids] == [1, 2]
    assert review.cost(kb.connection, *ids).windows == 2
    done = review.decide_all(kb.connection, kb.settings, ids, "approve", actor="ana")
    assert [(d.windows, d.schema_version) for d in done] == [(1, 2), (2, 3)]
    undo(kb, "mentors")
    calls = len(model.calls)
    assert extract(kb).done == 2
    assert len(model.calls) == calls + 2
    assert model_facts(kb) == {("Mira", "fears", "Otto")}
    assert proposed(kb)["mentors"][2] == 1


def test_mapping_makes_an_alias_and_asks_nobody(kb: KnowledgeBase, asked: ScriptedModel) -> None:
    done = decide(kb, "mentors", "map", to="knows")
    assert (done.status, done.windows, done.facts) == ("mapped", 0, 1)
    assert model_facts(kb) == KNOWN | {("Otto", "knows", "Pia")}
    assert row(kb, "mentors")["mapped_name"] == "knows"
    assert extract(kb).windows == 0
    undone = undo(kb, "mentors")
    assert (undone.facts, undone.status, model_facts(kb)) == (-1, "open", KNOWN)
    assert row(kb, "mentors")["mapped_name"] is None
    item = kb.schema.resolve_relation("knows")
    assert item is not None and item.aliases == ("has met",)


def test_what_was_rejected_only_counts_up(kb: KnowledgeBase, vault: Vault, asked: ScriptedModel) -> None:
    done = decide(kb, "mentors", "reject", note="no")
    assert (done.status, done.schema_version, done.facts, schema.version(kb.connection)) == ("rejected", None, 0, 1)
    assert extract(kb).windows == 0
    for n in (1, 2):
        kb.add([vault({f"z{n}.md": "Pia mentors Dan."})])
        extract(kb)
        assert (row(kb, "mentors")["status"], row(kb, "mentors")["asked_again"]) == ("rejected", n)
    kb.replay()
    review.recount(kb.connection, kb.settings)
    assert row(kb, "mentors")["asked_again"] == 2  # reading what was said before is not asking
    extract(kb, again=True)
    assert row(kb, "mentors")["asked_again"] == 6
    assert len(store.listed(kb.connection)) == 3
    kb.remove(["vault"])
    review.recount(kb.connection, kb.settings)
    assert proposed(kb) == {"mentors": ("rejected", 0.0, 0)}  # remembered, though no note is left
    kb.add([vault({"a.md": "Mira mentors Otto."})])
    extract(kb)
    assert (row(kb, "mentors")["status"], row(kb, "mentors")["asked_again"]) == ("rejected", 10)


def test_what_was_put_aside_waits_and_can_be_decided(kb: KnowledgeBase, asked: ScriptedModel) -> None:
    decide(kb, "mentors", "postpone", note="later")
    assert [r["name"] for r in store.listed(kb.connection, ["open"])] == []
    review.recount(kb.connection, kb.settings)
    assert proposed(kb)["mentors"][0] == "postponed"
    decide(kb, "mentors", "approve", actor="eva")
    assert row(kb, "mentors")["decided_by"] == "eva"
    assert undo(kb, "mentors").status == "postponed"
    found = row(kb, "mentors")
    assert (found["decided_by"], found["decision_note"]) == ("ana", "later")
    assert undo(kb, "mentors").status == "open"
    assert row(kb, "mentors")["decided_by"] is None
    with pytest.raises(review.ReviewError, match="Nothing was decided about relation mentors"):
        undo(kb, "mentors")


def test_a_person_may_decide_on_what_is_muted(kb: KnowledgeBase, asked: ScriptedModel) -> None:
    assert proposed(kb)["sailor"][0] == "muted"
    assert decide(kb, "sailor", "approve").windows == 1
    extract(kb)
    types = kb.connection.execute("SELECT type FROM kg_entities WHERE name = 'Dan'").fetchall()
    assert [t[0] for t in types] == ["sailor"]
    assert undo(kb, "sailor").status == "muted"
    assert [t[0] for t in kb.connection.execute("SELECT type FROM kg_entities WHERE name = 'Dan'")] == [""]
    assert kb.check() == []


def test_the_cost_is_what_the_windows_took_when_they_were_last_read(kb: KnowledgeBase, asked: ScriptedModel) -> None:
    id_ = review.find(kb.connection, "mentors")
    windows = store.asking(kb.connection, id_)
    tokens = kb.connection.execute(
        "SELECT sum(input_tokens + output_tokens) FROM kg_ledger WHERE extraction IN (?, ?)", windows
    ).fetchone()[0]
    assert review.cost(kb.connection, id_) == review.Cost(2, tokens, None)
    kb.connection.execute("UPDATE kg_ledger SET cost = 0.25")
    assert review.cost(kb.connection, id_) == review.Cost(2, tokens, 0.5)
    kb.connection.execute(  # an earlier reading, and a call that was turned away
        """INSERT INTO kg_ledger(at, run, process, purpose, model, input_tokens, output_tokens, cost, status,
             extraction) SELECT at, 'later', process, purpose, model, 100, 10, 1.0, status, extraction FROM kg_ledger
           WHERE extraction = ?""",
        [windows[0]],
    )
    other = kb.connection.execute(
        "SELECT input_tokens + output_tokens FROM kg_ledger WHERE extraction = ?", [windows[1]]
    ).fetchone()[0]
    assert review.cost(kb.connection, id_) == review.Cost(2, other + 110, 1.25)
    kb.connection.execute("DELETE FROM kg_ledger WHERE extraction = ?", [windows[0]])
    assert review.cost(kb.connection, id_) == review.Cost(2, other, 0.25, unknown=1)
    kb.connection.execute("DELETE FROM kg_ledger")
    assert review.cost(kb.connection, id_) == review.Cost(2, 0, None, unknown=2)
    assert review.cost(kb.connection) == review.Cost(0, 0, 0.0)


def test_notes_that_go_take_their_support_along(kb: KnowledgeBase, vault: Vault, asked: ScriptedModel) -> None:
    folder = vault({})
    (folder / "a.md").unlink()
    kb.add([folder], Options(prune=True))
    review.recount(kb.connection, kb.settings)
    assert proposed(kb)["mentors"] == ("muted", 0.9, 1)
    vault({"b.md": "Otto knows Pia."})
    kb.add([folder])
    review.recount(kb.connection, kb.settings)
    assert set(proposed(kb)) == {"sailor", "fears"}
    extract(kb)
    assert set(proposed(kb)) == {"sailor", "fears"}


def test_reading_again_replaces_what_was_asked_for(kb: KnowledgeBase, asked: ScriptedModel) -> None:
    before = [dict(r) for r in store.listed(kb.connection)]
    extract(kb, again=True)
    after = [dict(r) for r in store.listed(kb.connection)]
    assert [{**r, "windows": 0} for r in after] == [{**r, "windows": 0} for r in before]
    asked._replies = json.dumps({"triples": []})
    extract(kb, again=True)
    assert proposed(kb) == {}


def test_a_type_is_approved_while_a_model_is_reading(kb: KnowledgeBase, vault: Vault, scripted: Make) -> None:
    """What the run says afterwards is read under the new schema, and its wishes for the type are heard."""
    kb.set(min_support=1)
    kb.add([vault({"a.md": "Mira mentors Otto."})])
    model = scripted(say)
    extract(kb)
    kb.add([vault({"b.md": "Otto mentors! Pia.", "c.md": "Pia mentors Dan."})])

    def deciding(prompt: str, system: str | None) -> str:
        with KnowledgeBase.open(kb.path) as other:
            if schema.version(other.connection) == 1:
                decide(other, "mentors", "approve")
        return say(prompt, system)

    model._replies = deciding
    report = extract(kb, workers=1)
    assert report.done >= 2
    assert outside(kb) == 0
    assert ("Otto", "mentors", "Pia") in model_facts(kb)
    assert proposed(kb)["mentors"] == ("approved", 0.99, 3)
    model._replies = say
    calls = len(model.calls)
    assert extract(kb).done == 3 - (report.done - 2)
    assert len(model.calls) == calls + 3 - (report.done - 2)
    assert model_facts(kb) == {("Mira", "mentors", "Otto"), ("Otto", "mentors", "Pia"), ("Pia", "mentors", "Dan")}
    assert extract(kb).windows == 0


def test_what_waits_to_be_read_again_survives_a_crash(
    kb: KnowledgeBase, asked: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("llm_graphrag.review.revalidate.replay", crash)
        with pytest.raises(KeyboardInterrupt):
            decide(kb, "mentors", "approve")
    assert (proposed(kb)["mentors"][0], schema.version(kb.connection)) == ("approved", 2)
    assert len(get_setting(kb.connection, REVALIDATE)) == 2
    assert model_facts(kb) == KNOWN
    assert extract(kb, limit=1).done == 1  # any run does what is left
    assert get_setting(kb.connection, REVALIDATE) == {}
    assert ("Otto", "mentors", "Pia") in model_facts(kb)
    assert extract(kb).done == 1
    assert len(model_facts(kb)) == 4


def test_a_window_put_off_again_meanwhile_is_not_forgotten(
    kb: KnowledgeBase, asked: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else decides just when this process has read the windows and not yet crossed them out."""
    from llm_graphrag.review import revalidate as module

    real = module.replay

    def then_decide(connection: Any, *arguments: Any, **options: Any) -> Any:
        done = real(connection, *arguments, **options)
        monkeypatch.setattr(module, "replay", lambda *a, **o: pytest.fail("the other process was killed"))
        with KnowledgeBase.open(kb.path) as other, pytest.raises(pytest.fail.Exception):
            undo(other, "mentors")
        monkeypatch.setattr(module, "replay", real)
        return done

    monkeypatch.setattr(module, "replay", then_decide)
    decide(kb, "mentors", "approve")
    assert set(get_setting(kb.connection, REVALIDATE).values()) == {3}
    review.revalidate(kb.connection, kb.settings)
    assert (get_setting(kb.connection, REVALIDATE), outside(kb), model_facts(kb)) == ({}, 0, KNOWN)


def test_a_decision_that_fails_half_way_leaves_nothing(
    kb: KnowledgeBase, asked: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rows import dump

    before = dump(kb.connection)

    def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("disk full")

    monkeypatch.setattr("llm_graphrag.store.decisions.record", fail)
    with pytest.raises(RuntimeError):
        decide(kb, "mentors", "approve")
    assert dump(kb.connection) == before
