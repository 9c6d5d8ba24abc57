"""Changes to a schema as pure rules: what each changes, what it refuses, and which words mean something else then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.facts import schema_edit
from llm_graphrag.facts.schema_edit import changed_words, squeezed
from llm_graphrag.facts.template import AttributeType, EntityType, Relation, Template, TemplateError, list_templates
from llm_graphrag.facts.template_file import read_template, to_json, to_toml

SMALL = Template(
    name="small",
    title="Small",
    description="Of people.",
    entity_types=(EntityType("person", "A human being.", ("human",)), EntityType("firm", "A company.")),
    relations=(
        Relation("works_at", "Has a job there.", ("employer",), ("person",), ("firm",), inverse="employs"),
        Relation("knows", "Has met.", (), ("person",), ("person",), symmetric=True),
    ),
    attributes=(
        AttributeType("age", "Years.", ("old",), ("person",), "number"), AttributeType("knows", "A skill."),
    ),
    frontmatter={"job": "works_at", "is": "type", "staff": "employs", "friend": "knows", "years": "age"},
)  # fmt: skip


def test_add_puts_a_type_at_the_end() -> None:
    made = schema_edit.add(
        SMALL, "relation", "Is Married-to", " To be\n a couple. ", domain=("human",), range=("person",), symmetric=True
    )
    assert made.relations[-1] == Relation(
        "is_married_to", "To be a couple.", (), ("person",), ("person",), symmetric=True
    )
    assert replace(made, relations=SMALL.relations) == SMALL
    assert schema_edit.add(SMALL, "attribute", "web site", kind="url", is_list=True).attributes[-1] == AttributeType(
        "web_site", kind="url", is_list=True
    )
    assert schema_edit.add(SMALL, "entity_type", "ship", aliases=("boat",)).resolve_type("boat") == EntityType(
        "ship", "", ("boat",)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: schema_edit.add(t, "relation", "Works At"), "The schema has this relation already: works_at."),
        (lambda t: schema_edit.add(t, "relation", "Employer"), "The schema has this relation already: works_at."),
        (lambda t: schema_edit.add(t, "relation", "Employs"), "'Employs' is how works_at reads from tail to head"),
        (lambda t: schema_edit.add(t, "entity_type", "x", domain=("firm",)), "An entity type has no domain."),
        (lambda t: schema_edit.add(t, "relation", "x", kind="url"), "A relation has no kind."),
        (lambda t: schema_edit.add(t, "entity_type", "x", is_list=True), "An entity type has no list."),
        (lambda t: schema_edit.add(t, "relation", "x", domain=("ship",)), "The schema: [relations]: x: domain names"),
        (lambda t: schema_edit.add(t, "entity_type", "!!"), "'!!' is no usable name."),
        (lambda t: schema_edit.add(t, "entity_type", ""), "'' is no usable name."),
        (lambda t: schema_edit.add(t, "entity_type", "x" * 81), "is no usable name. Use 1 to 80"),
        (lambda t: schema_edit.add(t, "type", "x"), "'type' is no kind of type. Use one of entity_type, relation"),
        (lambda t: schema_edit.remove(t, "relation", "sails"), "no relation 'sails'. It has: works_at, knows."),
        (lambda t: schema_edit.rename(t, "relation", "knows", "works at"), "has this relation already: works_at."),
        (lambda t: schema_edit.rename(t, "relation", "knows", "--"), "'--' is no usable name"),
        (lambda t: schema_edit.rename(t, "relation", "works_at", "employs"), "another name than the relation's own"),
        (
            lambda t: schema_edit.rename(t, "entity_type", "ship", "boat"),
            "no entity type 'ship'. It has: person, firm.",
        ),
        (lambda t: schema_edit.add_alias(t, "relation", "knows", "employer"), "'employer' means works_at already."),
        (lambda t: schema_edit.add_alias(t, "relation", "knows", "x" * 99), "is no usable name"),
        (
            lambda t: schema_edit.remove(schema_edit.remove(t, "entity_type", "firm"), "entity_type", "person"),
            "is empty",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(change: Callable[[Template], Template], message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        change(SMALL)
    assert message in str(caught.value)


def test_remove_frees_what_refers_to_the_type() -> None:
    made = schema_edit.remove(SMALL, "entity_type", "human")
    assert [item.name for item in made.entity_types] == ["firm"]
    assert [(r.name, r.domain, r.range) for r in made.relations] == [("works_at", (), ("firm",)), ("knows", (), ())]
    assert made.attributes[0].domain == ()
    assert made.frontmatter == SMALL.frontmatter
    made = schema_edit.remove(SMALL, "relation", "works_at")
    assert made.frontmatter == {"is": "type", "friend": "knows", "years": "age"}


def test_a_key_of_notes_stays_while_something_of_its_name_does() -> None:
    made = schema_edit.remove(SMALL, "relation", "knows")
    assert made.frontmatter["friend"] == "knows"  # the attribute now
    assert "friend" not in schema_edit.remove(made, "attribute", "knows").frontmatter
    assert schema_edit.remove(SMALL, "attribute", "knows").frontmatter == SMALL.frontmatter
    tagged = replace(SMALL, attributes=(*SMALL.attributes, AttributeType("tag")), frontmatter={"label": "tag"})
    assert schema_edit.remove(tagged, "attribute", "tag").frontmatter == {"label": "tag"}


def test_rename_keeps_the_old_name_as_an_alias_and_all_that_refers_to_it() -> None:
    made = schema_edit.rename(SMALL, "entity_type", "human", "Somebody")
    assert made.entity_types[0] == EntityType("somebody", "A human being.", ("human", "person"))
    assert made.relations[0].domain == ("somebody",)
    assert made.attributes[0].domain == ("somebody",)
    made = schema_edit.rename(SMALL, "relation", "works_at", "employer")  # one of its aliases
    assert (made.relations[0].name, made.relations[0].aliases) == ("employer", ("works_at",))
    assert made.frontmatter["job"] == "employer"
    assert made.frontmatter["staff"] == "employs"
    assert schema_edit.rename(SMALL, "relation", "works_at", "Works-At") is SMALL
    back = schema_edit.rename(made, "relation", "employer", "works_at")
    assert replace(back.relations[0], aliases=()) == replace(SMALL.relations[0], aliases=())
    assert back.relations[0].aliases == ("employer",)


def test_rename_of_one_of_two_with_a_name_moves_the_keys_that_mean_it() -> None:
    assert schema_edit.rename(SMALL, "relation", "knows", "has_met").frontmatter["friend"] == "has_met"
    assert schema_edit.rename(SMALL, "attribute", "knows", "skill").frontmatter["friend"] == "knows"
    alone = schema_edit.remove(SMALL, "relation", "knows")
    assert schema_edit.rename(alone, "attribute", "knows", "skill").frontmatter["friend"] == "skill"


def test_aliases_come_and_go() -> None:
    made = schema_edit.add_alias(SMALL, "relation", "Employer", "job at")
    assert made.relations[0].aliases == ("employer", "job at")
    assert schema_edit.has_alias(made, "relation", "works_at", "JOB_AT")
    assert not schema_edit.has_alias(made, "relation", "works_at", "works_at")
    assert not schema_edit.has_alias(made, "relation", "sails", "job at")
    assert schema_edit.remove_alias(made, "relation", "works_at", "Job-at") == SMALL
    assert schema_edit.remove_alias(SMALL, "relation", "works_at", "no such") == SMALL


@pytest.mark.parametrize("template", [SMALL, *list_templates()], ids=lambda template: template.name)
def test_adding_and_removing_each_type_changes_nothing(template: Template) -> None:
    assert read_template(to_json(template), "any.json") == template
    for kind, table in schema_edit.KINDS.items():
        made = schema_edit.add(template, kind, "brand new", "What it is.")
        assert schema_edit.remove(made, kind, "brand new") == template
        for item in getattr(template, table):
            renamed = schema_edit.rename(template, kind, item.name, "brand new")
            found = schema_edit.find(renamed, kind, item.name)
            assert found is not None and found.name == "brand_new"
            assert read_template(to_toml(renamed), "any.toml") == renamed


def test_json_of_the_whole_is_checked_like_toml() -> None:
    with pytest.raises(TemplateError, match=r"x\.json: \[relations\]: a: unknown key 'domian'"):
        read_template('{"entity_types": {"p": ""}, "relations": {"a": {"domian": "p"}}}', "x.json")
    with pytest.raises(TemplateError, match=r"x\.json: unknown key 'Nodes'"):
        read_template('{"entity_types": {"p": ""}, "Nodes": []}', "x.json")


# -- which words mean something else -------------------------------------------------------


def test_the_words_are_names_aliases_and_inverses_of_what_is_not_the_same() -> None:
    assert changed_words(SMALL, SMALL) == frozenset()
    assert changed_words(SMALL, replace(SMALL, title="", frontmatter={})) == frozenset()
    assert changed_words(SMALL, schema_edit.remove(SMALL, "relation", "works_at")) == {"worksat", "employer", "employs"}
    assert changed_words(SMALL, schema_edit.add_alias(SMALL, "attribute", "age", "Jahre alt")) == {
        "age", "old", "jahrealt",
    }  # fmt: skip
    firm = schema_edit.remove(SMALL, "entity_type", "firm")
    assert changed_words(SMALL, firm) == {"firm", "worksat", "employer", "employs"}  # for its range is another


SPELLINGS = [
    "works_at", "Works at", "works-at", "WORKS  AT", "worksAt", "WorksAt", "ｗｏｒｋｓ＿ａｔ", "works\u200bat",
    "w\\u006frks_at", "works\\nat", "\\uff57orks at",
]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_of_a_name_is_found_in_a_reply(spelling: str) -> None:
    assert "worksat" in squeezed(f'{{"relation": "{spelling}"}}')


@given(st.text(max_size=30))
def test_a_name_that_reads_as_a_type_is_found_wherever_it_is_written(name: str) -> None:
    import json

    from llm_graphrag.facts.llm.types import Bound, identifier

    key = identifier(name)
    if key is None or not squeezed(key):
        return
    bound = Bound(replace(SMALL, relations=(Relation(key),)), "suggest")
    assert bound.relation(name) is not None
    for escaped in (True, False):
        assert squeezed(key) in squeezed(json.dumps({"relation": name}, ensure_ascii=escaped))
