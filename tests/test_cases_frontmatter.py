"""Metadata that broke other tools, from the file to the claims with their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run, Vault
from rows import evidence, facts, holds

from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase

# -- 015: two blocks ------------------------------------------------------------------

TWO_BLOCKS = """---
slug: kettles
title: Kettles
---

---
name: Mending kettles
summary: How Mira mends kettles
title: Kettle mending
tags: [craft]
---

Body.
"""


def test_015_both_blocks_are_read_and_the_second_wins(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault({"note.md": TWO_BLOCKS})
    report = kb.add([folder])
    assert [(remark.path, remark.line, remark.message) for remark in report.warnings] == [
        ("note.md", 6, "second metadata block at line 6"),
        ("note.md", 9, "metadata key 'title' at line 9 replaces an earlier one"),
    ]
    found = {(row[1], row[4], row[5]) for row in evidence(kb)}
    assert {
        (2, "slug", "kettles"),
        (7, "name", "Mending kettles"),
        (8, "summary", "How Mira mends kettles"),
        (9, "title", "Kettle mending"),
        (10, "tagged", "craft"),
    } <= found
    assert ("note", "title", "Kettles") not in facts(kb)
    assert [hit.uri for hit in kb.search("How does Mira mend kettles?")] == ["vault/note.md"]
    assert (folder / "note.md").read_text("utf-8") == TWO_BLOCKS
    assert kb.check() == []


# -- 017: a block that is never closed ----------------------------------------------


def test_017_only_the_note_itself_is_affected(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "bad.md": "---\ntags:\n- one\n- two\n--\n\nBody with [[Mira]].\n",
            "good.md": "---\ntags: [fine]\n---\nGood [[Otto]].\n",
            "only.md": "---\n",
            "rule.md": "---\n\nA rule stands above.\n\n---\n",
        }
    )
    report = kb.add([folder])
    assert (report.new, report.skipped) == (4, [])
    assert evidence(kb) == [
        ("bad.md", 7, "triple", "bad", "links_to", "Mira"),
        ("good.md", 2, "attribute", "good", "tagged", "fine"),
        ("good.md", 4, "triple", "good", "links_to", "Otto"),
    ]
    texts = dict(
        kb.connection.execute("SELECT d.path, c.text FROM kg_chunks c JOIN kg_documents d ON d.id = c.document")
    )
    assert texts["bad.md"].endswith("Body with [[Mira]].\n") and texts["bad.md"].startswith("---\ntags:")
    assert "A rule stands above." in texts["rule.md"]
    assert ("bad.md", 1) in [(remark.path, remark.line) for remark in report.warnings]
    assert kb.check() == []


# -- 021: links that YAML takes for lists ------------------------------------------------

LINKS = """---
subject: [[Tides, currents, and waves]]
head: [[Mira]]
quoted: "[[Mira]]"
crew: ["[[Otto]]", "[[Pia|P.]]", [[Quentin]]]
several: [[Otto]], [[Pia]]
---
Body
"""


def test_021_a_link_in_metadata_is_one_fact_with_its_line(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({"n.md": LINKS})])
    assert evidence(kb) == [
        ("n.md", 2, "triple", "n", "subject", "Tides, currents, and waves"),
        ("n.md", 3, "triple", "n", "head", "Mira"),
        ("n.md", 4, "triple", "n", "quoted", "Mira"),
        ("n.md", 5, "triple", "n", "crew", "Otto"),
        ("n.md", 5, "triple", "n", "crew", "Pia"),
        ("n.md", 5, "triple", "n", "crew", "Quentin"),
        ("n.md", 6, "triple", "n", "several", "Otto"),
        ("n.md", 6, "triple", "n", "several", "Pia"),
    ]
    quotes = dict(kb.connection.execute("SELECT relation, quote FROM kg_evidence WHERE kind = 'triple'"))
    assert quotes["head"] == "head: [[Mira]]" and quotes["quoted"] == 'quoted: "[[Mira]]"'
    assert kb.check() == []


# -- 022: lists in one string --------------------------------------------------------------

FILM = """---
title: Rain, Later
actor: Mira Holt, Otto Brandt, Pia Quist
filmed in: Oslo, Norway
visitors: 4,321
starring:
  - Holt, Mira
