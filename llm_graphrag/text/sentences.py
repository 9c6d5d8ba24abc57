"""Where sentences begin and end in a note.

Evidence is shown as the sentence it stands in, so a sentence must not be too short
(cut after "Dr.", "e.g.", "J." or "3.5") nor swallow the list around it. A note is
first cut into blocks by its lines: a heading, a table row, a line of frontmatter or
of code is one sentence as it stands; a list item and a hard-wrapped paragraph go on
over their lines and are cut at full stops. CJK full stops need no space after them.

Spans are code points, in order, disjoint, without white space at their ends, and
together hold everything that is not white space.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

__all__ = ["row_spans", "sentence_around", "sentence_spans"]

Span = tuple[int, int]

_LINE = re.compile(r"[^\n]*\n?")
_MATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_SECOND = re.compile(r"\s*^(?=---[ \t]*\n[\w\"'@$][^:\n]*:(?:\s|$))", re.MULTILINE)
_FENCE = re.compile(r"\s*(?:[-*+]\s+|>\s*)*(```+|~~~+)")
_ALONE = re.compile(r"\s*(?:#{1,6}\s|\||[-*_=~+:|\s]{3,}$|[\w][\w /-]{0,40}::\s)")  # heading, table row, rule, field
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_QUOTE = re.compile(r"\s*>")
_BREAK = re.compile(r"(?:  |\\)\n?$")  # Markdown's hard line break
_STOP = re.compile(
    r"(?P<latin>[.!?…]+)(?P<close>[\"'”’»)\]*_]*)(?=\s)|[。！？｡]+[」』”’）)]*|[؟۔।॥]+(?=\s)", re.UNICODE
)
_GAP = re.compile(r"\s")
_ROW = re.compile(r"[^\n]*\S[^\n]*")
_AFTER = re.compile(r"\s*[\"'“‘«(\[*_]*(\S?)")
_WORD_BEFORE = re.compile(r"[^\s(\[\"“‘*]*$")

_NEVER = frozenset(  # always goes on
    """mr mrs ms dr prof st mt ft gen col lt sgt capt cmdr rev hon sen rep gov pres e.g i.e eg ie cf vs viz ca approx
    resp z.b bzw d.h u.a mme mlle sr. sra dña""".split()
)
# goes on before a digit
_NUMBERED = frozenset("no nos p pp fig figs vol ch sec art nr eq ver op par ed eds c b d fl r".split())
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]")  # R.G. Springsteen; but "in the U.S. They" ends
_UNLESS_CAPITAL = frozenset(  # goes on unless a capital follows
    """etc inc ltd co corp jr sr bros al a.m p.m dept est univ u.s u.k u.n d.c jan feb mar apr jun jul aug sep sept
    oct nov dec mon tue wed thu fri sat sun max min avg incl excl usw""".split()
)


def _matter_end(text: str) -> int:
    """Where the frontmatter ends, and a second block that follows it directly."""
    first = _MATTER.match(text)
    gap = _SECOND.match(text, first.end()) if first else None
    second = _MATTER.match(text, gap.end()) if gap else None
    return second.end() if second else first.end() if first else 0


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Spans of blocks, with whether they are prose, to be cut at full stops."""
    start: int | None = None
    fence = ""
    matter_end = _matter_end(text)
    quoted = False
    for match in _LINE.finditer(text):
        line, begin, end = match[0], match.start(), match.end()
        if not line:
            break
        body, matter = line.strip(), begin < matter_end
        opening = _FENCE.match(line) if "```" in line or "~~~" in line else None
        verbatim = bool(fence) or opening is not None or matter
        alone = bool(body) and (verbatim or ((body[0] in "#|-*_=~+:" or "::" in line) and bool(_ALONE.match(line))))
        fresh = bool(body) and (_ITEM.match(line) is not None or (_QUOTE.match(line) is not None) != quoted)
        if start is not None and (not body or alone or fresh):
            yield start, begin, True
            start = None
        if alone:
            yield begin, end, False
        elif body:
            start = begin if start is None else start
            quoted = body[0] == ">"
            if _BREAK.search(line):
                yield start, end, True
                start = None
        if opening is not None and not matter:
            fence = "" if fence and opening[1].startswith(fence) else fence or opening[1]
    if start is not None:
        yield start, len(text), True


_FUNCTION_WORDS = frozenset(
    "the a an he she it they we i in on at by for from this that these those but and as".split()
)
_NEXT_WORD = re.compile(r"\s*(\w+)")


