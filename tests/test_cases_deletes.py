"""What deleting and renaming left behind in other tools, or took with it."""

from __future__ import annotations

import json
import sys

import pytest
from conftest import Run, Vault
from rows import counts, differences, dump, entities, facts, holds, natural

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources.ingest import Options
from llm_graphrag.store.connection import transaction
from llm_graphrag.store.entities import insert_entity
from llm_graphrag.store.settings import get_setting
from llm_graphrag.text.normalise import name_key

#: What stays when every note is gone: the log that derived indexes follow, which model makes vectors, and no note.
EMPTY = {"kg_changes", "kg_settings"}


def database_of(run: Run) -> str:
    return str(json.loads(run("status", "--json").stdout)["database"])


def sources_of(kb: KnowledgeBase, name: str) -> list[str]:
    """Documents that mention an entity of this name."""
    rows = kb.connection.execute(
        """SELECT DISTINCT d.path FROM kg_mentions m JOIN kg_entities e ON e.id = m.entity
           JOIN kg_chunks c ON c.id = m.chunk
           JOIN kg_documents d ON d.id = c.document WHERE e.name = ? ORDER BY 1""",
        [name],
    )
    return [row[0] for row in rows]


# -- 064: one name, several notes ---------------------------------------------------


def test_064_notes_of_one_name_are_notes_of_their_own(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "a/README.md": "# Read me\nfirst",
            "b/README.md": "# Read me\nsecond",
            "P Q.md": "",
            "P-Q.md": "dash",
            "x/y.md": "nested",
            "x-y.md": "flat",
        }
    )
    assert kb.add([folder]).new == 6
    rows = kb.connection.execute(
        "SELECT d.path, e.name, d.entity FROM kg_documents d JOIN kg_entities e ON e.id = d.entity"
    )
    found = {path: name for path, name, _ in rows}
    assert found == {
        "a/README.md": "a/README",
        "b/README.md": "b/README",
        "P Q.md": "P Q",
        "P-Q.md": "P-Q",
        "x/y.md": "y",
        "x-y.md": "x-y",
    }
    assert kb.connection.execute("SELECT count(DISTINCT entity), count(DISTINCT uri) FROM kg_documents").fetchone()[
        :
    ] == (6, 6)
    assert kb.check() == []


def test_064_a_name_is_told_apart_by_its_path_only_while_it_has_to_be(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault({"a/README.md": "first"})
    kb.add([folder])
    assert entities(kb) == [("README", "")]
    vault({"b/README.md": "second", "README.md": "third"})
    kb.add([folder])
    assert entities(kb) == [("a/README", ""), ("b/README", ""), ("vault/README", "")]
    (folder / "b/README.md").unlink()
    (folder / "README.md").unlink()
    kb.add([folder], Options(prune=True))
    assert entities(kb) == [("README", "")]
    assert kb.check() == []


# -- 065: a deleted entity that comes back ----------------------------------------------

ANA = {"1.md": "Mira Holt paints.", "2.md": "We saw Mira Holt sing.", "3.md": "Then Mira Holt runs."}


def test_065_an_entity_comes_back_with_its_new_sources_only(vault: Vault, run: Run) -> None:
    folder = vault(ANA)
    run("add", folder)
    result = json.loads(run("forget", "mira holt", "--json").stdout)
    assert result == {"name": "Mira Holt", "type": "", "claims": 0, "mentions": 3, "blocked": False}
    with KnowledgeBase.open(database_of(run)) as kb:
        old = kb.connection.execute("SELECT count(*) FROM kg_mentions WHERE key = 'mira holt'").fetchone()[0]
        assert (old, [name for name, _ in entities(kb)]) == (0, ["1", "2", "3"])
        assert kb.check() == []
    vault({"4.md": "Today Mira Holt cooks."})
    run("add", folder)
    with KnowledgeBase.open(database_of(run)) as kb:
        assert sources_of(kb, "Mira Holt") == ["4.md"]
        assert kb.check() == []


def test_065_never_again(vault: Vault, run: Run) -> None:
    folder = vault(ANA)
    run("add", folder)
    assert "Forgot Mira Holt: 3 mentions, 0 claims." in run("forget", "Mira Holt", "--never").stdout
    vault({"4.md": "Today MIRA HOLT cooks, says [[Mira Holt]].", "1.md": "Mira Holt paints again."})
    run("add", folder)
    with KnowledgeBase.open(database_of(run)) as kb:
        assert [name for name, _ in entities(kb)] == ["1", "2", "3", "4"]
        assert kb.check() == []


def test_065_no_row_refers_to_a_deleted_fact(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({"n.md": "boss:: [[Mira Holt]]\ncity:: Oslo\n", "o.md": "About [[n]] and Mira Holt."})])
    kb.forget("Mira Holt")
    assert facts(kb) == {("n", "city", "Oslo"), ("o", "links_to", "n")}
    # The notes keep their text, and quotes of other facts theirs; no table of names or facts holds it.
    assert [place for place in holds(kb, "Mira Holt") if "_fts" not in place] == ["kg_chunks.text", "kg_evidence.quote"]
    assert kb.connection.execute("SELECT * FROM kg_names_fts WHERE kg_names_fts MATCH 'mira'").fetchall() == []
    assert kb.check() == []


