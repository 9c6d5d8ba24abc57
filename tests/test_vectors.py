"""Vectors: what is embedded and how often, what is refused, how a model is changed, how llm reads them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import llm
import numpy as np
import pytest
from click.testing import CliRunner
from llm.cli import cli
from llm.plugins import pm

from llm_graphrag.index import embed as embedding
from llm_graphrag.index.encoders import EncoderError, encoder
from llm_graphrag.index.vectors import encode, open_vectors
from llm_graphrag.knowledge_base import KnowledgeBase


class Counting:
    """Vectors from a hash; counts the texts it was asked for; breaks when told to."""

    def __init__(self, model_id: str = "counting", dimensions: int = 4) -> None:
        self.model_id, self.dimensions = model_id, dimensions
        self.texts: list[str] = []
        self.fail_after: int | None = None

    def encode(self, texts):
        if self.fail_after is not None and len(self.texts) + len(texts) > self.fail_after:
            raise EncoderError("the provider is tired")
        self.texts += texts
        digests = [hashlib.sha256(text.encode()).digest()[: self.dimensions] for text in texts]
        return np.array([list(digest) for digest in digests], np.float32) + 1


def silent(*_):
    pass


def rows(kb: KnowledgeBase, name: str = "graphrag-chunks") -> dict[str, bytes]:
    return dict(
        kb.connection.execute(
            "SELECT e.id, e.embedding FROM embeddings e JOIN collections c ON c.id = e.collection_id WHERE c.name = ?",
            [name],
        ).fetchall()
    )


def chunks(kb: KnowledgeBase) -> set[str]:
    return {str(row[0]) for row in kb.connection.execute("SELECT id FROM kg_chunks")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    vault.mkdir()
    for name in ("Alder", "Birch", "Cedar"):
        (vault / f"{name}.md").write_text(f"# {name}\n\nThe {name.lower()} grows by the quay.\n")
    return vault


@pytest.fixture
def plain(tmp_path: Path, folder: Path):
    """A knowledge base that makes no vectors by itself."""
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.add([folder])
        yield kb


def test_add_embeds_with_the_bundled_model_and_finds_by_meaning(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "one.md").write_text("The physician examined her patients in the hospital.")
    (vault / "two.md").write_text("Bread rises overnight in a cool kitchen.")
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        report = kb.add([vault])
        vectors = open_vectors(kb.connection)
        assert vectors is not None
        assert vectors.model == "graphrag-static-1"
        question = encode(kb.connection, ["doctors and clinics"])
        assert question is not None
        (best, score), (_, second) = vectors.similar(question[0], 2)
        assert (
            kb.connection.execute("SELECT text FROM kg_chunks WHERE id = ?", [best]).fetchone()[0].startswith("The phy")
        )
        assert score > second
        assert vectors.scores(question[0], [best, 999]) == {best: pytest.approx(score)}
        assert vectors.similar(question[0], 5, ids=[]) == []
        assert report.totals["vectors"] == len(rows(kb)) + len(rows(kb, "graphrag-entities"))


def test_only_what_is_new_is_embedded(plain: KnowledgeBase, folder: Path) -> None:
    counting = Counting()
    asked = []

    def calls() -> int:
        plain.add([folder], None)
        before = len(counting.texts)
        embedding.embed(plain.connection, counting, silent)
        asked.append(
            sum(text.startswith(("Alder", "Birch", "Cedar")) and "\n" in text for text in counting.texts[before:])
        )
        assert rows(plain).keys() == chunks(plain)
        return asked[-1]

    assert calls() == 3
    assert calls() == 0
    for path in folder.iterdir():
        path.touch()
    assert calls() == 0
    (folder / "Birch.md").write_text("# Birch\n\nThe birch was felled.\n")
    assert calls() == 1
    (folder / "wood").mkdir()
    (folder / "Cedar.md").rename(folder / "wood" / "Cedar.md")
    assert calls() == 0


def test_nothing_empty_is_sent(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "image.md").write_text("![[keel.png]]\n")
    (vault / "matter.md").write_text("---\nmood: calm\n---\n")
    (vault / "blank.md").write_text(" \n\n")
    (vault / "good.md").write_text("Two good words.")
    (vault / "also.md").write_text("Another good note.")
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.add([vault])
        counting = Counting()
        done = embedding.embed(kb.connection, counting, silent)
        assert sorted(t for t in counting.texts if "\n" in t) == ["also\nAnother good note.", "good\nTwo good words."]
        assert all(text.strip() for text in counting.texts)
        assert done.nothing == 2
        assert len(rows(kb)) == 2


def test_another_model_is_refused_before_it_is_called(plain: KnowledgeBase) -> None:
    embedding.embed(plain.connection, Counting("first"), silent)
    other = Counting("second")
    with pytest.raises(EncoderError, match=r"by first, not by second.*embed --model second"):
        embedding.embed(plain.connection, other, silent)
    assert other.texts == []


def test_other_dimensions_are_refused_and_not_stored(plain: KnowledgeBase, folder: Path) -> None:
    embedding.embed(plain.connection, Counting(dimensions=4), silent)
    before = rows(plain)
    (folder / "Dogwood.md").write_text("A dogwood.")
    plain.add([folder])
    with pytest.raises(EncoderError, match="3 dimensions, those here have 4"):
        embedding.embed(plain.connection, Counting(dimensions=3), silent)
    assert rows(plain) == before


def test_old_vectors_stay_until_the_new_are_complete(plain: KnowledgeBase, monkeypatch) -> None:
    monkeypatch.setattr(embedding, "BATCH", 1)
    embedding.embed(plain.connection, Counting("old"), silent)
    old = rows(plain)
    new = Counting("new", 6)
    new.fail_after = 2
    with pytest.raises(EncoderError, match="tired"):
        embedding.change_model(plain.connection, new, silent)
    assert rows(plain) == old
    assert open_vectors(plain.connection).model == "old"
    new.fail_after = None
    embedding.change_model(plain.connection, new, silent)
    assert len(new.texts) == len(set(new.texts))  # what was made before the failure was not made again
    vectors = open_vectors(plain.connection)
    assert (vectors.model, vectors.dimensions) == ("new", 6)
    assert {len(vector) for vector in rows(plain).values()} == {24}
    assert rows(plain).keys() == chunks(plain)
    names = {row[0] for row in plain.connection.execute("SELECT name FROM collections")}
    assert names == {"graphrag-chunks", "graphrag-entities"}


def test_vectors_of_an_older_bundled_model_are_renewed(plain: KnowledgeBase, folder: Path) -> None:
    embedding.embed(plain.connection, Counting("graphrag-static-0", 8), silent)
    assert encode(plain.connection, ["trees"]) is None  # that model is gone, words still find
    assert [hit.title for hit in plain.search("cedar")] == ["Cedar"]
    plain.set(embedding_model="graphrag-static")
    plain.add([folder])
    vectors = open_vectors(plain.connection)
    assert (vectors.model, vectors.dimensions) == ("graphrag-static-1", 256)
    assert rows(plain).keys() == chunks(plain)


def test_removed_documents_lose_their_vectors(plain: KnowledgeBase) -> None:
    plain.set(embedding_model="graphrag-static")
    plain.embed()
    plain.remove(["vault/Alder.md"])
    assert rows(plain).keys() == chunks(plain)
    plain.remove(["vault"])
    assert plain.connection.execute("SELECT count(*) FROM embeddings").fetchone()[0] == 0


class Moody(llm.EmbeddingModel):
    model_id = "moody"
    batch_size = 10
    answer: list | Exception

    def embed_batch(self, items, *, key=None):
        items = list(items)
        if isinstance(Moody.answer, Exception):
            raise Moody.answer
        yield from Moody.answer[: len(items)]


@pytest.fixture
def moody():
    class Plugin:
        @llm.hookimpl
        def register_embedding_models(self, register):
            register(Moody())

    plugin = Plugin()
    pm.register(plugin)
    yield encoder("moody")
    pm.unregister(plugin)


def test_models_of_llm_are_checked(moody) -> None:
    Moody.answer = [[1.0, 0.0], [0.0, 1.0]]
    assert moody.encode(["a", "b"]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    Moody.answer = [[1.0, 0.0]]
    with pytest.raises(EncoderError, match="1 vectors for 2 texts"):
        moody.encode(["a", "b"])
    Moody.answer = [[1.0, 0.0], [1.0]]
    with pytest.raises(EncoderError, match="different lengths"):
        moody.encode(["a", "b"])
    Moody.answer = RuntimeError("quota " * 200)
    with pytest.raises(EncoderError, match=r"moody did not embed: quota quota.*…$"):
        moody.encode(["a"])
    with pytest.raises(EncoderError, match="no embedding model 'nobody'"):
        encoder("nobody")


def test_notes_are_stored_though_the_model_fails(tmp_path: Path, folder: Path, moody) -> None:
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.set(embedding_model="moody")
        Moody.answer = RuntimeError("no key")
        report = kb.add([folder])
        assert report.new == 3
        assert "moody did not embed: no key" in report.warnings[-1].message
        assert [hit.title for hit in kb.search("cedar")] == ["Cedar"]
        Moody.answer = [[float(n), 1.0] for n in range(10)]
        assert kb.add([folder]).totals["vectors"] == len(rows(kb)) + len(rows(kb, "graphrag-entities")) > 0


def test_llm_similar_works_on_the_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "one.md").write_text("The physician examined her patients in the hospital.")
    (vault / "two.md").write_text("Bread rises overnight in a cool kitchen.")
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as kb:
        kb.add([vault])
    run = CliRunner().invoke(
        cli, ["similar", "graphrag-chunks", "-c", "doctors", "-d", str(tmp_path / "kb.db"), "-n", "1"]
    )
    assert run.exit_code == 0, run.output
    assert json.loads(run.output)["metadata"] == {"of": "vault/one.md"}
