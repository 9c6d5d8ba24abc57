"""A document as sections and chunks.

A chunk is what is searched, cited and sent to a model: about ``target_tokens`` long and
about one thing. So it ends where the author ended something: at a heading, else between
paragraphs, lines, sentences, words, and only then inside a word. Pieces are cut at
the coarsest of these boundaries that makes them fit and are then packed greedily.

Chunks are disjoint and cover the text: joined, they are the text. They do not cross a
heading, except that a piece under a quarter of the target takes the following section
in; so an edit inside a section of ordinary size leaves the chunks of the others alone
and what was paid for them stays valid. Text in which nothing can be seen has no chunks.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .normalise import is_blank
from .sentences import sentence_spans
from .tokens import TOKEN, count_tokens

__all__ = ["Chunk", "Section", "chunk", "sections"]


class HeadingLike(Protocol):
    """What is needed of a heading: ``sources.note.Heading`` is one."""

    @property
    def level(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its own text, up to the next heading of any level; subsections refer to it as parent."""

    seq: int
    parent: int | None  # seq of the section it belongs to
    level: int
    heading: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    seq: int
    start: int
    end: int
    section: int | None  # seq of the section that gives most of its text; None before the first heading
    line: int  # 1-based line on which it starts
    tokens: int


Span = tuple[int, int]
_PARAGRAPH = re.compile(r"\n(?:[ \t]*\n)+")
_LINE = re.compile(r"\n")
_WORD = re.compile(r"\s+")
_BLANK_LINES = re.compile(r"[ \t]*(?:\n[ \t]*)*\n|[ \t]*")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})([^\n]*)\n?", re.MULTILINE)


def sections(text: str, headings: Sequence[HeadingLike]) -> list[Section]:
    """Return one section a heading, in text order, each with the nearest earlier heading of a lower level as parent."""
    ordered = sorted(headings, key=lambda heading: heading.start)
    found: list[Section] = []
    open_sections: list[Section] = []
    for seq, heading in enumerate(ordered):
        end = ordered[seq + 1].start if seq + 1 < len(ordered) else len(text)
        while open_sections and open_sections[-1].level >= heading.level:
            open_sections.pop()
        parent = open_sections[-1].seq if open_sections else None
        section = Section(seq, parent, heading.level, heading.text, heading.start, end)
        found.append(section)
        open_sections.append(section)
    return found


def chunk(
    text: str,
    headings: Sequence[HeadingLike] = (),
    target_tokens: int = 250,
    frontmatter_end: int = 0,
    parts_level: int = 0,
) -> tuple[list[Section], list[Chunk]]:
    """Return the sections and the chunks of a document.

    Parameters: ``headings`` with spans of whole lines in code points of ``text``; ``target_tokens`` as counted by
    ``count_tokens`` (no chunk is larger than twice that); ``frontmatter_end`` where the frontmatter ends,
    which is one piece if it fits into a chunk and shares one with what follows if it is small; ``parts_level`` the
    level down to which headings begin a part, such as a page, of which no chunk holds two, however small.
    Raises ValueError if ``target_tokens`` is less than 1.

    >>> [text] = ["One two three.\\n\\nFour five six.\\n"]
    >>> [text[c.start:c.end] for c in chunk(text, target_tokens=4)[1]]
    ['One two three.\\n\\n', 'Four five six.\\n']
    """
    if target_tokens < 1:
        raise ValueError(f"target_tokens must be at least 1, not {target_tokens}")
    outline = sections(text, headings)
    if is_blank(text):
        return outline, []
    cutter = _Cutter(text, headings, target_tokens, frontmatter_end)
    spans = [span for region in cutter.regions(outline, parts_level) for span in cutter.packed(*region)]
    chunks: list[Chunk] = []
    line, counted = 1, 0
    for seq, (start, end) in enumerate(spans):
        line += text.count("\n", counted, start)
        counted = start
        chunks.append(Chunk(seq, start, end, _owner(outline, start, end), line, count_tokens(text[start:end])))
    return outline, chunks


def _owner(outline: Sequence[Section], start: int, end: int) -> int | None:
    """The section with most of [start, end); the first of equals."""
    first = outline[0].start if outline else end
    best, most = None, max(0, min(end, first) - start)
    at = max(0, bisect_left(outline, start, key=lambda section: section.start) - 1)
    for section in outline[at:]:
        if section.start >= end:
            break
        share = min(end, section.end) - max(start, section.start)
        if share > most:
            best, most = section.seq, share
    return best


