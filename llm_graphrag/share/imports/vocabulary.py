"""Names for what RDF calls by IRIs: relations, attributes and types as identifiers, and back.

An identifier is the last part of the IRI. Of two IRIs that would have one, the later gets the part before it too. Which
is which is kept in the file, so that the next import says the same, and an export gives the IRIs back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from ...text.normalise import fold_identifier

__all__ = ["MINTED", "NAMED", "SETTING", "Vocabulary", "last_part"]

SETTING = "import.iris"  # kind → IRI → identifier
MINTED = "urn:llm-graphrag:"  # how IRIs begin that an export had to make
#: Predicates by which an export says what an IRI is called here, by kind of IRI.
NAMED = {kind: f"{MINTED}{kind}_name" for kind in ("relation", "attribute", "type")}

RESERVED = {"same_as", "iri", "also_a", "type", "alias"}  # what we say ourselves

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def last_part(iri: str) -> str:
    """The last part of an IRI, as text.

    >>> last_part("http://example.org/a#worksFor"), last_part("http://example.org/Ada%20L/"), last_part("urn:x:y")
    ('worksFor', 'Ada L', 'y')
    """
    parts = [part for part in re.split(r"[/#:]", iri) if part]
    return unquote(parts[-1]) if parts else iri


@dataclass
class Vocabulary:
    """Identifiers by kind (relation, attribute, type) and IRI; ``changed`` if there are new ones."""

    known: dict[str, dict[str, str]] = field(default_factory=dict)
    changed: bool = False

    def identifier(self, kind: str, iri: str) -> str:
        """The identifier for an IRI.

        >>> words = Vocabulary()
        >>> words.identifier("relation", "http://a.org/worksFor"), words.identifier("relation", "http://b.org/works_for")
        ('works_for', 'b_org_works_for')
        """
        if iri.startswith(MINTED):
            return unquote(iri.rsplit(":", 1)[-1])
        known = self.known.setdefault(kind, {})
        if iri not in known:
            known[iri] = self._free(iri, RESERVED | set(known.values()))
            self.changed = True
        return known[iri]

    def call(self, kind: str, iri: str, name: str) -> None:
        """Give an IRI that has no identifier yet this one, if it is one that is free."""
        known = self.known.setdefault(kind, {})
        if iri not in known and name == _identifier(name) and name not in RESERVED and name not in known.values():
            known[iri] = name
            self.changed = True

    def _free(self, iri: str, taken: set[str]) -> str:
        parts = [unquote(part) for part in re.split(r"[/#:]", iri) if part]
        for length in range(1, len(parts) + 1):
            name = _identifier("_".join(parts[-length:]))
            if name and name not in taken:
                return name
        number, base = 2, _identifier("_".join(parts)) or "relation"
        while f"{base}_{number}" in taken:
            number += 1
        return f"{base}_{number}" if base in taken else base

    def iris(self, kind: str) -> dict[str, str]:
        """IRI by identifier."""
        return {identifier: iri for iri, identifier in self.known.get(kind, {}).items()}


def _identifier(text: str) -> str:
    try:
        return fold_identifier(_CAMEL.sub("_", text))
    except ValueError:
        return ""
