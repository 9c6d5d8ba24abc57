"""PDF and Word files: what is read keeps its place, what cannot be read is said and not counted."""

from __future__ import annotations

import builtins
import importlib.util
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import pytest
from conftest import Run, Vault
from source_files import docx, pdf, texts, titles

from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.sources.docx import convert_docx
from llm_graphrag.sources.pdf import convert_pdf

needs_pypdf = pytest.mark.skipif(importlib.util.find_spec("pypdf") is None, reason="the extra files is not installed")
needs_mammoth = pytest.mark.skipif(
    importlib.util.find_spec("mammoth") is None, reason="the extra files is not installed"
)


def encrypted(password: str) -> bytes:
    import pypdf

    writer = pypdf.PdfWriter(clone_from=BytesIO(pdf(["A secret"])))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    target = BytesIO()
    writer.write(target)
    return target.getvalue()


@needs_pypdf
def test_128_every_pdf_is_read_or_says_why_not(kb: KnowledgeBase, vault: Vault) -> None:
    folder = vault(
        {
            "blank.pdf": pdf(["", ""]),
            "mixed.pdf": pdf(["", "Ana Ruiz repairs clocks"]),
            "gaps.pdf": pdf(["One", "", "", "", "Five", ""]),
            "good.pdf": pdf(["Ben sings in Lisbon"], title="Songs"),
            "cut.pdf": pdf(["Ben sings in Lisbon"])[:200],
            "not.pdf": b"plain text",
            "locked.pdf": encrypted("secret"),
        }
    )
    report = kb.add([folder])
    reasons = {remark.path: remark.message.split(":")[0] for remark in report.skipped}
    assert reasons == {
        "blank.pdf": "no text layer",
        "cut.pdf": "damaged",
        "locked.pdf": "encrypted",
        "not.pdf": "damaged",
    }
    assert {(remark.path, remark.message) for remark in report.warnings} == {
        ("gaps.pdf", "pages 2-4, 6 without text"),
        ("mixed.pdf", "page 1 without text"),
    }
    assert (report.new, kb.totals()["documents"]) == (3, 3)
    assert texts(kb)["vault/mixed.pdf"] == "## Page 2\n\nAna Ruiz repairs clocks\n"
    assert titles(kb)["vault/good.pdf"] == "Songs"
    assert kb.check() == []


@needs_pypdf
def test_a_hit_names_the_page(kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"book.pdf": pdf(["Filler about tides", "More filler on ropes", "Ana Ruiz mended the clock"])})])
    hit = kb.search("who mended the clock?")[0]
    assert (hit.uri, hit.heading) == ("vault/book.pdf", "Page 3")
    chunks = kb.connection.execute("SELECT heading, text FROM kg_chunks ORDER BY seq").fetchall()
    assert [(row[0], row[1].count("## Page")) for row in chunks] == [("Page 1", 1), ("Page 2", 1), ("Page 3", 1)]


@needs_pypdf
def test_a_file_that_is_only_locked_for_changes_is_read() -> None:
    assert "A secret" in convert_pdf(encrypted("")).text


@needs_pypdf
@pytest.mark.parametrize("line", ["# Page 9", "---", "```", "> said", "    indented", "<div>", "=="])
def test_text_of_a_page_cannot_be_markup(line: str, kb: KnowledgeBase, vault: Vault) -> None:
    kb.add([vault({"a.pdf": pdf([line, "Ana"])})])
    headings = [row[0] for row in kb.connection.execute("SELECT heading FROM kg_sections ORDER BY seq")]
    assert headings == ["Page 1", "Page 2"]


@needs_mammoth
def test_a_word_file_keeps_its_structure(kb: KnowledgeBase, vault: Vault) -> None:
    data = docx(
        [
            ("Title", "Harbour log"),
            ("Heading1", "March"),
            ("Normal", "Ana Ruiz &amp; Ben rang"),
            ("Normal", "the clock"),
        ],
        link="https://example.org/clock",
    )
    assert convert_docx(data).text == (
        "# Harbour log\n\n# March\n\nAna Ruiz & Ben rang\n\n[the clock](https://example.org/clock)\n"
    )
    kb.add([vault({"log.docx": data})])
    assert titles(kb) == {"vault/log.docx": "Harbour log"}
    assert kb.check() == []


@needs_mammoth
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"plain", "damaged"),
        (docx([("Normal", "x")])[:300], "damaged"),
        (b"\xd0\xcf\x11\xe0rest", "encrypted, or an old .doc"),
        (docx([]), "there is no text in it"),
    ],
)
def test_a_word_file_that_cannot_be_read(data: bytes, reason: str, kb: KnowledgeBase, vault: Vault) -> None:
    report = kb.add([vault({"a.docx": data})])
    assert report.new == 0
    assert [remark.message[: len(reason)] for remark in report.skipped] == [reason]


@pytest.mark.parametrize(("name", "module"), [("a.pdf", "pypdf"), ("a.docx", "mammoth")])
def test_without_the_extra_the_reason_is_the_command(
    name: str, module: str, run: Run, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(wanted: str, *rest: Any) -> Any:
        if wanted == module:
            raise ImportError(wanted)
        return real(wanted, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    result = run("add", vault({name: b"%PDF-1.4", "b.md": "Ben"}), exit_code=3)
    assert "1 new, 1 skipped" in result.stdout
    assert "llm install 'llm-graphrag[files]'" in result.stderr


def make(files: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
    return {name: pdf(pages) for name, pages in files.items()}


@needs_pypdf
def test_a_changed_file_is_stale_and_read_again(kb: KnowledgeBase, vault: Vault) -> None:
    from llm_graphrag.sources.stale import stale

    folder = vault(make({"a.pdf": ["Ana", "Ben"]}))
    kb.add([folder])
    assert stale(kb.connection) == {}
    vault(make({"a.pdf": ["Ana", "Eva"]}))
    assert list(stale(kb.connection).values()) == ["changed on disk since it was read"]
    assert kb.add([folder]).changed == 1
    assert texts(kb) == {"vault/a.pdf": "## Page 1\n\nAna\n\n## Page 2\n\nEva\n"}
