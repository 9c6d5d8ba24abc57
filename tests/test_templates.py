"""Templates: what is shipped is sound, what is wrong is refused with place and fix, and the forms round-trip."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.facts.template import (
    FRONTMATTER_WORDS,
    AttributeType,
    EntityType,
    Relation,
    Template,
    TemplateError,
    folded,
    list_templates,
    load_template,
)
from llm_graphrag.facts.template_file import MAX_TYPES, read_template, to_three_lists, to_toml
from llm_graphrag.text.normalise import fold_identifier

SHIPPED = [
    "general",
    "clinical",
    "contacts",
    "encyclopedia",
    "engineering-notes",
    "meetings",
    "recipes",
    "research-papers",
]

# A sentence as it stands in somebody's notes, one triple that it states (with the types of its ends)
# and one attribute.
EXAMPLES = {
    "general": (
        "Nadia Brook has worked for the Tide Office since 3 May 2019.",
        (("Nadia Brook", "person"), "works for", ("Tide Office", "organization")),
        (("Nadia Brook", "person"), "since", "3 May 2019"),
    ),
    "clinical": (
        "Scurvy causes bleeding gums and is treated with ascorbic acid, 300 mg a day.",
        (("ascorbic acid", "drug"), "treats", ("Scurvy", "disease")),
        (("ascorbic acid", "drug"), "dosage", "300 mg a day"),
    ),
    "contacts": (
        "Ravi (born 12 August 1988) reports to Helga at the ferry company.",
        (("Ravi", "person"), "Reports to", ("Helga", "person")),
        (("Ravi", "person"), "born", "12 August 1988"),
    ),
    "encyclopedia": (
        "Ilse Brandt directed the film Low Tide, released in 1931.",
        (("Ilse Brandt", "person"), "directed", ("Low Tide", "work")),
        (("Low Tide", "work"), "released", "1931"),
    ),
    "engineering-notes": (
        "Pump P3 is part of the cooling loop and weighs 41 kg.",
        (("Pump P3", "component"), "belongs to", ("cooling loop", "system")),
        (("Pump P3", "component"), "weight", "41 kg"),
    ),
    "meetings": (
        "Amara will order the bricks by 14 June.",
        (("order the bricks", "action"), "assignee", ("Amara", "person")),
        (("order the bricks", "action"), "due", "14 June"),
    ),
    "recipes": (
        "The rye loaf contains caraway and bakes for 50 minutes.",
        (("rye loaf", "dish"), "contains", ("caraway", "ingredient")),
        (("rye loaf", "dish"), "baking time", "50 minutes"),
    ),
    "research-papers": (
        "Okoye's 2017 paper on moss clocks extends the paper by Lind.",
        (("moss clocks", "paper"), "extends", ("Lind", "paper")),
        (("moss clocks", "paper"), "year", "2017"),
    ),
}


def test_shipped_templates_general_first() -> None:
    assert [template.name for template in list_templates()] == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_lists_are_small_and_described(name: str) -> None:
    template = load_template(name)
    assert template.title
    assert template.description
    assert 0 < len(template.entity_types) <= 20
    assert 0 < len(template.relations) <= (35 if name == "encyclopedia" else 20)
    assert 0 < len(template.attributes) <= 20
    for item in (*template.entity_types, *template.relations, *template.attributes):
        assert item.description.endswith("."), item.name
        assert item.name == fold_identifier(item.name)


def test_encyclopedia_has_the_types_of_the_recorded_readings() -> None:
    """The readings that benchmarks replay were made under exactly these types."""
    template = load_template("encyclopedia")
    assert [item.name for item in template.entity_types] == (
        "person organization place event work group award product concept".split()
    )
    assert [item.name for item in template.relations] == (
        """child_of spouse_of sibling_of relative_of student_of born_in died_in buried_in lives_in citizen_of member_of
        works_for educated_at founded leads directed wrote produced acted_in performed composed created published_by
        based_on about part_of located_in country_of_origin capital_of participated_in occurred_in preceded_by won
        owned_by related_to""".split()
    )
    assert [item.name for item in template.attributes] == (
        """birth_date death_date start_date end_date release_date nationality occupation title genre language population
        area cause_of_death description""".split()
    )
    ends = {r.name: (r.domain, r.range) for r in template.relations}
    assert ends["member_of"] == (("person",), ("organization", "group"))
    assert ends["founded"] == (("person", "organization", "group"), ("organization", "work", "group"))
    assert ends["leads"] == (("person",), ("organization", "place", "group"))
    assert ends["performed"] == (("person", "group"), ("work",))
    assert ends["part_of"] == ends["related_to"] == ends["preceded_by"] == ((), ())


@pytest.mark.parametrize("name", SHIPPED)
def test_example_sentence_is_valid_under_the_template(name: str) -> None:
    template = load_template(name)
    sentence, (head, relation_key, tail), (entity, attribute_key, value) = EXAMPLES[name]
    for written in (head[0], tail[0], entity[0], value):
        assert written in sentence
    relation = template.resolve_relation(relation_key)
    assert relation is not None
    for (_, type_name), allowed in ((head, relation.domain), (tail, relation.range)):
        entity_type = template.resolve_type(type_name)
        assert entity_type is not None
        assert not allowed or entity_type.name in allowed
    attribute = template.resolve_attribute(attribute_key)
    assert attribute is not None
    assert template.resolve_type(entity[1]) is not None
    assert not attribute.domain or entity[1] in attribute.domain


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_templates_round_trip(name: str) -> None:
    template = load_template(name)
    assert read_template(to_toml(template), f"{name}.toml") == template


@pytest.mark.parametrize(
    ("key", "target"),
    [
        ("author", "authored_by"),
        ("Authors", "authored_by"),
        ("employer", "works_at"),
        ("type", "type"),
        ("Category", "type"),
        ("aliases", "alias"),
        ("tags", "tag"),
        ("url", "url"),
        ("source", "source"),
        ("date", "date"),
        ("Date created", "created"),
        ("updated", "updated"),
        ("rating", "rating"),
        ("status", "status"),
        ("city", "located_in"),
        ("people", "related_to"),
        ("attendees", "attended_by"),
        ("project", "part_of"),
        ("related", "related_to"),
        ("up", "part_of"),
        ("parent", "part_of"),
        ("children", "has_part"),
        ("prev", "follows"),
        ("cites", "cites"),
        ("cssclass", None),
    ],
)
def test_general_knows_the_keys_that_notes_use(key: str, target: str | None) -> None:
    assert load_template("general").frontmatter_target(key) == target


def test_names_are_found_folded_by_alias_and_by_inverse() -> None:
    template = load_template("contacts")
    reports = template.resolve_relation("Reports to")
    assert reports is not None
    assert reports.name == "reports_to"
    assert template.resolve_relation("boss") is reports
    assert template.resolve_relation("manages") is None
    assert template.resolve_inverse("Manages") is reports
    assert template.resolve_relation("no such thing") is None
    person = template.resolve_type("Colleague")
    assert person is not None
    assert person.name == "person"


HEAD = '[entity_types]\nperson = "A human being."\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[entity_types", "t.toml: not valid TOML"),
        ("[relations]\nknows = ''", "t.toml: [entity_types]: is empty"),
        ("colour = 'red'\n" + HEAD, "t.toml: unknown key 'colour'"),
        ("title = 3\n" + HEAD, "t.toml: title: expected a string, not 3"),
        (HEAD + "relations = 1", "t.toml: [entity_types]: relations: expected a description or a table, not 1"),
        (HEAD + "[relations]\nknows = { domian = 'person' }", "t.toml: [relations]: knows: unknown key 'domian'"),
        (
            HEAD + "[relations]\nknows = { domain = 'persn' }",
            "t.toml: [relations]: knows: domain names 'persn', which is not in [entity_types]: person",
        ),
        (HEAD + "[relations]\nknows = { symmetric = 'yes' }", "[relations]: knows.symmetric: expected true or false"),
        (HEAD + "[relations]\nknows = { symmetric = true, inverse = 'x' }", "symmetric and inverse exclude each other"),
        (HEAD + "[relations]\nknows = { inverse = 'Knows' }", "must be another name than the relation's own"),
        (HEAD + "[relations]\nknows = { domain = 'person', symmetric = true }", "needs the same domain and range"),
        (HEAD + "[attributes]\nage = { kind = 'integer' }", "kind = 'integer' is unknown. Use one of text, date"),
        (HEAD + "[attributes]\nage = { aliases = [1] }", "[attributes]: age.aliases: expected a string or a list"),
        (
            HEAD + "[relations]\nreports_to = ''\n'Reports to' = ''",
            "[relations]: Reports to: 'Reports to' and 'reports_to' both read as 'reports_to'. Rename or remove one.",
        ),
        (
            HEAD + "[attributes]\nborn = ''\nbirthday = { aliases = ['Born'] }",
            "[attributes]: birthday: 'Born' and 'born' both read as 'born'",
        ),
        (HEAD + "[attributes]\n'!!' = ''", "'!!' is no usable name"),
        (HEAD + "[attributes]\n'a\tb' = ''", "is no usable name"),
        (HEAD + "[attributes]\nage = 'two\\nlines'", ""),
        (HEAD + '[attributes]\nage = "two\\nlines"', "the description must be one line"),
        (HEAD + "[frontmatter]\njob = 'works_at'", "[frontmatter]: job: 'works_at' is no relation or attribute here"),
        (HEAD + "[frontmatter]\nKind = 'type'\nkind = 'type'", "[frontmatter]: kind: another key also reads as 'kind'"),
    ],
)
def test_mistakes_are_refused_with_place_and_fix(text: str, message: str) -> None:
    if not message:
        assert read_template(text, "t.toml").attributes[0].description == "two\\nlines"
        return
    with pytest.raises(TemplateError) as caught:
        read_template(text, "t.toml")
    assert message in str(caught.value)


def test_too_many_types_are_refused() -> None:
    rows = "\n".join(f'a{i} = ""' for i in range(MAX_TYPES + 1))
    with pytest.raises(TemplateError, match=rf"\[attributes\]: {MAX_TYPES + 1} types, at most {MAX_TYPES}"):
        read_template(HEAD + "[attributes]\n" + rows, "t.toml")


def test_three_lists() -> None:
    text = '{"Nodes": ["person", "place"], "Relations": ["lives in"], "Attributes": ["age"]}'
    template = read_template(text, "mine.json")
    assert template.name == "mine"
    assert template.entity_types == (EntityType("person"), EntityType("place"))
    assert template.relations == (Relation("lives in"),)
    assert template.attributes == (AttributeType("age"),)
    assert json.loads(to_three_lists(template)) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1", "mine.json: not valid JSON"),
        ("[]", "mine.json: expected exactly"),
        ('{"Nodes": []}', "mine.json: expected exactly"),
        ('{"Nodes": [1], "Relations": [], "Attributes": []}', "mine.json: Nodes: expected a list of names"),
        ('{"Nodes": ["a", "a"], "Relations": [], "Attributes": []}', "mine.json: Nodes: 'a' stands there twice"),
    ],
)
def test_bad_three_lists_are_refused(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        read_template(text, "mine.json")
    assert message in str(caught.value)


def test_load_by_path_reads_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(b"\xef\xbb\xbf" + HEAD.encode())
    assert load_template(path).name == "own"
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(TemplateError, match="not UTF-8 at byte 8"):
        load_template(path)


def test_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(TemplateError, match=r"'recipe'\. Did you mean 'recipes'\? Shipped templates: clinical, "):
        load_template("recipe")


def test_every_toml_in_the_folder_is_shipped() -> None:
    files = {entry.name for entry in resources.files("llm_graphrag.templates").iterdir()}
    assert {name for name in files if name.endswith(".toml")} == {f"{name}.toml" for name in SHIPPED}


WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=8).filter(folded)
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30)


@given(names=st.lists(WORDS, min_size=2, max_size=5, unique_by=folded), line=LINES, flags=st.booleans())
def test_any_template_survives_toml(names: list[str], line: str, flags: bool) -> None:
    first, second, *rest = names
    template = Template(
        name=line,
        title=line,
        description=line,
        entity_types=(EntityType(first, line, tuple(rest)), EntityType(second)),
        relations=(Relation(first, line, (), (first,), (first,), symmetric=flags, is_list=flags),),
        attributes=(AttributeType(second, line, domain=(second,), kind="date", is_list=flags),),
        frontmatter={fold_identifier(second): FRONTMATTER_WORDS[0]},
    )
    assert read_template(to_toml(template), "any.toml") == template
