"""N-Triples and Turtle: names for IRIs, types, labels, literals, blank nodes, and what a file says to be the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Run
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rdflib")

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.share.imports import ntriples
from llm_graphrag.share.imports.ntriples import LineParser, Triple
from llm_graphrag.share.imports.options import ImportOptions
from llm_graphrag.share.imports.run import GraphImport
from llm_graphrag.share.imports.vocabulary import Vocabulary

PREFIXES = """@prefix ex: <http://example.org/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""

ADA = (
    PREFIXES
    + """ex:ada a foaf:Person, owl:NamedIndividual ; rdfs:label "Ada Lovelace"@en, "Ada de Lovelace"@fr ;
  skos:altLabel "Countess of Lovelace" ; foaf:knows ex:babbage, [ foaf:name "Somebody" ] ; ex:born "01815"^^xsd:gYear ;
  owl:sameAs <http://dbpedia.org/resource/Ada%20L> .
ex:babbage a foaf:Person ; ex:motto "Sic"@la ; ex:motto "Sic" .
"""
)


def bring(kb: KnowledgeBase, path: Path, text: str) -> GraphImport:
    path.write_text(text, encoding="utf-8")
    done = kb.import_graph([path], ImportOptions())
    assert kb.check() == []
    return done


def rows(kb: KnowledgeBase, statement: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in kb.connection.execute(statement)]


def test_turtle(kb: KnowledgeBase, tmp_path: Path) -> None:
    done = bring(kb, tmp_path / "ada.ttl", ADA)
    assert (done.skipped, done.suggested) == ([], 1)
    assert rows(
        kb, "SELECT head, head_type, relation, tail, tail_type FROM kg_facts WHERE kind = 'triple' ORDER BY 3, 4"
    ) == [
        ("Ada Lovelace", "person", "knows", "Somebody", ""),
        ("Ada Lovelace", "person", "knows", "babbage", "person"),
        ("Ada Lovelace", "person", "same_as", "Ada L", ""),
    ]
    assert rows(kb, "SELECT head, relation, tail FROM kg_facts WHERE kind <> 'triple' ORDER BY 1, 2, 3") == [
        ("Ada L", "iri", "http://dbpedia.org/resource/Ada%20L"),
        ("Ada Lovelace", "also_a", "named_individual"),
        ("Ada Lovelace", "born", "01815"),
        ("Ada Lovelace", "iri", "http://example.org/ada"),
        ("Somebody", "name", "Somebody"),
        ("babbage", "iri", "http://example.org/babbage"),
        ("babbage", "motto", "Sic"),
    ]
    details = rows(kb, "SELECT json(detail) FROM kg_evidence WHERE relation IN ('born', 'motto') ORDER BY 1")
    assert [json.loads(str(row[0])) for row in details] == [
        {"datatype": "http://www.w3.org/2001/XMLSchema#gYear"}, {"language": "la"}, {},
    ]  # fmt: skip
    names = rows(
        kb,
        "SELECT a.name FROM kg_aliases a JOIN kg_entities e ON e.id = a.entity WHERE e.name LIKE 'Ada Lov%' ORDER BY 1",
    )
    assert [row[0] for row in names] == ["Ada Lovelace", "Ada de Lovelace", "Countess of Lovelace"]
    [suggestion] = rows(kb, "SELECT kept_key, merged_key, status, reason FROM kg_merges")
    assert suggestion == ("ada lovelace", "ada l", "suggested", "ada.ttl says so")
    knows = kb.schema.resolve_relation("knows")
    assert knows is not None and (knows.domain, knows.range) == (("person",), ())


def test_what_a_file_says_to_be_the_same_stays_suggested(kb: KnowledgeBase, tmp_path: Path) -> None:
    from llm_graphrag.review import merges
    from llm_graphrag.review.merge_candidates import suggest

    bring(kb, tmp_path / "ada.ttl", ADA)
    suggest(kb.connection, kb.settings)
    [row] = rows(kb, "SELECT id, merged_key, status FROM kg_merges WHERE reason = 'ada.ttl says so'")
    assert row[1:] == ("ada l", "suggested")
    merges.reject(kb.connection, kb.settings, int(str(row[0])), actor="me")
    suggest(kb.connection, kb.settings)
    bring(kb, tmp_path / "ada.ttl", ADA + "# again\n")
    assert rows(kb, "SELECT status FROM kg_merges WHERE merged_key = 'ada l'") == [("rejected",)]


