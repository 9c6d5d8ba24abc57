"""What models have cost so far, by purpose, model, day, run or document; reads only.

A call for a window of several documents is split over them by the tokens of their
chunks, so that the documents add up to the total to the token. A chunk that is gone
counts as one of average length, of a document that was removed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

__all__ = ["BY", "Spend", "apportion", "spend_by", "total"]

BY = ("purpose", "model", "day", "document", "run")
GROUPS = {"purpose": "purpose", "model": "model", "day": "substr(at, 1, 10)", "run": "run"}
NO_DOCUMENT = "(for no single document)"
REMOVED = "(removed documents)"

CALLS = """
  SELECT count(*) AS calls, coalesce(sum(input_tokens), 0) AS input_tokens,
    coalesce(sum(output_tokens), 0) AS output_tokens,
    coalesce(sum(CASE status WHEN 'lost' THEN reserved_tokens END), 0) AS lost_tokens,
    coalesce(sum(cost), 0.0) AS cost, sum(cost IS NULL) AS unpriced"""
SPENT = "FROM kg_ledger WHERE status IN ('settled', 'lost')"


@dataclass(frozen=True, slots=True)
class Spend:
    """Calls that were made, settled or lost. ``cost`` is in USD, without the ``unpriced`` ones; of a document,
    ``calls`` and ``unpriced`` count every call it had a part in."""

    label: str
    calls: int
    input_tokens: int
    output_tokens: int
    lost_tokens: int
    cost: float
    unpriced: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.lost_tokens


NUMBERS = tuple(field.name for field in fields(Spend))[1:]


def total(connection: sqlite3.Connection) -> dict[str, Any]:
    """All calls together, and apart from them those in flight, lost, and turned away."""
    row = connection.execute(f"{CALLS} {SPENT}").fetchone()
    states = connection.execute(
        """SELECT status, count(*) AS calls, sum(reserved_tokens) AS tokens, coalesce(sum(reserved_cost), 0.0) AS cost
           FROM kg_ledger WHERE status <> 'settled' GROUP BY status"""
    )
    found = {state["status"]: {name: state[name] for name in ("calls", "tokens", "cost")} for state in states}
    nothing = {"calls": 0, "tokens": 0, "cost": 0.0}
    return {
        **_numbers(row),
        "lost": found.get("lost", nothing),
        "open": found.get("reserved", nothing),
        "released": {"calls": found.get("released", nothing)["calls"]},
    }


def spend_by(connection: sqlite3.Connection, by: str) -> list[Spend]:
    """The calls in groups, the dearest first; days in order."""
    if by == "document":
        return _by_document(connection)
    rows = connection.execute(f"{CALLS}, {GROUPS[by]} AS label {SPENT} GROUP BY label ORDER BY label")
    found = [Spend(row["label"], **_numbers(row)) for row in rows]
    return found if by == "day" else sorted(found, key=_dearest)


def apportion(amount: int, weights: Sequence[float]) -> list[int]:
    """Split a whole number by weights, so that the parts add up to it again.

    >>> apportion(10, [1, 1, 1]), apportion(7, [0, 0])
    ([4, 3, 3], [4, 3])
    """
    whole = sum(weights)
    exact = [amount * weight / whole if whole else amount / len(weights) for weight in weights]
    parts = [int(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda at: (parts[at] - exact[at], at))
    for at in by_remainder[: amount - sum(parts)]:
        parts[at] += 1
    return parts


def _by_document(connection: sqlite3.Connection) -> list[Spend]:
    sums: dict[str, dict[str, Any]] = {}
    shares = _shares(connection)
    for row in connection.execute(f"{CALLS}, extraction {SPENT} GROUP BY extraction"):
        parts = shares.get(row["extraction"], {NO_DOCUMENT: 1.0})
        for label, numbers in zip(parts, _split(_numbers(row), list(parts.values())), strict=True):
            of = sums.setdefault(label, dict.fromkeys(NUMBERS, 0))
            for name, number in numbers.items():
                of[name] += number
    return sorted((Spend(label, **numbers) for label, numbers in sums.items()), key=_dearest)


def _shares(connection: sqlite3.Connection) -> dict[int, dict[str, float]]:
    """For every window that was asked for: how much of it is whose, by the tokens of its chunks."""
    rows = connection.execute(
        """SELECT e.extraction, d.uri, max(1, c.tokens) AS tokens
           FROM kg_extraction_chunks e LEFT JOIN kg_chunks c ON c.id = e.chunk
             LEFT JOIN kg_documents d ON d.id = c.document
           WHERE e.extraction IN (SELECT extraction FROM kg_ledger)
           ORDER BY e.extraction, e.number"""
    ).fetchall()
    windows: dict[int, list[tuple[str | None, int | None]]] = {}
    for row in rows:
        windows.setdefault(row["extraction"], []).append((row["uri"], row["tokens"]))
    found: dict[int, dict[str, float]] = {}
    for extraction, chunks in windows.items():
        known = [tokens for _, tokens in chunks if tokens is not None]
        average = sum(known) / len(known) if known else 1.0
        of = found[extraction] = {}
        for uri, tokens in chunks:
            label = REMOVED if uri is None else uri
            of[label] = of.get(label, 0.0) + (average if tokens is None else tokens)
    return found


def _split(numbers: Mapping[str, Any], weights: Sequence[float]) -> Iterator[dict[str, Any]]:
    tokens = {name: apportion(number, weights) for name, number in numbers.items() if name.endswith("_tokens")}
    for at, weight in enumerate(weights):
        yield {
            **{name: parts[at] for name, parts in tokens.items()},
            "calls": numbers["calls"],
            "unpriced": numbers["unpriced"],
            "cost": numbers["cost"] * weight / sum(weights),
        }


def _numbers(row: sqlite3.Row) -> dict[str, Any]:
    return {name: row[name] or 0 for name in NUMBERS}


def _dearest(spend: Spend) -> tuple[float, int, str]:
    return (-spend.cost, -spend.tokens, spend.label)
