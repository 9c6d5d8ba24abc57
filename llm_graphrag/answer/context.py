"""What an answer may rest on: numbered passages within a budget of tokens.

Passages are taken best first until the budget is full; one that is too long for what
is left is passed over, and counted, so that nothing disappears unsaid. They are then
put in reading order (documents by their best passage, passages of one document as
they stand in it) and numbered: ``[n]`` is what a citation refers to.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ..routes.hits import Hit, Term
from ..routes.snippets import best_sentence
from .facts import Fact

__all__ = ["BUDGET", "Context", "Passage", "build"]

BUDGET = 4_000  # tokens

CHUNKS = """
    SELECT c.id, c.seq, c.tokens, c.text, c.content_hash, c.line, d.kind = 'import'
    FROM json_each(:chunks) f CROSS JOIN kg_chunks c ON c.id = f.value CROSS JOIN kg_documents d ON d.id = c.document
"""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its number, and the sentence of it that fits the question best, verbatim."""

    number: int
    hit: Hit
    text: str
    first: int  # line of the chunk in the document, 1-based
    start: int  # of the quote, in code points of the chunk
    end: int
    quote: str
    line: int  # of the quote in the document
    content_hash: str  # of the chunk
    rows: bool  # every line says something of its own: of an imported graph


@dataclass(frozen=True, slots=True)
class Context:
    """The passages in reading order, what they cost and may cost, and how many did not fit.

    ``walked`` are the facts that a model found on its way through the graph, and ``roomless`` those of them that
    have no room.
    """

    passages: tuple[Passage, ...]
    tokens: int
    budget: int
    cut: int
    walked: tuple[Fact, ...] = ()
    roomless: tuple[Fact, ...] = ()


def build(connection: sqlite3.Connection, hits: Sequence[Hit], terms: Sequence[Term], budget: int = BUDGET) -> Context:
    """Choose, order and number passages. The first hit is taken whatever it costs."""
    rows = {row[0]: row for row in connection.execute(CHUNKS, {"chunks": json.dumps([hit.chunk for hit in hits])})}
    taken: list[Hit] = []
    tokens = 0
    for hit in hits:
        cost = rows[hit.chunk][2]
        if not taken or tokens + cost <= budget:
            taken.append(hit)
            tokens += cost
    order: dict[int, int] = {}
    for hit in taken:
        order.setdefault(hit.document, len(order))
    taken.sort(key=lambda hit: (order[hit.document], rows[hit.chunk][1]))
    passages = [_passage(number, hit, rows[hit.chunk], terms) for number, hit in enumerate(taken, 1)]
    return Context(tuple(passages), tokens, budget, len(hits) - len(taken))


def _passage(number: int, hit: Hit, row: sqlite3.Row, terms: Sequence[Term]) -> Passage:
    _, _, _, text, content_hash, first, rows = row
    start, end = (hit.rows[0].start, hit.rows[0].end) if hit.rows else best_sentence(text, terms, bool(rows))
    line = first + text.count("\n", 0, start)
    return Passage(number, hit, text, first, start, end, text[start:end], line, content_hash, bool(rows))
