"""When two values of an attribute say the same: pure rules, no tables.

Values are written by people: ``1 March 2024`` and ``2024-03-01`` are one day, ``1,200`` and ``1 200`` one number,
``Lisbon`` and ``[[lisbon]]`` one town. A date that says less (``March 2024``) agrees with every date that it
holds; one that can be read in two ways (``03/04/2024``) agrees with both readings. Nothing is guessed beyond that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from ..text.normalise import name_key

__all__ = ["Meaning", "agree", "agreeing", "meaning", "overlap", "read_dates"]

Date = tuple[int, int, int]  # year, month and day; 0 for what is not said

_MONTH_NAMES = """january janvier januar enero gennaio januari|february février februar febrero febbraio februari
|march mars märz marzo maart|april avril abril aprile|may mai mayo maggio mei|june juin juni junio giugno
|july juillet juli julio luglio|august août agosto augustus|september septembre septiembre settembre
|october octobre oktober octubre ottobre|november novembre noviembre|december décembre dezember diciembre dicembre"""
_MONTHS = {
    form: number
    for number, names in enumerate(_MONTH_NAMES.split("|"), 1)
    for name in names.split()
    for form in (name, name[:4] if name.startswith("jui") else name[:3])
} | {"sept": 9}

_TIME = re.compile(r"(?<=\d)[t ,]+\d{1,2}:\d\d\b.*$")
_WEEKDAY = re.compile(
    r"""^(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)day
    |(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche
    |lunes|martes|miércoles|jueves|viernes|sábado|domingo)\.?,?[ ]+""",
    re.VERBOSE,
)
_ISO = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)")
_NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_DAY_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|º|\.)? (?:of |de )?([^\W\d]+)\.?,? (?:de )?(\d{4})")
_MONTH_DAY = re.compile(r"([^\W\d]+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_MONTH_YEAR = re.compile(r"([^\W\d]+)\.?,? (?:of |de )?(\d{4})")
_CJK = re.compile(r"(\d{4})年(?:(\d{1,2})月(?:(\d{1,2})日)?)?")

_NUMBER = re.compile(r"([^\w\s+-]*) ?([+-]?)(\d[\d.,' ]*) ?([^\d]*)")
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")
_MARKUP = re.compile(r"\[\[|\]\]|[*`]+")
_PAUSE = re.compile(r"[,;]\s*|\s+")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a value says: a date by all its readings, or anything else by a key that equal values share."""

    kind: str  # date, number, url, text
    key: str = ""
    dates: frozenset[Date] = frozenset()

    @property
    def precision(self) -> int:
        """How much a date says: year, month, day."""
        return max((sum(map(bool, reading)) for reading in self.dates), default=3)


def meaning(value: str, kind: str = "text") -> Meaning:
    """What a value of an attribute of this kind (text, date, number, url) says.

    >>> meaning("1,200 kg") == meaning("1 200kg"), meaning("1.10") == meaning("1.1"), meaning("007") == meaning("7")
    (True, False, False)
    >>> meaning("1.10", "number") == meaning("1.1", "number"), meaning("*Lisbon*") == meaning("[[lisbon]]")
    (True, True)
    """
    written = _MARKUP.sub("", value).strip()
    folded = name_key(written)
    if kind == "url" or folded.startswith(("http://", "https://")):
        return Meaning("url", _url(written))
    dates = frozenset() if kind == "number" else read_dates(folded)
    if dates and (kind == "date" or all(reading[1] for reading in dates)):
        return Meaning("date", dates=dates)
    number = _number(folded, exact=kind != "number")
    return Meaning("number", number) if number else Meaning("text", _PAUSE.sub(" ", folded).strip())


def agree(one: Meaning, other: Meaning) -> bool:
    """Whether two values can both be so.

    >>> spring, day = meaning("March 2024", "date"), meaning("2024-03-01", "date")
    >>> agree(spring, day), agree(meaning("03/04/2024"), meaning("4 March 2024")), agree(day, meaning("2024", "date"))
    (True, True, True)
    >>> agree(day, meaning("2.3.2024"))
    False
    """
    if one.dates and other.dates:
        return any(_holds(a, b) for a in one.dates for b in other.dates)
    return one == other


