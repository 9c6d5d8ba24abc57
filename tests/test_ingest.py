"""Adding is a sync: what stays costs nothing, what changes keeps what it can, and order does not matter."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run, Vault, write_notes
from rows import counts, differences, dump, entities, evidence, facts, natural, targets

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources import ingest as ingest_module
from llm_graphrag.sources.ingest import Options

NOTES = {
    "people/Mira.md": "---\ntype: person\naliases: [M. Holt]\n---\n# Mira\n\n"
    "Mira met Pia Quist at Kestrel Works. [[Otto]] too.\n",
    "people/Otto.md": "---\ntype: person\nboss: [[Mira]]\ntags: [crew, old]\n---\n"
    "Otto paints ![[Mira]]. See [r](../README.md).\n",
    "README.md": "# Top\n\nWritten by Mira and m. holt.\n\n"
    "## Then\n\nBy [[Otto]] of Kestrel Works. #start\n- [ ] tell MIRA\n",
    "deep/README.md": "size:: 12\n\nAnother [[README]].\n",
}


@pytest.fixture
def notes(vault: Vault) -> Path:
    return vault(NOTES)


def ids(kb: KnowledgeBase, statement: str) -> dict[str, int]:
    return dict(kb.connection.execute(statement).fetchall())


DOCUMENTS = "SELECT path, id FROM kg_documents"
CHUNKS = "SELECT text, id FROM kg_chunks"


# -- what stays ---------------------------------------------------------------------------


def test_an_unchanged_folder_changes_no_row(kb: KnowledgeBase, notes: Path) -> None:
    assert kb.add([notes]).new == 4
    before, changes = dump(kb.connection), kb.connection.total_changes
    report = kb.add([notes])
    assert (report.unchanged, report.written, report.removed, report.gone) == (4, 0, 0, [])
    assert kb.connection.total_changes == changes
    assert dump(kb.connection) == before
    for path in notes.rglob("*.md"):
        os.utime(path, (1, 1))
    kb.add([notes])
    assert dump(kb.connection) == before


def test_a_changed_note_keeps_the_chunks_that_did_not_change(kb: KnowledgeBase, vault: Vault) -> None:
    parts = [f"## Part {n}\n\n" + f"Sentence {n} of some length with Mira Holt. " * 40 + "\n\n" for n in range(4)]
    folder = vault({"n.md": "".join(parts), "o.md": "Mira Holt again"})
    kb.add([folder])
    before, documents = ids(kb, CHUNKS), ids(kb, DOCUMENTS)
    kept = kb.connection.execute("SELECT chunk, start, end, entity FROM kg_mentions ORDER BY 1, 2").fetchall()
    parts[2] = parts[2].replace("some length", "another length")
    vault({"n.md": "".join(parts)})
    assert kb.add([folder]).changed == 1
    after = ids(kb, CHUNKS)
    changed = [text for text in after if "another length" in text]
    assert changed and after.keys() - before.keys() == set(changed)
    assert all(after[text] == before[text] for text in after.keys() & before.keys())
    assert min(after[text] for text in changed) > max(before.values())
    assert ids(kb, DOCUMENTS) == documents
    stays = {after[text] for text in after.keys() & before.keys()}
    now = kb.connection.execute("SELECT chunk, start, end, entity FROM kg_mentions ORDER BY 1, 2").fetchall()
    assert [tuple(r) for r in now if r[0] in stays] == [tuple(r) for r in kept if r[0] in stays]
    assert kb.check() == []


def test_text_put_before_moves_chunks_and_keeps_their_ids(kb: KnowledgeBase, vault: Vault) -> None:
    body = (
        "## One\n\n" + "Some words of Mira Holt. " * 60 + "\n\n## Two\n\nboss:: [[Otto]]\n" + "More words here. " * 60
    )
    folder = vault({"n.md": body})
    kb.add([folder])
    before = ids(kb, CHUNKS)
    claims = ids(kb, "SELECT relation || tail, id FROM kg_evidence")
    vault({"n.md": "## Zero\n\n" + "Put in front of it all. " * 60 + "\n\n" + body})
    kb.add([folder])
    after = ids(kb, CHUNKS)
    assert before.items() <= after.items()
    assert claims.items() <= ids(kb, "SELECT relation || tail, id FROM kg_evidence").items()
    assert kb.check() == []


def test_a_changed_note_drops_what_it_no_longer_says(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"n.md": "boss:: [[Otto]]\n\nMet Pia Quist.\n\n- [ ] call\n\n#x", "o.md": "[[n]]"})
    kb.add([folder])
    vault({"n.md": "nothing of it"})
    kb.add([folder])
    assert facts(kb) == {("o", "links_to", "n")}
    assert entities(kb) == [("n", ""), ("o", "")]
    assert "kg_tags" not in counts(kb)
    assert kb.check() == []


@pytest.mark.parametrize("new", ["people/Miranda.md", "attic/Mira.md", "Mira.md"])
def test_a_rename_keeps_document_entity_and_claims(kb: KnowledgeBase, notes: Path, new: str) -> None:
    kb.add([notes])
    row = kb.connection.execute("SELECT id, entity FROM kg_documents WHERE path = 'people/Mira.md'").fetchone()
    claims = [r[0] for r in kb.connection.execute(
        "SELECT v.id FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk WHERE c.document = ? ORDER BY 1", [row["id"]]
    )]  # fmt: skip
    (notes / new).parent.mkdir(exist_ok=True)
    (notes / "people/Mira.md").rename(notes / new)
    report = kb.add([notes])
    assert (report.renamed, report.new, report.unchanged, report.gone) == (1, 0, 3, [])
    now = kb.connection.execute("SELECT id, entity, uri FROM kg_documents WHERE path = ?", [new]).fetchone()
    assert tuple(now) == (row["id"], row["entity"], f"vault/{new}")
    assert claims == [r[0] for r in kb.connection.execute(
        "SELECT v.id FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk WHERE c.document = ? ORDER BY 1", [row["id"]]
    )]  # fmt: skip
    assert kb.check() == []


def test_prune(kb: KnowledgeBase, notes: Path) -> None:
    kb.add([notes])
    (notes / "people/Mira.md").unlink()
    report = kb.add([notes])
    assert (report.gone, report.removed, kb.totals()["documents"]) == (["vault/people/Mira.md"], 0, 4)
    report = kb.add([notes], Options(prune=True))
    assert (report.gone, report.removed, kb.totals()["documents"]) == ([], 1, 3)
    assert targets(kb)["![[Mira]]"] == "→ Mira"
    assert kb.check() == []


def test_prune_looks_only_where_it_was_told_to(kb: KnowledgeBase, notes: Path) -> None:
    kb.add([notes])
    (notes / "people/Mira.md").unlink()
    (notes / "README.md").unlink()
    report = kb.add([notes / "people"], Options(prune=True))
    assert (report.removed, report.unchanged) == (1, 1)
    assert "README.md" in ids(kb, DOCUMENTS)


def test_prune_spares_what_cannot_be_read(kb: KnowledgeBase, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb.add([notes])
    scandir = os.scandir

    def refuse(path: bytes) -> object:
        if os.fsdecode(path).endswith("people"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = kb.add([notes], Options(prune=True))
    assert (report.removed, report.gone, [remark.path for remark in report.skipped]) == (0, [], ["people/"])
    assert kb.totals()["documents"] == 4


def test_dry_run_lists_and_writes_nothing(run: Run, vault: Vault, tmp_path: Path) -> None:
    folder = vault(NOTES)
    result = run("add", folder, "--dry-run")
    assert result.stdout.splitlines() == [
        "new      README.md",
        "new      deep/README.md",
        "new      people/Mira.md",
        "new      people/Otto.md",
        "Would be: 4 new",
    ]
    assert not list((tmp_path / "user").glob("*.db"))
    run("add", folder)
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db") as kb:
        before = dump(kb.connection)
    (folder / "README.md").rename(folder / "START.md")
    (folder / "people/Mira.md").unlink()
    vault({"people/Otto.md": "changed", "new.md": "new"})
    result = run("add", folder, "--dry-run", "--prune")
    assert result.stdout.splitlines() == [
        "renamed  README.md → START.md",
        "new      new.md",
        "changed  people/Otto.md",
        "remove   people/Mira.md",
        "Would be: 1 new, 1 changed, 1 renamed, 1 unchanged, 1 removed",
    ]
    run("add", "-", "--dry-run", "--name", "x.md", input="text")
    run("add", folder.parent, "--dry-run")
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db") as kb:
        assert dump(kb.connection) == before


# -- which source -------------------------------------------------------------------------------


def test_two_folders_of_one_name_are_two_sources(kb: KnowledgeBase, vault: Vault) -> None:
    one = vault({"n.md": "one [[m]]", "m.md": "x"}, "a/notes")
    two = vault({"n.md": "two [[m]]", "m.md": "y"}, "b/notes")
    kb.add([one, two])
    names = [tuple(row) for row in kb.connection.execute("SELECT name, root FROM kg_sources ORDER BY name")]
    assert names == [("notes", str(one)), ("notes-2", str(two))]
    assert sorted(ids(kb, "SELECT uri, id FROM kg_documents")) == [
        "notes-2/m.md", "notes-2/n.md", "notes/m.md", "notes/n.md",
    ]  # fmt: skip
    assert facts(kb) == {("notes/n", "links_to", "notes/m"), ("notes-2/n", "links_to", "notes-2/m")}
    assert kb.check() == []


def test_what_was_skipped_is_listed_with_its_own_source(kb: KnowledgeBase, vault: Vault) -> None:
    binary = bytes(range(32)) * 9
    kb.add([vault({"a.md": binary}, "one"), vault({"b.md": binary, "c.md": "x"}, "two")])
    rows = kb.connection.execute(
        "SELECT s.name, k.path FROM kg_skipped k JOIN kg_sources s ON s.id = k.source ORDER BY 1, 2"
    )
    assert [tuple(row) for row in rows] == [("one", "a.md"), ("two", "b.md")]


def test_a_file_and_then_its_folder_is_one_document(kb: KnowledgeBase, notes: Path) -> None:
    assert kb.add([notes / "README.md"]).new == 1
    before = ids(kb, DOCUMENTS)
    report = kb.add([notes])
    assert (report.new, report.unchanged) == (3, 1)
    assert ids(kb, DOCUMENTS)["README.md"] == before["README.md"]
    assert kb.add([notes / "README.md"]).unchanged == 1
    assert kb.add([notes / "people", notes / "deep/README.md"]).unchanged == 3
    assert len(kb.connection.execute("SELECT 1 FROM kg_sources").fetchall()) == 1


def test_a_file_of_a_vault_belongs_to_the_vault(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({**NOTES, ".obsidian/app.json": "{}"})
    kb.add([folder / "people/Mira.md"])
    assert [row[0] for row in kb.connection.execute("SELECT uri FROM kg_documents")] == ["vault/people/Mira.md"]
    assert [row[0] for row in kb.connection.execute("SELECT dialect FROM kg_sources")] == ["obsidian"]


def test_a_source_inside_a_new_folder_is_taken_in(kb: KnowledgeBase, notes: Path) -> None:
    kb.add([notes / "people"])
    before = set(ids(kb, "SELECT name, id FROM kg_documents").items())
    report = kb.add([notes])
    assert (report.new, report.gone) == (2, [])
    assert set(ids(kb, "SELECT name || path, id FROM kg_documents").values()) >= {id_ for _, id_ in before}
    assert [row[0] for row in kb.connection.execute("SELECT name FROM kg_sources")] == ["vault"]
    with KnowledgeBase.in_memory() as other:
        other.add([notes])
        assert differences(natural(other), natural(kb)) == []
    assert kb.check() == []


def test_a_folder_inside_a_known_source_is_part_of_it(kb: KnowledgeBase, notes: Path, vault: Vault) -> None:
    kb.add([notes])
    vault({"people/Pia.md": "x"})
    report = kb.add([notes / "people"])
    assert (report.new, report.unchanged) == (1, 2)
    assert "people/Pia.md" in ids(kb, DOCUMENTS)


def test_standard_input_is_a_document_that_can_change(run: Run, tmp_path: Path) -> None:
    assert "Notes: 1 new" in run("add", "-", "--name", "clip", input="See [[Mira]].").stdout
    assert "Notes: 1 unchanged" in run("add", "-", "--name", "clip", input="See [[Mira]].").stdout
    assert "Notes: 1 changed" in run("add", "-", "--name", "clip.md", input="See [[Otto]].").stdout
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db") as kb:
        assert evidence(kb) == [("clip.md", 1, "triple", "clip", "links_to", "Otto")]
        assert [row[0] for row in kb.connection.execute("SELECT uri FROM kg_documents")] == ["stdin/clip.md"]
        assert kb.check() == []
    run("add", "-", tmp_path, exit_code=2)
    assert "is not there" in run("add", tmp_path / "nowhere", exit_code=1).stderr


def test_private_notes_are_marked(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"a.md": "---\nprivate: Yes\n---\n", "b.md": "---\nprivate: no\n---\n", "c.md": "private: yes"})])
    assert ids(kb, "SELECT path, private FROM kg_documents") == {"a.md": 1, "b.md": 0, "c.md": 0}


# -- interruption --------------------------------------------------------------------------------------


def many(number: int = 60, seed: int = 1) -> dict[str, str]:
    """Notes that name each other in every way."""
    chance = random.Random(seed)
    names = [f"Holt {chr(65 + n % 26)}{n}" for n in range(number)]
    return {
        f"{'ab'[n % 2]}/{name}.md": f"---\ntype: {chance.choice(['person', 'place'])}\naliases: [Alias {n}]\n---\n"
        + f"{chance.choice(names)} met [[{chance.choice(names)}]] and Alias {chance.randrange(number)}"
        + " at Kestrel Works.\n\n"
        + f"boss:: [[{chance.choice(names)}]]\n"
        for n, name in enumerate(names)
    }


def undisturbed(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    with KnowledgeBase.in_memory() as kb:
        kb.add([folder])
        return natural(kb)


@pytest.mark.parametrize("at", [1, 2, 31, 60])
def test_a_run_that_fails_is_finished_by_the_next(
    kb: KnowledgeBase, vault: Vault, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    folder = vault(many())
    calls = 0
    document = ingest_module.Ingest._document

    def fail(self: ingest_module.Ingest, *arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == at:
            raise RuntimeError("pulled the plug")
        return document(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ingest_module.Ingest, "_document", fail)
    monkeypatch.setattr("llm_graphrag.sources.writer.BATCH_DOCUMENTS", 7)
    with pytest.raises(RuntimeError, match="pulled the plug"):
        kb.add([folder])
    assert kb.totals()["documents"] == (at - 1) // 7 * 7
    problems = {problem.message for problem in kb.check() if problem.table != "kg_counts"}
    assert all("of an interrupted run" in message for message in problems)
    kb.add([folder])
    assert differences(undisturbed(folder), natural(kb)) == []
    assert kb.check() == []


def test_a_run_that_fails_while_names_are_looked_for(
    kb: KnowledgeBase, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = vault(many())
    monkeypatch.setattr("llm_graphrag.sources.writer.BATCH_DOCUMENTS", 7)
    from llm_graphrag.sources.writer import Writer

    scan, calls = Writer._scan, 0

    def fail(self: Writer, *arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 30:
            raise KeyboardInterrupt
        scan(self, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "_scan", fail)
        with pytest.raises(KeyboardInterrupt):
            kb.add([folder])
    assert kb.connection.execute("SELECT count(*) FROM kg_documents WHERE scanned = 0").fetchone()[0] == 32
    assert kb.add([folder]).unchanged == 60
    assert differences(undisturbed(folder), natural(kb)) == []
    assert kb.check() == []


ADD = """
import sys
from llm_graphrag.sources import writer
writer.BATCH_DOCUMENTS = 5
from llm_graphrag.knowledge_base import KnowledgeBase
with KnowledgeBase.open(sys.argv[1], create=True) as kb:
    print("open", flush=True)
    kb.add([sys.argv[2]], progress=lambda stage, done, total: print(stage, flush=True))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_run_that_is_killed_is_finished_by_the_next(vault: Vault, tmp_path: Path) -> None:
    folder = vault(many())
    wanted = undisturbed(folder)
    chance = random.Random(5)
    killed = 0
    for number in range(5):
        path = tmp_path / f"killed-{number}.db"
        process = subprocess.Popen([sys.executable, "-c", ADD, path, folder], stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(chance.randrange(2, 22)):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        process.stdout.close()
        with KnowledgeBase.open(path) as kb:
            assert [p for p in kb.check() if p.table in ("file", "kg_chunks_fts", "kg_names_fts", "kg_evidence")] == []
            kb.add([folder])
            assert differences(wanted, natural(kb)) == []
            assert kb.check() == []
    assert killed >= 3


def test_two_processes_at_once(vault: Vault, tmp_path: Path) -> None:
    one, two = vault(many(40), "one"), vault(many(40, seed=2), "two")
    path = tmp_path / "both.db"
    running = [
        subprocess.Popen([sys.executable, "-c", ADD, path, folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for folder in (one, two, one)
    ]
    errors = [process.communicate(timeout=100)[1].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], errors
    with KnowledgeBase.open(path) as kb, KnowledgeBase.in_memory() as alone:
        assert kb.totals()["documents"] == 80
        kb.add([one, two])
        alone.add([one, two])
        assert differences(natural(alone), natural(kb)) == []
        assert kb.check() == []


# -- order does not matter: see test_order.py ---------------------------------------------------------------


def test_a_note_may_be_added_in_pieces(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault(NOTES)
    with KnowledgeBase.in_memory() as other:
        for path in sorted(folder.rglob("*.md"), reverse=True):
            other.add([write_notes(folder, {}), path])
        kb.add([folder])
        assert differences(natural(kb), natural(other)) == []


def test_private_notes_stay_private_until_told_otherwise(kb: KnowledgeBase, vault: Vault) -> None:
    def private() -> dict[str, int]:
        return ids(kb, "SELECT path, private FROM kg_documents")

    root = vault({"a.md": "One.", "b.md": "Two."})
    kb.add([root], Options(private=True))
    (root / "a.md").write_text("One, changed.")
    (root / "c.md").write_text("New in a private folder.")
    assert kb.add([root]).changed == 1
    assert private() == {"a.md": 1, "b.md": 1, "c.md": 1}
    assert kb.add([root / "a.md"], Options(private=False)).changed == 1  # though its text is as it was
    (root / "a.md").write_text("One, changed again.")
    (root / "c.md").write_text("---\nprivate: true\n---\nIt says so itself.")
    kb.add([root])
    assert private() == {"a.md": 0, "b.md": 1, "c.md": 1}
    kb.add([root], Options(private=False))
    assert private() == {"a.md": 0, "b.md": 0, "c.md": 1}
    (root / "c.md").write_text("It does not say so any more.")
    (root / "d.md").write_text("New in a folder that is public.")
    kb.add([root])
    assert private() == {"a.md": 0, "b.md": 0, "c.md": 0, "d.md": 0}
    assert kb.add([root], Options(private=True)).changed == 4 and set(private().values()) == {1}
    assert kb.add([root], Options(private=True)).unchanged == 4


def test_rows_stay_private_until_told_otherwise(kb: KnowledgeBase, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("id,name,text\n1,Ada,counts\n")
    kb.add([table], Options(private=True))
    table.write_text("id,name,text\n1,Ada,counts on\n2,Ben,is new\n")
    kb.add([table])
    assert ids(kb, "SELECT path, private FROM kg_documents") == {"1": 1, "2": 1}
    kb.add([table], Options(private=False))
    table.write_text("id,name,text\n1,Ada,counts\n2,Ben,is new\n3,Cleo,too\n")
    kb.add([table])
    assert ids(kb, "SELECT path, private FROM kg_documents") == {"1": 0, "2": 0, "3": 0}
