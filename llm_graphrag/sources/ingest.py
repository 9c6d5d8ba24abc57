"""Adding is a sync: what is new is read, what changed is read again, what stayed costs nothing.

One run takes folders, files or text, plans what to do (plan.py), parses and writes
it in batches (writer.py), and reports. Bad input never stops the rest: a file that
cannot be read is listed with its reason and the run goes on.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any

from ..facts import link
from ..facts.link_targets import link_key
from ..settings import Settings
from ..store import documents as document_store
from ..store import schema
from ..store.connection import transaction
from . import files, places
from .dialects import DIALECTS, PLAIN, Dialect, detect, note_name
from .encoding import UndecodableError, decode
from .markdown import parse_note
from .note import Note
from .plan import Fresh, Plan, Step, compare
from .report import Remark, Report
from .writer import Item, Progress, Writer

PARSER = "notes-1"  # raise it when parsing changes: every document is read again
TRUE = {"true", "yes", "on", "1"}


@dataclass(frozen=True, slots=True)
class Options:
    """How to read.

    ``dialect`` None detects it; ``prune`` removes documents whose files are gone;
    ``follow`` reads what links out of the folder lead to; ``private`` marks all as
    private; ``ignore`` are gitignore patterns.
    """

    dialect: str | None = None
    prune: bool = False
    dry_run: bool = False
    follow: bool = False
    private: bool = False
    ignore: tuple[str, ...] = ()
    max_bytes: int = files.MAX_BYTES


def utc_now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def silent(stage: str, done: int, total: int) -> None:
    """A progress callback that shows nothing."""


class Ingest:
    """One run over sources; ``report`` holds what it did."""

    def __init__(
        self, connection: sqlite3.Connection, settings: Settings, options: Options, progress: Progress = silent
    ) -> None:
        self.connection, self.settings, self.options, self.progress = connection, settings, options, progress
        self.report = Report()
        self.now = utc_now()
        self.template = schema.current(connection)
        self.writer = Writer(connection, settings.chunk_tokens)

    def paths(self, paths: Sequence[Path]) -> Report:
        """Add folders and files. Raises FileNotFoundError naming the first path that is not there."""
        grouped: dict[Path, list[str] | None] = {}
        for path in paths:
            if not path.exists():
                raise FileNotFoundError(f"{path} is not there")
            spot = places.place(path, [*places.roots(self.connection), *grouped])
            if spot.only is None:
                grouped[spot.root] = None
            elif grouped.get(spot.root, []) is not None:
                grouped.setdefault(spot.root, []).extend(spot.only)  # type: ignore[union-attr]
        for root, only in grouped.items():
            self._folder(root, only)
        return self._finish()

    def text(self, data: bytes, name: str) -> Report:
        """Add one text that came through standard input, under a name."""
        digest = hashlib.sha256(data).hexdigest()
        path = name if PurePosixPath(name).suffix else f"{name}.md"
        with transaction(self.connection):
            source = document_store.put_source(self.connection, "stdin", "text", "", "plain", {}, self.now)
        stored = document_store.stored_of(self.connection, source)
        fresh = [Fresh(path, digest, not data.strip())]
        plan = compare(fresh, stored, [], self._reading(PLAIN))
        if self.options.dry_run:
            self._count(plan)
            return self.report
        dialect = DIALECTS[self.options.dialect or "plain"]
        items = [self._item("stdin", source, step, data, dialect) for step in plan.steps]
        self._count(plan)
        self._write([item for item in items if item is not None], 1)
        return self._finish()

    # -- a folder ----------------------------------------------------------------

    def _folder(self, root: Path, only: Sequence[str] | None) -> None:
        options = self.options
        dialect = DIALECTS[options.dialect] if options.dialect else detect(root)
        found = self._walk(root, only)
        fresh = self._hash(found)
        stored = self._stored(root)
        in_scope = [path for path in stored if places.within(path, only) and path not in self._unread]
        plan = compare(fresh, stored, in_scope, self._reading(dialect))
        self._count(plan)
        if options.dry_run:
            return
        with transaction(self.connection):
            source = self._source(root, dialect)
            if only is None:
                document_store.put_skipped(
                    self.connection, source, [(s.path, s.reason) for s in self._skips], self.now
                )
        name = self.connection.execute("SELECT name FROM kg_sources WHERE id = ?", [source]).fetchone()[0]
        by_path = {file.relative: file for file in found}
        self._write(self._items(name, source, plan.steps, by_path, dialect), len(plan.steps))
        if options.prune and plan.gone:
            self.writer.delete([document.id for document in plan.gone])
            self.report.removed += len(plan.gone)
        else:
            self.report.gone += [document.uri for document in plan.gone]

    def _walk(self, root: Path, only: Sequence[str] | None) -> list[files.FoundFile]:
        found: list[files.FoundFile] = []
        self._skips: list[files.SkippedFile] = []
        for item in self._walked(root, only):
            if isinstance(item, files.FoundFile):
                found.append(item)
            elif isinstance(item, files.NameWarning):
                self.report.warnings.append(Remark(item.path, item.reason))
            elif item.kind == "ignored":
                self.report.ignored += 1
            else:
                self._skips.append(item)
                self.report.skipped.append(Remark(item.path, item.reason))
        return found

    def _walked(self, root: Path, only: Sequence[str] | None) -> Iterator[files.Walked]:
        """Everything below ``root``, or below those parts of it, with paths relative to ``root``."""
        for part in [""] if only is None else sorted(set(only)):
            top = root / part
            walked = files.walk(
                top,
                follow_outside=self.options.follow,
                ignore=self.options.ignore,
                max_bytes=self.options.max_bytes,
            )
            for item in walked:
                if not part:
                    yield item
                elif isinstance(item, files.FoundFile):
                    yield replace(item, relative=part if top.is_file() else f"{part}/{item.relative}")
                else:
                    yield replace(item, path=f"{part}/{item.path}")

    def _hash(self, found: Sequence[files.FoundFile]) -> list[Fresh]:
        fresh: list[Fresh] = []
        self._unread: set[str] = set()
        for number, file in enumerate(found):
            if number % 500 == 0:
                self.progress("compare", number, len(found))
            try:
                data = file.path.read_bytes()
            except OSError as error:
                self._skip(file.relative, error.strerror or str(error))
                continue
            fresh.append(Fresh(file.relative, hashlib.sha256(data).hexdigest(), not data.strip()))
        return fresh

    def _stored(self, root: Path) -> dict[str, document_store.Stored]:
        row = self.connection.execute(
            "SELECT id FROM kg_sources WHERE kind = 'folder' AND root = ?", [str(root)]
        ).fetchone()
        inner = [r for r in places.roots(self.connection) if root in r.parents]
        if inner and not self.options.dry_run:
            with transaction(self.connection):
                source = self._source(root, PLAIN) if row is None else int(row[0])
                places.take_in(self.connection, source, root)
            return document_store.stored_of(self.connection, source)
        return {} if row is None else document_store.stored_of(self.connection, row[0])

    def _source(self, root: Path, dialect: Dialect) -> int:
        options: dict[str, Any] = {}
        if self.options.ignore:
            options["ignore"] = list(self.options.ignore)
        return document_store.put_source(
            self.connection, root.name or "root", "folder", str(root), dialect.name, options, self.now
        )

    # -- documents ---------------------------------------------------------------

    def _items(
        self, source_name: str, source: int, steps: Sequence[Step], by_path: dict[str, files.FoundFile], dialect: Dialect
    ) -> Iterator[Item]:
        for step in steps:
            try:
                data = by_path[step.path].path.read_bytes()
            except OSError as error:
                self._skip(step.path, error.strerror or str(error))
                continue
            item = self._item(source_name, source, step, data, dialect)
            if item is not None:
                yield item

    def _item(self, source_name: str, source: int, step: Step, data: bytes, dialect: Dialect) -> Item | None:
        try:
            decoded = decode(data)
        except UndecodableError as error:
            self._skip(step.path, f"not text: {error}")
            return None
        for remark in decoded.notes:
            self.report.warnings.append(Remark(step.path, remark))
        name = note_name(step.path, dialect)
        note = parse_note(decoded.text, dialect, step.path)
        for warning in note.warnings:
            self.report.warnings.append(Remark(step.path, warning.message, warning.line))
        if not note.text.strip():
            self.report.empty += 1
        claims = tuple(link.claims(note, self.template))
        folder = PurePosixPath(step.path).parent
        document = document_store.Document(
            uri=f"{source_name}/{step.path}",
            source=source,
            path=step.path,
            kind="note",
            title=note.title or name.rsplit("/", 1)[-1],
            name=name,
            name_key=link_key(name),
            entity_type=next((claim.tail for claim in claims if claim.kind == "type"), ""),
            content_hash=hashlib.sha256(data).hexdigest(),
            reading=self._reading(dialect),
            folder="" if str(folder) == "." else str(folder),
            private=self.options.private or str(note.metadata.get("private", "")).strip().lower() in TRUE,
            length=len(note.text),
            metadata=note.metadata,
        )
        return Item(document, note, claims, step.known)

    def _reading(self, dialect: Dialect) -> str:
        """Names everything that decides how a text is read; a document read otherwise is read again."""
        parts = [PARSER, self.options.dialect or dialect.name, repr(self.template), str(self.settings.chunk_tokens)]
        return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:16]

    # -- the run -----------------------------------------------------------------

    def _write(self, items: Iterator[Item] | Sequence[Item], total: int) -> None:
        self.progress("read", 0, total)
        for done in self.writer.write(items, self.now):
            self.progress("read", done, total)

    def _skip(self, path: str, reason: str) -> None:
        skipped = files.SkippedFile(path, reason, "unreadable")
        self._skips.append(skipped)
        self._unread.add(path)
        self.report.skipped.append(Remark(path, reason))

    def _count(self, plan: Plan) -> None:
        actions: dict[str, int] = defaultdict(int)
        for step in plan.steps:
            actions[step.action] += 1
            if self.options.dry_run:
                shown = f"{step.was} → {step.path}" if step.was else step.path
                self.report.planned.append((step.action, shown))
        self.report.new += actions["new"]
        self.report.changed += actions["changed"]
        self.report.renamed += actions["renamed"]
        self.report.unchanged += plan.unchanged
        if self.options.dry_run:
            self.report.planned += [("gone", document.uri) for document in plan.gone]

    def _finish(self) -> Report:
        if self.options.dry_run:
            return self.report
        self.writer.finish(self.progress, reparse)
        for ambiguity in self.writer.settlement.ambiguities:
            rivals = ", ".join(ambiguity.rivals)
            self.report.warnings.append(
                Remark(ambiguity.uri, f"[[{ambiguity.target}]] could be {rivals}; taken as the first")
            )
        self.report.totals = totals(self.connection)
        return self.report


def reparse(text: str, dialect: str) -> Note:
    """Read a stored text again, to know where its code and links stand."""
    return parse_note(text, DIALECTS.get(dialect, PLAIN), "")


TOTALS = {
    "documents": "SELECT count(*) FROM kg_documents",
    "chunks": "SELECT count(*) FROM kg_chunks",
    "entities": "SELECT count(*) FROM kg_entities WHERE merged_into IS NULL",
    "triples": "SELECT count(*) FROM kg_triples",
    "attributes": "SELECT count(*) FROM kg_attributes",
    "evidence": "SELECT count(*) FROM kg_evidence",
    "mentions": "SELECT count(*) FROM kg_mentions",
    "links": "SELECT count(*) FROM kg_evidence WHERE link_key IS NOT NULL",
    "tags": "SELECT count(DISTINCT tag) FROM kg_tags",
}


def totals(connection: sqlite3.Connection) -> dict[str, int]:
    """How much of everything the file holds."""
    return {name: int(connection.execute(statement).fetchone()[0]) for name, statement in TOTALS.items()}
