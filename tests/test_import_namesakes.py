"""Things of one name: where a graph has ids, two ids are two things, in every format and in every reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from graph_equality import Fresh, graph_of
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.share.imports.namesakes import told_by_id
from llm_graphrag.share.imports.options import ImportOptions
from llm_graphrag.share.imports.run import GraphImport
from llm_graphrag.share.imports.statements import Node
from llm_graphrag.text.normalise import name_key

fresh = Fresh()

NODES = (
    "id,name,type,year\nm1,Hamlet,film,1948\nm2,Hamlet,film,1990\nm3,HAMLET,film,1996\nm4,Hamlet,,\nm5,Hamlet,play,\n"
)
EDGES = "source,type,target\nm1,made_by,Olivier\nm2,made_by,Zeffirelli\nm3,made_by,Branagh\nm4,made_by,Kyd\nm5,by,m4\n"

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
FILMS = "".join(
    f'<http://e.org/{id_}> <{LABEL}> "Hamlet" .\n<http://e.org/{id_}> <{TYPE}> <http://e.org/Film> .\n'
    f'<http://e.org/{id_}> <http://e.org/madeBy> <http://e.org/{who}> .\n'
    for id_, who in (("m1", "Olivier"), ("m2", "Zeffirelli"))
)  # fmt: skip


def bring(kb: KnowledgeBase, *paths: Path, **options: Any) -> GraphImport:
    done = kb.import_graph(paths, ImportOptions(**options))
    assert kb.check() == [] and done.skipped == []
    before = list(kb.connection.iterdump())
    assert kb.import_graph(paths, ImportOptions(**options)).files == 0
    assert list(kb.connection.iterdump()) == before
    return done


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def made(kb: KnowledgeBase) -> set[tuple[str, ...]]:
    return {tuple(row) for row in kb.connection.execute("SELECT head, tail FROM kg_facts WHERE relation = 'made_by'")}


def aliases(kb: KnowledgeBase, name: str) -> set[str]:
    rows = kb.connection.execute(
        "SELECT a.name FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity WHERE e.name = ?", [name]
    )
    return {row[0] for row in rows}


def test_nodes_of_one_name_stay_apart(kb: KnowledgeBase, tmp_path: Path) -> None:
    nodes, edges = written(tmp_path, "nodes.csv", NODES), written(tmp_path, "edges.csv", EDGES)
    done = bring(kb, edges, nodes=(nodes,))
    assert made(kb) == {
        ("Hamlet", "Olivier"), ("Hamlet (2)", "Zeffirelli"), ("HAMLET (3)", "Branagh"), ("Hamlet (4)", "Kyd"),
    }  # fmt: skip
    plays = kb.connection.execute("SELECT name FROM kg_entities WHERE type = 'play'")
    assert [row[0] for row in plays] == ["Hamlet"]  # told apart by its type
    years = kb.connection.execute("SELECT head, tail FROM kg_facts WHERE relation = 'year' ORDER BY 2")
    assert [tuple(row) for row in years] == [("Hamlet", "1948"), ("Hamlet (2)", "1990"), ("HAMLET (3)", "1996")]
    assert aliases(kb, "Hamlet (2)") == {"Hamlet (2)", "Hamlet"}
    [warning] = done.warnings
    assert warning.message.startswith(
        "3 things have a name that another has, and are called 'Hamlet (2)', 'HAMLET (3)', "
    )


def test_nodes_of_one_name_are_one_if_that_is_wanted(kb: KnowledgeBase, tmp_path: Path) -> None:
    nodes, edges = written(tmp_path, "nodes.csv", NODES), written(tmp_path, "edges.csv", EDGES)
    done = bring(kb, edges, nodes=(nodes,), join_spellings=True)
    films = kb.connection.execute("SELECT count(*) FROM kg_entities WHERE key = 'hamlet' AND type = 'film'")
    assert films.fetchone()[0] == 1 and done.warnings == []
    assert {("Hamlet", "Olivier"), ("Hamlet", "Zeffirelli"), ("Hamlet", "Branagh")} <= made(kb)


def test_tables_of_one_command_are_one_graph(kb: KnowledgeBase, tmp_path: Path) -> None:
    one = written(tmp_path, "one.csv", "id,name,type\nm1,Hamlet,film\n")
    two = written(tmp_path, "two.csv", "id,name,type\nm2,Hamlet,film\n")
    edges = written(tmp_path, "edges.csv", "source,type,target\nm1,made_by,Olivier\nm2,made_by,Zeffirelli\n")
    bring(kb, edges, nodes=(one, two))
    assert made(kb) == {("Hamlet", "Olivier"), ("Hamlet (2)", "Zeffirelli")}
    more = written(tmp_path, "more.csv", "source,type,target\nm2,made_by,Mamoulian\n")
    bring(kb, more, nodes=(one, two))
    assert ("Hamlet (2)", "Mamoulian") in made(kb)


def test_made_names_are_those_of_one_thing(kb: KnowledgeBase, tmp_path: Path) -> None:
    two = "id,name,type,year\n{0}1,Hamlet,film,1\n{0}2,Hamlet,film,2\n"
    bring(kb, nodes=(written(tmp_path, "a.csv", two.format("a")),))
    bring(kb, nodes=(written(tmp_path, "b.csv", two.format("b")),))  # the first is a Hamlet, as one of the others is
    bring(kb, nodes=(written(tmp_path, "copy.csv", "id,name,type\na2,Hamlet,film\na1,Hamlet,film\na3,Hamlet,film\n"),))
    rows = kb.connection.execute("SELECT tail, head FROM kg_facts WHERE relation = 'id' ORDER BY 1")
    assert dict(map(tuple, rows)) == {
        "a1": "Hamlet", "a2": "Hamlet (2)", "a3": "Hamlet (4)", "b1": "Hamlet", "b2": "Hamlet (3)",
    }  # fmt: skip


def test_names_that_were_made_stay(kb: KnowledgeBase, tmp_path: Path) -> None:
    def called() -> dict[str, str]:
        rows = kb.connection.execute("SELECT tail, head FROM kg_facts WHERE relation = 'id' ORDER BY 1")
        return dict(map(tuple, rows))

    head, rows = "id,name,type\n", "m1,Hamlet,film\nm2,Hamlet,film\n"
    bring(kb, nodes=(written(tmp_path, "nodes.csv", head + rows),))
    bring(kb, nodes=(written(tmp_path, "nodes.csv", f"{head}m0,Hamlet,film\n{rows}"),))
    assert called() == {"m1": "Hamlet", "m2": "Hamlet (2)", "m0": "Hamlet (3)"}
    bring(kb, nodes=(written(tmp_path, "nodes.csv", f"{head}m2,Hamlet,film\nm3,Macbeth,film\n"),))
    assert called() == {"m2": "Hamlet (2)", "m3": "Macbeth"}
    bring(kb, nodes=(written(tmp_path, "nodes.csv", head + rows),), join_spellings=True)
    assert called() == {"m1": "Hamlet", "m2": "Hamlet"}
    bring(kb, nodes=(tmp_path / "nodes.csv",))  # asked for no more
    assert called() == {"m1": "Hamlet", "m2": "Hamlet (2)"}


def test_names_of_nodes_stay_whatever_edges_write(kb: KnowledgeBase, tmp_path: Path) -> None:
    nodes = written(tmp_path, "nodes.csv", "id,name,type\nm1,Hamlet,film\nm2,Hamlet,film\n")
    rows = "source,type,target\nm1,made_by,Olivier\nm2,made_by,Zeffirelli\n" + "HAMLET,made_by,Kyd\n" * 3
    done = bring(kb, written(tmp_path, "edges.csv", rows), nodes=(nodes,))
    assert made(kb) == {("Hamlet", "Olivier"), ("Hamlet (2)", "Zeffirelli"), ("HAMLET (3)", "Kyd")}
    assert [warning.message[:40] for warning in done.warnings] == [
        "1 thing has a name that another has, and", "'HAMLET' is written otherwise too; kept ",
    ]  # fmt: skip


def test_nodes_without_ids_are_their_names(kb: KnowledgeBase, tmp_path: Path) -> None:
    nodes = written(tmp_path, "nodes.csv", "name,type,year\nHamlet,film,1948\nHamlet,film,1990\nHAMLET,film,1996\n")
    bring(kb, nodes=(nodes,))
    rows = kb.connection.execute("SELECT head, tail FROM kg_facts ORDER BY 2")
    assert [tuple(row) for row in rows] == [("Hamlet", "1948"), ("Hamlet", "1990"), ("HAMLET (2)", "1996")]


@pytest.mark.parametrize("suffix", [".nt", ".ttl"])
def test_labels_of_several_iris(kb: KnowledgeBase, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("rdflib")
    blank = "".join(f'_:{label} <{LABEL}> "Hamlet" .\n_:{label} <{TYPE}> <http://e.org/Film> .\n' for label in "ab")
    done = bring(kb, written(tmp_path, f"films{suffix}", FILMS + blank))
    assert made(kb) == {("Hamlet", "Olivier"), ("Hamlet (2)", "Zeffirelli")}
    rows = kb.connection.execute("SELECT name FROM kg_entities WHERE type = 'film' ORDER BY 1")
    films = [row[0] for row in rows]
    assert films[:2] == ["Hamlet", "Hamlet (2)"] and len(films) == 4
    assert all(name.startswith("Hamlet _:") and name.endswith(f" (films{suffix})") for name in films[2:])
    assert all(aliases(kb, name) == {"Hamlet", name} for name in films)
    assert "3 things have a name that another has" in done.warnings[0].message
    with fresh() as joined:
        bring(joined, tmp_path / f"films{suffix}", join_spellings=True)
        assert made(joined) == {("Hamlet", "Olivier"), ("Hamlet", "Zeffirelli")}


def test_an_iri_means_the_same_in_every_file(kb: KnowledgeBase, tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    bring(kb, written(tmp_path, "films.nt", FILMS))
    more = (
        "<http://e.org/m2> <http://e.org/madeBy> <http://e.org/Mamoulian> .\n"
        f'<http://x.org/9> <{LABEL}> "Hamlet" .\n<http://x.org/9> <{TYPE}> <http://e.org/Film> .\n'
        "<http://x.org/9> <http://e.org/madeBy> <http://e.org/m1> .\n"
    )
    bring(kb, written(tmp_path, "more.nt", more))
    expected = {
        ("Hamlet", "Olivier"), ("Hamlet (2)", "Zeffirelli"), ("Hamlet (2)", "Mamoulian"), ("Hamlet (3)", "Hamlet"),
    }  # fmt: skip
    assert made(kb) == expected
    # also when the first file is read again, and for as long as a file calls it so
    written(tmp_path, "films.nt", FILMS + '<http://e.org/m1> <http://e.org/year> "1948" .\n')
    bring(kb, tmp_path / "films.nt")
    assert made(kb) == expected
    kb.remove(["films.nt"])
    written(tmp_path, "more.nt", more + '<http://e.org/m2> <http://e.org/year> "1990" .\n')
    bring(kb, tmp_path / "more.nt")
    assert made(kb) == {("m2", "Mamoulian"), ("Hamlet (3)", "m1")}  # its own label makes a name that stays


def test_blank_nodes_of_files_of_one_name(kb: KnowledgeBase, tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    for folder, who in (("a", "Olivier"), ("b", "Zeffirelli"), ("a", "Mills")):
        (tmp_path / folder).mkdir(exist_ok=True)
        row = f"_:x <http://e.org/madeBy> <http://e.org/{who}> .\n"
        bring(kb, written(tmp_path / folder, "g.nt", row))
    assert made(kb) == {("_:x (g.nt)", "Mills"), ("_:x (g.nt-2)", "Zeffirelli")}


def test_iris_without_a_label_are_told_apart_by_themselves(kb: KnowledgeBase, tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    rows = "".join(f"<http://{host}.org/#me> <http://e.org/madeBy> <http://e.org/{host}> .\n" for host in "ab")
    labelled = f'<http://c.org/#x> <{LABEL}> "me" .\n<http://c.org/#x> <http://e.org/madeBy> <http://e.org/c> .\n'
    bring(kb, written(tmp_path, "g.nt", rows + labelled))
    assert made(kb) == {("me <http://a.org/#me>", "a"), ("me <http://b.org/#me>", "b"), ("me", "c")}
    assert aliases(kb, "me <http://a.org/#me>") == {"me <http://a.org/#me>", "me"}


def test_a_table_with_iris_names_them_for_rdf(kb: KnowledgeBase, tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    bring(kb, nodes=(written(tmp_path, "nodes.csv", "iri,name,type\nhttp://e.org/m1,Hamlet,film\n"),))
    bring(kb, written(tmp_path, "g.nt", "<http://e.org/m1> <http://e.org/madeBy> <http://e.org/Olivier> .\n"))
    assert made(kb) == {("Hamlet", "Olivier")}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".nt", ".ttl"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("rdflib")
    with fresh() as kb:
        bring(kb, written(tmp_path, "edges.csv", EDGES), nodes=(written(tmp_path, "nodes.csv", NODES),))
        bring(kb, written(tmp_path, "films.nt", FILMS))
        kb.export_graph(tmp_path / f"out{suffix}")
        with fresh() as other:
            bring(other, tmp_path / f"out{suffix}")
            assert graph_of(other) == graph_of(kb)


@pytest.mark.parametrize(
    ("format", "edges", "nodes"),
    [("neo4j", "relationships.csv", "nodes.csv"), ("ladybug", "relations.csv", "entities.csv")],
)
def test_folders_for_bulk_loaders_are_read(tmp_path: Path, format: str, edges: str, nodes: str) -> None:
    with fresh() as kb, fresh() as other:
        bring(kb, written(tmp_path, "edges.csv", EDGES), nodes=(written(tmp_path, "nodes.csv", NODES),))
        kb.export_graph(tmp_path / "bulk", format)
        bring(other, tmp_path / "bulk" / edges, nodes=(tmp_path / "bulk" / nodes,))
        assert made(other) == made(kb)
        films = "SELECT name FROM kg_entities WHERE type = 'film' ORDER BY 1"
        assert list(map(tuple, other.connection.execute(films))) == list(map(tuple, kb.connection.execute(films)))


def test_the_command_says_how_many(run: Run, tmp_path: Path) -> None:
    nodes = written(tmp_path, "nodes.csv", "id,name,type\n" + "".join(f"n{n},Anna,person\n" for n in range(50)))
    told = run("import", "--nodes", nodes).stderr
    assert "49 things have a name that another has, and are called 'Anna (2)', 'Anna (3)', 'Anna (4)', …" in told
    assert told.count("\n") == 1


nodes = st.builds(Node, st.sampled_from(["Ada", "ADA", "ada (2)", "Ben", "(Ben)"]), st.sampled_from(["", "x", "y"]))


@settings(max_examples=100, deadline=None)
@given(things=st.lists(nodes, max_size=7), others=st.lists(nodes, max_size=2))
def test_no_two_things_are_one_entity(things: list[Node], others: list[Node]) -> None:
    by_id = dict(enumerate(things))
    named = told_by_id(by_id, others)
    called = [Node(named.get(id_, node.name), node.type) for id_, node in by_id.items()]
    for place, node in enumerate(called):
        types = [other.type for other in (*called, *others) if name_key(other.name) == name_key(node.name)]
        assert types.count(node.type) == 1
        assert "" not in types or len(types) == 1  # a name without a type may mean one that has
        assert place not in named or len(types) == 1


iris = st.sampled_from([f"<http://{host}.org/{name}>" for host in "ab" for name in ("Hamlet", "me", "x")])
things = st.one_of(iris, iris, st.sampled_from(["_:b1", "_:b2"]))
lines = st.one_of(
    st.builds("{} <http://e.org/madeBy> {} .\n".format, things, things),
    st.builds(f'{{}} <{LABEL}> "{{}}" .\n'.format, iris, st.sampled_from(["Hamlet", "HAMLET", "me", "Hamlet (2)"])),
    st.builds(f"{{}} <{TYPE}> <http://e.org/{{}}> .\n".format, things, st.sampled_from(["Film", "Play"])),
)
files = st.lists(st.lists(lines, min_size=1, max_size=10, unique=True), min_size=1, max_size=3)

ENTITY_OF_IRI = """
  SELECT DISTINCT a.value, a.entity FROM kg_attributes a WHERE a.attribute = 'iri' ORDER BY 1, 2"""


@settings(max_examples=15, deadline=None)
@given(files=files)
def test_an_iri_is_one_entity_and_an_entity_has_one_iri(tmp_path_factory: Any, files: list[list[str]]) -> None:
    pytest.importorskip("rdflib")
    folder = tmp_path_factory.mktemp("graph")

    def put(kb: KnowledgeBase, name: str, text: str) -> None:
        assert kb.import_graph([written(folder, name, text)], ImportOptions(schema=False)).skipped == []
        assert kb.check() == []

    with fresh() as kb:
        for number, rows in enumerate(files):
            put(kb, f"{number}.nt", "".join(rows))
        pairs = [tuple(row) for row in kb.connection.execute(ENTITY_OF_IRI)]
        there = {row.split(" ")[0][1:-1] for rows in files for row in rows if row[0] == "<"}
        assert there <= {iri for iri, _ in pairs}
        assert len({iri for iri, _ in pairs}) == len(pairs) == len({entity for _, entity in pairs})
        before = graph_of(kb)
        for number, rows in enumerate(files):  # read again, each knowing the others
            put(kb, f"{number}.nt", "".join(rows) + "# again\n")
        assert graph_of(kb) == before
        for suffix in (".nt", ".jsonl"):
            kb.export_graph(folder / f"out{suffix}")
            with fresh() as other:
                put(other, f"out{suffix}", (folder / f"out{suffix}").read_text("utf-8"))
                assert graph_of(other) == before