def test_quotes_are_lines_of_ntriples(kb: KnowledgeBase, tmp_path: Path) -> None:
    bring(kb, tmp_path / "ada.ttl", ADA)
    quotes = [str(row[0]) for row in rows(kb, "SELECT DISTINCT quote FROM kg_evidence ORDER BY 1")]
    assert "<http://example.org/ada> <http://xmlns.com/foaf/0.1/knows> <http://example.org/babbage> ." in quotes
    assert all(quote.startswith(("<", "_:")) and quote.endswith(" .") for quote in quotes)
    [place] = rows(kb, """SELECT DISTINCT substr(c.text, m.start + 1, m.end - m.start) FROM kg_mentions m
                          JOIN kg_chunks c ON c.id = m.chunk JOIN kg_entities e ON e.id = m.entity
                          WHERE e.name = 'babbage'""")  # fmt: skip
    assert place == ("http://example.org/babbage",)


def test_ntriples_is_read_line_by_line(kb: KnowledgeBase, tmp_path: Path) -> None:
    text = (
        "# a comment\n<http://e.org/a> <http://e.org/worksFor> <http://e.org/b> .\n"
        '<http://e.org/a> <http://e.org/says> "a \\"quoted\\" \\u00e9 line\\nbreak" .\n'
        "<http://e.org/a> <http://e.org/broken .\n\n"
        '_:x <http://e.org/worksFor> _:y . # and so on\n<http://e.org/a> <http://e.org/empty> "" .\n'
    )
    done = bring(kb, tmp_path / "g.nt", text)
    assert [remark.line for remark in done.skipped] == [4, 7]
    assert rows(kb, "SELECT head, relation, tail FROM kg_facts WHERE kind = 'triple' ORDER BY 1") == [
        ("_:x (g.nt)", "works_for", "_:y (g.nt)"),
        ("a", "works_for", "b"),
    ]
    assert ("a", "says", 'a "quoted" é line\nbreak') in rows(kb, "SELECT head, relation, tail FROM kg_facts")
    before = list(kb.connection.iterdump())
    assert kb.import_graph([tmp_path / "g.nt"]).unchanged == 1
    assert list(kb.connection.iterdump()) == before


def test_things_of_one_name_are_told_apart(kb: KnowledgeBase, tmp_path: Path) -> None:
    text = (
        "<http://a.org/paris> <http://e.org/in> <http://e.org/france> .\n"
        "<http://b.org/paris> <http://e.org/in> <http://e.org/texas> .\n"
        "<http://b.org/x> <http://other.org/in> <http://e.org/texas> .\n"
    )
    bring(kb, tmp_path / "g.nt", text)
    assert rows(kb, "SELECT head, relation, tail FROM kg_facts WHERE kind = 'triple' ORDER BY 1") == [
        ("paris <http://a.org/paris>", "in", "france"),
        ("paris <http://b.org/paris>", "in", "texas"),
        ("x", "other_org_in", "texas"),
    ]


def test_blank_nodes_do_not_move(kb: KnowledgeBase, tmp_path: Path) -> None:
    bring(kb, tmp_path / "ada.ttl", ADA)
    before = rows(kb, "SELECT id FROM kg_triples ORDER BY 1")
    bring(kb, tmp_path / "ada.ttl", ADA + "ex:new foaf:knows ex:ada .\n")
    after = rows(kb, "SELECT id FROM kg_triples ORDER BY 1")
    assert set(before) < set(after) and len(after) == len(before) + 1


def test_bad_turtle_is_one_line(kb: KnowledgeBase, tmp_path: Path) -> None:
    done = bring(kb, tmp_path / "bad.ttl", "@prefix ex: <http://e.org/> .\nex:a ex:b\n")
    assert done.files == 0 and done.skipped[0].message.startswith("it is no Turtle: ")
    assert rows(kb, "SELECT count(*) FROM kg_documents") == [(0,)]


@pytest.mark.parametrize("iri", ["http://x/a b", "http://x/Per\\u003Cson", 'http://x/"q'])
def test_turtle_with_an_iri_that_cannot_be_is_one_line(kb: KnowledgeBase, tmp_path: Path, iri: str) -> None:
    (tmp_path / "good.csv").write_text("a,knows,b\n", encoding="utf-8")
    (tmp_path / "bad.ttl").write_text(f"@prefix : <http://x/> .\n:a :p <{iri}> .\n", encoding="utf-8")
    done = kb.import_graph([tmp_path / "good.csv", tmp_path / "bad.ttl"], ImportOptions())
    assert done.files == 1 and done.skipped[0].message.startswith("it is no Turtle: ")
    assert kb.check() == []


