"""What stands between the brackets of a link, taken apart.

Pure functions from the written form to a :class:`~llm_graphrag.sources.note.Link`,
or to the reason why it is none: it leads out of the vault (``external``), to a
picture or another file that is no note (``attachment``), to a place in the same
note (``local``), or it is a template's placeholder. They decide nothing about
whether the note exists; ``written`` is kept for whoever resolves it.
"""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import unquote

from .dialects import Dialect
from .note import Link

NOTE_EXTENSIONS = (".md", ".markdown", ".mdown", ".txt", ".text", ".org")
#: Files that are never notes, also in a wikilink. [[Node.js]] and [[config.edn]] are names of notes.
MEDIA = frozenset(
    "png jpg jpeg gif svg webp bmp tif tiff ico avif heic heif psd xcf eps pdf djvu epub mobi azw3 "
    "mp3 wav ogg oga opus flac m4a aac wma aiff mid midi mp4 m4v mov avi mkv webm mpg mpeg ogv wmv 3gp flv "
    "zip tgz 7z rar dmg docx odt rtf xlsx ods csv tsv pptx odp canvas base excalidraw drawio ttf otf woff woff2".split()
)
#: What else a Markdown link may lead to that is no note.
ATTACHMENTS = MEDIA | frozenset(
    "ai ps tar gz bz2 xz iso exe msi apk jar doc xls ppt pages numbers key json jsonl yaml yml toml xml html htm css "
    "js ts tsx jsx py rb go rs c cpp h java sh bat ps1 sql sqlite db ipynb tex bib log ini cfg conf edn vsdx "
    "stl obj glb gltf ics vcf eml".split()
)
Refusal = Literal["external", "attachment", "local", "placeholder"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*://|(?:mailto|tel|javascript|data):|www\.\S+\.\w)")
_DOTTED = re.compile(r"(?!www\.)[a-z0-9_\-]+(?:\.[a-z0-9_\-]+){2,}(?:#.*)?\Z")
_DENDRON_RANGE = re.compile(r"(?:,\d+)?(?::#.*)?\Z")
_SHORT_EXTENSION = re.compile(r"[A-Za-z][A-Za-z0-9]{1,4}\Z")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|<%|%>")


def parse_wikilink(content: str, start: int, end: int, syntax: str, dialect: Dialect) -> Link | Refusal:
    """Take apart what stands between ``[[`` and ``]]``; ``start`` and ``end`` span the whole link."""
    if _PLACEHOLDER.search(content):
        return "placeholder"
    name, label = _split_label(content, dialect)
    if name.startswith("dendron://"):
        name = name[len("dendron://") :].partition("/")[2]
    elif _URL.match(name):
        return "external"
    path, heading, block = split_anchor(name)
    if dialect.label_first and heading:
        heading = _DENDRON_RANGE.sub("", heading) or None
    target = strip_extension(path.strip())
    if not target or target.startswith("^"):
        return "local"
    if _extension(path) in MEDIA:
        return "attachment"
    return Link(start, end, syntax, target, content, heading, block, label)


def parse_destination(
    written: str, start: int, end: int, label: str | None, dialect: Dialect, syntax: str = "markdown"
) -> Link | Refusal:
    """Take apart the destination of a Markdown link; it is percent-decoded once, after its ``#`` was looked for."""
    if _PLACEHOLDER.search(written):
        return "placeholder"
    if _SCHEME.match(written) or written.startswith("//"):
        return "external"
    path, _, fragment = written.partition("#")
    path = _decode(path)
    if not path.strip("./ "):
        return "local"
    extension = _extension(path)
    target = strip_extension(path)
    if path.endswith("/") or (target == path and _is_file(extension, dialect)):
        return "attachment"
    heading = _decode(fragment) or None
    block = heading[1:] if heading and heading.startswith("^") else None
    return Link(start, end, syntax, target, written, None if block else heading, block, label or None)


def split_anchor(name: str) -> tuple[str, str | None, str | None]:
    """Name, heading and block of ``name#heading`` or ``name#^block``; a lone ``#`` at the end belongs to the name."""
    path, sign, anchor = name.partition("#")
    if not sign or not anchor.strip():
        return name, None, None
    if anchor.startswith("^"):
        return path, None, anchor[1:].strip() or None
    return path, anchor, None


def strip_extension(path: str) -> str:
    """The path without the extension of a note; every other dot is part of the name."""
    lowered = path.lower()
    for extension in NOTE_EXTENSIONS:
        if lowered.endswith(extension) and len(path) > len(extension):
            return path[: -len(extension)]
    return path


def _split_label(content: str, dialect: Dialect) -> tuple[str, str | None]:
    left, bar, right = content.partition("|")
    left, right = left.removesuffix("\\").strip(), right.strip()
    if not bar or not right:
        return left, None
    looks_dendron = dialect.name == "plain" and bool(_DOTTED.match(right)) and "." not in left
    if dialect.label_first or (left and looks_dendron):
        return right, left or None
    return left, right


def _extension(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].strip().lower() if "." in path else ""


def _is_file(extension: str, dialect: Dialect) -> bool:
    return extension in ATTACHMENTS or (not dialect.label_first and bool(_SHORT_EXTENSION.match(extension)))


def _decode(path: str) -> str:
    decoded = unquote(path, errors="replace")
    return decoded if decoded.isprintable() else path
