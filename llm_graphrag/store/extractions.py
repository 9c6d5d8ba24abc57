"""Windows as rows: planned, claimed or exported (batches.py), done or failed, with the reply and what was dropped.

A window is planned before it is asked about, so that an interrupted run goes on with
exactly the windows that are missing. Done is per chunk: a chunk that changed has a new
row and is planned anew, its neighbours in the old window stay done. The reply of a
window none of whose chunks is left goes with them.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from ..facts.llm.reading import Dropped
from ..facts.llm.window import Window, WindowChunk
from ..text.error_text import error_text

MAX_FAILURES = 3  # after these, a window is asked about only when a person says so


@dataclass(frozen=True, slots=True)
class Asking:
    """What decides a reply besides the window: rows planned for anything else are planned anew."""

    model: str
    prompt_hash: str
    schema_version: int
    mode: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that has yet to be asked about."""

    chunk: int
    document: int
    seq: int
    tokens: int
    private: bool


PENDING = """
  SELECT c.id, c.document, c.seq, c.tokens, d.private
  FROM kg_chunks c CROSS JOIN kg_documents d ON d.id = c.document
  WHERE (:chunks IS NULL OR c.id IN (SELECT value FROM json_each(:chunks)))
    AND (:documents IS NULL OR c.document IN (SELECT value FROM json_each(:documents)))
    AND d.kind <> 'import'  -- its rows are facts already
    AND NOT EXISTS (SELECT 1 FROM kg_extraction_chunks x JOIN kg_extractions e ON e.id = x.extraction
                    WHERE x.chunk = c.id AND (NOT :again OR e.status <> 'done'))
  ORDER BY c.document, c.seq"""


def pending(
    connection: sqlite3.Connection,
    chunks: Sequence[int] | None = None,
    documents: Sequence[int] | None = None,
    again: bool = False,
) -> list[Candidate]:
    """Chunks that no window holds, in reading order; ``again`` takes those of windows that are done too."""
    wanted = {
        "chunks": None if chunks is None else json.dumps(list(chunks)),
        "documents": None if documents is None else json.dumps(list(documents)),
        "again": again,
    }
    return [Candidate(row[0], row[1], row[2], row[3], bool(row[4])) for row in connection.execute(PENDING, wanted)]


def plan(connection: sqlite3.Connection, windows: Iterable[Sequence[Candidate]], asking: Asking) -> list[int]:
    """Store windows as planned; returns their ids."""
    ids = []
    for window in windows:
        rows = [
            (c.chunk, connection.execute("SELECT content_hash FROM kg_chunks WHERE id = ?", [c.chunk]).fetchone())
            for c in window
        ]
        hashes = [row[0] for _, row in rows]
        cursor = connection.execute(
            """INSERT INTO kg_extractions(model, prompt_hash, window_hash, schema_version, mode, status, private)
               VALUES (?, ?, ?, ?, ?, 'planned', ?)""",
            [
                *(asking.model, asking.prompt_hash, hashlib.sha256("\n".join(hashes).encode()).hexdigest()),
                *(asking.schema_version, asking.mode, window[0].private),
            ],
        )
        assert cursor.lastrowid is not None
        ids.append(cursor.lastrowid)
        connection.executemany(
            "INSERT INTO kg_extraction_chunks(extraction, number, chunk, content_hash) VALUES (?, ?, ?, ?)",
            [(ids[-1], number, chunk, row[0]) for number, (chunk, row) in enumerate(rows, 1)],
        )
    return ids


