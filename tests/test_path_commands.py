"""The commands path and follow, the same from Python, and how paths are put into words."""

from __future__ import annotations

import json
import pathlib

import pytest
from conftest import Run, Vault
from graph_files import graph
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_graphrag.graph import metapath, verbalize
from llm_graphrag.graph.frontier import Frontier
from llm_graphrag.graph.hops import Hop, Joined, Node
from llm_graphrag.graph.named import meant, named
from llm_graphrag.graph.paths import Path, paths_via
from llm_graphrag.knowledge_base import KnowledgeBase

NOTES = {
    "Night Train.md": "---\ndirected by: '[[Lena Holt]]'\n---\nA film. [[Lena Holt]] made it in one winter.",
    "Old Tram.md": "---\ndirected by: '[[Lena Holt]]'\nstarring: ['[[Ana Petrov]]', '[[Ben Stone]]']\n---\nA film.",
    "Lena Holt.md": "# Lena Holt\n\nShe was born in [[Graz]].\n",
    "Graz.md": "A town.",
    "Island.md": "Nobody links here.",
    "A —knows→ B.md": "An odd name, see [[Graz]] and [[<b>bold</b>]].",
}


@pytest.fixture
def filled(run: Run, vault: Vault) -> Run:
    run("add", vault(NOTES))
    return run


# -- path ----------------------------------------------------------------------------------------------------------


def test_path_prints_every_hop_with_its_sentence(filled: Run) -> None:
    assert filled("path", "night train", "Graz").output == (
        " 1. Night Train —directed by→ Lena Holt —links to→ Graz\n"
        "    —directed by→  directed by: '[[Lena Holt]]'  (vault/Night Train.md:2)\n"
        "      also —links to→\n"
        "    —links to→  She was born in [[Graz]].  (vault/Lena Holt.md:3)\n"
    )


def test_path_json_has_rows_and_text(filled: Run) -> None:
    (path,) = json.loads(filled("path", "Graz", "Night Train", "--json").output)["paths"]
    assert path["text"] == "Graz ←links to— Lena Holt ←directed by— Night Train"
    assert [entity["name"] for entity in path["entities"]] == ["Graz", "Lena Holt", "Night Train"]
    first, second = path["hops"]
    assert (first["relation"], first["forward"], first["also"]) == ("links_to", False, [])
    assert first["evidence"]["quote"] == "She was born in [[Graz]]."
    assert (first["evidence"]["uri"], first["evidence"]["line"]) == ("vault/Lena Holt.md", 3)
    assert [other["relation"] for other in second["also"]] == ["links_to"]


def test_path_of_a_thing_to_itself(filled: Run) -> None:
    assert filled("path", "Graz", "graz").output == " 1. Graz\n"


def test_no_path_is_said(filled: Run) -> None:
    apart = "No path, however long: no facts lead from one to the other."
    assert filled("path", "Graz", "Island").output == (
        f"{apart} --mentions looks over sentences that name two things.\n"
    )
    assert filled("path", "Graz", "Island", "--mentions").output == (
        f"{apart[:-1]}, and no sentences that name things together.\n"
    )
    assert json.loads(filled("path", "Graz", "Island", "--json").output) == {
        "paths": [],
        "truncated": False,
        "nearest_hops": None,
    }


def test_the_nearest_path_is_told_where_none_is_so_short(filled: Run, vault: Vault) -> None:
    near = filled("path", "Night Train", "Graz", "--max-hops", "1")
    assert near.output == (
        "No path of up to 1 hop; the nearest has 2. --max-hops 2 shows it, "
        "--mentions looks over sentences that name two things.\n"
    )
    near = filled("path", "Night Train", "Graz", "--max-hops", "1", "--json")
    assert json.loads(near.output) == {"paths": [], "truncated": False, "nearest_hops": 2}
    over = ("--relation", "directed_by", "--max-hops", "1")
    assert filled("path", "Night Train", "Old Tram", *over).output == (
        "No path of up to 1 hop; the nearest has 2. --max-hops 2 shows it.\n"
    )
    filled("add", vault({f"Link {n}.md": f"[[Link {n + 1}]]" for n in range(9)}))
    far = filled("path", "Link 0", "Link 9", "--max-hops", "8")
    assert far.output == (
        "No path of up to 8 hops; the nearest has 9. --mentions looks over sentences that name two things.\n"
    )


