"""A real model reads three notes, and what it says holds up: the prompt is understood, the constraint holds.

Runs with ``make test-model`` and $LLM_GRAPHRAG_TEST_MODEL, the name of any model that llm
knows. The floors are low, so that a model of 1.5 billion parameters on two cores passes:
they tell a broken prompt, not a weak model. benchmarks/small_model.py measures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import write_notes

from llm_graphrag.extract.run import Options
from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller
from llm_graphrag.text.normalise import name_key

MODEL = os.environ.get("LLM_GRAPHRAG_TEST_MODEL", "")

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not MODEL, reason="$LLM_GRAPHRAG_TEST_MODEL names no model (see: llm models)"),
]

NOTES = {
    "Ines.md": "Ines Falk works at Harbour Bakery.\n",
    "Books.md": "The Long Tide was written by Jonas Okafor.\n",
    "Towns.md": "Quartz Dairy has its office in the town of Tromsø.\n",
}
EXPECTED = {("ines falk", "harbour bakery"), ("the long tide", "jonas okafor"), ("quartz dairy", "tromsø")}
MOST_TOKENS = 700


@pytest.fixture(scope="module", params=["one call", "two calls"])
def read(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The notes, read by the model under the schema general."""
    folder: Path = tmp_path_factory.mktemp("model")
    path = folder / "kb.db"
    with KnowledgeBase.open(path, create=True) as kb, Ledger.open(path) as ledger:
        kb.set(embedding_model="")
        kb.use_schema(load_template("general"), "test")
        kb.add([write_notes(folder / "notes", NOTES)])
        caller = Caller(MODEL, ledger, max_output=MOST_TOKENS, timeout=900, log=False)
        kb.extract(caller, Options(workers=1, window_tokens=1), request.param == "two calls")
        yield kb


def test_every_note_is_read(read: KnowledgeBase) -> None:
    rows = read.connection.execute("SELECT status, error FROM kg_extractions").fetchall()
    assert [tuple(row) for row in rows] == [("done", None)] * len(NOTES)


def test_something_of_what_the_notes_say_is_found(read: KnowledgeBase) -> None:
    """In either direction, under whatever relation: one of the three pairs at least."""
    rows = read.connection.execute("SELECT head, tail FROM kg_evidence WHERE origin = 'llm' AND kind = 'triple'")
    found = {frozenset((name_key(row["head"]), name_key(row["tail"]))) for row in rows}
    assert found & set(map(frozenset, EXPECTED)), found


def test_most_of_what_is_found_is_said(read: KnowledgeBase) -> None:
    """Small models copy examples, fence words and rules; of three names at least two are in the notes."""
    rows = read.connection.execute("SELECT head FROM kg_evidence WHERE origin = 'llm' AND kind = 'type'").fetchall()
    text = name_key(" ".join(NOTES.values()))
    assert len(rows) >= 3
    assert sum(name_key(row["head"]) in text for row in rows) >= 2 / 3 * len(rows), [row["head"] for row in rows]


def test_every_statement_has_its_sentence_and_keeps_to_the_schema(read: KnowledgeBase) -> None:
    wrong = read.connection.execute(
        """SELECT v.kind, v.relation, v.quote FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk
           WHERE v.origin = 'llm' AND (v.quote = '' OR substr(c.text, v.start + 1, v.end - v.start) <> v.quote
             OR v.kind IN ('triple', 'attribute') AND v.relation NOT IN (SELECT name FROM kg_types))"""
    ).fetchall()
    assert [tuple(row) for row in wrong] == []
    assert read.check() == []
