"""The path page, names that are completed, and the data of pictures, on whichever Datasette is installed."""

from __future__ import annotations

import html as html_entities
import json
import re
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from datasette.app import Datasette
from datasette_helpers import Shelf, lighthouse, serve, shut
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_datasette_compat import rules
from test_datasette_hostile import HOSTILE, Tags
from test_datasette_names import ODD, World, world  # noqa: F401 - a fixture

from datasette_graphrag import entity_queries, path_queries, picture
from datasette_graphrag.ends import address
from datasette_graphrag.path_records import Also, Hop, Route
from datasette_graphrag.queries import entities_called
from datasette_graphrag.records import EntityRef
from datasette_graphrag.urls import Links
from llm_graphrag.graph.linker import nearest_names
from llm_graphrag.graph.named import named
from llm_graphrag.text.normalise import name_key

pytestmark = pytest.mark.datasette

PAGE = "/light/-/graph/path"


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Datasette]:
    datasette = await serve(lighthouse(tmp_path / "light.db"))
    yield datasette
    shut(datasette)


async def data(site: Datasette, args: dict[str, Any] | str = "", status: int = 200, page: str = PAGE) -> Any:
    query = args if isinstance(args, str) else urlencode(args)
    response = await site.client.get(f"{page}.json?{query}")
    assert response.status_code == status, response.text
    return response.json()


async def html(site: Datasette, args: dict[str, Any] | str = "", status: int = 200, page: str = PAGE) -> str:
    query = args if isinstance(args, str) else urlencode(args)
    response = await site.client.get(f"{page}?{query}")
    assert response.status_code == status, response.text
    return str(response.text)


def told(path: Any) -> list[Any]:
    """A path as names and relations, ``^`` before those that are taken backwards."""
    out = [path["nodes"][0]["name"]]
    for hop, node in zip(path["hops"], path["nodes"][1:], strict=True):
        out += [("" if hop["forward"] else "^") + hop["relation"], node["name"]]
    return out


def embedded(text: str) -> Any:
    """The data of the picture in a page."""
    (script,) = re.findall(r'<script type="application/json">(.*?)</script>', text)
    return json.loads(script)


async def test_an_empty_form(site: Datasette) -> None:
    text = await html(site)
    assert "Type two names" in text
    assert '<form class="ends" action="/light/-/graph/path" method="get"' in text
    assert "<figure" not in text
    page = await data(site)
    assert (page["ok"], page["paths"], page["picture"], page["title"]) == (True, [], None, "Paths")


async def test_paths_with_the_sentence_of_every_hop(site: Datasette) -> None:
    asked = {"from": "Ina Morgan", "to": "first-order lens"}
    page = await data(site, asked)
    assert [told(path) for path in page["paths"]] == [
        ["Ina Morgan", "wrote_to", "Northern Lights Board", "ordered", "first-order lens"],
        ["Ina Morgan", "kept", "Ruadh Point", "has_part", "first-order lens"],
    ]
    assert not page["truncated"]
    kept = page["paths"][1]["hops"][0]
    assert kept["statements"] == 2
    assert kept["also"] == [{"relation": "keeper", "forward": False}]
    assert kept["quote"]["text"] == "Ina Morgan kept it for thirty-one years."
    assert kept["quote"]["line"] == 8
    shown = await html(site, asked)
    for path in page["paths"]:
        for hop in path["hops"]:
            quote = hop["quote"]
            assert f'href="{quote["url"]}"' in shown
            document = (await site.client.get(quote["url"].split("#")[0])).text
            lit = "".join(re.findall(r'<mark class="evidence lit">(.*?)</mark>', document))
            assert re.sub("<[^>]+>", "", lit) == quote["text"]
    assert shown.count('<li class="route">') == 2


async def test_the_address_is_made_tidy(site: Datasette) -> None:
    """Other spellings, empty fields and defaults lead to the one address of a question, with JSON too."""
    untidy = "from=mrs+MORGAN&to=First-Order+Lens&via=&metapath=+&k=3&max_hops=4"
    for suffix in ("", ".json"):
        response = await site.client.get(f"{PAGE}{suffix}?{untidy}")
        assert response.status_code == 302
        assert response.headers["location"] == f"{PAGE}{suffix}?from=Ina+Morgan&to=first-order+lens"
    for args, tidy in [
        ("k=900&max_hops=900&to=gannet", "to=gannet&k=20&max_hops=8"),
        ("k=x&max_hops=-1&from=gannet", "from=gannet"),
        ("from_id=2", "from=Ina+Morgan"),
        ("from=Mercury&from_type=nonsense", "from=Mercury"),
        ("from_type=vessel", ""),
    ]:
        response = await site.client.get(f"{PAGE}?{args}")
        assert response.headers.get("location") == f"{PAGE}?{tidy}".rstrip("?"), args
    assert (await site.client.get(f"{PAGE}?k=20&max_hops=8&to=gannet&utm=x")).status_code == 200


