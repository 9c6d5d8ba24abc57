"""Shortest paths: whether the ones that people meant are found, and how fast.

    python benchmarks/paths.py --pathquestion FOLDER
    python benchmarks/paths.py --triples 1000000 --pairs 400
    python benchmarks/paths.py --pathquestion FOLDER --triples 100000 --triples 1000000 --write

FOLDER holds PathQuestion (Zhou et al. 2018): four cuts of Freebase and questions with the path that answers each. The
cuts are imported as any user would; where the path of a question is simple and no shorter one joins its ends, the k = 3
best paths must contain it, over its very relations (exit status 1 below ``FLOOR``).

Speed is of synthetic graphs with power-law degrees (power_law.py), random pairs, processor time. One shortest path is
what networkx finds too, in a graph that it has loaded (up to ``LARGE``); ours reads the file, nothing loaded. From
``LARGE`` on it must not take more than ``RATIO`` times as long, at the 95th percentile (exit status 1). Besides: with
names and sentences, and the k = 3 best.
"""

from __future__ import annotations

import argparse
import gc
import json
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
LARGE = 1_000_000  # triples: below, everything fits into the memory of networkx's processor, and nobody waits anyway
K = 3
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


def speed(triples: int, number: int, folder: Path) -> tuple[list[list[object]], float | None]:
    """Rows by method, and how many times as long as networkx one shortest path takes, None if that is not known."""
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
        return first_way(a, b, frontier.triples, frontier.degrees, MAX_HOPS)

    def theirs(a: int, b: int) -> object:
        try:
            return tuple(networkx.bidirectional_shortest_path(graph, a, b))
        except networkx.NetworkXNoPath:
            return None

    def hops(nodes: object) -> int | None:
        return None if nodes is None else len(nodes)  # type: ignore[arg-type]

    methods: dict[str, Callable[[int, int], object]] = {
        f"networkx, loaded in {loading:.1f} s": theirs,
        "one shortest path": one,
        "one shortest path, names and sentences": lambda a, b: shortest_path(connection, a, b, MAX_HOPS),
        "k = 3 best, nothing counts as a hub": lambda a, b: shortest_paths(connection, [a], [b], K, hub_hops=0),
        "k = 3 best": lambda a, b: shortest_paths(connection, [a], [b], K),
    }
    if triples > LARGE:
        del methods[next(iter(methods))]
    rows: list[list[object]] = []
    for name, method in methods.items():
        for a, b in pairs[:20]:
            method(a, b)
        rows.append([f"{triples:,}", name, *percentiles(method, pairs)])
    if triples > LARGE:
        return rows, None
    wrong = sum(hops(one(a, b)) != hops(theirs(a, b)) for a, b in pairs)
    if wrong:
        sys.exit(f"{wrong} of {len(pairs)} shortest paths are not as long as those of networkx")
    connection.close()
    return rows, float(str(rows[1][3])) / float(str(rows[0][3]))


def percentiles(method: Callable[[int, int], object], pairs: Sequence[Pair]) -> list[str]:
    """Milliseconds of processor time: median, 95th percentile, most."""
    taken = []
    for a, b in pairs:
        began = time.process_time()
        method(a, b)
        taken.append(1000 * (time.process_time() - began))
    return [f"{statistics.median(taken):.2f}", f"{statistics.quantiles(taken, n=20)[-1]:.2f}", f"{max(taken):.1f}"]


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
        rows = []
        with tempfile.TemporaryDirectory() as removed:
            for triples in options.triples:
                folder = options.work or Path(removed)
                folder.mkdir(parents=True, exist_ok=True)
                added, ratio = speed(triples, options.pairs, folder)
                rows += added
                if triples >= LARGE and ratio is not None and ratio > RATIO:
                    failures.append(f"{triples:,} triples: {ratio:.1f} times as long as networkx, {RATIO} is the most")
        parts.append(table(["triples", "CPU ms", "median", "95 %", "most"], rows))
    body = "\n\n".join(parts)
    print(body)
    if options.write:
        sizes = "".join(f" --triples {n}" for n in options.triples)
        write_section("Paths", f"python benchmarks/paths.py --pathquestion FOLDER{sizes}", body)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
