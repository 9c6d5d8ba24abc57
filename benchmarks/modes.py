"""What the modes strict, suggest and open make of the same replies, some of whose items are wrong.

Sentences of Text2KGBench with gold facts under small ontologies, one a note. The reply about a sentence holds its gold
facts and one item of each way to go wrong: a relation, an attribute and an entity type that the schema does not have, a
gold triple with its ends swapped, a name that is not in the text, a quote that is not in the text, and a relation
between types that it does not join. Part of extraction.py.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from ontologies import from_ontology
from proofs import OUTSIDE, proofs
from question_sets import read_jsonl
from recorded_model import Items, Reading, RecordedModel, registered
from report import table

from llm_graphrag.facts.template import Relation, Template
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.ledger import Ledger
from llm_graphrag.models import Caller
from llm_graphrag.text.normalise import name_key

__all__ = ["Outcome", "Sentence", "compare", "described", "sentences", "stored"]

MODES = ("strict", "suggest", "open")
Key = tuple[str, str, str]  # head, relation, tail, as names are compared

INVENTED = ("Quentin Maplethorpe", "Oriel Vantongeren", "Lake Pemberwick", "Hollis & Drum Ltd", "The Amber Treaty")
FREE_RELATIONS = ("is_mentioned_with", "stands_next_to", "reminds_of", "comes_up_with", "was_seen_near", "rhymes_with")
FREE_ATTRIBUTES = ("mood", "importance", "word_class")
FREE_TYPES = ("thing_of_note", "expression", "keyword")
NO_QUOTE = "It has long been common knowledge that both of them were at it together."
LONGEST_REPLY = 16_000  # with all that is wrong in them, replies are longer than what is allowed otherwise
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # birthPlace is called "birth place" in the schema
WORD = re.compile(r"[^\W\d_]{5,}")
DIFFERENT = ("outside", "reversed", "invented", "unquoted", "misjoined")

CLAIMS = """
  SELECT DISTINCT kind, head, relation, tail FROM kg_evidence
  WHERE origin = 'llm' AND kind IN ('triple', 'attribute')"""
ENTITIES = """
  SELECT count(*) FROM (SELECT head_entity FROM kg_evidence WHERE origin = 'llm' AND head_entity IS NOT NULL
    UNION SELECT tail_entity FROM kg_evidence WHERE origin = 'llm' AND tail_entity IS NOT NULL)"""


@dataclass(frozen=True)
class Sentence:
    """A sentence with its gold facts under names of the schema; names of entities -> their types."""

    id: str
    text: str
    triples: tuple[tuple[str, Relation, str], ...]
    attributes: tuple[tuple[str, str, str], ...]
    types: dict[str, str]

    @property
    def gold(self) -> set[Key]:
        found = {key(head, relation.name, tail) for head, relation, tail in self.triples}
        return found | {key(*fact) for fact in self.attributes}


def key(head: str, relation: str, tail: str) -> Key:
    return name_key(head), relation, name_key(tail)


def plain(name: str) -> str:
    """A name of DBpedia as it is written in a text."""
    return name.replace("_", " ").strip('" ')


def sentence(row: dict[str, Any], schema: Template) -> Sentence | None:
    """A row of sentences.jsonl; None where a name is not in the text, a relation not in the schema, or types clash."""
    types: dict[str, str] = {}
    triples, attributes = [], []
    text = row["text"].casefold()
    for written, said, value in row["triples"]:
        head, said, tail = plain(written), CAMEL.sub(" ", said), plain(value)
        relation, attribute = schema.resolve_relation(said), schema.resolve_attribute(said)
        if head.casefold() not in text or tail.casefold() not in text or not (relation or attribute):
            return None
        domain = relation.domain if relation else attribute.domain if attribute else ()
        typed = [(head, domain)] + ([(tail, relation.range)] if relation else [])
        for name, allowed in typed:
            if allowed and types.setdefault(name, allowed[0]) not in allowed:
                return None
        if relation:
            triples.append((head, relation, tail))
        elif attribute:
            attributes.append((head, attribute.name, tail))
    return Sentence(row["id"], row["text"], tuple(triples), tuple(attributes), types)


def sentences(
    folder: Path, each: int, ontologies: Sequence[str] | None = None
) -> dict[str, tuple[Template, list[Sentence]]]:
    """Ontology -> its schema and its first ``each`` usable sentences with a triple; all ontologies unless named."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_jsonl(folder / "sentences.jsonl"):
        rows[row["ontology"]].append(row)
    found = {}
    for name in ontologies or sorted(rows):
        schema = from_ontology(json.loads((folder / "ontologies" / f"{name}.json").read_text("utf-8")))
        usable = (read for row in rows[name] if (read := sentence(row, schema)) and read.triples)
        found[name] = schema, [read for read, _ in zip(usable, range(each), strict=False)]
    return found


