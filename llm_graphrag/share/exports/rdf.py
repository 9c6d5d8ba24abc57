"""N-Triples and Turtle: entities by the IRIs that they came with, or by made-up ones that their names give.

Names are labels, other names ``skos:altLabel``, types ``rdf:type``. Where an IRI of a relation, attribute or type does
not say by itself what it is called here, that is said of it at the end. How often and how surely a fact is stated, and
its quote, have no place in plain RDF and stay behind. ``import`` reads the file back to the same graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...store.merges import SAME_AS
from ...text.normalise import fold_identifier
from ..imports.nodes import MORE_TYPES
from ..imports.rdf import MAIN_TYPE, OWL_SAME_AS, RDF_TYPE
from ..imports.vocabulary import MINTED, NAMED, Vocabulary
from .graph import Entity, Graph

__all__ = ["to_ntriples", "to_turtle"]

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALT_LABEL = "http://www.w3.org/2004/02/skos/core#altLabel"
PREFIXES = {
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
IRI = "iri"  # the attribute that holds what an entity came with

_ABSOLUTE = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\\x7f-\x9f]+')
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Said = tuple[str, str]
"""A predicate's IRI and an object as N-Triples writes it."""


def to_ntriples(graph: Graph, out: Path) -> str:
    """Write N-Triples."""
    with out.open("w", encoding="utf-8", newline="\n") as file:
        for subject, said in _subjects(graph):
            file.writelines(f"<{subject}> <{predicate}> {object_} .\n" for predicate, object_ in said)
    return ""


def to_turtle(graph: Graph, out: Path) -> str:
    """Write Turtle: what is said of one entity together."""
    with out.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in PREFIXES.items())
        for subject, said in _subjects(graph):
            lines = " ;\n  ".join(f"{_short(f'<{predicate}>')} {_short(object_)}" for predicate, object_ in said)
            file.write(f"\n<{subject}>\n  {lines} .\n")
    return ""


def _short(term: str) -> str:
    """An IRI with a prefix where there is one for it."""
    if term == f"<{RDF_TYPE}>":
        return "a"
    for prefix, iri in PREFIXES.items():
        at = term.find(f"<{iri}")
        if at >= 0 and (at == 0 or term[at - 2 : at] == "^^") and _LOCAL.fullmatch(term[at + 1 + len(iri) : -1]):
            return f"{term[:at]}{prefix}:{term[at + 1 + len(iri) : -1]}"
    return term


def _subjects(graph: Graph) -> Iterator[tuple[str, list[Said]]]:
    """Every entity with what is said of it, in order."""
    words = _Words(graph)
    attributes = _grouped((a.entity.number, (a.attribute, a.value, a.language, a.datatype)) for a in graph.attributes())
    triples = _grouped((t.head.number, (t.relation, t.tail)) for t in graph.triples())
    words.give(graph, attributes)
    for entity in graph.entities:
        own = attributes.get(entity.number, [])
        said = [(LABEL, literal(entity.name))]
        if entity.type:
            said.append((RDF_TYPE, f"<{words.iri('type', entity.type)}>"))
        if entity.type and any(words.is_type(name, value) for name, value, _, _ in own):
            said.append((MAIN_TYPE, f"<{words.iri('type', entity.type)}>"))
        said += [(ALT_LABEL, literal(alias)) for alias in entity.aliases]
        for name, value, language, datatype in own:
            if entity.type and words.is_type(name, value):
                said.append((RDF_TYPE, f"<{words.iri('type', value)}>"))
            elif not (name == IRI and value == words.of(entity)):
                said.append((words.iri("attribute", name), literal(value, language, datatype)))
        for relation, tail in triples.get(entity.number, []):
            predicate = OWL_SAME_AS if relation == SAME_AS else words.iri("relation", relation)
            said.append((predicate, f"<{words.of(tail)}>"))
        yield words.of(entity), list(dict.fromkeys(said))
    for kind, name, iri in sorted(words.taken):
        if Vocabulary().identifier(kind, iri) != name:
            yield iri, [(NAMED[kind], literal(name))]


def _grouped(pairs: Iterator[tuple[int, tuple[Any, ...]]]) -> dict[int, list[tuple[Any, ...]]]:
    found: dict[int, list[tuple[Any, ...]]] = {}
    for number, item in pairs:
        found.setdefault(number, []).append(item)
    return found


class _Words:
    """IRIs: of relations, attributes and types, and of entities."""

    def __init__(self, graph: Graph) -> None:
        self._known = {kind: graph.vocabulary.iris(kind) for kind in ("relation", "attribute", "type")}
        self._entities: dict[int, str] = {}
        self.taken: set[tuple[str, str, str]] = set()  # kind, name and IRI, of those that came with theirs

    def give(self, graph: Graph, attributes: dict[int, list[tuple[Any, ...]]]) -> None:
        """Each entity has the first IRI that it came with and that no other has."""
        taken: set[str] = set()
        for entity in graph.entities:
            came = (value for name, value, _, _ in attributes.get(entity.number, []) if name == IRI)
            iri = next((iri for iri in came if _ABSOLUTE.fullmatch(iri) and iri not in taken), None)
            iri = iri or f"{MINTED}entity:{quote(entity.type, safe='')}:{quote(entity.name, safe='')}"
            taken.add(iri)
            self._entities[entity.number] = iri

    def of(self, entity: Entity) -> str:
        """The IRI of an entity."""
        return self._entities[entity.number]

    def iri(self, kind: str, name: str) -> str:
        """The IRI of a relation, attribute or type."""
        known = self._known[kind].get(name, "")
        if not _ABSOLUTE.fullmatch(known):
            return f"{MINTED}{kind}:{quote(name, safe='')}"
        self.taken.add((kind, name, known))
        return known

    def is_type(self, attribute: str, value: str) -> bool:
        """Whether an attribute is a further type."""
        if attribute != MORE_TYPES:
            return False
        try:
            return fold_identifier(value) == value
        except ValueError:
            return False


def literal(text: str, language: str = "", datatype: str = "") -> str:
    r"""A literal as N-Triples writes it.

    >>> print(literal('say "hi"\n', "en"), literal("1815", "", "http://www.w3.org/2001/XMLSchema#gYear"))
    "say \"hi\"\n"@en "1815"^^<http://www.w3.org/2001/XMLSchema#gYear>
    """
    written = "".join(_SHORT.get(char) or (char if char.isprintable() else _escape(char)) for char in text)
    if _LANGUAGE.fullmatch(language):
        return f'"{written}"@{language}'
    return f'"{written}"^^<{datatype}>' if _ABSOLUTE.fullmatch(datatype) else f'"{written}"'


def _escape(char: str) -> str:
    return f"\\u{ord(char):04X}" if ord(char) < 0x10000 else f"\\U{ord(char):08X}"
