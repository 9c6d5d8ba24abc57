"""Shortest paths: whether the ones that people meant are found, and how fast.

    python benchmarks/paths.py --pathquestion FOLDER
    python benchmarks/paths.py --triples 1000000 --pairs 400
    python benchmarks/paths.py --pathquestion FOLDER --triples 100000 --triples 1000000 --write

FOLDER holds PathQuestion (Zhou et al. 2018): four cuts of Freebase and questions with the path that answers each. The
cuts are imported as any user would; where the path of a question is simple and no shorter one joins its ends, the k = 3
best paths must contain it, over its very relations (exit status 1 below ``FLOOR``).

Speed is of synthetic graphs with power-law degrees (power_law.py), random pairs, processor time. One shortest path is
what networkx finds too, in a graph that it has loaded (up to ``LARGE``); ours reads the file, nothing loaded. From
``LARGE`` on it must not take more than ``RATIO`` times as long, at the 95th percentile (exit status 1). Above it ours
is compared with itself: with no more than ``HUB_CAP`` triples read of one entity it must not take more than ``GROWTH``
times as long as one shortest path, without such a bound, takes in the smallest graph. How many of the paths are then as
short as the shortest is told. Besides: with names and sentences, and the k = 3 best.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx
from power_law import make, random_pairs
from report import table, write_section

from llm_graphrag.graph.frontier import Frontier
from llm_graphrag.graph.named import meant
from llm_graphrag.graph.paths import Path as GraphPath
from llm_graphrag.graph.paths import shortest_path, shortest_paths
from llm_graphrag.graph.ways import first_way
from llm_graphrag.knowledge_base import KnowledgeBase
from llm_graphrag.share.imports.options import ImportOptions
from llm_graphrag.store.connection import open_to_read
from llm_graphrag.text.normalise import fold_identifier

FLOOR = 0.98
RATIO = 2.0
GROWTH = 1.5
LARGE = 1_000_000  # triples: below, everything fits into the memory of networkx's processor, and nobody waits anyway
K = 3
HUB_CAP = 200  # triples of one entity
PASSES = 3
MAX_HOPS = 20  # of one shortest path
Pair = tuple[int, int]


# -- the paths that people meant -------------------------------------------------------------------------------------


def pathquestion(folder: Path) -> tuple[list[list[object]], float]:
    """Rows by cut, and the share of questions whose path is found, of those that it can be asked of."""
    lines = (folder / "questions.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    rows: list[list[object]] = []
    asked = hits = 0
    for cut in sorted({question["kb"] for question in questions}):
        with tempfile.TemporaryDirectory() as work, KnowledgeBase.open(Path(work) / "kb.db", create=True) as kb:
            kb.set(embedding_model="")
            kb.import_graph([folder / f"{cut}-kb.tsv"], ImportOptions(header=False))
            of = [Gold.of(kb, question["path"]) for question in questions if question["kb"] == cut]
            graph = loaded(kb.connection)
            fit = [gold for gold in of if gold.is_simple and gold.is_shortest(graph)]
            found = sum(gold.found(kb) for gold in fit)
        rows.append([cut, len(of), len(fit), found, f"{found / len(fit):.3f}"])
        asked, hits = asked + len(fit), hits + found
    rows.append(["all", len(questions), asked, hits, f"{hits / asked:.3f}"])
    return rows, hits / asked


@dataclass(frozen=True)
class Gold:
    """The path of a question: entities, and the relations between them."""

    nodes: tuple[int, ...]
    relations: tuple[str, ...]

    @classmethod
    def of(cls, kb: KnowledgeBase, path: Sequence[str]) -> Gold:
        nodes = tuple(meant(kb.connection, name).id for name in path[::2])
        return cls(nodes, tuple(fold_identifier(name) for name in path[1::2]))

    @property
    def is_simple(self) -> bool:
        return len(set(self.nodes)) == len(self.nodes)

    def is_shortest(self, graph: networkx.Graph) -> bool:
        return networkx.shortest_path_length(graph, self.nodes[0], self.nodes[-1]) == len(self.relations)

    def found(self, kb: KnowledgeBase) -> bool:
        return any(map(self.same, shortest_paths(kb.connection, [self.nodes[0]], [self.nodes[-1]], K).paths))

    def same(self, path: GraphPath) -> bool:
        if tuple(node.id for node in path.nodes) != self.nodes:
            return False
        stated = [{fold_identifier(by.relation) for by in (hop.by, *hop.also)} for hop in path.hops]
        return all(relation in of for relation, of in zip(self.relations, stated, strict=True))


# -- how fast --------------------------------------------------------------------------------------------------------


def loaded(connection: sqlite3.Connection) -> networkx.Graph:
    """The triples of a file as networkx has them."""
    graph = networkx.Graph()
    graph.add_edges_from(map(tuple, connection.execute("SELECT head, tail FROM kg_triples")))
    return graph


@dataclass(frozen=True)
class Speed:
    """Rows by method, and milliseconds at the 95th percentile; None where networkx would need too much memory."""

    rows: list[list[object]]
    networkx: float | None
    one: float
    capped: float
    told: str  # how good the paths with a bound on hubs are


def speed(triples: int, number: int, folder: Path) -> Speed:
    """Measure on a graph of so many triples, made unless it is there."""
    path = folder / f"{triples}.db"
    if not path.exists():
        make(path, triples)
    connection = open_to_read(path)
    pairs = random_pairs(connection, number)
    graph, loading = networkx.Graph(), 0.0
    if triples <= LARGE:
        began = time.process_time()
        graph = loaded(connection)
        loading = time.process_time() - began
    gc.collect()
    gc.freeze()  # or collecting garbage would look through their graph again and again, in our time too

    def one(a: int, b: int) -> object:
        frontier = Frontier(connection)
        return first_way(a, b, frontier.pieces, frontier.degrees, MAX_HOPS)

    def capped(a: int, b: int) -> object:
        frontier = Frontier(connection)
        return first_way(
            a, b, lambda ids: frontier.pieces(ids, HUB_CAP), frontier.degrees, MAX_HOPS, lambda: frontier.truncated
        )

    def theirs(a: int, b: int) -> object:
        try:
            return tuple(networkx.bidirectional_shortest_path(graph, a, b))
        except networkx.NetworkXNoPath:
            return None

    def hops(nodes: object) -> int | None:
        return None if nodes is None else len(nodes)  # type: ignore[arg-type]

    loaded_first = f"networkx, loaded in {loading:.1f} s"
    with_cap = f"one short path, {HUB_CAP} triples of a hub"
    methods: dict[str, Callable[[int, int], object]] = {
        loaded_first: theirs,
        "one shortest path": one,
        with_cap: capped,
        "one shortest path, names and sentences": lambda a, b: shortest_path(connection, a, b, MAX_HOPS),
        "k = 3 best, nothing counts as a hub": lambda a, b: shortest_paths(connection, [a], [b], K, hub_hops=0),
        "k = 3 best": lambda a, b: shortest_paths(connection, [a], [b], K),
    }
    if triples > LARGE:
        del methods[loaded_first]
    measured = {}
    for name, method in methods.items():
        for a, b in pairs[:20]:
            method(a, b)
        measured[name] = percentiles(method, pairs)
    exact = [hops(one(a, b)) for a, b in pairs]
    short = [hops(capped(a, b)) for a, b in pairs]
    if triples <= LARGE and (wrong := sum(n != hops(theirs(a, b)) for n, (a, b) in zip(exact, pairs, strict=True))):
        sys.exit(f"{wrong} of {len(pairs)} shortest paths are not as long as those of networkx")
    connection.close()
    more = [n - m for n, m in zip(short, exact, strict=True) if n is not None and m is not None]
    told = (
        f"{triples:,} triples, {HUB_CAP} of a hub: {more.count(0)} of {len(more)} paths are as short as the shortest, "
        f"the others have {sum(more) / max(1, len(more) - more.count(0)):.2f} hops more"
    )
    rows: list[list[object]] = [
        [f"{triples:,}", name, *(f"{value:.2f}" for value in values)] for name, values in measured.items()
    ]
    theirs_95 = measured[loaded_first][1] if triples <= LARGE else None
    return Speed(rows, theirs_95, measured["one shortest path"][1], measured[with_cap][1], told)


def percentiles(method: Callable[[int, int], object], pairs: Sequence[Pair]) -> list[float]:
    """Milliseconds of processor time: median, 95th percentile, most. Of each pair the least of ``PASSES`` over all."""
    taken = [math.inf] * len(pairs)
    for _ in range(PASSES):
        for number, (a, b) in enumerate(pairs):
            began = time.process_time()
            method(a, b)
            taken[number] = min(taken[number], 1000 * (time.process_time() - began))
    return [statistics.median(taken), statistics.quantiles(taken, n=20)[-1], max(taken)]


def too_slow(speeds: dict[int, Speed]) -> list[str]:
    """What is slower than it may be."""
    found = []
    least = speeds[min(speeds)]
    for triples, measured in speeds.items():
        if triples >= LARGE and measured.networkx and (ratio := measured.one / measured.networkx) > RATIO:
            found.append(f"{triples:,} triples: {ratio:.2f} times as long as networkx, {RATIO} is the most")
        if triples > LARGE and measured is not least and (ratio := measured.capped / least.one) > GROWTH:
            found.append(f"{triples:,} triples: {ratio:.2f} times as long as {min(speeds):,}, {GROWTH} is the most")
    return found


# -- all of it -------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pathquestion", type=Path, help="folder with PathQuestion")
    parser.add_argument("--triples", type=int, action="append", default=[], metavar="N")
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--work", type=Path, help="where graphs are kept; a folder that is removed, unless given")
    parser.add_argument("--write", action="store_true", help="into BENCHMARKS.md")
    options = parser.parse_args()
    parts, failures = [], []
    if options.pathquestion:
        rows, share = pathquestion(options.pathquestion)
        parts.append(table(["cut", "questions", "path simple and shortest", f"among the {K} best", "share"], rows))
        if share < FLOOR:
            failures.append(f"{share:.3f} of the paths are found, {FLOOR} should be")
    if options.triples:
        speeds: dict[int, Speed] = {}
        with tempfile.TemporaryDirectory() as removed:
            folder = options.work or Path(removed)
            folder.mkdir(parents=True, exist_ok=True)
            for triples in sorted(options.triples):
                speeds[triples] = speed(triples, options.pairs, folder)
        parts.append(
            table(["triples", "CPU ms", "median", "95 %", "most"], [r for s in speeds.values() for r in s.rows])
        )
        parts.append("\n".join(f"- {measured.told}." for measured in speeds.values()))
        failures += too_slow(speeds)
    body = "\n\n".join(parts)
    print(body)
    if options.write:
        sizes = "".join(f" --triples {n}" for n in options.triples)
        write_section("Paths", f"python benchmarks/paths.py --pathquestion FOLDER{sizes}", body)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
