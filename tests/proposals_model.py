"""A model that asks for types: what it would reply about notes of simple sentences, given the lists of its prompt.

"Mira mentors Otto." is a triple if the schema has the relation, else a wish for it; "Otto is a sailor." and "Mira
weighs 60." do the same with entity types and attributes. How sure it is of a wish may stand behind the sentence, as in
"Mira mentors Otto. (0.6)"; it is 0.9 otherwise. "Mira fears! Otto." is written as a triple all the same, whatever
the schema says: such a statement waits in the reply.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from extraction_model import chunks

from llm_graphrag.extract.run import Options, Report
from llm_graphrag.facts.template import load_template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller

SCHEMA = """
title = "People"
description = "Who knows whom."

[entity_types]
person = "A human being."
place = "A town."

[relations]
knows = { description = "They have met.", aliases = ["has met"] }
lives_in = { description = "Where somebody lives.", domain = "person", range = "place", inverse = "home_of" }

[attributes]
age = { description = "In years.", kind = "number" }

[frontmatter]
type = "type"
friend = "knows"
"""

FACT = re.compile(
    r"\b([A-Z]\w+) (?:is a ([a-z]\w*)|([a-z]\w*)(!?) (?:([A-Z]\w+)|(\d+)))\.(?: \(([\d.]+)\))?"
)  # head, type, word, insists, tail, value, sure
LISTS = re.compile(r"^(Entity types|Relations \(head -> tail\)|Attributes)$", re.MULTILINE)
SQL_OUTSIDE = """
  WITH types AS (SELECT kind, name FROM kg_types WHERE retired_in IS NULL)
  SELECT count(*) FROM kg_evidence v WHERE v.origin = 'llm' AND (
    (v.kind = 'triple' AND v.relation NOT IN (SELECT name FROM types WHERE kind = 'relation'))
    OR (v.kind = 'attribute' AND v.relation NOT IN (SELECT name FROM types WHERE kind = 'attribute'))
    OR (v.kind = 'type' AND v.tail NOT IN (SELECT name FROM types WHERE kind = 'entity_type'))
    OR (v.head_type <> '' AND v.head_type NOT IN (SELECT name FROM types WHERE kind = 'entity_type'))
    OR (v.tail_type <> '' AND v.tail_type NOT IN (SELECT name FROM types WHERE kind = 'entity_type')))"""


def lists(system: str) -> dict[str, set[str]]:
    """The names of the three lists of a system prompt, by kind."""
    parts = LISTS.split(system)
    found = {}
    for kind, text in zip(("entity_type", "relation", "attribute"), parts[2::2], strict=True):
        found[kind] = {line.split(":")[0].split(" (")[0] for line in text.strip().splitlines() if line.strip()}
    return found


def say(prompt: str, system: str | None = None) -> str:
    known = lists(system or "")
    reply: dict[str, list[dict[str, Any]]] = {"entities": [], "attributes": [], "triples": [], "proposals": []}
    for number, text in chunks(prompt).items():
        for match in FACT.finditer(text):
            _sentence(match, number, known, reply)
    return json.dumps(reply)


def _sentence(match: re.Match[str], number: int, known: dict[str, set[str]], reply: dict[str, list[Any]]) -> None:
    head, type_, word, insists, tail, value, sure = match.groups()
    kind, word = ("entity_type", type_) if type_ else ("relation" if tail else "attribute", word)
    quote = match[0].split(" (")[0]
    place = {"chunk": number, "quote": quote, "confidence": 0.9}
    if word not in known[kind]:
        reply["proposals"].append(
            {"kind": kind, "name": word, "description": f"It says {word}.", "chunk": number, "quote": quote,
             "confidence": float(sure or 0.9), "instead_of": None}
        )  # fmt: skip
        if not insists:
            return
    if type_:
        reply["entities"].append({"name": head, "type": word, "aliases": [], "chunks": [number]})
    elif tail:
        reply["triples"].append({"head": head, "relation": word, "tail": tail, **place})
    else:
        reply["attributes"].append({"entity": head, "attribute": word, "value": value, **place})


def open_kb(folder: Path, name: str = "kb.db") -> KnowledgeBase:
    """A knowledge base with the schema above."""
    path = folder / "people.toml"
    path.write_text(SCHEMA, encoding="utf-8")
    kb = KnowledgeBase.open(folder / name, create=True)
    kb.set(embedding_model="", window_tokens=100)
    kb.use_schema(load_template(path), "test")
    return kb


def extract(kb: KnowledgeBase, **options: Any) -> Report:
    """Have the scripted model read; a note is a window of its own."""
    with Ledger.open(kb.path) as ledger:
        chosen = Options(**{"workers": 2, "window_tokens": 20, **options})
        return kb.extract(Caller("scripted", ledger, log=False), chosen)


def model_facts(kb: KnowledgeBase) -> set[tuple[str, str, str]]:
    rows = kb.connection.execute(
        "SELECT head, relation, tail FROM kg_evidence WHERE origin = 'llm' AND kind IN ('triple', 'attribute')"
    )
    return {tuple(row) for row in rows}


def outside(kb: KnowledgeBase) -> int:
    """How many statements of models lie outside the schema in force."""
    return int(kb.connection.execute(SQL_OUTSIDE).fetchone()[0])


def proposed(kb: KnowledgeBase) -> dict[str, tuple[str, float, int]]:
    """name → (status, confidence, support)."""
    rows = kb.connection.execute("SELECT name, status, confidence, support FROM kg_proposals")
    return {row[0]: (row[1], row[2], row[3]) for row in rows}
