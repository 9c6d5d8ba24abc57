"""Bringing one's own graph: tables, JSON lines and nodes as documents whose rows are their evidence."""

from __future__ import annotations

import csv
import io
import json
import shlex
import sqlite3
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import Run, Vault

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.share.imports.options import ImportOptions
from llm_graphrag.share.imports.run import GraphImport
from llm_graphrag.store import history

METAQA = Path(__file__).parents[2] / "shared" / "data" / "qa" / "metaqa" / "kb.tsv"


def bring(kb: KnowledgeBase, *paths: Path, **options: object) -> GraphImport:
    done = kb.import_graph(paths, ImportOptions(**options))  # type: ignore[arg-type]
    assert kb.check() == []
    return done


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return path


def triples(kb: KnowledgeBase) -> set[tuple[str, ...]]:
    rows = kb.connection.execute(
        "SELECT head, head_type, relation, tail, tail_type FROM kg_facts WHERE kind = 'triple'"
    )
    return {tuple(row) for row in rows}


def attributes(kb: KnowledgeBase) -> set[tuple[str, ...]]:
    return {
        tuple(row) for row in kb.connection.execute("SELECT head, relation, tail FROM kg_facts WHERE kind <> 'triple'")
    }


def ids(kb: KnowledgeBase) -> dict[str, list[int]]:
    tables = ("kg_entities", "kg_triples", "kg_attributes", "kg_chunks", "kg_evidence")
    return {table: [row[0] for row in kb.connection.execute(f"SELECT id FROM {table}")] for table in tables}


