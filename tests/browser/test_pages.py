"""The pages in a real Chromium: nothing scrolls sideways, both colour schemes can be read, the way through them works.

A server is started on a free port of the loopback interface and ended by its own process
id. ``GRAPHRAG_SHOTS=FOLDER`` keeps a picture of every page at both widths and schemes.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api")
sys.path.insert(0, str(Path(__file__).parent.parent))
from datasette_helpers import Shelf, lighthouse  # noqa: E402

pytestmark = pytest.mark.browser

CHROMIUM = "/usr/bin/chromium"
PAGES = {
    "overview": "/light/-/graph",
    "entity": "/light/-/graph/entity/Ruadh+Point",
    "group": "/light/-/graph/entity/Ina+Morgan?relation=kept&direction=out",
    "mentions": "/light/-/graph/entity/Ina+Morgan?mentions=0",
    "choice": "/light/-/graph/entity/Mercury",
    "document": "/light/-/graph/document-id/1?evidence=2#evidence-2",
    "reading": "/light/-/graph/document-id/1?view=reading",
    "search": "/light/-/graph/search?q=who+kept+the+light",
    "nothing": "/light/-/graph/search?q=zzzz",
    "missing": "/light/-/graph/entity/Ruadh+Piont",
    "empty": "/empty/-/graph",
    "no-path": "/light/-/graph/path?from=Col+Sands&to=Mercury&to_type=substance&max_hops=1",
    "wide": "/wide/-/graph",
    "wide-entity": "/wide/-/graph/entity-id/1",
    "wide-document": "/wide/-/graph/document-id/1",
    "wide-reading": "/wide/-/graph/document-id/1?view=reading",
    "wide-search": f"/wide/-/graph/search?q={'x' * 300}",
}
CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255];
  };
  const luminance = (c) => {
    const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    let layers = [];
    for (let e = element; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    let out = [255, 255, 255];
    for (const c of layers.reverse()) out = out.map((v, i) => v * (1 - c[3]) + c[i] * c[3]);
    return out;
  };
  const poor = [];
  const walker = document.createTreeWalker(document.querySelector(".graphrag-page"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const back = behind(element), front = rgba(style.color).slice(0, 3);
    const [hi, lo] = [luminance(front), luminance(back)].sort((a, b) => b - a);
    const ratio = (hi + 0.05) / (lo + 0.05);
    if (ratio < 4.5) poor.push([walker.currentNode.data.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return poor;
}
"""


def wide(path: Path) -> Path:
    """Names, lines and tables that do not want to fit."""
    shelf = Shelf(path)
    long = "Donaudampfschifffahrtsgesellschaft" * 8
    one = shelf.entity(long, "a_type_whose_name_is_much_too_long_for_any_screen_" * 3, aliases=("y" * 300,))
    rtl = shelf.entity("محمد بن موسى الخوارزمي", "شخص")
    table = f"| {'a' * 90} | {'b' * 90} |\n|---|---|\n| 1 | 2 |\n\n"
    text = f"# {long}\n\n{'z' * 400} https://example.org/{'p' * 300}\n\n{table}"
    code = f"```\n{'code ' * 80}\n```\n\nمحمد بن موسى الخوارزمي wrote this.\n"
    chunk = shelf.document(f"{'d' * 300}.md", [text, code], title=long, entity=one, headings=[(1, long)])
    shelf.mention(chunk[0], one, long)
    shelf.mention(chunk[1], rtl, "محمد بن موسى الخوارزمي")
    shelf.triple(one, "relation_" * 20, rtl, chunk[0], "z" * 400)
    shelf.attribute(one, "map", f"https://example.org/{'p' * 300}", chunk[0], f"https://example.org/{'p' * 300}")
    return shelf.close()