def _holds(one: Date, other: Date) -> bool:
    return all(a == b or not a or not b for a, b in zip(one, other, strict=True))


def agreeing(meanings: Sequence[Meaning]) -> list[list[int]]:
    """Places of ``meanings`` in groups that agree. A date that says less joins the first group that it holds.

    >>> agreeing([meaning(v, "date") for v in ("2024", "2024-03-01", "1 March 2024", "2024-05-02")])
    [[1, 2, 0], [3]]
    """
    groups: list[list[int]] = []
    for place in sorted(range(len(meanings)), key=lambda place: (-meanings[place].precision, place)):
        home = next((group for group in groups if agree(meanings[group[0]], meanings[place])), None)
        if home is None:
            groups.append([place])
        else:
            home.append(place)
    return groups


def overlap(one: Meaning, other: Meaning) -> bool:
    """Whether one text says all words of the other: "Lisbon" and "Lisbon, Portugal" may both be so."""
    words = [set(item.key.split()) for item in (one, other)]
    return one.kind == other.kind == "text" and (words[0] <= words[1] or words[1] <= words[0])


# -- dates -----------------------------------------------------------------------------


def read_dates(text: str) -> frozenset[Date]:
    """All readings of a text that is nothing but a date; empty if it is none.

    >>> sorted(read_dates("03/04/2024")), sorted(read_dates("Tue, 5 Sept 2023")), sorted(read_dates("2024年3月"))
    ([(2024, 3, 4), (2024, 4, 3)], [(2023, 9, 5)], [(2024, 3, 0)])
    >>> read_dates("2024-02-30"), read_dates("before 5 May 1900")
    (frozenset(), frozenset())
    """
    folded = _TIME.sub("", name_key(text))
    return frozenset(reading for reading in _readings(folded) if _is_date(reading))


def _readings(text: str) -> Iterator[Date]:
    for pattern in (_ISO, _COMPACT, _CJK):
        if match := pattern.fullmatch(text):
            year, month, day = (int(part or 0) for part in match.groups())
            yield year, month, day
    if match := _NUMERIC.fullmatch(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        yield year, second, first
        if match[2] != ".":
            yield year, first, second
    for worded in {text, _WEEKDAY.sub("", text, count=1)}:
        if match := _DAY_MONTH.fullmatch(worded):
            yield int(match[3]), _MONTHS.get(match[2], 13), int(match[1])
        if match := _MONTH_DAY.fullmatch(worded):
            yield int(match[3]), _MONTHS.get(match[1], 13), int(match[2])
        if match := _MONTH_YEAR.fullmatch(worded):
            yield int(match[2]), _MONTHS.get(match[1], 13), 0


def _is_date(reading: Date) -> bool:
    year, month, day = reading
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        return False
    return True


# -- numbers and addresses ---------------------------------------------------------------


def _number(text: str, exact: bool) -> str:
    """A number with its unit; ``exact`` keeps every digit, since 1.1 and 1.10 may be versions. Empty if it is none."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return ""
    digits = match[3].replace(" ", "").replace("'", "").rstrip(".,")
    if re.match(r"0\d", digits):
        return ""
    if _THOUSANDS.fullmatch(digits) and (digits.count(",") or digits.count(".") > 1):
        digits = digits.replace(",", "").replace(".", "")
    else:
        point = max(digits.rfind(","), digits.rfind("."))
        whole, part = (digits[:point], digits[point + 1 :]) if point >= 0 else (digits, "")
        whole = whole.replace(",", "").replace(".", "")
        digits = f"{whole}.{part}" if part else whole
    number = digits if exact else format(Decimal(digits).normalize(), "f")
    return f"{match[2].replace('+', '')}{number} {match[1]}{match[4].strip()}"


def _url(written: str) -> str:
    address = re.sub(r"^[a-z]+://", "", written, flags=re.IGNORECASE).rstrip("/")
    host, slash, path = address.partition("/")
    return host.lower() + slash + path
