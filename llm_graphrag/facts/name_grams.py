"""A name as a set of bits, so that names spelled nearly alike share most of them: pure rules.

Every letter with its two neighbours, every pair of neighbours, and the initials of the whole name are hashed to some
of ``BITS`` bits. The words of a name are taken apart first, so their order does not matter, and their accents are
dropped. ``bitmaps`` turns many names into one bitmap a bit, with a place for each name: whoever looks for names that
share bits with another reads the bitmaps of those only, and counts with *and* and *xor* on whole bitmaps (``Tally``).
Python's integers do that as fast as it takes, so no numpy has to be loaded to answer a question.

The idea is that of signature files stored by bit slice (Faloutsos and Chan, VLDB 1988).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .name_forms import plain_letters
from .names import FUNCTION_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BITS", "Tally", "asked_bits", "bitmaps", "folded", "grams", "initials", "initials_bits"]

BITS = 256
MAX_LETTERS = 200  # of a name; what comes after is not looked at
MOST_INITIALS = 8
ASKED = 24  # bits that are asked for at most: more tell little more
FEW = 14  # threes of letters below which pairs are asked for, too

_GAP = re.compile(r"(?:[^\w+#\n]|_)+")
_FILLER = re.compile(rf"(?<![^ \n])(?:{'|'.join(sorted(FUNCTION_WORDS))})(?![^ \n])")
_32 = 0xFFFFFFFF
_SPACE, _END = 32, 10
_PAIR, _INITIALS = 0x110001, 0x110002  # in the place of a third letter: no letter has these numbers
_A, _B, _C, _D = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x2C1B3C6D  # odd, so that every bit of a letter counts
_SALTS = 3
_BYTE = re.compile(rb"[^\x00]")
_PLACES = [[place for place in range(8) if byte >> place & 1] for byte in range(256)]


def folded(name: str) -> str:
    """The words of a name, small and without accents, a space between them.

    >>> folded("Müller-Straße (C++)"), folded("O'Neill "), folded("東京 タワー")
    ('muller strasse c++', 'o neill', '東京 タワー')
    """
    return _words(name[:MAX_LETTERS].replace("\n", " ")).strip()


def _words(text: str) -> str:
    """The same of many names, one a line."""
    return _GAP.sub(" ", plain_letters(text.lower()))


def grams(words: str) -> frozenset[str]:
    """Threes and pairs of letters of folded words; a space is the end of a word.

    >>> sorted(grams("ab"))
    [' a', ' ab', 'ab', 'ab ', 'b ']
    """
    return frozenset([*_threes(words), *_pairs(words)])


def _threes(words: str) -> list[str]:
    text = f" {words} "
    return [text[at - 1 : at + 2] for at in range(1, len(text) - 1) if text[at] != " "]


def _pairs(words: str) -> list[str]:
    text = f" {words} "
    return [text[at : at + 2] for at in range(len(text) - 1) if words]


def initials(words: str) -> tuple[str, ...]:
    """The first letters of folded words, and those without *of*, *the* and the like; none of one word or too many.

    >>> initials("bank of the orient"), initials("ana ruiz"), initials("ana")
    (('boto', 'bo'), ('ar',), ())
    """
    every, telling = words.split(), _FILLER.sub("", words).split()
    found = ("".join(word[0] for word in some) for some in (every, telling))
    return tuple(dict.fromkeys(letters for letters in found if 2 <= len(letters) <= MOST_INITIALS))


def asked_bits(words: str) -> list[int]:
    """The bits by which names like folded words are found.

    Of a long name only some are asked for; of a short one its pairs of letters are, since a slip of the pen takes most
    of its threes.
    """
    found = list(dict.fromkeys(_threes(words)))
    if len(found) < FEW:
        found += dict.fromkeys(_pairs(words))
    every = max(1, -(-len(found) // ASKED))
    return list(dict.fromkeys(_bit(*map(ord, gram)) for gram in found[::every]))


def initials_bits(letters: str) -> list[int]:
    """The bits that every name with these initials has."""
    total = sum(_mixed(ord(letter), place, _INITIALS) for place, letter in enumerate(letters)) & _32
    return list(dict.fromkeys(_bit(total, salt, _INITIALS) for salt in range(_SALTS)))


def _mixed(a: int, b: int, c: int) -> int:
    mixed = (a * _A ^ b * _B ^ c * _C) & _32
    mixed = ((mixed ^ mixed >> 15) * _D) & _32
    return mixed ^ mixed >> 13


def _bit(a: int, b: int, c: int = _PAIR) -> int:
    return _mixed(a, b, c) >> 24


def bitmaps(names: Sequence[str], places: Sequence[int], size: int) -> list[bytes]:
    """``BITS`` bitmaps of ``size`` bits, lowest first; bit p of each is that of the name whose place is p.

    >>> one, = [bit for bit in asked_bits("a") if bit in asked_bits("a b")][:1]
    >>> bitmaps(["A", "b"], [0, 9], 16)[one]
    b'\\x01\\x00'
    """
    import numpy

    held = numpy.zeros((BITS, size), numpy.bool_)
    at = numpy.asarray(places, numpy.int64)
    text = _words("\n".join(name[:MAX_LETTERS].replace("\n", " ") for name in names))
    for bits, owners in (*_gram_places(text), *_initial_places(text), *_initial_places(_FILLER.sub("", text))):
        held[bits, at[owners]] = True
    return [row.tobytes() for row in numpy.packbits(held, axis=1, bitorder="little")]


def _letters(text: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The letters of lines, ends of lines as spaces, and the number of the line that each is in."""
    import numpy

    letters = numpy.frombuffer(f"\n{text}\n".encode("utf-32-le", "surrogatepass"), "<u4").astype(numpy.uint32)
    ends = letters == _END
    letters[ends] = _SPACE
    return letters, numpy.cumsum(ends) - 1


