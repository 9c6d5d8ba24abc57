"""Decisions that meet: double, stale, in two processes, on types that came, went or were renamed meanwhile."""

# ruff: noqa: F811 - fixtures are imported, and are parameters
from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Vault
from proposals_model import extract, model_facts, open_kb, outside, proposed, say
from scripted_model import ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures

from llm_graphrag.facts import schema_edit
from llm_graphrag.facts.template import TemplateError
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review import proposals as review
from llm_graphrag.review import schema as review_schema
from llm_graphrag.store import decisions, schema
from llm_graphrag.store import proposals as store

Make = Callable[..., ScriptedModel]


@pytest.fixture
def kb(tmp_path: Path, vault: Vault, scripted: Make) -> Iterator[KnowledgeBase]:
    """Two notes ask for the relation ``mentors``, one of them for ``fears`` too, one says a fact with it."""
    model = scripted(say)
    with open_kb(tmp_path) as opened:
        opened.model = model  # type: ignore[attr-defined]
        opened.add([vault({"a.md": "Mira mentors Otto. Mira fears Dan.", "b.md": "Otto mentors! Pia."})])
        assert extract(opened).done == 2
        yield opened


def decide(kb: KnowledgeBase, name: str, action: str, **options: Any) -> review.Decided:
    id_ = review.find(kb.connection, name)
    return review.decide(kb.connection, kb.settings, id_, action, **{"actor": "ana", **options})


def undo(kb: KnowledgeBase, name: str, **options: Any) -> review.Decided:
    return review.undo(kb.connection, kb.settings, review.find(kb.connection, name), **{"actor": "ben", **options})


def edit(kb: KnowledgeBase, change: Callable[..., Any], *arguments: str) -> review_schema.Changed:
    return review_schema.edit(kb.connection, kb.settings, lambda before: change(before, *arguments), "eva")


def sound(kb: KnowledgeBase) -> bool:
    return outside(kb) == 0 and kb.check() == []


# -- double and stale ---------------------------------------------------------------------


@pytest.mark.parametrize("first", ["approve", "reject", "postpone"])
def test_a_double_click_decides_once(kb: KnowledgeBase, first: str) -> None:
    decide(kb, "mentors", first)
    words = {"approve": "approved", "reject": "rejected", "postpone": "postponed"}[first]
    with pytest.raises(review.StaleError, match=rf"relation mentors was {words} by ana on .*proposals undo 1$"):
        decide(kb, "mentors", first, actor="ben")
    assert len(decisions.log(kb.connection)) == 1
    undo(kb, "mentors")
    with pytest.raises(review.ReviewError, match="Nothing was decided about relation mentors"):
        undo(kb, "mentors")
    assert len(decisions.log(kb.connection)) == 2


def test_a_decision_over_what_is_no_longer_so_is_refused(kb: KnowledgeBase) -> None:
    decide(kb, "mentors", "postpone", expected="open")
    with pytest.raises(review.StaleError, match="has become postponed by ana since you looked"):
        decide(kb, "mentors", "approve", expected="open")
    with pytest.raises(review.StaleError, match="has become postponed by ana since you looked"):
        undo(kb, "mentors", expected="approved")
    kb.remove(["vault/b.md"])
    review.recount(kb.connection, kb.settings)
    undo(kb, "mentors")
    with pytest.raises(review.StaleError, match="relation mentors has become muted since you looked"):
        decide(kb, "mentors", "approve", expected="open")


def test_unknown_decisions_and_proposals_are_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(review.ReviewError, match=r"'burn' is no decision\. Use one of approve, map, reject, postpone"):
        decide(kb, "mentors", "burn")
    for call in (review.decide, review.undo):
        with pytest.raises(review.ReviewError, match="There is no proposal 77"):
            call(kb.connection, kb.settings, 77, *(("reject",) if call is review.decide else ()), actor="ana")


