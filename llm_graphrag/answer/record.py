"""Answers as rows: kg_questions, with what was done in kg_steps and what is cited in kg_citations.

An answer that cannot be stored is still an answer: a read-only file, or one that
another process is writing for longer than ``WAIT_MS``, leaves it without an id.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ..routes.hits import Hit
from ..store.connection import transaction

if TYPE_CHECKING:
    from .ask import Answer

__all__ = ["record"]

WAIT_MS = 1_000

QUESTION = "INSERT INTO kg_questions(question, asked, verdict) VALUES (:question, :asked, :verdict)"
STEP = "INSERT INTO kg_steps(question, seq, kind, detail) VALUES (:question, :seq, :kind, :detail)"
CITATION = """
    INSERT INTO kg_citations(question, number, chunk, uri, heading, line, start, end, quote, content_hash)
    VALUES (:question, :number, :chunk, :uri, :heading, :line, :start, :end, :quote, :content_hash)
"""


def record(connection: sqlite3.Connection, answer: Answer, hits: Sequence[Hit]) -> Answer:
    """Store an answer; returns it with its id, or as it was if the file cannot be written now."""
    waited = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
    try:
        with transaction(connection):
            return replace(answer, id=_insert(connection, answer, hits))
    except sqlite3.OperationalError as error:
        if "readonly" in str(error) or "locked" in str(error):
            return answer
        raise
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(waited)}")


def _insert(connection: sqlite3.Connection, answer: Answer, hits: Sequence[Hit]) -> int:
    asked = datetime.now(timezone.utc).isoformat(timespec="seconds")
    values = {"question": _storable(answer.question), "asked": asked, "verdict": answer.verdict}
    question = connection.execute(QUESTION, values).lastrowid
    assert question is not None
    ranked = [{"chunk": hit.chunk, "score": hit.score, "reasons": dict(hit.reasons)} for hit in hits]
    steps = [
        (
            "plan",
            {"words": answer.searched.words, "linked": answer.searched.linked, "unknown": answer.searched.unknown},
        ),
        ("route", {"hits": ranked, "cut": answer.cut}),
        (
            "stop",
            {
                "reason": answer.verdict,
                "hint": answer.hint,
                "confidence": answer.confidence,
                "threshold": answer.threshold,
            },
        ),
    ]
    for seq, (kind, detail) in enumerate(steps):
        text = _storable(json.dumps(detail, ensure_ascii=False))
        connection.execute(STEP, {"question": question, "seq": seq, "kind": kind, "detail": text})
    connection.executemany(CITATION, [asdict(citation) | {"question": question} for citation in answer.citations])
    return question


def _storable(text: str) -> str:
    """SQLite refuses lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