def halve(connection: sqlite3.Connection, extraction: int, asking: Asking) -> list[int]:
    """Two planned windows in place of one; returns their ids, fewer where its chunks are gone."""
    rows = connection.execute(
        """SELECT c.id, c.document, c.seq, c.tokens, d.private FROM kg_extraction_chunks x
           JOIN kg_chunks c ON c.id = x.chunk JOIN kg_documents d ON d.id = c.document
           WHERE x.extraction = ? ORDER BY x.number""",
        [extraction],
    ).fetchall()
    chunks = [Candidate(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]
    middle = (len(chunks) + 1) // 2
    connection.execute("DELETE FROM kg_extractions WHERE id = ?", [extraction])
    return plan(connection, [half for half in (chunks[:middle], chunks[middle:]) if half], asking)


def recover(connection: sqlite3.Connection, alive: Callable[[str, str], bool]) -> int:
    """Windows claimed by processes that are gone are planned again; returns how many."""
    rows = connection.execute("SELECT id, claimed_by, started FROM kg_extractions WHERE status = 'claimed'").fetchall()
    dead = [row["id"] for row in rows if not alive(row["claimed_by"], row["started"])]
    for extraction in dead:
        give_back(connection, extraction)
    return len(dead)


def dissolve(connection: sqlite3.Connection, asking: Asking) -> None:
    """Forget planned windows that are no longer what would be asked, and failed ones that have lost a chunk."""
    connection.execute(
        """DELETE FROM kg_extractions WHERE status = 'planned' AND attempts = 0
             AND (model, prompt_hash, schema_version, mode) <> (?, ?, ?, ?)""",
        [asking.model, asking.prompt_hash, asking.schema_version, asking.mode],
    )
    connection.execute(
        """DELETE FROM kg_extractions WHERE status IN ('planned', 'failed') AND id IN
             (SELECT extraction FROM kg_extraction_chunks WHERE chunk IS NULL)"""
    )


def waiting(
    connection: sqlite3.Connection,
    chunks: Sequence[int] | None = None,
    documents: Sequence[int] | None = None,
    failed: bool = False,
) -> list[int]:
    """Windows to be asked about: planned ones, and failed ones that have not failed too often.

    ``failed`` gives the failed ones alone, however often they did. ``chunks`` and ``documents`` limit it to windows
    that hold one of them.
    """
    rows = connection.execute(
        """SELECT e.id FROM kg_extractions e
           WHERE CASE WHEN :failed THEN e.status = 'failed'
                 ELSE e.status = 'planned' OR (e.ask_again AND e.status <> 'exported')
                   OR (e.status = 'failed' AND e.attempts < :most) END
             AND EXISTS (SELECT 1 FROM kg_extraction_chunks x JOIN kg_chunks c ON c.id = x.chunk
                         WHERE x.extraction = e.id
                           AND (:chunks IS NULL OR c.id IN (SELECT value FROM json_each(:chunks)))
                           AND (:documents IS NULL OR c.document IN (SELECT value FROM json_each(:documents))))
           ORDER BY e.status = 'failed', e.id""",
        {
            "failed": failed, "most": MAX_FAILURES,
            "chunks": None if chunks is None else json.dumps(list(chunks)),
            "documents": None if documents is None else json.dumps(list(documents)),
        },
    )  # fmt: skip
    return [row[0] for row in rows]


def waiting_chunks(connection: sqlite3.Connection, chunks: Sequence[int]) -> dict[int, int]:
    """Those of ``chunks`` that stand in a window which waits to be asked about, and in which."""
    rows = connection.execute(
        """SELECT chunk, extraction FROM kg_extraction_chunks WHERE extraction IN (SELECT value FROM json_each(?))
             AND chunk IN (SELECT value FROM json_each(?)) ORDER BY extraction DESC""",
        [json.dumps(waiting(connection, chunks)), json.dumps(list(chunks))],
    )
    return {row[0]: row[1] for row in rows}


def claim(connection: sqlite3.Connection, extraction: int, process: str, asking: Asking, now: str) -> bool:
    """Take a window for this process; False if another has it, or it is gone."""
    cursor = connection.execute(
        """UPDATE kg_extractions SET status = 'claimed', claimed_by = ?, started = ?, model = ?, prompt_hash = ?,
             schema_version = ?, mode = ? WHERE id = ? AND (status IN ('planned', 'failed')
               OR (status = 'done' AND ask_again))""",
        [process, now, asking.model, asking.prompt_hash, asking.schema_version, asking.mode, extraction],
    )
    return cursor.rowcount > 0


def give_back(connection: sqlite3.Connection, extraction: int) -> None:
    """A claimed window that was not asked about waits again; one that has been read before still is."""
    connection.execute(
        """UPDATE kg_extractions SET status = iif(ask_again, 'done', 'planned'), claimed_by = NULL, started = NULL
           WHERE id = ? AND status = 'claimed'""",
        [extraction],
    )


def finish(
    connection: sqlite3.Connection, extraction: int, reply: str, dropped: Sequence[Dropped], kept: int, now: str
) -> None:
    """A window is done; what other windows said of its chunks no longer counts."""
    connection.execute(
        """UPDATE kg_extractions SET status = 'done', error = NULL, reply = ?, dropped = ?, kept = ?, finished = ?,
             claimed_by = NULL, ask_again = 0 WHERE id = ?""",
        [storable(reply), _json([asdict(item) for item in dropped]), kept, now, extraction],
    )
    connection.execute(
        """UPDATE kg_extraction_chunks SET chunk = NULL WHERE extraction <> :this AND chunk IN
             (SELECT chunk FROM kg_extraction_chunks WHERE extraction = :this)""",
        {"this": extraction},
    )
    sweep(connection)


def fail(connection: sqlite3.Connection, extraction: int, error: str, reply: str | None, now: str) -> None:
    """A window failed; what was replied, if anything, stays readable. One that has been read before keeps its reply."""
    connection.execute(
        """UPDATE kg_extractions SET status = iif(ask_again, 'done', 'failed'), error = :error, finished = :now,
             reply = iif(ask_again, reply, :reply), attempts = attempts + 1, claimed_by = NULL,
             ask_again = ask_again AND attempts + 1 < :most WHERE id = :id""",
        {
            "error": error_text(error), "reply": None if reply is None else storable(reply), "now": now,
            "id": extraction, "most": MAX_FAILURES,
        },
    )  # fmt: skip


def reread(connection: sqlite3.Connection, extraction: int, dropped: Sequence[Dropped], kept: int) -> None:
    """The reply of a window was read anew: what came of it is another, whether it is to be asked about is not."""
    connection.execute(
        "UPDATE kg_extractions SET dropped = ?, kept = ? WHERE id = ?",
        [_json([asdict(item) for item in dropped]), kept, extraction],
    )


def ask_again(connection: sqlite3.Connection, windows: Iterable[int]) -> None:
    """Windows that are done are to be asked about once more; what they said stands until then."""
    connection.executemany(
        "UPDATE kg_extractions SET ask_again = 1, attempts = 0 WHERE id = ? AND status = 'done'",
        [[window] for window in windows],
    )


def sweep(connection: sqlite3.Connection) -> int:
    """Delete windows of which no chunk is left, with their replies."""
    return connection.execute(
        """DELETE FROM kg_extractions WHERE status <> 'claimed'
             AND id NOT IN (SELECT extraction FROM kg_extraction_chunks WHERE chunk IS NOT NULL)"""
    ).rowcount


def window(connection: sqlite3.Connection, extraction: int, context: str = "") -> Window:
    """The chunks of a window that are still there, under the numbers they had; empty if none is."""
    rows = connection.execute(
        """SELECT x.number, c.id, c.document, d.title, c.heading, c.text, c.content_hash, d.private
           FROM kg_extraction_chunks x JOIN kg_chunks c ON c.id = x.chunk JOIN kg_documents d ON d.id = c.document
           WHERE x.extraction = ? ORDER BY x.number""",
        [extraction],
    ).fetchall()
    return Window(tuple(WindowChunk(*row[:7]) for row in rows), context, any(row["private"] for row in rows))


def with_replies(connection: sqlite3.Connection, windows: Sequence[int] | None = None) -> list[int]:
    """All windows that have a reply, or those of these; one that is being asked about once more still has its last."""
    rows = connection.execute(
        """SELECT id FROM kg_extractions WHERE reply IS NOT NULL AND status IN ('done', 'failed', 'claimed', 'exported')
             AND (:windows IS NULL OR id IN (SELECT value FROM json_each(:windows))) ORDER BY id""",
        {"windows": None if windows is None else json.dumps(list(windows))},
    )
    return [row[0] for row in rows]


def reply(connection: sqlite3.Connection, extraction: int) -> sqlite3.Row | None:
    """status, reply and finished of a window; None if it is gone or has no reply."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT status, reply, finished FROM kg_extractions WHERE id = ? AND reply IS NOT NULL", [extraction]
    ).fetchone()
    return row


def mode(connection: sqlite3.Connection, extraction: int) -> str:
    """The mode in which a window was asked about."""
    return str(connection.execute("SELECT mode FROM kg_extractions WHERE id = ?", [extraction]).fetchone()[0])


def before(connection: sqlite3.Connection, chunk: int) -> str:
    """The text of the chunk that stands before ``chunk`` in its document."""
    row = connection.execute(
        """SELECT p.text FROM kg_chunks c JOIN kg_chunks p ON p.document = c.document AND p.seq = c.seq - 1
           WHERE c.id = ?""",
        [chunk],
    ).fetchone()
    return "" if row is None else str(row[0])


def storable(text: str) -> str:
    """SQLite refuses lone surrogates, and ends a text at NUL for some readers."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def _json(value: object) -> str:
    return storable(json.dumps(value, ensure_ascii=False))
