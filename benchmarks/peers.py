"""MultiNEAT (`multineat`, C++) behind a small wrapper: ES-HyperNEAT on XOR.

    python -m benchmarks.peers [--quick] [--json FILE]

prints what it costs here, by depth. The recursive quadtree and PUREPLES are part of
`paper`; discovery.py compares with them.
"""

import argparse
import dataclasses
import importlib
import importlib.util
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

XOR_INPUTS = ((-1.0, -1.0), (0.0, -1.0), (1.0, -1.0))
XOR_OUTPUTS = ((0.0, 1.0),)
XOR_ROWS = ((0.0, 0.0, 0.0), (0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0))
SOLVED = 0.975
"""Fitness, 1 - MSE over the four rows, at which XOR counts as solved."""

DIVISION_THRESHOLD, VARIANCE_THRESHOLD, BAND_THRESHOLD = 0.5, 0.03, 0.3


def is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@dataclasses.dataclass(frozen=True)
class Generation:
    """One generation of a peer: what it cost and what it found."""

    seconds_evaluation: float
    seconds_epoch: float
    best_fitness: float
    median_hidden: float
    max_hidden: int
    median_links: float

    @property
    def seconds(self) -> float:
        return self.seconds_evaluation + self.seconds_epoch

    @property
    def is_solved(self) -> bool:
        return self.best_fitness >= SOLVED


def multineat_parameters(
    multineat: ModuleType,
    depth: int,
    population_size: int,
    initial_depth: int,
    division_threshold: float,
) -> Any:
    """Settings of the XOR run; `depth` is MultiNEAT's MaxDepth, our D + 1.

    The thresholds are those of PUREPLES. Width and Height are halves of the plane's
    sides: 1 makes it [-1, 1]^2 (the default 2 makes it twice as large). Iteration
    level, elitism and stagnation cannot be set from Python; the C++ defaults hold (one
    iteration).
    """
    settings = {
        "PopulationSize": population_size,
        "InitialDepth": initial_depth,
        "MaxDepth": depth,
        "DivisionThreshold": division_threshold,
        "VarianceThreshold": VARIANCE_THRESHOLD,
        "BandThreshold": BAND_THRESHOLD,
        "Width": 1.0,
        "Height": 1.0,
        "Leo": False,
        "MaxWeight": 8.0,
        "OverallMutationRate": 0.7,
        "MutateAddNeuronProb": 0.03,
        "MutateAddLinkProb": 0.08,
        "MutateRemLinkProb": 0.02,
        "MutateWeightsProb": 0.9,
        "WeightMutationMaxPower": 0.5,
        "RecurrentProb": 0.0,
        "RecurrentLoopProb": 0.0,
        "MutateNeuronActivationTypeProb": 0.03,
        "ActivationFunction_UnsignedSigmoid_Prob": 0.0,
        "ActivationFunction_SignedGauss_Prob": 1.0,
        "ActivationFunction_SignedSine_Prob": 1.0,
        "ActivationFunction_Tanh_Prob": 1.0,
        "ActivationFunction_Linear_Prob": 1.0,
    }
    parameters = multineat.Parameters()
    for name, value in settings.items():
        setattr(parameters, name, value)
    return parameters


Place = Sequence[float]


def multineat_substrate(
    multineat: ModuleType,
    inputs: Iterable[Place],
    outputs: Iterable[Place],
    hidden_activation: str = "UNSIGNED_SIGMOID",
) -> Any:
    """Links from inputs to hidden nodes, between these, and on to outputs."""
    # The binding takes a list of *iterators*; tuples are refused.
    substrate = multineat.Substrate(
        [iter(place) for place in inputs], [], [iter(place) for place in outputs]
    )
    substrate.m_allow_input_hidden_links = True
    substrate.m_allow_hidden_hidden_links = True
    substrate.m_allow_hidden_output_links = True
    substrate.m_allow_input_output_links = False
    substrate.m_allow_output_hidden_links = False
    substrate.m_allow_output_output_links = False
    substrate.m_allow_looped_hidden_links = False
    substrate.m_allow_looped_output_links = False
    kinds = multineat.ActivationFunction
    substrate.m_hidden_nodes_activation = getattr(kinds, hidden_activation)
    substrate.m_output_nodes_activation = kinds.UNSIGNED_SIGMOID
    substrate.m_max_weight_and_bias = 8.0
    return substrate


def multineat_fitness(network: Any, num_steps: int) -> float:
    """1 - MSE over the four rows, after `num_steps` updates from rest."""
    error = 0.0
    for *row, wanted in XOR_ROWS:
        network.Flush()
        network.Input([*row, 1.0])
        for _ in range(num_steps):
            network.Activate()
        error += (network.Output()[0] - wanted) ** 2
    return 1.0 - error / len(XOR_ROWS)


