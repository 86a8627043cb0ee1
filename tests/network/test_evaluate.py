"""Settled and stepped evaluation against the oracle; bits that nothing may change."""

import dataclasses
from pathlib import Path
from unittest import mock

import jax
import numpy as np
import pytest

import substrax._memory as memory_module
from substrax import Resources
from substrax._memory import is_on_disk, joined
from substrax.cppn import activation_id
from substrax.network import Networks, Stepper, evaluate, to_tensors
from tests.network.support import (
    assert_same_bits,
    oracle_of,
    random_networks,
    samples_for,
)

SEEDS = range(4)
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}


def each_input(networks: Networks, num: int = 6) -> np.ndarray:
    """Other samples for each network."""
    parts = [samples_for(networks, num, seed=g) for g in range(len(networks))]
    return np.stack(parts)


# ---------------------------------------------------------------------------- settled


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dialect", ["plain", "neat-python"])
def test_settled_values_are_those_of_the_oracle(dialect: str, dtype) -> None:
    """Each node once, in topological order; unfed nodes are 0, inputs hold."""
    for seed in SEEDS:
        networks = random_networks(seed, dtype=dtype, dialect=dialect)
        samples = samples_for(networks, seed=seed)
        values = evaluate(networks, samples)
        assert values.dtype == dtype
        assert values.shape == (len(networks), len(samples), networks.num_outputs)
        for network, result in zip(networks, values, strict=True):
            wanted = oracle_of(network).settled(samples)
            np.testing.assert_allclose(result, wanted, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_settled_values_are_what_stepping_reaches_when_nothing_changes(dtype) -> None:
    """To the bit: both add up a node's links in their order."""
    networks = random_networks(11, dtype=dtype)
    samples = samples_for(networks)
    longest = int(networks.num_nodes.max())
    stepped = evaluate(networks, samples, steps=longest)
    assert_same_bits(evaluate(networks, samples, steps=longest + 1), stepped)
    np.testing.assert_array_equal(evaluate(networks, samples), stepped)


def test_settled_values_keep_biases() -> None:
    """`activation(bias + sum of weight * source)`, by hand: one hidden node, tanh."""
    networks = random_networks(0, (1,), num_inputs=1, num_outputs=1)
    tanh, sigmoid = networks.node_activation[2], networks.activation_ids[-1]
    by_hand = Networks(
        **{
            **vars(networks),
            "node_activation": np.array([0, sigmoid, tanh], np.int32),
            "node_bias": np.array([0.0, 0.25, -0.5]),
            "node_rank": np.array([0, 2, 1]),
            "link_bounds": np.array([0, 3]),
            "link_source": np.array([0, 2, 0], np.int32),
            "link_target": np.array([2, 1, 1], np.int32),
            "link_weight": np.array([2.0, 3.0, -1.0]),
        }
    )
    x = np.array([[-0.3], [0.0], [0.8]])
    hidden = np.tanh(2.0 * x - 0.5) if tanh == 1 else 2.0 * x - 0.5
    wanted = 1 / (1 + np.exp(-(0.25 + 3.0 * hidden - x)))
    np.testing.assert_allclose(evaluate(by_hand, x)[0], wanted, rtol=0, atol=1e-14)


# ---------------------------------------------------------------------------- stepped


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stepped_values_are_those_of_the_oracle(dtype) -> None:
    """Synchronous updates from a zero state, inputs held."""
    for seed in SEEDS:
        networks = random_networks(seed, cyclic=True, dtype=dtype)
        samples = samples_for(networks, seed=seed)
        for steps in (None, 1, 3):
            values = evaluate(networks, samples, steps=steps)
            for network, result in zip(networks, values, strict=True):
                count = network.steps if steps is None else steps
                wanted = oracle_of(network).stepped(samples, count)
                tolerance = 10 * TOLERANCE[dtype]  # errors go round the cycles
                np.testing.assert_allclose(result, wanted, rtol=0, atol=tolerance)


def test_state_is_carried_from_call_to_call() -> None:
    """Two calls with held inputs are one with twice as many steps."""
    networks = random_networks(3, cyclic=True, steps=3)
    inputs = each_input(networks)
    stepper = Stepper.of(networks)
    state, first = stepper(stepper.start(6), inputs)
    assert_same_bits(np.asarray(first), evaluate(networks, inputs, steps=3))
    state, second = stepper(state, inputs)
    assert_same_bits(np.asarray(second), evaluate(networks, inputs, steps=6))


def test_stepper_is_pure_and_answers_to_changing_inputs() -> None:
    networks = random_networks(4, cyclic=True, steps=2)
    stepper = Stepper.of(networks)
    inputs = [each_input(networks), -each_input(networks), 0.5 * each_input(networks)]
    runs = []
    for _ in range(2):
        state, trace = stepper.start(6), []
        for values in inputs:
            state, outputs = stepper(state, values)
            trace.append(np.asarray(outputs))
        runs.append(np.stack(trace))
    assert_same_bits(*runs)
    for g, network in enumerate(networks):  # state is carried, inputs are not
        alone = Stepper.of(network)
        state = alone.start(6)
        for values, wanted in zip(inputs, runs[0][:, g], strict=True):
            state, outputs = alone(state, values[g : g + 1])
            assert_same_bits(np.asarray(outputs)[0], wanted)


def test_stepper_takes_one_batch_for_all_networks() -> None:
    networks = random_networks(5, cyclic=True)
    stepper = Stepper.of(networks)
    samples = samples_for(networks)
    _, outputs = stepper(stepper.start(6), samples)
    assert_same_bits(np.asarray(outputs), evaluate(networks, samples))


def steps_of(networks: Networks, batches: list[np.ndarray]) -> list[np.ndarray]:
    """What a stepper answers, carrying its state from one batch to the next."""
    stepper = Stepper.of(networks)
    state, results = stepper.start(batches[0].shape[-2]), []
    for batch in batches:
        state, outputs = stepper(state, batch)
        results.append(np.asarray(outputs))
    return results


def on_disk(networks: Networks, folder: Path) -> Networks:
    """The same networks with their links in files."""
    names = ("link_source", "link_target", "link_weight")
    arrays = {n: joined([getattr(networks, n)], 0, folder) for n in names}
    assert is_on_disk(arrays["link_weight"])
    return dataclasses.replace(networks, **arrays)


@pytest.mark.parametrize("cyclic", [False, True])
def test_stepping_networks_on_the_disk_changes_no_bit(
    cyclic: bool, tmp_path: Path
) -> None:
    networks = random_networks(11, cyclic=cyclic, dtype=np.float32, steps=3)
    own = each_input(networks)
    batches = [own, -own, samples_for(networks), 0.5 * own]
    wanted = steps_of(networks, batches)
    spilled = on_disk(networks, tmp_path)
    assert_same_bits(np.array(steps_of(spilled, batches)), np.array(wanted))


@pytest.mark.parametrize("batch", [1, 3, 4, 5, 17, 70])
def test_stepping_from_the_beginning_is_evaluating(batch: int) -> None:
    """Whatever the number of samples: a batch of three is no other kernel."""
    networks = random_networks(11, cyclic=True, dtype=np.float32, steps=3)
    samples = samples_for(networks, batch)
    [outputs] = steps_of(networks, [samples])
    assert_same_bits(outputs, evaluate(networks, samples))


def test_a_state_that_exceeds_the_memory_is_refused() -> None:
    networks = random_networks(3, cyclic=True)
    with mock.patch.object(memory_module, "LEAST_BUDGET", 1):
        stepper = Stepper.of(networks, Resources(memory_budget=5000))
        stepper.start(1)
        with pytest.raises(ValueError, match=r"the state of 5 networks.*memory_budget"):
            stepper.start(50)


def test_a_state_of_a_wrong_shape_gets_a_sentence() -> None:
    stepper = Stepper.of(random_networks(3, cyclic=True))
    with pytest.raises(ValueError, match=r"the state has the shape .*start\(batch\)"):
        stepper(stepper.start(2), samples_for(stepper.networks, 3))


# ---------------------------------------------------- what changes no bit of a network


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cyclic", [False, True])
def test_population_is_its_networks_one_by_one(cyclic: bool, dtype) -> None:
    for seed in SEEDS:
        networks = random_networks(seed, cyclic=cyclic, dtype=dtype)
        samples = samples_for(networks)
        together = evaluate(networks, samples)
        for network, wanted in zip(networks, together, strict=True):
            assert_same_bits(evaluate(network, samples)[0], wanted)


@pytest.mark.parametrize("cyclic", [False, True])
def test_position_in_the_population_changes_no_bit(cyclic: bool) -> None:
    networks = random_networks(2, cyclic=cyclic, dtype=np.float32)
    samples = samples_for(networks)
    straight = evaluate(networks, samples)
    order = [3, 0, 4, 2, 1]
    moved = Networks.join([networks[g] for g in order])
    assert_same_bits(evaluate(moved, samples), straight[order])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cyclic", [False, True])
def test_engines_agree(cyclic: bool, dtype: type[np.floating]) -> None:
    """But for rounding: sums are taken in the order of links by one engine, in the
    order of evaluation by the other."""
    networks = random_networks(6, cyclic=cyclic, dtype=dtype)
    inputs = each_input(networks, 11)
    native, device = (
        evaluate(networks, inputs, resources=Resources(engine=name))
        for name in ("native", "device")
    )
    rtol = 1e-5 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(native, device, rtol=rtol)


@pytest.mark.parametrize("cyclic", [False, True])
def test_on_a_device_neither_room_nor_company_changes_a_bit(cyclic: bool) -> None:
    networks = random_networks(6, cyclic=cyclic, dtype=np.float32)
    inputs = each_input(networks, 16)
    resources = Resources(engine="device")
    together = evaluate(networks, inputs, resources=resources)
    for k, network in enumerate(networks):
        alone = evaluate(network, inputs[k], resources=resources)
        assert_same_bits(alone[0], together[k])
        for num_slots in (64, 200):
            tensors, _ = to_tensors(network, np.zeros(1, int), num_slots)
            values = jax.jit(jax.vmap(lambda n, x: n(x)))(tensors, inputs[k : k + 1])
            assert_same_bits(np.asarray(values[0]), together[k])


def test_what_is_infinite_spreads_along_links_alone() -> None:
    """On a device as elsewhere: 0 times infinity would be NaN."""
    networks = random_networks(6, cyclic=False, dtype=np.float32)
    weight = np.full(networks.link_weight.shape, 3e38, np.float32)
    identity = np.zeros_like(networks.node_activation)
    large = dataclasses.replace(
        networks, link_weight=weight, node_activation=identity, activation_ids=(0,)
    )
    inputs = np.abs(each_input(networks, 3)) + 10
    native, device = (
        evaluate(large, inputs, resources=Resources(engine=name))
        for name in ("native", "device")
    )
    assert np.isinf(native).any()
    np.testing.assert_array_equal(np.isfinite(native), np.isfinite(device))


def test_a_stepper_on_a_device_carries_the_state_of_a_native_one() -> None:
    networks = random_networks(6, cyclic=True, dtype=np.float32)
    inputs = each_input(networks, 4)
    outcomes = []
    for name in ("native", "device"):
        stepper = Stepper.of(networks, Resources(engine=name))
        state, outputs = stepper(stepper.start(4), inputs)
        for _ in range(2):
            state, outputs = stepper(state, inputs)
        outcomes.append((state, outputs))
    for native, device in zip(*outcomes, strict=True):
        np.testing.assert_allclose(native, device, rtol=1e-4, atol=1e-6)


def test_large_networks_are_cut_into_chunks_that_change_no_bit() -> None:
    """Thousands of links: chunks differ between one network and five."""
    networks = random_networks(8, (900, 3, 300), dtype=np.float32)
    samples = samples_for(networks)
    values = evaluate(networks, samples)
    for network, result in zip(networks, values, strict=True):
        assert_same_bits(evaluate(network, samples)[0], result)
        wanted = oracle_of(network).settled(samples)
        np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("num_bound", [0, 5])
@pytest.mark.parametrize("num", [1, 5, 70])
def test_links_in_the_order_of_their_sources_are_evaluated_as_they_come(
    num: int, num_bound: int
) -> None:
    """As rule `emr` has them: by source, upwards, those to outputs at the end."""
    network = layered_network(num_bound)
    samples = samples_for(network, num)
    whole = evaluate(network, samples)
    wanted = oracle_of(network, output="tanh").settled(samples)
    np.testing.assert_allclose(whole[0], wanted, rtol=0, atol=1e-9)
    # By target, highest first: sources come later than their targets.
    order = np.argsort(-network.link_target, kind="stable")
    moved = dataclasses.replace(
        network,
        link_source=network.link_source[order],
        link_target=network.link_target[order],
        link_weight=network.link_weight[order],
    )
    assert_same_bits(evaluate(moved, samples), whole)


def layered_network(num_into_inputs: int) -> Networks:
    """Three inputs, two outputs, twenty hidden nodes in five layers, every link."""
    rng = np.random.default_rng(0)
    rank = np.array([0, 0, 0, 6, 6, *np.repeat(np.arange(1, 6), 4)])
    hidden = range(5, 25)
    pairs = [(i, h) for i in range(3) for h in hidden]
    pairs[7:7] = [(0, k % 3) for k in range(num_into_inputs)]
    pairs += [(a, b) for a in hidden for b in hidden if rank[a] < rank[b]]
    pairs += [(a, o) for o in (3, 4) for a in hidden]
    source, target = np.array(pairs, np.int32).T
    return Networks(
        num_inputs=3,
        num_outputs=2,
        node_bounds=np.array([0, rank.size]),
        node_activation=np.full(rank.size, activation_id("tanh"), np.int32),
        node_bias=np.zeros(rank.size),
        node_rank=rank.astype(np.int32),
        node_point=rng.uniform(size=(rank.size, 2)),
        link_bounds=np.array([0, source.size]),
        link_source=source,
        link_target=target,
        link_weight=rng.normal(size=source.size),
        num_found=np.array([-1]),
        is_acyclic=True,
        dialect="plain",
        activation_ids=(activation_id("tanh"),),
    )


def test_network_whose_nodes_exceed_the_memory_is_refused() -> None:
    networks = random_networks(3)
    with (
        mock.patch.object(memory_module, "LEAST_BUDGET", 1),
        pytest.raises(ValueError, match=r"nodes needs about .* memory_budget"),
    ):
        small = Resources(memory_budget=100)
        evaluate(networks, samples_for(networks), resources=small)


def test_samples_do_not_touch_each_other() -> None:
    networks = random_networks(7, dtype=np.float32)
    samples = samples_for(networks, 70)
    values = evaluate(networks, samples)
    for part in (slice(0, 1), slice(3, 9), slice(60, 70)):
        assert_same_bits(evaluate(networks, samples[part]), values[:, part])


def test_each_network_may_have_its_own_inputs() -> None:
    networks = random_networks(9)
    inputs = each_input(networks)
    values = evaluate(networks, inputs)
    for network, mine, wanted in zip(networks, inputs, values, strict=True):
        assert_same_bits(evaluate(network, mine)[0], wanted)
    same = np.broadcast_to(inputs[0], inputs.shape)
    assert_same_bits(evaluate(networks, same), evaluate(networks, inputs[0]))


# ------------------------------------------------------------------ nothing, and errors


def test_nothing_to_do_gives_empty_results() -> None:
    networks = random_networks(0, (1, 7))
    assert evaluate(networks, np.zeros((0, 3))).shape == (2, 0, 2)
    assert evaluate(networks.part(0, 0), np.zeros((4, 3))).shape == (0, 4, 2)


@pytest.mark.parametrize(
    "shape", [(3,), (4, 2), (3, 4, 3), (2, 4, 2), (1, 2, 4, 3)], ids=str
)
def test_inputs_of_a_wrong_shape_get_a_sentence(shape: tuple[int, ...]) -> None:
    networks = random_networks(0, (1, 7))
    with pytest.raises(ValueError, match=r"give \(samples, 3\) for all networks"):
        evaluate(networks, np.zeros(shape))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_inputs_that_are_not_finite_get_a_sentence(value: float) -> None:
    networks = random_networks(0, (1,))
    with pytest.raises(ValueError, match="NaN or infinite; repair the inputs"):
        evaluate(networks, np.full((1, 3), value))


@pytest.mark.parametrize("steps", [0, -1])
def test_steps_that_are_not_positive_get_a_sentence(steps: int) -> None:
    with pytest.raises(ValueError, match="steps must be positive"):
        evaluate(random_networks(0, (1,)), np.zeros((1, 3)), steps=steps)


# ------------------------------------------------------------------------- populations


def test_networks_are_a_sequence() -> None:
    networks = random_networks(1)
    assert len(networks) == 5
    assert [len(n) for n in networks] == [1] * 5
    assert networks.num_hidden.tolist() == [0, 1, 7, 40, 3]
    assert networks[-1].num_hidden.tolist() == [3]
    for index in (5, -6):
        with pytest.raises(IndexError, match="among 5"):
            networks[index]


def test_join_undoes_part() -> None:
    from tests.network.support import assert_same_networks

    networks = random_networks(1)
    parts = [networks.part(0, 2), networks.part(2, 2), networks.part(2, 5)]
    assert_same_networks(Networks.join(parts), networks)


def test_join_of_different_kinds_gets_a_sentence() -> None:
    with pytest.raises(ValueError, match="differ in dialect"):
        Networks.join(
            [random_networks(0, (1,)), random_networks(0, (1,), dialect="neat-python")]
        )
    with pytest.raises(ValueError, match="differ in dtype"):
        Networks.join(
            [random_networks(0, (1,)), random_networks(0, (1,), dtype=np.float32)]
        )
    with pytest.raises(ValueError, match="at least one"):
        Networks.join([])
