"""Links, tags, headings and code of a Markdown note, and what no text may do to the parser."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llm_graphrag.sources.dialects import DENDRON, DIALECTS, FOAM, LOGSEQ, OBSIDIAN, PLAIN, Dialect
from llm_graphrag.sources.markdown import parse_note
from llm_graphrag.sources.note import Link, Note


def links(text: str, dialect: Dialect = PLAIN) -> list[Link]:
    found = list(parse_note(text, dialect).links)
    for link in found:
        assert link.written in text[link.start : link.end] or link.syntax == "markdown"
    return found


def targets(text: str, dialect: Dialect = PLAIN) -> list[str]:
    return [link.target for link in links(text, dialect)]


def test_parts_of_a_wikilink() -> None:
    text = "See [[Trips/Rome#Food#Ice|the ice]], ![[Rome#^b1]] and [[Rome.md]]."
    first, second, third = links(text)
    assert (first.target, first.heading, first.label, first.syntax) == ("Trips/Rome", "Food#Ice", "the ice", "wikilink")
    assert text[first.start : first.end] == "[[Trips/Rome#Food#Ice|the ice]]"
    assert (second.target, second.block, second.heading, second.syntax) == ("Rome", "b1", None, "embed")
    assert (third.target, third.written) == ("Rome", "Rome.md")


def test_dots_belong_to_the_name() -> None:
    text = "[[plants.fern_tall]] [[v1.2]] [[Dr. Moss]] [[Node.js]] [[config.edn]] ![[map.png]] [[scan.PDF#page=2]]"
    assert targets(text) == ["plants.fern_tall", "v1.2", "Dr. Moss", "Node.js", "config.edn"]
    assert parse_note(text, PLAIN).attachments == 2


def test_percent_signs_are_decoded_once_and_never_raise() -> None:
    assert targets("[[50% off]] [a](x%20y.md) [b](x%2520y.md) [c](%zz.md) [d](%ff.md) [e](a%00b.md)") == [
        "50% off",
        "x y",
        "x%20y",
        "%zz",
        "\ufffd",
        "a%00b",
    ]


def test_number_sign_in_a_name() -> None:
    found = links("[[F# notes]] [m](F%23%20notes.md) [[F#]] [[F# notes#part]]")
    assert [(link.target, link.heading, link.written) for link in found] == [
        ("F", " notes", "F# notes"),
        ("F# notes", None, "F%23%20notes.md"),
        ("F#", None, "F#"),
        ("F", " notes#part", "F# notes#part"),
    ]


def test_double_colon_in_a_link_is_no_field() -> None:
    note = parse_note("- [Ship :: Yard](https://example.invalid/a::b/c)\n- [[a :: b]]\n", PLAIN)
    assert (note.external_links, note.fields) == (1, ())
    assert [link.target for link in note.links] == ["a :: b"]


def test_embeds_keep_their_sections() -> None:
    found = links("![[Tour#Day 1]]\n![[Tour#Day 2]]\n![[Tour#Day 1]]\n")
    assert [(link.target, link.heading, link.syntax) for link in found] == [
        ("Tour", "Day 1", "embed"),
        ("Tour", "Day 2", "embed"),
        ("Tour", "Day 1", "embed"),
    ]


def test_markdown_links() -> None:
    text = (
        "[a](one.md) [b](<two words.md#Part%201> 'title') [c](three) [d](pic.png) [e](#here) [f](https://e.invalid)\n"
        "[g](mailto:x@e.invalid) [h](data.csv) ![i](four.md) [j](dir/) [k]() [l](five_(x).md) [m [n]](six.md)\n"
    )
    found = [(link.target, link.heading, link.label, link.syntax) for link in links(text)]
    assert found == [
        ("one", None, "a", "markdown"),
        ("two words", "Part 1", "b", "markdown"),
        ("three", None, "c", "markdown"),
        ("four", None, None, "embed"),
        ("five_(x)", None, "l", "markdown"),
        ("six", None, "m [n]", "markdown"),
    ]
    assert parse_note(text, PLAIN).external_links == 2


def test_reference_links() -> None:
    text = "[One][a], [two][], [Three] and [four].\n\n[a]: one.md\n[two]: <2 two.md> 'T'\n[three]: https://e.invalid\n"
    assert [(link.target, link.label) for link in links(text)] == [("one", "One"), ("2 two", "two")]
    assert parse_note(text, PLAIN).external_links == 1


def test_definitions_of_foam_are_not_counted_again() -> None:
    assert targets("Use [[my-note]].\n\n[my-note]: my-note.md 'My note'\n", FOAM) == ["my-note"]


def test_footnotes_are_text() -> None:
    assert targets("A claim[^1] and ^[see [[B]]].\n\n[^1]: Says [[C]].\n\n[^2]: [[D]]\n") == ["B", "C", "D"]


@pytest.mark.parametrize(
    "text",
    [
        "`[[x]]` ``a ` [[x]]``",
        "```\n[[x]]\n```",
        "````md\n```\n[[x]]\n```\n````",
        "> ```\n> [[x]]\n> ```",
        "text\n\n    [[x]]\n",
        "a <!-- [[x]]\n\n[[x]] --> b",
        "%%\n\n[[x]]\n\n%%",
        "a %%[[x]]%% b",
        "$[[x]]$ $$\n[[x]]\n$$",
        "<% [[x]] %> {{ [[x]] }} [[{{x}}]] [[<% x %>]]",
        "<code>[[x]]</code>",
        "[[]] [[ ]] [[|x]] [[#h]] [[^b]] \\[[x]] [[x\ny]]",
        "[[https://e.invalid]] <https://e.invalid> https://e.invalid/[[",
    ],
)
def test_what_is_no_link(text: str) -> None:
    assert targets(text) == []


def test_what_is_a_link_all_the_same() -> None:
    assert targets("It cost $5, [[A]] $6. 100%% of [[B]] `[[C]] <!-- [[D]] $$ [[E]] {{ [[F]]") == list("ABCDEF")
    assert targets("<div>\n[[G]]\n</div>\n\n<details><summary>[[H]]</summary></details>") == ["G", "H"]
    assert targets("| a | b |\n|---|---|\n| [[I\\|i]] | [[J]] |\n\n> - **[[K]]** ==[[L]]==") == list("IJKL")
    assert targets("[[a [b] c]] [[[M]]] [see [[N]]](o.md)") == ["a [b] c", "M", "o", "N"]


def test_dendron() -> None:
    text = "[[the label|plants.fern#leaf,1:#*]] ![[dendron://vault/moss]] [[|oak]] #area.topic. @kim.lee, a@b.c"
    found = links(text, DENDRON)
    assert [(link.target, link.heading, link.label, link.syntax) for link in found] == [
        ("plants.fern", "leaf", "the label", "wikilink"),
        ("moss", None, None, "embed"),
        ("oak", None, None, "wikilink"),
        ("user.kim.lee", None, None, "user"),
    ]
    assert [tag.name for tag in parse_note(text, DENDRON).tags] == ["area.topic"]


def test_logseq() -> None:
    identifier = "63bc6201-53b1-47a4-834f-83934b69ad49"
    text = (
        f"type:: [[Tool]]\nalias:: one, two\ntags:: x, [[y z]]\n\n- See (({identifier})) {{{{embed [[A]]}}}} "
        "{{query [[B]]}}\n\t\t- #[[multi word]] [[C]]\n\t- #+BEGIN_SRC\n\t  [[D]]\n\t  #+END_SRC\n- TODO mend [[E]]\n"
        "  DEADLINE: <2024-05-01 Wed>\n"
    )
    note = parse_note(text, LOGSEQ)
    assert [(link.target, link.syntax) for link in note.links] == [
        (identifier, "block"),
        ("A", "embed"),
        ("C", "wikilink"),
        ("E", "wikilink"),
    ]
    assert [(field.key, field.syntax, [link.target for link in field.links]) for field in note.fields] == [
        ("type", "property", ["Tool"])
    ]
    assert [tag.name for tag in note.tags] == ["x", "y z", "multi word"]
    assert [alias.name for alias in note.aliases] == ["one", "two"]
    assert [(task.state, task.text, task.due) for task in note.tasks] == [("TODO", "mend [[E]]", "2024-05-01")]


def test_org() -> None:
    text = (
        "#+TITLE: Garden\n* TODO Dig :soil:work:\n:PROPERTIES:\n:ID: 1\n:owner: [[file:kim.org][Kim]]\n:END:\n"
        "[[file:oak.org::*Bark][the oak]] [[Moss]] [[id:2][x]] [[https://e.invalid][y]] =[[no]]=\n"
        "#+begin_src\n[[no]]\n#+end_src\n"
    )
    note = parse_note(text, LOGSEQ, "garden.org")
    assert (note.title, [heading.text for heading in note.headings]) == ("Garden", ["Dig"])
    assert [(link.target, link.heading, link.label) for link in note.links] == [
        ("oak", "Bark", "the oak"),
        ("Moss", None, None),
    ]
    assert [(field.key, field.links[0].target) for field in note.fields] == [("owner", "kim")]
    assert [tag.name for tag in note.tags] == ["soil", "work"]
    assert [task.state for task in note.tasks] == ["TODO"] and note.external_links == 1


def test_headings_and_title() -> None:
    text = "Intro\n===\n\n# Big *plan* [[A|for A]] #\n\n> ## Quoted\n\n- ### In a list\n\n"
    text += "Two\nlines\n---\n\n    # code\n\n##\n"
    note = parse_note(text, PLAIN)
    assert [(heading.level, heading.text) for heading in note.headings] == [
        (1, "Intro"),
        (1, "Big plan for A"),
        (2, "Quoted"),
        (3, "In a list"),
        (2, "Two lines"),
    ]
    assert text[note.headings[1].start : note.headings[1].end] == "# Big *plan* [[A|for A]] #"
    assert text[note.headings[4].start : note.headings[4].end] == "Two\nlines\n---"
    assert note.title == "Intro"


def test_tags() -> None:
    text = "#one/two (#three) *#four* #日本 #42 a#b &#39; [x](y#z.md) https://e.invalid/#no # no\n\n`#no` #five-5, #🍀"
    note = parse_note(text, PLAIN)
    assert [tag.name for tag in note.tags] == ["one/two", "three", "four", "日本", "five-5", "🍀"]
    assert all(text[tag.start : tag.end] == f"#{tag.name}" for tag in note.tags)


def test_spans_behind_frontmatter_and_wide_characters() -> None:
    text = "---\na: 1\n---\n\n🍀🍀 é [[Ünï]]\n\n> 🍀 [[B]]\n"
    assert [text[link.start : link.end] for link in links(text)] == ["[[Ünï]]", "[[B]]"]


FRAGMENTS = [
    *"[[ ]] [ ] ( ) ![[ | # ` $ $$ %% <!-- --> :: {{ }} <% %> a key x.md \\ @u https://e.x [[a]] <a> <code> ((".split(),
    "</code>",
    *(
        "\n",
        "\n\n",
        ":: ",
        "```\n",
        "---\n",
        "===\n",
        "- ",
        "> ",
        "| ",
        "\t",
        "    ",
        "[ ] ",
        "TODO ",
        "tags: ",
        "'",
        '"',
    ),
    *("&x ", "*x", "!!t ", "[^1]: ", "[a]: b\n", "(k:: v)", "* h :t:\n", ":PROPERTIES:\n", ":END:\n", "alias:: a\n"),
    *("😀", "\u2028", "\x0c"),
]


def check(note: Note, text: str) -> None:
    """Every span lies in the text and holds what is claimed of it."""
    items = [*note.links, *note.fields, *note.tags, *note.aliases, *note.headings, *note.tasks]
    items += [link for field in note.fields for link in field.links]
    for item in items:
        assert 0 <= item.start < item.end <= len(text)
    for link in [*note.links, *(link for field in note.fields for link in field.links)]:
        if link.syntax in ("wikilink", "embed", "org", "user") and "(" not in text[link.start : link.end]:
            assert link.written in text[link.start : link.end] or "[" in text
    for field in note.fields:
        assert 0 <= field.key_start < field.key_end <= len(text)
        if field.syntax != "frontmatter":
            assert text[field.start : field.end] == field.value == field.value.strip() != ""
            assert field.key == " ".join(text[field.key_start : field.key_end].split())
            assert all(field.start <= link.start and link.end <= field.end for link in field.links)
    for tag in note.tags:
        assert tag.name in text[tag.start : tag.end]
    for task in note.tasks:
        assert task.state in text[task.start : task.end] and task.text in text[task.start : task.end]
    for start, end in [*note.code, *note.quotes, *([note.frontmatter] if note.frontmatter else [])]:
        assert 0 <= start <= end <= len(text)
    for one, two in pairwise(note.code):
        assert one[1] <= two[0]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join), st.sampled_from(sorted(DIALECTS)))
@example("---\na: [[x]]\n", "plain")
def test_any_mixture_of_markup_is_read(text: str, name: str) -> None:
    check(parse_note(text, DIALECTS[name]), text)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\r\0"), max_size=200))
def test_any_text_is_read(text: str) -> None:
    check(parse_note(text, OBSIDIAN), text)
    check(parse_note(f"---\n{text}\n---\n", OBSIDIAN), f"---\n{text}\n---\n")


N = 100_000
M = 25_000
HOSTILE = {
    "wikilinks": "[[" * N, "dollars": "$" * N, "brackets": "[" * N + "]" * N, "quotes": ">" * N, "hashes": "#" * N,
    "lists": "- " * 20_000, "line": "word [[A]] " * N, "braces": "{{" * N, "escapes": "\\" * N, "comments": "<!--" * N,
    "nested": "\n".join("  " * level + "- x" for level in range(1000)), "spaces": "[a](" + " " * N,
    "quoted": "\n".join(">" * level + " x" for level in range(1000)), "colons": "a::" * N, "pairs": "$x " * M,
    "labels": "[" * M + "](a)" * M, "images": "![" * M + "](a.md)" * M, "fields": "[k:: " * M + "]" * M,
    "rounds": "(k:: " * M + ")" * M, "ticks": "".join("`" * n + " " for n in range(1, 600)), "percents": "a %% " * M,
    "templates": "<%" * M, "tags": "<a " * M, "code": "<code>" * M, "titles": '[a](b "' * M,
    "references": "[a]: b\n\n" + "[" * M + "]" * M, "separators": "k:: [[a]]" + " ," * M,
    "yaml": "---\na: " + "[" * M + "\n---\n", "yaml maps": "---\na: " + "{a: " * M + "\n---\n",
    "yaml keys": "---\n" + "a: 1\n" * 2000 + "---\n", "rule": "---\n" * 20_000, "emphasis": "# " + "*_" * M,
    "org": "* a\n:PROPERTIES:\n" * M, "table": "|a" * M + "\n" + "|-" * M, "keys": "a " * M + ":: b",
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_takes_linear_time(kind: str) -> None:
    text = HOSTILE[kind]
    for dialect in (OBSIDIAN, LOGSEQ):
        began = time.process_time()
        note = parse_note(text, dialect)
        assert time.process_time() - began < 2
        assert note.text == text