def _gram_places(text: str) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """(bits, number of the line) of threes, then of pairs."""
    letters, lines = _letters(text)
    before, letter, after = letters[:-2], letters[1:-1], letters[2:]
    kept = letter != _SPACE
    yield _mixed_many(before, letter, after)[kept] >> 24, lines[1:-1][kept]
    first, second = letters[:-1], letters[1:]
    kept = (first != _SPACE) | (second != _SPACE)
    yield _mixed_many(first, second, _PAIR)[kept] >> 24, lines[:-1][kept]


def _initial_places(text: str) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """(bits, number of the line) of the initials of lines that have not too few or too many words."""
    import numpy

    letters, lines = _letters(text)
    starts = numpy.flatnonzero((letters[1:] != _SPACE) & (letters[:-1] == _SPACE)) + 1
    owners = lines[starts]
    counts = numpy.bincount(owners)
    places = numpy.arange(len(starts)) - (numpy.cumsum(counts) - counts)[owners]
    mixed = _mixed_many(letters[starts], places.astype(numpy.uint32), _INITIALS)
    totals = numpy.bincount(owners, mixed).astype(numpy.uint64).astype(numpy.uint32)  # exact: few terms of 32 bits
    kept = numpy.flatnonzero((counts > 1) & (counts <= MOST_INITIALS))
    for salt in range(_SALTS):
        yield _mixed_many(totals[kept], numpy.uint32(salt), _INITIALS) >> 24, kept


def _mixed_many(a: Any, b: Any, c: Any) -> NDArray[Any]:
    """``_mixed`` of arrays."""
    import numpy

    a, b, c = (numpy.asarray(x, numpy.uint32) for x in (a, b, c))
    mixed: NDArray[Any] = a * numpy.uint32(_A) ^ b * numpy.uint32(_B) ^ c * numpy.uint32(_C)
    mixed = (mixed ^ mixed >> numpy.uint32(15)) * numpy.uint32(_D)
    mixed ^= mixed >> numpy.uint32(13)
    return mixed


class Tally:
    """How many of some bitmaps hold each place, counted in bitmaps: the first has the ones, the next the twos, …

    >>> tally = Tally()
    >>> for bitmap in (b"\\x03", b"\\x02", b"\\x06"):
    ...     tally.add(bitmap)
    >>> [list(tally.places(count)) for count in (3, 2, 1)]
    [[1], [], [0, 2]]
    """

    def __init__(self) -> None:
        self._digits: list[int] = []

    def add(self, bitmap: bytes) -> None:
        """Count the places of one more bitmap."""
        carry = int.from_bytes(bitmap, "little")
        for at, digit in enumerate(self._digits):
            self._digits[at], carry = digit ^ carry, digit & carry
            if not carry:
                return
        if carry:
            self._digits.append(carry)

    def places(self, count: int) -> Iterator[int]:
        """The places that ``count`` > 0 of the bitmaps hold, lowest first."""
        if count >> len(self._digits):
            return
        chosen = -1
        for at, digit in enumerate(self._digits):
            chosen &= digit if count >> at & 1 else ~digit
        data = chosen.to_bytes((chosen.bit_length() + 7) // 8, "little")
        for match in _BYTE.finditer(data):
            start = match.start() * 8
            for place in _PLACES[data[match.start()]]:
                yield start + place
