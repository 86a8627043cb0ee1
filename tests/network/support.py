"""Networks drawn at random, and the oracle's view of a network.

All have the same activations and a few sizes, so that tests share kernels.
"""

import dataclasses
from typing import Any

import numpy as np

from substrax.cppn import ACTIVATION_NAMES, activation_id
from substrax.network import Networks
from tests.reference.network import Network

HIDDEN, OUTPUT = "tanh", "sigmoid"
NUM_INPUTS, NUM_OUTPUTS = 3, 2
ACTIVATION_IDS = tuple(sorted(activation_id(a) for a in (HIDDEN, OUTPUT, "identity")))


def random_network(
    rng: np.random.Generator,
    num_hidden: int,
    *,
    cyclic: bool = False,
    dtype: type[np.floating] = np.float64,
    dialect: str = "plain",
    num_inputs: int = NUM_INPUTS,
    num_outputs: int = NUM_OUTPUTS,
    steps: int = 5,
) -> Networks:
    """One network on random points.

    Some nodes are unfed, some lead nowhere, outputs may feed further nodes, and some
    links lead into inputs, where they carry nothing (rule `es` may find such links).
    """
    num_terminals = num_inputs + num_outputs
    num_nodes = num_terminals + num_hidden
    point = rng.uniform(-1, 1, (num_nodes, 2))
    fan_in = min(4, num_nodes - 1)
    is_linked = rng.uniform(size=(num_nodes, num_nodes)) < fan_in / num_nodes
    if not cyclic:
        is_linked &= point[:, None, 1] < point[None, :, 1]
    source, target = (ends.astype(np.int32) for ends in np.nonzero(is_linked))
    order = rng.permutation(source.size)  # links come in any order
    activation = np.full(num_nodes, activation_id(HIDDEN), np.int32)
    activation[:num_inputs] = activation_id("identity")
    activation[num_inputs:num_terminals] = activation_id(OUTPUT)
    rank = np.argsort(np.argsort(point[:, 1])).astype(np.int64)
    return silence_unfed(
        Networks(
            num_inputs=num_inputs,
            num_outputs=num_outputs,
            node_bounds=np.array([0, num_nodes]),
            node_activation=activation,
            node_bias=np.zeros(num_nodes, dtype),
            node_rank=np.zeros_like(rank) if cyclic else rank,
            node_point=point,
            link_bounds=np.array([0, source.size]),
            link_source=source[order],
            link_target=target[order],
            link_weight=rng.normal(size=source.size).astype(dtype),
            num_found=np.array([num_hidden]),
            is_acyclic=not cyclic,
            dialect=dialect,  # pyright: ignore[reportArgumentType]
            activation_ids=ACTIVATION_IDS,
            steps=steps,
        )
    )


def random_networks(
    seed: int, sizes: tuple[int, ...] = (0, 1, 7, 40, 3), **options: Any
) -> Networks:
    """Networks of very different sizes."""
    rng = np.random.default_rng(seed)
    return Networks.join([random_network(rng, size, **options) for size in sizes])


def samples_for(networks: Networks, num: int = 6, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (num, networks.num_inputs)).astype(networks.dtype)


def oracle_of(network: Networks, hidden: str = HIDDEN, output: str = OUTPUT) -> Network:
    """The same network in the oracle's terms: nodes are positions."""
    assert len(network) == 1
    points = [(float(x), float(y)) for x, y in network.node_point]
    assert len(set(points)) == len(points)
    terminals = network.num_inputs + network.num_outputs
    ends = [
        (points[s], points[t])
        for s, t in zip(network.link_source, network.link_target, strict=True)
    ]
    return Network(
        points[: network.num_inputs],
        points[network.num_inputs : terminals],
        dict(zip(ends, network.link_weight.tolist(), strict=True)),
        hidden_activation=hidden,
        output_activation=output,
        dialect=network.dialect,
    )


def assert_same_networks(first: Networks, second: Networks) -> None:
    """Every field agrees: arrays to the bit and the dtype."""
    for name in (field.name for field in dataclasses.fields(Networks)):
        value, other = getattr(first, name), getattr(second, name)
        if isinstance(value, np.ndarray):
            assert value.dtype == other.dtype, name
            assert value.shape == other.shape, name
            assert value.tobytes() == other.tobytes(), name
        else:
            assert value == other, name


def assert_same_bits(first: np.ndarray, second: np.ndarray) -> None:
    first, second = np.asarray(first), np.asarray(second)
    assert first.dtype == second.dtype
    assert first.shape == second.shape
    assert first.tobytes() == second.tobytes()


def activation_names(network: Networks) -> list[str]:
    return [ACTIVATION_NAMES[a] for a in network.node_activation]


def silence_unfed(networks: Networks) -> Networks:
    """Makes nodes that no link feeds yield 0, not activation(0).

    So has PUREPLES it: an output that nothing reaches is 0 even under a sigmoid.
    """
    first = np.repeat(networks.node_bounds[:-1], networks.num_links)
    is_fed = np.zeros(networks.node_activation.size, bool)
    is_fed[first + networks.link_target] = True
    silent = np.where(is_fed, networks.node_activation, activation_id("identity"))
    return dataclasses.replace(networks, node_activation=silent)