def test_a_table_without_header(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = written(tmp_path, "kb.tsv", 'Jack Frost\twritten by\tMichael Cooney\n"Dundee" II\thas genre\tDrama\n')
    done = bring(kb, path)
    assert (done.files, done.rows, done.statements, done.skipped) == (1, 2, 2, [])
    assert triples(kb) == {
        ("Jack Frost", "", "written_by", "Michael Cooney", ""),
        ('"Dundee" II', "", "has_genre", "Drama", ""),
    }
    [row] = kb.connection.execute("SELECT kind, entity, uri, title FROM kg_documents").fetchall()
    assert tuple(row) == ("import", None, "kb.tsv", "kb.tsv")


def test_every_row_is_its_own_evidence(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = [f"film {n},made_by,person {n % 7}" for n in range(400)]
    bring(kb, written(tmp_path, "films.csv", "head,relation,tail\n" + "\n".join(rows) + "\n"))
    found = kb.connection.execute(
        """SELECT v.quote, v.origin, c.line, c.text, v.start, h.name AS head FROM kg_evidence v
           JOIN kg_chunks c ON c.id = v.chunk JOIN kg_entities h ON h.id = v.head_entity"""
    ).fetchall()
    assert {row["quote"] for row in found} == set(rows) and {row["origin"] for row in found} == {"import"}
    for row in found:  # the line that is cited is the line of the file
        assert rows[row["line"] + row["text"].count("\n", 0, row["start"]) - 2] == row["quote"]
        assert row["quote"].startswith(row["head"] + ",")
    assert kb.connection.execute("SELECT count(*) FROM kg_chunks").fetchone()[0] < 40
    mentions = kb.connection.execute(
        """SELECT DISTINCT substr(c.text, m.start + 1, m.end - m.start) = e.name FROM kg_mentions m
           JOIN kg_chunks c ON c.id = m.chunk JOIN kg_entities e ON e.id = m.entity"""
    ).fetchall()
    assert [row[0] for row in mentions] == [1]


def test_columns(kb: KnowledgeBase, tmp_path: Path) -> None:
    text = (
        "Source;Type;Target;source_type;target_type;confidence;sentence\n"
        'Ada;wrote to;"Babbage; Charles";Person;Person;0.5;Ada wrote to him in 1842.\n'
    )
    bring(kb, written(tmp_path, "edges.csv", text))
    assert triples(kb) == {("Ada", "person", "wrote_to", "Babbage; Charles", "person")}
    [row] = kb.connection.execute("SELECT quote, confidence FROM kg_evidence").fetchall()
    assert tuple(row) == ("Ada wrote to him in 1842.", 0.5)
    [relation] = kb.schema.relations
    assert (relation.name, relation.domain, relation.range) == ("wrote_to", ("person",), ("person",))
    [version] = kb.connection.execute("SELECT actor, note FROM kg_schema_versions").fetchall()
    assert tuple(version) == (history.who(), "told from edges.csv")


def test_named_columns_and_numbers(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = written(tmp_path, "odd.csv", "when,who,what,whom\n1999,Ada,met,Ben\n")
    bring(kb, path, head="who", relation="what", tail="whom")
    assert triples(kb) == {("Ada", "", "met", "Ben", "")}
    other = written(tmp_path, "odd2.csv", "1999,Ada,saw,Cem\n")
    bring(kb, other, head="2", relation="3", tail="4")
    assert triples(kb) == {("Ada", "", "met", "Ben", ""), ("Ada", "", "saw", "Cem", "")}
    done = bring(kb, written(tmp_path, "odd3.csv", "1999,Ada,saw,Cem\n"), head="nobody")
    assert "there is no column 'nobody'" in done.skipped[0].message and done.files == 0


def test_attributes_are_values(kb: KnowledgeBase, tmp_path: Path) -> None:
    text = "kind,head,relation,tail,value\nattribute,Ada,born,1815,\n,Ada,died,,1852\ntriple,Ada,knows,Ben,\n"
    bring(kb, written(tmp_path, "facts.csv", text))
    bring(kb, written(tmp_path, "years.tsv", "Jaws\trelease year\t1975\nJaws\tdirected by\tSpielberg\n"),
          attributes=("Release Year",))  # fmt: skip
    assert attributes(kb) == {("Ada", "born", "1815"), ("Ada", "died", "1852"), ("Jaws", "release_year", "1975")}
    assert {row[3] for row in triples(kb)} == {"Ben", "Spielberg"}


def test_an_attribute_that_no_row_has_is_named(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, "years.tsv", "Jaws\trelease year\t1975\nJaws\tdirected by\tSpielberg\n")
    told = run("import", path, "--attribute", "Release Year", "--attribute", "relase years", "--attribute", "nosuch")
    assert told.stderr.split("\n") == [
        "Warning: --attribute: no row has the relation 'relase years'. There is: release_year",
        "Warning: --attribute: no row has the relation 'nosuch'. There is: directed_by, release_year", "",
    ]  # fmt: skip
    lines = written(tmp_path, "kb.jsonl", '["Jaws", "has genre", "Horror"]\n')
    told = run("import", lines, path, "--attribute", "has genre", "--attribute", "release year")
    assert told.stderr.split("\n") == [  # each is in one of them
        "Warning: years.tsv: read otherwise than before: with --attribute 'has_genre' --attribute 'release_year'; then"
        " it was with --attribute 'nosuch' --attribute 'relase_years' --attribute 'release_year'", "",
    ]  # fmt: skip


def test_json_lines(kb: KnowledgeBase, tmp_path: Path) -> None:
    lines = [
        {"subject": "Ada", "predicate": "knows", "object": "Ben", "subject_type": "person", "confidence": 0.25},
        ["Ben", "likes", "Tea"],
        {"head": "Tea", "kind": "attribute", "relation": "colour", "tail": "green\r\nor black\ud800"},
    ]
    text = "\n".join(json.dumps(line) for line in lines) + "\n{not json\n[1, 2]\n"
    done = bring(kb, written(tmp_path, "facts.jsonl", text))
    assert triples(kb) == {("Ada", "person", "knows", "Ben", ""), ("Ben", "", "likes", "Tea", "")}
    assert attributes(kb) == {("Tea", "colour", "green\nor black\ufffd")}
    [warning] = done.warnings
    assert warning.message == "1 half character without the other half (a lone surrogate); U+FFFD stands there"
    assert [(remark.line, remark.message.split(":")[0]) for remark in done.skipped] == [
        (4, "it is no JSON"),
        (5, "it is neither a JSON object nor a list of head, relation and tail"),
    ]


def test_nodes_say_what_ids_stand_for(kb: KnowledgeBase, tmp_path: Path) -> None:
    nodes = written(
        tmp_path, "people.csv",
        "id,name,type,aliases,born\np1,Ada Lovelace,Person;Writer,Countess;A. A. L.,1815\n"
        "p2,John Smith,Person,,\np3,John Smith,Person,,\n",
    )  # fmt: skip
    edges = written(tmp_path, "edges.csv", "source,type,target\np1,knows,p2\np2,knows,p3\nBen,knows,p1\n")
    bring(kb, edges, nodes=(nodes,))
    assert triples(kb) == {
        ("Ada Lovelace", "person", "knows", "John Smith", "person"),
        ("John Smith", "person", "knows", "John Smith (2)", "person"),
        ("Ben", "", "knows", "Ada Lovelace", "person"),
    }
    assert attributes(kb) == {
        ("Ada Lovelace", "id", "p1"), ("Ada Lovelace", "born", "1815"), ("Ada Lovelace", "also_a", "writer"),
        ("John Smith", "id", "p2"), ("John Smith (2)", "id", "p3"),
    }  # fmt: skip
    aliases = kb.connection.execute(
        """SELECT a.name FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity
           WHERE e.name = 'Ada Lovelace' AND a.kind = 'alias' ORDER BY 1"""
    )
    assert [row[0] for row in aliases] == ["A. A. L.", "Countess"]
    # another name for a node: the edges follow, and nothing else is touched
    before = ids(kb)
    written(tmp_path, "people.csv", nodes.read_text().replace("Ada Lovelace", "Ada King"))
    done = bring(kb, edges, nodes=(nodes,))
    assert done.files == 2 and ("Ben", "", "knows", "Ada King", "person") in triples(kb)
    assert ids(kb)["kg_chunks"] != [] and len(ids(kb)["kg_entities"]) == len(before["kg_entities"])


def test_again_changes_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = written(tmp_path, "kb.tsv", "".join(f"a{n}\tr\tb{n % 5}\n" for n in range(200)))
    bring(kb, path)
    before = list(kb.connection.iterdump())
    done = bring(kb, path)
    assert (done.files, done.unchanged) == (0, 1)
    assert list(kb.connection.iterdump()) == before


def test_a_changed_file_changes_what_changed(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = [f"a{n}\tr\tb{n % 50}" for n in range(2_000)]
    path = written(tmp_path, "kb.tsv", "\n".join(rows) + "\n")
    bring(kb, path)
    before = ids(kb)
    rows[1_000] = "new\tr\tb1"  # a1000 → b0 goes, new → b1 comes
    rows.insert(500, "another\tr\tb2")
    written(tmp_path, "kb.tsv", "\n".join(rows) + "\n")
    bring(kb, path)
    after = ids(kb)
    kept = {table: len(set(before[table]) & set(after[table])) for table in before}
    assert kept["kg_triples"] == 1_999 and len(after["kg_triples"]) == 2_001
    assert kept["kg_entities"] == len(before["kg_entities"]) - 1
    assert kept["kg_chunks"] >= len(before["kg_chunks"]) - 6
    [run] = kb.connection.execute("SELECT id FROM kg_runs ORDER BY id DESC LIMIT 1").fetchall()
    log = kb.connection.execute("SELECT head, evidence_before, evidence FROM kg_fact_log WHERE run = ?", [run[0]])
    assert sorted(map(tuple, log)) == [("a1000", 1, 0), ("another", 0, 1), ("new", 0, 1)]
    # the same as if it had been so from the beginning
    with KnowledgeBase.in_memory() as fresh:
        bring(fresh, path)
        assert triples(fresh) == triples(kb)
        chunks = "SELECT seq, start, end, line, text FROM kg_chunks ORDER BY seq"
        assert list(map(tuple, fresh.connection.execute(chunks))) == list(map(tuple, kb.connection.execute(chunks)))


def test_removing_takes_the_facts_away(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault({"Ada.md": "Ada knows [[Ben]]."})])
    before = {table: kb.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ids(kb)}
    path = written(tmp_path, "kb.csv", "head,head_type,relation,tail\nBen,person,likes,Tea\nAda,,met,Ben\n")
    bring(kb, path)
    assert ("Ben", "person", "likes", "Tea", "") in triples(kb)
    assert ("Ada", "", "links_to", "Ben", "person") in triples(kb)  # the link means the only Ben there is
    assert kb.remove(["kb.csv"]) == ["kb.csv"]
    assert kb.check() == []
    after = {table: kb.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ids(kb)}
    assert after == before and triples(kb) == {("Ada", "", "links_to", "Ben", "")}
    assert [row[0] for row in kb.connection.execute("SELECT name FROM kg_sources")] == ["vault"]


def test_a_large_file_is_removed_in_parts(kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from llm_graphrag.sources import writer

    bring(kb, written(tmp_path, "kept.tsv", "a1\tr\tb1\n"))
    bring(kb, written(tmp_path, "kb.tsv", "".join(f"a{n}\tr\tb{n % 50}\n" for n in range(2_000))))
    monkeypatch.setattr(writer, "BATCH_CHUNKS", 5)
    commits = []
    kb.connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    assert kb.remove(["kb.tsv"]) == ["kb.tsv"]
    kb.connection.set_trace_callback(None)
    assert len(commits) > 6
    assert kb.check() == [] and triples(kb) == {("a1", "", "r", "b1", "")}
    assert kb.totals()["chunks"] == 1


def test_arrival_order_does_not_matter(tmp_path: Path) -> None:
    typed = written(tmp_path, "typed.csv", "head,head_type,relation,tail,tail_type\nMars,planet,near,Venus,planet\n")
    plain = written(tmp_path, "plain.csv", "head,relation,tail\nMARS,has,Ice\nmars,is,Red\n")
    note = written(tmp_path, "Venus.md", "Venus is seen near [[Mars]].\n")
    found = []
    for order in ([typed, plain, note], [note, plain, typed], [plain, note, typed]):
        with KnowledgeBase.in_memory() as kb:
            for path in order:
                if path == note:
                    kb.add([path])
                else:
                    bring(kb, path)
            assert kb.check() == []
            rows = kb.connection.execute("SELECT name, type, origin FROM kg_entities ORDER BY 1, 2")
            mentions = kb.connection.execute(
                "SELECT e.name, e.type, count(*) FROM kg_mentions m JOIN kg_entities e ON e.id = m.entity GROUP BY 1, 2"
            )
            found.append((triples(kb), [tuple(row) for row in rows], sorted(map(tuple, mentions))))
    assert found[0] == found[1] == found[2]
    assert ("Mars", "planet", "has", "Ice", "") in found[0][0]


BAD = {
    "head,relation,tail\nA,r\n": (2, "its tail is empty"),
    "head,relation,tail\n,r,b\n": (2, "its head is empty"),
    'head,relation,tail\n"\u200b ",r,b\n': (2, "its head is empty"),
    "head,relation,tail\nA,->,b\n": (2, "its relation '->' holds no letter or digit"),
    "head,relation,tail\nA,,b\n": (2, "its relation is empty"),
    "head,relation,tail\nA,r,b,c\n": (2, "more cells than the header has"),
    "head,relation,tail,confidence\nA,r,b,high\n": (2, "its confidence 'high' is no number from 0 to 1"),
    "head,relation,tail,confidence\nA,r,b,nan\n": (2, "its confidence 'nan' is no number"),
    "kind,head,relation,tail\nfact,A,r,b\n": (2, "its kind 'fact' is none of"),
    'head,relation,tail\n"A,r,b\n': (2, "a quotation mark opens here and is never closed"),
    f"head,relation,tail\n{'A' * 2001},r,b\n": (2, "its head has 2,001 characters"),
    f"head,relation,tail\n{'A' * 4_000_001},r,b\n": (2, "field larger than field limit"),
    "head,relation,tail,head_type\nA,r,b,!!\n": (2, "its head_type '!!' holds no letter or digit"),
}


@pytest.mark.parametrize("text", BAD, ids=[reason for _, reason in BAD.values()])
def test_bad_rows_are_named_and_the_rest_is_imported(kb: KnowledgeBase, tmp_path: Path, text: str) -> None:
    fine = "triple," * text.startswith("kind") + "Fine,works,Well\n"
    done = bring(kb, written(tmp_path, "bad.csv", text + fine))
    line, reason = BAD[text]
    assert [(remark.path, remark.line) for remark in done.skipped] == [("bad.csv", line)]
    assert reason in done.skipped[0].message
    assert ("Fine", "", "works", "Well", "") in triples(kb)
    [row] = kb.connection.execute("SELECT path, reason FROM kg_skipped").fetchall()
    assert row["path"] == f"line {line}" and reason in row["reason"]


def test_the_command_says_what_was_skipped(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, "kb.csv", "head,relation,tail\nA,r,B\nA,\x1b[31mr\n")
    result = run("import", path, exit_code=3)
    assert "rows: 1 imported, 1 skipped" in result.stdout
    assert "Skipped: kb.csv:3: its tail is empty" in result.stderr
    assert "schema is now version 1: 1 type, 1 relation added" in result.stdout
    again = json.loads(run("import", path, "--json").stdout)
    assert (again["files"], again["unchanged"], again["skipped"]) == (0, 1, [])
    assert "kb.csv/line 3" in run("status").stdout
    assert run("check").stdout == "All is well.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.csv"], 1, "nowhere.csv is not there"),
        ([], 2, "say what to read"),
        (["graph.bin"], 1, "its name does not say its format; add --format"),
        (
            ["graph.graphml"],
            1,
            "graph.graphml: GraphML is written by export, not read by import. Read are CSV, TSV, JSON",
        ),
        (["graph.parquet"], 1, "graph.parquet: Parquet is written by export, not read by import"),
        (["folder"], 1, "folder is a folder; name the files in it"),
        (["neo"], 1, "neo is a folder; read it with: neo/relationships.csv --nodes neo/nodes.csv"),
        (
            ["g.nt", "--attribute", "x"],
            1,
            "--attribute is about tables and JSON lines of triples, and none is to be read",
        ),
        (["--nodes", "two.csv", "--tail", "x"], 1, "--tail is about tables and JSON lines of triples"),
        (["two.csv"], 3, "its first row has 2 cells; a triple needs three"),
        (["kb.csv", "--delimiter", "ab"], 2, "--delimiter is one character"),
        (["kb.csv", "--sidecars", "x"], 2, "--sidecars stands alone"),
        (["kb.csv", "--encoding", "klingon"], 1, "is no encoding that Python knows"),
        (["kb.csv", "--tail", "9"], 3, "there is no column '9'"),
        (["--nodes", "two.csv"], 3, "a table of nodes needs a header with a column id or name"),
    ],
)
def test_errors_are_one_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int,
                             message: str) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name in (
        "graph.bin",
        "graph.graphml",
        "graph.parquet",
        "g.nt",
        "folder/a",
        "neo/nodes.csv",
        "neo/relationships.csv",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        written(tmp_path, name, b"a,b,c\n")
    written(tmp_path, "two.csv", "Ada,Ben\n")
    written(tmp_path, "kb.csv", "A,r,B\n")
    result = run("import", *arguments, exit_code=code)
    assert message in result.stderr and "Traceback" not in result.stderr


def test_encodings_and_nul(kb: KnowledgeBase, tmp_path: Path) -> None:
    text = "head;relation;tail\nÆsir;møtte;Jötunn\n"
    for name, data in {
        "bom.csv": b"\xef\xbb\xbf" + text.encode(),
        "u16.csv": text.encode("utf-16"),
        "crlf.csv": text.replace("\n", "\r\n").encode(),
        "nul.csv": text.encode().replace(b"tail\n", b"tail\n\0").replace(b"Jo", b"\0Jo"),
    }.items():
        done = bring(kb, written(tmp_path, name, data))
        assert (done.rows, done.skipped) == (1, []), name
        assert ["1 NUL removed"] * (name == "nul.csv") == [w.message for w in done.warnings]
    assert triples(kb) == {("Æsir", "", "møtte", "Jötunn", "")}
    [evidence] = kb.connection.execute("SELECT evidence FROM kg_triples").fetchone()
    assert evidence == 4
    done = bring(kb, written(tmp_path, "cut.csv", text.encode("utf-16-le")[:-1]))
    assert done.files == 0 and "add it with --encoding utf-16-le" in done.skipped[0].message
    done = bring(kb, tmp_path / "cut.csv", encoding="utf-16-le")
    assert done.rows == 1


def test_a_large_cell(kb: KnowledgeBase, tmp_path: Path) -> None:
    value = "word " * 200_000 + "end"
    path = written(tmp_path, "large.csv", f'kind,head,relation,tail\nattribute,Ada,text,"{value}"\ntriple,Ada,r,Ben\n')
    bring(kb, path)
    assert attributes(kb) == {("Ada", "text", value)}
    assert kb.connection.execute("SELECT max(length(quote)) FROM kg_evidence").fetchone()[0] <= 2_000
    assert kb.connection.execute("SELECT max(length(text)) FROM kg_chunks").fetchone()[0] <= 8_000
    assert triples(kb) == {("Ada", "", "r", "Ben", "")}


def test_names_of_every_kind(kb: KnowledgeBase, tmp_path: Path) -> None:
    names = [
        "A → B",
        "x\x1b[31mred",
        "<b>bold</b>",
        "100%",
        "a/b\\c",
        "=1+1",
        '"quoted"',
        "N" * 500,
        "it's; a, test",
        "東京",
    ]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["head", "relation", "tail"])
    writer.writerows([name, "beside", names[place - 1]] for place, name in enumerate(names))
    done = bring(kb, written(tmp_path, "names.csv", out.getvalue()))
    assert done.rows == len(names)
    stored = {row[0] for row in kb.connection.execute("SELECT name FROM kg_entities")}
    assert stored == {name.replace("\x1b", "") for name in names}
    assert len(triples(kb)) == len(names)