def test_path_over_a_relation_and_over_a_third_thing(filled: Run) -> None:
    over = filled("path", "Night Train", "Old Tram", "--relation", "Directed By").output.splitlines()
    assert over[0] == " 1. Night Train —directed by→ Lena Holt ←directed by— Old Tram"
    assert not any("also" in line for line in over)
    via = filled("path", "Night Train", "Ben Stone", "--via", "Lena Holt", "-k", "1").output.splitlines()
    assert via[0] == " 1. Night Train —directed by→ Lena Holt ←directed by— Old Tram —starring→ Ben Stone"
    assert filled("path", "Night Train", "Lena Holt", "--via", "Graz").output.startswith("No path")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["path", "Nigt Train", "Graz"], "Error: Nothing is called Nigt Train. Did you mean Night Train?"),
        (["path", "Graz", "xqzw"], "Error: Nothing is called xqzw."),
        (["path", "Graz", ""], 'Error: Nothing is called "".'),
        (["path", "Graz", "Graz", "--via", "Grax"], "Error: Nothing is called Grax. Did you mean Graz"),
        (["path", "Graz", "Island", "--relation", "direct_by"],
         "Error: There is no relation 'direct_by' in this file. Did you mean directed_by?"),
        (["path", "Graz", "Island", "--relation", "^directed_by"],
         "Error: There is no relation '^directed_by' in this file. Leave out the ^: directed_by is there."),
        (["follow", "Graz", "direct_by"], "Error: There is no relation 'direct_by' in this file."),
        (["follow", "Graz", " "], "Error: The metapath is empty."),
        (["follow", "Nowhere", "links_to"], "Error: Nothing is called Nowhere."),
        (["path", "#999999", "Graz"], "Error: Nothing is called #999999."),
    ],
)  # fmt: skip
def test_what_is_not_there_is_one_line(filled: Run, arguments: list[str], said: str) -> None:
    output = filled(*arguments, exit_code=1).output
    assert output.startswith(said)
    assert output.count("\n") == 1


def test_nobody_steers_the_terminal(run: Run, vault: Vault) -> None:
    run("add", vault({"a.md": "Red \x1b[31m alert: [[b]]\x1b]0;owned\x07 here.", "b.md": "See [[a]]."}))
    for arguments in (
        ["path", "a", "b"],
        ["path", "a", "b", "--json"],
        ["follow", "a", "*"],
        ["follow", "\x1b[2J", "*"],
    ):
        output = run(*arguments, exit_code=1 if "\x1b[2J" in arguments else 0).output
        assert "\x1b" not in output
        assert "\x07" not in output


def test_a_name_with_arrows_is_no_path(filled: Run) -> None:
    lines = filled("path", "A —knows→ B", "<b>bold</b>").output.splitlines()
    assert lines[0] == ' 1. "A —knows→ B" —links to→ <b>bold</b>'


