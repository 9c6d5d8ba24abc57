"""Adding is a sync: what is new is read, what changed is read again, what stayed costs nothing.

One run takes folders, files or text, plans what to do (plan.py), parses and writes
it in batches (writer.py), and reports. Bad input never stops the rest: a file that
cannot be read is listed with its reason and the run goes on.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any

from ..facts.link_targets import link_key
from ..settings import Settings
from ..store import documents as document_store
from ..store import history, schema
from ..store.connection import transaction
from ..text.normalise import is_blank
from . import files, places, preview
from .dialects import DIALECTS, PLAIN, Dialect, detect, note_name
from .markdown import parse_note
from .note import Note
from .plan import Fresh, Plan, Step, compare
from .reading import Reading, read_bytes, read_files
from .report import Remark, Report
from .survey import survey
from .totals import totals
from .writer import Item, Progress, Writer

PARSER = "notes-1"  # raise it when parsing changes: every document is read again


@dataclass(frozen=True, slots=True)
class Options:
    """How to read.

    ``dialect`` None detects it; ``prune`` removes documents whose files are gone;
    ``follow`` reads what links out of the folder lead to; ``private`` marks all as
    private, or as not so, None leaves them as they were; ``ignore`` are gitignore
    patterns; ``workers`` is how many other processes may parse (a script that asks
    for some needs a ``__main__`` guard).
    """

    dialect: str | None = None
    prune: bool = False
    dry_run: bool = False
    follow: bool = False
    private: bool | None = None
    ignore: tuple[str, ...] = ()
    max_bytes: int = files.MAX_BYTES
    workers: int = 0


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
        self.writer = Writer(connection, settings)
        self.writer.settlement.run = history.Run(history.ADD, self.now)

    def paths(self, paths: Sequence[Path]) -> None:
        """Add folders and files; :meth:`finish` must follow. Raises FileNotFoundError naming what is not there."""
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

    def text(self, data: bytes, name: str) -> Report:
        """Add one text that came through standard input, under a name."""
        dialect = DIALECTS[self.options.dialect or "plain"]
        path = name if PurePosixPath(name).suffix else f"{name}.md"
        fresh = [Fresh(path, hashlib.sha256(data).hexdigest(), not data.strip())]
        row = self.connection.execute("SELECT id FROM kg_sources WHERE kind = 'text' AND root = ''").fetchone()
        stored = {} if row is None else document_store.stored_of(self.connection, row[0])
        plan = compare(fresh, stored, [], self.reading(dialect), self.options.private)
        self.count(plan)
        if not self.options.dry_run:
            with transaction(self.connection):
                source = document_store.put_source(self.connection, "stdin", "text", "", dialect.name, {}, self.now)
            readings = [read_bytes(data, path, dialect, self.template) for _ in plan.steps]
            self.write(self._items("stdin", source, plan.steps, readings, dialect), len(plan.steps))
        return self.finish()

    # -- a folder ----------------------------------------------------------------

    def _folder(self, root: Path, only: Sequence[str] | None) -> None:
        options = self.options
        dialect = DIALECTS[options.dialect] if options.dialect else detect(root)
        seen = survey(
            root,
            only,
            follow=options.follow,
            ignore=options.ignore,
            max_bytes=options.max_bytes,
            progress=self.progress,
        )
        first = len(self.report.skipped)
        self.report.ignored += seen.ignored
        self.report.skipped += [Remark(path, reason) for path, reason in seen.skipped]
        self.report.warnings += [Remark(path, reason) for path, reason in seen.warnings]
        stored = self._stored(root)
        in_scope = [path for path in stored if places.within(path, only) and not seen.may_be_there(path)]
        before = document_store.options_of(self.connection, "folder", files.stored_path(root)).get("private", False)
        plan = compare(seen.fresh, stored, in_scope, self.reading(dialect), options.private, before)
        self.count(plan)
        paths = [seen.found[step.path].path for step in plan.steps]
        if options.dry_run:
            self._preview(plan.steps, paths, dialect)
            return
        with transaction(self.connection):
            source = self._source(root, dialect, only is None)
        name = self.connection.execute("SELECT name FROM kg_sources WHERE id = ?", [source]).fetchone()[0]
        readings = read_files(paths, dialect, self.template, options.workers)
        self.write(self._items(name, source, plan.steps, readings, dialect), len(plan.steps))
        if only is None:
            with transaction(self.connection):
                skipped = [(files.printable(remark.path), remark.message) for remark in self.report.skipped[first:]]
                document_store.put_skipped(self.connection, source, skipped, self.now)
        if options.prune and plan.gone:
            self.writer.delete([document.id for document in plan.gone])
            self.report.removed += len(plan.gone)
        else:
            self.report.gone += [document.uri for document in plan.gone]

    def _preview(self, steps: Sequence[Step], paths: Sequence[Path], dialect: Dialect) -> None:
        """Read what would be written for what the schema makes of it, if that is worth telling."""
        if not preview.may_split(self.template):
            return
        for step, reading in zip(steps, read_files(paths, dialect, self.template, self.options.workers), strict=True):
            if reading.note is not None:
                self.report.splits += preview.splits(step.path, reading.note, reading.claims)

    def _stored(self, root: Path) -> dict[str, document_store.Stored]:
        row = self.connection.execute(
            "SELECT id FROM kg_sources WHERE kind = 'folder' AND root = ?", [files.stored_path(root)]
        ).fetchone()
        inner = [r for r in places.roots(self.connection) if root in r.parents]
        if inner and not self.options.dry_run:
            with transaction(self.connection):
                source = self._source(root, PLAIN, False) if row is None else int(row[0])
                places.take_in(self.connection, source, root)
            return document_store.stored_of(self.connection, source)
        return {} if row is None else document_store.stored_of(self.connection, row[0])

    def _source(self, root: Path, dialect: Dialect, whole: bool) -> int:
        stored, options = files.stored_path(root), dict[str, Any]()
        if self.options.ignore:
            options["ignore"] = list(self.options.ignore)
        before = document_store.options_of(self.connection, "folder", stored).get("private", False)
        if self.options.private if whole and self.options.private is not None else before:
            options["private"] = True
        return document_store.put_source(
            self.connection, PurePosixPath(stored).name or "root", "folder", stored, dialect.name, options, self.now
        )

    # -- documents ---------------------------------------------------------------

    def _items(
        self, source_name: str, source: int, steps: Sequence[Step], readings: Iterable[Reading], dialect: Dialect
    ) -> Iterator[Item]:
        """Documents of what was read; what was not is reported, and no longer counts as new or changed."""
        how = self.reading(dialect)
        for step, reading in zip(steps, readings, strict=True):
            self.report.warnings += [Remark(step.path, remark) for remark in reading.remarks]
            if reading.note is None:
                self.report.skipped.append(Remark(step.path, reading.error or ""))
                self.report.uncount(step.action)
                continue
            self.report.warnings += [Remark(step.path, w.message, w.line) for w in reading.note.warnings]
            self.report.empty += is_blank(reading.note.text)
            name = note_name(step.path, dialect)
            document = self._document(source_name, source, step, reading, reading.note, name, how)
            yield Item(document, reading.note, reading.claims, step.known)

    def _document(
        self, source_name: str, source: int, step: Step, reading: Reading, note: Note, name: str, how: str
    ) -> document_store.Document:
        folder = PurePosixPath(step.path).parent
        return document_store.Document(
            uri=f"{source_name}/{step.path}",
            source=source,
            path=step.path,
            kind="note",
            title=note.title or name.rsplit("/", 1)[-1],
            name=name,
            name_key=link_key(name),
            entity_type=next((claim.tail for claim in reading.claims if claim.kind == "type"), ""),
            content_hash=reading.content_hash,
            reading=how,
            folder="" if str(folder) == "." else str(folder),
            private=self.private(step, note.metadata),
            length=len(note.text),
            metadata=note.metadata,
        )

    def private(self, step: Step, metadata: Mapping[str, Any]) -> bool:
        """Whether a document is private: by what is said now, else as it was; or because it says so itself."""
        marked = step.private if self.options.private is None else self.options.private
        return marked or document_store.says_private(metadata)

    def reading(self, dialect: Dialect) -> str:
        """Names everything that decides how a text is read; a document read otherwise is read again."""
        parts = [PARSER, self.options.dialect or dialect.name, repr(self.template), str(self.settings.chunk_tokens)]
        return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:16]

    # -- the run -----------------------------------------------------------------

    def write(self, items: Iterable[Item], total: int) -> None:
        """Write items in batches."""
        self.progress("read", 0, total)
        for done in self.writer.write(items, self.now):
            self.progress("read", done, total)

    def count(self, plan: Plan) -> None:
        """Take a plan into the report."""
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
            action = "remove" if self.options.prune else "gone"
            self.report.planned += [(action, document.path) for document in plan.gone]
            self.report.removed += len(plan.gone) if self.options.prune else 0

    def finish(self) -> Report:
        """Look for names, and sum up; nothing follows."""
        if self.options.dry_run:
            return self.report
        self.writer.finish(self.progress, reparse)
        with transaction(self.connection):
            history.record(self.connection, self.writer.settlement.run)  # also notes that only moved
        for ambiguity in self.writer.settlement.ambiguities:
            rivals = ", ".join(ambiguity.rivals)
            self.report.warnings.append(
                Remark(ambiguity.uri, f"[[{ambiguity.target}]] could be {rivals}; taken as the first")
            )
        self.report.totals = totals(self.connection)
        return self.report


def reparse(text: str, dialect: str, path: str) -> Note:
    """Read a stored text again, to know where its code and links stand."""
    return parse_note(text, DIALECTS.get(dialect, PLAIN), path)
