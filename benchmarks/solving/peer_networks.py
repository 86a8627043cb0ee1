"""Networks of peers, as ours.

A peer's genomes are its own, and so is what becomes of them; their fitness is given by
the problem that ours are given it by. So both have the same task to the last digit, and
a run takes a fraction of the time that the peer's own evaluation would take.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from substrax.config import load_experiment
from substrax.cppn import Dialect, activation_id
from substrax.network import Networks
from substrax.problems import AbstractProblem


class Graph(NamedTuple):
    """One network: nodes are numbered inputs first, then outputs, then hidden ones."""

    nodes: list[tuple[str, float]]
    """Activation and bias of each, inputs as well."""
    links: list[tuple[int, int, float]]
    ranks: list[int] | None = None
    """Each link leads to a higher one. None: there may be cycles."""


class Task(NamedTuple):
    """What a peer is to solve, with how much effort, as an experiment of ours says."""

    problem: AbstractProblem
    population: int
    generations: int

    @staticmethod
    def of(work: dict[str, Any]) -> "Task":
        experiment = load_experiment(work["experiment"])
        experiment = experiment.with_settings(work["settings"])
        population = experiment.neat.population_size
        return Task(experiment.build().problem, population, experiment.run.generations)

    def fitness(self, networks: Networks, seed: int, generation: int) -> np.ndarray:
        """What fails is the worst."""
        key = jax.random.fold_in(jax.random.key(seed), generation)
        value = np.asarray(self.problem.fitness(networks, key=key), np.float64)
        return np.where(np.isfinite(value), value, -1.0)


def as_networks(
    graphs: Sequence[Graph],
    problem: AbstractProblem,
    *,
    dialect: Dialect,
    steps: int = 1,
) -> Networks:
    is_acyclic = all(graph.ranks is not None for graph in graphs)
    nodes = [node for graph in graphs for node in graph.nodes]
    # Of each target by source, which is the order that our sums have.
    links = [
        link
        for graph in graphs
        for link in sorted(graph.links, key=lambda link: (link[1], link[0]))
    ]
    activations = {name: activation_id(name) for name in {name for name, _ in nodes}}
    ranks = [r for g in graphs for r in g.ranks or [0] * len(g.nodes)]
    return Networks(
        num_inputs=problem.num_inputs,
        num_outputs=problem.num_outputs,
        node_bounds=_bounds([len(graph.nodes) for graph in graphs]),
        node_activation=np.array([activations[name] for name, _ in nodes], np.int32),
        node_bias=np.array([bias for _, bias in nodes], np.float32),
        node_rank=np.array(ranks, np.int32),
        node_point=np.full((len(nodes), 2), np.nan),
        link_bounds=_bounds([len(graph.links) for graph in graphs]),
        link_source=np.array([source for source, _, _ in links], np.int32),
        link_target=np.array([target for _, target, _ in links], np.int32),
        link_weight=np.array([weight for _, _, weight in links], np.float32),
        num_found=np.full(len(graphs), -1),
        is_acyclic=is_acyclic,
        dialect=dialect,
        activation_ids=tuple(sorted({*activations.values(), *_ALWAYS})),
        steps=steps,
    )


_ALWAYS = {activation_id("identity")}


def _bounds(counts: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def require_same(ours: np.ndarray, theirs: Any, peer: str) -> None:
    """Raises where networks do not compute what the peer says they do."""
    if not np.allclose(ours, theirs, atol=1e-4):
        raise AssertionError(f"Networks of {peer} were not understood.")
