"""Where names and quotes stand in a window.

A name that is spelled otherwise than in the text counts as standing there if all of its
significant words do, in one sentence. A note's title and headings are shown to the model
and say what the note is about, so a name may stand there too; a quote may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...text.quotes import find_quote
from ...text.sentences import sentence_around, sentence_spans
from .folded import Folded, folded, holds, holds_any, key_of
from .window import Window

__all__ = ["BEGINNING", "Places", "Spot"]

_SAME = 1.0  # a score that only the same text reaches
_SHELL = " \"'.…"  # what find_quote does without around a quote
_MAX_FUZZY = 200  # quotes of one reply that are searched for with differences
_MAX_OCCURRENCES = 4  # of one quote in one chunk
_MAX_SENTENCE = 400
BEGINNING = 12  # characters before a name that a chunk begins with: an article, markup
_QUALIFIER = re.compile(r"(?<=\S)\s*\([^()]*\)\s*$")  # Mercury (planet)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a quote stands: chunk number, code points of its text, and what was put right to find it."""

    number: int
    start: int
    end: int
    flags: tuple[str, ...] = ()


class Places:
    """The chunks of one window. Folded texts are kept as long as this object."""

    def __init__(self, window: Window) -> None:
        self.chunks = {chunk.number: chunk for chunk in window.chunks}
        self._whole = {chunk.number: folded(chunk.text) for chunk in window.chunks}
        self._longest = max((len(chunk.text) for chunk in window.chunks), default=0)
        self._documents: dict[int, list[int]] = {}
        self._shown: dict[int, list[Folded]] = {}  # what else is shown of a document: its title, headings, the context
        for chunk in window.chunks:
            first = chunk.document not in self._documents
            self._documents.setdefault(chunk.document, []).append(chunk.number)
            texts = [chunk.title if first else "", chunk.heading, "" if len(self._shown) else window.context]
            self._shown.setdefault(chunk.document, []).extend(folded(text) for text in texts if text)
        self._sentences: dict[int, list[tuple[int, int]]] = {}
        self._slices: dict[tuple[int, int, int], Folded] = {}
        self._fuzzy_left = _MAX_FUZZY

    # -- names ------------------------------------------------------------------------

    def stand_in(self, number: int, names: Iterable[str]) -> bool:
        """Whether one of the names stands in a chunk; spelled otherwise, in one of its sentences."""
        return any(self._stands(number, name) for name in names)

    def _stands(self, number: int, name: str) -> bool:
        whole = self._whole[number]
        if next(whole.find(key_of(name)), None):
            return True
        return holds(whole, name) and any(holds(self.slice(number, *span), name) for span in self.sentences(number))

    def stand_in_document(self, number: int, names: Sequence[str]) -> bool:
        """Whether one of the names stands in the document of a chunk, as far as the window shows it."""
        shown = self._shown[self.chunks[number].document]
        return any(self.stand_in(other, names) for other in self.siblings(number)) or any(
            holds_any(text, names) for text in shown
        )

    def documents_with(self, names: Sequence[str]) -> list[int]:
        """The first chunk of every document in which one of the names stands."""
        return [numbers[0] for numbers in self._documents.values() if self.stand_in_document(numbers[0], names)]

    def siblings(self, number: int) -> list[int]:
        """The chunks of the same document."""
        return self._documents[self.chunks[number].document]

    def is_subject(self, number: int, names: Sequence[str]) -> bool:
        """Whether one of the names is what a chunk is about: its title, a heading above it, or how it begins."""
        chunk = self.chunks[number]
        titles = [part for part in (chunk.title, *chunk.heading.split(" > ")) if part]
        keys = {key_of(title) for title in titles} | {key_of(_QUALIFIER.sub("", title)) for title in titles}
        if any(key_of(name) in keys for name in names):
            return True
        found = (next(self._whole[number].find(key_of(name)), None) for name in names)
        return any(span is not None and span[0] <= BEGINNING for span in found)

    # -- quotes -----------------------------------------------------------------------

    def order(self, number: int | None) -> list[int]:
        """The named chunk, then the others of its document, then the rest."""
        if number not in self.chunks:
            return list(self.chunks)
        return list(dict.fromkeys([number, *self.siblings(number), *self.chunks]))

    def quotes(self, number: int | None, quote: str) -> Iterator[Spot]:
        """Where a quote stands: in the named chunk, then in the others; only if nowhere, where it nearly does."""
        if len(quote) > 2 * self._longest:
            return
        order, plain, found = self.order(number), folded(quote).text.strip(_SHELL), False
        for other in order:
            if plain in self._whole[other].text:
                for span in self._occurrences(other, quote):
                    found = True
                    yield self._spot(other, span, number)
        if found or self._fuzzy_left <= 0:
            return
        self._fuzzy_left -= 1
        near = [(nearly, other) for other in order if (nearly := find_quote(quote, self.chunks[other].text))]
        if near:
            best, other = max(near, key=lambda pair: pair[0][2])
            yield self._spot(other, best[:2], number, "fuzzy")

    def _occurrences(self, number: int, quote: str) -> Iterator[tuple[int, int]]:
        text, at = self.chunks[number].text, 0
        for _ in range(_MAX_OCCURRENCES):
            found = find_quote(quote, text[at:], _SAME)
            if not found:
                return
            yield at + found[0], at + found[1]
            at += found[1]

    def _spot(self, number: int, span: tuple[int, int], named: int | None, *flags: str) -> Spot:
        moved = ("rehomed",) if named is not None and named != number else ()
        start, end = span
        piece = self.chunks[number].text[start:end]
        start += len(piece) - len(piece.lstrip())
        return Spot(number, start, start + len(piece.strip()), moved + flags)

    def sentences(self, number: int) -> list[tuple[int, int]]:
        """The spans of the sentences of a chunk."""
        if number not in self._sentences:
            self._sentences[number] = sentence_spans(self.chunks[number].text)
        return self._sentences[number]

    def sentence(self, number: int, start: int, end: int) -> tuple[int, int]:
        """The whole sentences around a span."""
        text = self.chunks[number].text
        return sentence_around(text, self.sentences(number), start, end, len(text))

    def sentence_with(self, number: int, name: str, longer: Iterable[str] = ()) -> tuple[tuple[int, int], bool] | None:
        """The first sentence of a chunk that holds a name, clipped if it is very long, and whether the name is alone.

        Not alone is a name that stands only within ``longer`` ones, as Porto in Porto Works. None if it does not stand
        there at all.
        """
        sentences = self.sentences(number)
        hits = list(self._whole[number].find(key_of(name)))
        if hits:
            covers = [span for other in longer for span in self._whole[number].find(key_of(other))]
            alone = [hit for hit in hits if not any(start <= hit[0] and hit[1] <= end for start, end in covers)]
            span = sentence_around(self.chunks[number].text, sentences, *(alone or hits)[0], _MAX_SENTENCE)
            return span, bool(alone)
        if not self.stand_in(number, (name,)):
            return None
        return next(((span, True) for span in sentences if holds(self.slice(number, *span), name)), None)

    def slice(self, number: int, start: int, end: int) -> Folded:
        """A part of a chunk, folded."""
        place = number, start, end
        if place not in self._slices:
            self._slices[place] = folded(self.chunks[number].text[start:end])
        return self._slices[place]