async def test_through_a_third(site: Datasette) -> None:
    page = await data(site, {"from": "Ina Morgan", "to": "first-order lens", "via": "Ruadh Point"})
    assert [told(path) for path in page["paths"]] == [
        ["Ina Morgan", "kept", "Ruadh Point", "has_part", "first-order lens"]
    ]
    assert {node["entity"]["name"]: node["end"] for node in page["picture"]["nodes"]} == {
        "Ina Morgan": True, "Ruadh Point": True, "first-order lens": True,
    }  # fmt: skip
    page = await data(site, {"from": "Ruadh Point", "to": "Ina Morgan", "via": "Col Sands"})
    assert page["paths"] == []  # there is only one way to Col Sands, and it would have to be taken twice
    assert "No path through Col Sands" in page["note"]
    page = await data(site, {"from": "Ina Morgan", "to": "first-order lens", "via": "Ina Morgan", "k": 1})
    assert len(page["paths"]) == 1
    assert [hop["relation"] for hop in page["paths"][0]["hops"]] == ["wrote_to", "ordered"]


async def test_along_a_metapath(site: Datasette) -> None:
    asked = {"from": "Ina Morgan", "metapath": "kept|wrote to/*"}
    page = await data(site, asked)
    reached = {item["entity"]["name"]: item["walks"] for item in page["reached"]}
    assert reached == {"first-order lens": 2, "Col Sands": 1}
    assert (page["reached_count"], page["walk_count"]) == (2, 3)
    assert sorted(told(path) for path in page["paths"]) == [
        ["Ina Morgan", "kept", "Ruadh Point", "has_part", "first-order lens"],
        ["Ina Morgan", "kept", "Ruadh Point", "links_to", "Col Sands"],
        ["Ina Morgan", "wrote_to", "Northern Lights Board", "ordered", "first-order lens"],
    ]
    text = await html(site, asked)
    assert "kept it for thirty-one years" in text
    assert "Leads to 2 entities" in text
    page = await data(site, {**asked, "to": "Col Sands"})
    assert [told(path)[-1] for path in page["paths"]] == ["Col Sands"]
    page = await data(site, {**asked, "to": "gannet"})
    assert (page["paths"], page["note"]) == ([], "kept|wrote to/* leads from Ina Morgan not to gannet.")
    page = await data(site, {"from": "gannet", "metapath": "kept"})
    assert page["note"] == "kept leads from gannet nowhere."


async def test_what_a_bound_kept_from_being_found_is_not_denied(tmp_path: Path, monkeypatch: Any) -> None:
    shelf = Shelf(tmp_path / "light.db")
    chunk = shelf.document("n.md", ["Drama has films."])[0]
    drama, award = shelf.entity("Drama"), shelf.entity("Award")
    films = [shelf.entity(f"film {n}") for n in range(21_000)]
    for film in films:
        shelf._insert("kg_triples", head=film, relation="has_genre", tail=drama, evidence=1)
    shelf.triple(award, "given_to", films[-1], chunk, "films")
    site = await serve(shelf.close(), settings={"sql_time_limit_ms": 10_000})
    asked = {"from": "Drama", "metapath": "^has_genre/^given_to"}
    page = await data(site, asked)
    assert [item["entity"]["name"] for item in page["reached"]] == ["Award"]
    assert (page["truncated"], [told(path)[-1] for path in page["paths"]]) == (False, ["Award"])
    monkeypatch.setattr(path_queries, "STEPS", 21_000)
    for more, where in (({}, "Drama"), ({"to": "Award"}, "Drama to Award")):
        page = await data(site, {**asked, **more})
        assert (page["truncated"], page["reached"]) == (True, [])
        assert page["note"] == (
            f"Within what a page may read, ^has_genre/^given_to was not found to lead from {where}. "
            "It may yet: llm graphrag follow reads more."
        )
    monkeypatch.setattr(path_queries, "FACTS", 1)
    page = await data(site, {"from": "Drama", "to": "Award"})
    assert page["note"].endswith("Facts of every relation were followed, both ways, as far as a page may read.")
    shut(site)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"metapath": "keptt"}, "Did you mean kept"),
        ({"metapath": "kept//kept"}, "A step of the metapath is empty"),
        ({"metapath": '"'}, "is not closed"),
        ({"metapath": "kept", "via": "Col Sands"}, "Leave one of the two empty"),
    ],
)
async def test_a_metapath_that_cannot_be_followed(site: Datasette, more: dict[str, str], said: str) -> None:
    asked = {"from": "Ina Morgan", **more}
    page = await data(site, asked, 400)
    assert page["ok"] is False
    assert said in page["error"]
    assert said in html_entities.unescape(await html(site, asked, 400))


async def test_relations_to_start_with(site: Datasette) -> None:
    page = await data(site, {"from": "Ruadh Point"})
    starts = {start["metapath"]: start["count"] for start in page["starts"]}
    assert starts == {"has_part": 1, "keeper": 1, "links_to": 1, "^kept": 1}
    for start in page["starts"]:
        assert len((await data(site, start["href"].split("?")[1]))["reached"]) == start["count"]
    assert 'href="/light/-/graph/path?from=Ruadh+Point&amp;metapath=%5Ekept"' in await html(
        site, {"from": "Ruadh Point"}
    )
    entity = (await site.client.get("/light/-/graph/entity/Ruadh+Point")).text
    assert 'href="/light/-/graph/path?from=Ruadh+Point"' in entity


