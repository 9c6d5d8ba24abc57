"""Names in links that broke other tools: which note each link leads to, once everything is stored."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from conftest import Vault, write_notes
from rows import counts, entities, evidence, facts, targets

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources.ingest import Options


def names_of_notes(kb: KnowledgeBase) -> dict[str, str]:
    """The entity of each note, by path."""
    rows = kb.connection.execute("SELECT d.path, e.name FROM kg_documents d JOIN kg_entities e ON e.id = d.entity")
    return dict(rows.fetchall())


def test_023_a_name_that_ends_with_another(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "plan.md": "x",
            "old-plan.md": "x",
            "a/plan.md": "x",
            "index.md": "[[plan]] [[old-plan]] [[a/plan]]",
            "a/here.md": "[[plan]] and ![[old-plan]]",
        }
    )
    report = kb.add([folder])
    assert targets(kb, "index.md") == {
        "[[plan]]": "plan.md",
        "[[old-plan]]": "old-plan.md",
        "[[a/plan]]": "a/plan.md",
    }
    assert targets(kb, "a/here.md") == {"[[plan]]": "a/plan.md", "![[old-plan]]": "old-plan.md"}
    assert ("index", "links_to", "vault/plan") in facts(kb)
    assert ("here", "links_to", "a/plan") in facts(kb)
    assert report.warnings == []
    assert kb.check() == []


def test_024_exact_case_then_nearest_folder_then_a_warning(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "a/Note.md": "upper",
            "b/note.md": "lower",
            "root.md": "[[Note]] [[note]] [[NOTE]]",
            "b/here.md": "[[NOTE]]",
        }
    )
    report = kb.add([folder])
    assert {fact for fact in facts(kb) if fact[1] == "links_to"} == {
        ("root", "links_to", "a/Note"),
        ("root", "links_to", "b/note"),
        ("here", "links_to", "b/note"),
    }
    assert targets(kb, "b/here.md") == {"[[NOTE]]": "b/note.md"}
    assert targets(kb, "root.md") == {
        "[[Note]]": "a/Note.md",
        "[[note]]": "b/note.md",
        "[[NOTE]]": "a/Note.md",
    }
    [warning] = report.warnings
    assert (warning.path, warning.message) == ("vault/root.md", "[[NOTE]] could be a/Note, b/note; taken as the first")
    assert kb.check() == []


def test_024_the_order_of_arrival_does_not_matter(tmp_path: Path) -> None:
    files = {"a/Note.md": "upper", "b/note.md": "lower", "root.md": "[[NOTE]] [[note]]", "b/here.md": "[[NOTE]]"}
    found = set()
    for number, order in enumerate(permutations(files)):
        if number % 5:
            continue
        with KnowledgeBase.in_memory() as kb:
            for name in order:
                kb.add([write_notes(tmp_path / str(number) / "v", {name: files[name]})])
            found.add(frozenset(targets(kb, "root.md").items()) | frozenset(facts(kb)))
    assert len(found) == 1


def test_026_a_dot_is_no_extension(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "plants.fern_royal.md": "A fern.",
            "v2.1.md": "A release.",
            "Mr. Pym.md": "",
            "i.md": "[[plants.fern_royal]] [[v2.1]] [[Mr. Pym]] ![[photo.png]] [[Node.js]]",
        }
    )
    kb.add([folder])
    assert targets(kb) == {
        "[[plants.fern_royal]]": "plants.fern_royal.md",
        "[[v2.1]]": "v2.1.md",
        "[[Mr. Pym]]": "Mr. Pym.md",
        "[[Node.js]]": "→ Node.js",
    }
    assert not [name for name, _ in entities(kb) if "png" in name]
    assert kb.check() == []


def test_027_percent_signs_are_decoded_once(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "50% off.md": "",
            "x y.md": "",
            "x%20y.md": "A percent sign and two digits.",
            "i.md": "[[50% off]] [s](x%20y.md) [p](x%2520y.md) [[x%20y]] [bad](%zz.md) [o](50%25%20off.md)",
        }
    )
    kb.add([folder])
    assert targets(kb) == {
        "[[50% off]]": "50% off.md",
        "[s](x%20y.md)": "x y.md",
        "[p](x%2520y.md)": "x%20y.md",
        "[[x%20y]]": "x%20y.md",
        "[bad](%zz.md)": "→ %zz",
        "[o](50%25%20off.md)": "50% off.md",
    }
    assert kb.check() == []


def test_028_a_hash_belongs_to_the_name_if_there_is_such_a_note(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "F# notes.md": "",
            "F.md": "# notes\nplain F",
            "i.md": "[[F# notes]] [m](F%23%20notes.md) [[F#notes]] [[F#^block]]",
        }
    )
    kb.add([folder])
    with_hash = {
        "[[F# notes]]": "F# notes.md",
        "[m](F%23%20notes.md)": "F# notes.md",
        "[[F#notes]]": "F.md",
        "[[F#^block]]": "F.md",
    }
    assert targets(kb) == with_hash
    (folder / "F# notes.md").unlink()
    kb.add([folder], Options(prune=True))
    assert targets(kb)["[[F# notes]]"] == "F.md"
    assert kb.check() == []
    vault({"F# notes.md": ""})
    kb.add([folder])
    assert targets(kb) == with_hash
    assert kb.check() == []


def test_032_two_colons_in_a_link_are_no_field(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({"n.md": "- [Market :: Stall](https://x.invalid/a::b)\n- [[Market :: Stall]]\n"})])
    assert evidence(kb) == [("n.md", 2, "triple", "n", "links_to", "Market :: Stall")]
    assert counts(kb).get("kg_attributes", 0) == 0


def test_034_a_dot_and_a_slash_stay_apart(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({"foo.bar.md": "dot", "foo/bar.md": "slash", "i.md": "[[foo.bar]] [[foo/bar]]"})])
    assert targets(kb) == {"[[foo.bar]]": "foo.bar.md", "[[foo/bar]]": "foo/bar.md"}
    assert names_of_notes(kb) == {"foo.bar.md": "foo.bar", "foo/bar.md": "bar", "i.md": "i"}
    uris = [row[0] for row in kb.connection.execute("SELECT uri FROM kg_documents ORDER BY uri")]
    assert uris == ["vault/foo.bar.md", "vault/foo/bar.md", "vault/i.md"]


def test_037_notes_that_embed_each_other(vault: Vault, kb: KnowledgeBase) -> None:
    files = {
        "a.md": "# A\n![[b]]\n",
        "b.md": "# B\n![[a]]\n",
        "c.md": "# Part\nText\n![[c#Part]]\n# Part\nagain\n",
    }
    kb.add([vault(files)])
    assert facts(kb) == {("a", "embeds", "b"), ("b", "embeds", "a"), ("c", "embeds", "c")} | {
        fact for fact in facts(kb) if fact[1] == "alias"
    }
    total = kb.connection.execute("SELECT sum(length(text)) FROM kg_chunks").fetchone()[0]
    assert total == sum(map(len, files.values()))
    assert kb.check() == []


def test_038_two_sections_of_one_note_are_two_claims(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "All.md": "![[Tour#Food]]\n![[Tour#Rooms]]\n![[Tour#Food]]\n",
            "Tour.md": "# Food\nSoup.\n# Rooms\nUpstairs.\n",
            "top.md": "![[left]] ![[right]]",
            "left.md": "![[All]]",
            "right.md": "![[All]]",
        }
    )
    report = kb.add([folder])
    rows = kb.connection.execute(
        """SELECT json_extract(v.detail, '$.heading'), v.tail FROM kg_evidence v WHERE v.tail = 'Tour' ORDER BY v.id"""
    )
    assert [tuple(row) for row in rows] == [("Food", "Tour"), ("Rooms", "Tour"), ("Food", "Tour")]
    [triple] = kb.connection.execute(
        """SELECT t.evidence FROM kg_triples t JOIN kg_entities e ON e.id = t.tail WHERE e.name = 'Tour'"""
    )
    assert triple[0] == 3
    assert report.warnings == []
    assert kb.check() == []


@pytest.mark.parametrize("separator", ["\n", " ", "\r\n\r\n"])
def test_a_link_leads_to_a_note_that_comes_later_and_goes_again(
    vault: Vault, kb: KnowledgeBase, separator: str
) -> None:
    folder = vault({"i.md": f"[[Later]]{separator}[l](sub/Later.md)"})
    kb.add([folder])
    assert targets(kb) == {"[[Later]]": "→ Later", "[l](sub/Later.md)": "→ Later"}
    before = kb.connection.execute("SELECT id FROM kg_entities WHERE name = 'Later'").fetchone()[0]
    vault({"sub/Later.md": "I am here."})
    kb.add([folder])
    assert targets(kb) == {"[[Later]]": "sub/Later.md", "[l](sub/Later.md)": "sub/Later.md"}
    assert kb.connection.execute("SELECT entity FROM kg_documents WHERE name = 'Later'").fetchone()[0] == before
    (folder / "sub/Later.md").unlink()
    kb.add([folder], Options(prune=True))
    assert targets(kb) == {"[[Later]]": "→ Later", "[l](sub/Later.md)": "→ Later"}
    assert kb.check() == []
