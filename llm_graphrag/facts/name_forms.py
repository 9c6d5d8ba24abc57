"""A name taken apart, so that two names can be compared: words without accents, numbers, what tells things apart.

``Form`` forgets on purpose what ``name_key`` keeps: accents, hyphens, a leading *the*, the legal form of a company. It
is never stored and joins nothing; ``likeness.py`` compares two of them to suggest a merge to a person.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property

from ..text.normalise import clean_name

__all__ = ["Form", "form", "number_words", "plain_letters", "singular"]

_APOSTROPHE = re.compile("['’‘ʼʾʿ`´]")
_WORD = re.compile(r"[^\W_]+[+#]*")
_QUALIFIER = re.compile(r"\s*\(([^()]+)\)\s*$")
_ROMAN = re.compile(r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})")
_DIGITS = re.compile(r"\d+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i", "ħ": "h"}
)
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})

#: Numbers in words; those that end a list of things or kings are told apart by them.
_NUMBERS = {
    word: str(number)
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
    )
    for number, word in enumerate(words.split(), 1)
}

#: Legal forms of companies, the long and the short way to write them.
_COMPANY = {
    "incorporated": "inc", "inc": "inc", "corporation": "corp", "corp": "corp", "limited": "ltd", "ltd": "ltd",
    "llc": "llc", "llp": "llp", "plc": "plc", "gmbh": "gmbh", "ag": "ag", "kg": "kg", "se": "se", "bv": "bv",
    "nv": "nv", "oy": "oy", "oyj": "oy", "ab": "ab", "asa": "asa", "srl": "srl", "spa": "spa", "sarl": "sarl",
    "pty": "pty", "kk": "kk",
}  # fmt: skip

#: Words one of which stands in the name of one thing and not of another.
_TELLING = frozenset(
    """north south east west northern southern eastern western northeast northwest southeast southwest central upper
    lower new old senior junior sr jr left right inner outer internal external male female men women mens womens boys
    girls input output import export min max minimum maximum summer winter spring autumn january february march april
    may june july august september october november december monday tuesday wednesday thursday friday saturday sunday
    pre post anti non neo under over sub super""".split()
)


@dataclass(frozen=True)
class Form:
    """The parts of a name. ``words`` are folded and lack article and legal form; ``spoken`` has them as written."""

    name: str
    words: tuple[str, ...]
    spoken: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    telling: frozenset[str] = frozenset()  # of words, in brackets, or folders before a slash
    article: bool = False
    company: str = ""
    comma: bool = False  # 'Ruiz, Ana'
    spelled_out: tuple[str, ...] = field(default=())  # words with ä as ae, where that differs

    @cached_property
    def compact(self) -> frozenset[str]:
        """The letters in a row, without spaces: two ways where umlauts can be spelled out."""
        return frozenset("".join(words) for words in (self.words, self.spelled_out) if words)

    @cached_property
    def unaccented(self) -> str:
        """The letters in a row as written, small, and without accents."""
        return _without_accents("".join(self.spoken).lower())

    @cached_property
    def capital(self) -> bool:
        """Whether anything in the name is written large."""
        return any(character.isupper() for character in self.name)


def form(name: str) -> Form:
    """Take a name apart.

    >>> form("The Kestrel Works Ltd."), form("Müller").compact == {"muller", "mueller"}
    (Form(name='The Kestrel Works Ltd.', words=('kestrel', 'works'), spoken=('The', 'Kestrel', 'Works', 'Ltd'), \
numbers=(), telling=frozenset(), article=True, company='ltd', comma=False, spelled_out=()), True)
    >>> form("World War II").words, form("The 2nd World War").numbers, sorted(form("Mercury (planet)").telling)
    (('world', 'war', '2'), ('2',), ['(planet)'])
    """
    shown = clean_name(name)
    if not shown.isascii():
        shown = unicodedata.normalize("NFKC", shown)
    qualifiers: list[str] = []
    while shown.endswith(")") and (match := _QUALIFIER.search(shown)) and match.start():
        qualifiers.append(f"({match[1].lower()})")
        shown = shown[: match.start()]
    folder, _, last = shown.rpartition("/")
    bare = _APOSTROPHE.sub("", (last or folder).replace("&", " and "))
    places = list(_WORD.finditer(bare))
    spoken = tuple(place[0] for place in places)
    words = [_word(place) for place in places]
    article = len(words) > 1 and words[0] == "the"
    company = _COMPANY.get(words[-1], "") if len(words) > 1 + article else ""
    start, end = int(article), len(words) - bool(company)
    kept = tuple(words[start:end])
    return Form(
        name=shown,
        words=kept,
        spoken=spoken,
        numbers=tuple(number.lstrip("0") or "0" for number in _DIGITS.findall(" ".join(kept)))
        + tuple(word for word in spoken[1:] if word in "IVX"),  # numbers, or letters that are as telling
        telling=frozenset([*qualifiers, *([folder.lower() + "/"] if last and folder else []), *(_TELLING & set(kept))]),
        article=article,
        company=company,
        comma="," in bare.strip(","),
        spelled_out=() if bare.isascii() else _spelled_out(spoken[start:end]),
    )


def _spelled_out(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words with *ä* as *ae*; none, if that is how they are folded anyway."""
    lower = [word.lower() for word in words]
    found = tuple(plain_letters(word.translate(_SPELLED_OUT)) for word in lower)
    return () if found == tuple(map(plain_letters, lower)) else found


