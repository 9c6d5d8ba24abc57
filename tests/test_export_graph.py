"""The graph as files: the same graph gives the same file, and what import reads is what export wrote."""

from __future__ import annotations

import csv
import json
import os
import stat
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, Vault
from graph_equality import Fresh, graph_of
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.share.exports.formats import ExportError
from llm_graphrag.share.exports.graph import Graph
from llm_graphrag.share.facts_table import HEADER, escaped, unescaped
from llm_graphrag.share.imports.options import ImportOptions
from llm_graphrag.text.normalise import name_key

fresh = Fresh()
SUFFIX = {"csv": ".csv", "jsonl": ".jsonl", "ntriples": ".nt", "turtle": ".ttl"}
FOAM = Path(__file__).parents[2] / "shared" / "data" / "foam-docs"

HOSTILE = [
    "=cmd|'/c calc'!A1", "'=1", "@SUM(A1)", "-5", "- five", "+1", "a → b", "a -> b", 'say "hi"', '"', "it's", "a;b|c,d",
    "tab\there", "two\nlines", "<b>bold</b>", "100%", "%41", "a/b\\c", "\x1b[31mred", "\u202eright", "N" * 500,
    "東京 (都)", "ß", "SS", "İ", "ﬁ", "Müller", "null", "None", "1.50", "C#", "_:b0", "http://example.org/a b",
    "urn:llm-graphrag:x", "{\"a\": 1}", "[x]", "Ada", "ada", "ADA.", "#x", "…", "é", "e\u0301",
]  # fmt: skip
names = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=12)).filter(lambda n: bool(name_key(n)))
values = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=20))
types = st.sampled_from(["", "", "person", "place", "東京", "a_b"])
relations = st.sampled_from(["knows", "works at", "iri", "name", "same_as", "also_a", "type", "関係", "has_part"])
rows = st.lists(
    st.one_of(
        st.builds(lambda h, ht, r, t, tt, c: {"kind": "triple", "head": h, "head_type": ht, "relation": r, "tail": t,
                                               "tail_type": tt, "confidence": c},
                  names, types, relations, names, types, st.sampled_from([1, 0.5, 0.123456789])),
        st.builds(lambda h, ht, r, v: {"kind": "attribute", "head": h, "head_type": ht, "relation": r, "tail": v},
                  names, types, relations, values),
        st.builds(lambda h, ht, a: {"kind": "alias", "head": h, "head_type": ht, "tail": a}, names, types, names),
        st.builds(lambda h, ht: {"kind": "entity", "head": h, "head_type": ht}, names, types),
    ),
    min_size=1, max_size=12,
)  # fmt: skip


def bring(kb: KnowledgeBase, path: Path) -> list[Any]:
    done = kb.import_graph([path], ImportOptions(schema=False))
    assert kb.check() == []
    return done.skipped


def exported(kb: KnowledgeBase, out: Path, **options: Any) -> Path:
    kb.export_graph(out, overwrite=True, **options)
    return out


def round_trip(kb: KnowledgeBase, folder: Path, format: str) -> None:
    out = exported(kb, folder / f"out{SUFFIX[format]}")
    with fresh() as other:
        assert bring(other, out) == []
        expected, found = graph_of(kb), graph_of(other)
        assert found == expected
        again = exported(other, folder / f"again{SUFFIX[format]}")
        if format != "csv":  # a CSV quotes itself where it cannot quote the quote
            texts = [_without_places(path, format) for path in (out, again)]
            assert texts[0] == texts[1]


def _without_places(path: Path, format: str) -> Any:
    """What an export says, but for quotes and counts, which are of the other file."""
    if format != "jsonl":
        return path.read_bytes()
    keep = ("kind", "head", "head_type", "relation", "tail", "tail_type", "language", "datatype", "confidence")
    return [[json.loads(line).get(name) for name in keep] for line in path.read_text("utf-8").split("\n") if line]


@pytest.mark.parametrize("format", SUFFIX)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows)
@example(rows=[{"kind": "triple", "head": name, "relation": "knows", "tail": HOSTILE[place - 1], "head_type": "person"}
               for place, name in enumerate(HOSTILE)])  # fmt: skip
