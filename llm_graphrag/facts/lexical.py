"""Names in text, found without a model.

Two ways. ``candidate_phrases`` reads the spelling: capitalised phrases, acronyms and
quoted titles, in any script that has case. A capital is evidence only where the writer
had a choice, so at the start of a sentence, item or cell a lone word counts only if it
is neither a common word (``common_words.txt``) nor written small in the same text, and
words that commonly open a sentence are cut off. ``NameMatcher`` (in ``names``) knows the
names already, titles of notes and aliases, and finds them by their keys.

Precision goes before recall: a wrong name makes an edge in the graph that nobody wrote.
All spans are code points of the text; nothing is found inside ``skip_spans`` (code, URLs,
comments, frontmatter keys). Same input, same output, same order.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from .names import FUNCTION_WORDS, MARKS, TASK_WORDS, Match, NameMatcher, common_words, masked

__all__ = ["Match", "Name", "NameMatcher", "abbreviations", "candidate_phrases", "common_words"]

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Name:
    start: int
    end: int
    text: str
    kind: str  # phrase, quoted, acronym


def _upper_class() -> str:
    blocks = ((0x41, 0x5B), (0xC0, 0x588), (0x10A0, 0x1100), (0x13A0, 0x13F6), (0x1E00, 0x2000), (0x2C00, 0x2D00),
              (0xA640, 0xA800), (0xFF21, 0xFF3B), (0x10400, 0x10428))  # fmt: skip
    return "".join(chr(code) for start, stop in blocks for code in range(start, stop) if chr(code).isupper())


_UPPER = f"[{_upper_class()}]"
_PARTICLES = frozenset("of the de da do dos del della di du des van von der den la le el al bin ibn y zu".split())
_WORD = rf"{_UPPER}[\w{MARKS}]*(?:[-‐&][\w{MARKS}]+|['’](?!(?:s|t|d|m|ll|re|ve)\b)[\w{MARKS}]+)*"
_ELEMENT = rf"(?:(?:{_UPPER}\.)+(?:{_UPPER}(?!\w))?|(?:Dr|Mr|Mrs|Ms|St|Mt|Prof|Gen|Col|Capt|Rev)\.|{_WORD})"
_PHRASE = re.compile(
    rf"(?<![\w@#/\\.=$]){_ELEMENT}"
    rf"(?:[ \u00a0](?:(?:{'|'.join(sorted(_PARTICLES))})[ \u00a0](?:(?:the|la|der|den)[ \u00a0])?|& )?{_ELEMENT}"
    r"|[ \u00a0]\d{1,4}(?:\.\d+)*(?![\w%:,/-]))*"
)
_QUOTED = re.compile(
    r"“([^“”\n\x00]{1,100})”|„([^„“”\n\x00]{1,100})[“”]|«\s?([^«»\n\x00]{1,100}?)\s?»|「([^「」\n\x00]{1,40})」"
    r"|『([^『』\n\x00]{1,40})』|(?<![\w\"=])\"(?=\S)([^\"\n\x00]{1,100})(?<=\S)\"(?![\w\"])"
)
_WORDS = re.compile(r"\w+")
_CONTRACTION = re.compile(r"['’](?:t|d|m|ll|re|ve)\b")
_SHORT_FORM = re.compile(rf"\((?P<short>{_UPPER}[\w.&-]{{1,9}})\)")
_DATES = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)
_OPENING = "\"'“‘«„([|"
_MARKUP = " \t*_~>#+-•" + _OPENING
_STOPS = ".!?:;…。！？："


@cache
def _opens_sentences(word: str) -> bool:
    """Whether a common word, in lower case, is likely a verb or an adverb that opens a sentence."""
    if word in FUNCTION_WORDS or word in TASK_WORDS:
        return True
    common = common_words()
    if word not in common:
        return False
    forms = (word + "ing", word[:-1] + "ing", word + word[-1] + "ing")
    return word.endswith(("ing", "ly")) or any(form in common for form in forms)


def _at_start(text: str, start: int) -> bool:
    """Whether a capital is expected at start: first in a sentence, line, item, cell, bracket or quotation."""
    head = text[max(0, start - 16) : start]
    bare = head.rstrip(_MARKUP)
    return not bare or bare[-1] in "\n" + _STOPS or any(c in _OPENING for c in head[len(bare) :])


class _Reader:
    """Judges the capitalised phrases of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.common = common_words()
        self._seen: set[str] | None = None

    def seen_small(self, word: str) -> bool:
        if self._seen is None:
            self._seen = set(_WORDS.findall(self.text))
        return word.lower() in self._seen

    def names(self) -> Iterator[Name]:
        for match in _PHRASE.finditer(self.text):
            start, end = match.span()
            line = self.text.rfind("\n", 0, start) + 1
            if self.text.startswith("#", line) and self.title_case(line):
                yield from self.in_title(start, match[0])
            elif (name := self.name(start, end, _at_start(self.text, start))) is not None:
                yield name

    def name(self, start: int, end: int, opening: bool) -> Name | None:
        """The name in a capitalised phrase, None if there is none."""
        text = self.text
        words = text[start:end].replace("\u00a0", " ").split(" ")
        cut = 0
        while cut < len(words) and (words[cut] == "I" or (opening and self.cut_off(words, cut))):
            start += len(words[cut]) + 1
            cut += 1
        while cut < len(words) - 1 and words[cut] in _PARTICLES:
            start += len(words[cut]) + 1
            cut += 1
        words = words[cut:]
        if not words:
            return None
        if len(words) > 1 and words[-1] == "I" and (words[-2].isdigit() or words[-2].lower() in _DATES):
            words, end = words[:-1], end - 2  # "in March I slept", but not "Elizabeth I"
        if len(words[-1]) == 2 and words[-1][1] == ".":  # a full stop, not an initial
            words[-1], end = words[-1][0], end - 1
        first = words[0].lower()
        if all(word.lower() in _DATES or word.isdigit() for word in words) or (len(words) == 1 and len(first) < 2):
            return None
        if _CONTRACTION.match(text, end) or words[-1] in ("Dr.", "Mr.", "Mrs.", "Ms.", "Prof."):
            return None
        capitals = all(word.isupper() for word in words)
        if len(words) == 1 and capitals:
            return self.acronym(start, end)
        if capitals and all(word.lower() in self.common for word in words):
            return None
        if len(words) == 1 and opening and not cut and (first in self.common or self.seen_small(first)):
            return None
        return Name(start, end, text[start:end], "phrase")

    def cut_off(self, words: Sequence[str], at: int) -> bool:
        """Whether the word only opens the sentence."""
        word = words[at]
        small = word.lower()
        if len(word) > 1 and word.isupper():
            return False
        if small in FUNCTION_WORDS or (at and small in _PARTICLES):
            return True
        if at or len(words) == 1 or words[1] == "of":  # Battle of Hastings
            return False
        return _opens_sentences(small) or (small.endswith("ing") and words[1] in _PARTICLES)

    def acronym(self, start: int, end: int) -> Name | None:
        written = self.text[start:end]
        shouted = written.lower() in self.common and not self.text[max(0, start - 4) : start].lower().endswith(
            ("the ", "(")
        )
        return None if shouted else Name(start, end, written, "acronym")

    def title_case(self, line: int) -> bool:
        """Whether every longer word of the heading has a capital, so that capitals say nothing."""
        end = self.text.find("\n", line)
        heading = self.text[line : len(self.text) if end < 0 else end]
        return not any(word[0].islower() and len(word) > 3 for word in _WORDS.findall(heading))

    def in_title(self, start: int, phrase: str) -> Iterator[Name]:
        """The phrase if it also stands elsewhere, else the runs of its words that are not common."""
        end = start + len(phrase)
        elsewhere = self.text.find(phrase) < start or self.text.find(phrase, end) >= 0
        if elsewhere and " " in phrase and (name := self.name(start, end, True)) is not None:
            yield name
            return
        at, run = start, None
        for word in [*phrase.replace("\u00a0", " ").split(" "), ""]:
            small = word.lower().strip(".")
            if word and not (small in self.common or small in _PARTICLES or (word.isdigit() and run is None)):
                run = at if run is None else run
            elif run is not None:
                if (name := self.name(run, at - 1, run == start)) is not None:
                    yield name
                run = None
            at += len(word) + 1


