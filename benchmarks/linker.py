"""How well and how fast names are linked to entities: python benchmarks/linker.py --data FOLDER [--write]

Re-DocRED (FOLDER/redocred/documents.jsonl): every cluster of names in every second document is an entity; clusters of
one type with the same first name are one. Each name is linked as it is, with one or two slips of the pen, and with its
words in another order. An entity counts as found if it has the name that was spoiled, since several may share one. A
spoiled name that is the name of something else is left out. *Another name* is a second name of a cluster whose entity
is known by its first name only. *Strangers* are names of the other half that are unknown here: none should be linked.
``--dev`` takes the other documents, by which the scores were set.

Speed: made-up names (``--names``, a seed says which), slips of the pen in known ones, and how often the right one is
among the first five; rapidfuzz, which compares with every name, does the same beside it (``pip install rapidfuzz``).
A floor that is missed gives exit status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from report import table, write_section

from llm_graphrag.facts.name_grams import folded
from llm_graphrag.graph.linker import link
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.store import name_signatures
from llm_graphrag.store.connection import transaction
from llm_graphrag.text.normalise import name_key

SKIPPED = ("TIME", "NUM")  # no things
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHORTEST = 5  # letters of names that are spoiled
FLOORS = {"as it is, first name": 0.97, "as it is, other names": 0.97, "one slip": 0.90}
SPEED_FLOORS = {"one slip": 0.98, "two slips": 0.93, "words swapped": 0.98}
FASTER = 5.0
BINS = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.01)

Names = Mapping[tuple[str, str], Sequence[str]]
"""(key, type) -> the names of an entity, the one it is shown by first."""


# -- names and how they are spoiled ----------------------------------------------------------


def clusters(documents: Iterable[dict]) -> Names:
    """The entities of documents with all names that their clusters have."""
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for document in documents:
        for entity in document["entities"]:
            names = [name for name in entity["names"] if name_key(name)]
            if names and entity["type"] not in SKIPPED:
                found[name_key(names[0]), entity["type"]].update(dict.fromkeys(names))
    return {node: list(names) for node, names in found.items()}


def slip(name: str, chooser: random.Random) -> str:
    """One letter left out, put in, replaced, or swapped with the next."""
    at = chooser.randrange(len(name))
    letter = chooser.choice(LETTERS)
    ways = [name[:at] + name[at + 1 :], name[:at] + letter + name[at:], name[:at] + letter + name[at + 1 :]]
    if at + 1 < len(name):
        ways.append(name[:at] + name[at + 1] + name[at] + name[at + 2 :])
    return chooser.choice(ways)


def swapped(name: str, chooser: random.Random) -> str:
    words = name.split()
    order = words[:]
    while order == words and len(set(words)) > 1:
        chooser.shuffle(order)
    return " ".join(order)


SPOILED: dict[str, Callable[[str, random.Random], str]] = {
    "one slip": slip,
    "two slips": lambda name, chooser: slip(slip(name, chooser), chooser),
    "words swapped": swapped,
}


def put(kb: KnowledgeBase, names: Names) -> dict[tuple[str, str], int]:
    """Store entities with their names; returns their ids."""
    ids = {node: number for number, node in enumerate(names, 1)}
    with transaction(kb.connection):
        kb.connection.executemany(
            "INSERT INTO kg_entities(id, name, type, key, origin) VALUES (?, ?, ?, ?, 'user')",
            ((ids[key, type_], known[0], type_, key) for (key, type_), known in names.items()),
        )
        kb.connection.executemany(
            "INSERT INTO kg_aliases(entity, name, key, kind, origin, scanned) VALUES (?, ?, ?, ?, 'user', 1)",
            (
                (ids[node], name, name_key(name), "alias" if place else "name")
                for node, known in names.items()
                for place, name in enumerate(known)
            ),
        )
        name_signatures.rebuild(kb.connection)
    return ids


# -- Re-DocRED -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A mention, and the entities that are right; none for a stranger."""

    kind: str
    text: str
    right: frozenset[int]


@dataclass(frozen=True)
class Outcome:
    """What was linked first to a mention."""

    asked: Asked
    entity: int | None
    score: float
    method: str
    name: str = ""

    @property
    def hit(self) -> bool:
        return self.entity in self.asked.right


def questions(names: Names, ids: Mapping[tuple[str, str], int], seed: int) -> list[Asked]:
    """Every name as it is, and spoiled."""
    chooser = random.Random(seed)
    of: dict[str, set[int]] = defaultdict(set)
    for node, known in names.items():
        for name in known:
            of[name_key(name)].add(ids[node])
    asked = []
    for known in names.values():
        for place, name in enumerate(known):
            right = frozenset(of[name_key(name)])
            asked.append(Asked(f"as it is, {'other names' if place else 'first name'}", name, right))
            for kind, spoil in SPOILED.items():
                text = spoil(name, chooser)
                if len(folded(name)) >= SHORTEST and name_key(text) not in of:
                    asked.append(Asked(kind, text, right))
    return asked


