"""The person is the gate: whatever is done in whatever order, only a recorded decision changes the schema.

Random operations over one knowledge base: notes come, change and go, a model reads them
and wishes for types, a person decides, takes back, and edits the schema by hand. After
each of them the file is as it should be.
"""

# ruff: noqa: F811 - fixtures are imported, and are parameters
from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from proposals_model import extract, open_kb, outside, say
from scripted_model import ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures

from llm_graphrag.facts import schema_edit
from llm_graphrag.facts.template import TemplateError
from llm_graphrag.facts.template_file import to_toml
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review import proposals as review
from llm_graphrag.review import schema as review_schema
from llm_graphrag.review.nearest import nearest
from llm_graphrag.sources.ingest import Options
from llm_graphrag.store import decisions, schema
from llm_graphrag.store import proposals as store

NOTES = ("a.md", "b.md", "c.md")
SENTENCES = (
    "Mira mentors Otto.", "Otto mentors! Pia.", "Pia fears Dan. (0.5)", "Dan fears! Mira. (0.7)", "Mira knows Otto.",
    "Otto is a sailor.", "Dan is a sailor. (0.4)", "Pia weighs 60.", "Mira weighs! 55. (0.3)", "Dan is a person.",
    "Otto age 40.", "Ada home_of Dan.", "Mira is a place.",
)  # fmt: skip
WISHES = SENTENCES[:4] + SENTENCES[5:9]
NAMES = ("mentors", "fears", "sailor", "weighs", "coaches", "dreads")

number = st.integers(0, 7)  # which of what there is
note = st.tuples(st.just("note"), st.sampled_from(NOTES), st.lists(st.sampled_from(SENTENCES), max_size=3))
wishful = st.tuples(st.just("note"), st.sampled_from(NOTES), st.lists(st.sampled_from(WISHES), min_size=2, max_size=4))
operation = st.one_of(
    note,
    st.tuples(st.just("extract"), st.booleans()),
    st.tuples(st.just("approve"), number),
    st.tuples(st.sampled_from(["approve", "reject", "postpone", "undo"]), number),
    st.tuples(st.just("map"), number, number),
    st.tuples(st.sampled_from(["undo", "schema remove", "schema add"]), number),
    st.tuples(st.just("schema rename"), number, st.sampled_from(NAMES)),
    st.tuples(st.just("schema revert"), number),
)
scenario = st.tuples(st.lists(wishful, min_size=2, max_size=3), st.lists(operation, min_size=3, max_size=12))


class World:
    """A knowledge base, its folder, and what is done with them."""

    def __init__(self, folder: Path) -> None:
        self.vault = folder / "v"
        self.vault.mkdir()
        (self.vault / "index.md").write_text("Nothing much.", encoding="utf-8")
        self.kb = open_kb(folder)
        self.kb.set(min_support=1, min_confidence=0.6)
        self.actors = (f"person {n}" for n in itertools.count())

    def do(self, name: str, *arguments: Any) -> str:
        """Do it; returns who is to answer for a change of the schema, empty if nobody may have changed it."""
        before = schema.version(self.kb.connection)
        actor = next(self.actors)
        try:
            getattr(self, name.replace(" ", "_"))(actor, *arguments)
        except (review.ReviewError, TemplateError):
            assert schema.version(self.kb.connection) == before
            return ""
        return "" if name in ("note", "extract") else actor

    def note(self, actor: str, name: str, sentences: list[str]) -> None:
        path = self.vault / name
        path.unlink(missing_ok=True)
        if sentences:
            path.write_text("\n\n".join(sentences), encoding="utf-8")
        self.kb.add([self.vault], Options(prune=True))
        review.recount(self.kb.connection, self.kb.settings)

    def extract(self, actor: str, again: bool) -> None:
        extract(self.kb, again=again)

    def decide(self, actor: str, action: str, number: int, to: str | None = None) -> None:
        review.decide(self.kb.connection, self.kb.settings, self.proposal(number), action, actor=actor, to=to)

    def proposal(self, number: int) -> int:
        ids = [row["id"] for row in store.listed(self.kb.connection)]
        return ids[number % len(ids)] if ids else 0

    def types(self, kind: str = "") -> list[tuple[str, str]]:
        rows = schema.types(self.kb.connection)
        return [(row["kind"], row["name"]) for row in reversed(rows) if kind in ("", row["kind"])]

    def approve(self, actor: str, number: int) -> None:
        self.decide(actor, "approve", number)

    def reject(self, actor: str, number: int) -> None:
        self.decide(actor, "reject", number)

    def postpone(self, actor: str, number: int) -> None:
        self.decide(actor, "postpone", number)

    def map(self, actor: str, number: int, to: int) -> None:
        row = store.one(self.kb.connection, self.proposal(number))
        types = self.types(row["kind"]) if row else []
        self.decide(actor, "map", number, types[to % len(types)][1] if types else None)

    def undo(self, actor: str, number: int) -> None:
        decided = [row["item"] for row in decisions.log(self.kb.connection, "proposal") if row["action"] != "undo"]
        proposal = decided[number % len(decided)] if decided else 0
        review.undo(self.kb.connection, self.kb.settings, proposal, actor=actor)

    def edit(self, actor: str, change: Callable[..., Any], *arguments: str) -> None:
        review_schema.edit(self.kb.connection, self.kb.settings, lambda t: change(t, *arguments), actor)

    def schema_add(self, actor: str, number: int) -> None:
        kinds = list(schema_edit.KINDS)
        self.edit(actor, schema_edit.add, kinds[number % 3], NAMES[number % len(NAMES)])

    def schema_remove(self, actor: str, number: int) -> None:
        self.edit(actor, schema_edit.remove, *self.types()[number % len(self.types())])

    def schema_rename(self, actor: str, number: int, new: str) -> None:
        self.edit(actor, schema_edit.rename, *self.types()[number % len(self.types())], new)

    def schema_revert(self, actor: str, number: int) -> None:
        review_schema.revert(self.kb.connection, self.kb.settings, number, actor)