---
"""

ACTORS = """
name = "films"
[entity_types]
film = "A film."
person = "A human being."
[relations]
acted_by = { description = "Who plays in a film.", aliases = ["actor"], list = true }
filmed_in = "Where a film was made."
[attributes]
visitors = { description = "How many saw it.", kind = "number" }
"""


def values(kb: KnowledgeBase, relation: str) -> list[str]:
    rows = kb.connection.execute("SELECT tail FROM kg_evidence WHERE relation = ? ORDER BY id", [relation])
    return [row[0] for row in rows]


def test_022_nothing_is_split_without_a_schema_that_says_so(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({"film.md": FILM})])
    assert facts(kb) == {
        ("film", "title", "Rain, Later"),
        ("film", "actor", "Mira Holt, Otto Brandt, Pia Quist"),
        ("film", "filmed_in", "Oslo, Norway"),
        ("film", "visitors", "4,321"),
        ("film", "starring", "Holt, Mira"),
    }


@pytest.fixture
def films(tmp_path: Path) -> Path:
    path = tmp_path / "films.toml"
    path.write_text(ACTORS, "utf-8")
    return path


def test_022_only_keys_that_the_schema_marks_as_lists_are_split(vault: Vault, kb: KnowledgeBase, films: Path) -> None:
    kb.use_schema(load_template(films), "test")
    kb.add([vault({"film.md": FILM})])
    assert facts(kb) == {
        ("film", "title", "Rain, Later"),
        ("film", "acted_by", "Mira Holt"),
        ("film", "acted_by", "Otto Brandt"),
        ("film", "acted_by", "Pia Quist"),
        ("film", "filmed_in", "Oslo, Norway"),
        ("film", "visitors", "4,321"),
        ("film", "starring", "Holt, Mira"),
    }
    spans = kb.connection.execute(
        "SELECT tail, quote, start, end FROM kg_evidence WHERE relation = 'acted_by' ORDER BY id"
    ).fetchall()
    assert [row["tail"] for row in spans] == ["Mira Holt", "Otto Brandt", "Pia Quist"]
    assert {row["quote"] for row in spans} == {"actor: Mira Holt, Otto Brandt, Pia Quist"}
    assert kb.check() == []


def test_022_choosing_the_schema_later_splits_at_the_next_add(vault: Vault, kb: KnowledgeBase, films: Path) -> None:
    folder = vault({"film.md": FILM})
    kb.add([folder])
    kb.use_schema(load_template(films), "test")
    assert kb.add([folder]).changed == 1
    assert values(kb, "acted_by") == ["Mira Holt", "Otto Brandt", "Pia Quist"]
    assert values(kb, "actor") == []
    assert kb.check() == []


def test_022_the_preview_shows_what_would_be_split(vault: Vault, run: Run, films: Path) -> None:
    folder = vault({"film.md": FILM, "other.md": "---\nactor: Mira Holt\n---\n"})
    run("schema", "use", films)
    result = run("add", folder, "--dry-run", "-v")
    assert "splits   film.md:3: actor: Mira Holt | Otto Brandt | Pia Quist" in result.stdout
    assert result.stdout.count("splits") == 1
    planned = json.loads(run("add", folder, "--dry-run", "--json").stdout)
    assert planned["splits"] == [
        {"path": "film.md", "line": 3, "key": "actor", "values": ["Mira Holt", "Otto Brandt", "Pia Quist"]}
    ]
    assert "splits" not in run("add", folder, "--dry-run").stdout
    with KnowledgeBase.open(json.loads(run("status", "--json").stdout)["database"]) as kb:
        assert holds(kb, "Otto Brandt") == []
