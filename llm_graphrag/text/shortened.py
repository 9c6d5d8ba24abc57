"""Names in a message: each on one line and not longer than a reader wants, and not more of them than help."""

from __future__ import annotations

from collections.abc import Collection

from .normalise import clean_name

__all__ = ["listed", "shortened"]

LONGEST = 100  # letters of a name in a message
MOST = 20  # names that are listed


def shortened(name: str, longest: int = LONGEST) -> str:
    """A name on one line, cut where it is too long.

    >>> shortened("directed\\nby"), shortened("abcdefgh", 5)
    ('directed by', 'abcd…')
    """
    name = clean_name(name)
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"


def listed(names: Collection[str], most: int = MOST) -> str:
    """Names for a reader to choose from, in their order, each cut; those past ``most`` are only counted.

    >>> listed(["knows", "likes"]), listed(["a", "b", "c"], 2)
    ('knows, likes', 'a, b and 1 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(shortened, list(names)[:most])) + more
