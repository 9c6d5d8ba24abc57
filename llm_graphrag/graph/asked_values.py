"""The values that a question asks for: not where a relation leads, but what is written of the thing itself.

"When was Wren born?" asks for no other thing. An attribute is asked for where a word of the question has its stem, or
a sense in common with it (``graph.relation_words``); a mere nearness in meaning is not enough here.
"""

from __future__ import annotations

import sqlite3

from .entity import Group, values
from .relation_words import SAME_SENSE, likeness, question, reading

__all__ = ["asked_values"]


def asked_values(connection: sqlite3.Connection, entity: int, text: str, name: str = "") -> Group | None:
    """Return the attribute of an entity of which a question speaks most, with its values; None if it speaks of none.

    ``name`` is how the question writes the entity.
    """
    words = question(text, name).words
    best, most = None, SAME_SENSE
    for group in values(connection, entity, limit=0):
        read = reading([group.relation], [], "", []).words
        said = max((likeness(word, read) for word in words), default=0.0)
        if said > most or (said == most and best is None):
            best, most = group, said
    return best
