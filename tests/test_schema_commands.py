"""``llm graphrag schema``: change it by hand, see each version, go back, take it out and put it in again."""

# ruff: noqa: F811 - fixtures are imported, and are parameters
from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, Vault
from hypothesis import given, settings
from hypothesis import strategies as st
from proposals_model import SCHEMA, extract, model_facts, open_kb, outside, say
from scripted_model import llm_user, scripted  # noqa: F401 - fixtures

from llm_graphrag.facts.template import EntityType, Template, TemplateError, list_templates, load_template
from llm_graphrag.facts.template_file import to_toml
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review import schema as review
from llm_graphrag.store import schema

LATER = "Links and properties of notes follow at the next: llm graphrag add FOLDER\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.toml"
    path.write_text(SCHEMA, encoding="utf-8")
    return path


@pytest.fixture
def kb(run: Run, tmp_path: Path, vault: Vault, scripted: Any) -> Iterator[KnowledgeBase]:
    """A model has read three notes: two say ``mentors`` though the schema has no such relation."""
    scripted(say)
    with open_kb(tmp_path, "user/graphrag.db") as opened:
        notes = {"a.md": "Mira mentors! Otto.", "b.md": "Otto mentors! Pia.", "c.md": "Pia knows Dan. Pia age 9."}
        opened.add([vault(notes)])
        extract(opened)
        yield opened


# -- add, remove, rename, revert ---------------------------------------------------------------


def test_add_reads_replies_again_and_says_who_had_asked(run: Run, kb: KnowledgeBase) -> None:
    assert run(
        "schema", "add", "relation", "mentors", "--description", "Is a guide to.", "--domain", "person", "--range",
        "person", "--alias", "guides", "--inverse", "mentored by", "--note", "why not", "--actor", "ana",
    ).stdout == (
        "added: mentors\n"
        "The schema is now version 2.\n"
        "2 kept replies of models read again, free: 2 facts more.\n"
        f"{LATER}"
        "Models had asked for it in 2 windows. To ask there once more: llm graphrag proposals approve 1\n"
    )  # fmt: skip
    assert {("Mira", "mentors", "Otto"), ("Otto", "mentors", "Pia")} <= model_facts(kb)
    row = schema.versions(kb.connection)[0]
    assert (row["version"], row["actor"], row["note"]) == (2, "ana", "why not")
    item = kb.schema.resolve_inverse("mentored_by")
    assert item is not None
    assert (item.name, item.description, item.domain, item.range, item.aliases) == (
        "mentors", "Is a guide to.", ("person",), ("person",), ("guides",),
    )  # fmt: skip


def test_add_of_each_kind(run: Run, kb: KnowledgeBase) -> None:
    run("schema", "add", "entity_type", "boat", "--alias", "ship", "--alias", "vessel")
    run(
        "schema",
        "add",
        "attribute",
        "shoe size",
        "--kind",
        "number",
        "--domain",
        "person",
        "--domain",
        "boat",
        "--list",
    )
    run("schema", "add", "relation", "married_to", "--symmetric")
    assert to_toml(kb.schema).splitlines()[3:] == [
        "",
        "[entity_types]",
        'person = "A human being."',
        'place = "A town."',
        'boat = { description = "", aliases = ["ship", "vessel"] }',
        "",
        "[relations]",
        'knows = { description = "They have met.", aliases = ["has met"] }',
        'lives_in = { description = "Where somebody lives.", '
        'domain = ["person"], range = ["place"], inverse = "home_of" }',
        'married_to = { description = "", symmetric = true }',
        "",
        "[attributes]",
        'age = { description = "In years.", kind = "number" }',
        'shoe_size = { description = "", domain = ["person", "boat"], kind = "number", list = true }',
        "",
        "[frontmatter]",
        'type = "type"',
        'friend = "knows"',
    ]
    notes = [row["note"] for row in schema.versions(kb.connection)]
    assert notes == ["added relation married_to", "added attribute shoe size", "added entity type boat", ""]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "relation", "Knows"), "Error: The schema has this relation already: knows.\n"),
        (("add", "entity_type", "boat", "--range", "person"), "Error: An entity type has no range.\n"),
        (
            ("add", "relation", "sails", "--domain", "boat"),
            "Error: The schema: [relations]: sails: domain names 'boat'",
        ),
        (("add", "relation", "x" * 10_000), "is no usable name. Use 1 to 80 printable letters or digits."),
        (("remove", "attribute", "weight"), "Error: The schema has no attribute 'weight'. It has: age.\n"),
        (("rename", "relation", "knows", "lives in"), "Error: The schema has this relation already: lives_in.\n"),
        (("revert", "9"), "Error: There is no version 9 of the schema. There are: 1 to 1.\n"),
        (("diff", "7"), "Error: There is no version 7 of the schema."),
        (("export", "--version", "2"), "Error: There is no version 2 of the schema."),
        (("diff", "nothing.toml"), "Error: No template and no file named 'nothing.toml'."),
    ],
)
def test_mistakes_are_said_and_change_nothing(run: Run, kb: KnowledgeBase, arguments: Any, message: str) -> None:
    assert message in run("schema", *arguments, exit_code=1).stderr
    assert schema.version(kb.connection) == 1


