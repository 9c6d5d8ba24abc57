"""How surely a mention means a name that is not written quite alike: pure rules, a score from 0 to 1.

Scores are meant to be odds: of mentions that score 0.8, about four in five should mean the name they are given
(benchmarks/linker.py shows how far that holds). Names that ``likeness.py`` takes for one thing score by the kind of
their likeness, others by the letters that differ, or by the words that one has of the other. Where numbers differ, or
words that tell things apart, the score stays below what is linked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .likeness import likeness
from .name_forms import Form, form, number_words
from .name_grams import folded, grams

__all__ = [
    "ACRONYM", "EDIT", "INITIALS", "TOLD_APART", "TRIGRAM", "Match", "Mentioned", "distance", "lacks_number",
    "told_apart",
]  # fmt: skip

ACRONYM, INITIALS, TRIGRAM, EDIT = "acronym", "initials", "trigram", "edit"

#: What a likeness is worth, and the method it stands for.
KINDS = {
    "spelling": (0.94, EDIT),
    "article": (0.93, TRIGRAM),
    "order": (0.92, TRIGRAM),
    "company": (0.92, TRIGRAM),
    "swapped": (0.9, TRIGRAM),
    "slip": (0.9, EDIT),
    "plural": (0.88, EDIT),
    "typo": (0.86, EDIT),
    "middle": (0.85, INITIALS),
    "initials": (0.8, INITIALS),
    "acronym": (0.8, ACRONYM),
    "extra": (0.78, TRIGRAM),
    "letters": (0.4, ACRONYM),
}
TOLD_APART = 0.5  # at most, where numbers or telling words differ
#: Share of the letters that agree -> score; between two of these, by the way in between.
LETTERS = ((0.0, 0.0), (0.5, 0.1), (0.6, 0.3), (0.7, 0.62), (0.8, 0.86), (0.9, 0.92), (1.0, 0.94))
#: Whole words: the mention ends a name as a surname does, begins one or stands in it, or has a whole name in it.
ENDS, BEGINS, HOLDS = 0.64, 0.5, 0.45
WHOLE = 0.1  # to be added to these by how much of the longer the shorter is
UNLIKE = 0.5  # a name that is shorter than this share of another is no slip of the pen of it
COMPARED = 300  # names whose letters are compared one by one
TAKEN_APART = 8  # of the best, whose likeness is looked at
HOPEFUL = 0.2  # score below which it is not


@dataclass(frozen=True, slots=True)
class Match:
    """``place`` is that of the name among those compared."""

    place: int
    score: float
    method: str


class Mentioned:
    """A mention, to be compared with many names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = folded(text)
        self._grams = grams(self.words)
        self._set = frozenset(self.words.split())
        self._letters = _Letters(self.words)
        self._ordered = _Letters(_in_order(self.words))
        self._form: Form | None = None

    def matches(self, names: Sequence[tuple[str, str]]) -> list[Match]:
        """The names (as written, type of what they name) that may be meant, most likely first, ties by place.

        >>> names = [("Ana Ruiz", ""), ("Kestrel Works", ""), ("Apollo 12", "")]
        >>> [(m.place, m.method) for m in Mentioned("Kestral Works").matches(names) if m.score >= 0.6]
        [(1, 'edit')]
        >>> all(m.score < 0.6 for m in Mentioned("Apollo 11").matches(names))
        True
        """
        words = [folded(name) for name, _ in names]
        rated = [(self._spelled(words[place]), place) for place in self._worth(words)]
        rated.sort(key=lambda item: (-item[0][0], item[1]))
        found = [
            self._judged(place, *names[place], *of) if rank < TAKEN_APART and of[0] >= HOPEFUL else Match(place, *of)
            for rank, (of, place) in enumerate(rated)
        ]
        return sorted(found, key=lambda match: (-match.score, match.place))

    def _worth(self, names: Sequence[str]) -> Sequence[int]:
        """The places of names whose letters are worth comparing: of many those that share most threes or words."""
        if len(names) <= COMPARED:
            return range(len(names))
        shares = []
        for place, words in enumerate(names):
            shared = 2 * len(self._grams & (theirs := grams(words))) / (len(self._grams) + len(theirs) or 1)
            shares.append((-max(shared, self._part(words)), place))
        return [place for _, place in sorted(shares)[:COMPARED]]

    def _part(self, words: str) -> float:
        """The score of a name that has all words of the mention, or the other way round; 0 for others."""
        theirs = words.split()
        if self._set.isdisjoint(theirs):
            return 0.0
        share = WHOLE * min(len(self.words), len(words)) / max(len(self.words), len(words))
        if self._set.issubset(theirs):
            return share + (ENDS if words.endswith(f" {self.words}") else BEGINS)
        return share + HOLDS if self._set.issuperset(theirs) else 0.0

    def _spelled(self, words: str) -> tuple[float, str]:
        """(score, method) by the letters that differ, in whichever order of the words fewest do."""
        shortest, longest = sorted((len(words), len(self.words)))
        alike = 0.0
        if shortest > UNLIKE * longest:
            alike = 1 - self._letters.distance(words) / longest
        if len(self._set) > 1 and not self._set.isdisjoint(words.split()):
            alike = max(alike, 1 - (self._ordered.distance(_in_order(words)) + 0.5) / longest)
        part, score = self._part(words), _between(alike)
        return (score, EDIT) if score >= part else (part, TRIGRAM)

    def _judged(self, place: int, name: str, type_: str, score: float, method: str) -> Match:
        if self._form is None:
            self._form = form(self.text)
        theirs = form(name)
        if told_apart(self._form, theirs) or lacks_number(self._form, theirs):
            return Match(place, min(score, TOLD_APART), method)
        kind = likeness(self._form, theirs, (type_,) if type_ else ())
        if kind is not None and kind.kind in KINDS:
            best, by = KINDS[kind.kind]
            return Match(place, max(best, score), by)
        return Match(place, score, method)


