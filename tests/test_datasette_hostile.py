"""Hostile names are text in every field (case 111), whatever is typed is searched (099), nothing leaks (118)."""

from __future__ import annotations

import html as html_entities
import re
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote_plus

import pytest
import pytest_asyncio
from datasette.app import Datasette
from datasette_helpers import Shelf, serve, shut

from datasette_graphrag import markup
from datasette_graphrag.document_queries import Naming, Passage, Statement
from datasette_graphrag.records import DocumentRef, EntityRef
from datasette_graphrag.urls import Links

pytestmark = pytest.mark.datasette

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[go](javascript:alert(1))",
    '<a href="javascript:alert(1)">x</a>', "</script><script>alert(1)</script>", "{{7*7}}", "{% debug %}",
    "javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "' onmouseover='alert(1)",
    '" onmouseover="alert(1)', "<svg/onload=alert(1)>", "&lt;b&gt;", "\\u003cscript\\u003e",
    "<style>*{display:none}</style>", "<iframe src=//tracker.example>", "| a | b |",
    "![x](http://tracker.example/t.png)", "</title><script>alert(1)</script>", "--><script>alert(1)</script>",
    "vbscript:alert(1)", "\u202egpj.exe", "http://evil.example/\" onclick=\"alert(1)", "JaVaScRiPt:alert(1)",
]  # fmt: skip
SEARCHES = [
    "park.", "ask-codex", "it's", 'foo"bar', "GB/s", "grammar::fa", "AND", "NOT", "OR", "a AND", "*", "-", ":", "(",
    ")", "a*b", '"', "", "   ", "NEAR(", "col:x", "^x", "x^", "a + b", "{a b}:c", "C++", "C#", "what is this?", "a, b",
    "😀", "'; drop table f; --", "x" * 5000, "\x00", "a\x00b", "東京", "猫", "%", "~", "<b>", "\\", "\u202e",
]  # fmt: skip


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def assert_harmless(text: str, baseline_scripts: int) -> None:
    tags = Tags(text).tags
    assert sum(tag == "script" for tag, _ in tags) == baseline_scripts
    for tag, attrs in tags:
        assert tag not in ("iframe", "object", "embed", "img"), tag
        assert not [name for name in attrs if name.startswith("on")], attrs
        href = attrs.get("href") or attrs.get("src") or attrs.get("action") or ""
        scheme = re.match(r"\s*([a-z][a-z0-9+.-]*):", href, re.I)
        assert scheme is None or scheme[1].lower() in ("http", "https", "mailto"), href
        if href.startswith(("http://", "https://")) and "datasette.io" not in href:
            assert attrs.get("rel") == "noopener nofollow", attrs
    assert "49" not in re.sub(r"<[^>]*>", "", text) or "{{7*7}}" in text


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Datasette]:
    shelf = Shelf(tmp_path / "hostile.db")
    for number, name in enumerate(HOSTILE):
        chunk = shelf.document(
            f"{name}/{number}.md", [f"# {name}\n{name} said {name} to nobody.\n"], title=name, folder=name, kind=name,
            headings=[(1, name)],
        )[0]  # fmt: skip
        entity = shelf.entity(name, type=name, aliases=(f"alias {name}",))
        shelf.connection.execute("UPDATE kg_documents SET entity = ? WHERE uri = ?", [entity, f"{name}/{number}.md"])
        shelf.connection.execute("INSERT INTO kg_tags (document, tag) VALUES (?, ?)", [number + 1, name])
        shelf.triple(entity, name, entity, chunk, f"{name} said {name}", origin=name)
        shelf.attribute(entity, name, name, chunk, f"{name} said")
        shelf.mention(chunk, entity, name)
    shelf._insert("kg_schema_versions", version=1, template="", actor="", at="")
    for name in HOSTILE:
        shelf._insert("kg_types", kind="entity_type", name=name, description=name, origin="user", added_in=1)
    datasette = await serve(shelf.close())
    yield datasette
    shut(datasette)


@pytest.mark.parametrize("view", ["marked", "reading"])
async def test_names_are_text_in_every_field(site: Datasette, view: str) -> None:
    scripts = sum(tag == "script" for tag, _ in Tags((await site.client.get("/hostile/-/graph/search")).text).tags)
    links = Links(site, "hostile")
    for number, name in enumerate(HOSTILE):
        entity = EntityRef(number + 1, name, name, False)
        document = DocumentRef(number + 1, f"{name}/{number}.md", name)
        reading = "reading" if view == "reading" else None
        urls = [links.document(document, view=reading), links.document_id(number + 1)]
        if view == "marked":
            urls += [links.entity(entity), links.search(name), links.entity(entity, relation=name, direction="out")]
            urls += [links.entity(entity, mentions=0), links.entity(EntityRef(0, name + " nobody", ""))]
        for url in urls:
            response = await site.client.get(url)
            assert response.status_code == (404 if "+nobody" in url else 200), url
            assert_harmless(response.text, scripts)
            assert name in html_entities.unescape(response.text)


async def test_overview_and_json_hold_them_as_text(site: Datasette) -> None:
    for path in ("/hostile/-/graph", "/hostile/kg_entities", "/hostile/kg_facts", "/hostile/kg_evidence"):
        text = (await site.client.get(path)).text
        for tag, attrs in Tags(text).tags:
            assert tag not in ("iframe", "svg/onload"), path
            assert not [name for name in attrs if name in ("onmouseover", "onerror", "onload")], (path, attrs)
            assert not (attrs.get("href") or "").lower().startswith(("javascript:", "data:", "vbscript:")), (
                path,
                attrs,
            )
        assert "<script>alert(1)</script>" not in text
    response = await site.client.get("/hostile/-/graph.json")
    assert response.headers["content-type"].startswith("application/json")
    assert {item["name"] for item in response.json()["types"]} <= set(HOSTILE)


