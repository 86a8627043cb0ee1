"""Three doors for a user's own problem: arrays, a JAX function, a host function."""

import dataclasses
import functools
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import substrax as sx
import substrax._memory as memory_module
import substrax.problems._function as function_module
from substrax import Resources
from substrax.network import (
    Networks,
    ReadiedNetworks,
    Stepper,
    evaluate,
    tensor_groups,
)
from substrax.problems import (
    ArrayProblem,
    FunctionProblem,
    HostProblem,
    NetworkFunction,
)
from substrax.problems._network_function import (
    callable_engine,
    native_functions,
    over_population,
)
from substrax.substrate import Layout
from tests.network.support import assert_same_bits, random_networks, samples_for
from tests.problems.support import network

KEY = jax.random.key(2)
LAYOUT = Layout.spread(3, 2)


def test_arrays_with_a_bias_and_a_loss_of_one_s_own() -> None:
    def largest_error(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return np.abs(outputs - targets).max(axis=2)

    problem = ArrayProblem(
        [[1.0], [2.0]], [[1.0, 0.0], [4.0, 0.0]], loss=largest_error, has_bias=True
    )
    assert (problem.num_inputs, problem.num_outputs) == (2, 2)
    # Outputs are x + 1 and 0, so the errors are 1 and 1.
    one = network(2, 2, [(0, 2, 1.0), (1, 2, 1.0)], output="identity")
    assert problem.fitness(one, key=KEY).tolist() == [0.0]


def test_test_data_are_measured_and_not_learnt_from() -> None:
    problem = ArrayProblem([0.0, 1.0], [0, 1], X_test=[1.0, 1.0], y_test=[0.0, 1.0])
    copy = network(1, 1, [(0, 1, 1.0)], output="identity")
    assert problem.fitness(copy, key=KEY).tolist() == [1.0]
    assert problem.measures(copy) == {
        "squared_loss": 0.0,
        "absolute_loss": 0.0,
        "accuracy": 1.0,
        "test_squared_loss": 0.5,
        "test_absolute_loss": 0.5,
        "test_accuracy": 0.5,
    }


def test_accuracy_is_measured_of_classes_only() -> None:
    problem = ArrayProblem([[0.0], [1.0]], [0.5, 1.0])
    assert "accuracy" not in problem.measures(network(1, 1, []))


def test_data_stay_as_they_were_checked() -> None:
    X = np.zeros((2, 3))
    problem = ArrayProblem(X, [0, 1])
    X[:] = np.nan
    assert np.isfinite(problem.inputs).all()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([[1.0], [2.0]], [1.0]), "X has 2 samples, but y has 1"),
        (([[np.nan]], [1.0]), r"X\[0, 0\] is nan: .* Fill in or drop missing values"),
        (([[1.0]], [np.inf]), r"y\[0, 0\] is inf"),
        ((np.zeros((2, 2, 2)), [1, 2]), r"X needs the shape .* it has \(2, 2, 2\)"),
        (([], []), "X needs the shape"),
        (([["a"]], [1]), r"X must be a table of numbers, .* \(could not convert"),
        (([[1], [1, 2]], [1, 2]), "X must be a table of numbers, its rows of the same"),
        (([[1]], ["up"]), "y must be a table of numbers"),
    ],
)
def test_bad_arrays_are_refused(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArrayProblem(*arguments)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"loss": "hinge"}, "unknown loss 'hinge': use one of squared, absolute"),
        ({"X_test": [[1.0, 2.0]]}, "give both X_test and y_test, or neither"),
        (
            {"X_test": [[1.0]], "y_test": [1.0]},
            r"X has 2 columns \(with any bias\), but X_test has 1",
        ),
        ({"layout": LAYOUT}, "places for 3 inputs and 2 outputs, but the data have 2"),
        ({"samples_per_generation": 4}, "is 4, but there are only 3 samples"),
        ({"chunk_size": 0}, "chunk_size must be positive"),
        ({"target": float("nan")}, "target is NaN, which no fitness reaches"),
    ],
)
def test_bad_settings_of_arrays_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ArrayProblem(np.zeros((3, 2)), np.zeros(3), **options)


def test_losses_of_classes_need_classes() -> None:
    ArrayProblem([1.0, 2.0], [0.0, 0.3], loss="cross_entropy")
    with pytest.raises(ValueError, match=r"y\[1, 0\] is -1, .* are probabilities"):
        ArrayProblem([1.0, 2.0], [0.0, -1.0], loss="cross_entropy")
    with pytest.raises(ValueError, match=r"y_test\[0, 0\] is 2, .* are 0 or 1"):
        ArrayProblem([1.0], [1], loss="misclassified", X_test=[1.0], y_test=[2])
    ArrayProblem([1.0], [[0.2, 0.8]], loss="misclassified")  # the largest counts


