"""Links, tags and bracketed fields within the regions of a text, with exact spans.

One pass from left to right over the text, driven by a single pattern of everything
that can open something. What opens first wins, as in the programs whose notes these
are: a link inside code, maths, a comment or a placeholder is none. Comments, display
maths and templates may run over several regions; the scanner then goes on behind
their end.

Every search for a closing mark goes forward only and is remembered, so the time is
linear in the text, also for a text that only opens and never closes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable

from .blocks import reference_key
from .dialects import Dialect
from .links import Refusal, parse_destination, parse_wikilink
from .note import Link, Tag

KEY = r"(?:[\w\U0001F000-\U0001FAFF\u2600-\u27BF][\w /&'’+.\-\uFE0F\u200D\U0001F000-\U0001FAFF\u2600-\u27BF]{0,79}?)"
_TOKEN = re.compile(
    r"\\.|`+|\$\$?|%%|<!--|<%|<|\{\{|!?\[\[|!?\[|\]|\(|\)|#|(?<![\w@])@(?=\w)|(?<![\w/])https?://", re.IGNORECASE
)
_WIKILINK = re.compile(r"\[\[(?!\[)([^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*)\]\]")
_DESTINATION = re.compile(
    r"\([ \t\n]{0,20}(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))"
    r"(?:[ \t\n]{1,20}(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t\n]{0,20}\)"
)
_REFERENCE = re.compile(r"\[([^\[\]]{0,300})\]")
_MARKUP = re.compile(r"<(?:(https?://[^\s<>]*|[^\s<>@]+@[^\s<>]+)|(/?[A-Za-z][A-Za-z0-9\-]*)(?:[\s/][^<>]*)?)>")
_URL = re.compile(r"https?://[^\s<>\[\]()|\"]*(?:\([^\s<>()]*\)[^\s<>\[\]()|\"]*)*", re.IGNORECASE)
_BLOCK = re.compile(r"\(\(([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\)\)")
_TAG_CHARACTER = (
    r"[^\s!\"#$%&'()*+,.:;<=>?@^`{|}~\[\]\\\u2000-\u200C\u200E-\u206F\u3000-\u3002\u3008-\u3011！，：；？（）]"
)
_TAG = re.compile(rf"#({_TAG_CHARACTER}+)")
_DOTTED_TAG = re.compile(rf"#({_TAG_CHARACTER}+(?:\.{_TAG_CHARACTER}+)*)")
_TAG_CONTENT = re.compile(r"[^\d/_\-]")
_NO_TAG_BEFORE = frozenset("#/&=\\[].?+@$%-")
_USER = re.compile(r"@(\w[\w.\-]*\w|\w)")
_DOLLAR_CLOSER = re.compile(r"(?<=[^\s\\$])\$(?![\d$])")
_BACKTICKS = re.compile(r"`+")
_FIELD = re.compile(rf"[ \t]*({KEY})[ \t]*::[ \t]+(?=\S)")
_IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
_ORG_CODE = re.compile(r"#\+begin_(?:src|example|query|export|comment)\b", re.IGNORECASE)
_RAW_ELEMENTS = frozenset(("code", "pre", "script", "style", "kbd", "textarea"))


class BracketField:
    """``[key:: value]`` or ``(key:: value)``; the spans are those of key and value."""

    __slots__ = ("start", "end", "key_start", "key_end")

    def __init__(self, start: int, end: int, key_start: int, key_end: int) -> None:
        self.start, self.end, self.key_start, self.key_end = start, end, key_start, key_end


class InlineScanner:
    """Scans regions of one text in ascending order and gathers what it finds."""

    def __init__(self, text: str, dialect: Dialect, references: dict[str, str] | None = None) -> None:
        self.text, self.dialect = text, dialect
        self.references = references or {}
        self.links: list[Link] = []
        self.tags: list[Tag] = []
        self.fields: list[BracketField] = []
        self.masks: list[tuple[int, int]] = []  # code, maths, comments, placeholders
        self.opaque: list[tuple[int, int]] = []  # anything else in which '::' and '#' mean nothing
        self.external = 0
        self.attachments = 0
        self._resume = 0
        self._end = 0
        self._embed_until = 0
        self._next: dict[str, tuple[int, int]] = {}  # closer -> (searched from, found at)
        self._ticks: dict[int, list[int]] | None = None
        self._dollars: list[int] | None = None
        self._squares: list[tuple[int, bool]] = []
        self._rounds: list[int] = []
        self._link_floor = self._field_floor = 0
        self._handlers: dict[str, Callable[[int, int], int]] = {
            "\\": self._skip, "`": self._code, "$": self._maths, "%": self._comment, "<": self._angle,
            "{": self._placeholder, "[": self._open, "!": self._open, "]": self._close, "(": self._open_round,
            ")": self._close_round, "#": self._hash, "@": self._user, "h": self._url, "H": self._url,
        }  # fmt: skip

    def scan(self, start: int, end: int) -> None:
        """Read the region ``[start, end)``."""
        text, handlers, search = self.text, self._handlers, _TOKEN.search
        position = max(start, self._resume)
        self._end = end
        self._squares, self._rounds = [], []
        self._link_floor = self._field_floor = 0
        while position < end and (match := search(text, position, end)):
            token = match.start()
            position = handlers[text[token]](token, match.end())
        self._resume = max(self._resume, position)

    def rescan(self, start: int, end: int) -> None:
        """Read ``[start, end)`` as a text of its own, whatever was read before."""
        self._resume = start
        self.scan(start, end)

    # -- closing marks ---------------------------------------------------------

    def _find(self, closer: str, position: int) -> int:
        """The next ``closer`` at or after ``position`` in the whole text, or -1."""
        since, found = self._next.get(closer, (position + 1, -1))
        if position < since or -1 < found < position:
            found = self.text.find(closer, position)
            self._next[closer] = position, found
        return found

    def _block_limit(self, start: int) -> int | None:
        """Where a comment or formula must end: anywhere if it opens its line, else within its region."""
        line = self.text.rfind("\n", 0, start) + 1
        return None if start - line < 200 and not self.text[line:start].strip("> \t-*+") else self._end

    def _mask_to(self, start: int, after: int, closer: str, limit: int | None = None) -> int:
        """Mask from ``start`` to the end of ``closer``; without one before ``limit`` nothing was opened."""
        found = self._find(closer, after)
        if found < 0 or (limit is not None and found >= limit):
            return after
        self.masks.append((start, found + len(closer)))
        return found + len(closer)

    # -- what opens -------------------------------------------------------------

    def _skip(self, start: int, after: int) -> int:
        return after

    def _code(self, start: int, after: int) -> int:
        if self._ticks is None:
            self._ticks = {}
            for run in _BACKTICKS.finditer(self.text):
                self._ticks.setdefault(run.end() - run.start(), []).append(run.start())
        positions = self._ticks.get(after - start, [])
        index = bisect_left(positions, after)
        if index == len(positions) or positions[index] >= self._end:
            return after
        self.masks.append((start, positions[index] + after - start))
        return positions[index] + after - start

    def _maths(self, start: int, after: int) -> int:
        if after - start == 2:
            return self._mask_to(start, after, "$$", self._block_limit(start))
        if self._dollars is None:
            self._dollars = [match.start() for match in _DOLLAR_CLOSER.finditer(self.text)]
        index = bisect_left(self._dollars, after + 1)
        if index == len(self._dollars) or self._dollars[index] >= self._end or self.text[after].isspace():
            return after
        self.masks.append((start, self._dollars[index] + 1))
        return self._dollars[index] + 1

    def _comment(self, start: int, after: int) -> int:
        return self._mask_to(start, after, "%%", self._block_limit(start))

    def _angle(self, start: int, after: int) -> int:
        opened = self.text[start:after]
        if opened == "<!--":
            return self._mask_to(start, after, "-->")
        if opened == "<%":
            return self._mask_to(start, after, "%>")
        match = _MARKUP.match(self.text, start, self._end)
        if not match:
            return after
        if match[1]:
            self.external += 1
        self.opaque.append(match.span())
        element = (match[2] or "").lower()
        if element in _RAW_ELEMENTS and not match[0].endswith("/>"):
            return self._mask_to(start, match.end(), f"</{element}>")
        return match.end()

    def _placeholder(self, start: int, after: int) -> int:
        if self.dialect.properties and self.text.startswith("embed ", after):
            self._embed_until = max(self._find("}}", after), 0)
            return after
        return self._mask_to(start, after, "}}", self._end)

    def _open(self, start: int, after: int) -> int:
        text = self.text
        image = text[start] == "!"
        first = start + image
        if after - first == 2:
            match = _WIKILINK.match(text, first, self._end)
            if match:
                embed = image or first < self._embed_until
                self._add(parse_wikilink(match[1], start, match.end(), "embed" if embed else "wikilink", self.dialect),
                          start, match.end())  # fmt: skip
                return match.end()
        self._squares.append((first, image))
        return first + 1

    def _add(self, outcome: Link | Refusal, start: int, end: int) -> None:
        self.opaque.append((start, end))
        if isinstance(outcome, Link):
            self.links.append(outcome)
        elif outcome == "external":
            self.external += 1
        elif outcome == "attachment":
            self.attachments += 1
        elif outcome == "placeholder":
            self.masks.append((start, end))

    def _close(self, start: int, after: int) -> int:
        if not self._squares:
            return after
        opened, image = self._squares.pop()
        depth = len(self._squares)
        linkable = image or depth >= self._link_floor
        fieldable = not image and depth >= self._field_floor
        self._link_floor = min(self._link_floor, depth)
        self._field_floor = min(self._field_floor, depth)
        if linkable and self.text.startswith("(", after):
            match = _DESTINATION.match(self.text, after, self._end)
            written = (match[1] or match[2] or "") if match else ""
            if match and not written.startswith(("[[", "((")):
                return self._link(opened, start, match.end(), written, image)
        if fieldable and self._bracket_field(opened, start):
            self._field_floor = depth  # fields do not nest
            return after
        return self._reference(opened, start, after, image) if linkable and self.references else after

    def _link(self, opened: int, closed: int, end: int, written: str, image: bool) -> int:
        start = opened - image
        label = None if image else _IMAGE.sub("", self.text[opened + 1 : closed]).strip()
        syntax = "embed" if image else "markdown"
        self._add(parse_destination(written, start, end, label, self.dialect, syntax), start, end)
        if not image:  # a link holds no further links: what is still open is none
            self._link_floor = len(self._squares)
        return end

    def _reference(self, opened: int, closed: int, after: int, image: bool) -> int:
        match = _REFERENCE.match(self.text, after, self._end)
        label = self.text[opened + 1 : closed] if closed - opened < 300 else ""
        destination = self.references.get(reference_key(match[1] or label)) if match else None
        if destination is not None and match:
            return self._link(opened, closed, match.end(), destination, image)
        destination = self.references.get(reference_key(label)) if label else None
        if destination is None:
            return after
        return self._link(opened, closed, after, destination, image)

    def _open_round(self, start: int, after: int) -> int:
        match = _BLOCK.match(self.text, start, self._end) if self.text.startswith("((", start) else None
        if match:
            syntax = "embed" if start < self._embed_until else "block"
            self._add(Link(start, match.end(), syntax, match[1], match[0], block=match[1]), start, match.end())
            return match.end()
        self._rounds.append(start)
        return after

    def _close_round(self, start: int, after: int) -> int:
        if self._rounds and self._bracket_field(self._rounds.pop(), start):
            self._rounds.clear()
        return after

    def _bracket_field(self, opened: int, closed: int) -> bool:
        match = _FIELD.match(self.text, opened + 1, closed)
        if not match or match[1].isdigit():
            return False
        end = closed
        while self.text[end - 1].isspace():
            end -= 1
        self.fields.append(BracketField(match.end(), end, *match.span(1)))
        return True

    def _hash(self, start: int, after: int) -> int:
        text = self.text
        if start and (text[start - 1].isalnum() or text[start - 1] in _NO_TAG_BEFORE):
            return after
        if text.startswith("[[", after):
            match = _WIKILINK.match(text, after, self._end)
            if match and match[1].strip() and not match[1].startswith("{{"):
                self.tags.append(Tag(match[1].strip(), start, match.end(), "text"))
                self.opaque.append((start, match.end()))
                return match.end()
            return after
        if _ORG_CODE.match(text, start):
            return self._mask_to(start, after, "#+end_" if text[start + 2].islower() else "#+END_")
        match = (_DOTTED_TAG if self.dialect.dotted_tags else _TAG).match(text, start, self._end)
        if not match or not _TAG_CONTENT.search(match[1]):
            return match.end() if match else after
        self.tags.append(Tag(match[1], start, match.end(), "text"))
        return match.end()

    def _user(self, start: int, after: int) -> int:
        match = _USER.match(self.text, start, self._end) if self.dialect.users else None
        if not match:
            return after
        self.links.append(Link(start, match.end(), "user", f"user.{match[1]}", match[1]))
        return match.end()

    def _url(self, start: int, after: int) -> int:
        match = _URL.match(self.text, start, self._end)
        end = match.end() if match else after
        self.external += 1
        self.opaque.append((start, end))
        return end
