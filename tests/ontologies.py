"""Ontologies of Text2KGBench as schemas: classes become entity types, relations to literals become attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llm_graphrag.facts.template import AttributeType, EntityType, Relation, Template, folded

KINDS = {"number": "number", "string": "text", "date": "date", "year": "date", "": "text"}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DATE = re.compile(r"\bdate\b")


def from_ontology(data: Mapping[str, Any]) -> Template:
    """The schema of an ontology: names as in its labels, camel case taken apart.

    Classes that are listed twice count once; relations of one label are joined; an end whose class is not listed
    takes every type. A range of the kind string, number or Date, or an empty one of a label that ends in "date",
    makes an attribute.
    """
    labels = {concept["qid"]: _words(concept["label"]) for concept in data["concepts"]}
    types = {folded(label): EntityType(label) for label in labels.values()}
    relations: dict[str, Relation] = {}
    attributes: dict[str, AttributeType] = {}
    for row in data["relations"]:
        name, written = _words(row["label"]), row["range"]
        domain = _ends([row["domain"]], labels, types)
        kind = KINDS.get(written.lower()) if written or _DATE.search(name) else None
        if kind is not None:
            kind = "date" if _DATE.search(name) else kind
            before = attributes.get(folded(name))
            attributes[folded(name)] = AttributeType(name, domain=_joined(before and before.domain, domain), kind=kind)
        else:
            found = relations.get(folded(name))
            range_ = _ends([written], labels, types)
            relations[folded(name)] = Relation(
                name,
                domain=_joined(found and found.domain, domain),
                range=_joined(found and found.range, range_),
            )
    return Template(
        name=data["id"],
        title=data["title"],
        entity_types=tuple(types.values()),
        relations=tuple(relations.values()),
        attributes=tuple(attributes.values()),
    )


def _words(label: str) -> str:
    return _CAMEL.sub(" ", label).lower()


def _ends(ids: Sequence[str], labels: Mapping[str, str], types: Mapping[str, EntityType]) -> tuple[str, ...]:
    return tuple(types[folded(labels[qid])].name for qid in ids if qid in labels)


def _joined(before: tuple[str, ...] | None, now: tuple[str, ...]) -> tuple[str, ...]:
    """Both, or everything if one of them is everything."""
    if before is None:
        return now
    return tuple(dict.fromkeys((*before, *now))) if before and now else ()