def test_remove_drops_rename_keeps_and_revert_brings_back(run: Run, kb: KnowledgeBase) -> None:
    run("schema", "add", "relation", "mentors")
    before = model_facts(kb)
    assert run("schema", "rename", "relation", "mentors", "coaches").stdout == (
        "added: coaches\nretired: mentors\nThe schema is now version 3.\n"
        f"2 kept replies of models read again, free: as many facts as before.\n{LATER}"
    )
    assert ("Mira", "coaches", "Otto") in model_facts(kb)
    assert run("schema", "remove", "relation", "coaches").stdout == (
        "retired: coaches\nThe schema is now version 4.\n"
        f"2 kept replies of models read again, free: 2 facts fewer.\n{LATER}"
    )
    assert model_facts(kb) == {("Pia", "knows", "Dan"), ("Pia", "age", "9")}
    assert run("schema", "revert", "2").stdout == (
        "added: mentors\nVersion 2 is in force again, as version 5.\n"
        f"2 kept replies of models read again, free: 2 facts more.\n{LATER}"
    )
    assert (model_facts(kb), outside(kb), kb.check()) == (before, 0, [])
    assert run("schema", "revert", "5").stdout == "Nothing changes: the schema is so already (version 5).\n"
    assert json.loads(run("schema", "remove", "attribute", "age", "--json").stdout) == {
        "version": 6, "facts": -1, "added": [], "retired": [["attribute", "age"]], "changed": [],
        "frontmatter": False, "about": False,
    }  # fmt: skip


def test_use_reads_replies_again(run: Run, kb: KnowledgeBase, people: Path) -> None:
    result = run("schema", "use", "recipes").stdout
    assert "The schema is now recipes, version 2.\n" in result and "read again, free: 2 facts fewer.\n" in result
    assert (model_facts(kb), outside(kb)) == (set(), 0)
    done = json.loads(run("schema", "use", people, "--json").stdout)
    assert (done["template"], done["version"], done["facts"]) == ("people", 3, 2)


def test_add_to_a_file_without_a_schema(run: Run) -> None:
    run("init")
    assert "[entity_types]: is empty." in run("schema", "add", "relation", "knows", exit_code=1).stderr
    run("schema", "add", "entity_type", "boat")
    out = run("schema", "show").stdout
    assert out.startswith('name = "own"\ntitle = ""\ndescription = ""\n\n[entity_types]\nboat = ""\n')
    assert 'tag = "tag"' in out
    assert run("schema", "log").stdout.splitlines()[1:] == ["      added: boat"]


def test_what_notes_say_follows_when_they_are_next_added(run: Run, kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"d.md": "---\nfriend: Dan\n---\n"})
    kb.add([folder])
    run("schema", "rename", "relation", "knows", "is_friend_of")
    kb.add([folder])
    facts = kb.connection.execute("SELECT head, relation, tail FROM kg_facts WHERE head = 'd'").fetchall()
    assert [tuple(row) for row in facts] == [("d", "is_friend_of", "Dan")]


# -- log, diff, export ----------------------------------------------------------------------


def test_log_says_when_who_why_and_what(run: Run, kb: KnowledgeBase) -> None:
    run("schema", "add", "relation", "mentors", "--actor", "ana", "--note", "line\nbreak")
    run("schema", "remove", "relation", "knows", "--actor", "ben")
    lines = run("schema", "log").stdout.splitlines()
    assert [line.split("  ")[-2:] if line[3] != " " else line.strip() for line in lines] == [
        ["ben", "people: removed relation knows"], "retired: knows", "changed: what keys of notes mean",
        ["ana", "people: line\\nbreak"], "added: mentors",
        ["test", "people"], "added: age, person, place, knows, lives_in", "changed: what keys of notes mean",
    ]  # fmt: skip
    rows = json.loads(run("schema", "log", "--json", "--limit", "1").stdout)
    assert [(row["version"], row["diff"]["retired"]) for row in rows] == [(3, [["relation", "knows"]])]