def _is_name(text: str, at: int) -> bool:
    """Whether a capitalised word that begins no sentence of its own follows: no article, pronoun or preposition."""
    word = _NEXT_WORD.match(text, at)
    return word is not None and word[1][:1].isupper() and word[1].lower() not in _FUNCTION_WORDS


def _goes_on(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    """Whether the sentence goes on after this full stop."""
    after = _AFTER.match(text, match.end(), end)
    following = after[1] if after else ""
    marks = match["latin"]
    if marks is None or not following:
        return False
    if marks != ".":
        return following.islower() and (marks[-1] in ".…" or bool(match["close"]))
    before = _WORD_BEFORE.search(text, max(begin, match.start() - 40), match.start())
    word = before[0] if before else ""
    known = word.lower()
    if known in _NEVER or (len(word) == 1 and word.isupper()):
        return True
    if word.isdigit() and not text[begin : match.start() - len(word)].strip(" \t>-*+"):
        return True  # the number of a list item
    if len(word) == 1 and word.isalpha() and following.islower():
        return True
    if known in _NUMBERED:
        return following.isdigit()
    if known in _UNLESS_CAPITAL:
        return not following.isupper()
    if "." in word:
        return not following.isupper() or (_INITIALS.fullmatch(word) is not None and _is_name(text, match.end()))
    return False


def _trimmed(text: str, start: int, end: int) -> Span | None:
    piece = text[start:end]
    kept = piece.strip()
    if not kept:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(kept)


def row_spans(text: str) -> list[Span]:
    """Return the spans of the lines that hold something: of a table, whose every line is a statement.

    >>> row_spans("a,knows,b\\n\\nb,knows,c\\n")
    [(0, 9), (11, 20)]
    """
    return [match.span() for match in _ROW.finditer(text)]


def sentence_spans(text: str) -> list[Span]:
    """Return the spans of the sentences of text, in code points.

    >>> text = "Dr. Ana Petrov paid 3.50 euro. She left."
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Ana Petrov paid 3.50 euro.', 'She left.']
    """
    spans: list[Span] = []
    for begin, end, prose in _blocks(text):
        start = begin
        if prose:
            for match in _STOP.finditer(text, begin, end):
                if not _goes_on(text, start, match, end):
                    if (span := _trimmed(text, start, match.end())) is not None:
                        spans.append(span)
                    start = match.end()
        if (span := _trimmed(text, start, end)) is not None:
            spans.append(span)
    return spans


def sentence_around(text: str, spans: Sequence[Span], start: int, end: int, max_chars: int = 400) -> Span:
    """Return the span of the sentences that hold ``[start, end)``.

    Parameters: ``spans`` as ``sentence_spans(text)`` gives them. A result longer than ``max_chars`` code points is
    clipped around ``[start, end)`` at white space; it never loses a part of ``[start, end)`` that is not white space.
    Raises ValueError if ``[start, end)`` is not a span of text.

    >>> text = "Ana paints. Bob, her brother, sings. They travel."
    >>> start, end = sentence_around(text, sentence_spans(text), 12, 15)
    >>> text[start:end]
    'Bob, her brother, sings.'
    """
    if not 0 <= start <= end <= len(text):
        raise ValueError(f"[{start}, {end}) is no span of a text of {len(text)} characters")
    first = bisect_right(spans, start, key=lambda span: span[1])
    last = bisect_left(spans, max(end, start + 1), key=lambda span: span[0])
    low, high = start, end
    if first < last:
        low, high = min(start, spans[first][0]), max(end, spans[last - 1][1])
    if high - low > max_chars:
        low, high = _clipped(text, low, high, start, end, max_chars)
    return _trimmed(text, low, high) or (start, end)


def _clipped(text: str, low: int, high: int, start: int, end: int, max_chars: int) -> Span:
    """At most max_chars (or the span, if that is longer) around [start, end), cut at white space where there is any."""
    spare = max(0, max_chars - (end - start))
    left = max(low, start - spare // 2, high - max_chars if high - start < max_chars - spare // 2 else low)
    left = min(left, start)
    right = max(end, min(high, left + max_chars))
    if left > low and not text[left - 1].isspace():
        gap = _GAP.search(text, left, start)
        left = gap.end() if gap else left
    if right < high and not text[right].isspace():
        cut = max(text.rfind(" ", end, right), text.rfind("\n", end, right))
        right = cut if cut >= end else right
    return left, right