def multineat_xor(
    depth: int,
    *,
    population_size: int = 150,
    initial_depth: int = 0,
    division_threshold: float = DIVISION_THRESHOLD,
    num_steps: int = 5,
    seed: int = 0,
) -> Iterator[Generation]:
    """Endless generations of an XOR run; take as many as are wanted.

    Evaluation means building each genome's network and running it on the four rows;
    the epoch is NEAT's part. Both are in the time, and given apart. One core.

    With a division threshold of 0.5 MultiNEAT hardly ever divides below its second
    level, whatever `depth` says (at most some twenty hidden nodes). With 0.03, its own
    default, it does; the variance threshold then keeps extraction at level three, so
    that depths beyond 3 cost more and find the same.
    """
    multineat = importlib.import_module("multineat")
    parameters = multineat_parameters(
        multineat, depth, population_size, initial_depth, division_threshold
    )
    substrate = multineat_substrate(multineat, XOR_INPUTS, XOR_OUTPUTS)
    generator = multineat.RNG()
    generator.Seed(seed)
    seed_genome = multineat.Genome(
        0,
        substrate.GetMinCPPNInputs(),
        0,
        substrate.GetMinCPPNOutputs(),
        False,
        multineat.ActivationFunction.TANH,
        multineat.ActivationFunction.TANH,
        0,
        parameters,
        0,
    )
    population = multineat.Population(seed_genome, parameters, True, 1.0, seed)
    num_terminals = len(XOR_INPUTS) + len(XOR_OUTPUTS)
    while True:
        start = time.perf_counter()
        genomes = multineat.GetGenomeList(population)
        best, networks = 0.0, []
        for genome in genomes:
            network = multineat.NeuralNetwork()
            genome.BuildESHyperNEATPhenotype(network, substrate, parameters, generator)
            fitness = multineat_fitness(network, num_steps)
            genome.SetFitness(fitness)
            genome.SetEvaluated()
            best = max(best, fitness)
            networks.append(network)
        evaluated = time.perf_counter()
        hidden = [max(0, len(n.neurons) - num_terminals) for n in networks]
        links = [len(n.connections) for n in networks]
        counted = time.perf_counter()
        population.Epoch()
        yield Generation(
            seconds_evaluation=evaluated - start,
            seconds_epoch=time.perf_counter() - counted,
            best_fitness=best,
            median_hidden=statistics.median(hidden),
            max_hidden=max(hidden),
            median_links=statistics.median(links),
        )


def print_multineat(
    depths: list[int],
    generations: int,
    seeds: int,
    division_threshold: float,
    sheet: Any,
) -> None:
    sheet.begin(
        f"MultiNEAT, XOR, population 150, {generations} generations x {seeds} seeds,"
        f" division threshold {division_threshold}",
        "depth", "s/gen", "evaluation", "epoch", "hidden median", "hidden max", "links",
        "solved at generation",
    )  # fmt: skip
    for depth in depths:
        rows: list[Generation] = []
        solved: list[str] = []
        for seed in range(seeds):
            run = multineat_xor(depth, seed=seed, division_threshold=division_threshold)
            first = "-"
            for number in range(generations):
                row = next(run)
                rows.append(row)
                if row.is_solved and first == "-":
                    first = str(number)
            solved.append(first)
        sheet.row(
            depth,
            statistics.mean(r.seconds for r in rows),
            statistics.mean(r.seconds_evaluation for r in rows),
            statistics.mean(r.seconds_epoch for r in rows),
            float(statistics.mean(r.median_hidden for r in rows)),
            max(r.max_hidden for r in rows),
            float(statistics.mean(r.median_links for r in rows)),
            ", ".join(solved),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--depths", type=int, nargs="*", default=[3, 4, 5, 6])
    parser.add_argument("--generations", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="fewer of everything")
    parser.add_argument("--json", metavar="FILE", help="keep the tables")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.depths, arguments.seeds, arguments.generations = [3, 5], 1, 10
    from .sheet import Sheet

    sheet = Sheet("peers", arguments.json)
    if is_installed("multineat"):
        for threshold in (DIVISION_THRESHOLD, 0.03):
            print_multineat(
                arguments.depths,
                arguments.generations,
                arguments.seeds,
                threshold,
                sheet,
            )
    else:
        sheet.note("MultiNEAT is not installed: pip install multineat")
    sheet.write()


if __name__ == "__main__":
    main()
