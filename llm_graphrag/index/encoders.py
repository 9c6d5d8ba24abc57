"""Encoders: texts in, vectors out, whichever embedding model is meant by a name.

The bundled static model is read without importing llm. Every other name is asked of
llm, so that any of its embedding plugins works; those of llm-embed-onnx by way of
onnx.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..static_model import MODEL_ID
from ..text.error_text import error_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STATIC = "graphrag-static"


class EncoderError(ValueError):
    """A model is not there, or did not give the vectors it was asked for."""


class Encoder(Protocol):
    model_id: str

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (texts, dimensions); not empty; a row an input, in order."""


def encoder(name: str) -> Encoder:
    """The encoder of a model by name or alias. Raises EncoderError saying what to install."""
    if is_bundled(name):
        from ..static_model.encoder import load

        if not is_usable(name):
            raise EncoderError(f"{name} is no longer bundled; {MODEL_ID} is")
        return _Static(load())
    return _FromLlm(name)


def is_bundled(name: str | None) -> bool:
    """Whether a model is a version of the bundled one, which costs nothing to ask again."""
    return bool(name) and (name == STATIC or str(name).startswith(STATIC + "-"))


def is_usable(name: str) -> bool:
    """False for an older version of the bundled model; whether another model is installed is not looked at."""
    return not is_bundled(name) or name in (STATIC, MODEL_ID)


class _Static:
    def __init__(self, model: Any) -> None:
        self._model = model
        self.model_id: str = model.model_id

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._model.encode(list(texts))
        return vectors


class _FromLlm:
    """Any embedding model of llm."""

    def __init__(self, name: str) -> None:
        import llm

        from .onnx import adapted

        name = adapted(name)
        try:
            self._model = llm.get_embedding_model(name)
        except llm.UnknownModelError as error:
            raise EncoderError(
                f"llm has no embedding model {name!r}. List them with: llm embed-models; install more with: llm install"
            ) from error
        self.model_id: str = self._model.model_id

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy

        try:
            rows = list(self._model.embed_multi(list(texts)))
        except Exception as error:  # a provider may raise anything: name the model, keep the cause
            raise EncoderError(f"{self.model_id} did not embed: {_short(error)}") from error
        if len(rows) != len(texts):
            raise EncoderError(f"{self.model_id} gave {len(rows)} vectors for {len(texts)} texts; nothing was stored")
        lengths = {len(row) for row in rows}
        if len(lengths) > 1:
            raise EncoderError(
                f"{self.model_id} gave vectors of different lengths in one batch: {sorted(lengths)}; nothing was stored"
            )
        return numpy.asarray(rows, numpy.float32).reshape(len(rows), -1)


def _short(error: Exception) -> str:
    """What a provider said, on one line, cut."""
    return error_text(error) or type(error).__name__
