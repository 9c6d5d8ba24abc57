"""Surface forms by how they are spelled: ``kg_name_signatures``, from which the names like another are read.

A row is one of the bits of ``facts/name_grams.py`` for a block of 65,536 surface forms, placed by their ids; of all
rows only those of the bits that are asked for are read. Surface forms that came after the last one covered are few
and are handed out whatever they are called; when they are many, ``refresh`` at the end of a run covers them. So a
document costs the same however many names there are. What was deleted since has bits that lead to no row.

Where the table is missing or far behind, as in a file that other hands have filled, names are found by full text: by
fewer of their spellings, and slower.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from ..facts.name_grams import BITS, Tally, asked_bits, bitmaps, initials_bits, length_bits
from . import migrations
from .connection import transaction

__all__ = ["by_initials", "by_spelling", "out_of_step", "rebuild", "refresh", "watch"]

BLOCK = 65_536
COVERED = -1  # the row that has the number of the last surface form covered
FRESH = 500  # surface forms that may wait to be covered
BEHIND = 4 * FRESH  # that are handed out all the same; above, full text looks among them
LEAST = 0.3  # of the bits asked for, the share that a name has to have
FULL_TEXT = 300  # names that full text gives
AS_LONG = 2  # digit of the count, so 4, that a name gains which is as long as what is asked

#: The id of the last surface form comes again once it is deleted: what follows it has to be covered anew.
WATCH = """
  CREATE TEMP TRIGGER IF NOT EXISTS name_came AFTER INSERT ON main.kg_aliases
  BEGIN UPDATE kg_name_signatures SET names = new.id - 1 WHERE id = -1 AND names >= new.id; END"""

BITMAPS = """
  SELECT b.value, w.value, s.names FROM json_each(:blocks) b CROSS JOIN json_each(:bits) w
  CROSS JOIN kg_name_signatures s ON s.id = b.value * 256 + w.value"""

LIKE_SPELLED = """
  SELECT rowid FROM kg_names_fts WHERE kg_names_fts MATCH :query ORDER BY rank, rowid LIMIT :limit"""

LIKE_INITIALS = """
  SELECT id FROM kg_aliases WHERE key >= :first AND key < :next AND key LIKE :pattern ORDER BY id LIMIT :limit"""


def by_spelling(connection: sqlite3.Connection, words: str) -> tuple[list[int], Iterator[int]]:
    """Ids of surface forms that may be spelled like folded words: those not yet covered, and others, most alike first.

    They only may be: two names can share bits by chance.
    """
    covered = _covered(connection)
    waiting = _waiting(connection, covered, BEHIND)
    if len(waiting) > BEHIND:
        grams = dict.fromkeys(words[at : at + 3] for at in range(len(words) - 2))
        query = " OR ".join(f'"{gram}"' for gram in grams)
        waiting = [row[0] for row in connection.execute(LIKE_SPELLED, {"query": query, "limit": FULL_TEXT})]
    return waiting, _alike(connection, words, covered)


def _alike(connection: sqlite3.Connection, words: str, covered: int) -> Iterator[int]:
    bits = asked_bits(words)
    tallies = _tallies(connection, bits, covered, length_bits(words))
    for count in range(len(bits) + (1 << AS_LONG), max(0, int(LEAST * len(bits))), -1):
        for start, tally in tallies:
            for place in tally.places(count):
                if start + place <= covered:
                    yield start + place


def by_initials(connection: sqlite3.Connection, letters: str) -> list[int]:
    """Ids of surface forms that may have these initials, such as *who*."""
    covered = _covered(connection)
    waiting = _waiting(connection, covered, BEHIND)
    if len(waiting) > BEHIND:
        following = chr(ord(letters[0]) + 1)
        pattern = "% ".join(letters) + "%"
        values = {"first": letters[0], "next": following, "pattern": pattern, "limit": FULL_TEXT}
        waiting = [row[0] for row in connection.execute(LIKE_INITIALS, values)]
    bits = initials_bits(letters)
    found = [start + place for start, tally in _tallies(connection, bits, covered) for place in tally.places(len(bits))]
    return waiting + [id_ for id_ in found if id_ <= covered]


def _tallies(
    connection: sqlite3.Connection, bits: Sequence[int], covered: int, lengths: Sequence[int] = ()
) -> list[tuple[int, Tally]]:
    """(id of its first surface form, how many of ``bits`` each has) for every block; one of ``lengths`` counts more."""
    found: dict[int, Tally] = {}
    as_long: dict[int, int] = {}
    if not covered:
        return []
    values = {"blocks": json.dumps(list(range(covered // BLOCK + 1))), "bits": json.dumps([*bits, *lengths])}
    for block, bit, names in connection.execute(BITMAPS, values):
        bitmap = int.from_bytes(names, "little")
        if bit in lengths:
            as_long[block] = as_long.get(block, 0) ^ bitmap
        else:
            found.setdefault(block, Tally()).add(bitmap)
    for block, tally in found.items():
        tally.add(as_long.get(block, 0), AS_LONG)
    return [(block * BLOCK, tally) for block, tally in found.items()]


def _covered(connection: sqlite3.Connection) -> int:
    """The id of the last surface form that is covered; 0 if there is none."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'kg_name_signatures'").fetchone():
        return 0
    row = connection.execute("SELECT names FROM kg_name_signatures WHERE id = ?", [COVERED]).fetchone()
    return int(row[0]) if row else 0