def test_what_is_not_looked_at_is_said(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(reader: Frontier | metapath._Reader) -> bool:
        reader.truncated = True
        return True

    monkeypatch.setattr(Frontier, "spent", spent)
    monkeypatch.setattr(metapath._Reader, "spent", spent)
    for arguments in (["path", "Graz", "Ben Stone"], ["follow", "Graz", "*/*"]):
        assert "Not everything was looked at" in filled(*arguments).output
        assert json.loads(filled(*arguments, "--json").output)["truncated"] is True


# -- follow --------------------------------------------------------------------------------------------------------


def test_follow_prints_ends_with_a_walk_each(filled: Run) -> None:
    output = filled("follow", "Lena Holt", "^directed_by/starring", "--limit", "1").output
    assert output == (
        " 1. Lena Holt ←directed by— Old Tram —starring→ Ana Petrov\n"
        "    ←directed by—  directed by: '[[Lena Holt]]'  (vault/Old Tram.md:2)\n"
        "    —starring→  starring: ['[[Ana Petrov]]', '[[Ben Stone]]']  (vault/Old Tram.md:3)\n"
        "… and 1 more; --limit 0 shows all\n"
    )
    assert filled("follow", "Graz", "starring").output == "starring leads nowhere from there.\n"


def test_follow_shows_prefixes_under_their_names(filled: Run) -> None:
    lines = filled("follow", "Lena Holt", "^directed_by/starring", "--prefixes").output.splitlines()
    assert [line for line in lines if not line.startswith("    ")] == [
        "^directed_by:",
        " 1. Lena Holt ←directed by— Night Train",
        " 2. Lena Holt ←directed by— Old Tram",
        "^directed_by/starring:",
        " 3. Lena Holt ←directed by— Old Tram —starring→ Ana Petrov",
        " 4. Lena Holt ←directed by— Old Tram —starring→ Ben Stone",
    ]


def test_follow_json(filled: Run) -> None:
    found = json.loads(filled("follow", "Ben Stone", "^starring/directed by/*", "--simple", "--json").output)
    assert found["metapath"] == "^starring/directed_by/*"
    assert found["found"] == len(found["ends"]) == len(found["walks"])
    assert [(end["name"], end["steps"], end["walks"]) for end in found["ends"]] == [
        ("Night Train", 3, 2), ("Graz", 3, 1),
    ]  # fmt: skip
    assert found["truncated"] is False


# -- the same from Python ------------------------------------------------------------------------------------------


def test_paths_and_follow_from_python(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault(NOTES)])
    assert [path.length for path in kb.paths("Night Train", "Graz").paths] == [2]
    assert [end.node.name for end in kb.follow("Lena Holt", ["^directed_by", "starring"]).ends] == [
        "Ana Petrov", "Ben Stone",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="Nothing is called"):
        kb.paths("Graz", "Atlantis")


def test_a_name_that_several_share_is_told_apart() -> None:
    connection = graph([("Mercury", "orbits", "Sun"), ("mercury", "is_a", "Metal"), ("Hg", "names", "x")],
                       {"Mercury": "Planet", "mercury": "Element"})  # fmt: skip
    connection.execute("UPDATE kg_entities SET key = 'mercury' WHERE name LIKE 'mercury'")
    assert [node.name for node in named(connection, "MERCURY")] == ["Mercury", "mercury"]
    with pytest.raises(ValueError, match=r"may be any of Mercury \(Planet\) #1, mercury \(Element\) #3\. Say which"):
        meant(connection, "Mercury")
    assert meant(connection, "Mercury (planet)").id == 1
    assert meant(connection, "#3").type == "Element"
    with pytest.raises(ValueError, match="Nothing is called"):
        meant(connection, "Mercury (god)")


def test_an_own_name_comes_before_an_alias() -> None:
    connection = graph([("Bob", "knows", "Robert"), ("Eva", "knows", "Robert")])
    connection.execute("UPDATE kg_entities SET key = lower(name)")
    connection.execute(
        "INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (2, 'Bob', 'bob', 'alias', 'user')"
    )
    assert meant(connection, "bob").id == 1


def test_a_path_over_a_third_thing_visits_nothing_twice() -> None:
    connection = graph([("a", "r", "x"), ("x", "r", "c"), ("x", "r", "b"), ("c", "r", "y"), ("y", "r", "b")])
    ids = {name: id_ for id_, name in connection.execute("SELECT id, name FROM kg_entities")}
    found = paths_via(connection, ids["a"], ids["c"], ids["b"])
    assert [[node.name for node in path.nodes] for path in found.paths] == [["a", "x", "c", "y", "b"]]
    assert all(hop.evidence for path in found.paths for hop in path.hops)
    assert paths_via(connection, ids["a"], ids["y"], ids["c"]).paths[0].length == 4
    assert paths_via(connection, ids["a"], ids["a"], ids["c"]).paths[0].length == 2


# -- words ---------------------------------------------------------------------------------------------------------


def made(names: list[str], relations: list[tuple[str, bool]]) -> Path:
    nodes = tuple(Node(n, name, "") for n, name in enumerate(names))
    return Path(nodes, tuple(Hop(Joined(1, relation, forward, 1), None) for relation, forward in relations))


def test_a_path_in_words() -> None:
    path = made(["A", "B", "C"], [("directed", True), ("born_in", False)])
    assert verbalize.path_text(path, 3) == "A —directed→ B ←born in— C [3]"
    assert verbalize.path_parts(path)[1] == ("hop", "—directed→")
    assert verbalize.path_text(made(["A"], [])) == "A"


