"""The embedding model that comes inside the package: its files, its vectors, its face towards llm."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from llm_graphrag.static_model.encoder import LIMIT, StaticEncoder, load
from llm_graphrag.static_model.llm_model import StaticEmbeddingModel
from llm_graphrag.static_model.word_pieces import MAX_KEPT_LENGTH, WordPieces

FOLDER = Path(__file__).parent.parent / "llm_graphrag" / "static_model"
MODEL = json.loads((FOLDER / "model.json").read_text(encoding="utf-8"))
TEXTS = ["Who repaired the boat?", "Übergrößen für naïve Leser", "鶴は千年", "x", "line\nline\tline"]


@pytest.fixture(scope="module")
def encoder() -> StaticEncoder:
    return load()


def test_files_are_those_that_model_json_describes() -> None:
    sums = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in MODEL["sha256"]}
    assert sums == MODEL["sha256"]
    assert set(sums) == {"vectors.npy", "scales.npy", "vocabulary.txt"}
    assert sum(file.stat().st_size for file in FOLDER.iterdir() if file.is_file()) < 10_000_000
    assert (FOLDER / "LICENSE").is_file()
    assert "all-MiniLM-L6-v2" in (FOLDER / "NOTICE").read_text(encoding="utf-8")


def test_shapes(encoder: StaticEncoder) -> None:
    assert encoder.model_id == MODEL["model_id"] == "graphrag-static-1"
    assert encoder.dimensions == MODEL["dimensions"] == 256
    assert encoder.table.shape == (MODEL["pieces"], 256)
    assert encoder.table.dtype == np.int8
    assert encoder.scales.shape == (MODEL["pieces"],)
    assert len(encoder.pieces.position) == MODEL["pieces"]


def test_vectors_are_float32_of_length_one(encoder: StaticEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 256)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("text", ["", " \n\t", "\x00\x07", "\u200b\ufeff", "\ud800"])
def test_text_without_words_is_zero(encoder: StaticEncoder, text: str) -> None:
    assert not encoder.encode([text, "words"])[0].any()


def test_no_texts(encoder: StaticEncoder) -> None:
    assert encoder.encode([]).shape == (0, 256)


def test_same_bits_alone_among_others_and_in_another_encoder(encoder: StaticEncoder) -> None:
    together = encoder.encode(TEXTS)
    assert all(np.array_equal(encoder.encode([text])[0], row) for text, row in zip(TEXTS, together, strict=True))
    assert np.array_equal(StaticEncoder(FOLDER).encode(TEXTS), together)


def test_same_bits_on_many_threads() -> None:
    texts = [f"{text} {number}" for number in range(50) for text in TEXTS]
    fresh = StaticEncoder(FOLDER)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(fresh.encode, [texts] * 8))
    assert all(np.array_equal(rows, load().encode(texts)) for rows in found)


def test_loaded_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len({id(one) for one in pool.map(lambda _: load(), range(16))}) == 1


@pytest.mark.parametrize(
    ("text", "alike", "unlike"),
    [
        ("How do I fix the boat's engine?", "Repairing a ship's motor", "Tax rates for small companies"),
        ("The doctor treated her fever", "A physician cured the illness", "Compiling a kernel module"),
        ("sqlite full text search", "searching documents in a database", "a recipe for apple pie"),
        ("Who discovered penicillin?", "Fleming found the antibiotic in 1928", "The match ended in a draw"),
    ],
)
def test_similar_sentences_are_closer(encoder: StaticEncoder, text: str, alike: str, unlike: str) -> None:
    here, near, far = encoder.encode([text, alike, unlike])
    assert here @ near > here @ far + 0.15


def test_case_accents_and_space_do_not_matter(encoder: StaticEncoder) -> None:
    first, second = encoder.encode(["Café  Zürich", "CAFE\nzu\u0308rich"])
    assert np.array_equal(first, second)


def test_order_does_not_matter_and_repetition_little(encoder: StaticEncoder) -> None:
    once, turned, often = encoder.encode(["boat engine", "engine boat", "boat engine engine engine engine"])
    assert np.allclose(once, turned, atol=1e-6)
    assert 0.85 < once @ often < 0.999


def test_unknown_scripts_resemble_only_themselves(encoder: StaticEncoder) -> None:
    first, second, same = encoder.encode(["ꦲꦏ꧀ꦱꦫ", "ᜊᜌ᜔ᜊᜌᜒᜈ᜔", "ꦲꦏ꧀ꦱꦫ"])
    assert np.isfinite(first).all()
    assert np.isclose(first @ same, 1)
    assert abs(first @ second) < 0.35


@pytest.mark.parametrize("text", ["🚀🚀", "a" * 5000, "é" * 5000, "_" * 50, "１２３", "𝔘𝔫𝔦", "ﷺ"])
def test_odd_text_has_a_finite_vector_of_length_one(encoder: StaticEncoder, text: str) -> None:
    vector = encoder.encode([text])[0]
    assert np.isclose(np.linalg.norm(vector), 1)


def test_only_the_first_pieces_count(encoder: StaticEncoder) -> None:
    start = "boat " * LIMIT
    short, long = encoder.encode([start, start + "tax law " * 1000])
    assert np.array_equal(short, long)


def test_refuses_what_is_no_text(encoder: StaticEncoder) -> None:
    with pytest.raises(TypeError, match="put the text in a list"):
        encoder.encode("text")
    with pytest.raises(TypeError, match="embeds text only, not bytes"):
        encoder.encode([b"text"])  # type: ignore[list-item]


def test_pieces_of_the_shipped_vocabulary(encoder: StaticEncoder) -> None:
    names = list(encoder.pieces.position)
    found = [names[number] for number in encoder.pieces.ids("Unaffable, don't snake_case 東京 Zürich.")]
    assert found == "una ##ffa ##ble , don ' t snake _ case 東 京 zurich .".split()


def test_memory_of_pieces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_graphrag.static_model.word_pieces.MAX_KEPT", 3)
    pieces = WordPieces(["a", "##a"])
    assert pieces.ids("a aa aaa aaaa aa") == [0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1]
    assert len(pieces) <= 3
    assert pieces.ids("a" * (MAX_KEPT_LENGTH + 1)) == [0] + [1] * MAX_KEPT_LENGTH
    assert "a" * (MAX_KEPT_LENGTH + 1) not in pieces


def test_encoder_imports_neither_llm_nor_torch() -> None:
    code = (
        "import sys; from llm_graphrag.static_model import encoder; assert 'numpy' not in sys.modules;"
        "encoder.load().encode(['a boat']);"
        "print(sorted({'llm', 'torch', 'tokenizers', 'scipy', 'click'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_llm_model_gives_the_vectors_of_the_encoder(encoder: StaticEncoder) -> None:
    model = StaticEmbeddingModel()
    assert model.model_id == MODEL["model_id"]
    assert model.embed("a boat") == encoder.encode(["a boat"])[0].tolist()
    assert list(model.embed_multi(TEXTS)) == encoder.encode(TEXTS).tolist()


def test_llm_model_gives_no_zero_vector() -> None:
    empty, boat = StaticEmbeddingModel().embed_multi(["", "a boat"])
    assert np.isclose(np.linalg.norm(empty), 1)
    assert abs(np.dot(empty, boat)) < 0.3


def test_llm_model_refuses_bytes() -> None:
    with pytest.raises(ValueError, match="does not support binary"):
        StaticEmbeddingModel().embed(b"\x00")


def test_llm_model_imports_nothing_until_it_embeds() -> None:
    code = (
        "import sys, llm; before = set(sys.modules); import llm_graphrag.static_model.llm_model as m;"
        "m.StaticEmbeddingModel(); print(sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ("llm_graphrag", "llm_graphrag.static_model", "llm_graphrag.static_model.llm_model")
    assert run.stdout.strip() == str(list(names))
