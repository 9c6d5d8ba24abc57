"""The models of llm-embed-onnx 0.1, made to work with a current llm.

That plugin keeps the name of its model in ``key``, which llm clears while it calls
a model. Each of its models is offered again under an id of ours; the adapter gives
the name back and calls the plugin's own method, with one text at a time: of several it
makes all as long as the longest and counts the padding as text, so that a text's vector
depends on its neighbours (a short one beside a long one came to a cosine of 0.54 with
itself); it runs them one by one anyhow. Models are downloaded by it, or
taken from ``llm_embed_onnx/NAME/`` in llm's user directory (``model.onnx`` and the
files of its tokenizer).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any

from llm.models import EmbeddingModel

THEIRS, OURS = "onnx-", "graphrag-onnx-"


class OnnxAdapter(EmbeddingModel):
    """One model of llm-embed-onnx under the id ``graphrag-onnx-NAME``."""

    batch_size = 32

    def __init__(self, model: Any) -> None:
        self._onnx = model
        self._name: str = model.model_id.removeprefix(THEIRS)
        self.model_id = OURS + self._name

    def embed_batch(self, items: Iterable[str | bytes], *, key: str | None = None) -> Iterator[list[float]]:
        for item in items:
            self._onnx.key = self._name
            [row] = self._onnx.embed_batch([str(item)])
            yield [float(value) for value in row]


def adapters() -> list[OnnxAdapter]:
    """An adapter for every model of llm-embed-onnx; none if that is not installed."""
    if find_spec("llm_embed_onnx") is None:
        return []
    import llm_embed_onnx

    return [OnnxAdapter(llm_embed_onnx.OnnxModel(name)) for name in llm_embed_onnx.registry]


def adapted(name: str) -> str:
    """The id under which a model works: ours for one of llm-embed-onnx, else the name itself."""
    if name.startswith(THEIRS) and find_spec("llm_embed_onnx") is not None:
        return OURS + name.removeprefix(THEIRS)
    return name
