"""Following metapaths: what they lead to, and how, against walking every triple by hand."""

from __future__ import annotations

import itertools

import pytest
from graph_files import add_triples, graph, hub, id_of
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_graphrag.graph import metapath as module
from llm_graphrag.graph import metapath_text
from llm_graphrag.graph.frontier import Limits, Within
from llm_graphrag.graph.metapath import Followed, Relation, follow, known_relations, parse, written

FILMS = [
    ("Night Train", "directed_by", "Lena Holt"),
    ("Old Tram", "directed_by", "Lena Holt"),
    ("Old Tram", "directed_by", "Karl Holt"),
    ("Night Train", "starred_actors", "Ana Petrov"),
    ("Old Tram", "starred_actors", "Ana Petrov"),
    ("Old Tram", "starred_actors", "Ben Stone"),
    ("Old Tram", "written_by", "Karl Holt"),
]


def ends(found: Followed) -> list[tuple[str, int]]:
    return [(end.node.name, end.walks) for end in found.ends]


def walked(found: Followed) -> list[str]:
    return ["/".join(node.name for node in walk.nodes) for walk in found.walks]


# -- reading ---------------------------------------------------------------------------------------------------------


def test_a_metapath_is_read() -> None:
    assert parse(' a / ^b|"c/d"|* ') == (
        (Relation("a"),),
        (Relation("b", False), Relation("c/d"), Relation(None)),
    )
    assert parse(["a/b", "^c | d"]) == ((Relation("a/b"),), (Relation("c", False), Relation("d")))


@given(
    st.lists(
        st.lists(st.tuples(st.text(min_size=1).filter(str.strip), st.booleans()), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_written_is_read_again(steps: list[list[tuple[str, bool]]]) -> None:
    metapath = tuple(tuple(Relation(name, forward) for name, forward in step) for step in steps)
    assert parse(written(metapath)) == metapath


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ([], "empty"),
        ("a//b", "step of the metapath is empty"),
        ("a|", "step of the metapath is empty"),
        ("^", "step of the metapath is empty"),
        ('""', "step of the metapath is empty"),
        ("^*", "both ways already"),
        ('a/"b', "not closed"),
        ("a^b", "double quotes"),
        ("a*", "double quotes"),
        ("/".join("a" * 13), "13 steps"),
    ],
)
def test_what_cannot_be_read_is_said(text: str | list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("*", r"\*")):
        parse(text)


def test_a_step_that_is_no_text_is_said() -> None:
    with pytest.raises(TypeError, match="list of texts"):
        parse([["a"]])  # type: ignore[list-item]


def test_a_relation_that_is_not_there_is_said_with_the_nearest() -> None:
    connection = graph(FILMS)
    with pytest.raises(ValueError, match=r"no relation 'direct_by' in this file\. Did you mean directed_by"):
        follow(connection, [1], "direct_by")
    with pytest.raises(ValueError, match="It has: "):
        follow(connection, [1], "zzzz")
    assert {"directed_by", "starred_actors", "written_by"} <= set(known_relations(connection))


def test_spaces_dashes_and_case_are_equal_unless_the_file_has_both() -> None:
    connection = graph([("a", "directed by", "b"), ("a", "Born-In", "c")])
    assert ends(follow(connection, [1], "Directed_By")) == [("b", 1)]
    assert ends(follow(connection, [1], "born in")) == [("c", 1)]
    both = graph([("a", "made by", "b"), ("a", "made_by", "c")])
    assert ends(follow(both, [1], "made_by")) == [("c", 1)]
    assert ends(follow(both, [1], "made by")) == [("b", 1)]


# -- following -------------------------------------------------------------------------------------------------------


def test_ends_walks_directions_and_sentences() -> None:
    connection = graph(FILMS)
    found = follow(connection, [id_of(connection, "Lena Holt")], "^directed_by/starred_actors")
    assert ends(found) == [("Ana Petrov", 2), ("Ben Stone", 1)]
    assert walked(found) == ["Lena Holt/Night Train/Ana Petrov", "Lena Holt/Old Tram/Ana Petrov",
                             "Lena Holt/Old Tram/Ben Stone"]  # fmt: skip
    (back, on) = found.walks[0].hops
    assert (back.by.relation, back.by.forward, on.by.forward) == ("directed_by", False, True)
    assert back.evidence is not None
    assert (back.evidence.quote, back.evidence.uri, back.evidence.line) == (
        "Night Train directed_by Lena Holt.", "graph/notes.md", 1,
    )  # fmt: skip
    assert not found.truncated


def test_a_walk_does_not_return_to_its_start() -> None:
    connection = graph(FILMS)
    start = [id_of(connection, "Night Train")]
    assert ends(follow(connection, start, "directed_by/^directed_by")) == [("Old Tram", 1)]
    assert ends(follow(connection, start, "directed_by/^directed_by/starred_actors")) == [
        ("Ana Petrov", 1),
        ("Ben Stone", 1),
    ]


def test_simple_visits_nothing_twice() -> None:
    connection = graph([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "b"), ("c", "r", "d"), ("b", "r", "b")])
    assert ends(follow(connection, [1], "r/r/r")) == [("b", 2), ("c", 1), ("d", 1)]
    found = follow(connection, [1], "r/r/r", simple=True)
    assert (ends(found), walked(found)) == ([("d", 1)], ["a/b/c/d"])


