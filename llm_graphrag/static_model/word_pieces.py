"""Text to word pieces, as BERT's uncased tokenizer makes them, in the standard library alone.

The idea: a text is a sequence of words, words repeat, so what is slow (the greedy search for the longest piece) is done
once a word and kept. The library ``tokenizers`` does the same and more, but brings a hub client and 30 MB of what that
needs. The differences from it, all without weight for averaged vectors: every character that is neither letter, digit
nor space stands alone (there: only punctuation and Chinese characters do), control characters are no words, and a word
without pieces is told apart from others like it (there: [UNK]).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain

__all__ = ["WordPieces"]

MAX_WORD = 100  # characters; a longer word has no pieces, as in BERT
MAX_KEPT = 100_000  # words remembered, about 20 MB; the memory is emptied when it is full
IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
WORD = re.compile(rf"[^\W_{IDEOGRAPHS}]+|[{IDEOGRAPHS}]|[^\w\s]|_")
MARK = re.compile("[\u0300-\u036f]+")  # combining accents of the Latin, Greek and Cyrillic scripts


class WordPieces(dict[str, tuple[int, ...]]):
    """A mapping from word to the ids of its pieces that fills itself; ids are positions in the vocabulary.

    >>> pieces = WordPieces(["note", "##book", "s", "##s", "."])
    >>> pieces.ids("Notebooks. Notés")
    [0, 1, 3, 4, 0, 3]
    >>> pieces.ids("quiz"), pieces.without(["quiz", "notes"])
    ([], ['quiz'])
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        super().__init__()
        self.position = {piece: number for number, piece in enumerate(vocabulary)}
        self.longest = max(map(len, self.position), default=0)

    @staticmethod
    def words(text: str) -> list[str]:
        """Lower-case words, single signs and single ideographs, without accents."""
        text = text.lower()
        if not text.isascii():
            text = MARK.sub("", unicodedata.normalize("NFD", text))
            text = unicodedata.normalize("NFC", text)
        return WORD.findall(text)

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = self.split(word)
        if len(self) >= MAX_KEPT:
            self.clear()
        self[word] = found
        return found

    def split(self, word: str) -> tuple[int, ...]:
        """The ids of the longest pieces from the left; none when a rest has no piece."""
        if len(word) > MAX_WORD:
            return ()
        found: list[int] = []
        start, mark = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self.longest), start, -1):
                piece = self.position.get(mark + word[start:end])
                if piece is not None:
                    break
            else:
                return ()
            found.append(piece)
            start, mark = end, "##"
        return tuple(found)

    def of_words(self, words: Iterable[str]) -> list[int]:
        """The ids of all pieces of these words, in order."""
        return list(chain.from_iterable(map(self.__getitem__, words)))

    def ids(self, text: str) -> list[int]:
        """The ids of all pieces of a text, in order."""
        return self.of_words(self.words(text))

    def without(self, words: list[str]) -> list[str]:
        """The words that have no pieces."""
        found = list(map(self.__getitem__, words))
        return [word for word, ids in zip(words, found, strict=True) if not ids] if () in found else []
