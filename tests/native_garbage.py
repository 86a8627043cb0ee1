"""Whatever is handed to the doors of the native engine: a sentence, or what is right.

`test_native_fuzz` runs this file in a process of its own, without the run-time checks
of types that all other tests have: users have none, so that all of this arrives.
"""

import contextlib
import dataclasses
import math
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from substrax import Resources
from substrax.cppn import Programs, QueryEngine, compile_programs
from substrax.decoders import Direct, FixedSubstrate, HyperNEAT
from substrax.network import Networks, Stepper, check_networks, evaluate
from substrax.substrate import (
    EMRRule,
    ESRule,
    Layout,
    NetworkSettings,
    WeightMap,
    discover,
)
from tests.cppns import compile_cppns, population_arrays, random_cppn
from tests.network.support import random_networks, samples_for
from tests.reference.arrays import network_outputs, program_outputs
from tests.reference.cppn import PLAIN_INPUTS

SEEDS = st.integers(0, 2**32 - 1)
NATIVE = Resources(engine="native", threads=2, memory_budget="64MiB")
many = settings(
    max_examples=80,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class RefusedError(Exception):
    """What was handed over was refused in a sentence."""


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Errors that a user can read; all others, and those of C++, fail the test."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = str(error)
        assert "incompatible function arguments" not in text
        assert text.endswith("."), f"no sentence: {type(error).__name__}: {text}"
        raise RefusedError from error


# --------------------------------------------------------------------------- damages


DTYPES = (
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64, ">i4", ">i8",
    np.float16, np.float32, np.float64, ">f4", ">f8", bool, complex, object, "U3",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    0, 1, 2, 5, 127, -1, -2, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**63 - 1,
    -(2**63), 0.5, -1.5, 1e30, 1e300, math.nan, math.inf, -math.inf,
)  # fmt: skip
SCALARS: tuple[Any, ...] = (
    *VALUES, None, True, "3", "", b"", np.int64(2), np.float32(0.5), np.True_, 10**30,
    (), 2 + 1j,
)  # fmt: skip


HOURS = 2**31 - 1
"""As many steps as may be: right, and taking hours."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """While numbers are made that no array should hold."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def other_dtype(draw: st.DrawFn, array: np.ndarray) -> Any:
    dtype = draw(st.sampled_from(DTYPES))
    with quiet(), contextlib.suppress(ValueError, TypeError, OverflowError):
        return array.astype(dtype)
    return array


def other_values(draw: st.DrawFn, array: np.ndarray) -> Any:
    """Some numbers are others, of the dtype that holds them."""
    places = draw(st.lists(st.integers(0, max(0, array.size - 1)), max_size=3))
    values = [draw(st.sampled_from(VALUES)) for _ in places]
    kinds = [np.min_scalar_type(value) for value in values]
    wide = draw(st.booleans())
    with quiet():
        array = array.astype(np.result_type(array, *kinds)) if wide else array.copy()
        for place, value in zip(places, values, strict=True):
            with contextlib.suppress(OverflowError, ValueError, TypeError, IndexError):
                array.reshape(-1)[place] = value
    return array


def near_values(draw: st.DrawFn, array: np.ndarray) -> Any:
    """Some numbers are their neighbours: what is just not allowed."""
    array = array.copy()
    if array.size and array.dtype.kind in "iuf":
        for place in draw(st.lists(st.integers(0, array.size - 1), max_size=3)):
            change = np.array([draw(st.sampled_from([-1, 1]))]).astype(array.dtype)
            array.reshape(-1)[place : place + 1] += change
    return array


def other_order(draw: st.DrawFn, array: np.ndarray) -> Any:
    return np.roll(array[::-1], draw(st.integers(0, 3)), axis=0)


def other_shape(draw: st.DrawFn, array: np.ndarray) -> Any:
    return draw(
        st.sampled_from(
            [
                array[None],
                array[..., None],
                array[:-1],
                array[:0],
                np.concatenate([array, array]),
                np.array(3, array.dtype),
                array.reshape(-1),
                array.T,
            ]
        )
    )


def other_memory(draw: st.DrawFn, array: np.ndarray) -> Any:
    """The same numbers, elsewhere: with gaps, from behind, at odd bytes, as lists."""
    gaps = np.repeat(array, 2, axis=0)[::2]
    raw = np.zeros(array.nbytes + 1, np.uint8)
    odd = raw[1:].view(array.dtype).reshape(array.shape)
    odd[...] = array
    fixed = array.copy()
    fixed.flags.writeable = False
    turned = np.asfortranarray(array)
    hidden = np.ma.masked_array(array, mask=np.ones(array.shape, bool))
    ways = [gaps, array[::-1].copy()[::-1], odd, fixed, turned, hidden, array.tolist()]
    return draw(st.sampled_from(ways))


def no_array(draw: st.DrawFn, array: np.ndarray) -> Any:
    return draw(st.sampled_from(SCALARS))


DAMAGES = (
    other_dtype, other_values, near_values, near_values, other_order, other_shape,
    other_memory, no_array,
)  # fmt: skip


def damaged(draw: st.DrawFn, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return draw(st.sampled_from([*SCALARS, value]))
    for _ in range(draw(st.integers(1, 2))):
        if isinstance(value, np.ndarray) and value.ndim and value.dtype != object:
            value = draw(st.sampled_from(DAMAGES))(draw, value)
    return value


@st.composite
def damages_of(draw: st.DrawFn, fields: dict[str, Any]) -> dict[str, Any]:
    """One or two fields, damaged."""
    names = st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=2)
    return {name: damaged(draw, fields[name]) for name in draw(names)}


def fields_of(instance: Any) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(instance)]
    return {name: getattr(instance, name) for name in names}