def test_names_in_notes_are_found(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault({"diary.md": "Today I watched Jack Frost again."})])
    bring(kb, written(tmp_path, "kb.tsv", "Jack Frost\thas genre\tHorror\n"))
    row = kb.connection.execute(
        """SELECT d.uri FROM kg_mentions m JOIN kg_entities e ON e.id = m.entity JOIN kg_chunks c ON c.id = m.chunk
           JOIN kg_documents d ON d.id = c.document WHERE e.name = 'Jack Frost' AND m.origin = 'lexical'"""
    ).fetchall()
    assert [r[0] for r in row] == ["vault/diary.md"]


def test_works_with_no_notes(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"Film {n}\tdirected by\tDirector {n // 3}\n" for n in range(90))
    run("import", written(tmp_path, "films.tsv", rows))
    assert "films.tsv:1" in run("search", "Film 12").stdout or "Film 12" in run("search", "Film 12").stdout
    asked = json.loads(run("ask", "Who directed Film 12?", "--json").stdout)
    assert any(fact["tail"] == "Director 4" for fact in asked["facts"])
    assert "Director 4" in run("entity", "Film 12").stdout
    run("rebuild")
    assert run("check").stdout == "All is well.\n"
    status = json.loads(run("status", "--json").stdout)
    assert (status["totals"]["documents"], status["totals"]["triples"], status["stale"]) == (1, 90, [])
    (tmp_path / "films.tsv").write_text(rows + "Film 99\tdirected by\tNobody\n")
    assert json.loads(run("status", "--json").stdout)["stale"][0]["path"] == "films.tsv"


