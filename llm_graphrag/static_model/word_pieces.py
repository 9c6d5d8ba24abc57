"""Text to word pieces, as BERT's uncased tokenizer makes them, in the standard library alone.

The idea: what stands between two spaces repeats, so all that is slow (accents, punctuation, the greedy search for the
longest piece) is done once for each such run and kept. The library ``tokenizers`` does the same many times slower, and
brings a hub client with all that it needs. The differences from it, without weight for averaged vectors: every sign
that is neither letter, digit nor space stands alone (there: only punctuation does), and a word that has no pieces gets
a number of its own below zero (there: all are [UNK]).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import chain
from zlib import crc32

__all__ = ["WordPieces"]

MAX_WORD = 100  # characters; a longer word has no pieces, as in BERT
MAX_KEPT = 100_000  # runs remembered, about 20 MB; the memory is emptied when it is full
MAX_KEPT_LENGTH = 40  # a longer run is an address, or a sentence in a script without spaces: it does not come again
IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
WORD = re.compile(rf"[^\W_{IDEOGRAPHS}]+|[{IDEOGRAPHS}]|[^\w\s]|_")


class WordPieces(dict[str, tuple[int, ...]]):
    """A mapping that fills itself, from a run of characters to the ids of its pieces: positions in the vocabulary.

    >>> pieces = WordPieces(["note", "##book", "s", "##s", "."])
    >>> pieces.ids("Notebooks. Notés")
    [0, 1, 3, 4, 0, 3]
    >>> pieces.ids("a quiz") == pieces.ids("A Quiz") != pieces.ids("a quip") and max(pieces.ids("a quiz")) < 0
    True
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        super().__init__()
        self.position = {piece: number for number, piece in enumerate(vocabulary)}
        self.longest = max(map(len, self.position), default=0)

    def ids(self, text: str) -> list[int]:
        """The ids of all pieces of a text, in order."""
        return list(chain.from_iterable(map(self.__getitem__, text.lower().split())))

    def __missing__(self, run: str) -> tuple[int, ...]:
        found = tuple(chain.from_iterable(map(self.split, self.words(run))))
        if len(self) >= MAX_KEPT:
            self.clear()
        if len(run) <= MAX_KEPT_LENGTH:
            self[run] = found
        return found

    @staticmethod
    def words(run: str) -> list[str]:
        """Words, single ideographs and single signs, without accents, other marks and invisible characters."""
        if not run.isascii():
            run = unicodedata.normalize("NFD", run)
            run = "".join(sign for sign in run if unicodedata.category(sign) != "Mn")
        return [word for word in WORD.findall(run) if word.isprintable()]

    def split(self, word: str) -> tuple[int, ...]:
        """The ids of the longest pieces from the left; one number below zero when some rest is no piece."""
        found: list[int] = []
        start, mark = 0, ""
        while start < len(word) <= MAX_WORD:
            for end in range(min(len(word), start + self.longest), start, -1):
                piece = self.position.get(mark + word[start:end])
                if piece is not None:
                    break
            else:
                break
            found.append(piece)
            start, mark = end, "##"
        return tuple(found) if start == len(word) else (-1 - crc32(word.encode("utf-8", "replace")),)
