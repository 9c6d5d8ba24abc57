"""Reviewing in a real Chromium: by mouse, by keyboard and without scripts; what is pressed is what changes.

``GRAPHRAG_SHOTS=FOLDER`` keeps a picture of every page at both widths and schemes.
"""

# ruff: noqa: F811 - fixtures are imported, and are parameters
from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")
sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]
from datasette.app import Datasette  # noqa: E402
from datasette_helpers import Shelf  # noqa: E402
from review_data import review_kb  # noqa: E402
from review_site import reviewers  # noqa: E402
from test_pages import CONTRAST, browser, serving  # noqa: E402, F401

pytestmark = pytest.mark.browser

SECRET = "for these tests"
NAMES = ("shown", "clicks", "pairs", "keys", "plain", "twice", "bulk")  # a file for each test
SIZES = [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")]


def wide(path: Path) -> Path:
    """Names and notes that do not want to fit."""
    shelf = Shelf(path)
    long, broad = "Donaudampfschifffahrtsgesellschaft" * 8, "x" * 400
    shelf._insert("kg_schema_versions", version=1, template="", actor="", at="2026-11-01")
    for name in (broad, "زيارة " * 20):
        shelf._insert("kg_types", kind="relation", name=name, description=name, origin="user", added_in=1)
    [chunk] = shelf.document(f"{'d' * 300}.md", [f"{broad} said {long} to محمد بن موسى.\n"], title=long)
    proposal = shelf._insert(
        "kg_proposals", kind="relation", name=broad, key=broad, description=long, status="open", nearest=1,
        similarity=0.4, confidence=0.85, support=2, decided_by=None,
    )  # fmt: skip
    shelf._insert(
        "kg_proposal_evidence", proposal=proposal, chunk=chunk, start=0, end=400, quote=broad, confidence=0.9,
        instead_of=long,
    )  # fmt: skip
    one, other = shelf.entity(long, "a_type_of_a_long_name_" * 5, aliases=(broad,)), shelf.entity(broad)
    for entity, value in ((one, "1" * 200), (other, "https://example.org/" + "p" * 300)):
        shelf.attribute(entity, "attribute_" * 12, value, chunk, "said")
        shelf.mention(chunk, entity, long if entity == one else broad)
    shelf.triple(one, "relation_" * 20, other, chunk, "said")
    keys = dict(shelf.connection.execute("SELECT id, key FROM kg_entities").fetchall())
    merge = shelf._insert(
        "kg_merges", kept_key=keys[one], kept_type="a_type_of_a_long_name_" * 5, merged_key=keys[other], merged_type="",
        reason=broad, doubt=0.97, status="suggested",
    )  # fmt: skip
    for kind, item in (("proposal", proposal), ("merge", merge)):
        shelf._insert(
            "kg_decisions", at="2026-11-01T10:00:00+00:00", actor=broad, kind=kind, item=item,
            subject=f"{broad} = {long}", action="map", before="open", detail=json.dumps({"name": broad}), note=long,
        )  # fmt: skip
    return shelf.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("review")
    original = review_kb(made)
    for name in NAMES:
        shutil.copy(original, made / f"{name}.db")
    wide(made / "wide.db")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    [(option, content)] = reviewers("rita", "ben").items()
    (folder / "site.json").write_text(json.dumps(content))
    files = [folder / f"{name}.db" for name in (*NAMES, "wide")]
    with serving(*files, f"--{option}", folder / "site.json", "--secret", SECRET) as base:
        yield base


def visit(browser: Any, server: str, name: str = "rita", **options: Any) -> Any:
    """A page of a browser in which somebody is signed in."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    cookie = Datasette([], secret=SECRET).sign({"a": {"id": name}}, "actor")
    context.add_cookies([{"name": "ds_actor", "value": cookie, "url": server}])
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    return page


def rows(folder: Path, name: str, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{folder / name}.db?mode=ro", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def proposals(folder: Path, name: str) -> dict[str, str]:
    return dict(rows(folder, name, "SELECT name, status FROM kg_proposals"))


def log(folder: Path, name: str) -> list[tuple[Any, ...]]:
    return rows(folder, name, "SELECT actor, action, subject, schema_version, undone_by FROM kg_decisions ORDER BY id")


def card(page: Any, text: str) -> Any:
    return page.locator(".card", has=page.locator("h2", has_text=text))


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_every_review_page_fits_and_can_be_read(server: str, browser: Any, width: int, scheme: str) -> None:
    page = visit(browser, server, viewport={"width": width, "height": 900}, color_scheme=scheme)
    shots = os.environ.get("GRAPHRAG_SHOTS")
    review = "/-/graph/review"
    paths = {
        f"{what}-{name}": f"/{name}{review}{rest}"
        for name in ("shown", "wide")
        for what, rest in {
            "proposals": "", "merges": "?show=merges", "log": "?show=log", "proposal": "/proposal/1",
            "merge": "/merge/1",
        }.items()
    }  # fmt: skip
    for name, path in paths.items():
        page.goto(server + path)
        if shots:
            page.screenshot(path=f"{shots}/review-{name}-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(CONTRAST) == [], name
        for button in page.locator(".card button, .bulk button, .log button").all():
            box = button.bounding_box()
            assert box and box["x"] >= 0 and box["x"] + box["width"] <= width, name
    assert page.errors == []
    page.context.close()


def test_a_proposal_is_approved_mapped_rejected_and_undone(server: str, browser: Any, folder: Path) -> None:
    page = visit(browser, server)
    page.goto(f"{server}/clicks/-/graph")
    page.get_by_role("link", name="4 proposed types wait for a decision.").click()
    mentors = card(page, "mentors")
    mentors.get_by_text("Note").click()
    mentors.locator("textarea").fill("for the club")
    mentors.get_by_role("button", name="Approve").click()
    page.wait_for_url("**/review?done=1-1**")
    assert proposals(folder, "clicks")["mentors"] == "approved"
    assert ("mentors", 2) in rows(folder, "clicks", "SELECT name, added_in FROM kg_types")
    assert rows(folder, "clicks", "SELECT note FROM kg_decisions") == [("for the club",)]
    assert ("Otto", "mentors", "Pia") in rows(folder, "clicks", "SELECT head, relation, tail FROM kg_facts")
    assert "llm graphrag extract -d clicks.db" in page.locator(".left").inner_text()

    card(page, "fears").locator("select").select_option("knows")
    card(page, "fears").get_by_role("button", name="Map to").click()
    page.wait_for_url("**done=2-2**")
    [aliases] = rows(folder, "clicks", "SELECT aliases FROM kg_types WHERE name = 'knows'")
    assert "fears" in json.loads(aliases[0])
    card(page, "weighs").get_by_role("button", name="Reject").click()
    page.wait_for_url("**done=3-3**")
    assert proposals(folder, "clicks") == {
        "mentors": "approved", "fears": "mapped", "weighs": "rejected", "sailor": "open", "annoys": "muted",
    }  # fmt: skip
    page.locator(".done").get_by_role("button", name="Undo").click()
    page.wait_for_url("**done=4-4**")
    page.get_by_role("link", name="approved 1").click()
    card(page, "mentors").get_by_role("button", name="Undo").click()
    page.wait_for_url("**done=5-5**")
    page.get_by_role("link", name="Log 5").click()
    assert page.locator(".log li").count() == 5
    page.get_by_role("button", name="Undo decision 2").click()
    page.wait_for_url("**done=6-6**")
    assert set(proposals(folder, "clicks").values()) == {"open", "muted"}
    assert ("Otto", "mentors", "Pia") not in rows(folder, "clicks", "SELECT head, relation, tail FROM kg_facts")
    assert log(folder, "clicks") == [
        ("rita", "approve", "relation mentors", 2, 5), ("rita", "map", "relation fears", 3, 6),
        ("rita", "reject", "attribute weighs", 3, 4), ("rita", "undo", "attribute weighs", 3, None),
        ("rita", "undo", "relation mentors", 4, None), ("rita", "undo", "relation fears", 5, None),
    ]  # fmt: skip
    assert rows(folder, "clicks", "SELECT actor FROM kg_schema_versions WHERE version > 1") == [("rita",)] * 4
    assert page.errors == []
    page.context.close()


def test_a_pair_is_joined_undone_and_kept_apart(server: str, browser: Any, folder: Path) -> None:
    joined = "SELECT e.name, r.name FROM kg_entities e JOIN kg_entities r ON r.id = e.merged_into"
    page = visit(browser, server)
    page.goto(f"{server}/pairs/-/graph/entity/A~2E+Ruiz")
    page.get_by_role("link", name="compare").click()
    page.get_by_role("button", name="Join them").click()
    page.wait_for_url("**/merge/4?done=1-1")
    assert rows(folder, "pairs", joined) == [("A. Ruiz", "Ana Ruiz")]
    card(page, "Ana Ruiz").locator("form.decide").get_by_role("button", name="Undo").click()
    page.wait_for_url("**done=2-2")
    assert rows(folder, "pairs", joined) == []
    page.get_by_role("link", name="← Merges").click()
    card(page, "Ana Ruiz").get_by_role("button", name="Never join").click()
    page.wait_for_url("**show=merges&done=3-3**")
    assert card(page, "Ana Ruiz").count() == 0
    statuses = "SELECT id, status, decided_by FROM kg_merges ORDER BY id"
    assert rows(folder, "pairs", statuses)[-1] == (4, "rejected", "rita")
    assert {row[1:] for row in rows(folder, "pairs", statuses)[:-1]} == {("suggested", None)}
    assert [row[:3] for row in log(folder, "pairs")] == [
        ("rita", action, "Ana Ruiz (person) = A. Ruiz") for action in ("approve", "undo", "reject")
    ]
    page.context.close()


def test_the_keyboard_decides(server: str, browser: Any, folder: Path) -> None:
    page = visit(browser, server)
    page.goto(f"{server}/keys/-/graph/review")
    keys = page.locator(".keys")
    assert keys.is_visible()
    assert all(f"{key} " in keys.inner_text() for key in "jkamrpux")
    order = page.locator(".card .name").all_inner_texts()
    page.keyboard.press("a")  # nothing is chosen yet: the first one is, and no more
    assert page.evaluate("document.activeElement.id") == page.locator(".card").first.get_attribute("id")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("a")
    page.wait_for_url("**done=1-1**")
    assert proposals(folder, "keys")[order[1]] == "approved"
    assert page.evaluate("document.activeElement.querySelector('.name').textContent") == order[2], (
        "goes on with the next"
    )
    page.keyboard.press("r")
    page.wait_for_url("**done=2-2**")
    assert proposals(folder, "keys")[order[2]] == "rejected"
    page.keyboard.press("m")
    assert page.evaluate("document.activeElement.name") == "to"
    page.keyboard.press("Enter")
    page.wait_for_url("**done=3-3**")
    assert proposals(folder, "keys")[order[3]] == "mapped"
    page.keyboard.press("u")
    page.wait_for_url("**done=4-4**")
    assert proposals(folder, "keys")[order[3]] == "open"
    search = page.get_by_role("searchbox")
    search.focus()
    page.keyboard.type("jar")  # letters are letters in a field
    assert search.input_value() == "jar"
    assert len(log(folder, "keys")) == 4
    page.locator(".card").first.focus()
    page.keyboard.press("Control+a")
    assert len(log(folder, "keys")) == 4
    page.keyboard.press("x")
    assert page.locator(".ticked").inner_text() == "1 ticked:"
    assert page.errors == []
    page.context.close()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_ticked_ones_are_decided_together(server: str, browser: Any, folder: Path, script: bool) -> None:
    name = "bulk" if script else "plain"
    page = visit(browser, server, java_script_enabled=script)
    page.goto(f"{server}/{name}/-/graph/review")
    assert page.locator(".keys").is_visible() is script
    for subject in ("mentors", "weighs"):
        card(page, subject).get_by_role("checkbox").check()
    page.locator("#bulk").get_by_role("button", name="Approve").click()
    page.wait_for_url("**done=1-2")
    now = proposals(folder, name)
    assert {subject for subject, status in now.items() if status == "approved"} == {"mentors", "weighs"}
    assert page.locator(".done .log li").count() == 2
    card(page, "sailor").get_by_role("button", name="Postpone").click()
    page.wait_for_url("**done=3-3**")
    page.get_by_role("link", name="postponed 1").click()
    card(page, "sailor").get_by_role("button", name="Undo").click()
    page.wait_for_url("**done=4-4**")
    assert proposals(folder, name)["sailor"] == "open"
    assert len(log(folder, name)) == 4
    page.context.close()


def test_a_double_click_and_a_stale_page(server: str, browser: Any, folder: Path) -> None:
    rita, ben = visit(browser, server), visit(browser, server, "ben", viewport={"width": 360, "height": 800})
    for page in (rita, ben):
        page.goto(f"{server}/twice/-/graph/review")
    card(rita, "mentors").get_by_role("button", name="Approve").dblclick()
    rita.wait_for_url("**done=1-1**")
    assert len(log(folder, "twice")) == 1
    card(ben, "mentors").get_by_role("button", name="Reject").click()
    ben.wait_for_selector("text=Not decided")
    assert "approved by rita" in ben.locator(".verdict").inner_text()
    assert ben.evaluate("document.documentElement.scrollWidth") <= 360
    assert len(log(folder, "twice")) == 1
    ben.locator("form.decide").get_by_role("button", name="Undo").click()
    ben.wait_for_url("**done=2-2**")
    assert proposals(folder, "twice")["mentors"] == "open"
    for page in (rita, ben):
        page.context.close()
