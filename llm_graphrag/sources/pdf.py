"""PDF to Markdown: every page a section ``Page 3``, so that a citation gives the page.

Only the text layer is read. A file without one (a scan) is refused with that reason,
and so is one that is encrypted or damaged; pages without text among others are named
in a warning. Nothing that was not read is counted as read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ..hookspecs import Converted
from .quoting import metadata, one_line, plain

if TYPE_CHECKING:
    import pypdf

PAGE_LEVEL = 2
NOT_INSTALLED = "{} files need an extra; install it with: llm install 'llm-graphrag[files]'"
#: Programs that fill in a title by themselves leave these.
NO_TITLES = ("untitled", "microsoft word -", "microsoft powerpoint -", "powerpoint presentation", "document")


def convert_pdf(data: bytes) -> Converted:
    """The text of a PDF. Raises ValueError: no text layer, encrypted, damaged, or the extra is missing."""
    try:
        import pypdf
    except ImportError as error:
        raise ValueError(NOT_INSTALLED.format("PDF")) from error
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # it tells of every flaw; we tell what matters
    if b"%PDF-" not in data[:1024]:
        raise ValueError("damaged: it is not a PDF, whatever its name says")
    reader = _open(pypdf, data)
    pages, unread = _pages(reader)
    if not pages:
        raise ValueError("damaged: it has no pages")
    empty = [number for number, text in enumerate(pages, 1) if not text.strip() and number not in unread]
    if not any(text.strip() for text in pages):
        if unread:
            raise ValueError(f"damaged: {unread[min(unread)]}")
        raise ValueError("no text layer: it is a scan or pictures; run OCR over it first, with ocrmypdf for one")
    parts = [f"{'#' * PAGE_LEVEL} Page {number}\n\n{text}" for number, text in enumerate(pages, 1) if text.strip()]
    warnings = [f"page {number} cannot be read: {reason}" for number, reason in unread.items()]
    if empty:
        warnings.append(f"{'page' if len(empty) == 1 else 'pages'} {ranges(empty)} without text")
    return Converted(_metadata(reader) + "\n\n".join(parts) + "\n", tuple(warnings), PAGE_LEVEL)


def _open(pypdf_: Any, data: bytes) -> pypdf.PdfReader:
    try:
        reader: pypdf.PdfReader = pypdf_.PdfReader(BytesIO(data))
        locked = reader.is_encrypted and not reader.decrypt("")
    except pypdf_.errors.DependencyError as error:
        raise ValueError("encrypted, in a way that needs the package cryptography") from error
    except Exception as error:  # pypdf raises all kinds of errors on damaged files
        raise ValueError(f"damaged: {_reason(error)}") from error
    if locked:
        raise ValueError("encrypted: it needs a password; save a copy without one")
    return reader


def _pages(reader: pypdf.PdfReader) -> tuple[list[str], dict[int, str]]:
    """The text of each page, and why some could not be read."""
    unread: dict[int, str] = {}
    texts: list[str] = []
    try:
        count = len(reader.pages)
    except Exception as error:
        raise ValueError(f"damaged: {_reason(error)}") from error
    for number in range(1, count + 1):
        try:
            texts.append(plain(reader.pages[number - 1].extract_text()).strip())
        except Exception as error:
            texts.append("")
            unread[number] = _reason(error)
    return texts, unread


def _metadata(reader: pypdf.PdfReader) -> str:
    try:
        title = one_line(str(reader.metadata.title or "")) if reader.metadata else ""
    except Exception:  # a damaged title is no reason to refuse the text
        return ""
    return metadata({"title": title} if title and not title.lower().startswith(NO_TITLES) else {})


def _reason(error: Exception) -> str:
    return one_line(str(error))[:200] or type(error).__name__


def ranges(numbers: Iterable[int]) -> str:
    """Page numbers as a person writes them.

    >>> ranges([1, 3, 4, 5, 9])
    '1, 3-5, 9'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
