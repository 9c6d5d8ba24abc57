"""Where the sidecar of a note stands: under the uri of the note, made safe for every file system.

What a note is called comes from anywhere, from a column of a table too. So no part of a path can lead out of the
folder, hide, or mean something to a system: what could is percent-encoded. What would be too long, or what some
systems would take for one another, stands in a folder of its own, with a hash of the uri in its name. The name decides
nothing: which note a sidecar is about, it says itself.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["SCHEMA", "SUFFIX", "paths"]

SUFFIX = ".facts.toml"
SCHEMA = "schema.toml"
OTHER = "other-names"
MAX_NAME, MAX_PATH = 200, 800  # bytes, with room for the suffix and for where the folder stands

_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f"*:<>?|\\%~\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|^[. ]|[. ]$')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def paths(uris: Iterable[str]) -> dict[str, str]:
    """Uri → path relative to the folder of sidecars, with ``/``; no two are the same on any system.

    >>> list(paths(["v/../../etc/passwd", "v/CON.md", "v/a?.md", "v/b.md"]).values())[:3]
    ['v/%2E%2E/%2E%2E/etc/passwd.facts.toml', 'v/%43ON.md.facts.toml', 'v/a%3F.md.facts.toml']
    >>> [path.partition("~")[0] for path in paths(["v/A.md", "v/a.md"]).values()]
    ['other-names/A.md', 'other-names/a.md']
    """
    safe = {uri: [_safe(part) for part in uri.split("/")] for uri in uris}
    spellings: dict[str, set[str]] = {}
    for parts in safe.values():
        for prefix in _prefixes(parts):
            spellings.setdefault(_folded(prefix), set()).add(prefix)
    found = {}
    for uri, parts in safe.items():
        alone = all(len(spellings[_folded(prefix)]) == 1 for prefix in _prefixes(parts))
        found[uri] = "/".join(parts) + SUFFIX if alone and _is_usable(parts) else _other(uri, parts[-1])
    return found


def _prefixes(parts: Sequence[str]) -> list[str]:
    """A path and the folders above it."""
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


def _is_usable(parts: Sequence[str]) -> bool:
    """Whether a path fits, and none of its folders has the name of one of our files."""
    if max(map(_length, parts)) > MAX_NAME or sum(map(_length, parts)) > MAX_PATH:
        return False
    return parts[0].casefold() != SCHEMA and not any(part.casefold().endswith(SUFFIX) for part in parts[:-1])


def _length(part: str) -> int:
    return len(part.encode("utf-8"))


def _other(uri: str, name: str) -> str:
    short = name.encode("utf-8")[: MAX_NAME - 20].decode("utf-8", "ignore")
    return f"{OTHER}/{short}~{hashlib.sha256(uri.encode('utf-8')).hexdigest()[:12]}{SUFFIX}"


def _safe(part: str) -> str:
    """One part of a path; an empty one has a name too."""
    part = _UNSAFE.sub(lambda match: _percent(match[0]), part) or "%"
    return _percent(part[0]) + part[1:] if _RESERVED.match(part) else part


def _percent(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode("utf-8"))
