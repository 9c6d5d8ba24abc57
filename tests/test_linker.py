"""Which entities mentions mean, however they are written."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pluggy
import pytest
from conftest import Run, Vault
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_graphrag import plugins
from llm_graphrag.facts.name_grams import folded
from llm_graphrag.facts.name_match import Mentioned, distance
from llm_graphrag.graph.linker import link, link_texts, nearest_names
from llm_graphrag.graph.mentions import find_mentions
from llm_graphrag.hookspecs import Linker
from llm_graphrag.knowledge_base import KnowledgeBase

NOTES = {
    "Ana Petrov.md": "---\ntype: person\naliases: [Anka]\n---\nAna Petrov lives in Porto.",
    "Kestrel Works.md": "---\ntype: company\n---\nIt builds boats. Ana Petrov works there. So does Ben.",
    "Kestrel Lake.md": "---\ntype: place\n---\nA lake.",
    "World Health Organization.md": "---\ntype: company\n---\nIt meets in Geneva.",
    "NASA.md": "---\ntype: company\n---\nRockets.",
    "Mercury (planet).md": "---\ntype: planet\n---\nHot.",
    "Müller-Straße.md": "A street.",
    "東京タワー.md": "塔です。",
    "Александр Пушкин.md": "Поэт.",
    "Apollo 11.md": "---\ntype: mission\n---\nIt landed.",
    "North Mill.md": "A mill.",
}
SCHEMA = "SELECT id FROM kg_entities WHERE name = ?"


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("linker")
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with KnowledgeBase.in_memory() as kb:
        kb.set(embedding_model="")
        kb.add([folder])
        yield kb


def first(kb: KnowledgeBase, mention: str, **options: object) -> tuple[str, str] | None:
    """(name, method) of what a mention is linked to first."""
    (found,) = kb.link([mention], **options).mentions  # type: ignore[arg-type]
    return (found.candidates[0].name, found.candidates[0].method) if found.candidates else None


@pytest.mark.parametrize(
    ("mention", "wanted"),
    [
        ("ANA petrov", ("Ana Petrov", "exact")),
        ("Anka", ("Ana Petrov", "alias")),
        ("Mercury", ("Mercury (planet)", "qualified")),
        ("WHO", ("World Health Organization", "acronym")),
        ("W.H.O.", ("World Health Organization", "acronym")),
        ("World Health Organization (WHO)", ("World Health Organization", "abbreviation")),
        ("National Aeronautics and Space Administration", ("NASA", "acronym")),
        ("National Aeronautics and Space Administration (NASA)", ("NASA", "abbreviation")),
        ("A. Petrov", ("Ana Petrov", "initials")),
        ("Petrov, Ana", ("Ana Petrov", "trigram")),
        ("Petrov", ("Ana Petrov", "trigram")),
        ("the Kestrel Works", ("Kestrel Works", "trigram")),
        ("Kestral Works", ("Kestrel Works", "edit")),
        ("Works Kestrel", ("Kestrel Works", "trigram")),
        ("KestrelWorks", ("Kestrel Works", "edit")),
        ("muller strasse", ("Müller-Straße", "edit")),
        ("東京タワ", ("東京タワー", "edit")),
        ("Алексадр Пушкин", ("Александр Пушкин", "edit")),
        ("Apollo 11", ("Apollo 11", "exact")),
        ("Apollo 12", None),
        ("South Mill", None),
        ("Zelda Quist", None),
        ("who", None),
    ],
)
def test_a_mention_is_linked(notes: KnowledgeBase, mention: str, wanted: tuple[str, str] | None) -> None:
    assert first(notes, mention) == wanted


def test_methods_are_ordered_by_trust(notes: KnowledgeBase) -> None:
    mentions = ["Ana Petrov", "Anka", "Kestral Works", "A. Petrov", "WHO", "Petrov"]
    scores = [found.candidates[0].score for found in notes.link(mentions).mentions]
    assert scores == sorted(scores, reverse=True)
    assert (scores[0], len(set(scores))) == (1.0, len(scores))


def test_mentions_come_in_order_and_what_is_unknown_is_told(notes: KnowledgeBase) -> None:
    linked = notes.link(["Zelda Quist", "Anka", "", "Zelda Quist", "?!"])
    assert [mention.text for mention in linked.mentions] == ["Zelda Quist", "Anka", "", "Zelda Quist", "?!"]
    assert linked.unlinked == ("Zelda Quist", "", "?!")


def test_no_mentions_give_nothing(notes: KnowledgeBase) -> None:
    linked = notes.link([])
    assert (linked.mentions, linked.unlinked, linked.flat()) == ((), (), [])


@pytest.mark.parametrize(
    ("mentions", "message"),
    [
        (["a", ["b", "c"]], r"mention 2 is no string: \['b', 'c'\] \(list\)"),
        ([None], r"mention 1 is no string: None \(NoneType\)"),
        (["a", 3], r"mention 2 is no string: 3 \(int\)"),
        ("Ana", "not the string 'Ana'; put it into a list"),
    ],
)
def test_only_strings_are_mentions(notes: KnowledgeBase, mentions: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        notes.link(mentions)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 1 or more"),
        ({"min_score": 1.5}, "min_score is from 0 to 1"),
        ({"min_score": float("nan")}, "min_score is from 0 to 1"),
    ],
)
def test_options_that_cannot_be(notes: KnowledgeBase, options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        notes.link(["Ana"], **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="types are a list"):
        notes.link(["Ana"], types="person")


def test_a_repeated_mention_is_looked_up_once(notes: KnowledgeBase) -> None:
    statements: list[str] = []
    notes.connection.set_trace_callback(statements.append)
    notes.link(["Kestral Works"])
    once = len(statements)
    statements.clear()
    notes.link(["Kestral Works"] * 50)
    notes.connection.set_trace_callback(None)
    assert len(statements) == once


def test_exact_names_need_two_statements_and_no_signatures(notes: KnowledgeBase) -> None:
    statements: list[str] = []
    notes.connection.set_trace_callback(statements.append)
    linked = notes.link(["Ana Petrov", "Anka", "Mercury", "NASA"] * 10)
    notes.connection.set_trace_callback(None)
    assert linked.unlinked == ()
    assert len(statements) == 2
    assert not any("kg_name_signatures" in statement for statement in statements)


# -- filters -----------------------------------------------------------------------------


def test_types_are_heeded_before_the_best_are_taken(notes: KnowledgeBase) -> None:
    assert first(notes, "Kestrel", min_score=0.4, k=1) == ("Kestrel Lake", "trigram")
    assert first(notes, "Kestrel", min_score=0.4, k=1, types=["place"]) == ("Kestrel Lake", "trigram")
    assert first(notes, "Kestrel", min_score=0.4, k=1, types=["company"]) == ("Kestrel Works", "trigram")
    assert first(notes, "Kestrel", min_score=0.4, types=[]) is None


def test_where_the_exact_name_is_not_wanted_another_is_found(notes: KnowledgeBase) -> None:
    (lake,) = notes.connection.execute(SCHEMA, ["Kestrel Lake"]).fetchone()
    assert first(notes, "Kestrel Works", allow_ids=[lake], min_score=0.1) == ("Kestrel Lake", "edit")
    assert first(notes, "Kestrel Works", allow_ids=[]) is None
    assert first(notes, "Kestrel Works", allow_ids=[10**9]) is None


words = st.sampled_from("ana ben kestrel works lake mill petrov north apollo 11 tower".split())
names = st.lists(words, min_size=1, max_size=3).map(" ".join)
graphs = st.lists(st.tuples(names, st.sampled_from(["person", "place", ""])), min_size=1, max_size=12)


def graph(entities: list[tuple[str, str]]) -> KnowledgeBase:
    kb = KnowledgeBase.in_memory()
    for name, type_ in dict.fromkeys(entities):
        cursor = kb.connection.execute(
            "INSERT INTO kg_entities(name, type, key, origin) VALUES (?, ?, ?, 'user')", [name, type_, name]
        )
        kb.connection.execute(
            "INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (?, ?, ?, 'name', 'user')",
            [cursor.lastrowid, name, name],
        )
    return kb


@settings(max_examples=60, deadline=None)
@given(graphs, st.lists(st.one_of(names, st.text(max_size=12)), max_size=4), st.integers(1, 4), st.floats(0, 1))
def test_grouped_and_flat_hold_the_same(
    entities: list[tuple[str, str]], mentions: list[str], k: int, min_score: float
) -> None:
    with graph(entities) as kb:
        linked = kb.link(mentions, k, min_score, vectors=False)
    flat = linked.flat()
    assert {c.entity for m in linked.mentions for c in m.candidates} == {c.entity for c in flat}
    assert len({c.entity for c in flat}) == len(flat)
    for candidate in flat:
        assert candidate.score == max(
            c.score for m in linked.mentions for c in m.candidates if c.entity == candidate.entity
        )
    assert [(-c.score, -c.degree, c.entity) for c in flat] == sorted((-c.score, -c.degree, c.entity) for c in flat)
    for mention in linked.mentions:
        assert len(mention.candidates) <= k
        assert all(min_score <= c.score + 1e-4 and 0 <= c.score <= 1 for c in mention.candidates)
    assert [m.text for m in linked.mentions] == [
        m.encode("utf-8", "replace").decode().replace("\0", " ") for m in mentions
    ]


@settings(max_examples=60, deadline=None)
@given(graphs, names, st.integers(1, 3), st.sets(st.integers(1, 12)), st.booleans())
def test_filters_come_before_the_cut(
    entities: list[tuple[str, str]], mention: str, k: int, allowed: set[int], by_type: bool
) -> None:
    """With a filter, the best of those that pass it are found, as if nothing else were there."""
    known = dict.fromkeys(entities)
    if by_type:
        kept = [e for e in known if e[1] == "person"]
        options: dict[str, object] = {"types": ["person"]}
    else:
        kept = [e for number, e in enumerate(known, 1) if number in allowed]
        options = {"allow_ids": allowed}
    with graph(entities) as kb:
        found = kb.link([mention], k, vectors=False, **options)  # type: ignore[arg-type]
    with graph(kept) as kb:
        alone = kb.link([mention], k, vectors=False)
    assert [(c.name, c.type, c.score, c.method) for c in found.flat()] == [
        (c.name, c.type, c.score, c.method) for c in alone.flat()
    ]


def test_ties_go_to_what_is_known_better_then_to_the_first(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"Rane Lake.md": "x", "Rane Hill.md": "x", "a.md": "[[Rane Hill]]", "b.md": "[[Rane Hill]]"})])
    linked = kb.link(["Rane"], min_score=0.4, vectors=False)
    assert [c.name for c in linked.mentions[0].candidates][:2] == ["Rane Hill", "Rane Lake"]
    one, other = (c for c in linked.flat() if c.name.startswith("Rane "))
    assert (one.score, one.degree > other.degree) == (other.score, True)


# -- one of several ---------------------------------------------------------------------------


def test_best_keeps_one_a_mention_but_not_of_a_question(notes: KnowledgeBase) -> None:
    assert len(notes.link(["Kestrel"], min_score=0.4).mentions[0].candidates) == 2
    linked = notes.link(["Kestrel"], min_score=0.4, best=True, texts=["Do Ana Petrov and Ben know Kestrl Works?"])
    assert [(m.text, [c.name for c in m.candidates]) for m in linked.mentions[1:]] == [
        ("Ana Petrov", ["Ana Petrov"]),
        ("Ben", ["Ben"]),
        ("Kestrl Works", ["Kestrel Works", "Kestrel Lake"][: len(linked.mentions[3].candidates)]),
    ]
    assert len(linked.mentions[0].candidates) == 1


def test_a_question_has_its_filters_too(notes: KnowledgeBase) -> None:
    linked = link_texts(notes.connection, ["Does Ana Petrov like NASA?"], types=["person"])
    assert [(m.text, [c.name for c in m.candidates]) for m in linked.mentions] == [
        ("Ana Petrov", ["Ana Petrov"]),
        ("NASA", []),
    ]


def test_what_is_merged_counts_as_what_it_is_merged_into(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"Robert Hale.md": "x", "Bobby Hale.md": "x", "c.md": "[[Bobby Hale]]"})])
    rows = dict(kb.connection.execute("SELECT name, id FROM kg_entities").fetchall())
    kb.connection.execute(
        "UPDATE kg_entities SET merged_into = ? WHERE id = ?", [rows["Robert Hale"], rows["Bobby Hale"]]
    )
    for mention in ("Bobby Hale", "Boby Hale"):
        assert [c.entity for c in kb.link([mention], vectors=False).flat()][:1] == [rows["Robert Hale"]]
        assert [c.entity for c in kb.link([mention], allow_ids=[rows["Bobby Hale"]], vectors=False).flat()] == [
            rows["Robert Hale"]
        ]


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize(
    ("mention", "other"),
    [
        ("Apollo 11", "Apollo 12"),
        ("Elizabeth I", "Elizabeth II"),
        ("ludwig_iii_of_bavaria", "ludwig_ii_of_bavaria"),
        ("Ludwig III of Bavaria", "ludwig_ii_of_bavaria"),
        ("louis xv", "Louis XIV"),
        ("Toy Story 4", "Toy Story"),
        ("Toy Story 4", "Toy Story 2"),
        ("South Mill", "North Mill"),
        ("Henry VII", "Henry VIII"),
        ("World War 1", "World War II"),
    ],
)
def test_what_tells_names_apart_does_so_by_every_method(mention: str, other: str, vectors: bool) -> None:
    with KnowledgeBase.in_memory() as kb:
        kb.add_text(f"[[{other}]] stands here.".encode(), "note")
        kb.embed()
        assert kb.link([mention], vectors=vectors).flat() == []
        assert [(c.name, c.score) for c in kb.link([other], vectors=vectors).flat()] == [(other, 1.0)]


@pytest.mark.parametrize(
    ("mention", "other"),
    [("World War 2", "World War II"), ("Elizabeth", "Elizabeth II"), ("Ana V. Ruiz", "Ana Ruiz"),
     ("henry_viii", "Henry VIII"), ("2nd World War", "Second World War"), ("Windws 95", "Windows 95")],
)  # fmt: skip
def test_the_same_number_tells_nothing_apart(mention: str, other: str) -> None:
    with KnowledgeBase.in_memory() as kb:
        kb.add_text(f"[[{other}]] stands here.".encode(), "note")
        assert [c.name for c in kb.link([mention], vectors=False).flat()] == [other]


@pytest.mark.parametrize("text", ["who is anka", "does ana petrov sail", "where is the kestrel lake"])
def test_a_question_shows_the_names_that_search_goes_by(notes: KnowledgeBase, text: str) -> None:
    linked = link_texts(notes.connection, [text], vectors=False)
    named = find_mentions(notes.connection, text, alike=True)
    assert [(m.text, [(c.entity, c.score) for c in m.candidates]) for m in linked.mentions] == [
        (m.text, [(c.entity, c.score) for c in m.candidates]) for m in named
    ]
    assert len(linked.flat()) == 1
    strict = link_texts(notes.connection, [text], min_score=0.99, vectors=False)
    assert strict.unlinked == tuple(m.text for m in named)


# -- vectors and plugins -----------------------------------------------------------------------


def test_what_nothing_is_spelled_like_may_be_near_in_meaning(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"Physician.md": "---\ntype: job\n---\nx", "Sailing boat.md": "x"})])
    with_vectors, without = (kb.link(["medical doctor"], min_score=0.3, vectors=v).flat() for v in (True, False))
    assert without == []
    assert all(c.method == "vector" for c in with_vectors)
    assert [c.method for c in kb.link(["Physicain"]).flat()] == ["edit"]


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A plugin whose linker gives what the test sets."""
    hookimpl = pluggy.HookimplMarker("llm_graphrag")
    state = SimpleNamespace(gives=[], asked=[])

    class Plugin:
        @hookimpl
        def register_linkers(self, register) -> None:  # type: ignore[no-untyped-def]
            def nicknames(connection: sqlite3.Connection, mention: str) -> Iterator[tuple[int, float]]:
                state.asked.append(mention)
                yield from state.gives

            linker: Linker = nicknames
            register("nickname", linker)

    registered = Plugin()
    plugins.manager().register(registered)
    yield state
    plugins.manager().unregister(registered)


