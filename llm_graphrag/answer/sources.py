"""What a model is shown for a question: the passages of a context, and the facts that join them.

Everything has a number to be cited by. A fact whose sentence stands in one of the
passages goes under its number; the sentence of any other fact becomes a short source of
its own, as long as these stay within their share of tokens. What was found on a way
through the graph has room of its own (``answer.walks``) and comes first.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..store.headings import Outline, outlines
from ..text.tokens import count_tokens
from .citations import Source
from .context import Context, Passage
from .facts import Fact
from .walks import OVERHEAD, says_it_all

__all__ = ["FACT_TOKENS", "gather"]

FACT_TOKENS = 800  # on top of the passages

PLACES = """
    SELECT c.id, c.document, d.uri, d.title, c.line, c.text, c.content_hash, d.kind = 'import'
    FROM json_each(:chunks) f
    CROSS JOIN kg_chunks c ON c.id = f.value
    CROSS JOIN kg_documents d ON d.id = c.document
"""


def gather(
    connection: sqlite3.Connection, context: Context, facts: Sequence[Fact]
) -> tuple[tuple[Source, ...], tuple[Fact, ...]]:
    """Return the sources by number, and those facts that have one, with it."""
    others = sorted({fact.chunk for fact in (*context.walked, *facts) if fact.number is None})
    rows = {row[0]: row for row in connection.execute(PLACES, {"chunks": json.dumps(others)})}
    outline = outlines(connection, [*(passage.hit.chunk for passage in context.passages), *others])
    sources = [_shown(passage, context.tokens, context.budget, outline) for passage in context.passages]
    numbers: dict[tuple[int, int, int], int] = {}
    told: list[Fact] = []
    walked, left = set(context.walked), FACT_TOKENS
    for fact in (*context.walked, *facts):
        place = (fact.chunk, fact.start, fact.end)
        if fact.number is None and fact.chunk not in rows:
            continue
        if fact not in walked:
            cost = count_tokens(f"{fact.head} {fact.relation} {fact.tail}") + 6
            if fact.number is None and place not in numbers and not says_it_all(fact):
                cost += count_tokens(fact.quote) + OVERHEAD
            if cost > left:
                continue
            left -= cost
        if fact.number is None and place not in numbers:
            numbers[place] = len(sources) + 1
            sources.append(_sentence(len(sources) + 1, rows[fact.chunk], fact, outline))
        told.append(fact if fact.number is not None else replace(fact, number=numbers[place]))
    return tuple(sources), tuple(told)


def _shown(passage: Passage, tokens: int, budget: int, outline: Mapping[int, Outline]) -> Source:
    """A passage as a source: whole, unless it alone is over the budget; then what stands around its best sentence."""
    start, end = 0, len(passage.text)
    if tokens > budget:
        room = max(passage.end - passage.start, end * budget // tokens)
        start = max(0, min(passage.start - room // 4, end - room))
        end = start + room
    hit = passage.hit
    return Source(
        passage.number, hit.chunk, hit.document, hit.uri, hit.title, outline[hit.chunk].path(start), passage.first,
        passage.text, start, end, hit.score, passage.content_hash, passage.rows,
    )  # fmt: skip


def _sentence(number: int, row: sqlite3.Row, fact: Fact, outline: Mapping[int, Outline]) -> Source:
    chunk, document, uri, title, line, text, content_hash, rows = row
    return Source(
        number, chunk, document, uri, title, outline[chunk].path(fact.start), line, text, fact.start, fact.end, 0.0,
        content_hash, bool(rows), says_it_all(fact),
    )  # fmt: skip
