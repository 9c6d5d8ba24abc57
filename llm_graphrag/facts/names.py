"""Known names found in text: titles of notes and aliases, by their keys.

``NameMatcher`` hashes the first word of every name, so that a text is read once, however
many names there are. Where a word can begin a name, the longest candidate is compared by
``name_key``, the key entities are joined by: what is found is what would be joined.

The rules against noise stand in the class. What both ways of finding names share is here
too: the list of common words, and skipping code, URLs and comments.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Generic, TypeVar

from ..text.cjk import CJK_RUN
from ..text.normalise import clean_name, name_key

__all__ = ["FUNCTION_WORDS", "MARKS", "TASK_WORDS", "Match", "NameMatcher", "common_words", "masked"]

Span = tuple[int, int]
V = TypeVar("V", bound=Hashable)

MARKS = "\u0300-\u036f\u0483-\u0487\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u200c\u200d\u00ad"
_TOKEN = re.compile(rf"[^\W_](?:[\w{MARKS}]*[^\W_][{MARKS}]*)?")
_TOKEN_ASCII = re.compile(r"[A-Za-z0-9](?:\w*[A-Za-z0-9])?")
_BLANK_LINE = re.compile(r"\n[ \t>]*\n")
FUNCTION_WORDS = frozenset(
    """a about above according after again all almost also although always among an and another any anyone are as at be
    because been before being below besides between both but by can could despite did do does during each either
    even ever every everyone few finally first for from further had has have having he hence her here hers him his
    how however i if in indeed instead into is it its just last later least less like many maybe me meanwhile might
    more moreover most much must my near neither never next no nobody none nor not nothing now of off often on once
    one only or other others our out over per perhaps please rather same second she should since so some someone
    sometimes soon still such than that the their them then there therefore these they this those though three
    through throughout thus to today together too toward two under unless unlike until up upon us usually very was
    tomorrow tonight yesterday we were what when whenever where whereas whether which while who whom whose why will
    with within without would yes yet you your""".split()
)

# What a list of things to do begins with; too rare in reference texts to be in the counted list.
TASK_WORDS = frozenset(
    """add ask attend book bring buy call cancel check clean cook discuss email finish fix follow invite meet met order
    paint pay phone pick plan prepare read remind reply review schedule send sign talk tell thank think todo try visit
    wait wash watch write""".split()
)


@dataclass(frozen=True, slots=True)
class Match(Generic[V]):
    start: int
    end: int
    values: tuple[V, ...]  # what the name stands for, in the order given to NameMatcher


@cache
def common_words() -> frozenset[str]:
    """English words, in lower case, that are commonly not names; read once."""
    text = files(__package__).joinpath("common_words.txt").read_text(encoding="utf-8")
    counted = FUNCTION_WORDS | TASK_WORDS | frozenset(text.split())
    return counted | {word + "s" for word in counted if len(word) > 3 and not word.endswith("s")}


def masked(text: str, skip_spans: Iterable[Span]) -> str:
    """Text of the same length with NUL, which no name contains, in the skipped spans."""
    parts, at = [], 0
    for start, end in sorted(skip_spans):
        start = max(start, at)
        if end > start:
            parts += [text[at:start], "\x00" * (min(end, len(text)) - start)]
            at = min(end, len(text))
    return "".join(parts) + text[at:] if parts else text


@lru_cache(maxsize=100_000)
def _folded(word: str) -> str:
    return name_key(word)


def _tokens(text: str) -> list[tuple[str, int, int]]:
    """(folded word, start, end) for the words of text outside CJK."""
    if text.isascii():
        return [(m[0].lower(), m.start(), m.end()) for m in _TOKEN_ASCII.finditer(text)]
    text = CJK_RUN.sub(lambda m: " " * len(m[0]), text)
    return [(_folded(m[0]), m.start(), m.end()) for m in _TOKEN.finditer(text)]


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    written: str
    value: V
    exact: bool  # made of common words only: the case must agree
    capital: bool  # a single word: the text must have a capital or a digit, too, or set it in emphasis

    def allows(self, written: str, emphasised: bool) -> bool:
        if self.exact:
            return clean_name(written) == self.written
        return not self.capital or emphasised or written[0].isupper() or written[0].isdigit()


class NameMatcher(Generic[V]):
    """Finds known names in text: titles and aliases, each with a value (say, an entity's id).

    Names agree by ``name_key`` at word boundaries, names that begin with a CJK character at any place. To keep noise
    out, a single word needs three characters, is not matched at all if the name is written small (``find``, ``ls``),
    and needs a capital or digit in the text if the name has one, or emphasis that holds nothing else (``*fireball*``);
    a name of common words only needs the same case.

    >>> matcher = NameMatcher([("Ana Petrov", 1), ("Ana", 2), ("sour dough", 3), ("東京", 4)])
    >>> [(m.start, m.end, m.values) for m in matcher.find("Ana Petrov's Sour dough; ana, 東京都")]
    [(0, 10, (1,)), (13, 23, (3,)), (30, 32, (4,))]
    """

    def __init__(self, names: Iterable[tuple[str, V]]) -> None:
        self._entries: dict[str, list[_Entry[V]]] = {}
        first: dict[str, set[int]] = {}
        shapes: dict[tuple[str, ...], set[tuple[str, str]]] = {}  # what stands around the words of the key
        cjk: dict[str, set[int]] = {}
        for name, value in names:
            key = name_key(name)
            written = clean_name(name)
            if CJK_RUN.match(key):
                if len(key) > 1:
                    cjk.setdefault(key[:2], set()).add(len(key))
                    self._entries.setdefault(key, []).append(_Entry(written, value, False, False))
                continue
            tokens = _tokens(key)
            if not tokens or (entry := self._entry(key, written, value, tokens)) is None:
                continue
            prefix, suffix = key[: tokens[0][1]], key[tokens[-1][2] :]
            first.setdefault(tokens[0][0], set()).add(len(tokens))
            shapes.setdefault(tuple(token for token, _, _ in tokens), set()).add((prefix, suffix))
            self._entries.setdefault(key, []).append(entry)
        self._first = {token: sorted(counts, reverse=True) for token, counts in first.items()}
        self._shapes = {words: sorted(around, reverse=True) for words, around in shapes.items()}
        self._cjk = {pair: sorted(lengths, reverse=True) for pair, lengths in cjk.items()}

    @staticmethod
    def _entry(key: str, written: str, value: V, tokens: list[tuple[str, int, int]]) -> _Entry[V] | None:
        exact = all(token in common_words() for token, _, _ in tokens)
        if len(tokens) > 1:
            return _Entry(written, value, exact, False)
        letter = next((c for c in written if c.isalnum()), "")
        if len(key) < 3 or letter.islower():
            return None
        return _Entry(written, value, exact, letter.isupper() or letter.isdigit())

    def find(self, text: str, skip_spans: Iterable[Span] = ()) -> list[Match[V]]:
        """Return the matches in text order: the longest at each place, none overlapping another."""
        visible = masked(text, skip_spans)
        found = list(self._find_words(visible))
        if self._cjk and not visible.isascii():
            found += self._find_cjk(visible)
            found.sort(key=lambda match: (match.start, -match.end))
        out: list[Match[V]] = []
        for match in found:
            if not out or match.start >= out[-1].end:
                out.append(match)
        return out

    def _find_words(self, text: str) -> Iterator[Match[V]]:
        first, shapes = self._first, self._shapes
        tokens = _tokens(text)
        words = [token[0] for token in tokens]
        until = 0
        for i, word in enumerate(words):
            counts = first.get(word)
            if counts is None or tokens[i][1] < until:
                continue
            for count in counts:
                around = shapes.get(tuple(words[i : i + count])) if i + count <= len(words) else None
                if around and (match := self._match(text, tokens[i][1], tokens[i + count - 1][2], until, around)):
                    yield match
                    until = match.end
                    break

    def _match(self, text: str, start: int, end: int, until: int, around: Iterable[tuple[str, str]]) -> Match[V] | None:
        for prefix, suffix in around:
            low, high = start - len(prefix), end + len(suffix)
            emphasised = low > 0 and text[low - 1] in "*_" and text[high : high + 1] in ("*", "_")
            if low >= until and (values := self._values(text[low:high], prefix, suffix, emphasised)):
                return Match(low, high, values)
        return None

    def _find_cjk(self, text: str) -> Iterator[Match[V]]:
        for run in CJK_RUN.finditer(text):
            for start in range(*run.span()):
                for length in self._cjk.get(text[start : start + 2].lower(), ()):
                    if values := self._values(text[start : start + length]):
                        yield Match(start, start + length, values)
                        break

    def _values(self, written: str, prefix: str = "", suffix: str = "", emphasised: bool = False) -> tuple[V, ...]:
        if "\x00" in written:
            return ()
        key = _folded(written)  # which may lose what stands around it, as in "(C++)"
        entries = self._entries.get(key) if key.startswith(prefix) and key.endswith(suffix) else None
        if not entries or _BLANK_LINE.search(written):
            return ()
        return tuple(dict.fromkeys(entry.value for entry in entries if entry.allows(written, emphasised)))