def _between(alike: float) -> float:
    """The score of a share of letters that agree, by ``LETTERS``."""
    for (low, least), (high, most) in zip(LETTERS, LETTERS[1:], strict=False):
        if alike <= high:
            return least + (most - least) * (max(alike, low) - low) / (high - low)
    return LETTERS[-1][1]


def told_apart(one: Form, other: Form) -> bool:
    """Whether each has a number or a telling word that the other has not; if only one has, it may be misspelled.

    >>> told_apart(form("Apollo 11"), form("Apollo 12")), told_apart(form("ludwig_ii"), form("Ludwig III"))
    (True, True)
    >>> told_apart(form("World War 2"), form("World War II")), told_apart(form("Apollo"), form("Apollo 12"))
    (False, False)
    """
    first, second = ({*name.numbers, *number_words(name), *name.telling} for name in (one, other))
    return bool(first - second and second - first)


def lacks_number(mention: Form, name: Form) -> bool:
    """Whether a mention has a number that a name has not: *Toy Story 4* is not *Toy Story*.

    A name that has one more than its mention may be meant all the same: *Elizabeth* for *Elizabeth II*.
    """
    return not number_words(mention) <= {*number_words(name, perhaps=True), *name.numbers}


class _Letters:
    """A text whose distance to many others is asked, a machine word of its letters at a time.

    Source: Hyyrö, A bit-vector algorithm for computing Levenshtein and Damerau edit distances, 2003.
    """

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self._masks: dict[str, int] = {}
        for at, letter in enumerate(text):
            self._masks[letter] = self._masks.get(letter, 0) | 1 << at

    def distance(self, other: str) -> int:
        """How many letters to insert, delete, replace or swap with the next."""
        if not self.length:
            return len(other)
        every, last = (1 << self.length) - 1, 1 << self.length - 1
        up, down, zero, before, found = every, 0, 0, 0, self.length
        for letter in other:
            mask = self._masks.get(letter, 0)
            swapped = ((~zero & mask) << 1) & before
            zero = ((((mask & up) + up) ^ up) | mask | down | swapped) & every
            right = down | (~(zero | up) & every)
            left = zero & up
            if right & last:
                found += 1
            elif left & last:
                found -= 1
            right = (right << 1 | 1) & every
            left = left << 1 & every
            up = left | (~(zero | right) & every)
            down = right & zero
            before = mask
        return found


def distance(one: str, other: str) -> int:
    """How many letters to insert, delete, replace or swap with the next, to make one text the other.

    >>> distance("kestrel", "kestral"), distance("works", "wroks"), distance("", "ab")
    (1, 1, 2)
    """
    return _Letters(one).distance(other)


def _in_order(words: str) -> str:
    return " ".join(sorted(words.split()))
