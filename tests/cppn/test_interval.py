"""Intervals hold what the kernel computes: each activation alone, whole CPPNs."""

from unittest import mock

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.cppn import (
    ACTIVATION_NAMES,
    COORDINATES,
    DIALECTS,
    QueryEngine,
    _enclose,
    activation_function,
    activation_id,
    enclose,
)
from substrax.cppn._activation import bound_activation
from substrax.cppn._interval import Interval, Precision
from tests.cppns import compile_cppns, random_cppn
from tests.reference import interval as oracle

FLOATS = (np.float32, np.float64)
SEEDS = st.integers(0, 2**32 - 1)
WITHOUT_POLE = tuple(name for name in ACTIVATION_NAMES if name != "inv")


def random_intervals(rng: np.random.Generator, dtype, num: int) -> Interval:
    """Of all sizes, around numbers of all sizes; also points, and around 0."""
    centre = rng.normal(size=num) * 10.0 ** rng.uniform(-6, 3, num)
    radius = np.abs(centre) * 10.0 ** rng.uniform(-8, 1, num) * rng.integers(0, 2, num)
    centre[: num // 8] = 0
    radius[: num // 8] = 10.0 ** rng.uniform(-45, 2, num // 8)
    return Interval(*((centre + s * radius).astype(dtype) for s in (-1, 1)))


def arguments_in(rng: np.random.Generator, z: Interval, num: int) -> np.ndarray:
    """Numbers of intervals, both ends among them; (num, intervals)."""
    part = rng.uniform(0, 1, (num, z.low.size))
    part[:2] = [[0.0], [1.0]]
    inside = z.low + part * (z.high.astype(np.float64) - z.low)
    return np.clip(inside.astype(z.low.dtype), z.low, z.high)


def is_inside(values: np.ndarray, bounds: Interval) -> np.ndarray:
    """NaN lies in no interval, but an infinite one promises nothing."""
    values = values.astype(np.float64)
    promised = np.isfinite(bounds.low) | np.isfinite(bounds.high)
    return ~promised | ((values >= bounds.low) & (values <= bounds.high))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_activation_stays_within_its_bounds(dialect: str, dtype) -> None:
    rng = np.random.default_rng(1)
    z = random_intervals(rng, dtype, 4000)
    precision = Precision(np.dtype(dtype))
    # In the kernel an argument is a sum, which is widened before.
    wider = precision.widen(Interval(*(end.astype(np.float64) for end in z)), 1)
    inside = arguments_in(rng, z, 24)

    @jax.jit
    def every(z):
        return [activation_function(name, dialect)(z) for name in ACTIVATION_NAMES]

    with jax.enable_x64(True):
        computed = [np.asarray(values) for values in every(inside)]
    for name, values in zip(ACTIVATION_NAMES, computed, strict=True):
        bounds = bound_activation(activation_id(name), dialect, wider, precision)
        assert is_inside(values, bounds).all(), name
        known = np.isfinite(bounds.low).mean()
        assert known == 1 or name in ("inv", "sin", "cos"), name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_unknown_argument_is_never_forgotten(dialect: str) -> None:
    """step(NaN) is 0 and inv(NaN) is 0, so a finite range would be a lie."""
    unknown = Interval(np.array([np.nan]), np.array([np.nan]))
    for name in ACTIVATION_NAMES:
        precision = Precision(np.dtype(np.float32))
        bounds = bound_activation(activation_id(name), dialect, unknown, precision)
        assert np.isnan(bounds.low).all() and np.isnan(bounds.high).all(), name


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_bounds_are_those_of_the_oracle_up_to_rounding(dialect: str, dtype) -> None:
    """They hold the natural interval extension, and are hardly wider."""
    rng = np.random.default_rng(2)
    tolerance = {np.float32: 5e-3, np.float64: 1e-11}[dtype]
    cppns = [
        random_cppn(rng, int(rng.integers(0, 4)), WITHOUT_POLE, scale=0.5)
        for _ in range(120)
    ]
    low, high = random_boxes(rng, len(cppns))
    source = rng.uniform(-1, 1, (len(cppns), 2)).astype(np.float32).astype(np.float64)
    programs = compile_cppns(cppns, dialect, dtype)
    bounds = enclose(
        programs, COORDINATES[:5], np.arange(120), (source, source), (low, high)
    )
    for g, cppn in enumerate(cppns):
        fixed = [(float(x), float(x)) for x in source[g]]
        moving = list(zip(low[g].tolist(), high[g].tolist(), strict=True))
        least, most = oracle.enclose(cppn, dialect, [*fixed, *moving, (1.0, 1.0)])
        slack = tolerance * max(1.0, abs(least), abs(most))
        assert least - slack <= bounds.low[0, g] <= least
        assert most <= bounds.high[0, g] <= most + slack


def random_boxes(rng: np.random.Generator, num: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells of the grid, of levels 0 to 13."""
    side = 2.0 ** -rng.integers(0, 14, (num, 1))
    low = np.floor(rng.uniform(0, 2, (num, 2)) / side) * side - 1.0
    return low, low + side


def check_cppns(seed: int, dialect: str, dtype, outgoing: bool) -> int:
    """Random CPPNs of every activation, at random points of random cells."""
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([0.3, 1.0, 3.0, 30.0]))
    cppns = [
        random_cppn(
            rng,
            int(rng.integers(0, 6)),
            ACTIVATION_NAMES,
            num_inputs=len(COORDINATES),
            scale=scale,
        )
        for _ in range(16)
    ]
    programs = compile_cppns(cppns, dialect, dtype, activations=ACTIVATION_NAMES)
    engine = QueryEngine(programs, COORDINATES)
    genome = np.repeat(np.arange(16), 8)
    low, high = random_boxes(rng, genome.size)
    fixed = rng.uniform(-1, 1, low.shape).astype(dtype)
    moving = np.stack(
        [
            arguments_in(rng, Interval(low[:, k].astype(dtype), high[:, k]), 32)
            for k in range(2)
        ],
        axis=-1,
    )
    point = fixed.astype(np.float64)
    boxes = ((point, point), (low, high))
    bounds = enclose(
        programs, COORDINATES, genome, *(boxes if outgoing else boxes[::-1])
    )
    num = len(moving)
    ends = (np.tile(fixed, (num, 1)), moving.reshape(-1, 2))
    values = engine.query(np.tile(genome, num), *(ends if outgoing else ends[::-1]))
    values = values[:, 0].reshape(num, genome.size)
    promised = Interval(bounds.low[0], bounds.high[0])
    assert is_inside(values, promised).all()
    return int(np.isfinite(promised.low).sum())


@pytest.mark.parametrize(("dialect", "dtype"), [("plain", np.float32)])
@given(seed=SEEDS, outgoing=st.booleans())
@settings(max_examples=15)
def test_no_cppn_leaves_its_bounds(
    dialect: str, dtype, seed: int, outgoing: bool
) -> None:
    check_cppns(seed, dialect, dtype, outgoing)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dialect", DIALECTS)
@given(seed=SEEDS, outgoing=st.booleans())
@settings(max_examples=200)
def test_no_cppn_of_any_kind_leaves_its_bounds(
    dialect: str, dtype, seed: int, outgoing: bool
) -> None:
    check_cppns(seed, dialect, dtype, outgoing)


def test_most_bounds_are_finite() -> None:
    assert check_cppns(3, "plain", np.float32, outgoing=True) > 100


def test_programs_alone_and_in_step_give_the_same_bounds() -> None:
    rng = np.random.default_rng(5)
    cppns = [random_cppn(rng, h % 7, ACTIVATION_NAMES) for h in range(20)]
    programs = compile_cppns(cppns, "plain", np.float32)
    genome = np.repeat(np.arange(20), 30)
    low, high = random_boxes(rng, genome.size)
    results = []
    for least in (1, 1 << 30):
        with mock.patch.object(_enclose, "_ALONE", least):
            boxes = ((-low, -low), (low, high))
            results.append(enclose(programs, COORDINATES[:5], genome, *boxes))
    np.testing.assert_array_equal(results[0], results[1])


def test_what_may_overflow_is_infinite_and_nothing_else() -> None:
    def node(node_id: int, activation: str) -> dict:
        return {"id": node_id, "activation": activation, "bias": 0.0, "response": 1.0}

    cppn = {
        "nodes": [node(0, "step"), node(10, "cube"), node(11, "cube")],
        "connections": [[-3, 10, 1e6], [10, 11, 1e3], [11, 0, 1.0]],
        "input_ids": [-1, -2, -3, -4, -5],
        "output_id": 0,
    }
    corner = np.array([[-1.0, -1.0]] * 2)
    low = np.array([[0.5, 0.0], [1e-6, 0.0]])
    genome = np.zeros(2, np.int64)
    for dtype, is_finite in ((np.float32, [False, True]), (np.float64, [True, True])):
        programs = compile_cppns([cppn], "plain", dtype)
        boxes = ((corner, corner), (low, low * 2))
        bounds = enclose(programs, COORDINATES[:5], genome, *boxes)
        assert np.isfinite(bounds.low[0]).tolist() == is_finite
        assert np.isfinite(bounds.high[0]).tolist() == is_finite
        np.testing.assert_array_equal(bounds.low[0][is_finite], 1.0)


def test_no_boxes_have_no_bounds() -> None:
    programs = compile_cppns([random_cppn(np.random.default_rng(0), 2)], "plain")
    none = (np.zeros((0, 2)), np.zeros((0, 2)))
    bounds = enclose(programs, COORDINATES[:5], np.zeros(0, np.int64), none, none)
    assert bounds.low.shape == bounds.high.shape == (1, 0)
