"""Text from elsewhere, put into a Markdown note so that it stays in its place.

A row, a page of a PDF or an answer of a model is written into a note as metadata, as
a heading or as a part of the body. None of them can break out: a value cannot end
the metadata block, a title cannot start a new line, a body cannot leave a code fence
open for what follows. The text is changed as little as that allows, because it is
what citations quote: quotes around values, backslashes before signs, never an escape
sequence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .markdown import plain_heading

Value = str | Sequence[str]

#: Values of metadata are short; longer ones are text.
MAX_VALUE = 300
_PLAIN_VALUE = re.compile(r"[^\W_](?:[\w ./@+€$%()'–—-]*[\w.)%€$])?")
_PLAIN_KEY = re.compile(r"[^\W\d_](?:[\w ./()-]*[\w)])?")
_NOT_TEXT = frozenset("null true false yes no on off y n".split())
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_LIST_PREFIX = re.compile(r"[ \t>]*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_HEADING = re.compile(r"( {0,3})(#{1,6})(?=[ \t]|$)")
_STARTS_BLOCK = re.compile(r"(?:#{1,6}(?:[ \t]|$)|>|`{3}|~{3}|[-=+*_](?:[ \t]*[-=+*_])*[ \t]*$|<)")
_SIGNS = re.compile(r"([\\`*_\[\]<>#~=|^])")


def metadata(values: Mapping[str, Value]) -> str:
    """A metadata block with these keys; a list becomes a YAML list. Empty without values."""
    if not values:
        return ""
    lines = ["---"]
    for key, value in values.items():
        if isinstance(value, str):
            lines.append(f"{_key(key)}: {scalar(value)}")
        else:
            lines += [f"{_key(key)}:", *(f"  - {scalar(item)}" for item in value)]
    return "\n".join([*lines, "---", ""]) + "\n"


def scalar(value: str) -> str:
    r"""One line as a YAML scalar, as it stands or in quotes.

    >>> scalar("Kestrel Labs"), scalar("null"), scalar('say "hi"'), scalar("[[Ada]]: x")
    ('Kestrel Labs', '"null"', '\'say "hi"\'', '"[[Ada]]: x"')
    """
    value = one_line(value)
    if _PLAIN_VALUE.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    if '"' in value or "\\" in value:
        return "'" + value.replace("'", "''") + "'"
    return f'"{value}"'


def _key(key: str) -> str:
    key = one_line(key)[:200]
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _NOT_TEXT else scalar(key)


def one_line(value: str) -> str:
    """The value with every run of white space as one space."""
    return " ".join(value.split())


def is_short(value: str) -> bool:
    """Whether a value may stand in metadata: one line, not long, and not full of brackets."""
    return len(value) <= MAX_VALUE and not any(sign in value for sign in "\n\x85\u2028\u2029") and value.count("[") < 20


def heading(title: str, level: int) -> str:
    r"""A heading line that reads as ``title``.

    >>> heading("Harbour clock", 1), heading("C #", 2), heading("a_b <i>", 1)
    ('# Harbour clock', '## C \\#', '# a\\_b \\<i\\>')
    """
    title = one_line(title)
    marks = "#" * level
    if plain_heading(f"{marks} {title}") == title and "[[" not in title:
        return f"{marks} {title}"
    return f"{marks} " + _SIGNS.sub(r"\\\1", title)


def fence_of(line: str, fence: str) -> str:
    """The code fence that is open after ``line``, given the one before; empty if none is."""
    match = _FENCE.match(line)
    if not match:
        return fence
    if not fence:
        return match[1]
    closes = match[1][0] == fence[0] and len(match[1]) >= len(fence) and not line[match.end() :].strip()
    return "" if closes else fence


def nested(text: str, level: int) -> str:
    """Markdown as part of a section of ``level``: its headings go below that, and its fences are closed."""
    lines: list[str] = []
    fence = before = ""
    for line in text.split("\n"):
        was, fence = fence, fence_of(line, fence)
        if not was and not fence:
            if _UNDERLINE.match(line) and before.strip():
                lines.append("")  # no heading: a rule, or signs
            line = _HEADING.sub(lambda match: match[1] + "#" * min(6, len(match[2]) + level), line)
        lines.append(line)
        before = line
    if fence:
        lines.append(fence)
    return "\n".join(lines)


def plain(text: str) -> str:
    """Text without markup as Markdown: indentation goes, and a line that would start a block is escaped."""
    lines = []
    for line in text.split("\n"):
        line = line.strip()
        lines.append("\\" + line if _STARTS_BLOCK.match(line) else line)
    return "\n".join(lines)
