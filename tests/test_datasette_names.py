"""Every name and every uri has an address, and the address leads back to that very row (cases 027, 028, 034, 114)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette
from datasette_helpers import Shelf, serve, shut
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from datasette_graphrag.records import DocumentRef, EntityRef
from datasette_graphrag.urls import Links, page_of
from llm_graphrag.text.normalise import name_key

pytestmark = pytest.mark.datasette

ODD = [
    "graph.example.nodes", "a/b", "a.b", "x.json", "x", "y.csv", "~2E", "~", ".", "..", "...", "a?b", "a#b", "a b",
    "a+b", "a%2Fb", "a%20b", "%", "100% done", "C#", "C++", "ä", "a\u0308", "/", "//", "/etc/passwd", "../../x",
    "a&b=c", "a;b", "-", "_", "entity", "search", "graph.json", ".json", "x.json.json", "😀❤️", "שרה", "محمد", "\u2028",
    "a\\b", "'", '"', "<b>", "{{7*7}}", "a\u0000b", "\t", "İstanbul", "straße", "ＡＣＭＥ", "foo/bar", "foo.bar",
    "a" * 2000, "ä" * 700, "?type=x", "a\nb", " lead", "trail ",
]  # fmt: skip


@dataclass
class World:
    """A site, its loop, and a second connection by which names are added while it runs."""

    site: Datasette
    loop: asyncio.AbstractEventLoop
    connection: sqlite3.Connection

    def get(self, path: str) -> Any:
        return self.loop.run_until_complete(self.site.client.get(path))

    def entity(self, name: str, type_: str = "") -> EntityRef:
        """The entity of this name and type, added if there is none with its key."""
        key = name_key(name)
        sql = "SELECT id, name, type FROM kg_entities WHERE key = ? AND type = ?"
        if self.connection.execute(sql, [key, type_]).fetchone() is None:
            insert = "INSERT INTO kg_entities (name, type, key, origin) VALUES (?, ?, ?, 'user')"
            self.connection.execute(insert, [name, type_, key])
        number, name, type_ = self.connection.execute(sql, [key, type_]).fetchone()
        count = self.connection.execute("SELECT count(*) FROM kg_entities WHERE key = ?", [key]).fetchone()[0]
        return EntityRef(number, name, type_, count > 1)

    def document(self, uri: str) -> DocumentRef:
        """The document of this uri, added if need be."""
        sql = "SELECT id FROM kg_documents WHERE uri = ?"
        if self.connection.execute(sql, [uri]).fetchone() is None:
            insert = """INSERT INTO kg_documents (uri, kind, title, name, name_key, content_hash, added, updated)
                        VALUES (?, 'note', '', '', '', '', '2026-11-01', '2026-11-01')"""
            self.connection.execute(insert, [uri])
        return DocumentRef(self.connection.execute(sql, [uri]).fetchone()[0], uri, "")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    loop = asyncio.new_event_loop()
    path: Path = Shelf(tmp_path_factory.mktemp("names") / "my.notes.db").close()
    site = loop.run_until_complete(serve(path))
    connection = sqlite3.connect(path, isolation_level=None)
    yield World(site, loop, connection)
    connection.close()
    shut(site)
    loop.close()


def round_trip(world: World, name: str, type_: str = "") -> None:
    entity = world.entity(name, type_)
    links = Links(world.site, "my.notes")
    url = links.entity(entity, json=True)
    assert url.startswith("/my~2Enotes/-/graph/entity")
    assert "/../" not in url
    assert len(url) < 1200
    response = world.get(url)
    assert response.status_code == 200, (name, url, response.text)
    page = response.json()
    assert (page["entity"]["id"], page["entity"]["name"], page["entity"]["type"]) == (entity.id, entity.name, type_)
    shown = world.get(links.entity(entity))
    assert shown.status_code == 200
    assert "text/html" in shown.headers["content-type"]


@pytest.mark.parametrize("name", ODD, ids=lambda name: ascii(name)[:30])
def test_odd_names_round_trip(world: World, name: str) -> None:
    round_trip(world, name)


def test_dot_and_slash_do_not_collide(world: World) -> None:
    """Case 034."""
    ids = {world.get(f"/my~2Enotes/-/graph/entity/{path}.json").status_code for path in ("zip~2Ezap", "zip~2Fzap")}
    assert ids == {404}
    dot, slash = world.entity("zip.zap"), world.entity("zip/zap")
    found = [
        world.get(f"/my~2Enotes/-/graph/entity/{path}.json").json()["entity"]["id"]
        for path in ("zip~2Ezap", "zip~2Fzap")
    ]
    assert found == [dot.id, slash.id]


def test_names_with_two_types_round_trip(world: World) -> None:
    for name in ("Mercury", "x/y.json", "?"):
        for type_ in ("", "planet", "a/b?c", "ein typ"):
            world.entity(name, type_)
        for type_ in ("", "planet", "a/b?c", "ein typ"):
            round_trip(world, name, type_)


def test_a_long_name_goes_by_its_number_and_is_found_by_name_too(world: World) -> None:
    entity = world.entity("b" * 2000)
    assert Links(world.site, "my.notes").entity(entity) == f"/my~2Enotes/-/graph/entity-id/{entity.id}"
    assert world.get(f"/my~2Enotes/-/graph/entity/{'b' * 2000}.json").json()["entity"]["id"] == entity.id


text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
tricky = st.text(st.sampled_from("./~%+ #?&=;:\\aB2E-_é"), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.one_of(text, tricky), type_=st.sampled_from(["", "", "person"]))
@example(name="~2E~2e", type_="")
@example(name="%7E", type_="person")
def test_any_name_round_trips(world: World, name: str, type_: str) -> None:
    if name_key(name):
        round_trip(world, name, type_)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(uri=st.one_of(text, tricky))
@example(uri="..")
@example(uri="notes/a b/100%.md")
@example(uri="x" * 3000)
def test_any_uri_round_trips(world: World, uri: str) -> None:
    document = world.document(uri)
    response = world.get(Links(world.site, "my.notes").document(document, json=True))
    assert response.status_code == 200, (uri, response.text)
    assert response.json()["document"]["ref"] == {
        "id": document.id, "uri": uri, "title": "", "url": Links(world.site, "my.notes").document(document),
    }  # fmt: skip


def test_page_of_a_chunk() -> None:
    assert [page_of(seq) for seq in (0, 29, 30, 59, 60)] == [1, 1, 2, 2, 3]