@example(rows=[{"kind": "attribute", "head": "Ada", "relation": "said", "tail": value} for value in HOSTILE])
@example(rows=[{"kind": "attribute", "head": "Ada", "head_type": "person", "relation": "also_a", "tail": "artist"},
               {"kind": "attribute", "head": "Ben", "relation": "also_a", "tail": "Not One"},
               {"kind": "attribute", "head": "Ada", "head_type": "person", "relation": "iri", "tail": "http://e.org/a"},
               {"kind": "attribute", "head": "Ben", "relation": "iri", "tail": "http://e.org/a"}])  # fmt: skip
def test_round_trip(tmp_path: Path, format: str, rows: list[dict[str, Any]]) -> None:
    if format in ("ntriples", "turtle"):
        pytest.importorskip("rdflib")
    source = tmp_path / "source.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with fresh() as kb:
        bring(kb, source)
        round_trip(kb, tmp_path, format)


NOTES: dict[str, str | bytes] = {
    "Ada Lovelace.md": "---\ntype: person\naliases: [Countess, A. A. L.]\nborn: 1815\n---\n"
    "She wrote to [[Babbage]]. #maths\n",
    "Babbage.md": "---\ntype: person\n---\nrival:: [[Nobody]]\n\nHe built the [[Engines/Analytical Engine|engine]].\n",
    "Engines/Analytical Engine.md": "# The Analytical Engine\n\nIt is not the [[Difference Engine]].\n",
    "a/README.md": "one [[Ada Lovelace]]",
    "b/README.md": "two [[ada lovelace]]",
    "secret.md": "---\nprivate: true\naliases: Hidden Name\n---\nThe [[Vault 7]] is [[Babbage]]'s.\n",
}


@pytest.mark.parametrize("format", SUFFIX)
def test_round_trip_of_notes(kb: KnowledgeBase, tmp_path: Path, vault: Vault, format: str) -> None:
    if format in ("ntriples", "turtle"):
        pytest.importorskip("rdflib")
    kb.add([vault(NOTES)])
    round_trip(kb, tmp_path, format)


