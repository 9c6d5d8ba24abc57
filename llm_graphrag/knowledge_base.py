"""The Python API: a knowledge base is a file, opened to read or to write.

    >>> from pathlib import Path; import tempfile
    >>> folder = Path(tempfile.mkdtemp()); vault = folder / "vault"; vault.mkdir()
    >>> _ = (vault / "Ana.md").write_text("Ana builds boats with [[Ben]].")
    >>> with KnowledgeBase.open(folder / "kb.db", create=True) as kb:
    ...     report = kb.add([vault])
    ...     print(report.new, [hit.uri for hit in kb.search("who builds boats?")])
    1 ['vault/Ana.md']

Methods return dataclasses; errors are ValueErrors (and FileNotFoundError for paths)
whose message says what to do. Nothing here prints.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import settings as settings_module
from .store import connection as connections
from .store.connection import KnowledgeBaseError, transaction

if TYPE_CHECKING:
    from .answer.ask import Answer
    from .answer.written_query import Written
    from .extract.asking import Reader
    from .extract.batch_export import Exported
    from .extract.batch_import import Imported as ImportedReplies
    from .extract.estimate import Estimate
    from .extract.extract import Replayed
    from .extract.run import Options as ExtractOptions
    from .extract.run import Report as ExtractReport
    from .facts.template import Template
    from .graph.candidates import Linked
    from .graph.entity import Group
    from .graph.frontier import Within
    from .graph.metapath import Followed
    from .graph.paths import Paths
    from .graph.relations import Guess
    from .index.embed import Embedded
    from .models import Caller
    from .routes.hits import Hits
    from .share.exports.run import Exported as GraphExport
    from .share.imports.options import ImportOptions
    from .share.imports.run import GraphImport
    from .sources.ingest import Ingest, Options
    from .sources.report import Report
    from .sources.rows.open import RowOptions
    from .sources.writer import Progress
    from .store.check import Problem
    from .store.query import Rows

__all__ = ["KnowledgeBase", "KnowledgeBaseError"]

STATIC = "graphrag-static"


class KnowledgeBase:
    """One SQLite file and what can be done with it."""

    def __init__(self, connection: sqlite3.Connection, path: Path, readonly: bool) -> None:
        self.connection = connection
        self.path = path
        self.readonly = readonly

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False, readonly: bool = False) -> KnowledgeBase:
        """Open a file; ``create`` makes it if it is not there.

        Raises KnowledgeBaseError (or another ValueError) if it cannot be used.
        """
        path = Path(path).expanduser()
        opened = connections.open_to_read(path) if readonly else connections.open_to_write(path, create)
        return cls(opened, path, readonly)

    @classmethod
    def in_memory(cls) -> KnowledgeBase:
        """An empty knowledge base that is gone when it is closed."""
        return cls(connections.open_in_memory(), Path(":memory:"), False)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- sources -----------------------------------------------------------------

    def add(
        self,
        paths: Sequence[str | Path],
        options: Options | None = None,
        progress: Progress | None = None,
        rows: RowOptions | None = None,
    ) -> Report:
        """Read folders, notes, tables (CSV, JSON, SQLite), or "llm-logs"; adding again is a sync.

        ``rows`` says what to read of a table, and where llm's log is.
        """
        from .sources.add import add
        from .sources.ingest import Options, silent
        from .sources.rows.open import RowOptions

        report = add(
            self.connection, self.settings, options or Options(), rows or RowOptions(), paths, progress or silent
        )
        return self._follow(report, progress)

    def add_text(self, text: bytes, name: str, options: Options | None = None) -> Report:
        """Read one text under a name."""
        return self._follow(self._ingest(options, None).text(text, name), None)

    def import_graph(
        self, paths: Sequence[str | Path], options: ImportOptions | None = None, progress: Progress | None = None
    ) -> GraphImport:
        """Read files of triples (CSV, TSV, JSON lines, N-Triples, Turtle), each a document whose rows are its evidence.

        ``options`` (share/imports/options.py) says what the columns are and names files of nodes. Rows that cannot be
        used are in the report. Importing a file again is a sync.
        """
        from .share.imports.options import ImportOptions
        from .share.imports.run import import_graph
        from .sources.ingest import silent
        from .sources.report import Remark

        named = [Path(path).expanduser() for path in paths]
        done = import_graph(self.connection, self.settings, named, options or ImportOptions(), progress or silent)
        if done.files:
            done.warnings += [Remark("vectors", warning) for warning in self._embed_names(progress)]
        return done

    def export_graph(self, out: str | Path, format: str = "", **options: Any) -> GraphExport:
        """Write the graph as a file (csv, jsonl, graphml, ntriples, turtle, parquet) or folder (neo4j, ladybug).

        share/exports/run.py has the options: overwrite, private, and the scope. Raises ExportError.
        """
        from .share.exports.run import export_graph

        return export_graph(self.connection, Path(out).expanduser(), format, **options)

    def _follow(self, report: Report, progress: Progress | None) -> Report:
        """Weigh proposals anew and give what is new its vectors. The notes are in the file whatever becomes of this."""
        from .index.encoders import EncoderError
        from .review.proposals import recount
        from .sources.report import Remark

        if not report.totals:  # a dry run
            return report
        recount(self.connection, self.settings)
        if not self.settings.embedding_model:
            return report
        try:
            report.totals["vectors"] = self.embed(progress=progress).made
        except EncoderError as error:
            report.warnings.append(Remark("vectors", f"{error} The notes are stored; vectors follow at the next add."))
        return report

    def embed(self, model: str | None = None, progress: Progress | None = None, full: bool = False) -> Embedded:
        """Bring vectors in step with the notes.

        ``model`` changes the model; the old vectors stay in use until the new are complete.
        Raises EncoderError if the model is not there or does not give what it should.
        """
        from .index import embed as embedding
        from .index.encoders import encoder, is_bundled
        from .index.vectors import MODEL
        from .sources.ingest import silent
        from .store.settings import get_setting

        chosen = encoder(model or self.settings.embedding_model or STATIC)
        known = get_setting(self.connection, MODEL)
        if model is None and is_bundled(known) and is_bundled(chosen.model_id) and known != chosen.model_id:
            return embedding.change_model(self.connection, chosen, progress or silent)
        if model is None:
            return embedding.embed(self.connection, chosen, progress or silent, full)
        done = embedding.change_model(self.connection, chosen, progress or silent)
        self.set(embedding_model=STATIC if is_bundled(chosen.model_id) else chosen.model_id)
        return done

    def _ingest(self, options: Options | None, progress: Progress | None) -> Ingest:
        from .sources.ingest import Ingest, Options, silent

        return Ingest(self.connection, self.settings, options or Options(), progress or silent)

    def remove(self, names: Sequence[str]) -> list[str]:
        """Remove documents by uri, or whole sources by name or folder; returns the uris removed."""
        from .index.embed import remove_gone
        from .review.proposals import recount
        from .sources.remove import remove

        removed = remove(self.connection, self.settings, names)
        recount(self.connection, self.settings)
        remove_gone(self.connection)
        return removed

    def forget(self, name: str, type_: str | None = None, never: bool = False) -> dict[str, Any]:
        """Delete an entity with its mentions and facts; ``never`` keeps its name from coming back."""
        from .index.embed import remove_gone
        from .sources.remove import forget

        done = forget(self.connection, name, type_, never)
        remove_gone(self.connection)
        return done

    # -- extraction with a model -------------------------------------------------

    def extract(
        self,
        caller: Caller,
        options: ExtractOptions | None = None,
        two_step: bool = False,
        progress: Progress | None = None,
    ) -> ExtractReport:
        """Have a model read what it has not read yet; every fact is stored with its sentence.

        ``caller`` is a model with a ledger (models.py). Calls that fail are in the report; a run goes on where an
        earlier one stopped.
        """
        from .extract.extract import extract
        from .review.proposals import revalidate
        from .sources.ingest import silent

        report = extract(
            self.connection, self.settings, caller, options or self._extract_options(), two_step, progress or silent,
            caller.stop,
        )  # fmt: skip
        revalidate(self.connection, self.settings)
        report.warnings += self._embed_names(progress)
        return report

    def export_requests(
        self,
        caller: Caller,
        path: str | Path,
        format: str = "openai",
        options: ExtractOptions | None = None,
        two_step: bool = False,
        progress: Progress | None = None,
    ) -> Exported:
        """Write what ``extract`` would ask into a file for a provider's batch (openai or anthropic).

        The windows wait for their replies then, and what they may cost is set aside.
        """
        from .extract.extract import export_requests
        from .sources.ingest import silent

        chosen = options or self._extract_options()
        return export_requests(
            self.connection, self.settings, caller, chosen, Path(path), format, two_step, progress or silent
        )

    def import_replies(
        self, path: str | Path, any_model: bool = False, progress: Progress | None = None
    ) -> ImportedReplies:
        """Store what the replies of a batch say. A file may come again, in parts, or with lines that are wrong."""
        from .extract.extract import import_replies
        from .review.proposals import revalidate
        from .sources.ingest import silent

        done = import_replies(self.connection, self.settings, Path(path), any_model, progress or silent)
        revalidate(self.connection, self.settings)
        done.warnings += self._embed_names(progress)
        return done

    def forget_exported(self, documents: Sequence[int] | None = None) -> int:
        """Have windows that were exported, all or those of ``documents``, wait again; returns how many."""
        from .extract.batch_export import forget_exported

        return forget_exported(self.connection, documents)

    def extraction_reader(self, caller: Caller, two_step: bool = False) -> Reader:
        """What ``extract`` would ask with: prompt and schema; nothing is written."""
        from .extract.extract import reader

        return reader(self.connection, self.settings, caller, two_step)

    def extraction_estimate(self, reader: Reader, options: ExtractOptions | None = None) -> Estimate:
        """What ``extract`` would ask, and about how many tokens that is."""
        from .extract.estimate import estimate, windows_to_ask

        windows = windows_to_ask(self.connection, options or self._extract_options())
        return estimate(windows, reader)

    def deepen(
        self, caller: Caller, question: str, chunks: Sequence[int], windows: int = 4, progress: Progress | None = None
    ) -> ExtractReport:
        """Have a model read those of ``chunks``, best first, that it has not read, in at most ``windows`` calls.

        The same question again reads only what was added since.
        """
        from .extract import deep

        options = deep.options_for(self.connection, question, chunks, windows, self.settings.window_tokens)
        report = self.extract(caller, options, progress=progress)
        if not (report.stopped or report.failed or report.halved):
            deep.remember(self.connection, question)
        return report

    def replay(self, progress: Progress | None = None) -> Replayed:
        """Read all kept replies anew, under the schema and the checks of today; no model is asked."""
        from .extract.extract import replay
        from .sources.ingest import silent

        done = replay(self.connection, self.settings, progress or silent)
        done.warnings += self._embed_names(progress)
        return done

    def _extract_options(self) -> ExtractOptions:
        from .extract.run import Options

        return Options(window_tokens=self.settings.window_tokens)

    def _embed_names(self, progress: Progress | None) -> list[str]:
        """Give names that are new their vectors. The facts are in the file whatever becomes of this: it only warns."""
        from .index.encoders import EncoderError

        if self.settings.embedding_model:
            try:
                self.embed(progress=progress)
            except EncoderError as error:
                return [f"{error} The facts are stored; vectors follow at the next add."]
        return []

    # -- questions ---------------------------------------------------------------

    def search(self, question: str, **options: Any) -> Hits:
        """The best chunks for a question, best first (routes/search.py has the options)."""
        from .routes.search import search

        return search(self.connection, question, **options)

    def paths(
        self,
        source: str,
        target: str,
        *,
        via: str | None = None,
        k: int = 3,
        max_hops: int = 4,
        relations: Sequence[str] | None = None,
        mentions: bool = False,
    ) -> Paths:
        """The best paths of facts between two things, by name or #id (graph/paths.py says which are best).

        ``via``: only over a third thing; ``relations``: only over these. ``mentions``: where there is none, paths over
        sentences that name two things (graph/together.py). Raises ValueError for a name that is unknown or means
        several things, and for a relation that is not there.
        """
        from .graph.named import meant
        from .graph.paths import paths_via, shortest_paths
        from .graph.together import paths_together

        start, end, within = self._ends(source, target, relations)
        if via is None:
            found = shortest_paths(self.connection, [start], [end], k, max_hops, within=within)
            return found if found.paths or not mentions else paths_together(self.connection, start, end, k, max_hops)
        return paths_via(self.connection, start, meant(self.connection, via).id, end, k, max_hops, within=within)

    def nearest_path(self, source: str, target: str, relations: Sequence[str] | None = None) -> Paths:
        """One path of facts with as few hops as can be, however many: how far apart two things are.

        Raises ValueError as ``paths`` does.
        """
        from .graph.paths import shortest_path

        start, end, within = self._ends(source, target, relations)
        return shortest_path(self.connection, start, end, within=within)

    def _ends(self, source: str, target: str, relations: Sequence[str] | None) -> tuple[int, int, Within]:
        """What two names mean, and the part of the graph that has these relations."""
        from .graph.frontier import Within
        from .graph.metapath_text import known
        from .graph.named import meant

        start, end = meant(self.connection, source).id, meant(self.connection, target).id
        within = Within(frozenset(known(self.connection, relations))) if relations is not None else Within()
        return start, end, within

    def follow(self, name: str, metapath: str | Sequence[str], **options: Any) -> Followed:
        """Where a metapath such as ``^directed_by/starred_actors`` leads from one thing.

        The options are those of graph/metapath.py. Raises ValueError for a name that is unknown or means several
        things, and for a metapath that cannot be followed.
        """
        from .graph.metapath import follow
        from .graph.named import meant

        return follow(self.connection, [meant(self.connection, name).id], metapath, **options)

    def relations_asked_for(self, name: str, question: str, k: int = 5) -> list[Guess]:
        """The metapaths of one or two steps from one thing that a question most probably asks for, best first.

        By words, senses and the bundled vectors, without a model (graph/relations.py). Raises ValueError for a name
        that is unknown or means several things.
        """
        from .graph.named import meant
        from .graph.relations import guesses

        return guesses(self.connection, meant(self.connection, name).id, question, name, k=k)

    def values_asked_for(self, name: str, question: str) -> Group | None:
        """The attribute of one thing of which a question speaks, with its values (graph/asked_values.py).

        Raises ValueError for a name that is unknown or means several things.
        """
        from .graph.asked_values import asked_values
        from .graph.named import meant

        return asked_values(self.connection, meant(self.connection, name).id, question, name)

    def query(self, query: str, *, cypher: bool = False, rows: int = 200, seconds: float = 1.0) -> Rows:
        """The rows of one SELECT over the documented tables and views, or of one openCypher query.

        It can change nothing, whatever it says. Raises QueryError if it cannot be run within these limits.
        """
        from .store.cypher import CypherQueries
        from .store.query import Queries

        with CypherQueries(self.path) if cypher else Queries(self.path) as queries:
            return queries.run(query, rows=rows, seconds=seconds)

    def answer_by_query(self, question: str, caller: Caller, **options: Any) -> Written:
        """Have a model write a query for a question, and run it (answer/written_query.py has the options)."""
        from .answer.written_query import answer_by_query

        return answer_by_query(self.path, question, caller, **options)

    def ask(
        self,
        question: str,
        *,
        caller: Caller | None = None,
        deep: bool = False,
        deep_windows: int = 4,
        progress: Progress | None = None,
        **options: Any,
    ) -> Answer:
        """The answer to a question, with citations (answer/ask.py has the options).

        Without ``caller`` it is the best evidence. ``deep`` has the model first read those of the best chunks that it
        has not read, in at most ``deep_windows`` calls.
        """
        from .answer.ask import ask

        if not deep:
            return ask(self.connection, question, caller=caller, **options)
        if caller is None:
            raise ValueError("Reading before the answer takes a model: deep=True needs a caller.")
        model = caller

        def deepen(chunks: Sequence[int]) -> ExtractReport:
            return self.deepen(model, question, chunks, deep_windows, progress)

        return ask(self.connection, question, caller=model, deepen=deepen, **options)

    def link(
        self,
        mentions: Sequence[str],
        k: int = 3,
        min_score: float | None = None,
        types: Collection[str] | None = None,
        allow_ids: Collection[int] | None = None,
        best: bool = False,
        *,
        texts: Sequence[str] = (),
        vectors: bool = True,
    ) -> Linked:
        """The entities that mentions mean, grouped by mention; ``flat()`` of it is one list (graph/linker.py).

        ``texts`` are whole questions or drafts of an answer: what they name is found and linked as well, and ``best``,
        which keeps one entity a mention, leaves it as it is. Without ``min_score`` it is 0.6, and names that stand in
        the texts are linked as ``search`` and ``ask`` do.
        """
        from .graph.linker import LIKELY, link, link_texts

        least = LIKELY if min_score is None else min_score
        found = link(self.connection, mentions, k, least, types, allow_ids, best, vectors=vectors)
        if not texts:
            return found
        return found + link_texts(self.connection, texts, k, min_score, types, allow_ids, vectors=vectors)

    # -- schema and settings -----------------------------------------------------

    @property
    def schema(self) -> Template:
        """The schema in force."""
        from .store import schema

        return schema.current(self.connection)

    def use_schema(self, template: Template, actor: str, note: str = "") -> dict[str, Any]:
        """Make a template the schema; returns the diff. Notes are read again at the next ``add``, kept replies now."""
        from .review import schema

        return schema.use(self.connection, self.settings, template, actor, note).diff

    @property
    def settings(self) -> settings_module.Settings:
        return settings_module.load(self.connection)

    def set(self, **values: Any) -> None:
        """Change settings by name. Raises ValueError if a value cannot be used."""
        from .plugins import name_finder

        before, after = self.settings, replace(self.settings, **values)
        list(name_finder(after.names)("Ada"))  # says now what is not installed
        with transaction(self.connection):
            settings_module.save(self.connection, after)
            if after.names != before.names:
                self.connection.execute("UPDATE kg_documents SET scanned = 0")

    # -- care --------------------------------------------------------------------

    def check(self) -> list[Problem]:
        """Everything about the file that is not as it should be; empty if all is well."""
        from .store.check import check

        return check(self.connection)

    def rebuild(self) -> None:
        """Drop every derived table and make it again."""
        from .store.rebuild import rebuild

        rebuild(self.connection)

    def totals(self) -> dict[str, int]:
        """How much of everything there is."""
        from .sources.totals import totals

        return totals(self.connection)
