"""How much the words of a question speak of a relation, without a model.

A word speaks of a relation by its stem ("directed", "director"), by a sense that both have in common (``senses.txt``),
or by the cosine of the bundled vectors of the two words. Beside its words a question says what kind of thing it asks
for ("who", "when", "where", "how many"), and whether it asks for others of the same ("the same director", "also",
"co-wrote"). All of it is English; a question in another language has the vectors and equal words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from ..facts.name_forms import singular
from ..facts.names import FUNCTION_WORDS
from ..static_model.encoder import load
from ..text.fts import STOP_WORDS

__all__ = ["Question", "Reading", "is_head", "leads_to", "likeness", "question", "reading"]

SAME_SENSE = 0.9
SLIGHTEST = 0.3  # cosines below say nothing
MOST_WORDS = 64
MOST_WORDS_OF_RELATION = 16
ENDINGS = ("ings", "ing", "ed", "ors", "ers", "or", "er")
WHOM = "ee"  # as in attendee; the stem has five letters at least, which "agree" and "degree" do not leave
DID = frozenset(("do", "does", "did"))

#: words of a question -> the kind of thing that it asks for
KINDS = {
    "person": "who whom whose person people",
    "date": "when year date day month century",
    "place": "where",
    "number": "number count",
}
#: words in the name of a relation, or of the type of what it leads to, that say what kind of thing that is
KIND_OF_END = {
    "person": "person people human character",
    "date": "date year time day month century",
    "place": "place location city town country region area venue address birthplace",
    "number": "number count amount",
}
OTHERS = frozenset("same other others another also too share shared sharing together both common alongside co".split())
ARTICLES = frozenset(("a", "an", "the"))
LITTLE = frozenset(
    "give list name tell show find say please which whose kind sort some few many much into fall under".split()
)

_WORD = re.compile(r"[^\W_]+")
_KIND = {word: kind for kind, words in KINDS.items() for word in words.split()}
_END = {word: kind for kind, words in KIND_OF_END.items() for word in words.split()}
_DATE = re.compile(r"\d{4}([-/.]\d{1,2}){0,2}|\d{1,2}[./]\d{1,2}[./]\d{4}")
_NUMBER = re.compile(r"[-+]?\d[\d.,]*%?")
_THIRD_PERSON = re.compile(r"\w{2,}(?<!s)(?<!er)(?<!or)(?<!ee)(?<!ist)(?<!ian)s")
_DOER = re.compile(r".{2,}(?:or|er|ist|ian)")
_WITH_WHOM = re.compile(r"\bwith\W+wh|\bwhom?\b.*\bwith\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Question:
    """The telling words, in order; their distance from the name asked about; the kind asked for, "" if none is said."""

    words: tuple[str, ...]
    distances: tuple[int, ...]
    kind: str
    others: bool  # asks for others of the same
    before: tuple[str, ...] = ()  # all words before the name, articles left out
    after: tuple[str, ...] = ()  # all words after it


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of a step along a relation: its words, and those of the types of what it leads to."""

    words: tuple[str, ...]
    ends: tuple[str, ...]
    kind: str


def question(text: str, name: str = "") -> Question:
    """Take a question apart; ``name``, as it stands in the text, is what it asks about.

    >>> question("Who are the actors in the films directed by Ana Lund?", "Ana Lund")
    Question(words=('actors', 'films', 'directed'), distances=(6, 3, 2), kind='person', others=False, \
before=('who', 'are', 'actors', 'in', 'films', 'directed', 'by'), after=())
    """
    text = text[:4_000]
    at = text.casefold().find(name.casefold()) if name else -1
    before, after = (text[:at], text[at + len(name) :]) if at >= 0 else (text, "")
    left, right = _words(before), _words(after)
    placed = [(word, len(left) - n) for n, word in enumerate(left)] + [(word, n + 1) for n, word in enumerate(right)]
    telling = [(word, distance) for word, distance in placed if _tells(word)][:MOST_WORDS]
    kinds = [_KIND[singular(word)] for word, _ in placed if singular(word) in _KIND]
    if not kinds and re.search(r"\bhow (?:many|much)\b", text.casefold()):
        kinds = ["number"]
    others = any(word in OTHERS for word, _ in placed) or bool(_WITH_WHOM.search(f"{before} {after}".casefold()))
    said, distances = tuple(word for word, _ in telling), tuple(n for _, n in telling)
    just_before = tuple(word for word in left if word not in ARTICLES)
    return Question(said, distances, kinds[0] if kinds else "", others, just_before, tuple(right))


