"""RDF as lines: N-Triples, a triple a line, and Turtle made into them through rdflib, which is the extra ``rdf``.

Lines are parsed one by one and nothing of them is kept here, so that a large file needs little more than its text. Most
lines hold no escapes and are taken apart by one pattern; what that does not match, rdflib parses or refuses.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .reading import UnreadableError
from .statements import SURROGATE

__all__ = ["LineParser", "Triple", "as_ntriples", "is_valid"]

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
MANY_BLANK = 2_000  # blank nodes; the names of more are not made the same in every reading
SHOWN = 60  # letters of a line in a message
MISSING = "N-Triples and Turtle need the extra rdf: llm install 'llm-graphrag[rdf]'"

_INVALID = re.compile(r'[\x00-\x20<>"{}|\\^`]')
_IRI = r'<([^\x00-\x20<>"{}|\\^`]+)>'
_BLANK = r"(_:[A-Za-z0-9]+)"
_PLAIN_LINE = re.compile(
    rf'[ \t]*(?:{_IRI}|{_BLANK})[ \t]+{_IRI}[ \t]+'
    rf'(?:{_IRI}|{_BLANK}|"([^"\\\r\n]*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^{_IRI})?)[ \t]*\.[ \t]*'
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple. Things are as N-Triples writes them, ``<IRI>`` or ``_:label``, the predicate is a bare IRI.

    ``object`` is None for a literal.
    """

    subject: str
    predicate: str
    object: str | None
    literal: str = ""
    language: str = ""
    datatype: str = ""

    def iris(self) -> Iterator[str]:
        """Its IRIs."""
        yield from (thing[1:-1] for thing in (self.subject, self.object) if thing and thing[0] == "<")
        yield self.predicate
        if self.datatype:
            yield self.datatype


def is_valid(iri: str) -> bool:
    """Whether an IRI holds none of the characters that an IRI cannot hold."""
    return _INVALID.search(iri) is None


class LineParser:
    """Parses lines of N-Triples. Raises UnreadableError without the extra."""

    def __init__(self) -> None:
        try:
            from rdflib.plugins.parsers.ntriples import W3CNTriplesParser
        except ImportError as error:
            raise UnreadableError(MISSING) from error
        self._found: list[tuple[Any, Any, Any]] = []
        self._parser = W3CNTriplesParser(sink=self, bnode_context=_Labels())  # type: ignore[arg-type]
        self.surrogates = 0  # halves of characters, for which U+FFFD stands

    def parse(self, line: str) -> Triple | None:
        """The triple of a line; None for a comment. Raises ValueError if it is neither."""
        if plain := _PLAIN_LINE.fullmatch(line):
            subject, blank, predicate, object_, other_blank, literal, language, datatype = plain.groups()
            head = blank or f"<{subject}>"
            if literal is None:
                return Triple(head, predicate, other_blank or f"<{object_}>")
            return Triple(head, predicate, None, literal, language or "", _told(datatype))
        self._found.clear()
        self._parser.line = line
        with as_written():
            try:
                self._parser.parseline()
            except Exception as error:  # rdflib raises what its parsers raise
                raise ValueError(f"it is no triple: {_fault(line)}") from error
        return self._made(*self._found[0]) if self._found else None

    def triple(self, *triple: Any) -> None:
        """Called by rdflib."""
        self._found.append((triple[0], triple[1], triple[2]))

    def _made(self, subject: Any, predicate: Any, object_: Any) -> Triple:
        from rdflib import Literal

        if not isinstance(object_, Literal):
            return Triple(self._thing(subject), self._text(predicate), self._thing(object_))
        said = object_.language or "", _told(None if object_.datatype is None else self._text(object_.datatype))
        return Triple(self._thing(subject), self._text(predicate), None, self._text(object_), *said)

    def _thing(self, part: Any) -> str:
        from rdflib import BNode

        return f"_:{part}" if isinstance(part, BNode) else f"<{self._text(part)}>"

    def _text(self, part: Any) -> str:
        text, number = SURROGATE.subn("\ufffd", str(part))
        self.surrogates += number
        return text


