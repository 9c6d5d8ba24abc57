"""What the things of an RDF file are called, given what other imported files call them.

An IRI keeps the name that another file has given it. Different things of one name get different ones: a number if they
have a label, else their IRI behind it. Blank nodes are only known within their file, and told apart by what they are
called there; among things of other files they are what is called so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ...text.normalise import clean_name, name_key
from .elsewhere import Elsewhere
from .namesakes import is_made_of, kept, told_by_id
from .rdf import LABELS, OTHER_NAMES, Names, Survey
from .statements import MAX_NAME, Node
from .vocabulary import MINTED, Vocabulary

__all__ = ["names_of"]


def names_of(
    found: Survey, file: str, vocabulary: Vocabulary, elsewhere: Elsewhere, join: bool
) -> tuple[Names, list[str]]:
    """What everything is called, and the names that were made to tell things apart; none are with ``join``."""
    iris = {thing[1:-1] for thing in found.things if thing[0] == "<"}
    known = elsewhere.iris(iris)
    nodes = found.nodes(file, vocabulary, known)
    if join:
        return Names(nodes, {}, vocabulary), []
    named = _new_names(nodes, found, file, known, elsewhere, iris)
    plain = {thing: found.name(thing, file) for thing in (*named, *(f"<{iri}>" for iri in known))}
    nodes |= {thing: replace(nodes[thing], name=name) for thing, name in named.items()}
    more = {
        thing: name
        for thing, name in plain.items()
        if nodes[thing].name != name and not _is_said(found, thing)
        and (thing in named or is_made_of(nodes[thing].name, name))
    }  # fmt: skip
    return Names(nodes, more, vocabulary), list(named.values())


def _new_names(
    nodes: Mapping[str, Node], found: Survey, file: str, known: Collection[str], elsewhere: Elsewhere, iris: set[str]
) -> dict[str, str]:
    """New names for things that are called as others are; what has its name already keeps it."""
    fixed = {thing for thing in nodes if thing.startswith(MINTED, 1) or (thing[0] == "<" and thing[1:-1] in known)}
    others = elsewhere.called_so({name_key(node.name) for node in nodes.values()}, iris, ["iri"])
    others += [nodes[thing] for thing in fixed]
    free = {thing: node for thing, node in nodes.items() if thing[0] == "<" and thing not in fixed}
    before = elsewhere.before("iri", [thing[1:-1] for thing in free])
    stay = kept(free, {f"<{iri}>": names for iri, names in before.items()}, others)
    others += [replace(nodes[thing], name=name) for thing, name in stay.items()]
    free = {thing: node for thing, node in free.items() if thing not in stay}
    here = {name_key(nodes[thing].name) for thing in told_by_id(nodes)}
    shared = here | {name_key(nodes[thing].name) for thing in told_by_id(free, others)}
    named = {
        thing: clean_name(f"{node.name} {thing}")[:MAX_NAME].rstrip()
        for thing, node in free.items()
        if thing not in found.labels and name_key(node.name) in shared
    }
    named |= {
        thing: clean_name(f"{node.name} {thing} ({file})")[:MAX_NAME].rstrip()
        for thing, node in nodes.items()
        if thing[0] == "_" and name_key(node.name) in here
    }
    rest = {thing: replace(node, name=named.get(thing, node.name)) for thing, node in free.items()}
    named |= {thing: name for thing, name in stay.items() if name != nodes[thing].name}
    return named | elsewhere.told_apart(rest, others, iris)


def _is_said(found: Survey, thing: str) -> bool:
    """Whether a triple says that a thing is called as it was before it got another name."""
    return thing in found.labels and LABELS[found.labels[thing][0]] in OTHER_NAMES
