"""A model's reply, cut into sentences while it arrives.

A sentence is given out as soon as nothing that may still come can change where it ends:
its citations may follow the full stop, a bracket may be half there, a list may follow
the line that introduces it. What is cut depends on the text alone and not on the pieces
in which it came: each decision sees a view of bounded length and is either made in it
or waits for more of it.

A line that introduces others, a heading, and a sentence with nothing of substance in it
("Yes.") belong to what follows, since what they say is only said there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..text.sentences import sentence_spans
from .brackets import CITATION, without
from .substance import keys

__all__ = ["MISSING", "Splitter", "Unit"]

MISSING = "NOT IN THE NOTES:"
"""How a model is asked to say what the passages do not hold; from there to the end of the line."""

LONGEST = 2_000  # characters of a sentence; then it is cut at white space
VIEW = LONGEST + 400
AHEAD = 8  # characters after a full stop that may tell whether it is one
TAIL = 100  # characters before it that may

_EVENT = re.compile(r"(?P<stop>[.!?…]+[\"'”’»)*_]*)|(?P<full>[。！？｡]+[」』”’）)]*|[؟۔।॥]+)|(?P<line>\n)")
_CLUSTER = re.compile(rf"(?:[ \t]*{CITATION.pattern.replace('?P<numbers>', '?:')})+[.。]?", re.IGNORECASE)
_GROWING = re.compile(r"[ \t]*(?:[\[［【〔][^\]］】〕\n]*|\([^()\s]{0,310})?\Z")
_SPACE = re.compile(r"\s*")
_LEADING = re.compile(rf"[-*+•\s]*{CITATION.pattern}", re.IGNORECASE)
_FRESH = re.compile(r"[-*+•>|#]|\d{1,3}[.)]\s|" + MISSING.rstrip(":"), re.IGNORECASE)  # what begins a line of its own
_INTRODUCES = re.compile(r"[:：][*_]*\s*\Z")
_HEADING = re.compile(r"(?:\A|\n)[ \t]*#{1,6}[ \t][^\n]*\Z")
_ENDED = re.compile(r"[.!?…。！？｡؟۔।॥\]］】〕][\"'”’»」』）)*_]*\s*\Z")
_MISSING = re.compile(rf"[\W_]*{MISSING.rstrip(':')}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence as it was written, with its citations, and what separates it from the one before."""

    before: str  # "", " ", "\n" or "\n\n"
    text: str


class Splitter:
    """``feed`` it pieces, then ``close`` it; both return the sentences that are complete by then.

    >>> splitter = Splitter()
    >>> [unit.text for piece in ("Dr. Ana ran. [1", "] Ben sl", "ept.") for unit in splitter.feed(piece)]
    ['Dr. Ana ran. [1]']
    >>> splitter.close()
    [Unit(before=' ', text='Ben slept.')]
    """

    def __init__(self) -> None:
        self._text = ""
        self._start = 0  # of the sentence that is not complete yet, in _text
        self._at = 0  # how far it was looked through, from its start
        self._empty = 0  # how far it is known to hold nothing of substance
        self._before = ""
        self._first = True
        self._leading: bool | None = None  # the reply begins with a citation: then they stand before their sentences
        self._closed = False

    def feed(self, piece: str) -> list[Unit]:
        self._text = self._text[self._start :] + piece
        self._start = 0
        return self._complete()

    def close(self) -> list[Unit]:
        self._closed = True
        units = self._complete()
        rest = self._text[self._start :].rstrip()
        return [*units, self._cut(len(rest))] if rest else units

    def _complete(self) -> list[Unit]:
        units = []
        while self._trim():
            view = self._text[self._start : self._start + VIEW]
            whole = self._closed and self._start + len(view) == len(self._text)
            end = self._end(view, whole)
            if end is None and len(view) == VIEW and not whole:
                end = _forced(view)
            if end is None:
                break
            units.append(self._cut(end))
        return units

    def _trim(self) -> bool:
        """Take white space before a sentence for what separates it; False if nothing else is there."""
        match = _SPACE.match(self._text, self._start)
        end = match.end() if match else self._start
        if end > self._start:
            self._before = (self._before + self._text[self._start : end])[-LONGEST:]
            self._start = end
            self._at = self._empty = 0
        return end < len(self._text)

    def _cut(self, end: int) -> Unit:
        newlines = self._before.count("\n")
        before = "" if self._first else "\n\n" if newlines > 1 else "\n" if newlines else " "
        unit = Unit(before, self._text[self._start : self._start + end].rstrip())
        self._start += end
        self._at = self._empty = 0
        self._before, self._first = "", False
        return unit

    def _end(self, view: str, whole: bool) -> int | None:
        """Where the sentence at the start of the view ends; None if that is not to be said yet."""
        while (event := _EVENT.search(view, self._at)) is not None:
            missing = _MISSING.match(view, 0, event.start()) is not None
            if event.end() == len(view) and not whole:
                return None
            if self._leading is None:
                self._leading = _LEADING.match(view, 0, event.start()) is not None
            if event["line"]:
                end, next_ = _at_line(view, event, whole, missing, self._leading)
            else:
                end, next_ = (None, event.end()) if missing else _at_stop(view, event, whole, self._leading)
            if next_ is None:
                return None
            self._at = next_
            if end is None or not (missing or self._says_something(view, end)):
                continue
            if event["line"] or _is_stop(view, event, end):
                return end
        self._at = max(self._at, len(view))
        return None

    def _says_something(self, view: str, end: int) -> bool:
        text = view[:end]
        if _INTRODUCES.search(text) or _HEADING.search(text):
            return False
        if keys(without(text[self._empty :])):
            return True
        self._empty = end
        return False


