"""Every invariant of the file that can be verified, and what breaks it.

Each check is one function that yields problems. A problem names the table, the row
and what is wrong, so that a person can look. ``check`` writes nothing that stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..text.counted import counted
from ..text.normalise import name_key
from . import counts, joining, name_signatures
from .chunks import text_hash

LIMIT = 20  # problems of one kind that are named; the rest is counted


@dataclass(frozen=True, slots=True)
class Problem:
    table: str
    row: int | str | None
    message: str


def check(connection: sqlite3.Connection) -> list[Problem]:
    """All problems of a file, at most ``LIMIT`` of each kind and a last one that counts the rest."""
    found: list[Problem] = list(_interrupted(connection))
    for part in CHECKS:
        if found and part is _counts:
            continue  # what is unfinished, or wrong in the tables, makes counters wrong: say the cause only
        problems = list(part(connection))
        found += problems[:LIMIT]
        if len(problems) > LIMIT:
            found.append(Problem(problems[0].table, None, f"and {len(problems) - LIMIT} more of this kind"))
    return found


def _interrupted(connection: sqlite3.Connection) -> Iterator[Problem]:
    unfinished = connection.execute("SELECT count(*) FROM kg_documents WHERE scanned = 0").fetchone()[0]
    if unfinished:
        are = counted(unfinished, "document of an interrupted run is", "documents of an interrupted run are")
        yield Problem("kg_documents", None, f"{are} unfinished: run add again")
    for (uri,) in connection.execute("SELECT uri FROM kg_documents WHERE kind = 'import' AND content_hash = ''"):
        yield Problem("kg_documents", None, f"the import of {uri} was interrupted: import it again")
    if not unfinished and counts.are_stale(connection):
        yield Problem("kg_counts", None, "a run was interrupted before it counted: run extract, add or import again")


def _file(connection: sqlite3.Connection) -> Iterator[Problem]:
    for (message,) in connection.execute("PRAGMA integrity_check"):
        if message != "ok":
            yield Problem("file", None, message)
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield Problem(table, row, f"refers to a row of {parent} that is gone")


def _full_text(connection: sqlite3.Connection) -> Iterator[Problem]:
    for table, statement in (
        ("kg_chunks_fts", "INSERT INTO kg_chunks_fts(kg_chunks_fts, rank) VALUES ('integrity-check', 1)"),
        ("kg_names_fts", "INSERT INTO kg_names_fts(kg_names_fts, rank) VALUES ('integrity-check', 1)"),
    ):
        try:
            connection.execute("SAVEPOINT full_text")
            connection.execute(statement)
        except sqlite3.DatabaseError as error:
            if "readonly" in str(error):
                continue  # the check has to write for a moment; the file cannot be out of step by our hand
            yield Problem(table, None, f"full text is out of step ({error}); run: llm graphrag rebuild")
        finally:
            connection.execute("ROLLBACK TO full_text")
            connection.execute("RELEASE full_text")


def _chunks(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Chunks of a document are in order, do not overlap and cover its text; their hashes are right."""
    rows = connection.execute(
        """SELECT d.id AS document, d.length, c.id, c.seq, c.start, c.end, c.text, c.content_hash
           FROM kg_documents d LEFT JOIN kg_chunks c ON c.document = d.id ORDER BY d.id, c.seq"""
    )
    document, length, position = None, 0, 0
    for row in rows:
        if row["document"] != document:
            yield from _covers(document, length, position)
            document, length, position = row["document"], row["length"], 0
        if row["id"] is None:
            position = length  # white space only
            continue
        if row["start"] != position:
            yield Problem("kg_chunks", row["id"], f"starts at {row['start']}, the one before ends at {position}")
        if row["end"] - row["start"] != len(row["text"]):
            yield Problem("kg_chunks", row["id"], "its span is not as long as its text")
        if text_hash(row["text"]) != row["content_hash"]:
            yield Problem("kg_chunks", row["id"], "its content hash is not that of its text")
        position = row["end"]
    yield from _covers(document, length, position)