def reading(texts: Iterable[str], types: Iterable[str], end: str, samples: Sequence[str]) -> Reading:
    """What is known of a step: texts that name or describe it, the types of what it leads to, and some names of these.

    ``end`` is a name that says what stands at its end, empty if there is none.
    """
    words = tuple(dict.fromkeys(word for text in texts for word in _words(text) if _tells(word)))
    ends = tuple(dict.fromkeys(word for type_ in types for word in _words(type_) if _tells(word)))
    return Reading(words[:MOST_WORDS_OF_RELATION], ends[:MOST_WORDS_OF_RELATION], _kind(_words(end), ends, samples))


def likeness(word: str, words: Iterable[str]) -> float:
    """How much a word speaks of a relation that has these words, from 0 to 1."""
    return max((_alike(word, other) for other in words), default=0.0)


def leads_to(asked: Question, relation: str) -> bool:
    """Whether the question has the name of a relation just before what it asks about, which then is the tail.

    >>> leads_to(question("Who likes Ana?", "Ana"), "likes"), leads_to(question("What does Ana like?", "Ana"), "likes")
    (True, False)
    >>> leads_to(question("films directed by Ana", "Ana"), "directed_by")
    True
    """
    words = [_stem(word) for word in _words(relation)]
    return bool(words) and [_stem(word) for word in asked.before[-len(words) :]] == words


def is_head(asked: Question, relation: str) -> bool | None:
    """Whether the order of words makes what is asked about the head of a relation (True) or its tail (False).

    None where it says neither, or where the name of the relation is no verb: a director is as much whom one directed.

    >>> [is_head(question(text, "Ana"), "likes") for text in ("Who likes Ana?", "Whom does Ana like?", "Who is Ana?")]
    [False, True, None]
    >>> is_head(question("Who is liked by Ana?", "Ana"), "likes")
    True
    """
    words = _words(relation)
    if not words or not (words[-1] == "by" or words[0].endswith("ed") or _THIRD_PERSON.fullmatch(words[0])):
        return None
    if leads_to(asked, relation):
        return False
    stems = [_stem(word) for word in words]
    said = [_stem(word) for word in asked.before[-len(words) - 1 :]]
    active = asked.before[-1:] and asked.before[-1] in DID and [_stem(w) for w in asked.after[: len(words)]] == stems
    return True if active or said == [*stems, "by"] else None


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text))]


def _tells(word: str) -> bool:
    if singular(word) in _senses():
        return word not in ("who", "whom", "whose", "where", "name", "list")
    return word not in STOP_WORDS and word not in FUNCTION_WORDS and word not in OTHERS and word not in LITTLE


def _kind(end: Sequence[str], types: Sequence[str], samples: Sequence[str]) -> str:
    for word in types:
        if word in _END:
            return _END[word]
    if samples and all(_DATE.fullmatch(name.strip()) for name in samples):
        return "date"
    if samples and all(_NUMBER.fullmatch(name.strip()) for name in samples):
        return "number"
    if end and (end[-1] == "by" or _DOER.fullmatch(singular(end[-1]))):
        return "person"
    return next((_END[word] for word in end if word in _END), "")


@lru_cache(maxsize=50_000)
def _alike(one: str, other: str) -> float:
    if one == other or _stem(one) == _stem(other):
        return 1.0
    if _sense(one) & _sense(other):
        return SAME_SENSE
    cosine = float(_vector(one) @ _vector(other))
    return cosine if cosine > SLIGHTEST else 0.0


def _stem(word: str) -> str:
    """The word without a regular ending, with at least three letters left."""
    word = singular(word)
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            return stem[:-1] if stem[-1] == stem[-2] and len(stem) > 3 else stem
    if word.endswith(WHOM) and len(word) >= len(WHOM) + 5:
        return word[: -len(WHOM)]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _sense(word: str) -> frozenset[int]:
    known = _senses()
    return known.get(word) or known.get(singular(word)) or known.get(_stem(word)) or frozenset()


@lru_cache(maxsize=1)
def _senses() -> dict[str, frozenset[int]]:
    """Word or stem -> the groups of ``senses.txt`` that it is in."""
    found: dict[str, frozenset[int]] = {}
    lines = (files(__package__) / "senses.txt").read_text("utf-8").splitlines()
    for number, line in enumerate(line for line in lines if line and not line.startswith("#")):
        for word in line.split():
            for form in {word, _stem(word)}:
                found[form] = found.get(form, frozenset()) | {number}
    return found


@lru_cache(maxsize=50_000)
def _vector(word: str):  # type: ignore[no-untyped-def]
    return load().encode([word])[0]