@pytest.mark.parametrize("actor", ["", " \n"])
def test_nobody_decides_nothing(kb: KnowledgeBase, actor: str) -> None:
    with pytest.raises(review.ReviewError, match="Say who decides"):
        decide(kb, "mentors", "reject", actor=actor)
    with pytest.raises(review.ReviewError, match="Say who decides"):
        undo(kb, "mentors", actor=actor)
    with pytest.raises(review.ReviewError, match="Say who decides"):
        review_schema.use(kb.connection, kb.settings, kb.schema, actor)
    assert (schema.version(kb.connection), decisions.log(kb.connection)) == (1, [])


def test_progress_is_told(kb: KnowledgeBase) -> None:
    seen: list[tuple[str, int, int]] = []
    decide(kb, "mentors", "approve", progress=lambda *step: seen.append(step))
    assert seen[:2] == [("replies", 0, 2), ("replies", 1, 2)]


def test_two_processes_decide_at_once_and_one_is_told(kb: KnowledgeBase) -> None:
    script = (
        "import sys; from llm_graphrag.knowledge_base import KnowledgeBase; from llm_graphrag.review import proposals\n"
        "with KnowledgeBase.open(sys.argv[1]) as kb:\n"
        "    try: print(proposals.decide(kb.connection, kb.settings, 1, 'approve', actor=sys.argv[2]).status)\n"
        "    except proposals.StaleError as error: print('stale', error)\n"
    )
    line = [sys.executable, "-c", script, str(kb.path)]
    running = [subprocess.Popen([*line, name], stdout=subprocess.PIPE, text=True) for name in ("ana", "ben")]
    said = sorted(process.communicate(timeout=60)[0].strip() for process in running)
    assert said[0] == "approved"
    assert said[1].startswith("stale relation mentors was approved by")
    assert (schema.version(kb.connection), len(decisions.log(kb.connection))) == (2, 1)
    assert model_facts(kb) == {("Otto", "mentors", "Pia")}
    assert sound(kb)


def test_many_threads_decide_on_different_proposals(kb: KnowledgeBase) -> None:
    kb.add_text(b"Mira greets Dan. Mira owes Dan. Mira helps Dan. Mira sees! Dan.", "more.md")
    extract(kb)
    ids = [row["id"] for row in store.listed(kb.connection)]
    errors: list[BaseException] = []

    def work(id_: int) -> None:
        try:
            with KnowledgeBase.open(kb.path) as other:
                review.decide(other.connection, other.settings, id_, "approve", actor=f"person {id_}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(id_,)) for id_ in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert schema.version(kb.connection) == 1 + len(ids) == 7
    assert {row["actor"] for row in schema.versions(kb.connection)} == {"test", *(f"person {id_}" for id_ in ids)}
    assert model_facts(kb) == {("Otto", "mentors", "Pia"), ("Mira", "sees", "Dan")}
    assert sound(kb)


# -- the schema has changed by hand ------------------------------------------------------------


def test_approving_what_the_schema_has_by_now_asks_the_windows_and_adds_nothing(kb: KnowledgeBase) -> None:
    edit(kb, schema_edit.add, "relation", "mentors", "By hand.")
    assert model_facts(kb) == {("Otto", "mentors", "Pia")}
    assert proposed(kb)["mentors"] == ("open", 0.99, 2)  # what was asked for is known still
    assert review.cost(kb.connection, 1).windows == 2
    done = decide(kb, "mentors", "approve")
    assert (done.status, done.schema_version, done.windows) == ("approved", None, 2)
    assert done.remark == "The schema had this relation already."
    assert extract(kb).done == 2
    assert model_facts(kb) == {("Otto", "mentors", "Pia"), ("Mira", "mentors", "Otto")}
    undone = undo(kb, "mentors")
    assert (undone.status, undone.schema_version, undone.facts) == ("open", None, 0)
    item = kb.schema.resolve_relation("mentors")
    assert item is not None and item.description == "By hand."
    assert sound(kb)


def test_approving_what_means_another_type_by_now_is_refused(kb: KnowledgeBase) -> None:
    edit(kb, schema_edit.add_alias, "relation", "knows", "mentors")
    message = "mentors means knows in the schema by now. Say so: llm graphrag proposals map 1 knows"
    with pytest.raises(review.ReviewError, match=message):
        decide(kb, "mentors", "approve")
    done = decide(kb, "mentors", "map", to="knows")
    assert (done.status, done.schema_version, done.remark) == ("mapped", None, "mentors meant knows already.")
    undo(kb, "mentors")
    item = kb.schema.resolve_relation("mentors")
    assert item is not None and item.name == "knows"  # the alias was given by hand


def test_approving_an_inverse_is_refused(kb: KnowledgeBase) -> None:
    kb.connection.execute("UPDATE kg_proposals SET name = 'home_of', key = 'home_of' WHERE id = 1")
    with pytest.raises(TemplateError, match="'home_of' is how lives_in reads from tail to head already"):
        decide(kb, "home_of", "approve")


def test_a_list_that_is_full_takes_no_more(kb: KnowledgeBase) -> None:
    for n in range(98):
        edit(kb, schema_edit.add, "relation", f"r{n}")
    with pytest.raises(TemplateError, match=r"101 types, at most 100 fit a prompt"):
        decide(kb, "mentors", "approve")
    assert proposed(kb)["mentors"][0] == "open"


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("sails", "The schema has no relation 'sails'. It has: knows, lives_in."),
        ("age", "The schema has no relation 'age'. It has: knows, lives_in."),
        ("", "Say which relation it means. The schema has: knows, lives_in."),
        (None, "Say which relation it means. The schema has: knows, lives_in."),
        ("Has Met", ""),
    ],
)
def test_mapping_to_a_type_that_is_not_there(kb: KnowledgeBase, to: str | None, message: str) -> None:
    if not message:
        assert decide(kb, "mentors", "map", to=to).status == "mapped"
        return
    with pytest.raises(review.ReviewError) as caught:
        decide(kb, "mentors", "map", to=to)
    assert str(caught.value) == message