def _cluster(view: str, at: int, whole: bool) -> int | None:
    """Where the citations that follow a place end (the place itself if there are none); None if more may come."""
    match = _CLUSTER.match(view, at)
    end = match.end() if match else at
    return None if not whole and _GROWING.match(view, end) else end


def _at_stop(view: str, event: re.Match[str], whole: bool, leading: bool) -> tuple[int | None, int | None]:
    """(end of the sentence if this may be its full stop, where to go on); (None, None) if more must come first."""
    end = event.end() if leading else _cluster(view, event.end(), whole)
    if end is None:
        return None, None
    following, newline, _ = view[end : end + AHEAD].partition("\n")
    if not whole and not newline and len(following) < AHEAD:
        return None, None
    if not following.strip():
        return None, end  # the end of the line, or of all, decides
    apart = event["full"] or following[0].isspace() or end > event.end()
    return (end if apart else None), end


def _is_stop(view: str, event: re.Match[str], end: int) -> bool:
    """Whether a sentence ends here, rather than an abbreviation, by the rules for notes."""
    before = without(view[max(0, event.start() - TAIL) : event.start()]).rstrip() + event[0]
    following = view[end : end + AHEAD].partition("\n")[0].strip()
    return any(last == len(before) for _, last in sentence_spans(f"{before} {following}"))


def _at_line(
    view: str, event: re.Match[str], whole: bool, missing: bool, leading: bool
) -> tuple[int | None, int | None]:
    """The same for the end of a line. Citations that stand alone on the next line belong to this one."""
    space = _SPACE.match(view, event.start())
    at = space.end() if space else event.end()
    if at + len(MISSING) > len(view) and not whole:
        return None, None
    blank = view.count("\n", event.start(), at) > 1
    end = event.start()
    if not leading and (CITATION.match(view, at) or _GROWING.match(view, at)):
        alone = _cluster(view, at, whole)
        if alone is None:
            return None, None
        rest = view[alone:].lstrip(" \t")
        if alone > at and (not rest or rest.startswith("\n")):
            return alone, alone
    ends = missing or blank or _ENDED.search(view, 0, end) is not None or _FRESH.match(view, at) is not None
    return (end if ends else None), at


def _forced(view: str) -> int:
    """Where to cut what does not end: at the last white space there is, else anywhere."""
    cut = max(view.rfind(" ", 0, LONGEST), view.rfind("\n", 0, LONGEST))
    return cut if cut > 0 else LONGEST
