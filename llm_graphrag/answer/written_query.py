"""A query that a model writes for a question: one call, and at most two more to mend it.

``write`` has the model write a query, runs it, and shows the model what went wrong: once if
the query could not be run, once if it found nothing. That is all the model gets to know;
rows go to whoever asked. A reply without a query counts as one that cannot be run. The
calls are made through the ledger under the purpose ``query``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.llm.json_text import find_values
from ..failures import ModelError, Stopped
from ..graph.candidates import Candidate
from ..ledger import BudgetExceeded
from ..store.cypher import CypherQueries
from ..store.query import ROWS, SECONDS, Queries, QueryError, Rows, open_at_rest
from ..store.vocabulary import Vocabulary, vocabulary
from .query_prompt import SCHEMA, again_after_error, again_after_nothing, system_prompt, user_prompt
from .result import Trouble, Usage
from .usage import last_call, usage_since

if TYPE_CHECKING:
    from ..models import Caller

__all__ = ["Attempt", "Written", "answer_by_query", "query_in", "write"]

MAX_OUTPUT = 2_000
"""Tokens that a reply may have, unless the model's options say. A query takes 100; models that think need more."""

NO_QUERY = "The reply held no query."

_FENCE = re.compile(r"```(?:\w+)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_QUERY = re.compile(r"\s*(?:SELECT|WITH|MATCH|OPTIONAL|UNWIND|RETURN)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A query as the model wrote it, and what came of it: an error, or so many rows."""

    query: str
    error: str
    rows: int


@dataclass(frozen=True, slots=True)
class Written:
    """The query that counts, its rows (None if none could be run), and all that were tried."""

    question: str
    language: str  # sql, cypher
    model: str
    query: str
    rows: Rows | None
    attempts: tuple[Attempt, ...]
    usage: Usage
    trouble: Trouble | None = None


def answer_by_query(
    path: Path, question: str, caller: Caller, *, cypher: bool = False, rows: int = ROWS, seconds: float = SECONDS
) -> Written:
    """Have a model write a query for a question to the knowledge base at ``path``, and run it.

    Raises QueryError if there is no such language here, KnowledgeBaseError for the file, and what ``write`` raises.
    """
    from ..graph.linker import link_texts

    with CypherQueries(path) if cypher else Queries(path) as queries, open_at_rest(path) as connection:
        queries.prepare()
        words, named = vocabulary(connection), link_texts(connection, [question], vectors=False).flat()
        run = partial(queries.run, rows=rows, seconds=seconds)
        return write(question, words, named, run, caller, cypher=cypher, rows=rows, seconds=seconds)


def write(
    question: str,
    words: Vocabulary,
    named: Sequence[Candidate],
    run: Callable[[str], Rows],
    caller: Caller,
    *,
    cypher: bool = False,
    rows: int = ROWS,
    seconds: float = SECONDS,
) -> Written:
    """Have the model write a query for a question and run it with ``run``, which raises QueryError.

    Raises BudgetExceeded, ModelError or Stopped if not even the first call can be made; later ones are ``trouble``.
    """
    ledger = caller.ledger
    after, began = last_call(ledger.connection), time.monotonic()
    system, asked = system_prompt(cypher, rows, seconds), user_prompt(question, words, named)
    attempts: list[Attempt] = []
    found: tuple[str, Rows] | None = None
    trouble: Trouble | None = None
    hint: str | None = ""
    while hint is not None:
        try:
            reply = caller.call("query", system, asked + hint, SCHEMA, max_output=MAX_OUTPUT)
        except (BudgetExceeded, ModelError, Stopped) as error:
            if not attempts:
                raise
            trouble = _trouble(error)
            break
        attempt, result = _tried(query_in(reply.text), run)
        if result is not None and (found is None or attempt.rows):
            found = attempt.query, result
        hint = _hint(attempt, attempts)
        attempts.append(attempt)
    usage = usage_since(ledger.connection, ledger.run, after, time.monotonic() - began)
    query, result = found or (attempts[-1].query, None)
    language = "cypher" if cypher else "sql"
    return Written(question, language, caller.model_id, query, result, tuple(attempts), usage, trouble)


def _tried(query: str, run: Callable[[str], Rows]) -> tuple[Attempt, Rows | None]:
    try:
        if not query:
            raise QueryError(NO_QUERY)
        rows = run(query)
    except QueryError as error:
        return Attempt(query, str(error), 0), None
    said = [row for row in rows.rows if any(cell is not None for cell in row)]  # max() of nothing is a row too
    return Attempt(query, "", len(said)), rows


def _hint(attempt: Attempt, before: Sequence[Attempt]) -> str | None:
    """What to add to the prompt; None if this was the last attempt: each kind of failure is met once."""
    if attempt.rows or any(bool(attempt.error) == bool(earlier.error) for earlier in before):
        return None
    return again_after_error(attempt.query, attempt.error) if attempt.error else again_after_nothing(attempt.query)


def query_in(text: str) -> str:
    """Return the query in a reply, "" if there is none: JSON with ``query``, a fenced block, or the query itself.

    >>> query_in('{"query": "SELECT 1;"}'), query_in("Here:\\n```sql\\nSELECT 1\\n```"), query_in("I cannot.")
    ('SELECT 1', 'SELECT 1', '')
    """
    for value in find_values(text).values:
        if isinstance(value, dict) and isinstance(value.get("query"), str):
            return _trimmed(value["query"])
    plain = _THOUGHTS.sub("", text)
    fenced = _FENCE.search(plain)
    candidate = fenced[1] if fenced else plain
    return _trimmed(candidate) if _QUERY.match(candidate) else ""


def _trimmed(query: str) -> str:
    return query.strip().rstrip(";").rstrip()


def _trouble(error: Exception) -> Trouble:
    kind = "budget" if isinstance(error, BudgetExceeded) else "interrupted" if isinstance(error, Stopped) else "call"
    return Trouble(kind, str(error))