PIECES = st.text(st.sampled_from('ab —→←[]"\\'), min_size=1, max_size=8)


@given(st.lists(PIECES, min_size=2, max_size=4), st.data())
@settings(max_examples=200, deadline=None)
def test_names_with_arrows_cannot_make_another_path(names: list[str], data: st.DataObject) -> None:
    """Read back, piece by piece, the text has as many names and arrows as the path, and these names."""
    relations = [(data.draw(PIECES), data.draw(st.booleans())) for _ in names[1:]]
    text = verbalize.path_text(made(names, relations))
    found, plain, arrows, at = [], "", 0, 0
    while at < len(text):
        if text[at] == '"':
            piece, at = "", at + 1
            while text[at] != '"':
                at += text[at] == "\\"
                piece, at = piece + text[at], at + 1
            found.append(piece)
        elif text[at] in "—→←":
            arrows += 1
        else:
            plain += text[at]
        at += 1
    assert arrows == 2 * len(relations)
    wanted = [verbalize.shown(name) for name in names] + [verbalize.shown(r.replace("_", " ")) for r, _ in relations]
    assert sorted(found) == sorted(w[1:-1].replace('\\"', '"').replace("\\\\", "\\") for w in wanted if w[0] == '"')
    assert not set(plain) & set('"\\[]')


def test_long_and_empty_names_are_shown_short() -> None:
    assert len(verbalize.shown("x" * 500)) == verbalize.LONGEST
    assert verbalize.shown("\x1b[31m\u202e") == '"[31m"'
    assert verbalize.shown("") == '""'


def test_facts_with_many_ends_are_merged() -> None:
    names = [f"n{n}" for n in range(14)]
    assert verbalize.fact_text("A", "starred_in", ["C", "D", *names], number=1) == "A —starred in→ C, D and 14 more [1]"
    assert verbalize.merged(["one"]) == "one"
    assert verbalize.merged([]) == ""
    assert verbalize.merged(names) == verbalize.merged(list(names))


def test_a_title_of_a_note_with_facts_comes_before_a_name_that_is_only_mentioned() -> None:
    connection = graph([("topic.schema", "links_to", "topic.hooks")])
    connection.execute("INSERT INTO kg_entities(name, key, type, origin) VALUES ('Schemas', 'schemas', '', 'lexical')")
    mentioned = connection.execute("SELECT id FROM kg_entities WHERE name = 'Schemas'").fetchone()[0]
    note = connection.execute("SELECT id FROM kg_entities WHERE name = 'topic.schema'").fetchone()[0]
    for entity, kind in ((mentioned, "name"), (note, "title")):
        connection.execute(
            "INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (?, 'Schemas', 'schemas', ?, 'link')",
            [entity, kind],
        )
    assert [node.name for node in named(connection, "schemas")] == ["topic.schema"]
    connection.execute(
        "INSERT INTO kg_triples(head, relation, tail, evidence) VALUES (?, 'is_a', ?, 1)", [mentioned, note]
    )
    assert [node.name for node in named(connection, "schemas")] == ["Schemas"]


def test_a_name_is_asked_about_where_two_titles_bear_it_and_a_mention_is_listed_last() -> None:
    connection = graph([("ref.vaults", "links_to", "topic.vaults")])
    first, second = (row[0] for row in connection.execute("SELECT id FROM kg_entities ORDER BY id"))
    mentioned = connection.execute(
        "INSERT INTO kg_entities(name, key, type, origin) VALUES ('Vaults', 'vaults', '', 'lexical')"
    ).lastrowid
    for entity, kind in ((mentioned, "name"), (first, "title"), (second, "title")):
        connection.execute(
            "INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (?, 'Vaults', 'vaults', ?, 'link')",
            [entity, kind],
        )
    with pytest.raises(ValueError) as told:
        meant(connection, "Vaults")
    assert str(told.value) == (
        f"Vaults may be any of ref.vaults (no type) #{first}, topic.vaults (no type) #{second}, "
        f"Vaults (no type) #{mentioned}. Say which by its number, such as '#{first}'."
    )
    assert meant(connection, f"#{mentioned}").name == "Vaults"
    connection.execute("INSERT INTO kg_attributes(entity, attribute, value) VALUES (?, 'size', '3')", [mentioned])
    assert meant(connection, "Vaults").id == mentioned