# -- replies ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """What is said of a sentence; ``wrong`` is each wrong fact in it, by the way in which it is wrong."""

    items: Items
    wrong: dict[str, set[Key]]


def reply_about(of: Sentence, schema: Template, draw: random.Random) -> Reply:
    """The gold facts, and one item of each way to go wrong that this schema allows."""
    triples = [triple(of, head, relation.name, tail) for head, relation, tail in of.triples]
    attributes = [attribute(of, *fact) for fact in of.attributes]
    entities = [{"name": name, "type": type_} for name, type_ in of.types.items()]
    gold, wrong = of.gold, defaultdict(set)
    head, relation, tail = draw.choice(of.triples)
    for way, item in _wrong_triples(of, schema, (head, relation, tail), draw):
        triples.append(item)
        wrong[way].add(key(item["head"], item["relation"], item["tail"]))
    word = draw.choice(WORD.findall(of.text) or [tail])
    attributes.append(attribute(of, head, draw.choice(FREE_ATTRIBUTES), word))
    wrong["outside"].add(key(head, attributes[-1]["attribute"], word))
    entities.append({"name": word, "type": draw.choice(FREE_TYPES)})
    draw.shuffle(triples)
    items = {"entities": entities, "attributes": attributes, "triples": triples, "proposals": []}
    return Reply(items, {way: keys - gold for way, keys in wrong.items()})


def _wrong_triples(
    of: Sentence, schema: Template, gold: tuple[str, Relation, str], draw: random.Random
) -> Iterator[tuple[str, dict[str, Any]]]:
    head, relation, tail = gold
    ends = (of.types.get(head, ""), of.types.get(tail, ""))
    yield "outside", triple(of, head, draw.choice(FREE_RELATIONS), tail)
    yield "reversed", triple(of, tail, relation.name, head)
    yield "invented", triple(of, head, relation.name, draw.choice(INVENTED))
    said = {r.name for h, r, t in of.triples if {h, t} == {head, tail}}
    others = [r for r in schema.relations if r.name not in said]
    if fitting := [r for r in others if joins(r, *ends)]:
        yield "unquoted", {**triple(of, head, draw.choice(fitting).name, tail), "quote": NO_QUOTE}
    misfits = [r for r in others if not joins(r, *ends) and not joins(r, *reversed(ends))]
    if all(ends) and misfits:
        yield "misjoined", triple(of, head, draw.choice(misfits).name, tail)


def joins(relation: Relation, head: str, tail: str) -> bool:
    return (not relation.domain or head in relation.domain) and (not relation.range or tail in relation.range)


def triple(of: Sentence, head: str, relation: str, tail: str) -> dict[str, Any]:
    return {"head": head, "relation": relation, "tail": tail, "quote": of.text, "confidence": 0.9}


def attribute(of: Sentence, entity: str, name: str, value: str) -> dict[str, Any]:
    return {"entity": entity, "attribute": name, "value": value, "quote": of.text, "confidence": 0.9}