def linked(kb: KnowledgeBase, asked: Sequence[Asked]) -> list[Outcome]:
    found = link(kb.connection, [a.text for a in asked])
    outcomes = []
    for a, mention in zip(asked, found.mentions, strict=True):
        best = mention.candidates[0] if mention.candidates else None
        outcomes.append(
            Outcome(a, best.entity, best.score, best.method, best.name) if best else Outcome(a, None, 0, "")
        )
    return outcomes


def redocred(folder: Path, half: str) -> list[Outcome]:
    with (folder / "redocred" / "documents.jsonl").open(encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    halves = documents[0::2], documents[1::2]
    names, others = (clusters(of) for of in (halves if half == "dev" else halves[::-1]))
    with KnowledgeBase.in_memory() as kb:
        ids = put(kb, names)
        outcomes = linked(kb, questions(names, ids, 1))
        known = {name_key(name) for every in names.values() for name in every}
        strangers = dict.fromkeys(
            name for every in others.values() for name in every[:1] if name_key(name) not in known
        )
        outcomes += linked(kb, [Asked("strangers", name, frozenset()) for name in strangers])
    with KnowledgeBase.in_memory() as kb:
        first = {node: every[:1] for node, every in names.items()}
        ids = put(kb, first)
        known = {key for key, _ in first}
        right: dict[str, set[int]] = defaultdict(set)
        for node, every in names.items():
            for name in every[1:]:
                if name_key(name) not in known:
                    right[name].add(ids[node])
        outcomes += linked(kb, [Asked("another name", name, frozenset(of)) for name, of in right.items()])
    return outcomes


def by_kind(outcomes: Sequence[Outcome]) -> list[list[object]]:
    """A row a kind: how many are right, wrong, and not linked."""
    rows: list[list[object]] = []
    for kind in dict.fromkeys(o.asked.kind for o in outcomes):
        of = [o for o in outcomes if o.asked.kind == kind]
        right, none = sum(o.hit for o in of), sum(o.entity is None for o in of)
        shares = [f"{100 * n / len(of):.1f}" for n in (right, len(of) - right - none, none)]
        rows.append([kind, len(of), *shares])
    return rows


def odds(outcomes: Sequence[Outcome]) -> list[list[object]]:
    """A row a range of scores: how many of what was linked with it are right."""
    rows: list[list[object]] = []
    spoiled = [o for o in outcomes if not o.asked.kind.startswith("as it is") and o.entity is not None]
    for low, high in zip(BINS, BINS[1:], strict=False):
        of = [o for o in spoiled if low <= o.score < high]
        if of:
            mean = statistics.fmean(o.score for o in of)
            rows.append(
                [f"{low:g}-{min(high, 1):g}", len(of), f"{mean:.2f}", f"{statistics.fmean(o.hit for o in of):.2f}"]
            )
    return rows


def missed(outcomes: Sequence[Outcome]) -> list[str]:
    """Floors that are not reached, in words."""
    found = []
    for kind, floor in FLOORS.items():
        of = [o for o in outcomes if o.asked.kind == kind]
        share = sum(o.hit for o in of) / len(of)
        if share < floor:
            found.append(f"{kind}: {share:.3f} is less than {floor}")
    return found


# -- speed -----------------------------------------------------------------------------------

ONSETS = "b c d f g h k l m n p r s t v w z br cr dr st tr".split()
RHYMES = "a e i o u an er in or ell".split()


def made_up(count: int, seed: int) -> list[str]:
    """Different names of one to three made-up words of two to eight letters or so."""
    chooser = random.Random(seed)
    syllables = [onset + rhyme for onset in ONSETS for rhyme in RHYMES]
    words = sorted(
        {"".join(chooser.choice(syllables) for _ in range(chooser.randint(1, 3))).title() for _ in range(60_000)}
    )
    names: dict[str, None] = {}
    while len(names) < count:
        names[" ".join(chooser.choice(words) for _ in range(chooser.choice((1, 2, 2, 2, 3))))] = None
    return list(names)


@dataclass(frozen=True)
class Timed:
    """What looking up some mentions costs, and how often the right name is among the first five."""

    kind: str
    milliseconds: float
    top5: float


def timed(kind: str, pairs: Sequence[tuple[str, str]], find: Callable[[str], Iterable[str]]) -> Timed:
    """``pairs`` are (name, mention); milliseconds of this process's CPU."""
    began = time.process_time()
    found = [list(find(mention)) for _, mention in pairs]
    each = 1000 * (time.process_time() - began) / len(pairs)
    return Timed(kind, each, statistics.fmean(name in of for (name, _), of in zip(pairs, found, strict=True)))


def speed(count: int, work: Path, asked: int) -> tuple[list[Timed], list[Timed]]:
    """(ours, rapidfuzz) among so many names; rapidfuzz is left out where it is not installed."""
    names = made_up(count, 1)
    path = work / f"names-{count}.db"
    path.unlink(missing_ok=True)
    with KnowledgeBase.open(path, create=True) as kb:
        kb.connection.execute("DROP TRIGGER kg_aliases_ai")  # full text of names is slow to make, and not read here
        put(kb, {(name_key(name), ""): [name] for name in names})
    chooser = random.Random(2)
    sets: dict[str, list[tuple[str, str]]] = {"exact": [(name, name.upper()) for name in chooser.sample(names, asked)]}
    known = set(map(name_key, names))
    for kind, spoil in SPOILED.items():
        pairs = [(name, spoil(name, chooser)) for name in chooser.sample(names, 3 * asked)]
        sets[kind] = [(n, m) for n, m in pairs if name_key(m) not in known and (kind != "words swapped" or " " in n)][
            :asked
        ]
    with KnowledgeBase.open(path, readonly=True) as kb:

        def ours(mention: str) -> list[str]:
            return [c.name for c in link(kb.connection, [mention], k=5, min_score=0.1, vectors=False).flat()]

        ours(names[0] + "x")  # what is imported once
        mine = [timed(kind, pairs, ours) for kind, pairs in sets.items()]
    path.unlink()
    try:
        from rapidfuzz import fuzz, process
    except ImportError:
        return mine, []
    lower = [name.lower() for name in names]

    def theirs(mention: str) -> list[str]:
        return [names[place] for _, _, place in process.extract(mention.lower(), lower, scorer=fuzz.ratio, limit=5)]

    few = max(10, asked // 10)
    return mine, [timed(kind, pairs[:few], theirs) for kind, pairs in sets.items() if kind != "exact"]


def speed_rows(count: int, mine: Sequence[Timed], theirs: Sequence[Timed]) -> list[list[object]]:
    beside = {t.kind: t for t in theirs}
    rows: list[list[object]] = []
    for t in mine:
        other = beside.get(t.kind)
        more = (
            [f"{other.milliseconds:.1f}", f"{other.milliseconds / t.milliseconds:.1f}", f"{other.top5:.3f}"]
            if other
            else [""] * 3
        )
        rows.append([f"{count:,}", t.kind, f"{t.milliseconds:.2f}", f"{t.top5:.3f}", *more])
    return rows


def slow(mine: Sequence[Timed], theirs: Sequence[Timed]) -> list[str]:
    """Floors of speed that are not reached, in words."""
    beside = {t.kind: t for t in theirs}
    found = []
    for t in mine:
        if t.top5 < SPEED_FLOORS.get(t.kind, 0):
            found.append(f"{t.kind}: top five {t.top5:.3f} is less than {SPEED_FLOORS[t.kind]}")
        if t.kind in beside and beside[t.kind].milliseconds < FASTER * t.milliseconds:
            found.append(f"{t.kind}: {beside[t.kind].milliseconds / t.milliseconds:.1f} times as fast, not {FASTER:g}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("BENCH_DATA"))
    parser.add_argument("--dev", action="store_true", help="the documents that the scores were set on")
    parser.add_argument("--names", type=int, nargs="*", default=[250_000, 1_000_000], help="how many names are made up")
    parser.add_argument("--asked", type=int, default=300, help="mentions of each kind, among made-up names")
    parser.add_argument("--write", action="store_true", help="put the result into BENCHMARKS.md")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of question sets with --data or $BENCH_DATA")
    outcomes = redocred(options.data, "dev" if options.dev else "test")
    failed = missed(outcomes)
    parts = [
        "Re-DocRED, per cent of mentions whose first candidate is right, is wrong, or that are not linked:",
        table(["mention", "mentions", "right", "wrong", "not linked"], by_kind(outcomes)),
        "Scores as odds, over all mentions that are not written as known, strangers and other names among them:",
        table(["score", "linked", "mean score", "share right"], odds(outcomes)),
    ]
    print("\n\n".join(parts), flush=True)
    rows: list[list[object]] = []
    for count in options.names:
        with tempfile.TemporaryDirectory() as work:
            mine, theirs = speed(count, Path(work), options.asked)
        rows += speed_rows(count, mine, theirs)
        if count == options.names[0]:
            failed += slow(mine, theirs)
    if rows:
        header = ["names", "mention", "CPU ms", "top five", "rapidfuzz ms", "times as fast", "rapidfuzz top five"]
        parts += ["Made-up names, beside rapidfuzz's `ratio` over all of them:", table(header, rows)]
        print("\n\n".join(parts[-2:]))
    if options.write:
        write_section("Linker", "python benchmarks/linker.py", "\n\n".join(parts))
    for line in failed:
        print(line, file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
