"""What changed: the log that every run leaves, and what history makes of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fake_reading
import pytest
from conftest import Run, Vault, write_notes
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import holds
from scripted_model import ScriptedModel, llm_user, scripted  # noqa: F401 - fixtures
from test_order import MATTER, PARTS, PATHS, PRUNE, SLOW, Step, apply, histories

from llm_graphrag.extract.commit import Committer
from llm_graphrag.extract.extract import extract
from llm_graphrag.extract.run import Options as ExtractOptions
from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller
from llm_graphrag.review import merges
from llm_graphrag.review.history import Changed, Fact, Note, Renamed, Valued, history
from llm_graphrag.review.runs import Counts, runs
from llm_graphrag.sources.ingest import Options
from llm_graphrag.store import history as log
from llm_graphrag.store.connection import transaction

State = dict[tuple[str, ...], tuple[int, float | None]]


def state(kb: KnowledgeBase) -> State:
    """All facts by natural key, with their evidence and confidence."""
    rows = kb.connection.execute(
        "SELECT kind, head, head_type, relation, tail, tail_type, evidence, confidence FROM kg_facts"
    )
    return {tuple(row)[:6]: (row["evidence"], row["confidence"]) for row in rows}


def notes(kb: KnowledgeBase) -> dict[str, str]:
    return dict(kb.connection.execute("SELECT uri, content_hash FROM kg_documents").fetchall())


def last_run(kb: KnowledgeBase) -> int:
    return int(kb.connection.execute("SELECT coalesce(max(id), 0) FROM kg_runs").fetchone()[0])


def attribute(head: str, relation: str, value: str, type_: str = "") -> Fact:
    return Fact("attribute", head, type_, relation, value, "")


def triple(head: str, relation: str, tail: str, head_type: str = "", tail_type: str = "") -> Fact:
    return Fact("triple", head, head_type, relation, tail, tail_type)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(tmp_path / "kb.db", create=True) as opened:
        opened.set(embedding_model="")
        yield opened


# -- the log is exact ----------------------------------------------------------------------


def replayed(kb: KnowledgeBase, after: int, facts: State, files: dict[str, str]) -> tuple[State, dict[str, str]]:
    """What facts and notes are, by the log of the runs after ``after``, if they were so before."""
    facts, files = dict(facts), dict(files)
    for run in sorted(runs(kb.connection), key=lambda run: run.id):
        if run.id <= after:
            continue
        assert run.listed, run
        for row in kb.connection.execute("SELECT * FROM kg_fact_log WHERE run = ?", [run.id]):
            key = tuple(row[name] for name in ("kind", "head", "head_type", "relation", "tail", "tail_type"))
            before, now = ((row[f"evidence{e}"], row[f"confidence{e}"]) for e in ("_before", ""))
            assert facts.pop(key, (0, None)) == before != now, key
            if now[0]:
                facts[key] = now
        rows = kb.connection.execute("SELECT * FROM kg_note_log WHERE run = ?", [run.id]).fetchall()
        for row in rows:
            assert (row["uri_before"], row["hash_before"]) != (row["uri"], row["hash"])
            if row["uri_before"] is not None:
                assert files.pop(row["uri_before"]) == row["hash_before"]
        files.update((row["uri"], row["hash"]) for row in rows if row["uri"] is not None)
    return facts, files


@contextmanager
def named_readings() -> Iterator[None]:
    """Readings of the fake model are runs of their own, as those of ``extract`` are."""

    class Reading(Committer):
        def __init__(self, connection: Any) -> None:
            super().__init__(connection)
            self.settlement.run = log.Run("extract")

    before, fake_reading.Committer = fake_reading.Committer, Reading
    try:
        yield
    finally:
        fake_reading.Committer = before


def check_history(steps: Sequence[Step], reads: Sequence[bool]) -> None:
    """After every step the log explains what has changed since the one before, and all of them what has since then."""
    with tempfile.TemporaryDirectory() as folder, KnowledgeBase.in_memory() as kb, named_readings():
        kb.set(embedding_model="")
        fake_reading.give_schema(kb)
        root = write_notes(Path(folder).resolve() / "v", {"first.md": "[[Mira]] and Otto. size:: 12"})
        kb.add([root])
        beginning = (last_run(kb), state(kb), notes(kb))
        for step, reads_now in zip(steps, reads, strict=False):
            before = (last_run(kb), state(kb), notes(kb))
            apply(root, step)
            kb.add([root], PRUNE)
            assert replayed(kb, *before) == (state(kb), notes(kb)), step
            if reads_now:
                before = (last_run(kb), state(kb), notes(kb))
                fake_reading.read_all(kb)
                assert replayed(kb, *before) == (state(kb), notes(kb)), ("read after", step)
        assert replayed(kb, *beginning) == (state(kb), notes(kb))
        told = history(kb.connection)
        added, gone = state(kb).keys() - beginning[1].keys(), beginning[1].keys() - state(kb).keys()
        values = len(told.values)
        assert len(told.added) + values - len(added) == len(told.gone) + values - len(gone) <= 0
        assert {fact_key(fact) for fact in told.added} <= added and {fact_key(fact) for fact in told.gone} <= gone


def fact_key(fact: Fact) -> tuple[str, ...]:
    return (fact.kind, fact.head, fact.head_type, fact.relation, fact.tail, fact.tail_type)


@given(histories(PATHS, PARTS, MATTER), st.lists(st.booleans(), min_size=6, max_size=6))
@settings(SLOW, max_examples=40)
def test_the_log_adds_up_to_the_difference(steps: list[Step], reads: list[bool]) -> None:
    check_history(steps, reads)


def test_a_whole_batch_is_one_run_and_what_comes_and_goes_leaves_nothing(
    kb: KnowledgeBase, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_graphrag.sources.writer.BATCH_DOCUMENTS", 1)
    kb.add([vault({"a.md": "size:: 1"})])
    # In a batch of its own, b.md links to the unwritten "Z"; then the note Z is written, whose entity has a type.
    kb.add([vault({"b.md": "[[z]]", "z.md": "---\ntype: person\n---\n"})])
    assert last_run(kb) == 2
    rows = kb.connection.execute("SELECT head, relation, tail, tail_type FROM kg_fact_log")
    assert [tuple(row) for row in rows] == [("b", "links_to", "z", "person")]


# -- what a run is ------------------------------------------------------------------------


def test_runs_say_who_did_what_and_nothing_is_left_by_what_changes_nothing(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "size:: 1\n[[b]]", "b.md": "words"})
    kb.add([folder])
    kb.add([folder])
    vault({"a.md": "size:: 2\n[[b]] and [[b]]"})
    kb.add([folder])
    kb.remove(["vault/b.md"])
    found = runs(kb.connection)
    assert [(r.id, r.what, r.listed, r.notes, r.facts) for r in found] == [
        (3, "remove", True, Counts(gone=1), Counts()),
        (2, "add", True, Counts(changed=1), Counts(added=1, gone=1, changed=1)),
        (1, "add", False, Counts(added=2), Counts(added=2)),
    ]
    assert {run.actor for run in found} == {log.who()}
    told = history(kb.connection, run=2)
    assert told.notes == [Note("vault/a.md", "vault/a.md", True)]
    assert told.values == [Valued("a", "", "size", "1", "2")]
    assert told.changed == [Changed(triple("a", "links_to", "b"), 1, 2, 1.0, 1.0)]
    assert (told.added, told.gone) == ([], [])


def test_changes_that_cancel_out_are_not_told(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "size:: 1\n[[b]]", "c.md": "x"})
    kb.add([folder])
    vault({"a.md": "size:: 2\n[[d]]"})
    kb.add([folder])
    vault({"a.md": "size:: 1\n[[b]]"})
    kb.add([folder])
    assert history(kb.connection, last=2).added == history(kb.connection, last=2).gone == []
    assert history(kb.connection, last=2).notes == []
    assert history(kb.connection, last=1).added == [triple("a", "links_to", "b")]


def test_a_renamed_note_and_a_type_are_told_as_what_they_are(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"Mira.md": "size:: 1", "b.md": "[[Mira]]\n[[Otto]]"})
    kb.add([folder])
    (folder / "Mira.md").rename(folder / "Mira Holt.md")
    vault({"b.md": "[[Mira Holt]]\n[[Otto]]"})
    kb.add([folder])
    told = history(kb.connection, last=1)
    assert told.renamed == [Renamed("Mira", "", "Mira Holt", "", 2)]
    assert (told.added, told.gone) == ([], [])
    assert Note("vault/Mira.md", "vault/Mira Holt.md", False) in told.notes
    vault({"Mira Holt.md": "---\ntype: person\n---\nsize:: 1"})
    kb.add([folder])
    told = history(kb.connection, last=1)
    assert told.renamed == [Renamed("Mira Holt", "", "Mira Holt", "person", 2)]
    assert (told.added, told.gone, told.changed) == ([], [], [])


def test_a_note_that_is_removed_and_added_again_has_not_changed(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "x", "b.md": "y"})
    kb.add([folder])
    kb.remove(["vault/a.md"])
    kb.add([folder])
    assert history(kb.connection, last=2).notes == []
    assert history(kb.connection, last=1).notes == [Note(None, "vault/a.md", False)]


def test_extraction_is_a_run_with_its_model(kb: KnowledgeBase, vault: Vault, scripted: Any) -> None:  # noqa: F811
    reply = {
        "entities": [{"name": "Mira", "type": "person"}, {"name": "Otto", "type": "person"}],
        "triples": [{"head": "Mira", "relation": "knows", "tail": "Otto", "chunk": 1, "quote": "Mira knows Otto."}],
    }
    scripted(json.dumps(reply))
    kb.use_schema(load_template("general"), "test")
    kb.add([vault({"a.md": "Mira knows Otto."})])
    with Ledger.open(kb.path) as ledger:
        extract(kb.connection, kb.settings, Caller("scripted", ledger, log=False), ExtractOptions())
    run = runs(kb.connection)[0]
    assert (run.what, run.detail, run.facts) == ("extract", "scripted", Counts(added=1))
    assert history(kb.connection, last=1).added == [triple("Mira", "knows", "Otto", "person", "person")]
    assert kb.replay().kept == 3
    assert last_run(kb) == run.id


def test_merges_are_runs_with_who_decided(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"Mira.md": "size:: 1", "a.md": "[[M. Holt]]", "b.md": "x"})
    kb.add([folder])
    merges.merge(kb.connection, kb.settings, "Mira", "M. Holt", actor="ana")
    run = runs(kb.connection)[0]
    assert (run.what, run.actor, run.detail, run.listed) == ("merge", "ana", "Mira = M. Holt", True)
    told = history(kb.connection, last=1)
    assert (told.gone, told.added) == ([triple("a", "links_to", "M. Holt")], [triple("a", "links_to", "Mira")])
    assert [(d.actor, d.what) for d in told.decisions] == [("ana", "approve merge: Mira = M. Holt")]


def test_schema_versions_and_decisions_stand_with_the_runs_they_came_before(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "employer: x"})
    kb.add([folder])
    kb.use_schema(load_template("contacts"), "ana", "people")
    vault({"a.md": "---\nemployer: Kestrel\n---\n"})
    kb.add([folder])
    kb.use_schema(load_template("recipes"), "otto")
    assert [d.actor for d in history(kb.connection, run=1).schema] == []
    assert [(d.actor, d.note) for d in history(kb.connection, run=2).schema] == [("ana", "people"), ("otto", "")]
    kb.add([folder])
    assert [d.actor for d in history(kb.connection, run=2).schema] == ["ana"]
    [version] = history(kb.connection, run=3).schema
    assert version.actor == "otto" and version.what.startswith("version 2: added ") and "more" in version.what
    assert [d.actor for d in history(kb.connection, last=2).schema] == ["ana", "otto"]
    assert len(history(kb.connection, since="2020").schema) == 2
    assert history(kb.connection, since="2999").schema == history(kb.connection, since="2999").runs == []


# -- what is kept --------------------------------------------------------------------------


def test_the_first_run_is_counted_and_adds_next_to_nothing(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({f"{n}.md": f"[[{n + 1}]]\nsize:: {n}" for n in range(300)})])
    [run] = runs(kb.connection)
    assert (run.listed, run.notes, run.facts) == (False, Counts(added=300), Counts(added=len(state(kb))))
    for table in ("kg_fact_log", "kg_note_log"):
        assert kb.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
    assert history(kb.connection, run=1).counted == [1]


def test_long_runs_are_counted_and_so_are_old_ones_where_there_are_many(
    kb: KnowledgeBase, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MAX_RUN", 5)
    monkeypatch.setattr("llm_graphrag.sources.writer.BATCH_DOCUMENTS", 1)
    folder = vault({"a.md": "x"})
    kb.add([folder])
    vault({"b.md": "\n".join(f"[[{n}]]" for n in range(4))})
    kb.add([folder])
    assert len(history(kb.connection, run=2).added) == 4
    vault({"c.md": "\n".join(f"[[{n}]]" for n in range(5)), "d.md": "size:: 1", "e.md": "size:: 2"})
    kb.add([folder])
    assert [(r.listed, r.notes, r.facts) for r in runs(kb.connection)] == [
        (False, Counts(added=3), Counts(added=7)),
        (True, Counts(added=1), Counts(added=4)),
        (False, Counts(added=1), Counts()),
    ]
    assert history(kb.connection, last=2).counted == [3]
    assert history(kb.connection, run=3).added == []
    monkeypatch.setattr(log, "MAX_ROWS", 7)
    vault({"f.md": "[[1]]"})
    kb.add([folder])
    assert [r.listed for r in runs(kb.connection)] == [True, False, True, False]
    vault({"g.md": "[[1]]"})
    kb.add([folder])
    vault({"h.md": "[[1]]"})
    kb.add([folder])
    assert [r.listed for r in runs(kb.connection)] == [True, True, True, False, False, False]
    assert runs(kb.connection)[4].facts == Counts(added=4)


def test_only_the_last_runs_are_kept(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "x"})
    for number in range(6):
        vault({"a.md": f"size:: {number}"})
        kb.add([folder])
    assert log.keep(kb.connection, 3) == 3
    assert [run.id for run in runs(kb.connection)] == [6, 5, 4]
    vault({"a.md": "size:: 99"})
    kb.add([folder])
    assert [run.id for run in runs(kb.connection)] == [7, 6, 5]
    assert {row[0] for row in kb.connection.execute("SELECT DISTINCT run FROM kg_fact_log")} == {5, 6, 7}
    with pytest.raises(ValueError, match=r"There is no run 2\. Runs 5 to 7 are kept"):
        history(kb.connection, run=2)
    assert log.keep(kb.connection, 0) == 3
    vault({"a.md": "size:: 100"})
    kb.add([folder])
    assert runs(kb.connection) == []


def test_the_log_goes_with_the_last_note(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "x"})
    kb.add([folder])
    vault({"a.md": "Mira Holt. [[Otto]]"})
    kb.add([folder])
    kb.remove(["vault"])
    assert runs(kb.connection) == []
    assert [place for place in holds(kb, "Otto") if "_fts" not in place] == []


def test_what_is_forgotten_is_not_written_down(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "x", "b.md": "y"})
    kb.add([folder])
    vault({"a.md": "[[Pia Quist]]\nsize:: 1"})
    kb.add([folder])
    [entity] = kb.connection.execute("SELECT id FROM kg_entities WHERE name = 'Pia Quist'").fetchone()
    with transaction(kb.connection):
        log.forget(kb.connection, entity)
    kb.forget("Pia Quist")
    assert [place for place in holds(kb, "Pia Quist") if place.startswith("kg_") and "log" in place] == []
    run = runs(kb.connection)[0]
    assert (run.what, run.listed, run.facts) == ("change", False, Counts(gone=1))
    assert history(kb.connection, run=2).added == [attribute("a", "size", "1")]


def test_a_run_that_is_rolled_back_leaves_nothing(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "size:: 1", "b.md": "x"})
    kb.add([folder])
    before = state(kb)
    with pytest.raises(ZeroDivisionError), transaction(kb.connection):
        kb.remove(["vault/a.md"])
        1 / 0  # noqa: B018
    assert (last_run(kb), state(kb)) == (1, before)
    kb.remove(["vault/a.md"])
    assert history(kb.connection, last=1).gone == [attribute("a", "size", "1")]


def test_a_note_that_only_moves_to_another_source_is_logged(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"in/a.md": "size:: 1", "in/b.md": "x"})
    kb.add([folder / "in"])
    kb.add([folder])
    told = history(kb.connection, last=1)
    assert told.notes == [
        Note("in/a.md", "vault/in/a.md", False),
        Note("in/b.md", "vault/in/b.md", False),
    ]


# -- the view and the command -------------------------------------------------------------


def test_the_view(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault({"a.md": "size:: 1\n[[b]]", "b.md": "x"})
    kb.add([folder])
    vault({"a.md": "size:: 2\n[[b]] [[b]]"})
    kb.add([folder], Options())
    rows = kb.connection.execute("SELECT run, what, operation, head, relation, tail FROM kg_history ORDER BY tail")
    assert [tuple(row) for row in rows] == [
        (2, "add", "gone", "a", "size", "1"),
        (2, "add", "added", "a", "size", "2"),
        (2, "add", "changed", "a", "links_to", "b"),
    ]


def test_the_command(run: Run, vault: Vault) -> None:
    folder = vault({"Mira.md": "size:: 1\n[[b]]", "b.md": "x"})
    assert run("init").exit_code == 0
    assert run("history").stdout == "Nothing has changed since the log began.\n"
    run("add", folder)
    vault({"Mira.md": "---\ntype: person\n---\nsize:: 2\n\n[[b]]\n[[b]]", "c.md": "[[evil\x1b[31m]]\nstage:: one"})
    (folder / "b.md").unlink()
    run("add", folder, "--prune")
    listed = run("history").stdout.splitlines()
    assert len(listed) == 3 and listed[0].split()[0] == "2" and "notes +1 -1 ~1" in listed[0]
    assert listed[1].endswith("facts +2  (not listed)")
    shown = run("history", "--last", "1").stdout
    assert "  + vault/c.md\n  ~ vault/Mira.md\n  - vault/b.md\n" not in shown  # by uri, whatever became of it
    assert "Notes (3)\n  ~ vault/Mira.md\n  - vault/b.md\n  + vault/c.md\n" in shown
    assert "  + c stage: one\n" in shown and "\x1b" not in shown
    assert "Values changed (1)\n  Mira (person) size: 1 → 2\n" in shown
    told = json.loads(run("history", "--run", "2", "--json").stdout)
    assert [fact["tail"] for fact in told["added"] if fact["relation"] == "stage"] == ["one"]
    assert [r["id"] for r in told["runs"]] == [2]
    assert [r["id"] for r in json.loads(run("history", "--json").stdout)] == [2, 1]
    assert "Nothing changed." in run("history", "--since", "2999").stdout


def test_the_command_says_what_is_wrong(run: Run, vault: Vault) -> None:
    run("add", vault({"a.md": "x"}))
    assert "--since takes a date like 2026-01-31, not '31.1.'" in run("history", "--since", "31.1.", exit_code=1).stderr
    assert "There is no run 9. Runs 1 to 1 are kept" in run("history", "--run", "9", exit_code=1).stderr
    assert "exclude each other" in run("history", "--run", "1", "--last", "1", exit_code=2).stderr
    assert run("history", "--keep", "5").stdout == "Dropped 0 runs. The last 5 are kept.\n"
    assert json.loads(run("history", "--keep", "0", "--json").stdout) == {"keep": 0, "dropped": 1}
    assert run("history").stdout == "Nothing has changed since the log began.\n"


def test_two_logs_of_the_same_history_are_the_same(tmp_path: Path) -> None:
    dumps = []
    for name in ("one", "other"):
        with KnowledgeBase.open(tmp_path / f"{name}.db", create=True) as kb:
            kb.set(embedding_model="")
            folder = write_notes(tmp_path / name / "v", {"a.md": "size:: 1\n[[Mira]]"})
            kb.add([folder])
            write_notes(folder, {"a.md": "size:: 2\n[[mira]]", "Mira.md": "---\ntype: person\n---\n"})
            kb.add([folder])
            dumps.append(
                [
                    [tuple(row) for row in kb.connection.execute(f"SELECT * FROM {table}")]
                    for table in ("kg_fact_log", "kg_note_log")
                ]
            )
    assert dumps[0] == dumps[1] and dumps[0][0]
