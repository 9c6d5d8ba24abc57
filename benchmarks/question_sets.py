"""Question sets as knowledge bases, and how a ranking of passages is scored: shared by retrieval.py and abstain.py.

A folder of sets holds one folder a set with passages.jsonl {id, title, text} and questions.jsonl {id, question,
gold_ids, split}. Every passage becomes one note, read by the ordinary ``add``; nothing is known of a set beyond that.
Knowledge bases are kept, and used again while they are there.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from llm_graphrag.index.vectors import open_vectors
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.routes.hits import Plan, Proposal
from llm_graphrag.routes.search import prepare

if TYPE_CHECKING:
    from llm_graphrag.index.vectors import Vectors

SETS = ("2wiki_hippo1000", "hotpot_pool", "musique_pool", "xquad_en", "cookbook_docs")
KS = (2, 5, 8, 10)
UNSAFE = re.compile(r'[\x00-\x1f/\\:*?"<>|#^\[\]]+')


@dataclass(frozen=True)
class Made:
    """How the notes of a set are made."""

    names: str = "id"  # notes are called by the passage's id, or by its title
    blank: bool = False  # without titles
    encoder: str = ""  # an embedding model of llm; empty: the bundled one

    @property
    def ending(self) -> str:
        return f"{self.names}{'-blank' if self.blank else ''}"


@dataclass(frozen=True)
class Set:
    """A question set with its knowledge base; ``passage_of`` is chunk -> passage id."""

    name: str
    kb: KnowledgeBase
    vectors: Vectors | None
    questions: list[dict[str, Any]]
    passage_of: dict[int, str]

    def plan(self, question: str, vectors: bool = True) -> Plan:
        chunks = self.vectors if vectors else None
        return prepare(self.kb.connection, question, vectors=chunks or False, models=True)

    def part(self, split: str) -> list[dict[str, Any]]:
        return [q for q in self.questions if split in ("all", q["split"])]

    def passages(self, ranked: Sequence[Proposal]) -> list[str]:
        """Passage ids, each at its best chunk."""
        return list(dict.fromkeys(self.passage_of[p.chunk] for p in ranked))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def file_names(rows: list[dict[str, Any]], names: str) -> Iterator[str]:
    """A file name for every passage: its id, or its title (numbered where it occurs again)."""
    seen: dict[str, int] = {}
    for number, row in enumerate(rows):
        name = row["id"] if "/" not in row["id"] else f"p{number:05d}"
        if names == "title":
            name = UNSAFE.sub(" ", row["title"]).strip(" .")[:80] or name
            seen[name.lower()] = seen.get(name.lower(), 0) + 1
            name += f" {seen[name.lower()]}" if seen[name.lower()] > 1 else ""
        yield name + ".md"


def load(data: Path, work: Path, name: str, made: Made = Made()) -> Set:
    """Read a set, and build its knowledge base unless that was done before."""
    rows = read_jsonl(data / name / "passages.jsonl")
    path = work / f"{name}-{made.ending}.db"
    if not path.exists():
        files = zip(file_names(rows, made.names), rows, strict=True)
        build(path, {file: note(row, made.blank) for file, row in files})
    if made.encoder:
        path = _embedded(path, made.encoder)
    return opened(data, path, name, made)


def opened(data: Path, path: Path, name: str, made: Made = Made()) -> Set:
    """A set with the knowledge base at ``path``, however that came about."""
    rows = read_jsonl(data / name / "passages.jsonl")
    ids = dict(zip(file_names(rows, made.names), (row["id"] for row in rows), strict=True))
    KnowledgeBase.open(path).close()  # a file that was kept may be of an older version
    kb = KnowledgeBase.open(path, readonly=True)
    sql = "SELECT c.id, d.path FROM kg_chunks c JOIN kg_documents d ON d.id = c.document"
    passage_of = {chunk: ids[file] for chunk, file in kb.connection.execute(sql)}
    return Set(name, kb, open_vectors(kb.connection), read_jsonl(data / name / "questions.jsonl"), passage_of)


def note(row: dict[str, Any], blank: bool = False) -> str:
    return ("" if blank else f"# {row['title']}\n\n") + f"{row['text']}\n"


def build(path: Path, notes: dict[str, str], quiet: bool = False) -> None:
    """Write notes (file name -> text) into a folder beside ``path``, and read them."""
    vault = path.parent / f"vault-{path.stem}"
    shutil.rmtree(vault, ignore_errors=True)
    vault.mkdir(parents=True)
    for file, text in notes.items():
        (vault / file).write_text(text, encoding="utf-8")
    unfinished = path.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    began = time.perf_counter()
    with KnowledgeBase.open(unfinished, create=True) as kb:
        kb.add([vault])
    unfinished.rename(path)
    seconds = time.perf_counter() - began
    if not quiet:
        print(f"{path.stem}: {len(notes):,} notes read in {seconds:.0f} s", file=sys.stderr, flush=True)


def _embedded(path: Path, encoder: str) -> Path:
    """A copy of a knowledge base with vectors by another model."""
    other = path.with_name(f"{path.stem}-{re.sub(r'[^A-Za-z0-9.]+', '-', encoder)}.db")
    if not other.exists():
        unfinished = other.with_suffix(".part")
        shutil.copy(path, unfinished)
        with KnowledgeBase.open(unfinished) as kb:
            kb.embed(encoder)
        unfinished.rename(other)
    return other


# -- scores ---------------------------------------------------------------------------------------------


def score(gold: Sequence[str], ranked: Sequence[str]) -> dict[str, float]:
    """recall@k: share of the gold passages among the first k; all@k: whether every one is among them."""
    wanted = set(gold)
    recall = {f"recall@{k}": len(wanted & set(ranked[:k])) / len(wanted) for k in KS}
    return recall | {f"all@{k}": float(wanted <= set(ranked[:k])) for k in KS}


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def interval(differences: Sequence[float], n: int = 2000, seed: int = 0) -> tuple[float, float]:
    """The 95% interval of the mean of paired differences, by bootstrap over questions."""
    draw = random.Random(seed)
    means = sorted(mean(draw.choices(differences, k=len(differences))) for _ in range(n))
    return means[int(0.025 * n)], means[int(0.975 * n)]