def test_choices_and_anything() -> None:
    connection = graph(FILMS)
    start = [id_of(connection, "Old Tram")]
    assert ends(follow(connection, start, "directed_by|written_by")) == [("Karl Holt", 2), ("Lena Holt", 1)]
    assert ends(follow(connection, start, "*")) == [
        ("Karl Holt", 2), ("Ana Petrov", 1), ("Ben Stone", 1), ("Lena Holt", 1),
    ]  # fmt: skip
    assert ends(follow(connection, [id_of(connection, "Ben Stone")], "*/written_by")) == [("Karl Holt", 1)]
    assert ends(follow(connection, start, "directed_by|^directed_by|directed_by")) == [
        ("Karl Holt", 1), ("Lena Holt", 1),
    ]  # fmt: skip


def test_prefixes_and_several_sources_stand_in_order() -> None:
    connection = graph(FILMS)
    sources = [id_of(connection, "Karl Holt"), id_of(connection, "Night Train")]
    found = follow(connection, sources, "^written_by|directed_by/directed_by|starred_actors", prefixes=True)
    assert [(e.source.name, e.steps, e.node.name) for e in found.ends] == [
        ("Karl Holt", 1, "Old Tram"),
        ("Karl Holt", 2, "Ana Petrov"),
        ("Karl Holt", 2, "Ben Stone"),
        ("Karl Holt", 2, "Lena Holt"),
        ("Night Train", 1, "Lena Holt"),
    ]
    assert [len(walk.hops) for walk in found.walks] == [1, 2, 2, 2, 1]


def test_every_end_has_a_walk_before_any_has_two() -> None:
    connection = graph([("a", "r", f"m{n}") for n in range(9)] + [(f"m{n}", "s", "z") for n in range(9)]
                       + [("m0", "s", "y")])  # fmt: skip
    assert walked(follow(connection, [1], "r/s", walks=3)) == ["a/m0/z", "a/m1/z", "a/m0/y"]
    none = follow(connection, [1], "r/s", walks=0)
    assert (ends(none), none.walks) == ([("z", 9), ("y", 1)], ())


def test_merged_sources_and_unknown_ids() -> None:
    connection = graph([*FILMS, ("L. Holt", "said", "nothing")])
    merged, kept = id_of(connection, "L. Holt"), id_of(connection, "Karl Holt")
    connection.execute("UPDATE kg_entities SET merged_into = ? WHERE id = ?", [kept, merged])
    found = follow(connection, [merged, kept], "^written_by")
    assert [(e.source.name, e.node.name) for e in found.ends] == [("Karl Holt", "Old Tram")]
    with pytest.raises(ValueError, match="no entity with the id 999"):
        follow(connection, [999], "written_by")
    assert follow(connection, [], "written_by").ends == ()


def test_documents_and_types_narrow_the_walks() -> None:
    connection = graph(FILMS, {"Night Train": "Film", "Old Tram": "Play"})
    add_triples(connection, [("Lena Holt", "painted", "Karl Holt")], uri="graph/more.md")
    lena = [id_of(connection, "Lena Holt")]
    within = Within(types=frozenset({"Film"}))
    assert ends(follow(connection, lena, "^directed_by/starred_actors", within=within)) == [("Ana Petrov", 1)]
    assert ends(follow(connection, lena, "*", within=Within(documents=frozenset({2})))) == [("Karl Holt", 1)]
    assert ends(follow(connection, lena, "*", within=Within(relations=frozenset({"painted"})))) == [("Karl Holt", 1)]
    assert ends(follow(connection, lena, "*", within=Within(relations=frozenset()))) == []