def test_a_target_that_is_nan_is_refused_by_every_door() -> None:
    for door in (FunctionProblem, HostProblem):
        with pytest.raises(ValueError, match="target is NaN"):
            door(lambda network, key: 0.0, LAYOUT, target=float("nan"))


def test_a_loss_of_the_wrong_shape_is_refused() -> None:
    problem = ArrayProblem([[1.0]], [1.0], loss=lambda outputs, targets: outputs)
    with pytest.raises(ValueError, match="one number for each network and sample"):
        problem.fitness(network(1, 1, []), key=KEY)


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_network_function_gives_the_bits_of_evaluate(
    cyclic: bool, dtype: type[np.floating]
) -> None:
    networks = random_networks(5, cyclic=cyclic, dtype=dtype)
    samples = samples_for(networks)
    expected = evaluate(networks, samples)
    with jax.enable_x64(dtype == np.float64):
        inputs = jnp.asarray(samples)
        whole = everyone(networks, lambda f, x: f(x), inputs)
        # One sample at a time: a vmap of the user's within that over the population.
        single = everyone(
            networks, lambda f, x: jax.vmap(lambda s: f(s[None])[0])(x), inputs
        )
        assert_same_bits(whole, expected)
        assert_same_bits(single, expected)


def everyone(networks: Networks, fn: Any, *args: Any) -> np.ndarray:
    """What a function says of each network that the native engine evaluates."""
    native = callable_engine(Resources())
    assert native is not None
    readied = ReadiedNetworks(native, networks, Resources())
    num = len(networks)
    functions = native_functions(networks, readied, Resources(), num)
    return np.asarray(jax.jit(over_population(fn, num))(functions, *args))


def roll(network: NetworkFunction, inputs: jax.Array) -> jax.Array:
    """Two environments with memories of their own, in a scan."""

    def step(state: jax.Array, now: jax.Array) -> tuple[jax.Array, jax.Array]:
        return network.step(state, jnp.stack([now, 2 * now]))

    return jax.lax.scan(step, network.start(2), inputs)[1]


def test_a_network_function_carries_the_state_of_a_stepper() -> None:
    networks = random_networks(6, cyclic=True, dtype=np.float32)
    samples = samples_for(networks)
    stepper = Stepper.of(networks)
    state, expected = stepper.start(2), []
    for now in samples:
        state, outputs = stepper(state, np.stack([now, 2 * now]))
        expected.append(np.asarray(outputs))
    actual = everyone(networks, roll, jnp.asarray(samples))
    assert_same_bits(actual, np.stack(expected, axis=1))


def test_environments_can_be_vmapped_over_as_well() -> None:
    networks = random_networks(6, cyclic=True, dtype=np.float32)
    inputs = jnp.asarray(samples_for(networks))

    def each(network: NetworkFunction, inputs: jax.Array) -> jax.Array:
        def one(scale: jax.Array) -> jax.Array:
            def step(state: jax.Array, now: jax.Array):
                state, outputs = network.step(state, scale * now[None])
                return state, outputs[0]

            return jax.lax.scan(step, network.start(), inputs)[1]

        return jax.vmap(one, out_axes=1)(jnp.array([1.0, 2.0]))

    assert_same_bits(everyone(networks, each, inputs), everyone(networks, roll, inputs))


def test_a_network_without_cycles_settles_in_each_step() -> None:
    networks = random_networks(6, dtype=np.float32)
    inputs = jnp.asarray(samples_for(networks))
    actual = everyone(networks, roll, inputs)[:, :, 0]
    assert_same_bits(actual, evaluate(networks, np.asarray(inputs)))
    # so does a stepper: one meaning, whichever way a problem is written
    stepper = Stepper.of(networks)
    state = stepper.start(1)
    for k, now in enumerate(np.asarray(inputs)):
        state, outputs = stepper(state, now[None])
        assert_same_bits(np.asarray(outputs), actual[:, k : k + 1])
    assert not np.asarray(state).any()


