"""The seam for other ways to find names: hook, setting, and what is said when one is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pluggy
import pytest

from llm_graphrag.facts.finders import PIPELINE, _pieces
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.plugins import manager, name_finder

hookimpl = pluggy.HookimplMarker("llm_graphrag")


class Planets:
    """A plugin that finds lower-case planets, which our rules do not."""

    @hookimpl
    def register_extractors(self, register):
        register("planets", lambda text: [(i, i + 4) for i in range(len(text)) if text.startswith("mars", i)])


@pytest.fixture
def planets():
    plugin = Planets()
    manager().register(plugin)
    yield
    manager().unregister(plugin)


def mentioned(kb: KnowledgeBase) -> set[str]:
    rows = kb.connection.execute(
        "SELECT substr(c.text, m.start + 1, m.end - m.start) FROM kg_mentions m JOIN kg_chunks c ON c.id = m.chunk"
    )
    return {row[0] for row in rows}


def test_a_finder_of_a_plugin_is_used_and_code_is_hidden_from_it(tmp_path: Path, planets) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "sky.md").write_text("Tonight mars is near Antares, `mars` in code is not.\n")
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.add([vault])
        assert mentioned(kb) == {"Antares"}
        kb.set(names="planets")
        kb.add([vault])
        assert mentioned(kb) == {"mars"}
        assert kb.connection.execute("SELECT count(*) FROM kg_mentions").fetchone()[0] == 1
        assert kb.check() == []


def test_an_unknown_finder_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with (
        KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb,
        pytest.raises(ValueError, match=r"called 'oracle'.*phrases, spacy"),
    ):
        kb.set(names="oracle")


def test_long_text_is_cut_at_line_ends() -> None:
    text = ("a" * 60_000 + "\n") * 3 + "b" * 250_000
    pieces = list(_pieces(text))
    assert "".join(piece for _, piece in pieces) == text
    assert [offset for offset, _ in pieces][:3] == [0, 60_001, 120_002]
    assert max(len(piece) for _, piece in pieces) <= 100_000


def test_spacy_names_or_how_to_get_them() -> None:
    try:
        import spacy

        spacy.load(os.environ.get("LLM_GRAPHRAG_SPACY", PIPELINE))
    except (ImportError, OSError):
        with pytest.raises(ValueError, match=r"llm install 'llm-graphrag\[spacy\]'|spacy download"):
            list(name_finder("spacy")("Ada met Ben in Lisbon."))
        return
    text = "In 1999 Ada Lovelace visited Lisbon."
    found = [text[a:b] for a, b in name_finder("spacy")(text)]
    assert "Lisbon" in found
    assert "1999" not in found