def are_tame(*arrays: np.ndarray) -> bool:
    """No large numbers: a sine of many turns, for one, is another in float32."""
    return all(np.abs(array).max(initial=0) <= 100 for array in arrays)


def assert_close(values: np.ndarray, wanted: np.ndarray) -> None:
    """Where nothing overflows, and no number is lost beside a larger one."""
    assert values.shape == wanted.shape
    is_tame = np.isfinite(wanted) & (np.abs(wanted) < 1e3)
    tolerance = 1e-3 if values.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(
        values[is_tame], wanted[is_tame], rtol=tolerance, atol=tolerance
    )


# -------------------------------------------------------------------------- networks


def draw_networks(draw: st.DrawFn) -> Networks:
    return random_networks(
        draw(SEEDS),
        draw(st.sampled_from([(0,), (1,), (2, 5), (1, 0, 3)])),
        cyclic=draw(st.booleans()),
        dtype=draw(st.sampled_from([np.float32, np.float64])),
        dialect=draw(st.sampled_from(["plain", "neat-python"])),
        steps=draw(st.integers(1, 3)),
    )


def assert_right(networks: Networks, samples: np.ndarray, outputs: np.ndarray) -> None:
    steps = None if networks.is_acyclic else int(networks.steps)
    if steps is not None and steps > 100:
        return
    if not are_tame(networks.node_bias, networks.link_weight):
        return
    for index in range(len(networks)):
        wanted = network_outputs(networks, index, samples, steps)
        assert_close(outputs[index], wanted)


@many
@given(data=st.data())
def test_networks(data: st.DataObject) -> None:
    networks = data.draw(st.composite(draw_networks)())
    fields = {k: v for k, v in fields_of(networks).items() if k != "steps"}
    change = data.draw(damages_of(fields))
    samples = samples_for(networks, data.draw(st.sampled_from([1, 6, 40])))
    with contextlib.suppress(RefusedError):
        with refusals():
            changed = dataclasses.replace(networks, **change)
            outputs = evaluate(changed, samples, resources=NATIVE)
        assert_right(changed, samples, outputs)


@many
@given(data=st.data())
def test_steps_and_states(data: st.DataObject) -> None:
    networks = data.draw(st.composite(draw_networks)())
    steps = data.draw(st.sampled_from([x for x in SCALARS if x != HOURS]))
    samples = samples_for(networks, 3)
    with contextlib.suppress(RefusedError), refusals():
        evaluate(networks, samples, steps=steps, resources=NATIVE)
    with contextlib.suppress(RefusedError), refusals():
        stepper = Stepper.of(dataclasses.replace(networks, steps=steps), NATIVE)
        state = data.draw(damages_of({"state": stepper.start(3)}))["state"]
        stepper(state, samples)
    with contextlib.suppress(RefusedError), refusals():
        Stepper(networks, NATIVE).start(steps)


