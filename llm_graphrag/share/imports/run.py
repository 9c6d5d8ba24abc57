"""One import: files of triples and of nodes become documents whose rows are their own evidence.

Importing is a sync, as adding notes is: a file that has not changed is not written again, and of one that has changed
only the rows that differ are. Files of nodes come first, because they say what the ids in the others stand for.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath

from ...facts.template import folded
from ...settings import Settings
from ...sources.files import stored_path
from ...sources.ingest import reparse, silent, utc_now
from ...sources.report import Remark
from ...sources.rows.feed import Remarks, UnreadableError
from ...sources.rows.text import read_text
from ...sources.totals import totals
from ...sources.writer import Progress, Writer
from ...store import merges, schema
from ...store.connection import transaction
from ...store.documents import name_of_source
from ...store.imported import DOCUMENT, read_with
from ...store.settings import get_setting, put_setting
from ...text.counted import counted
from ...text.shortened import listed, shortened
from .elsewhere import Elsewhere
from .escapes import json_written_out, ntriples_written_out
from .nodes import read_nodes
from .ntriples import as_ntriples
from .options import CSV, EXTENSIONS, JSONL, NTRIPLES, TSV, TURTLE, ImportOptions
from .rdf import state, survey
from .rdf_names import names_of
from .reading import Reading
from .schema import Learnt, learn
from .spellings import told_apart
from .statements import Maker, Node
from .statements import folded as identifier
from .triples import read_lines, read_table
from .vocabulary import SETTING, Vocabulary
from .ways import NODES, Way, refuse_no_file, refuse_options_of_tables, said, way_of
from .writing import GraphWriter, Known

__all__ = ["GraphImport", "import_graph"]

LISTED = 20  # warnings of one kind
SHOWN = 3  # names in a warning
READER = "graph-3"  # raise it when reading changes: every file is read again


@dataclass(slots=True)
class GraphImport:
    """What an import did; ``skipped`` are rows, and files, that could not be used."""

    files: int = 0  # that were read
    unchanged: int = 0
    rows: int = 0  # that state something
    statements: int = 0
    schema: Learnt | None = None  # what the schema has got
    suggested: int = 0  # pairs that a file says to be the same
    skipped: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)


def import_graph(
    connection: sqlite3.Connection,
    settings: Settings,
    paths: Sequence[Path],
    options: ImportOptions,
    progress: Progress = silent,
) -> GraphImport:
    """Import files. Raises FileNotFoundError, or ValueError for options that do not fit; else all is in the report."""
    for path in (*paths, *options.nodes):
        refuse_no_file(path)
    run = _Import(connection, options, progress)
    ways = [way_of(path, options, run.writer.kept(stored_path(path.resolve()))) for path in paths]
    refuse_options_of_tables(options, [way.format for way in ways])
    run.tables([Way(path, NODES, options).table(path) for path in options.nodes])
    run.tables([way for way in ways if way.format == NODES])
    for way in ways:
        if way.format != NODES:
            run.file(way)
    run.say_missing()
    run.say_left({way.place for way in ways})
    run.suggest()
    if options.schema and run.written:
        files = ", ".join(PurePosixPath(stored_path(path)).name for path in (*options.nodes, *paths))
        run.report.schema = learn(connection, settings, run.written, files, progress)
    writer = Writer(connection, settings)
    writer.settlement.run = run.writer.settlement.run
    writer.finish(progress, reparse)
    run.report.totals = totals(connection)
    return run.report


class _Import:
    """Reads files and has them written, one after the other."""

    def __init__(self, connection: sqlite3.Connection, options: ImportOptions, progress: Progress) -> None:
        self.connection, self.options = connection, options
        self.report = GraphImport()
        self.writer = GraphWriter(connection, utc_now(), progress)
        self._tables: dict[str, dict[str, Node] | None] = {}  # place of a table → what its ids mean, None: unreadable
        self.written: list[int] = []  # documents
        self._changed: list[Way] = []  # tables of nodes that were written
        self.vocabulary = Vocabulary(get_setting(connection, SETTING, {}))
        self.relations: set[str] = set()
        self.unread = False  # whether a file of triples is as it was
        self.own = {folded(row["name"]): row["name"] for row in schema.types(connection)}

    def tables(self, ways: Sequence[Way]) -> dict[str, Node] | None:
        """Import tables of nodes, each once; what their ids stand for, None if one cannot be read."""
        nodes: dict[str, Node] = {}
        for way in ways:
            if way.place not in self._tables:
                self._tables[way.place] = self._table(way, nodes)
            nodes |= self._tables[way.place] or {}
        return None if any(self._tables[way.place] is None for way in ways) else nodes

    def _table(self, way: Way, others: Mapping[str, Node]) -> dict[str, Node] | None:
        path, options = way.path, way.options
        self._mark(way)
        try:
            reading, format = self._text(way), EXTENSIONS.get(path.suffix.lower(), CSV)
            if format == JSONL:
                reading.text = json_written_out(reading.text)
            nodes, named = read_nodes(
                reading, options.delimiter, format, self._maker(way, others),
                None if options.join_spellings else self._elsewhere(path),
            )  # fmt: skip
        except UnreadableError as error:
            self.report.skipped.append(Remark(path.name, str(error)))
            return None
        _say_namesakes(reading, list(named.values()))
        self._put(way, reading, self._new(way, named))
        return nodes

    def file(self, way: Way) -> None:
        """Import a file, if it is not as it was imported before."""
        self._mark(way)
        if lost := [path for path in way.options.nodes if not way.told and not self._is_table(path)]:
            self._leave(way, lost)
            return
        nodes = self.tables([self._way_of_table(path, way) for path in way.options.nodes])
        if nodes is None:
            self.report.skipped.append(Remark(way.path.name, "not read, since a table of its nodes was not"))
            return
        new = self._new(way, {key: asdict(node) for key, node in nodes.items()})
        if self._is_known(way, new):
            self.unread = True
            return
        try:
            reading = self._text(way)
            if way.format in (NTRIPLES, TURTLE):
                self._read_rdf(way, reading)
            else:
                self._read_rows(way, reading, nodes)
        except UnreadableError as error:
            self.report.skipped.append(Remark(way.path.name, str(error)))
            return
        self._put(way, reading, new)

    def _mark(self, way: Way) -> None:
        """Mark a file as private, or as not, if that is told: whether or not it is read."""
        known = self.writer.known(way.place)
        if known.id is not None and way.options.private not in (None, known.private):
            self.writer.mark(known.id, bool(way.options.private))

    def _is_table(self, path: Path) -> bool:
        """Whether a table of nodes is still imported, and there to be read."""
        return path.is_file() and self.writer.known(stored_path(path.resolve())).id is not None

    def _way_of_table(self, path: Path, way: Way) -> Way:
        return way.table(path) if way.told else way_of(
            path, ImportOptions(), self.writer.kept(stored_path(path.resolve()))
        )  # fmt: skip

    def _leave(self, way: Way, lost: Sequence[Path]) -> None:
        """Say that a file whose ids mean nothing without its tables of nodes is left as it is."""
        names = ", ".join(path.name for path in lost)
        same = self.writer.known(way.place).content_hash == _hash_of(way.path)
        self.unread = True
        self.report.unchanged += same
        (self.report.warnings if same else self.report.skipped).append(
            Remark(
                way.path.name,
                f"left as it is: it was read with the nodes of {names}, which is not here any more. Name the table with"
                f" --nodes FILE, or have it read without: --format {way.format}",
            )
        )

    def _read_rows(self, way: Way, reading: Reading, nodes: Mapping[str, Node]) -> None:
        maker = self._maker(way, nodes)
        if way.format == JSONL:
            reading.text = json_written_out(reading.text)
            read_lines(reading, way.options, maker)
        else:
            read_table(reading, way.options, way.format == TSV, maker)
        if not way.options.join_spellings:
            self._tell_apart(reading, nodes)

    def _tell_apart(self, reading: Reading, nodes: Mapping[str, Node]) -> None:
        """Names of a file that differ only in how they are written are different things."""
        rows, named = told_apart(reading.statements, [node.name for node in nodes.values()])
        reading.statements = list(rows)
        for spelling, name in sorted(named.items())[:LISTED]:
            was, now = shortened(spelling), shortened(name)
            reading.warn(f"{was!r} is written otherwise too; kept apart as {now!r} (--join-spellings: one thing)")
        if len(named) > LISTED:
            reading.warn(f"{len(named) - LISTED:,} more names are written otherwise too, and kept apart")

    def _read_rdf(self, way: Way, reading: Reading) -> None:
        path = way.path
        if way.format == TURTLE:
            turtle = reading.text
            reading.text, left_out = as_ntriples(turtle, path.name)
            for iri in left_out:
                at = turtle.find(f"<{iri}>")
                line = turtle.count("\n", 0, at) + 1 if at >= 0 else None
                reading.skipped.append(
                    Remark(path.name, f"left out, since it holds an IRI that is none: <{iri}>", line)
                )
        reading.text = ntriples_written_out(reading.text)
        name = name_of_source(self.connection, path.name, DOCUMENT, way.place)
        names, named = names_of(
            survey(reading), name, self.vocabulary, self._elsewhere(path), way.options.join_spellings
        )
        _say_namesakes(reading, named)
        reading.later = lambda: state(reading.text, names)

    def _elsewhere(self, path: Path) -> Elsewhere:
        return Elsewhere(self.connection, self.writer.known(stored_path(path.resolve())).id)

    def _is_known(self, way: Way, new: Known) -> bool:
        known = self.writer.known(way.place)
        same = (known.content_hash, known.reading) == (new.content_hash, new.reading)
        self.report.unchanged += same
        return same

    def _put(self, way: Way, reading: Reading, new: Known) -> None:
        """Write a file that was read, and report it; what else was learnt from it belongs to what it says."""
        if self._is_known(way, new):
            return
        before = self.writer.kept(way.place)
        if before is not None and before != way.kept:
            reading.warn(f"read otherwise than before: {said(way.kept)}; then it was {said(before)}")
        stat = way.path.stat()
        stamp = {"size": stat.st_size, "mtime": stat.st_mtime_ns, "read": way.kept}
        if self.vocabulary.changed:
            with transaction(self.connection):
                put_setting(self.connection, SETTING, self.vocabulary.known)
        id_ = self.writer.write(reading, way.place, stamp, new)
        self.written.append(id_)
        self._changed += [way] if way.format == NODES else []
        self.report.files += 1
        self.report.rows += reading.used
        self.report.statements += reading.stated
        self.report.skipped += reading.skipped
        self.report.warnings += reading.warnings

    def _new(self, way: Way, names: Mapping[str, object]) -> Known:
        """A file as it is now, with everything besides it that decides what is read of it."""
        parts = [READER, way.format, way.kept, _sorted_hash(names)]
        how = _hash(json.dumps(parts, sort_keys=True).encode())[:16]
        return Known(None, _hash_of(way.path), how, way.options.private)

    def _text(self, way: Way) -> Reading:
        reading, remarks = Reading(way.path.name), Remarks(way.path.name)
        reading.text = read_text(way.path, way.options.encoding, remarks)
        reading.warnings += remarks.warnings
        return reading

    def _maker(self, way: Way, nodes: Mapping[str, Node]) -> Maker:
        return Maker(nodes, frozenset(map(identifier, way.options.attributes)), self.own, self.relations)

    def say_missing(self) -> None:
        """Say which relations that are to be attributes no file has."""
        if self.unread:  # they may stand there
            return
        for name in self.options.attributes:
            if identifier(name) not in self.relations:
                near = difflib.get_close_matches(identifier(name), sorted(self.relations), n=3)
                there = listed(near or sorted(self.relations), SHOWN) or "none"
                self.report.warnings.append(
                    Remark("--attribute", f"no row has the relation {shortened(name)!r}. There is: {there}")
                )

    def say_left(self, asked: Collection[str]) -> None:
        """Say which files still state what the ids of a table meant before it changed."""
        for way in self._changed:
            left = [name for name, place in read_with(self.connection, way.place) if place not in asked]
            if left:
                shown = ", ".join(left[:SHOWN]) + ", …" * (len(left) > SHOWN)
                self.report.warnings.append(
                    Remark(way.path.name, f"its ids also stand in {shown}: import that again too")
                )

    def suggest(self) -> None:
        """Suggest that two entities are one where a file says that they are the same; a person decides."""
        with transaction(self.connection):
            for item in merges.said(self.connection, self.written):
                if merges.find(self.connection, item.pair) is None:
                    merges.put(self.connection, item.pair, item.reason, item.doubt, merges.SUGGESTED)
                    self.report.suggested += 1


def _say_namesakes(reading: Reading, named: Sequence[str]) -> None:
    """Say which things had to get another name, since things with other ids have theirs."""
    if named:
        shown = ", ".join(repr(shortened(name)) for name in named[:SHOWN]) + ", …" * (len(named) > SHOWN)
        things = counted(
            len(named), "thing has a name that another has, and is", "things have a name that another has, and are"
        )
        reading.warn(f"{things} called {shown} (--join-spellings: one thing)")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hash_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _sorted_hash(nodes: Mapping[str, object]) -> str:
    return _hash(json.dumps(nodes, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")) if nodes else ""
