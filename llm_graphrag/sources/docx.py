"""Word files to Markdown: mammoth reads the styles as headings, lists, links and tables, html.py does the rest."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import Any

from ..hookspecs import Converted
from .html import html_to_markdown
from .pdf import NOT_INSTALLED

STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
"""
#: Unpacked; no text is as long, a file made to exhaust memory is.
MAX_UNPACKED = 500_000_000
OLD_OFFICE = b"\xd0\xcf\x11\xe0"  # the container of .doc, and of encrypted .docx


def convert_docx(data: bytes) -> Converted:
    """The text of a Word file. Raises ValueError: encrypted, damaged, or the extra is missing."""
    try:
        import mammoth
    except ImportError as error:
        raise ValueError(NOT_INSTALLED.format("Word")) from error
    if data.startswith(OLD_OFFICE):
        raise ValueError("encrypted, or an old .doc under another name; save it as .docx without a password")
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if "word/document.xml" not in archive.namelist():
                raise ValueError("damaged: there is no Word document in it")
    except zipfile.BadZipFile as error:
        raise ValueError(f"damaged: {error}") from error
    if size > MAX_UNPACKED:
        raise ValueError(f"{size:,} bytes when unpacked, more than the limit of {MAX_UNPACKED:,}")
    try:
        result = mammoth.convert_to_html(BytesIO(data), style_map=STYLES, convert_image=_no_image)
    except Exception as error:  # mammoth lets errors of zip and XML through
        raise ValueError(f"damaged: {error}") from error
    return Converted(html_to_markdown(result.value), ())


def _no_image(image: Any) -> list[Any]:
    return []