@many
@given(data=st.data())
def test_inputs(data: st.DataObject) -> None:
    networks = data.draw(st.composite(draw_networks)())
    samples = samples_for(networks, 3)
    own = np.stack([samples] * len(networks))
    array = data.draw(st.sampled_from([samples, own]))
    inputs = data.draw(damages_of({"inputs": array}))["inputs"]
    with contextlib.suppress(RefusedError):
        with refusals():
            outputs = evaluate(networks, inputs, resources=NATIVE)
        array = np.asarray(inputs, float)
        for index in range(len(networks) if are_tame(array) else 0):
            mine = array if array.ndim == 2 else array[index % len(array)]
            steps = None if networks.is_acyclic else networks.steps
            assert_close(outputs[index], network_outputs(networks, index, mine, steps))


# -------------------------------------------------------------------------- programs


def draw_programs(draw: st.DrawFn) -> Programs:
    rng = np.random.default_rng(draw(SEEDS))
    hidden = draw(st.sampled_from([(0,), (3, 1), (0, 2, 8)]))
    leo = draw(st.booleans())
    return compile_cppns(
        [random_cppn(rng, num, leo=leo) for num in hidden],
        draw(st.sampled_from(["plain", "neat-python"])),
        draw(st.sampled_from([np.float32, np.float64])),
    )


def assert_answers(programs: Programs, points: np.ndarray, answers: np.ndarray) -> None:
    if not are_tame(programs.bias, programs.weight):
        return
    for genome, point, answer in zip(
        range(programs.num_genomes), points, answers, strict=True
    ):
        wanted = program_outputs(programs, genome, [*point, *point[::-1], 1.0])
        assert_close(answer, np.array(wanted))


@many
@given(data=st.data())
def test_programs(data: st.DataObject) -> None:
    programs = data.draw(st.composite(draw_programs)())
    change = data.draw(damages_of(fields_of(programs)))
    rule = data.draw(st.sampled_from([EMRRule(depth=1), ESRule(depth=1)]))
    with contextlib.suppress(RefusedError):
        with refusals():
            changed = dataclasses.replace(programs, **change)
            num = len(changed.first_row) if np.ndim(changed.first_row) else 0
            points = np.linspace(-1, 1, 2 * num).reshape(num, 2)
            engine = QueryEngine(changed, resources=NATIVE)
            answers = engine.query(np.arange(num), points, points[:, ::-1])
        assert_answers(changed, points.astype(answers.dtype), answers)
    with contextlib.suppress(RefusedError):
        with refusals():
            changed = dataclasses.replace(programs, **change)
            layout = Layout.spread(2, 1)
            found = discover(
                changed, PLAIN_INPUTS, layout, rule, WeightMap(), resources=NATIVE
            )
        check_networks(dataclasses.replace(found.networks))


@many
@given(data=st.data())
def test_questions(data: st.DataObject) -> None:
    programs = data.draw(st.composite(draw_programs)())
    engine = QueryEngine(programs, resources=NATIVE)
    num = programs.num_genomes
    points = np.linspace(-1, 1, 2 * num).reshape(num, 2)
    asked = {"genome": np.arange(num), "source": points, "target": points[:, ::-1]}
    with contextlib.suppress(RefusedError):
        change = data.draw(damages_of(asked))
        with refusals():
            answers = engine.query(**(asked | change))
        assert answers.shape == (len(answers), programs.num_outputs)
        genomes, *ends = ((asked | change)[name] for name in asked)
        genomes = np.broadcast_to(np.asarray(genomes), len(answers))
        shape = len(answers), 2
        ends = [np.broadcast_to(np.asarray(p, engine.dtype), shape) for p in ends]
        for k, genome in enumerate(genomes if are_tame(*ends) else ()):
            inputs = [*ends[0][k], *ends[1][k], 1.0]
            wanted = program_outputs(programs, int(genome), inputs)
            assert_close(answers[k], np.array(wanted))
    runs = asked | {"counts": np.ones(num, np.int64)}
    with contextlib.suppress(RefusedError), refusals():
        engine.query_runs(**(runs | data.draw(damages_of(runs))))
    cells: dict[str, Any] = {
        "genome": 0, "point": points[0], "level": np.array([1]),
        "cell": np.array([[0, 3]]),
    }  # fmt: skip
    with contextlib.suppress(RefusedError), refusals():
        engine.query_cells(**(cells | data.draw(damages_of(cells))))


# --------------------------------------------------------------- genomes, substrates


