"""The schema as rows: versions with their diffs, and what notes become under it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Run, Vault
from rows import dump, entities, evidence, facts

from llm_graphrag.facts.template import AttributeType, EntityType, Relation, Template, list_templates, load_template
from llm_graphrag.facts.template_file import to_toml
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.store import schema

SMALL = Template(
    name="small",
    entity_types=(EntityType("person", "A human being.", ("human",)), EntityType("firm", "A company.")),
    relations=(
        Relation(
            "works_at", "Has a job there.", ("employer",), ("person",), ("firm",), inverse="employs", is_list=True
        ),
        Relation("knows", "Has met.", (), ("person",), ("person",), symmetric=True),
    ),
    attributes=(AttributeType("age", "Years.", ("old",), ("person",), "number"),),
    frontmatter={"job": "works_at", "is": "type", "staff": "employs"},
)


def test_a_fresh_file_has_no_schema(kb: KnowledgeBase) -> None:
    assert (schema.version(kb.connection), schema.versions(kb.connection)) == (0, [])
    assert kb.schema is schema.NO_SCHEMA
    assert kb.schema.frontmatter_target("Author") is None


@pytest.mark.parametrize("template", [SMALL, *list_templates()], ids=lambda template: template.name)
def test_a_template_comes_back_as_it_was_stored(kb: KnowledgeBase, template: Template) -> None:
    kb.use_schema(template, "test")
    assert kb.schema == template


def test_using_it_again_is_no_new_version(kb: KnowledgeBase) -> None:
    first = kb.use_schema(SMALL, "Ana", "why not")
    assert first == {
        "added": [
            ["attribute", "age"], ["entity_type", "firm"], ["entity_type", "person"],
            ["relation", "knows"], ["relation", "works_at"],
        ],
        "retired": [], "changed": [], "frontmatter": True, "about": False,
    }  # fmt: skip
    before = dump(kb.connection)
    assert not any(kb.use_schema(SMALL, "Ben").values())
    assert dump(kb.connection) == before
    [row] = schema.versions(kb.connection)
    assert (row["version"], row["template"], row["actor"], row["note"]) == (1, "small", "Ana", "why not")
    assert json.loads(row["diff"]) == {**first, "toml": to_toml(SMALL)}


def test_a_version_says_what_came_went_and_changed(kb: KnowledgeBase) -> None:
    kb.use_schema(SMALL, "Ana")
    ids = dict(kb.connection.execute("SELECT name, id FROM kg_types").fetchall())
    second = replace(
        SMALL,
        entity_types=(SMALL.entity_types[0], EntityType("ship", "A vessel.")),
        relations=(replace(SMALL.relations[0], range=("ship",)), SMALL.relations[1]),
        attributes=(replace(SMALL.attributes[0], kind="text"),),
    )
    assert kb.use_schema(second, "Ben") == {
        "added": [["entity_type", "ship"]],
        "retired": [["entity_type", "firm"]],
        "changed": [["attribute", "age"], ["relation", "works_at"]],
        "frontmatter": False,
        "about": False,
    }
    assert [row["version"] for row in schema.versions(kb.connection)] == [2, 1]
    rows = {row["name"]: row for row in kb.connection.execute("SELECT * FROM kg_types")}
    assert (rows["firm"]["retired_in"], rows["ship"]["added_in"], rows["person"]["added_in"]) == (2, 2, 1)
    kb.use_schema(SMALL, "Ana")
    rows = {row["name"]: row for row in kb.connection.execute("SELECT * FROM kg_types")}
    assert (rows["firm"]["retired_in"], rows["ship"]["retired_in"]) == (None, 3)
    assert {name: rows[name]["id"] for name in ids} == ids
    assert kb.schema.resolve_type("firm") is not None and kb.schema.resolve_type("ship") is None


def test_only_the_mapping_of_keys_changed(kb: KnowledgeBase) -> None:
    kb.use_schema(SMALL, "Ana")
    diff = kb.use_schema(replace(SMALL, frontmatter={}), "Ana")
    assert diff == {"added": [], "retired": [], "changed": [], "frontmatter": True, "about": False}
    assert schema.version(kb.connection) == 2 and kb.schema.frontmatter == {}


# -- what notes become ---------------------------------------------------------------------


def test_keys_are_mapped_split_and_reversed(kb: KnowledgeBase, vault: Vault) -> None:
    kb.use_schema(SMALL, "test")
    kb.add(
        [
            vault(
                {
                    "Mira.md": "---\nis: Human\njob: Kestrel Works, Otto Brandt\nold: 40\nshoe size: 38\n---\n"
                    "employer:: [[Plover]]\n",
                    "Kestrel Works.md": "---\nis: firm\nstaff: [[Pia]]\n---\n",
                    "x.md": "knows:: Otto, Pia\n",
                }
            )
        ]
    )
    assert facts(kb) == {
        ("Mira", "works_at", "Kestrel Works"),
        ("Mira", "works_at", "Otto Brandt"),
        ("Mira", "works_at", "Plover"),
        ("Mira", "age", "40"),
        ("Mira", "shoe_size", "38"),
        ("Pia", "works_at", "Kestrel Works"),
        ("x", "knows", "Otto, Pia"),
    }
    assert {("Mira", "person"), ("Kestrel Works", "firm")} <= set(entities(kb))
    assert kb.check() == []


def test_author_is_a_relation_and_lead_is_reversed_under_general(kb: KnowledgeBase, vault: Vault) -> None:
    kb.use_schema(load_template("general"), "test")
    kb.add(
        [
            vault(
                {
                    "Essay.md": "---\ntype: paper\nauthor: Mira Holt, Otto Brandt\npublished: 2024-05-01\n---\n",
                    "Project Plover.md": "---\ntype: project\nlead: [[Mira Holt]]\n---\nuses:: [[Loom]]\n",
                    "Otto Brandt.md": "---\ntype: author\nemployer: [[Kestrel Works]]\n---\n",
                }
            )
        ]
    )
    assert facts(kb) == {
        ("Essay", "authored_by", "Mira Holt"),
        ("Essay", "authored_by", "Otto Brandt"),
        ("Essay", "date", "2024-05-01"),
        ("Mira Holt", "leads", "Project Plover"),
        ("Project Plover", "uses", "Loom"),
        ("Otto Brandt", "works_at", "Kestrel Works"),
    }
    assert set(entities(kb)) == {
        ("Essay", "work"), ("Project Plover", "project"), ("Otto Brandt", "person"), ("Mira Holt", ""), ("Loom", ""),
        ("Kestrel Works", ""),
    }  # fmt: skip
    # A claim keeps the direction in which it was written; the fact is read the other way.
    [row] = kb.connection.execute("SELECT head, relation, tail, reversed FROM kg_evidence WHERE relation = 'leads'")
    assert tuple(row) == ("Project Plover", "leads", "Mira Holt", 1)
    assert ("Project Plover.md", 3, "triple", "Project Plover", "leads", "Mira Holt") in evidence(kb)
    assert kb.check() == []


def test_another_schema_reads_the_notes_again(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "---\nauthor: Mira Holt\n---\n", "b.md": "no fields"})
    kb.add([folder])
    assert facts(kb) == {("a", "author", "Mira Holt")}
    kb.use_schema(load_template("general"), "test")
    assert kb.add([folder]).changed == 2
    assert facts(kb) == {("a", "authored_by", "Mira Holt")}
    versions = {row[0] for row in kb.connection.execute("SELECT schema_version FROM kg_evidence")}
    assert versions == {1}
    assert kb.add([folder]).unchanged == 2
    assert kb.check() == []


@pytest.mark.parametrize(
    ("written", "type_"),
    [("person", "person"), ("People", "person"), ("[[Person]]", "person"), ("Ship type", "ship_type"), ("!?", "")],
)
def test_types_are_the_schemas_or_the_word_itself(kb: KnowledgeBase, vault: Vault, written: str, type_: str) -> None:
    kb.use_schema(load_template("general"), "test")
    kb.add([vault({"n.md": f'---\ntype: "{written}"\n---\n'})])
    assert [type_] == [row[0] for row in kb.connection.execute("SELECT entity_type FROM kg_documents")]
    assert ("n", type_) in entities(kb)
    assert kb.check() == []


def test_a_type_that_changes_moves_the_entity(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"n.md": "---\ntype: person\n---\n", "o.md": "[[n]] and n"})
    kb.add([folder])
    before = kb.connection.execute("SELECT entity FROM kg_documents WHERE path = 'n.md'").fetchone()[0]
    vault({"n.md": "---\ntype: place\n---\n"})
    kb.add([folder])
    assert entities(kb) == [("n", "place"), ("o", "")]
    assert kb.connection.execute("SELECT entity FROM kg_documents WHERE path = 'n.md'").fetchone()[0] == before
    vault({"n.md": "no type any more"})
    kb.add([folder])
    assert entities(kb) == [("n", ""), ("o", "")]
    assert kb.check() == []


# -- the commands ----------------------------------------------------------------------------------


def test_the_commands(run: Run, vault: Vault, tmp_path: Path) -> None:
    assert "general" in run("schema", "list").stdout.splitlines()[0]
    assert json.loads(run("schema", "list", "--json").stdout)[0]["name"] == "general"
    run("init")
    assert run("schema", "show").stdout.startswith("No schema yet")
    result = run("schema", "use", "contacts", "--actor", "Ana")
    assert "The schema is now contacts, version 1." in result.stdout and "added: " in result.stdout
    assert run("schema", "use", "contacts").stdout == "contacts is the schema already.\n"
    shown = tmp_path / "shown.toml"
    shown.write_text(run("schema", "show").stdout, "utf-8")
    assert load_template(shown) == load_template("contacts")
    assert run("schema", "use", shown).stdout == "contacts is the schema already.\n"
    result = json.loads(run("schema", "use", "recipes", "--json").stdout)
    assert result["template"] == "recipes" and result["retired"]
    assert "No template and no file named 'nothing'" in run("schema", "use", "nothing", exit_code=1).stderr
    assert json.loads(run("status", "--json").stdout)["schema_version"] == 2
