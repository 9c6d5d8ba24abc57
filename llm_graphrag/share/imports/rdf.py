"""RDF: N-Triples line by line, and Turtle through rdflib, which is the extra ``rdf``.

The text of a Turtle file is its triples as N-Triples, sorted, since Turtle says one triple in several places; of an
N-Triples file it is the file. What is called by an IRI gets a readable name: its label, else the last part of the IRI;
the IRI stays as the attribute ``iri``. Types, labels and other names are what they are; literals are attributes, with
language and datatype kept beside the value; ``owl:sameAs`` is a triple like others, and a suggestion that the two are
one, about which a person decides.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...facts.claims import ALSO_KNOWN_AS, IS_A
from ...sources.rows.feed import UnreadableError
from ...store.imported import Statement
from ...store.merges import SAME_AS
from ...text.normalise import clean_name, name_key
from .nodes import MORE_TYPES
from .reading import Reading
from .statements import MAX_NAME, MAX_QUOTE, Node, value_of
from .vocabulary import MINTED, Vocabulary, last_part

__all__ = ["as_ntriples", "read_ntriples"]

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
NAMES = ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel")
LABELS = (*NAMES, "http://xmlns.com/foaf/0.1/name", "http://schema.org/name", "https://schema.org/name")
OTHER_NAMES = ("http://www.w3.org/2004/02/skos/core#altLabel", *NAMES)
MAIN_TYPE = f"{MINTED}main_type"  # of an entity with several, in what an export wrote
OWL_SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
NO_KINDS = ("http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#")  # owl:Thing says nothing
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
MANY_BLANK = 2_000  # blank nodes; the names of more are not made the same in every reading
MISSING = "N-Triples and Turtle need the extra rdf: llm install 'llm-graphrag[rdf]'"


@dataclass(frozen=True, slots=True)
class _Term:
    """A subject or an object: ``iri``, ``blank`` or ``literal``."""

    kind: str
    text: str
    detail: str = "{}"  # of literals: language and datatype
    language: str = ""


@dataclass(frozen=True, slots=True)
class _Triple:
    subject: _Term
    predicate: str
    object: _Term
    start: int
    end: int


def as_ntriples(text: str, name: str) -> str:
    """A Turtle text as sorted N-Triples. Raises UnreadableError."""
    try:
        from rdflib import BNode, Graph
        from rdflib.compare import to_canonical_graph
    except ImportError as error:
        raise UnreadableError(MISSING) from error
    graph = Graph()
    with _literals_as_written():
        try:
            graph.parse(data=text, format="turtle", publicID=f"file:///{name}")
        except Exception as error:  # rdflib raises what its parsers raise
            raise UnreadableError(f"it is no Turtle: {' '.join(str(error).split())[:200]}") from error
        blank = {term for triple in graph for term in triple if isinstance(term, BNode)}
        whole = to_canonical_graph(graph) if 0 < len(blank) <= MANY_BLANK else graph
        try:
            written = whole.serialize(format="nt")
        except Exception as error:  # the parser lets IRIs pass that cannot be written
            raise UnreadableError(f"it is no Turtle: {' '.join(str(error).split())[:200]}") from error
        lines = sorted({line for line in written.split("\n") if line.strip()})
    return "".join(f"{line}\n" for line in lines)


def read_ntriples(reading: Reading, vocabulary: Vocabulary) -> None:
    """Read ``reading.text`` as N-Triples. Raises UnreadableError without the extra."""
    triples = list(_parsed(reading))
    names = _names([triple for triple in triples if triple is not None], reading.name, vocabulary)
    told: set[str] = set()
    for place, triple in enumerate(triples):
        if triple is not None:
            reading.statements[place] = list(_statements(reading.text, triple, names, vocabulary, told))
            reading.used += 1


@contextmanager
def _literals_as_written() -> Iterator[None]:
    """rdflib rewrites literals such as "01"^^xsd:integer unless it is told not to."""
    import rdflib

    before, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
    try:
        yield
    finally:
        rdflib.NORMALIZE_LITERALS = before


class _Labels(dict[str, Any]):
    """Blank nodes keep the labels that they have in the file."""

    def get(self, label: str, default: Any = None) -> Any:
        from rdflib import BNode

        return BNode(label)


def _parsed(reading: Reading) -> Iterator[_Triple | None]:
    """A triple for every line that is not empty, which is added to the reading; None for one that cannot be used."""
    try:
        from rdflib.plugins.parsers.ntriples import W3CNTriplesParser
    except ImportError as error:
        raise UnreadableError(MISSING) from error
    found: list[tuple[Any, Any, Any]] = []

    class Sink:
        def triple(self, *triple: Any) -> None:
            found.append((triple[0], triple[1], triple[2]))

    parser = W3CNTriplesParser(sink=Sink(), bnode_context=_Labels())  # type: ignore[arg-type]
    start = 0
    with _literals_as_written():
        for line, written in enumerate(reading.text.split("\n"), 1):
            end = start + len(written)
            if written.strip():
                found.clear()
                parser.line = written
                try:
                    parser.parseline()
                except Exception as error:  # rdflib raises what its parsers raise
                    reading.skip(start, end, line, f"it is no triple: {' '.join(str(error).split())[:120]}")
                    yield None
                else:
                    yield from _added(reading, found, start, end, line)
            start = end + 1


def _added(reading: Reading, found: Sequence[tuple[Any, Any, Any]], start: int, end: int, line: int) -> Iterator[Any]:
    if not found:  # a comment
        reading.add(start, end, ())
        yield None
        return
    subject, predicate, object_ = (_term(part) for part in found[0])
    if object_.kind == "literal" and not value_of(object_.text).strip():
        reading.skip(start, end, line, "its literal is empty")
        yield None
        return
    reading.add(start, end, ())
    yield _Triple(subject, predicate.text, object_, start, end)


def _term(part: Any) -> _Term:
    from rdflib import BNode, Literal

    text = str(part).encode("utf-8", "replace").decode("utf-8")
    if isinstance(part, Literal):
        detail = {}
        if part.language:
            detail["language"] = part.language
        elif part.datatype is not None and str(part.datatype) != XSD_STRING:
            detail["datatype"] = str(part.datatype)
        return _Term("literal", text, json.dumps(detail, ensure_ascii=False, sort_keys=True), part.language or "")
    return _Term("blank" if isinstance(part, BNode) else "iri", text)


# -- names ---------------------------------------------------------------------------


def _names(triples: Sequence[_Triple], file: str, vocabulary: Vocabulary) -> dict[_Term, Node]:
    """What every subject and object is called, and of which type it is."""
    terms: dict[_Term, None] = {}
    types: dict[_Term, list[str]] = {}
    labels: dict[_Term, list[tuple[int, bool, str, str]]] = {}
    main: dict[_Term, str] = {}
    for triple in triples:
        terms[triple.subject] = None
        if triple.predicate == RDF_TYPE and triple.object.kind == "iri":
            types.setdefault(triple.subject, []).append(triple.object.text)
        elif triple.predicate == MAIN_TYPE:
            main[triple.subject] = triple.object.text
        elif triple.object.kind != "literal":
            terms[triple.object] = None
        elif triple.predicate in LABELS and _usable(triple.object.text):
            rank = (LABELS.index(triple.predicate), triple.object.language not in ("", "en"))
            labels.setdefault(triple.subject, []).append((*rank, triple.object.language, triple.object.text))
    named: dict[_Term, Node] = {}
    for term in terms:
        if term in labels:
            name = clean_name(min(labels[term])[3])
        else:
            name = clean_name(last_part(term.text)) if term.kind == "iri" else f"_:{term.text} ({file})"
        name = name if _usable(name) else term.text[:MAX_NAME]
        kinds = sorted(types.get(term, ()), key=lambda iri: (iri != main.get(term), iri.startswith(NO_KINDS), iri))
        named[term] = Node(name, vocabulary.identifier("type", kinds[0]) if kinds else "")
    return _apart(named)


def _usable(name: str) -> bool:
    cleaned = clean_name(name)
    return bool(name_key(cleaned)) and len(cleaned) <= MAX_NAME


def _apart(named: dict[_Term, Node]) -> dict[_Term, Node]:
    """Different things of one name and one type get what tells them apart behind their names."""
    shared = Counter((name_key(node.name), node.type) for node in named.values())
    for term, node in named.items():
        if shared[name_key(node.name), node.type] > 1 and term.kind == "iri" and not term.text.startswith(MINTED):
            named[term] = Node(f"{node.name} <{term.text}>"[:MAX_NAME], node.type)
    return named


# -- statements ------------------------------------------------------------------------


def _statements(
    text: str, triple: _Triple, names: dict[_Term, Node], vocabulary: Vocabulary, told: set[str]
) -> Iterator[Statement]:
    subject, object_ = triple.subject, triple.object
    head, place = names[subject], (triple.start, min(triple.end, triple.start + MAX_QUOTE))
    head_span = _span(text, subject, *place)
    yield from _iri(subject, head, place, told)
    if triple.predicate == MAIN_TYPE:
        return
    if triple.predicate == RDF_TYPE and object_.kind == "iri":
        kind = vocabulary.identifier("type", object_.text)
        if kind == head.type:
            yield Statement("type", head.name, head.type, IS_A, kind, "", *place, head_span)
        else:
            yield Statement("attribute", head.name, head.type, MORE_TYPES, kind, "", *place, head_span)
        return
    if object_.kind == "literal" and triple.predicate in OTHER_NAMES and _usable(object_.text):
        name = clean_name(object_.text)
        yield Statement(
            "alias", head.name, head.type, ALSO_KNOWN_AS, name, "", *place, head_span, detail=object_.detail
        )
        return
    if object_.kind == "literal":
        attribute = vocabulary.identifier("attribute", triple.predicate)
        value = value_of(object_.text)
        yield Statement(
            "attribute", head.name, head.type, attribute, value, "", *place, head_span, detail=object_.detail
        )
        return
    tail = names[object_]
    yield from _iri(object_, tail, place, told)
    relation = SAME_AS if triple.predicate == OWL_SAME_AS else vocabulary.identifier("relation", triple.predicate)
    span = _span(text, object_, head_span[1] if head_span else place[0], place[1])
    yield Statement("triple", head.name, head.type, relation, tail.name, tail.type, *place, head_span, span)


def _span(text: str, term: _Term, start: int, end: int) -> tuple[int, int] | None:
    """Where a line names a subject or an object, without the angle brackets; None where it is written with escapes."""
    written = f"<{term.text}>" if term.kind == "iri" else f"_:{term.text}"
    at = text.find(written, start, end)
    if at < 0:
        return None
    return (at + 1, at + len(written) - 1) if term.kind == "iri" else (at, at + len(written))


def _iri(term: _Term, node: Node, place: tuple[int, int], told: set[str]) -> Iterator[Statement]:
    """Once a file, what something is called by; IRIs that an export had to make say nothing."""
    if term.kind == "iri" and term.text not in told and not term.text.startswith(MINTED):
        told.add(term.text)
        yield Statement("attribute", node.name, node.type, "iri", term.text, "", *place)
