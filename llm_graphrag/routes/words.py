"""Where the words of a question stand in a text: for snippets and quotes, not for ranking.

Full text finds by FTS5's Porter stems, which SQLite does not show. Here a word fits if
it begins alike: its ending is cut by a short list, accents and case are folded. That is
enough to mark ``coated`` for ``coating``; what is found never depends on it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from ..text.cjk import CJK_CLASS, CJK_RUN
from .hits import Term

__all__ = ["places", "rate", "stem"]

_WORD = re.compile(f"(?:(?![{CJK_CLASS}])[^\\W_])+|[{CJK_CLASS}]+")
_ENDINGS = tuple("ations ation ingly ings ing ers ors er or ies ied ed es ly s e y".split())


def stem(word: str) -> str:
    """A word without case, accents and a common English ending, at least three letters long.

    >>> stem("Coatings"), stem("coated"), stem("Café"), stem("his")
    ('coat', 'coat', 'caf', 'his')
    """
    if word.isascii():
        word = word.lower()
    else:
        word = "".join(c for c in unicodedata.normalize("NFKD", word).lower() if not unicodedata.combining(c))
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def places(text: str, terms: Iterable[Term]) -> list[tuple[int, int, Term]]:
    """Return (start, end, term) for the words of text that fit a term, in order, not overlapping."""
    wanted: dict[str, Term] = {}
    pairs: list[Term] = []
    for term in terms:
        if CJK_RUN.match(term.text):
            pairs.append(term)
        else:
            wanted.setdefault(stem(term.text), term)
    found: list[tuple[int, int, Term]] = []
    for match in _WORD.finditer(text):
        if not match[0].isascii() and CJK_RUN.match(match[0]):
            found += _pairs(match[0], match.start(), pairs)
        elif (known := wanted.get(stem(match[0]))) is not None:
            found.append((match.start(), match.end(), known))
    return found


def _pairs(run: str, offset: int, terms: Sequence[Term]) -> list[tuple[int, int, Term]]:
    hits = []
    for term in terms:
        wanted = term.text.rstrip("*")
        start = run.find(wanted)
        while start >= 0:
            hits.append((offset + start, offset + start + len(wanted), term))
            start = run.find(wanted, start + 1)
    return sorted(hits, key=lambda hit: hit[:2])


def rate(text: str, terms: Sequence[Term]) -> float:
    """How much of a question a piece of text says: the rarity of its different words, summed."""
    seen = {id(term): term for _, _, term in places(text, terms)}
    return sum(term.rarity + 0.01 for term in seen.values())
