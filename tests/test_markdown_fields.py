"""Inline fields and tasks."""

from __future__ import annotations

import pytest

from llm_graphrag.sources.dialects import LOGSEQ, OBSIDIAN, PLAIN
from llm_graphrag.sources.markdown import parse_note


def fields(text: str) -> list[tuple[str, str]]:
    note = parse_note(text, OBSIDIAN)
    for field in note.fields:
        assert text[field.start : field.end] == field.value
        assert text[field.key_start : field.key_end] == field.key
    return [(field.key, field.value) for field in note.fields]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Score:: 8", [("Score", "8")]),
        ("- Reports to:: Kim\n- **Born**:: 1980\n- _Died:: _ 2001\n- **At::** Oslo", None),
        ("> Source:: a book", [("Source", "a book")]),
        ("1. Step:: mix  ", [("Step", "mix")]),
        ("She is (age:: 50), of [town:: Bergen].", [("age", "50"), ("town", "Bergen")]),
        ("Link:: https://e.invalid/?a=b:c", [("Link", "https://e.invalid/?a=b:c")]),
        ("Größe:: 3 m\n键:: 值", [("Größe", "3 m"), ("键", "值")]),
        ("text\nSecond:: line\nmore", [("Second", "line")]),
        ("[a:: [b](c.md)] [d:: x]", [("a", "[b](c.md)"), ("d", "x")]),
    ],
)
def test_fields(text: str, expected: list[tuple[str, str]] | None) -> None:
    default = [("Reports to", "Kim"), ("Born", "1980"), ("Died", "_ 2001"), ("At", "Oslo")]
    assert fields(text) == (default if expected is None else expected)


@pytest.mark.parametrize(
    "text",
    [
        "std::vector A::b 10::30 ftp://a::b",
        "`Key:: value`",
        "```\nKey:: value\n```",
        "%%\nKey:: value\n%%",
        "Key::",
        "12:: 30",
        "[a :: b](c.md) [[a:: b]]",
        "A sentence, with more: than a key:: x",
        "| Key:: value | x |",
        "[k:: ] (k::v)",
    ],
)
def test_what_is_no_field(text: str) -> None:
    assert fields(text) == []


def test_a_list_of_links_is_one_field_each() -> None:
    text = "with:: [[Ann]], [[Bo, C]] & [[Dee|D.]] and [[E]]\nnear:: [[F]] except [[G]]\nat:: [H](h.md)\n\n[[I]]"
    note = parse_note(text, OBSIDIAN)
    found = [(field.key, field.value, [link.target for link in field.links]) for field in note.fields]
    assert found == [
        ("with", "[[Ann]]", ["Ann"]),
        ("with", "[[Bo, C]]", ["Bo, C"]),
        ("with", "[[Dee|D.]]", ["Dee"]),
        ("with", "[[E]]", ["E"]),
        ("near", "[[F]] except [[G]]", ["F", "G"]),
        ("at", "[H](h.md)", ["h"]),
    ]
    assert [link.target for link in note.links] == ["I"]


def test_fields_of_blocks_in_logseq() -> None:
    note = parse_note("- Item\n  kind:: [[A]]\n\t- Deeper\n\t  kind:: b\n", LOGSEQ)
    assert [(field.key, field.value, field.syntax) for field in note.fields] == [
        ("kind", "[[A]]", "property"),
        ("kind", "b", "property"),
    ]


def test_tasks() -> None:
    text = "- [ ] pay [[Bo]] 📅 2024-02-29 ⏫\n\t* [x] done\n1. [/] half\n> - [>] moved\n- [ ](a.md)\n`- [ ] no`\n"
    note = parse_note(text, PLAIN)
    assert [(task.state, task.due) for task in note.tasks] == [
        (" ", "2024-02-29"),
        ("x", None),
        ("/", None),
        (">", None),
    ]
    assert note.tasks[0].text == "pay [[Bo]] 📅 2024-02-29 ⏫"
    assert text[note.tasks[0].start : note.tasks[0].end] == "[ ] pay [[Bo]] 📅 2024-02-29 ⏫"


def test_callouts_are_quotes() -> None:
    text = "> [!quote]- Kim said\n> I saw [[Bo]].\n\nAfter."
    note = parse_note(text, OBSIDIAN)
    assert [text[start:end] for start, end in note.quotes] == [text[: text.index("\n\n")]]
    assert [link.target for link in note.links] == ["Bo"]
