"""Conformance: replay a file of vectors and say what matches.

A vector file (format: `tests/data/README.md`) holds CPPNs, substrate coordinates,
parameters, and what PUREPLES built from them. Decoding each CPPN with rule `es` must
give the same nodes, links, weights and outputs.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ._documents import parse_json, read_text
from ._types import as_numbers, brief, check_whole, shown
from .cppn import activation_id
from .decoders import CPPNReading, es_hyperneat
from .neat import Genome, genome_from_neat_python
from .network import Networks, evaluate
from .substrate import ESRule, Layout, WeightMap

WEIGHT_TOLERANCE = {"f64": 1e-9, "f32": 1e-3}
OUTPUT_TOLERANCE = {"f64": 1e-6, "f32": 1e-3}


@dataclasses.dataclass(frozen=True)
class CaseResult:
    """One case: its number, and how it differs; no differences, it matches."""

    case: int | str
    differences: tuple[str, ...]

    @property
    def matches(self) -> bool:
        return not self.differences


def load_cases(path: str | Path) -> list[dict[str, Any]]:
    """The cases of a vector file, with an error in words if it is not one."""
    document = parse_json(read_text(path), str(path))
    cases = document.get("cases") if isinstance(document, dict) else None
    if not isinstance(cases, list) or not cases:
        raise ValueError(
            f"{path} is no vector file: it needs a list of cases under the key 'cases'."
        )
    for number, case in enumerate(cases):
        if not isinstance(case, dict):
            raise ValueError(
                f"case {number} of {path} is {shown(case)}, but must be a table."
            )
    return cases


def verify_case(
    case: Mapping[str, Any], *, strategy: str = "auto", precision: str = "f64"
) -> tuple[str, ...]:
    """How the network of one case differs from what the file says."""
    parameters = case["params"]
    check_whole(max_depth=parameters["max_depth"])
    layout = Layout(case["inputs"], case["outputs"])
    decoder = es_hyperneat(
        layout,
        ESRule(
            depth=parameters["max_depth"] - 1,
            initial_depth=parameters["initial_depth"],
            division_threshold=parameters["division_threshold"],
            variance_threshold=parameters["variance_threshold"],
            band_threshold=parameters["band_threshold"],
            iteration_level=parameters["iteration_level"],
        ),
        reading=CPPNReading(
            dialect="neat-python",
            precision=precision,
            activations=_activations(case["cppn"]),
        ),
        weight_map=WeightMap("deadzone", parameters["max_weight"]),
        hidden_activation=parameters["activation"],
        output_activation=parameters["activation"],
        strategy=strategy,
    )
    # Genomes are float32 unless 64-bit numbers are switched on.
    with jax.enable_x64(precision == "f64"):
        genome = genome_from_neat_python(
            case["cppn"], dtype=np.float64 if precision == "f64" else np.float32
        )
        population: Genome = jax.tree.map(lambda x: x[None], genome)
    networks = decoder.decode(population)
    return _differences(case, networks, precision)


_USUAL = ("identity", "tanh", "sin", "gauss", "sigmoid")


def _activations(cppn: Mapping[str, Any]) -> tuple[str, ...]:
    """A set that most cases share, so that the kernel is compiled once for them."""
    names = [node["activation"] for node in cppn["nodes"]]
    for name in names:
        activation_id(name)
    return tuple(sorted({*names, *_USUAL}))


def _rows(name: str, case: Mapping[str, Any], width: int) -> list[list[float]]:
    """Rows of numbers that a file expects."""
    rows = as_numbers(f"{name} must be rows of numbers", case[name], np.float64)
    if rows.size and (rows.ndim != 2 or rows.shape[1] != width):
        raise ValueError(
            f"{name} must be rows of {width} numbers, but have the shape {rows.shape}."
        )
    return rows.tolist()


def _differences(
    case: Mapping[str, Any], network: Networks, precision: str
) -> tuple[str, ...]:
    points = network.node_point
    num_terminals = network.num_inputs + network.num_outputs
    hidden = {tuple(p) for p in points[num_terminals:].tolist()}
    expected_hidden = {tuple(row) for row in _rows("hidden", case, 2)}
    ends = np.concatenate(
        [points[network.link_source], points[network.link_target]], axis=1
    )
    links = dict(
        zip(map(tuple, ends.tolist()), network.link_weight.tolist(), strict=True)
    )
    expected = {tuple(row[:4]): row[4] for row in _rows("connections", case, 5)}
    notes = []
    for name, found, wanted in (
        ("nodes", hidden, expected_hidden),
        ("links", links.keys(), expected.keys()),
    ):
        if extra := found - wanted:
            notes.append(f"{len(extra)} {name} too many, such as {min(extra)}")
        if missing := wanted - found:
            notes.append(f"{len(missing)} {name} missing, such as {min(missing)}")
    common = links.keys() & expected.keys()
    distances = [abs(links[k] - expected[k]) for k in common]
    worst = float(np.max(distances, initial=0.0))
    if not worst <= WEIGHT_TOLERANCE[precision]:  # a NaN differs, too
        notes.append(f"a weight differs by {worst:.3g}")
    settled = case.get("settle_outputs")
    if settled is not None and not notes:
        outputs = evaluate(network, case["settle_inputs"])[0]
        wanted = as_numbers("settle_outputs must be numbers", settled, np.float64)
        if wanted.shape != outputs.shape:
            raise ValueError(
                f"settle_outputs has the shape {wanted.shape}, but the network's "
                f"outputs have {outputs.shape}."
            )
        worst = float(np.max(np.abs(outputs - wanted), initial=0.0))
        if not worst <= OUTPUT_TOLERANCE[precision]:
            notes.append(f"a settled output differs by {worst:.3g}")
    return tuple(notes)


def verify_file(
    path: str | Path,
    *,
    strategy: str = "auto",
    precision: str = "f64",
    on_case: Callable[[int, int], None] = lambda done, total: None,
) -> list[CaseResult]:
    """Replays all cases of a file; `on_case(done, total)` is called after each."""
    cases = load_cases(path)
    results = []
    for number, case in enumerate(cases):
        name = case.get("case")
        is_name = isinstance(name, int | str) and not isinstance(name, bool)
        name = brief(name, 60) if is_name and len(shown(name)) <= 60 else number
        try:
            differences = verify_case(case, strategy=strategy, precision=precision)
        except KeyError as error:
            raise ValueError(
                f"case {name} of {path} is incomplete: {brief(error)} is missing."
            ) from error
        except (TypeError, IndexError, AttributeError, OverflowError) as error:
            raise ValueError(
                f"case {name} of {path} is damaged ({type(error).__name__}: "
                f"{brief(error)})."
            ) from error
        except ValueError as error:
            raise ValueError(f"case {name} of {path}: {brief(error, 600)}.") from error
        results.append(CaseResult(name, differences))
        on_case(number + 1, len(cases))
    return results