def test_mapping_to_a_retired_type_says_so(kb: KnowledgeBase) -> None:
    edit(kb, schema_edit.remove, "relation", "knows")
    with pytest.raises(review.ReviewError) as caught:
        decide(kb, "mentors", "map", to="Knows")
    assert str(caught.value) == (
        "The relation Knows is retired since version 2 of the schema. "
        "Bring it back first: llm graphrag schema add relation Knows"
    )


def test_undo_after_the_type_was_removed_by_hand(kb: KnowledgeBase) -> None:
    decide(kb, "mentors", "approve")
    done = edit(kb, schema_edit.remove, "relation", "mentors")
    assert (done.facts, model_facts(kb)) == (-1, set())
    assert extract(kb).windows == 0  # nothing is asked for the sake of a type that is gone
    undone = undo(kb, "mentors")
    assert (undone.status, undone.schema_version) == ("open", None)
    assert undone.remark == "mentors was removed from the schema before."
    assert schema.version(kb.connection) == 3
    assert sound(kb)
    assert decide(kb, "mentors", "approve").windows == 2


def test_undo_after_the_type_was_removed_and_added_by_hand_leaves_it(kb: KnowledgeBase) -> None:
    decide(kb, "mentors", "approve")
    edit(kb, schema_edit.remove, "relation", "mentors")
    edit(kb, schema_edit.add, "relation", "mentors")
    undone = undo(kb, "mentors")
    assert undone.remark == "mentors was removed and added again since; it stays in the schema."
    assert kb.schema.resolve_relation("mentors") is not None
    assert model_facts(kb) == {("Otto", "mentors", "Pia")}


def test_undo_after_the_type_was_renamed_asks_for_it_to_be_removed_first(kb: KnowledgeBase) -> None:
    decide(kb, "mentors", "approve")
    edit(kb, schema_edit.rename, "relation", "mentors", "coaches")
    assert model_facts(kb) == {("Otto", "coaches", "Pia")}
    with pytest.raises(review.ReviewError) as caught:
        undo(kb, "mentors")
    assert str(caught.value) == (
        "mentors was renamed to coaches since. Remove it first: llm graphrag schema remove relation coaches"
    )
    assert proposed(kb)["mentors"][0] == "approved"
    edit(kb, schema_edit.remove, "relation", "coaches")
    assert undo(kb, "mentors").status == "open"
    assert (model_facts(kb), sound(kb)) == (set(), True)