def test_the_name_of_a_file_comes_before_the_title_of_another(run: Run, tmp_path: pathlib.Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "Cats.md").write_text("Nothing links from here.\n", "utf-8")
    (notes / "pets.md").write_text("---\ntitle: Cats\n---\nSee [[Rex]].\n", "utf-8")
    (notes / "Rex.md").write_text("A dog.\n", "utf-8")
    run("add", notes)
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db", readonly=True) as kb:
        assert meant(kb.connection, "cats").name == "Cats"
    assert "pets —links to→ Rex" in run("path", "pets", "Rex").stdout
    assert "pets" not in run("path", "Cats", "Rex").stdout


def test_a_name_of_very_many_brackets_is_not_known() -> None:
    assert named(graph([("A", "r", "B")]), "A" + " (x)" * 5000) == []


def test_what_is_called_like_a_number_can_be_named(tmp_path: pathlib.Path, run: Run) -> None:
    rows = ["head,relation,tail,head_type", "#4,knows,#77,bug", "Ana,knows,Ben,person", "Ana,likes,Cleo,person"]
    (tmp_path / "g.csv").write_text("\n".join(rows), "utf-8")
    run("import", tmp_path / "g.csv")
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db", readonly=True) as kb:
        ids = {row[0]: row[1] for row in kb.connection.execute("SELECT name, id FROM kg_entities")}
        other = next(name for name, id_ in ids.items() if id_ == 4)
        assert other not in ("#4", "#77")
        assert meant(kb.connection, "#77").name == "#77"  # nothing has this number
        assert meant(kb.connection, f"#{ids['Ana']}").name == "Ana"
        assert (meant(kb.connection, "##4").name, meant(kb.connection, f"##{ids['#4']}").name) == (other, "#4")
        assert meant(kb.connection, "#4 (bug)").name == "#4"
        with pytest.raises(ValueError, match="Nothing is called ##77"):
            meant(kb.connection, "##77")
    said = run("follow", "#4", "knows", exit_code=1).stderr
    assert said.startswith("Error: #4 may be any of ")
    assert f"#4 (bug) ##{ids['#4']}" in said and said.endswith("Say which by its number, such as '##4'.\n")
    assert run("follow", f"##{ids['#4']}", "knows").stdout.startswith(" 1. #4 —knows→ #77")
    assert run("follow", "#77", "^knows").stdout.startswith(" 1. #77 ←knows— #4")
    shown = [card["name"] for card in json.loads(run("entity", "#4", "--json").stdout)]
    assert shown == ["#4", other]
    assert [card["name"] for card in json.loads(run("entity", "##4", "--json").stdout)] == [other]
    assert [card["name"] for card in json.loads(run("entity", "#77", "--json").stdout)] == ["#77"]


def test_entity_shows_first_what_is_written_so(run: Run, tmp_path: pathlib.Path) -> None:
    (tmp_path / "films.tsv").write_text("Drake\thas_tags\thamlet\nHamlet\tdirected_by\tAna\n", "utf-8")
    run("import", str(tmp_path / "films.tsv"), "--no-header")
    for name in ("Hamlet", "hamlet"):
        shown = json.loads(run("entity", name, "--json").stdout)
        assert [card.get("written") or card["name"] for card in shown] == (
            [name] + [other for other in ("Hamlet", "hamlet") if other != name]
        )


def test_entity_takes_a_type_in_brackets(run: Run, tmp_path: pathlib.Path) -> None:
    (tmp_path / "n.csv").write_text("id,name,type\n1,Mercury,planet\n2,Mercury,element\n3,Sun,star\n", "utf-8")
    (tmp_path / "e.csv").write_text("head,relation,tail\n1,near,3\n2,melts_near,3\n", "utf-8")
    run("import", str(tmp_path / "e.csv"), "--nodes", str(tmp_path / "n.csv"))
    assert len(json.loads(run("entity", "Mercury", "--json").stdout)) == 2
    (card,) = json.loads(run("entity", "Mercury (element)", "--json").stdout)
    assert (card["name"], card["type"]) == ("Mercury", "element")
