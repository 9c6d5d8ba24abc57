"""What a person types, as a query that FTS5 accepts.

FTS5 has a query language in which "it's", "C++" and "what is this?" are syntax errors.
``fts_query`` therefore never passes a character on: it takes the words out, quotes each
and joins them, so that no input at all can raise. ``advanced_query`` is for people who
want AND, OR, NOT, parentheses, "phrases" and prefix*: the words are quoted just the
same, the operators are parsed here, and a mistake is a sentence with its position.

The table is built with ``tokenize='porter unicode61 remove_diacritics 2'`` over
``text.cjk.search_text``; pairs of CJK characters are made here in the same way.
"""

from __future__ import annotations

import re

from .cjk import CJK_CLASS, CJK_RUN, fold_width, pairs

__all__ = ["MAX_TERMS", "STOP_WORDS", "advanced_query", "fts_query", "query_terms"]

MAX_TERMS = 64  # a pasted page is a question too: its first 64 different words decide
MAX_TERM_LENGTH = 200
MAX_OPERANDS = 128  # FTS5 allows trees of depth 256
MAX_DEPTH = 20

STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being but by can could did do does doing
    for from had has have having he her here hers him his how i if in into is it its just me might more most must my
    no nor not of on only or other our ours out over own s shall she should so some such t than that the their them
    then there these they this those through to too under until up us very was we were what when where which while
    who whom whose why will with would you your yours""".split()
)

# Letters and digits, with the marks that stand inside a word; what FTS5 splits further becomes a phrase by quoting.
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_TERM = re.compile(f"[{CJK_CLASS}]+|(?:(?![{CJK_CLASS}])[^\\W_])(?:(?![{CJK_CLASS}])(?:[^\\W_]|[{_MARKS}]))*")
_ADVANCED = re.compile(r'\s+|(?P<paren>[()])|"(?P<phrase>[^"]*)"(?P<star>\*?)|(?P<open>")|(?P<word>[^\s()"]+)')


def query_terms(question: str) -> list[str]:
    """Return the terms of a question in order, without repetition, at most ``MAX_TERMS``.

    A run of CJK characters gives its pairs, a single CJK character a prefix marked by a final ``*``.

    >>> query_terms("it's C++ in 東京都, 猫?")
    ['it', 's', 'C', 'in', '東京', '京都', '猫*']
    """
    terms: dict[str, None] = {}
    for match in _TERM.finditer(fold_width(question)):
        term = match[0][:MAX_TERM_LENGTH]
        if CJK_RUN.match(term):
            chars = pairs(term)
            terms.update(dict.fromkeys(chars[:-1] or [c + "*" for c in chars]))
        else:
            terms[term] = None
        if len(terms) >= MAX_TERMS:
            break
    return list(terms)[:MAX_TERMS]


def _quoted(term: str) -> str:
    return f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"'


def _phrase(text: str, prefix: bool = False) -> str | None:
    """The whole of text as one phrase, None if it holds no word."""
    words: list[str] = []
    last_is_cjk = False
    for match in _TERM.finditer(fold_width(text)):
        if CJK_RUN.match(match[0]):
            chars = pairs(match[0])
            words += chars  # between two words the run ends in the text as well: its last character stands
            last_is_cjk = bool(chars)
        else:
            words.append(match[0][:MAX_TERM_LENGTH])
            last_is_cjk = False
        if len(words) >= MAX_TERMS:
            break
    if not words:
        return None
    if last_is_cjk:  # the run may go on in the text
        if len(words) > 1 and len(words[-2]) == 2 and words[-2][1] == words[-1]:
            words.pop()
        else:
            prefix = True
    return f'"{" ".join(words[:MAX_TERMS])}"' + "*" * prefix


def fts_query(text: str, mode: str = "or") -> str | None:
    """Return an FTS5 query for plain text, or None if the text holds nothing to search for.

    Parameters: ``mode`` is ``or`` (any word; English stop words are dropped unless nothing else is left), ``and``
    (every piece between white space, as a phrase where it holds several words) or ``phrase`` (the words in order).
    Raises ValueError for any other mode, and for no text.

    >>> fts_query("what is grammar::fa?")
    '"grammar" OR "fa"'
    >>> fts_query("what is grammar::fa?", mode="and")
    '"what" AND "is" AND "grammar fa"'
    >>> fts_query("?!") is None
    True
    """
    if mode == "or":
        terms = query_terms(text)
        telling = [term for term in terms if term.lower() not in STOP_WORDS]
        return " OR ".join(map(_quoted, telling or terms)) or None
    if mode == "and":
        pieces = dict.fromkeys(filter(None, map(_phrase, text.split()[: MAX_TERMS * 4])))
        return " AND ".join(list(pieces)[:MAX_TERMS]) or None
    if mode == "phrase":
        return _phrase(text)
    raise ValueError(f"mode must be 'or', 'and' or 'phrase', not {mode!r}")


def advanced_query(text: str) -> str:
    """Return the FTS5 query for text in which AND, OR, NOT, parentheses, "phrases" and prefix* have a meaning.

    NOT binds closer than AND, AND closer than OR; words side by side are joined by AND. Raises ValueError, one
    sentence with the position (from 1), for anything that cannot be understood.

    >>> advanced_query('tier1-test AND (unicode OR "two words") NOT dra*')
    '"tier1 test" AND (("unicode" OR "two words") NOT "dra"*)'
    """
    parser = _Parser(text)
    if not parser.items:
        raise ValueError("The query is empty.")
    query = parser.any_of(0)
    if (item := parser.peek()) is not None:
        raise ValueError(f"The closing parenthesis at position {item[2]} has no opening one.")
    return query


class _Parser:
    """Recursive descent over (kind, value, position); kinds are AND, OR, NOT, '(', ')' and 'term'."""

    def __init__(self, text: str) -> None:
        self.items: list[tuple[str, str, int]] = []
        self.at = 0
        for match in _ADVANCED.finditer(text):
            position = match.start() + 1
            if match["open"]:
                raise ValueError(f"The quotation mark at position {position} is not closed.")
            if match["paren"]:
                self.items.append((match["paren"], match["paren"], position))
            elif match["word"] in ("AND", "OR", "NOT"):
                self.items.append((match["word"], match["word"], position))
            elif match["word"] or match["phrase"] is not None:
                self.items.append(("term", self._term(match), position))
        if sum(kind == "term" for kind, _, _ in self.items) > MAX_OPERANDS:
            raise ValueError(f"The query has more than {MAX_OPERANDS} words and phrases.")

    @staticmethod
    def _term(match: re.Match[str]) -> str:
        word = match["word"]
        prefix = word.endswith("*") if word else bool(match["star"])
        phrase = _phrase(word or match["phrase"], prefix)
        if phrase is None:
            shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in match[0])
            raise ValueError(f"There is nothing to search for in {shown} at position {match.start() + 1}.")
        return phrase

    def peek(self) -> tuple[str, str, int] | None:
        return self.items[self.at] if self.at < len(self.items) else None

    def take(self, *kinds: str) -> bool:
        item = self.peek()
        if item is None or item[0] not in kinds:
            return False
        self.at += 1
        return True

    def any_of(self, depth: int) -> str:
        parts = [self.all_of(depth)]
        while self.take("OR"):
            parts.append(self.all_of(depth))
        return parts[0] if len(parts) == 1 else " OR ".join(parts)

    def all_of(self, depth: int) -> str:
        parts = [self.without(depth)]
        while self.take("AND") or ((item := self.peek()) is not None and item[0] in ("term", "(")):
            parts.append(self.without(depth))
        return parts[0] if len(parts) == 1 else " AND ".join(parts)

    def without(self, depth: int) -> str:
        parts = [self.operand(depth)]
        while self.take("NOT"):
            parts.append(self.operand(depth))
        return parts[0] if len(parts) == 1 else f"({' NOT '.join(parts)})"

    def operand(self, depth: int) -> str:
        item = self.peek()
        if item is None:
            last, position = self.items[-1][1:]
            raise ValueError(f"A word is missing after {last} at position {position}.")
        kind, value, position = item
        self.at += 1
        if kind == "term":
            return value
        if kind != "(":
            raise ValueError(f"A word is missing before {value} at position {position}.")
        if depth >= MAX_DEPTH:
            raise ValueError(f"The parentheses are nested too deeply at position {position}.")
        inner = self.any_of(depth + 1)
        if not self.take(")"):
            raise ValueError(f"The parenthesis at position {position} is not closed.")
        return f"({inner})"
