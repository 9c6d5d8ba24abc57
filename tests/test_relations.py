"""Which relations a question asks for, without a model."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from llm_graphrag.facts.template import load_template
from llm_graphrag.graph.metapath_text import Relation, written
from llm_graphrag.graph.relation_words import likeness, question, reading
from llm_graphrag.graph.relations import Guess, guesses
from llm_graphrag.knowledge_base import KnowledgeBase

ROWS = """
Salt Harbour,directed by,Ana Lund
Salt Harbour,written by,Otto Brandt
Salt Harbour,starred actors,Mira Vance
Salt Harbour,starred actors,Pia Holm
Salt Harbour,release year,1987
Salt Harbour,has genre,Drama
The Long Tide,directed by,Ana Lund
The Long Tide,written by,Ana Lund
The Long Tide,starred actors,Mira Vance
The Long Tide,release year,1991
The Long Tide,in language,Norwegian
Ana Lund,place of birth,Bergen
""".strip()


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    (tmp_path / "films.csv").write_text("head,relation,tail\n" + ROWS, encoding="utf-8")
    with KnowledgeBase.open(tmp_path / "films.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.import_graph([tmp_path / "films.csv"])
        yield kb


def entity(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute("SELECT id FROM kg_entities WHERE name = ?", [name]).fetchone()[0])


def best(kb: KnowledgeBase, text: str, name: str, hops: int = 2) -> Guess:
    return guesses(kb.connection, entity(kb.connection, name), text, name, hops=hops)[0]


@pytest.mark.parametrize(("text", "name", "steps"), [
    ("who directed Salt Harbour", "Salt Harbour", ["directed_by"]),
    ("who is the director of Salt Harbour?", "Salt Harbour", ["directed_by"]),
    ("Salt Harbour was written by whom", "Salt Harbour", ["written_by"]),
    ("when did Salt Harbour come out", "Salt Harbour", ["release_year"]),
    ("what kind of film is Salt Harbour", "Salt Harbour", ["has_genre"]),
    ("who acted in Salt Harbour", "Salt Harbour", ["starred_actors"]),
    ("which tongue is spoken in The Long Tide", "The Long Tide", ["in_language"]),
    ("where was Ana Lund born", "Ana Lund", ["place_of_birth"]),
    ("which films did Ana Lund direct", "Ana Lund", ["^directed_by"]),
    ("what did Ana Lund write", "Ana Lund", ["^written_by"]),
    ("who starred in the films directed by Ana Lund", "Ana Lund", ["^directed_by", "starred_actors"]),
    ("when were the movies written by Otto Brandt released", "Otto Brandt", ["^written_by", "release_year"]),
    ("who co-starred with Pia Holm", "Pia Holm", ["^starred_actors", "starred_actors"]),
    ("which films have the same director as Salt Harbour", "Salt Harbour", ["directed_by", "^directed_by"]),
    ("where was the director of Salt Harbour born", "Salt Harbour", ["directed_by", "place_of_birth"]),
])  # fmt: skip
def test_what_is_asked(kb: KnowledgeBase, text: str, name: str, steps: list[str]) -> None:
    guess = best(kb, text, name)
    assert written(guess.metapath) == "/".join(steps)
    assert guess.asked


@pytest.mark.parametrize(("text", "steps"), [
    ("What does Ada like?", ["likes"]),
    ("Who likes Ada?", ["^likes"]),
    ("which people like the Ada", ["^likes"]),
    ("Whom did Ada hire?", ["hired"]),
    ("Who was hired by Ada?", ["hired"]),
    ("who hired Ada", ["^hired"]),
])  # fmt: skip
def test_word_order_tells_the_direction(tmp_path: Path, text: str, steps: list[str]) -> None:
    rows = ["head,relation,tail", "Ada,likes,Ben", "Cleo,likes,Ada", "Ada,hired,Ben", "Cleo,hired,Ada"]
    (tmp_path / "people.csv").write_text("\n".join(rows), "utf-8")
    with KnowledgeBase.open(tmp_path / "people.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.import_graph([tmp_path / "people.csv"])
        assert written(best(kb, text, "Ada").metapath) == "/".join(steps)


def test_only_what_there_is_is_weighed(kb: KnowledgeBase) -> None:
    found = guesses(kb.connection, entity(kb.connection, "Drama"), "who directed Drama", "Drama", hops=1, k=9)
    assert [guess.steps for guess in found] == [(Relation("has_genre", forward=False),)]
    assert not found[0].asked
    assert guesses(kb.connection, entity(kb.connection, "Drama"), "", hops=1)[0].asked is False


def test_an_entity_without_triples_has_no_relations(kb: KnowledgeBase) -> None:
    id_ = kb.connection.execute(
        "INSERT INTO kg_entities(name, type, key, origin) VALUES ('Nobody', '', 'nobody', 'lexical')"
    ).lastrowid
    assert guesses(kb.connection, int(id_ or 0), "who directed Nobody") == []
    with pytest.raises(ValueError, match="hops must be 1 or 2, not 3"):
        guesses(kb.connection, int(id_ or 0), "who", hops=3)


def test_one_hop_is_all_if_so_wished(kb: KnowledgeBase) -> None:
    id_ = entity(kb.connection, "Ana Lund")
    found = guesses(kb.connection, id_, "who starred in the films directed by Ana Lund", "Ana Lund", hops=1, k=50)
    assert {len(guess.steps) for guess in found} == {1}


def test_the_schema_lends_its_words(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        """name = "ships"
[entity_types.ship]
description = "A vessel."
[entity_types.person]
description = "A human being."
[relations.cmd]
description = "A person is the captain of a ship."
domain = ["person"]
range = ["ship"]
[relations.blt]
description = "A person was the shipwright of a ship."
domain = ["person"]
range = ["ship"]
""",
        encoding="utf-8",
    )
    (tmp_path / "t.csv").write_text(
        "head,head_type,relation,tail,tail_type\nOla,person,cmd,Fram,ship\nColin,person,blt,Fram,ship\n",
        encoding="utf-8",
    )
    with KnowledgeBase.open(tmp_path / "ships.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.use_schema(load_template(tmp_path / "s.toml"), "test")
        kb.import_graph([tmp_path / "t.csv"])
        assert best(kb, "who was captain of Fram", "Fram").steps == (Relation("cmd", forward=False),)
        assert best(kb, "who was shipwright of Fram", "Fram").steps == (Relation("blt", forward=False),)


def test_words_are_alike_by_stem_sense_and_meaning() -> None:
    assert likeness("director", ["directed"]) == likeness("cities", ["city"]) == 1.0
    assert likeness("wife", ["spouse"]) == likeness("wrote", ["author"]) == 0.9
    assert 0.3 < likeness("harbour", ["port"]) < 0.9
    assert likeness("tax", ["moon"]) == 0.0


def test_a_question_is_taken_apart() -> None:
    taken = question("Which people co-wrote songs with ANA?", "Ana")
    assert (taken.kind, taken.others) == ("person", True)
    assert question("How many members has Kestrel?", "Kestrel").kind == "number"
    assert question("誰が書いた?").words == ("誰が書いた",)
    assert question("who " * 100_000 + "directed it").words == ()
    assert question("").words == ()


def test_what_stands_at_the_end_is_told_by_names_types_and_samples() -> None:
    assert reading(["released"], [], "", ["1987", "1991-02-03"]).kind == "date"
    assert reading(["votes"], [], "", ["12", "1,300"]).kind == "number"
    assert reading(["made by"], [], "made by", ["Ana"]).kind == "person"
    assert reading(["at"], ["city"], "at", ["Bergen"]).kind == "place"
    assert reading(["has_genre"], [], "has genre", ["Drama"]).kind == ""


def follow(kb: KnowledgeBase, *arguments: str) -> Result:
    from llm.cli import cli

    return CliRunner().invoke(cli, ["graphrag", "follow", *arguments, "-d", str(kb.path)])


def test_the_command_follows_what_a_question_asks_for(kb: KnowledgeBase) -> None:
    done = follow(kb, "Ana Lund", "--question", "Who starred in the films directed by Ana Lund?")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("^directed_by/starred_actors  (else ")
    assert "Mira Vance" in done.output and "films.csv:4" in done.output
    found = json.loads(follow(kb, "Ana Lund", "--question", "what did she direct", "--json").stdout)
    assert (found["metapath"], found["found"]) == ("^directed_by", 2)


def test_a_step_that_no_word_names_is_followed_and_named(kb: KnowledgeBase) -> None:
    asked = ["Ana Lund", "--question", "which actors starred in Ana Lund's movies"]
    done = follow(kb, *asked)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("^directed_by/starred_actors  (else ")
    assert "Mira Vance" in done.stdout
    assert done.stderr == "Not sure of ^directed_by: no word of the question speaks of it.\n"
    assert json.loads(follow(kb, *asked, "--json").stdout)["unsure"] == ["^directed_by"]
    sure = json.loads(follow(kb, "Ana Lund", "--question", "what did she direct", "--json").stdout)
    assert sure["unsure"] == []
    assert "unsure" not in json.loads(follow(kb, "Ana Lund", "^directed_by", "--json").stdout)


def test_a_type_that_is_asked_for_is_enough_to_go_by(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "typed.csv").write_text("head,relation,tail,head_type\nNight Bus,made_by,Ida Roe,movie\n", "utf-8")
    kb.import_graph([tmp_path / "typed.csv"])
    done = follow(kb, "Ida Roe", "--question", "Which movies are there of Ida Roe?")
    assert done.exit_code == 0, done.output
    assert "Ida Roe ←made by— Night Bus" in done.stdout and "Not sure of ^made_by" in done.stderr


PAPERS = {
    "Brandt 2011.md": '---\ncites: ["[[Varga 1998]]"]\n---\nOn mirrors.',
    "Varga 1998.md": "---\nyear: 1998\n---\nOn silver.",
    "Winter meeting.md": '---\nattendees: ["[[Petr Vaněk]]"]\n---\n[[Petr Vaněk]] spoke of the [[Dome]].',
    "Petr Vaněk.md": "---\nborn: 1961-05-02\ntype: person\n---\nA silverer.",
    "Dome.md": "cost:: 18,400 crowns\n\nOf wood.",
}


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("papers")
    for name, text in PAPERS.items():
        (folder / name).write_text(text, encoding="utf-8")
    with KnowledgeBase.open(folder / "kb.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.add([folder])
        yield kb


@pytest.mark.parametrize(("name", "text", "asked", "way"), [
    ("Brandt 2011", "What cites Brandt 2011?", "^cites", "cites"),
    ("Varga 1998", "What does Varga 1998 cite?", "cites", "^cites"),
    ("Varga 1998", "Which papers are cited by Varga 1998?", "cites", "^cites"),
])  # fmt: skip
def test_the_wrong_direction_is_not_followed(papers: KnowledgeBase, name: str, text: str, asked: str, way: str) -> None:
    done = follow(papers, name, "--question", text)
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"The question asks for {asked}, which leads nowhere from {name}. The other way, {way}, does" in done.stderr


@pytest.mark.parametrize(("name", "text", "metapath"), [
    ("Varga 1998", "What cites Varga 1998?", "^cites"),
    ("Brandt 2011", "What does Brandt 2011 cite?", "cites"),
    ("Brandt 2011", "Which papers are cited by Brandt 2011?", "cites"),
    ("Petr Vaněk", "What meetings did Petr Vaněk attend?", "^attendees"),
    ("Winter meeting", "Who attended the Winter meeting?", "attendees"),
])  # fmt: skip
def test_the_direction_that_is_there_is_followed(papers: KnowledgeBase, name: str, text: str, metapath: str) -> None:
    done = json.loads(follow(papers, name, "--question", text, "--json").stdout)
    assert (done["metapath"], done["unsure"]) == (metapath, [])


def test_a_relation_of_both_ways_is_followed_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("head,relation,tail\nAda,married,Ben\n", "utf-8")
    with KnowledgeBase.open(tmp_path / "people.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.import_graph([tmp_path / "people.csv"])
        assert best(kb, "Who married Ada?", "Ada").against
        with kb.connection:
            kb.connection.execute("UPDATE kg_types SET inverse = 'married' WHERE name = 'married'")
        assert not best(kb, "Who married Ada?", "Ada").against


@pytest.mark.parametrize(("name", "text", "attribute", "value", "place"), [
    ("Petr Vaněk", "When was Petr Vaněk born?", "born", "1961-05-02", "Petr Vaněk.md:2"),
    ("Dome", "How much did the dome cost?", "cost", "18,400 crowns", "Dome.md:1"),
])  # fmt: skip
def test_a_value_that_is_asked_for_is_shown(
    papers: KnowledgeBase, name: str, text: str, attribute: str, value: str, place: str
) -> None:
    done = follow(papers, name, "--question", text)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[:2] == [f"{attribute}:", f"  {value}"]
    assert f"{place})" in done.stdout
    found = json.loads(follow(papers, name, "--question", text, "--json").stdout)
    assert (found["attribute"], found["found"], found["values"][0]["name"]) == (attribute, 1, value)


def test_the_command_does_not_guess_wildly(kb: KnowledgeBase) -> None:
    done = follow(kb, "Drama", "--question", "How tall is Drama?")
    assert done.exit_code == 1
    assert "speaks of no relation that Drama has. From there lead: ^has_genre" in done.output
    for wrong in ([], ["directed_by", "--question", "who"]):
        done = follow(kb, "Drama", *wrong)
        assert done.exit_code == 2
        assert "Give a METAPATH, such as directed_by/born_in, or a --question, and not both." in done.output
