"""Walking a folder of notes: every file once, in a fixed order, nothing dropped in silence.

The walk yields the notes it found, what it left out with the reason, and warnings
about names. It works on the bytes of names, so that it gives the same relative paths
in every locale. Symbolic links are never followed within the folder (what they lead
to is found under its real path), and out of it only on request, each target once.

What is left out on purpose: hidden folders and those of programs, the folder's own
templates, what ``.graphragignore`` (gitignore syntax) and the program's own settings
name. Such omissions have the kind ``ignored``; every other kind deserves a look.
"""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .links import NOTE_EXTENSIONS

#: Larger files are data, not notes.
MAX_BYTES = 20_000_000
_ALWAYS = ("node_modules/", "/logseq/bak/", "/logseq/version-files/", "/logseq/.recycle/", ".*/")


@dataclass(frozen=True, slots=True)
class FoundFile:
    path: Path  # absolute
    relative: str  # with '/', decoded as UTF-8
    size: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A path that was not read; ``kind`` is ignored, link, name, size, special or unreadable."""

    path: str
    reason: str
    kind: str


@dataclass(frozen=True, slots=True)
class NameWarning:
    """Names in one folder that differ in case or Unicode form only; all of them are read."""

    path: str
    reason: str


Walked = FoundFile | SkippedFile | NameWarning


def printable(name: str) -> str:
    """The name on one line, for a terminal: control characters and lone surrogates escaped.

    Examples
    --------
    >>> printable("line\\nbreak.md")
    'line\\\\nbreak.md'
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in name)


def stored_path(path: Path) -> str:
    """A path as it is stored: the same text in every locale.

    Raises ValueError if its bytes are not UTF-8, which no table can hold.
    """
    stored = _decode(os.fsencode(path.as_posix()))
    if _undecodable(stored):
        raise ValueError(f"{printable(stored)}: the name is not valid UTF-8. Rename it to have it read.")
    return stored


def real_path(stored: str) -> Path:
    """The path that ``stored_path`` gave the text of."""
    return Path(os.fsdecode(stored.encode("utf-8")))


def walk(
    root: str | os.PathLike[str],
    *,
    follow_outside: bool = False,
    ignore: Sequence[str] = (),
    extensions: Sequence[str] = NOTE_EXTENSIONS,
    max_bytes: int = MAX_BYTES,
) -> Iterator[Walked]:
    """Walk ``root`` (a folder or one file) in the order of the names.

    Parameters
    ----------
    follow_outside
        Also follow links that leave ``root``, each target once.
    ignore
        Further patterns in gitignore syntax.
    extensions
        What a note's name ends with, in lower case with the dot.
    max_bytes
        Larger files are skipped.

    Raises
    ------
    FileNotFoundError
        If there is no ``root``.
    """
    base = os.path.realpath(os.fsencode(root))
    if not os.path.exists(base):
        raise FileNotFoundError(f"no such file or folder: {printable(os.fspath(root))}")
    if os.path.isfile(base):
        yield FoundFile(Path(os.fsdecode(base)), _decode(os.path.basename(base)), os.path.getsize(base))
        return
    yield from _Walk(base, follow_outside, _patterns(Path(os.fsdecode(base)), ignore), extensions, max_bytes).folder(
        base, ""
    )


