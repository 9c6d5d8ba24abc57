"""Bring the documents of a feed in step: the same plan, writer and report as for a folder of notes.

The feed is read once to compare keys and hashes, and once more for the rows that are
to be written. A row that only moved keeps everything; its place is brought up to date.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from ...facts.link_targets import link_key
from ...store import documents as document_store
from ...store.connection import transaction
from ...text.normalise import is_blank
from .. import preview
from ..dialects import DIALECTS
from ..ingest import Ingest
from ..plan import Fresh, Plan, Step, compare
from ..reading import Reading, read_text
from ..report import Remark
from ..writer import Item
from .feed import Feed, Remarks, Rendered, UnreadableError


def sync(run: Ingest, feed: Feed) -> None:
    """Add a feed within a run. A feed that cannot be read is reported, and nothing of it is touched."""
    remarks = Remarks(feed.name)
    places: dict[str, Mapping[str, Any]] = {}
    fresh: list[Fresh] = []
    stamp = feed.fingerprint()
    try:
        for number, item in enumerate(feed.read(remarks)):
            if number % 500 == 0:
                run.progress("compare", number, number)
            fresh.append(Fresh(item.path, item.content_hash))
            places[item.path] = item.metadata
    except UnreadableError as error:
        remarks.skipped = [Remark(feed.name, str(error))]
        run.report.skipped += remarks.skipped
        _remember(run, feed, remarks, None)
        return
    run.report.skipped += remarks.skipped
    run.report.warnings += remarks.warnings
    stored = _stored(run.connection, feed)
    dialect = DIALECTS[run.options.dialect or "plain"]
    plan = compare(fresh, stored, list(stored), run.reading(dialect), run.options.private, "private" in feed.options)
    run.count(plan)
    steps = {step.path: step for step in plan.steps}
    if run.options.dry_run:
        _preview(run, feed, steps)
        return
    source, name = _remember(run, feed, remarks, None)
    run.write(_items(run, feed, steps, source, name), len(steps))
    _move(run.connection, source, {path: place for path, place in places.items() if path not in steps})
    _prune(run, plan)
    _remember(run, feed, remarks, stamp)


def _stored(connection: sqlite3.Connection, feed: Feed) -> dict[str, document_store.Stored]:
    row = connection.execute("SELECT id FROM kg_sources WHERE kind = ? AND root = ?", [feed.kind, feed.root]).fetchone()
    return {} if row is None else document_store.stored_of(connection, row[0])


def _remember(run: Ingest, feed: Feed, remarks: Remarks, stamp: str | None) -> tuple[int, str]:
    """Id and name of the source. Its fingerprint is stored at the end: a run that broke off is not up to date."""
    connection = run.connection
    if run.options.dry_run:
        return 0, feed.name
    identity = [feed.kind, feed.root]
    row = connection.execute("SELECT options FROM kg_sources WHERE kind = ? AND root = ?", identity).fetchone()
    before = json.loads(row[0]).get("fingerprint") if row else None
    stamp = stamp if stamp is not None else before
    options = {name: value for name, value in feed.options.items() if name != "private"}
    options |= {"fingerprint": stamp} if stamp else {}
    options |= {"private": True} if _is_private(run, feed) else {}
    skipped = [(f"line {remark.line}" if remark.line else f"remark {number}", remark.message)
               for number, remark in enumerate(remarks.skipped, 1)]  # fmt: skip
    with transaction(connection):
        dialect = run.options.dialect or "plain"
        source = document_store.put_source(connection, feed.name, feed.kind, feed.root, dialect, options, run.now)
        document_store.put_skipped(connection, source, skipped, run.now)
    return source, connection.execute("SELECT name FROM kg_sources WHERE id = ?", [source]).fetchone()[0]


def _is_private(run: Ingest, feed: Feed) -> bool:
    """Whether rows that are new are private."""
    return "private" in feed.options if run.options.private is None else run.options.private


def _items(run: Ingest, feed: Feed, steps: Mapping[str, Step], source: int, name: str) -> Iterator[Item]:
    """Documents that are to be written, in the order of the feed."""
    for rendered in feed.read(Remarks(feed.name)):
        step = steps.get(rendered.path)
        if step is None:
            continue
        reading = _read(run, feed, rendered)
        assert reading.note is not None
        run.report.warnings += [Remark(f"{name}/{step.path}", w.message, w.line) for w in reading.note.warnings]
        run.report.empty += is_blank(reading.note.text)
        document = _document(run, feed, name, source, rendered, reading, step)
        yield Item(document, reading.note, reading.claims, step.known)


def _read(run: Ingest, feed: Feed, rendered: Rendered) -> Reading:
    dialect = DIALECTS[run.options.dialect or "plain"]
    return read_text(rendered.text, rendered.content_hash, "", dialect, run.template, parts_level=feed.parts_level)


def _document(
    run: Ingest, feed: Feed, name: str, source: int, rendered: Rendered, reading: Reading, step: Step
) -> document_store.Document:
    assert reading.note is not None
    own = reading.note.metadata
    return document_store.Document(
        uri=f"{name}/{rendered.path}",
        source=source,
        path=rendered.path,
        kind=feed.document_kind,
        title=rendered.title,
        name=rendered.title,
        name_key=link_key(rendered.title),
        entity_type=next((claim.tail for claim in reading.claims if claim.kind == "type"), ""),
        content_hash=rendered.content_hash,
        reading=run.reading(DIALECTS[run.options.dialect or "plain"]),
        folder="",
        private=run.private(step, own),
        length=len(reading.note.text),
        metadata={**rendered.metadata, "columns": own},
    )


def _move(connection: sqlite3.Connection, source: int, places: Mapping[str, Mapping[str, Any]]) -> None:
    """Bring the places of unchanged rows up to date: rows above them came or went."""
    rows = connection.execute("SELECT id, path, metadata FROM kg_documents WHERE source = ?", [source]).fetchall()
    moved = []
    for row in rows:
        place = places.get(row["path"])
        if place is None:
            continue
        before = json.loads(row["metadata"])
        after = {**place, "columns": before.get("columns", {})}
        if after != before:
            moved.append([json.dumps(after, ensure_ascii=False), row["id"]])
    with transaction(connection):
        connection.executemany("UPDATE kg_documents SET metadata = ? WHERE id = ?", moved)


def _prune(run: Ingest, plan: Plan) -> None:
    if run.options.prune and plan.gone:
        run.writer.delete([document.id for document in plan.gone])
        run.report.removed += len(plan.gone)
    else:
        run.report.gone += [document.uri for document in plan.gone]


def _preview(run: Ingest, feed: Feed, steps: Mapping[str, Step]) -> None:
    if not preview.may_split(run.template):
        return
    for rendered in feed.read(Remarks(feed.name)):
        if rendered.path in steps:
            reading = _read(run, feed, rendered)
            assert reading.note is not None
            run.report.splits += preview.splits(rendered.path, reading.note, reading.claims)