_ANY_IRI = r'<[^\s"<>]+>'
_NODE = rf"{_ANY_IRI}|_:[^\s<>\"]+"
_LITERAL = rf'"(?:[^"\\]|\\.)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^{_ANY_IRI})?'
_PARTS = (
    ("subject", re.compile(_NODE), "an IRI in <> or a blank node"),
    ("predicate", re.compile(_ANY_IRI), "an IRI in <>"),
    ("object", re.compile(rf"{_NODE}|{_LITERAL}"), "an IRI in <>, a blank node or a literal in quotation marks"),
)


def _fault(line: str) -> str:
    """What is wrong with a line that is no triple.

    >>> _fault("<urn:a> b <urn:c> ."), _fault("<urn:a> <urn:b> <urn:c>")
    ('its predicate is not an IRI in <>: b <urn:c> .', 'the full stop at its end is missing')
    >>> _fault("<urn:a> <urn:b> <urn:c> <urn:g> .")
    'more than a full stop follows its object: <urn:g> .'
    """
    rest = line.strip()
    for part, pattern, kinds in _PARTS:
        found = pattern.match(rest)
        if found is None:
            return f"its {part} is not {kinds}: {rest[:SHOWN]}" if rest else f"its {part} is missing"
        rest = rest[found.end() :].lstrip()
    if not rest:
        return "the full stop at its end is missing"
    if rest[0] != ".":
        return f"more than a full stop follows its object: {rest[:SHOWN]}"
    return "an IRI in it is not a full one, or an escape is none"


def _told(datatype: str | None) -> str:
    return "" if datatype in (None, XSD_STRING) else str(datatype)


class _Labels(dict[str, Any]):
    """Blank nodes keep the labels that they have in the file."""

    def get(self, label: str, default: Any = None) -> Any:
        from rdflib import BNode

        return BNode(label)


@contextmanager
def as_written() -> Iterator[None]:
    """rdflib rewrites literals such as "01"^^xsd:integer unless told not to, and logs what it thinks of others."""
    import rdflib

    log = logging.getLogger("rdflib")
    before = rdflib.NORMALIZE_LITERALS, log.level
    rdflib.NORMALIZE_LITERALS = False
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        rdflib.NORMALIZE_LITERALS = before[0]
        log.setLevel(before[1])


def as_ntriples(text: str, name: str) -> tuple[str, list[str]]:
    """A Turtle text as sorted N-Triples, and the IRIs of the triples that cannot be written. Raises UnreadableError."""
    try:
        from rdflib import BNode, Graph
        from rdflib.compare import to_canonical_graph
        from rdflib.plugins.parsers.notation3 import BadSyntax
    except ImportError as error:
        raise UnreadableError(MISSING) from error
    graph = Graph()
    with as_written():
        try:
            graph.parse(data=text, format="turtle", publicID=f"file:///{name}")
            invalid = [(triple, iri) for triple in graph for iri in _iris(triple) if not is_valid(iri)]
            for triple, _ in invalid:
                graph.remove(triple)
            if invalid and not graph:
                raise ValueError(f"<{invalid[0][1]}> is no IRI, and nothing else stands there")
            blank = {term for triple in graph for term in triple if isinstance(term, BNode)}
            whole = to_canonical_graph(graph) if 0 < len(blank) <= MANY_BLANK else graph
            written = whole.serialize(format="nt")
        except IndexError as error:
            raise UnreadableError("it is no Turtle: it ends within a statement") from error
        except BadSyntax as error:
            at = " ".join(error._str[error._i : error._i + SHOWN].decode("utf-8", "replace").split())
            where = f"line {error.lines + 1}" + (f", at {at}" if at else ", at its end")
            raise UnreadableError(f"it is no Turtle: {error._why}, {where}") from error
        except Exception as error:  # rdflib raises what its parsers raise
            raise UnreadableError(f"it is no Turtle: {' '.join(str(error).split())[:200]}") from error
    found = sorted({line for line in written.split("\n") if line.strip()})
    return "".join(f"{line}\n" for line in found), sorted(dict(invalid).values())


def _iris(terms: Iterable[Any]) -> Iterator[str]:
    from rdflib import Literal, URIRef

    for term in terms:
        if isinstance(term, URIRef):
            yield str(term)
        elif isinstance(term, Literal) and term.datatype is not None:
            yield str(term.datatype)
