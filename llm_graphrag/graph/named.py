"""The one entity that a person means by a name, or a message that says how to say it.

One rule for the terminal and the pages. A name is looked up by its key, and means the first of these
that there is, of which several are asked about:

- of names of a graph that differ only in how they are written, the one that is written so;
- what has it for its own name, if any of these has facts or is a note, whose name is that of its file;
- what has it for another name, a title say, and has facts; if those are several, what is only
  mentioned by it, and has none, may be meant too and is listed last;
- what has it for its own name, else for another one.

A type in brackets behind it tells apart, ``Mercury (planet)``, and so does ``#12``, an id. Something
may also be called ``#12``: it is meant if nothing has that id, and if something has, ``##12`` is the
id and nothing else.
"""

from __future__ import annotations

import re
import sqlite3

from ..text.normalise import clean_name, name_key
from ..text.shortened import shortened
from .hops import Node
from .linker import nearest_names
from .verbalize import shown

__all__ = ["by_id", "meant", "named"]

MOST = 8  # entities listed that share a name

BY_KEY = """
    SELECT k.id, k.name, k.type, max(e.key = :key) AS own,
      EXISTS (SELECT 1 FROM kg_triples t WHERE t.head = k.id) OR EXISTS (SELECT 1 FROM kg_triples t WHERE t.tail = k.id)
        OR EXISTS (SELECT 1 FROM kg_attributes t WHERE t.entity = k.id) AS facts,
      max(EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id)) AS note
    FROM (SELECT id FROM kg_entities WHERE key = :key UNION SELECT entity FROM kg_aliases WHERE key = :key) a
    CROSS JOIN kg_entities e ON e.id = a.id
    CROSS JOIN kg_entities k ON k.id = coalesce(e.merged_into, e.id)
    GROUP BY k.id ORDER BY own DESC, k.id
"""
BY_ID = """
    SELECT k.id, k.name, k.type FROM kg_entities e CROSS JOIN kg_entities k ON k.id = coalesce(e.merged_into, e.id)
    WHERE e.id = :id
"""
_ID = re.compile(r"(##?)(\d{1,18})")
_NUMBERED = re.compile(r" \(\d+\)$")  # of names of one graph that differ only in how they are written
_TYPED = re.compile(r"(.+?)\s*\(([^()]*)\)\s*", re.DOTALL)


def named(connection: sqlite3.Connection, name: str) -> list[Node]:
    """Return the entities that a name may mean, in the order above; by ``##id`` one at most."""
    if found := _numbered_or_called(connection, name):
        return found
    if typed := _TYPED.fullmatch(name):
        found = _numbered_or_called(connection, typed[1])
        return [node for node in found if name_key(node.type) == name_key(typed[2])]
    return []


def by_id(connection: sqlite3.Connection, name: str) -> list[Node]:
    """Return the entity whose id ``#12`` or ``##12`` gives; empty if there is none, or for any other name."""
    written = _ID.fullmatch(name.strip())
    rows = connection.execute(BY_ID, {"id": int(written[2])}) if written else ()
    return [Node(*row) for row in rows]


def _numbered_or_called(connection: sqlite3.Connection, name: str) -> list[Node]:
    if (written := _ID.fullmatch(name.strip())) is None:
        return _called(connection, name)
    numbered = by_id(connection, name)
    if numbered and written[1] == "##":
        return numbered
    called = _called(connection, name)
    same = [node for node in called if name_key(node.name) == name_key(name)]
    return list(dict.fromkeys(numbered + same)) if numbered else called


def _called(connection: sqlite3.Connection, name: str) -> list[Node]:
    rows = connection.execute(BY_KEY, {"key": name_key(name)}).fetchall()
    numbered = any(_NUMBERED.search(row[1]) for row in rows)
    exact = [row for row in rows if numbered and _NUMBERED.sub("", row[1]) == clean_name(name)]
    own = [row for row in rows if row[3]]
    if len(exact) == 1:
        rows = exact
    elif any(facts or note for *_, facts, note in own):
        rows = own
    elif stated := [row for row in rows if row[4]]:
        rows = stated + own if len(stated) > 1 else stated
    else:
        rows = own or rows
    return [Node(*row[:3]) for row in rows]


def meant(connection: sqlite3.Connection, name: str) -> Node:
    """Return the entity that a name means.

    Raises ValueError, one line with the way out, if there is none or several.
    """
    found = named(connection, name)
    if len(found) == 1:
        return found[0]
    if not found:
        near = nearest_names(connection, name, 3) if name.strip() else []
        hint = f" Did you mean {' or '.join(map(shown, near))}?" if near else ""
        raise ValueError(f"Nothing is called {shown(name)}.{hint}")
    sign = "##" if _ID.fullmatch(name.strip()) else "#"
    several = [f"{shown(node.name)} ({shortened(node.type) or 'no type'}) {sign}{node.id}" for node in found[:MOST]]
    more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
    which = f"Say which by its number, such as '{sign}{found[0].id}'."
    raise ValueError(f"{shown(name)} may be any of {', '.join(several)}{more}. {which}")
