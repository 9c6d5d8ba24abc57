"""What turns files that are no Markdown into Markdown: our own converters, and where others join.

A converter gets the bytes of a file and gives Markdown, which is then read like any
note: quotes and spans refer to that Markdown, which is what is stored. Our own come
through the same hook as those of plugins (``register_sources``). The libraries for
PDF and Word files are an extra; without it such a file is skipped, and the reason is
the command that installs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import pluggy

from ..hookspecs import Converted, Converter
from ..plugins import converters

hookimpl = pluggy.HookimplMarker("llm_graphrag")

#: What neither YAML nor a terminal nor SQLite takes well: control characters and lone surrogates.
UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@hookimpl
def register_sources(register: Callable[[Sequence[str], Converter], None]) -> None:
    register([".html", ".htm", ".xhtml"], _html)
    register([".pdf"], _pdf)
    register([".docx"], _docx)


def _html(data: bytes) -> Converted:
    from .html import convert_html

    return convert_html(data)


def _pdf(data: bytes) -> Converted:
    from .pdf import convert_pdf

    return convert_pdf(data)


def _docx(data: bytes) -> Converted:
    from .docx import convert_docx

    return convert_docx(data)


def converter_of(name: str) -> Converter | None:
    """The converter for a file of this name, if it is no text that is read as it stands."""
    return converters().get(PurePosixPath(name).suffix.lower())


def convert(data: bytes, converter: Converter) -> Converted:
    """Convert one file. Raises ValueError with the reason if it gives no text, whatever went wrong inside."""
    try:
        converted = converter(data)
    except ValueError:
        raise
    except Exception as error:  # a library's fault must not end the run
        raise ValueError(f"cannot be converted: {type(error).__name__}: {error}") from error
    text = UNPRINTABLE.sub("", converted.text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise ValueError("there is no text in it")
    return replace(converted, text=text)