async def test_unknown_names_ask_did_you_mean(site: Datasette) -> None:
    asked = {"from": "Ina Morgann", "to": "Col Sandss", "via": "first order lenz"}
    page = await data(site, asked, 404)
    assert page["ok"] is False
    assert page["error"] == "Nothing here is called “Ina Morgann”, “Col Sandss”, “first order lenz”."
    assert page["source"]["near"][0]["entity"]["name"] == "Ina Morgan"
    assert page["target"]["near"][0]["entity"]["name"] == "Col Sands"
    assert page["via"]["near"][0]["entity"]["name"] == "first-order lens"
    text = await html(site, asked, 404)
    assert text.count("Did you mean") == 3
    assert 'value="Ina Morgann"' in text
    for end in ("source", "target", "via"):
        href = page[end]["near"][0]["href"]
        assert href.replace("&", "&amp;") in text
        query, status = href.split("?")[1], 404 if end != "via" else 200
        page, text = await data(site, query, status), await html(site, query, status)
    assert [told(path)[0] for path in page["paths"]] == ["Ina Morgan"]


async def test_the_page_suggests_what_the_terminal_suggests(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "light.db")
    petr, chapter = shelf.entity("Petr Vaněk", aliases=("Petr",)), shelf.entity("Chapter 4")
    assert nearest_names(shelf.connection, "Pter") == ["Petr"]
    site = await serve(shelf.close())
    near = (await data(site, {"from": "Pter"}, 404))["source"]["near"]
    assert [choice["entity"]["id"] for choice in near] == [petr, chapter]  # and what has a piece of it
    text = (await site.client.get("/light/-/graph/entity/Pter")).text
    assert 0 < text.index("Petr Vaněk") < text.index("Chapter 4")
    shut(site)


async def test_a_name_of_several_is_chosen_between(site: Datasette) -> None:
    asked = {"from": "Hamish Bell", "to": "Mercury"}
    page = await data(site, asked)
    assert page["paths"] == []
    assert [choice["entity"]["type"] for choice in page["target"]["choices"]] == ["substance", "vessel"]
    text = await html(site, asked)
    assert "2 entities bear the name" in text
    substance, vessel = (choice["href"] for choice in page["target"]["choices"])
    assert vessel.replace("&", "&amp;") in text
    page = await data(site, vessel.split("?")[1])
    assert [told(path) for path in page["paths"]] == [["Hamish Bell", "built", "Mercury"]]
    text = await html(site, vessel.split("?")[1])
    assert '<option value="vessel" selected>' in text
    assert (await data(site, substance.split("?")[1]))["paths"] == []


async def test_a_name_means_on_the_page_what_it_means_in_the_terminal(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "light.db")
    guide, reference = (shelf.entity(f"{kind}.vaults", aliases=("Vaults",)) for kind in ("guide", "reference"))
    hooks, other = shelf.entity("topic.hooks", aliases=("Hooks",)), shelf.entity("Other")
    vaults, hook = shelf.entity("Vaults"), shelf.entity("Hooks")  # mentioned, without facts
    cats, pets = shelf.entity("Cats"), shelf.entity("pets", aliases=("Cats",))
    chunk = shelf.document("n.md", ["Other links them."])[0]
    shelf.document("Cats.md", ["Nothing yet."], entity=cats)
    for end in (guide, reference, hooks, pets):
        shelf.triple(other, "links_to", end, chunk, "Other")
    for name, meant in {"vaults": [guide, reference, vaults], "hooks": [hooks], "cats": [cats]}.items():
        assert [node.id for node in named(shelf.connection, name)] == meant
    site = await serve(shelf.close())

    async def ends(name: str) -> tuple[str, list[int]]:
        """Where the name leads, and what it is asked about."""
        response = await site.client.get(f"{PAGE}.json?{urlencode({'from': name, 'to': 'Other'})}")
        page = await data(site, response.headers["location"].split("?")[1]) if response.has_redirect_location else None
        page = page or response.json()
        source = page["source"]
        return source["entity"] and source["entity"]["id"], [choice["entity"]["id"] for choice in source["choices"]]

    assert await ends("vaults") == (None, [guide, reference, vaults])
    assert await ends("Hooks") == (hooks, [])
    assert await ends("Cats") == (cats, [])
    for number in (guide, reference, vaults, hook, cats, pets):
        assert await ends(f"#{number}") == (number, [])
        assert await ends(f"##{number}") == (number, [])
    asked = {"from": "vaults", "to": "Other"}
    page, text = await data(site, asked), await html(site, asked)
    assert "3 entities bear the name" in text
    for choice, number in zip(page["source"]["choices"], (guide, reference, vaults), strict=True):
        assert f'<span class="count">#{number}</span>' in text
        chosen = await data(site, choice["href"].split("?")[1])
        assert chosen["source"]["entity"]["id"] == number
    for typed in ("vaults", "hooks"):  # what is chosen from the list under the field is meant
        completed = (await site.client.get(f"/light/-/graph/names.json?q={typed}")).json()["names"]
        assert {one["entity"]["id"] for one in completed} >= {vaults if typed == "vaults" else hook}
        for one in completed:
            assert (await ends(one["typed"]))[0] == one["entity"]["id"]
    shut(site)


async def test_of_very_many_that_bear_a_name_the_first_are_shown(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "light.db")
    ids = [shelf.entity(f"log {n}", aliases=("Log",)) for n in range(70)]
    site = await serve(shelf.close())
    text = await html(site, {"from": "Log"})
    assert "70 entities bear the name" in text and "The first 50 are shown." in text
    page = await data(site, {"from": "Log"})
    assert [choice["entity"]["id"] for choice in page["source"]["choices"]] == ids[:50]
    shut(site)