def test_a_plugin_links_what_no_name_fits(notes: KnowledgeBase, plugin: SimpleNamespace) -> None:
    (ana,) = notes.connection.execute(SCHEMA, ["Ana Petrov"]).fetchone()
    (lake,) = notes.connection.execute(SCHEMA, ["Kestrel Lake"]).fetchone()
    plugin.gives = [(10**9, 1.0), (lake, 0.9), (ana, 0.8)]
    assert [(c.name, c.score, c.method) for c in notes.link(["the boss", "NASA"]).flat()] == [
        ("NASA", 1.0, "exact"),
        ("Kestrel Lake", 0.9, "nickname"),
        ("Ana Petrov", 0.8, "nickname"),
    ]
    assert plugin.asked == ["the boss"]
    assert first(notes, "the boss", types=["person"], k=1) == ("Ana Petrov", "nickname")


@pytest.mark.parametrize("gives", [(1, 7.0), (1, float("nan")), ("1", 0.5), None, (1,)])
def test_a_plugin_that_gives_nonsense_is_named(notes: KnowledgeBase, plugin: SimpleNamespace, gives: object) -> None:
    plugin.gives = [gives]
    with pytest.raises(ValueError, match=r"The linker 'nickname' gave .* for 'the boss'"):
        notes.link(["the boss"])


