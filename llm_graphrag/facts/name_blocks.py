"""Which names are worth comparing: those that share a folded form, initials, words, or all letters but one.

Never all pairs: every name gives a handful of short keys, and only names with a key in common meet. A key that very
many names share tells nothing and is left out. The keys are hashed and sorted as numbers, so a hundred thousand names
take a few seconds; that two keys could have one hash only brings together names that are then found to differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .name_forms import Form, singular
from .names import FUNCTION_WORDS

__all__ = ["pairs"]

ALIKE = 40  # names with one key; more are no names of one thing
FITTING = 12  # longer names that a short one would fit; with more, nobody can say which
TYPO = range(5, 41)  # letters of names in which slips of the pen are looked for
EQUAL, WHOLE, PIECE = 0, 1, 2  # a key of both names; of a whole name, and of a piece of a longer one


def pairs(forms: Sequence[Form]) -> list[tuple[int, int]]:
    """Places (smaller first, in order) of forms that may be alike.

    >>> from .name_forms import form
    >>> names = ["Ana Ruiz", "Kestrel Works", "A. Ruiz", "Kestral Works", "Ruiz", "KW"]
    >>> [(names[i], names[j]) for i, j in pairs([form(name) for name in names])][:3]
    [('Ana Ruiz', 'A. Ruiz'), ('Ana Ruiz', 'Ruiz'), ('Kestrel Works', 'Kestral Works')]
    """
    import numpy

    hashes: list[int] = []
    places: list[int] = []
    for place, form in enumerate(forms):
        for role, key in keys(form):
            hashes.append(hash(key))
            places.append(place * 3 + role)
    unordered = numpy.array(hashes, dtype=numpy.int64)
    order = numpy.argsort(unordered, kind="stable")
    ordered = unordered[order]
    held = numpy.array(places, dtype=numpy.int64)[order]
    edges = numpy.flatnonzero(numpy.diff(ordered)) + 1
    starts = numpy.concatenate(([0], edges, [len(ordered)]))
    several = numpy.flatnonzero(numpy.diff(starts) > 1)
    found: set[tuple[int, int]] = set()
    for start, end in zip(starts[several].tolist(), starts[several + 1].tolist(), strict=True):
        found.update(_meeting(held[start:end].tolist()))
    return sorted(found)


def _meeting(held: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The pairs of one key: equals with each other, whole names with pieces of longer ones."""
    roles: tuple[set[int], set[int], set[int]] = (set(), set(), set())
    for number in held:
        roles[number % 3].add(number // 3)
    equal, whole, piece = roles
    if 1 < len(equal) <= ALIKE:
        members = sorted(equal)
        yield from ((a, b) for at, a in enumerate(members) for b in members[at + 1 :])
    if 0 < len(piece) <= FITTING and len(whole) <= ALIKE:
        yield from ((min(a, b), max(a, b)) for a in whole for b in piece if a != b)


def keys(form: Form) -> Iterable[tuple[int, str]]:
    """(role, key) for all that a name is found by."""
    words = form.words
    if not words:
        return
    told = "|" + "|".join(sorted(form.telling))
    for letters in form.compact:
        yield EQUAL, "letters " + letters + told
    yield EQUAL, "plural " + " ".join(words[:-1]) + singular(words[-1]) + told
    if len(words) == 1:
        yield WHOLE, "word " + words[0]
    else:
        yield EQUAL, "sorted " + " ".join(sorted(words))
        yield EQUAL, f"initials {words[0][0]} {words[-1]}{told}"
        yield from ((PIECE, "word " + word) for word in {words[0], words[-1]})
        yield PIECE, "acronym " + "".join(word[0] for word in words)
        yield PIECE, "acronym " + "".join(word[0] for word in words if word not in FUNCTION_WORDS)
    if form.name.isupper() and len("".join(words)) <= 8:
        yield WHOLE, "acronym " + "".join(words)
    if form.capital and len(letters := "".join(words)) in TYPO:
        yield EQUAL, "typo " + letters
        yield from ((EQUAL, f"typo {letters[:at]}{letters[at + 1 :]}") for at in range(1, len(letters)))
