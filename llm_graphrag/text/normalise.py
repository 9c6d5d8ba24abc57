"""When two spellings are the same name, and how a name is stored.

``clean_name`` is what a person sees: the spelling as written, made safe to store
and to print. ``name_key`` is what entities are joined by: two names with one key
are one entity, without anybody being asked. So a key forgets only what carries no
meaning in a name (case, width, white space, the kind of dash or quotation mark,
invisible characters, punctuation around it) and never joins different letters:

- ``lower()``, not ``casefold()``: ß stays apart from ss, İ and ı from i, æ from ae.
  The one exception is the Greek final sigma, which is the same letter.
- NFKC does join typographic forms of the same letters (full-width Ａ, the glyph ﬁ).
- Accents are kept: Müller, Muller and Mueller are three keys.
- The Arabic tatweel only stretches a word and is dropped.

Every function here is idempotent.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["clean_name", "fold_identifier", "is_blank", "name_key"]

_SPACE = re.compile(r"\s+")
# Controls that are not white space, format characters (overrides, zero width, soft hyphen, tags), variation selectors.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_SEEN = re.compile(_INVISIBLE.pattern[:1] + "^\\s" + _INVISIBLE.pattern[1:-1])
_SURROGATE = re.compile("[\ud800-\udfff]")
_DASH = re.compile("[\u2010-\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d\u058a\u05be]")
_FOLDED = str.maketrans(
    dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‘’‚‛‹›′`´", "'") | {"ς": "σ", "ـ": None}  # same letter; tatweel
)
_PAIRS = {
    ")": "(", "]": "[", "}": "{", "」": "「", "』": "『", "】": "【", "》": "《", "〉": "〈", "〕": "〔", "⟩": "⟨",
}  # fmt: skip
_OPENERS = {opener: closer for closer, opener in _PAIRS.items()}
_LEADING = frozenset(",;:!?。、¡¿،؛؟…")  # not '.', '@', '#', '/', '-', '$': .NET and @ana are names
_TRAILING = frozenset(".,;:!?。、،؛؟…")  # not '+', '#', '%', '*', '-': C++ and A* are names
_NOT_WORD = re.compile(r"[\W_]+")
_MARK = "M"


def _visible(text: str) -> str:
    """Without invisible characters; a lone surrogate, which cannot be stored, becomes U+FFFD."""
    return _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", text))


def is_blank(text: str) -> bool:
    """Whether a text holds nothing that can be seen: only white space and invisible characters.

    >>> is_blank("\\u200b \\n"), is_blank("\\u200ba")
    (True, False)
    """
    return _SEEN.search(text) is None


def clean_name(name: str) -> str:
    """Return a name as it is stored and shown: NFC, one line, trimmed, without invisible characters.

    Joiners inside emoji are invisible characters too. The length is not limited; that is the caller's business.

    >>> clean_name("  Ana\\n\\u202ePetrov ")
    'Ana Petrov'
    """
    if name.isascii() and name.isprintable():
        return _SPACE.sub(" ", name).strip()
    name = unicodedata.normalize("NFC", _visible(name))
    return _SPACE.sub(" ", name).strip()


def _without_shell(name: str) -> str:
    """Without the punctuation and the brackets around a name; the name itself where nothing else would be left."""
    start, end = 0, len(name)
    while start < end:
        first, last = name[start], name[end - 1]
        inner = name[start + 1 : end - 1]
        if first == " " or first in _LEADING:
            start += 1
        elif last == " " or last in _TRAILING:
            end -= 1
        elif end - start > 1 and first in "\"'" and first == last:
            start, end = start + 1, end - 1
        elif first in _OPENERS and _closed_by(name, start, end) in (None, end - 1):
            end -= _closed_by(name, start, end) is not None
            start += 1
        elif last in _PAIRS and inner.count(_PAIRS[last]) + (first == _PAIRS[last]) <= inner.count(last):
            end -= 1
        elif first in "\"'" and first not in inner and any(map(str.isalnum, inner + last)):
            start += 1
        elif last in "\"'" and last not in inner:
            end -= 1
        else:
            break
    return name[start:end]


def _closed_by(name: str, start: int, end: int) -> int | None:
    """The place of the bracket that closes the one at start, None if there is none before end."""
    opener, closer, depth = name[start], _OPENERS[name[start]], 0
    for place in range(start, end):
        depth += (name[place] == opener) - (name[place] == closer)
        if depth == 0:
            return place
    return None


def _fold(name: str) -> str:
    if name.isascii():
        name = name.lower().replace("`", "'")
        return _SPACE.sub(" ", name if name.isprintable() else _visible(name)).strip()
    for _ in range(4):  # lower-casing and removals can make a string composable again; two rounds are the most seen
        folded = unicodedata.normalize("NFKC", _visible(name)).lower()
        folded = _DASH.sub("-", folded.translate(_FOLDED))
        folded = unicodedata.normalize("NFKC", _SPACE.sub(" ", folded).strip())
        if folded == name:
            break
        name = folded
    return name


def name_key(name: str) -> str:
    """Return the key by which names are joined; empty only for a name of white space and invisible characters.

    >>> [name_key(n) for n in ("“System  Admin”", "SYSTEM\\nADMIN", "(system admin)")]
    ['system admin', 'system admin', 'system admin']
    >>> [name_key(n) for n in ("C#", "C++", "100%", "..", "Mercury (planet)", "Straße", "STRASSE")]
    ['c#', 'c++', '100%', '..', 'mercury (planet)', 'straße', 'strasse']
    """
    folded = _fold(name)
    if folded[:1].isalnum() and folded[-1:].isalnum():
        return folded
    return _without_shell(folded) or folded


def fold_identifier(name: str) -> str:
    """Return the identifier of a type, relation or attribute: lower case, words joined by ``_``.

    Raises ValueError if the name holds no letter or digit.

    >>> {fold_identifier(n) for n in ("Reports to", "reports-to", "Reports_To")}
    {'reports_to'}
    """
    folded = _fold(name)
    if folded.isascii():
        identifier = _NOT_WORD.sub("_", folded).strip("_")
    else:  # vowel signs and accents that do not compose are parts of words, though no word characters to re
        kept = (c if c.isalnum() or unicodedata.category(c)[0] == _MARK else "_" for c in folded)
        identifier = re.sub("_+", "_", "".join(kept)).strip("_")
    if not any(map(str.isalnum, identifier)):
        raise ValueError(f"{name!r} is no name for a type, relation or attribute: it holds no letter or digit")
    return identifier