def test_an_interrupted_import_is_told_and_goes_on(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llm_graphrag.share.imports import writing

    path = written(tmp_path, "kb.tsv", "".join(f"a{n}\tr\tb{n % 5}\n" for n in range(3_000)))
    monkeypatch.setattr(writing, "BATCH", 1_000)
    seen = []

    def stop(stage: str, done: int, total: int) -> None:
        seen.append(stage)
        if seen.count("rows") == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kb.import_graph([path], ImportOptions(), stop)
    assert any("import of kb.tsv was interrupted" in problem.message for problem in kb.check())
    stored = kb.connection.execute("SELECT count(*) FROM kg_triples").fetchone()[0]
    assert 0 < stored < 3_000
    bring(kb, path)
    assert len(triples(kb)) == 3_000


def test_extraction_reads_no_rows(kb: KnowledgeBase, tmp_path: Path) -> None:
    from llm_graphrag.store.extractions import pending

    bring(kb, written(tmp_path, "kb.tsv", "a\tr\tb\n"))
    assert pending(kb.connection) == []


def test_no_schema(kb: KnowledgeBase, tmp_path: Path) -> None:
    done = bring(kb, written(tmp_path, "kb.tsv", "a\tr\tb\n"), schema=False)
    assert done.schema is None and kb.connection.execute("SELECT count(*) FROM kg_schema_versions").fetchone()[0] == 0


def test_a_schema_is_added_to_and_widened_never_changed(kb: KnowledgeBase, tmp_path: Path) -> None:
    from llm_graphrag.facts.template import load_template

    template = load_template("general")
    kb.use_schema(template, "me")
    own = template.relations[0]
    text = f"head,head_type,relation,tail,tail_type\nA,robot,{own.name},B,robot\nA,robot,charges,B,robot\n"
    done = bring(kb, written(tmp_path, "one.csv", text))
    assert done.schema is not None
    assert done.schema.added == {"entity_type": ["robot"], "relation": ["charges"], "attribute": []}
    assert kb.schema.resolve_relation(own.name) == own
    bring(kb, written(tmp_path, "two.csv", "head,head_type,relation,tail,tail_type\nC,person,charges,B,robot\n"))
    charges = kb.schema.resolve_relation("charges")
    assert charges is not None and (charges.domain, charges.range) == (("robot", "person"), ("robot",))
    assert bring(kb, written(tmp_path, "three.csv", text.replace("A,", "D,"))).schema is None


def test_more_types_than_a_schema_holds(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = "".join(f"a{n},rel {n},b\n" for n in range(130))
    done = bring(kb, written(tmp_path, "many.csv", "head,relation,tail\n" + rows))
    assert done.schema is not None
    assert len(done.schema.added["relation"]) == 100 and len(done.schema.left_out) == 30
    assert len(triples(kb)) == 130


def test_rows_of_a_file_have_no_names_looked_for(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    bring(kb, written(tmp_path, "kb.csv", "kind,head,relation,tail\nattribute,Ada,said,Ben was there\n"))
    kb.add([vault({"Ben.md": "about Ben"})])
    assert kb.check() == []
    origins = Counter(row[0] for row in kb.connection.execute("SELECT origin FROM kg_mentions"))
    assert origins["import"] == 1
    document = kb.connection.execute(
        "SELECT d.kind FROM kg_mentions m JOIN kg_chunks c ON c.id = m.chunk JOIN kg_documents d ON d.id = c.document"
        " WHERE m.origin = 'lexical'"
    )
    assert {row[0] for row in document} <= {"note"}


def test_merges_hold_for_imported_names(kb: KnowledgeBase, tmp_path: Path) -> None:
    from llm_graphrag.review import merges

    path = written(tmp_path, "kb.csv", "head,relation,tail\nA. Lovelace,wrote,Notes\nAda Lovelace,met,Babbage\n")
    bring(kb, path)
    merges.merge(kb.connection, kb.settings, "Ada Lovelace", "A. Lovelace", actor="me")
    assert ("Ada Lovelace", "", "wrote", "Notes", "") in triples(kb)
    written(tmp_path, "kb.csv", path.read_text() + "A. Lovelace,liked,Whist\n")
    bring(kb, path)
    assert ("Ada Lovelace", "", "liked", "Whist", "") in triples(kb)


@pytest.mark.skipif(not METAQA.exists(), reason="needs ../shared/data")
def test_metaqa_beginning(kb: KnowledgeBase, tmp_path: Path) -> None:
    lines = METAQA.read_text("utf-8").split("\n")[:3_000]
    bring(kb, written(tmp_path, "kb.tsv", "\n".join(lines) + "\n"))
    rows = {tuple(line.split("\t")) for line in lines}
    assert len(triples(kb)) == len({(h.lower(), r, t.lower()) for h, r, t in rows})
    assert ("Jack Frost", "", "starred_actors", "Scott MacDonald", "") in triples(kb)


def test_published_readers_need_no_import_code(tmp_path: Path) -> None:
    """A file with an imported graph is opened by plain sqlite3."""
    path = tmp_path / "kb.db"
    with KnowledgeBase.open(path, create=True) as kb:
        bring(kb, written(tmp_path, "kb.tsv", "a\tr\tb\n"))
    rows = sqlite3.connect(path).execute("SELECT head, relation, tail, quote, uri FROM kg_facts").fetchall()
    assert rows == [("a", "r", "b", "a\tr\tb", "kb.tsv")]


def test_names_that_differ_in_case_are_different_things(tmp_path: Path) -> None:
    rows = "SubUrbia\ttag\trobots\nSubUrbia\tyear\t1996\nSuburbia\ttag\tpunk\nRobots\ttag\trobots\nRobots\tyear\t2005\n"
    (tmp_path / "kb.tsv").write_text(rows, encoding="utf-8")

    def facts(path: Path, options: ImportOptions) -> tuple[set[tuple[str, str, str]], GraphImport]:
        with KnowledgeBase.open(path, create=True) as kb:
            kb.set(embedding_model="")
            done = kb.import_graph([tmp_path / "kb.tsv"], options)
            assert kb.check() == []
            again = kb.import_graph([tmp_path / "kb.tsv"], options)
            assert (again.files, again.unchanged) == (0, 1)
            found = {
                tuple(row)
                for row in kb.connection.execute(
                    """SELECT h.name, t.relation, e.name FROM kg_triples t JOIN kg_entities h ON h.id = t.head
                       JOIN kg_entities e ON e.id = t.tail"""
                )
            }
            if not options.join_spellings:
                assert [end.node.name for end in kb.follow("Suburbia", "tag").ends] == ["punk"]
                assert [end.node.name for end in kb.follow("SubUrbia", "tag").ends] == ["robots (2)"]
                assert [end.node.name for end in kb.follow("robots", "^tag").ends] == ["Robots", "SubUrbia"]
                before = kb.connection.execute("SELECT count(*) FROM kg_entities").fetchone()
                kb.rebuild()
                assert kb.check() == []
                assert kb.connection.execute("SELECT count(*) FROM kg_entities").fetchone() == before
            return found, done

    apart, done = facts(tmp_path / "apart.db", ImportOptions(header=False))
    assert apart == {
        ("SubUrbia", "tag", "robots (2)"), ("SubUrbia", "year", "1996"), ("Suburbia (2)", "tag", "punk"),
        ("Robots", "tag", "robots (2)"), ("Robots", "year", "2005"),
    }  # fmt: skip
    assert len(done.warnings) == 2
    joined, done = facts(tmp_path / "joined.db", ImportOptions(header=False, join_spellings=True))
    assert len({name for head, _, tail in joined for name in (head, tail)}) == 5
    assert done.warnings == []


def test_search_gives_the_line_of_the_row_that_it_shows(tmp_path: Path) -> None:
    rows = [f"Leaf {n}\tlikes\tLeaf {n + 1}" for n in range(40)]
    (tmp_path / "hub.tsv").write_text("head\trelation\ttail\n" + "\n".join(rows) + "\n", encoding="utf-8")
    with KnowledgeBase.open(tmp_path / "hub.db", create=True) as kb:
        kb.set(embedding_model="")
        kb.import_graph([tmp_path / "hub.tsv"], ImportOptions())
        hit = kb.search("which leaf does leaf 17 like", k=1)[0]
        shown = "".join(text for text, _ in hit.snippet)
        lines = (tmp_path / "hub.tsv").read_text("utf-8").split("\n")
        assert " ".join(lines[hit.line - 1].split()) == shown.strip("… ")
        (citation,) = kb.ask("which leaf does leaf 17 like", k=1).citations
        assert (citation.line, citation.quote) == (hit.line, lines[hit.line - 1])


def columns_said(text: str, name: str = "t.csv", **options: object) -> tuple[set[tuple[str, str, str]], list[str]]:
    """The triples of a table, by name, and what was said of how it was read."""
    with KnowledgeBase.in_memory() as kb, TemporaryDirectory() as folder:
        done = bring(kb, written(Path(folder), name, text), schema=False, **options)
        facts = {(head, relation, tail) for head, _, relation, tail, _ in triples(kb)}
        return facts, [remark.message for remark in (*done.skipped, *done.warnings)]


FILMS = "Hamlet,directed by,Olivier\nJaws,directed by,Spielberg\n"
READ = {("Hamlet", "directed_by", "Olivier"), ("Jaws", "directed_by", "Spielberg")}
BY_NAME = "its first row was read as names of columns: film is the head, link the relation, who the tail"


def test_a_header_of_unknown_names_is_told_from_the_rows() -> None:
    for name, text in (("t.csv", f"film,link,who\n{FILMS}"), ("t.tsv", f"film,link,who\n{FILMS}".replace(",", "\t"))):
        assert columns_said(text, name) == (READ, [f"{BY_NAME} (--no-header: it is a triple)"])
    facts, said = columns_said(f"film,link,who\n{FILMS}", header=False)
    assert facts == READ | {("film", "link", "who")} and said == []
    many = "".join(f"Film {n},made in,{1900 + n}\n" for n in range(20))
    facts, said = columns_said(f"Film,Link,Year\n{many}")
    assert len(facts) == 20 and said == [
        "its first row was read as names of columns: Film is the head, Link the relation, Year the tail"
        " (--no-header: it is a triple)"
    ]
    facts, said = columns_said(f"film,link,who,year\n{FILMS}".replace("vier", "vier,1948"))
    assert facts == READ and said[1] == "columns that are not read: year" and said[0].startswith(BY_NAME)
    facts, said = columns_said("when,film,link,who\n" + FILMS.replace("Ha", "1,Ha").replace("Ja", "2,Ja"),
                               head="2", relation="3", tail="4")  # fmt: skip
    assert facts == READ and said[0].startswith(BY_NAME)


def test_a_first_row_that_is_a_triple_is_read_without_a_word() -> None:
    for first in ("Duel,directed by,Spielberg", "Jaws,has genre,Drama", "Solaris,seen by,Olivier", "9 to 5,is,fun"):
        facts, said = columns_said(f"{first}\n{FILMS}")
        assert len(facts) == 3 and said == [], first


def test_a_first_row_that_may_be_either_is_told() -> None:
    facts, said = columns_said("tea,goes with,milk\ncat,likes,fish\n")
    assert facts == {("tea", "goes_with", "milk"), ("cat", "likes", "fish")}
    assert said == ["its first row was read as a triple, tea —goes with→ milk. If it names the columns: --header"]
    facts, said = columns_said("tea,goes with,milk\ncat,likes,fish\n", header=True)
    assert facts == {("cat", "likes", "fish")}
    assert said == [
        "columns were read so: tea as the head, goes with as the relation, milk as the tail."
        " If that is wrong: --head, --relation, --tail COLUMN"
    ]
    facts, said = columns_said("a,r,b,0.5\nc,r,b,0.7\n")
    assert facts == {("a", "r", "b"), ("c", "r", "b")}
    assert said == [
        "its rows have 4 columns, of which the first three were read: a —r→ b."
        " If that is wrong: --head, --relation, --tail NUMBER, or --header"
    ]


def test_a_header_that_is_known_in_part() -> None:
    facts, said = columns_said(f"source,link,target\n{FILMS}")
    assert facts == READ and said[0].startswith("columns were read so: link as the relation.")
    assert columns_said(f"source,link,target,year\n{FILMS}") == (
        set(),
        ["which column is the relation? Name it: --relation COLUMN. The columns are: source, link, target, year"],
    )


@pytest.mark.parametrize("text", ["id,name,type\nm1,Hamlet,film\n", "id,label\nm1,Hamlet\n",
                                  "name,born,aliases,type\nAda,1815,,person\n"])  # fmt: skip
def test_a_table_of_nodes_is_not_read_as_triples(text: str) -> None:
    facts, [said] = columns_said(text)
    assert facts == set() and said.startswith("it looks like a table of nodes, with the columns ")
    assert "read it with --nodes FILE" in said


@pytest.mark.skipif(not METAQA.exists(), reason="needs ../shared/data")
@pytest.mark.parametrize("path", sorted(METAQA.parents[1].glob("*/*kb.tsv")), ids=lambda path: path.name)
def test_tables_without_header_are_read_without_a_word(path: Path) -> None:
    text = "".join(path.read_text("utf-8").splitlines(keepends=True)[:300])
    assert [message for message in columns_said(text, "kb.tsv")[1] if "written otherwise" not in message] == []


def test_a_private_file_stays_private_until_told_otherwise(run: Run, tmp_path: Path) -> None:
    path, nodes = written(tmp_path, "p.csv", "Ann,knows,Bob\n"), written(tmp_path, "n.csv", "id,name\n1,Ann\n")

    def private() -> set[int]:
        with KnowledgeBase.open(tmp_path / "user" / "graphrag.db") as kb:
            return {row[0] for row in kb.connection.execute("SELECT private FROM kg_documents")}

    def exported() -> str:
        run("export", tmp_path / "out.csv", "--without-private", "--overwrite")
        return (tmp_path / "out.csv").read_text("utf-8")

    run("import", path, "--nodes", nodes, "--private")
    run("import", path, "--nodes", nodes)
    assert private() == {1} and "Ann" not in exported()
    path.write_text("Ann,knows,Cleo\n")
    run("import", path, "--nodes", nodes)
    assert private() == {1} and "Ann" not in exported()
    assert "0 read, 2 unchanged" in run("import", path, "--nodes", nodes, "--not-private").stdout
    assert private() == {0} and "Ann" in exported()
    assert "0 read, 2 unchanged" in run("import", path, "--nodes", nodes, "--private").stdout
    assert private() == {1} and "Ann" not in exported()


def test_a_file_is_read_as_before_without_options(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "Ann;age;5\nAnn;knows;Ben\n")
    bring(kb, path, attributes=("age",), header=False, delimiter=";")
    before = ids(kb)
    assert (bring(kb, path).unchanged, ids(kb)) == (1, before)
    path.write_text("Ann;age;6\nAnn;knows;Ben\n")
    done = bring(kb, path)
    assert (done.files, done.warnings, attributes(kb)) == (1, [], {("Ann", "age", "6")})
    done = bring(kb, path, delimiter=";")
    assert [remark.message for remark in done.warnings if "otherwise" in remark.message] == [
        "read otherwise than before: with --delimiter ';'; then it was with --attribute 'age'"
        " --delimiter ';' --no-header"
    ]
    assert triples(kb) == {("Ann", "", "age", "6", ""), ("Ann", "", "knows", "Ben", "")}
    assert bring(kb, path).unchanged == 1
    assert bring(kb, path, delimiter=";", header=True).files == 1 and len(triples(kb)) == 1  # --header was once ignored


def test_a_file_keeps_its_tables_of_nodes(kb: KnowledgeBase, tmp_path: Path) -> None:
    people = written(tmp_path, "people.csv", "id|name\n1|Ann\n3|Ben\n")
    places = written(tmp_path, "places.csv", "id|name\n1|Rome\n3|Oslo\n")
    edges, roads = written(tmp_path, "e.csv", "1|knows|3\n"), written(tmp_path, "r.csv", "1|leads to|3\n")
    bring(kb, edges, nodes=(people,), delimiter="|")
    bring(kb, roads, nodes=(places,), delimiter="|")
    facts = {("Ann", "", "knows", "Ben", ""), ("Rome", "", "leads_to", "Oslo", "")}
    assert triples(kb) == facts
    before = ids(kb)
    done = bring(kb, edges, roads)
    assert (done.files, done.unchanged, done.warnings, triples(kb), ids(kb)) == (0, 4, [], facts, before)
    people.write_text("id|name\n1|Ann\n3|Cleo\n")
    edges.write_text("3|likes|1\n")
    assert bring(kb, edges).files == 2
    assert triples(kb) == {("Cleo", "", "likes", "Ann", ""), ("Rome", "", "leads_to", "Oslo", "")}
    people.write_text("id|name\n1|Anna\n3|Cleo\n")
    done = bring(kb, people)  # still a table of nodes
    assert [remark.message for remark in done.warnings] == ["its ids also stand in e.csv: import that again too"]
    assert ("Anna", "id", "1") in attributes(kb)
    assert bring(kb, edges).warnings == [] and ("Cleo", "", "likes", "Anna", "") in triples(kb)


def test_a_file_whose_table_of_nodes_is_gone_is_left(kb: KnowledgeBase, tmp_path: Path) -> None:
    nodes, edges = written(tmp_path, "n.csv", "id,name\n1,Ann\n3,Ben\n"), written(tmp_path, "e.csv", "1,knows,3\n")
    bring(kb, edges, nodes=(nodes,))
    kb.remove(["n.csv"])
    message = (
        "left as it is: it was read with the nodes of n.csv, which is not here any more. Name the table with"
        " --nodes FILE, or have it read without: --format csv"
    )
    done = bring(kb, edges)
    assert [remark.message for remark in done.warnings] == [message] and (done.unchanged, done.skipped) == (1, [])
    edges.write_text("1,knows,3\n1,likes,3\n")
    done = bring(kb, edges)
    assert [remark.message for remark in done.skipped] == [message] and triples(kb) == {("Ann", "", "knows", "Ben", "")}
    bring(kb, edges, private=True)
    assert kb.connection.execute("SELECT private FROM kg_documents").fetchone()[0] == 1  # though it is not read
    bring(kb, edges, nodes=(nodes,))
    assert triples(kb) == {("Ann", "", "knows", "Ben", ""), ("Ann", "", "likes", "Ben", "")}
    assert [remark.message for remark in bring(kb, edges, format="csv").warnings][-1] == (
        "read otherwise than before: with --format 'csv'; then it was with --nodes 'n.csv'"
    )
    assert triples(kb) == {("1", "", "knows", "3", ""), ("1", "", "likes", "3", "")}


@pytest.mark.parametrize("ending", ["jsonl", "nt"])
def test_letters_that_are_escapes_in_the_file_are_found_and_quoted(run: Run, tmp_path: Path, ending: str) -> None:
    rows = [("Zürich", "lies in", "日本"), ("Emoji 😀", "says", "tab\there"), ('"Jo" \\u00fc', "knows", "Zürich")]
    if ending == "jsonl":
        written_rows = [json.dumps(dict(zip(("head", "relation", "tail"), row, strict=True))) for row in rows]
    else:
        names = ["Zürich", "日本", "😀"]
        label = "<http://www.w3.org/2000/01/rdf-schema#label>"
        written_rows = [f"<urn:x:{n}> {label} {json.dumps(name)} ." for n, name in enumerate(names)]
        written_rows[2] = written_rows[2].replace(r"\ud83d\ude00", r"\U0001F600")
    assert all(row.isascii() and "\\" in row for row in written_rows)
    run("import", written(tmp_path, f"g.{ending}", "\n".join(written_rows) + "\n"))
    assert "日本" in run("search", "日本").stdout
    assert "Mentioned in 0 passages" not in run("entity", "Zürich").stdout
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db") as kb:
        quotes = [row[0] for row in kb.connection.execute("SELECT DISTINCT quote FROM kg_evidence ORDER BY start")]
        mentioned = {row[0] for row in kb.connection.execute("SELECT key FROM kg_mentions")}
        assert kb.check() == []
    if ending == "jsonl":
        assert [json.loads(quote) for quote in quotes] == [json.loads(row) for row in written_rows]
        assert quotes[0] == '{"head": "Zürich", "relation": "lies in", "tail": "日本"}'
        assert {"zürich", "日本", "emoji 😀"} <= mentioned
    else:
        assert quotes[0] == f'<urn:x:0> {label} "Zürich" .' and quotes[2] == f'<urn:x:2> {label} "😀" .'


def test_a_column_of_nodes_that_cannot_be_an_attribute_is_left_out(kb: KnowledgeBase, tmp_path: Path) -> None:
    done = bring(kb, nodes=(written(tmp_path, "n.csv", "id,name,%,#,🎉,age\n1,Ann,5,6,7,8\n2,Ben,5,6,7,9\n"),))
    assert (done.rows, done.skipped) == (2, [])
    assert [remark.message for remark in done.warnings] == [
        "columns that are not read, since no attribute can be called so: '%', '#', '🎉'"
    ]
    assert attributes(kb) == {("Ann", "id", "1"), ("Ann", "age", "8"), ("Ben", "id", "2"), ("Ben", "age", "9")}


def test_columns_of_nodes_that_are_one_attribute_keep_all_values(kb: KnowledgeBase, tmp_path: Path) -> None:
    table = "id,name,First Name,first-name,tag,tag\n1,Ann,Anna,Annie,a,b\n"
    bring(kb, nodes=(written(tmp_path, "n.csv", table),))
    assert attributes(kb) == {
        ("Ann", "id", "1"), ("Ann", "first_name", "Anna"), ("Ann", "first_name", "Annie"), ("Ann", "tag", "a"),
        ("Ann", "tag", "b"),
    }  # fmt: skip


def test_nodes_of_one_id_are_told(kb: KnowledgeBase, tmp_path: Path) -> None:
    done = bring(kb, nodes=(written(tmp_path, "n.csv", "id,name\n1,Ann\n2,Cleo\n1,Bob\n2,Cleo\n"),))
    assert [(remark.line, remark.message) for remark in done.warnings] == [
        (4, "the id '1' is that of 'Ann' in line 2 and of 'Bob' in line 4; read as one, 'Ann'")
    ]


def test_nodes_as_json_lines(kb: KnowledgeBase, tmp_path: Path) -> None:
    nodes = [
        json.dumps({"id": 1, "name": "Jürgen", "type": ["Person", "Artist"], "aliases": ["J; K"], "age": 40, "%": 1}),
        json.dumps({"id": "b", "label": "Zürich"}), "no JSON", '{"age": 3}',
    ]  # fmt: skip
    done = bring(
        kb, written(tmp_path, "e.csv", "1,lives in,b\n"), nodes=(written(tmp_path, "n.jsonl", "\n".join(nodes)),)
    )
    assert triples(kb) == {("Jürgen", "person", "lives_in", "Zürich", "")}
    assert attributes(kb) == {
        ("Jürgen", "id", "1"), ("Jürgen", "also_a", "artist"), ("Jürgen", "age", "40"), ("Zürich", "id", "b"),
    }  # fmt: skip
    assert {row[0] for row in kb.connection.execute("SELECT name FROM kg_aliases")} >= {"J; K"}
    assert [remark.line for remark in done.skipped] == [3, 4]


def test_status_says_how_an_imported_file_is_brought_up_to_date(run: Run, tmp_path: Path, vault: Vault) -> None:
    changed, gone = written(tmp_path, "it's.csv", "Ann,knows,Ben\n"), written(tmp_path, "gone.csv", "Ann,knows,Cleo\n")
    run("import", changed, gone)
    changed.write_text("Ann,knows,Dora\n")
    gone.unlink()
    notes = vault({"a.md": "Ann."})
    run("add", notes)
    said = run("status").stdout.split("\n")
    command = f"llm graphrag import {shlex.quote(str(changed))}"
    assert sorted(said[-3:]) == [
        "", f"Bring it up to date with: {command}", "Take away what it states with: llm graphrag remove gone.csv",
    ]  # fmt: skip
    assert not any("add FOLDER" in line for line in said)
    (notes / "a.md").write_text("Ann, again.")
    assert "Bring it up to date with: llm graphrag add FOLDER --prune" in run("status").stdout
    run(*shlex.split(command)[2:])
    run("remove", "gone.csv")
    run("add", notes)
    assert "Stale" not in run("status").stdout


def test_edges_of_gephi_are_called_by_their_label(kb: KnowledgeBase, tmp_path: Path) -> None:
    head = "Source,Target,Type,Id,Label,Weight\n"
    rows = "Ann,Ben,Directed,0,likes,1.0\nBen,Cleo,Undirected,1,knows,2.0\n"
    bring(kb, written(tmp_path, "labels.csv", head + rows), written(tmp_path, "none.csv", head + "a,b,Directed,0,,1\n"))
    bring(kb, written(tmp_path, "said.csv", head.replace("Id", "Nr") + rows.replace("Ann", "Dora")), header=True)
    bring(kb, written(tmp_path, "types.csv", "source,target,type,label\nEd,Flo,married to,x\n"))
    assert triples(kb) == {
        ("Ann", "", "likes", "Ben", ""), ("Ben", "", "knows", "Cleo", ""), ("a", "", "directed", "b", ""),
        ("Dora", "", "likes", "Ben", ""), ("Ed", "", "married_to", "Flo", ""),
    }  # fmt: skip


def test_json_that_is_called_a_table_is_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = written(tmp_path, "j.csv", '{"head":"Ann","relation":"knows","tail":"Ben"}\n')
    done = bring(kb, path)
    assert [remark.message for remark in done.skipped] == [
        "its first row is JSON, so it is no table; read it with --format jsonl"
    ]
    bring(kb, path, format="jsonl")
    bring(kb, written(tmp_path, "t.csv", "[1,knows,2\n{a},knows,b\n"))  # a table
    assert {head for head, *_ in triples(kb)} == {"Ann", "[1", "{a}"}


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;", "sep=;;;"])
def test_a_first_line_for_excel_names_the_separator(kb: KnowledgeBase, tmp_path: Path, first: str) -> None:
    nodes = written(tmp_path, "n.csv", f"{first}\nid;name\n1;Ann, Lady\n")
    done = bring(kb, written(tmp_path, "e.csv", f"{first}\nhead;relation;tail\n1;knows;Ben, Sir\n"), nodes=(nodes,))
    assert (done.skipped, triples(kb)) == ([], {("Ann, Lady", "", "knows", "Ben, Sir", "")})
    assert kb.connection.execute("SELECT line FROM kg_chunks").fetchall()[0][0] == 1
    kb.add([written(tmp_path, "rows.csv", f"{first}\nid;name\n7;Cleo, Dame\n")])
    row = kb.connection.execute("SELECT json_extract(metadata, '$.line') FROM kg_documents WHERE path = '7'").fetchone()
    assert row[0] == 3


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.nt", "hello\n", "it is no triple: its subject is not an IRI in <> or a blank node: hello"),
        ("a.nt", '<urn:a> <urn:b> "x\n', "it is no triple: its object is not an IRI in <>, a blank node or a literal in"
         ' quotation marks: "x'),
        ("a.nt", '<a> <urn:b> "\\t" .\n', "it is no triple: an IRI in it is not a full one, or an escape is none"),
        ("a.nt", "<urn:a> <urn:b> <urn:c>\n", "it is no triple: the full stop at its end is missing"),
        ("a.ttl", "<urn:a> <urn:b>", "it is no Turtle: it ends within a statement"),
        ("a.ttl", "\n<urn:a> <urn:b> ex:d .", 'it is no Turtle: Prefix "ex:" not bound, line 2, at ex:d .'),
        ("a.csv", "one\ntwo\n", "its first row has 1 cell; a triple needs three: head, relation, tail. If another sign"
         " separates them: --delimiter SIGN"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_plainly(kb: KnowledgeBase, tmp_path: Path, name: str, text: str, message: str) -> None:
    if not name.endswith(".csv"):
        pytest.importorskip("rdflib")
    assert [remark.message for remark in bring(kb, written(tmp_path, name, text)).skipped] == [message]
