"""Which entities mentions mean: a list of names in, for each the entities it may stand for, most likely first.

Methods in order of trust, each with a score from 0 to 1 so that they can be compared:

- ``exact``: the key of a name or title; ``alias``: that of another name; ``qualified``: a name that goes on in
  brackets, *Mercury (planet)*; ``abbreviation``: the mention gives both, *World Health Organization (WHO)*
- ``acronym``, ``initials``: *WHO*, *A. Ruiz*, both ways; ``trigram``: words of the name, or all in another order;
  ``edit``: letters that differ
- ``vector``: near in meaning, where the file has vectors of entities by the bundled model
- whatever plugins register (hookspecs.py), under the name they give it

A mention that a name or alias fits is looked up no further, so that exact names cost one statement whatever else there
is (``link_methods.py``). Types and allow list are heeded before the best are taken. What is merged into an entity
counts as it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace

from .candidates import Linked, Mention, Scope
from .link_methods import ROOTS, Methods, Wanted
from .mentions import find_mentions
from .written import written

__all__ = ["LIKELY", "link", "link_texts", "nearest_names"]

LIKELY = 0.6  # score from which an entity is linked, unless another is said
LIKE = 0.5  # score of a name that is offered with "Did you mean"


def link(
    connection: sqlite3.Connection,
    mentions: Sequence[str],
    k: int = 3,
    min_score: float = LIKELY,
    types: Collection[str] | None = None,
    allow_ids: Collection[int] | None = None,
    best: bool = False,
    *,
    vectors: bool = True,
) -> Linked:
    """Return for each mention up to ``k`` entities that score ``min_score`` or more; ties by degree, then by id.

    ``types`` and ``allow_ids`` narrow what is linked to; ``best`` keeps one a mention. Raises TypeError naming what is
    no string, ValueError for a k or score that cannot be.

    >>> from llm_graphrag.knowledge_base import KnowledgeBase
    >>> with KnowledgeBase.in_memory() as kb:
    ...     _ = kb.add_text(b"Ana Ruiz works at [[Kestrel Works]].", "note")
    ...     linked = link(kb.connection, ["Kestral Works", "Zelda Quist"])
    >>> [(c.name, c.method) for c in linked.flat()], linked.unlinked
    ([('Kestrel Works', 'edit')], ('Zelda Quist',))
    """
    texts = _checked(mentions)
    methods = Methods(connection, _wanted(connection, 1 if best else k, min_score, types, allow_ids))
    found = methods.candidates(texts, vectors=vectors, plugins=True)
    return _as_written(connection, [Mention(text, 0, len(text), found[text]) for text in texts])


def link_texts(
    connection: sqlite3.Connection,
    texts: Sequence[str],
    k: int = 3,
    min_score: float | None = None,
    types: Collection[str] | None = None,
    allow_ids: Collection[int] | None = None,
    *,
    vectors: bool = True,
) -> Linked:
    """Return what whole texts, such as a question, name, and last for each text what it is near in meaning.

    Options and errors are those of ``link``; mentions have their places in their text. Without ``min_score`` a name
    that stands there in small letters is linked as ``search`` and ``ask`` do, however little its writing says that it
    is one; what is only like a name, from ``LIKELY`` on.
    """
    least = LIKELY if min_score is None else min_score
    methods = Methods(connection, wanted := _wanted(connection, k, least, types, allow_ids))
    found: list[Mention] = []
    for text in _checked(texts):
        named = find_mentions(connection, text, within=wanted.scope)
        spelled = methods.candidates([mention.text for mention in named if not mention.candidates], plugins=True)
        for mention in named:
            sure = tuple(c for c in mention.candidates if min_score is None or c.score >= min_score)[:k]
            found.append(replace(mention, candidates=spelled.get(mention.text, sure)))
        if vectors and (near := methods.nearest(text)):
            found.append(Mention(text, 0, len(text), near))
    return _as_written(connection, found)


def _as_written(connection: sqlite3.Connection, mentions: Sequence[Mention]) -> Linked:
    """The mentions, and of entities that have a number in their name how their file writes them."""
    told = written(connection, {c.entity: c.name for mention in mentions for c in mention.candidates})
    return Linked(
        tuple(
            replace(mention, candidates=tuple(replace(c, written=told.get(c.entity, "")) for c in mention.candidates))
            for mention in mentions
        )
    )


def nearest_names(connection: sqlite3.Connection, name: str, n: int = 5) -> list[str]:
    """Return up to n names that are spelled like one that is not there, most alike first, for "Did you mean"."""
    names = Methods(connection, Wanted(min_score=LIKE)).spelled(_checked([name])[0])
    return list(dict.fromkeys(found[0] for found in names))[:n]


def _checked(mentions: Sequence[str]) -> list[str]:
    if isinstance(mentions, str):
        raise TypeError(f"mentions are a list of strings, not the string {mentions[:60]!r}; put it into a list")
    for place, mention in enumerate(mentions, 1):
        if not isinstance(mention, str):
            raise TypeError(f"mention {place} is no string: {str(mention)[:60]} ({type(mention).__name__})")
    return [mention.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ") for mention in mentions]


def _wanted(
    connection: sqlite3.Connection,
    k: int,
    min_score: float,
    types: Collection[str] | None,
    allow_ids: Collection[int] | None,
) -> Wanted:
    """The options, checked; the id of what is merged stands for what it is merged into."""
    if k < 1:
        raise ValueError(f"k is 1 or more, not {k}")
    if not 0 <= min_score <= 1:
        raise ValueError(f"min_score is from 0 to 1, not {min_score}")
    if isinstance(types, str):
        raise TypeError(f"types are a list of strings, not the string {types!r}; put it into a list")
    allowed = None
    if allow_ids is not None:
        allowed = frozenset(row[0] for row in connection.execute(ROOTS, {"ids": json.dumps(sorted(allow_ids))}))
    return Wanted(k, min_score, Scope(None if types is None else frozenset(types), allowed))
