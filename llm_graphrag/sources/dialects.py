"""Which program wrote a folder of notes, and what that changes.

Obsidian, Logseq, Foam and Dendron agree on ``[[name]]`` and differ in what surrounds
it: Dendron puts the label first, Logseq encodes ``/`` in file names and writes
``key:: value`` properties. A folder is recognised by the marker its program leaves
(``.obsidian``, ``logseq/config.edn``, ``.foam``, ``dendron.yml``), or, where a copy
lost the markers, by what its notes look like. The differences are flags of one
frozen :class:`Dialect`; no other module asks for a program by name.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the notes of one folder are to be read."""

    name: str
    label_first: bool = False  # [[label|target]]
    properties: bool = False  # key:: value belongs to the block or page (Logseq)
    namespaces: bool = False  # file names a___b and a%2Fb mean the page a/b
    dotted_tags: bool = False  # #area.topic is one tag
    users: bool = False  # @name is a link to the note user.name
    indented_code: bool = True  # four spaces make code
    keywords: bool = False  # TODO, DOING, DONE … open a task


PLAIN = Dialect("plain")
OBSIDIAN = Dialect("obsidian")
FOAM = Dialect("foam")
DENDRON = Dialect("dendron", label_first=True, dotted_tags=True, users=True)
LOGSEQ = Dialect("logseq", properties=True, namespaces=True, indented_code=False, keywords=True)
DIALECTS = {dialect.name: dialect for dialect in (PLAIN, OBSIDIAN, FOAM, DENDRON, LOGSEQ)}

#: How many names and how many notes are looked at when no marker is there.
_NAMES, _NOTES = 2000, 60
_JOURNAL = re.compile(r"(\d{4})[_\-](\d\d)[_\-](\d\d)\Z")
_DENDRON_KEYS = re.compile(r"\A---\n(?=(?:.*\n)*?id:)(?=(?:.*\n)*?title:)(?=(?:.*\n)*?created:)")
_DEFINITION = re.compile(r"^\[([^\]\n]+)\]: +<?\S+\.md>?(?: +[\"'].*[\"'])?$|^\[//begin\]: #", re.MULTILINE)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def detect(root: str | os.PathLike[str]) -> Dialect:
    """The dialect of the notes below ``root``."""
    folder = Path(root)
    if (folder / "dendron.yml").is_file():
        return DENDRON
    if (folder / "logseq" / "config.edn").is_file():
        return LOGSEQ
    if (folder / ".obsidian").is_dir():
        return OBSIDIAN
    if (folder / ".foam").is_dir() or _recommends_foam(folder):
        return FOAM
    if (folder / "journals").is_dir() and (folder / "pages").is_dir():
        return LOGSEQ
    return _by_contents(folder)


def note_name(relative_path: str, dialect: Dialect) -> str:
    """The name by which other notes call the note at ``relative_path``.

    Examples
    --------
    >>> note_name("deep/animal.dog.md", PLAIN)
    'animal.dog'
    >>> note_name("pages/term___alias.md", LOGSEQ), note_name("journals/2024_01_05.md", LOGSEQ)
    ('term/alias', 'Jan 5th, 2024')
    """
    path = PurePosixPath(relative_path)
    stem = _stem(path.name)
    if not dialect.namespaces:
        return stem
    date = journal_date(relative_path, dialect)
    if date:
        return _spoken_date(date)
    return unquote(stem.replace("___", "/"), errors="replace")


def journal_date(relative_path: str, dialect: Dialect) -> str | None:
    """The ISO date of a Logseq journal page, by the name of its file."""
    path = PurePosixPath(relative_path)
    match = _JOURNAL.match(_stem(path.name))
    if not dialect.namespaces or "journals" not in path.parts[:-1] or not match:
        return None
    year, month, day = match.groups()
    return f"{year}-{month}-{day}" if 1 <= int(month) <= 12 and 1 <= int(day) <= 31 else None


def _stem(name: str) -> str:
    stem, dot, extension = name.rpartition(".")
    return stem if stem and dot and extension.lower() in ("md", "markdown", "mdown", "txt", "text", "org") else name


def _spoken_date(date: str) -> str:
    """Logseq's default title of a journal page."""
    year, month, day = date.split("-")
    number = int(day)
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{_MONTHS[int(month) - 1]} {number}{suffix}, {year}"


def _recommends_foam(folder: Path) -> bool:
    try:
        return "foam.foam-vscode" in (folder / ".vscode" / "extensions.json").read_text("utf-8", "replace")
    except OSError:
        return False


def _by_contents(folder: Path) -> Dialect:
    notes = sorted(islice(_notes(folder), _NAMES))
    if not notes:
        return PLAIN
    dotted = sum("." in path.name[:-3] and " " not in path.name for path in notes)
    sample = notes[:: max(1, len(notes) // _NOTES)][:_NOTES]
    heads = [_read(path) for path in sample]
    own = sum(bool(_DENDRON_KEYS.match(text[:1000])) for text in heads)
    if own * 2 > len(heads) and (dotted * 2 > len(notes) or (folder / "root.md").is_file()):
        return DENDRON
    if dotted * 2 > len(notes) and (folder / "root.md").is_file():
        return DENDRON
    if sum(_has_definitions(text) for text in heads) >= max(1, len(heads) // 20):
        return FOAM
    return PLAIN


def _has_definitions(text: str) -> bool:
    """Foam writes a definition ``[name]: path.md`` for each ``[[name]]`` of a note."""
    return any(match[1] is None or f"[[{match[1]}]]" in text for match in _DEFINITION.finditer(text))


def _notes(folder: Path) -> list[Path]:
    found: list[Path] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found.extend(Path(parent, name) for name in sorted(files) if name.endswith(".md"))
        if len(found) >= _NAMES:
            break
    return found


def _read(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            return ""  # a pipe would wait for ever, and a link may lead out of the folder
        with path.open("rb") as file:
            return file.read(64_000).decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
    except OSError:
        return ""
