"""The block structure of a Markdown text, as spans in that text.

markdown-it-py finds the blocks (its inline parser stays off, because it forgets
offsets); this module turns its line maps into code-point spans: the regions in
which inline markup may be read, the code in which nothing is, headings, quotations
and reference definitions. Regions come in the order of the text and do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token

RegionKind = Literal["text", "heading", "table", "html"]
#: Lists count two levels each; what is nested deeper is not read.
_MAX_NESTING = 100


@dataclass(frozen=True, slots=True)
class Region:
    start: int
    end: int
    kind: RegionKind
    level: int = 0  # of a heading


@dataclass(slots=True)
class Blocks:
    regions: list[Region] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)
    quotes: list[tuple[int, int]] = field(default_factory=list)
    references: dict[str, str] = field(default_factory=dict)  # normalised label -> destination


class _Parser(MarkdownIt):
    """markdown-it that keeps destinations as they are written; what they lead to is judged elsewhere."""

    def normalizeLink(self, url: str) -> str:
        return url

    def validateLink(self, url: str) -> bool:
        return True


@lru_cache(maxsize=2)
def _parser(indented_code: bool) -> MarkdownIt:
    parser = _Parser("commonmark", {"maxNesting": _MAX_NESTING}).enable("table")
    parser.core.ruler.enableOnly(["block"])
    if not indented_code:
        parser.disable("code")
    return parser


def split_blocks(text: str, body: int, indented_code: bool) -> Blocks:
    """Read the blocks of ``text`` from offset ``body`` (the start of a line) on."""
    source = text[body:]
    offsets = list(accumulate((len(line) + 1 for line in source.split("\n")), initial=body))
    environment: dict[str, Any] = {}
    tokens = _parser(indented_code).parse(source, environment)
    spans = _Spans(offsets, len(text))
    blocks = Blocks()
    for label, definition in environment.get("references", {}).items():
        if label.startswith("^"):  # a footnote
            blocks.regions.append(Region(*spans.of(definition["map"]), "text"))
        else:
            blocks.references[label] = definition["href"]
    _collect(tokens, spans, blocks)
    blocks.regions.sort(key=lambda region: region.start)
    return blocks


def reference_key(label: str) -> str:
    """The form in which a label of a reference link is compared."""
    return normalizeReference(label)


class _Spans:
    def __init__(self, offsets: list[int], end: int) -> None:
        self._offsets, self._end = offsets, end

    def of(self, lines: Sequence[int]) -> tuple[int, int]:
        """Code points of ``[first, last)`` lines, without the last line end."""
        start = self._offsets[lines[0]]
        return start, max(start, min(self._offsets[min(lines[1], len(self._offsets) - 1)] - 1, self._end))


def _collect(tokens: Sequence[Token], spans: _Spans, blocks: Blocks) -> None:
    heading = 0
    lines: Sequence[int] = (0, 0)
    in_table = False
    for token in tokens:
        kind = token.type
        if kind == "heading_open":
            heading, lines = int(token.tag[1]), token.map or lines  # with the underline
        elif kind == "table_open":
            in_table = True
        elif kind == "table_close":
            in_table = False
        elif kind == "tr_open" and token.map:
            blocks.regions.append(Region(*spans.of(token.map), "table"))
        elif kind == "inline" and token.map and not in_table:
            if heading:
                blocks.regions.append(Region(*spans.of(lines), "heading", heading))
            else:
                blocks.regions.append(Region(*spans.of(token.map), "text"))
            heading = 0
        elif kind == "html_block" and token.map:
            blocks.regions.append(Region(*spans.of(token.map), "html"))
        elif kind in ("fence", "code_block") and token.map:
            blocks.code.append(spans.of(token.map))
        elif kind == "blockquote_open" and token.map and token.level == 0:
            blocks.quotes.append(spans.of(token.map))
