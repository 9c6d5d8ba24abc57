"""``check`` names the row for everything that can be wrong, and nothing in a clean file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Run, Vault
from rows import dump

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.store.check import CHECKS, ENTITY_CHECKS, FACT_CHECKS, LIMIT

NOTES = {
    "Mira.md": "---\ntype: person\naliases: [M. Holt]\ntags: [x]\n---\n# Mira\n\n"
    "boss:: [[Otto]]\n\nage:: 40\n\nMet Pia Quist.\n",
    "Otto.md": "Otto knows [[Mira]] and Pia Quist.\n\n## More\n\nOf Kestrel Works, " + "with many words. " * 300,
    "empty.md": " \n",
}


@pytest.fixture
def clean(kb: KnowledgeBase, vault: Vault) -> KnowledgeBase:
    kb.add([vault(NOTES)])
    return kb


def one(kb: KnowledgeBase, statement: str) -> int:
    return int(kb.connection.execute(statement).fetchone()[0])


#: what is broken → (statements, table of the problem, where its row comes from, part of the message)
DAMAGE: dict[str, tuple[Sequence[str], str, str, str]] = {
    "a reference to a row that is gone": (
        ["PRAGMA foreign_keys = OFF", "UPDATE kg_sections SET document = 999 WHERE id = 1", "PRAGMA foreign_keys = ON"],
        "kg_sections", "SELECT 1", "refers to a row of kg_documents that is gone",
    ),
    "full text of a chunk is missing": (
        ["""INSERT INTO kg_chunks_fts(kg_chunks_fts, rowid, title, heading, text)
            SELECT 'delete', id, title, heading, text FROM kg_chunk_search WHERE id = 1"""],
        "kg_chunks_fts", "SELECT NULL", "full text is out of step",
    ),
    "full text of another title": (
        ["UPDATE kg_documents SET title = 'Another' WHERE id = 2"],
        "kg_chunks_fts", "SELECT NULL", "run: llm graphrag rebuild",
    ),
    "full text of a name is missing": (
        ["INSERT INTO kg_names_fts(kg_names_fts, rowid, name) SELECT 'delete', id, name FROM kg_aliases WHERE id = 1"],
        "kg_names_fts", "SELECT NULL", "full text is out of step",
    ),
    "a chunk starts elsewhere": (
        ["UPDATE kg_chunks SET start = start + 1, end = end + 1 WHERE id = 2"],
        "kg_chunks", "SELECT 2", "the one before ends at",
    ),
    "a chunk is longer than its span": (
        ["UPDATE kg_chunks SET end = end - 1 WHERE id = 1"],
        "kg_chunks", "SELECT 1", "its span is not as long as its text",
    ),
    "a chunk of another text": (
        ["UPDATE kg_chunks SET content_hash = 'x' WHERE id = 1"],
        "kg_chunks", "SELECT 1", "its content hash is not that of its text",
    ),
    "a document that is longer": (
        ["UPDATE kg_documents SET length = length + 5 WHERE path = 'Otto.md'"],
        "kg_documents", "SELECT id FROM kg_documents WHERE path = 'Otto.md'", "its chunks end at",
    ),
    "a quote that does not stand there": (
        ["UPDATE kg_evidence SET quote = 'something else' WHERE id = 2"],
        "kg_evidence", "SELECT 2", "its quote does not stand at its span",
    ),
    "an empty quote": (
        ["UPDATE kg_evidence SET quote = '', end = start WHERE id = 2"],
        "kg_evidence", "SELECT 2", "its quote does not stand at its span",
    ),
    "a mention out of the text": (
        ["UPDATE kg_mentions SET start = 99999, end = 100000 WHERE key = 'pia quist' AND chunk = 1"],
        "kg_mentions", "SELECT 1", "is outside of the text",
    ),
    "a mention of another name": (
        ["UPDATE kg_mentions SET start = start + 1 WHERE key = 'pia quist' AND chunk = 1"],
        "kg_mentions", "SELECT 1", "is not of 'pia quist'",
    ),
    "a mention of nobody": (
        ["UPDATE kg_mentions SET entity = NULL WHERE key = 'pia quist' AND chunk = 1"],
        "kg_mentions", "SELECT 1", "has no entity",
    ),
    "a triple counts wrongly": (
        ["UPDATE kg_triples SET evidence = 7 WHERE relation = 'boss'"],
        "kg_triples", "SELECT id FROM kg_triples WHERE relation = 'boss'", "its evidence count",
    ),
    "an attribute counts wrongly": (
        ["UPDATE kg_attributes SET evidence = 7 WHERE attribute = 'age'"],
        "kg_attributes", "SELECT id FROM kg_attributes WHERE attribute = 'age'", "its evidence count",
    ),
    "a triple without evidence": (
        ["INSERT INTO kg_triples(id, head, relation, tail) VALUES (900, 1, 'likes', 2)"],
        "kg_triples", "SELECT 900", "no evidence states it",
    ),
    "an attribute without evidence": (
        ["INSERT INTO kg_attributes(id, entity, attribute, value) VALUES (900, 1, 'size', '3')"],
        "kg_attributes", "SELECT 900", "no evidence states it",
    ),
    "a triple of another relation": (
        ["UPDATE kg_triples SET relation = 'likes' WHERE relation = 'boss'"],
        "kg_evidence", "SELECT id FROM kg_evidence WHERE relation = 'boss'", "its fact says something else",
    ),
    "a triple of another head": (
        ["UPDATE kg_triples SET head = tail, tail = head WHERE relation = 'boss'"],
        "kg_evidence", "SELECT id FROM kg_evidence WHERE relation = 'boss'", "its fact says something else",
    ),
    "an attribute of another value": (
        ["UPDATE kg_attributes SET value = '41' WHERE attribute = 'age'"],
        "kg_evidence", "SELECT id FROM kg_evidence WHERE relation = 'age'", "its fact says something else",
    ),
    "a claim without its triple": (
        ["UPDATE kg_evidence SET triple = NULL WHERE relation = 'boss'"],
        "kg_evidence", "SELECT id FROM kg_evidence WHERE relation = 'boss'", "it states a fact that is not there",
    ),
    "a claim without its attribute": (
        ["UPDATE kg_evidence SET attribute = NULL WHERE relation = 'age'"],
        "kg_evidence", "SELECT id FROM kg_evidence WHERE relation = 'age'", "it states a fact that is not there",
    ),
    "an entity that nothing supports": (
        ["INSERT INTO kg_entities(id, name, key, origin) VALUES (900, 'Nobody', 'nobody', 'lexical')",
         "INSERT INTO kg_aliases(entity, name, key, kind, origin) VALUES (900, 'Nobody', 'nobody', 'name', 'lexical')"],
        "kg_entities", "SELECT 900", "nothing supports it",
    ),
    "an entity without its own name": (
        ["DELETE FROM kg_aliases WHERE name = 'Pia Quist'"],
        "kg_entities", "SELECT id FROM kg_entities WHERE name = 'Pia Quist'", "its own name is not among",
    ),
    "a document without an entity": (
        ["UPDATE kg_documents SET entity = NULL WHERE path = 'empty.md'"],
        "kg_documents", "SELECT id FROM kg_documents WHERE path = 'empty.md'", "it has no entity",
    ),
    "two documents with one entity": (
        ["UPDATE kg_documents SET entity = (SELECT entity FROM kg_documents WHERE path = 'Otto.md'), entity_type = ''"
         " WHERE path = 'empty.md'"],
        "kg_documents", "SELECT id FROM kg_documents WHERE path = 'empty.md'", "another note has the same entity",
    ),
    "a document of another type": (
        ["UPDATE kg_documents SET entity_type = 'place' WHERE path = 'Mira.md'"],
        "kg_documents", "SELECT id FROM kg_documents WHERE path = 'Mira.md'", "its entity is of another type",
    ),
    "the key of an entity": (
        ["UPDATE kg_entities SET key = 'x' WHERE name = 'Pia Quist'"],
        "kg_entities", "SELECT id FROM kg_entities WHERE name = 'Pia Quist'", "its key is 'x', its name 'Pia Quist'",
    ),
    "the key of an alias": (
        ["UPDATE kg_aliases SET key = 'x' WHERE name = 'M. Holt'"],
        "kg_aliases", "SELECT id FROM kg_aliases WHERE name = 'M. Holt'", "its key is 'x', its name 'M. Holt'",
    ),
    "entities that are joined without a decision": (
        ["UPDATE kg_entities SET merged_into = (SELECT id FROM kg_entities WHERE name = 'Otto') WHERE name = 'Mira'"],
        "kg_entities", "SELECT id FROM kg_entities WHERE name = 'Mira'", "decided was into none",
    ),
    "a merge that is not in force": (
        ["""INSERT INTO kg_merges(kept_key, kept_type, merged_key, merged_type, reason, status, decided_by, decided_at)
            VALUES ('otto', '', 'pia quist', '', 'x', 'approved', 'me', 'today')"""],
        "kg_entities", "SELECT id FROM kg_entities WHERE name = 'Pia Quist'", "merged into None, decided was into",
    ),
    "a merge that nobody has decided": (
        ["""INSERT INTO kg_merges(id, kept_key, kept_type, merged_key, merged_type, reason, status)
            VALUES (7, 'otto', '', 'nobody', '', 'x', 'approved')"""],
        "kg_merges", "SELECT 7", "nobody has decided that",
    ),
    "a counter of an entity": (
        ["UPDATE kg_counts SET n = 99 WHERE kind = 'facts' AND item ="
         " (SELECT id FROM kg_entities WHERE name = 'Mira')"],
        "kg_counts", "SELECT 'facts ' || id FROM kg_entities WHERE name = 'Mira'", "is 99, should be",
    ),
    "a facet that is missing": (
        ["DELETE FROM kg_counts WHERE kind = 'tag'"],
        "kg_counts", "SELECT 'tag x'", "is None, should be 1",
    ),
    "a facet too many": (
        ["INSERT INTO kg_counts(kind, item, n) VALUES ('tag', 'gone', 3)"],
        "kg_counts", "SELECT 'tag gone'", "is 3, should be None",
    ),
    "names that are covered, but not shown": (
        ["INSERT INTO kg_name_signatures(id, names) VALUES (-1, 5)"],
        "kg_name_signatures", "SELECT 0", "does not show how its names are spelled",
    ),
}  # fmt: skip


def test_a_clean_file_has_no_problems_and_check_writes_nothing(clean: KnowledgeBase) -> None:
    before = dump(clean.connection)
    assert clean.check() == []
    assert dump(clean.connection) == before


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(clean: KnowledgeBase, name: str) -> None:
    statements, table, row, message = DAMAGE[name]
    for statement in statements:
        clean.connection.execute(statement)
    expected = clean.connection.execute(row).fetchone()[0]
    found = clean.check()
    assert [p for p in found if (p.table, p.row) == (table, expected) and message in p.message], found


def test_every_check_is_tested() -> None:
    messages = [message for _, message, _ in (*FACT_CHECKS, *ENTITY_CHECKS)]
    tested = [damage[3] for damage in DAMAGE.values()]
    assert [message for message in messages if not any(part in message for part in tested)] == []
    assert len(CHECKS) == 11  # file, full text, chunks, quotes, mentions, facts, entities, keys, merges, counts, names


def test_damage_of_the_file_itself(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({f"{n}.md": f"Note {n} " * 200 for n in range(30)})])
    kb.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kb.connection.execute("PRAGMA writable_schema = ON")
    kb.connection.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'kg_tags(tag)', 'kg_tags(document)') WHERE name = 'kg_tags_tag'"
    )
    kb.connection.execute("INSERT INTO kg_tags(document, tag) VALUES (1, 'b'), (2, 'a')")
    kb.close()
    with KnowledgeBase.open(kb.path) as again:
        assert [problem.table for problem in again.check() if problem.table == "file"]


def test_many_problems_of_a_kind_are_counted(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({f"{n}.md": "x" for n in range(LIMIT + 5)})])
    kb.connection.execute("UPDATE kg_chunks SET content_hash = 'x'")
    found = [problem for problem in kb.check() if problem.table == "kg_chunks"]
    assert len(found) == LIMIT + 1
    assert (found[-1].row, found[-1].message) == (None, "and 5 more of this kind")


def test_the_command(run: Run, vault: Vault, tmp_path: Path) -> None:
    run("add", vault(NOTES))
    assert run("check").stdout == "All is well.\n"
    assert json.loads(run("check", "--json").stdout) == []
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db") as kb:
        kb.connection.execute("UPDATE kg_triples SET evidence = 7 WHERE relation = 'boss'")
        row = one(kb, "SELECT id FROM kg_triples WHERE relation = 'boss'")
    result = run("check", exit_code=1)
    assert result.stdout == f"kg_triples {row}: its evidence count is not that of its evidence\n1 problem.\n"
    assert json.loads(run("check", "--json", exit_code=1).stdout) == [
        {"table": "kg_triples", "row": row, "message": "its evidence count is not that of its evidence"}
    ]
