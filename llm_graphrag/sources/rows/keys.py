"""The path of a row within its source: readable, unique, and the same at every reading.

Parts of a key are joined by commas. What would be ambiguous in a path (slashes at the
ends, dots alone, control characters) is percent-encoded. A key that stands twice is
kept twice: the second row is ``key~2``, and that is said. A row without a key is named
by the hash of its text, and again ``~2`` if another has the same.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

MAX_KEY = 300
_ENCODED = re.compile(r"[%~,\\\x00-\x1f\x7f-\x9f\u2028\u2029]|^\s|\s$")
_BAD_PATH = re.compile(r"(?:^|/)\.{0,2}(?:/|$)")


class Paths:
    """Gives paths to the rows of one reading, in order."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, parts: Sequence[str], text: str) -> tuple[str, int]:
        """The path of a row with these parts of a key (none: by its text), and its place among those of one key."""
        path = key_path(parts) if parts else "row-" + hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
        self._seen[path] += 1
        place = self._seen[path]
        return (path if place == 1 else f"{path}~{place}"), place


def key_path(parts: Sequence[str]) -> str:
    """A key as a path.

    >>> key_path(["1"]), key_path(["DE", "a/b"]), key_path(["a,b", "50%"]), key_path(["../x"]), key_path(["a\\nb"])
    ('1', 'DE,a/b', 'a%2Cb,50%25', '..%2Fx', 'a%0Ab')
    """
    path = ",".join(_ENCODED.sub(lambda match: _percent(match[0]), part) for part in parts)
    if len(path) > MAX_KEY:
        return f"{path[:100]}-{hashlib.sha256(path.encode('utf-8')).hexdigest()[:16]}".replace("/", "%2F")
    if _BAD_PATH.search(path):
        path = path.replace("/", "%2F")
    return path.replace(".", "%2E") if path in (".", "..") else path


def _percent(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode("utf-8"))