# -- hostile and long ------------------------------------------------------------------------------

HOSTILE = [
    *[
        "",
        " ",
        "\x00",
        "\x1b[31mAna",
        "a->b",
        "<b>x</b>",
        "%_%",
        "../..",
        '"',
        "'; DROP TABLE kg_entities; --",
        "\ud800",
    ],
    *["\u202eAna", "(" * 300, "🙂", "ﷺ", "a" * 10_000, "Ana Petrov " * 900, "العربية", "한국어", "१२", "((x)"],
]


@pytest.mark.parametrize("mention", HOSTILE, ids=range(len(HOSTILE)))
def test_any_mention_may_come(notes: KnowledgeBase, mention: str) -> None:
    began = time.process_time()
    linked = notes.link([mention], min_score=0.0)
    assert time.process_time() - began < 2
    assert len(linked.mentions) == 1
    assert json.dumps([c.name for c in linked.flat()])
    assert isinstance(nearest_names(notes.connection, mention), list)


def test_hostile_names_are_linked_like_others(kb: KnowledgeBase, vault: Vault) -> None:
    names = ["A → B", "<script>alert(1)<script>", "100% real", "x" * 200, "C++", "a'b\"c"]
    text = "\n".join(f"- [[{name}]]" for name in names)
    kb.add([vault({"note.md": text})])
    for name in names:
        linked = kb.link([name], vectors=False)
        assert [c.method for c in linked.flat()[:1]] == ["exact"], name


