"""What the pages of the graph show, on whichever Datasette is installed."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from datasette.app import Datasette
from datasette_helpers import Shelf, lighthouse, serve, shut

pytestmark = pytest.mark.datasette

LIGHT = "notes~2Fplaces~2FRuadh+Point~2Emd"


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Datasette]:
    datasette = await serve(lighthouse(tmp_path / "light.db"))
    yield datasette
    shut(datasette)


async def data(site: Datasette, path: str, status: int = 200) -> Any:
    response = await site.client.get(path)
    assert response.status_code == status, response.text
    return response.json()


async def html(site: Datasette, path: str, status: int = 200) -> str:
    response = await site.client.get(path)
    assert response.status_code == status, response.text
    assert response.headers["content-type"].startswith("text/html")
    return str(response.text)


async def test_overview_counts(site: Datasette) -> None:
    page = await data(site, "/light/-/graph.json")
    assert page["totals"] == {
        "documents": 3, "passages": 6, "entities": 9, "triples": 8, "attributes": 2, "evidence": 11,
    }  # fmt: skip
    types = {item["name"]: (item["count"], item["description"]) for item in page["types"]}
    assert types["place"] == (2, "A place that has a name")
    assert types[""] == (1, "")
    assert {item["name"]: item["count"] for item in page["relations"]}["kept"] == 1
    assert page["hubs"][0][0]["name"] == "Ruadh Point"
    assert page["hubs"][0][1] == 6
    assert [ref["title"] for ref, _ in page["recent"]] == ["to do", "1902-03-14", "Ruadh Point"]
    assert page["coverage"]["without_facts"] == 1
    assert page["coverage"]["unscanned"] == 0


async def test_overview_html(site: Datasette) -> None:
    text = await html(site, "/light/-/graph")
    assert "<title>light: knowledge graph · light</title>" in text
    assert "1 of 3 documents state no fact." in text
    assert '<form class="graph-search" action="/light/-/graph/search" method="get"' in text


async def test_overview_without_the_derived_counts(tmp_path: Path) -> None:
    path = lighthouse(tmp_path / "light.db")
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE kg_counts")
    connection.commit()
    connection.close()
    site = await serve(path)
    page = await data(site, "/light/-/graph.json")
    assert {item["name"]: item["count"] for item in page["types"]}["person"] == 2
    assert {item["name"]: item["count"] for item in page["relations"]}["has_part"] == 1
    assert page["hubs"] == []
    shut(site)


async def test_entity_page(site: Datasette) -> None:
    page = await data(site, "/light/-/graph/entity/Ruadh+Point.json")
    assert page["entity"] == {
        "id": 1, "name": "Ruadh Point", "type": "place", "shared": False, "url": "/light/-/graph/entity/Ruadh+Point",
    }  # fmt: skip
    assert page["aliases"] == ["the Point", "Rubha Ruadh"]
    assert page["type_description"] == "A place that has a name"
    values = {g["name"]: [f["value"] for f in g["facts"]] for g in page["attributes"]}
    assert values == {"lit": ["1871"], "map": ["https://maps.example.org/ruadh"]}
    outgoing = {g["name"]: [f["other"]["name"] for f in g["facts"]] for g in page["outgoing"]}
    assert outgoing == {"has_part": ["first-order lens"], "keeper": ["Ina Morgan"], "links_to": ["Col Sands"]}
    (kept,) = page["incoming"]
    (fact,) = kept["facts"]
    assert (kept["name"], fact["other"]["name"], fact["evidence"]) == ("kept", "Ina Morgan", 2)
    first, second = fact["quotes"]
    assert first["text"] == "Ina Morgan kept it for thirty-one years."
    assert (first["line"], first["document"]["title"], first["confidence"]) == (8, "Ruadh Point", 0.9)
    assert second["line"] == 2
    assert [ref["uri"] for ref in page["about"]] == ["notes/places/Ruadh Point.md"]
    assert {ref["title"]: n for ref, n in page["named_in"]} == {"Ruadh Point": 2, "1902-03-14": 2}


async def test_a_quote_leads_to_its_words(site: Datasette) -> None:
    page = await data(site, "/light/-/graph/entity/Ruadh+Point.json")
    quote = page["incoming"][0]["facts"][0]["quotes"][0]
    assert quote["url"] == f"/light/-/graph/document/{LIGHT}?evidence=2#evidence-2"
    text = await html(site, quote["url"].split("#")[0])
    assert 'id="evidence-2"' in text
    lit = "".join(re.findall(r'<mark class="evidence lit">(.*?)</mark>', text))
    assert re.sub("<[^>]+>", "", lit) == quote["text"]
    assert '<details class="states" open>' in text


async def test_mentions_show_the_words_around_them(site: Datasette) -> None:
    page = await data(site, "/light/-/graph/entity/Hamish+Bell.json")
    (snippet,) = page["mentions"]
    before, name, after = snippet["parts"]
    assert name == ["Hamish Bell", True]
    assert before[0].startswith("From Col Sands it is an hour")
    assert after[0].startswith(" takes visitors over in the Mercury")
    assert snippet["line"] == 16
    assert snippet["url"].endswith("#chunk-2")


async def test_homonyms_are_named_and_chosen_between(site: Datasette) -> None:
    choice = await data(site, "/light/-/graph/entity/Mercury.json")
    assert [(c["type"], c["url"]) for c in choice["choices"]] == [
        ("substance", "/light/-/graph/entity/Mercury?type=substance"),
        ("vessel", "/light/-/graph/entity/Mercury?type=vessel"),
    ]
    vessel = await data(site, "/light/-/graph/entity/Mercury.json?type=vessel")
    assert vessel["incoming"][0]["facts"][0]["other"]["name"] == "Hamish Bell"
    assert [ref["type"] for ref in vessel["homonyms"]] == ["substance"]
    assert "Not to be confused with" in await html(site, "/light/-/graph/entity/Mercury?type=vessel")


@pytest.mark.parametrize("spelling", ["ruadh+point", "RUADH+POINT", "the+Point", "Ruadh%20Point"])
async def test_other_spellings_lead_to_the_entity(site: Datasette, spelling: str) -> None:
    response = await site.client.get(f"/light/-/graph/entity/{spelling}")
    assert response.status_code == 302
    assert response.headers["location"] == "/light/-/graph/entity/Ruadh+Point"
    response = await site.client.get(f"/light/-/graph/entity/{spelling}.json")
    assert response.headers["location"] == "/light/-/graph/entity/Ruadh+Point.json"


async def test_an_unknown_name_asks_did_you_mean(site: Datasette) -> None:
    for wrong in ("Ruadh+Piont", "Ruad+Point", "Ruadh", "Point", "Norhtern+Lights"):
        page = await data(site, f"/light/-/graph/entity/{wrong}.json", 404)
        names = [ref["name"] for ref in page["near"]]
        assert names[0] == ("Northern Lights Board" if wrong.startswith("N") else "Ruadh Point"), (wrong, names)
    text = await html(site, "/light/-/graph/entity/Ruadh+Piont", 404)
    assert "Did you mean" in text
    assert '<a class="entity" href="/light/-/graph/entity/Ruadh+Point">' in text
    page = await data(site, "/light/-/graph/entity/Mercury.json?type=planet", 404)
    assert [ref["type"] for ref in page["near"]] == ["substance", "vessel"]
    for missing in ("entity-id/999", "document-id/999", "chunk/999", "nothing", "entity/"):
        assert (await data(site, f"/light/-/graph/{missing}.json", 404))["ok"] is False


async def test_document_page(site: Datasette) -> None:
    page = await data(site, f"/light/-/graph/document/{LIGHT}.json")
    assert page["document"]["about"]["name"] == "Ruadh Point"
    assert page["document"]["tags"] == ["light", "sound"]
    assert [(h["level"], h["text"], h["chunk_seq"]) for h in page["headings"]] == [
        (1, "Ruadh Point", 0), (2, "The lens", 1), (2, "Getting there", 2),
    ]  # fmt: skip
    assert [p["line"] for p in page["passages"]] == [1, 10, 14]
    first = page["passages"][0]
    for statement in first["statements"]:
        assert first["text"][statement["start"] : statement["end"]] in (
            "keeper: Ina Morgan", "lit: 1871", "map: https://maps.example.org/ruadh",
            "Ina Morgan kept it for thirty-one years.",
        )  # fmt: skip
    text = await html(site, f"/light/-/graph/document/{LIGHT}")
    assert 'class="mention" href="/light/-/graph/entity/Ina+Morgan" title="Ina Morgan">Ina Morgan</a>' in text
    assert 'href="/light/-/graph/entity/Mercury?type=substance"' in text
    assert 'id="chunk-1"' in text
    assert f'href="/light/-/graph/document/{LIGHT}#chunk-2"' in text


async def test_the_text_stands_as_it_was_read(site: Datasette) -> None:
    text = await html(site, f"/light/-/graph/document/{LIGHT}")
    lines = re.findall(r'<div class="line[^"]*" data-line="(\d+)" dir="auto">(.*?)</div>', text)
    shown = {int(number): re.sub("<[^>]+>", "", line) for number, line in lines}
    assert shown[2] == "keeper: Ina Morgan"
    assert shown[12].startswith("Its first-order lens turns in a bath of Mercury, so that")
    assert sorted(shown) == list(range(1, 21))


async def test_a_chunk_leads_to_its_place(site: Datasette) -> None:
    response = await site.client.get("/light/-/graph/chunk/3")
    assert (response.status_code, response.headers["location"]) == (302, f"/light/-/graph/document/{LIGHT}#chunk-2")


async def test_a_long_document_comes_in_parts(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "long.db")
    chunks = shelf.document("long.md", [f"Line {n} of the log.\n" for n in range(75)])
    ship = shelf.entity("ship")
    shelf.attribute(ship, "log", "42", chunks[42], "Line 42")
    site = await serve(shelf.close())
    page = await data(site, "/long/-/graph/document/long~2Emd.json?page=2")
    assert (page["page"], page["pages"], page["passages"][0]["seq"]) == (2, 3, 30)
    assert (await data(site, "/long/-/graph/document/long~2Emd.json?page=99"))["page"] == 3
    entity = await data(site, "/long/-/graph/entity/ship.json")
    quote = entity["attributes"][0]["facts"][0]["quotes"][0]
    assert quote["url"] == "/long/-/graph/document/long~2Emd?page=2&evidence=1#evidence-1"
    assert 'class="evidence lit">Line 42</mark>' in await html(site, quote["url"].split("#")[0])
    response = await site.client.get("/long/-/graph/chunk/61")
    assert response.headers["location"] == "/long/-/graph/document/long~2Emd?page=3#chunk-60"
    shut(site)


async def test_an_unknown_document_asks_did_you_mean(site: Datasette) -> None:
    page = await data(site, "/light/-/graph/document/notes~2FRuadh+Point~2Emd.json", 404)
    assert page["near"][0]["uri"] == "notes/places/Ruadh Point.md"


async def test_reading_renders_markdown_and_loads_nothing(site: Datasette) -> None:
    text = await html(site, f"/light/-/graph/document/{LIGHT}?view=reading")
    assert "<h2>The lens</h2>" in text
    assert '<a href="https://ferry.example.org/times" rel="noopener nofollow">timetable</a>' in text
    assert (
        '<a class="picture" href="https://pictures.example.org/boat.png" rel="noopener nofollow">the boat</a>' in text
    )
    assert "<img" not in text
    assert "keeper: Ina" not in text.split("<article")[1].split("</article>")[0]


async def test_search(site: Datasette) -> None:
    page = await data(site, "/light/-/graph/search.json?q=Who+wrote+about+the+damp%3F")
    assert page["hits"][0]["document"]["uri"] == "notes/diary/1902-03-14.md"
    assert ["damp", True] in page["hits"][0]["parts"]
    assert "words" in page["hits"][0]["reasons"]
    assert page["hits"][0]["url"] == "/light/-/graph/chunk/4"
    page = await data(site, "/light/-/graph/search.json?q=Mrs+Morgan")
    assert page["entities"][0]["name"] == "Ina Morgan"
    page = await data(site, "/light/-/graph/search.json?q=")
    assert (page["hits"], page["entities"]) == ([], [])
    assert "Type a name" in page["hint"]
    page = await data(site, "/light/-/graph/search.json?q=qqqqzzzz")
    assert page["hits"] == []
    assert page["hint"].startswith("No passage and no name matches")


async def test_a_hub_is_shown_in_bounded_pieces(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "hub.db")
    hub = shelf.entity("hub")
    chunk = shelf.document("hub.md", ["hub knows all.\n"])[0]
    others = [shelf.entity(f"leaf {n:04}") for n in range(1300)]
    for other in others:
        shelf._insert("kg_triples", head=hub, relation="knows", tail=other, evidence=0)
        shelf._insert("kg_triples", head=other, relation="known_by", tail=hub, evidence=0)
    first = shelf._insert("kg_triples", head=others[7], relation="found", tail=hub, evidence=0)
    for n in range(9):
        shelf.triple(others[7], "found", hub, chunk, "hub knows all", detail=f'{{"n": {n}}}')
    for n in range(300):
        shelf._insert("kg_attributes", entity=hub, attribute="code", value=f"{n:03}", evidence=0)
    site = await serve(shelf.close())
    page = await data(site, "/hub/-/graph/entity/hub.json")
    (knows,) = page["outgoing"]
    assert (knows["count"], knows["capped"], len(knows["facts"])) == (1000, True, 6)
    by_name = {group["name"]: group for group in page["incoming"]}
    assert by_name["known_by"]["capped"]
    (found,) = by_name["found"]["facts"]
    assert (found["id"], found["evidence"], len(found["quotes"])) == (first, 9, 2)
    assert f"/hub/kg_evidence?triple={first}" in await html(site, "/hub/-/graph/entity/hub")
    for relation, direction, total in (("knows", "out", 1300), ("known_by", "in", 1300), ("code", "attribute", 300)):
        seen: list[str] = []
        url = f"/hub/-/graph/entity/hub.json?relation={relation}&direction={direction}"
        while url:
            part = await data(site, url)
            seen += [fact["other"]["name"] if fact["other"] else fact["value"] for fact in part["group"]["facts"]]
            url = (part["next_url"] or "").replace("/hub?", "/hub.json?")
        assert len(seen) == len(set(seen)) == total
    shut(site)


async def test_mentions_are_paged(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "m.db")
    owl = shelf.entity("owl")
    for chunk in shelf.document("owls.md", [f"An owl, night {n}.\n" for n in range(21)]):
        shelf.mention(chunk, owl, "owl")
    site = await serve(shelf.close())
    page = await data(site, "/m/-/graph/entity/owl.json")
    lines = [snippet["line"] for snippet in page["mentions"]]
    after = page["more_mentions"]
    while after:
        part = await data(site, f"/m/-/graph/entity/owl.json?mentions={after}")
        lines += [snippet["line"] for snippet in part["mentions"]]
        after = part["next_url"] and part["next_url"].rsplit("=", 1)[1]
    assert lines == list(range(1, 22))
    shut(site)


async def test_a_merged_entity_leads_to_the_one_it_was_joined_to(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "merged.db")
    kept, gone = shelf.entity("Ada Byron", "person"), shelf.entity("A. Byron")
    shelf.connection.execute("UPDATE kg_entities SET merged_into = ? WHERE id = ?", [kept, gone])
    site = await serve(shelf.close())
    response = await site.client.get("/merged/-/graph/entity/A~2E+Byron")
    assert response.headers["location"] == "/merged/-/graph/entity/Ada+Byron"
    assert (await data(site, "/merged/-/graph.json"))["totals"]["entities"] == 1
    shut(site)


async def test_what_has_changed_on_disk_is_said(tmp_path: Path) -> None:
    """Case 072: edit one note, delete another, ask without reading them again."""
    folder = tmp_path / "notes"
    folder.mkdir()
    shelf = Shelf(tmp_path / "old.db")
    shelf._insert("kg_sources", id=1, name="notes", kind="folder", root=str(folder), added="2026-11-01")
    tide = shelf.entity("tide")
    for name in ("same", "edited", "deleted", "device"):
        text = f"The tide table, {name}.\n"
        (folder / f"{name}.md").write_text(text)
        path = "../../../../../../../../../dev/zero" if name == "device" else f"{name}.md"
        chunk = shelf.document(f"notes/{name}.md", [text], source=1, path=path)[0]
        shelf.mention(chunk, tide, "tide")
    file = shelf.close()
    (folder / "edited.md").write_text("Something else.\n")
    (folder / "deleted.md").unlink()
    site = await serve(file)
    expected = {"edited": "changed on disk since it was read", "deleted": "its file is gone"}
    for path in ("/old/-/graph/entity/tide.json", "/old/-/graph/search.json?q=tide", "/old/-/graph.json"):
        page = await data(site, path)
        assert {item["document"]["title"]: item["reason"] for item in page["stale"]} == expected
    assert "changed on disk since it was read" in await html(site, "/old/-/graph/document/notes~2Fedited~2Emd")
    assert "Not as it was read" not in await html(site, "/old/-/graph/document/notes~2Fsame~2Emd")
    assert str(folder) not in await html(site, "/old/-/graph/document/notes~2Fdeleted~2Emd")
    shut(site)
    site = await serve(immutable=(file,))
    assert "stale" not in await data(site, "/old/-/graph/entity/tide.json")
    shut(site)


async def test_an_empty_knowledge_base_says_so(tmp_path: Path) -> None:
    site = await serve(Shelf(tmp_path / "empty.db").close())
    text = await html(site, "/empty/-/graph")
    assert "This knowledge base is empty." in text
    assert "llm graphrag add FOLDER" in text
    assert (await data(site, "/empty/-/graph/search.json?q=anything"))["hits"] == []
    assert (await data(site, "/empty/-/graph/entity/anything.json", 404))["near"] == []
    shut(site)


async def test_entities_without_facts_open(tmp_path: Path) -> None:
    """Case 135: exactly one entity, no facts, no type."""
    shelf = Shelf(tmp_path / "one.db")
    shelf.entity("Solo")
    shelf.document("solo.md", ["Hm.\n"])
    site = await serve(shelf.close())
    assert "Entities were found, but no facts about them yet." in await html(site, "/one/-/graph")
    assert "No facts are known about it" in await html(site, "/one/-/graph/entity/Solo")
    for question in ("", "+", "?", "qqqqzzzz"):
        page = await data(site, f"/one/-/graph/search.json?q={question}")
        assert page["hits"] == []
        assert page["hint"]
    shut(site)


async def test_pages_are_quick(tmp_path: Path) -> None:
    """A ceiling far above what is measured; it catches a scan where an index was meant."""
    shelf = Shelf(tmp_path / "big.db")
    insert = shelf.connection.executemany
    rows = [(n, f"entity {n}", f"entity {n}") for n in range(1, 20_001)]
    insert("INSERT INTO kg_entities (id, name, key, type, origin) VALUES (?, ?, ?, 'thing', 'user')", rows)
    aliases = "INSERT INTO kg_aliases (entity, name, key, kind, origin) VALUES (?, ?, ?, 'name', 'user')"
    insert(aliases, rows)
    triples = ((1 + n % 40, f"relation_{n % 5}", 1 + (n * 7919) % 20_000) for n in range(100_000))
    insert("INSERT OR IGNORE INTO kg_triples (head, relation, tail, evidence) VALUES (?, ?, ?, 1)", triples)
    site = await serve(shelf.close())
    for path in ("/big/-/graph", "/big/-/graph/entity/entity+1", "/big/-/graph/entity/entety+777"):
        await site.client.get(path)
        start = time.perf_counter()
        assert (await site.client.get(path)).status_code in (200, 404)
        assert time.perf_counter() - start < 1, path
    shut(site)