def test_diff_of_versions(run: Run, kb: KnowledgeBase) -> None:
    run("schema", "add", "relation", "mentors", "--description", "Is a guide to.")
    run("schema", "add", "entity_type", "boat")
    last = run("schema", "diff").stdout
    assert last == (
        "--- schema.toml\tversion 2\n+++ schema.toml\tversion 3\n@@ -5,6 +5,7 @@\n [entity_types]\n"
        ' person = "A human being."\n place = "A town."\n+boat = ""\n \n [relations]\n'
        ' knows = { description = "They have met.", aliases = ["has met"] }\n'
    )
    assert run("schema", "diff", "2").stdout == run("schema", "diff", "2", "current").stdout == last
    both = run("schema", "diff", "1", "3").stdout
    assert '+boat = ""' in both and '+mentors = "Is a guide to."' in both
    assert '-boat = ""' in run("schema", "diff", "3", "1").stdout
    result = run("schema", "diff", "3", "current")
    assert (result.stdout, result.stderr) == ("", "version 3 and version 3 do not differ.\n")
    first = run("schema", "diff", "0", "1").stdout
    assert first.startswith("--- schema.toml\tversion 0\n+++ schema.toml\tversion 1\n@@ -0,0 +1,")
    assert json.loads(run("schema", "diff", "--json").stdout) == {
        "from": "version 2", "to": "version 3", "diff": last,
    }  # fmt: skip


