"""Paths between two things: as short as networkx finds them, simple, best first, each hop with its sentence."""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections.abc import Iterator, Sequence

import networkx
import pytest
from graph_files import add_triples, graph, hub, id_of
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_graphrag.graph import frontier, hops, paths
from llm_graphrag.graph.frontier import Limits, Within
from llm_graphrag.graph.paths import Path, shortest_path, shortest_paths
from llm_graphrag.graph.ways import best_ways, first_way

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=24)


def names(path: Path) -> list[str]:
    return [node.name for node in path.nodes]


def between(connection: sqlite3.Connection, a: str, b: str, **options: object) -> list[list[str]]:
    """The names on the best paths."""
    found = shortest_paths(connection, [id_of(connection, a)], [id_of(connection, b)], **options)  # type: ignore[arg-type]
    return [names(path) for path in found.paths]


# -- against networkx ------------------------------------------------------------------------------------------------


def undirected(edges: list[tuple[int, int]]) -> networkx.Graph:
    made = networkx.Graph()
    made.add_nodes_from(range(10))
    made.add_edges_from((a, b) for a, b in edges if a != b)
    return made


def rated(made: networkx.Graph, source: int, target: int, max_hops: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """All simple paths as (hops, cost, nodes), best first, by looking at every one."""
    if source == target:
        return [(0, 0, (source,))]
    found = []
    for nodes in networkx.all_simple_paths(made, source, target, cutoff=max_hops):
        cost = sum(int(math.log2(max(1, made.degree(node))) * 1_000) for node in nodes[1:-1])
        found.append((len(nodes) - 1, cost, tuple(nodes)))
    return sorted(found)


@given(EDGES, st.integers(0, 9), st.integers(0, 9), st.integers(1, 7), st.integers(1, 6))
@settings(max_examples=300, deadline=None)
def test_the_best_are_found_in_order(
    edges: list[tuple[int, int]], source: int, target: int, k: int, max_hops: int
) -> None:
    made = undirected(edges)
    degrees = dict(made.degree())
    ways, missed = best_ways(
        source, target, lambda nodes: {n: list(made[n]) for n in nodes}, lambda nodes: degrees, k=k, max_hops=max_hops
    )
    assert [(way.worth, way.cost, way.nodes) for way in ways] == rated(made, source, target, max_hops)[:k]
    assert not missed


@given(EDGES, st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_paths_in_a_file_are_those_of_networkx(edges: list[tuple[int, int]], source: int, target: int) -> None:
    made = undirected(edges)
    connection = graph([(f"n{a}", "r", f"n{b}") for a, b in edges] + [(f"n{n}", "self", f"n{n}") for n in range(10)])
    found = shortest_paths(connection, [id_of(connection, f"n{source}")], [id_of(connection, f"n{target}")], k=4)
    lengths = [path.length for path in found.paths]
    wanted = [] if not networkx.has_path(made, source, target) else networkx.shortest_simple_paths(made, source, target)
    shortest = list(itertools.islice(wanted, 4)) if source != target else [[source]]
    assert lengths == [len(nodes) - 1 for nodes in shortest if len(nodes) - 1 <= 4]
    for path in found.paths:
        walked = [int(name[1:]) for name in names(path)]
        assert (walked[0], walked[-1]) == (source, target)
        assert len(set(walked)) == len(walked)
        for a, b, hop in zip(walked, walked[1:], path.hops, strict=False):
            head, tail = (a, b) if hop.by.forward else (b, a)
            assert (head, tail) in edges
            assert hop.evidence is not None
            assert hop.evidence.quote == f"n{head} r n{tail}."
    assert not found.truncated


@given(EDGES, st.integers(0, 9), st.integers(0, 9), st.integers(1, 9))
@settings(max_examples=300, deadline=None)
def test_one_path_is_as_short_as_that_of_networkx(
    edges: list[tuple[int, int]], source: int, target: int, max_hops: int
) -> None:
    made = undirected(edges)
    degrees = dict(made.degree())
    way = first_way(source, target, lambda nodes: ((n, list(made[n])) for n in nodes), lambda nodes: degrees, max_hops)
    hops = networkx.shortest_path_length(made, source, target) if networkx.has_path(made, source, target) else 99
    assert (way is None) == (hops > max_hops)
    if way is not None:
        assert (way[0], way[-1], len(way)) == (source, target, hops + 1)
        assert all(made.has_edge(a, b) for a, b in itertools.pairwise(way))


@given(EDGES, st.integers(0, 9), st.integers(0, 9), st.integers(1, 9), st.integers(1, 12))
@settings(max_examples=300, deadline=None)
def test_a_quick_path_is_as_short_unless_a_hub_was_cut(
    edges: list[tuple[int, int]], source: int, target: int, max_hops: int, hub_cap: int
) -> None:
    made = undirected(edges)
    cut = False

    def pieces(nodes: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        nonlocal cut
        for node in nodes:
            cut |= len(made[node]) > hub_cap
            yield node, list(made[node])[:hub_cap]

    way = first_way(source, target, pieces, lambda nodes: {}, max_hops, lambda: cut)
    hops = networkx.shortest_path_length(made, source, target) if networkx.has_path(made, source, target) else 99
    if way is not None:
        assert (way[0], way[-1]) == (source, target)
        assert len(set(way)) == len(way) <= max_hops + 1
        assert all(made.has_edge(a, b) for a, b in itertools.pairwise(way))
    if not cut:
        assert (len(way) - 1 if way else 99) == (hops if hops <= max_hops else 99)


@given(EDGES, st.integers(0, 9), st.integers(0, 9), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_a_quick_path_in_a_file_says_whether_a_hub_was_cut(
    edges: list[tuple[int, int]], source: int, target: int, hub_cap: int
) -> None:
    made = undirected(edges)
    connection = graph([(f"n{a}", "r", f"n{b}") for a, b in edges] + [(f"n{n}", "self", f"n{n}") for n in range(10)])
    ends = id_of(connection, f"n{source}"), id_of(connection, f"n{target}")
    found = shortest_path(connection, *ends, hub_cap=hub_cap)
    exact = shortest_path(connection, *ends)
    assert [hop.by.relation for path in found.paths for hop in path.hops if not hop.evidence] == []
    if not found.truncated:
        assert [path.length for path in found.paths] == [path.length for path in exact.paths]
    elif found.paths:
        assert found.paths[0].length >= networkx.shortest_path_length(made, source, target)


def test_of_a_hub_only_so_much_is_read() -> None:
    many = [("hub", "r", f"leaf {n}") for n in range(1_000)]
    connection = graph([*many, ("leaf 3", "s", "x"), ("x", "s", "y"), ("y", "s", "leaf 999"), ("hub", "z", "top")])
    ends = id_of(connection, "hub"), id_of(connection, "top")
    for cap in (None, 50, 2_000):
        found = shortest_path(connection, *ends, hub_cap=cap)
        assert (names(found.paths[0]), found.truncated) == (["hub", "top"], cap == 50)
    ends = id_of(connection, "leaf 3"), id_of(connection, "leaf 999")
    read: list[int] = []
    for cap in (None, 50):
        front = frontier.Frontier(connection)
        read.append(sum(len(near) for _, near in front.pieces([id_of(connection, "hub")], cap)))
        assert front.truncated == (cap is not None)
        assert len(shortest_path(connection, *ends, hub_cap=cap).paths[0].hops) == 2
    assert read == [1_001, 50]
    for limits in (Limits(seconds=-1), Limits(triples=1)):
        assert shortest_path(connection, *ends, hub_cap=50, limits=limits) == paths.Paths((), True)


def test_all_of_a_hub_is_read_a_piece_at_a_time() -> None:
    connection = graph(
        [("hub", "r", f"leaf {n}") for n in range(450)] + [(f"twig {n}", "r", "hub") for n in range(450)]
    )
    hub_id = id_of(connection, "hub")
    pieces = list(frontier.Frontier(connection).pieces([hub_id, id_of(connection, "leaf 1")]))
    assert [(node == hub_id, len(near)) for node, near in pieces] == [
        (True, 200), (False, 1), (True, 200), (True, 200), (True, 200), (True, 100)
    ]  # fmt: skip
    assert len({to for node, near in pieces if node == hub_id for to in near}) == 900


def test_one_path_of_a_file_has_its_sentences() -> None:
    connection = graph([*chain(6), ("n0", "r", "other"), ("lone", "r", "lonely")])
    ends = id_of(connection, "n1"), id_of(connection, "n4")
    (path,) = shortest_path(connection, *ends).paths
    assert names(path) == ["n1", "n2", "n3", "n4"]
    assert [hop.evidence.line for hop in path.hops if hop.evidence] == [2, 3, 4]
    assert shortest_path(connection, *ends, max_hops=2).paths == ()
    assert shortest_path(connection, ends[0], id_of(connection, "lone")).paths == ()
    for limits in (Limits(seconds=-1), Limits(triples=2)):
        assert shortest_path(connection, *ends, limits=limits) == paths.Paths((), True)


# -- what is best ----------------------------------------------------------------------------------------------------


def test_few_hops_come_first_then_rare_entities() -> None:
    connection = graph(
        [("Ana", "knows", "Rare"), ("Rare", "knows", "Ben"), ("Ana", "knows", "Busy"), ("Ben", "knows", "Busy")]
        + [("Ana", "knows", "Eva"), ("Eva", "knows", "Ole"), ("Ole", "knows", "Ben")]
        + [("Busy", "knows", f"other {n}") for n in range(5)]
    )
    assert between(connection, "Ana", "Ben") == [
        ["Ana", "Rare", "Ben"],
        ["Ana", "Busy", "Ben"],
        ["Ana", "Eva", "Ole", "Ben"],
    ]
    assert between(connection, "Ana", "Ben", k=1, max_hops=1) == []


def test_what_joins_everything_is_the_last_resort() -> None:
    lists = [("Everything", "lists", f"thing {n}") for n in range(80)]
    connection = graph([*lists, ("thing 1", "needs", "screw"), ("screw", "fits", "nut"), ("nut", "fits", "thing 2")])
    assert between(connection, "thing 1", "thing 2", k=2) == [
        ["thing 1", "screw", "nut", "thing 2"],
        ["thing 1", "Everything", "thing 2"],
    ]
    assert between(connection, "thing 1", "thing 2", k=1, hub_hops=0) == [["thing 1", "Everything", "thing 2"]]
    assert between(connection, "thing 3", "thing 4") == [["thing 3", "Everything", "thing 4"]]
    (path,) = shortest_paths(connection, [id_of(connection, "thing 3")], [id_of(connection, "thing 4")]).paths
    assert path.crowded == 1


def test_a_thing_and_itself_have_a_path_without_hops() -> None:
    connection = graph([("Ana", "knows", "Ben"), ("Ana", "sees", "Ana")])
    (path,) = shortest_paths(connection, [1], [1]).paths
    assert (names(path), path.hops, path.length) == (["Ana"], (), 0)


def test_direction_is_kept_and_parallel_triples_stand_beside_the_best() -> None:
    connection = graph([("Ana", "met", "Ben"), ("Ben", "hired", "Ana"), ("Ben", "paid", "Ana")])
    connection.execute("UPDATE kg_triples SET evidence = 3 WHERE relation = 'hired'")
    ((hop,),) = (path.hops for path in shortest_paths(connection, [1], [2]).paths)
    assert [(j.relation, j.forward) for j in (hop.by, *hop.also)] == [("hired", False), ("met", True), ("paid", False)]
    ((back,),) = (path.hops for path in shortest_paths(connection, [2], [1]).paths)
    assert [(j.relation, j.forward) for j in (back.by, *back.also)] == [("hired", True), ("met", False), ("paid", True)]
    assert hop.evidence is not None
    assert (hop.evidence.quote, hop.evidence.uri, hop.evidence.line) == ("Ben hired Ana.", "graph/notes.md", 2)


def test_each_pair_of_ends_has_its_paths() -> None:
    connection = graph([("a", "r", "x"), ("b", "r", "x"), ("x", "r", "c"), ("a", "r", "c")])
    ids = {name: id_of(connection, name) for name in "abcx"}
    found = shortest_paths(connection, [ids["a"], ids["b"]], [ids["c"], ids["a"]], k=1)
    assert [names(path) for path in found.paths] == [["a"], ["a", "c"], ["b", "x", "a"], ["b", "x", "c"]]


def test_merged_entities_stand_for_each_other() -> None:
    connection = graph([("Robert", "owns", "Heron"), ("Heron", "moors in", "Graz"), ("Bob", "said", "Bob")])
    bob, robert, graz = (id_of(connection, name) for name in ("Bob", "Robert", "Graz"))
    connection.execute("UPDATE kg_entities SET merged_into = ? WHERE id = ?", [robert, bob])
    connection.execute("DELETE FROM kg_triples WHERE head = ?", [bob])
    assert [names(p) for p in shortest_paths(connection, [bob], [graz]).paths] == [["Robert", "Heron", "Graz"]]
    assert [names(p) for p in shortest_paths(connection, [bob, robert], [robert]).paths] == [["Robert"]]


def test_an_id_that_is_none_is_said() -> None:
    with pytest.raises(ValueError, match="no entity with the id 77"):
        shortest_paths(graph([("a", "r", "b")]), [1], [77])


def test_nothing_leads_to_nothing() -> None:
    connection = graph([("a", "r", "b"), ("c", "r", "d")])
    assert between(connection, "a", "d") == []
    assert shortest_paths(connection, [], [1]).paths == ()
    assert shortest_paths(connection, [1], [2], k=0).paths == ()


# -- bounds and conditions -------------------------------------------------------------------------------------------


def chain(n: int) -> list[tuple[str, str, str]]:
    return [(f"n{i}", "r", f"n{i + 1}") for i in range(n)]


def test_an_end_that_stands_alone_is_seen_without_reading_the_rest() -> None:
    connection = graph([("lone", "r", "lonely"), *[(f"n{i}", "r", f"n{j}") for i in range(40) for j in range(i)]])
    read: list[str] = []
    connection.set_trace_callback(read.append)
    assert shortest_paths(connection, [id_of(connection, "lone")], [id_of(connection, "n3")], max_hops=9).paths == ()
    connection.set_trace_callback(None)
    assert sum("kg_triples" in statement for statement in read) <= 2


def test_relations_types_and_documents_narrow_the_graph() -> None:
    connection = graph(
        [("a", "likes", "x"), ("x", "likes", "b"), ("a", "knows", "y"), ("y", "knows", "b")],
        {"a": "Person", "b": "Person", "x": "Place", "y": "Tool"},
    )
    assert between(connection, "a", "b") == [["a", "x", "b"], ["a", "y", "b"]]
    assert between(connection, "a", "b", within=Within(relations=frozenset({"knows"}))) == [["a", "y", "b"]]
    assert between(connection, "a", "b", within=Within(types=frozenset({"Place"}))) == [["a", "x", "b"]]
    assert between(connection, "a", "b", within=Within(types=frozenset({"nope"}))) == []
    add_triples(connection, [("a", "sees", "z"), ("z", "sees", "b")], uri="graph/more.md")
    second = connection.execute("SELECT max(id) FROM kg_documents").fetchone()[0]
    assert between(connection, "a", "b", within=Within(documents=frozenset({second}))) == [["a", "z", "b"]]
    assert between(connection, "a", "b", within=Within(documents=frozenset())) == []


def test_the_sentence_is_one_of_the_scope() -> None:
    connection = graph([("a", "r", "b")])
    add_triples(connection, [("a", "s", "b")], uri="graph/more.md")
    connection.execute("UPDATE kg_evidence SET triple = 1")  # both documents state one triple
    connection.execute("DELETE FROM kg_triples WHERE id = 2")
    for document, quote in ((1, "a r b."), (2, "a s b.")):
        found = shortest_paths(connection, [1], [2], within=Within(documents=frozenset({document})))
        evidence = found.paths[0].hops[0].evidence
        assert evidence is not None
        assert (evidence.quote, evidence.document) == (quote, document)


def test_a_hub_is_read_in_part_and_that_is_said() -> None:
    connection = graph([("hub", "r", f"leaf {n}") for n in range(300)])
    leaves = [id_of(connection, f"leaf {n}") for n in (1, 299)]
    found = shortest_paths(connection, leaves[:1], leaves[1:], limits=Limits(hub=100))
    assert [names(path) for path in found.paths] == [["leaf 1", "hub", "leaf 299"]]
    two = graph([("hub", "r", f"leaf {n}") for n in range(300)] + [("ant", "r", f"leaf {n}") for n in range(200, 300)])
    ends = [id_of(two, "hub")], [id_of(two, "ant")]
    assert not shortest_paths(two, *ends).truncated
    cut = shortest_paths(two, *ends, limits=Limits(hub=50))
    assert cut.truncated


def test_two_hubs_that_are_joined_are_joined_whatever_is_read() -> None:
    many = [("hub", "r", f"leaf {n}") for n in range(60)] + [("knot", "r", f"twig {n}") for n in range(60)]
    connection = graph([*many, ("hub", "z", "knot")])
    found = between(connection, "hub", "knot", limits=Limits(hub=20))
    assert found == [["hub", "knot"]]


def test_the_clock_and_the_number_of_triples_are_bounds() -> None:
    connection = graph(chain(8))
    ends = [id_of(connection, "n0")], [id_of(connection, "n8")]
    assert len(shortest_paths(connection, *ends, max_hops=8).paths) == 1
    for limits in (Limits(seconds=0), Limits(triples=3)):
        found = shortest_paths(connection, *ends, max_hops=8, limits=limits)
        assert (found.paths, found.truncated) == ((), True)


def test_a_hub_of_a_hundred_thousand_is_no_matter() -> None:
    connection = hub()
    assert between(connection, "leaf 0", "leaf 99999", k=3) == [
        ["leaf 0", "hub", "leaf 99999"],
        ["leaf 0", "knot", "hub", "leaf 99999"],
        ["leaf 0", "leaf 1", "hub", "leaf 99999"],
    ]
    assert between(connection, "hub", "leaf 5", k=1) == [["hub", "leaf 5"]]
    (path,) = shortest_path(connection, id_of(connection, "leaf 7"), id_of(connection, "leaf 99999")).paths
    assert names(path) == ["leaf 7", "hub", "leaf 99999"]


@pytest.mark.parametrize("narrowed", [False, True])
@pytest.mark.parametrize("kind", [0, 1, 3, 4])
def test_frontiers_are_read_by_index(narrowed: bool, kind: int) -> None:
    connection = graph(chain(3))
    statements = frontier._statements(narrowed, narrowed, narrowed)
    values = frontier._values(Within(frozenset("r"), frozenset("t"), frozenset({1})), (1,), 10)
    steps = plan(connection, statements[kind], {**values, "nodes": "[1]", "node": 1, "piece": 9})
    assert not any("kg_triples_relation" in step for step in steps), steps
    assert not any("TEMP B-TREE FOR ORDER BY" in step for step in steps if kind > 2), steps
    scans = [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step]
    assert [step for step in scans if "subquery" not in step] == []
    assert not any("AUTOMATIC" in step or "BLOOM" in step for step in steps), steps


def test_hops_and_evidence_are_read_by_index() -> None:
    connection = graph(chain(3))
    for sql, values in (
        (hops.BETWEEN.format(where=hops.STATED), {"pairs": "[[1,2]]", "documents": "[1]"}),
        (hops.EVIDENCE, {"triples": "[1]", "documents": None}),
        (hops.NODES, {"nodes": "[1]"}),
        (paths.KEPT, {"nodes": "[1]"}),
        (frontier.DEGREES, {"nodes": "[1]"}),
    ):
        steps = plan(connection, sql, values)
        assert [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step] == [], steps
        assert not any("AUTOMATIC" in step or "BLOOM" in step for step in steps), steps


def plan(connection: sqlite3.Connection, sql: str, values: dict[str, object]) -> list[str]:
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
