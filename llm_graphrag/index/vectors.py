"""Vectors of a knowledge base, read: which chunks or entities resemble a text.

They stand in llm's own tables ``collections`` and ``embeddings`` in the same file,
as 32-bit floats, so that ``llm similar`` works on it. A scan reads the rows and
multiplies once; numpy is imported here and only if there are vectors.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..store.settings import get_setting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLLECTIONS = {"chunks": "graphrag-chunks", "entities": "graphrag-entities"}
MODEL = "vectors.model"  # kg_settings: which model made the vectors
DIMENSIONS = "vectors.dimensions"


@dataclass
class Vectors:
    """The vectors of one collection, loaded when first asked."""

    connection: sqlite3.Connection
    collection: int
    model: str
    dimensions: int

    @cached_property
    def _loaded(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Ids (n,) ascending, and unit vectors (n, dimensions)."""
        import numpy

        rows = self.connection.execute(
            """SELECT CAST(id AS INTEGER), embedding FROM embeddings WHERE collection_id = ?
                 AND length(embedding) = ?""",
            [self.collection, 4 * self.dimensions],
        ).fetchall()
        rows.sort(key=lambda row: int(row[0]))
        ids = numpy.fromiter((row[0] for row in rows), numpy.int64, len(rows))
        floats = numpy.frombuffer(b"".join(row[1] for row in rows), "<f4").astype(numpy.float32)
        matrix = floats.reshape(len(rows), self.dimensions)
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", matrix, matrix))
        lengths[lengths == 0] = 1
        return ids, matrix / lengths[:, None]

    def similar(
        self, vector: NDArray[np.float32], k: int, ids: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """The ``k`` nearest (id, cosine), best first, ties by id; among ``ids`` if given.

        Raises ValueError if ``vector`` is not of this collection's dimensions.
        """
        import numpy

        known, scores = self._scored(vector)
        if ids is not None:
            chosen = numpy.isin(known, numpy.fromiter(ids, numpy.int64, len(ids)))
            known, scores = known[chosen], scores[chosen]
        if len(known) > 4 * k > 0:
            near = scores >= numpy.partition(scores, -k)[-k]  # all that are as near as the k-th, for the ties
            known, scores = known[near], scores[near]
        order = numpy.lexsort((known, -scores))[:k]
        return [(int(known[i]), float(scores[i])) for i in order]

    def scores(self, vector: NDArray[np.float32], ids: Collection[int]) -> dict[int, float]:
        """Cosine of ``vector`` and each of ``ids`` that has a vector."""
        known, scores = self._scored(vector)
        wanted = sorted(set(ids))
        places = known.searchsorted(wanted)
        return {
            id_: float(scores[place])
            for id_, place in zip(wanted, places, strict=True)
            if place < len(known) and known[place] == id_
        }

    def _scored(self, vector: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        import numpy

        if vector.shape != (self.dimensions,):
            raise ValueError(f"The vector has shape {vector.shape}, those of {self.model} have ({self.dimensions},)")
        ids, matrix = self._loaded
        length = float(numpy.sqrt(vector @ vector)) or 1.0
        return ids, matrix @ (vector / length).astype(numpy.float32)


def open_vectors(connection: sqlite3.Connection, collection: str = "chunks") -> Vectors | None:
    """The vectors of ``chunks`` or ``entities``; None if the file has none, or only of an older bundled model.

    (Those cannot be asked any more; the next ``add`` renews them.)
    """
    from .encoders import is_usable

    model, dimensions = get_setting(connection, MODEL), get_setting(connection, DIMENSIONS)
    if not model or not dimensions or not is_usable(model):
        return None
    row = connection.execute("SELECT id FROM collections WHERE name = ?", [COLLECTIONS[collection]]).fetchone()
    return None if row is None else Vectors(connection, row[0], model, dimensions)


def encode(connection: sqlite3.Connection, texts: Sequence[str]) -> NDArray[np.float32] | None:
    """Vectors of texts (texts, dimensions) by the model of the file's vectors; None where ``open_vectors`` gives none.

    Raises EncoderError if that model is not installed.
    """
    from .encoders import encoder, is_usable

    model = get_setting(connection, MODEL)
    return encoder(model).encode(texts) if model and is_usable(model) else None
