"""Which source a path belongs to, so that the same file is the same document however it is named.

A folder is a source. A single file belongs to the source whose folder holds it, or
to the vault it lies in (a folder with ``.obsidian``, ``logseq``, ``.foam`` or
``dendron.yml`` above it), or to its own folder. A folder inside a known source is
part of that source; a known source inside a new folder is taken in by it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .files import real_path, stored_path

MARKERS = (".obsidian", "logseq/config.edn", ".foam", "dendron.yml")


@dataclass(frozen=True, slots=True)
class Place:
    """A source folder, and what part of it to look at.

    ``only`` None is all of it; else paths relative to ``root``: files, or folders.
    """

    root: Path
    only: tuple[str, ...] | None


def place(path: Path, roots: Sequence[Path]) -> Place:
    """The place of an existing file or folder, given the roots of known sources."""
    path = path.resolve()
    holding = sorted((root for root in roots if path == root or root in path.parents), key=lambda r: len(r.parts))
    if holding:
        root = holding[-1]
    elif path.is_dir():
        root = path
    else:
        root = next((folder for folder in path.parents if _is_vault(folder)), path.parent)
    if path == root:
        return Place(root, None)
    return Place(root, (stored_path(path.relative_to(root)),))


def _is_vault(folder: Path) -> bool:
    return any((folder / marker).exists() for marker in MARKERS)


def within(path: str, only: Sequence[str] | None) -> bool:
    """Whether a path relative to the root is part of a place."""
    return only is None or any(path == part or path.startswith(part + "/") for part in only)


def roots(connection: sqlite3.Connection) -> list[Path]:
    """Folders of the known sources."""
    return [real_path(row[0]) for row in connection.execute("SELECT root FROM kg_sources WHERE kind = 'folder'")]


def take_in(connection: sqlite3.Connection, source: int, root: Path) -> None:
    """Move documents of sources inside ``root`` into ``source``; their rows and ids stay."""
    rows = connection.execute("SELECT id, root FROM kg_sources WHERE kind = 'folder' AND id <> ?", [source]).fetchall()
    for row in rows:
        inner = real_path(row["root"])
        if root not in inner.parents:
            continue
        prefix = stored_path(inner.relative_to(root))
        connection.execute(
            "UPDATE kg_documents SET source = ?, path = ? || '/' || path, reading = '' WHERE source = ?",
            [source, prefix, row["id"]],
        )
        connection.execute("DELETE FROM kg_sources WHERE id = ?", [row["id"]])
