"""What others say went wrong, as it may be printed and stored: one line, nothing that a terminal obeys, and no key.

An error of a provider is text from outside. It may hold the address that was called, with the key
in it, the header that was refused, or bytes that colour a terminal and turn the direction
of writing. Keys are recognised by how providers write them and by the words they stand
after; one that is known exactly is also looked for as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["HIDDEN", "MAX_LENGTH", "error_text"]

MAX_LENGTH = 300  # characters
HIDDEN = "[key]"
SHORTEST = 8  # characters of a secret that is looked for; what is shorter stands in ordinary words

_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"
    "|\x1b."
)
_UNSEEN = {"Cc", "Cf", "Cs", "Cn", "Co"}  # categories of what is not seen, or is not a character
_KEYS = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai|pplx|nvapi|csk|fw|tgp)[-_]|hf_|r8_|gh[pousr]_|github_pat_|AIza|AKIA|ASIA|ya29\.|eyJ)"
    r"(?=[\w.-]*\d)[\w.-]{12,}"
)
_MIXED = r"""(?=[^\s'"&,;)}\]<>]*\d)(?=[^\s'"&,;)}\]<>]*[a-z])"""  # letters and digits: no number, no word
_NAMED = re.compile(
    rf"""((?:(?:secret|password|authorization)['"]?\s*[:=]\s*['"]?(?:(?:bearer|basic)\s+)?
    |(?:key|token|credentials?)['"]?\s*(?:[:=]|\bprovided:?)\s*['"]?{_MIXED}
    |\b(?:bearer|basic)\s+{_MIXED}))[^\s'"&,;)}}\]<>]{{8,}}""",
    re.IGNORECASE | re.VERBOSE,
)
_LOGIN = re.compile(r"(://)[^\s/@]+@")


def error_text(error: object, secrets: Iterable[str | None] = ()) -> str:
    """The text of an error, at most ``MAX_LENGTH`` characters; ``secrets`` must not be in it.

    >>> error_text("\\x1b[31mbad\\x1b[0m\\nrequest to https://x.org/?key=AIzaSyD-1234567890abc&alt=sse")
    'bad request to https://x.org/?key=[key]&alt=sse'
    >>> error_text("Incorrect API key provided: sk-proj-12345678901234. Is max_tokens: 4000 too much?")
    'Incorrect API key provided: [key] Is max_tokens: 4000 too much?'
    """
    text = _SEQUENCE.sub("", str(error))
    text = " ".join("".join(c if c.isspace() or unicodedata.category(c) not in _UNSEEN else "" for c in text).split())
    for secret in secrets:
        if secret and len(secret) >= SHORTEST:
            text = text.replace(secret, HIDDEN)
    text = _LOGIN.sub(rf"\1{HIDDEN}@", _NAMED.sub(rf"\1{HIDDEN}", _KEYS.sub(HIDDEN, text)))
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"