# -- what becomes of them -----------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """All sentences read in one mode, by a model that ``obeys`` the JSON schema of the reply or does not."""

    mode: str
    obeys: bool
    output_tokens: int = 0
    entities: int = 0
    facts: int = 0
    right: int = 0
    gold: int = 0
    outside: int = 0
    given: Counter[str] = field(default_factory=Counter)  # wrong facts in the replies
    let_in: Counter[str] = field(default_factory=Counter)  # those of them that were stored

    @property
    def bound(self) -> bool:
        return self.mode != "open"

    @property
    def precision(self) -> float:
        return self.right / max(1, self.facts)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.gold)


def compare(folder: Path, each: int) -> list[Outcome]:
    """Every mode, with a model that says what it likes and with one that obeys the JSON schema."""
    outcomes = [Outcome(mode, obeys) for obeys in (False, True) for mode in MODES]
    for schema, chosen in sentences(folder, each).values():
        draw = random.Random(0)
        replies = [reply_about(one, schema, draw) for one in chosen]
        for outcome in outcomes:
            _read(outcome, schema, chosen, replies)
    return outcomes


def _read(outcome: Outcome, schema: Template, chosen: Sequence[Sentence], replies: Sequence[Reply]) -> None:
    readings = [Reading("", one.text, reply.items) for one, reply in zip(chosen, replies, strict=True)]
    model = RecordedModel("recorded-modes", readings, obeys=outcome.obeys)
    gold = set().union(*(one.gold for one in chosen))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        with KnowledgeBase.open(path, create=True) as kb, Ledger.open(path) as ledger:
            kb.set(embedding_model="", extraction_mode=outcome.mode)
            kb.use_schema(schema, "benchmark")
            kb.add([write_notes(Path(folder) / "notes", chosen)])
            caller = Caller(registered(model), ledger, options={"max_tokens": LONGEST_REPLY}, log=False)
            report = kb.extract(caller)
            if report.failed or report.left or model.seen.unknown or model.seen.cut:
                raise SystemExit(f"{schema.name}, {outcome.mode}: {report}")
            facts = stored(kb)
            outcome.entities += kb.connection.execute(ENTITIES).fetchone()[0]
            outcome.outside += proofs(kb.connection)[OUTSIDE]
    outcome.output_tokens += report.output_tokens
    outcome.facts += len(facts)
    outcome.right += len(facts & gold)
    outcome.gold += len(gold)
    for reply in replies:
        for way, keys in reply.wrong.items():
            outcome.given[way] += len(keys - gold)
            outcome.let_in[way] += len((keys - gold) & facts)


def write_notes(folder: Path, chosen: Sequence[Sentence]) -> Path:
    folder.mkdir()
    for number, one in enumerate(chosen):
        (folder / f"s{number:04d}.md").write_text(one.text + "\n", "utf-8")
    return folder


def stored(kb: KnowledgeBase) -> set[Key]:
    """The facts that a model's statements add up to."""
    return {key(row["head"], row["relation"], row["tail"]) for row in kb.connection.execute(CLAIMS)}


def described(outcomes: Sequence[Outcome]) -> str:
    rows: list[list[object]] = []
    for o in outcomes:
        wrong = [f"{o.let_in[way]} of {o.given[way]}" for way in DIFFERENT]
        scores = [f"{100 * o.precision:.1f}", f"{100 * o.recall:.1f}"]
        said = "obeys the JSON schema" if o.obeys else "says what it likes"
        rows.append([o.mode, said, f"{o.output_tokens:,}", o.entities, o.facts, *scores, o.outside, *wrong])
    header = ["mode", "model", "output tokens", "entities", "facts", "precision", "recall", "outside of the schema"]
    return (
        "Text2KGBench sentences with their gold facts and as many wrong ones; the last columns are the wrong facts "
        "that were stored, of those in the replies: under a relation or attribute that is not in the schema, with ends "
        "swapped (what is left joins things of one type, or of any, and nothing tells its direction), with a name or a "
        "quote that is not in the text, between types that the relation does not join.\n\n"
        + table([*header, *DIFFERENT], rows)
    )
