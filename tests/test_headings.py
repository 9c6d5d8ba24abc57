"""The heading that is shown with a line: the last before it, not that of most of the chunk."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Vault
from datasette_helpers import serve, shut
from scripted_model import (
    ScriptedModel,
    llm_user,  # noqa: F401 - a fixture
    scripted,  # noqa: F401 - a fixture
)

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller
from llm_graphrag.review import merges
from llm_graphrag.review.merge_details import detail
from llm_graphrag.routes.search import search
from llm_graphrag.store import headings
from llm_graphrag.store.headings import Outline, outlines

Scripted = Callable[..., ScriptedModel]

SPELLS = """# Spells

## Bard Spells

- Power Word Stun

### Rituals

- Glibness

## Cleric Spells

- Light, and a good deal more of what clerics cast, so that most of the passage is about them
"""


def at(connection: sqlite3.Connection, uri: str, words: str) -> str:
    """The headings over the first place where the words stand."""
    chunk, place = connection.execute(
        """SELECT c.id, instr(c.text, ?) - 1 FROM kg_chunks c JOIN kg_documents d ON d.id = c.document
           WHERE d.uri = ? AND instr(c.text, ?) ORDER BY c.seq LIMIT 1""",
        [words, uri, words],
    ).fetchone()
    return outlines(connection, [chunk])[chunk].path(place)


def test_each_line_of_a_chunk_has_its_own(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"spells.md": "Before all.\n\n" + SPELLS})])
    assert kb.connection.execute("SELECT heading FROM kg_chunks").fetchall()[0][0] == "Spells > Cleric Spells"
    assert {
        words: at(kb.connection, "vault/spells.md", words) for words in ("Before", "# Spells", "Power", "Glib")
    } == {
        "Before": "",
        "# Spells": "Spells",
        "Power": "Spells > Bard Spells",
        "Glib": "Spells > Bard Spells > Rituals",
    }
    assert at(kb.connection, "vault/spells.md", "Light") == "Spells > Cleric Spells"


def test_headings_of_chunks_before_are_over_it_too(kb: KnowledgeBase, vault: Vault) -> None:
    much = "".join(f"The word of the day {n} is a long one, and so it goes on for a while.\n\n" for n in range(60))
    kb.add([vault({"long.md": f"# Long\n\n## First\n\n{much}\nThe end of it.\n\n### Last\n\nGone."})])
    assert kb.connection.execute("SELECT count(*) FROM kg_chunks").fetchone()[0] > 3
    assert at(kb.connection, "vault/long.md", "The end of it") == "Long > First"
    assert at(kb.connection, "vault/long.md", "Gone") == "Long > First > Last"


@pytest.mark.parametrize("line", ["#lions are tags", "```\n# code\n```", "    # code", r"\# no"])
def test_what_is_no_heading_is_none(kb: KnowledgeBase, vault: Vault, line: str) -> None:
    kb.add([vault({"zoo.md": f"## Birds\n\n{line}\n\nPingu swims."})])
    assert at(kb.connection, "vault/zoo.md", "Pingu") == "Birds"


def test_headings_of_other_kinds(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"line.md": "Zoo\n===\n\nBirds\n-----\n\nPingu swims.", "o.org": "* Zoo\n** Birds\nPingu swims.\n"})])
    assert at(kb.connection, "vault/line.md", "Pingu") == at(kb.connection, "vault/o.org", "Pingu") == "Zoo > Birds"


def test_a_chunk_without_headings_has_none(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"plain.md": "Nothing above."})])
    assert outlines(kb.connection, [1, 99]) == {1: Outline(), 99: Outline()}
    assert outlines(kb.connection, []) == {}


def test_it_is_what_a_walk_over_the_whole_note_finds(kb: KnowledgeBase, vault: Vault) -> None:
    shuffled = random.Random(7)
    lines = []
    for n in range(300):
        heading = shuffled.random() < 0.3
        words = "word " * shuffled.randint(1, 3 if heading else 60)
        lines.append("#" * shuffled.randint(1, 4) + f" {n} {words}" if heading else f"{n} {words}")
    kb.add([vault({"many.md": "\n\n".join(lines)})])
    sections = kb.connection.execute("SELECT id, parent, heading, start FROM kg_sections ORDER BY seq").fetchall()
    by_id = {row["id"]: row for row in sections}
    rows = kb.connection.execute("SELECT id, start, end FROM kg_chunks").fetchall()
    found = outlines(kb.connection, [row["id"] for row in rows])
    assert len(sections) > 50 and len(rows) > 20
    for row in rows:
        for place in range(0, row["end"] - row["start"], 5):
            last = max(
                (s for s in sections if s["start"] <= row["start"] + place), key=lambda s: s["start"], default=None
            )
            path: list[str] = []
            while last is not None:
                path.insert(0, last["heading"])
                last = by_id.get(last["parent"])
            assert found[row["id"]].path(place) == " > ".join(path)


def test_no_table_is_read_whole(kb: KnowledgeBase) -> None:
    plan = [row[3] for row in kb.connection.execute(f"EXPLAIN QUERY PLAN {headings.SECTIONS}", {"chunks": "[1]"})]
    assert [step for step in plan if step.startswith("SCAN") and step not in ("SCAN over", "SETUP")] == [
        "SCAN f VIRTUAL TABLE INDEX 1:"
    ]


def test_a_hit_has_the_heading_of_what_it_shows(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"spells.md": SPELLS})])
    (hit,) = search(kb.connection, "Power Word Stun")
    assert (hit.heading, hit.line) == ("Spells > Bard Spells", 5)
    assert "Power" in "".join(text for text, _ in hit.snippet)
    (hit,) = search(kb.connection, "what clerics cast")
    assert (hit.heading, hit.line) == ("Spells > Cleric Spells", 13)


def test_a_citation_has_the_heading_of_its_quote(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"spells.md": SPELLS})])
    (citation,) = kb.ask("Which list has Power Word Stun?").citations
    assert (citation.quote, citation.heading) == ("- Power Word Stun", "Spells > Bard Spells")


def test_a_model_is_told_the_heading_over_a_passage_and_cites_that_of_the_quote(
    kb: KnowledgeBase,
    vault: Vault,
    scripted: Scripted,  # noqa: F811
) -> None:
    kb.add([vault({"spells.md": SPELLS})])
    model = scripted(lambda prompt, system: "Power Word Stun is on a list [1].")
    with Ledger.open(kb.path) as ledger:
        answer = kb.ask("Which list has Power Word Stun?", caller=Caller("scripted", ledger))
    assert [citation.heading for citation in answer.citations] == ["Spells > Bard Spells"]
    (call,) = model.calls
    first = call.prompt[: call.prompt.index("# Spells")]
    assert "Spells" in first and "Cleric" not in first


ZOO = """# Zoo

