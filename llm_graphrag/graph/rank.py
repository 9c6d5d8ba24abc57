"""Personalised PageRank of a question, without loading the graph.

Local forward push (Andersen, Chung and Lang, "Local graph partitioning using
PageRank vectors", FOCS 2006): mass starts on the seeds; a node that holds more than
``epsilon`` keeps its restart share and hands the rest to its neighbours, until nobody
holds more. Only the neighbourhood that matters is ever read, whatever the size of the
graph. What is still under way at the end is added to where it stands, so the masses
always sum to one.

The module knows no SQL: it asks a callback for the neighbours of a whole frontier at
once, so that one round costs a fixed number of statements (``graph.view``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

__all__ = ["Neighbours", "personalised_pagerank"]

Neighbours = Callable[[Mapping[int, float]], Mapping[int, Sequence[tuple[int, float]]]]
"""Takes a frontier, node -> mass; gives node -> [(neighbour, weight > 0)]. A node it leaves out keeps its mass."""


def personalised_pagerank(
    seeds: Mapping[int, float],
    neighbours: Neighbours,
    *,
    damping: float = 0.5,
    epsilon: float = 1e-5,
    max_rounds: int = 40,
) -> dict[int, float]:
    """Return node -> probability that a walk with restarts at the seeds is there.

    Parameters: ``seeds`` are weights, scaled here to sum to one; those not above 0 are ignored. ``damping`` is the
    probability of following an edge. ``epsilon`` is the mass below which a node is not pushed: smaller is more exact
    and reads more. A node without neighbours is taken to have an edge to itself.

    >>> line = {1: [(2, 1.0)], 2: [(1, 1.0), (3, 1.0)], 3: [(2, 1.0)]}
    >>> mass = personalised_pagerank({1: 1.0}, lambda frontier: {n: line[n] for n in frontier}, epsilon=1e-9)
    >>> [round(mass[n], 3) for n in (1, 2, 3)]
    [0.583, 0.333, 0.083]
    """
    total = sum(weight for weight in seeds.values() if weight > 0)
    held = {node: weight / total for node, weight in seeds.items() if weight > 0}
    settled: dict[int, float] = {}
    for _ in range(max_rounds):
        frontier = {node: mass for node, mass in held.items() if mass > epsilon}
        if not frontier:
            break
        edges = neighbours(frontier)
        for node in frontier:
            del held[node]
        for node, mass in frontier.items():
            out = edges.get(node) or ()
            weights = sum(weight for _, weight in out)
            if weights <= 0:
                settled[node] = settled.get(node, 0.0) + mass
                continue
            settled[node] = settled.get(node, 0.0) + (1 - damping) * mass
            share = damping * mass / weights
            for other, weight in out:
                held[other] = held.get(other, 0.0) + share * weight
    for node, mass in held.items():
        settled[node] = settled.get(node, 0.0) + mass
    return settled
