"""Walking a folder: what is found, what is left out, and why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from llm_graphrag.sources.dialects import DENDRON, FOAM, LOGSEQ, OBSIDIAN, PLAIN, detect, journal_date, note_name
from llm_graphrag.sources.files import FoundFile, NameWarning, SkippedFile, printable, walk


def write(root: Path, *names: str, text: str = "x\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def found(root: Path, **options: object) -> list[str]:
    return [item.relative for item in walk(root, **options) if isinstance(item, FoundFile)]  # type: ignore[arg-type]


def skipped(root: Path, **options: object) -> dict[str, str]:
    items = [item for item in walk(root, **options) if isinstance(item, SkippedFile)]  # type: ignore[arg-type]
    assert len({item.path for item in items}) == len(items), "reported once each"
    return {item.path: item.reason for item in items}


def test_order_extensions_and_hidden_folders(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.markdown", "a/y.org", "c.txt", "c.png", ".git/x.md", ".obsidian/x.md", ".trash/x.md")
    write(tmp_path, "node_modules/p/readme.md", "logseq/bak/p.md", "D.MD")
    assert found(tmp_path) == ["D.MD", "a/y.org", "a/z.markdown", "b.md", "c.txt"]
    assert skipped(tmp_path) == {"node_modules": "folder of a program", "logseq/bak": "folder of a program"}


def test_links_that_loop(tmp_path: Path) -> None:
    write(tmp_path, "sub/note.md")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "self.md").symlink_to("self.md")
    (tmp_path / "sub" / "loop").symlink_to("..")
    assert found(tmp_path) == ["sub/note.md"]
    assert skipped(tmp_path) == {
        "self": "link that loops",
        "self.md": "link that loops",
        "sub/loop": "link that loops",
    }


def test_links_out_of_the_folder(tmp_path: Path) -> None:
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    write(vault, "note.md")
    write(outside, "secret.md")
    (outside / "back").symlink_to(vault)
    (vault / "one").symlink_to(outside)
    (vault / "two").symlink_to(outside)
    assert found(vault) == ["note.md"]
    assert set(skipped(vault)) == {"one", "two"} and "leaves the folder" in skipped(vault)["one"]
    assert found(vault, follow_outside=True) == ["note.md", "one/secret.md"]
    assert "was read before" in skipped(vault, follow_outside=True)["two"]


def test_a_note_that_is_linked_within_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "real/note.md")
    (tmp_path / "alias.md").symlink_to("real/note.md")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "gone.md").symlink_to("nowhere.md")
    assert found(tmp_path) == ["real/note.md"]
    reasons = skipped(tmp_path)
    assert "which is read there" in reasons["alias.md"] and "which is read there" in reasons["folder"]
    assert reasons["gone.md"] == "link that leads nowhere"


HOSTILE = [b"new\nline.md", b'quo"te.md', "🎈 day.md".encode(), b"-x.md", b"50%25.md", b"F# notes.md", b"end...md",
           b"b" * 246 + b".md", b"x; DROP TABLE y.md", b"$(echo z).md"]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="names that other systems refuse")
def test_hostile_names(tmp_path: Path) -> None:
    for name in [*HOSTILE, b"bad\xfe.md"]:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(b"x")
    assert found(tmp_path) == sorted(name.decode() for name in HOSTILE)
    assert found(tmp_path) == found(tmp_path)
    [(path, reason)] = skipped(tmp_path).items()
    assert "not valid UTF-8" in reason
    assert printable(path) == "bad\\udcfe.md"
    assert printable("new\nline\x1b[2J.md") == "new\\nline\\x1b[2J.md"
    assert all(item.path.is_file() for item in walk(tmp_path) if isinstance(item, FoundFile))


@pytest.mark.skipif(sys.platform == "win32", reason="locales of POSIX")
def test_names_in_an_ascii_locale(tmp_path: Path) -> None:
    write(tmp_path, "øre.md", text="Søren")
    script = (
        "import sys; from llm_graphrag.sources.files import walk; from llm_graphrag.sources.encoding import decode\n"
        "for f in walk(sys.argv[1]): print(ascii(f.relative), ascii(decode(f.path.read_bytes()).text))"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", script, tmp_path], env=environment, capture_output=True, check=True)
    assert done.stdout.decode().strip() == r"'\xf8re.md' 'S\xf8ren'"


def test_templates_and_settings_of_obsidian(tmp_path: Path) -> None:
    write(tmp_path, "Forms/t.md", "Tpl/t.md", "Templates/t.md", "Old/a.md", "Old!/b.md", "keep/Templates/real.md")
    write(tmp_path, ".obsidian/templates.json", text='{"folder": "Forms"}')
    write(tmp_path, ".obsidian/plugins/templater-obsidian/data.json", text='{"templates_folder": "Tpl/"}')
    write(tmp_path, ".obsidian/app.json", text='{"userIgnoreFilters": ["Old!/"]}')
    assert found(tmp_path) == ["Old/a.md", "keep/Templates/real.md"]
    assert skipped(tmp_path)["Old!"] == "excluded in Obsidian's settings"


def test_graphragignore_has_gitignore_syntax(tmp_path: Path) -> None:
    write(tmp_path, "drafts/a.md", "drafts/keep.md", "x.tmp.md", "deep/x.tmp.md", "note.md")
    write(tmp_path, ".graphragignore", text="# comment\ndrafts/*\n!drafts/keep.md\n*.tmp.md\n")
    assert found(tmp_path) == ["drafts/keep.md", "note.md"]
    assert found(tmp_path, ignore=["note.md"]) == ["drafts/keep.md"]
    assert skipped(tmp_path)["drafts/a.md"] == ".graphragignore"


def test_special_large_and_unreadable_files(tmp_path: Path) -> None:
    write(tmp_path, "big.md", text="x" * 200)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.md")
        assert skipped(tmp_path, max_bytes=100)["pipe.md"] == "not a regular file"
    assert skipped(tmp_path, max_bytes=100)["big.md"] == "200 bytes, more than the limit of 100"
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        list(walk(tmp_path / "missing"))


def test_names_that_differ_in_case_are_both_read(tmp_path: Path) -> None:
    write(tmp_path, "config.md", "Config.md")
    if len(list(tmp_path.iterdir())) == 1:
        pytest.skip("file system folds case")
    assert found(tmp_path) == ["Config.md", "config.md"]
    assert [item.path for item in walk(tmp_path) if isinstance(item, NameWarning)] == ["Config.md"]


def test_one_file_as_root(tmp_path: Path) -> None:
    write(tmp_path, "only.md")
    assert found(tmp_path / "only.md") == ["only.md"]


def test_dialects_by_marker(tmp_path: Path) -> None:
    write(tmp_path, "o/.obsidian/app.json", "l/logseq/config.edn", "f/.foam/x", "d/dendron.yml", "p/a.md")
    write(tmp_path, "j/journals/2024_01_01.md", "j/pages/a.md")
    assert [detect(tmp_path / name) for name in "olfdpj"] == [OBSIDIAN, LOGSEQ, FOAM, DENDRON, PLAIN, LOGSEQ]


def test_dialects_by_contents(tmp_path: Path) -> None:
    for name in ("root", "plants", "plants.fern", "plants.fern.royal"):
        write(tmp_path, f"d/{name}.md", text=f"---\nid: 1\ntitle: {name}\ncreated: 1\n---\n")
    write(tmp_path, "f/a.md", text="See [[b-note]].\n\n[b-note]: b-note.md 'B'\n")
    assert (detect(tmp_path / "d"), detect(tmp_path / "f")) == (DENDRON, FOAM)


def test_names_of_notes() -> None:
    assert note_name("a/v1.2.md", PLAIN) == "v1.2"
    assert note_name("a/Dr. Who.markdown", OBSIDIAN) == "Dr. Who"
    assert note_name("plants.fern.md", DENDRON) == "plants.fern"
    assert note_name("pages/a___b.md", LOGSEQ) == note_name("pages/a%2Fb.md", LOGSEQ) == "a/b"
    assert note_name("a___b.md", PLAIN) == "a___b"
    assert note_name("journals/2024_03_22.md", LOGSEQ) == "Mar 22nd, 2024"
    assert journal_date("journals/2024_03_22.md", LOGSEQ) == "2024-03-22"
