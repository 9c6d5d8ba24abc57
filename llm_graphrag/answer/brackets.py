"""What counts as a citation in a model's reply.

Models are asked for ``[n]``, one bracket a passage, and write much else. Read as
citations are ``[1, 2]``, ``[1][2]``, ``[1-3]``, ``[1 and 2]``, brackets of other
scripts as in ``【1】``, ``[[1]]``, ``[^1]``, ``[#1]``, ``[n1]``, ``[passage 1]``, a number
with a dagger and more (``【1†notes】``), and a number made a link (``[1](#1)``). Not read: ``(1)``,
which is ordinary writing, and brackets that hold anything else, as a date does.

One function reads them and one disarms them: the notes that are shown to a model have
their numbered brackets turned round, so that no ``[n]`` in its prompt is a passage's own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator

__all__ = ["CITATION", "UNFINISHED", "disarmed", "pieces", "read", "without"]

_OPEN, _CLOSE = "[\\[［【〔]", "[\\]］】〕]"
_GAP = r"[^\S\n]*"  # a citation stands on one line
_BEFORE = r"(?:[#^№]|(?:passages?|sources?|refs?|references?|notes?|citations?|chunks?|facts?|no|n)\b[.:]?|n)"
_DIGIT = "[\\d⁰¹²³⁴-⁹₀-₉①-⑳❶-❿]"
_ONE = rf"(?:{_BEFORE}{_GAP})?{_DIGIT}+"
_AND = r"(?:[,;、，；&/+]|and\b|und\b|et\b|y\b|e\b|og\b|och\b|en\b)"
_RANGE = r"(?:[-‑–—~〜]|to\b)"

CITATION = re.compile(
    rf"{_OPEN}{{1,2}}{_GAP}(?P<numbers>{_ONE}(?:{_GAP}{_RANGE}{_GAP}{_ONE}|(?:{_GAP}{_AND}{_GAP}{_ONE})+)?){_GAP}[,;.]?{_GAP}"
    rf"(?:†[^\]］】〕\n]{{0,80}})?{_CLOSE}{{1,2}}(?:\((?:#|https?:|\.?/)[^()\s]{{0,300}}\))?",
    re.IGNORECASE,
)
#: The beginning of a citation that was never finished, at the end of a text.
UNFINISHED = re.compile(rf" ?{_OPEN}+ ?{_BEFORE}?(?:{_DIGIT}|[\s,;、，；&/+.:#^~〜–—-])*\Z", re.IGNORECASE)

_NUMBER = re.compile(f"{_DIGIT}+")
_LEFT_RANGE = re.compile(rf"{_DIGIT}{_GAP}{_RANGE}", re.IGNORECASE)


def read(match: re.Match[str], known: Collection[int]) -> tuple[list[int], int]:
    """The numbers of a citation that exist, and how many there are that do not.

    A range is one if both its ends exist; else each end is looked at by itself.

    >>> read(CITATION.search("[2, 9]"), {1, 2, 3}), read(CITATION.search("[1-3]"), {1, 2, 3})
    (([2], 1), ([1, 2, 3], 0))
    """
    written = match["numbers"]
    numbers = [_value(digits[:12]) for digits in _NUMBER.findall(written)]
    if len(numbers) == 2 and _LEFT_RANGE.search(written) and set(numbers) <= set(known):
        numbers = [n for n in sorted(known) if min(numbers) <= n <= max(numbers)]
    there = [n for n in dict.fromkeys(numbers) if n in known]
    return there, len(numbers) - sum(n in known for n in numbers)


def _value(digits: str) -> int:
    """The number that digits of any script make, raised and encircled ones too."""
    return int("".join(str(int(unicodedata.numeric(digit))) for digit in digits))


def pieces(text: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Text cut at its citations: (what stands before it, citation), then (the rest, None)."""
    at = 0
    for match in CITATION.finditer(text):
        yield text[at : match.start()], match
        at = match.end()
    yield text[at:], None


def without(text: str) -> str:
    """Text without its citations.

    >>> without("It ran [1, 2]. It【3†notes】 stopped [2026-05-23].")
    'It ran . It stopped [2026-05-23].'
    """
    return CITATION.sub("", text)


def disarmed(text: str) -> str:
    """Text whose numbered brackets are parentheses.

    >>> disarmed("as in [9] and [[2]], x[i]")
    'as in (9) and (2), x[i]'
    """
    while True:  # taking one apart may leave another: [[1]9]
        changed = CITATION.sub(lambda match: f"({match['numbers']})", text)
        if changed == text:
            return text
        text = changed