def test_names_are_offered(notes: KnowledgeBase) -> None:
    assert nearest_names(notes.connection, "Ana Petrof") == ["Ana Petrov"]
    assert nearest_names(notes.connection, "Kestrel Wroks")[0] == "Kestrel Works"
    assert nearest_names(notes.connection, "Kestrel", 1) == nearest_names(notes.connection, "Kestrel")[:1] != []
    assert nearest_names(notes.connection, "?") == []


# -- letters -----------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.text("abc ", max_size=9), st.text("abc ", max_size=9))
def test_letters_that_differ_are_counted_as_they_are_everywhere(one: str, other: str) -> None:
    from llm_graphrag.facts.likeness import edits

    assert distance(one, other) == edits(one, other, 99)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_scores_are_odds(one: str, other: str) -> None:
    (match,) = Mentioned(one).matches([(other, "")])
    assert 0 <= match.score <= 0.94
    if folded(one) == folded(other) != "":
        assert match.score > 0.5 or any(c.isdigit() for c in one + other)


# -- the command -------------------------------------------------------------------------------------


@pytest.fixture
def filled(run: Run, vault: Vault) -> Run:
    run("add", vault(NOTES))
    return run


def test_the_command_shows_what_names_mean(filled: Run) -> None:
    lines = filled("link", "Kestral Works", "Anka", "Zelda Quist", "--no-vectors").stdout.splitlines()
    assert lines[0] == "Kestral Works"
    assert lines[1].startswith("  0.92  Kestrel Works (company)  edit  #")
    assert lines[3].startswith("  0.95  Ana Petrov (person)  alias  #")
    assert lines[4] == "Zelda Quist  not linked"


