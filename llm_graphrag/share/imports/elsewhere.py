"""What other imported files call things, so that one thing has one name, and two things never get the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ...store import imported_iris
from ...text.normalise import name_key
from .namesakes import Thing, told_by_id
from .statements import Node

__all__ = ["Elsewhere"]


KINDS = ("id", "iri")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The files that were imported, but for the one that is ``document``."""

    connection: sqlite3.Connection
    document: int | None

    def iris(self, iris: Collection[str]) -> dict[str, Node]:
        """What they call these IRIs."""
        found: dict[str, Node] = {}
        for iri, name, type_, document in imported_iris.called(self.connection, "iri", iris):
            if document != self.document:
                found.setdefault(iri, Node(name, type_))
        return found

    def before(self, kind: str, ids: Collection[str]) -> dict[str, list[str]]:
        """The names that these ids had so far, here or elsewhere; those of tables may be of several things."""
        found: dict[str, list[str]] = {}
        for id_, name, _, _ in imported_iris.called(self.connection, kind, ids):
            found.setdefault(id_, []).append(name)
        return found

    def called_so(self, keys: Collection[str], ids: Collection[str], kinds: Collection[str] = KINDS) -> list[Node]:
        """Things with other ids than these, of these kinds, that have one of these keys."""
        found = imported_iris.called_so(self.connection, kinds, keys, self.document)
        return [Node(name, type_) for id_, name, type_ in found if id_ not in ids]

    def told_apart(
        self, things: Mapping[Thing, Node], others: Collection[Node], taken: Collection[str], ids: Collection[str]
    ) -> dict[Thing, str]:
        """New names as ``told_by_id`` gives them, none of which a thing with another id than these has elsewhere."""
        taken = {*taken}
        while True:
            named = told_by_id(things, others, taken)
            made = {name_key(name) for name in named.values()}
            more = {name_key(node.name) for node in self.called_so(made, ids)} - taken
            if not more:
                return named
            taken |= more