def test_065_an_entity_of_a_note_stays_with_its_note(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({"Mira.md": "age:: 40", "o.md": "I met [[Mira]] and Mira."})])
    kb.forget("Mira")
    assert facts(kb) == {("Mira", "age", "40")}
    assert kb.check() == []


@pytest.mark.parametrize(("name", "message"), [("Nobody", "There is no entity 'Nobody'")])
def test_065_unknown_names_are_said(vault: Vault, run: Run, name: str, message: str) -> None:
    run("add", vault(ANA))
    assert message in run("forget", name, exit_code=1).stderr


# -- 066: everything deleted -------------------------------------------------------------

RICH = {
    "Mira.md": "---\ntype: person\naliases: [M. Holt]\ntags: [x]\nboss: [[Otto]]\n---\n"
    "# Mira\nMira met Pia Quist. #y\n- [ ] call Otto\n",
    "Otto.md": "Otto of Kestrel Works and 東京都 knows ![[Mira]].\nage:: 40\n",
    "empty.md": "![[Mira]]",
    "bad.md": b"\x00\x01\x02\x03\x04\x05\x06\x07" * 9,
}


@pytest.mark.parametrize("how", ["source", "folder", "documents", "prune"])
def test_066_nothing_is_left_when_every_note_is_gone(vault: Vault, kb: KnowledgeBase, how: str) -> None:
    folder = vault(RICH)
    kb.add([folder])
    if how == "prune":
        for name in RICH:
            (folder / name).unlink()
        assert kb.add([folder], Options(prune=True)).removed == 3
        left = EMPTY | {"kg_sources"}
    elif how == "documents":
        assert kb.remove([f"vault/{name}" for name in RICH if name != "bad.md"]) == [
            "vault/Mira.md",
            "vault/Otto.md",
            "vault/empty.md",
        ]
        left = EMPTY | {"kg_sources", "kg_skipped"}
    else:
        kb.remove([{"source": "vault", "folder": str(folder)}[how]])
        left = EMPTY
    assert set(counts(kb)) == left
    assert kb.connection.execute("SELECT count(*) FROM embeddings").fetchone()[0] == 0
    assert get_setting(kb.connection, "vectors.nothing") == []
    for table in ("kg_chunks_fts", "kg_names_fts"):
        kb.connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
        assert kb.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
    assert (
        kb.connection.execute("SELECT count(*) FROM kg_chunks_fts WHERE kg_chunks_fts MATCH 'mira'").fetchone()[0] == 0
    )
    assert kb.check() == []


def test_066_vacuum_shrinks_the_file(vault: Vault, kb: KnowledgeBase) -> None:
    kb.add([vault({f"{n}.md": f"Note {n} of Mira Holt.\n\n" + f"word{n} " * 4000 for n in range(40)})])
    kb.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = kb.path.stat().st_size
    kb.remove(["vault"])
    kb.connection.execute("INSERT INTO kg_chunks_fts(kg_chunks_fts) VALUES ('optimize')")
    kb.connection.execute("VACUUM")
    kb.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert kb.path.stat().st_size < before / 2


# -- 067 and 069: what others still support ---------------------------------------------------


def test_067_only_what_nothing_else_supports_goes(vault: Vault, kb: KnowledgeBase) -> None:
    one = vault({"1.md": "Mira Holt knows Only One and [[Shared]]."}, "one")
    two = vault({"2.md": "Mira Holt knows Otto Brandt and [[Shared]]."}, "two")
    kb.add([one, two])
    with transaction(kb.connection):
        insert_entity(kb.connection, "Made By Hand", "idea", name_key("Made By Hand"), "user")
    kb.remove(["one"])
    assert entities(kb) == [
        ("2", ""),
        ("Made By Hand", "idea"),
        ("Mira Holt", ""),
        ("Otto Brandt", ""),
        ("Shared", ""),
    ]
    assert sources_of(kb, "Mira Holt") == ["2.md"]
    assert facts(kb) == {("2", "links_to", "Shared")}
    kb.add([two], Options(prune=True))
    kb.remove(["two"])
    assert entities(kb) == [("Made By Hand", "idea")]
    # The hand-made entity was put in behind the writer's back, so only its facets are not counted.
    assert {problem.row for problem in kb.check()} <= {"entity_type idea", "origin user"}