def _quoted(text: str) -> Iterator[Name]:
    for match in _QUOTED.finditer(text):
        group = match.lastindex or 1
        start, end = match.span(group)
        inner = match[group].rstrip(",;")
        end = start + len(inner)
        words = inner.split()
        if not 1 <= len(words) <= 8 or inner != inner.strip() or inner[-1] in ".!?。！？…:":
            continue
        small = [word.strip(",'’-").lower() for word in words]
        if any(map(str.isalnum, inner)) and not (inner.islower() and all(word in common_words() for word in small)):
            yield Name(start, end, inner, "quoted")


def candidate_phrases(text: str, skip_spans: Iterable[Span] = ()) -> Iterator[Name]:
    """Yield what looks like a name, in text order.

    A capitalised phrase inside a quoted name is a part of it and is not given again. A possessive 's is not part of a
    name.

    >>> text = "Install the tool. The Bank of Oslo's NASA book “Moon Dust” sold."
    >>> [(n.text, n.kind) for n in candidate_phrases(text)]
    [('Bank of Oslo', 'phrase'), ('NASA', 'acronym'), ('Moon Dust', 'quoted')]
    """
    visible = masked(text, skip_spans)
    quoted = list(_quoted(visible))
    starts = [name.start for name in quoted]

    def inside(name: Name) -> bool:
        at = bisect_right(starts, name.start) - 1
        return at >= 0 and name.end <= quoted[at].end and not quoted[at].text[0].islower()

    phrases = [name for name in _Reader(visible).names() if not (quoted and inside(name))]
    yield from sorted([*phrases, *quoted], key=lambda name: (name.start, -name.end))


def abbreviations(text: str) -> list[tuple[Span, Span]]:
    """Return (long form, short form) spans of multi-word names that are abbreviated in parentheses after them.

    Source: Schwartz and Hearst, A simple algorithm for identifying abbreviation definitions, PSB 2003.

    >>> text = "the World Health Organization (WHO) met"
    >>> [(text[a:b], text[c:d]) for (a, b), (c, d) in abbreviations(text)]
    [('World Health Organization', 'WHO')]
    """
    found: list[tuple[Span, Span]] = []
    for match in _SHORT_FORM.finditer(text):
        short = "".join(filter(str.isalnum, match["short"])).lower()
        end = match.start()
        while end and text[end - 1] in " \t\u00a0":
            end -= 1
        before = text[max(0, end - 120) : end].lower()
        if not end or sum(map(str.isupper, match["short"])) < 2 or len(before) != min(end, 120):
            continue
        at = len(before)
        for place in range(len(short) - 1, -1, -1):
            at -= 1
            while at >= 0 and (before[at] != short[place] or (place == 0 and at and before[at - 1].isalnum())):
                at -= 1
            if at < 0:
                break
        start = end - len(before) + at
        words = len(text[start:end].replace("-", " ").split()) if at >= 0 else 0
        if 2 <= words <= min(len(short) + 5, len(short) * 2) and not any(c in "\n.;:()" for c in text[start:end]):
            found.append(((start, end), match.span("short")))
    return found
