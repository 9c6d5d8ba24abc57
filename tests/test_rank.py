"""PageRank by forward push agrees with the dense power iteration, and mass is never lost."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_graphrag.graph.rank import personalised_pagerank

Graph = dict[int, list[tuple[int, float]]]


def dense(graph: Graph, seeds: Mapping[int, float], damping: float = 0.5, rounds: int = 200) -> dict[int, float]:
    """The reference: x = (1 - damping) s + damping P x, a node without edges keeping its mass."""
    total = sum(seeds.values())
    start = {node: seeds.get(node, 0.0) / total for node in graph}
    x = dict(start)
    for _ in range(rounds):
        moved = dict.fromkeys(graph, 0.0)
        for node, edges in graph.items():
            weights = sum(weight for _, weight in edges)
            for other, weight in edges or [(node, 1.0)]:
                moved[other] += x[node] * weight / (weights or 1.0)
        x = {node: (1 - damping) * start[node] + damping * moved[node] for node in graph}
    return x


def random_graph(seed: int, nodes: int = 12, edges: int = 20) -> Graph:
    dice = random.Random(seed)
    graph: Graph = {node: [] for node in range(1, nodes + 1)}
    for _ in range(edges):
        a, b, weight = dice.randint(1, nodes), dice.randint(1, nodes), dice.choice([0.5, 1.0, 4.0])
        if a != b:
            graph[a].append((b, weight))
            graph[b].append((a, weight))
    return graph


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("damping", [0.3, 0.5, 0.85])
def test_agrees_with_the_power_iteration(seed: int, damping: float) -> None:
    graph = random_graph(seed)
    seeds = {1: 2.0, 5: 1.0}
    wanted = dense(graph, seeds, damping)
    mass = personalised_pagerank(
        seeds, lambda nodes: {n: graph[n] for n in nodes}, damping=damping, epsilon=1e-10, max_rounds=400
    )
    for node, value in wanted.items():
        assert mass.get(node, 0.0) == pytest.approx(value, abs=1e-6)


@given(seed=st.integers(0, 10_000), epsilon=st.sampled_from([1e-1, 1e-2, 1e-4]))
def test_mass_sums_to_one_however_early_it_stops(seed: int, epsilon: float) -> None:
    graph = random_graph(seed)
    mass = personalised_pagerank({1: 0.2, 3: 5.0}, lambda nodes: {n: graph[n] for n in nodes}, epsilon=epsilon)
    assert sum(mass.values()) == pytest.approx(1.0)
    assert min(mass.values()) >= 0


def test_a_node_that_is_not_expanded_keeps_its_mass() -> None:
    graph: Graph = {1: [(2, 1.0)], 2: [(1, 1.0), (3, 1.0)]}
    mass = personalised_pagerank({1: 1.0}, lambda nodes: {n: graph[n] for n in nodes if n == 1})
    assert mass == {1: 0.5, 2: 0.5}


def test_seeds_without_weight_are_no_seeds() -> None:
    assert personalised_pagerank({1: 0.0, 2: -1.0}, lambda nodes: {}) == {}
    assert personalised_pagerank({}, lambda nodes: {}) == {}


def test_a_frontier_is_asked_for_once_a_round() -> None:
    asked: list[set[int]] = []

    def neighbours(nodes: Mapping[int, float]) -> Graph:
        asked.append(set(nodes))
        return {node: [(node + 1, 1.0)] for node in nodes if node < 4}

    personalised_pagerank({1: 1.0}, neighbours, epsilon=1e-3)
    assert asked == [{1}, {2}, {3}, {4}]
