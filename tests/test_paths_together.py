"""Paths over sentences that name two things, where no facts connect them."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from conftest import Run, Vault

from llm_graphrag.graph import sections, together
from llm_graphrag.graph.frontier import Limits
from llm_graphrag.graph.named import meant
from llm_graphrag.graph.together import paths_together
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes.snippets import piece_naming

NOTES = {
    "Bestiary.md": "# Bestiary\n\nThe Red Worg hunts beside the Grey Goblin.\n\n"
    "The Grey Goblin fears the Blue Troll.\n\n## Stone Ogre\n\nIt eats with the Black Orc.\n",
    "Blue Troll.md": "It lives under the Old Bridge. Nobody likes it.",
    "Old Bridge.md": "A bridge.",
    "Far Island.md": "Nothing of the kind.",
}


@pytest.fixture
def notes(kb: KnowledgeBase, vault: Vault) -> KnowledgeBase:
    kb.add([vault(NOTES)])
    return kb


def found(kb: KnowledgeBase, a: str, b: str, **options: object) -> list[tuple[list[str], list[str]]]:
    """(names, quotes) of the paths."""
    ends = meant(kb.connection, a).id, meant(kb.connection, b).id
    paths = paths_together(kb.connection, *ends, **options).paths  # type: ignore[arg-type]
    return [([n.name for n in p.nodes], [h.evidence.quote for h in p.hops if h.evidence]) for p in paths]


def test_a_sentence_that_names_both_is_a_hop(notes: KnowledgeBase) -> None:
    assert found(notes, "Red Worg", "Grey Goblin", k=1) == [
        (["Red Worg", "Grey Goblin"], ["The Red Worg hunts beside the Grey Goblin."])
    ]


def test_the_note_about_one_may_name_the_other(notes: KnowledgeBase) -> None:
    assert found(notes, "Old Bridge", "Blue Troll", k=1) == [
        (["Old Bridge", "Blue Troll"], ["It lives under the Old Bridge."])
    ]


def test_a_heading_says_what_the_passage_is_about(notes: KnowledgeBase) -> None:
    assert found(notes, "Black Orc", "Stone Ogre", k=1) == [
        (["Black Orc", "Stone Ogre"], ["It eats with the Black Orc."])
    ]


ZOO = {
    "zoo.md": "# Zoo\n\n## Lions\n\nSimba Smith roars.\n\n### Food\n\nAnt Brown cooks.\n\n"
    "## Penguins\n\nPingu Jones swims.\n"
}


def directly(kb: KnowledgeBase, a: str, b: str) -> list[str]:
    """The quotes of the hop between two, which is the same from either end."""
    there, back = found(kb, a, b, max_hops=1), found(kb, b, a, max_hops=1)
    assert [quotes for _, quotes in there] == [quotes for _, quotes in back]
    return [quote for _, quotes in there for quote in quotes]


def test_a_heading_is_over_what_stands_under_it_alone(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault(ZOO)])
    assert kb.connection.execute("SELECT count(*) FROM kg_chunks").fetchone()[0] == 1
    assert directly(kb, "Pingu Jones", "Penguins") == ["Pingu Jones swims."]
    assert directly(kb, "Pingu Jones", "Lions") == []
    assert directly(kb, "Simba Smith", "Lions") == ["Simba Smith roars."]
    assert directly(kb, "Simba Smith", "Penguins") == []
    assert directly(kb, "Ant Brown", "Lions") == ["Ant Brown cooks."]


def test_a_tag_at_the_beginning_of_a_line_is_no_heading(kb: KnowledgeBase, vault: Vault) -> None:
    lion = {"Lions.md": "Big cats."}
    kb.add([vault(lion | {"tag.md": "## Penguins\n\n#Lions are for another day.\n\nPingu Jones swims.\n"})])
    assert directly(kb, "Pingu Jones", "Lions") == []
    assert directly(kb, "Pingu Jones", "Penguins") == ["Pingu Jones swims."]


def listed(passages: int) -> str:
    """A list of spells that goes over about so many passages; the last is Fire Ball."""
    lines = [
        f"- the spell of the number {n} has a page of its own, and more words that only fill a line" for n in range(9)
    ]
    return "".join(f"### Level {n}\n\n" + "\n".join(lines) + "\n\n" for n in range(passages)) + "- [[Fire Ball]]\n"


def test_a_heading_reaches_the_later_passages_of_its_section(kb: KnowledgeBase, vault: Vault) -> None:
    text = f"# Lists\n\n## [[Wizard]] Spells\n\n{listed(4)}\n## [[Cleric]] Spells\n\n- [[Holy Light]]\n"
    kb.add([vault({"lists.md": text, "Wizard.md": "Reads.", "Cleric.md": "Prays."})])
    sql = "SELECT c.seq FROM kg_mentions m JOIN kg_chunks c ON c.id = m.chunk WHERE m.key = 'fire ball'"
    assert kb.connection.execute(sql).fetchone()[0] >= 3
    assert directly(kb, "Fire Ball", "Wizard") == ["- [[Fire Ball]]"]
    assert directly(kb, "Holy Light", "Cleric") == ["- [[Holy Light]]"]
    assert directly(kb, "Holy Light", "Wizard") == directly(kb, "Fire Ball", "Cleric") == []


def test_a_section_as_long_as_a_book_is_about_nothing(kb: KnowledgeBase, vault: Vault) -> None:
    text = f"## [[Wizard]] Spells\n\n- [[Magic Hand]]\n\n{listed(20)}\n## [[Cleric]] Spells\n\n- [[Holy Light]]\n"
    kb.add([vault({"lists.md": text, "Wizard.md": "Reads.", "Cleric.md": "Prays."})])
    assert kb.connection.execute("SELECT count(*) FROM kg_chunks").fetchone()[0] > 15
    assert directly(kb, "Magic Hand", "Wizard") == directly(kb, "Fire Ball", "Wizard") == []
    assert directly(kb, "Holy Light", "Cleric") == ["- [[Holy Light]]"]


def test_two_hops_are_the_most(notes: KnowledgeBase) -> None:
    (path, *_) = found(notes, "Grey Goblin", "Old Bridge")
    assert path == (
        ["Grey Goblin", "Blue Troll", "Old Bridge"],
        ["The Grey Goblin fears the Blue Troll.", "It lives under the Old Bridge."],
    )
    assert all(len(names) <= 3 for names, _ in found(notes, "Red Worg", "Blue Troll", max_hops=9))
    assert found(notes, "Far Island", "Old Bridge") == []
    assert found(notes, "Old Bridge", "Old Bridge") == [(["Old Bridge"], [])]


def test_where_it_stands(notes: KnowledgeBase) -> None:
    ends = meant(notes.connection, "Grey Goblin").id, meant(notes.connection, "Blue Troll").id
    (hop,) = paths_together(notes.connection, *ends).paths[0].hops
    assert hop.evidence is not None
    assert (hop.evidence.uri, hop.evidence.line) == ("vault/Bestiary.md", 5)
    assert (hop.by.triple, hop.by.relation, hop.by.statements) == (0, "named_with", 1)


def test_documents_narrow(notes: KnowledgeBase) -> None:
    ids = dict(notes.connection.execute("SELECT name, id FROM kg_documents").fetchall())
    assert found(notes, "Red Worg", "Grey Goblin", documents=[ids["Bestiary"]], k=1) != []
    assert found(notes, "Red Worg", "Grey Goblin", documents=[ids["Blue Troll"]]) == []


def test_lists_and_what_stands_everywhere_join_nothing(kb: KnowledgeBase, vault: Vault) -> None:
    def listed(names: Iterable[str]) -> str:
        return "We saw " + ", ".join(f"[[{name}]]" for name in names) + "."

    everywhere = {f"day {n}.md": f"Today [[Weather]] and [[Guest {n}]] came." for n in range(60)}
    kb.add([vault({"list.md": listed(f"Item {n}" for n in range(30))} | everywhere)])
    assert found(kb, "Item 1", "Item 2") == []
    assert [names for names, _ in found(kb, "Guest 1", "Guest 2")] == []
    assert [names for names, _ in found(kb, "Weather", "Guest 2", k=1)] == [["Weather", "Guest 2"]]


def test_time_is_a_bound(notes: KnowledgeBase) -> None:
    ends = meant(notes.connection, "Red Worg").id, meant(notes.connection, "Blue Troll").id
    cut = paths_together(notes.connection, *ends, limits=Limits(seconds=-1))
    assert (cut.paths, cut.truncated) == ((), True)


def test_statements_read_no_whole_table(notes: KnowledgeBase) -> None:
    values = {"chunks": "[1]", "nodes": "[1]", "places": "[[1, 1]]", "long": sections.LONG}
    for sql in (
        together.PASSAGE,
        together.MENTIONS,
        together.COUNTS,
        together.OWN,
        sections.SUBJECTS,
        sections.UNDER,
    ):
        rows = notes.connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)
        steps = [row[3] for row in rows]
        assert [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step] == [], steps


def test_the_command_takes_sentences_only_where_facts_fail(run: Run, vault: Vault) -> None:
    run("add", vault(NOTES | {"Green Elf.md": "Knows [[Far Island]], and so does [[Red Worg]]."}))
    none = run("path", "Red Worg", "Blue Troll").output
    assert none == (
        "No path, however long: no facts lead from one to the other. "
        "--mentions looks over sentences that name two things.\n"
    )
    output = run("path", "Red Worg", "Blue Troll", "--mentions", "-k", "1").output
    assert output.startswith(" 1. Red Worg —named with→ Grey Goblin —named with→ Blue Troll\n")
    facts = run("path", "Red Worg", "Far Island", "--mentions").output
    assert "named with" not in facts
    (hop, _) = json.loads(run("path", "Red Worg", "Blue Troll", "--mentions", "--json").output)["paths"][0]["hops"]
    assert hop["triple"] is None
    assert run("path", "Red Worg", "Blue Troll", "--mentions", "--via", "Far Island", exit_code=2).output


def test_the_heading_is_shown_where_it_names_what_the_sentence_does_not(run: Run, vault: Vault) -> None:
    run("add", vault(ZOO | {"Old Bridge.md": "The Grey Heron sits on it. The Grey Heron knows the Blue Troll."}))
    output = run("path", "Pingu Jones", "Penguins", "--mentions").output
    assert "  Pingu Jones swims.  (vault/zoo.md:13, under Zoo > Penguins)\n" in output
    (hop,) = json.loads(run("path", "Pingu Jones", "Penguins", "--mentions", "--json").output)["paths"][0]["hops"]
    assert hop["evidence"]["heading"] == "Zoo > Penguins"
    for other in ("Blue Troll", "Old Bridge"):
        output = run("path", "Grey Heron", other, "--mentions", "-k", "1").output
        assert output.startswith(f" 1. Grey Heron —named with→ {other}\n") and "under" not in output


def test_of_a_long_sentence_the_piece_is_shown_that_names_them(run: Run, vault: Vault) -> None:
    much = ", ".join(f"a thing numbered {n}" for n in range(40))
    run("add", vault({"Night Heron.md": f"It eats {much}, a *mudskipper*, {much}.", "Mudskipper.md": "A fish."}))
    output = run("path", "Night Heron", "Mudskipper", "--mentions").output
    assert output.startswith(" 1. Night Heron —named with→ Mudskipper\n    —named with→  … ")
    assert "a *mudskipper*, a thing numbered 0" in output
    assert len(output) < 500


@pytest.mark.parametrize(
    ("names", "starts", "has"),
    [
        (["Fireball", "Ray of Frost"], "a *ray of frost*, thing 0,", ["thing 59, *fireball*, thing 0", " … "]),
        (["Lich", "Fireball"], "… ", ["thing 59, *fireball*, thing 0"]),
        (["nobody"], "a *ray of frost*, thing 0,", []),
        (["Fireball", "Fireball"], "… ", ["*fireball*"]),
    ],
)
def test_the_pieces_of_a_long_sentence_name_what_they_can(names: list[str], starts: str, has: list[str]) -> None:
    much = ", ".join(f"thing {n}" for n in range(60))
    piece = piece_naming(f"a *ray of frost*, {much}, *fireball*, {much}", names)
    assert piece.startswith(starts)
    assert all(part in piece for part in has)
    assert 80 < len(piece) < 280
    assert piece.endswith(" …")
