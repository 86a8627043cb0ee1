"""What the golden data are about: decoders by name, and the genomes that they read.

`record.py` writes down what version 0.1 makes of each case, `test_golden.py` compares.
A case is known by its name: to change what one means, give it another name.
"""

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file

from substrax.cppn import ACTIVATION_NAMES, COORDINATES
from substrax.decoders import (
    AbstractDecoder,
    CPPNReading,
    Direct,
    FixedSubstrate,
    HyperNEAT,
    emr_hyperneat,
    es_hyperneat,
)
from substrax.neat import Genome
from substrax.network import Networks, Stepper, evaluate
from substrax.substrate import (
    CONFIGURATIONS,
    EMRRule,
    ESRule,
    Layout,
    WeightMap,
    line,
    rectangle,
)

FOLDER = Path(__file__).parent

FEW_FUNCTIONS = ("identity", "tanh", "sin", "gauss", "sigmoid")
FIVE = ("x1", "y1", "x2", "y2", "bias")

POPULATIONS: dict[str, tuple[tuple[str, ...], bool, tuple[str, ...]]] = {
    "xor10": (FIVE, False, FEW_FUNCTIONS),
    "xor30": (FIVE, False, FEW_FUNCTIONS),
    "smooth": (FIVE, False, FEW_FUNCTIONS),
    "large": (FIVE, False, ACTIVATION_NAMES),
    "wild": (FIVE, False, ACTIVATION_NAMES),
    "leo": (FIVE, True, FEW_FUNCTIONS),
    "leo_large": (FIVE, True, ACTIVATION_NAMES),
    "eight": (COORDINATES, False, FEW_FUNCTIONS),
    "eight_large": (COORDINATES, False, ACTIVATION_NAMES),
    "eight_leo": (COORDINATES, True, FEW_FUNCTIONS),
    "far": ((*FIVE, "distance"), False, FEW_FUNCTIONS),
    "apart": (("dx", "dy", "bias"), False, FEW_FUNCTIONS),
    "sweep": (FIVE, False, ACTIVATION_NAMES),
}
"""Genomes that are CPPNs: their coordinates, whether they have LEO, their functions."""

LAYOUTS = {
    "3-1": Layout.spread(3, 1),
    "5-2": Layout.spread(5, 2),
    "1-1": Layout.spread(1, 1),
    # nowhere near a cell, and at heights of their own
    "anywhere": Layout(
        [(-0.9, -0.83), (0.13, -0.97), (0.77, -0.31)], [(0.2, 0.91), (-0.61, 0.47)]
    ),
    # all on cells, of levels 0, 1 and 2, none of them at an edge
    "cells": Layout(
        [(-0.5, -0.5), (0.25, -0.75), (0.625, -0.875)], [(0.5, 0.5), (-0.25, 0.75)]
    ),
    # a cell of level 1 in the middle is an output, and hidden cells lie above it
    "interior": Layout([(-0.25, -0.25), (0.25, -0.75)], [(0.25, 0.25), (-0.75, -0.25)]),
    # an input above an output
    "mixed": Layout([(0.25, 0.25), (-0.75, -0.75)], [(-0.25, -0.25), (0.5, 0.5)]),
    "many": Layout(rectangle(4, 2, -1.0, -0.5), rectangle(2, 2, 0.75, 1.0)),
}