def _word(place: re.Match[str]) -> str:
    """A word, folded; a number however it is written, in digits."""
    word = place[0]
    if word[0] in "IVX" and place.start() and _ROMAN.fullmatch(word) and len(word) > 1:
        return str(_roman(word))
    folded = plain_letters(word.lower())
    if folded[0].isdigit() and (match := _ORDINAL.fullmatch(folded)):
        return match[1]
    return _NUMBERS.get(folded, folded)


def number_words(name: Form, perhaps: bool = False) -> frozenset[str]:
    """The words of a name that are written as numbers; of Roman ones, also small, those that cannot be an initial.

    With ``perhaps`` also those that may be another word: an initial, or the first, as in *Xi Jinping*.

    >>> sorted(number_words(form("Apollo 11"))), sorted(number_words(form("ludwig_iii_of_bavaria")))
    (['11'], ['3'])
    >>> sorted(number_words(form("Elizabeth I"))), sorted(number_words(form("Ana V. Ruiz")))
    (['1'], [])
    """
    found = set()
    for place, word in enumerate(name.spoken):
        large = word.upper()
        last = name.spoken[place + 1 : place + 2] in ((), ("of",))
        if number := _DIGITS.fullmatch(word) or _ORDINAL.fullmatch(word.lower()):
            found.add(number[number.lastindex or 0].lstrip("0") or "0")
        elif _ROMAN.fullmatch(large) and (perhaps or (place and (len(word) > 1 or last))):
            found.add(str(_roman(large)))
    return frozenset(found)


def _roman(word: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10}[letter] for letter in word]
    return sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))


def plain_letters(word: str) -> str:
    """Small letters without accents; those that are none with an accent, as *ß*, are spelled out."""
    if word.isascii():
        return word
    return _without_accents(word.translate(_LETTERS))


def _without_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


#: Words whose plural is another thing, or that only look like plurals.
_NOT_PLURAL = frozenset(
    """arms aids bass brass christmas contents customs glass glasses goods lens manners minutes news pants premises
    process remains savings series species spectacles thanks times trousers""".split()
)


def singular(word: str) -> str:
    """The singular that a word may be the plural of; the word itself if it is none.

    >>> [singular(word) for word in ("hazards", "cities", "boxes", "glasses", "news", "bus", "boss", "analysis")]
    ['hazard', 'city', 'box', 'glasses', 'news', 'bus', 'boss', 'analysis']
    """
    if len(word) < 4 or word in _NOT_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is", "ous")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1]
