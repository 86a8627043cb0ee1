"""neat-python on the same problems with the same budget.

It has the settings of its XOR example (`neat_xor.ini`), with the inputs, outputs and
population of the problem; double pole balancing without velocities has its recurrent
networks. Where our inputs have a constant 1 it has none, since its nodes have biases.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from substrax.network import Networks, evaluate

from .peer_networks import Graph, Task, as_networks, require_same
from .runs import first_solution

INI = Path(__file__).resolve().parent.parent / "neat_xor.ini"
WITH_A_CONSTANT = ("xor", "parity", "double-pole")
"""Problems whose last input is always 1."""


def _configuration(num_inputs: int, num_outputs: int, size: int, forward: bool) -> Any:
    import neat

    text = INI.read_text()
    for old, new in (
        ("pop_size               = 150", f"pop_size = {size}"),
        ("num_inputs              = 2", f"num_inputs = {num_inputs}"),
        ("num_outputs             = 1", f"num_outputs = {num_outputs}"),
        ("feed_forward            = True", f"feed_forward = {forward}"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.ini"
        path.write_text(text)
        return neat.Config(
            neat.DefaultGenome,
            neat.DefaultReproduction,
            neat.DefaultSpeciesSet,
            neat.DefaultStagnation,
            str(path),
        )


def _graph(network: Any, num_unused: int, is_recurrent: bool) -> Graph:
    """A network of neat-python, with inputs behind its own that nothing reads."""
    inputs, outputs = network.input_nodes, network.output_nodes
    num_inputs = len(inputs) + num_unused
    number = {node: k for k, node in enumerate(inputs)}
    number |= {node: num_inputs + k for k, node in enumerate(outputs)}
    for node, *_, links in network.node_evals:
        for name in (node, *(source for source, _ in links)):
            number.setdefault(name, len(number) + num_unused)
    # Whatever is not in node_evals is 0 there.
    nodes = [("identity", 0.0)] * (len(number) + num_unused)
    ranks = [0] * len(nodes)
    weights = []
    for node, _, _, bias, response, links in network.node_evals:
        nodes[number[node]] = ("sigmoid", bias)
        for source, weight in links:
            weights.append((number[source], number[node], weight * response))
        heights = [ranks[number[source]] for source, _ in links]
        ranks[number[node]] = 1 + max(heights, default=0)
    return Graph(nodes, weights, None if is_recurrent else ranks)


def _compare(networks: Networks, theirs: list[Any], num_unused: int) -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (4, networks.num_inputs))
    rows[:, networks.num_inputs - num_unused :] = 1.0
    ours = evaluate(networks, rows)
    for network, outputs in zip(theirs, ours, strict=True):
        for row, values in zip(rows.tolist(), outputs, strict=True):
            if hasattr(network, "reset"):
                network.reset()
            said = network.activate(row[: len(row) - num_unused])
            require_same(values, said, "neat-python")


def run_neat_python(work: dict[str, Any], seed: int) -> dict[str, Any]:
    """neat-python on a problem, to the first solution or the end of the budget."""
    import neat

    task = Task.of(work)
    problem, population = task.problem, task.population
    is_recurrent = not getattr(problem, "has_velocities", True)
    num_unused = int(problem.name in WITH_A_CONSTANT)
    config = _configuration(
        problem.num_inputs - num_unused,
        problem.num_outputs,
        population,
        not is_recurrent,
    )
    kinds = neat.nn
    kind = kinds.RecurrentNetwork if is_recurrent else kinds.FeedForwardNetwork
    generation = 0

    def give_fitness(genomes: Any, config: Any) -> None:
        theirs = [kind.create(genome, config) for _, genome in genomes]
        graphs = [_graph(network, num_unused, is_recurrent) for network in theirs]
        networks = as_networks(graphs, problem, dialect="neat-python")
        if not generation:
            _compare(networks, theirs, num_unused)
        values = task.fitness(networks, seed, generation)
        for (_, genome), value in zip(genomes, values.tolist(), strict=True):
            genome.fitness = value

    def bests() -> Iterator[float]:
        nonlocal generation
        runner = neat.Population(config, seed=seed)
        while True:
            best = runner.run(give_fitness, 1)
            assert best is not None and best.fitness is not None
            generation += 1
            yield best.fitness

    return first_solution(bests(), problem.target, population, task.generations)
