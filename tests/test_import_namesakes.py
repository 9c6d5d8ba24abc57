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
        ("Hamlet", "Olivier"), ("Hamlet (2)", "Zeffirelli"), ("HAMLET (3)", "Branagh"), ("Hamlet", "Kyd"),
    }  # fmt: skip
    kyd = kb.connection.execute("SELECT head_type FROM kg_facts WHERE tail = 'Kyd'")
    assert kyd.fetchone()[0] == ""  # of two types of Hamlets there are, so one without is a third thing
    years = kb.connection.execute("SELECT head, tail FROM kg_facts WHERE relation = 'year' ORDER BY 2")
    assert [tuple(row) for row in years] == [("Hamlet", "1948"), ("Hamlet (2)", "1990"), ("HAMLET (3)", "1996")]
    assert aliases(kb, "Hamlet (2)") == {"Hamlet (2)", "Hamlet"}
    [warning] = done.warnings
    assert warning.message.startswith(
        "2 things have a name that another has, and are called 'Hamlet (2)', 'HAMLET (3)'"
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
    films = kb.connection.execute("SELECT name FROM kg_entities WHERE type = 'film' ORDER BY 1")
    assert [row[0] for row in films] == ["Hamlet", "Hamlet (2)", "Hamlet (3)", "Hamlet (4)"]
    assert aliases(kb, "Hamlet (3)") == {"Hamlet", "Hamlet (3)"}
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
    assert made(kb) == {("m2", "Mamoulian"), ("Hamlet", "m1")}


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
        assert "" not in types or len({*types}) != 2  # a name without a type would mean the only one that has one
        assert place not in named or len(types) == 1