def test_069_a_fact_lives_as_long_as_one_claim_of_it(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "Mira.md": "works at:: [[Kestrel]]\n\nAnd since May:\n\nworks at:: [[Kestrel]]\n\n"
            "shoe size:: 38\n\nshoe size:: 38\n",
            "b.md": "[[Mira]] [[Mira]]",
        }
    )
    kb.add([folder])

    def claims() -> dict[str, int]:
        return dict(kb.connection.execute("SELECT relation, evidence FROM kg_facts").fetchall())

    assert claims() == {"works_at": 2, "shoe_size": 2, "links_to": 2}
    [row] = kb.connection.execute("SELECT id FROM kg_triples WHERE relation = 'works_at'")
    vault({"Mira.md": "works at:: [[Kestrel]]\n\nshoe size:: 38\n", "b.md": "[[Mira]]"})
    kb.add([folder])
    assert claims() == {"works_at": 1, "shoe_size": 1, "links_to": 1}
    assert kb.connection.execute("SELECT id FROM kg_triples WHERE relation = 'works_at'").fetchone()[0] == row[0]
    vault({"Mira.md": "nothing", "b.md": "nothing"})
    kb.add([folder])
    assert claims() == {}
    assert kb.check() == []


def test_069_two_documents_that_state_one_fact(vault: Vault, kb: KnowledgeBase) -> None:
    # Two copies of one note: their entities differ, so the shared fact is one of a third note.
    folder = vault({"Otto.md": "x", "a/n.md": "[[Otto]] met Kestrel Works.", "b/m.md": "Kestrel Works hired [[Otto]]."})
    kb.add([folder])
    kb.remove(["vault/a/n.md"])
    assert facts(kb) == {("m", "links_to", "Otto")}
    assert sources_of(kb, "Kestrel Works") == ["b/m.md"]
    kb.remove(["vault/b/m.md"])
    assert facts(kb) == set() and entities(kb) == [("Otto", "")]
    assert kb.check() == []


# -- 071: a name that changes its case -------------------------------------------------------------


def test_071_a_rename_by_case_is_followed_once(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault({"setup.md": "# Setup\nMira owns it.", "o.md": "See [[setup]]."})
    kb.add([folder])
    before = tuple(kb.connection.execute("SELECT id, entity FROM kg_documents WHERE path = 'setup.md'").fetchone())
    (folder / "setup.md").rename(folder / "Setup.md")
    assert kb.add([folder]).renamed == 1
    row = kb.connection.execute("SELECT id, entity, path, uri FROM kg_documents WHERE name_key = 'setup'").fetchone()
    assert tuple(row) == (*before, "Setup.md", "vault/Setup.md")
    assert [name for name, _ in entities(kb) if name.lower() == "setup"] == ["Setup"]
    state = dump(kb.connection)
    report = kb.add([folder])
    assert (report.written, report.unchanged) == (0, 2) and dump(kb.connection) == state
    assert kb.check() == []


def test_071_a_rename_by_case_with_an_edit_is_a_rename(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault({"setup.md": "Mira owns it."})
    kb.add([folder])
    (folder / "setup.md").unlink()
    vault({"Setup.md": "Otto owns it."})
    report = kb.add([folder], Options(prune=True))
    assert (report.renamed, report.new, report.removed) == (1, 0, 0)
    assert kb.check() == []


@pytest.mark.skipif(sys.platform != "linux", reason="file systems that fold case")
def test_071_both_names_are_two_notes_and_a_warning(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault({"setup.md": "small", "Setup.md": "capital", "o.md": "[[setup]] [[Setup]]"})
    report = kb.add([folder])
    assert report.new == 3
    assert [(r.path, r.message) for r in report.warnings] == [
        ("Setup.md", "differs only in case or accents from setup.md")
    ]
    assert kb.add([folder]).unchanged == 3
    assert kb.check() == []


# -- 072: what is stale -----------------------------------------------------------------------------


def test_072_status_lists_what_is_no_longer_as_it_was_read(vault: Vault, run: Run) -> None:
    folder = vault({"n.md": "The code is 1234.", "gone.md": "Soon gone.", "same.md": "The same."})
    run("add", folder)
    vault({"n.md": "The code is 5678."})
    (folder / "gone.md").unlink()
    status = json.loads(run("status", "--json").stdout)
    assert sorted((row["path"], row["reason"]) for row in status["stale"]) == [
        ("vault/gone.md", "its file is gone"),
        ("vault/n.md", "changed on disk since it was read"),
    ]
    listing = run("status").stdout
    assert "Stale: vault/n.md: changed on disk since it was read" in listing
    assert "Bring it up to date with: llm graphrag add FOLDER --prune" in listing
    assert "1 no longer there; --prune removes them:" in run("add", folder).stderr
    status = json.loads(run("status", "--json").stdout)
    assert [row["path"] for row in status["stale"]] == ["vault/gone.md"]
    run("add", folder, "--prune")
    assert json.loads(run("status", "--json").stdout)["stale"] == []


def test_072_a_folder_that_is_elsewhere_is_not_stale(vault: Vault, run: Run) -> None:
    folder = vault({"n.md": "The code is 1234."})
    run("add", folder)
    folder.rename(folder.parent / "moved")
    assert json.loads(run("status", "--json").stdout)["stale"] == []


def test_everything_removed_and_added_again_is_the_same(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(RICH)
    kb.add([folder])
    before = natural(kb)
    kb.remove(["vault"])
    kb.add([folder])
    assert differences(before, natural(kb)) == []