@pytest.mark.parametrize("cyclic", [False, True])
def test_a_function_of_networks_beyond_the_memory_gives_the_same(cyclic: bool) -> None:
    def last(network: NetworkFunction, key: jax.Array) -> jax.Array:
        return roll(network, jax.random.normal(key, (4, 3)))[-1].sum()

    networks = random_networks(6, (3, 40, 3, 7, 20), cyclic=cyclic, dtype=np.float32)
    problem = FunctionProblem(last, LAYOUT)
    wanted = problem.fitness(networks, key=KEY)
    most = int((12 * networks.num_links + 40 * networks.num_nodes).max())
    with mock.patch.object(memory_module, "LEAST_BUDGET", 1):
        just = Resources(memory_budget=most)
        assert_same_bits(problem.fitness(networks, key=KEY, resources=just), wanted)
        less = Resources(memory_budget=most - 1)
        with pytest.raises(ValueError, match=r"within a JAX function.*memory_budget"):
            problem.fitness(networks, key=KEY, resources=less)


@pytest.mark.parametrize("cyclic", [False, True])
def test_groups_of_networks_give_the_same(cyclic: bool) -> None:
    def last(network: NetworkFunction, key: jax.Array) -> jax.Array:
        return roll(network, jax.random.normal(key, (4, 3)))[-1].sum()

    networks = random_networks(6, (3, 40, 3, 7, 20), cyclic=cyclic, dtype=np.float32)
    problem = FunctionProblem(last, LAYOUT)
    wanted = problem.fitness(networks, key=KEY)
    with mock.patch.object(function_module, "AT_ONCE", 2):
        assert_same_bits(problem.fitness(networks, key=KEY), wanted)


@pytest.mark.parametrize("cyclic", [False, True])
def test_engines_agree_on_functions_of_networks(cyclic: bool) -> None:
    def last(network: NetworkFunction, key: jax.Array) -> jax.Array:
        return roll(network, jax.random.normal(key, (4, 3)))[-1].sum()

    networks = random_networks(6, (3, 40, 3, 7, 20), cyclic=cyclic, dtype=np.float32)
    problem = FunctionProblem(last, LAYOUT)
    native, device = (
        problem.fitness(networks, key=KEY, resources=Resources(engine=name))
        for name in ("native", "device")
    )
    np.testing.assert_allclose(native, device, rtol=1e-4)
    alone = problem.fitness(networks[3], key=KEY, resources=Resources(engine="device"))
    assert_same_bits(alone, device[3:4])


def test_networks_that_are_gone_are_told_and_not_read() -> None:
    networks = random_networks(6, dtype=np.float32)
    native = callable_engine(Resources())
    assert native is not None
    readied = ReadiedNetworks(native, networks, Resources())
    functions = native_functions(networks, readied, Resources(), len(networks))
    run = jax.jit(over_population(lambda f, x: f(x), len(networks)))
    inputs = jnp.asarray(samples_for(networks))
    run(functions, inputs).block_until_ready()
    del readied
    with pytest.raises(Exception, match="these networks are gone"):
        run(functions, inputs).block_until_ready()


def test_threads_change_no_bit_of_what_a_function_says() -> None:
    """Networks that take long enough to be shared out."""

    def last(network: NetworkFunction, key: jax.Array) -> jax.Array:
        return roll(network, jax.random.normal(key, (4, 3)))[-1].sum()

    networks = random_networks(6, (300,) * 24, dtype=np.float32)
    problem = FunctionProblem(last, LAYOUT)
    values = [
        problem.fitness(networks, key=KEY, resources=Resources(threads=num))
        for num in (1, 2, 5)
    ]
    assert_same_bits(values[0], values[1])
    assert_same_bits(values[0], values[2])


def test_a_population_that_grows_keeps_to_few_shapes() -> None:
    """Sixty networks that grow to 100 times their size, as matrices."""
    shapes = set()
    rng = np.random.default_rng(0)
    for size in (3, 10, 30, 100, 300):
        networks = random_networks(1, tuple(rng.poisson(size, 60)))
        for group in tensor_groups(networks, 1 << 40):
            shapes.add(group.tensors.weight.shape)
    assert len(shapes) <= 6


def test_a_function_of_a_network_is_its_fitness() -> None:
    """Minus the mean square of the outputs for inputs that the key draws."""

    def quiet(network: NetworkFunction, key: jax.Array) -> jax.Array:
        return -(network(jax.random.normal(key, (7, 3))) ** 2).mean()

    problem = FunctionProblem(quiet, LAYOUT, target=-0.1, measure_fns={"loud": quiet})
    networks = random_networks(7, (4, 0, 2), dtype=np.float32)
    samples = np.asarray(jax.random.normal(KEY, (7, 3)))
    expected = -(evaluate(networks, samples) ** 2).mean(axis=(1, 2))
    np.testing.assert_allclose(problem.fitness(networks, key=KEY), expected, rtol=1e-6)
    assert problem.measures(networks[0]).keys() == {"loud"}
    assert problem.is_solved(-0.05) and not problem.is_solved(-0.2)


