"""A name as a set of bits, so that names spelled nearly alike share most of them: pure rules.

Every letter, every pair of neighbours, every three, and the initials of the whole name are hashed to some of ``BITS``
bits; others say whether it is at least so many letters long. The words of a name are taken apart first, so their order
does not matter, and their accents are dropped. ``bitmaps`` turns many names into one bitmap a bit, with a place for
each name: whoever looks for names that share bits with another reads the bitmaps of those only, and counts with *and*
and *xor* on whole bitmaps (``Tally``). Python's integers do that as fast as it takes, so no numpy has to be loaded to
answer a question.

The idea is that of signature files stored by bit slice (Faloutsos and Chan, VLDB 1988).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .name_forms import plain_letters

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BITS", "Tally", "asked_bits", "bitmaps", "folded", "grams", "initials", "initials_bits", "length_bits"]

BITS = 256
HASHED = 224  # of them; the next are for names of 0, 1, … letters or more
MAX_LETTERS = 200  # of a name; what comes after is not looked at
MOST_INITIALS = 8
ASKED = 24  # bits that are asked for at most: more tell little more
FEW, FEWER = 14, 9  # threes of letters below which pairs are asked for, too, and below which single letters are

_GAP = re.compile(r"(?:[^\w+#\n]|_)+")
_FILLER = re.compile(r"(?<![^ \n])(?:an?|and|at|by|de|des|du|for|in|la|of|on|the|to|und|von|with)(?![^ \n])")
_32 = 0xFFFFFFFF
_SPACE, _END = 32, 10
_ONE, _PAIR, _INITIALS = 0x110000, 0x110001, 0x110002  # in the place of letters: none has these numbers
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


def grams(words: str) -> frozenset[tuple[str, str, str]]:
    """Threes of letters of folded words; a space is the end of a word.

    >>> sorted(map("".join, grams("ab c")))
    [' ab', ' c ', 'ab ', 'b c']
    """
    text = f" {words} "
    return frozenset(zip(text, text[1:], text[2:], strict=False))


def _threes(words: str) -> list[str]:
    text = f" {words} "
    return [text[at - 1 : at + 2] for at in range(1, len(text) - 1) if text[at] != " "]


def _pairs(words: str) -> list[str]:
    text = f" {words} "
    return [text[at : at + 2] for at in range(len(text) - 1) if words]


def initials(words: str) -> tuple[str, ...]:
    """The first letters of folded words, and those without *of*, *the* and the like; none of one word, or of many.

    >>> initials("bank of the orient"), initials("ana ruiz"), initials("ana")
    (('boto', 'bo'), ('ar',), ())
    """
    every, telling = words.split(), _FILLER.sub("", words).split()
    found = ("".join(word[0] for word in some) for some in (every, telling))
    return tuple(dict.fromkeys(letters for letters in found if 2 <= len(letters) <= MOST_INITIALS))


def asked_bits(words: str) -> list[int]:
    """The bits by which names like folded words are found.

    Of a long name only some are asked for; of a short one its pairs and letters are, since a slip of the pen takes
    most of its threes.
    """
    threes = list(dict.fromkeys(_threes(words)))
    some = threes if len(threes) <= ASKED else [threes[n * len(threes) // ASKED] for n in range(ASKED)]
    found = [_bit(*map(ord, three)) for three in some]
    if len(threes) < FEW:
        found += [_bit(*map(ord, pair)) for pair in _pairs(words)]
    if len(threes) < FEWER:
        found += [_bit(ord(letter)) for letter in words if letter != " "]
    return list(dict.fromkeys(found))


def length_bits(words: str) -> list[int]:
    """The bits one of which, and not the other, names have with as many letters as folded words, two more or less.

    >>> length_bits("ana ruiz"), length_bits("x" * 99)
    ([229, 234], [255])
    """
    letters = len(words) - words.count(" ")
    first, last = max(letters - 2, 0), letters + 3
    return [
        HASHED + min(length, BITS - HASHED - 1) for length in (first, last) if length == first or HASHED + last < BITS
    ]


def initials_bits(letters: str) -> list[int]:
    """The bits that every name with these initials has."""
    total = sum(_mixed(ord(letter), place, _INITIALS) for place, letter in enumerate(letters)) & _32
    return list(dict.fromkeys(_bit(total, salt, _INITIALS) for salt in range(_SALTS)))


def _mixed(a: int, b: int, c: int) -> int:
    mixed = (a * _A ^ b * _B ^ c * _C) & _32
    mixed = ((mixed ^ mixed >> 15) * _D) & _32
    return mixed ^ mixed >> 13


def _bit(a: int, b: int = _ONE, c: int = _PAIR) -> int:
    return (_mixed(a, b, c) >> 16) * HASHED >> 16


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
    """(bits, number of the line) of threes, single letters, pairs, and lengths."""
    import numpy

    letters, lines = _letters(text)
    before, letter, after = letters[:-2], letters[1:-1], letters[2:]
    kept = letter != _SPACE
    yield _many_bits(before, letter, after)[kept], lines[1:-1][kept]
    yield _many_bits(letter, _ONE, _PAIR)[kept], lines[1:-1][kept]
    lengths = numpy.bincount(lines[1:-1][kept], minlength=lines[-1])
    first, second = letters[:-1], letters[1:]
    kept = (first != _SPACE) | (second != _SPACE)
    yield _many_bits(first, second, _PAIR)[kept], lines[:-1][kept]
    for bit in range(HASHED, BITS):
        owners = numpy.flatnonzero(lengths >= bit - HASHED)
        yield numpy.full(len(owners), bit), owners


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
        yield _many_bits(totals[kept], salt, _INITIALS), kept


def _many_bits(a: Any, b: Any, c: Any) -> NDArray[Any]:
    """``_bit`` of arrays."""
    return (_mixed_many(a, b, c) >> 16) * HASHED >> 16


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
    >>> for bitmap in (0b011, 0b010, 0b110):
    ...     tally.add(bitmap)
    >>> [list(tally.places(count)) for count in (3, 2, 1)]
    [[1], [], [0, 2]]
    """

    def __init__(self) -> None:
        self._digits: list[int] = []
        self._waiting: list[int] = []  # a bitmap a digit, for the next to be added with it: three at once cost less

    def add(self, bitmap: int, digit: int = 0) -> None:
        """Count the places of one more bitmap: once, twice (``digit`` 1), four times (2), …"""
        digits, waiting = self._digits, self._waiting
        while bitmap:
            while digit >= len(digits):
                digits.append(0)
                waiting.append(0)
            if not (other := waiting[digit]):
                waiting[digit] = bitmap
                return
            waiting[digit], held = 0, digits[digit]
            differ = held ^ other
            digits[digit], bitmap = differ ^ bitmap, held & other | differ & bitmap
            digit += 1

    def _settle(self) -> None:
        digit = 0
        while digit < len(self._digits):
            held, other = self._digits[digit], self._waiting[digit]
            self._digits[digit], self._waiting[digit] = held ^ other, 0
            digit += 1
            self.add(held & other, digit)

    def places(self, count: int) -> Iterator[int]:
        """The places that ``count`` > 0 of the bitmaps hold, lowest first."""
        if any(self._waiting):
            self._settle()
        chosen = -1
        for at in range(max(len(self._digits), count.bit_length()) - 1, -1, -1):
            digit = self._digits[at] if at < len(self._digits) else 0
            chosen &= digit if count >> at & 1 else ~digit
            if not chosen:
                return
        data = chosen.to_bytes((chosen.bit_length() + 7) // 8, "little")
        for match in _BYTE.finditer(data):
            start = match.start() * 8
            for place in _PLACES[data[match.start()]]:
                yield start + place
