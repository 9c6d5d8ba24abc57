"""Two people of one name: which documents mean the other one is decided, and holds."""

from __future__ import annotations

import re

import pytest
from conftest import Run, Vault
from fake_reading import give_schema, read_all
from rows import dump, entities, facts, natural

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review import merges as review
from llm_graphrag.review.merge_candidates import suggest
from llm_graphrag.review.merge_details import listed
from llm_graphrag.review.splits import split

NOTES = {
    "north.md": "Li Wei is finance chief of North Mill.\n\nchief:: [[Li Wei]]\n",
    "south.md": "Li Wei is finance chief of South Mill.\n\nchief:: [[Li Wei]]\n",
    "both.md": "See [[north]] and [[south]].\n",
}


@pytest.fixture
def mills(kb: KnowledgeBase, vault: Vault) -> KnowledgeBase:
    kb.set(embedding_model="")
    kb.add([vault(NOTES)])
    return kb


def halve(kb: KnowledgeBase, *documents: str, half: str = "Li Wei (South Mill)") -> review.Decided:
    return split(kb.connection, kb.settings, "Li Wei", half, documents, actor="me")


def mentions(kb: KnowledgeBase) -> set[tuple[str, str, str]]:
    """(path, origin, name of the entity) of all mentions of Li Wei."""
    rows = kb.connection.execute(
        """SELECT d.path, m.origin, e.name FROM kg_mentions m JOIN kg_entities e ON e.id = m.entity
           JOIN kg_chunks c ON c.id = m.chunk JOIN kg_documents d ON d.id = c.document WHERE m.key = 'li wei'"""
    )
    return {tuple(row) for row in rows}


def test_each_fact_goes_to_the_chosen_half_by_its_evidence(mills: KnowledgeBase) -> None:
    before = natural(mills)
    assert facts(mills) >= {("north", "chief", "Li Wei"), ("south", "chief", "Li Wei")}
    done = halve(mills, "vault/south.md")
    assert (done.action, done.status) == ("split", "rejected")
    assert facts(mills) >= {("north", "chief", "Li Wei"), ("south", "chief", "Li Wei (South Mill)")}
    assert ("south", "chief", "Li Wei") not in facts(mills)
    assert mentions(mills) == {
        ("north.md", "lexical", "Li Wei"), ("north.md", "link", "Li Wei"),
        ("south.md", "lexical", "Li Wei (South Mill)"), ("south.md", "link", "Li Wei (South Mill)"),
    }  # fmt: skip
    assert mills.check() == []
    review.undo(mills.connection, mills.settings, done.merge, actor="me")
    assert natural(mills) == before
    assert mills.check() == []


def test_it_holds_when_the_notes_change(mills: KnowledgeBase, vault: Vault) -> None:
    halve(mills, "vault/south.md")
    folder = vault({"south.md": NOTES["south.md"] + "\ncfo:: [[Li Wei]]\n", "new.md": "guest:: [[Li Wei]]\n"})
    mills.add([folder])
    assert facts(mills) >= {("south", "cfo", "Li Wei (South Mill)"), ("new", "guest", "Li Wei")}
    (folder / "south.md").rename(folder / "mill.md")
    mills.add([folder])
    assert facts(mills) >= {("mill", "cfo", "Li Wei (South Mill)")}
    assert mills.check() == []
    mills.remove(["vault/mill.md"])
    assert "Li Wei (South Mill)" not in dict(entities(mills))
    assert mills.check() == []


def test_a_document_that_comes_back_still_means_the_other(mills: KnowledgeBase, vault: Vault) -> None:
    halve(mills, "vault/south.md")
    before = natural(mills)
    mills.remove(["vault/south.md"])
    mills.add([vault({})])
    assert natural(mills) == before


def test_a_note_about_it_keeps_what_it_says_of_itself(kb: KnowledgeBase, vault: Vault) -> None:
    kb.set(embedding_model="")
    kb.add([vault({"Li Wei.md": "born:: 1970\n\nmentor:: [[Li Wei]]\n", "south.md": "chief:: [[Li Wei]]\n"})])
    halve(kb, "vault/south.md", "vault/Li Wei.md")
    assert facts(kb) == {
        ("Li Wei", "born", "1970"), ("Li Wei", "mentor", "Li Wei (South Mill)"),
        ("south", "chief", "Li Wei (South Mill)"),
    }  # fmt: skip
    assert kb.check() == []


def test_the_other_half_may_have_a_note_of_its_own(mills: KnowledgeBase, vault: Vault) -> None:
    halve(mills, "vault/south.md")
    mills.add([vault({"Li Wei (South Mill).md": "born:: 1980\n"})])
    assert facts(mills) >= {("south", "chief", "Li Wei (South Mill)"), ("Li Wei (South Mill)", "born", "1980")}
    assert mills.check() == []


def test_what_a_model_types_there_means_the_other_too(kb: KnowledgeBase, vault: Vault) -> None:
    """Under whatever type: the split was of a name that had none, and others of the name do not matter."""
    kb.set(embedding_model="")
    give_schema(kb)
    kb.add([vault({"a.md": "# Yard\n\nMira knows Otto. [[Otto]]\n", "b.md": "Mira knows Otto.\n"})])
    done = split(kb.connection, kb.settings, "Otto", "Otto (2)", ["vault/a.md"], actor="me")
    read_all(kb)
    assert (_meant_in(kb, "a.md"), _meant_in(kb, "b.md")) == ({"otto (2)"}, {"otto"})
    assert kb.check() == []
    review.undo(kb.connection, kb.settings, done.merge, actor="me")
    assert _meant_in(kb, "a.md") == {"otto"}
    assert {("Otto", "place"), ("Otto", "person")} <= set(entities(kb))
    assert kb.check() == []


