"""RDF: names for what N-Triples and Turtle call by IRIs, and what their triples state.

The text of a Turtle file is its triples as N-Triples, sorted, since Turtle says one triple in several places; of an
N-Triples file it is the file. What is called by an IRI gets a readable name: the one that another imported file gives
it, else its label, else the last part of the IRI; the IRI stays as the attribute ``iri``. Types, labels and other names
are what they are; literals are attributes, with language and datatype kept beside the value; ``owl:sameAs`` is a triple
like others, and a suggestion that the two are one, about which a person decides.

A file is gone through twice, once for what things are called and once for what is stated, so that neither its triples
nor its statements are ever all in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...facts.claims import ALSO_KNOWN_AS, IS_A
from ...sources.report import Remark
from ...store.imported import Statement
from ...store.merges import SAME_AS
from ...text.counted import counted
from ...text.normalise import clean_name, name_key
from .nodes import MORE_TYPES
from .ntriples import LineParser, Triple, is_valid
from .reading import Reading, StatedRow, lines
from .statements import HALVES, MAX_NAME, MAX_QUOTE, Node, value_of
from .vocabulary import MINTED, NAMED, Vocabulary, last_part

__all__ = ["LABELS", "OTHER_NAMES", "Names", "Survey", "blank_name", "state", "survey"]

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
NAMES = ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel")
LABELS = (*NAMES, "http://xmlns.com/foaf/0.1/name", "http://schema.org/name", "https://schema.org/name")
OTHER_NAMES = ("http://www.w3.org/2004/02/skos/core#altLabel", *NAMES)
MAIN_TYPE = f"{MINTED}main_type"  # of an entity with several, in what an export wrote
OWL_SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
KIND_NAMED = {predicate: kind for kind, predicate in NAMED.items()}
NO_KINDS = ("http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#")  # owl:Thing says nothing

_MADE_LABEL = re.compile(r"(_:cb[0-9a-f]{12})[0-9a-f]{52}")

Label = tuple[int, bool, str, str]
"""How good a label is: its predicate, whether it is in another language than English; then language and text."""


@dataclass
class Survey:
    """What a file calls its things, written as N-Triples writes them, in the order in which they first stand there."""

    things: dict[str, str] = field(default_factory=dict)  # to itself, so that each is one string
    types: dict[str, list[str]] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)  # the best
    main: dict[str, str] = field(default_factory=dict)
    relations: dict[str, None] = field(default_factory=dict)
    attributes: dict[str, None] = field(default_factory=dict)
    named: list[tuple[str, str, str]] = field(default_factory=list)  # kind of IRI, IRI, what an export called it
    _kinds: dict[str, str] = field(default_factory=dict)  # likewise

    def add(self, triple: Triple) -> None:
        """Take note of a triple."""
        if kind := KIND_NAMED.get(triple.predicate):
            self.named.append((kind, triple.subject.strip("<>"), triple.literal))
            return
        subject = self._thing(triple.subject)
        if triple.object is None:
            if triple.predicate not in OTHER_NAMES or not _usable(triple.literal):
                self.attributes[triple.predicate] = None
            if triple.predicate in LABELS and _usable(triple.literal):
                rank = LABELS.index(triple.predicate), triple.language not in ("", "en")
                label = (*rank, triple.language, triple.literal)
                self.labels[subject] = min(label, self.labels.get(subject, label))
        elif _says_type(triple):
            types = self.types.setdefault(subject, [])
            if triple.object not in types:
                types.append(self._kinds.setdefault(triple.object, triple.object))
        elif triple.predicate == MAIN_TYPE:
            self.main[subject] = triple.object
        else:
            self._thing(triple.object)
            if triple.predicate != OWL_SAME_AS:
                self.relations[triple.predicate] = None

    def _thing(self, thing: str) -> str:
        return self.things.setdefault(thing, thing)

    def nodes(self, file: str, vocabulary: Vocabulary) -> dict[str, Node]:
        """What everything is called here, and of which type it is. The vocabulary gets a word for all predicates."""
        for kind, iri, name in self.named:
            vocabulary.call(kind, iri, name)
        found: dict[str, Node] = {}
        for thing in self.things:
            kinds = sorted(self.types.get(thing, ()), key=lambda kind: self._rank(thing, kind))
            type_ = vocabulary.identifier("type", kinds[0][1:-1]) if kinds else ""
            found[thing] = Node(self._name(thing, file), type_)
        words = {
            "type": [kind[1:-1] for kinds in self.types.values() for kind in kinds],
            "relation": self.relations, "attribute": self.attributes,
        }  # fmt: skip
        for kind, iris in words.items():
            for iri in dict.fromkeys(iris):
                vocabulary.identifier(kind, iri)
        return found

    def _rank(self, thing: str, kind: str) -> tuple[bool, bool, str]:
        return kind != self.main.get(thing), kind[1:].startswith(NO_KINDS), kind

    def _name(self, thing: str, file: str) -> str:
        """The label of a thing, else the last part of its IRI, or how a blank node is called in which file."""
        if thing in self.labels:
            return clean_name(self.labels[thing][3])
        name = last_part(thing[1:-1]) if thing[0] == "<" else blank_name(thing, file)
        return clean_name(name if _usable(name) else thing.strip("<>"))[:MAX_NAME]


def blank_name(thing: str, file: str) -> str:
    """What a blank node is called that has no label; of the long ones that rdflib makes for Turtle, a part is enough.

    >>> blank_name("_:b1", "a.nt"), blank_name("_:cb" + "0123456789abcdef" * 4, "a.ttl")
    ('_:b1 (a.nt)', '_:cb0123456789ab (a.ttl)')
    """
    short = _MADE_LABEL.sub(r"\1", thing)
    return f"{short} ({file})"


def _says_type(triple: Triple) -> bool:
    return triple.predicate == RDF_TYPE and triple.object is not None and triple.object[0] == "<"


def _usable(name: str) -> bool:
    cleaned = clean_name(name)
    return bool(name_key(cleaned)) and len(cleaned) <= MAX_NAME


def survey(reading: Reading) -> Survey:
    """Go through the lines of ``reading.text`` for what things are called; what cannot be used is reported."""
    found, parser = Survey(), LineParser()
    odd, example, first = 0, "", 0
    for start, end, line in lines(reading.text):
        reading.total += 1
        try:
            triple = _triple(parser, reading.text[start:end])
        except ValueError as error:
            reading.skipped.append(Remark(reading.name, str(error), line))
            continue
        if triple is None:
            continue
        reading.used += 1
        found.add(triple)
        if not all(map(is_valid, triple.iris())):
            odd += 1
            if odd == 1:
                example, first = next(iri for iri in triple.iris() if not is_valid(iri)), line
    if odd:
        reading.warn(f"{counted(odd, 'statement')} with an IRI that is none, such as <{example}>; read as it is", first)
    if parser.surrogates:
        reading.warn(HALVES.format(counted(parser.surrogates, "half character")))
    return found


def _triple(parser: LineParser, line: str) -> Triple | None:
    """The triple of a line, None for a comment. Raises ValueError if it cannot be used."""
    triple = parser.parse(line)
    if triple is not None and triple.object is None and not value_of(triple.literal).strip():
        raise ValueError("its literal is empty")
    return triple


@dataclass
class Names:
    """What everything in a file is called in the end; ``others`` are names that have to be said to be its too."""

    nodes: Mapping[str, Node]
    others: Mapping[str, str]
    vocabulary: Vocabulary


def state(text: str, names: Names) -> Iterator[StatedRow]:
    """What every line states."""
    parser, told = LineParser(), set[str]()
    for start, end, _ in lines(text):
        try:
            triple = _triple(parser, text[start:end])
        except ValueError:  # reported by the survey
            triple = None
        yield start, end, list(_stated(text, start, end, triple, names, told)) if triple else ()


def _stated(text: str, start: int, end: int, triple: Triple, names: Names, told: set[str]) -> Iterator[Statement]:
    if triple.predicate in KIND_NAMED:
        return
    head, place = names.nodes[triple.subject], (start, min(end, start + MAX_QUOTE))
    span = _span(text, triple.subject, *place)
    yield from _introduced(triple.subject, names, place, told)
    if triple.object is None:
        yield _of_literal(triple, head, names.vocabulary, place, span)
    elif triple.predicate == MAIN_TYPE:
        return
    elif _says_type(triple):
        kind = names.vocabulary.identifier("type", triple.object[1:-1])
        said = ("type", head.name, head.type, IS_A) if kind == head.type else ("attribute", *head.said, MORE_TYPES)
        yield Statement(*said, kind, "", *place, span)
    else:
        tail = names.nodes[triple.object]
        yield from _introduced(triple.object, names, place, told)
        same = triple.predicate == OWL_SAME_AS
        relation = SAME_AS if same else names.vocabulary.identifier("relation", triple.predicate)
        tail_span = _span(text, triple.object, span[1] if span else start, place[1])
        yield Statement("triple", *head.said, relation, *tail.said, *place, span, tail_span)


def _of_literal(
    triple: Triple, head: Node, vocabulary: Vocabulary, place: tuple[int, int], span: tuple[int, int] | None
) -> Statement:
    about = {"datatype": triple.datatype, "language": triple.language}
    detail = json.dumps({name: said for name, said in about.items() if said}, ensure_ascii=False)
    if triple.predicate in OTHER_NAMES and _usable(triple.literal):
        said = "alias", *head.said, ALSO_KNOWN_AS, clean_name(triple.literal)
    else:
        attribute = vocabulary.identifier("attribute", triple.predicate)
        said = "attribute", *head.said, attribute, value_of(triple.literal)
    return Statement(*said, "", *place, span, detail=detail)


def _span(text: str, thing: str, start: int, end: int) -> tuple[int, int] | None:
    """Where a line names a subject or an object, without the angle brackets; None where it is written with escapes."""
    at = text.find(thing, start, end)
    if at < 0:
        return None
    return (at + 1, at + len(thing) - 1) if thing[0] == "<" else (at, at + len(thing))


def _introduced(thing: str, names: Names, place: tuple[int, int], told: set[str]) -> Iterator[Statement]:
    """Once a file, what something is called by; IRIs that an export had to make say nothing."""
    if thing in told:
        return
    told.add(thing)
    node = names.nodes[thing]
    if thing[0] == "<" and not thing.startswith(MINTED, 1):
        yield Statement("attribute", *node.said, "iri", thing[1:-1], "", *place)
    if thing in names.others:
        yield Statement("alias", *node.said, ALSO_KNOWN_AS, names.others[thing], "", *place)