@pytest.mark.skipif(not FOAM.exists(), reason="needs ../shared/data")
def test_round_trip_of_a_vault(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.add([FOAM])
    for format in ("csv", "jsonl"):
        out = exported(kb, tmp_path / f"out.{format}")
        with fresh() as other:
            assert bring(other, out) == []
            assert graph_of(other) == graph_of(kb)


def test_rdf_comes_back_with_its_iris(kb: KnowledgeBase, tmp_path: Path) -> None:
    rdflib = pytest.importorskip("rdflib")
    from test_import_rdf import ADA

    (tmp_path / "ada.ttl").write_text(ADA, encoding="utf-8")
    bring(kb, tmp_path / "ada.ttl")
    before = rdflib.Graph().parse(tmp_path / "ada.ttl")
    after = rdflib.Graph().parse(exported(kb, tmp_path / "out.ttl"), format="turtle")
    assert set(after) == set(rdflib.Graph().parse(exported(kb, tmp_path / "out.nt"), format="nt"))
    ours = "urn:llm-graphrag:"
    missing = {
        triple for triple in before if triple not in after and not any(isinstance(t, rdflib.BNode) for t in triple)
    }
    labels = {str(o) for _, p, o in after if str(p).endswith(("#label", "#altLabel"))}
    assert all(str(p).endswith("#label") and str(o) in labels for _, p, o in missing)  # labels lose their language
    assert all(str(s).startswith(("http://example.org/", "http://dbpedia.org/", ours)) for s in after.subjects())


def test_the_same_graph_gives_the_same_file(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    root = vault(NOTES)
    kb.add([root])
    with fresh() as other:
        for name in sorted(NOTES, reverse=True):
            other.add([root / name])
        other.add([root])
        for format in ("csv", "jsonl", "graphml", "ntriples", "turtle"):
            first = exported(kb, tmp_path / "first", format=format).read_bytes()
            assert first == exported(other, tmp_path / "second", format=format).read_bytes(), format


@given(st.text(max_size=8))
@example("'=")
def test_escaping_is_undone(cell: str) -> None:
    assert unescaped(escaped(cell)) == cell
    assert not escaped(cell).startswith(("=", "@", "\t", "\r"))


def test_csv_holds_no_formulas(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = [{"head": name, "relation": "knows", "tail": "Ada"} for name in HOSTILE]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    bring(kb, tmp_path / "in.jsonl")
    with exported(kb, tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert [cell for cell in cells if cell[:1] in ("=", "@", "+", "-", "\t", "\r")] == ["+1", "-5"] * 2
    # of another's table, an apostrophe is an apostrophe
    (tmp_path / "other.csv").write_text("head,relation,tail\n'=x,is,'tis\n", encoding="utf-8")
    with fresh() as other:
        bring(other, tmp_path / "other.csv")
        assert {row[0] for row in other.connection.execute("SELECT name FROM kg_entities")} == {"'=x", "'tis"}


def test_evidence_counts_quotes_and_places(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault({"a.md": "Ana met [[Ben]] in spring.", "b.md": "One [[a]]. Two [[a]]."})])
    lines = [json.loads(line) for line in exported(kb, tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    triples = [line for line in lines if line["kind"] == "triple"]
    assert [(t["head"], t["tail"], t["evidence"], t["quote"], t["source"]) for t in triples] == [
        ("a", "Ben", 1, "Ana met [[Ben]] in spring.", "vault/a.md"),
        ("b", "a", 2, "One [[a]].", "vault/b.md"),
    ]
    with fresh() as other:  # quotes and places are kept when it is imported
        bring(other, tmp_path / "out.jsonl")
        again = [json.loads(line) for line in exported(other, tmp_path / "again.jsonl").read_text("utf-8").splitlines()]
        kept = [(t["quote"], t["source"]) for t in again if t["kind"] == "triple"]
        assert kept == [(t["quote"], t["source"]) for t in triples]


def test_scopes(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault(NOTES)])

    def shown(**options: Any) -> list[dict[str, Any]]:
        out = exported(kb, tmp_path / "out.jsonl", **options)
        return [json.loads(line) for line in out.read_text("utf-8").splitlines()]

    public = (tmp_path / "out.csv", exported(kb, tmp_path / "out.csv", private=False))[0].read_text("utf-8")
    assert "Hidden Name" not in public and "Vault 7" not in public and "secret" not in public
    assert "Babbage" in public
    assert {row["head"] for row in shown(where="folder = 'Engines'")} == {"Analytical Engine", "Difference Engine"}
    assert {row.get("head") for row in shown(tag="maths") if row["kind"] == "triple"} == {"Ada Lovelace"}
    assert {row["relation"] for row in shown(relations=("rival",)) if row["kind"] != "entity"} == {"rival"} or {
        row["kind"] for row in shown(relations=("rival",))
    } <= {"entity", "alias", "triple"}
    people = shown(types=("person",))
    assert {row["head_type"] for row in people} == {"person"}
    assert [(row["head"], row["tail"]) for row in people if row["kind"] == "triple"] == [("Ada Lovelace", "Babbage")]


def test_a_scope_that_nothing_has_is_refused(kb: KnowledgeBase, tmp_path: Path, vault: Vault) -> None:
    kb.add([vault({"a.md": '---\nemployer: "[[Kestrel]]"\n---\nAna mends kettles.'})])
    out = tmp_path / "t.csv"
    with pytest.raises(ExportError, match=r"has the relation or attribute 'employr'\. There is: employer\."):
        kb.export_graph(out, relations=["employr"])
    with pytest.raises(ExportError, match="Nothing here has the type 'ship'"):
        kb.export_graph(out, types=["ship"])
    assert not out.exists()
    assert kb.export_graph(out, relations=["employer"]).triples == 1


def test_merged_entities_are_one(kb: KnowledgeBase, tmp_path: Path) -> None:
    from llm_graphrag.review import merges

    (tmp_path / "in.csv").write_text("head,relation,tail\nA. Lovelace,wrote,Notes\nAda Lovelace,met,Babbage\n")
    bring(kb, tmp_path / "in.csv")
    merges.merge(kb.connection, kb.settings, "Ada Lovelace", "A. Lovelace", actor="me")
    lines = [json.loads(line) for line in exported(kb, tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert {line["head"] for line in lines} == {"Ada Lovelace", "Notes", "Babbage"}
    assert [line["tail"] for line in lines if line["kind"] == "alias"] == ["A. Lovelace"]


def test_graphml(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = [{"head": n, "relation": "knows", "tail": "Ada", "confidence": 0.5} for n in HOSTILE]
    rows += [{"kind": "attribute", "head": "Ada", "relation": "name", "tail": "x\ufffe"}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    bring(kb, tmp_path / "in.jsonl")
    root = ElementTree.parse(exported(kb, tmp_path / "out.graphml")).getroot()
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    nodes = {node.get("id"): node for node in root.iterfind(".//g:node", space)}
    shown = {node.findtext("g:data[@key='name']", namespaces=space) for node in nodes.values()}
    assert shown == {row[0] for row in kb.connection.execute("SELECT name FROM kg_entities")}
    edges = list(root.iterfind(".//g:edge", space))
    assert len(edges) == kb.totals()["triples"] and all(edge.get("source") in nodes for edge in edges)
    assert {edge.findtext("g:data[@key='confidence']", namespaces=space) for edge in edges} == {"0.5"}
    keys = {key.get("attr.name") for key in root.iterfind("g:key", space)}
    assert {"name", "attribute name", "relation", "evidence"} <= keys


def test_parquet(kb: KnowledgeBase, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "in.csv").write_text("head,relation,tail,confidence\nAda,knows,Ben,0.25\n")
    bring(kb, tmp_path / "in.csv")
    table = parquet.read_table(exported(kb, tmp_path / "out.parquet"))
    assert tuple(table.column_names) == HEADER
    found = table.to_pylist()
    assert [row["kind"] for row in found] == ["entity", "entity", "triple"]
    assert (found[2]["head"], found[2]["evidence"], found[2]["confidence"]) == ("Ada", 1, 0.25)
    assert found[2]["quote"] == "Ada,knows,Ben,0.25"
    with fresh() as empty:
        assert parquet.read_table(exported(empty, tmp_path / "empty.parquet")).num_rows == 0


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def test_folders_for_bulk_loaders(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = [
        {"head": "Ada", "head_type": "person", "relation": "knows", "tail": "Ben \"B\"\n2"},
        {"kind": "alias", "head": "Ada", "head_type": "person", "tail": "Countess; of L"},
        {"kind": "attribute", "head": "Ada", "head_type": "person", "relation": "id", "tail": "p1"},
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    bring(kb, tmp_path / "in.jsonl")
    done = kb.export_graph(tmp_path / "neo", "neo4j")
    assert "--array-delimiter=U+001F" in done.hint and str(tmp_path / "neo") in done.hint
    nodes = list(read_csv(tmp_path / "neo" / "nodes.csv"))
    assert [(n[":ID"], n["name"], n["aliases:string[]"], n["id_:string[]"], n[":LABEL"]) for n in nodes] == [
        ("n1", "Ada", "Countess; of L", "p1", "person"), ("n2", 'Ben "B" 2', "", "", "Entity"),
    ]  # fmt: skip
    [edge] = read_csv(tmp_path / "neo" / "relationships.csv")
    assert (edge[":START_ID"], edge[":END_ID"], edge[":TYPE"], edge["evidence:int"]) == ("n1", "n2", "knows", "1")
    kb.export_graph(tmp_path / "lady", "ladybug")
    assert sorted(path.name for path in (tmp_path / "lady").iterdir()) == [
        "entities.csv",
        "load.cypher",
        "relations.csv",
    ]
    entities = list(read_csv(tmp_path / "lady" / "entities.csv"))
    assert json.loads(entities[0]["attributes"]) == {"id": ["p1"]}


def test_what_is_there_is_not_replaced_by_the_way(kb: KnowledgeBase, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("mine")
    with pytest.raises(ExportError, match="--overwrite replaces it"):
        kb.export_graph(out)
    with pytest.raises(ExportError, match="is a file; name another place"):
        kb.export_graph(out, "neo4j", overwrite=True)
    with pytest.raises(
        ExportError, match=r"is a folder: name a file in it, such as .*graph\.csv, or add --format ladybug or neo4j"
    ):
        kb.export_graph(tmp_path)
    with pytest.raises(ExportError, match=r"is a folder; name a file in it, such as .*graph\.jsonl$"):
        kb.export_graph(tmp_path, "jsonl")
    with pytest.raises(ExportError, match="There is no folder"):
        kb.export_graph(tmp_path / "nowhere" / "out.csv")
    with pytest.raises(ExportError, match=r"There is no format 'xls'\. There are: csv, graphml"):
        kb.export_graph(tmp_path / "out.xls", "xls")
    with pytest.raises(ExportError, match="does not say its format"):
        kb.export_graph(tmp_path / "out.xls")
    assert out.read_text() == "mine" and [path.name for path in tmp_path.iterdir() if path.name != "kb.db"] == [
        path.name for path in tmp_path.iterdir() if path.name != "kb.db"
    ]
    kb.export_graph(out, overwrite=True)
    assert out.read_text().startswith("kind,head,")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".graphrag-")]


def test_the_knowledge_base_is_not_replaced_by_its_export(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "kb.db")
    os.link(tmp_path / "kb.db", tmp_path / "hard.csv")
    for name in ("kb.db", "link.csv", "hard.csv", "kb.db-wal", "kb.db-shm", "kb.db-journal"):
        with pytest.raises(ExportError, match="is the knowledge base itself, or a part of it; name another file"):
            kb.export_graph(tmp_path / name, "csv", overwrite=True)
    assert (tmp_path / "kb.db").read_bytes().startswith(b"SQLite format 3")


def test_links_are_followed_and_modes_stay(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "real.csv", tmp_path / "link.csv"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    kb.export_graph(link, overwrite=True)
    assert link.is_symlink() and target.read_text().startswith("kind,") and target.stat().st_mode & 0o777 == 0o640
    target.unlink()
    kb.export_graph(link)
    assert link.is_symlink() and target.read_text().startswith("kind,")


def test_a_pipe_is_written_into(kb: KnowledgeBase, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_text)
        with pytest.raises(ExportError, match="this format writes a folder"):
            kb.export_graph(pipe, "neo4j")
        kb.export_graph(pipe, overwrite=True)
        assert read.result(10).startswith("kind,")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_holds_the_graph_alone(kb: KnowledgeBase, tmp_path: Path) -> None:
    bring(kb, write_rows(tmp_path))
    options = ["/dev/stdout", "--format", "csv", "-d", tmp_path / "kb.db"]
    command = [sys.executable, "-m", "llm", "graphrag", "export", *options]
    for how in ("pipe", "file"):
        with (tmp_path / "caught").open("wb") as file:
            done = subprocess.run(command, stdout=file if how == "file" else subprocess.PIPE, stderr=subprocess.PIPE)
        said = (tmp_path / "caught").read_bytes() if how == "file" else done.stdout
        assert done.returncode == 0 and said.startswith(b"kind,") and said.endswith(b"\n") and b"as csv" not in said
        assert b"/dev/stdout: 2 entities, 1 triple, 0 attributes, as csv." in done.stderr
    assert Path("/dev/stdout").is_symlink()


def write_rows(folder: Path) -> Path:
    (folder / "rows.csv").write_text("Ann,knows,Ben\n")
    return folder / "rows.csv"


def test_without_pyarrow(kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"llm install 'llm-graphrag\[parquet\]'"):
        kb.export_graph(tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_a_plugin_adds_a_format(kb: KnowledgeBase, tmp_path: Path) -> None:
    import pluggy

    from llm_graphrag.hookspecs import Exporter
    from llm_graphrag.plugins import manager

    class Plugin:
        @pluggy.HookimplMarker("llm_graphrag")
        def register_exporters(self, register: Any) -> None:
            def names(graph: Any, out: Path) -> str:
                out.write_text("".join(f"{entity.name}\n" for entity in graph.entities))
                return "Names only."

            register("names", Exporter(names, (".names",)))

    (tmp_path / "in.tsv").write_text("Ada\tknows\tBen\n")
    bring(kb, tmp_path / "in.tsv")
    plugin = Plugin()
    manager().register(plugin)
    try:
        assert kb.export_graph(tmp_path / "out.names").hint == "Names only."
        assert (tmp_path / "out.names").read_text() == "Ada\nBen\n"
    finally:
        manager().unregister(plugin)


def test_the_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("Ada\tknows\tBen\n")
    run("import", tmp_path / "in.tsv")
    out = tmp_path / "out.csv"
    assert "2 entities, 1 triple, 0 attributes, as csv." in run("export", out).stdout
    assert "--overwrite replaces it" in run("export", out, exit_code=1).stderr
    told = json.loads(run("export", out, "--overwrite", "--json").stdout)
    assert (told["format"], told["entities"], told["triples"]) == ("csv", 2, 1)
    assert "--format is about the file OUT" in run("export", "--format", "csv", "--sidecars", "x", exit_code=2).stderr
    assert "--where" in run("export", out, "--overwrite", "--where", "nonsense(", exit_code=2).stderr


@pytest.mark.parametrize("format", ["ntriples", "turtle"])
def test_names_of_what_rdf_calls_alike_come_back(kb: KnowledgeBase, tmp_path: Path, format: str) -> None:
    pytest.importorskip("rdflib")
    (tmp_path / "two.nt").write_text(
        '<urn:e:ada> <http://b.org/p> <urn:e:ben> .\n<urn:e:ada> <http://b.org/q> "1" .\n'
        "<urn:e:ada> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://b.org/T> .\n"
    )
    (tmp_path / "three.nt").write_text(
        '<urn:e:ada> <http://a.org/p> <urn:e:cleo> .\n<urn:e:ada> <http://a.org/q> "2" .\n'
        "<urn:e:cleo> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://a.org/T> .\n"
    )
    bring(kb, tmp_path / "two.nt")
    bring(kb, tmp_path / "three.nt")
    relations = {t.relation: t.tail.name for t in Graph(kb.connection).triples()}
    assert relations == {"p": "ben", "a_org_p": "cleo"}
    with fresh() as other:
        assert bring(other, exported(kb, tmp_path / f"out{SUFFIX[format]}")) == []
        assert graph_of(other) == graph_of(kb)
        assert (
            exported(other, tmp_path / f"again{SUFFIX[format]}").read_text()
            == (tmp_path / f"out{SUFFIX[format]}").read_text()
        )
    public = exported(kb, tmp_path / f"part{SUFFIX[format]}", where="uri = 'two.nt'").read_text()
    assert "a.org" not in public and "_name" not in public


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_quotes_come_back_as_they_were(kb: KnowledgeBase, tmp_path: Path, format: str) -> None:
    (tmp_path / "a.csv").write_text(
        'head,relation,tail,quote\nAnn,knows,Bob,"Ann said ""hi"" to Bob."\nBob,knows,Cleo,\n'
        'Cleo,likes,"""D"" \\ E",\n',
        encoding="utf-8",
    )
    bring(kb, tmp_path / "a.csv")
    [row] = kb.connection.execute("SELECT quote FROM kg_evidence WHERE relation = 'knows' AND head = 'Ann'").fetchall()
    assert row[0] == 'Ann said ""hi"" to Bob.'  # as it stands in the file
    quotes = {t.head.name: t.stated.quote for t in Graph(kb.connection).triples()}
    assert quotes == {"Ann": 'Ann said "hi" to Bob.', "Bob": "Bob,knows,Cleo,", "Cleo": 'Cleo,likes,"""D"" \\ E",'}
    written = exported(kb, tmp_path / f"0.{format}")
    for number in range(1, 4):
        with fresh() as other:
            assert bring(other, written) == [] and other.check() == []
            again = exported(other, tmp_path / f"{number}.{format}")
            assert again.read_text("utf-8") == written.read_text("utf-8")
            written = again
            assert all(
                row[0] not in ("", None) and len(row[0]) < 60
                for row in other.connection.execute("SELECT quote FROM kg_evidence WHERE kind = 'triple'")
            )
