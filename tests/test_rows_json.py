"""JSON and JSON Lines: what is written stays as written, and one bad line costs one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from rows import facts
from source_files import SHARED, metadata, needs_shared, texts, titles

from llm_graphrag.knowledge_base import KnowledgeBase


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_a_list_of_objects(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.json",
        """[{"id": 7, "title": "Clock", "price": 0.90, "big": 12345678901234567890, "ok": true, "gone": null,
             "tags": ["tower", "old"], "made": {"by": "Ana", "in": [1.50, 2]}, "body": "It rings.\\n\\nOften."}]""",
    )
    assert kb.add([path]).new == 1
    assert texts(kb) == {
        "a.json/7": '---\nid: 7\nprice: 0.90\nbig: 12345678901234567890\nok: "true"\ntags:\n  - tower\n  - old\n'
        'made: \'{"by": "Ana", "in": [1.50, 2]}\'\n---\n\n# Clock\n\nIt rings.\n\nOften.\n'
    }
    assert facts(kb) == {
        ("Clock", "id", "7"),
        ("Clock", "price", "0.90"),
        ("Clock", "big", "12345678901234567890"),
        ("Clock", "ok", "true"),
        ("Clock", "made", '{"by": "Ana", "in": [1.50, 2]}'),
        ("Clock", "tagged", "tower"),
        ("Clock", "tagged", "old"),
    }
    assert metadata(kb, "a.json/7")["row"] == 1
    assert kb.check() == []


def test_an_object_of_objects(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.add(
        [
            write(
                tmp_path / "a.json", '{"ana": {"name": "Ana"}, "b/../c": {"name": "Ben"}, "": {"name": "Eva", "id": 3}}'
            )
        ]
    )
    assert titles(kb) == {"a.json/ana": "Ana", "a.json/b%2F..%2Fc": "Ben", "a.json/3": "Eva"}


def test_items_that_are_no_objects_are_listed(kb: KnowledgeBase, tmp_path: Path) -> None:
    report = kb.add([write(tmp_path / "a.json", '[{"name": "Ana"}, 3, "Ben", [1], null, {}]')])
    assert report.new == 1
    assert [remark.message for remark in report.skipped] == [
        "item 2 is a number, not an object: 3",
        'item 3 is a text, not an object: "Ben"',
        "item 4 is a list, not an object: [1]",
        "item 5 is null, not an object: null",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "Ana"}', "holds one object; rows are a list of objects, or an object of objects"),
        ("3", "holds a number; rows are a list of objects, or an object of objects"),
        ('[{"a": 1},]', "not JSON: "),
        ('{"a": 1}\n{"a": 2}', "not JSON: Extra data, line 2, column 1. If every line is an object, name it .jsonl"),
        ("[" * 100_000, "not read: JSON that is nested too deeply"),
        ("", "not JSON: Expecting value, line 1, column 1"),
    ],
)
def test_files_that_hold_no_rows(kb: KnowledgeBase, tmp_path: Path, text: str, reason: str) -> None:
    report = kb.add([write(tmp_path / "a.json", text)])
    assert (report.new, kb.totals()["documents"]) == (0, 0)
    assert [remark.message[: len(reason)] for remark in report.skipped] == [reason]


def test_a_bad_line_costs_that_line(kb: KnowledgeBase, tmp_path: Path) -> None:
    second = '{"id": 2, "text": "line\\u2028separator \\ud800 \\u0000"}'
    text = f'{{"id": 1, "text": "one"}}\n\nnonsense\n[1]\n{second}\n{{"id": 3, "te'
    report = kb.add([write(tmp_path / "a.jsonl", text)])
    assert list(titles(kb)) == ["a.jsonl/1", "a.jsonl/2"]
    assert [(remark.line, remark.message.split(",")[0]) for remark in report.skipped] == [
        (3, "not JSON: Expecting value"),
        (4, "a list"),
        (6, "not JSON: Unterminated string starting at"),
    ]
    assert [remark.message for remark in report.warnings] == ["2 NUL and other control characters removed"]
    assert metadata(kb, "a.jsonl/2")["line"] == 5
    listed = kb.connection.execute("SELECT path FROM kg_skipped ORDER BY path").fetchall()
    assert [row[0] for row in listed] == ["line 3", "line 4", "line 6"]
    write(tmp_path / "a.jsonl", '{"id": 1, "text": "one"}')
    assert kb.add([tmp_path / "a.jsonl"]).gone == ["a.jsonl/2"]
    assert kb.connection.execute("SELECT count(*) FROM kg_skipped").fetchone()[0] == 0


def test_a_key_that_stands_twice_in_one_object(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.add([write(tmp_path / "a.jsonl", '{"name": "Ana", "town": "Faro", "town": "Porto"}')])
    assert facts(kb) == {("Ana", "town", "Faro"), ("Ana", "town_2", "Porto")}


@needs_shared
def test_shared_files(kb: KnowledgeBase) -> None:
    report = kb.add([SHARED / "rows.json", SHARED / "rows.jsonl"])
    assert (report.new, [(r.path, r.line) for r in report.skipped]) == (5, [("rows.jsonl", 4)])
    found = list(titles(kb))
    assert found[:2] == ["rows.json/1", "rows.json/1~2"] and found[3:] == ["rows.jsonl/1", "rows.jsonl/2"]
    assert ("no id", "n", "12345678901234567890") in facts(kb)
    assert kb.check() == []
    assert kb.add([SHARED / "rows.json"]).unchanged == 3