@contextmanager
def serving(*arguments: object) -> Iterator[str]:
    """Datasette on a free port of this machine, with files and options, as long as it is needed; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "datasette", "serve", *map(str, arguments), "-h", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{base}/-/versions.json").close()
                break
            except OSError:
                time.sleep(0.1)
        yield base
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    files = [lighthouse(folder / "light.db"), wide(folder / "wide.db"), Shelf(folder / "empty.db").close()]
    with serving(*files) as base:
        yield base


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )  # fmt: skip
        yield chromium
        chromium.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_every_page_fits_and_can_be_read(server: str, browser: Any, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    shots = os.environ.get("GRAPHRAG_SHOTS")
    for name, path in PAGES.items():
        complaints.clear()
        page.goto(server + path)
        if shots:
            page.screenshot(path=f"{shots}/{name}-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(CONTRAST) == [], name
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(20, 24, 29)" if scheme == "dark" else "rgb(248, 250, 251)"), name
        assert [c for c in complaints if "404" not in c or name != "missing"] == [], name
        assert page.title(), name
    assert all(url.startswith((server, "data:")) for url in requests), "something was loaded from elsewhere"
    context.close()


@pytest.mark.parametrize("width", [1200, 360])
def test_what_may_be_tried_where_no_path_was_found_stands_apart(server: str, browser: Any, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(server + PAGES["no-path"])
    links = page.locator(".note .ways a")
    assert links.all_inner_texts() == ["Look farther", "Look in sentences that name them"]
    first, second = (links.nth(n).bounding_box() for n in range(2))
    assert second["x"] - first["x"] - first["width"] >= 16 or second["y"] >= first["y"] + first["height"]
    context.close()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
@pytest.mark.parametrize("width", [1200, 360])
def test_the_way_from_overview_to_the_sentence_and_on(server: str, browser: Any, width: int, script: bool) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, java_script_enabled=script)
    page = context.new_page()
    page.goto(f"{server}/light/-/graph")
    page.get_by_role("link", name="Ruadh Point").first.click()
    assert page.locator("h1").inner_text() == "Ruadh Point"
    page.locator(".group", has_text="kept").get_by_role("link", name="Ina Morgan kept it for thirty-one years.").click()
    lit = page.locator("mark.evidence.lit")
    assert "".join(lit.all_inner_texts()) == "Ina Morgan kept it for thirty-one years."
    box = lit.first.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 800, "the sentence is on the screen"
    page.locator("a.mention", has_text="Ina Morgan").first.click()
    assert page.locator("h1").inner_text() == "Ina Morgan"
    page.get_by_role("searchbox").fill("what turns in a bath?")
    page.get_by_role("button", name="Search", exact=True).click()
    assert page.url == f"{server}/light/-/graph/search?q=what+turns+in+a+bath%3F"
    first = page.locator(".passages .passage").first
    assert "bath of Mercury" in first.inner_text()
    first.get_by_role("link").click()
    assert page.url.endswith("#chunk-1")
    page.goto(f"{server}/light/-/graph/entity/Ruadh+Piont")
    page.get_by_role("main").get_by_role("link", name="Ruadh Point").click()
    assert page.locator("h1").inner_text() == "Ruadh Point"
    context.close()


def test_menus_and_tables_lead_to_the_graph(server: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    page.goto(server)
    page.locator("details.nav-menu summary").click()
    page.get_by_role("link", name="Graph of light").click()
    assert page.url == f"{server}/light/-/graph"
    page.goto(f"{server}/light/kg_triples")
    page.get_by_role("link", name="Hamish Bell").first.click()
    assert page.locator("h1").inner_text() == "Hamish Bell"
    context.close()


def test_the_keyboard_reaches_everything(server: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    page.goto(f"{server}/light/-/graph")
    page.get_by_role("searchbox").focus()
    page.keyboard.type("damp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=damp")
    page.get_by_role("searchbox").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        if "chunk" in (page.evaluate("document.activeElement.href") or ""):
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "what has the focus is outlined"
    page.keyboard.press("Enter")
    page.wait_for_url("**#chunk-0")
    context.close()
