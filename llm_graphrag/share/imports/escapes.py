"""Letters that a file writes as escapes, written as themselves, so that they are found, shown and quoted.

``json.dumps`` writes ``\\u00fc`` for ü unless told otherwise. The text means the same without: what has to be escaped
stays so, and so do ends of lines, so that lines keep their numbers.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["json_written_out", "ntriples_written_out"]

_JSON = re.compile(r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|u([0-9a-f]{4})|(/)|.)", re.IGNORECASE)
_NTRIPLES = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.)")

NO_LETTERS = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of characters, ends of lines
OF_JSON = frozenset('"\\')
OF_NTRIPLES = frozenset('"\\ <>{}|^`')  # in IRIs these have to be escaped


def json_written_out(text: str) -> str:
    r"""JSON without escapes that it can do without.

    >>> print(json_written_out(r'["Z\u00fcrich", "\ud83d\ude00", "AC\/DC", "\\u00fc", "\u0022\n\ud83d"]'))
    ["Zürich", "😀", "AC/DC", "\\u00fc", "\u0022\n\ud83d"]
    """

    def letter(found: re.Match[str]) -> str:
        high, low, code, slash = found.groups()
        if slash:
            return slash
        if high:
            code = f"{0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00:x}"
        return _letter(code, OF_JSON) or found[0]

    return _JSON.sub(letter, text) if "\\" in text else text


def ntriples_written_out(text: str) -> str:
    r"""N-Triples without escapes that they can do without.

    >>> print(ntriples_written_out(r'<http://a.org/M\u00FCller> <urn:b> "\U0001F600 \u0022\\u00FC" .'))
    <http://a.org/Müller> <urn:b> "😀 \u0022\\u00FC" .
    """
    return _NTRIPLES.sub(lambda found: _letter(found[1] or found[2], OF_NTRIPLES) or found[0], text)


def _letter(code: str | None, escaped: frozenset[str]) -> str:
    """The character of a hexadecimal number; empty if it is none that can stand for itself."""
    number = int(code, 16) if code else 0
    char = chr(number) if 0 < number < 0x110000 else ""
    return "" if not char or char in escaped or unicodedata.category(char) in NO_LETTERS else char