def test_the_command_reads_names_and_questions(filled: Run) -> None:
    output = filled("link", "-", "--flat", "--no-vectors", input="Anka\n\nZelda Quist\nNASA\n").stdout
    assert [line.split("  ")[1] for line in output.splitlines()[:-1]] == ["NASA (company)", "Ana Petrov (person)"]
    assert output.endswith("Not linked: Zelda Quist\n")
    output = filled("link", "--question", "Does Anka like Kestrl Works?", "--no-vectors").stdout
    assert "Ana Petrov" in output
    assert "Kestrel Works" in output


def test_the_command_prints_json(filled: Run) -> None:
    grouped = json.loads(
        filled("link", "Kestrel", "?", "--json", "--min-score", "0.4", "--best", "--no-vectors").stdout
    )
    assert [(m["text"], len(m["candidates"])) for m in grouped["mentions"]] == [("Kestrel", 1), ("?", 0)]
    assert grouped["unlinked"] == ["?"]
    flat = json.loads(filled("link", "Kestrel", "--json", "--min-score", "0.4", "--flat", "--no-vectors").stdout)
    assert [c["name"] for c in flat] == sorted(c["name"] for c in flat)
    assert {"entity", "name", "score", "method", "type"} <= flat[0].keys()


def test_a_question_tells_how_many_facts_there_are(run: Run, vault: Vault) -> None:
    run("add", vault({"Ana Petrov.md": "Knows [[Old Mill]]."}))
    for arguments in (["Ana Petrov"], ["--question", "Who is Ana Petrov?"]):
        (found,) = json.loads(run("link", *arguments, "--json", "--flat", "--no-vectors").stdout)
        assert (found["name"], found["facts"]) == ("Ana Petrov", 1)


