"""Files that broke other tools, from the folder to the rows: encodings, links, odd names, empty notes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run, Vault
from rows import counts, dump, entities, evidence, facts, holds

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources.ingest import Options

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="names and locales that other systems refuse")


def texts(kb: KnowledgeBase) -> dict[str, str]:
    """The whole text of every document by path, as SQLite holds it."""
    rows = kb.connection.execute(
        """SELECT d.path, group_concat(c.text, '') FROM kg_documents d
           LEFT JOIN (SELECT * FROM kg_chunks ORDER BY seq) c ON c.document = d.id GROUP BY d.id ORDER BY d.path"""
    )
    return {path: text or "" for path, text in rows}


def added_again_changes_nothing(kb: KnowledgeBase, folder: Path) -> None:
    before, changes = dump(kb.connection), kb.connection.total_changes
    report = kb.add([folder])
    assert report.written == 0 and report.unchanged == len(texts(kb))
    assert (dump(kb.connection), kb.connection.total_changes) == (before, changes)


# -- 001: one byte that is not UTF-8 ------------------------------------------------


def test_001_every_readable_note_is_stored_and_the_rest_is_listed(vault: Vault, run: Run) -> None:
    folder = vault(
        {
            "a.md": "# Jam\nRøde bær from [[Ana]].",
            "b.md": b"Chapters 3 \x96 5, \x93so they say\x94.",
            "c.txt": "Löwe sees Zoë.".encode("latin-1"),
            "d.md": bytes(range(256)),
            "z.md": "The last note, on Ben Abara.",
        }
    )
    result = run("add", folder, exit_code=3)
    assert "Notes: 4 new, 1 skipped" in result.stdout
    assert "Skipped: d.md: not text: neither UTF-8 nor cp1252 at byte 129" in result.stderr
    assert "Warning: b.md: not UTF-8 at byte 11, read as cp1252" in result.stderr
    assert "Warning: c.txt: not UTF-8 at byte 1, read as cp1252" in result.stderr
    status = json.loads(run("status", "--json").stdout)
    assert [(row["path"], row["reason"]) for row in status["skipped"]] == [
        ("vault/d.md", "not text: neither UTF-8 nor cp1252 at byte 129")
    ]
    with KnowledgeBase.open(status["database"]) as kb:
        assert texts(kb) == {
            "a.md": "# Jam\nRøde bær from [[Ana]].",
            "b.md": "Chapters 3 – 5, “so they say”.",
            "c.txt": "Löwe sees Zoë.",
            "z.md": "The last note, on Ben Abara.",
        }
        assert kb.check() == []


def test_001_a_file_that_cannot_be_read_stays_listed_and_is_read_when_it_can(vault: Vault, run: Run) -> None:
    folder = vault({"a.md": "fine", "b.md": b"\x00\x01\x02\x03\x04\x05\x06" * 9})
    run("add", folder, exit_code=3)
    assert "Notes: 1 unchanged, 1 skipped" in run("add", folder, exit_code=3).stdout
    assert len(json.loads(run("status", "--json").stdout)["skipped"]) == 1
    vault({"b.md": "now it is text"})
    assert "Notes: 1 new, 1 unchanged" in run("add", folder).stdout
    assert json.loads(run("status", "--json").stdout)["skipped"] == []


def test_001_a_note_that_turns_unreadable_keeps_what_was_read_of_it(vault: Vault, run: Run) -> None:
    folder = vault({"a.md": "Ana met [[Ben]].", "b.md": "x"})
    run("add", folder)
    vault({"a.md": b"\x00\x01\x02\x03\x04\x05\x06" * 9})
    run("add", folder, "--prune", exit_code=3)
    with KnowledgeBase.open(json.loads(run("status", "--json").stdout)["database"]) as kb:
        assert texts(kb) == {"a.md": "Ana met [[Ben]].", "b.md": "x"}
        assert kb.check() == []


# -- 002: the platform's default encoding ---------------------------------------------

NOTE = "# Øl\nJørgen drikker pilsner på Nørrebro med [[Åse]]. 🍺\n"


def ascii_locale(home: Path) -> dict[str, str]:
    return {
        **{key: value for key, value in os.environ.items() if key not in ("LC_CTYPE", "LANG", "PYTHONIOENCODING")},
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "LLM_USER_PATH": str(home),
    }


def in_ascii_locale(home: Path, *arguments: object, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    script = "from llm_graphrag.plugin import graphrag; graphrag(prog_name='llm graphrag')"
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, env=ascii_locale(home), input=input, capture_output=True, check=False, timeout=60)


@LINUX
def test_002_a_folder_in_an_ascii_locale(vault: Vault, kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = vault({"øl.md": NOTE, "b.md": b"Caf\xe9"})
    done = in_ascii_locale(tmp_path / "user", "add", folder, "-v")
    assert done.returncode == 0, done.stderr
    assert b"Notes: 2 new" in done.stdout
    kb.add([folder])
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db") as other:
        assert texts(other) == texts(kb) == {"b.md": "Café", "øl.md": NOTE}
        assert entities(other) == entities(kb)
        assert facts(other) == facts(kb) >= {("øl", "links_to", "Åse")}
        paths = [row[0] for row in other.connection.execute("SELECT path FROM kg_documents ORDER BY path")]
        assert paths == ["b.md", "øl.md"]
    again = in_ascii_locale(tmp_path / "user", "add", folder)
    assert b"Notes: 2 unchanged" in again.stdout


@LINUX
def test_002_standard_input_in_an_ascii_locale(tmp_path: Path) -> None:
    done = in_ascii_locale(tmp_path / "user", "add", "-", "--name", "øl.md", input=NOTE.encode())
    assert done.returncode == 0, done.stderr
    with KnowledgeBase.open(tmp_path / "user" / "graphrag.db") as kb:
        assert texts(kb) == {"øl.md": NOTE}
        assert facts(kb) >= {("øl", "links_to", "Åse")}


@LINUX
def test_002_printing_cannot_crash(vault: Vault, run: Run, tmp_path: Path) -> None:
    folder = vault({"øl 🍺.md": NOTE, "ødelagt.md": b"\x00\x01\x02\x03\x04\x05\x06" * 9}, "mappe ø")
    run("add", folder, exit_code=3)
    vault({"øl 🍺.md": "changed, so that it is listed"}, "mappe ø")
    for command in (["add", "--dry-run", folder], ["status"], ["remove", folder]):
        done = in_ascii_locale(tmp_path / "user", *command)
        assert done.returncode in (0, 3), done.stderr
        assert "øl 🍺.md" in done.stdout.decode()  # click writes UTF-8 where the locale says ASCII
    run("add", folder, exit_code=3)
    done = in_ascii_locale(tmp_path / "user", "status", "--json")
    assert json.loads(done.stdout)["skipped"][0]["path"] == "mappe ø/ødelagt.md"


# -- 004: notes of white space ----------------------------------------------------------


def test_004_empty_notes_are_documents_without_chunks(vault: Vault, run: Run) -> None:
    folder = vault(
        {
            "1.md": "",
            "2.md": " \n\t\n \n",
            "3.md": b"\xef\xbb\xbf",
            "4.md": "\u200b\n",
            "5.md": "Mira mends kettles.",
        }
    )
    result = run("add", folder)
    assert "Notes: 5 new" in result.stdout
    with KnowledgeBase.open(json.loads(run("status", "--json").stdout)["database"]) as kb:
        rows = kb.connection.execute(
            """SELECT d.path, count(c.id) FROM kg_documents d LEFT JOIN kg_chunks c ON c.document = d.id
               GROUP BY d.id ORDER BY d.path"""
        )
        assert [tuple(row) for row in rows] == [("1.md", 0), ("2.md", 0), ("3.md", 0), ("4.md", 0), ("5.md", 1)]
        assert kb.check() == []
        added_again_changes_nothing(kb, folder)
        (folder / "2.md").unlink()
        assert kb.add([folder], Options(prune=True)).removed == 1
        assert kb.totals()["documents"] == 4 and kb.check() == []


def test_004_empty_notes_of_one_content_are_not_renamed_into_each_other(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault({"a.md": ""})
    kb.add([folder])
    (folder / "a.md").unlink()
    vault({"b.md": ""})
    report = kb.add([folder])
    assert (report.new, report.renamed, report.gone) == (1, 0, ["vault/a.md"])


# -- 005 and 006: symbolic links -----------------------------------------------------


def test_005_links_that_loop_are_reported_once(vault: Vault, run: Run) -> None:
    folder = vault({"sub/note.md": "The one note."})
    (folder / "self").symlink_to("self")
    (folder / "sub" / "loop").symlink_to("..")
    result = run("add", folder, exit_code=3)
    assert "Notes: 1 new, 2 skipped" in result.stdout
    lines = [line for line in result.stderr.splitlines() if line.startswith("Skipped")]
    assert lines == ["Skipped: self: link that loops", "Skipped: sub/loop: link that loops"]
    with KnowledgeBase.open(json.loads(run("status", "--json").stdout)["database"]) as kb:
        assert texts(kb) == {"sub/note.md": "The one note."}


def test_006_a_link_out_of_the_folder_is_followed_on_request_only(vault: Vault, kb: KnowledgeBase) -> None:
    vault({"private.md": "HIDDEN-FROM-VIEW lives here."}, "beside")
    folder = vault({"note.md": "Within."})
    (folder / "out").symlink_to("../beside")
    (folder / "out too").symlink_to("../beside")
    report = kb.add([folder])
    assert [(remark.path, "not followed" in remark.message) for remark in report.skipped] == [
        ("out", True),
        ("out too", True),
    ]
    assert texts(kb) == {"note.md": "Within."}
    assert holds(kb, "HIDDEN-FROM-VIEW") == []
    followed = kb.add([folder], Options(follow=True))
    assert (followed.new, followed.unchanged, len(followed.skipped)) == (1, 1, 1)
    assert texts(kb) == {"note.md": "Within.", "out/private.md": "HIDDEN-FROM-VIEW lives here."}
    assert kb.check() == []


# -- 009: names of files ------------------------------------------------------------------

NAMES = [b"new\nline.md", b'the "best".md', "🎈 day.md".encode(), b"-rf.md", b"50%25 off.md", b"F# notes.md",
         b"end...md", b"b" * 247 + b".md", b"x; DROP TABLE kg_chunks.md", b"$(touch z).md", b"--help.md",
         b"it's.md", b"\\.md"]  # fmt: skip


@LINUX
def test_009_hostile_file_names(vault: Vault, run: Run) -> None:
    folder = vault({})
    for number, name in enumerate([*NAMES, b"bad\xfe name.md"]):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_text(f"number {number} of [[{number}]]\n")
    result = run("add", folder, exit_code=3)
    assert f"Notes: {len(NAMES)} new, 1 skipped" in result.stdout
    assert "Skipped: bad\\udcfe name.md: file name is not valid UTF-8; rename it to have it read" in result.stderr
    with KnowledgeBase.open(json.loads(run("status", "--json").stdout)["database"]) as kb:
        assert {path: text.split()[1] for path, text in texts(kb).items()} == {
            name.decode(): str(number) for number, name in enumerate(NAMES)
        }
        assert kb.check() == []
        added_again_changes_nothing(kb, folder)
        for name in NAMES:
            assert kb.remove([f"vault/{name.decode()}"]) == [f"vault/{name.decode()}"]
        # What could not be read stays listed; of the notes nothing is left.
        assert set(counts(kb)) <= {"kg_sources", "kg_skipped", "kg_changes", "kg_settings"}
    listing = run("status").stdout
    assert "bad\\udcfe name.md" in listing and "\udcfe" not in listing
    assert not (folder / "z").exists()


# -- 012: CRLF, BOM and NUL -----------------------------------------------------------------


def test_012_crlf_bom_and_nul(vault: Vault, kb: KnowledgeBase) -> None:
    folder = vault(
        {
            "crlf.md": b"\xef\xbb\xbf---\r\ntitle: Nora\r\ntags: [x, y]\r\nfriend: [[Otto]]\r\n---\r\nMet [[Sam]]\r\n",
            "nul.md": b"Alpha Works\x00Beta Works met Gamma Works.",
            "wide.md": "﻿A note of [[Sam]] in UTF-16.\r\n".encode("utf-16-le"),
        }
    )
    report = kb.add([folder])
    assert {remark.path: remark.message for remark in report.warnings} == {"nul.md": "1 NUL replaced by U+FFFD"}
    assert evidence(kb, "d.path = 'crlf.md'") == [
        ("crlf.md", 2, "attribute", "crlf", "title", "Nora"),
        ("crlf.md", 2, "alias", "crlf", "alias", "Nora"),
        ("crlf.md", 3, "attribute", "crlf", "tagged", "x"),
        ("crlf.md", 3, "attribute", "crlf", "tagged", "y"),
        ("crlf.md", 4, "triple", "crlf", "friend", "Otto"),
        ("crlf.md", 6, "triple", "crlf", "links_to", "Sam"),
    ]
    assert evidence(kb, "d.path = 'wide.md'") == [("wide.md", 1, "triple", "wide", "links_to", "Sam")]
    for row in kb.connection.execute("SELECT text, length(text) FROM kg_chunks"):
        assert len(row[0]) == row[1]
    for table in ("kg_entities", "kg_aliases"):
        for (name,) in kb.connection.execute(f"SELECT name FROM {table}"):
            assert not set(name) & set("\r\0\ufeff\n")
    assert len([1 for name, _ in entities(kb) if name == "Sam"]) == 1
    assert kb.check() == []
    added_again_changes_nothing(kb, folder)
