"""In which way two names are alike: pure rules.

Another spelling, a plural, initials, an acronym, the surname alone, a slip of the pen. Names whose numbers differ
(*Apollo 11*, *Apollo 12*; *Henry VII*, *Henry VIII*), or a word that tells things apart (*North Mill*, *South Mill*),
are never alike. That names are alike only makes two entities candidates: ``doubt.py`` weighs what else is known, and a
person decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from .name_forms import Form, singular
from .names import FUNCTION_WORDS, common_words

__all__ = ["CLOSE", "PARTS", "REASONS", "Likeness", "edits", "likeness"]

#: In which way names are alike, strongest first, and how that is said to a person.
REASONS = {
    "alias": "one is given as another name of the other",
    "spelling": "spaces, hyphens, accents or the spelling of letters differ",
    "order": "the last name first",
    "company": "one has the legal form of a company",
    "article": "one begins with 'the'",
    "plural": "singular and plural",
    "middle": "a middle initial",
    "initials": "initials for given names",
    "acronym": "the initials of the other's words",
    "slip": "two letters swapped, or one written once or twice",
    "extra": "one has more given names",
    "typo": "a letter or two differ",
    "swapped": "the same words in another order",
    "letters": "two letters, the initials of the other's words",
    "surname": "the last word of the other",
    "given": "the first word of the other",
    "shared": "both have the same other name",
    "homonym": "the same name, of another type",
}

#: Kinds that are a part of a person's name; where it fits two, it is nobody's.
PARTS = frozenset(("surname", "given"))

#: Kinds that names of one thing have among each other, so that they do not rival for a third name.
CLOSE = frozenset(("alias", "spelling", "order", "company", "article", "middle"))

#: Types of people; in lower case.
PERSON = frozenset(("person", "people", "per", "human", "author", "contact", "character"))

#: Types of what has a name of its own: its plural is another thing.
NAMED = PERSON | frozenset(
    """place location loc city town country region river organization organisation org company firm institution
    institute brand ship planet""".split()
)

#: Given names that are family names with an s: Williams is not several of William.
_GIVEN = frozenset(
    """abram adam andrew daniel david edmund edward evan gilbert griffith harry hugh jacob john martin matthew michael
    peter philip phillip richard robert roger simon stephen steven walter watkin william""".split()
)

_DOUBLED = re.compile(r"(.)\1")
_UMLAUT = re.compile("([aou])e(?=[^aeiou].)")
_LONG_TYPO = 12  # letters from which two may differ
_PERSON_WORDS = 4  # at most, in the name of a person


@dataclass(frozen=True, slots=True)
class Likeness:
    """``kind`` is a key of ``REASONS``; ``short`` is the number (0, 1) of the name that may stand for others too."""

    kind: str
    short: int | None = None


def likeness(one: Form, other: Form, types: Collection[str] = ()) -> Likeness | None:
    """In which way two names of different keys are alike, None if they are not.

    ``types`` are those of what they name, as far as known: people have initials; names of people and places no plural.

    >>> from .name_forms import form
    >>> def kind(a, b): return getattr(likeness(form(a), form(b)), "kind", None)
    >>> [kind("Ruiz, Ana", "Ana Ruiz"), kind("A. Ruiz", "Ana Ruiz"), kind("Kestrel Works", "The Kestrel-Works")]
    ['order', 'initials', 'article']
    >>> [kind("Apollo 11", "Apollo 12"), kind("North Mill", "South Mill"), kind("AIDS", "aid")]
    [None, None, None]
    """
    if not one.words or not other.words:
        return None
    agree = one.numbers == other.numbers and one.telling == other.telling
    if agree and one.compact & other.compact:
        return _same_letters(one, other)
    both_ways = tuple(enumerate(((one, other), (other, one))))
    for place, (short, long) in both_ways:
        if _is_acronym(short, long):
            return Likeness("acronym" if len("".join(short.words)) > 2 else "letters", place)
    if not agree:
        return _order(one, other)
    if one.company and other.company and one.company != other.company:
        return None
    if _is_umlaut(one, other) or _is_umlaut(other, one):
        return Likeness("spelling")
    if found := _order(one, other) or _plural(one, other):
        return None if found.kind == "plural" and not NAMED.isdisjoint(types) else found
    person = PERSON.issuperset(type_ for type_ in types if type_)
    for place, (short, long) in both_ways:
        if kind := _given_names(short, long, person) or (_part(short, long) if person and any(types) else None):
            return Likeness(kind, place)
    return _typo(one, other)


def _same_letters(one: Form, other: Form) -> Likeness | None:
    """Two names that differ in what ``Form`` forgets."""
    if one.company != other.company:
        return None if one.company and other.company else Likeness("company")
    if one.article != other.article:
        word = one.words[0]  # 'The Who' is not 'who', nor 'The Band' a band
        return None if len(one.words) == 1 and (word in common_words() or not one.capital) else Likeness("article")
    accents = one.unaccented == other.unaccented and one.spoken != other.spoken
    if accents and len(one.spoken) == len(other.spoken) == 1 and not (one.capital or other.capital):
        return None  # resumé is no way to write resume
    dotted = all(len(word) == 1 for word in one.spoken) != all(len(word) == 1 for word in other.spoken)
    if dotted and not (one.name.isupper() and other.name.isupper()):
        return None  # U.S. is not us
    return Likeness("spelling")


def _is_umlaut(long: Form, short: Form) -> bool:
    """Whether one name has *ae*, *oe* or *ue* where the other lost its two dots: *Mueller*, *Muller*."""
    if len(long.words) != len(short.words) or not long.capital:
        return False
    differing = [(a, b) for a, b in zip(long.words, short.words, strict=True) if a != b]
    return bool(differing) and all(_UMLAUT.sub(r"\1", a) == b for a, b in differing)


def _order(one: Form, other: Form) -> Likeness | None:
    if len(one.words) < 2 or sorted(one.words) != sorted(other.words) or one.words == other.words:
        return None
    named = {word for word in one.telling | other.telling if word.endswith((")", "/"))}
    if named or one.company != other.company:
        return None
    return Likeness("order" if one.comma != other.comma else "swapped")


def _plural(one: Form, other: Form) -> Likeness | None:
    first, last = one.words[-1], other.words[-1]
    if one.words[:-1] != other.words[:-1] or singular(first) != singular(last):
        return None
    if min(first, last, key=len) in _GIVEN:
        return None
    shouted = {name.spoken[-1].isupper() for name in (one, other) if len(name.spoken[-1]) > 1}
    plural = max(one, other, key=lambda name: len(name.words[-1])).spoken[-1]
    return None if len(shouted) > 1 and not (plural[:-1].isupper() and plural[-1] == "s") else Likeness("plural")


def _given_names(one: Form, other: Form, person: bool) -> str | None:
    """'initials' for *A. Ruiz* and *Ana Ruiz*, 'middle' for *Ana M. Ruiz*, 'extra' for *Ana Maria Ruiz*."""
    short, long = one.words, other.words
    if len(long) > _PERSON_WORDS + 1 or min(len(short), len(long)) < 2 or not _capitalised(one, other):
        return None
    if len(short[-1]) < 2 or short[-1] != long[-1]:
        return None
    given, names = list(short[:-1]), list(long[:-1])
    if len(given) == 1 and 1 < len(given[0]) <= 3 and one.spoken[0].isupper():
        given = list(given[0])  # JRR Tolkien
    if given[0] == names[0] and len(given) == 1 and len(names) == 2 and person:
        return "middle" if len(names[1]) == 1 else "extra"
    initials = sum(len(word) == 1 for word in given)
    if not initials or len(given) > len(names) or not all(map(_stands_for, given, names)):
        return None
    if len(given[0]) > 1 or len(names[0]) == 1:
        return "middle" if len(given) == len(names) and person else None
    return "initials" if person or (initials > 1 and len(given) == len(names)) else None


def _stands_for(short: str, long: str) -> bool:
    return short == long or (1 in (len(short), len(long)) and short[0] == long[0])


def _capitalised(*names: Form) -> bool:
    return all(word[:1].isupper() for name in names for word in name.spoken)


def _is_acronym(short: Form, long: Form) -> bool:
    letters = "".join(short.words)
    if len(short.spoken) != 1 and any(len(word) > 1 for word in short.spoken):
        return False
    if not 2 <= len(letters) <= 8 or not short.name.isupper() or not letters.isalpha() or len(long.words) < 2:
        return False
    telling = [word for word in long.words if word not in FUNCTION_WORDS]
    return letters in ("".join(w[0] for w in long.words), "".join(w[0] for w in telling)) and long.words != short.words


def _part(short: Form, long: Form) -> str | None:
    """'surname' or 'given' for a word that is the last or first of a person's name."""
    if len(short.words) > 1 or not 1 < len(long.words) <= _PERSON_WORDS or long.article:
        return None
    word = short.words[0]
    if len(word) < 3 or word in FUNCTION_WORDS or not _capitalised(short, long):
        return None
    return "surname" if long.words[-1] == word else "given" if long.words[0] == word else None