def test_a_function_is_traced_once_for_a_whole_run() -> None:
    traces = []

    def count(network: NetworkFunction, key: jax.Array) -> jax.Array:
        traces.append(1)
        return network(jnp.ones((2, 3))).sum()

    problem = FunctionProblem(count, LAYOUT)
    for generation in range(4):
        networks = random_networks(generation, (3, 8, 1), dtype=np.float32)
        problem.fitness(networks, key=jax.random.key(generation))
    assert len(traces) == 1


def test_a_function_need_not_ask_for_the_key() -> None:
    def plain(network: NetworkFunction) -> jax.Array:
        return network(jnp.ones((2, 3))).sum()

    def keyed(network: NetworkFunction, key: jax.Array) -> jax.Array:
        return plain(network)

    def maybe(network: NetworkFunction, key: jax.Array | None = None) -> jax.Array:
        return plain(network) + (jnp.nan if key is None else 0.0)

    def scaled(network: NetworkFunction, scale: float = 1.0) -> jax.Array:
        return scale * plain(network)

    networks = random_networks(3, (3, 8, 1), dtype=np.float32)
    wanted = FunctionProblem(keyed, LAYOUT).fitness(networks, key=KEY)
    for fn in (plain, maybe, scaled, jax.jit(plain), lambda *both: plain(both[0])):
        problem = FunctionProblem(fn, LAYOUT, measure_fns={"same": fn})
        for each in (problem, dataclasses.replace(problem, target=1.0)):
            assert_same_bits(each.fitness(networks, key=KEY), wanted)
            assert each.measures(networks[0]) == {"same": wanted[0]}

    def count(networks: Networks) -> np.ndarray:
        return networks.num_links

    host = HostProblem(count, LAYOUT)
    assert_same_bits(host.fitness(networks, key=KEY), networks.num_links * 1.0)


def test_a_problem_is_called_as_its_function_unless_it_has_a_name() -> None:
    def balance(network: Any, key: Any) -> Any:
        return 0.0

    for door in (FunctionProblem, HostProblem):
        assert door(balance, LAYOUT).name == "balance"
        assert door(balance, LAYOUT, name="mine").name == "mine"
        nameless = functools.partial(balance, key=None)
        assert door(nameless, LAYOUT).name in ("function", "host")


def test_functions_that_give_no_number_are_refused() -> None:
    problem = FunctionProblem(lambda network, key: network(jnp.ones((2, 3))), LAYOUT)
    networks = random_networks(0, (3,), dtype=np.float32)
    with pytest.raises(ValueError, match=r"gave the shape \(2, 2\) for one network"):
        problem.fitness(networks, key=KEY)
    wrong = FunctionProblem(
        lambda network, key: network(jnp.ones((2, 5))).sum(), LAYOUT
    )
    with pytest.raises(
        ValueError, match=r"network with 3 inputs was given .* \(2, 5\)"
    ):
        wrong.fitness(networks, key=KEY)


@pytest.mark.parametrize(
    "fn",
    [
        lambda network: float(network(jnp.ones((2, 1))).mean()),
        lambda network: np.sin(network(jnp.ones((2, 1)))).mean(),
        lambda network: 1.0 if network(jnp.ones((2, 1))).mean() > 0 else 0.0,
    ],
    ids=["float", "numpy", "if"],
)
def test_functions_that_jax_cannot_trace_are_sent_to_the_host(fn: Any) -> None:
    with pytest.raises(ValueError, match=r"with jax.numpy .* or give sx.HostProblem"):
        sx.evolve(fn, inputs=1, outputs=1, method="neat", population=8, generations=1)


def test_a_host_function_gets_all_networks_and_the_key() -> None:
    seen = []

    def fn(networks: Networks, key: Any) -> list[float]:
        seen.append((len(networks), key))
        return [float(n) for n in networks.num_links]

    problem = HostProblem(
        fn, LAYOUT, measure_fn=lambda one: {"links": float(one.num_links[0])}
    )
    networks = random_networks(3)
    values = problem.fitness(networks, key=KEY)
    assert values.tolist() == networks.num_links.tolist()
    assert [(num, bool((key == KEY).all())) for num, key in seen] == [(5, True)]
    assert problem.measures(networks[1]) == {"links": float(networks.num_links[1])}
    assert not problem.is_solved(1e30)


def test_a_host_function_must_give_one_number_for_each() -> None:
    problem = HostProblem(lambda networks, key: 1.0, LAYOUT)
    with pytest.raises(ValueError, match=r"the shape \(\); .* each of the 5 networks"):
        problem.fitness(random_networks(3), key=KEY)
