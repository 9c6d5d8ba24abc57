"""One openCypher query over a copy of the graph in memory: an extra, for those who know the language better than SQL.

Every entity is a node: its label is its type (``Entity`` if it has none), and it has ``id``
and ``name``. Every triple is a relationship of the name of its relation. Every attribute is
one too, to a node labelled ``Value`` whose ``name`` is the value. The copy is made when
``CypherQueries`` is first asked, and is gone with it. Limits, and what a query gives, are
those of ``store.query``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType

from .process import Ended, Late, Process
from .query import BYTES, ROWS, SECONDS, QueryError, Rows, explained, file_uri, open_at_rest, refuse_unreadable

__all__ = ["INSTALL", "CypherQueries"]

WORKER = "llm_graphrag.store.cypher_worker"
GRACE = 0.15  # seconds after the limit in which KGLite may stop by itself: ending the process costs another copy
LOADING = 60.0  # seconds that copying may take
INSTALL = "llm install 'llm-graphrag[cypher]'"


class CypherQueries:
    """Runs openCypher queries on one knowledge base, as it is when the first is run."""

    def __init__(self, path: Path) -> None:
        with open_at_rest(path):  # says at once what is no knowledge base
            self._path = path
        self._process = Process(WORKER, [entry for entry in sys.path if entry])
        self._loaded = False

    def __enter__(self) -> CypherQueries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.close()

    def run(self, query: str, *, rows: int = ROWS, seconds: float = SECONDS) -> Rows:
        """Run one query. Raises QueryError, one sentence or two, if it cannot be run within the limits."""
        refuse_unreadable(query, "MATCH (a)-[r]->(b) RETURN a.name, type(r), b.name")
        self.prepare()
        began = time.monotonic()
        request = {"query": query, "rows": rows, "seconds": seconds, "bytes": BYTES}
        try:
            reply = self._process.ask(request, seconds + GRACE)
        except Late:
            self._loaded, reply = False, {"error": "time"}
        except Ended:
            self._loaded, reply = False, {"error": "memory"}
        if "error" in reply:
            raise QueryError(explained(reply, seconds))
        cells = tuple(map(tuple, reply["rows"]))
        return Rows(tuple(reply["columns"]), cells, reply["truncated"], round(time.monotonic() - began, 3))

    def prepare(self) -> None:
        """Have the graph copied, unless it is. Raises QueryError if that cannot be."""
        if self._loaded:
            return
        try:
            reply = self._process.ask({"uri": file_uri(self._path)}, LOADING)
        except (Late, Ended) as error:
            raise QueryError("The graph does not fit into memory. Ask in SQL, which needs no copy of it.") from error
        if reply.get("error") == "missing":
            raise QueryError(f"openCypher needs the extra cypher. Install it with: {INSTALL}")
        if reply.get("error") == "system":
            raise QueryError("openCypher is not offered on this system, which cannot keep its queries from files.")
        if reply.get("error") == "size":
            raise QueryError(
                f"The graph has {reply['facts']:,} facts, too many to be copied for openCypher. Ask in SQL."
            )
        if "error" in reply:
            raise QueryError(f"The graph cannot be copied: {reply.get('message', 'out of memory')}.")
        self._loaded = True
