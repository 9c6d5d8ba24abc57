"""Builds small knowledge bases row by row, for pages that must open whatever the names are.

``Shelf`` writes straight into the tables: no reader, no extractor. A quote is given as the
words themselves and found in the text, so positions are always true.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from types import ModuleType
from typing import Any

from datasette.app import Datasette
from datasette.plugins import pm

import datasette_graphrag
from llm_graphrag.store import migrations
from llm_graphrag.text.cjk import search_text
from llm_graphrag.text.normalise import name_key

AT = "2026-11-{:02d}T09:00:00+00:00"


class Shelf:
    """A knowledge base under construction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        migrations.apply(self.connection)
        self.connection.execute("BEGIN")
        self.texts: dict[int, str] = {}

    def _insert(self, table: str, **row: Any) -> int:
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        cursor = self.connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)
        return int(cursor.lastrowid or 0)

    def entity(self, name: str, type: str = "", aliases: tuple[str, ...] = ()) -> int:
        entity = self._insert("kg_entities", name=name, type=type, key=name_key(name), origin="user")
        for position, alias in enumerate((name, *aliases)):
            kind = "alias" if position else "name"
            self._insert("kg_aliases", entity=entity, name=alias, key=name_key(alias), kind=kind, origin="user")
        return entity

    def document(
        self,
        uri: str,
        chunks: list[str],
        title: str | None = None,
        entity: int | None = None,
        headings: list[tuple[int, str]] | None = None,
        **row: Any,
    ) -> list[int]:
        """The ids of the chunks; ``headings`` are (level, text), found in the text one after the other."""
        text = "".join(chunks)
        name = uri.rsplit("/", 1)[-1].removesuffix(".md")
        number = self.connection.execute("SELECT count(*) FROM kg_documents").fetchone()[0] + 1
        defaults: dict[str, Any] = {
            "uri": uri, "kind": "note", "title": name if title is None else title, "name": name,
            "name_key": name_key(name), "entity": entity, "content_hash": hashlib.sha256(text.encode()).hexdigest(),
            "length": len(text), "scanned": 1, "added": AT.format(1), "updated": AT.format(number % 28 + 1),
        }  # fmt: skip
        document = self._insert("kg_documents", **{**defaults, **row})
        at = 0
        sections: list[tuple[int, str]] = []
        for seq, (level, heading) in enumerate(headings or []):
            at = text.index(heading, at)
            start = text.rfind("\n", 0, at) + 1
            sections.append((start, heading))
            self._insert(
                "kg_sections", document=document, seq=seq, level=level, heading=heading, start=start, end=len(text)
            )
        ids, start, line = [], 0, 1
        for seq, chunk in enumerate(chunks):
            searched = search_text(chunk)
            ids.append(
                self._insert(
                    "kg_chunks", document=document, seq=seq, start=start, end=start + len(chunk), line=line,
                    tokens=len(chunk) // 4, text=chunk, search_text=searched if searched != chunk else None,
                    heading=next((h for at, h in reversed(sections) if at <= start), ""),
                    content_hash=hashlib.sha256(chunk.encode()).hexdigest(),
                )
            )  # fmt: skip
            self.texts[ids[-1]] = chunk
            start, line = start + len(chunk), line + chunk.count("\n")
        return ids

    def mention(self, chunk: int, entity: int, words: str) -> None:
        """Every place in the chunk where the words stand."""
        start = self.texts[chunk].find(words)
        while start >= 0:
            end = start + len(words)
            self._insert(
                "kg_mentions", chunk=chunk, start=start, end=end, key=name_key(words), entity=entity, origin="lexical"
            )
            start = self.texts[chunk].find(words, end)

    def _evidence(self, kind: str, chunk: int, quote: str, **row: Any) -> int:
        start = self.texts[chunk].index(quote)
        defaults = {"confidence": 1.0, "origin": "link", "detail": json.dumps({"n": row.get("relation")})}
        return self._insert(
            "kg_evidence", kind=kind, chunk=chunk, start=start, end=start + len(quote), quote=quote,
            **{**defaults, **row},
        )  # fmt: skip

    def _name(self, entity: int) -> str:
        return str(self.connection.execute("SELECT name FROM kg_entities WHERE id = ?", [entity]).fetchone()[0])

    def triple(self, head: int, relation: str, tail: int, chunk: int, quote: str, **row: Any) -> int:
        key = {"head": head, "relation": relation, "tail": tail}
        sql = "SELECT id FROM kg_triples WHERE head = :head AND relation = :relation AND tail = :tail"
        found = self.connection.execute(sql, key).fetchone()
        triple = found[0] if found else self._insert("kg_triples", **key)
        self._evidence(
            "triple", chunk, quote, head=self._name(head), head_key=name_key(self._name(head)), head_entity=head,
            relation=relation, tail=self._name(tail), tail_key=name_key(self._name(tail)), tail_entity=tail,
            triple=triple, **row,
        )  # fmt: skip
        self.connection.execute("UPDATE kg_triples SET evidence = evidence + 1 WHERE id = ?", [triple])
        return triple

    def attribute(self, entity: int, attribute: str, value: str, chunk: int, quote: str, **row: Any) -> int:
        key = {"entity": entity, "attribute": attribute, "value": value}
        sql = "SELECT id FROM kg_attributes WHERE entity = :entity AND attribute = :attribute AND value = :value"
        found = self.connection.execute(sql, key).fetchone()
        number = found[0] if found else self._insert("kg_attributes", **key)
        name = self._name(entity)
        self._evidence(
            "attribute", chunk, quote, head=name, head_key=name_key(name), head_entity=entity, relation=attribute,
            tail=value, attribute=number, **row,
        )  # fmt: skip
        self.connection.execute("UPDATE kg_attributes SET evidence = evidence + 1 WHERE id = ?", [number])
        return number

    def close(self, counts: bool = True) -> Path:
        """Fill full text and the derived counts; no -wal is left behind."""
        connection = self.connection
        connection.execute("INSERT INTO kg_chunks_fts(kg_chunks_fts) VALUES ('rebuild')")
        if counts:
            connection.execute("DELETE FROM kg_counts")
            for kind, sql in {
                "entity_type": "SELECT type, count(*) FROM kg_entities WHERE merged_into IS NULL GROUP BY 1",
                "relation": "SELECT relation, count(*) FROM kg_triples GROUP BY 1",
                "attribute": "SELECT attribute, count(*) FROM kg_attributes GROUP BY 1",
                "facts": """SELECT entity, count(*) FROM (SELECT head AS entity FROM kg_triples UNION ALL
                            SELECT tail FROM kg_triples UNION ALL SELECT entity FROM kg_attributes) GROUP BY 1""",
                "chunks": "SELECT entity, count(DISTINCT chunk) FROM kg_mentions WHERE entity IS NOT NULL GROUP BY 1",
            }.items():
                connection.execute(f"INSERT INTO kg_counts (kind, item, n) SELECT '{kind}', * FROM ({sql})")
        else:
            connection.execute("DROP TABLE kg_counts")
        connection.execute("COMMIT")
        connection.close()
        return self.path