def test_diff_with_templates_and_files(run: Run, kb: KnowledgeBase, people: Path) -> None:
    assert run("schema", "diff", "current", people).stdout == ""
    out = run("schema", "diff", "current", "contacts").stdout
    assert out.startswith("--- schema.toml\tversion 1\n+++ schema.toml\ttemplate contacts\n")
    run("schema", "remove", "relation", "knows")
    assert '-friend = "knows"' in run("schema", "diff", people).stdout
    assert '+friend = "knows"' in run("schema", "diff", "current", people).stdout


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch here")
def test_a_diff_brings_an_exported_file_up_to_date(run: Run, kb: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "schema.toml"
    file.write_text(run("schema", "export").stdout, encoding="utf-8")
    run("schema", "add", "relation", "mentors")
    run("schema", "add", "entity_type", "boat", "--alias", "ship")
    run("schema", "remove", "attribute", "age")
    diff = run("schema", "diff", file).stdout
    assert diff.startswith(f"--- {file}\ttemplate {file}\n+++ {file}\tversion 4\n")
    subprocess.run(["patch", "-s", str(file)], input=diff, text=True, check=True, cwd=tmp_path)
    assert file.read_text("utf-8") == run("schema", "export").stdout
    assert run("schema", "use", file).stdout == "people is the schema already.\n"


@pytest.mark.parametrize("template", list_templates(), ids=lambda template: template.name)
@pytest.mark.parametrize("form", ["toml", "json"])
def test_what_is_exported_and_used_changes_nothing(run: Run, tmp_path: Path, template: Template, form: str) -> None:
    run("schema", "use", template.name)
    file = tmp_path / f"another name.{form}"
    file.write_text(run("schema", "export", "--format", form).stdout, encoding="utf-8")
    assert load_template(file) == template
    assert run("schema", "use", file).stdout == f"{template.name} is the schema already.\n"
    assert json.loads(run("status", "--json").stdout)["schema_version"] == 1


def test_each_version_can_be_exported(run: Run, kb: KnowledgeBase) -> None:
    exports = [run("schema", "export").stdout]
    for arguments in (("add", "relation", "mentors"), ("rename", "entity_type", "person", "human"), ("revert", "1")):
        run("schema", *arguments)
        exports.append(run("schema", "export").stdout)
    assert [run("schema", "export", "--version", n).stdout for n in (1, 2, 3, 4)] == exports
    assert exports[0] == exports[3] == to_toml(kb.schema)
    assert len(set(exports)) == 3


def test_without_a_schema_there_is_nothing_to_export(run: Run) -> None:
    run("init")
    for command in ("export", "diff"):
        assert "Error: No schema yet." in run("schema", command, exit_code=1).stderr
    assert run("schema", "log").stdout.startswith("No schema yet.")


# -- versions -------------------------------------------------------------------------------


def forget_wholes(kb: KnowledgeBase) -> None:
    """Make the versions look like those of an early file, which kept the names alone."""
    for row in schema.versions(kb.connection):
        diff = json.loads(row["diff"])
        diff.pop("toml")
        diff.pop("about")
        kb.connection.execute(
            "UPDATE kg_schema_versions SET diff = ? WHERE version = ?", [json.dumps(diff), row["version"]]
        )


def test_versions_of_an_early_file_are_rebuilt_as_far_as_they_can_be(run: Run, kb: KnowledgeBase) -> None:
    whole = [to_toml(kb.schema)]
    for arguments in (
        ("add", "relation", "mentors", "--domain", "person"), ("add", "entity_type", "boat"),
        ("remove", "relation", "mentors"), ("rename", "entity_type", "place", "town"),
    ):  # fmt: skip
        run("schema", *arguments)
        whole.append(to_toml(kb.schema))
    forget_wholes(kb)
    names = [sorted(line.split(" = ")[0] for line in text.splitlines()) for text in whole]
    for number in (1, 2, 3, 4, 5):
        result = run("schema", "export", "--version", number)
        assert sorted(line.split(" = ")[0] for line in result.stdout.splitlines()) == names[number - 1]
        assert f"Version {number} was not kept whole: its title and description are not known.\n" in result.stderr
        assert ("have changed since and are shown as they are today: lives_in" in result.stderr) == (number < 5)
    assert kb.schema.resolve_type("town") is not None
    result = run("schema", "revert", "2")
    assert "Version 2 was not kept whole" in result.stderr
    assert kb.schema.resolve_relation("mentors") is not None and kb.schema.resolve_type("town") is None
    assert run("schema", "export", "--version", "6").stderr == ""


def test_the_schema_of_an_early_file_is_in_force_and_is_kept_whole_from_the_next_change_on(
    run: Run, kb: KnowledgeBase
) -> None:
    before = kb.schema
    forget_wholes(kb)
    early = kb.schema
    assert (early.title, early.entity_types, early.relations, early.attributes, early.frontmatter) == (
        "", before.entity_types, before.relations, before.attributes, before.frontmatter,
    )  # fmt: skip
    run("schema", "add", "entity_type", "boat")
    assert schema.at(kb.connection, 2) == schema.Version(2, kb.schema)


def test_what_keys_meant_is_a_doubt_if_it_changed_later(run: Run, kb: KnowledgeBase) -> None:
    run("schema", "remove", "relation", "knows")
    forget_wholes(kb)
    doubts = schema.at(kb.connection, 1).doubts
    assert doubts[-1] == "What keys of notes meant has changed since and is shown as it is today."


def test_only_title_or_order_changed(run: Run, kb: KnowledgeBase, people: Path) -> None:
    people.write_text(SCHEMA.replace("Who knows whom.", "Who is who."), encoding="utf-8")
    assert run("schema", "use", people).stdout == (
        f"changed: name, title, description or order\nThe schema is now people, version 2.\n{LATER}"
    )
    place = 'place = "A town."\n'
    people.write_text(
        people.read_text("utf-8").replace(place, "").replace("[entity_types]\n", f"[entity_types]\n{place}"), "utf-8"
    )
    done = json.loads(run("schema", "use", people, "--json").stdout)
    assert (done["version"], done["about"], done["changed"]) == (3, True, [])
    assert [item.name for item in kb.schema.entity_types] == ["place", "person"]


def test_a_schema_that_no_file_could_say_is_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(TemplateError, match=r"The schema: \[entity_types\]: is empty"):
        review.use(kb.connection, kb.settings, Template("t"), "ana")
    done = review.use(kb.connection, kb.settings, Template("", entity_types=(EntityType("a"),)), "ana")
    assert (kb.schema.name, done.version) == ("own", 2)


WORDS = st.sampled_from(["person", "Place ", "boat!", "Ana's", "関係", "a b", "x" * 80])


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "rename", "revert"]), WORDS, WORDS), max_size=8))
@settings(max_examples=25, deadline=None)
def test_every_version_comes_back_exactly(steps: list[tuple[str, str, str]]) -> None:
    from llm_graphrag.facts import schema_edit

    with KnowledgeBase.in_memory() as kb:
        kb.use_schema(Template("t", "T", "D", entity_types=(EntityType("person"), EntityType("place"))), "test")
        kept = [kb.schema]
        for name, one, other in steps:
            changes = {
                "add": lambda t, one=one: schema_edit.add(t, "entity_type", one),
                "remove": lambda t, one=one: schema_edit.remove(t, "entity_type", one),
                "rename": lambda t, one=one, other=other: schema_edit.rename(t, "entity_type", one, other),
                "revert": lambda t, one=one: schema.at(kb.connection, len(one) % len(kept) + 1).template,
            }
            try:
                done = review.edit(kb.connection, kb.settings, changes[name], "ana")
            except TemplateError:
                continue
            if done.any:
                kept.append(kb.schema)
        assert [schema.at(kb.connection, n).template for n in range(1, len(kept) + 1)] == kept
        assert schema.version(kb.connection) == len(kept)
