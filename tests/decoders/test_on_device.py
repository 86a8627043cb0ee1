"""Populations decoded by the tensor engine: in blocks, with room that grows."""

import dataclasses
from unittest import mock

import jax
import numpy as np
import pytest

import substrax.decoders._discovered as discovered_module
import substrax.decoders._on_device as on_device
from substrax import Resources
from substrax.decoders import CPPNReading, Discovered, NetworkCache
from substrax.network import Networks
from substrax.substrate import EMRRule, ESRule, Layout, WeightMap
from tests.decoders.support import genomes_of
from tests.network.support import assert_same_networks
from tests.substrate.support import ACTIVATIONS, draw_cppns

DEVICE, NATIVE = Resources(engine="device"), Resources(engine="native")
LAYOUT = Layout.spread(2, 1)


def decoder(rule: EMRRule | ESRule, precision: str = "f64") -> Discovered:
    reading = CPPNReading(activations=ACTIVATIONS, precision=precision)
    return Discovered(LAYOUT, rule, reading, WeightMap("linear", 8.0))


EMR = decoder(EMRRule(2))


def assert_same_links(first: Networks, second: Networks) -> None:
    """Each engine has an order of its own for links."""
    for name in ("node_bounds", "link_bounds", "num_found", "node_activation"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    np.testing.assert_array_equal(first.node_point, second.node_point)
    owner = np.repeat(np.arange(len(first)), first.num_links)
    columns = []
    for n in (first, second):
        order = np.lexsort((n.link_target, n.link_source, owner))
        columns.append(
            (n.link_source[order], n.link_target[order], n.link_weight[order])
        )
    for ours, theirs in zip(*columns, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def test_a_population_is_the_same_as_its_genomes_one_by_one() -> None:
    narrow = dataclasses.replace(
        EMR, reading=dataclasses.replace(EMR.reading, precision="f32")
    )
    genomes = genomes_of(draw_cppns(3, 37))
    whole = narrow.decode(genomes, DEVICE)
    for k in (0, 5, 36):
        alone = narrow.decode(
            jax.tree.map(lambda x, k=k: x[k : k + 1], genomes), DEVICE
        )
        assert_same_networks(alone, whole[k])


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(EMRRule(3, weight_threshold=1.0), id="emr"),
        pytest.param(ESRule(2), id="es", marks=pytest.mark.slow),
    ],
)
def test_room_grows_until_it_is_enough(rule: EMRRule | ESRule) -> None:
    genomes = genomes_of(draw_cppns(4, 12))
    some = decoder(rule)
    wanted = some.decode(genomes, NATIVE)
    assert wanted.num_found.max() > 16 > wanted.num_found.min()
    grown = []

    def grow(capacity, needed):
        grown.append(real(capacity, needed))
        return grown[-1]

    real = on_device._grown
    with (
        mock.patch.object(discovered_module, "_HIDDEN", 4),
        mock.patch.object(discovered_module, "_EAGER_DEPTH", 1),
        mock.patch.object(on_device, "_grown", grow),
    ):
        found = some.decode(genomes, DEVICE)
    assert_same_links(found, wanted)
    assert len(grown) > 1


def test_what_does_not_fit_the_memory_is_refused_in_words() -> None:
    deep = decoder(EMRRule(7, initial_depth=7, weight_threshold=0.0))
    genomes = genomes_of(draw_cppns(4, 1))
    with pytest.raises(ValueError, match=r"one network needs about .* engine native"):
        deep.decode(genomes, Resources(engine="device", memory_budget="64MiB"))


def test_blocks_follow_the_memory_of_a_device() -> None:
    # On CPUs, where memory is the machine's: up to 32 genomes and 256 MiB.
    assert on_device._block_size(1 << 10, None) == 32
    assert on_device._block_size(1 << 26, None) == 4
    assert on_device._block_size(1 << 40, None) == 1
    # An eighth of a device's own memory, and a power of two.
    assert on_device._block_size(1 << 20, 11 << 30) == 64
    assert on_device._block_size(30 << 20, 11 << 30) == 32
    assert on_device._block_size(1 << 28, 11 << 30) == 4


def test_a_budget_is_no_more_than_half_of_a_device() -> None:
    with mock.patch("substrax._resources.device_memory", lambda: 1 << 30):
        assert Resources().device_budget == 1 << 29
        assert Resources(memory_budget="64MiB").device_budget == 64 << 20
        assert Resources(memory_budget="8GiB").device_budget == 1 << 29
    some = Resources(memory_budget="64MiB")
    assert some.device_budget == some.budget


def test_the_cache_serves_devices_too() -> None:
    genomes = genomes_of(draw_cppns(3, 5))
    cache = NetworkCache(1 << 20)
    wanted = EMR.decode(genomes, DEVICE)
    for _ in range(2):
        assert_same_networks(cache.decode(EMR, genomes, DEVICE), wanted)
    assert cache.num_hits == 5


def test_no_genomes_have_no_networks() -> None:
    none = jax.tree.map(lambda x: x[:0], genomes_of(draw_cppns(3, 1)))
    found, wanted = (EMR.decode(none, r) for r in (DEVICE, NATIVE))
    assert len(found) == len(wanted) == 0


def test_a_genome_that_cannot_be_read_is_told_as_elsewhere() -> None:
    genomes = genomes_of(draw_cppns(3, 3))
    few = dataclasses.replace(
        EMR, reading=dataclasses.replace(EMR.reading, activations=("tanh",))
    )
    for resources in (NATIVE, DEVICE):
        with pytest.raises(ValueError, match="`activations` does not list"):
            few.decode(genomes, resources)
