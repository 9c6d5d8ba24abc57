"""A question among the vectors of the file: what it means, and what is left of it.

Its vector is made by the model that made those of the passages. A passage reached over
a bridge need not resemble the whole question, only the part that the passages before it
do not explain, so vectors of such rests are made too, of each text once: the rests of
one question are few, since what explains them is mostly the names in it.

numpy is loaded only where there are vectors; ``open_meaning`` gives None where there are
none, or where numpy or the model is missing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..index.vectors import Vectors

__all__ = ["Meaning", "open_meaning"]


class Meaning:
    """The vector of one question, and of rests of it, against the vectors of passages."""

    def __init__(self, connection: sqlite3.Connection, chunks: Vectors, question: str) -> None:
        self.connection = connection
        self.chunks = chunks
        self.question = question
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self.prepare([question])

    def prepare(self, texts: Iterable[str]) -> None:
        """Embed texts in one call of the model, those known already left out."""
        from ..index.vectors import encode

        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        vectors = encode(self.connection, new) if new else None
        if vectors is not None:
            self._vectors.update(zip(new, vectors, strict=True))

    def nearest(self, k: int, ids: Collection[int] | None = None) -> list[tuple[int, float]]:
        """The k chunks that resemble the question most, of ``ids`` if given, with their cosines."""
        return self.chunks.similar(self._vectors[self.question], k, ids)

    def cosines(self, text: str, ids: Collection[int]) -> dict[int, float]:
        """How much some chunks resemble a text that was prepared, 0 to 1; those without a vector are left out."""
        if not ids:
            return {}
        return {chunk: min(1.0, max(0.0, c)) for chunk, c in self.chunks.scores(self._vectors[text], ids).items()}


def open_meaning(
    connection: sqlite3.Connection, question: str, chunks: Vectors | None = None, models: bool = False
) -> Meaning | None:
    """Return the meaning of a question, None where it cannot be compared.

    ``chunks`` are vectors opened before, to be used again. Vectors of a model that is not the bundled one are used only
    with ``models``, since it has to be called, and may cost. Raises ValueError if it is not installed or fails.
    """
    from ..index.encoders import EncoderError, is_bundled
    from ..index.vectors import open_vectors

    chunks = chunks or open_vectors(connection)
    if chunks is None or not question.strip() or not (models or is_bundled(chunks.model)):
        return None
    try:
        return Meaning(connection, chunks, question)
    except EncoderError as error:
        raise EncoderError(f"{error}. To search without vectors: --no-vectors") from error
