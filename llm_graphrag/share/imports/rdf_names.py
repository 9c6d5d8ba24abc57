"""What the things of an RDF file are called, given what other imported files call them.

An IRI keeps the name that another file has given it. Different things of one name get different ones: a number if they
have a label, else their IRI behind it. Blank nodes are only known within their file, and told apart by what they are
called there; among things of other files they are what is called so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...text.normalise import clean_name, name_key
from .elsewhere import Elsewhere
from .namesakes import is_made_of, kept, told_by_id
from .rdf import LABELS, OTHER_NAMES, Names, Survey, blank_name
from .statements import MAX_NAME, Node
from .vocabulary import MINTED, Vocabulary

__all__ = ["names_of"]


def names_of(
    found: Survey, file: str, vocabulary: Vocabulary, elsewhere: Elsewhere, join: bool
) -> tuple[Names, list[str]]:
    """What everything is called, and the names that were made to tell things apart; none are with ``join``."""
    plain = found.nodes(file, vocabulary)
    known = elsewhere.iris({thing[1:-1] for thing in plain if thing[0] == "<"})
    nodes = plain | {
        thing: Node(node.name, node.type or plain[thing].type)
        for thing, node in ((f"<{iri}>", node) for iri, node in known.items())
    }
    if join:
        return Names(nodes, {}, vocabulary), []
    named = _of_blank(plain, known, file)
    nodes |= {thing: replace(nodes[thing], name=name) for thing, name in named.items()}
    named |= _of_iris(nodes, found, known, elsewhere)
    nodes |= {thing: replace(nodes[thing], name=name) for thing, name in named.items()}
    others = {
        thing: node.name
        for thing, node in plain.items()
        if nodes[thing].name != node.name and not _is_said(found, thing)
        and (thing in named or is_made_of(nodes[thing].name, node.name))
    }  # fmt: skip
    return Names(nodes, others, vocabulary), list(named.values())


def _of_blank(plain: Mapping[str, Node], known: Mapping[str, Node], file: str) -> dict[str, str]:
    """New names for blank nodes that are called as others in the file are, whatever these are called by now."""
    shared = {*(_key(plain[thing]) for thing in told_by_id(plain)), *map(_key, known.values())}
    return {
        thing: clean_name(f"{node.name} {blank_name(thing, file)}")[:MAX_NAME].rstrip()
        for thing, node in plain.items()
        if thing[0] == "_" and _key(node) in shared
    }


def _of_iris(
    nodes: Mapping[str, Node], found: Survey, known: Mapping[str, Node], elsewhere: Elsewhere
) -> dict[str, str]:
    """New names for IRIs that are called as others are; what has its name already keeps it."""
    iris = {thing[1:-1] for thing in nodes if thing[0] == "<"}
    wanted = {f"<{iri}>" for iri in iris - known.keys() if not iri.startswith(MINTED)}
    free = {thing: node for thing, node in nodes.items() if thing in wanted}
    there = elsewhere.called_so({*map(_key, nodes.values())}, (), ["iri"])
    taken = {_key(node) for node in there if not node.type}  # they may get any type yet
    others = [node for thing, node in nodes.items() if thing not in free and (node.type or thing[0] == "_")]
    others += [node for node in there if node.type]
    before = elsewhere.before("iri", [thing[1:-1] for thing in free])
    stay = kept(free, {f"<{iri}>": names for iri, names in before.items()}, others, taken)
    others += [replace(nodes[thing], name=name) for thing, name in stay.items()]
    rest = {thing: node for thing, node in free.items() if thing not in stay}
    shared = {_key(rest[thing]) for thing in told_by_id(rest, others, taken)}
    named = {
        thing: clean_name(f"{node.name} {thing}")[:MAX_NAME].rstrip()
        for thing, node in rest.items()
        if thing not in found.labels and _key(node) in shared
    }
    rest |= {thing: replace(rest[thing], name=name) for thing, name in named.items()}
    named |= {thing: name for thing, name in stay.items() if name != nodes[thing].name}
    return named | elsewhere.told_apart(rest, others, taken, iris)


def _key(node: Node) -> str:
    return name_key(node.name)


def _is_said(found: Survey, thing: str) -> bool:
    """Whether a triple says that a thing is called as it was before it got another name."""
    return thing in found.labels and LABELS[found.labels[thing][0]] in OTHER_NAMES
