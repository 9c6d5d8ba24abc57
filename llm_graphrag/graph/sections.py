"""What the sections of notes are about: what their headings name.

A heading speaks for all that stands under it, up to the next of its level or above, also in later
passages. A section of more than ``LONG`` passages is about many things: it counts as about none.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

__all__ = ["LONG", "passages_under", "subjects"]

LONG = 12

# A section is closed at a passage by a later one, of its level or above, that begins before the passage does.
CLOSED = """
    EXISTS (SELECT 1 FROM kg_sections n WHERE n.document = s.document AND n.seq > s.seq AND n.level <= s.level
      AND n.start <= u.start)
"""
SUBJECTS = f"""
    SELECT s.id, coalesce(e.merged_into, e.id)
    FROM json_each(:places) f
    CROSS JOIN kg_sections s ON s.id = json_extract(f.value, '$[0]')
    CROSS JOIN kg_chunks p ON p.id = json_extract(f.value, '$[1]')
    CROSS JOIN kg_chunks c ON c.document = p.document AND c.seq > p.seq - :long AND c.seq <= p.seq
      AND c.start <= s.start AND c.end > s.start
    CROSS JOIN kg_mentions m ON m.chunk = c.id AND m.start >= s.start - c.start
      AND m.start < s.start - c.start + instr(substr(c.text, s.start - c.start + 1) || char(10), char(10))
    CROSS JOIN kg_entities e ON e.id = m.entity
    WHERE NOT EXISTS (
      SELECT 1 FROM kg_chunks u WHERE u.document = c.document AND u.seq = c.seq + :long AND NOT {CLOSED})
"""  # noqa: S608 - of constants
UNDER = f"""
    SELECT DISTINCT u.id
    FROM json_each(:places) f
    CROSS JOIN kg_sections s ON s.id = json_extract(f.value, '$[0]')
    CROSS JOIN kg_chunks c ON c.id = json_extract(f.value, '$[1]')
    CROSS JOIN kg_chunks u ON u.document = c.document AND u.seq > c.seq AND u.seq < c.seq + :long
    WHERE NOT {CLOSED}
"""  # noqa: S608 - of constants


def subjects(connection: sqlite3.Connection, places: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    """Return section -> the entities that its heading names, for (section, a passage in it)."""
    wanted = list(places)
    named: dict[int, set[int]] = {section: set() for section, _ in wanted}
    for section, entity in connection.execute(SUBJECTS, {"places": json.dumps(wanted), "long": LONG}):
        named[section].add(entity)
    return {section: frozenset(entities) for section, entities in named.items()}


def passages_under(connection: sqlite3.Connection, places: Iterable[tuple[int, int]]) -> list[int]:
    """Return the passages that come after that of a heading and are in its section, for (section, its passage)."""
    values = {"places": json.dumps(list(places)), "long": LONG}
    return [row[0] for row in connection.execute(UNDER, values)]