class _Walk:
    def __init__(
        self,
        root: bytes,
        follow_outside: bool,
        patterns: Sequence[tuple[str, str]],
        extensions: Sequence[str],
        limit: int,
    ) -> None:
        self.root, self.follow_outside, self.limit = root, follow_outside, limit
        self.extensions = tuple(extensions)
        self.reasons = [reason for _, reason in patterns]
        import pathspec  # only where folders are walked: a question needs the rest of this module

        self.spec = pathspec.GitIgnoreSpec.from_lines(pattern for pattern, _ in patterns)
        self.visited = {root}

    def folder(self, path: bytes, relative: str) -> Iterator[Walked]:
        try:
            with os.scandir(path) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield SkippedFile(relative or ".", f"cannot be read: {error.strerror}", "unreadable")
            return
        yield from _collisions(relative, [_decode(child.name) for child in children])
        for child in children:
            yield from self._child(child, relative + _decode(child.name))

    def _child(self, child: os.DirEntry[bytes], relative: str) -> Iterator[Walked]:
        if child.is_symlink():
            yield from self._link(child, relative)
        elif child.is_dir(follow_symlinks=False):
            yield from self._subfolder(child.path, relative)
        elif relative.lower().endswith(self.extensions):
            yield self._file(child.path, relative)

    def _subfolder(self, path: bytes, relative: str) -> Iterator[Walked]:
        if _undecodable(relative):
            yield SkippedFile(relative, "folder name is not valid UTF-8", "name")
        elif reason := self._ignored(relative + "/"):
            if not relative.rpartition("/")[2].startswith("."):
                yield SkippedFile(relative, reason, "ignored")
        elif (real := os.path.realpath(path)) not in self.visited:
            self.visited.add(real)
            yield from self.folder(path, relative + "/")

    def _file(self, path: bytes, relative: str) -> Walked:
        if _undecodable(relative):
            return SkippedFile(relative, "file name is not valid UTF-8; rename it to have it read", "name")
        if reason := self._ignored(relative):
            return SkippedFile(relative, reason, "ignored")
        try:
            status = os.stat(path)
        except OSError as error:
            return SkippedFile(relative, f"cannot be read: {error.strerror}", "unreadable")
        if not stat.S_ISREG(status.st_mode):
            return SkippedFile(relative, "not a regular file", "special")
        if status.st_size > self.limit:
            return SkippedFile(relative, f"{status.st_size:,} bytes, more than the limit of {self.limit:,}", "size")
        if not os.access(path, os.R_OK):
            return SkippedFile(relative, "cannot be read: permission denied", "unreadable")
        return FoundFile(Path(os.fsdecode(path)), relative, status.st_size)

    def _link(self, entry: os.DirEntry[bytes], relative: str) -> Iterator[Walked]:
        try:
            real = os.path.realpath(entry.path, strict=True)
        except OSError as error:
            loop = "loop" in str(error).lower() or "symbolic" in (error.strerror or "").lower()
            yield SkippedFile(relative, "link that loops" if loop else "link that leads nowhere", "link")
            return
        is_folder = os.path.isdir(real)
        if not is_folder and not relative.lower().endswith(self.extensions):
            return
        if self._ignored(relative + "/" * is_folder):
            return
        shown = printable(_decode(real))
        if real == self.root or real.startswith(self.root + os.sep.encode()):
            loops = (os.path.dirname(entry.path) + os.sep.encode()).startswith(real + os.sep.encode())
            yield SkippedFile(relative, "link that loops" if loops else f"link to {shown}, which is read there", "link")
        elif not self.follow_outside:
            yield SkippedFile(relative, f"link that leaves the folder, to {shown}; not followed", "link")
        elif real in self.visited:
            yield SkippedFile(relative, f"link to {shown}, which was read before", "link")
        else:
            self.visited.add(real)
            yield from self.folder(real, relative + "/") if is_folder else [self._file(real, relative)]

    def _ignored(self, relative: str) -> str | None:
        result = self.spec.check_file(relative)
        return self.reasons[result.index] if result.include and result.index is not None else None


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _undecodable(name: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in name)


def _collisions(folder: str, names: Sequence[str]) -> Iterator[NameWarning]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(unicodedata.normalize("NFC", name).casefold(), []).append(name)
    for group in groups.values():
        if len(group) > 1:
            yield NameWarning(folder + group[0], "differs only in case or accents from " + ", ".join(group[1:]))


def _patterns(root: Path, ignore: Sequence[str]) -> list[tuple[str, str]]:
    """Patterns in gitignore syntax, each with the reason that is told; later ones win, as in git."""
    patterns = [(pattern, "folder of a program") for pattern in _ALWAYS]
    patterns += [(pattern, "template") for pattern in _templates(root)]
    filters = _json(root / ".obsidian" / "app.json").get("userIgnoreFilters") or []
    patterns += [(_anchored(name), "excluded in Obsidian's settings") for name in filters
                 if isinstance(name, str) and not name.startswith("/")]  # fmt: skip
    patterns += [(_anchored(name), "hidden in Logseq's settings") for name in _logseq_hidden(root)]
    patterns += [(line, ".graphragignore") for line in _lines(root / ".graphragignore")]
    patterns += [(line, "ignored on request") for line in ignore]
    return [(pattern, reason) for pattern, reason in patterns if pattern.strip() and not pattern.startswith("#")]


def _templates(root: Path) -> Iterator[str]:
    """Where the folder's own templates lie: as the settings say, else where they usually do."""
    settings = root / ".obsidian"
    if settings.is_dir():
        yield from ("/Templates/", "/templates/", "/_templates/")
    named = (
        _json(settings / "templates.json").get("folder"),
        _json(settings / "plugins" / "templater-obsidian" / "data.json").get("templates_folder"),
    )
    for folder in named:
        if isinstance(folder, str) and folder.strip("/ "):
            yield _anchored(folder.strip("/ ") + "/")
    if (root / "dendron.yml").is_file() or (root / "root.schema.yml").is_file():
        yield from ("templates.md", "templates.*", "template.*.md")


def _anchored(path: str) -> str:
    """A literal path below the root as a gitignore pattern."""
    return "/" + re.sub(r"([*?\[\\!#])", r"\\\1", path.lstrip("/"))


def _logseq_hidden(root: Path) -> list[str]:
    match = re.search(r"^\s*:hidden\s*\[([^\]]*)\]", "\n".join(_lines(root / "logseq" / "config.edn")), re.MULTILINE)
    return re.findall(r'"([^"]+)"', match[1]) if match else []


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").removeprefix("\ufeff").splitlines()
    except OSError:
        return []


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
