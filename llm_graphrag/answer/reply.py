"""A model's reply, read while it arrives: which sentences may be shown, and what the model says is missing.

Plain text is asked for, and most replies are that. A reply may also be JSON with an
``answer``, stand in a code fence, or begin with the model's thoughts (``<think>``); those
are unwrapped, once they are complete. Nothing is shown before the first sentence with a
citation that holds: so a reply without any was never shown at all, and what a terminal
has printed is never taken back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .brackets import disarmed, without
from .citations import Removed, Sentence, Verifier, printed
from .plain import lines
from .units import MISSING, Splitter, Unit

__all__ = ["LONGEST_REPLY", "Said", "Speech"]

LONGEST_REPLY = 100_000  # characters; what comes after them is not looked at
LONGEST_MISSING = 400

EMPTY = "The model's reply was empty."
NO_ANSWER = "The model's reply was JSON without an answer in it."
NOT_HELD = "The model finds no answer in the passages."
NOTHING_HOLDS = "The model's answer is not shown, since no passage that it cites supports it."

_THOUGHTS = re.compile(r"\s*<think(?:ing)?>.*?(</think(?:ing)?>\s*|\Z)", re.DOTALL | re.IGNORECASE)
_WRAPPED = re.compile(r"\s*(?:\{|```|\[\s*[{\"])")
_UNDECIDED = re.compile(r"\s*(?:`{1,2}|\[\s*|<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?)?\Z", re.IGNORECASE)
_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)(.*)", re.DOTALL)
_FORM = re.compile(rf"[\W_]*{MISSING.rstrip(':')}[\s:*_]*", re.IGNORECASE)
_NOTHING = frozenset(["", "none", "nothing", "n/a", "-", "nichts", "rien", "nada"])


@dataclass(frozen=True, slots=True)
class Said:
    """A reply that was read to its end."""

    sentences: tuple[Sentence, ...]
    missing: str  # what the passages do not hold, in the model's words
    verdict: str  # answered, partial, abstained
    why: str  # it is abstained
    invented: int  # citations to numbers that do not exist
    removed: tuple[Removed, ...]
    cut: int  # characters that were not looked at


class Speech:
    """``feed`` it the pieces of a reply and ``close`` it; ``emit`` gets what may be shown, as soon as it may."""

    def __init__(self, verifier: Verifier, emit: Callable[[str], None] | None = None) -> None:
        self._verifier, self._emit = verifier, emit
        self._wrapping: str | None = ""  # what came, until it is known to be plain text: then None
        self._splitter = Splitter()
        self._sentences: list[Sentence] = []
        self.shown = 0  # sentences that were given to emit
        self._before = ""
        self._missing: list[str] = []
        self._declared = False
        self._why = EMPTY
        self._length = 0

    def feed(self, piece: str) -> None:
        room = LONGEST_REPLY - self._length
        self._length += len(piece)
        piece = piece[: max(0, room)]
        if self._wrapping is not None:
            self._wrapping += piece
            plain = _without_thoughts(self._wrapping)
            if _WRAPPED.match(plain) or _UNDECIDED.match(plain):
                return
            piece, self._wrapping = plain, None
        self._take(self._splitter.feed(piece))

    @property
    def heard(self) -> bool:
        """Whether anything has come."""
        return self._length > 0

    def close(self) -> Said:
        """The reply has ended: what it comes to."""
        if self._wrapping is not None:
            text, self._why = _unwrapped(_without_thoughts(self._wrapping))
            self._take(self._splitter.feed(text))
        self._take(self._splitter.close())
        missing = "; ".join(dict.fromkeys(self._missing))
        if not any(sentence.citations for sentence in self._sentences):
            verdict = "abstained"
            why = NOT_HELD if self._declared else NOTHING_HOLDS if self._sentences else self._why
        else:
            whole = all(sentence.supported for sentence in self._sentences) and not missing
            verdict, why = "answered" if whole else "partial", ""
        return Said(
            sentences=tuple(self._sentences),
            missing=missing,
            verdict=verdict,
            why=why,
            invented=sum(sentence.invented for sentence in self._sentences),
            removed=tuple(removed for sentence in self._sentences for removed in sentence.removed),
            cut=max(0, self._length - LONGEST_REPLY),
        )

    def _take(self, units: list[Unit]) -> None:
        for unit in units:
            self._before = max(self._before, unit.before, key=lambda gap: (gap.count("\n"), len(gap)))
            text, form, missing = unit.text.partition(MISSING)
            if not form and (match := _FORM.match(text)) is not None:
                text, form, missing = "", match[0], text[match.end() :]
            if form:
                self._declare(missing)
            sentence = self._verifier.sentence(self._before if self._sentences else "", text)
            if sentence is not None:
                self._sentences.append(sentence)
                self._before = ""
        self._show()

    def _declare(self, missing: str) -> None:
        said = " ".join(disarmed(without(lines(missing))).split()).replace(" .", ".").strip(" *_")
        said = said if len(said) <= LONGEST_MISSING else said[: LONGEST_MISSING - 1] + "…"
        if said.strip(".").lower() not in _NOTHING:
            self._missing.append(said)
        self._declared = True

    def _show(self) -> None:
        if self._emit is not None and any(sentence.citations for sentence in self._sentences):
            for sentence in self._sentences[self.shown :]:
                self._emit(printed(sentence))
            self.shown = len(self._sentences)


def _without_thoughts(text: str) -> str:
    match = _THOUGHTS.match(text)
    return text[match.end() :] if match else text


def _unwrapped(text: str) -> tuple[str, str]:
    """The answer in a reply that may be JSON or fenced, and what to say if there is none."""
    fenced = _FENCE.match(text)
    inner, after = (fenced[1], fenced[2]) if fenced else (text, "")
    value = _json(inner)
    if isinstance(value, dict):
        answer = _words(value.get("answer"), " ")
        missing = _words(value.get("missing"), "; ")
        return (f"{answer}\n{MISSING} {missing}" if missing else answer), EMPTY if "answer" in value else NO_ANSWER
    if isinstance(value, list):
        return "", NO_ANSWER
    return f"{inner}\n{after}".strip(), EMPTY


def _json(text: str) -> Any:
    """The object or list that a text is, mended if need be; None if it is none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    import json_repair

    try:
        value = json_repair.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "answer" in value else None


def _words(value: Any, between: str) -> str:
    if isinstance(value, list):
        return between.join(item for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""
