"""Which pairs of entities are suggested as one, and which of those are: python benchmarks/merges.py REDOCRED [--write]

REDOCRED is a folder with documents.jsonl (Re-DocRED: documents with entities, each a cluster of names, and relations).
Documents are read as notes, what they are annotated with as a careful model would have stated it. A pair of names is
one thing if a document has both in one cluster; every pair that was suggested and is not annotated so was read by us
(redocred_judged.jsonl), and both counts are given. Weights were fitted on half of the documents; the other half is
measured. Besides, vaults with planted aliases and homonyms (planted_names.py), read with a model and without.

``--fit`` fits the weights of facts/doubt.py anew and prints them, ``--list`` the pairs that are suggested and wrong;
``--speed N`` measures how long it takes to find the candidates among N entities. Exits 1 where less than ``FLOOR`` of
what is suggested is one thing, or a planted homonym is suggested.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from planted_names import FIRST, LAST, MIDDLE, TRADES, Said, plant
from report import table, write_section

from llm_graphrag.extract.commit import Committer
from llm_graphrag.facts.doubt import THRESHOLD, terms
from llm_graphrag.facts.llm.reading import ModelClaim, Reading
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.review.merge_candidates import Candidate, candidates
from llm_graphrag.sources.ingest import reparse, silent
from llm_graphrag.sources.writer import Writer
from llm_graphrag.store import extractions
from llm_graphrag.store.connection import transaction
from llm_graphrag.store.entities import insert_entity
from llm_graphrag.store.extractions import Asking
from llm_graphrag.text.normalise import name_key

Node = tuple[str, str]
ASKING = Asking("gold", "gold", 1, "suggest")
SKIPPED = ("TIME", "NUM")  # no things
TRAIN, TEST = range(1, 4), range(101, 104)  # seeds of vaults
DECAY = 8.0
FLOOR = 0.95  # of what is suggested is one thing


@dataclass(frozen=True)
class Judged:
    """A candidate, and whether its two names are one thing; None where nobody has said."""

    name: str  # of the set
    candidate: Candidate
    same: bool | None
    trap: bool = False
    annotated: bool | None = None  # what the annotation alone says
    clustered: bool = True  # both names are in a cluster that has several


@dataclass(frozen=True)
class Set:
    """Candidates of one collection, judged, and how many pairs are one thing in all."""

    name: str
    judged: Sequence[Judged]
    positives: int


# -- reading what is annotated -------------------------------------------------------------


def read(kb: KnowledgeBase, claims_of: Mapping[str, Iterable[ModelClaim]]) -> None:
    """Store claims by the uri of their document; spans are within its first chunk."""
    with transaction(kb.connection):
        kb.connection.execute(
            "INSERT INTO kg_schema_versions(version, template, actor, at) VALUES (1, 'gold', 'benchmark', '')"
        )
        waiting = extractions.pending(kb.connection)
        ids = extractions.plan(kb.connection, [[chunk] for chunk in waiting], ASKING)
    committer = Committer(kb.connection)
    for id_, chunk in zip(ids, waiting, strict=True):
        uri = kb.connection.execute("SELECT uri FROM kg_documents WHERE id = ?", [chunk.document]).fetchone()[0]
        committer.done(id_, Reading(tuple(claims_of.get(uri, ()))), "{}", 1, "")
    Writer(kb.connection, kb.settings).finish(silent, reparse)


def claims(text: str, entities: Iterable[tuple[str, str]], triples: Iterable[tuple[str, str, str]]) -> list[ModelClaim]:
    """Types of (name, type), and (head, relation, tail) between names, each quoted from where it stands in text."""
    types: dict[str, str] = {}
    found = []
    for name, type_ in entities:
        if (at := text.find(name)) >= 0 and name_key(name):
            types[name] = type_
            found.append(ModelClaim("type", name, type_, "type", type_, "", 1, at, at + len(name)))
    for head, relation, tail in triples:
        if head in types and tail in types:
            ends = [place for name in (head, tail) for place in (text.find(name), text.find(name) + len(name))]
            found.append(ModelClaim("triple", head, types[head], relation, tail, types[tail], 1, min(ends), max(ends)))
    return found


# -- Re-DocRED -------------------------------------------------------------------------------


def redocred(documents: Sequence[dict], every: Sequence[dict], name: str, seed: int = 1) -> Set:
    """The set of some documents, judged by all; a triple is stated between names chosen among those of its ends."""
    chooser = random.Random(seed)
    with KnowledgeBase.in_memory() as kb:
        kb.set(chunk_tokens=4000)
        with tempfile.TemporaryDirectory() as folder:
            for document in documents:
                Path(folder, document["id"] + ".md").write_text(document["text"], "utf-8")
            kb.add([folder])
        uris = dict(kb.connection.execute("SELECT name, uri FROM kg_documents").fetchall())
        stated = {}
        for document in documents:
            things = document["entities"]
            named = [[n for n in thing["names"] if n in document["text"]] or thing["names"] for thing in things]
            triples = [
                (chooser.choice(named[head]), relation, chooser.choice(named[tail]))
                for head, relation, tail in document["relations"]
            ]
            names = [(n, t["type"].lower()) for t in things if t["type"] not in SKIPPED for n in t["names"]]
            stated[uris[document["id"]]] = claims(document["text"], names, triples)
        read(kb, stated)
        kb.embed()
        same, apart = clusters(every)
        several = frozenset(node for pair in same for node in pair)
        found = candidates(kb.connection, kb.settings)
        there = {tuple(row) for row in kb.connection.execute("SELECT key, type FROM kg_entities")}
    judged = []
    for candidate in found:
        pair = frozenset((candidate.pair.kept, candidate.pair.merged))
        annotated = True if pair in same else False if pair in apart else None
        said = judgements().get(frozenset(key for key, _ in pair), annotated)
        judged.append(Judged(name, candidate, said, annotated=annotated, clustered=pair <= several))
    return Set(name, judged, sum(pair <= there for pair in same))


@cache
def judgements() -> Mapping[frozenset[str], bool]:
    """Pairs that the annotation has in two clusters, or in no document together, as read in the text by us."""
    lines = (Path(__file__).parent / "redocred_judged.jsonl").read_text("utf-8").splitlines()
    return {frozenset(row["names"]): row["same"] for row in map(json.loads, lines)}


def clusters(documents: Sequence[dict]) -> tuple[set[frozenset[Node]], set[frozenset[Node]]]:
    """Pairs that some document has in one cluster, and those that one has in two and none in one."""
    same: set[frozenset[Node]] = set()
    apart: set[frozenset[Node]] = set()
    for document in documents:
        nodes = [
            {(name_key(name), thing["type"].lower()) for name in thing["names"] if name in document["text"]}
            for thing in document["entities"]
            if thing["type"] not in SKIPPED
        ]
        for place, one in enumerate(nodes):
            same |= {frozenset((a, b)) for a in one for b in one if a != b}
            apart |= {frozenset((a, b)) for other in nodes[:place] for a in one for b in other if a != b}
    return same, apart - same


# -- planted vaults ----------------------------------------------------------------------------


def planted(seed: int, with_model: bool) -> Set:
    """The set of a planted vault."""
    vault = plant(seed)
    name = f"vault {seed}{'' if with_model else ', no model'}"
    with KnowledgeBase.in_memory() as kb, tempfile.TemporaryDirectory() as folder:
        for path, text in vault.notes.items():
            place = Path(folder, path)
            place.parent.mkdir(exist_ok=True)
            place.write_text(text, "utf-8")
        kb.add([folder])
        if with_model:
            by_note: dict[str, list[Said]] = {}
            for said in vault.said:
                by_note.setdefault(said.note, []).append(said)
            rows = kb.connection.execute("SELECT uri, name, length FROM kg_documents").fetchall()
            texts = {Path(path).stem: text for path, text in vault.notes.items()}
            stated = {}
            for uri, note, _ in rows:
                stem = Path(note).stem
                stated[uri] = [
                    claim
                    for said in by_note.get(stem, ())
                    for claim in claims(
                        texts[stem], (said.head, said.tail), [(said.head[0], said.relation, said.tail[0])]
                    )
                ]
            read(kb, stated)
        kb.embed()
        found = candidates(kb.connection, kb.settings)
        there = [tuple(row) for row in kb.connection.execute("SELECT key, type FROM kg_entities")]
    keyed = {frozenset((name_key(n), t if with_model else "") for n, t in pair) for pair in vault.same}
    traps = {frozenset((name_key(n), t if with_model else "") for n, t in pair) for pair in vault.traps}
    have = set(there) if with_model else {(key, "") for key, _ in there}
    judged = []
    for candidate in found:
        nodes = (candidate.pair.kept, candidate.pair.merged)
        pair = frozenset((key, type_ if with_model else "") for key, type_ in nodes)
        judged.append(Judged(name, candidate, pair in keyed, pair in traps, pair in keyed))
    return Set(name, judged, sum(pair <= have for pair in keyed))


# -- scores ------------------------------------------------------------------------------------

HEADER = ["set", "suggested", "one thing", "precision", "among clusters", "as annotated", "recall", "homonyms"]


def scores(name: str, sets: Sequence[Set]) -> list[object]:
    """A row of the table: what is suggested, how much of it is right, how much of what is one was suggested.

    Precision is by our reading. *Among clusters* counts only pairs of names that are annotated as some name's other
    name, *as annotated* all that stand in one document, whether or not the annotation missed that they are one.
    """
    judged = [item for of in sets for item in of.judged]
    suggested = [item for item in judged if item.candidate.doubt <= THRESHOLD]
    right = sum(item.same is True for item in suggested)
    clustered = [item.annotated is True for item in suggested if item.clustered]
    annotated = [item.annotated for item in suggested if item.annotated is not None]
    return [
        name, len(suggested), right, _share(right, len(suggested)), _share(sum(clustered), len(clustered)),
        _share(sum(annotated), len(annotated)), _share(right, sum(of.positives for of in sets)),
        f"{sum(i.trap for i in suggested)} of {sum(i.trap for i in judged)} suggested",
    ]  # fmt: skip


def missed(name: str, sets: Sequence[Set]) -> Iterator[str]:
    """What is not as good as it has to be."""
    suggested = [item for of in sets for item in of.judged if item.candidate.doubt <= THRESHOLD]
    right = sum(item.same is True for item in suggested)
    if not suggested or right < FLOOR * len(suggested):
        yield f"{name}: {right} of {len(suggested)} suggested pairs are one thing, less than {FLOOR:.0%}"
    if traps := sum(item.trap for item in suggested):
        yield f"{name}: {traps} planted homonyms are suggested"
    if not sum(of.positives for of in sets):
        yield f"{name}: nothing in it is one thing, so nothing was measured"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "—"


def mistakes(sets: Sequence[Set]) -> Iterator[str]:
    """The pairs that are suggested and not one thing, and how the doubt came about."""
    for of in sets:
        for item in of.judged:
            c = item.candidate
            if c.doubt <= THRESHOLD and item.same is not True:
                yield f"{of.name}: {item.same} {c.doubt:.3f} {c.pair.kept} {c.pair.merged} {c.signals}"


# -- fitting -----------------------------------------------------------------------------------

#: Where fitting begins, and what few examples hardly change: by hand.
PRIOR = {
    "alias": 2.5, "spelling": 3.5, "order": 3.5, "company": 3.0, "article": 2.5, "plural": 2.0, "middle": 2.5,
    "initials": 1.5, "acronym": 1.5, "slip": 1.5, "extra": -1.0, "typo": -1.5, "swapped": -1.0, "letters": -2.0,
    "surname": -1.5, "given": -3.0, "shared": -2.0, "homonym": -5.0, "neighbours": 3.0, "homonym_neighbours": 4.0,
    "cosine": 1.0, "rivals": -4.0, "typed": 0.3, "together": 3.0, "read_with": 2.0, "apart": -4.0, "related": -3.0,
    "notes": -2.0, "beside": -1.0,
}  # fmt: skip


#: What keeps homonyms apart: not for a few examples to change.
FIXED = ("rivals", "apart", "related", "homonym", "homonym_neighbours", "notes")


def fit(groups: Sequence[Sequence[Set]]) -> dict[str, float]:
    """Weights by Newton's method, drawn towards ``PRIOR``; each group of sets counts the same."""
    import numpy

    judged = [[item for of in group for item in of.judged if item.same is not None] for group in groups]
    share = numpy.concatenate([numpy.full(len(items), min(map(len, judged)) / len(items)) for items in judged])
    every = [item for items in judged for item in items]
    names = sorted(PRIOR.keys() - set(FIXED))
    numbers = [terms(item.candidate.signals) for item in every]
    rows = numpy.array([[row.get(name, 0.0) for name in names] for row in numbers])
    given = numpy.array([math.fsum(PRIOR[name] * row.get(name, 0.0) for name in FIXED) for row in numbers])
    wanted = numpy.array([float(item.same is True) for item in every])
    start = numpy.array([PRIOR[name] for name in names])
    weights = start.copy()
    for _ in range(50):
        chance = 1 / (1 + numpy.exp(-(given + rows @ weights)))
        slope = rows.T @ (share * (wanted - chance)) - DECAY * (weights - start)
        curve = (rows * (share * chance * (1 - chance))[:, None]).T @ rows + DECAY * numpy.eye(len(names))
        weights = weights + numpy.linalg.solve(curve, slope)
    return PRIOR | {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)}


