"""Which names a model may give: names of something, not pronouns, and their words, by which they are found in a text.

A name that a model gives may be spelled in another order or form than the text has it
("Hugh, King of Italy" where it says "King Hugh of Italy", "Bosonids" for "Bosonid"). So
besides its key (normalise.name_key) a name has significant words, compared by stem. That
is only ever used to ask whether a name stands in a text, never to join two names.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...text.normalise import clean_name, is_blank, name_key
from ..names import FUNCTION_WORDS, MARKS, common_words

__all__ = [
    "EMPTY",
    "LONG",
    "MAX_NAME",
    "PRONOUN",
    "is_description",
    "name_fault",
    "one_holds_the_other",
    "same_word",
    "short_forms",
    "significant_words",
    "stem",
]

MAX_NAME = 200
EMPTY, LONG, PRONOUN = "name is empty", "name is too long", "name is a pronoun"

WORD = re.compile(rf"[^\W_][\w{MARKS}]*")
_PRONOUNS = frozenset(
    """a an the i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she
    her hers herself it its itself they them their theirs themselves this that these those who whom whose which what
    one ones oneself someone somebody something anyone anybody anything everyone everybody everything nobody nothing
    none other others another each both all some many former latter here there of n/a null unknown
    er sie es ihn ihm ihr il elle ils elles lui lei él ella ellos ellas он она оно они его её ему ей им их
    他 她 它 他们 她们 它们 我 我们 你 你们 彼 彼女 これ それ あれ""".split()
)
_DETERMINER = re.compile(r"(?:a|an|the|this|that|these|those|his|her|its|their|our|my|your|der|die|das|le|la|el)\s")

_RELATED = re.compile(r"(?:[a-z]+\s)+(?:of|to|in|from|by|at|for)\s(?:[a-z]+\s)*[A-Z]")


def name_fault(name: str) -> str:
    """Why a cleaned name is none, empty if it is one.

    >>> [name_fault(n) for n in ("Ana", "She", "the others", " ", "x" * 201, "WHO", "The Who")]
    ['', 'name is a pronoun', 'name is a pronoun', 'name is empty', 'name is too long', '', '']
    """
    if is_blank(name):
        return EMPTY
    if len(name) > MAX_NAME:
        return LONG
    words = name_key(name).split()
    if not all(word in _PRONOUNS for word in words):
        return ""
    acronym = name.isupper() and 1 < len(name) <= 4  # US, WHO, IT
    title = len(words) > 1 and name.split()[-1][:1].isupper()  # The Who
    return "" if acronym or title else PRONOUN


def is_description(alias: str) -> bool:
    """Whether another name only describes: an article and words written small, or such words and whom they are of.

    >>> [is_description(a) for a in ("the abbey", "The Abbey", "her elder brother", "the iPhone", "la Scala")]
    [True, False, True, False, False]
    >>> [is_description(a) for a in ("queen of Oban", "second son of Ada", "the Lady of Oban", "point of view")]
    [True, True, False, False]
    """
    alias = clean_name(alias)
    first, _, rest = alias.partition(" ")
    if _DETERMINER.match(f"{first.lower()} "):
        return bool(rest) and rest == rest.lower()
    return _RELATED.match(alias) is not None


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A folded word without the ending that a plural or a genitive adds.

    >>> [stem(w) for w in ("bosonids", "glass", "abbeys", "is")]
    ['bosonid', 'glass', 'abbey', 'is']
    """
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def same_word(first: str, second: str) -> bool:
    """Whether two stems are one word in two forms: five letters or more, and at most two at the end that differ.

    >>> same_word("german", "germany"), same_word("москва", "москвы"), same_word("porto", "portal")
    (True, True, False)
    >>> same_word("person1", "person2")
    False
    """
    if first == second:
        return True
    shorter, longer = sorted((len(first), len(second)))
    alike = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    rest = first[alike:] + second[alike:]
    return alike >= 5 and longer - alike <= 2 and rest.isalpha()


@lru_cache(maxsize=5_000)
def significant_words(name: str) -> tuple[str, ...]:
    """The stems of the words that a text must hold to hold the name; all of them if none is significant.

    >>> significant_words("Hugh, King of Italy"), significant_words("The Who"), significant_words("...")
    (('hugh', 'king', 'italy'), ('the', 'who'), ())
    """
    words = [word for word in WORD.findall(name_key(name)) if word]
    kept = [word for word in words if word not in FUNCTION_WORDS]
    return tuple(dict.fromkeys(stem(word) for word in kept or words))


def one_holds_the_other(first: str, second: str) -> bool:
    """Whether all significant words of one name are words of the other.

    >>> one_holds_the_other("Janis Lyn Joplin", "Janis Joplin"), one_holds_the_other("Mira Holm", "Ada Holm")
    (True, False)
    """
    words, others = set(significant_words(first)), set(significant_words(second))
    return bool(words and others) and (words <= others or others <= words)


@lru_cache(maxsize=5_000)
def short_forms(name: str) -> tuple[str, ...]:
    """What stands for a longer name once it has been given: its first and its last word, where they look like names.

    Only for names whose words are all capitalised, so that "Lisbon" does not stand for "University of Lisbon".

    >>> short_forms("Etan Boritzer"), short_forms("University of Lisbon"), short_forms("Lisbon")
    (('Etan', 'Boritzer'), (), ())
    """
    words = WORD.findall(clean_name(name))
    if len(words) < 2 or not all(word[0].isupper() or word[0].isdigit() for word in words):
        return ()
    ends = dict.fromkeys((words[0], words[-1]))
    return tuple(w for w in ends if len(w) > 2 and not w.isdigit() and name_key(w) not in common_words())
