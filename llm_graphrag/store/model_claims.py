"""What a model said of chunks, as rows of ``kg_evidence`` with origin ``llm``; replaced as a whole, chunk by chunk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..facts.llm.reading import ModelClaim
from ..text.normalise import name_key
from .entities import Names
from .evidence import touch
from .settle import Settlement

ORIGIN = "llm"

INSERT = """
  INSERT INTO kg_evidence(kind, head, head_key, head_type, head_entity, relation, tail, tail_key, tail_type,
    tail_entity, chunk, start, end, quote, confidence, origin, extraction, schema_version, detail)
  VALUES (:kind, :head, :head_key, :head_type, :head_entity, :relation, :tail, :tail_key, :tail_type,
    :tail_entity, :chunk, :start, :end, :quote, :confidence, 'llm', :extraction, :schema_version, :detail)
  ON CONFLICT DO NOTHING"""


def remove_model_claims(connection: sqlite3.Connection, settlement: Settlement, chunks: Iterable[int]) -> None:
    """Take away what models said of these chunks before.

    Names that had a type there are looked up again when all is said: it may be given anew, by a later claim.
    """
    rows = connection.execute(
        """SELECT v.id, v.triple, v.attribute, v.head_entity, v.tail_entity, v.head_key, v.head_type, v.tail_key,
             v.tail_type
           FROM json_each(?) w CROSS JOIN kg_evidence v ON v.chunk = w.value WHERE v.origin = 'llm'""",
        [json.dumps(sorted(chunks))],
    ).fetchall()
    for row in rows:
        touch(connection, row["triple"], row["attribute"])
        settlement.lost |= {row[key] for key in ("head_entity", "tail_entity") if row[key] is not None}
        settlement.keys |= {row[f"{end}_key"] for end in ("head", "tail") if row[f"{end}_type"]}
    connection.executemany("DELETE FROM kg_evidence WHERE id = ?", [[row["id"]] for row in rows])


def put_model_claims(
    connection: sqlite3.Connection,
    settlement: Settlement,
    claims: Sequence[ModelClaim],
    chunks: Mapping[int, tuple[int, str]],
    extraction: int,
    schema_version: int,
) -> int:
    """Store the claims of one window; ``chunks`` gives (row id, text) by number. Returns how many are new.

    The settlement has yet to be finished: only then are the claims facts.
    """
    stored = 0
    for claim in claims:
        row = _row(claim, chunks, settlement.names) | {"extraction": extraction, "schema_version": schema_version}
        if connection.execute(INSERT, row).rowcount > 0:
            stored += 1
            settlement.entities |= {row[key] for key in ("head_entity", "tail_entity") if row[key] is not None}
    settlement.keys |= settlement.names.take_typed()
    return stored


def _row(claim: ModelClaim, chunks: Mapping[int, tuple[int, str]], names: Names) -> dict[str, Any]:
    chunk, text = chunks[claim.number]
    head_key = name_key(claim.head)
    triple = claim.kind == "triple"
    tail_key = name_key(claim.tail) if triple else None
    return {
        "kind": claim.kind, "head": claim.head, "head_key": head_key, "head_type": claim.head_type,
        "head_entity": names.resolve(claim.head, ORIGIN, head_key, claim.head_type), "relation": claim.relation,
        "tail": claim.tail, "tail_key": tail_key, "tail_type": claim.tail_type,
        "tail_entity": names.resolve(claim.tail, ORIGIN, tail_key, claim.tail_type) if triple else None,
        "chunk": chunk, "start": claim.start, "end": claim.end, "quote": text[claim.start : claim.end],
        "confidence": claim.confidence,
        "detail": json.dumps({"flags": claim.flags} if claim.flags else {}, sort_keys=True),
    }  # fmt: skip