class _Cutter:
    """Cuts one text; token positions are found once, so the size of any span is two binary searches."""

    def __init__(self, text: str, headings: Sequence[HeadingLike], target: int, frontmatter_end: int) -> None:
        self.text, self.target, self.tiny = text, target, target / 4
        self.tokens = [match.start() for match in TOKEN.finditer(text)]
        self.frontmatter_end = frontmatter_end
        self._headings = headings
        self._whole: list[Span] | None = None  # spans that are not cut: fences and frontmatter that fit
        self._glued: frozenset[int] = frozenset()  # places right after a heading

    def size(self, start: int, end: int) -> int:
        return bisect_left(self.tokens, end) - bisect_left(self.tokens, start)

    def regions(self, outline: Sequence[Section], parts_level: int) -> Iterator[Span]:
        """Sections, the tiny ones joined to what follows unless that is another part."""
        starts = [0, *(section.start for section in outline if section.start > 0)]
        parts = [section.start for section in outline if section.level <= parts_level]
        others = frozenset(parts[1:])  # the first part takes in what stands before it
        begin = 0
        for end in [*starts[1:], len(self.text)]:
            if end == len(self.text) or end in others or self.size(begin, end) >= max(1, self.tiny):
                yield begin, end
                begin = end

    def packed(self, start: int, end: int) -> list[Span]:
        """The chunks of a region."""
        if self.size(start, end) <= self.target * 1.25:
            return [(start, end)]
        if self._whole is None:
            self._prepare()
        out: list[Span] = []
        begin, filled = start, 0
        for piece_start, piece_end in self.pieces(start, end, 0):
            size = self.size(piece_start, piece_end)
            if filled + size > self.target and filled >= max(1, self.tiny):
                out.append((begin, piece_start))
                begin, filled = piece_start, 0
            filled += size
        last = (begin, end)
        if out and filled < self.tiny and self.size(out[-1][0], end) <= self.target * 1.25:
            last = (out.pop()[0], end)
        return [*out, last]

    def _prepare(self) -> None:
        whole = list(_fences(self.text, self.frontmatter_end))
        if self.frontmatter_end:
            whole.insert(0, (0, self.frontmatter_end))
        self._whole = [span for span in whole if self.size(*span) <= self.target]
        ends = (_BLANK_LINES.match(self.text, heading.end) for heading in self._headings)
        self._glued = frozenset(match.end() for match in ends if match) | {h.end for h in self._headings}

    def pieces(self, start: int, end: int, level: int) -> Iterator[Span]:
        """The region in pieces that fit, cut at level (paragraph, line, sentence, word, character) or finer."""
        if self.size(start, end) <= self.target:
            yield start, end
            return
        begin = start
        for cut in [*self.cuts(start, end, level), end]:
            if cut > begin:
                if level == 4:
                    yield begin, cut
                else:
                    yield from self.pieces(begin, cut, level + 1)
                begin = cut

    def cuts(self, start: int, end: int, level: int) -> Iterator[int]:
        """The boundaries of a level inside (start, end), in order."""
        text = self.text
        if level == 2:
            yield from (start + first for first, _ in sentence_spans(text[start:end])[1:])
        elif level == 3:
            yield from (match.end() for match in _WORD.finditer(text, start, end) if match.end() < end)
        elif level == 4:
            yield from self.character_cuts(start, end)
        else:
            for match in (_PARAGRAPH, _LINE)[level].finditer(text, start, end):
                cut = match.end()
                if cut < end and cut not in self._glued and not self.inside_whole(cut):
                    yield cut

    def inside_whole(self, place: int) -> bool:
        whole = self._whole or []
        at = bisect_left(whole, place, key=lambda span: span[0]) - 1
        return at >= 0 and whole[at][0] < place < whole[at][1]

    def character_cuts(self, start: int, end: int) -> Iterator[int]:
        """Every target tokens, moved forward past combining marks, joiners and variation selectors."""
        low, high = bisect_left(self.tokens, start), bisect_left(self.tokens, end)
        for at in range(low + self.target, high, self.target):
            place = self.tokens[at]
            limit = self.tokens[min(at + self.target // 2, len(self.tokens) - 1)]
            while place < min(end, limit) and _joined(self.text, place):
                place += 1
            yield place


def _fences(text: str, start: int) -> Iterator[Span]:
    """Spans of closed code fences from start on, in whole lines."""
    begin, fence = start, ""
    for match in _FENCE.finditer(text, start):
        if not fence:
            begin, fence = match.start(), match[1]
        elif match[1].startswith(fence) and not match[2].strip():
            yield begin, match.end()
            fence = ""


def _joined(text: str, place: int) -> bool:
    """Whether text[place] belongs to the character before it."""
    after, before = text[place], text[place - 1]
    return (
        unicodedata.category(after)[0] == "M"
        or "\u200d" in (after, before)
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or ("\udc00" <= after <= "\udfff" and "\ud800" <= before <= "\udbff")
    )
