"""The extractor ``link``: what stands in a note explicitly becomes claims, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

from llm_graphrag.facts.claims import Claim
from llm_graphrag.facts.link import Target, claims, target_of, unwritten_name
from llm_graphrag.facts.template import AttributeType, EntityType, Relation, Template, load_template
from llm_graphrag.sources.dialects import DENDRON, LOGSEQ, PLAIN, Dialect
from llm_graphrag.sources.markdown import parse_note
from llm_graphrag.store.schema import NO_SCHEMA

CREW = Template(
    name="crew",
    entity_types=(EntityType("person", aliases=("human",)), EntityType("ship")),
    relations=(
        Relation("sails_on", aliases=("ship",), inverse="crewed_by", is_list=True),
        Relation("captain_of", inverse="captained_by"),
    ),
    attributes=(AttributeType("length"), AttributeType("ports", is_list=True)),
    frontmatter={"kind": "type", "aka": "alias", "label": "tag", "skipper": "captained_by"},
)


def read(text: str, template: Template = NO_SCHEMA, dialect: Dialect = PLAIN) -> list[Claim]:
    note = parse_note(text, dialect, "n.md")
    found = list(claims(note, template))
    for claim in found:
        assert 0 <= claim.start < claim.end <= len(note.text) and claim.origin == "link" and claim.confidence == 1.0
        assert claim.head is None
    return found


def said(text: str, template: Template = NO_SCHEMA, dialect: Dialect = PLAIN) -> list[tuple[str, str, str]]:
    return [(claim.kind, claim.relation, claim.tail) for claim in read(text, template, dialect)]


def test_links_and_embeds() -> None:
    text = "[[Mira]] ![[Map#Coast]] [o](crew/Otto.md) [x](https://x.invalid) ![p](p.png) `[[no]]`"
    assert said(text) == [
        ("triple", "links_to", "Mira"),
        ("triple", "embeds", "Map"),
        ("triple", "links_to", "Otto"),
    ]
    mira, map_, otto = read(text)
    assert mira.detail == {"syntax": "wikilink", "at": [0, 8]} and mira.target == "Mira"
    assert map_.detail["heading"] == "Coast" and map_.detail["written"] == "Map#Coast"
    assert (otto.target, otto.detail["target"], otto.detail["label"]) == ("crew/Otto", "crew/Otto", "o")


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("[[Mira|M.]]", {"label": "M."}),
        ("[[Mira#Early years|M.]]", {"label": "M.", "heading": "Early years", "written": "Mira#Early years|M."}),
        ("[[Mira#^b1]]", {"block": "b1", "written": "Mira#^b1"}),
    ],
)  # fmt: skip
def test_the_parts_of_a_link_are_kept(text: str, detail: dict[str, Any]) -> None:
    [claim] = read(text)
    assert claim.tail == "Mira"
    assert {key: value for key, value in claim.detail.items() if key not in ("syntax", "at")} == detail


def test_block_references_are_no_links_to_notes() -> None:
    assert said("((550e8400-e29b-41d4-a716-446655440000))", dialect=LOGSEQ) == []


def test_very_long_names_are_no_names() -> None:
    assert said(f"[[{'x' * 201}]]") == []
    assert said(f"[[{'x' * 200}]]") == [("triple", "links_to", "x" * 200)]


def test_dendron_puts_the_label_first() -> None:
    [claim] = read("[[the old one|ships.heron]]", dialect=DENDRON)
    assert (claim.tail, claim.detail["label"]) == ("ships.heron", "the old one")


def test_keys_keep_their_names_without_a_schema() -> None:
    text = (
        "---\nHome Port: Oslo, Bergen\ncrew: [[Mira]]\nlist: [a, b]\n---\nBuilt in:: 1912\nmaster:: [[Otto]], [[Pia]]\n"
    )
    assert said(text) == [
        ("attribute", "home_port", "Oslo, Bergen"),
        ("triple", "crew", "Mira"),
        ("attribute", "list", "a"),
        ("attribute", "list", "b"),
        ("attribute", "built_in", "1912"),
        ("triple", "master", "Otto"),
        ("triple", "master", "Pia"),
    ]
    details = [claim.detail for claim in read(text)]
    assert [detail["key"] for detail in details][:2] == ["Home Port", "crew"]
    assert (details[1]["syntax"], details[1]["link"]) == ("frontmatter", "wikilink")


def test_types_tags_aliases_titles_and_tasks() -> None:
    text = "---\ntype: Big Ship\ntags: [old]\naliases: [H., Heron]\n---\n"
    text += "# The Heron\n#wood/oak\n- [x] paint 📅 2026-05-01\n- [ ] \n"
    found = read(text)
    assert sorted((claim.kind, claim.relation, claim.tail) for claim in found) == [
        ("alias", "alias", "H."),
        ("alias", "alias", "Heron"),
        ("alias", "alias", "The Heron"),
        ("attribute", "tagged", "old"),
        ("attribute", "tagged", "wood/oak"),
        ("attribute", "task", "paint 📅 2026-05-01"),
        ("type", "type", "big_ship"),
    ]
    [task] = [claim for claim in found if claim.relation == "task"]
    assert (task.detail["state"], task.detail["due"]) == ("x", "2026-05-01")
    [title] = [claim for claim in found if claim.tail == "The Heron"]
    assert title.detail == {"syntax": "title"}


def test_keys_mean_what_the_template_says() -> None:
    text = (
        "---\nkind: Human\naka: Old M.\nlabel: brave\nship: Heron, Egret\nlength: 1,5 m\nports: Oslo, Bergen\n"
        "skipper: [[Mira]]\ncaptain of: Heron, the old one\ncrewed by: Otto, Pia\n---\n"
    )
    assert said(text, CREW) == [
        ("type", "type", "person"),
        ("alias", "alias", "Old M."),
        ("attribute", "tagged", "brave"),
        ("triple", "sails_on", "Heron"),
        ("triple", "sails_on", "Egret"),
        ("attribute", "length", "1,5 m"),
        ("attribute", "ports", "Oslo"),
        ("attribute", "ports", "Bergen"),
        ("triple", "captain_of", "Mira"),
        ("triple", "captain_of", "Heron, the old one"),
        ("triple", "sails_on", "Otto"),
        ("triple", "sails_on", "Pia"),
    ]
    reverse = {claim.tail for claim in read(text, CREW) if claim.reversed}
    assert reverse == {"Mira", "Otto", "Pia"}


@pytest.mark.parametrize(
    ("key", "target"),
    [
        ("Ship", Target("relation", "sails_on", True)),
        ("sails on", Target("relation", "sails_on", True)),
        ("Skipper", Target("relation", "captain_of", False, True)),
        ("crewed-by", Target("relation", "sails_on", True, True)),
        ("ports", Target("attribute", "ports", True)),
        ("Home Port", Target("attribute", "home_port")),
        ("aka", Target("alias", "alias", True)),
        ("label", Target("tag", "tag", True)),
        ("kind", Target("type", "type")),
        ("!!", None),
        ("年齢", Target("attribute", "年齢")),
    ],
)
def test_where_a_key_leads(key: str, target: Target | None) -> None:
    assert target_of(key, CREW) == target


def test_values_that_are_too_long_for_a_name_are_attributes() -> None:
    long = "many words " * 30
    assert said(f"---\ncaptain of: {long}\n---\n", CREW) == [("attribute", "captain_of", long.strip())]


def test_every_template_reads_author_and_tags() -> None:
    for name in ("general", "research-papers"):
        found = said("---\nauthor: Mira Holt\ntags: [x]\n---\n", load_template(name))
        assert ("attribute", "tagged", "x") in found
        assert any(kind == "triple" and tail == "Mira Holt" for kind, _, tail in found)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[[a/b]]", "a/b"), ("[[./a/b]]", "b"), ("[[../b]]", "b"), ("[x](a/b.md)", "b"), ("[x](a%20b.md)", "a b"),
        ("[[ Mira  Holt ]]", "Mira Holt"), ("[[v1.2]]", "v1.2"),
    ],
)  # fmt: skip
def test_what_an_unwritten_note_is_called(text: str, name: str) -> None:
    [link] = parse_note(text, PLAIN, "n.md").links
    assert unwritten_name(link) == name
