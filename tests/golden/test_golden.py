"""Any engine gives, to the bit, the networks and the outputs of version 0.1.

In float32 everything is compared by its bytes. In float64 the structure is, while
weights and outputs are compared as numbers: their last bits are the library's.
`record.py` says how the data came to be.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from safetensors.numpy import load_file

from substrax import _native, _resources
from substrax.cppn import ACTIVATION_NAMES
from tests.golden.cases import (
    ACTIVATION_CASES,
    ARRAYS,
    CASES,
    FOLDER,
    MANY_SHOWN,
    QUERY_CASES,
    STRUCTURE,
    Case,
    QueryCase,
    Result,
    activation_outputs,
    genomes_of,
    load_populations,
    run,
)

CLOSE = 1e-12
"""Relative difference of weights in float64."""

CLOSE_OUTPUTS = 1e-9
"""Of outputs in float64: sums over many links, and cycles, carry differences on."""


@cache
def populations() -> dict[str, dict[str, np.ndarray]]:
    return load_populations()


@cache
def recorded(name: str) -> dict[str, np.ndarray]:
    return load_file(FOLDER / f"{name}.safetensors")


@cache
def summaries() -> dict[str, dict[str, Any]]:
    return json.loads((FOLDER / "networks.json").read_text())


# ----------------------------------------------------------------------- what is said


def first_difference(ours: np.ndarray, theirs: np.ndarray, axes: str) -> str:
    """Where two arrays differ first, and by how much; empty if nowhere.

    As bits, with all NaN the same: 0.0 is not -0.0.
    """
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, recorded {theirs.shape}"
    if ours.dtype != theirs.dtype:
        return f"dtype {ours.dtype}, recorded {theirs.dtype}"
    differs = ours != theirs
    if np.issubdtype(ours.dtype, np.floating):
        differs = (differs | (np.signbit(ours) != np.signbit(theirs))) & ~(
            np.isnan(ours) & np.isnan(theirs)
        )
    if not differs.any():
        return ""
    where = tuple(int(k) for k in np.argwhere(differs)[0])
    return (
        f"{differs.sum()} of {differs.size} differ, first at {axes} = {where}: "
        f"{ours[where]!r}, recorded {theirs[where]!r}"
    )


def far_difference(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> str:
    """Like `first_difference`, for numbers that need only be close."""
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, recorded {theirs.shape}"
    close = np.isclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)
    if close.all():
        return ""
    where = tuple(int(k) for k in np.argwhere(~close)[0])
    return (
        f"{(~close).sum()} of {close.size} are not close, first at {where}: "
        f"{ours[where]!r}, recorded {theirs[where]!r}"
    )


def genomes_that_differ(
    ours: dict[str, Any], theirs: dict[str, Any], compared: tuple[str, ...]
) -> list[str]:
    """A line for each network that is another: what of it is."""
    lines = []
    pairs = zip(ours["networks"], theirs["networks"], strict=True)
    for genome, (here, there) in enumerate(pairs):
        which = [what for what in compared if here[what] != there[what]]
        for size in ("num_nodes", "num_links", "num_found"):
            if ours[size][genome] != theirs[size][genome]:
                which.append(
                    f"{size} {ours[size][genome]}, recorded {theirs[size][genome]}"
                )
        if which:
            lines.append(f"genome {genome}: {'; '.join(which)}")
    return lines


def links_that_differ(result: Result, case: Case) -> list[str]:
    """The first link that is another, in each array, where links are recorded."""
    raw = recorded("links")
    bounds = raw.get(f"{case.name}/link_bounds")
    if bounds is None:
        return []
    lines = []
    for name, ours in result.links(len(bounds) - 1).items():
        theirs = raw[f"{case.name}/{name}"]
        if name == "link_weight" and case.precision == "f64":
            difference = far_difference(ours, theirs, CLOSE)
        else:
            difference = first_difference(ours, theirs, "link")
        if difference:
            lines.append(f"{name}: {difference}")
            length = min(ours.size, theirs.size)
            some = np.flatnonzero(ours[:length] != theirs[:length])
            if some.size and name != "link_bounds":
                genome = int(np.searchsorted(bounds, some[0], side="right")) - 1
                lines.append(f"  that is of genome {genome}")
    return lines


BATCH_DEPENDENT = ("direct recurrent large", "stepped")
"""Where version 0.1 broke its own promise: with these networks, a `Stepper` of three
samples gave other last bits than `evaluate` gave for the same samples, or a `Stepper`
of four. What it stepped to is not compared; tests/network shows that stepping equals
evaluating."""


def outputs_that_differ(result: Result, case: Case) -> list[str]:
    lines = []
    for kind, values in result.outputs.items():
        if (case.name, kind) == BATCH_DEPENDENT:
            continue
        ours = values[:, list(MANY_SHOWN)] if kind == "many" else values
        theirs = recorded("outputs")[f"{case.name}/{kind}"]
        if case.precision == "f64":
            difference = far_difference(ours, theirs, CLOSE_OUTPUTS)
        else:
            axes = "genome, sample, output"
            axes = f"call, {axes}" if kind == "stepped" else axes
            difference = first_difference(ours, theirs, axes)
        if difference:
            lines.append(f"outputs of {kind} samples: {difference}")
    return lines


# ------------------------------------------------------------------------------- tests

# values of the population `wild` are large enough for that
pytestmark = pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")


@pytest.fixture(autouse=True, params=[_native.PLAIN, _native.FAST])
def module(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both modules of the native engine, of which `auto` would take but one.

    Where it was not built, JAX gives the same.
    """
    plain, engine = _native.engine(_native.PLAIN), _native.engine(request.param)
    if request.param == _native.FAST and not (
        plain and engine and plain.module.has_fma()
    ):
        pytest.skip("needs a processor with AVX2 and FMA, and a module for it")
    with patch.object(_resources, "_automatic", lambda: engine):
        yield


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_networks_and_outputs(case: Case) -> None:
    genomes = genomes_of(populations()[case.population], case.count)
    result = run(case, genomes, recorded("inputs"))
    ours, theirs = result.summary(), summaries()[case.name]
    is_single = case.precision == "f32"
    compared = ARRAYS if is_single else STRUCTURE
    problems = [
        f"{name} has another digest"
        for name in compared
        if ours["arrays"][name] != theirs["arrays"][name]
    ]
    problems += [
        f"{key} is {ours[key]}, recorded {theirs[key]}"
        for key in ("is_acyclic", "num_nodes", "num_links", "num_found")
        if ours[key] != theirs[key]
    ]
    if is_single and ours["many"] != theirs["many"]:
        problems.append("outputs of many samples have another digest")
    problems += links_that_differ(result, case)
    problems += outputs_that_differ(result, case)
    if problems:
        bits = ("weights", "outputs") if is_single else ()
        problems += genomes_that_differ(ours, theirs, ("nodes", "links", *bits))
    assert not problems, "\n".join([f"{case.name} ({case.decoder})", *problems])


