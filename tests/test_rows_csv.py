"""CSV and TSV: every row a document that is found again, whatever the file looks like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rows import dump, facts
from source_files import CASES, SHARED, metadata, needs_shared, texts, titles

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources.converters import UNPRINTABLE
from llm_graphrag.sources.dialects import PLAIN
from llm_graphrag.sources.ingest import Options
from llm_graphrag.sources.markdown import parse_note
from llm_graphrag.sources.quoting import is_short, one_line
from llm_graphrag.sources.rows.feed import Record, Remarks
from llm_graphrag.sources.rows.open import RowOptions
from llm_graphrag.sources.rows.table import Columns, Table
from llm_graphrag.sources.stale import stale
from llm_graphrag.sources.status import status_of

PEOPLE = """id,Name,Town,Friend,Notes
1,Ana Ruiz,Lisbon,[[Ben]],"mends clocks
and sings"
2,Ben,"Porto, north",,
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE, "utf-8")
    return path


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def test_rows_become_documents_with_facts(kb: KnowledgeBase, people: Path) -> None:
    report = kb.add([people])
    assert (report.new, report.skipped, report.warnings) == (2, [], [])
    assert texts(kb) == {
        "people.csv/1": '---\nid: 1\nTown: Lisbon\nFriend: "[[Ben]]"\n---\n\n# Ana Ruiz\n\n'
        "## Notes\n\nmends clocks\nand sings\n",
        "people.csv/2": '---\nid: 2\nTown: "Porto, north"\n---\n\n# Ben\n',
    }
    assert titles(kb) == {"people.csv/1": "Ana Ruiz", "people.csv/2": "Ben"}
    assert facts(kb) == {
        ("Ana Ruiz", "id", "1"),
        ("Ana Ruiz", "town", "Lisbon"),
        ("Ana Ruiz", "friend", "Ben"),
        ("Ben", "id", "2"),
        ("Ben", "town", "Porto, north"),
    }
    kinds = kb.connection.execute("SELECT DISTINCT kind FROM kg_documents").fetchall()
    assert [row[0] for row in kinds] == ["row"]
    assert kb.check() == []


def test_134_a_row_says_where_it_stands(kb: KnowledgeBase, people: Path) -> None:
    write(people, PEOPLE + "3,Eva,Faro,,\n")
    kb.add([people], rows=RowOptions(text=("Notes",)))
    assert metadata(kb, "people.csv/1") == {
        "row": 2,
        "line": 2,
        "title_column": "Name",
        "text_columns": ["Notes"],
        "columns": {"id": "1", "Town": "Lisbon", "Friend": "[[Ben]]"},
    }
    assert [metadata(kb, f"people.csv/{key}")["line"] for key in (1, 2, 3)] == [2, 4, 5]
    assert [metadata(kb, f"people.csv/{key}")["row"] for key in (1, 2, 3)] == [2, 3, 4]
    detail, quote = kb.connection.execute("SELECT detail, quote FROM kg_evidence WHERE tail = 'Lisbon'").fetchone()
    assert (json.loads(detail)["key"], "Lisbon" in quote) == ("Town", True)


def test_adding_again_changes_no_row(kb: KnowledgeBase, people: Path) -> None:
    kb.add([people])
    before = dump(kb.connection)
    report = kb.add([people])
    assert (report.unchanged, report.written, report.gone) == (2, 0, [])
    assert dump(kb.connection) == before


def test_only_what_changed_is_read(kb: KnowledgeBase, people: Path) -> None:
    kb.add([people])
    ids = dict(kb.connection.execute("SELECT uri, id FROM kg_documents").fetchall())
    write(people, PEOPLE.replace("2,Ben,", "0,Eva,Faro,,\n2,Benedict,").replace("1,Ana Ruiz,", "\n1,Ana Ruiz,"))
    assert stale(kb.connection) == {ids["people.csv/2"]: "its row has changed since it was read"}
    assert {"path": "people.csv", "reason": "the source has changed since it was read"} in status_of(kb.connection)[
        "stale"
    ]
    report = kb.add([people])
    assert (report.new, report.changed, report.unchanged) == (1, 1, 1)
    assert dict(kb.connection.execute("SELECT uri, id FROM kg_documents").fetchall()).items() >= ids.items()
    assert metadata(kb, "people.csv/1")["row"] == 3  # it moved, and was not read again
    assert titles(kb)["people.csv/2"] == "Benedict"
    assert status_of(kb.connection)["stale"] == []
    assert kb.check() == []