def _typo(one: Form, other: Form) -> Likeness | None:
    """Whether one word is a slip of the pen of another: within it, not at its ends, where grammar and sex are told."""
    if len(one.words) != len(other.words):
        return None
    differing = [(a, b) for a, b in zip(one.words, other.words, strict=True) if a != b]
    if len(differing) != 1 or not (one.capital and other.capital):
        return None
    ((a, b),) = differing
    if min(len(a), len(b)) < 4 or a[0] != b[0] or a[-1] != b[-1] or {a, b} <= common_words():
        return None
    if edits(a, b, 2) > (2 if min(len(a), len(b)) >= _LONG_TYPO else 1):
        return None
    slip = sorted(a) == sorted(b) or _DOUBLED.sub(r"\1", a) == _DOUBLED.sub(r"\1", b)
    return Likeness("slip" if slip else "typo")


def edits(one: str, other: str, most: int) -> int:
    """How many letters to insert, delete, replace or swap with the next (Damerau); ``most + 1`` for more than that.

    >>> edits("kestrel", "kestral", 2), edits("works", "wroks", 2), edits("iran", "iraq", 0), edits("a", "abcd", 2)
    (1, 1, 1, 3)
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        previous, row = row, [i]
        for j, b in enumerate(other, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = previous
    return min(row[-1], most + 1)
