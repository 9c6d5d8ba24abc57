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
from ...store.imported import DOCUMENT
from ...store.settings import get_setting, put_setting
from ...text.counted import counted
from .elsewhere import Elsewhere
from .nodes import read_nodes
from .ntriples import as_ntriples
from .options import JSONL, NTRIPLES, TSV, TURTLE, ImportOptions, format_of
from .rdf import state, survey
from .rdf_names import names_of
from .reading import Reading
from .schema import Learnt, learn
from .spellings import told_apart
from .statements import Maker, Node
from .statements import folded as identifier
from .triples import read_lines, read_table
from .vocabulary import SETTING, Vocabulary
from .writing import GraphWriter, Known

__all__ = ["GraphImport", "import_graph"]

LISTED = 20  # warnings of one kind
SHOWN = 3  # names in a warning
LONGEST = 80  # letters of a name in a warning
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
        _refuse_no_file(path)
    formats = [format_of(path, options) for path in paths]
    _refuse_options_of_tables(options, formats)
    run = _Import(connection, options, progress)
    for path in options.nodes:
        run.nodes_file(path)
    for path, format in zip(paths, formats, strict=True):
        run.file(path, format)
    run.say_missing()
    run.suggest()
    if options.schema and run.written:
        files = ", ".join(PurePosixPath(stored_path(path)).name for path in (*options.nodes, *paths))
        run.report.schema = learn(connection, settings, run.written, files, progress)
    writer = Writer(connection, settings)
    writer.settlement.run = run.writer.settlement.run
    writer.finish(progress, reparse)
    run.report.totals = totals(connection)
    return run.report


def _refuse_no_file(path: Path) -> None:
    """Raise FileNotFoundError, for a folder with how to read it."""
    if path.is_dir():
        for nodes, edges in (("nodes.csv", "relationships.csv"), ("entities.csv", "relations.csv")):
            if (path / nodes).is_file() and (path / edges).is_file():
                raise FileNotFoundError(f"{path} is a folder; read it with: {path / edges} --nodes {path / nodes}")
        raise FileNotFoundError(f"{path} is a folder; name the files in it")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there, or no file")


def _refuse_options_of_tables(options: ImportOptions, formats: Collection[str]) -> None:
    """Raise ValueError for what is said of columns and relations if nothing is read that has them."""
    said = {name: getattr(options, name) for name in ("head", "relation", "tail")} | {"attribute": options.attributes}
    if not {*formats} - {NTRIPLES, TURTLE}:
        for name, value in said.items():
            if value:
                raise ValueError(f"--{name} is about tables and JSON lines of triples, and none is to be read")