def test_rows_that_are_gone_stay_until_pruned(kb: KnowledgeBase, people: Path) -> None:
    kb.add([people])
    write(people, PEOPLE[: PEOPLE.index("2,Ben")])
    assert list(stale(kb.connection).values()) == ["its row is gone"]
    assert kb.add([people]).gone == ["people.csv/2"]
    assert kb.totals()["documents"] == 2
    report = kb.add([people], Options(prune=True))
    assert (report.removed, list(titles(kb))) == (1, ["people.csv/1"])
    assert kb.check() == []


def test_a_file_that_is_gone_and_one_that_is_elsewhere(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    path = write(tmp_path / "stick" / "people.csv", PEOPLE)
    kb.add([path])
    path.unlink()
    assert set(stale(kb.connection).values()) == {"its row is gone"}
    path.parent.rmdir()
    assert stale(kb.connection) == {}


@pytest.mark.parametrize("what", ["people.csv", "{path}"])
def test_removing_by_name_and_by_path(kb: KnowledgeBase, people: Path, what: str) -> None:
    kb.add([people])
    assert kb.remove(["people.csv/2"]) == ["people.csv/2"]
    assert kb.remove([what.format(path=people)]) == ["people.csv/1"]
    assert (kb.totals()["documents"], kb.totals()["entities"], kb.check()) == (0, 0, [])


def test_columns_that_a_person_names(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "Code;Area;Label;Story\nx;1;Ana;long ago\nx;2;Ben;\n")
    kb.add([path], rows=RowOptions(title="label", text=("story",), key=("Code", "Area")))
    assert texts(kb) == {
        "a.csv/x,1": "---\nCode: x\nArea: 1\n---\n\n# Ana\n\nlong ago\n",
        "a.csv/x,2": "---\nCode: x\nArea: 2\n---\n\n# Ben\n",
    }
    assert kb.add([path]).unchanged == 2  # what is not said is as it was said before
    with pytest.raises(ValueError, match=r"a\.csv has no column 'Colour'. Columns: Code, Area, Label, Story"):
        kb.add([path], rows=RowOptions(title="Colour"))


def test_a_row_without_a_key_is_known_by_its_content(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n1,2\n1,2\n3,4\n")
    kb.add([path])
    first, second, third = titles(kb)
    assert second == first + "~2" and third != first
    write(path, "x,y\n3,4\n1,2\n5,6\n")
    report = kb.add([path])
    assert (report.new, report.unchanged, report.gone) == (1, 2, [second])


def test_a_key_that_stands_twice_is_kept_twice(kb: KnowledgeBase, tmp_path: Path) -> None:
    report = kb.add([write(tmp_path / "a.csv", "id,name\n7,Ana\n7,Ben\n")])
    assert titles(kb) == {"a.csv/7": "Ana", "a.csv/7~2": "Ben"}
    assert [(r.message, r.line) for r in report.warnings] == [("key '7' stands 2 times; kept as 7~2", 3)]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found_out(kb: KnowledgeBase, tmp_path: Path, separator: str) -> None:
    rows = [["name", "price"], ["Ana, Ben; Eva", "1,5"], ["Uwe", "2,5"]]
    text = "\n".join(separator.join(f'"{cell}"' if separator in cell else cell for cell in row) for row in rows)
    kb.add([write(tmp_path / "a.csv", text)])
    assert facts(kb) == {("Ana, Ben; Eva", "price", "1,5"), ("Uwe", "price", "2,5")}


def test_ragged_rows_are_kept_and_said(kb: KnowledgeBase, tmp_path: Path) -> None:
    report = kb.add([write(tmp_path / "a.csv", "name,town,\nAna\n\nBen,Porto,x,more\n,,\nEva,Faro,\n")])
    assert {(r.line, r.message.split(";")[0]) for r in report.warnings} == {
        (2, "1 cells where the header has 3"),
        (4, "4 cells where the header has 3"),
    }
    assert facts(kb) == {
        ("Ben", "town", "Porto"),
        ("Ben", "column_3", "x"),
        ("Ben", "column_4", "more"),
        ("Eva", "town", "Faro"),
    }
    assert report.new == 3


def test_a_quote_that_is_never_closed_is_said(kb: KnowledgeBase, tmp_path: Path) -> None:
    report = kb.add([write(tmp_path / "a.csv", 'name,town\nAna,"Lisbon\nBen,Porto\nEva,Faro\n')])
    assert [(r.line, r.message[:33]) for r in report.warnings] == [(2, "a quote opens here and is never c")]
    assert "Ben,Porto" in texts(kb)[next(iter(titles(kb)))]


def test_126_nul_is_removed_and_counted(kb: KnowledgeBase, tmp_path: Path) -> None:
    report = kb.add([write(tmp_path / "a.csv", "Name,City\nAna\0 Ruiz,Lisbon\nBen,Porto\0\n")])
    assert facts(kb) == {("Ana Ruiz", "city", "Lisbon"), ("Ben", "city", "Porto")}
    assert [r.message for r in report.warnings] == ["2 NUL removed"]


def test_127_damaged_utf16_names_the_encoding_and_the_option(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("Id;Navn\n1;Ærfugl\n2;Måke\n".encode("utf-16-le")[:-1])
    result = run("add", path, exit_code=3)
    assert "looks like utf-16-le" in result.stderr and "--encoding utf-16-le" in result.stderr
    assert "0 documents" in result.stdout
    assert "Skipped: a.csv" in run("status").stdout
    result = run("add", path, "--encoding", "utf-16-le")
    assert "2 new" in result.stdout and "1 places are not valid utf-16-le" in result.stderr
    assert "2 unchanged" in run("add", path).stdout


@pytest.mark.parametrize(
    ("encoding", "warnings"),
    [
        ("utf-8", []),
        ("utf-8-sig", []),
        ("utf-16", []),
        ("utf-16-le", ["read as utf-16-le without a byte order mark"]),
        ("cp1252", ["not UTF-8 at byte 12, read as cp1252"]),
    ],
)
def test_encodings(kb: KnowledgeBase, tmp_path: Path, encoding: str, warnings: list[str]) -> None:
    report = kb.add([write(tmp_path / "a.csv", "name;town\r\nJürgen;Köln\r\n", encoding)])
    assert facts(kb) == {("Jürgen", "town", "Köln")}
    assert [r.message for r in report.warnings] == warnings


@pytest.mark.parametrize("encoding", ["latin-99", "base64", "rot13"])
def test_an_encoding_that_is_none(run: Run, people: Path, encoding: str) -> None:
    assert "no encoding that Python knows" in run("add", people, "--encoding", encoding, exit_code=1).output


def test_a_dry_run_writes_nothing(kb: KnowledgeBase, people: Path) -> None:
    before = dump(kb.connection)
    assert kb.add([people], Options(dry_run=True)).planned == [("new", "1"), ("new", "2")]
    assert dump(kb.connection) == before


def test_options_that_mean_nothing_are_refused(run: Run, people: Path, tmp_path: Path) -> None:
    note = write(tmp_path / "a.md", "Ana")
    for arguments, words in (
        ((people, "--table", "x"), "--table is for one SQLite file"),
        ((people, "--where", "x"), "--where is for one SQLite file"),
        ((people, "--sql", "x"), "--sql is for one SQLite file"),
        ((note, "--title", "x"), "--title names a column"),
        ((note, "--text", "x"), "--text names a column"),
        ((note, "--key", "x"), "--key names a column"),
        ((note, "--encoding", "utf-8"), "--encoding is for CSV and JSON"),
        ((note, "--logs", "x"), "--logs goes with llm-logs"),
    ):
        assert words in run("add", *arguments, exit_code=2).output


def test_notes_and_rows_in_one_run(kb: KnowledgeBase, people: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    write(tmp_path / "notes" / "Day.md", "Met [[Ana Ruiz]], and Ben later.")
    write(tmp_path / "notes" / "left.csv", "name\nnobody\n")
    report = kb.add([tmp_path / "notes", people])
    assert (report.new, report.totals["documents"]) == (3, 3)
    assert ("Day", "links_to", "Ana Ruiz") in facts(kb)
    entity = kb.connection.execute("SELECT entity FROM kg_documents WHERE uri = 'people.csv/1'").fetchone()[0]
    tail = kb.connection.execute("SELECT tail FROM kg_triples WHERE relation = 'links_to'").fetchone()[0]
    assert tail == entity
    mentions = kb.connection.execute(
        "SELECT count(*) FROM kg_mentions m JOIN kg_entities e ON e.id = m.entity WHERE e.name = 'Ben'"
    ).fetchone()[0]
    assert mentions >= 2  # the link of the other row, and the plain text of the note


PIECES = [
    *"ab:#-'\"[]{}|>&*!%@`\\,\n\r\t ~=<_.\0\x07\x85\u2028\ufeff",
    "---",
    "\n---\n",
    "[[",
    "]]",
    "{{",
    ": ",
    " #",
    "null",
]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(HOSTILE.filter(str.strip), HOSTILE, max_size=6), HOSTILE, HOSTILE)
def test_no_value_breaks_out(cells: dict[str, str], title: str, body: str) -> None:
    """Whatever the cells hold, each short one is a value of its own column and nothing else is metadata."""
    values = {f"k{number} {name}": value for number, (name, value) in enumerate(cells.items())}
    record = Record({**values, "title": title, "body": body, "last": "here"})
    table = Table("t", "csv", "t", "t", lambda remarks: iter([record]), str, Columns())
    (rendered,) = table.read(Remarks("t"))
    note = parse_note(rendered.text, PLAIN, "")
    assert note.metadata["last"] == "here"
    assert not [warning for warning in note.warnings if "YAML" in warning.message]
    assert len(note.metadata) <= len(values) + 1
    for column, value in values.items():
        key, clean = one_line(UNPRINTABLE.sub("", column)), UNPRINTABLE.sub("", value.replace("\r", "\n"))
        if clean.strip() and is_short(clean):
            assert note.metadata[key] == one_line(clean)
    wanted = one_line(UNPRINTABLE.sub("", title.replace("\r", "\n")))
    if wanted:
        assert (note.title, rendered.title) == (wanted, wanted)


@needs_shared
def test_shared_files(kb: KnowledgeBase) -> None:
    report = kb.add([SHARED / "contacts.csv", SHARED / "contacts-semicolon-latin1.csv"])
    assert (report.new, report.skipped) == (4, [])
    assert list(titles(kb).values()) == ["Ada Abara", "O'Dowd, Lin", "1984", "Jürgen Groß"]
    assert facts(kb) >= {
        ("Ada Abara", "company", "Kestrel Labs"),
        ("O'Dowd, Lin", "notes", '=HYPERLINK("javascript:alert(1)")'),
        ("1984", "e_mail", "null"),
        ("1984", "column_5", "extra"),
        ("Jürgen Groß", "firma", "Müller & Söhne"),
        ("Jürgen Groß", "umsatz", "1.234,50"),
    }
    assert kb.check() == []


@needs_shared
def test_shared_cases(kb: KnowledgeBase) -> None:
    names = {path.name: path for path in CASES.glob("1[23]*/*.csv")}
    report = kb.add([names["nul.csv"], names["u16le.csv"], names["rows.csv"]])
    assert (report.new, [remark.path for remark in report.skipped]) == (3, ["u16le.csv"])
    assert ("Ana Ruiz", "repaired", "harbour clock") in facts(kb)
