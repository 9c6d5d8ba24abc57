"""Every row of tests/fixtures/edge-cases.jsonl: a small text and the facts it must give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llm_graphrag.sources.dialects import DIALECTS, PLAIN
from llm_graphrag.sources.markdown import parse_note
from llm_graphrag.sources.note import Link, Note

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "fixtures" / "edge-cases.jsonl").read_text("utf-8").splitlines()
]


def link_fact(link: Link) -> dict[str, Any]:
    parts = {"target": link.target, "heading": link.heading, "block": link.block, "label": link.label}
    return {"fact": "link", **{key: value for key, value in parts.items() if value is not None}}


def facts(note: Note) -> list[dict[str, Any]]:
    """The facts of a note in the form of the rows; plain metadata is not part of it."""
    found = [link_fact(link) for link in note.links]
    for field in note.fields:
        if field.syntax == "frontmatter":
            found += [link_fact(link) for link in field.links]
            continue
        found.append({"fact": "field", "key": field.key, "value": field.value})
        if field.links:
            found[-1]["link"] = field.links[0].target
    found += [{"fact": "tag", "tag": tag.name} for tag in note.tags]
    found += [{"fact": "alias", "alias": alias.name} for alias in note.aliases]
    for task in note.tasks:
        found.append({"fact": "task", "state": task.state})
        if task.due:
            found[-1]["due"] = task.due
    return found


def canonical(items: list[dict[str, Any]]) -> list[str]:
    ignored = {"dialect", "resolved"}
    return sorted(json.dumps({k: v for k, v in item.items() if k not in ignored}, sort_keys=True) for item in items)


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_row(row: dict[str, Any]) -> None:
    named = [item["dialect"] for item in row["expect"] if item.get("dialect") in DIALECTS]
    dialect = DIALECTS[named[0]] if named else PLAIN
    assert canonical(facts(parse_note(row["text"], dialect))) == canonical(row["expect"])


def test_dendron_links_are_recognised_without_a_marker() -> None:
    row = next(row for row in ROWS if row["id"] == "015")
    assert canonical(facts(parse_note(row["text"], PLAIN))) == canonical(row["expect"])
