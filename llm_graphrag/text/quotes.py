"""Where a quote that a model gave really stands.

A model copies text nearly right: it straightens quotation marks, joins wrapped lines,
changes a dash, drops a letter. ``find_quote`` tries three ways, strictest first: as it
is; after normalising white space, quotation marks, dashes, Unicode forms and invisible
characters on both sides; and by the smallest edit distance of the quote to any part of
the text. The span always points at the original text, which is what is then stored.

The fuzzy step is Myers' bit-parallel search (J. ACM 46(3), 1999): the pattern is one
Python integer, so a 200-character quote in an 8,000-character window takes about 10 ms
and needs no library.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["MIN_SCORE", "find_quote"]

MIN_SCORE = 0.9
_CLUSTER = re.compile("\\s+|[^\\s\u0300-\u036f\u3099\u309a][\u0300-\u036f\u3099\u309a]*|.", re.DOTALL)
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]+")
_FOLDED = str.maketrans(dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‘’‚‛‹›′`´", "'") | dict.fromkeys("‐‑‒–—―−", "-"))
_SHELL = " \"'.…"


def _normalised(text: str) -> tuple[str, list[int], list[int]]:
    """Text with its differences folded, and for each character where it begins and ends in the original."""
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _CLUSTER.finditer(text):
        cluster = match[0]
        if cluster.isspace():
            folded = " "
        elif cluster.isascii():
            folded = "" if _INVISIBLE.match(cluster) else "'" if cluster == "`" else cluster
        else:
            folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", cluster)).translate(_FOLDED)
        if folded == " " and out and out[-1] == " ":
            ends[-1] = match.end()
            continue
        for char in folded:
            out.append(char)
            starts.append(match.start())
            ends.append(match.end())
    return "".join(out), starts, ends


def find_quote(quote: str, text: str, min_score: float = MIN_SCORE) -> tuple[int, int, float] | None:
    """Return (start, end, score) of quote in text, or None if it does not stand there.

    ``start`` and ``end`` are code points of ``text`` as given; the score is 1.0 for the same text up to spelling of
    white space and punctuation, else 1 − edit distance / length of the quote, letter case counting. The first
    of several equal places wins. A blank quote is found nowhere.

    >>> find_quote('said "no"', "He said “no” twice.")
    (3, 12, 1.0)
    >>> find_quote("She moved to Porto", "Ana left.") is None
    True
    """
    quote = quote.strip()
    if not quote:
        return None
    if (at := text.find(quote)) >= 0:
        return at, at + len(quote), 1.0
    pattern = _normalised(quote)[0].strip()
    target, starts, ends = _normalised(text)
    for wanted in (pattern, pattern.strip(_SHELL)):
        if wanted and (at := target.find(wanted)) >= 0:
            return starts[at], ends[at + len(wanted) - 1], 1.0
    pattern = pattern.strip(_SHELL)
    limit = int(len(pattern) * (1 - min_score) + 1e-9)
    if limit < 1 or not target:
        return None
    found = _nearest(pattern, target, limit)
    if found is None:
        return None
    first, last, distance = found
    return starts[first], ends[last - 1], round(1 - distance / len(pattern), 4)


def _distances(pattern: str, text: str, anchored: bool) -> list[int]:
    """Edit distance of pattern to the best substring (anchored: the prefix) of text ending after each character."""
    size = len(pattern)
    mask, top = (1 << size) - 1, 1 << (size - 1)
    places: dict[str, int] = {}
    for i, char in enumerate(pattern):
        places[char] = places.get(char, 0) | 1 << i
    plus, minus, score = mask, 0, size
    out: list[int] = []
    for char in text:
        equal = places.get(char, 0)
        vertical = equal | minus
        horizontal = (((equal & plus) + plus) ^ plus) | equal
        up = minus | (~(horizontal | plus) & mask)
        down = plus & horizontal
        score += bool(up & top) - bool(down & top)
        up = (up << 1 | anchored) & mask
        down = (down << 1) & mask
        plus = down | (~(vertical | up) & mask)
        minus = up & vertical
        out.append(score)
    return out


def _nearest(pattern: str, text: str, limit: int) -> tuple[int, int, int] | None:
    """(start, end, distance) of the part of text nearest to pattern, None if farther than limit."""
    forward = _distances(pattern, text, anchored=False)
    best = min(forward)
    if best > limit:
        return None
    end = forward.index(best) + 1
    begin = max(0, end - len(pattern) - best)
    backward = _distances(pattern[::-1], text[begin:end][::-1], anchored=True)
    length = max((i + 1 for i, d in enumerate(backward) if d == best), key=lambda n: -abs(n - len(pattern)), default=0)
    return (end - length, end, best) if length else None
