"""The native engine is handed random arrays: garbage, and what only looks unusual."""

import dataclasses
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax import Resources
from substrax._native import FAST, PLAIN
from substrax.cppn import COORDINATES, QueryEngine
from substrax.network import evaluate
from substrax.substrate import AbstractRule, Layout
from tests.cppns import compile_cppns, random_cppn
from tests.network.support import (
    assert_same_bits,
    oracle_of,
    random_networks,
    samples_for,
)
from tests.reference.arrays import network_outputs
from tests.reference.cppn import evaluate as evaluate_cppn
from tests.substrate.support import (
    SEEDS,
    assert_same_wirings,
    draw_cppns,
    emr_rules,
    es_rules,
    find,
    make_engine,
)

GARBAGE = "tests/native_garbage.py"
NATIVE = Resources(engine="native")
TOLERANCE = {np.float64: 1e-10, np.float32: 1e-4}
DTYPES = st.sampled_from([np.float32, np.float64])
DIALECTS = st.sampled_from(["plain", "neat-python"])


def test_garbage_is_refused_in_a_sentence_or_answered_rightly() -> None:
    """In a process of its own: it may crash, and has no run-time checks of types."""
    root = Path(__file__).parent.parent
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "pytest", "-q", GARBAGE],
        cwd=root,
        env={**os.environ, "JAXTYPING_DISABLE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-4000:]


# ---------------------------------------------------- the same numbers, held otherwise


def with_gaps(array: np.ndarray) -> np.ndarray:
    return np.repeat(array, 2, axis=0)[::2]


def from_behind(array: np.ndarray) -> np.ndarray:
    return array[::-1].copy()[::-1]


def at_odd_bytes(array: np.ndarray) -> np.ndarray:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    result = raw[1:].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


def of_64_bits(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int64) if array.dtype.kind == "i" else array


def of_16_bits(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int16) if array.dtype.kind == "i" else array


def of_the_other_end(array: np.ndarray) -> np.ndarray:
    return array.astype(">i4") if array.dtype.kind == "i" else array


def as_it_is(array: np.ndarray) -> np.ndarray:
    return array


WAYS = [
    with_gaps, from_behind, at_odd_bytes, of_64_bits, of_16_bits, of_the_other_end,
    as_it_is,
]  # fmt: skip


def held_otherwise(instance: Any, data: st.DataObject) -> Any:
    """The same arrays, each held in memory in some way."""
    changed = {}
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        if isinstance(value, np.ndarray):
            changed[field.name] = data.draw(st.sampled_from(WAYS))(value)
    return dataclasses.replace(instance, **changed)


@settings(max_examples=60)
@given(
    seed=SEEDS,
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=4).map(tuple),
    num_inputs=st.integers(1, 5),
    num_outputs=st.integers(1, 4),
    num_samples=st.sampled_from([0, 1, 3, 17, 70]),
    cyclic=st.booleans(),
    dtype=DTYPES,
    dialect=DIALECTS,
    data=st.data(),
)
def test_networks_of_any_shape_and_memory_are_those_of_the_oracle(
    seed: int,
    sizes: tuple[int, ...],
    num_inputs: int,
    num_outputs: int,
    num_samples: int,
    cyclic: bool,
    dtype: type[np.floating],
    dialect: str,
    data: st.DataObject,
) -> None:
    networks = random_networks(
        seed,
        sizes,
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        cyclic=cyclic,
        dtype=dtype,
        dialect=dialect,
        steps=2,
    )
    samples = samples_for(networks, num_samples, seed % 1000)
    outputs = evaluate(networks, samples, resources=NATIVE)
    for network, result in zip(networks, outputs, strict=True):
        oracle = oracle_of(network)
        wanted = oracle.stepped(samples, 2) if cyclic else oracle.settled(samples)
        np.testing.assert_allclose(result, wanted, rtol=0, atol=TOLERANCE[dtype])
    same = held_otherwise(networks, data)
    held = data.draw(st.sampled_from([with_gaps, at_odd_bytes, as_it_is]))(samples)
    assert_same_bits(evaluate(same, held, resources=NATIVE), outputs)