def lighthouse(path: Path) -> Path:
    """Notes of a keeper's daughter: the small knowledge base that most tests and pictures use."""
    shelf = Shelf(path)
    rua = shelf.entity("Ruadh Point", "place", aliases=("the Point", "Rubha Ruadh"))
    ina = shelf.entity("Ina Morgan", "person", aliases=("Mrs Morgan",))
    col = shelf.entity("Col Sands", "place")
    lens = shelf.entity("first-order lens", "object")
    board = shelf.entity("Northern Lights Board", "organisation", aliases=("the Board",))
    mercury_metal = shelf.entity("Mercury", "substance")
    mercury_boat = shelf.entity("Mercury", "vessel")
    hamish = shelf.entity("Hamish Bell", "person")
    shelf.entity("gannet")
    light = shelf.document(
        "notes/places/Ruadh Point.md",
        [
            "---\nkeeper: Ina Morgan\nlit: 1871\nmap: https://maps.example.org/ruadh\n---\n# Ruadh Point\n\n"
            "Ruadh Point is the light at the mouth of the sound. Ina Morgan kept it for thirty-one years.\n\n",
            "## The lens\n\nIts first-order lens turns in a bath of Mercury, so that a child can push four tons with "
            "one finger. The Northern Lights Board ordered the lens in Paris.\n\n",
            "## Getting there\n\nFrom Col Sands it is an hour on foot at low water. Hamish Bell takes visitors over in "
            "the Mercury, which he built himself.\n\n- [timetable](https://ferry.example.org/times)\n"
            "- ![the boat](https://pictures.example.org/boat.png)\n- [[Col Sands]]\n",
        ],
        entity=rua,
        headings=[(1, "Ruadh Point"), (2, "The lens"), (2, "Getting there")],
        folder="notes/places",
    )
    diary = shelf.document(
        "notes/diary/1902-03-14.md",
        ["14 March. Wind in the north. Ina Morgan wrote to the Board about the damp. Mrs Morgan never gave up.\n",
         "Ruadh Point was seen from Col Sands at noon. Ina Morgan kept Ruadh Point that winter too.\n"],
        folder="notes/diary",
    )  # fmt: skip
    shelf.document("notes/to do.md", ["Buy paint, rope, lamp oil.\n"], folder="notes")
    shelf.connection.execute("INSERT INTO kg_tags (document, tag) VALUES (1, 'light'), (1, 'sound')")
    for chunk in (*light, *diary):
        for entity, words in [
            (rua, "Ruadh Point"), (ina, "Ina Morgan"), (col, "Col Sands"), (lens, "first-order lens"),
            (board, "Northern Lights Board"), (hamish, "Hamish Bell"), (board, "the Board"), (ina, "Mrs Morgan"),
        ]:  # fmt: skip
            shelf.mention(chunk, entity, words)
    shelf.mention(light[1], mercury_metal, "Mercury")
    shelf.mention(light[2], mercury_boat, "Mercury")
    shelf.triple(rua, "keeper", ina, light[0], "keeper: Ina Morgan")
    shelf.triple(ina, "kept", rua, light[0], "Ina Morgan kept it for thirty-one years.", origin="llm", confidence=0.9)
    shelf.triple(
        ina, "kept", rua, diary[1], "Ina Morgan kept Ruadh Point that winter too.", origin="llm", confidence=0.8
    )
    shelf.triple(rua, "has_part", lens, light[1], "Its first-order lens turns in a bath of Mercury")
    shelf.triple(lens, "turns_in", mercury_metal, light[1], "Its first-order lens turns in a bath of Mercury")
    shelf.triple(board, "ordered", lens, light[1], "The Northern Lights Board ordered the lens in Paris.")
    shelf.triple(hamish, "built", mercury_boat, light[2], "the Mercury, which he built himself")
    shelf.triple(ina, "wrote_to", board, diary[0], "Ina Morgan wrote to the Board about the damp.")
    shelf.triple(rua, "links_to", col, light[2], "[[Col Sands]]")
    shelf.attribute(rua, "lit", "1871", light[0], "lit: 1871")
    shelf.attribute(rua, "map", "https://maps.example.org/ruadh", light[0], "map: https://maps.example.org/ruadh")
    types = {"place": "A place that has a name", "person": "A human being"}
    shelf._insert("kg_schema_versions", version=1, template="general", actor="user", at=AT.format(1))
    for name, description in types.items():
        shelf._insert("kg_types", kind="entity_type", name=name, description=description, origin="template", added_in=1)
    return shelf.close()


def register() -> None:
    """Register the plugin unless its entry point already has."""
    plugin: ModuleType = datasette_graphrag
    if not pm.is_registered(plugin):
        pm.register(plugin, name="graphrag")


async def serve(*paths: Path, immutable: tuple[Path, ...] = (), **options: Any) -> Datasette:
    """A Datasette over the files that has gone through its start."""
    register()
    datasette = Datasette([str(path) for path in paths], immutables=[str(path) for path in immutable], **options)
    await datasette.invoke_startup()
    return datasette


def shut(datasette: Datasette) -> None:
    """Close every connection."""
    if hasattr(datasette, "close"):  # 1.0
        datasette.close()
    else:
        for database in datasette.databases.values():
            database.close()