def test_undo_after_the_name_became_an_alias_of_an_older_type_leaves_that(kb: KnowledgeBase) -> None:
    decide(kb, "mentors", "approve")
    edit(kb, schema_edit.remove, "relation", "mentors")
    edit(kb, schema_edit.add_alias, "relation", "knows", "mentors")
    undone = undo(kb, "mentors")
    assert undone.remark == "mentors was removed from the schema before."
    assert model_facts(kb) == {("Otto", "knows", "Pia")}


def test_undo_of_a_mapping_whose_alias_is_gone_or_whose_type_has_another_name(kb: KnowledgeBase) -> None:
    decide(kb, "mentors", "map", to="knows")
    edit(kb, schema_edit.remove_alias, "relation", "knows", "mentors")
    undone = undo(kb, "mentors")
    assert (undone.remark, undone.schema_version) == ("mentors did not mean knows any more.", None)
    decide(kb, "mentors", "map", to="knows")
    edit(kb, schema_edit.rename, "relation", "knows", "is_acquainted_with")
    assert model_facts(kb) == {("Otto", "is_acquainted_with", "Pia")}
    assert undo(kb, "mentors").remark == ""
    item = kb.schema.resolve_relation("knows")
    assert item is not None and (item.name, item.aliases) == ("is_acquainted_with", ("has met", "knows"))
    assert (model_facts(kb), sound(kb)) == (set(), True)
    decide(kb, "mentors", "map", to="knows")
    edit(kb, schema_edit.remove, "relation", "is_acquainted_with")
    assert undo(kb, "mentors").remark == "mentors did not mean is_acquainted_with any more."


def test_undo_of_the_only_entity_type_is_refused(kb: KnowledgeBase) -> None:
    kb.add_text(b"Dan is a sailor.", "more.md")
    extract(kb)
    decide(kb, "sailor", "approve")
    edit(kb, schema_edit.remove, "entity_type", "person")
    edit(kb, schema_edit.remove, "entity_type", "place")
    with pytest.raises(TemplateError, match=r"is empty\. Name at least one entity type"):
        undo(kb, "sailor")
    assert proposed(kb)["sailor"][0] == "approved"


def test_going_back_to_an_earlier_version_takes_facts_away_and_brings_them_back(kb: KnowledgeBase) -> None:
    decide(kb, "mentors", "approve")
    extract(kb)
    both = model_facts(kb)
    assert len(both) == 2
    assert review_schema.revert(kb.connection, kb.settings, 1, "eva").facts == -2
    assert model_facts(kb) == set()
    done = review_schema.revert(kb.connection, kb.settings, 2, "eva")
    assert (done.version, done.facts, model_facts(kb)) == (4, 2, both)
    assert schema.at(kb.connection, 4).template == schema.at(kb.connection, 2).template
    assert sound(kb)


# -- what models may write ------------------------------------------------------------------


HOSTILE = {
    "Robert'); DROP TABLE kg_proposals;--": "robert_drop_table_kg_proposals",
    '"quoted" name': "quoted_name",
    "‮drawkcab‬ is": "drawkcab_is",
    "اسم العلاقة": "اسم_العلاقة",
    "__proto__": "proto",
    "constructor": "constructor",
    "Ｆｕｌｌ　Ｗｉｄｔｈ": "full_width",
    "a\x00b\nc": "ab_c",
    "x" * 10_000: None,
    "--": None,
    "": None,
    "🙂": None,
    "toString": "tostring",
    "關係": "關係",
}


