"""The invented notes with gold facts, where the data lie beside the repository: all that is explicit is found."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data" / "synthetic-notes"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")


@pytest.fixture(scope="module")
def gold() -> Iterator[ModuleType]:
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("benchmarks_gold", ROOT / "benchmarks" / "gold.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    sys.path.remove(folder)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def notes() -> Iterator[KnowledgeBase]:
    with KnowledgeBase.in_memory() as kb:
        kb.add([DATA / "data"])
        yield kb


def test_explicit_facts_are_found_with_their_lines(gold: ModuleType, notes: KnowledgeBase) -> None:
    for score in gold.scores(gold.read_gold(DATA), gold.read_found(notes)):
        assert score.gold > 50
        assert score.recall >= 0.98, score.missing
        assert score.precision >= 0.98, score.wrong


def test_what_is_denied_is_no_fact(gold: ModuleType, notes: KnowledgeBase) -> None:
    denied = gold.read_gold(DATA)[gold.NEGATED]
    facts = {tuple(row) for row in notes.connection.execute("SELECT head, relation, tail FROM kg_facts")}
    assert len(denied) == 7
    assert not {(fact.head, fact.relation, fact.tail) for fact in denied} & facts
    lines = {(fact.file, fact.line) for fact in denied}
    assert not {(fact.file, fact.line) for fact in gold.read_found(notes)} & lines


def test_templates_and_code_give_nothing(notes: KnowledgeBase) -> None:
    folders = {row[0].split("/")[0] for row in notes.connection.execute("SELECT path FROM kg_documents")}
    assert folders >= {"People", "Projects", "Kitchen"} and not folders & {"Templates", ".trash", ".obsidian"}
    names = {row[0] for row in notes.connection.execute("SELECT name FROM kg_entities")}
    assert not {name for name in names if "{{" in name or "<%" in name or "not a link" in name}
    assert notes.check() == []


def test_homonyms_of_two_folders_are_two_entities(notes: KnowledgeBase) -> None:
    rows = notes.connection.execute("SELECT path, entity FROM kg_documents WHERE name_key = 'apple'").fetchall()
    assert len(rows) == len({row["entity"] for row in rows}) == 2


def test_the_keys_mean_what_the_schema_says(gold: ModuleType) -> None:
    with KnowledgeBase.in_memory() as kb:
        kb.use_schema(load_template("general"), "test")
        kb.add([DATA / "data"])
        for score in gold.scores(gold.read_gold(DATA), gold.read_found(kb)):
            assert score.recall >= 0.98, score.missing
        employers = kb.connection.execute("SELECT count(*) FROM kg_triples WHERE relation = 'works_at'").fetchone()[0]
        assert employers > 20
        assert kb.check() == []