def test_a_type_whose_iri_cannot_be_is_exported_under_another(kb: KnowledgeBase, tmp_path: Path) -> None:
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    bring(kb, tmp_path / "a.nt", f"<http://x/a> <{rdf_type}> <http://x/Per\\u003Cson> .\n")
    kb.export_graph(tmp_path / "b.nt")
    with KnowledgeBase.open(tmp_path / "back.db", create=True) as back:
        assert back.import_graph([tmp_path / "b.nt"], ImportOptions()).skipped == []
        assert rows(back, "SELECT name, type FROM kg_entities") == [("a", "per_son")]


def test_without_the_extra(kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] == "rdflib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "rdflib", None)
    for name in ("g.nt", "g.ttl"):
        done = bring(kb, tmp_path / name, "<http://e.org/a> <http://e.org/b> <http://e.org/c> .\n")
        assert "llm install 'llm-graphrag[rdf]'" in done.skipped[0].message


def test_vocabulary_gives_one_identifier_to_one_iri() -> None:
    words = Vocabulary()
    iris = [
        "http://a.org/worksFor",
        "http://b.org/worksFor",
        "http://b.org/works-for",
        "http://c.org/→",
        "urn:x",
        "iri",
    ]
    found = [words.identifier("relation", iri) for iri in iris]
    assert found == ["works_for", "b_org_works_for", "http_b_org_works_for", "c_org", "x", "iri_2"]
    assert [words.identifier("relation", iri) for iri in iris] == found
    assert words.iris("relation")["works_for"] == "http://a.org/worksFor"


parts = st.sampled_from(
    ["<http://e.org/a>", "<http://e.org/a b>", "<http://e.org/é>", "<>", "_:b1", "_:a-b", "_:", '"x"', '"x"@en-GB',
     '"01"^^<http://www.w3.org/2001/XMLSchema#integer>', '"x"^^<http://www.w3.org/2001/XMLSchema#string>', '""',
     '"\t\\"',
     '"a \\"b\\" \\u00e9"', "<http://e.org/\\u00e9>", '"x"@', '"x"^^<a b>', '"👍"', "#", "."]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(line=st.builds(lambda terms, gaps, end: "".join(map("".join, zip(gaps, terms, strict=False))) + end,
                      st.lists(parts, min_size=2, max_size=4), st.lists(st.sampled_from([" ", "", "\t"]), min_size=4),
                      st.sampled_from([" .", ".", " . ", "", " . # so", " . ."])))  # fmt: skip
def test_plain_lines_are_what_rdflib_makes_of_them(line: str) -> None:
    def parsed(line: str) -> Triple | str | None:
        try:
            return LineParser().parse(line)
        except ValueError:
            return "no triple"

    fast = parsed(line)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ntriples, "_PLAIN_LINE", re.compile("(?!)"))
        assert parsed(line) == fast


def test_lines_that_rdflib_would_log_are_told_in_our_words(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nt = (
        "<http://x/a> <http://x/p> <http://x/q{b}> .\n<http://x/a> <http://x/p> <http://x/c\\u003C> .\n"
        '<http://x/a> <http://x/year> "many"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        '<http://x/a> <http://x/says> "half \\uD83D" .\n'
    )
    (tmp_path / "odd.nt").write_text(nt, encoding="utf-8")
    assert run("import", tmp_path / "odd.nt").stderr.split("\n") == [
        "Warning: odd.nt:1: 2 statements with an IRI that is none, such as <http://x/q{b}>; read as it is",
        "Warning: odd.nt: 1 half character without the other half (a lone surrogate); U+FFFD stands there", "",
    ]  # fmt: skip
    ttl = "@prefix : <http://x/> .\n:a :p :b, <http://x/{c}> .\n:a :year " + nt.split("\n")[2].split(" ")[2] + " .\n"
    (tmp_path / "odd.ttl").write_text(ttl, encoding="utf-8")
    told = run("import", tmp_path / "odd.ttl", exit_code=3)
    assert told.stderr == "Skipped: odd.ttl:2: left out, since it holds an IRI that is none: <http://x/{c}>\n"
    assert "rows: 2 imported, 1 skipped" in told.stdout
    assert "odd.ttl/line 2" in run("status").stdout
    assert [record for record in caplog.records if record.name.startswith("rdflib")] == []