@many
@given(seed=SEEDS, data=st.data())
def test_genomes(seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    arrays = population_arrays([random_cppn(rng, num) for num in (2, 0)])
    counts: dict[str, Any] = {"num_inputs": 5, "num_outputs": 1}
    changed = arrays | counts
    changed |= data.draw(damages_of(changed))
    counts = {name: changed.pop(name) for name in counts}
    with contextlib.suppress(RefusedError), refusals():
        programs = compile_programs(**changed, **counts, dialect="plain")
        num = programs.num_genomes
        QueryEngine(programs, PLAIN_INPUTS, resources=NATIVE).query(
            np.arange(num), np.zeros((num, 2)), np.ones((num, 2))
        )
    with contextlib.suppress(RefusedError):
        with refusals():
            decoder = Direct(**counts, is_recurrent=data.draw(st.booleans()))
            networks = decoder.decode(SimpleNamespace(**changed))  # pyright: ignore[reportArgumentType]
            inputs = np.zeros((2, counts["num_inputs"]))
            outputs = evaluate(networks, inputs, resources=NATIVE)
        check_networks(dataclasses.replace(networks))
        assert_right(networks, inputs, outputs)


@many
@given(data=st.data())
def test_substrates(data: st.DataObject) -> None:
    programs = data.draw(st.composite(draw_programs)())
    substrate = FixedSubstrate.grid(Layout.spread(2, 1), 2, 2)
    fields = {k: v for k, v in fields_of(substrate).items() if k != "layout"}
    change = data.draw(damages_of(fields))
    with contextlib.suppress(RefusedError):
        with refusals():
            changed = dataclasses.replace(substrate, **change)
            networks = HyperNEAT(changed).decode_programs(programs, NATIVE)
        check_networks(dataclasses.replace(networks))
    later = FixedSubstrate.grid(Layout.spread(2, 1), 2, 2)
    for name, array in change.items():
        object.__setattr__(later, name, array)
    with contextlib.suppress(RefusedError), refusals():
        HyperNEAT(later).decode_programs(programs, NATIVE)


@many
@given(data=st.data())
def test_layouts(data: st.DataObject) -> None:
    programs = data.draw(st.composite(draw_programs)())
    points = {"inputs": Layout.spread(2, 1).inputs, "outputs": np.array([[0.0, 0.5]])}
    with contextlib.suppress(RefusedError):
        with refusals():
            layout = Layout(**(points | data.draw(damages_of(points))))
            found = discover(
                programs, PLAIN_INPUTS, layout, EMRRule(depth=1), WeightMap(),
                resources=NATIVE,
            )  # fmt: skip
        check_networks(dataclasses.replace(found.networks))


# -------------------------------------------------------------------------- settings


SETTINGS = [EMRRule(depth=1), ESRule(depth=1), WeightMap(), NetworkSettings()]


@pytest.mark.parametrize("given_settings", SETTINGS, ids=lambda x: type(x).__name__)
@many
@given(data=st.data())
def test_settings(given_settings: Any, data: st.DataObject) -> None:
    programs = data.draw(st.composite(draw_programs)())
    change = data.draw(damages_of(fields_of(given_settings)))
    with contextlib.suppress(RefusedError):
        with refusals():
            changed = dataclasses.replace(given_settings, **change)
            kinds = {type(x): x for x in SETTINGS} | {type(changed): changed}
            rule = changed if isinstance(changed, EMRRule | ESRule) else SETTINGS[0]
            found = discover(
                programs, PLAIN_INPUTS, Layout.spread(2, 1), rule, kinds[WeightMap],
                kinds[NetworkSettings], resources=NATIVE,
            )  # fmt: skip
        check_networks(dataclasses.replace(found.networks))


@many
@given(data=st.data())
def test_resources(data: st.DataObject) -> None:
    networks = random_networks(0, (2,))
    programs = compile_cppns([random_cppn(np.random.default_rng(0), 1)], "plain")
    change = data.draw(damages_of(fields_of(NATIVE)))
    with contextlib.suppress(RefusedError), refusals():
        resources = dataclasses.replace(NATIVE, **change)
        if resources.engine == "native":
            evaluate(networks, np.zeros((1, 3)), resources=resources)
            discover(
                programs, PLAIN_INPUTS, Layout.spread(2, 1), EMRRule(depth=1),
                WeightMap(), resources=resources,
            )  # fmt: skip
