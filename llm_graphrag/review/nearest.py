"""Which type of the schema comes nearest to one that was proposed, by name and by meaning."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from ..facts.template import folded
from ..static_model.encoder import load

__all__ = ["nearest"]


def nearest(connection: sqlite3.Connection, proposals: Sequence[int]) -> Iterator[tuple[int, int | None, float | None]]:
    """(proposal, id of the nearest type of its kind, similarity from 0 to 1), None where the schema has none.

    Similarity is the greater of two: how much of the letters of the names agree (or those of an alias), and the cosine
    of the bundled vectors of names with descriptions.
    """
    types = connection.execute(
        "SELECT id, kind, name, description, aliases FROM kg_types WHERE retired_in IS NULL ORDER BY id"
    ).fetchall()
    encoder = load()
    vectors = encoder.encode([_text(row) for row in types]) if types and proposals else ()
    for proposal in proposals:
        row = connection.execute("SELECT kind, name, description FROM kg_proposals WHERE id = ?", [proposal]).fetchone()
        own = encoder.encode([_text(row)])[0]
        best: tuple[float, int] | None = None
        for type_, vector in zip(types, vectors, strict=True):
            if type_["kind"] == row["kind"]:
                names = [type_["name"], *json.loads(type_["aliases"])]
                likeness = max(float(own @ vector), *(_letters(row["name"], name) for name in names))
                best = max(best or (-1.0, 0), (round(likeness, 4), -type_["id"]))
        yield (proposal, None, None) if best is None else (proposal, -best[1], min(max(best[0], 0.0), 1.0))


def _text(row: sqlite3.Row) -> str:
    return f"{row['name'].replace('_', ' ')}: {row['description']}"


def _letters(one: str, other: str) -> float:
    return SequenceMatcher(None, folded(one), folded(other), autojunk=False).ratio()
