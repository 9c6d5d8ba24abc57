"""The static model as an embedding model of llm: ``llm embed -m graphrag-static``, ``llm similar``.

The encoder, and numpy with it, is loaded with the first text, not with the list of models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llm.models import EmbeddingModel

from . import MODEL_ID

__all__ = ["StaticEmbeddingModel"]


class StaticEmbeddingModel(EmbeddingModel):
    """Text only, no key, works offline."""

    model_id = MODEL_ID
    needs_key = None
    supports_text = True
    supports_binary = False
    batch_size = 256

    def embed_batch(self, items: Iterable[str | bytes], *, key: str | None = None) -> Iterator[list[float]]:
        """A vector for every text. One without words gets the direction of no word: ``llm similar`` divides by lengths.

        Raises ValueError for bytes that are not text.
        """
        from .encoder import UNKNOWN_LENGTH, load

        encoder = load()
        nothing = encoder.unknown(0) / UNKNOWN_LENGTH
        texts = [item.decode("utf-8") if isinstance(item, bytes) else item for item in items]
        for vector in encoder.encode(texts):
            yield (vector if vector.any() else nothing).tolist()
