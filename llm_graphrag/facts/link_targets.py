"""Which document a link means, when several could be meant.

The order is Obsidian's and Foam's, made the same on every system: the name as
written before the name without its heading; a path before a bare name; exact case
before another case; the own source before another; then the nearest folder. What
is still equal is settled by path, and reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..text.normalise import name_key

EXTENSIONS = (".md", ".markdown", ".mdown", ".txt", ".text", ".org", ".html", ".htm", ".pdf", ".docx")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document a link could mean: ``path`` is relative to its source, without extension."""

    document: int
    source: int
    path: str
    name: str
    file: str = ""  # path with its extension: settles what is still equal


@dataclass(frozen=True, slots=True)
class Choice:
    document: int | None
    rivals: tuple[str, ...] = ()  # paths that were as near: say so


def bare(path: str) -> str:
    """A path without the extension of a note; other endings belong to the name (``v1.2``, the key of a row).

    >>> bare("a/v1.2.md"), bare("a/v1.2"), bare("Note.TXT")
    ('a/v1.2', 'a/v1.2', 'Note')
    """
    lowered = path.lower()
    return next((path[: -len(ending)] for ending in EXTENSIONS if lowered.endswith(ending)), path)


def link_key(name: str) -> str:
    """Key under which a link target, or a document's name, is looked up: its last part, without ``#…``."""
    last = name.rstrip("/").rsplit("/", 1)[-1]
    return name_key(last.split("#", 1)[0]) or name_key(last)


def choose(spellings: Sequence[str], source: int, path: str, candidates: Iterable[Candidate]) -> Choice:
    """The document meant by the first spelling that any candidate answers to.

    ``source`` and ``path`` are those of the linking document.
    """
    candidates = list(candidates)
    folder = PurePosixPath(path).parent
    for spelling in spellings:
        relative = _join(folder, spelling)
        ranked = []
        for candidate in candidates:
            fit = _fit(spelling, relative, candidate, source)
            if fit is not None:
                ranked.append(((*fit, candidate.source != source, _distance(folder, candidate.path)), candidate))
        if ranked:
            ranked.sort(key=lambda pair: (pair[0], pair[1].path, pair[1].source, pair[1].file))
            best = ranked[0][0]
            equal = [candidate.path for rank, candidate in ranked if rank == best]
            return Choice(ranked[0][1].document, tuple(equal) if len(equal) > 1 else ())
    return Choice(None)


def _fit(spelling: str, relative: str, candidate: Candidate, source: int) -> tuple[int, bool] | None:
    """How well a candidate answers: (kind of match, other case); None if it does not."""
    rooted = int(spelling.startswith("/"))  # from the top: whatever else has the name comes second
    for case in (False, True):
        wanted, beside = _case(spelling.strip("/"), case), _case(relative, case)
        path, name = _case(candidate.path, case), _case(candidate.name, case)
        if candidate.source == source and ("/" in spelling or spelling.startswith(".")) and path == beside:
            return (0, case)
        if wanted in (path, name):
            return (rooted, case)
        if "/" in wanted and path.endswith("/" + wanted):
            return (1, case)
        if "/" not in wanted and path.rsplit("/", 1)[-1] == wanted:
            return (rooted, case)
    return None


def _case(text: str, fold: bool) -> str:
    return name_key(text) if fold else text


def _join(folder: PurePosixPath, target: str) -> str:
    parts: list[str] = [] if target.startswith("/") else [part for part in folder.parts if part != "."]
    for part in target.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _distance(folder: PurePosixPath, path: str) -> int:
    """Steps between two folders: up from one to what they share, down to the other."""
    a = [part for part in folder.parts if part != "."]
    b = list(PurePosixPath(path).parts[:-1])
    shared = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        shared += 1
    return len(a) + len(b) - 2 * shared