async def test_no_path_says_what_was_tried(site: Datasette) -> None:
    page = await data(site, {"from": "Ina Morgan", "to": "Hamish Bell"})
    assert page["paths"] == []
    assert page["note"] == (
        "No facts connect Ina Morgan and Hamish Bell, however far one goes. Every relation was followed, both ways."
    )
    assert page["farther_url"] is None
    page = await data(site, {"from": "Col Sands", "to": "Mercury", "to_type": "substance", "max_hops": 2})
    assert page["paths"] == []
    page = await data(site, {"from": "Col Sands", "to": "Mercury", "to_type": "substance"})
    assert page["paths"][0]["hops"][-1]["relation"] == "turns_in"


async def test_the_nearest_path_is_told_where_none_is_so_short(site: Datasette) -> None:
    asked = {"from": "Col Sands", "to": "Mercury", "to_type": "substance"}
    hops = len((await data(site, asked))["paths"][0]["hops"])
    page = await data(site, {**asked, "max_hops": 1})
    assert page["note"] == (
        f"No path of at most 1 hop was found between Col Sands and Mercury. The nearest has {hops}. "
        "Facts of every relation were followed, both ways."
    )
    assert page["farther_url"] == f"{PAGE}?from=Col+Sands&to=Mercury&to_type=substance" + (
        f"&max_hops={hops}" if hops != 4 else ""
    )
    assert "Look farther" in await html(site, {**asked, "max_hops": "1"})


async def test_sentences_that_name_two_where_no_facts_connect_them(site: Datasette) -> None:
    asked = {"from": "Ina Morgan", "to": "Hamish Bell"}
    page = await data(site, asked)
    assert page["mentions_url"] == f"{PAGE}?from=Ina+Morgan&to=Hamish+Bell&mentions=1"
    assert "Look in sentences" in await html(site, asked)
    asked["mentions"] = "1"
    page = await data(site, asked)
    assert [told(path) for path in page["paths"]] == [
        ["Ina Morgan", "named_with", "Ruadh Point", "named_with", "Hamish Bell"]
    ]
    assert page["note"].startswith("No facts connect them.")
    assert (page["farther_url"], page["mentions_url"]) == (None, None)
    first, second = page["paths"][0]["hops"]
    assert (first["triple"], first["quote"]) == (0, None)
    assert second["named"]["url"] == ("/light/-/graph/document/notes~2Fplaces~2FRuadh+Point~2Emd#chunk-2")
    assert second["named"]["parts"][0][0].startswith("Hamish Bell takes visitors over")
    text = await html(site, asked)
    assert "Hamish Bell takes visitors over" in text
    assert f'href="{second["named"]["url"]}"' in text
    page = await data(site, {**asked, "to": "Ruadh Point"})
    assert page["paths"][0]["hops"][0]["triple"] > 0, "facts go before sentences"
    page = await data(site, {**asked, "to": "gannet"})
    assert page["paths"] == []
    assert page["note"].endswith("both ways, and sentences that name two things.")
    page = await data(site, {"from": "Ina Morgan", "to": "Hamish Bell", "via": "gannet"})
    assert page["mentions_url"] is None


async def test_from_an_entity_to_itself(site: Datasette) -> None:
    page = await data(site, {"from": "Ina Morgan", "to": "Ina Morgan"})
    assert [told(path) for path in page["paths"]] == [["Ina Morgan"]]
    assert page["note"] == "Both names mean the same entity."
    assert page["picture"] is None


async def test_joined_entities_stand_for_each_other(tmp_path: Path) -> None:
    path = lighthouse(tmp_path / "light.db")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO kg_entities (name, type, key, origin, merged_into) VALUES ('I. M.', '', ?, '', 2)",
            [name_key("I. M.")],
        )
    site = await serve(path)
    response = await site.client.get(f"{PAGE}?from=I.+M.&to=Ruadh+Point")
    assert response.headers["location"] == f"{PAGE}?from=Ina+Morgan&to=Ruadh+Point"
    assert (await data(site, "from_id=999", 404))["error"] == "There is no entity number 999."
    shut(site)


async def test_a_file_without_derived_tables_says_so(tmp_path: Path) -> None:
    path = lighthouse(tmp_path / "light.db")
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE kg_counts")
    site = await serve(path)
    assert "llm graphrag rebuild" in (await data(site, "from=Ina+Morgan&to=Ruadh+Point", 501))["error"]
    names = (await data(site, "q=ruadh", page="/light/-/graph/names"))["names"]
    assert [item["entity"]["name"] for item in names] == ["Ruadh Point"]
    around = (await data(site, page="/light/-/graph/entity/Ruadh+Point"))["picture"]
    assert len(around["nodes"]) == 4
    shut(site)


# Pictures ------------------------------------------------------------------------


async def test_the_picture_holds_what_the_text_says(site: Datasette) -> None:
    asked = {"from": "Ina Morgan", "to": "first-order lens"}
    page = await data(site, asked)
    drawn = page["picture"]
    levels = {node["entity"]["name"]: (node["level"], node["end"]) for node in drawn["nodes"]}
    assert levels == {
        "Ina Morgan": (0, True), "Northern Lights Board": (1, False), "Ruadh Point": (1, False),
        "first-order lens": (2, True),
    }  # fmt: skip
    names = {node["entity"]["id"]: node["entity"]["name"] for node in drawn["nodes"]}
    assert {(names[edge["head"]], edge["relation"], names[edge["tail"]]) for edge in drawn["edges"]} == {
        ("Ina Morgan", "wrote_to", "Northern Lights Board"), ("Northern Lights Board", "ordered", "first-order lens"),
        ("Ina Morgan", "kept", "Ruadh Point"), ("Ruadh Point", "keeper", "Ina Morgan"),
        ("Ruadh Point", "has_part", "first-order lens"),
    }  # fmt: skip
    kinds = [kind["name"] for kind in drawn["legend"]]
    assert {node["entity"]["type"] for node in drawn["nodes"]} == set(kinds)
    assert all(kinds[node["kind"]] == node["entity"]["type"] for node in drawn["nodes"])
    assert (drawn["left_out"], drawn["more"]) == (0, False)
    assert embedded(await html(site, asked)) == drawn


