"""What stands on disk: the files of a folder with their content hashes, and what was left out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from ..plugins import converters
from . import files
from .links import NOTE_EXTENSIONS
from .plan import Fresh


@dataclass(slots=True)
class Survey:
    """One look at a folder. ``unread`` are files and folders that are there but could not be read."""

    found: dict[str, files.FoundFile] = field(default_factory=dict)
    fresh: list[Fresh] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    ignored: int = 0

    def may_be_there(self, path: str) -> bool:
        """Whether a path that was not found may stand in what could not be read."""
        return bool(self.unread) and any(
            str(part) in self.unread for part in (PurePosixPath(path), *PurePosixPath(path).parents)
        )


def survey(
    root: Path,
    only: Sequence[str] | None,
    *,
    follow: bool,
    ignore: Sequence[str],
    max_bytes: int,
    progress: Callable[[str, int, int], None],
) -> Survey:
    """Walk ``root``, or the parts ``only`` of it, and hash what is found."""
    seen = Survey()
    for item in _walked(root, only, follow, ignore, max_bytes):
        if isinstance(item, files.FoundFile):
            seen.found[item.relative] = item
        elif isinstance(item, files.NameWarning):
            seen.warnings.append((item.path, item.reason))
        elif item.kind == "ignored":
            seen.ignored += 1
        else:
            seen.skipped.append((item.path, item.reason))
            seen.unread.add(item.path.rstrip("/"))
    for number, file in enumerate(seen.found.values()):
        if number % 500 == 0:
            progress("compare", number, len(seen.found))
        try:
            data = file.path.read_bytes()
        except OSError as error:
            seen.skipped.append((file.relative, error.strerror or str(error)))
            seen.unread.add(file.relative)
            continue
        seen.fresh.append(Fresh(file.relative, hashlib.sha256(data).hexdigest(), not data.strip()))
    return seen


def _walked(
    root: Path, only: Sequence[str] | None, follow: bool, ignore: Sequence[str], max_bytes: int
) -> Iterator[files.Walked]:
    """Everything below ``root``, or below those parts of it, with paths relative to ``root``."""
    extensions = (*NOTE_EXTENSIONS, *converters())
    for part in [""] if only is None else sorted(set(only)):
        top = root / files.real_path(part)
        walked = files.walk(top, follow_outside=follow, ignore=ignore, extensions=extensions, max_bytes=max_bytes)
        for item in walked:
            if not part:
                yield item
            elif isinstance(item, files.FoundFile):
                yield replace(item, relative=part if top.is_file() else f"{part}/{item.relative}")
            else:
                yield replace(item, path=f"{part}/{item.path}")
