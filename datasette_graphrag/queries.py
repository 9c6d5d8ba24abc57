"""SQL that several pages share, and that of the overview: the state of a file, counts, names.

Everything here is a plain function over a connection. Numbers come from ``kg_counts`` or
from an index; lists are bounded and follow an index, so that a page costs about the same
in a file of a hundred facts and of a million.
"""

from __future__ import annotations

import difflib
import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from llm_graphrag.graph.linker import nearest_names
from llm_graphrag.graph.named import named
from llm_graphrag.store import migrations
from llm_graphrag.text.normalise import name_key

from .records import Counted, DocumentRef, EntityRef

COUNTED_DOCUMENTS = 10_000  # more than this, and documents without facts are not counted while somebody waits
REQUIRED = frozenset(
    "kg_documents kg_sections kg_tags kg_chunks kg_chunks_fts kg_entities kg_aliases kg_names_fts kg_mentions "
    "kg_triples kg_attributes kg_evidence kg_types".split()
)


class UnusableError(ValueError):
    """The file cannot be shown: ``status`` for the reply, the message says why and what to do."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def is_knowledge_base(connection: sqlite3.Connection) -> bool:
    """Whether the file has our tables, whatever their version."""
    sql = "SELECT count(*) FROM sqlite_master WHERE name IN ('kg_documents', 'kg_entities', 'kg_chunks')"
    return bool(connection.execute(sql).fetchone()[0] == 3)


def check(connection: sqlite3.Connection, name: str) -> None:
    """Raise UnusableError for a file that is no knowledge base, or one of another version."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'kg!_%' ESCAPE '!'")
    have = {row[0] for row in rows}
    newer = False
    try:
        migrations.refuse_newer(connection, Path(name))
    except migrations.NewerVersionError:
        newer = True
    except sqlite3.OperationalError:  # another program's table of that name
        pass
    if newer:
        raise UnusableError(
            501,
            f"The database {name} was written by a newer version of llm-graphrag than the one installed here. "
            "Upgrade with: datasette install -U llm-graphrag",
        )
    if not have & {"kg_documents", "kg_entities", "kg_chunks"}:
        raise UnusableError(
            404,
            f"The database {name} is not a knowledge base: it has none of its tables. "
            "Make one with: llm graphrag add FOLDER",
        )
    if missing := sorted(REQUIRED - have):
        raise UnusableError(
            501,
            f"The database {name} is of an older version or damaged: it has no {', '.join(missing)}. "
            "Bring it up to date with: llm graphrag init",
        )


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = :name", {"name": name}).fetchone() is not None


# Names --------------------------------------------------------------------------

_BY_KEY = """
  SELECT e.id, e.name, e.type, e.merged_into,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM kg_entities e WHERE e.key = :key ORDER BY e.type LIMIT 100"""
_BY_ALIAS = """
  SELECT DISTINCT e.id, e.name, e.type, e.merged_into,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity WHERE a.key = :key ORDER BY e.name, e.type LIMIT 100"""
_BY_ID = """
  SELECT e.id, e.name, e.type, e.merged_into,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM kg_entities e WHERE e.id = :id"""


def entity_ref(row: sqlite3.Row) -> EntityRef:
    return EntityRef(row["id"], row["name"], row["type"], bool(row["shared"]))


def entity_by_id(connection: sqlite3.Connection, number: int) -> EntityRef | None:
    """The entity, or the one it was joined to."""
    for _ in range(20):  # merges of merges; a circle ends too
        row = connection.execute(_BY_ID, {"id": number}).fetchone()
        if row is None:
            return None
        if row["merged_into"] is None:
            break
        number = row["merged_into"]
    return entity_ref(row)


_BY_IDS = """
  SELECT e.id, e.name, e.type,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM json_each(:ids) f CROSS JOIN kg_entities e ON e.id = f.value"""


def entity_refs(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, EntityRef]:
    """Id -> entity, in the order of the ids; what there is not is left out."""
    rows = connection.execute(_BY_IDS, {"ids": json.dumps(list(ids))})
    return {row["id"]: entity_ref(row) for row in rows}


