"""Finding the sentence of a claim that came without a quote, and whether a quote has to do with its claim.

A sentence proves a triple if it names both ends, an attribute if it holds the value and
names the entity. Prose gives a name once and then says "she", "the film" or the surname: a
sentence with one end also counts if it has a short form of the other, or a pronoun or the
word for its type where the other is what the note is about (its title, a heading above, or
how the chunk begins).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from ...text.normalise import name_key
from .ends import End
from .folded import Folded, holds_any, holds_value
from .names import short_forms, significant_words, stem
from .places import BEGINNING, Places, Spot

__all__ = ["Locator", "Value"]

NEITHER = "the quote names neither"
_REFERS = re.compile(
    r"\b(?:he|him|his|she|her|hers|it|its|they|them|their|theirs|who|whose|which"
    r"|sie|ihn|ihm|ihr\w*|elle|ils|elles|leurs?|él|ella|ellos|ellas|он|она|оно|они|его|её|ему|ей|им|их)\b"
)
_NOUN = re.compile(r"\b(?:the|this|that)\s(\w+)\b")
_MAX_SPOTS = 12  # places of one quote that are looked at
_MAX_WORDS = 400  # characters of what is to be found by its words

Names = Sequence[str]
Test = Callable[[Folded, int], bool]  # of a sentence and the number of its chunk


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an attribute, as what stands in place of a tail."""

    name: str
    kind: str


class Locator:
    """Looks for sentences in the chunks of one window."""

    def __init__(self, places: Places) -> None:
        self.places = places

    def spot(
        self, number: int | None, quote: str, head: End, tail: End | Value, others: Names
    ) -> tuple[Spot | None, str]:
        """Where a claim stands: its quote, the sentence that is found for it if it has none, None if there is neither.

        A quote that stands in several places means the first that has to do with the claim. If none has, what is wrong
        with the first is said with it. ``others`` are the names of all other entities.
        """
        if not quote:
            if isinstance(tail, Value):
                return self._value(number, head, tail, others), ""
            return self._both(number, head, tail), ""
        first: tuple[Spot | None, str] = None, ""
        for spot in islice(self.places.quotes(number, quote), _MAX_SPOTS):
            wrong = self._fault(spot, head, tail, others)
            if not wrong:
                return spot, ""
            first = first if first[0] else (spot, wrong)
        return first

    def _both(self, number: int | None, head: End, tail: End) -> Spot | None:
        """The first sentence that names both ends, in the named chunk or else in any."""

        def named(sentence: Folded, _: int) -> bool:
            return holds_any(sentence, head.forms) and holds_any(sentence, tail.forms)

        def meant(sentence: Folded, number: int) -> bool:
            return (holds_any(sentence, tail.forms) and self._refers(sentence, number, head, tail.forms)) or (
                holds_any(sentence, head.forms) and self._refers(sentence, number, tail, head.forms)
            )

        return self._first(number, named, meant)

    def _value(self, number: int | None, owner: End, value: Value, others: Names) -> Spot | None:
        """The first sentence that holds a value and names its owner, or at least stands in a chunk that does."""

        def named(sentence: Folded, _: int) -> bool:
            return self._named(sentence, value) and holds_any(sentence, owner.forms)

        def meant(sentence: Folded, number: int) -> bool:
            return self._named(sentence, value) and self._refers(sentence, number, owner, (value.name,))

        def near(sentence: Folded, number: int) -> bool:
            return self._named(sentence, value) and (
                self.places.is_subject(number, owner.forms)
                or (self.places.stand_in(number, owner.forms) and not self._is_about(sentence, others))
            )

        return self._first(number, named, meant, near)

    def words(self, number: int | None, quote: str) -> Spot | None:
        """Where a quote for a new type stands; or the sentence with most of its words, if that is half of them.

        A type has no ends that a sentence could be looked for by, and a person reads it before anything comes of it.
        """
        if quote and (spot := next(self.places.quotes(number, quote), None)):
            return spot
        words = significant_words(quote[:_MAX_WORDS])
        best, found = max(2, (len(words) + 1) // 2) - 1, None
        for other in self.places.order(number):
            for start, end in self.places.sentences(other):
                held = sum(map(self.places.slice(other, start, end).has_word, words))
                if held > best:
                    best, found = held, Spot(other, start, end, ("located",))
        return found

    def absent(self, *ends: End) -> str:
        """The first end that stands nowhere in the window, empty if all stand somewhere."""
        return next((end.name for end in ends if not self.places.documents_with(end.forms)), "")

    # -- whether a quote has to do with its claim -------------------------------------------

    def _fault(self, spot: Spot, head: End, tail: End | Value, others: Names) -> str:
        """What is wrong with a quote, empty if nothing is.

        It has to name one end, and the document both. The sentence around it has to hold a value; if it does not
        mention the other end of a triple, it must not begin with one of the ``others``, for then it is about them.
        """
        number = spot.number
        quote = self.places.slice(number, spot.start, spot.end)
        unnamed = [end for end in (head, tail) if not self._named(quote, end)]
        if len(unnamed) == 2:
            return NEITHER
        absent = [
            end.name
            for end in (head, tail)
            if isinstance(end, End) and not self.places.stand_in_document(number, end.forms)
        ]
        if absent or not unnamed:
            return absent[0] if absent else ""
        sentence = self.places.slice(number, *self.places.sentence(number, spot.start, spot.end))
        if self._named(sentence, unnamed[0]):
            return ""
        if isinstance(unnamed[0], Value):
            return unnamed[0].name
        return "" if self._may_refer(sentence, number, unnamed[0]) else self._is_about(sentence, others)

    def _named(self, text: Folded, end: End | Value) -> bool:
        if isinstance(end, Value):
            return holds_value(text, end.name, end.kind)
        shorts = (name_key(short) for name in end.forms for short in short_forms(name))
        return holds_any(text, end.forms) or any(next(text.find(short), None) for short in shorts)

    def _may_refer(self, sentence: Folded, number: int, end: End) -> bool:
        return bool(_REFERS.search(sentence.text)) or self.places.is_subject(number, end.forms)

    @staticmethod
    def _is_about(sentence: Folded, others: Names) -> str:
        """Which of the others a sentence begins with, said as a fault; empty if with none."""
        found = ((next(sentence.find(name_key(name)), None), name) for name in others)
        first = min(((span[0], name) for span, name in found if span and span[0] <= BEGINNING), default=None)
        return f"the sentence is about {first[1]}" if first else ""

    # -- sentences ----------------------------------------------------------------------

    def _first(self, number: int | None, *tests: Test) -> Spot | None:
        """The first sentence that passes a test; the named chunk is asked before others, an earlier test first."""
        for test in tests:
            for other in self.places.order(number):
                for start, end in self.places.sentences(other):
                    if test(self.places.slice(other, start, end), other):
                        return Spot(other, start, end, ("located",))
        return None

    def _refers(self, sentence: Folded, number: int, end: End, other: Names) -> bool:
        """Whether a sentence means somebody without the full name: by a short form; or what the chunk is about.

        A short form that is a word of the ``other`` end's name, as the surname of a parent is, says nothing.
        """
        if not self.places.stand_in_document(number, end.forms):
            return False
        taken = {word for name in other for word in significant_words(name)}
        shorts = [name_key(short) for name in end.forms for short in short_forms(name)]
        if any(next(sentence.find(short), None) for short in shorts if stem(short) not in taken):
            return True
        pronoun = _REFERS.search(sentence.text)
        noun = any(match[1] in end.nouns for match in _NOUN.finditer(sentence.text))
        return bool(pronoun or noun) and self.places.is_subject(number, end.forms)
