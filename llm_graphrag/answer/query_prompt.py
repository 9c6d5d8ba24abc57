"""What a model is told that writes a query: the tables, the words of this knowledge base, and the question.

The rules and the tables are the same for every question. What comes from notes (names of
types and relations, names of things) is given as JSON strings, cut short. It may still try
to talk a model into something. Nothing follows from that: what the model writes is run
under the same guard as anybody's query, and no row of it is ever sent to a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ..graph.candidates import Candidate
from ..store.queryable import RELATIONS
from ..store.vocabulary import Vocabulary, Word
from .plain import without_invisible

__all__ = ["SCHEMA", "again_after_error", "again_after_nothing", "system_prompt", "user_prompt"]

SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
    "additionalProperties": False,
}
LONGEST = 80  # characters of a name
FEW = 20  # names of the question

SQL_RULES = """\
You write one SQLite SELECT that answers a question out of a knowledge graph.

Rules
- One SELECT (WITH is allowed). It can only read, and only these tables and views:
{tables}
- Names of things, relations, types and attributes are compared as they are written below, letter by letter.
- For one step use kg_facts: SELECT DISTINCT tail FROM kg_facts WHERE head = 'A' AND relation = 'r'
- For more steps join kg_triples by ids, beginning at the thing that is named:
  SELECT DISTINCT e.name FROM kg_entities s JOIN kg_triples t1 ON t1.head = s.id AND t1.relation = 'r'
  JOIN kg_triples t2 ON t2.tail = t1.tail AND t2.relation = 'r' AND t2.head <> s.id
  JOIN kg_entities e ON e.id = t2.head WHERE s.name = 'A'
- To count or rank over the whole graph use kg_triples and kg_attributes: kg_facts looks up a sentence for every row.
- Select what answers the question and no more, in readable columns. No semicolon, no comment.
- It is ended after {seconds} s and after {rows} rows. Words within texts are found with kg_chunks_fts."""

CYPHER_RULES = """\
You write one openCypher query that answers a question out of a knowledge graph.

Rules
- One query of MATCH, WHERE, WITH, RETURN, ORDER BY, LIMIT. It can only read.
- Every thing is a node with the properties id and name; its label is its type, Entity if it has none. Every fact is a
  relationship whose type is the relation. An attribute is one too, to a node labelled Value whose name is the value.
- Names, labels and relations are compared as they are written below, letter by letter. Put them in backticks where they
  are no plain words: MATCH (a)-[:`works at`]->(b) WHERE a.name = 'A' RETURN DISTINCT b.name
- Return what answers the question and no more: names, not nodes.
- It is ended after {seconds} s and after {rows} rows."""

REPLY = 'Reply with JSON only: {"query": "…"}'


def system_prompt(cypher: bool, rows: int, seconds: float) -> str:
    """The rules of the language."""
    tables = "\n".join(f"  {name}({', '.join(table.columns)}): {table.what}" for name, table in RELATIONS.items())
    rules = CYPHER_RULES if cypher else SQL_RULES
    return rules.format(tables=tables, rows=rows, seconds=f"{seconds:g}") + "\n\n" + REPLY


def user_prompt(question: str, words: Vocabulary, named: Sequence[Candidate]) -> str:
    """The words of this knowledge base, what of it the question names, and the question."""
    parts = [
        *_block("Types of things", (_type(word) for word in words.types)),
        *_block("Relations, each with one fact of it", map(_fact, words.relations)),
        *_block("Attributes, each with one fact of it", map(_fact, words.attributes)),
        *_block("The question may name", (_thing(candidate) for candidate in named[:FEW])),
    ]
    asked = " ".join(without_invisible(question).split())
    return "\n".join([*parts, "", f"Question: {asked}"])


def again_after_error(query: str, error: str) -> str:
    """What is added when the query could not be run."""
    return f"\n\nThis query was tried: {_quoted(query, 4_000)}\nIt failed: {error}\nWrite one that works."


def again_after_nothing(query: str) -> str:
    """What is added when nothing was found."""
    return (
        f"\n\nThis query was tried: {_quoted(query, 4_000)}\nIt found nothing. Look at the direction of relations, at"
        " how names are written, and at other relations that may say the same; write another."
    )


def _block(title: str, lines: Iterable[str]) -> list[str]:
    listed = [f"  {line}" for line in lines]
    return [f"{title}:", *listed] if listed else []


def _type(word: Word) -> str:
    return f"{_quoted(word.name)}: {word.count}{_described(word)}"


def _fact(word: Word) -> str:
    return f"{_quoted(word.name)}: {word.count}, {_quoted(word.head)} → {_quoted(word.tail)}{_described(word)}"


def _described(word: Word) -> str:
    return f" ({_quoted(word.description)})" if word.description else ""


def _thing(candidate: Candidate) -> str:
    return _quoted(candidate.name) + (f", type {_quoted(candidate.type)}" if candidate.type else "")


def _quoted(text: str | None, longest: int = LONGEST) -> str:
    """A text of a note as a JSON string; one that was cut ends in an ellipsis."""
    shown = without_invisible(text or "")
    return json.dumps(shown if len(shown) <= longest else shown[: longest - 1] + "…", ensure_ascii=False)
