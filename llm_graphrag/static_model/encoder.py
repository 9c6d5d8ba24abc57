"""Texts to vectors with a table: a weighted sum of the rows of a text's word pieces, normalised.

The idea: what a large encoder says of a text is, for search, nearly the sum of what it says of the words. The sum needs
a table of some megabytes and no arithmetic to speak of: thousands of texts a second on one core, a first vector
milliseconds after the start. A piece that occurs n times weighs √n, so that a long text is not the vector of what it
repeats. The rows were fitted so that the sums agree with the teacher's vectors of whole texts
(benchmarks/distil_static.py); how rare a word is stands in the length of its row.

Promises: the same text gives the same bits alone or among others, on every thread; every vector has length 1 except
that of a text without words, which is zero; only the first ``LIMIT`` word pieces count, since a sum over a whole book
resembles every book. A word of a script that the teacher never learnt gets a direction drawn from its letters, so that
it resembles itself and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .word_pieces import WordPieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LIMIT", "StaticEncoder", "load"]

LIMIT = 512  # word pieces of a text that count, about 400 words
LIMIT_CHARACTERS = 16 * LIMIT  # and never more than these: 16 is three times what a piece takes in prose
UNKNOWN_LENGTH = 1.0  # of the row of an unknown word, about that of a rare known one

_lock = threading.Lock()
_loaded: dict[str, StaticEncoder] = {}


def load() -> StaticEncoder:
    """The encoder of the model in this folder, made once a process."""
    with _lock:
        if "" not in _loaded:
            _loaded[""] = StaticEncoder(Path(__file__).parent)
        return _loaded[""]


class StaticEncoder:
    """Vectors of texts by a table of word pieces; ``folder`` holds the model's files.

    >>> encoder = StaticEncoder(Path(__file__).parent)
    >>> boat, ship, tax = encoder.encode(["a boat", "the ship", "tax law"])
    >>> bool(boat @ ship > 0.5 > 0.2 > boat @ tax)
    True
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        facts: dict[str, Any] = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        self.model_id: str = facts["model_id"]
        self.dimensions: int = facts["dimensions"]

    @cached_property
    def pieces(self) -> WordPieces:
        """The vocabulary."""
        return WordPieces((self.folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1])

    @cached_property
    def table(self) -> NDArray[np.int8]:
        """The rows, (pieces, dimensions); mapped, so that only pages in use are read."""
        import numpy

        return numpy.asarray(numpy.load(self.folder / "vectors.npy", mmap_mode="r"))

    @cached_property
    def scales(self) -> NDArray[np.float32]:
        """What a row is multiplied with, (pieces,)."""
        import numpy

        scales: NDArray[np.float32] = numpy.load(self.folder / "scales.npy")
        return scales

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts, float32 (texts, dimensions), each of length 1 or, for a text without words, zero.

        Raises TypeError when a text is no string (or the texts are one).
        """
        import numpy

        if isinstance(texts, str):
            raise TypeError("encode() takes a sequence of texts: put the text in a list")
        vectors = numpy.zeros((len(texts), self.dimensions), numpy.float32)
        for row, text in zip(vectors, texts, strict=True):
            if not isinstance(text, str):
                raise TypeError(f"The static model embeds text only, not {type(text).__name__}")
            self._add(text, row)
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", vectors, vectors))
        vectors /= numpy.where(lengths > 0, lengths, 1)[:, None]
        return vectors

    def _add(self, text: str, row: NDArray[np.float32]) -> None:
        """Write the sum of the rows of a text's pieces into ``row``."""
        import numpy

        counted = Counter(self.pieces.ids(text[:LIMIT_CHARACTERS])[:LIMIT])
        if not counted:
            return
        chosen = numpy.fromiter(counted, numpy.int64, len(counted))
        weights = numpy.sqrt(numpy.fromiter(counted.values(), numpy.float32, len(counted)))
        if chosen.min() < 0:
            strange = chosen < 0
            for number, weight in zip(chosen[strange].tolist(), weights[strange], strict=True):
                row += weight * self.unknown(number)
            chosen, weights = chosen[~strange], weights[~strange]
        row += (self.scales[chosen] * weights) @ self.table.take(chosen, axis=0).astype(numpy.float32)

    def unknown(self, number: int) -> NDArray[np.float32]:
        """A direction drawn from the number of a word without pieces: bits of a hash as signs."""
        import numpy

        size = (self.dimensions + 7) // 8
        bits = numpy.frombuffer(hashlib.shake_128(str(number).encode("ascii")).digest(size), numpy.uint8)
        signs = numpy.unpackbits(bits)[: self.dimensions].astype(numpy.float32) * 2 - 1
        scaled: NDArray[np.float32] = signs * numpy.float32(UNKNOWN_LENGTH / self.dimensions**0.5)
        return scaled