def _covers(document: int | None, length: int, position: int) -> Iterator[Problem]:
    if document is not None and position != length:
        yield Problem("kg_documents", document, f"its chunks end at {position}, its text at {length}")


def _quotes(connection: sqlite3.Connection) -> Iterator[Problem]:
    rows = connection.execute(
        """SELECT v.id FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk
           WHERE substr(c.text, v.start + 1, v.end - v.start) <> v.quote OR v.quote = ''"""
    )
    for (id_,) in rows:
        yield Problem("kg_evidence", id_, "its quote does not stand at its span")


def _mentions(connection: sqlite3.Connection) -> Iterator[Problem]:
    rows = connection.execute(
        """SELECT m.chunk, m.start, m.key, m.entity, m.origin, substr(c.text, m.start + 1, m.end - m.start) AS name,
             m.end <= length(c.text) AS inside
           FROM kg_mentions m JOIN kg_chunks c ON c.id = m.chunk"""
    )
    for row in rows:
        if not row["inside"] or not row["name"]:
            yield Problem("kg_mentions", row["chunk"], f"a mention at {row['start']} is outside of the text")
        elif row["origin"] == "lexical" and name_key(row["name"]) != row["key"]:
            yield Problem("kg_mentions", row["chunk"], f"the mention at {row['start']} is not of {row['key']!r}")
        if row["entity"] is None:
            yield Problem("kg_mentions", row["chunk"], f"the mention at {row['start']} has no entity")


FACT_CHECKS = (
    (
        "kg_triples",
        "its evidence count is not that of its evidence",
        "SELECT id FROM kg_triples t WHERE evidence <> (SELECT count(*) FROM kg_evidence v WHERE v.triple = t.id)",
    ),
    (
        "kg_attributes",
        "its evidence count is not that of its evidence",
        """SELECT id FROM kg_attributes t
           WHERE evidence <> (SELECT count(*) FROM kg_evidence v WHERE v.attribute = t.id)""",
    ),
    ("kg_triples", "no evidence states it", "SELECT id FROM kg_triples WHERE evidence = 0"),
    ("kg_attributes", "no evidence states it", "SELECT id FROM kg_attributes WHERE evidence = 0"),
    (
        "kg_evidence",
        "its fact says something else",
        """SELECT v.id FROM kg_evidence v JOIN kg_triples t ON t.id = v.triple
           JOIN kg_entities h ON h.id = v.head_entity JOIN kg_entities a ON a.id = v.tail_entity
           WHERE t.relation <> v.relation
             OR t.head <> iif(v.reversed, coalesce(a.merged_into, a.id), coalesce(h.merged_into, h.id))
             OR t.tail <> iif(v.reversed, coalesce(h.merged_into, h.id), coalesce(a.merged_into, a.id))""",
    ),
    (
        "kg_evidence",
        "its fact says something else",
        """SELECT v.id FROM kg_evidence v JOIN kg_attributes t ON t.id = v.attribute
           JOIN kg_entities h ON h.id = v.head_entity
           WHERE t.attribute <> v.relation OR t.value <> v.tail OR t.entity <> coalesce(h.merged_into, h.id)""",
    ),
    (
        "kg_evidence",
        "it states a fact that is not there",
        """SELECT id FROM kg_evidence WHERE (kind = 'triple' AND triple IS NULL AND head_entity IS NOT NULL
             AND tail_entity IS NOT NULL) OR (kind = 'attribute' AND attribute IS NULL AND head_entity IS NOT NULL)""",
    ),
)

