"""Answers as rows: kg_questions, with what was done in kg_steps and what is cited in kg_citations.

An answer that cannot be stored is still an answer: a read-only file, or one that
another process is writing for longer than ``WAIT_MS``, leaves it without an id.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ..routes.hits import Hit
from ..store.connection import transaction

if TYPE_CHECKING:
    from .result import Answer

__all__ = ["Step", "record"]

WAIT_MS = 1_000

Step = tuple[str, Mapping[str, Any]]  # kind, detail

QUESTION = """
    INSERT INTO kg_questions(question, asked, verdict, answer, missing, model, options)
    VALUES (:question, :asked, :verdict, :answer, :missing, :model, :options)
"""
STEP = "INSERT INTO kg_steps(question, seq, kind, detail) VALUES (:question, :seq, :kind, :detail)"
CITATION = """
    INSERT INTO kg_citations(question, number, chunk, uri, heading, line, start, end, quote, content_hash)
    VALUES (:question, :number, :chunk, :uri, :heading, :line, :start, :end, :quote, :content_hash)
"""


def record(
    connection: sqlite3.Connection,
    answer: Answer,
    hits: Sequence[Hit],
    steps: Sequence[Step] = (),
    asked: Mapping[str, Any] | None = None,
) -> Answer:
    """Store an answer; returns it with its id, or as it was if the file cannot be written now.

    ``steps`` are what was done with a model; ``asked`` how it was asked: of that, what was said is kept.
    """
    waited = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
    try:
        with transaction(connection):
            return replace(answer, id=_insert(connection, answer, hits, steps, asked or {}))
    except sqlite3.OperationalError as error:
        if "readonly" in str(error) or "locked" in str(error):
            return answer
        raise
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(waited)}")


def _insert(
    connection: sqlite3.Connection,
    answer: Answer,
    hits: Sequence[Hit],
    steps: Sequence[Step],
    asked: Mapping[str, Any],
) -> int:
    said = {name: value for name, value in asked.items() if value not in (None, False)}
    row = {
        "question": _storable(answer.question),
        "asked": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "verdict": answer.verdict,
        "answer": _storable(answer.answer),
        "missing": _storable(answer.missing),
        "model": answer.model,
        "options": _json({**said, "model": dict(answer.options)} if answer.model else said),
    }
    question = connection.execute(QUESTION, row).lastrowid
    assert question is not None
    for seq, (kind, detail) in enumerate([*_before(answer, hits), *steps, _stop(answer)]):
        connection.execute(STEP, {"question": question, "seq": seq, "kind": kind, "detail": _json(detail)})
    if not (answer.model and answer.verdict == "abstained" and answer.trouble is None):  # then nothing is cited
        connection.executemany(CITATION, [asdict(citation) | {"question": question} for citation in answer.citations])
    return question


def _before(answer: Answer, hits: Sequence[Hit]) -> list[Step]:
    searched = answer.searched
    ranked = [{"chunk": hit.chunk, "score": hit.score, "reasons": dict(hit.reasons)} for hit in hits]
    return [
        ("plan", {"words": searched.words, "linked": searched.linked, "unknown": searched.unknown}),
        ("route", {"hits": ranked, "cut": answer.cut}),
    ]


def _stop(answer: Answer) -> Step:
    detail: dict[str, Any] = {"reason": answer.trouble.kind if answer.trouble else answer.verdict}
    if answer.trouble:
        detail["message"] = answer.trouble.message
    return "stop", {**detail, "hint": answer.hint, "confidence": answer.confidence, "threshold": answer.threshold}


def _json(value: object) -> str:
    return _storable(json.dumps(value, ensure_ascii=False))


def _storable(text: str) -> str:
    """SQLite refuses lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