class _Import:
    """Reads files and has them written, one after the other."""

    def __init__(self, connection: sqlite3.Connection, options: ImportOptions, progress: Progress) -> None:
        self.connection, self.options = connection, options
        self.report = GraphImport()
        self.writer = GraphWriter(connection, utc_now(), progress)
        self.nodes: dict[str, Node] = {}
        self.written: list[int] = []  # documents
        self.vocabulary = Vocabulary(get_setting(connection, SETTING, {}))
        self.relations: set[str] = set()
        self.unread = False  # whether a file of triples is as it was
        self.own = {folded(row["name"]): row["name"] for row in schema.types(connection)}

    def nodes_file(self, path: Path) -> None:
        """Import a table of nodes, and learn what its ids stand for."""
        try:
            reading = self._text(path)
            nodes, named = read_nodes(
                reading, self.options.delimiter, path.suffix.lower() == ".tsv", self._maker(),
                None if self.options.join_spellings else self._elsewhere(path),
            )  # fmt: skip
        except UnreadableError as error:
            self.report.skipped.append(Remark(path.name, str(error)))
            return
        self.nodes |= nodes
        _say_namesakes(reading, list(named.values()))
        self._put(path, reading, Known(None, _hash_of(path), self._how("nodes", named), self.options.private))

    def file(self, path: Path, format: str) -> None:
        """Import a file, if it is not as it was imported before."""
        nodes = {} if format in (NTRIPLES, TURTLE) else {key: asdict(node) for key, node in self.nodes.items()}
        new = Known(None, _hash_of(path), self._how(format, nodes), self.options.private)
        if self._is_known(path, new):
            self.unread = True
            return
        try:
            reading = self._text(path)
            if format in (NTRIPLES, TURTLE):
                self._read_rdf(path, reading, format)
            else:
                self._read_rows(reading, format)
        except UnreadableError as error:
            self.report.skipped.append(Remark(path.name, str(error)))
            return
        self._put(path, reading, new)

    def _read_rows(self, reading: Reading, format: str) -> None:
        if format == JSONL:
            read_lines(reading, self.options, self._maker())
        else:
            read_table(reading, self.options, format == TSV, self._maker())
        if not self.options.join_spellings:
            self._tell_apart(reading)

    def _tell_apart(self, reading: Reading) -> None:
        """Names of a file that differ only in how they are written are different things."""
        rows, named = told_apart(reading.statements, [node.name for node in self.nodes.values()])
        reading.statements = list(rows)
        for spelling, name in sorted(named.items())[:LISTED]:
            reading.warn(f"{spelling!r} is written otherwise too; kept apart as {name!r} (--join-spellings: one thing)")
        if len(named) > LISTED:
            reading.warn(f"{len(named) - LISTED:,} more names are written otherwise too, and kept apart")

    def _read_rdf(self, path: Path, reading: Reading, format: str) -> None:
        if format == TURTLE:
            turtle = reading.text
            reading.text, left_out = as_ntriples(turtle, path.name)
            for iri in left_out:
                at = turtle.find(f"<{iri}>")
                line = turtle.count("\n", 0, at) + 1 if at >= 0 else None
                reading.skipped.append(
                    Remark(path.name, f"left out, since it holds an IRI that is none: <{iri}>", line)
                )
        name = name_of_source(self.connection, path.name, DOCUMENT, stored_path(path.resolve()))
        names, named = names_of(
            survey(reading), name, self.vocabulary, self._elsewhere(path), self.options.join_spellings
        )
        _say_namesakes(reading, named)
        reading.later = lambda: state(reading.text, names)

    def _elsewhere(self, path: Path) -> Elsewhere:
        return Elsewhere(self.connection, self.writer.known(stored_path(path.resolve())).id)

    def _is_known(self, path: Path, new: Known) -> bool:
        known = self.writer.known(stored_path(path.resolve()))
        same = (known.content_hash, known.reading) == (new.content_hash, new.reading)
        self.report.unchanged += same
        if same and known.id is not None and new.private not in (None, known.private):
            self.writer.mark(known.id, bool(new.private))
        return same

    def _put(self, path: Path, reading: Reading, new: Known) -> None:
        """Write a file that was read, and report it; what else was learnt from it belongs to what it says."""
        if self._is_known(path, new):
            return
        stat = path.stat()
        stamp = {"size": stat.st_size, "mtime": stat.st_mtime_ns}
        if self.vocabulary.changed:
            with transaction(self.connection):
                put_setting(self.connection, SETTING, self.vocabulary.known)
        id_ = self.writer.write(reading, stored_path(path.resolve()), stamp, new)
        self.written.append(id_)
        self.report.files += 1
        self.report.rows += reading.used
        self.report.statements += reading.stated
        self.report.skipped += reading.skipped
        self.report.warnings += reading.warnings

    def _how(self, format: str, names: Mapping[str, object]) -> str:
        """Names everything besides the file that decides what is read of it."""
        said = [READER, format, self.options.of_reading(), _sorted_hash(names)]
        return _hash(json.dumps(said, sort_keys=True).encode())[:16]

    def _text(self, path: Path) -> Reading:
        reading, remarks = Reading(path.name), Remarks(path.name)
        reading.text = read_text(path, self.options.encoding, remarks)
        reading.warnings += remarks.warnings
        return reading

    def _maker(self) -> Maker:
        return Maker(self.nodes, frozenset(map(identifier, self.options.attributes)), self.own, self.relations)

    def say_missing(self) -> None:
        """Say which relations that are to be attributes no file has."""
        if self.unread:  # they may stand there
            return
        for name in self.options.attributes:
            if identifier(name) not in self.relations:
                near = difflib.get_close_matches(identifier(name), sorted(self.relations), n=3)
                there = ", ".join(near or sorted(self.relations)[:SHOWN]) or "none"
                self.report.warnings.append(
                    Remark("--attribute", f"no row has the relation {name[:LONGEST]!r}. There is: {there}")
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
        shown = ", ".join(repr(name) for name in named[:SHOWN]) + ", …" * (len(named) > SHOWN)
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
