"""Text of models and of notes without what cannot be seen: it may steer a terminal, or hide words from a reader.

Lines stay lines. Joiners stay where writing needs them, between letters and inside
emoji, but not beside a bracket or a digit, where they would make ``[9]`` look like a
citation without being one.
"""

from __future__ import annotations

import re

from ..routes.snippets import visible

__all__ = ["lines", "without_invisible"]

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]+"
)
_ESCAPES = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)")  # colours and the like, titles
_JOINER = re.compile(
    "(?<=[\\d\\[\\](){}【】［］〔〕])[\u200c\u200d\ufe0f]+|[\u200c\u200d\ufe0f]+(?=[\\d\\[\\](){}【】［］〔〕])"
)
_INDENT = re.compile(r" {0,8}")


def without_invisible(text: str) -> str:
    """Text without control characters, marks of direction and what else has no shape; white space stays.

    >>> without_invisible("a\\x1b[31mb\\x1b\\u202e [\\u200d9]\\n\\tc")
    'ab [9]\\n\\tc'
    """
    if text.isascii() and text.isprintable():
        return text
    return _JOINER.sub("", _INVISIBLE.sub("", _ESCAPES.sub("", text)))


def lines(text: str) -> str:
    """Text to be printed: no invisible characters, single spaces, no blank lines, indented by at most eight spaces.

    >>> lines("  - a\\r\\n\\n\\x1b\\tb ")
    '  - a\\n b'
    """
    shown = []
    for line in without_invisible(text).split("\n"):
        indent = _INDENT.match(line)
        body = visible(line[len(indent[0]) if indent else 0 :]).rstrip()
        if body:
            shown.append((indent[0] if indent else "") + body)
    return "\n".join(shown)
