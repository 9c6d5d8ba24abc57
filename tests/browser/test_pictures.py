"""Pictures and the path page in a real Chromium: what is drawn, dragged, clicked, typed; both widths and schemes.

``GRAPHRAG_SHOTS=FOLDER`` keeps a picture of every page at both widths and schemes.
"""

# ruff: noqa: F811 - fixtures are imported, and are parameters
from __future__ import annotations

import json
import os
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")
sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]
from datasette_helpers import Shelf, lighthouse  # noqa: E402
from test_pages import CONTRAST, browser, serving  # noqa: E402, F401

pytestmark = pytest.mark.browser

SIZES = [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")]
LENS = "/light/-/graph/path?from=Ina+Morgan&to=first-order+lens"
PAGES = {
    "form": "/light/-/graph/path",
    "paths": LENS,
    "through": f"{LENS}&via=Ruadh+Point&k=5&max_hops=3",
    "starts": "/light/-/graph/path?from=Ruadh+Point",
    "along": "/light/-/graph/path?from=Ina+Morgan&metapath=kept%2F%2A",
    "unknown": "/light/-/graph/path?from=Ina+Morgann&to=Mercury",
    "chosen": "/light/-/graph/path?from=Hamish+Bell&to=Mercury&to_type=vessel",
    "around": "/light/-/graph/entity/Ruadh+Point",
    "crowd": "/crowd/-/graph/entity/centre",
    "sentences": "/light/-/graph/path?from=Ina+Morgan&to=Hamish+Bell&mentions=1",
    "wide": "/crowd/-/graph/path?from=centre&to_id=90",
    "web": "/web/-/graph/path?from=east+end&to=west+end&k=20",
    "few": "/web/-/graph/path?from=east+end&to=west+end&k=8",
}
LONG = "Donaudampfschifffahrtsgesellschaft" * 15


def crowd(path: Path) -> Path:
    """One entity with more neighbours than are drawn, of ten types, with names that do not want to fit."""
    shelf = Shelf(path)
    centre = shelf.entity("centre", "hub")
    chunk = shelf.document("n.md", ["centre"])[0]
    for n in range(88):
        other = shelf.entity(f"neighbour {n} " + "of a long name " * (n % 3), f"type {n % 10}")
        shelf.triple(centre, f"relation_{n % 4}", other, chunk, "centre")
        if n:
            shelf.triple(other, "after", other - 1, chunk, "centre")
    shelf.triple(centre, "has", shelf.entity(LONG, "محمد" * 30), chunk, "centre")
    return shelf.close()


def web(path: Path) -> Path:
    """Two ends that many join, and these one another, so that links are in the way of nodes."""
    shelf = Shelf(path)
    chunk = shelf.document("n.md", ["All of it."])[0]
    ends = shelf.entity("east end", "pole"), shelf.entity("west end", "pole")
    middle = [shelf.entity(f"station {n} of the long line", f"type {n % 5}") for n in range(18)]
    for n, one in enumerate(middle):
        shelf.triple(ends[0], "leads to", one, chunk, "All")
        shelf.triple(middle[n - 5], "near", one, chunk, "All")
        if n % 3 == 0:
            shelf.triple(one, "ends at", ends[1], chunk, "All")
    return shelf.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    files = [lighthouse(folder / "light.db"), crowd(folder / "crowd.db"), web(folder / "web.db")]
    with serving(*files, "--setting", "sql_time_limit_ms", 10_000) as base:
        yield base


def visit(browser: Any, url: str, width: int = 1280, **options: Any) -> Any:
    """A page whose picture, if it has one, is drawn."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda m: page.problems.append(m.text) if m.type in ("error", "warning") else None)
    page.goto(url)
    if page.locator("figure.picture").count():
        page.wait_for_selector("figure.picture[data-drawn]")
    return page


def node(page: Any, name: str) -> Any:
    return page.locator(".stage a.node").filter(has=page.locator("title", has_text=name))


def middle(locator: Any) -> tuple[float, float]:
    box = locator.locator("circle.reach").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def twin(base: str, url: str) -> Any:
    path, _, query = url.partition("?")
    with urllib.request.urlopen(f"{base}{path}.json?{query}") as reply:
        return json.load(reply)


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_every_page_fits_and_can_be_read(server: str, browser: Any, width: int, scheme: str) -> None:
    for name, url in PAGES.items():
        page = visit(browser, server + url, width, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(CONTRAST) == [], name
        assert [problem for problem in page.problems if "404" not in problem] == [], name
        outside = page.evaluate(
            """() => [...document.querySelectorAll(".stage")].flatMap((stage) => {
              const s = stage.getBoundingClientRect();
              return [...stage.querySelectorAll(".node .reach, text:not([hidden])")].filter((part) => {
                const p = part.getBoundingClientRect();
                return p.left < s.left - 1 || p.right > s.right + 1 || p.top < s.top - 1 || p.bottom > s.bottom + 1;
              }).map((part) => part.outerHTML);
            })"""
        )
        assert outside == [], name
        if folder := os.environ.get("GRAPHRAG_SHOTS"):
            page.screenshot(path=f"{folder}/picture-{name}-{width}-{scheme}.png", full_page=True)
        page.context.close()


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("url", [LENS, PAGES["around"], PAGES["crowd"], PAGES["wide"]])
def test_the_picture_shows_what_the_twin_says(server: str, browser: Any, url: str, width: int) -> None:
    drawn = twin(server, url)["picture"]
    page = visit(browser, server + url, width)
    shown = page.evaluate(
        """() => [...document.querySelectorAll(".stage a.node")].map((a) =>
          [a.querySelector("title").textContent, a.getAttribute("href"), a.classList.contains("end")])"""
    )
    assert sorted(shown) == sorted([n["entity"]["name"], n["entity"]["url"], n["end"]] for n in drawn["nodes"])
    pairs = {frozenset((edge["head"], edge["tail"])) for edge in drawn["edges"]}
    ways = {(edge["head"], edge["tail"]) for edge in drawn["edges"]}
    assert page.locator(".stage .link").count() == len(pairs)
    assert page.locator(".stage .tip").count() == len(ways)
    colours = page.evaluate(
        """() => [...document.querySelectorAll(".legend li")].map((li) =>
          [getComputedStyle(li.querySelector("path")).fill, li.querySelector("path").getAttribute("d")])"""
    )
    assert len({(colour, shape) for colour, shape in colours}) == len(drawn["legend"])
    for one in drawn["nodes"][:5]:
        path = node(page, one["entity"]["name"]).first.locator("path")
        kind = page.evaluate("(p) => [getComputedStyle(p).fill, p.getAttribute('d')]", path.element_handle())
        assert kind == colours[one["kind"]]
    page.context.close()


@pytest.mark.parametrize("url", [LENS, PAGES["around"], PAGES["crowd"]])
def test_labels_cover_neither_one_another_nor_nodes(server: str, browser: Any, url: str) -> None:
    page = visit(browser, server + url)
    overlaps = page.evaluate(
        """() => {
          const boxes = [...document.querySelectorAll(".stage text:not([hidden])")].map((text) =>
            [text.textContent, text.getBoundingClientRect()]);
          const marks = [...document.querySelectorAll(".stage .node path")].map((path) =>
            [path.parentNode.querySelector("title").textContent, path.getBoundingClientRect()]);
          const over = (a, b) => a.left + 2 < b.right && a.right - 2 > b.left
            && a.top + 3 < b.bottom && a.bottom - 3 > b.top;
          return boxes.flatMap(([name, box], i) => [...boxes.slice(i + 1), ...marks]
            .filter(([, other]) => over(box, other)).map(([other]) => [name, other]));
        }"""
    )
    assert overlaps == []
    labelled = page.locator(".stage .node text:not([hidden])").count()
    assert labelled >= min(20, page.locator(".stage .node").count())
    assert not page.locator(".stage .node.end text").first.get_attribute("hidden")
    page.context.close()


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("url", [PAGES["web"], PAGES["few"], PAGES["through"]])
def test_no_link_runs_through_what_it_does_not_join(server: str, browser: Any, url: str, width: int) -> None:
    names = {one["entity"]["id"]: one["entity"]["name"] for one in twin(server, url)["picture"]["nodes"]}
    pairs = {frozenset((names[e["head"]], names[e["tail"]])) for e in twin(server, url)["picture"]["edges"]}
    page = visit(browser, server + url, width)
    drawn = page.evaluate(
        """() => {
          const stage = document.querySelector(".stage").getBoundingClientRect();
          const nodes = [...document.querySelectorAll(".stage a.node")].map((a) => {
            const box = a.querySelector(".reach").getBoundingClientRect();
            const [x, y] = [box.x + box.width / 2 - stage.x, box.y + box.height / 2 - stage.y];
            return [a.querySelector("title").textContent, x, y];
          });
          return [...document.querySelectorAll(".stage .link")].map((link) => {
            const length = link.getTotalLength();
            const points = [...Array(101).keys()].map((n) => link.getPointAtLength(length * n / 100));
            const far = (some, [, x, y]) => Math.min(...some.map((p) => Math.hypot(p.x - x, p.y - y)));
            const end = (p) => nodes.reduce((a, b) => far([p], a) < far([p], b) ? a : b)[0];
            const ends = [end(points[0]), end(points[100])];
            const met = nodes.filter((node) => !ends.includes(node[0]) && far(points, node) < 7.5);
            return [ends, met.map(([name]) => name)];
          });
        }"""
    )
    assert {frozenset(ends) for ends, _ in drawn} == pairs
    assert [(ends, met) for ends, met in drawn if met] == []
    page.context.close()


def test_a_finger_sees_a_name_that_had_no_room_before_it_opens_it(server: str, browser: Any) -> None:
    page = visit(browser, server + PAGES["crowd"], 360, has_touch=True, is_mobile=True)
    bare = page.locator(".stage a.node:has(text[hidden])").first
    name, url = bare.locator("title").text_content(), bare.get_attribute("href")
    bare = page.locator(f'.stage a.node[href="{url}"]')
    bare.locator("circle.reach").tap()
    assert bare.locator("text:not([hidden])").count() == 1
    assert bare.locator("text").text_content().startswith(name[:5])
    assert page.url == server + PAGES["crowd"]
    bare.locator("circle.reach").tap()
    page.wait_for_url(f"**{url}")
    page.context.close()


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_node_is_dragged_and_opens_nothing(server: str, browser: Any, motion: str) -> None:
    page = visit(browser, server + LENS, reduced_motion=motion)
    moved, other = node(page, "Ruadh Point"), node(page, "Northern Lights Board")
    (x, y), before = middle(moved), middle(other)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, 10)  # a press that ends outside, and holds nothing
    page.mouse.up()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 20)
    page.mouse.move(x + 60, y + 40, steps=4)
    page.wait_for_timeout(300)
    page.mouse.up()
    page.wait_for_timeout(300)
    assert middle(moved) == pytest.approx((x + 60, y + 40), abs=3)
    if motion == "reduce":
        assert middle(other) == pytest.approx(before, abs=0.5)
    assert page.url == server + LENS
    page.mouse.click(*middle(moved))
    page.wait_for_url("**/entity/Ruadh+Point")
    page.context.close()


def test_a_click_opens_the_entity(server: str, browser: Any) -> None:
    page = visit(browser, server + LENS)
    node(page, "Northern Lights Board").locator("circle.reach").click()
    page.wait_for_url("**/entity/Northern+Lights+Board")
    page.wait_for_selector("figure.picture[data-drawn]")
    node(page, "first-order lens").locator("text").click()
    page.wait_for_url("**/entity/first-order+lens")
    page.context.close()


def test_a_finger_opens_a_node_and_scrolls_the_page(server: str, browser: Any) -> None:
    page = visit(browser, server + PAGES["around"], 360, has_touch=True, is_mobile=True)
    assert page.evaluate("getComputedStyle(document.querySelector('.stage svg')).touchAction") == "pan-y"
    assert page.evaluate("getComputedStyle(document.querySelector('.stage .node')).touchAction") == "none"
    node(page, "Col Sands").locator("circle.reach").tap()
    page.wait_for_url("**/entity/Col+Sands")
    page.context.close()


def test_the_keyboard_goes_from_node_to_node(server: str, browser: Any) -> None:
    page = visit(browser, server + LENS)
    page.locator("form.ends summary").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["width"] > 40, "it is seen while it has the focus"
    names = []
    for _ in range(4):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        reach = "document.activeElement.querySelector('.reach')"
        assert page.evaluate(f"getComputedStyle({reach}).stroke") != "none"
    assert sorted(names) == [
        "Ina Morgan, person", "Northern Lights Board, organisation", "Ruadh Point, place", "first-order lens, object",
    ]  # fmt: skip
    page.keyboard.press("Enter")
    page.wait_for_url("**/entity/*")
    page.goto(server + LENS)
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.routes') !== null")
    page.context.close()


def test_the_picture_is_made_larger_and_whole_again(server: str, browser: Any) -> None:
    page = visit(browser, server + PAGES["crowd"])
    first, second = node(page, "neighbour 1 ").first, node(page, "neighbour 40 ").first

    def apart() -> float:
        (a, b), (c, d) = middle(first), middle(second)
        return float(((a - c) ** 2 + (b - d) ** 2) ** 0.5)

    before, labels = apart(), page.locator(".stage .node text:not([hidden])").count()
    page.get_by_role("button", name="Larger").click()
    assert apart() == pytest.approx(1.5 * before, rel=0.02)
    page.get_by_role("button", name="Larger").click()
    x, y = middle(page.locator(".stage .node.end"))
    page.mouse.move(x + 40, y + 300 if y < 300 else y - 100)
    page.get_by_role("button", name="The whole picture").click()
    assert apart() == pytest.approx(before, rel=0.02)
    assert page.locator(".stage .node text:not([hidden])").count() == labels
    page.context.close()


def test_nothing_moves_while_the_page_loads(server: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 2000})
    page = context.new_page()
    page.add_init_script(
        """window.shift = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries())
           window.shift += entry.value; }).observe({type: "layout-shift", buffered: true});"""
    )
    for url in (LENS, PAGES["crowd"]):
        page.goto(server + url)
        page.wait_for_selector("figure.picture[data-drawn]")
        page.wait_for_timeout(300)
        assert page.evaluate("window.shift") < 0.001, url
    context.close()


def test_without_scripts_the_text_stands_alone(server: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 800}, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server}/light/-/graph/path")
    page.get_by_label("From").fill("ina morgan")
    page.get_by_label("To", exact=True).fill("first-order lens")
    page.get_by_role("button", name="Show").click()
    assert page.url == server + LENS
    assert not page.locator("figure.picture").is_visible()
    assert page.get_by_text("Ina Morgan wrote to the Board about the damp.").is_visible()
    context.close()


def test_a_strict_policy_for_scripts_and_styles_is_kept(server: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if "Content Security" in message.text else None)

    def strict(route: Any) -> None:
        reply = route.fetch()
        policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'"
        # Datasette's own pages hold scripts of their own; only what is ours is looked at.
        body = reply.text()
        start = body.index('<div class="graphrag-page">')
        head = "".join(part for part in body[:start].splitlines() if "graphrag" in part and "<link" in part)
        end = body.index("<footer")
        page_text = f"<!DOCTYPE html>{head}<body class='graphrag'>{body[start:end]}"
        route.fulfill(response=reply, body=page_text, headers={**reply.headers, "content-security-policy": policy})

    page.route("**/-/graph/path?*", strict)
    page.goto(server + LENS)
    page.wait_for_selector("figure.picture[data-drawn]")
    page.locator("#end-from").press_sequentially(" x")
    page.wait_for_timeout(400)
    assert problems == []
    assert page.locator(".stage .node").count() == 4
    context.close()


@pytest.mark.parametrize("width", [1280, 360])
def test_names_are_completed_while_they_are_typed(server: str, browser: Any, width: int) -> None:
    page = visit(browser, f"{server}/light/-/graph/path", width)
    start, end = page.get_by_role("combobox", name="From"), page.get_by_role("combobox", name="To", exact=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "names.json" in request.url else None)
    start.press_sequentially("ruad", delay=30)
    options = page.locator(".completions:not([hidden]) [role=option]")
    options.first.wait_for()
    assert options.all_inner_texts() == ["Ruadh Point place"]
    assert len(asked) <= 2, "not for every letter"
    assert start.get_attribute("aria-expanded") == "true"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if folder := os.environ.get("GRAPHRAG_SHOTS"):
        page.screenshot(path=f"{folder}/picture-typing-{width}.png")
    start.press("ArrowDown")
    assert start.get_attribute("aria-activedescendant") == options.first.get_attribute("id")
    start.press("Enter")
    assert start.input_value() == "Ruadh Point"
    assert options.count() == 0
    end.press_sequentially("first order lenz", delay=10)
    options.first.wait_for()
    options.first.click()
    assert end.input_value() == "first-order lens"
    end.press("Enter")
    page.wait_for_url("**/path?from=Ruadh+Point&to=first-order+lens")
    page.context.close()


def test_one_of_two_of_the_same_name_is_chosen_in_the_list(server: str, browser: Any) -> None:
    page = visit(browser, f"{server}/light/-/graph/path?from=Hamish+Bell")
    end = page.get_by_role("combobox", name="To", exact=True)
    end.press_sequentially("merc")
    page.get_by_role("option", name="Mercury vessel").click()
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**/path?from=Hamish+Bell&to=Mercury&to_type=vessel")
    assert page.get_by_label("Type of To").input_value() == "vessel"
    end.fill("Ruadh Point")  # and the type goes with the name it belonged to
    end.press("Escape")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**/path?from=Hamish+Bell&to=Ruadh+Point")
    end.fill("mercury")
    page.locator(".completions li").first.wait_for()
    end.press("Escape")
    assert not page.locator(".completions").nth(1).is_visible()
    assert end.input_value() == "mercury"
    page.context.close()


def test_from_an_entity_to_the_paths_of_two(server: str, browser: Any) -> None:
    page = visit(browser, f"{server}/light/-/graph/entity/Hamish+Bell")
    page.get_by_role("link", name="Paths to…").click()
    page.wait_for_url("**/path?from=Hamish+Bell")
    page.locator("#end-to").fill("mercury")
    page.keyboard.press("Enter")
    page.get_by_role("main").locator(".choices a").nth(1).click()
    page.wait_for_url("**/path?from=Hamish+Bell&to=Mercury&to_type=vessel")
    assert page.locator(".route").count() == 1
    page.locator(".route .quote a").click()
    assert page.locator("mark.lit").first.is_visible()
    page.context.close()