def entities_called(connection: sqlite3.Connection, name: str, type_: str | None = None) -> list[EntityRef]:
    """Entities with exactly this name; failing that with its key; failing that with it as an alias."""
    key = {"key": name_key(name)}
    same_key = [row for row in connection.execute(_BY_KEY, key) if type_ is None or row["type"] == type_]
    rows = [row for row in same_key if row["name"] == name] or same_key
    if not rows:
        rows = [row for row in connection.execute(_BY_ALIAS, key) if type_ is None or row["type"] == type_]
    found: dict[int, EntityRef] = {}
    for row in rows:
        entity = entity_ref(row) if row["merged_into"] is None else entity_by_id(connection, row["id"])
        if entity is not None:
            found[entity.id] = entity
    return list(found.values())


_NAMES_LIKE = """
  SELECT e.id, e.name, e.type, a.name AS alias,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM kg_names_fts f JOIN kg_aliases a ON a.id = f.rowid JOIN kg_entities e ON e.id = a.entity
  WHERE f.name MATCH :query AND e.merged_into IS NULL LIMIT 200"""
_NAMES_FROM = """
  SELECT e.id, e.name, e.type, a.name AS alias,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity
  WHERE a.key >= :key AND a.key < :end AND e.merged_into IS NULL ORDER BY a.key LIMIT 50"""


def near_names(connection: sqlite3.Connection, name: str, limit: int = 8) -> list[EntityRef]:
    """Entities whose name resembles this one, nearest first ("Did you mean").

    First those that the terminal suggests. Then those that share a piece: a slip of the pen leaves one half of a
    name intact, two leave a third. Those pieces are looked up as substrings, which the trigram index answers at
    once; the few that match are compared in full.
    """
    alike = _spelled_alike(connection, name, limit) if has_table(connection, "kg_name_signatures") else {}
    alike.update({entity.id: entity for entity in _sharing_a_piece(connection, name, limit) if entity.id not in alike})
    return list(alike.values())[:limit]


def _spelled_alike(connection: sqlite3.Connection, name: str, limit: int) -> dict[int, EntityRef]:
    names = nearest_names(connection, name, limit) if name.strip() else []
    found = (node.id for alike in names for node in named(connection, alike)[:limit])
    return entity_refs(connection, dict.fromkeys(found))


