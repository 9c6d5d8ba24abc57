"""What a sentence is about, as keys that two texts can share: its content words, names and numbers.

Whether a passage supports a sentence is decided without a model, so it is decided by
what both say: a word that carries content (not "the", not "wurde"), a name, a number.
Spellings are forgiven as search forgives them: case, accents, common endings, the
separators in a number. Scripts without spaces are compared by pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ..facts.names import FUNCTION_WORDS, MARKS
from ..routes.words import stem
from ..text.cjk import CJK_CLASS, CJK_RUN, pairs
from ..text.fts import STOP_WORDS

__all__ = ["keys", "names", "numbers", "unknown_names", "unknown_numbers"]

_WORD = re.compile(f"[{CJK_CLASS}]+|(?:(?![{CJK_CLASS}])[^\\W_])(?:(?![{CJK_CLASS}])[^\\W_]|[{MARKS}])*")
_NUMBER = re.compile("\\d+(?:[.,'’\u00a0\u202f ]\\d{3}(?!\\d))*(?:[.,]\\d+)?")
_DIGITS = re.compile(r"\d+")
_ENUMERATED = re.compile(r"^[ \t]*(?:[-*+•>][ \t]+)*\d{1,3}[.)][ \t]", re.MULTILINE)
_LABEL = re.compile(
    r"^[ \t]*#{1,6}[ \t].*$|^.*[:：](?:\*\*|__)?[ \t]*$", re.MULTILINE
)  # headings, lines of introduction
_GRAMMAR = re.compile("[\u3041-\u309f何誰谁什么哪几怎吗呢的了是在和与]")  # in a pair: only grammar joins these two
_JOINT = re.compile(r" |-|\. ")  # between the words of one name

NAME, NUMBER, WORD = 1.5, 1.5, 1.0  # what a shared key counts
LONG = 6  # letters of a stem that are compared: longer words differ by endings that are not in the list

# Words of speaking about notes, and function words of three letters or more in languages other than English.
_EMPTY = STOP_WORDS | FUNCTION_WORDS | frozenset(
    """according answer answers mention mentioned mentions note notes passage passages said say says source sources
    state stated states unknown
    aber als auch auf aus bei bis das dass dem den der des die dies diese dieser durch ein eine einem einen einer eines
    für hat haben hatte ihr ihre ist laut mit nach nicht noch nur oder sein seine sich sie sind über und von vor war
    waren wenn wer wie wird wurde wurden zum zur
    aux avec ces cette dans des elle est été être fut les leur lui mais par pas plus pour que qui ses son sont sur une
    aquel como con cuando del desde ella ellos era esta este está fue han las los más muy para pero por porque que ser
    sin sobre son sus una uno
    alla anche che chi con dal dalla del della delle di erano gli hanno nel nella non per più quando sono stata stato
    sua suo una
    com dos ela ele entre foi mais não nas nos onde pela pelo por quem seu sua são uma
    aan als dat deze die dit door een geen had heeft het hij met niet ook van voor was werd wordt zijn
    att blev den det detta för från har hon inte med och som till var
    był była była dla jak jest nie oraz przez się tak tym
    для его или как она они при что это был была были""".split()
)  # fmt: skip


def keys(text: str) -> dict[str, float]:
    """The content of a text: key -> what it counts if it is shared.

    >>> keys("The Coatings were laid by Ana in 1998.")
    {'coat': 1.5, 'laid': 1.0, 'ana': 1.5, '#1998': 1.5}
    >>> list(keys("東京で1,400円")), list(keys("it is of the"))
    (['東京', '円*', '#1400'], [])
    """
    found: dict[str, float] = {}
    for match in _WORD.finditer(text):
        for key, value in _word_keys(match[0]):
            found[key] = max(value, found.get(key, 0.0))
    found.update(dict.fromkeys(("#" + number for number in numbers(text)), NUMBER))
    return found


def _word_keys(word: str) -> Iterator[tuple[str, float]]:
    if CJK_RUN.match(word):
        couples = pairs(word)
        telling = [couple for couple in couples[:-1] if not _GRAMMAR.search(couple)]
        yield from ((key, WORD) for key in telling or couples[:-1] or [c + "*" for c in couples])
    elif not word.isdecimal() and word.lower() not in _EMPTY:
        capital = word[0].isupper()
        if len(word) > 2 or capital or not word.isalpha():
            yield stem(word)[:LONG], NAME if capital else WORD


def numbers(text: str) -> dict[str, frozenset[str]]:
    """The numbers of a text without separators and leading zeros, each with its pieces between separators.

    The number of a list item is none.

    >>> found = numbers("2. It cost 18,400 on 2026-03-07")
    >>> list(found), sorted(found["18400"])
    (['18400', '2026', '3', '7'], ['18', '400'])
    """
    text = _ENUMERATED.sub("", text)
    return {
        _plain("".join(pieces)): frozenset(map(_plain, pieces))
        for match in _NUMBER.finditer(text)
        if (pieces := _DIGITS.findall(match[0]))
    }


def _plain(digits: str) -> str:
    """ASCII digits without leading zeros; of a monster its beginning."""
    return str(int(digits[:100]))


def unknown_numbers(sentence: str, known: Iterable[str]) -> list[str]:
    """The numbers of two digits or more that stand in none of the texts, in whatever way they are grouped.

    >>> unknown_numbers("On 7 March 2026 it cost 18.400, or 19,000.", ["cost:: 18400", "2026-03-07"])
    ['19000']
    """
    there: set[str] = set()
    for text in known:
        for number, pieces in numbers(text).items():
            there |= {number, *pieces}
    return [
        number for number, pieces in numbers(sentence).items()
        if len(number) > 1 and number not in there and not pieces <= there
    ]  # fmt: skip


def names(text: str) -> list[tuple[str, ...]]:
    """Runs of two or more capitalised words on one line; headings and lines that introduce a list are not looked at.

    A single capital tells little: it may begin the sentence, or be a German noun.

    >>> names("Seen So Far:\\nThe Harbour was Zelda Quist-Bay's on Monday.")
    [('Zelda', 'Quist', 'Bay')]
    """
    found: list[tuple[str, ...]] = []
    run: list[str] = []
    end = 0
    text = _LABEL.sub("", text)
    for match in _WORD.finditer(text):
        word = match[0]
        if run and not _JOINT.fullmatch(text, end, match.start()):
            found, run = _ended(found, run), []
        if word[0].isupper() and word.lower() not in _EMPTY:
            run.append(word)
        else:
            found, run = _ended(found, run), []
        end = match.end()
    return _ended(found, run)


def _ended(found: list[tuple[str, ...]], run: list[str]) -> list[tuple[str, ...]]:
    return [*found, tuple(run)] if len(run) > 1 else found


def unknown_names(sentence: str, known: Mapping[str, float]) -> list[str]:
    """The names of a sentence no word of which is among the keys.

    >>> unknown_names("Ana Ruiz met Zelda Quist.", keys("Ana"))
    ['Zelda Quist']
    """
    return [
        " ".join(name)
        for name in names(sentence)
        if not any(key in known for word in name for key, _ in _word_keys(word))
    ]
