"""Facts as text files beside the notes, so that what was paid for can be committed and travels with them.

One file a note of which a model or a person has stated something, or which a model has read in vain. What notes say
themselves (links, properties, names) is left out: ``add`` finds it again. Two exports of one knowledge base are the
same to the byte; only files that differ are written, and files of notes that are gone are deleted, if they are ours.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..facts.template_file import to_toml
from ..sources.report import Remark
from ..store import schema
from .note_text import note_text
from .sidecar_file import HEADER, Fact, Reading, Sidecar, dumps
from .sidecar_paths import SCHEMA, SUFFIX, paths

__all__ = ["PASSAGE", "SCHEMA_HEADER", "Exported", "export_sidecars", "found_sidecars", "sidecars"]

SCHEMA_HEADER = (
    "# llm-graphrag schema 1: what the facts beside it were read under. Use it: llm graphrag schema use FILE"
)
PASSAGE = 16  # characters of a hash that name a passage


@dataclass(slots=True)
class Exported:
    """What an export did; ``skipped`` are files that could not be written, with their reasons."""

    folder: str
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    facts: int = 0
    passages: int = 0  # that a model has read
    private: int = 0  # sidecars of private notes
    skipped: list[Remark] = field(default_factory=list)


def export_sidecars(
    connection: sqlite3.Connection, folder: Path, *, everything: bool = False, private: bool = True
) -> Exported:
    """Write the sidecars of all notes into ``folder``, and the schema beside them.

    ``everything`` also writes what notes say themselves, to be read; ``private`` is whether private notes are written.
    Raises ValueError if the folder cannot be one.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is no folder; name one for the sidecars")
    with _snapshot(connection):
        found = sidecars(connection, everything, private)
        hidden = {row[0] for row in connection.execute("SELECT uri FROM kg_documents WHERE private")}
        template = schema.current(connection) if schema.version(connection) else None
    files = {path: dumps(found[uri]) for uri, path in paths(found).items()}
    if template is not None and found:
        files[SCHEMA] = f"{SCHEMA_HEADER}\n{to_toml(template)}"
    report = Exported(str(folder), private=len(hidden & found.keys()))
    report.facts = sum(len(sidecar.facts) for sidecar in found.values())
    report.passages = sum(len(r.passages) for sidecar in found.values() for r in sidecar.readings)
    for path in sorted(files):
        _write(folder, path, files[path], report)
    _remove_stale(folder, files.keys(), report)
    return report


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is read is of one moment, whatever others write meanwhile."""
    own = not connection.in_transaction
    if own:
        connection.execute("BEGIN")
    try:
        yield
    finally:
        if own:
            connection.rollback()


# -- what is written ----------------------------------------------------------------------


def sidecars(connection: sqlite3.Connection, everything: bool = False, private: bool = True) -> dict[str, Sidecar]:
    """Uri → sidecar of every note that has one, by uri."""
    readings = _readings(connection)
    stating = {row[0] for row in connection.execute(STATING, {"everything": everything})}
    found = {}
    rows = connection.execute("SELECT id, uri FROM kg_documents WHERE ? OR NOT private ORDER BY uri", [private])
    for document, uri in rows.fetchall():
        if document in readings or document in stating:
            facts = _facts(connection, document, everything) if document in stating else ()
            found[uri] = Sidecar(uri, readings.get(document, ()), tuple(facts))
    return found


def _readings(connection: sqlite3.Connection) -> Mapping[int, tuple[Reading, ...]]:
    """What was read of each document, alike readings as one, in the order of the note."""
    found: dict[int, dict[Reading, list[str]]] = defaultdict(dict)
    for document, model, prompt, mode, version, at, passage in connection.execute(READ, {"passage": PASSAGE}):
        found[document].setdefault(Reading(model, prompt, mode, version, at, ()), []).append(passage)
    return {
        document: tuple(replace(reading, passages=tuple(passages)) for reading, passages in of_note.items())
        for document, of_note in found.items()
    }


def _facts(connection: sqlite3.Connection, document: int, everything: bool) -> Iterator[Fact]:
    text = note_text(connection, document)
    for row in connection.execute(FACTS, {"document": document, "everything": everything}):
        line, column = text.place(row["at"])
        yield Fact(
            line=line, column=column, kind=row["kind"], head=row["head"], head_type=row["head_type"],
            relation=row["relation"], tail=row["tail"], tail_type=row["tail_type"], quote=row["quote"],
            confidence=row["confidence"], origin=row["origin"], schema_version=row["schema_version"],
            model=row["model"] or "", detail=row["detail"], of_note=row["head_key"] is None,
            reversed=bool(row["reversed"]),
        )  # fmt: skip


READ = """
  SELECT c.document, e.model, e.prompt_hash, e.mode, e.schema_version, coalesce(e.finished, '') AS at,
    substr(c.content_hash, 1, :passage)
  FROM kg_extractions e CROSS JOIN kg_extraction_chunks x ON x.extraction = e.id
  CROSS JOIN kg_chunks c ON c.id = x.chunk
  WHERE e.status = 'done' OR (e.ask_again AND e.finished IS NOT NULL) ORDER BY c.document, c.seq, e.id"""

STATING = """
  SELECT DISTINCT c.document FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk
  WHERE :everything OR v.origin IN ('llm', 'user')"""

FACTS = """
  SELECT v.*, c.start + v.start AS at, e.model FROM kg_chunks c CROSS JOIN kg_evidence v ON v.chunk = c.id
  LEFT JOIN kg_extractions e ON e.id = v.extraction
  WHERE c.document = :document AND (:everything OR v.origin IN ('llm', 'user'))"""


# -- files ----------------------------------------------------------------------------------


def _write(folder: Path, path: str, text: str, report: Exported) -> None:
    """Write one file unless it stands there so; what is not ours is never touched."""
    target, data = folder / path, text.encode("utf-8")
    try:
        if _leads_out(folder, target.parent):
            report.skipped.append(Remark(path, "a folder above it is a link; nothing is written through links"))
        elif target.is_file() and target.read_bytes() == data:
            report.unchanged += 1
        elif os.path.lexists(target) and not _is_ours(target):
            report.skipped.append(Remark(path, "another file stands there; move it away to have this one written"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f".{hashlib.sha256(path.encode('utf-8')).hexdigest()[:16]}.tmp")
            try:
                draft.write_bytes(data)
                os.replace(draft, target)
            finally:
                draft.unlink(missing_ok=True)
            report.written += 1
    except OSError as error:
        report.skipped.append(Remark(path, f"it cannot be written: {error.strerror or error}"))


def _leads_out(folder: Path, parent: Path) -> bool:
    """Whether a folder between the two is a link."""
    while parent != folder:
        if parent.is_symlink():
            return True
        parent = parent.parent
    return False


def _is_ours(path: Path) -> bool:
    """Whether a file begins as a sidecar or our schema does. Links are not ours."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline(500)
    return first.decode("utf-8", "replace").rstrip("\r\n") in (HEADER, SCHEMA_HEADER)


def _remove_stale(folder: Path, kept: Collection[str], report: Exported) -> None:
    """Delete sidecars of ours that were not written now, and folders that this empties."""
    for path in found_sidecars(folder):
        name = path.relative_to(folder).as_posix()
        if name in kept or not _is_ours(path):
            continue
        try:
            path.unlink()
            report.removed += 1
            parent = path.parent
            while parent != folder and not any(parent.iterdir()):
                parent.rmdir()
                parent = parent.parent
        except OSError as error:
            report.skipped.append(Remark(name, f"it cannot be removed: {error.strerror or error}"))


def found_sidecars(folder: Path) -> list[Path]:
    """All files in a folder that are named as ours are, in order; links and version control are left out."""
    found = []
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git" and not (Path(above) / name).is_symlink())
        for name in names:
            if name.endswith(SUFFIX) or (name == SCHEMA and Path(above) == folder):
                found.append(Path(above) / name)
    return sorted(found)
