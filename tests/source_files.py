"""Small files of formats that are no text, made where they are needed, and what was stored of them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from llm_graphrag.knowledge_base import KnowledgeBase

SHARED = Path(__file__).parent.parent.parent / "shared" / "data" / "sqlite-sources"
CASES = SHARED.parent.parent / "cases"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")


def pdf(pages: Sequence[str], title: str = "") -> bytes:
    """A PDF with one line of text on each page; a page of an empty text has none."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        number = len(objects) + 1
        kids.append(f"{number} 0 R")
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET" if text else ""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {number + 1} 0 R /Resources"
            " << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>"
    objects.append(f"<< /Title ({title}) >>")
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    trailer = (
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n{start}\n%%EOF\n"
    )
    return out + trailer.encode()


def docx(paragraphs: Sequence[tuple[str, str]], link: str = "") -> bytes:
    """A Word file of (style, text); ``link`` is the address behind the last paragraph."""
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    relation = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = ""
    for number, (style, text) in enumerate(paragraphs, 1):
        run = f"<w:r><w:t>{text}</w:t></w:r>"
        if link and number == len(paragraphs):
            run = f'<w:hyperlink r:id="link">{run}</w:hyperlink>'
        body += f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{run}</w:p>'
    names = {"Title": "Title", "Heading1": "heading 1", "Heading2": "heading 2", "Normal": "Normal"}
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{id_}"><w:name w:val="{name}"/></w:style>'
        for id_, name in names.items()
    )
    types = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    files = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{types}.document.main+xml"/>'
        f'<Override PartName="/word/styles.xml" ContentType="{types}.styles+xml"/></Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="a" Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="link" Type="{office}/hyperlink" Target="{link}" TargetMode="External"/>'
        f'<Relationship Id="s" Type="{office}/styles" Target="styles.xml"/></Relationships>',
        "word/styles.xml": f"<w:styles {word}>{styles}</w:styles>",
        "word/document.xml": f"<w:document {word} {relation}><w:body>{body}</w:body></w:document>",
    }
    target = BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def texts(kb: KnowledgeBase) -> dict[str, str]:
    """The stored text of every document by uri."""
    rows = kb.connection.execute(
        "SELECT d.uri, c.text FROM kg_documents d LEFT JOIN kg_chunks c ON c.document = d.id ORDER BY d.id, c.seq"
    )
    found: dict[str, str] = {}
    for uri, text in rows:
        found[uri] = found.get(uri, "") + (text or "")
    return found


def titles(kb: KnowledgeBase) -> dict[str, str]:
    return dict(kb.connection.execute("SELECT uri, title FROM kg_documents ORDER BY id").fetchall())


def metadata(kb: KnowledgeBase, uri: str) -> dict[str, Any]:
    row = kb.connection.execute("SELECT metadata FROM kg_documents WHERE uri = ?", [uri]).fetchone()
    found: dict[str, Any] = json.loads(row[0])
    return found