# -- speed -------------------------------------------------------------------------------------


def speed(entities: int) -> list[object]:
    """Seconds of processor time to find all candidates among names as people have them, one of 20 written twice."""
    chooser = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    lasts = [*LAST, *("".join(chooser.choices(letters, k=chooser.randint(5, 9))).capitalize() for _ in range(20_000))]
    names: dict[str, None] = {}
    while len(names) < entities:
        first, last = chooser.choice(FIRST), chooser.choice(lasts)
        written = [f"{first} {chooser.choice(MIDDLE)} {last}", f"{last} {chooser.choice(TRADES)}", f"{first} {last}"]
        names[chooser.choice(written)] = None
        if chooser.random() < 0.05:
            names[f"{first[0]}. {last}"] = None
    with KnowledgeBase.in_memory() as kb:
        kb.set(embedding_model="")
        with transaction(kb.connection):
            for name in names:
                insert_entity(kb.connection, name, "", name_key(name), "user")
        began = time.process_time()
        found = candidates(kb.connection, kb.settings)
        seconds = time.process_time() - began
    return [f"{len(names):,}", f"{len(found):,}", f"{seconds:.1f}", f"{1e6 * seconds / len(names):.0f}"]


# -- all of it -----------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("redocred", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--speed", type=int, action="append", default=[], metavar="N")
    parser.add_argument("--write", action="store_true", help="into BENCHMARKS.md")
    arguments = parser.parse_args()
    lines = (arguments.redocred / "documents.jsonl").read_text("utf-8").splitlines()
    documents = [json.loads(line) for line in lines]
    if arguments.fit:
        vaults = [planted(seed, with_model) for seed in TRAIN for with_model in (True, False)]
        print(json.dumps(fit([[redocred(documents[::2], documents, "first half")], vaults]), indent=1))
        return
    groups = {
        "Re-DocRED, half of the documents": [redocred(documents[1::2], documents, "Re-DocRED")],
        "planted vaults, read by a model": [planted(seed, True) for seed in TEST],
        "planted vaults, no model": [planted(seed, False) for seed in TEST],
    }
    body = table(HEADER, [scores(name, sets) for name, sets in groups.items()])
    if arguments.speed:
        rows = [speed(number) for number in arguments.speed]
        body += "\n\n" + table(["entities", "candidates", "CPU seconds", "µs an entity"], rows)
    print(body)
    if arguments.list:
        print(*(line for sets in groups.values() for line in mistakes(sets)), sep="\n")
    if arguments.write:
        write_section("Merges", "python benchmarks/merges.py REDOCRED --speed 10000 --speed 100000", body)
    if failures := [line for name, sets in groups.items() for line in missed(name, sets)]:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
