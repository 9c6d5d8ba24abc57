"""The metadata block: what is one, what it says, and where."""

from __future__ import annotations

import time

import pytest
import yaml

from llm_graphrag.sources import frontmatter
from llm_graphrag.sources.dialects import PLAIN
from llm_graphrag.sources.markdown import parse_note
from llm_graphrag.sources.note import Note


@pytest.fixture(autouse=True, params=["CSafeLoader", "SafeLoader"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML comes with and without its C part; both must read alike."""
    if not hasattr(yaml, request.param):
        pytest.skip("PyYAML without C")
    monkeypatch.setattr(frontmatter, "_Loader", getattr(yaml, request.param))


def read(text: str) -> Note:
    note = parse_note(text, PLAIN)
    for field in note.fields:
        assert text[field.key_start : field.key_end].strip("'\"") == field.key.rpartition(".")[2]
    return note


def pairs(note: Note) -> list[tuple[str, str]]:
    return [(field.key, field.value) for field in note.fields]


def test_written_text_is_kept_with_its_place() -> None:
    text = "---\nprice: 0.90\nopen: Yes\nat: 12:30:45\nday: 2023-02-30\nnone: ~\nempty:\nquoted: 'a: b'\n---\nBody"
    note = read(text)
    assert pairs(note) == [
        ("price", "0.90"),
        ("open", "Yes"),
        ("at", "12:30:45"),
        ("day", "2023-02-30"),
        ("quoted", "a: b"),
    ]
    assert [text[field.start : field.end] for field in note.fields] == [field.value for field in note.fields]
    assert note.metadata["empty"] is None and note.metadata["price"] == "0.90"
    assert note.frontmatter == (0, text.index("\nBody"))


def test_two_blocks() -> None:
    second = "---\nname: Pottery\nabout: How Lia fires pots\ntags: [clay]\n---\nBody"
    note = read(f"---\nlink: pots\nname: stub\n---\n\n{second}")
    assert pairs(note) == [("link", "pots"), ("name", "Pottery"), ("about", "How Lia fires pots")]
    assert [tag.name for tag in note.tags] == ["clay"]
    assert [(warning.line, warning.message) for warning in note.warnings] == [
        (6, "second metadata block at line 6"),
        (7, "metadata key 'name' at line 7 replaces an earlier one"),
    ]


@pytest.mark.parametrize(
    "text", ["---\ntags:\n- one\n- two\n--\n\nBody [[X]].\n", "---\n", "---", "---\n\nA rule.\n\n---\n"]
)
def test_what_is_no_block_is_body(text: str) -> None:
    note = read(text)
    assert (note.frontmatter, note.fields, note.tags) == (None, (), ())
    unclosed = ["metadata block is not closed by a line '---'; read as text"] if "tags:" in text else []
    assert [warning.message for warning in note.warnings] == unclosed
    assert [link.target for link in note.links] == (["X"] if "[[X]]" in text else [])


def test_unquoted_links_are_one_link_each() -> None:
    text = (
        "---\nwith: [[Left, right, and up]]\nhead: [[Ida]]\nteam: ['[[Bo]]', \"[[Li|L.]]\"]\nodd: [[ [[x]] ]]\n"
        "crew:\n  - [[A, B]]\n  - [[C|c]]\nboth: [[D]], [[E]] and [[F]]\ntext: near [[G]] today\n---\n"
    )
    note = read(text)
    found = [(field.key, [(link.target, link.label) for link in field.links]) for field in note.fields]
    assert found == [
        ("with", [("Left, right, and up", None)]),
        ("head", [("Ida", None)]),
        ("team", [("Bo", None)]),
        ("team", [("Li", "L.")]),
        ("odd", [("x", None)]),
        ("crew", [("A, B", None)]),
        ("crew", [("C", "c")]),
        ("both", [("D", None)]),
        ("both", [("E", None)]),
        ("both", [("F", None)]),
        ("text", [("G", None)]),
    ]
    assert note.fields[-1].value == "near [[G]] today"
    for field in note.fields:
        for link in field.links:
            assert text[link.start : link.end] == f"[[{link.written}]]"
            assert text.count("\n", 0, link.start) == text.count("\n", 0, field.start)


def test_comma_lists_stay_whole() -> None:
    note = read("---\ntitle: Far, away\ncast: Ann Bo, Cy Do\nin: Oslo, Norway\nsold: 1,234\n---\n")
    assert pairs(note) == [("title", "Far, away"), ("cast", "Ann Bo, Cy Do"), ("in", "Oslo, Norway"), ("sold", "1,234")]
    assert note.title == "Far, away"


def test_lists_and_nested_maps() -> None:
    note = read("---\na:\n  b: 1\n  c: [x, y]\nlist:\n- one\n- two\n---\n")
    assert pairs(note) == [("a.b", "1"), ("a.c", "x"), ("a.c", "y"), ("list", "one"), ("list", "two")]
    assert note.metadata == {"a": {"b": "1", "c": ["x", "y"]}, "list": ["one", "two"]}


def test_anchors_are_read_and_tags_refused() -> None:
    note = read("---\na: &x 1\nb: *x\nc: !!python/object:os.system y\nd: !local z\ne: 2\n---\nText\n")
    assert pairs(note) == [("a", "1"), ("b", "1"), ("e", "2")]
    assert [warning.line for warning in note.warnings] == [4, 5]


def test_one_bad_line_costs_one_line() -> None:
    note = read("---\nname: Ada\nnote: see: this\nowner: @ada\ntags: [a, b]\nlist:\n- x\n---\n[[B]]")
    assert pairs(note) == [("name", "Ada"), ("note", "see: this"), ("owner", "@ada"), ("list", "x")]
    assert [tag.name for tag in note.tags] == ["a", "b"]
    assert note.warnings[0].line == 3 and "read line by line" in note.warnings[0].message
    assert [link.target for link in note.links] == ["B"]


def test_tags_and_aliases() -> None:
    text = "---\nTags: '#x, y/z w'\ntag: [p q, '#r']\naliases: 'One, Two'\nalias:\n- Three, Four\n---\n"
    note = read(text)
    assert [tag.name for tag in note.tags] == ["x", "y/z", "w", "p q", "r"]
    assert [alias.name for alias in note.aliases] == ["One", "Two", "Three, Four"]
    assert [text[tag.start : tag.end] for tag in note.tags] == [tag.name for tag in note.tags]
    assert [text[alias.start : alias.end] for alias in note.aliases] == [alias.name for alias in note.aliases]


def test_placeholders_are_no_values() -> None:
    assert pairs(read("---\ndate: {{date}}\nat: <% tp.now() %>\nname: real\n---\n")) == [("name", "real")]


def test_anchors_that_multiply_are_cut_off() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
    began = time.perf_counter()
    note = parse_note(f"---\nl0: &l0 x\n{levels}---\nBody [[X]]", PLAIN)
    assert time.perf_counter() - began < 2
    assert len(note.fields) <= 5000 and any("too many values" in warning.message for warning in note.warnings)
    assert [link.target for link in note.links] == ["X"]


def test_an_anchor_within_itself() -> None:
    assert parse_note("---\na: &a [*a, x]\n---\n", PLAIN).frontmatter is not None