RELATIONS = st.sampled_from(["r", "s"])
TRIPLES = st.lists(st.tuples(st.integers(0, 6), RELATIONS, st.integers(0, 6)), max_size=16)
STEPS = st.lists(st.sampled_from(["r", "s", "^r", "^s", "*", "r|^s"]), min_size=1, max_size=4)


@given(TRIPLES, STEPS, st.booleans())
@settings(max_examples=50, deadline=None)
def test_it_is_what_walking_by_hand_gives(triples: list[tuple[int, str, int]], steps: list[str], simple: bool) -> None:
    listed = list(dict.fromkeys(triples))
    connection = graph([(f"n{a}", r, f"n{b}") for a, r, b in listed] + [("n0", "t", "n0"), ("x", "r", "x"),
                                                                        ("x", "s", "x")])  # fmt: skip
    every = [*listed, (0, "t", 0)]
    walks: list[list[tuple[int, object]]] = [[(0, None)]]
    for step in steps:
        longer = []
        for walk, (place, (a, r, b)) in itertools.product(walks, enumerate(every)):
            here = walk[-1][0]
            forward = a == here and (step == "*" or r in step.replace("^s", "").replace("^r", "").split("|"))
            backward = b == here and (f"^{r}" in step.split("|") or (step == "*" and a != b))
            longer += [[*walk, (b, (place, True))]] if forward else []
            longer += [[*walk, (a, (place, False))]] if backward else []
        walks = [w for w in longer if w[-1][0] != 0 and not (simple and w[-1][0] in [n for n, _ in w[:-1]])]
    wanted: dict[str, int] = {}
    for walk in walks:
        wanted[f"n{walk[-1][0]}"] = wanted.get(f"n{walk[-1][0]}", 0) + 1
    found = follow(connection, [id_of(connection, "n0")], steps, simple=simple, walks=10_000)
    assert dict(ends(found)) == wanted
    assert sorted(walked(found)) == sorted("/".join(f"n{n}" for n, _ in walk) for walk in walks)
    assert ends(found) == sorted(ends(found), key=lambda end: (-end[1], end[0]))


# -- bounds ----------------------------------------------------------------------------------------------------------


def test_a_hub_and_a_cycle_cost_their_triples_not_their_walks() -> None:
    connection = hub()
    found = follow(connection, [id_of(connection, "hub")], "r", walks=3)
    assert (len(found.ends), len(found.walks), found.truncated) == (100_000, 3, False)
    back = follow(connection, [id_of(connection, "knot")], "r/r/^r/r", walks=2)
    assert (back.ends[0].node.name, back.ends[0].walks) == ("leaf 1", 100_003)
    assert len(back.walks) == 2


def test_bounds_are_said() -> None:
    connection = graph([(f"n{a}", "r", f"n{b}") for a in range(12) for b in range(12)])
    for limits in (Limits(triples=5), Limits(seconds=-1)):
        assert follow(connection, [1], "r/r", limits=limits).truncated
    assert not follow(connection, [1], "/".join("r" * 12), walks=1).truncated
    for triples in (11, 12):  # of the last step
        found = follow(connection, [1], "r", limits=Limits(triples=triples))
        assert (len(found.ends), found.truncated) == (triples - 1, triples < 12)


def test_walking_out_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 50)
    connection = graph([(f"n{a}", "r", f"n{b}") for a in range(9) for b in range(9)])
    assert follow(connection, [1], "r/r/r/r", simple=True).truncated


def test_steps_are_read_by_index() -> None:
    connection = graph(FILMS)
    where = {"where_out": module.DOCUMENT + module.TYPE.format(end="tail"), "where_in": ""}
    for sql in (module.OUT, module.IN, module.ANY):
        values = {"nodes": "[1]", "out": '["r"]', "in": '["r"]', "documents": "[1]", "types": "[]"}
        rows = connection.execute(f"EXPLAIN QUERY PLAN {sql.format(**where)}", values).fetchall()
        steps = [row[3] for row in rows]
        assert [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step] == [], steps
        assert not any("AUTOMATIC" in step or "BLOOM" in step for step in steps), steps
    rows = connection.execute(f"EXPLAIN QUERY PLAN {metapath_text.RELATIONS}").fetchall()
    assert not any("SCAN kg_triples" in row[3] or "SCAN t" in row[3] for row in rows), [row[3] for row in rows]