def _sharing_a_piece(connection: sqlite3.Connection, name: str, limit: int) -> list[EntityRef]:
    wanted = name_key(name)[:200]
    best: dict[int, tuple[float, EntityRef]] = {}
    for pieces in (1, 2, 3, 4):
        size = -(-len(wanted) // pieces)
        if size < 3:
            break
        parts = [wanted[at : at + size] for at in range(0, len(wanted), size)]
        query = " OR ".join(_phrase(part) for part in parts if len(part) >= 3)
        if query:
            _collect(connection.execute(_NAMES_LIKE, {"query": query}), wanted, best)
        if len(best) >= limit:
            break
    start = wanted[: max(2, min(4, len(wanted)))]
    if start:
        _collect(connection.execute(_NAMES_FROM, {"key": start, "end": start + "\U0010ffff"}), wanted, best)
    ranked = sorted(best.values(), key=lambda pair: (-pair[0], pair[1].name, pair[1].id))
    return [entity for score, entity in ranked if score >= 0.4][:limit]


def _collect(rows: sqlite3.Cursor, wanted: str, best: dict[int, tuple[float, EntityRef]]) -> None:
    for row in rows:
        alias = name_key(row["alias"])[:200]
        score = difflib.SequenceMatcher(None, wanted, alias, autojunk=False).ratio()
        if wanted and (alias.startswith(wanted) or wanted in alias):
            score = max(score, 0.6)
        if score > best.get(row["id"], (0.0,))[0]:
            best[row["id"]] = (score, entity_ref(row))


def _phrase(text: str) -> str:
    return '"' + text.replace("\x00", "").replace('"', '""') + '"'


# The overview -------------------------------------------------------------------

_TOTALS = """
  SELECT (SELECT count(*) FROM kg_documents) AS documents, (SELECT count(*) FROM kg_chunks) AS passages,
         (SELECT count(*) FROM kg_entities) AS entities, (SELECT count(*) FROM kg_triples) AS triples,
         (SELECT count(*) FROM kg_attributes) AS attributes, (SELECT count(*) FROM kg_evidence) AS evidence,
         (SELECT count(*) FROM kg_entities WHERE merged_into IS NOT NULL) AS merged"""


def totals(connection: sqlite3.Connection) -> dict[str, int]:
    """How many rows there are of each kind; entities that were joined to another do not count."""
    numbers = dict(connection.execute(_TOTALS).fetchone())
    numbers["entities"] -= numbers.pop("merged")
    return numbers


_TOP = """
  SELECT c.item AS name, c.n AS n, coalesce(t.description, '') AS description
  FROM kg_counts c LEFT JOIN kg_types t ON t.kind = :kind AND t.name = c.item
  WHERE c.kind = :kind ORDER BY c.n DESC, c.item LIMIT :limit"""
_LIVE = {
    "entity_type": """
      SELECT e.type AS name, count(*) AS n, coalesce(t.description, '') AS description
      FROM kg_entities e LEFT JOIN kg_types t ON t.kind = 'entity_type' AND t.name = e.type
      WHERE e.merged_into IS NULL GROUP BY e.type ORDER BY n DESC, e.type LIMIT :limit""",
    "relation": """
      SELECT x.relation AS name, count(*) AS n, coalesce(t.description, '') AS description
      FROM kg_triples x LEFT JOIN kg_types t ON t.kind = 'relation' AND t.name = x.relation
      GROUP BY x.relation ORDER BY n DESC, x.relation LIMIT :limit""",
    "attribute": """
      SELECT x.attribute AS name, count(*) AS n, coalesce(t.description, '') AS description
      FROM kg_attributes x LEFT JOIN kg_types t ON t.kind = 'attribute' AND t.name = x.attribute
      GROUP BY x.attribute ORDER BY n DESC, x.attribute LIMIT :limit""",
}


def most_common(connection: sqlite3.Connection, kind: str, limit: int = 25) -> list[Counted]:
    """Entity types, relations or attributes by count; counted here only if the derived counts are missing."""
    rows: list[sqlite3.Row] = []
    if has_table(connection, "kg_counts"):
        rows = connection.execute(_TOP, {"kind": kind, "limit": limit}).fetchall()
    rows = rows or connection.execute(_LIVE[kind], {"limit": limit}).fetchall()
    return [Counted(row["name"], row["n"], row["description"]) for row in rows]


def recent_documents(connection: sqlite3.Connection, limit: int = 10) -> list[tuple[DocumentRef, str]]:
    sql = "SELECT id, uri, title, updated FROM kg_documents ORDER BY updated DESC LIMIT :limit"
    rows = connection.execute(sql, {"limit": limit})
    return [(DocumentRef(row["id"], row["uri"], row["title"]), row["updated"]) for row in rows]


_HUBS = """
  SELECT e.id, e.name, e.type, c.n AS n,
         EXISTS (SELECT 1 FROM kg_entities x WHERE x.key = e.key AND x.id <> e.id) AS shared
  FROM kg_counts c JOIN kg_entities e ON e.id = c.item WHERE c.kind = 'facts' ORDER BY c.n DESC LIMIT :limit"""


def most_connected(connection: sqlite3.Connection, limit: int = 12) -> list[tuple[EntityRef, int]]:
    """Entities with most facts; empty if the derived counts are missing."""
    if not has_table(connection, "kg_counts"):
        return []
    return [(entity_ref(row), row["n"]) for row in connection.execute(_HUBS, {"limit": limit})]


_SILENT = """
  SELECT count(*) FROM kg_documents d WHERE NOT EXISTS (
    SELECT 1 FROM kg_chunks c JOIN kg_evidence v ON v.chunk = c.id WHERE c.document = d.id)"""


def coverage(connection: sqlite3.Connection, documents: int) -> dict[str, int | None]:
    """What the graph does not cover, and what waits for a person: None where counting would keep the reader waiting."""
    one = {
        "unscanned": "SELECT count(*) FROM kg_documents WHERE scanned = 0",
        "skipped": "SELECT count(*) FROM kg_skipped",
        "failed_windows": "SELECT count(*) FROM kg_extractions WHERE status = 'failed'",
        "open_proposals": "SELECT count(*) FROM kg_proposals WHERE status = 'open'",
        "suggested_merges": "SELECT count(*) FROM kg_merges WHERE status = 'suggested'",
        "decisions": "SELECT count(*) FROM kg_decisions",
    }
    found: dict[str, int | None] = {"without_facts": None}
    if documents <= COUNTED_DOCUMENTS:
        found["without_facts"] = connection.execute(_SILENT).fetchone()[0]
    tables = {
        "skipped": "kg_skipped",
        "failed_windows": "kg_extractions",
        "open_proposals": "kg_proposals",
        "suggested_merges": "kg_merges",
        "decisions": "kg_decisions",
    }
    for name, sql in one.items():
        if name not in tables or has_table(connection, tables[name]):
            found[name] = connection.execute(sql).fetchone()[0]
    return found