def rows_agree(kb: KnowledgeBase) -> None:
    """The types in rows are those of the version in force."""
    rows = kb.connection.execute("SELECT kind, name FROM kg_types WHERE retired_in IS NULL")
    template = kb.schema
    kept = {(kind, item.name) for kind, table in schema_edit.KINDS.items() for item in getattr(template, table)}
    assert {tuple(row) for row in rows} == kept


def nearest_is_known(kb: KnowledgeBase) -> None:
    """The nearest types that are kept up to date are those that a search through all types finds."""
    rows = {row["id"]: (row["nearest"], row["similarity"]) for row in store.listed(kb.connection, store.UNDECIDED)}
    assert {id_: (type_, likeness) for id_, type_, likeness in nearest(kb.connection, list(rows))} == rows


def state(kb: KnowledgeBase) -> list[Any]:
    claims = kb.connection.execute(
        """SELECT kind, head, head_type, relation, tail, tail_type, chunk, start, end FROM kg_evidence
           WHERE origin = 'llm' ORDER BY 1, 2, 3, 4, 5, 6, 7, 8"""
    ).fetchall()
    asked = kb.connection.execute(
        """SELECT p.kind, p.key, p.status, p.support, p.confidence, p.asked_again FROM kg_proposals p ORDER BY 1, 2"""
    ).fetchall()
    return [[tuple(row) for row in claims], [tuple(row) for row in asked]]


EQUALLY_NEAR = (  # after the map a type that was there before the nearest one is just as near
    [("note", "a.md", ["Mira mentors Otto.", "Pia fears Dan. (0.5)"]),
     ("note", "b.md", ["Mira mentors Otto.", "Otto is a sailor."])],
    [("extract", False), ("schema rename", 7, "sailor"), ("map", 2, 1)],
)  # fmt: skip


@given(scenario)
@example(steps=EQUALLY_NEAR)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_a_recorded_decision_changes_the_schema(
    scripted: Callable[..., ScriptedModel], model: ScriptedModel, steps: tuple[list[Any], list[Any]]
) -> None:
    folder = Path(tempfile.mkdtemp())
    world = World(folder)
    kb = world.kb
    try:
        for step in (*steps[0], ("extract", False), *steps[1], ("extract", False)):
            before, version = to_toml(kb.schema), schema.version(kb.connection)
            actor = world.do(*step)
            new = [row for row in schema.versions(kb.connection) if row["version"] > version]
            if to_toml(kb.schema) != before:
                assert [row["actor"] for row in new] == [actor]
                assert actor
                decided = kb.connection.execute(
                    "SELECT actor FROM kg_decisions WHERE schema_version = ?", [new[0]["version"]]
                ).fetchall()
                assert [row[0] for row in decided] == ([] if step[0].startswith("schema") else [actor])
            else:
                assert new == []
            assert outside(kb) == 0, step
            rows_agree(kb)
            nearest_is_known(kb)
            assert kb.check() == [], step
            waiting = json.loads(
                kb.connection.execute(
                    "SELECT coalesce(max(value), '{}') FROM kg_settings WHERE key = 'review.reread'"
                ).fetchone()[0]
            )
            assert waiting == {}
        found = state(kb)
        kb.replay()
        review.recount(kb.connection, kb.settings)
        assert state(kb) == found  # nothing that should have been read again was left out
    finally:
        kb.close()
        shutil.rmtree(folder)


@pytest.fixture
def model(scripted: Callable[..., ScriptedModel]) -> ScriptedModel:
    return scripted(say)
