"""MultiNEAT on the same problems with the same budget: ES-HyperNEAT, one core.

On the retina it has a link expression output that is seeded as ours, by a gaussian of
x1 - x2: its settings have a switch for that (`LeoSeed`), which version 0.12 does not
heed, so the seeded genome is given as a file. A bias is an input, since its substrates
have no biases of their own. Thresholds are those of PUREPLES.
"""

import importlib
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from substrax.network import Networks, evaluate

from ..peers import multineat_substrate
from .peer_networks import Graph, Task, as_networks, require_same
from .runs import first_solution

GAUSS = 6
"""SIGNED_GAUSS in its files."""

NUM_UPDATES = 4
"""Of a network with hidden links, for each sample."""

ACTIVATIONS = {
    "ActivationFunction.LINEAR": "identity",
    "ActivationFunction.TANH": "tanh",
    "ActivationFunction.UNSIGNED_SIGMOID": "sigmoid",
}
"""Those of its substrates, by our names."""

SETTINGS = {
    "LeoThreshold": 0.1,
    "InitialDepth": 1,
    "MaxDepth": 3,
    "DivisionThreshold": 0.5,
    "VarianceThreshold": 0.03,
    "BandThreshold": 0.3,
    "Width": 1.0,
    "Height": 1.0,
    "CPPN_Bias": 1.0,
    "MinSpecies": 5,
    "MaxSpecies": 15,
    "SurvivalRate": 0.2,
    "CrossoverRate": 0.2,
    "OverallMutationRate": 0.9,
    "MutateAddNeuronProb": 0.05,
    "MutateAddLinkProb": 0.15,
    "MutateRemLinkProb": 0.0,
    "MutateWeightsProb": 0.9,
    "WeightMutationMaxPower": 0.5,
    "MaxWeight": 8.0,
    # Distances that are not divided by the size of genomes: better, and quicker.
    "NormalizeGenomeSize": False,
    "RecurrentProb": 0.0,
    "RecurrentLoopProb": 0.0,
    "MutateNeuronActivationTypeProb": 0.03,
    "ActivationFunction_UnsignedSigmoid_Prob": 0.0,
    "ActivationFunction_SignedGauss_Prob": 1.0,
    "ActivationFunction_SignedSine_Prob": 1.0,
    "ActivationFunction_Tanh_Prob": 1.0,
    "ActivationFunction_Linear_Prob": 1.0,
}


def _seeded_genome(multineat: Any, num_outputs: int, parameters: Any, seed: int) -> Any:
    """All inputs to the weight, gauss(x1 - x2) to the expression output.

    Inputs of its CPPNs are x1, y1, x2, y2 and a bias, numbered from 1; then come the
    outputs, of which the last is the expression output.
    """
    tanh = multineat.ActivationFunction.TANH
    genome = multineat.Genome(0, 5, 0, num_outputs, False, tanh, tanh, 0, parameters, 0)
    weight, leo, gauss = 6, 6 + num_outputs, 7 + num_outputs
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "genome.txt"
        genome.Save(str(path))
        lines = path.read_text().split("\n")
        nodes = [line for line in lines if line.startswith("Neuron")]
        start = [line for line in lines if line.startswith("GenomeStart")]
        links = [(source, weight, draw.uniform(-1, 1)) for source in range(1, 6)]
        links += [(1, gauss, 2.0), (3, gauss, -2.0), (gauss, leo, 1.0), (5, leo, -0.3)]
        path.write_text(
            "\n".join(
                [
                    *start,
                    *nodes,
                    f"Neuron {gauss} 3 0.5 {GAUSS} 1.0 0.0 0.0 0.0",
                    *(
                        f"Link {source} {target} {number} 0 {value:.8f}"
                        for number, (source, target, value) in enumerate(links, 1)
                    ),
                    "GenomeEnd",
                    "",
                ]
            )
        )
        return multineat.Genome(str(path))


def _graph(network: Any) -> Graph:
    """Its inputs come first, then outputs, then hidden ones, as ours do."""
    return Graph(
        [(ACTIVATIONS[str(n.activation_function_type)], 0.0) for n in network.neurons],
        [
            (link.source_neuron_idx, link.target_neuron_idx, link.weight)
            for link in network.connections
        ],
    )


def _compare(networks: Networks, theirs: list[Any]) -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (4, networks.num_inputs))
    for network, outputs in zip(theirs, evaluate(networks, rows), strict=True):
        for row, values in zip(rows.tolist(), outputs, strict=True):
            network.Flush()
            network.Input(row)
            for _ in range(NUM_UPDATES):
                network.Activate()
            require_same(values, list(network.Output()), "MultiNEAT")


def _bests(task: Task, is_seeded: bool, seed: int) -> Iterator[float]:
    """The best fitness of each generation, endlessly."""
    multineat = importlib.import_module("multineat")
    parameters = multineat.Parameters()
    settings = {**SETTINGS, "Leo": is_seeded, "PopulationSize": task.population}
    for name, value in settings.items():
        setattr(parameters, name, value)
    layout = task.problem.layout
    substrate = multineat_substrate(
        multineat, layout.inputs.tolist(), layout.outputs.tolist(), "TANH"
    )
    generator = multineat.RNG()
    generator.Seed(seed)
    num_outputs = substrate.GetMinCPPNOutputs()
    if is_seeded:
        first = _seeded_genome(multineat, num_outputs, parameters, seed)
    else:
        tanh = multineat.ActivationFunction.TANH
        num_inputs = substrate.GetMinCPPNInputs()
        first = multineat.Genome(
            *(0, num_inputs, 0, num_outputs, False, tanh, tanh, 0, parameters, 0)
        )
    runner = multineat.Population(first, parameters, not is_seeded, 1.0, seed)
    generation = 0
    while True:
        genomes = list(multineat.GetGenomeList(runner))
        theirs = [multineat.NeuralNetwork() for _ in genomes]
        for genome, network in zip(genomes, theirs, strict=True):
            genome.BuildESHyperNEATPhenotype(network, substrate, parameters, generator)
        networks = as_networks(
            [_graph(network) for network in theirs],
            task.problem,
            dialect="plain",
            steps=NUM_UPDATES,
        )
        if not generation:
            _compare(networks, theirs)
        values = task.fitness(networks, seed, generation).tolist()
        for genome, value in zip(genomes, values, strict=True):
            genome.SetFitness(value)
            genome.SetEvaluated()
        yield max(values)
        runner.Epoch()
        generation += 1


def run_multineat(work: dict[str, Any], seed: int) -> dict[str, Any]:
    """MultiNEAT on a problem, to the first solution or the end of the budget."""
    task = Task.of(work)
    bests = _bests(task, work["is_seeded"], seed)
    target = task.problem.target
    return first_solution(bests, target, task.population, task.generations)
