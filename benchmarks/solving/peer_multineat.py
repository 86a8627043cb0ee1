"""MultiNEAT on the same problems with the same budget: ES-HyperNEAT, one core.

On the retina it has a link expression output that is seeded as ours, by a gaussian of
x1 - x2: its settings have a switch for that (`LeoSeed`), which version 0.12 does not
heed, so the seeded genome is given as a file. A bias is an input, since its substrates
have no biases of their own.
"""

import importlib
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from runs import first_solution

from substrax.problems import Retina, retina_patterns


def peers() -> ModuleType:
    """`benchmarks/peers.py`, last on the path: neat.py there is not neat-python."""
    folder = str(Path(__file__).resolve().parent.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("peers")


GAUSS = 6
"""SIGNED_GAUSS in its files."""

NUM_UPDATES = 4
"""Of a network with hidden links, for each pattern."""

SETTINGS = {
    "Leo": True,
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


def _fitness(network: Any, rows: list[list[float]], wanted: list[list[float]]) -> float:
    """As `substrax.problems.Retina`."""
    error, is_right = 0.0, True
    for row, targets in zip(rows, wanted, strict=True):
        network.Flush()
        network.Input(row)
        for _ in range(NUM_UPDATES):
            network.Activate()
        for output, target in zip(network.Output(), targets, strict=True):
            error += abs(output - target)
            is_right &= (output > 0.5) == (target > 0.5)
    return 1.0 if is_right else 1.0 - error / (2 * len(rows))


def _retina(seed: int, population: int) -> Iterator[float]:
    """The best fitness of each generation, endlessly."""
    multineat = importlib.import_module("multineat")
    parameters = multineat.Parameters()
    for name, value in {**SETTINGS, "PopulationSize": population}.items():
        setattr(parameters, name, value)
    layout = Retina(has_bias=True).layout
    substrate = peers().multineat_substrate(
        multineat, layout.inputs.tolist(), layout.outputs.tolist(), "TANH"
    )
    pixels, targets = retina_patterns()
    rows = [[*row, 1.0] for row in (2.0 * pixels - 1.0).tolist()]
    wanted = targets.tolist()
    generator = multineat.RNG()
    generator.Seed(seed)
    first = _seeded_genome(multineat, substrate.GetMinCPPNOutputs(), parameters, seed)
    runner = multineat.Population(first, parameters, False, 1.0, seed)
    while True:
        best = 0.0
        for genome in multineat.GetGenomeList(runner):
            network = multineat.NeuralNetwork()
            genome.BuildESHyperNEATPhenotype(network, substrate, parameters, generator)
            value = _fitness(network, rows, wanted)
            genome.SetFitness(value)
            genome.SetEvaluated()
            best = max(best, value)
        yield best
        runner.Epoch()


def _xor(seed: int, population: int) -> Iterator[float]:
    """With the thresholds of PUREPLES."""
    run = peers().multineat_xor(2, population_size=population, seed=seed)
    return (generation.best_fitness for generation in run)


def run_multineat(
    name: str, seed: int, population: int, generations: int
) -> dict[str, Any]:
    run, target = {"retina": (_retina, 1.0), "xor": (_xor, 0.98)}[name]
    return first_solution(run(seed, population), target, population, generations)