ENTITY_CHECKS = (
    (
        "kg_entities",
        "nothing supports it",
        """SELECT id FROM kg_entities e WHERE origin <> 'user'
             AND NOT EXISTS (SELECT 1 FROM kg_mentions m WHERE m.entity = e.id)
             AND NOT EXISTS (SELECT 1 FROM kg_evidence v WHERE v.head_entity = e.id OR v.tail_entity = e.id)
             AND NOT EXISTS (SELECT 1 FROM kg_documents d WHERE d.entity = e.id)""",
    ),
    (
        "kg_entities",
        "its own name is not among its surface forms",
        """SELECT id FROM kg_entities e WHERE NOT EXISTS
             (SELECT 1 FROM kg_aliases a WHERE a.entity = e.id AND a.kind = 'name' AND a.name = e.name)""",
    ),
    ("kg_documents", "it has no entity", "SELECT id FROM kg_documents WHERE entity IS NULL AND kind <> 'import'"),
    (
        "kg_documents",
        "another note has the same entity",
        """SELECT id FROM kg_documents d WHERE EXISTS
             (SELECT 1 FROM kg_documents o WHERE o.entity = d.entity AND o.id <> d.id)""",
    ),
    (
        "kg_documents",
        "its entity is of another type",
        """SELECT d.id FROM kg_documents d JOIN kg_entities e ON e.id = d.entity
           WHERE e.type <> d.entity_type AND d.entity_type <> ''""",
    ),
)


def _listed(checks: tuple[tuple[str, str, str], ...]) -> Callable[[sqlite3.Connection], Iterator[Problem]]:
    def run(connection: sqlite3.Connection) -> Iterator[Problem]:
        for table, message, statement in checks:
            for (id_,) in connection.execute(statement):
                yield Problem(table, id_, message)

    return run


def _keys(connection: sqlite3.Connection) -> Iterator[Problem]:
    for table, statement in (
        ("kg_entities", "SELECT id, name, key FROM kg_entities"),
        ("kg_aliases", "SELECT id, name, key FROM kg_aliases"),
    ):
        for row in connection.execute(statement):
            if name_key(row["name"]) != row["key"]:
                yield Problem(table, row["id"], f"its key is {row['key']!r}, its name {row['name']!r}")


def _merges(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Entities are joined as it was decided, and every decision names who took it."""
    for entity, message in joining.misplaced(connection):
        yield Problem("kg_entities", entity, message)
    for id_, status in connection.execute(
        """SELECT id, status FROM kg_merges WHERE status IN ('approved', 'rejected')
             AND (decided_by IS NULL OR decided_at IS NULL)"""
    ):
        yield Problem("kg_merges", id_, f"it is {status}, and nobody has decided that")


def _counts(connection: sqlite3.Connection) -> Iterator[Problem]:
    wanted: dict[tuple[str, object], int] = {}
    for select in (counts.FACTS_OF_ENTITY, counts.CHUNKS_OF_ENTITY):
        for kind, item, n in connection.execute(f"{select} FROM kg_entities e WHERE n > 0"):
            wanted[kind, item] = n
    for kind, select in counts.FACETS.items():
        wanted.update(((kind, item), n) for item, n in connection.execute(select))
    have = {(row[0], row[1]): row[2] for row in connection.execute("SELECT kind, item, n FROM kg_counts")}
    for place in sorted(wanted.keys() | have.keys(), key=repr):
        if wanted.get(place) != have.get(place):
            kind, item = place
            yield Problem("kg_counts", f"{kind} {item}", f"is {have.get(place)}, should be {wanted.get(place)}")


def _signatures(connection: sqlite3.Connection) -> Iterator[Problem]:
    for block in name_signatures.out_of_step(connection):
        message = f"block {block} does not show how its names are spelled; run: llm graphrag rebuild"
        yield Problem("kg_name_signatures", block, message)


CHECKS: tuple[Callable[[sqlite3.Connection], Iterator[Problem]], ...] = (
    _file,
    _full_text,
    _chunks,
    _quotes,
    _mentions,
    _listed(FACT_CHECKS),
    _listed(ENTITY_CHECKS),
    _keys,
    _merges,
    _counts,
    _signatures,
)
