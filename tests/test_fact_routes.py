"""Routes by name: scoring and paths, what several make together, the type filter, and plugins."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import pluggy
import pytest
from conftest import Run, Vault
from graph_files import graph
from route_compliance import NOTES

from llm_graphrag import plugins
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes import scoring as scoring_module
from llm_graphrag.routes.hits import Hits, Involved, Plan, Proposal
from llm_graphrag.routes.involved import ABOUT, involved
from llm_graphrag.routes.paths import paths
from llm_graphrag.routes.scoring import scoring
from llm_graphrag.routes.search import prepare

hookimpl = pluggy.HookimplMarker("llm_graphrag")
QUESTION = "Where was the director of Night Train born?"


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path_factory.mktemp("notes") / "kb.db", create=True) as kb:
        for name, text in NOTES.items():
            kb.add_text(text.encode("utf-8"), name)
        yield kb


def texts(hits: Sequence[Proposal] | Hits) -> list[str]:
    return [fact.text for hit in hits for fact in hit.facts]


# -- scoring -------------------------------------------------------------------------------------------------------


def test_scoring_finds_the_facts_that_the_question_speaks_of(notes: KnowledgeBase) -> None:
    hits = notes.search(QUESTION, routes=["scoring"])
    assert hits[0].facts[0].text == "Night Train —director→ Lena Holt"
    assert "Lena Holt —born in→ Graz" in texts(hits[:3])
    assert hits[0].reasons == {"scoring": hits[0].score}
    (evidence,) = hits[0].facts[0].evidence
    assert (evidence.quote, evidence.line) == ("director: '[[Lena Holt]]'", 3)


def test_scoring_weighs_distance(notes: KnowledgeBase) -> None:
    plan = prepare(notes.connection, "Night Train and Graz and Lena Holt", vectors=False)
    near = {fact.text: fact.score for hit in scoring(notes.connection, plan, 50) for fact in hit.facts}
    far = prepare(notes.connection, "Kestrel Works, Graz, Lena Holt", vectors=False)
    other = {fact.text: fact.score for hit in scoring(notes.connection, far, 50) for fact in hit.facts}
    assert near["Night Train —director→ Lena Holt"] > other["Night Train —director→ Lena Holt"]


def test_scoring_keeps_few_relations_and_triples() -> None:
    triples = [("Hub", f"relation {n:02}", f"thing {n:02} {m}") for n in range(30) for m in range(10)]
    connection = graph([*triples, ("Hub", "paints", "Canvas")])
    plan = prepare(connection, "What does Hub paint?", vectors=False)
    facts = [fact for hit in scoring(connection, plan, 1_000) for fact in hit.facts]
    assert len(facts) <= scoring_module.TRIPLES
    assert len({fact.text.split("→")[0] for fact in facts}) <= scoring_module.RELATIONS
    assert facts[0].text == "Hub —paints→ Canvas"


def test_scoring_without_names_finds_nothing(notes: KnowledgeBase) -> None:
    assert scoring(notes.connection, prepare(notes.connection, "what is good to eat"), 10) == []


@pytest.mark.parametrize(
    "sql", [scoring_module.NAMED, scoring_module.NEAR, scoring_module.AROUND.format(where=scoring_module.WITHIN), ABOUT]
)
def test_statements_find_rows_by_what_they_are_given(sql: str) -> None:
    connection = graph([("a", "r", "b"), ("b", "r", "c")])
    values = dict.fromkeys("nodes relations documents chunks types attributes".split(), "[1]") | {"limit": 3}
    steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step] == [], steps
    assert not any("AUTOMATIC" in step or "BLOOM" in step or "kg_triples_relation" in step for step in steps), steps


# -- paths ---------------------------------------------------------------------------------------------------------


def test_paths_join_what_is_named(notes: KnowledgeBase) -> None:
    found = texts(paths(notes.connection, prepare(notes.connection, "How are Old Tram and Ana Petrov connected?"), 10))
    assert found[0] == "Old Tram —links to→ Ben Stone —links to→ Ana Petrov"


def test_metapaths_lead_where_the_question_asks(notes: KnowledgeBase) -> None:
    found = texts(paths(notes.connection, prepare(notes.connection, QUESTION), 10))
    assert "Night Train —director→ Lena Holt —born in→ Graz" in found


# -- several, and what is asked wrong ------------------------------------------------------------------------------


def test_several_routes_make_one_ranking(notes: KnowledgeBase) -> None:
    hits = notes.search(QUESTION, routes=["passages", "scoring", "passages"], k=5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(set(hit.reasons) <= {"passages", "scoring"} for hit in hits)
    assert any(len(hit.reasons) == 2 for hit in hits)
    assert all(sum(hit.reasons.values()) == pytest.approx(hit.score, abs=1e-5) for hit in hits)
    assert len(notes.search(QUESTION, routes=["passages", "scoring"], k=2)) == 2
    assert notes.search(QUESTION, routes=["ppr"], k=3) != []


def test_the_usual_ranking_has_no_facts_and_no_notes(notes: KnowledgeBase) -> None:
    hits = notes.search(QUESTION)
    assert (texts(hits), hits.notes) == ([], ())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"routes": ["nope"]}, r"There is no route 'nope'\. There are: entities, passages, paths"),
        ({"routes": ["scoring"], "rerank": "nope"}, r"There is no reranker called 'nope'\. None is installed"),
        ({"routes": ["scoring"], "advanced": True}, "leave --route out"),
    ],
)
def test_what_is_asked_wrong_is_said(notes: KnowledgeBase, options: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        notes.search("Night Train", **options)


# -- the type filter -----------------------------------------------------------------------------------------------


def test_names_of_types_are_resolved(notes: KnowledgeBase) -> None:
    assert involved(notes.connection, ["Person", "born in", "Born-In", "zork", ""]) == (
        Involved(frozenset({"person"}), frozenset({"born_in"})), ("zork", ""),
    )  # fmt: skip
    assert involved(notes.connection, ["zork"]) == (None, ("zork",))
    assert involved(notes.connection, []) == (None, ())


def test_a_filter_narrows_the_usual_ranking_and_says_what_it_does_not_know(notes: KnowledgeBase) -> None:
    every = notes.search("film about a tram in Graz")
    towns = notes.search("film about a tram in Graz", types=["town", "zork"])
    assert {hit.title for hit in towns} < {hit.title for hit in every}
    assert "Graz" in {hit.title for hit in towns}
    assert towns.notes == ("No type, relation or attribute is called 'zork'.",)


def test_a_filter_that_leaves_nothing_is_said(notes: KnowledgeBase) -> None:
    connection = notes.connection
    connection.execute("INSERT INTO kg_counts(kind, item, n) VALUES ('entity_type', 'spaceship', 1)")
    try:
        hits = notes.search("Night Train", routes=["passages", "entities"], types=["spaceship"])
    finally:
        connection.execute("DELETE FROM kg_counts WHERE item = 'spaceship'")
    assert hits == notes.search("Night Train", routes=["passages", "entities"])
    assert hits.notes == tuple(
        f"Route {name} found nothing of the types asked for; it ran without them." for name in ("passages", "entities")
    )


# -- plugins -------------------------------------------------------------------------------------------------------


class Plugin:
    @staticmethod
    @hookimpl
    def register_routes(register) -> None:  # type: ignore[no-untyped-def]
        def last(connection, plan: Plan, k: int, found: Mapping[str, Sequence[Proposal]]):  # type: ignore[no-untyped-def]
            return [Proposal(p.chunk, 1.0 / n) for n, p in enumerate(reversed(found["passages"]), 1)][:k]

        register("last", last)

    @staticmethod
    @hookimpl
    def register_rerankers(register) -> None:  # type: ignore[no-untyped-def]
        register("short", lambda question, sentences: [0.5])
        register("nan", lambda question, sentences: [float("nan")] * len(sentences))
        register("graz", lambda question, sentences: [float("Graz" in sentence) for sentence in sentences])


@pytest.fixture
def plugin() -> Iterator[None]:
    registered = Plugin()
    plugins.manager().register(registered)
    yield
    plugins.manager().unregister(registered)


def test_a_route_of_a_plugin_is_asked_by_name(notes: KnowledgeBase, plugin: None) -> None:
    words = [hit.chunk for hit in notes.search("film", routes=["passages"])]
    assert [hit.chunk for hit in notes.search("film", routes=["last"])] == words[::-1]


def test_a_reranker_rates_the_facts(notes: KnowledgeBase, plugin: None) -> None:
    facts = [fact for hit in notes.search(QUESTION, routes=["scoring"], rerank="graz", k=50) for fact in hit.facts]
    assert {fact.score > 0 for fact in facts} == {True, False}
    assert all((fact.score > 0) == ("Graz" in fact.text + fact.evidence[0].quote) for fact in facts)


@pytest.mark.parametrize("name", ["short", "nan"])
def test_a_reranker_that_is_wrong_is_said(notes: KnowledgeBase, plugin: None, name: str) -> None:
    with pytest.raises(ValueError, match=f"The reranker '{name}' has to give a number for each of"):
        notes.search(QUESTION, routes=["scoring"], rerank=name)


# -- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def filled(run: Run, vault: Vault) -> Run:
    run("add", vault({f"{name}.md": text for name, text in NOTES.items() if "→" not in name}))
    return run


def test_search_prints_the_facts_of_a_passage(filled: Run) -> None:
    lines = filled("search", QUESTION, "--route", "scoring", "-k", "1").output.splitlines()
    assert lines[0] == " 1. vault/Night Train.md:6"
    assert lines[2] == "    Night Train —director→ Lena Holt"
    (hit,) = json.loads(filled("search", QUESTION, "--route", "scoring", "-k", "1", "--json").output)
    assert hit["facts"][0]["text"] == "Night Train —director→ Lena Holt"
    assert hit["facts"][0]["evidence"][0]["uri"] == "vault/Night Train.md"


def test_notes_go_to_standard_error(filled: Run) -> None:
    result = filled("search", "film", "--type", "zork", "--json")
    assert "No type, relation or attribute is called 'zork'." in result.stderr
    assert isinstance(json.loads(result.stdout), list)
    assert "zork" not in filled("search", "film", "--type", "zork", "--no-type-filter").output


def test_a_batch_has_notes_with_its_hits(filled: Run) -> None:
    lines = '{"id": 1, "question": "film"}\n{"id": 2, "question": "zzz"}\n'
    result = filled(
        "search", "--batch", "-", "--route", "scoring", "--route", "passages", "--type", "zork", input=lines
    )
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["hits"] != []
    assert second == {"id": 2, "hits": [], "notes": ["No type, relation or attribute is called 'zork'."]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rerank", "x"], "add --route scoring"),
        (["--explain", "--route", "ppr"], "leave --route out"),
    ],
)
def test_options_that_do_not_go_together(filled: Run, arguments: list[str], said: str) -> None:
    assert said in filled("search", "film", *arguments, exit_code=2).output