@settings(max_examples=60)
@given(seed=SEEDS, cyclic=st.booleans(), dtype=DTYPES)
def test_biases_and_most_activations_are_those_of_the_oracle(
    seed: int, cyclic: bool, dtype: type[np.floating]
) -> None:
    rng = np.random.default_rng(seed)
    networks = random_networks(seed, (4, 0, 9), cyclic=cyclic, dtype=dtype, steps=2)
    num = networks.node_bias.size
    networks = dataclasses.replace(
        networks,
        node_bias=rng.normal(size=num).astype(dtype),
        # but for those that jump, or leave the range of numbers soon
        node_activation=rng.choice([0, 1, 2, 3, 4, 5, 9, 10, 14, 15, 16, 17, 19], num),
        activation_ids=tuple(range(20)),
    )
    samples = samples_for(networks, 5)
    outputs = evaluate(networks, samples, resources=NATIVE)
    for index, result in enumerate(outputs):
        wanted = network_outputs(networks, index, samples, 2 if cyclic else None)
        tolerance = 10 * TOLERANCE[dtype]
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)


@settings(max_examples=60)
@given(
    seed=SEEDS,
    names=st.permutations(COORDINATES),
    num_names=st.integers(1, len(COORDINATES)),
    hidden=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    leo=st.booleans(),
    num=st.sampled_from([1, 5, 300]),
    dialect=DIALECTS,
    data=st.data(),
)
def test_programs_of_any_inputs_and_memory_answer_as_the_oracle_does(
    seed: int,
    names: list[str],
    num_names: int,
    hidden: list[int],
    leo: bool,
    num: int,
    dialect: str,
    data: st.DataObject,
) -> None:
    rng = np.random.default_rng(seed)
    coordinates = tuple(names[:num_names])
    cppns = [
        random_cppn(rng, size, num_inputs=num_names, leo=leo, scale=0.5)
        for size in hidden
    ]
    programs = compile_cppns(cppns, dialect, np.float64)
    genome = rng.integers(0, len(cppns), num)
    source, target = rng.uniform(-1, 1, (2, num, 2))
    engine = QueryEngine(programs, coordinates, resources=NATIVE)
    answers = engine.query(genome, source, target)
    points = np.concatenate([source, target], axis=1)
    for g, cppn in enumerate(cppns):
        own = {**cppn, "input_names": coordinates}
        values = evaluate_cppn(own, points[genome == g], dialect=dialect)
        wanted = np.stack([values[node] for node in range(1 + leo)], axis=1)
        np.testing.assert_allclose(answers[genome == g], wanted, rtol=1e-8, atol=1e-8)
    held = held_otherwise(programs, data)
    same = QueryEngine(held, coordinates, resources=NATIVE)
    way = data.draw(st.sampled_from(WAYS))
    assert_same_bits(same.query(way(genome), way(source), way(target)), answers)


@settings(max_examples=25)
@given(
    seed=SEEDS,
    rule=st.one_of(es_rules(2), emr_rules(2)),
    leo=st.booleans(),
    dtype=DTYPES,
    data=st.data(),
)
def test_what_is_discovered_depends_on_no_memory_and_no_order(
    seed: int,
    rule: AbstractRule,
    leo: bool,
    dtype: type[np.floating],
    data: st.DataObject,
) -> None:
    layout = Layout.spread(2, 2)
    engine = make_engine(draw_cppns(seed, 4, leo=leo), "plain", dtype)
    whole = find(engine, layout, rule, engine="native")
    held = held_otherwise(engine.programs, data)
    same = find(QueryEngine(held), layout, rule, engine="native", threads=3)
    assert_same_wirings(same, whole)
    order = np.array(data.draw(st.permutations(range(4))))
    moved = QueryEngine(held.select(order))
    networks = find(moved, layout, rule, engine="native").networks
    for place, genome in enumerate(order):
        for name in ("link_source", "link_target", "link_weight", "node_point"):
            found = getattr(networks[place], name)
            assert_same_bits(found, getattr(whole.networks[int(genome)], name))


# --------------------------------------------------------------- the module by itself


WRONG = [
    np.zeros(3, np.int16),
    np.zeros(3, np.uint32),
    np.zeros(3, np.float16),
    np.zeros(3, ">i4"),
    np.zeros(3, ">f8"),
    np.zeros(3, bool),
    np.zeros(3, object),
    np.zeros(3, complex),
    np.zeros((), np.int32),
    np.zeros((2, 2, 2, 2)),
    np.zeros((4, 4), np.int32)[::2, ::2],
    np.zeros(8, np.float32)[::2],
    [1, 2],
    None,
    "x1",
    3,
]