async def test_the_neighbours_of_an_entity(site: Datasette) -> None:
    drawn = (await data(site, page="/light/-/graph/entity/Ina+Morgan"))["picture"]
    assert [(node["entity"]["name"], node["end"]) for node in drawn["nodes"]] == [
        ("Ina Morgan", True), ("Ruadh Point", False), ("Northern Lights Board", False),
    ]  # fmt: skip
    assert drawn["left_out"] == 0
    assert embedded((await site.client.get("/light/-/graph/entity/Ina+Morgan")).text) == drawn
    drawn = (await data(site, page="/light/-/graph/entity/first-order+lens"))["picture"]
    edges = {(edge["head"], edge["relation"], edge["tail"]) for edge in drawn["edges"]}
    assert (1, "has_part", 4) in edges
    assert len(edges) == 3
    drawn = (await data(site, page="/light/-/graph/entity/Ruadh+Point"))["picture"]
    assert {node["entity"]["name"] for node in drawn["nodes"]} == {
        "Ruadh Point", "Ina Morgan", "first-order lens", "Col Sands",
    }  # fmt: skip
    text = (await site.client.get("/light/-/graph/entity/gannet")).text
    assert "<figure" not in text
    assert "graphrag_picture" not in text


async def test_what_joins_the_neighbours_is_drawn_too(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "light.db")
    a, b, c, d = (shelf.entity(name) for name in "abcd")
    chunk = shelf.document("n.md", ["a b c d"])[0]
    for head, tail in [(a, b), (a, c), (b, c), (c, b), (c, d), (b, b)]:
        shelf.triple(head, "r", tail, chunk, "a b")
    site = await serve(shelf.close())
    drawn = (await data(site, page="/light/-/graph/entity/a"))["picture"]
    assert {(e["head"], e["tail"]) for e in drawn["edges"]} == {(a, b), (a, c), (b, c), (c, b)}
    assert {node["entity"]["id"] for node in drawn["nodes"]} == {a, b, c}
    shut(site)


def ref(number: int, type_: str = "") -> EntityRef:
    return EntityRef(number, f"e{number}", type_)


def hop(relation: str = "r", forward: bool = True, also: tuple[Also, ...] = ()) -> Hop:
    return Hop(1, relation, forward, 1, None, also)


def test_a_picture_has_at_most_300_nodes_and_says_what_it_left_out() -> None:
    routes = [Route((ref(0), ref(2 * n + 2), ref(2 * n + 3), ref(1)), (hop(), hop(), hop())) for n in range(200)]
    drawn = picture.of_routes(routes, [0, 1], {})
    assert drawn is not None
    assert len(drawn.nodes) == 300
    assert drawn.left_out == 102
    assert {node.level for node in drawn.nodes} == {0, 1, 2, 3}
    ids = {node.entity.id for node in drawn.nodes}
    assert all(edge.head in ids and edge.tail in ids for edge in drawn.edges)
    assert picture.of_routes([Route((ref(0),), ())], [0], {}) is None
    assert picture.of_routes([], [0], {}) is None


