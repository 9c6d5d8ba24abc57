"""Ontologies of Text2KGBench (concepts, relations with domain and range) as schemas."""

from __future__ import annotations

from typing import Any

from llm_graphrag.facts.template import AttributeType, EntityType, Relation, Template
from llm_graphrag.text.normalise import fold_identifier

__all__ = ["from_ontology"]

#: ranges that are values and no things -> the kind of the attribute
LITERALS = {"number": "number", "string": "text", "date": "date", "year": "text", "": "text"}


def from_ontology(ontology: dict[str, Any]) -> Template:
    """The schema of an ontology: relations to concepts are relations, those to values are attributes.

    What a relation joins without its being listed as a concept becomes an entity type too. A relation that is listed
    several times joins all of their ends.
    """
    labels = {concept["qid"]: concept["label"] for concept in ontology["concepts"]}
    types = {fold_identifier(label): label for label in labels.values()}
    ends: dict[str, tuple[str, list[str], list[str]]] = {}
    attributes: dict[str, tuple[str, list[str], str]] = {}
    for row in ontology["relations"]:
        name, domain = fold_identifier(row["label"]), _type(types, labels, row["domain"])
        if row["range"].lower() in LITERALS:
            _, domains, _ = attributes.setdefault(name, (row["label"], [], LITERALS[row["range"].lower()]))
            domains.append(domain)
            continue
        _, domains, ranges = ends.setdefault(name, (row["label"], [], []))
        domains.append(domain)
        ranges.append(_type(types, labels, row["range"]))
    return Template(
        name=fold_identifier(ontology["title"]),
        title=ontology["title"],
        entity_types=tuple(EntityType(name, aliases=_other(name, label)) for name, label in types.items()),
        relations=tuple(
            Relation(name, aliases=_other(name, label), domain=_once(domains), range=_once(ranges), is_list=True)
            for name, (label, domains, ranges) in ends.items()
        ),
        attributes=tuple(
            AttributeType(name, aliases=_other(name, label), domain=_once(domains), kind=kind, is_list=True)
            for name, (label, domains, kind) in attributes.items()
            if name not in ends
        ),
    )


def _type(types: dict[str, str], labels: dict[str, str], qid: str) -> str:
    label = labels.get(qid, qid)
    types.setdefault(fold_identifier(label), label)
    return fold_identifier(label)


def _other(name: str, label: str) -> tuple[str, ...]:
    return (label,) if label != name else ()


def _once(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
