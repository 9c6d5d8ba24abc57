"""Merges: what a decision joins, what taking it back gives, and which decisions cannot be taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Vault
from fake_reading import give_schema, read_all
from rows import dump, facts, natural

from llm_graphrag.facts.merges import Node, Pair, groups, roots, separated
from llm_graphrag.graph.entity import cards
from llm_graphrag.graph.mentions import find_mentions
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review import merges as review
from llm_graphrag.review.merge_candidates import suggest
from llm_graphrag.review.merge_details import detail, listed, numbers
from llm_graphrag.store import decisions

ROOT = Path(__file__).parent.parent

NOTES = {
    "Ana Ruiz.md": "---\ntype: person\nborn: 1971\n---\nAna Ruiz builds boats.\n\nemployer:: [[Kestrel Works]]\n",
    "log.md": "We met [[A. Ruiz]] at the harbour.\n\nguest:: [[A. Ruiz]]\n",
    "plan.md": "Ask [[A. Ruiz]], that is [[Ana Ruiz]], of [[Kestrel Works]].\n\nguest:: [[Ana Ruiz]]\n",
    "other.md": "guest:: [[Otto Lund]]\n",
}


@pytest.fixture
def notes(vault: Vault, kb: KnowledgeBase) -> KnowledgeBase:
    kb.set(embedding_model="")
    kb.add([vault(NOTES)])
    return kb


def entity(kb: KnowledgeBase, name: str, type_: str = "") -> int:
    row = kb.connection.execute("SELECT id FROM kg_entities WHERE name = ? AND type = ?", [name, type_]).fetchone()
    return int(row[0])


def merge(kb: KnowledgeBase, kept: str, merged: str, **types: str) -> review.Decided:
    return review.merge(kb.connection, kb.settings, kept, merged, actor="me", **types)


def joined(kb: KnowledgeBase) -> dict[str, str]:
    """Entity → what it is merged into, by names."""
    rows = kb.connection.execute(
        "SELECT e.name, r.name FROM kg_entities e JOIN kg_entities r ON r.id = e.merged_into ORDER BY e.name"
    )
    return {row[0]: row[1] for row in rows}


# -- the rules --------------------------------------------------------------------------

A, B, C, D = (("a", ""), ("b", ""), ("c", ""), ("d", ""))


@pytest.mark.parametrize(
    ("rows", "approved", "expected"),
    [
        ([A, B], [], {}),
        ([A, B], [Pair(A, B)], {B: A}),
        ([B, A], [Pair(B, A)], {A: B}),
        ([A, B, C], [Pair(A, B), Pair(B, C)], {B: A, C: A}),
        ([A, C], [Pair(A, B), Pair(B, C)], {C: A}),  # through one that is gone
        ([B, C], [Pair(A, B), Pair(A, C)], {C: B}),  # the one that was kept is gone
        ([B, C], [Pair(A, B), Pair(B, C)], {C: B}),
        ([A, B, C], [Pair(A, B), Pair(C, B)], {B: A, C: A}),  # merged into two
        ([A, B, C], [Pair(A, B), Pair(B, C), Pair(C, A)], {B: A, C: A}),  # in a circle
        ([A, B, C, D], [Pair(A, B), Pair(C, D)], {B: A, D: C}),
        ([("a", ""), ("b", "x")], [Pair(("c", ""), ("a", "")), Pair(("c", ""), ("b", "x"))], {("a", ""): ("b", "x")}),
    ],
)
def test_what_decisions_join(rows: list[Node], approved: list[Pair], expected: dict[Node, Node]) -> None:
    assert roots(rows, approved) == expected
    assert roots(rows[::-1], approved[::-1]) == expected


ANA, PERSON, FIRM = ("ana", ""), ("ana", "person"), ("ana", "firm")
SHORT, SHORT_PERSON, SHORT_PLACE = ("a", ""), ("a", "person"), ("a", "place")


@pytest.mark.parametrize(
    ("rows", "pair", "rejected", "expected"),
    [
        ([PERSON, SHORT], Pair(ANA, SHORT), [], {SHORT: PERSON}),  # got a type since
        ([PERSON, SHORT_PERSON], Pair(ANA, SHORT), [], {SHORT_PERSON: PERSON}),
        ([ANA, SHORT], Pair(PERSON, SHORT_PERSON), [], {SHORT: ANA}),  # lost it
        ([PERSON, SHORT_PLACE], Pair(ANA, SHORT), [], {}),  # types that do not agree
        ([PERSON, FIRM, SHORT], Pair(ANA, SHORT), [], {}),  # who is meant?
        ([FIRM, SHORT], Pair(PERSON, SHORT), [], {}),  # another type is another entity
        ([PERSON, SHORT_PERSON], Pair(ANA, SHORT), [Pair(PERSON, SHORT_PERSON)], {}),
        ([PERSON, SHORT_PERSON], Pair(PERSON, SHORT_PERSON), [Pair(ANA, SHORT)], {SHORT_PERSON: PERSON}),
        ([PERSON], Pair(PERSON, ANA), [], {}),  # both mean one by now
    ],
)
def test_a_decision_holds_when_a_type_comes_or_goes(
    rows: list[Node], pair: Pair, rejected: list[Pair], expected: dict[Node, Node]
) -> None:
    assert roots(rows, [pair], rejected) == expected


def test_what_is_rejected_may_not_be_joined_by_way_of_others() -> None:
    assert separated([Pair(A, B), Pair(B, C)], [Pair(C, A)]) == Pair(C, A)
    assert separated([Pair(A, B)], [Pair(C, A)]) is None
    assert groups([Pair(B, C), Pair(D, C)]) == {B: B, C: B, D: B}


# -- what a merge does ----------------------------------------------------------------------


def test_facts_are_added_up_under_the_kept_entity_and_undo_is_exact(notes: KnowledgeBase) -> None:
    before = natural(notes)
    assert facts(notes) >= {("log", "guest", "A. Ruiz"), ("plan", "guest", "Ana Ruiz")}
    done = merge(notes, "Ana Ruiz", "A. Ruiz")
    assert (done.action, done.status, done.before, done.subject) == (
        "approve", "approved", "undone", "Ana Ruiz (person) = A. Ruiz",
    )  # fmt: skip
    assert joined(notes) == {"A. Ruiz": "Ana Ruiz"}
    assert facts(notes) >= {
        ("log", "guest", "Ana Ruiz"), ("log", "links_to", "Ana Ruiz"), ("plan", "guest", "Ana Ruiz"),
        ("Ana Ruiz", "employer", "Kestrel Works"), ("Ana Ruiz", "born", "1971"),
    }  # fmt: skip
    assert not [fact for fact in facts(notes) if "A. Ruiz" in fact]
    assert notes.check() == []
    undone = review.undo(notes.connection, notes.settings, done.merge, actor="you", note="two people")
    assert (undone.action, undone.status, undone.before, undone.facts) == ("undo", "undone", "approved", -done.facts)
    assert natural(notes) == before
    assert notes.check() == []
    log = [(row["action"], row["actor"], row["note"]) for row in decisions.log(notes.connection, "merge")]
    assert log == [("undo", "you", "two people"), ("approve", "me", "")]


def test_evidence_stays_with_the_name_it_was_written_under(notes: KnowledgeBase) -> None:
    rows = "SELECT head_entity, tail_entity, quote FROM kg_evidence ORDER BY id"
    before = [tuple(row) for row in notes.connection.execute(rows)]
    mentions = [tuple(row) for row in notes.connection.execute("SELECT * FROM kg_mentions")]
    merge(notes, "Ana Ruiz", "A. Ruiz")
    assert [tuple(row) for row in notes.connection.execute(rows)] == before
    assert [tuple(row) for row in notes.connection.execute("SELECT * FROM kg_mentions")] == mentions


def test_facts_that_both_had_become_one(vault: Vault, kb: KnowledgeBase) -> None:
    kb.set(embedding_model="")
    kb.add([vault({"n.md": "guest:: [[Ana Ruiz]], [[A. Ruiz]]\n"})])
    done = merge(kb, "Ana Ruiz", "A. Ruiz")
    assert done.facts == -1
    [row] = kb.connection.execute("SELECT evidence FROM kg_triples WHERE relation = 'guest'")
    assert row["evidence"] == 2


def test_a_statement_between_the_two_becomes_one_about_itself(vault: Vault, kb: KnowledgeBase) -> None:
    kb.set(embedding_model="")
    kb.add([vault({"Ana Ruiz.md": "mentor:: [[A. Ruiz]]\n"})])
    before = natural(kb)
    done = merge(kb, "Ana Ruiz", "A. Ruiz")
    assert ("Ana Ruiz", "mentor", "Ana Ruiz") in facts(kb)  # its sentence is still there to be shown
    assert kb.check() == []
    review.undo(kb.connection, kb.settings, done.merge, actor="me")
    assert natural(kb) == before


def test_two_notes_may_be_about_one_person(vault: Vault, kb: KnowledgeBase) -> None:
    kb.set(embedding_model="")
    folder = vault(
        {
            "Ana Ruiz.md": "---\ntype: person\n---\nteam:: [[Keel]]\n",
            "Anita.md": "---\ntype: person\nphone: 12\n---\n",
            "n.md": "[[Anita]] and [[Ana Ruiz]].",
        }
    )
    kb.add([folder])
    merge(kb, "Ana Ruiz", "Anita")
    assert facts(kb) >= {("Ana Ruiz", "phone", "12"), ("Ana Ruiz", "team", "Keel")}
    rows = kb.connection.execute(
        """SELECT d.path FROM kg_evidence v JOIN kg_documents d ON d.entity = v.tail_entity
           WHERE v.tail IN ('Anita', 'Ana Ruiz') ORDER BY 1"""
    )
    assert [row[0] for row in rows] == ["Ana Ruiz.md", "Anita.md"]  # a link still leads to its own note
    assert cards(kb.connection, "anita")[0].notes == ("vault/Ana Ruiz.md", "vault/Anita.md")
    assert kb.check() == []


def test_counters_and_facets_are_of_what_is_joined(notes: KnowledgeBase) -> None:
    def counter(kind: str, item: object) -> int | None:
        row = notes.connection.execute("SELECT n FROM kg_counts WHERE kind = ? AND item = ?", [kind, item]).fetchone()
        return None if row is None else int(row[0])

    kept, merged = entity(notes, "Ana Ruiz", "person"), entity(notes, "A. Ruiz")
    untyped = counter("entity_type", "")
    assert untyped is not None
    assert (counter("chunks", kept), counter("chunks", merged)) == (2, 2)
    merge(notes, "Ana Ruiz", "A. Ruiz")
    assert (counter("chunks", kept), counter("chunks", merged)) == (3, None)
    assert counter("facts", merged) is None
    assert counter("entity_type", "") == untyped - 1


def test_what_has_changed_is_logged_for_derived_indexes(notes: KnowledgeBase) -> None:
    notes.connection.execute("DELETE FROM kg_changes")
    merge(notes, "Ana Ruiz", "A. Ruiz")
    rows = notes.connection.execute("SELECT id, operation FROM kg_changes WHERE \"table\" = 'kg_entities'").fetchall()
    changed = {row[0]: row[1] for row in rows}
    assert changed[entity(notes, "A. Ruiz")] == changed[entity(notes, "Ana Ruiz", "person")] == "update"
    gone = notes.connection.execute(
        """SELECT count(*) FROM kg_changes WHERE "table" = 'kg_triples' AND operation = 'delete'
             AND id IN (SELECT id FROM kg_triples)"""
    ).fetchone()[0]
    assert gone == 0


def test_questions_find_the_kept_one_by_the_names_of_both(notes: KnowledgeBase) -> None:
    merge(notes, "Ana Ruiz", "A. Ruiz")
    kept = entity(notes, "Ana Ruiz", "person")
    for name in ("A. Ruiz", "Ana Ruiz"):
        [mention] = find_mentions(notes.connection, f"Who is {name}?")
        assert [(c.entity, c.note) for c in mention.candidates] == [(kept, True)]
        [card] = cards(notes.connection, name)
        assert (card.name, card.aliases, card.chunks) == ("Ana Ruiz", ("A. Ruiz",), 3)
    assert {hit.uri for hit in notes.search("Ana Ruiz")} >= {"vault/log.md", "vault/plan.md", "vault/Ana Ruiz.md"}


# -- a decision outlives its rows -----------------------------------------------------------


def test_a_merge_holds_when_its_notes_go_and_come_back(notes: KnowledgeBase, vault: Vault) -> None:
    merge(notes, "Ana Ruiz", "A. Ruiz")
    before = natural(notes)
    removed = ["vault/log.md", "vault/plan.md"]
    notes.remove(removed)
    assert joined(notes) == {}
    assert notes.check() == []
    notes.add([vault({})])
    assert joined(notes) == {"A. Ruiz": "Ana Ruiz"}
    assert natural(notes) == before


def test_the_kept_one_goes_and_comes_back(notes: KnowledgeBase, vault: Vault) -> None:
    done = merge(notes, "Otto Lund", "A. Ruiz")
    third = merge(notes, "A. Ruiz", "Kestrel Works")
    assert joined(notes) == {"A. Ruiz": "Otto Lund", "Kestrel Works": "Otto Lund"}
    notes.remove(["vault/other.md"])  # nobody names Otto Lund any more
    assert joined(notes) == {"Kestrel Works": "A. Ruiz"}
    assert ("Ana Ruiz", "employer", "A. Ruiz") in facts(notes)
    assert notes.check() == []
    notes.add([vault({})])
    assert joined(notes) == {"A. Ruiz": "Otto Lund", "Kestrel Works": "Otto Lund"}
    review.undo(notes.connection, notes.settings, done.merge, actor="me")
    assert joined(notes) == {"Kestrel Works": "A. Ruiz"}
    review.undo(notes.connection, notes.settings, third.merge, actor="me")
    assert joined(notes) == {}
    assert notes.check() == []


def test_a_merge_holds_when_a_model_gives_types(vault: Vault, kb: KnowledgeBase) -> None:
    kb.set(embedding_model="")
    give_schema(kb)
    kb.add([vault({"n.md": "Otto met [[Mira]] there. Mira knows Otto."})])
    merge(kb, "Otto", "Mira")
    read_all(kb)
    rows = {tuple(row) for row in kb.connection.execute("SELECT name, type FROM kg_entities")}
    assert rows >= {("Otto", "person"), ("Mira", "person")}
    assert joined(kb) == {"Mira": "Otto"}
    assert kb.check() == []


# -- decisions that cannot be taken -----------------------------------------------------------


def test_who_decides_first_decides(notes: KnowledgeBase) -> None:
    suggest(notes.connection, notes.settings)
    [row] = [row for row in listed(notes.connection, ["suggested"]) if row.merged == "A. Ruiz"]
    decided = review.approve(notes.connection, notes.settings, row.id, actor="me", expected="suggested")
    assert decided.before == "suggested"
    with pytest.raises(review.StaleError, match="has become approved by me since you looked"):
        review.reject(notes.connection, notes.settings, row.id, actor="you", expected="suggested")
    with pytest.raises(review.StaleError, match=f"was approved by me on .*: llm graphrag merges undo {row.id}"):
        review.reject(notes.connection, notes.settings, row.id, actor="you")
    review.undo(notes.connection, notes.settings, row.id, actor="me", expected="approved")
    assert [item.status for item in listed(notes.connection)] == ["suggested"]
    assert decisions.standing(notes.connection, "merge", row.id) is None
    with pytest.raises(review.ReviewError, match="Nothing was decided about"):
        review.undo(notes.connection, notes.settings, row.id, actor="me")


def test_what_was_rejected_is_not_joined_by_way_of_others(notes: KnowledgeBase) -> None:
    connection, settings = notes.connection, notes.settings
    no = review.refuse(connection, settings, "Ana Ruiz", "Otto Lund", actor="me")
    merge(notes, "Ana Ruiz", "A. Ruiz")
    before = dump(connection)
    with pytest.raises(review.ReviewError, match=f"which me rejected on .*: llm graphrag merges undo {no.merge}"):
        merge(notes, "A. Ruiz", "Otto Lund")
    assert dump(connection) == before
    review.undo(connection, settings, no.merge, actor="me")
    merge(notes, "A. Ruiz", "Otto Lund")
    assert joined(notes) == {"A. Ruiz": "Ana Ruiz", "Otto Lund": "Ana Ruiz"}
    with pytest.raises(review.ReviewError, match=r"are joined, by merge 2, 3\. Take that back first"):
        review.refuse(connection, settings, "Ana Ruiz", "Otto Lund", actor="me")


@pytest.mark.parametrize(
    ("kept", "merged", "message"),
    [
        ("Ana Ruiz", "Nobody", "There is no entity 'Nobody'. Find its name with: llm graphrag entity 'Nobody'"),
        ("Ana Ruiz", "ana  ruiz", "are names of one entity, 'Ana Ruiz'"),
        ("Marlow", "Ana Ruiz", "'Marlow' is several entities: 'Marlow' of type '', 'Marlow' of type 'person', "),
    ],
)
def test_what_cannot_be_merged_says_why(
    notes: KnowledgeBase, vault: Vault, kept: str, merged: str, message: str
) -> None:
    notes.add(
        [vault({f"{type_}/Marlow.md": f"---\ntype: {type_}\n---\nMarlow\n" for type_ in ("person", "place")}, "more")]
    )
    before = dump(notes.connection)
    with pytest.raises(review.ReviewError, match=re.escape(message)):
        merge(notes, kept, merged)
    assert dump(notes.connection) == before


def test_several_are_decided_together_or_none_is(notes: KnowledgeBase) -> None:
    connection, settings = notes.connection, notes.settings
    one = merge(notes, "Ana Ruiz", "A. Ruiz").merge
    two = merge(notes, "Ana Ruiz", "Otto Lund").merge
    before = dump(connection)
    with pytest.raises(review.ReviewError, match="There is no merge 99"):
        review.decide_all(connection, settings, [one, two, 99], "undo", actor="me")
    assert dump(connection) == before
    done = review.decide_all(connection, settings, [one, two], "undo", actor="me")
    assert [item.status for item in done] == ["undone", "undone"]
    assert joined(notes) == {}


# -- suggestions ----------------------------------------------------------------------------


def test_suggesting_twice_changes_nothing(notes: KnowledgeBase) -> None:
    suggest(notes.connection, notes.settings)
    before = dump(notes.connection)
    suggest(notes.connection, notes.settings)
    assert dump(notes.connection) == before


def test_what_was_rejected_is_never_suggested_again(notes: KnowledgeBase, vault: Vault) -> None:
    connection, settings = notes.connection, notes.settings
    suggest(connection, settings)
    [row] = listed(connection, ["suggested"])
    assert (row.kept, row.kept_type, row.merged, row.joined) == ("Ana Ruiz", "person", "A. Ruiz", False)
    review.reject(connection, settings, row.id, actor="me")
    assert suggest(connection, settings) == []
    notes.remove(["vault"])
    notes.add([vault({})])
    assert suggest(connection, settings) == []
    assert numbers(connection) == {"rejected": 1}
    review.undo(connection, settings, row.id, actor="me")
    assert [item.id for item in listed(connection, ["suggested"])] == [row.id]


def test_nothing_is_suggested_that_would_join_what_was_rejected(notes: KnowledgeBase) -> None:
    review.refuse(notes.connection, notes.settings, "Ana Ruiz", "Otto Lund", actor="me")
    merge(notes, "Otto Lund", "A. Ruiz")
    assert suggest(notes.connection, notes.settings) == []


def test_suggestions_go_with_their_entities_and_decisions_stay(notes: KnowledgeBase) -> None:
    connection, settings = notes.connection, notes.settings
    suggest(connection, settings)
    notes.remove(["vault"])
    assert connection.execute("SELECT count(*) FROM kg_merges").fetchone()[0] == 0


def test_a_suggestion_that_was_undone_is_remembered_when_its_entities_go(notes: KnowledgeBase) -> None:
    connection, settings = notes.connection, notes.settings
    suggest(connection, settings)
    [row] = listed(connection)
    review.approve(connection, settings, row.id, actor="me")
    review.undo(connection, settings, row.id, actor="me")
    notes.remove(["vault"])
    [left] = listed(connection)
    assert (left.id, left.status, left.kept_id, left.kept) == (row.id, "undone", None, "ana ruiz")
    with pytest.raises(review.ReviewError, match="cannot be joined: there is no 'ana ruiz' here any more"):
        review.approve(connection, settings, row.id, actor="me")


def test_a_suggestion_that_others_have_joined_is_not_listed(vault: Vault, kb: KnowledgeBase) -> None:
    kb.set(embedding_model="")
    kb.add([vault({"n.md": "[[Müller]] [[Mueller]] [[Muller]]"})])
    suggest(kb.connection, kb.settings)
    one, two, three = listed(kb.connection, ["suggested"])
    for row in (one, two):
        review.approve(kb.connection, kb.settings, row.id, actor="me")
    assert numbers(kb.connection) == {"approved": 2}
    review.undo(kb.connection, kb.settings, two.id, actor="me")
    assert {row.id for row in listed(kb.connection, ["suggested"])} == {two.id, three.id}


# -- what a person looks at -------------------------------------------------------------------


def test_both_sides_are_shown_with_their_sentences(notes: KnowledgeBase) -> None:
    suggest(notes.connection, notes.settings)
    [row] = listed(notes.connection)
    found = detail(notes.connection, row.id)
    assert (found.kept.name, found.kept.type, found.kept.notes) == ("Ana Ruiz", "person", ("vault/Ana Ruiz.md",))
    assert found.merged.chunks == 2
    [first, second] = found.merged.passages
    assert (first.uri, first.line, first.before + first.name + first.after) == (
        "vault/log.md", 1, "We met [[A. Ruiz]] at the harbour.",
    )  # fmt: skip
    assert second.uri == "vault/plan.md"
    assert [(s.relation, s.direction, s.other) for s in found.shared] == [("links_to", "in", "plan")]
    assert found.between == () and found.log == ()
    review.approve(notes.connection, notes.settings, row.id, actor="me")
    found = detail(notes.connection, row.id)
    assert (found.listed.joined, found.kept.with_it, [r["action"] for r in found.log]) == (
        True,
        ("A. Ruiz",),
        ["approve"],
    )
    with pytest.raises(review.ReviewError, match="There is no merge 99"):
        detail(notes.connection, 99)


def test_what_differs_and_what_stands_between_is_shown(vault: Vault, kb: KnowledgeBase) -> None:
    kb.set(embedding_model="")
    kb.add([vault({"Ana Ruiz.md": "born:: 1971\n\nsister:: [[Anna Ruiz]]\n", "Anna Ruiz.md": "born:: 1975\n"})])
    done = review.refuse(kb.connection, kb.settings, "Ana Ruiz", "Anna Ruiz", actor="me")
    found = detail(kb.connection, done.merge)
    assert found.differing == (("born", ("1971",), ("1975",)),)
    assert [(item.relation, item.direction, item.other) for item in found.between] == [("sister", "out", "Anna Ruiz")]


# -- nothing joins by itself ------------------------------------------------------------------


def test_only_decisions_join_entities() -> None:
    """Of all code, joining.py alone writes merged_into, and what writes a status writes the log."""
    files = [*(ROOT / "llm_graphrag").rglob("*.py"), *(ROOT / "datasette_graphrag").rglob("*.py")]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files}
    writing = [
        name for name, text in texts.items() if re.search(r"SET\s+merged_into|kg_entities\([^)]*merged_into", text)
    ]
    assert writing == ["llm_graphrag/store/joining.py"]
    deciding = {
        name for name, text in texts.items() if re.search(r"merges\.set_status\(|UPDATE kg_merges SET status", text)
    }
    assert deciding == {f"llm_graphrag/{name}.py" for name in (
        "review/merges", "review/merge_rows", "review/splits", "store/merges",
    )}  # fmt: skip
    for name in deciding - {"llm_graphrag/store/merges.py"}:
        assert texts[name].count("merges.set_status(") == texts[name].count("decisions.record("), name


def test_every_approval_is_in_the_log(notes: KnowledgeBase) -> None:
    suggest(notes.connection, notes.settings)
    assert joined(notes) == {}
    merge(notes, "Ana Ruiz", "A. Ruiz")
    rows = notes.connection.execute(
        """SELECT m.decided_by, m.decided_at, d.actor, d.at FROM kg_merges m
           JOIN kg_decisions d ON d.kind = 'merge' AND d.item = m.id WHERE m.status = 'approved'"""
    ).fetchall()
    assert [(row[0], row[1]) for row in rows] == [(row[2], row[3]) for row in rows]
    assert len(rows) == 1