def test_hostile_names_are_kept_as_identifiers_or_not_at_all(
    tmp_path: Path, vault: Vault, scripted: Make, llm_user: Path
) -> None:
    wishes = [
        {"kind": "relation", "name": name, "description": f"\u202e{name[:50]}\n\x1b[31m", "confidence": 0.9,
         "chunk": 1, "quote": "Mira greets Otto."}
        for name in HOSTILE
    ]  # fmt: skip
    scripted(json.dumps({"entities": [], "attributes": [], "triples": [], "proposals": wishes}))
    with open_kb(tmp_path) as kb:
        kb.add([vault({"a.md": "Mira greets Otto."})])
        extract(kb)
        assert set(proposed(kb)) == {name for name in HOSTILE.values() if name}
        for name in sorted(proposed(kb)):
            assert decide(kb, name, "approve").status == "approved"
            assert kb.schema.resolve_relation(name) is not None
            assert sound(kb)
        version = schema.version(kb.connection)
        assert version == 1 + len(proposed(kb))
        assert schema.at(kb.connection, version).template == kb.schema
        for row in store.listed(kb.connection):
            undo(kb, row["name"])
        assert schema.at(kb.connection, 1).template == kb.schema


def test_ids_are_never_given_twice(kb: KnowledgeBase) -> None:
    """A person may look at number 2, the note goes, another proposal comes: it is not number 2."""
    fears = review.find(kb.connection, "fears")
    assert fears == max(row["id"] for row in store.listed(kb.connection))
    kb.remove(["vault/a.md"])
    review.recount(kb.connection, kb.settings)
    assert set(proposed(kb)) == {"mentors"}
    kb.add_text(b"Mira greets Dan.", "more.md")
    extract(kb)
    assert review.find(kb.connection, "greets") == fears + 1
    with pytest.raises(review.ReviewError, match="There is no proposal 2"):
        review.decide(kb.connection, kb.settings, fears, "approve", actor="ana")


def test_a_description_that_comes_later_is_taken(kb: KnowledgeBase, scripted: Make) -> None:
    kb.connection.execute("UPDATE kg_proposals SET description = '' WHERE id = 1")
    kb.add_text(b"Dan mentors Pia.", "more.md")
    extract(kb)
    row = store.one(kb.connection, 1)
    assert row is not None and (row["description"], row["nearest_name"]) == ("It says mentors.", "knows")


def test_strict_and_open_mode_propose_nothing(tmp_path: Path, vault: Vault, scripted: Make) -> None:
    scripted(say)
    for mode in ("strict", "open"):
        with open_kb(tmp_path, f"{mode}.db") as kb:
            kb.set(extraction_mode=mode)
            kb.add([vault({"a.md": "Mira mentors Otto."})])
            extract(kb)
            assert proposed(kb) == {}


def test_a_deleted_note_while_its_window_waits_to_be_asked_again(kb: KnowledgeBase) -> None:
    decide(kb, "mentors", "approve")
    kb.remove(["vault/a.md"])
    assert extract(kb).done == 1
    assert model_facts(kb) == {("Otto", "mentors", "Pia")}
    kb.remove(["vault/b.md"])
    assert (extract(kb).windows, model_facts(kb), sound(kb)) == (0, set(), True)
    assert undo(kb, "mentors").facts == 0
    assert proposed(kb)["mentors"] == ("muted", 0.0, 0)


def test_a_changed_note_is_read_under_the_new_schema(kb: KnowledgeBase, vault: Vault) -> None:
    decide(kb, "mentors", "approve")
    kb.add([vault({"a.md": "Mira mentors Eva."})])
    assert extract(kb).done == 2
    assert model_facts(kb) == {("Otto", "mentors", "Pia"), ("Mira", "mentors", "Eva")}
    assert sound(kb)


def test_a_window_that_fails_when_asked_again_keeps_what_it_said(kb: KnowledgeBase) -> None:
    decide(kb, "mentors", "approve")
    kb.model._replies = "I would rather not."  # type: ignore[attr-defined]
    assert extract(kb).failed == 2
    assert model_facts(kb) == {("Otto", "mentors", "Pia")}
    assert proposed(kb)["mentors"] == ("approved", 0.99, 2)
    kb.model._replies = say  # type: ignore[attr-defined]
    assert extract(kb).done == 2
    assert len(model_facts(kb)) == 2
    assert sound(kb)