_LAYERS = [line(3, -1.0), line(4, -0.2), rectangle(2, 2, 0.1, 0.4), line(2, 1.0)]
_TERMINALS = (line(3, -1.0), line(2, 1.0))
SUBSTRATES = {
    "layered": FixedSubstrate.layered([*_LAYERS]),
    "two layers": FixedSubstrate.layered([_LAYERS[0], _LAYERS[-1]]),
    "grid": FixedSubstrate.grid(Layout.spread(3, 2), columns=5, rows=4),
    "links": FixedSubstrate.from_links(
        *_TERMINALS,
        line(2, 0.0),
        [(0, 5), (1, 6), (2, 3), (5, 3), (6, 4), (5, 6), (5, 4)],
    ),
    "cycle": FixedSubstrate.from_links(
        *_TERMINALS,
        line(2, 0.0),
        [(0, 5), (1, 6), (2, 6), (5, 6), (6, 5), (5, 5), (5, 3), (6, 4), (3, 5)],
    ),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A decoder and the first `count` genomes of a population.

    `steps` asks for the outputs after so many updates too, of networks without cycles
    as well; `own_inputs` for those where each network has inputs of its own.
    """

    name: str
    population: str
    count: int
    decoder: AbstractDecoder
    precision: str = "f32"
    steps: int | None = None
    own_inputs: bool = False


def _reading(population: str, dialect: str, precision: str) -> CPPNReading:
    coordinates, leo, activations = POPULATIONS[population]
    outputs = ("weight", "leo") if leo else ("weight",)
    return CPPNReading(dialect, coordinates, outputs, activations, precision)


_MAPS = {
    "deadzone": WeightMap("deadzone", 5.0),
    "linear": WeightMap("linear", 8.0),
    "linear 1": WeightMap("linear", 1.0),
}
_OF_NETWORK = ("hidden_activation", "output_activation", "steps", "strategy")


def _discovered(rule: str, name: str, options: dict[str, Any]) -> Case:
    """A case from flat options: those of the case, of the network, of the rule."""
    is_es = rule == "es"
    population = options.pop("population", "xor30")
    count = options.pop("count", 12)
    dialect = options.pop("dialect", "neat-python" if is_es else "plain")
    precision = options.pop("precision", "f32")
    layout = LAYOUTS[options.pop("layout", "3-1")]
    settings: dict[str, Any] = {"reading": _reading(population, dialect, precision)}
    settings["weight_map"] = _MAPS[
        options.pop("weight_map", "deadzone" if is_es else "linear")
    ]
    asked, own = options.pop("steps_asked", None), options.pop("own_inputs", False)
    if not name.startswith(("defaults", "pureples")):
        # a sigmoid of large sums is 0 or 1, and hides what differs
        settings |= {"hidden_activation": "tanh", "output_activation": "identity"}
    settings |= {key: options.pop(key) for key in _OF_NETWORK if key in options}
    if "max_quads" in options:
        options.pop("max_quads")  # a setting of version 0.1
    decoder = (
        es_hyperneat(layout, ESRule(**options), **settings)
        if is_es
        else emr_hyperneat(layout, EMRRule(**options), **settings)
    )
    full = f"{rule} {name}" + (" f64" if precision == "f64" else "")
    return Case(full, population, count, decoder, precision, asked, own)


def _es(name: str, **options: Any) -> Case:
    return _discovered("es", name, options)


def _emr(name: str, **options: Any) -> Case:
    return _discovered("emr", name, options)


_ZERO: dict[str, Any] = {
    "division_threshold": 0.0,
    "variance_threshold": 0.0,
    "band_threshold": 0.0,
}
_LOW: dict[str, Any] = {
    "division_threshold": 0.1,
    "variance_threshold": 0.02,
    "band_threshold": 0.1,
}


def _es_cases() -> list[Case]:
    cases = [
        _es("defaults xor10", population="xor10", count=40),
        _es("defaults xor30", count=40, own_inputs=True),
        _es("defaults smooth", population="smooth"),
        _es("defaults large", population="large"),
        _es("defaults wild", population="wild"),
        _es("pureples small", depth=1, iteration_level=0, layout="5-2"),
        _es("pureples medium", depth=2, layout="5-2"),
        _es("pureples large", depth=3, initial_depth=1, layout="5-2"),
        _es("plain", dialect="plain", **_LOW),
        _es("plain large", dialect="plain", population="large", **_LOW),
        _es("linear", weight_map="linear", **_LOW),
        _es("linear 1 plain", weight_map="linear 1", dialect="plain", **_LOW),
        _es("leo", population="leo", depth=2, **_LOW),
        _es("leo large", population="leo_large", depth=2, **_LOW),
        _es("leo plain", population="leo", dialect="plain", **_LOW),
        _es("eight", population="eight", depth=2, **_LOW),
        _es("eight large", population="eight_large", depth=2, **_LOW),
        _es("eight plain", population="eight", dialect="plain", **_LOW),
        _es("eight leo", population="eight_leo", depth=2, **_LOW),
        _es("distance", population="far", depth=2, **_LOW),
        _es("differences", population="apart", depth=2, **_LOW),
        _es(
            "tanh sin",
            hidden_activation="tanh",
            output_activation="sin",
            layout="anywhere",
            **_LOW,
        ),
        _es(
            "relu identity",
            hidden_activation="relu",
            output_activation="identity",
            steps_asked=3,
            **_LOW,
        ),
        _es("gauss cos", hidden_activation="gauss", output_activation="cos", **_LOW),
    ]
    for depth in range(1, 5):
        count = 12 if depth < 4 else 6
        cases.append(_es(f"depth {depth}", depth=depth, count=count, **_LOW))
        if depth < 4:
            layout = "5-2" if depth < 3 else "3-1"
            count = (12, 8, 4)[depth - 1]
            cases.append(
                _es(f"zero {depth}", depth=depth, count=count, layout=layout, **_ZERO)
            )
    cases.append(
        _es(
            "zero plain",
            depth=2,
            count=8,
            dialect="plain",
            weight_map="linear",
            **_ZERO,
        )
    )
    cases.append(_es("zero smooth", depth=2, count=8, population="smooth", **_ZERO))
    for initial in (0, 1, 2, 3):
        cases.append(_es(f"initial {initial}", depth=2, initial_depth=initial))
    for level in (0, 1, 2):
        for layout in ("anywhere", "cells"):
            cases.append(
                _es(
                    f"iteration {level} {layout}",
                    iteration_level=level,
                    layout=layout,
                    depth=2,
                    **_LOW,
                )
            )
    for layout in LAYOUTS:
        cases.append(_es(f"layout {layout}", depth=2, layout=layout, **_LOW))
    for strategy in ("eager", "frontier"):
        cases.append(_es(f"strategy {strategy}", strategy=strategy, **_LOW))
    cases.append(_es("few quads", depth=2, max_quads=64, count=6, **_LOW))
    low = dict(_LOW, precision="f64", count=8)
    cases += [
        _es("depth 2", depth=2, **low),
        _es("cells", depth=2, layout="cells", **low),
        _es("smooth", depth=2, layout="anywhere", population="smooth", **low),
        _es("plain", depth=2, dialect="plain", weight_map="linear", **low),
        _es("leo", depth=2, population="leo", **low),
        _es("eight", depth=2, population="eight", **low),
        _es("large", depth=2, population="large", **low),
    ]
    return cases


def _deep(depth: int) -> dict[str, Any]:
    """A threshold that cells of the deepest level pass here and there.

    Variance falls by 4 from level to level, where a pattern is smooth.
    """
    threshold = 0.6 * 4.0 ** (3 - depth)
    return {
        "population": "smooth",
        "count": 3,
        "field": "weight",
        "variance_threshold": threshold,
    }


def _emr_cases() -> list[Case]:
    cases = [
        _emr("defaults xor10", population="xor10", count=40, depth=3, own_inputs=True),
        _emr("defaults xor30", count=6),
        _emr("defaults smooth", population="smooth", depth=3),
        _emr("defaults large", population="large", depth=3, count=8),
        _emr("defaults wild", population="wild", depth=2, count=8),
        _emr("neat-python", dialect="neat-python", depth=3, weight_threshold=1.0),
        _emr(
            "neat-python large",
            dialect="neat-python",
            population="large",
            depth=2,
            weight_map="deadzone",
        ),
        _emr("deadzone", weight_map="deadzone", depth=3),
        _emr("linear 1", weight_map="linear 1", depth=2),
        _emr("leo", population="leo", depth=3),
        _emr("leo large", population="leo_large", depth=2),
        _emr("leo full", population="leo", depth=2, connections="full"),
        _emr("leo band", population="leo", depth=3, band_threshold=0.3),
        _emr("leo recover", population="leo", depth=3, recover=True),
        _emr("eight", population="eight", depth=3, count=8),
        _emr("eight large", population="eight_large", depth=2),
        _emr("eight full", population="eight", depth=1, connections="full"),
        _emr("eight leo", population="eight_leo", depth=2),
        _emr("eight recover", population="eight", depth=3, recover=True, count=8),
        _emr("distance", population="far", depth=2),
        _emr("differences", population="apart", depth=2, count=8),
        _emr("no hidden functions", depth=2, hidden_activation="identity"),
        _emr("relu tanh", depth=2, hidden_activation="relu", output_activation="tanh"),
        _emr("steps asked", depth=2, steps_asked=3),
    ]
    for depth in range(8):
        deep: dict[str, Any] = {"depth": depth, "count": 12}
        if depth > 2:
            deep |= _deep(depth)
        cases.append(
            _emr(f"feedforward depth {depth}", **deep, connections="feedforward")
        )
        if depth < 7:
            name = f"recover {depth}"
            cases.append(_emr(name, **deep, connections="feedforward", recover=True))
        if depth > 4:
            deep["count"] = 1
        if depth == 7:
            deep["weight_threshold"] = 4.0
        cases.append(_emr(f"hidden depth {depth}", **deep))
    for name in CONFIGURATIONS:
        cases.append(_emr(f"{name} 1", connections=name, depth=1, steps=3))
        cases.append(_emr(f"{name} 2", connections=name, depth=2, count=8, steps=8))
        cases.append(
            _emr(f"{name} interior", connections=name, depth=1, layout="interior")
        )
    for steps in (1, 3, 8):
        cases.append(
            _emr(
                f"steps {steps}",
                connections="full",
                depth=1,
                steps=steps,
                layout="anywhere",
                output_activation="tanh",
            )
        )
    for variance in (0.0, 0.03, 0.3):
        for field in ("output", "weight"):
            cases.append(
                _emr(
                    f"variance {variance} {field}",
                    variance_threshold=variance,
                    field=field,
                    depth=3,
                    count=4,
                    weight_threshold=2.0,
                )
            )
    for band in (0.05, 0.3, 1.0):
        cases.append(_emr(f"band {band}", band_threshold=band, depth=3))
    cases.append(_emr("band full", band_threshold=0.3, depth=2, connections="full"))
    for rounds in (0, 1, 2):
        cases.append(_emr(f"rounds {rounds}", rounds=rounds, depth=2))
        cases.append(
            _emr(f"rounds {rounds} cells", rounds=rounds, depth=2, layout="cells")
        )
        cases.append(
            _emr(
                f"rounds {rounds} full",
                rounds=rounds,
                depth=1,
                layout="mixed",
                connections="full",
            )
        )
    cases += [
        _emr("recover hidden", recover=True, depth=3, variance_threshold=0.3),
        _emr("recover full", recover=True, depth=2, connections="full", count=6),
        _emr("recover band", recover=True, depth=3, band_threshold=0.3),
        _emr("recover rounds", recover=True, depth=2, rounds=1),
        _emr("recover weight", recover=True, depth=3, field="weight"),
        _emr("recover initial", recover=True, depth=3, initial_depth=2, count=6),
        _emr("recover cells", recover=True, depth=2, layout="cells"),
    ]
    for initial in (0, 1, 2, 3):
        cases.append(
            _emr(
                f"initial {initial}",
                initial_depth=initial,
                depth=3,
                variance_threshold=0.3,
                count=4,
            )
        )
    for layout in LAYOUTS:
        cases.append(_emr(f"layout {layout}", depth=2, layout=layout))
    for strategy in ("eager", "frontier"):
        cases.append(_emr(f"strategy {strategy}", strategy=strategy, depth=3, count=6))
        cases.append(
            _emr(
                f"strategy {strategy} full",
                strategy=strategy,
                depth=2,
                connections="full",
                count=6,
            )
        )
    cases.append(_emr("few quads", max_quads=64, depth=3, count=6))
    double: dict[str, Any] = {"precision": "f64", "count": 6}
    cases += [
        _emr("depth 2", depth=2, **double),
        _emr("band", depth=2, band_threshold=0.3, **double),
        _emr("full", depth=1, connections="full", layout="anywhere", **double),
        _emr("cells", depth=2, layout="cells", **double),
        _emr("recover", depth=3, recover=True, connections="feedforward", **double),
        _emr("leo", depth=2, population="leo", **double),
        _emr("eight", depth=1, population="eight", **double),
        _emr(
            "neat-python",
            depth=2,
            dialect="neat-python",
            weight_map="deadzone",
            **double,
        ),
        _emr("smooth", depth=2, population="smooth", **double),
    ]
    return cases


def _hyperneat(
    name: str,
    substrate: str,
    population: str = "xor30",
    dialect: str = "plain",
    precision: str = "f32",
    count: int = 16,
    weight_map: str = "deadzone",
    **options: Any,
) -> Case:
    decoder = HyperNEAT(
        SUBSTRATES[substrate],
        _reading(population, dialect, precision),
        _MAPS[weight_map],
        **{"output_activation": "identity", **options},
    )
    full = f"hyperneat {name}" + (" f64" if precision == "f64" else "")
    return Case(full, population, count, decoder, precision)


def _hyperneat_cases() -> list[Case]:
    cases = []
    for name in SUBSTRATES:
        cases.append(_hyperneat(name, name))
        cases.append(_hyperneat(f"{name} leo", name, "leo", count=12))
        cases.append(
            _hyperneat(
                f"{name} linear",
                name,
                weight_map="linear",
                weight_threshold=0.5,
                dialect="neat-python",
                hidden_activation="tanh",
                steps=3,
            )
        )
    return [
        *cases,
        _hyperneat("grid eight", "grid", "eight", count=12),
        _hyperneat("grid large", "grid", "large", count=12),
        _hyperneat("grid", "grid", precision="f64", count=6),
        _hyperneat("cycle", "cycle", precision="f64", count=6),
    ]


def _direct(
    name: str,
    population: str,
    num_inputs: int,
    num_outputs: int,
    precision: str = "f32",
    count: int = 12,
    steps_asked: int | None = None,
    own_inputs: bool = False,
    **options: Any,
) -> Case:
    decoder = Direct(num_inputs, num_outputs, precision=precision, **options)
    full = f"direct {name}" + (" f64" if precision == "f64" else "")
    return Case(full, population, count, decoder, precision, steps_asked, own_inputs)


def _direct_cases() -> list[Case]:
    few: dict[str, Any] = {"activations": FEW_FUNCTIONS}
    everything: dict[str, Any] = {"activations": ACTIVATION_NAMES}
    cases = []
    for dialect in ("plain", "neat-python"):
        options: dict[str, Any] = {"dialect": dialect}
        cases += [
            _direct(f"xor30 {dialect}", "xor30", 5, 1, count=40, **few, **options),
            _direct(f"leo {dialect}", "leo", 5, 2, **few, **options),
            _direct(f"large {dialect}", "leo_large", 5, 2, **everything, **options),
            _direct(
                f"recurrent {dialect}",
                "recurrent",
                5,
                2,
                is_recurrent=True,
                own_inputs=True,
                **few,
                **options,
            ),
        ]
    for steps in (1, 3, 8):
        cases.append(
            _direct(
                f"recurrent steps {steps}",
                "recurrent",
                5,
                2,
                is_recurrent=True,
                steps=steps,
                **few,
            )
        )
    recurrent: dict[str, Any] = {"is_recurrent": True}
    return [
        *cases,
        _direct("steps asked", "leo", 5, 2, steps_asked=3, **few),
        _direct("occurring functions", "leo", 5, 2),
        _direct("acyclic as recurrent", "leo", 5, 2, **recurrent, **few),
        _direct("recurrent large", "recurrent_large", 5, 2, **recurrent, **everything),
        _direct("leo", "leo", 5, 2, "f64", **few),
        _direct("large", "leo_large", 5, 2, "f64", **everything),
        _direct("recurrent", "recurrent", 5, 2, "f64", **recurrent, **few),
    ]


CASES = [*_es_cases(), *_emr_cases(), *_hyperneat_cases(), *_direct_cases()]


@dataclasses.dataclass(frozen=True)
class QueryCase:
    """Questions to all genomes of a population."""

    population: str
    dialect: str
    precision: str = "f32"
    points: str = "plane"
    """Which points are asked about: of the plane, or for `sweep` a range of x1."""

    @property
    def name(self) -> str:
        return f"{self.population} {self.points} {self.dialect} {self.precision}"

    def ask(self, genomes: Genome, points: np.ndarray) -> np.ndarray:
        """Answers (genomes, points, outputs) for points (x1, y1, x2, y2)."""
        reading = _reading(self.population, self.dialect, self.precision)
        num = len(genomes.node_id)
        everywhere = np.tile(points, (num, 1))
        values = reading.engine(genomes).query(
            np.repeat(np.arange(num), len(points)), everywhere[:, :2], everywhere[:, 2:]
        )
        return values.reshape(num, len(points), -1)


QUERY_CASES = [
    QueryCase(population, dialect, precision, points)
    for dialect in ("plain", "neat-python")
    for population, precision, points in (
        ("sweep", "f32", "sweep"),
        ("sweep", "f32", "subnormal"),
        ("sweep", "f64", "sweep"),
        ("large", "f32", "plane"),
        ("large", "f64", "plane"),
        ("wild", "f32", "plane"),
        ("xor30", "f32", "plane"),
        ("leo", "f32", "plane"),
        ("leo_large", "f32", "plane"),
        ("eight", "f32", "plane"),
        ("eight", "f64", "plane"),
        ("eight_large", "f32", "plane"),
        ("far", "f32", "plane"),
        ("apart", "f32", "plane"),
    )
]

ACTIVATION_CASES = [
    (dialect, precision)
    for dialect in ("plain", "neat-python")
    for precision in ("f32", "f64")
]
"""Networks of one node for each function: `evaluate` has kernels of its own."""


def activation_outputs(
    genomes: Genome, dialect: str, precision: str, values: np.ndarray
) -> np.ndarray:
    """What the functions are at some values, (values, functions)."""
    num = len(ACTIVATION_NAMES)
    decoder = Direct(1, num, dialect=dialect, precision=precision)
    return evaluate(decoder.decode(genomes), values[:, None])[0]


# --------------------------------------------------------------------- genomes, inputs


def genomes_of(arrays: Mapping[str, np.ndarray], count: int | None = None) -> Genome:
    """The first `count` genomes of some arrays."""
    return Genome(**{name: jnp.asarray(a[:count]) for name, a in arrays.items()})


def load_populations() -> dict[str, dict[str, np.ndarray]]:
    """The recorded genomes: population, field."""
    populations: dict[str, dict[str, np.ndarray]] = {}
    for name, array in load_file(FOLDER / "genomes.safetensors").items():
        population, field = name.split("/")
        populations.setdefault(population, {})[field] = array
    return populations


# --------------------------------------------------------- what is said about networks

ARRAYS: dict[str, type] = {
    "node_bounds": np.int64,
    "node_activation": np.int32,
    "node_bias": np.floating,
    "node_rank": np.int64,
    "node_point": np.float64,
    "link_bounds": np.int64,
    "link_source": np.int32,
    "link_target": np.int32,
    "link_weight": np.floating,
    "num_found": np.int64,
}
"""Arrays of `Networks`, and as what their bytes are taken: an engine may keep counts in
other integers. Weights and biases are taken as they are."""

STRUCTURE = [name for name, kind in ARRAYS.items() if kind is not np.floating]
"""What holds no computed number."""

MOST_LINKS = {"f32": 240, "f64": 900}
"""Links that are recorded themselves: of the first networks, as many as fit this."""

MANY_SHOWN = (0, 33, 69)
"""Of the many samples, those whose outputs are recorded in full."""

STEPPED = 5, 3
"""Calls of a `Stepper`, and the batch of each."""


def plain_array(name: str, array: np.ndarray) -> np.ndarray:
    """An array of networks as its digest is taken."""
    kind = ARRAYS[name]
    return np.asarray(array) if kind is np.floating else np.asarray(array, kind)


def digest(*arrays: np.ndarray, length: int = 64) -> str:
    """Of the arrays' bytes; all NaN are the same."""
    state = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        if np.issubdtype(array.dtype, np.floating):
            array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
        state.update(array.tobytes())
    return state.hexdigest()[:length]


def _of_network(network: Networks, many: np.ndarray) -> dict[str, str]:
    ends = [plain_array(n, getattr(network, n)) for n in ("link_source", "link_target")]
    nodes = ("node_activation", "node_rank", "node_point")
    return {
        "nodes": digest(
            *(plain_array(n, getattr(network, n)) for n in nodes), length=16
        ),
        "links": digest(*ends, length=16),
        "weights": digest(network.link_weight, network.node_bias, length=16),
        "outputs": digest(many, length=16),
    }


RAW = ("link_bounds", "link_source", "link_target", "link_weight")


@dataclasses.dataclass(frozen=True)
class Result:
    """What an engine makes of a case."""

    networks: Networks
    outputs: dict[str, np.ndarray]
    """By the kind of inputs: `few`, `many`, `own`, `asked`, `stepped`."""

    def links(self, num: int) -> dict[str, np.ndarray]:
        """The links of the first networks, as they are recorded."""
        some = self.networks.part(0, num)
        return {name: plain_array(name, getattr(some, name)) for name in RAW}

    def summary(self) -> dict[str, Any]:
        """All that is recorded as text."""
        networks = self.networks
        return {
            "is_acyclic": networks.is_acyclic,
            "num_nodes": networks.num_nodes.tolist(),
            "num_links": networks.num_links.tolist(),
            "num_found": networks.num_found.tolist(),
            "arrays": {
                name: digest(plain_array(name, getattr(networks, name)))
                for name in ARRAYS
            },
            "many": digest(self.outputs["many"]),
            "networks": [
                _of_network(network, many)
                for network, many in zip(networks, self.outputs["many"], strict=True)
            ],
        }


def run(case: Case, genomes: Genome, inputs: Mapping[str, np.ndarray]) -> Result:
    """Decodes and evaluates, through nothing but the public API."""
    networks = case.decoder.decode(genomes)
    width = networks.num_inputs
    few, many = inputs["few"][:, :width], inputs["many"][:, :width]
    outputs = {"few": evaluate(networks, few), "many": evaluate(networks, many)}
    if case.own_inputs:
        own = np.stack([np.roll(few, g, axis=1) for g in range(len(networks))])
        outputs["own"] = evaluate(networks, own)
    if case.steps is not None:
        outputs["asked"] = evaluate(networks, few, steps=case.steps)
    if not networks.is_acyclic:
        outputs["stepped"] = _stepped(networks, many)
    return Result(networks, outputs)


def _stepped(networks: Networks, inputs: np.ndarray) -> np.ndarray:
    """Outputs of calls that carry a state on, (calls, networks, batch, outputs)."""
    calls, batch = STEPPED
    stepper = Stepper.of(networks)
    state = stepper.start(batch)
    outputs = []
    for call in range(calls):
        rows = inputs[call * batch : (call + 1) * batch]
        state, values = stepper(state, np.tile(rows, (len(networks), 1, 1)))
        outputs.append(np.asarray(values))
    return np.stack(outputs)