def test_the_rarest_types_share_an_entry_of_the_legend() -> None:
    nodes = tuple(ref(n, f"type {min(n, 10)}") for n in range(20))
    signs = {f"type {n}": (n % 7, n // 7) for n in range(11)}
    route = Route(nodes, tuple(hop() for _ in range(19)))
    drawn = picture.of_routes([route], [0], signs)
    assert drawn is not None
    assert [(kind.name, kind.count) for kind in drawn.legend] == [
        ("type 10", 10), *((f"type {n}", 1) for n in range(6)), (picture.OTHERS, 4),
    ]  # fmt: skip
    assert {node.kind for node in drawn.nodes if node.entity.type in ("type 6", "type 9")} == {7}
    assert sum(kind.count for kind in drawn.legend) == 20
    assert [(kind.shape, kind.colour) for kind in drawn.legend] == [
        (3, 1), *((n, 0) for n in range(6)), (picture.SHAPES, picture.SHAPES),
    ]  # fmt: skip
    del signs["type 10"]  # as of the fiftieth type of a file
    drawn = picture.of_routes([route], [0], signs)
    assert drawn is not None
    assert [(kind.name, kind.count) for kind in drawn.legend] == [
        *((f"type {n}", 1) for n in range(7)), (picture.OTHERS, 13),
    ]  # fmt: skip
    assert {node.kind for node in drawn.nodes if node.entity.type == "type 10"} == {7}


async def test_a_type_looks_the_same_in_every_picture(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "light.db")
    types = [f"type {n:02}" for n in range(60)]
    chunk = shelf.document("n.md", ["All of them."])[0]
    centre = shelf.entity("centre", types[0])
    for n, type_ in enumerate(types):
        other = shelf.entity(f"n{n}", type_)
        shelf.triple(centre, "has", other, chunk, "All")
        if n % 3 == 0:
            shelf.triple(other, "near", other - 1, chunk, "All")
    site = await serve(shelf.close())
    looks: dict[str, set[tuple[int, int]]] = {}
    for n in range(60):
        for page, args in (("/light/-/graph/entity/n" + str(n), {}), (PAGE, {"from": "centre", "to": f"n{n}", "k": 2})):
            for kind in (await data(site, args, page=page))["picture"]["legend"]:
                looks.setdefault(kind["name"], set()).add((kind["shape"], kind["colour"]))
    assert all(len(look) == 1 for look in looks.values())
    assert looks.pop(picture.OTHERS) == {(7, 7)}
    assert sorted(looks) == types[:49]  # the others have one sign together
    assert len({look for (look,) in looks.values()}) == 49
    shut(site)


async def test_neighbours_and_mentions_are_counted_as_far_as_it_says(tmp_path: Path, monkeypatch: Any) -> None:
    shelf = Shelf(tmp_path / "light.db")
    chunks = shelf.document("n.md", [f"Hub {n}. " for n in range(30)])
    for name, others in (("hub", 1_200), ("full", 1_000), ("twice", 700), ("self", 3)):
        entity = shelf.entity(name)
        for n in range(others):
            other = shelf.entity(f"{name} {n}")
            for relation in ("a", "b"):
                shelf._insert("kg_triples", head=entity, relation=relation, tail=other, evidence=1)
        shelf._insert("kg_triples", head=entity, relation="is", tail=entity, evidence=1)
    for chunk in chunks:
        shelf._insert("kg_mentions", chunk=chunk, entity=1, key="hub", start=0, end=3, origin="user")
    site = await serve(shelf.close())

    async def said(name: str) -> str:
        text = await html(site, page=f"/light/-/graph/entity/{name}")
        (said,) = re.findall(r'<p class="soft">([^<]*neighbours[^<]*)</p>', text)
        return said.split(";")[0]

    assert await said("hub") == "70 of more than 1,000 neighbours"
    assert await said("full") == "70 of 1,000 neighbours"
    assert await said("twice") == "70 of 700 neighbours"
    assert await said("self") == "3 neighbours."
    for read, shown in ((31, "30"), (30, "30"), (20, "20+")):
        monkeypatch.setattr(entity_queries, "NAMED", read)
        assert f'title="mentions">{shown}</span>' in await html(site, page="/light/-/graph/entity/hub")
    shut(site)


async def test_the_data_of_a_picture_cannot_leave_its_script(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "light.db")
    names = [*HOSTILE, "</script>", "<!-- <script>", "]]>", "a\u2028b", "😀", "x" * 500, "A —r→ B", "a\u0000b"]
    centre = shelf.entity("centre")
    chunk = shelf.document("n.md", ["centre"])[0]
    ids = [shelf.entity(name, type=name) for name in names]
    for name, number in zip(names, ids, strict=True):
        shelf.triple(centre, name, number, chunk, "centre")
    site = await serve(shelf.close())
    plain = Tags((await site.client.get("/light/-/graph/search")).text).tags
    asked = (urlencode({"from": "centre", "to": name, "to_type": name}) for name in names)
    for url in ["/light/-/graph/entity/centre", *(f"{PAGE}?{one}" for one in asked)]:
        response = await site.client.get(url, follow_redirects=True)
        assert response.status_code == 200, url
        drawn = embedded(response.text)
        assert {node["entity"]["name"] for node in drawn["nodes"]} <= {"centre", *names}
        assert len(drawn["nodes"]) == (len(names) + 1 if "entity" in url else 2)
        assert_safe(response.text, len([tag for tag, _ in plain if tag == "script"]))
    shut(site)


def assert_safe(text: str, others: int) -> None:
    """Every script is a file of ours or data; nothing is a handler, a style or an address of another kind."""
    tags = Tags(text).tags
    scripts = [attrs for tag, attrs in tags if tag == "script"]
    ours = [s for s in scripts if s.get("type") == "application/json" or "/-/static-plugins/" in (s.get("src") or "")]
    assert len(scripts) - len(ours) == others
    for tag, attrs in tags:
        assert tag not in ("iframe", "object", "embed", "img", "style", "image"), tag
        assert not [name for name in attrs if name.startswith("on") or name == "style"], attrs
        for name in ("href", "src", "action"):
            scheme = re.match(r"\s*([a-z][a-z0-9+.-]*):", attrs.get(name) or "", re.I)
            assert scheme is None or "datasette.io" in (attrs[name] or ""), attrs


# Names ----------------------------------------------------------------------------


async def test_names_are_completed(site: Datasette) -> None:
    async def names(q: str) -> list[tuple[str, str]]:
        page = await data(site, {"q": q}, page="/light/-/graph/names")
        return [(item["entity"]["name"], item["alias"]) for item in page["names"]]

    assert (await names("ina"))[0] == ("Ina Morgan", "")
    assert (await names("MRS"))[0] == ("Ina Morgan", "Mrs Morgan")
    assert (await names("Rubha"))[0] == ("Ruadh Point", "Rubha Ruadh")
    assert (await names("ruadh piont"))[0] == ("Ruadh Point", "")
    assert [name for name, _ in await names("mercury")] == ["Mercury", "Mercury"]
    for q in ("", "   ", "zzzzzz", "x" * 5000, "%", "'", '"', "\x00", "NEAR("):
        assert await names(q) == [] or q in ("%", "'", '"'), q
    assert (await site.client.get("/light/-/graph/names?q=ina")).status_code == 404


async def test_completions_are_few_and_the_best_known_first(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "light.db")
    entities = [shelf.entity(f"star {n:04d}") for n in range(1000)]
    chunk = shelf.document("n.md", ["star"])[0]
    for other in entities[200:205]:
        shelf.triple(entities[150], "near", other, chunk, "star")
    site = await serve(shelf.close())
    found = (await data(site, "q=sta", page="/light/-/graph/names"))["names"]
    assert len(found) == 10
    assert found[0]["entity"]["name"] == "star 0150"
    assert (await data(site, "q=star+0777", page="/light/-/graph/names"))["names"][0]["entity"]["name"] == "star 0777"
    shut(site)


# Any name, any site ------------------------------------------------------------------


def leads_back(world: World, name: str, type_: str = "") -> None:  # noqa: F811
    entity = world.entity(name, type_)
    links = Links(world.site, "my.notes")
    connection = sqlite3.connect(world.connection.execute("PRAGMA database_list").fetchone()[2])
    connection.row_factory = sqlite3.Row
    try:
        args = address(connection, "from", entity)
    finally:
        connection.close()
    url = links.paths({**args, "to": "z"}, json=True)
    assert len(url) < 1200
    response = world.get(url)
    assert response.status_code in (200, 404), (name, response.headers)  # and not 302: the address is its own
    assert response.json()["source"]["entity"]["id"] == entity.id, url


@pytest.mark.parametrize("name", ODD, ids=lambda name: ascii(name)[:30])
def test_odd_names_have_an_address(world: World, name: str) -> None:  # noqa: F811
    leads_back(world, name)


text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
tricky = st.text(st.sampled_from("./~%+ #?&=;:\\aB2E-_é"), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.one_of(text, tricky), type_=st.sampled_from(["", "", "person", "a&b"]))
def test_any_name_has_an_address(world: World, name: str, type_: str) -> None:  # noqa: F811
    if name_key(name):
        leads_back(world, name, type_)


def test_two_that_nothing_tells_apart_go_by_their_numbers(tmp_path: Path) -> None:
    """As when a name was divided by hand: the same name and type, other keys."""
    shelf = Shelf(tmp_path / "light.db")
    one = shelf.entity("Ana")
    two = shelf._insert("kg_entities", name="Ana", type="", key="ana #2", origin="user")
    shelf._insert("kg_aliases", entity=two, name="Ana", key="ana", kind="name", origin="user")
    connection = shelf.connection
    assert address(connection, "from", EntityRef(one, "Ana")) == {"from": "Ana"}
    assert address(connection, "from", EntityRef(two, "Ana")) == {"from_id": str(two)}
    assert [entity.id for entity in entities_called(connection, "Ana")] == [one]
    shelf.close()


async def test_addresses_start_with_base_url_and_the_file_may_be_immutable(tmp_path: Path) -> None:
    path = lighthouse(tmp_path / "light.db")
    site = await serve(immutable=(path,), settings={"base_url": "/notes/"})
    for url in (f"{PAGE}.json?from=Ina+Morgan&to=first-order+lens", f"{PAGE}.json?from=Mercury&to=Ina+Morgann",
                f"{PAGE}.json?from=Ina+Morgan", "/light/-/graph/entity/Ruadh+Point.json"):  # fmt: skip
        response = await site.client.get(url)
        urls = re.findall(r'"(?:\w*url|href)": "([^"]*)"', response.text)
        assert len(urls) > 3
        assert all(url.startswith("/notes/light/-/graph") for url in urls), urls
    response = await site.client.get(f"{PAGE}?from=Ina+Morgan&to=first-order+lens")
    assert response.headers["cache-control"] == "max-age=5"
    for url in re.findall(r'(?:href|src|action|data-names)="(/[^"]*)"', response.text):
        assert url.startswith("/notes/"), url
    for url in re.findall(r'"url":"([^"]*)"', response.text):
        assert url.startswith("/notes/"), url
    response = await site.client.get(f"{PAGE}?from=ina+morgan&to=first-order+lens")
    assert response.headers["location"] == "/notes/light/-/graph/path?from=Ina+Morgan&to=first-order+lens"
    shut(site)


async def test_what_is_private_is_private_here_too(tmp_path: Path) -> None:
    site = await serve(lighthouse(tmp_path / "light.db"), **rules(light={"tables": {"kg_aliases": {"allow": False}}}))
    for url in ("/light/-/graph/names.json?q=ina", PAGE, f"{PAGE}.json?from=Ina+Morgan&to=Ruadh+Point"):
        response = await site.client.get(url)
        assert response.status_code == 403, url
        assert "Ruadh" not in response.text.replace(url, "")
    shut(site)


async def test_static_files_are_served(site: Datasette) -> None:
    shown = await html(site, {"from": "Ina Morgan", "to": "first-order lens"})
    served = re.findall(r'(?:href|src)="(/-/static-plugins/[^"]*)"', shown)
    names = {re.sub(r".*/([^?]*)\?.*", r"\1", url) for url in served}
    assert names >= {"d3-force.js", "graphrag_picture.js", "graphrag_names.js", "graphrag_picture.css"}
    for url in served:
        assert (await site.client.get(url)).status_code == 200, url


@pytest.mark.parametrize("names", [HOSTILE[:12], HOSTILE[12:]])
async def test_hostile_names_are_text(tmp_path: Path, names: list[str]) -> None:
    shelf = Shelf(tmp_path / "light.db")
    chunks = [shelf.document(f"{name}.md", [f"{name} said {name} to nobody.\n"], title=name)[0] for name in names]
    ids = [shelf.entity(name, type=name, aliases=(f"alias {name}",)) for name in names]
    for n, name in enumerate(names):
        shelf.triple(ids[n], name, ids[n - 1], chunks[n], f"{name} said")
    site = await serve(shelf.close())
    others = sum(tag == "script" for tag, _ in Tags((await site.client.get("/light/-/graph/search")).text).tags)
    for n, name in enumerate(names):
        for args, status in [
            ({"from": name, "to": names[n - 1], "k": 1, "max_hops": 1}, 200), ({"from": name}, 200),
            ({"from": f"{name} nobody", "to": name, "via": f"{name} {name}"}, 404),
            ({"from": name, "metapath": f"{name} nothing"}, 400),
            ({"from": name, "metapath": json.dumps(name, ensure_ascii=False)}, 200),
        ]:  # fmt: skip
            response = await site.client.get(f"{PAGE}?{urlencode(args)}", follow_redirects=True)
            assert response.status_code == status, (args, response.text[-2000:])
            assert_safe(response.text, others)
            assert name in html_entities.unescape(response.text)
        page = await data(site, {"from": name, "to": names[n - 1], "k": 1, "max_hops": 1})
        assert page["paths"][0]["hops"][0]["relation"] == name
        assert page["paths"][0]["hops"][0]["quote"]["text"] == f"{name} said"
        page = await data(site, {"q": name[:40]}, page="/light/-/graph/names")
        assert name in {item["entity"]["name"] for item in page["names"]}
    shut(site)


async def test_hubs_of_100_000_facts_answer_within_a_second(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "light.db")
    chunk = shelf.document("n.md", ["Alpha knows one. Omega knows two."])[0]
    one, two, alpha, omega = (shelf.entity(name) for name in ("One", "Two", "Alpha", "Omega"))
    shelf.triple(alpha, "knows", one, chunk, "Alpha knows one.")
    shelf.triple(omega, "knows", two, chunk, "Omega knows two.")
    others = range(10, 100_010)
    shelf.connection.executemany(
        "INSERT INTO kg_entities(id, name, type, key, origin) VALUES (?, ?, '', ?, '')",
        [(n, f"n{n}", f"n{n}") for n in others],
    )
    for hub, relation in ((one, "lists"), (two, "names")):
        shelf.connection.executemany(
            "INSERT INTO kg_triples(head, relation, tail, evidence) VALUES (?, ?, ?, 1)",
            [(hub, relation, n) for n in others],
        )
    site = await serve(shelf.close(), settings={"sql_time_limit_ms": 10_000})  # so that the clock decides nothing
    await site.client.get("/light/-/graph")
    for url, truncated in [
        (f"{PAGE}.json?from=Alpha&to=Omega", True), (f"{PAGE}.json?from=Alpha&to=Omega&k=20&max_hops=8", True),
        (f"{PAGE}.json?from=Alpha&to=Omega&via=One", True), (f"{PAGE}.json?from=One&to=Two", True),
        (f"{PAGE}.json?from=Alpha&metapath=knows%2F%2A", False), ("/light/-/graph/entity/One.json", None),
        ("/light/-/graph/entity/One", None), ("/light/-/graph/names.json?q=n", None),
    ]:  # fmt: skip
        start = time.process_time()  # of this process alone, whatever else the machine does
        response = await site.client.get(url)
        assert response.status_code == 200, url
        assert time.process_time() - start < 2, url  # 0.4 with nobody else at work
        if truncated is not None:
            page = response.json()
            assert page["truncated"] is truncated
            assert len(page["paths"]) > 0
    drawn = (await data(site, page="/light/-/graph/entity/One"))["picture"]
    assert len(drawn["nodes"]) == picture.AROUND + 1
    assert drawn["more"] is True
    text = (await site.client.get("/light/-/graph/entity/One")).text
    assert "70 of more than 1,000 neighbours" in text
    assert "24 of " in await html(site, "from=Alpha&metapath=knows%2F%2A")
    assert "Not everything was looked at" in await html(site, "from=Alpha&to=Omega")
    shut(site)


def test_the_vendored_file_is_the_one_that_the_makefile_makes() -> None:
    root = Path(__file__).parent.parent
    wanted = re.search(r"^D3 := (.+)$", (root / "Makefile").read_text(encoding="utf-8"), re.M)
    assert wanted is not None
    static = root / "datasette_graphrag" / "static"
    vendored = (static / "d3-force.js").read_text(encoding="utf-8")
    found = re.findall(r"^// https://d3js\.org/(d3-\w+)/ v([\d.]+) Copyright", vendored, re.M)
    assert [f"{name}@{version}" for name, version in found] == wanted[1].split()
    assert "Permission to use, copy, modify" in (static / "d3-force.LICENSE.txt").read_text(encoding="utf-8")
    for file in static.glob("*.js"):
        code = re.sub(r"^\s*//.*$", "", file.read_text(encoding="utf-8"), flags=re.M)
        assert re.findall(r"https?://[^\s\"'`]+", code) in ([], ["http://www.w3.org/2000/svg"]), file.name
