"""HTML becomes Markdown that reads as the page does, and is stored and quoted as such."""

from __future__ import annotations

import pytest
from conftest import Run, Vault
from source_files import texts, titles

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources.html import convert_html, html_to_markdown

PAGE = """<!doctype html><html><head><title> Harbour &amp;  Clock </title><style>p { color: red }</style>
<script>var secret = "Ben";</script></head><body><nav><a href="/">Home</a></nav>
<h1>The clock</h1><p>Ana <b>Ruiz</b> repaired the <a href="tower.html">clock_tower</a> &amp; rang it.</p>
<ul><li>first<li>second</ul><form><button>Buy</button></form></body></html>"""


def test_a_page_as_it_reads() -> None:
    converted = convert_html(PAGE.encode())
    assert converted.warnings == ()
    assert converted.text == (
        '---\ntitle: "Harbour & Clock"\n---\n\n# The clock\n\n'
        "Ana **Ruiz** repaired the [clock_tower](tower.html) & rang it.\n\n- first\n- second\n"
    )


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p>a &lt;b&gt; c</p>", "a &lt;b> c\n"),
        ("<p># not a heading</p>", "\\# not a heading\n"),
        ('<p>x <a href="javascript:alert(1)">open</a></p>', "x [open]\n"),
        ('<p>x <img src="a.png" alt="the tower"> y</p>', "x the tower y\n"),
        ("<pre>a_b &amp; c\n  d</pre>", "```\na_b & c\n  d\n```\n"),
        ("<p>unclosed <i>tag", "unclosed *tag*\n"),
        (
            "<table><tr><th>Name<th>Town</tr><tr><td>Ana | Ben<td>Porto</tr><tr><td>Eva</table>",
            "| Name | Town |\n| --- | --- |\n| Ana \\| Ben | Porto |\n| Eva |  |\n",
        ),
        ("<table><tr><td><table><tr><td>left<td>right</table></table>", "| left | right |\n| --- | --- |\n"),
        ("<table><tr><td>only a frame</td></tr></table>", "only a frame\n"),
        ("<div>" * 3000 + "deep", "deep\n"),
    ],
)
def test_pieces(html: str, markdown: str) -> None:
    assert html_to_markdown(html) == markdown


@pytest.mark.parametrize(
    ("data", "word", "warnings"),
    [
        ("<p>Größe</p>".encode(), "Größe", ()),
        ("<p>Größe</p>".encode("utf-8-sig"), "Größe", ()),
        ("<p>Größe</p>".encode("utf-16"), "Größe", ()),
        ('<meta charset="iso-8859-2"><p>Łódź</p>'.encode("iso-8859-2"), "Łódź", ("not UTF-8, read as iso-8859-2",)),
    ],
)
def test_encodings(data: bytes, word: str, warnings: tuple[str, ...]) -> None:
    converted = convert_html(data)
    assert converted.text.strip() == word
    assert converted.warnings == warnings


def test_a_page_in_a_folder(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"clock.html": PAGE, "note.md": "See Harbour & Clock and [[clock.html]].", "empty.htm": "<p> </p>"})
    report = kb.add([folder])
    assert (report.new, [(r.path, r.message) for r in report.skipped]) == (2, [("empty.htm", "there is no text in it")])
    assert titles(kb) == {"vault/clock.html": "Harbour & Clock", "vault/note.md": "note"}
    assert texts(kb)["vault/clock.html"] == convert_html(PAGE.encode()).text
    assert kb.check() == []
    again = kb.add([folder])
    assert (again.unchanged, again.written) == (2, 0)
    quote = kb.search("who rang the clock tower?")[0]
    assert quote.uri == "vault/clock.html"


def test_through_standard_input(run: Run, kb: KnowledgeBase) -> None:
    result = run("add", "-", "--name", "page.html", "-d", kb.path, input=PAGE)
    assert "1 new" in result.stdout
    assert titles(kb) == {"stdin/page.html": "Harbour & Clock"}
