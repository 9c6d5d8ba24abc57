"""Words for scripts that do not separate them.

A full-text index needs tokens, and Chinese, Japanese, Thai, Lao, Khmer and Burmese
text gives none. Overlapping pairs of characters, plus the last character alone, find
every word of two characters or more as a phrase of pairs, and a single character as a
prefix: 東京都 is indexed as 東京 京都 都. Hangul is paired too: Korean is spaced, but
its particles hang on the noun (서울에서), so that whole words would miss most of them.

The same ``pairs`` serve the index (``search_text``) and the question (``text.fts``),
therefore they cannot disagree. Combining marks are dropped in pairs, since FTS5's
unicode61 takes Thai and Lao vowel signs for separators; full-width letters are folded.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["CJK_RUN", "fold_width", "has_cjk", "pairs", "search_text"]

CJK_CLASS = (
    "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1100-\u11ff\u1780-\u17d1\u3005-\u3007\u3041-\u3096\u3099\u309a"
    "\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
CJK_RUN = re.compile(f"[{CJK_CLASS}]+")
_WIDE = re.compile("[\uff00-\uffef]+")
_NEEDS_WORK = re.compile(f"[{CJK_CLASS}\uff00-\uffef]")


def has_cjk(text: str) -> bool:
    """Whether text holds a character of a script that is indexed by pairs.

    >>> has_cjk("Tōkyō"), has_cjk("in 東京")
    (False, True)
    """
    return not text.isascii() and CJK_RUN.search(text) is not None


def fold_width(text: str) -> str:
    """Text with full-width Latin letters and half-width kana in their ordinary form."""
    return text if text.isascii() else _WIDE.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text)


def pairs(run: str) -> list[str]:
    """The overlapping pairs of a run of characters, then its last character.

    >>> pairs("東京都")
    ['東京', '京都', '都']
    """
    run = unicodedata.normalize("NFC", run)
    run = "".join(c for c in run if not unicodedata.category(c).startswith("M"))
    return [run[i : i + 2] for i in range(len(run))]


def search_text(text: str) -> str | None:
    """Return what the index reads in place of text, or None if it can read the text itself.

    >>> search_text("visit 東京都 soon")
    'visit 東京 京都 都 soon'
    >>> search_text("plain words") is None
    True
    """
    if text.isascii() or _NEEDS_WORK.search(text) is None:
        return None
    spaced = CJK_RUN.sub(lambda m: f" {' '.join(pairs(m[0]))} ", fold_width(text))
    return re.sub(" {2,}", " ", spaced).strip(" ")