def programs_arguments(kind: type[np.floating]) -> dict[str, Any]:
    whole = np.zeros(1, np.int32)
    return {
        "activation": whole,
        "bias": np.zeros(1, kind),
        "source": np.zeros((1, 4), np.int32),
        "weight": np.zeros((1, 4), kind),
        "first_row": whole,
        "num_rows": whole,
        "output_slot": np.zeros((1, 1), np.int32),
        "coordinates": whole,
        "is_neat_python": False,
    }


def networks_arguments(kind: type[np.floating]) -> dict[str, Any]:
    bounds, node = np.array([0, 1]), np.zeros(1, np.int32)
    return {
        "num_inputs": 0,
        "num_outputs": 1,
        "node_bounds": bounds,
        "link_bounds": np.array([0, 0]),
        "node_activation": node,
        "node_rank": node,
        "node_bias": np.zeros(1, kind),
        "link_source": node[:0],
        "link_target": node[:0],
        "link_weight": np.zeros(0, kind),
        "is_neat_python": False,
        "is_acyclic": True,
        "is_on_disk": False,
    }


def assert_types_are_refused(function: Any, arguments: dict[str, Any]) -> None:
    """No array of another type goes in, nor is it converted on the way."""
    function(**arguments)
    for name, argument in arguments.items():
        if not isinstance(argument, np.ndarray):
            continue
        others = [np.zeros((2,) * axes, argument.dtype) for axes in (1, 2, 3)]
        others = [other for other in others if other.ndim != argument.ndim]
        wider = argument.astype(np.int64 if argument.dtype == np.int32 else np.int32)
        for wrong in (*WRONG, *others, wider):
            with pytest.raises(TypeError, match="incompatible function arguments"):
                function(**(arguments | {name: wrong}))


@pytest.fixture(params=[PLAIN, FAST])
def module(request: pytest.FixtureRequest) -> Any:
    plain = importlib.import_module(PLAIN)
    if request.param == FAST and not plain.has_fma():
        pytest.skip("this processor has no FMA")
    return importlib.import_module(request.param)


@pytest.mark.parametrize(
    ("name", "kind"), [("Float", np.float32), ("Double", np.float64)]
)
def test_the_module_takes_arrays_of_its_own_types_only(
    module: Any, name: str, kind: type[np.floating]
) -> None:
    hold_programs = getattr(module, f"Programs{name}").hold
    hold_networks = getattr(module, f"Networks{name}").hold
    assert_types_are_refused(hold_programs, programs_arguments(kind))
    assert_types_are_refused(hold_networks, networks_arguments(kind))
    held = hold_networks(**networks_arguments(kind))
    common = {"networks": held, "inputs": np.zeros((1, 2, 0), kind), "steps": 1}
    common |= {"memory_budget": 1 << 26, "num_threads": 1, "refuse": print}
    outputs = {"outputs": np.zeros((1, 2, 1), kind)}
    assert_types_are_refused(module.evaluate, common | outputs)
    state = {"state": np.zeros((1, 2), kind)}
    assert_types_are_refused(module.advance, common | outputs | state)
    questions = {
        "programs": hold_programs(**programs_arguments(kind)),
        "genome": np.zeros(1, np.int32),
        "bounds": np.array([0, 1]),
        "source": np.zeros((1, 2), kind),
        "target": np.zeros((1, 2), kind),
        "num_threads": 1,
    }
    assert_types_are_refused(module.query, questions)


def test_the_module_takes_layouts_and_substrates_of_its_own_types_only(
    module: Any,
) -> None:
    layout = {"point": np.zeros((2, 2)), "terminal_cell": np.full(2, -1)}
    assert_types_are_refused(module.Layout.hold, layout | {"num_inputs": 1})
    whole = np.zeros(2, np.int32)
    fixed = {"point": np.zeros((2, 2)), "rank": whole, "source": whole, "target": whole}
    assert_types_are_refused(
        module.FixedSettings.make, fixed | {"weight_threshold": 0.0}
    )
