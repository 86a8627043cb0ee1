"""What is run: problems, the settings of each row, and what is asked of 30 runs."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from runs import Job

SEEDS = 30
PEER_SEEDS = 10
"""Of peers whose runs take a quarter of an hour each."""


DECODERS = {"NEAT": "direct", "HyperNEAT": "hyperneat", "es": "es", "emr": "emr"}


class Arm(NamedTuple):
    """One row: an experiment of ours with settings, or a peer's problem."""

    name: str
    work: dict[str, Any]
    seeds: int = SEEDS


class Cell(NamedTuple):
    """One table: a problem, its budget, and what is asked of 30 runs."""

    title: str
    ask: str
    arms: list[Arm]
    measures: tuple[str, ...] = ()
    """Shown as medians, beside fitness."""
    good: tuple[tuple[str, float], ...] = ()
    """What else a solution must have: measures and their least values."""


def ours(name: str, experiment: str, **settings: Any) -> Arm:
    named = {key.replace("__", "."): value for key, value in settings.items()}
    return Arm(name, {"experiment": experiment, "settings": named})


def neat_python(problem: str, generations: int, population: int = 150) -> Arm:
    work = {"peer": problem, "generations": generations, "population": population}
    return Arm("neat-python", work)


def multineat(problem: str, generations: int, population: int, seeds: int) -> Arm:
    work = {"multineat": problem, "generations": generations, "population": population}
    return Arm("MultiNEAT, ES-HyperNEAT", work, seeds)


def parity(bits: int, generations: int, ask: str) -> Cell:
    return Cell(
        f"Parity of {bits} bits, at most {generations:,} generations of 150",
        ask,
        [
            ours("NEAT", "parity", num_bits=bits, generations=generations),
            neat_python(f"parity-{bits}", generations),
        ],
    )


def robots(experiment: str, title: str, generations: int) -> Cell:
    return Cell(
        f"{title}, population 300, at most {generations:,} generations",
        "measured",
        [
            ours(
                f"{name}, radar {radar}",
                experiment,
                rule=rule,
                radar=radar,
                generations=generations,
            )
            for radar in ("corrected", "reference", "original")
            for name, rule in DECODERS.items()
        ],
    )


CELLS: dict[str, Cell] = {
    "retina": Cell(
        "Retina, all 256 patterns right on both sides, population 300, at most 1,000 "
        "generations",
        "24 by HyperNEAT-LEO and 24 by emr; es measured",
        [
            ours("HyperNEAT-LEO, x-locality", "retina", rule="hyperneat"),
            ours("emr, x-locality", "retina", rule="emr"),
            ours("es, x-locality", "retina", rule="es"),
            multineat("retina", 1000, 300, PEER_SEEDS),
        ],
        ("accuracy",),
    ),
    "retina-unseeded": Cell(
        "The retina from a start that knows nothing of locality, same budget",
        "10",
        [
            ours("HyperNEAT-LEO", "retina", rule="hyperneat", start__genome="none"),
            ours("emr with LEO", "retina", rule="emr", start__genome="none"),
        ],
        ("accuracy",),
    ),
    "parity-3": parity(3, 300, "29"),
    "parity-4": parity(4, 600, "24"),
    "parity-5": parity(5, 1500, "10"),
    "double-pole": Cell(
        "Double pole balancing with velocities, 100,000 steps, at most 200 generations "
        "of 150",
        "30, with a median of at most 4,000 evaluations",
        [ours("NEAT", "double-pole"), neat_python("double-pole", 200)],
        ("generalisation",),
    ),
    "double-pole-hidden": Cell(
        "Double pole balancing without velocities, 100,000 steps, at most 100 "
        "generations of 1,000",
        "28, with a median of at most 40,000 evaluations",
        [
            ours("NEAT, Gruau's fitness", "double-pole-hidden"),
            ours("NEAT, steps as fitness", "double-pole-hidden", damping=False),
            neat_python("double-pole-hidden", 100, 1000),
        ],
        ("generalisation",),
    ),
    "xor": Cell(
        "XOR, at most 100 generations of 150",
        "30",
        [
            ours(name, "xor", rule=rule, population=150, preset="substrax")
            for name, rule in DECODERS.items()
        ]
        + [
            neat_python("xor", 100),
            multineat("xor", 100, 150, SEEDS),
        ],
    ),
    "cartpole": Cell(
        "Cart-pole, a mean of 475 of 500 steps, at most 100 generations of 100",
        "30",
        [
            ours(name, "cartpole", rule=rule)
            for name, rule in DECODERS.items()
            if rule != "es"
        ]
        + [
            neat_python("cartpole", 100, 100),
        ],
    ),
    "visual": Cell(
        "Visual discrimination, evolved on 11 x 11 pixels to a fitness of 0.99 in at "
        "most 300 generations of 100, read at 33 x 33 and 55 x 55",
        "15 with 0.9 or more at all three resolutions",
        [ours("HyperNEAT", "visual")],
        ("hit_rate", "fitness at 33", "fitness at 55"),
        (("fitness at 33", 0.9), ("fitness at 55", 0.9)),
    ),
    "hard-maze": robots("hard-maze", "Hard maze", 300),
    "dual-task": robots("dual-task", "Dual task", 300),
}


def depth_arms(experiment: str, starts: Iterable[str], **settings: Any) -> list[Arm]:
    """Rules es and emr at depths 1 to 6, from each start."""
    return [
        ours(
            f"{rule}, depth {depth}, {'unseeded' if start == 'none' else start}",
            experiment,
            rule=rule,
            depth=depth,
            start__genome=start,
            **settings,
        )
        for rule in ("emr", "es")
        for start in starts
        for depth in range(1, 7)
    ]


def jobs_of(name: str, seeds: int) -> list[Job]:
    return [
        Job(name, arm.name, seed, arm.work)
        for arm in CELLS[name].arms
        for seed in range(min(seeds, arm.seeds))
    ]
