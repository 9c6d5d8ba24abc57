"""How much of what is written explicitly becomes a fact: python benchmarks/gold.py FOLDER [--write]

FOLDER holds ``data/`` (notes) and ``gold.jsonl``: subject, predicate, object, file, line, kind. No model is asked.
A fact counts if head, relation as written, tail, file and line are all right. Recall is over all gold facts of a kind,
precision over what was found for the pairs of file and relation that gold lists for that kind.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from report import table, write_section

from llm_graphrag.knowledge_base import KnowledgeBase

KINDS = ("link", "frontmatter", "frontmatter-link", "inline-field")
NEGATED = "negated-must-not-appear"
PREDICATES = {"mentions": "links_to"}  # gold's word for a link without a key

FOUND = """
  SELECT d.path, c.line, c.text, v.start, v.relation, h.name AS head, coalesce(t.name, v.tail) AS tail,
    json_extract(v.detail, '$.key') AS key, json_extract(v.detail, '$.at[0]') AS at
  FROM kg_evidence v JOIN kg_chunks c ON c.id = v.chunk JOIN kg_documents d ON d.id = c.document
  LEFT JOIN kg_entities h ON h.id = v.head_entity LEFT JOIN kg_entities t ON t.id = v.tail_entity
  WHERE json_extract(v.detail, '$.syntax') <> 'title'"""


@dataclass(frozen=True, slots=True)
class Stated:
    """One fact where it stands."""

    file: str
    line: int
    head: str
    relation: str
    tail: str


@dataclass(frozen=True, slots=True)
class Score:
    kind: str
    gold: int
    recall: float
    precision: float
    missing: tuple[Stated, ...]
    wrong: tuple[Stated, ...]


def read_gold(folder: Path) -> dict[str, set[Stated]]:
    """The gold facts of each kind."""
    facts: dict[str, set[Stated]] = defaultdict(set)
    for line in (folder / "gold.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        relation = PREDICATES.get(row["predicate"], row["predicate"])
        facts[row["kind"]].add(Stated(row["file"], row["line"], row["subject"], relation, row["object"]))
    return facts


def read_found(kb: KnowledgeBase) -> set[Stated]:
    """Every claim, with the line of its link or value and the relation as its note writes it."""
    found = set()
    for row in kb.connection.execute(FOUND):
        place = row["start"] if row["at"] is None else row["at"]
        line = row["line"] + row["text"].count("\n", 0, place)
        found.add(Stated(row["path"], line, row["head"], row["key"] or row["relation"], row["tail"]))
    return found


def scores(gold: dict[str, set[Stated]], found: set[Stated]) -> list[Score]:
    """One score a kind of ``KINDS``."""
    result = []
    for kind in KINDS:
        wanted = gold[kind]
        listed = {(fact.file, fact.relation) for fact in wanted}
        of_kind = {fact for fact in found if (fact.file, fact.relation) in listed}
        hits = len(wanted & found)
        missing, wrong = (tuple(sorted(side, key=repr)) for side in (wanted - found, of_kind - wanted))
        result.append(Score(kind, len(wanted), hits / len(wanted), hits / max(1, len(of_kind)), missing, wrong))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="put the table into BENCHMARKS.md")
    options = parser.parse_args()
    with KnowledgeBase.in_memory() as kb:
        kb.add([options.folder / "data"])
        found = read_found(kb)
    gold = read_gold(options.folder)
    rows: list[list[object]] = [
        [score.kind, score.gold, f"{score.recall:.3f}", f"{score.precision:.3f}"] for score in scores(gold, found)
    ]
    text = table(["kind", "gold facts", "recall", "precision"], rows)
    print(text)
    print(f"{len(gold[NEGATED] & found)} of {len(gold[NEGATED])} negated facts were taken as facts.")
    if options.write:
        write_section("Explicit structure", "python benchmarks/gold.py FOLDER", text)


if __name__ == "__main__":
    main()
