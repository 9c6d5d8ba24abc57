"""What the calls for one question came to, by the ledger: failed attempts and reading before the answer included."""

from __future__ import annotations

import sqlite3

from .result import Usage

__all__ = ["last_call", "usage_since"]

LAST = "SELECT coalesce(max(id), 0) FROM kg_ledger"
SINCE = """
    SELECT count(*), count(CASE status WHEN 'lost' THEN 1 END),
      coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
      sum(CASE status WHEN 'settled' THEN cost ELSE reserved_cost END),
      count(CASE WHEN CASE status WHEN 'settled' THEN cost ELSE reserved_cost END IS NULL THEN 1 END)
    FROM kg_ledger WHERE run = :run AND id > :after AND status <> 'released'
"""


def last_call(connection: sqlite3.Connection) -> int:
    """The newest row of the ledger, 0 if there is none."""
    return int(connection.execute(LAST).fetchone()[0])


def usage_since(connection: sqlite3.Connection, run: str, after: int, seconds: float) -> Usage:
    """The calls of a run after a row of the ledger. A call that was cut off costs what was set aside for it."""
    calls, lost, read, wrote, cost, unpriced = connection.execute(SINCE, {"run": run, "after": after}).fetchone()
    return Usage(calls, lost, read, wrote, None if unpriced or cost is None else round(cost, 6), round(seconds, 3))
