"""The same on Datasette 0.65 and 1.0: permissions, addresses, caching, menus, tables, files that are not right."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from datasette.app import Datasette
from datasette.utils import PrefixedUrlString
from datasette_helpers import Shelf, lighthouse, serve, shut

from datasette_graphrag.tables import HIDDEN, TABLES

pytestmark = pytest.mark.datasette

ONE = hasattr(Datasette, "allowed")
PAGES = [
    "/-/graph", "/-/graph/entity/Ruadh+Point", "/-/graph/entity/Mercury", "/-/graph/entity/nobody+knows",
    "/-/graph/entity-id/2", "/-/graph/document/notes~2Fdiary~2F1902-03-14~2Emd", "/-/graph/document-id/1",
    "/-/graph/document-id/1?view=reading", "/-/graph/search?q=lens", "/-/graph/search", "/-/graph/chunk/2",
    "/-/graph/entity/Ina+Morgan?relation=kept&direction=out", "/-/graph/entity/Ina+Morgan?mentions=0",
    "/-/graph/path", "/-/graph/path?from=Ina+Morgan&to=first-order+lens", "/-/graph/path?from=Ina+Morgan&to=nobody",
    "/-/graph/path?from=Ina+Morgan&metapath=kept",
]  # fmt: skip


def rules(**databases: Any) -> dict[str, Any]:
    """Permission rules, where this version of Datasette wants them."""
    return {"config" if ONE else "metadata": {"databases": databases}}


def signed_in(site: Datasette, name: str) -> dict[str, str]:
    return {"ds_actor": site.sign({"a": {"id": name}}, "actor")}


def twin(path: str) -> str:
    base, _, query = path.partition("?")
    return f"{base}.json" + (f"?{query}" if query else "")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return lighthouse(tmp_path / "light.db")


@pytest_asyncio.fixture
async def site(file: Path) -> AsyncIterator[Datasette]:
    datasette = await serve(file)
    yield datasette
    shut(datasette)


async def status(site: Datasette, path: str, **options: Any) -> int:
    return int((await site.client.get(path, **options)).status_code)


async def test_a_private_database_is_private_here_too(file: Path) -> None:
    site = await serve(file, **rules(light={"allow": {"id": "ina"}}))
    ina, other = signed_in(site, "ina"), signed_in(site, "other")
    for page in PAGES:
        for path in (f"/light{page}", f"/light{twin(page)}"):
            assert await status(site, path) == 403, path
            assert await status(site, path, cookies=other) == 403, path
            assert await status(site, path, cookies=ina) in (200, 302, 404), path
    assert "Ruadh" not in (await site.client.get("/light/-/graph/entity/Ruadh+Point")).text
    assert "/light/-/graph" not in (await site.client.get("/")).text
    assert "/light/-/graph" in (await site.client.get("/", cookies=ina)).text
    shut(site)


async def test_a_private_table_is_private_here_too(file: Path) -> None:
    site = await serve(file, **rules(light={"tables": {"kg_chunks": {"allow": {"id": "ina"}}}}))
    assert await status(site, "/light/-/graph") == 200
    for page in ("document-id/1", "entity/Ruadh+Point", "search?q=lens", "chunk/1"):
        assert await status(site, f"/light/-/graph/{page}") == 403
        assert await status(site, f"/light/-/graph/{page}", cookies=signed_in(site, "ina")) in (200, 302)
    shut(site)


@pytest.mark.parametrize("actor", [None, "root", "reviewer"])
async def test_everybody_sees_pages_and_no_write_buttons(site: Datasette, actor: str | None) -> None:
    """Case 122: nothing can be pressed but on the review page."""
    cookies = signed_in(site, actor) if actor else {}
    for page in PAGES:
        text = (await site.client.get(f"/light{page}", cookies=cookies)).text
        body = text.partition('<div class="graphrag-page">')[2].partition("<footer")[0]
        assert body.lower().count("<button") <= 1 + ("/path" in page)  # to search, and to show paths
        assert 'method="post"' not in body.lower()


async def test_every_address_starts_with_base_url(file: Path) -> None:
    """Case 116."""
    site = await serve(file, settings={"base_url": "/notes/"})
    to_visit, seen = ["/notes/light/-/graph"], set[str]()
    while to_visit and len(seen) < 80:
        path = to_visit.pop(0)
        if path in seen:
            continue
        seen.add(path)
        response = await site.client.get(PrefixedUrlString(path))
        if response.status_code == 302:
            assert response.headers["location"].startswith("/notes/")
            continue
        assert response.status_code == 200, path
        for url in re.findall(r'(?:href|src|action|url)="([^"]*)"', response.text):
            if url.startswith(("http://", "https://", "#", "mailto:")):
                continue
            assert url.startswith("/notes/"), (path, url)
            if "/-/graph" in url and ".json" not in url:
                to_visit.append(url.split("#")[0].replace("&amp;", "&"))
    assert len(seen) > 20
    response = await site.client.get("/light/-/graph/entity/Ruadh+Point.json")
    urls = re.findall(r'"(?:\w*url)": "([^"]*)"', response.text)
    assert len(urls) > 10
    assert all(url.startswith("/notes/") for url in urls)
    shut(site)


async def test_the_stylesheet_is_served(site: Datasette) -> None:
    text = (await site.client.get("/light/-/graph")).text
    url = re.search(r'href="([^"]*graphrag\.css[^"]*)"', text)
    assert url is not None
    response = await site.client.get(url[1])
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/css")
    assert "prefers-color-scheme: dark" in response.text


async def test_pages_of_an_immutable_database_may_be_cached(file: Path) -> None:
    site = await serve(immutable=(file,))
    for page in ("/-/graph", "/-/graph/entity/Ruadh+Point", "/-/graph/search.json?q=lens"):
        assert (await site.client.get(f"/light{page}")).headers["cache-control"] == "max-age=5"
        response = await site.client.get(f"/light{page}", cookies=signed_in(site, "ina"))
        assert "max-age" not in response.headers.get("cache-control", "")
    assert "cache-control" not in (await site.client.get("/light/-/graph/entity/nobody")).headers
    shut(site)


async def test_pages_of_a_mutable_database_are_not_cached(site: Datasette) -> None:
    assert "cache-control" not in (await site.client.get("/light/-/graph")).headers


async def test_only_knowledge_bases_are_in_menus(tmp_path: Path, file: Path) -> None:
    other = tmp_path / "recipes.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE soups (name TEXT)")
    connection.commit()
    connection.close()
    site = await serve(file, other)
    home = (await site.client.get("/")).text
    assert "Knowledge graph</a>" in home
    assert "/light/-/graph" in home
    assert "/recipes/-/graph" not in home
    assert "Browse the knowledge graph" in (await site.client.get("/light")).text
    assert "Browse the knowledge graph" in (await site.client.get("/light/kg_entities")).text
    for path in ("/recipes", "/recipes/soups"):
        assert "Browse the knowledge graph" not in (await site.client.get(path)).text
    response = await site.client.get("/recipes/-/graph.json")
    assert response.status_code == 404
    assert "is not a knowledge base" in response.json()["error"]
    assert "llm graphrag add FOLDER" in (await site.client.get("/recipes/-/graph")).text
    assert (await site.client.get("/nowhere/-/graph.json")).json()["ok"] is False
    assert await status(site, "/nowhere/-/graph") == 404
    shut(site)


async def test_a_file_of_a_newer_version_says_so(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('graphrag', '0999_holograms', '2031')"
    )
    connection.commit()
    connection.close()
    site = await serve(file)
    for page in ("/-/graph", "/-/graph/entity/Ruadh+Point", "/-/graph/search?q=lens"):
        response = await site.client.get(f"/light{page}")
        assert response.status_code == 501
        assert "newer version of llm-graphrag" in response.text
        assert str(file.parent) not in response.text
    assert (await site.client.get("/light/-/graph.json")).json()["title"] == "Another version"
    shut(site)


async def test_a_file_that_lacks_tables_says_so(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("DROP TABLE kg_mentions")
    connection.commit()
    connection.close()
    site = await serve(file)
    response = await site.client.get("/light/-/graph.json")
    assert response.status_code == 501
    assert "it has no kg_mentions" in response.json()["error"]
    shut(site)


async def test_a_database_that_is_taken_away_fails_alone(tmp_path: Path, file: Path) -> None:
    """Case 081."""
    second = Path(shutil.copy(file, tmp_path / "second.db"))
    site = await serve(file, second)
    assert await status(site, "/light/-/graph") == 200
    file.unlink()
    for page in PAGES:
        response = await site.client.get(f"/light{page}")
        assert response.status_code == 503, page
        assert "is gone" in response.text
    assert await status(site, "/second/-/graph") == 200
    assert await status(site, "/second/-/graph/entity/Ruadh+Point") == 200
    assert not file.exists()
    shut(site)


async def test_a_file_that_is_damaged_while_running_fails_alone(tmp_path: Path, file: Path) -> None:
    second = Path(shutil.copy(file, tmp_path / "second.db"))
    site = await serve(file, second)
    file.write_bytes(b"this is no database " * 1000)
    response = await site.client.get("/light/-/graph")
    assert response.status_code == 503
    assert await status(site, "/second/-/graph") == 200
    shut(site)


@pytest.mark.parametrize("immutable", [True, False])
async def test_a_read_only_file_in_a_read_only_folder(tmp_path: Path, file: Path, immutable: bool) -> None:
    """Case 080."""
    folder = tmp_path / "published"
    folder.mkdir()
    published = folder / "light.db"
    connection = sqlite3.connect(file)
    connection.execute("VACUUM INTO ?", [str(published)])
    connection.close()
    published.chmod(0o444)
    folder.chmod(0o555)
    try:
        site = await serve(*([] if immutable else [published]), immutable=(published,) if immutable else ())
        for page in PAGES:
            assert await status(site, f"/light{page}") in (200, 302, 404), page
        response = await site.client.post("/light/-/graph", headers={"Sec-Fetch-Site": "same-origin"})
        assert response.status_code in (403, 405)
        assert [path.name for path in folder.iterdir()] == ["light.db"]
        shut(site)
    finally:
        folder.chmod(0o755)


async def test_cells_link_to_the_pages(site: Datasette) -> None:
    text = (await site.client.get("/light/kg_triples")).text
    assert '<a href="/light/-/graph/entity-id/1"><bdi>Ruadh Point</bdi></a>' in text
    text = (await site.client.get("/light/kg_evidence?_size=5")).text
    assert re.search(r'<a href="/light/-/graph/chunk/1"><bdi>[^<]+</bdi></a>', text)
    text = (await site.client.get("/light/kg_documents")).text
    assert '<a href="/light/-/graph/document-id/1"><bdi>Ruadh Point</bdi></a>' in text
    assert 'href="/light/-/graph/document/notes~2Fto+do~2Emd"' in text
    text = (await site.client.get("/light/kg_facts")).text
    assert '<a href="/light/-/graph/entity-id/4"><bdi>first-order lens</bdi></a>' in text
    text = (await site.client.get("/light/kg_document_entities")).text
    assert '<a href="/light/-/graph/document-id/1"><bdi>Ruadh Point</bdi></a>' in text
    assert '<a href="/light/-/graph/entity-id/2"><bdi>Ina Morgan</bdi></a>' in text


async def test_cells_of_other_databases_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE kg_entities (id INTEGER PRIMARY KEY, name BLOB, merged_into TEXT)")
    connection.execute("INSERT INTO kg_entities VALUES (1, X'00ff', 'text')")
    connection.execute("CREATE TABLE kg_facts (head TEXT)")
    connection.execute("INSERT INTO kg_facts VALUES ('x')")
    connection.commit()
    connection.close()
    site = await serve(other)
    for table in ("kg_entities", "kg_facts"):
        response = await site.client.get(f"/other/{table}")
        assert response.status_code == 200
        assert "/-/graph" not in response.text
    shut(site)


async def test_tables_have_good_defaults(site: Datasette) -> None:
    home = (await site.client.get("/light")).text
    visible = set(re.findall(r'<h3><a href="/light/([a-z_]+)"', home))
    assert {"kg_entities", "kg_triples", "kg_documents"} <= visible
    assert not visible & set(HIDDEN)
    text = (await site.client.get("/light/kg_evidence")).text
    assert TABLES["kg_evidence"]["description"] in text
    assert "The words of the source that state it" in text
    rows = (await site.client.get("/light/kg_documents.json?_shape=array")).json()
    assert [row["title"] for row in rows] == ["to do", "1902-03-14", "Ruadh Point"]
    text = (await site.client.get("/light/kg_entities")).text
    assert 'data-column="type"' in text
    assert re.search(r"facet-info.*?type", text, re.S)


async def test_the_owner_of_a_site_has_the_last_word(file: Path) -> None:
    mine = {"description": "My evidence", "sort": "quote"}
    tables = {"kg_evidence": mine, "kg_documents": {"sort": "title"}, "kg_counts": {"hidden": False}}
    options: dict[str, Any] = {"metadata": {"databases": {"light": {"tables": tables}}}}
    if ONE:
        options["config"] = {"databases": {"light": {"tables": tables}}}
    site = await serve(file, **options)
    text = (await site.client.get("/light/kg_evidence")).text
    assert "My evidence" in text
    assert TABLES["kg_evidence"]["description"] not in text
    rows = (await site.client.get("/light/kg_documents.json?_shape=array")).json()
    assert [row["title"] for row in rows] == ["1902-03-14", "Ruadh Point", "to do"]
    assert 'href="/light/kg_counts"' in (await site.client.get("/light")).text
    shut(site)


async def test_a_knowledge_base_with_an_odd_file_name(tmp_path: Path) -> None:
    site = await serve(lighthouse(tmp_path / "my notes.2026.db"))
    response = await site.client.get("/my+notes~2E2026/-/graph")
    assert response.status_code == 200
    assert 'action="/my+notes~2E2026/-/graph/search"' in response.text
    assert await status(site, "/my+notes~2E2026/-/graph/entity/Ruadh+Point.json") == 200
    shut(site)


async def test_a_writer_at_work_does_not_disturb_readers(file: Path, site: Datasette) -> None:
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE kg_documents SET title = 'changed'")
    assert (await site.client.get("/light/-/graph/document-id/1.json")).json()["title"] == "Ruadh Point"
    writer.execute("COMMIT")
    assert (await site.client.get("/light/-/graph/document-id/1.json")).json()["title"] == "changed"
    writer.close()


async def test_a_page_that_takes_too_long_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = await serve(file, settings={"sql_time_limit_ms": 20})
    from datasette_graphrag import queries

    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    monkeypatch.setattr(queries, "_TOTALS", endless)
    response = await site.client.get("/light/-/graph.json")
    assert response.status_code == 503
    assert "longer than this site allows" in response.json()["error"]
    shut(site)


def test_neither_llm_nor_numpy_is_needed(file: Path) -> None:
    """Every page opens in an interpreter in which they cannot be imported."""
    script = f"""
import asyncio, sys
for name in ("llm", "numpy", "scipy", "networkx"):
    sys.modules[name] = None
sys.path.insert(0, {str(Path(__file__).parent)!r})
from datasette_helpers import serve, shut
from pathlib import Path

async def main():
    site = await serve(Path({str(file)!r}))
    for page in {PAGES!r}:
        response = await site.client.get("/light" + page)
        assert response.status_code in (200, 302, 404), page
    shut(site)

asyncio.run(main())
print("all open")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "all open", done.stderr


async def test_an_unknown_entity_in_an_empty_shelf(tmp_path: Path) -> None:
    site = await serve(Shelf(tmp_path / "light.db").close())
    assert await status(site, "/light/-/graph/entity/x") == 404
    assert await status(site, "/light/-/graph/document/x") == 404
    shut(site)