@pytest.mark.parametrize("q", SEARCHES, ids=lambda q: ascii(q)[:20])
async def test_no_search_raises(site: Datasette, q: str) -> None:
    for suffix in ("", ".json"):
        response = await site.client.get(f"/hostile/-/graph/search{suffix}?q={quote_plus(q)}")
        assert response.status_code == 200, response.text
    page = response.json()
    if not page["hits"] and not page["entities"]:
        assert page["hint"]


async def test_a_full_stop_after_a_word_still_finds_it(site: Datasette) -> None:
    page = (await site.client.get("/hostile/-/graph/search.json?q=nobody.")).json()
    assert len(page["hits"]) == 20
    assert page["next_url"] == "/hostile/-/graph/search?q=nobody.&page=2"
    second = (await site.client.get("/hostile/-/graph/search.json?q=nobody.&page=2")).json()
    assert len(second["hits"]) == len(HOSTILE) - 20
    assert not {hit["chunk"] for hit in page["hits"]} & {hit["chunk"] for hit in second["hits"]}


async def test_forms_carry_no_token(site: Datasette) -> None:
    """Cases 117, 118, 122: forms only search, by GET, with nothing hidden; no button changes anything."""
    for path in ("/hostile/-/graph", "/hostile/-/graph/entity-id/1", "/hostile/-/graph/document-id/1"):
        for actor in (None, {"id": "root"}):
            cookies = {"ds_actor": site.sign({"a": actor}, "actor")} if actor else {}
            response = await site.client.get(path, cookies=cookies)
            text = response.text.split('<div class="graphrag-page">')[1].split("<footer")[0]
            assert "csrftoken" not in text
            assert 'type="hidden"' not in text
            assert 'method="post"' not in text.lower()
            assert text.count("<form") == 1
            if actor is None:  # for others Datasette's own logout form makes one
                assert "set-cookie" not in response.headers
        response = await site.client.post(path, headers={"Sec-Fetch-Site": "same-origin"})
        assert response.status_code in (403, 405)


def test_values_link_only_to_the_web() -> None:
    assert markup.value("https://a.example/?q=1&r=2") == (
        '<a href="https://a.example/?q=1&amp;r=2" rel="noopener nofollow"><bdi>https://a.example/?q=1&amp;r=2</bdi></a>'
    )
    assert str(markup.value("mailto:ana@example.org")).startswith('<a href="mailto:ana@example.org"')
    for text in ("javascript:alert(1)", "ftp://a.example", "see https://a.example", "HTTPS", "//a.example", "1871"):
        assert "<a" not in markup.value(text)


def test_a_heading_path_does_not_repeat_the_title() -> None:
    assert markup.heading_path("Point > The lens > Paris", "Point") == "The lens › Paris"
    assert markup.heading_path("Point", "Point") == ""
    assert markup.heading_path("The lens", "Point") == "The lens"
    assert markup.heading_path("") == ""


def test_markdown_is_rendered_without_html() -> None:
    text = markup.rendered(
        "# T\n\n<b>x</b> [a](javascript:x) [b](https://b.example) ![p](https://p.example/1.png) [c](other.md)\n\n"
        "![q](data:image/png;base64,x) [*d*](vbscript:x) <https://e.example>\n"
    )
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert '<span class="unlinked">c</span>' in text
    assert '<span class="unlinked"><em>d</em></span>' in text or "[<em>d</em>](vbscript:x)" in text
    assert re.findall(r'href="([^"]+)"', text) == ["https://b.example", "https://p.example/1.png", "https://e.example"]
    assert text.count('rel="noopener nofollow"') == 3
    assert "<img" not in text


def passage(text: str, spans: list[tuple[int, int]], names: list[tuple[int, int]]) -> Passage:
    statements = tuple(
        Statement(n, start, end, "h", None, "r", "t", None, "triple", "link", 1.0)
        for n, (start, end) in enumerate(spans)
    )
    namings = tuple(Naming(start, end, EntityRef(1, "N", "")) for start, end in names)
    return Passage(1, 0, 0, len(text), 1, "", text, statements, namings)


def test_overlapping_spans_lose_no_character() -> None:
    text = "one two\nthree four\n"
    html = markup.marked_text(passage(text, [(0, 11), (4, 13), (8, 18)], [(4, 7), (6, 9), (8, 13)]), lambda e: "/e", 1)
    lines = re.findall(r'<div class="line[^>]*>(.*?)</div>', html)
    assert [re.sub("<[^>]+>", "", line) for line in lines] == ["one two", "three four"]
    assert re.findall(r'id="evidence-(\d)"', html) == ["0", "1", "2"]
    assert re.sub("<[^>]+>", "", "".join(re.findall(r'<mark class="evidence lit">(.*?)</mark>', html))) == "twothree"


def test_spans_outside_the_text_are_ignored() -> None:
    html = markup.marked_text(passage("short", [(3, 99), (7, 9), (-1, 2)], [(2, 80)]), lambda e: "/e")
    assert re.sub("<[^>]+>", "", html) == "short"