def _waiting(connection: sqlite3.Connection, covered: int, most: int) -> list[int]:
    """Surface forms that are not covered; of more than ``most``, one more than that."""
    rows = connection.execute("SELECT id FROM kg_aliases WHERE id > ? ORDER BY id LIMIT ?", [covered, most + 1])
    return [row[0] for row in rows]


# -- written -----------------------------------------------------------------------------


def watch(connection: sqlite3.Connection) -> None:
    """From now on, notice that ids of surface forms come again."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'kg_name_signatures'").fetchone():
        migrations.make_derived(connection)
    connection.execute(WATCH)


def refresh(connection: sqlite3.Connection) -> None:
    """Cover what came since, if that is much; the blocks that it is in are made anew."""
    covered = _covered(connection)
    if len(_waiting(connection, covered, FRESH)) > FRESH:
        with transaction(connection):
            migrations.make_derived(connection)
            _cover(connection, covered // BLOCK)


def rebuild(connection: sqlite3.Connection) -> None:
    """Cover all surface forms; the table is there and empty."""
    _cover(connection, 0)


def _cover(connection: sqlite3.Connection, first: int) -> None:
    highest = int(connection.execute("SELECT coalesce(max(id), 0) FROM kg_aliases").fetchone()[0])
    for block in range(first, highest // BLOCK + 1):
        connection.execute("DELETE FROM kg_name_signatures WHERE id BETWEEN ? AND ?", _rows_of(block))
        rows = enumerate(_bitmaps(connection, block, highest), block * BITS)
        connection.executemany(
            "INSERT INTO kg_name_signatures(id, names) VALUES (?, ?)",
            ((id_, names) for id_, names in rows if any(names)),
        )
    connection.execute("DELETE FROM kg_name_signatures WHERE id > ?", [_rows_of(highest // BLOCK)[1]])
    connection.execute("INSERT OR REPLACE INTO kg_name_signatures(id, names) VALUES (?, ?)", [COVERED, highest])


def _rows_of(block: int) -> tuple[int, int]:
    return block * BITS, block * BITS + BITS - 1


def _bitmaps(connection: sqlite3.Connection, block: int, highest: int) -> list[bytes]:
    """What a block should hold; nothing if it has no surface form."""
    rows = connection.execute(
        "SELECT id, key FROM kg_aliases WHERE id BETWEEN ? AND ? ORDER BY id",
        [block * BLOCK, min(highest, block * BLOCK + BLOCK - 1)],
    ).fetchall()
    return bitmaps([row[1] for row in rows], [row[0] % BLOCK for row in rows], BLOCK) if rows else []


def out_of_step(connection: sqlite3.Connection) -> Iterator[int]:
    """The blocks whose rows are not what their surface forms give; those deleted since may still have bits."""
    covered = _covered(connection)
    for block in range(covered // BLOCK + 1) if covered else ():
        wanted = [int.from_bytes(names, "little") for names in _bitmaps(connection, block, covered)]
        there = 0
        for (id_,) in connection.execute(
            "SELECT id FROM kg_aliases WHERE id BETWEEN ? AND ?",
            [block * BLOCK, min(covered, block * BLOCK + BLOCK - 1)],
        ):
            there |= 1 << id_ % BLOCK
        rows = connection.execute("SELECT id, names FROM kg_name_signatures WHERE id BETWEEN ? AND ?", _rows_of(block))
        have = {id_ % BITS: int.from_bytes(names, "little") & there for id_, names in rows}
        if any(have.get(bit, 0) != names for bit, names in enumerate(wanted)):
            yield block