## Lions

[[Simba]] roars at [[Pingu]].

Leo Smith fears Keeper Brown.

## Penguins

[[Pingu]] swims with [[Mumble]], and [[Mumble]] swims, and so do all of the others that live here.
"""


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_pages_show_the_heading_of_the_line(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"zoo.md": ZOO})])
    assert [row[0] for row in kb.connection.execute("SELECT heading FROM kg_chunks")] == ["Zoo > Penguins"]
    site = await serve(kb.path)

    async def page(address: str) -> Any:
        response = await site.client.get(f"/{kb.path.stem}/-/graph/{address}")
        assert response.status_code == 200, response.text
        return response.json()

    try:
        (simba,) = (await page("entity/Simba.json"))["mentions"]
        assert (simba["heading"], simba["line"]) == ("Zoo > Lions", 5)
        (mumble,) = (await page("entity/Mumble.json"))["mentions"]
        assert (mumble["heading"], mumble["line"]) == ("Zoo > Penguins", 11)
        (group,) = (await page("entity/zoo.json"))["outgoing"]
        quotes = {fact["other"]["name"]: fact["quotes"][0]["heading"] for fact in group["facts"]}
        assert quotes == {"Simba": "Zoo > Lions", "Pingu": "Zoo > Lions", "Mumble": "Zoo > Penguins"}
        (path,) = (await page("path.json?from=zoo&to=Simba"))["paths"]
        assert path["hops"][0]["quote"]["heading"] == "Zoo > Lions"
        (path, *_) = (await page("path.json?from=Leo+Smith&to=Keeper+Brown&mentions=1"))["paths"]
        assert path["hops"][0]["named"]["heading"] == "Zoo > Lions"
        (passage,) = (await page("document/vault~2Fzoo~2Emd.json"))["passages"]
        assert passage["heading"] == "Zoo"
    finally:
        shut(site)


def test_who_decides_on_a_merge_sees_the_heading_of_the_sentence(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"zoo.md": ZOO})])
    done = merges.merge(kb.connection, kb.settings, "Simba", "Mumble", actor="me")
    found = detail(kb.connection, done.merge)
    assert [[p.heading for p in side.passages] for side in (found.kept, found.merged)] == [
        ["Zoo > Lions"],
        ["Zoo > Penguins"],
    ]
