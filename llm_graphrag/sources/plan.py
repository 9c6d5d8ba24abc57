"""What a run over a folder will do, decided before anything is written.

Files are compared with what the knowledge base holds by content hash: unchanged
files cost a read and nothing else; a file that is gone while the same content
stands under another name was renamed, and keeps its identity; a name that differs
in case only is a rename too. The plan is plain data, so that ``--dry-run`` shows
exactly what a run would do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..store.documents import Stored


@dataclass(frozen=True, slots=True)
class Fresh:
    """A file as it stands on disk: its content hash, and whether the hash is of no content."""

    path: str
    content_hash: str
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One document to write: ``known`` is its row if it has one, ``was`` its old path if it moved.

    ``private`` is whether it was marked as private before, or its source was if it is new.
    """

    action: str  # new, changed, renamed
    path: str
    known: int | None = None
    was: str | None = None
    private: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...]
    unchanged: int
    gone: tuple[Stored, ...]  # stored, in scope, no longer there


def compare(
    fresh: Collection[Fresh],
    stored: Mapping[str, Stored],
    in_scope: Collection[str],
    reading: str,
    private: bool | None = None,
    before: bool = False,
) -> Plan:
    """Compare files with stored documents of one source.

    ``in_scope`` are the stored paths that this run would have found if they were
    still there; ``reading`` names how files are read now; ``private`` is whether
    they are to be private by what a person says now, None leaves that; ``before``
    whether the source was marked as private.
    """

    def marked(known: Stored) -> bool:
        return before if known.says_private else known.private  # what says so itself has not been marked, or who knows

    found = {item.path: item for item in fresh}
    missing = {path: stored[path] for path in in_scope if path not in found}
    moved = _moves([item for item in fresh if item.path not in stored], missing)
    steps: list[Step] = []
    unchanged = 0
    for path in sorted(found):
        known = stored.get(path)
        if path in moved:
            steps.append(Step("renamed", path, moved[path].id, moved[path].path, marked(moved[path])))
        elif known is None:
            steps.append(Step("new", path, private=before))
        elif (
            known.content_hash != found[path].content_hash
            or known.reading != reading
            or (private is not None and known.private != (private or known.says_private))
        ):
            steps.append(Step("changed", path, known.id, private=marked(known)))
        else:
            unchanged += 1
    renamed = {item.path for item in moved.values()}
    gone = tuple(missing[path] for path in sorted(missing) if path not in renamed)
    return Plan(tuple(steps), unchanged, gone)


def _moves(new: Collection[Fresh], missing: Mapping[str, Stored]) -> dict[str, Stored]:
    """New path → the stored document that moved there: same content, or the same name in other case."""
    moves: dict[str, Stored] = {}
    free = dict(missing)
    folded = {path.casefold(): path for path in free}
    for item in new:
        old = folded.get(item.path.casefold())
        if old is not None and old in free:
            moves[item.path] = free.pop(old)
    by_hash: dict[str, list[Stored]] = defaultdict(list)
    for document in free.values():
        by_hash[document.content_hash].append(document)
    for item in sorted(new, key=lambda item: item.path):
        same = [] if item.path in moves or item.empty else by_hash.get(item.content_hash, [])
        if same:
            name = PurePosixPath(item.path).name
            best = min(same, key=lambda document: (PurePosixPath(document.path).name != name, document.path))
            same.remove(best)
            moves[item.path] = best
    return moves