@pytest.mark.parametrize("case", QUERY_CASES, ids=lambda case: case.name)
def test_queries(case: QueryCase) -> None:
    points = recorded("inputs")[case.points]
    ours = case.ask(genomes_of(populations()[case.population]), points)
    theirs = recorded("queries")[case.name]
    if case.precision == "f64":
        difference = far_difference(ours, theirs, CLOSE)
    else:
        difference = first_difference(ours, theirs, "genome, point, output")
    assert not difference, difference


@pytest.mark.parametrize(("dialect", "precision"), ACTIVATION_CASES)
def test_activation_functions_of_networks(dialect: str, precision: str) -> None:
    values = recorded("inputs")["values"]
    genomes = genomes_of(populations()["functions"])
    ours = activation_outputs(genomes, dialect, precision, values)
    theirs = recorded("queries")[f"functions {dialect} {precision}"]
    problems = []
    for k, name in enumerate(ACTIVATION_NAMES):
        if precision == "f64":
            difference = far_difference(ours[:, k], theirs[:, k], CLOSE)
        else:
            difference = first_difference(ours[:, k], theirs[:, k], "value")
        if difference:
            problems.append(f"{name}: {difference}")
    assert not problems, "\n".join(problems)


def test_all_that_is_recorded_is_compared() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert summaries().keys() == set(names)
    assert {name.rpartition("/")[0] for name in recorded("outputs")} == set(names)
    queries = {case.name for case in QUERY_CASES}
    queries |= {f"functions {dialect} {kind}" for dialect, kind in ACTIVATION_CASES}
    assert recorded("queries").keys() == queries
