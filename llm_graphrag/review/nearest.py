"""Which type of the schema comes nearest to one that was proposed, by name and by meaning."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from ..facts.template import folded
from ..static_model.encoder import load
from ..store import proposals as store
from ..store.schema import types

__all__ = ["nearest"]

Nearest = tuple[int, int | None, float | None]
DIGITS = 4  # of a similarity


def nearest(
    connection: sqlite3.Connection, proposals: Sequence[int], changed: Collection[tuple[str, str]] | None = None
) -> Iterator[Nearest]:
    """(proposal, id of the nearest type of its kind, similarity from 0 to 1), None where the schema has none.

    Similarity is the greater of two: how much of the letters of the names agree (or those of an alias), and the cosine
    of the bundled vectors of names with descriptions. Of two that are equally near, the one that was there first.

    ``changed`` are the only types (kind, name) that are not what they were when the nearest of all proposals were last
    looked for: a proposal that has its nearest still is compared with these alone.
    """
    found = types(connection)
    wanted = [row for id_ in proposals if (row := store.one(connection, id_))]
    new = [n for n, row in enumerate(found) if changed is None or (row["kind"], row["name"]) in changed]
    if changed is not None and not changed:
        wanted = [row for row in wanted if row["similarity"] is None]
    if not found or not wanted:
        yield from ((row["id"], None, None) for row in wanted)
        return
    encoder = load()
    meanings = encoder.encode([_text(row) for row in wanted]) @ encoder.encode([_text(row) for row in found]).T
    order = {row["id"]: n for n, row in enumerate(found)}
    spellings = [[folded(name) for name in (row["name"], *json.loads(row["aliases"]))] for row in found]
    for row, cosines in zip(wanted, meanings.tolist(), strict=True):
        best, first, compared = -1.0, None, list(range(len(found)))
        if changed is not None and _still_has(row, changed):
            best, first, compared = row["similarity"], order[row["nearest"]], new
        letters = SequenceMatcher(None, "", row["key"], autojunk=False)
        for n in compared:
            if found[n]["kind"] == row["kind"]:
                likeness = _likeness(letters, spellings[n], cosines[n], best)
                if likeness > best or (likeness == best and first is not None and n < first):
                    best, first = likeness, n
        yield row["id"], None if first is None else found[first]["id"], None if first is None else best


def _still_has(row: sqlite3.Row, changed: Collection[tuple[str, str]]) -> bool:
    known = row["nearest"] is not None and row["similarity"] is not None
    return known and (row["kind"], row["nearest_name"]) not in changed


def _likeness(letters: SequenceMatcher[str], names: Iterable[str], cosine: float, best: float) -> float:
    """The similarity of a type to the one whose name ``letters`` holds, exact if it is ``best`` or more."""
    most = min(max(cosine, 0.0), 1.0)
    for name in names:
        letters.set_seq1(name)
        enough = max(most, best - 10**-DIGITS)
        if letters.real_quick_ratio() > enough and letters.quick_ratio() > enough:
            most = max(most, letters.ratio())
    return round(most, DIGITS)


def _text(row: sqlite3.Row) -> str:
    return f"{row['name'].replace('_', ' ')}: {row['description']}"