def _meant_in(kb: KnowledgeBase, path: str) -> set[str]:
    """The keys of the entities that claims and mentions of Otto in a note mean."""
    rows = kb.connection.execute(
        """SELECT e.key FROM kg_documents d JOIN kg_chunks c ON c.document = d.id JOIN (
             SELECT chunk, head_entity AS entity FROM kg_evidence WHERE head_key = 'otto'
             UNION SELECT chunk, tail_entity FROM kg_evidence WHERE tail_key = 'otto'
             UNION SELECT chunk, entity FROM kg_mentions WHERE key = 'otto') v ON v.chunk = c.id
           JOIN kg_entities e ON e.id = v.entity WHERE d.path = ?""",
        [path],
    )
    return {row[0] for row in rows}


def test_a_type_that_a_split_has_limits_it(kb: KnowledgeBase, vault: Vault) -> None:
    """The person of this name is two; what a model calls a place in that note stays what it is."""
    kb.set(embedding_model="")
    give_schema(kb)
    kb.add([vault({"a.md": "Otto knows Mira.\n", "b.md": "Otto knows Mira.\n"})])
    read_all(kb)
    split(kb.connection, kb.settings, "Otto", "Otto (2)", ["vault/a.md"], type_="person", actor="me")
    assert (_meant_in(kb, "a.md"), _meant_in(kb, "b.md")) == ({"otto (2)"}, {"otto"})
    kb.add([vault({"a.md": "# Yard\n\nOtto knows Mira.\n"})])
    read_all(kb)
    rows = kb.connection.execute(
        """SELECT DISTINCT e.name, e.type FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk
           JOIN kg_documents d ON d.id = c.document JOIN kg_entities e ON e.id = v.head_entity
           WHERE d.path = 'a.md' AND v.head_key = 'otto'"""
    )
    assert {tuple(row) for row in rows} == {("Otto", "place")}
    assert kb.check() == []


def test_the_halves_are_never_joined_or_suggested(mills: KnowledgeBase) -> None:
    done = halve(mills, "vault/south.md", half="Lee Wei")
    assert suggest(mills.connection, mills.settings) == []
    [row] = listed(mills.connection)
    assert (row.id, row.kept, row.merged, row.status) == (done.merge, "Li Wei", "Lee Wei", "rejected")
    with pytest.raises(review.StaleError, match="Li Wei = Lee Wei was rejected by me"):
        review.merge(mills.connection, mills.settings, "Li Wei", "Lee Wei", actor="me")


@pytest.mark.parametrize(
    ("half", "documents", "message"),
    [
        ("LI WEI", ["vault/south.md"], "'LI WEI' is the same name as 'Li Wei'. Say what tells the two apart."),
        ("  ", ["vault/south.md"], "is the same name as 'Li Wei'"),
        ("Li Wei 2", ["vault/none.md"], "There is no document 'vault/none.md'. See: llm graphrag entity 'Li Wei'"),
        ("Li Wei 2", ["vault/both.md"], "vault/both.md does not name 'Li Wei'."),
        ("Li Wei 2", [], "Say in which documents it is somebody else."),
    ],
)
def test_what_cannot_be_split_says_why(mills: KnowledgeBase, half: str, documents: list[str], message: str) -> None:
    before = dump(mills.connection)
    with pytest.raises(review.ReviewError, match=re.escape(message)):
        halve(mills, *documents, half=half)
    assert dump(mills.connection) == before


def test_a_split_is_changed_by_taking_it_back(mills: KnowledgeBase) -> None:
    done = halve(mills, "vault/south.md")
    with pytest.raises(review.ReviewError, match=f"are split already.*: llm graphrag merges undo {done.merge}"):
        halve(mills, "vault/north.md")
    review.undo(mills.connection, mills.settings, done.merge, actor="me")
    again = halve(mills, "vault/north.md")
    assert (again.merge, ("north", "chief", "Li Wei (South Mill)") in facts(mills)) == (done.merge, True)
    assert mills.check() == []


def test_what_is_joined_cannot_be_split(mills: KnowledgeBase) -> None:
    review.merge(mills.connection, mills.settings, "Li Wei", "North Mill", actor="me")
    with pytest.raises(review.ReviewError, match=r"are joined, by merge 1\. Take that back first"):
        halve(mills, "vault/south.md", half="North Mill")


def test_the_command(run: Run, vault: Vault) -> None:
    run("add", vault(NOTES))
    done = run("merges", "split", "Li Wei", "Li Wei (South Mill)", "vault/south.md").output.splitlines()
    assert done == [
        "Split: Li Wei and Li Wei (South Mill) are two.", "To take it back: llm graphrag merges undo 1",
    ]  # fmt: skip
    assert "  chief → Li Wei (South Mill)" not in run("entity", "Li Wei").output
    assert run("entity", "Li Wei (South Mill)").output.startswith("Li Wei (South Mill)\n")
    assert run("check").output == "All is well.\n"