def test_mistakes_are_said_in_one_line(filled: Run) -> None:
    assert "not linked" in filled("link", "Zelda \x1b[31mQuist", exit_code=1, input="").stdout
    assert "\x1b" not in filled("link", "Zelda \x1b[31mQuist", exit_code=1).stdout
    said = filled("link", "x", "--type", "persn", exit_code=2).stderr
    assert "Nothing is of the type 'persn'. Types here: company, mission, person, place, planet." in said
    assert "--best is for names" in filled("link", "x", "--best", "--question", exit_code=2).stderr
    assert "'--min-score': 'nan' is not a number." in filled("link", "x", "--min-score", "nan", exit_code=2).stderr
    assert filled("link", "-", input="", exit_code=1).stdout == "Nothing is named there.\n"


def test_a_question_with_a_misspelled_name_finds_the_note(kb: KnowledgeBase, vault: Vault) -> None:
    from llm_graphrag.graph.mentions import find_mentions

    kb.add([vault(NOTES)])
    question = "Where does Ana Petrof live?"
    assert [m.candidates for m in find_mentions(kb.connection, question)] == [()]
    ((candidate,),) = (m.candidates for m in find_mentions(kb.connection, question, alike=True))
    assert (candidate.name, candidate.method) == ("Ana Petrov", "edit")
    assert link(kb.connection, ["Ana Petrof"], vectors=False).flat() == [candidate]
