"""Texts as names are compared, and whether a name or a value stands in one.

A text is folded as ``name_key`` folds a name, with each character's place in the original
kept, so that what is found can be shown as it was written. A name stands in a text at word
boundaries. One that is spelled otherwise counts if all of its significant words stand there;
a value also by words in other forms, a date or a number by its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ...text.cjk import CJK_RUN
from ...text.normalise import name_key
from .names import WORD, same_word, significant_words, stem

__all__ = ["Folded", "folded", "holds", "holds_any", "holds_value", "key_of"]

_MARKS = "\u0300-\u036f\u3099\u309a"
_CLUSTER = re.compile(rf"\s+|[!-_a-~]+(?![{_MARKS}])|[^\s{_MARKS}][{_MARKS}]*|.", re.DOTALL)  # plain ASCII in one piece
_PREFIX = 5  # letters that two forms of a word have in common at least


@dataclass(frozen=True)
class Folded:
    """A text as names are compared, with the place of each character in the original."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    stems: frozenset[str] = field(init=False)
    prefixes: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        stems = frozenset(stem(word) for word in WORD.findall(self.text))
        prefixes: dict[str, list[str]] = {}
        for word in stems:
            if len(word) >= _PREFIX:
                prefixes.setdefault(word[:_PREFIX], []).append(word)
        object.__setattr__(self, "stems", stems)
        object.__setattr__(self, "prefixes", prefixes)

    def find(self, sought: str) -> Iterator[tuple[int, int]]:
        """Where a key stands between word boundaries, in the original's code points."""
        at = self.text.find(sought) if sought else -1
        while at >= 0:
            end = at + len(sought)
            if not _joined(self.text, at) and not _joined(self.text, end):
                yield self.starts[at], self.ends[end - 1]
            at = self.text.find(sought, at + 1)

    def has_name_word(self, word: str) -> bool:
        """Whether a stem stands here; in scripts other than Latin also in another form (Johann is not Johanna)."""
        return word in self.stems or (not word.isascii() and self.has_word(word))

    def has_word(self, word: str) -> bool:
        """Whether a word stands here in any form."""
        return word in self.stems or any(same_word(word, other) for other in self.prefixes.get(word[:_PREFIX], ()))


def _joined(text: str, at: int) -> bool:
    """Whether a word goes on over this place; CJK words have no boundaries that can be seen."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    return before.isalnum() and after.isalnum() and not CJK_RUN.match(before) and not CJK_RUN.match(after)


key_of = lru_cache(maxsize=20_000)(name_key)


def folded(text: str) -> Folded:
    """Fold a text as ``name_key`` folds a name.

    >>> f = folded("The “Café\\n Zürich”"); f.text, list(f.find("café zürich"))
    ('the "café zürich"', [(5, 17)])
    """
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _CLUSTER.finditer(text):
        written, start, end = match[0], match.start(), match.end()
        if len(written) > 1 and written.isascii() and not written.isspace():
            out.append(written.lower())
            starts += range(start, end)
            ends += range(start + 1, end + 1)
            continue
        piece = " " if written.isspace() else key_of(written)
        if piece == " " and out and out[-1] == " ":
            ends[-1] = end
            continue
        out.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
    return Folded("".join(out), starts, ends)


def holds(text: Folded, name: str) -> bool:
    """Whether a name stands in a text: as it is, or all of its significant words in any order.

    >>> text = folded("Hugh was king of Italy.")
    >>> holds(text, "Hugh, King of Italy"), holds(text, "Hugo, King of Italy"), holds(folded("Banana"), "Ana")
    (True, False, False)
    """
    if next(text.find(key_of(name)), None):
        return True
    words = significant_words(name)
    return bool(words) and all(map(text.has_name_word, words))


def holds_any(text: Folded, names: Iterable[str]) -> bool:
    return any(holds(text, name) for name in names)


# -- values ---------------------------------------------------------------------------

_QUALIFIERS = frozenset("before after until since by between bce bc vor nach avant après antes después".split())
_DIGITS = re.compile(r"\d+")
_THOUSANDS = re.compile(r"(?<=\d)[,.' ](?=\d{3}(?!\d))")
_MONTH_NAMES = """january janvier januar enero|february février februar febrero|march mars märz marzo|april avril abril
|may mai mayo|june juin juni junio|july juillet juli julio|august août agosto|september septembre septiembre
|october octobre oktober octubre|november novembre noviembre|december décembre dezember diciembre"""
_MONTHS = {
    form: number
    for number, names in enumerate(_MONTH_NAMES.split("|"), 1)
    for name in names.split()
    for form in (name, name[:4] if name.startswith("jui") else name[:3])
}


def _numbers(text: str) -> set[int]:
    return {int(digits) for digits in _DIGITS.findall(_THOUSANDS.sub("", text)) if len(digits) < 19}


def holds_value(text: Folded, value: str, kind: str = "text") -> bool:
    """Whether a value stands in a text: as it is, by its words in any form, or for dates and numbers by its numbers.

    >>> holds_value(folded("a German film"), "Germany"), holds_value(folded("in 1950"), "1951", "date")
    (True, False)
    >>> holds_value(folded("born on 3 May 1950"), "1950-05-03", "date")
    True
    >>> text = folded("12,300 people died after 938")
    >>> [holds_value(text, date, "date") for date in ("before 938", "after 938")], holds_value(text, "12300", "number")
    ([False, True], True)
    """
    if kind == "date" and not set(map(stem, _QUALIFIERS.intersection(WORD.findall(key_of(value))))) <= text.stems:
        return False
    words = significant_words(value)
    if holds(text, value) or (words and all(map(text.has_word, words))):
        return True
    numbers = _numbers(value) if kind in ("date", "number") else set()
    if not numbers:
        return False
    there = _numbers(text.text)
    if kind == "date":
        there |= {_MONTHS[word] for word in WORD.findall(text.text) if word in _MONTHS}
    return numbers <= there
