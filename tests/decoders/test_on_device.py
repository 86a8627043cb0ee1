"""Populations decoded by the tensor engine: in blocks, with room that grows."""

import contextlib
import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np
import pytest

import substrax.decoders._discovered as discovered_module
import substrax.decoders._on_device as on_device
from substrax import Resources
from substrax.decoders import CPPNReading, Discovered, NetworkCache
from substrax.decoders._cache import decode_counted
from substrax.neat import Genome
from substrax.network import Networks
from substrax.substrate import EMRRule, ESRule, Layout, WeightMap
from substrax.tensor import MAX_DEPTH, Capacity, Shortage
from tests.compilations import counted_compilations
from tests.decoders.support import genomes_of, take
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


@contextlib.contextmanager
def accelerator(memory: int) -> Iterator[Resources]:
    """What engine auto has where JAX finds a device with so much memory: here it is one
    by assertion."""
    with (
        mock.patch("substrax._resources._automatic", lambda: None),
        mock.patch("substrax._resources.device_memory", lambda: memory),
    ):
        yield Resources()


def test_what_no_device_has_room_for_is_left_to_the_native_engine() -> None:
    """By its own size, whatever its population is; the rest stays on the device."""
    genomes = genomes_of(draw_cppns(4, 12))
    wanted = EMR.decode(genomes, NATIVE)
    # Room for 8 nodes and for 16 is there, for 32 is not, in half of this.
    with accelerator(240_000), mock.patch.object(discovered_module, "_HIDDEN", 8):
        found = decode_counted(EMR, genomes, Resources())
        alone = [
            decode_counted(EMR, take(genomes, [k]), Resources()).is_on_host[0]
            for k in (0, 1, 2, 3)
        ]
        for insisting in (DEVICE, Resources(devices=1)):
            with pytest.raises(ValueError, match="one network needs about"):
                EMR.decode(genomes, insisting)
    assert_same_links(found.networks, wanted)
    np.testing.assert_array_equal(found.is_on_host, wanted.num_found > 16)
    is_between = (wanted.num_found > 8) & (wanted.num_found <= 16)
    np.testing.assert_array_equal(found.is_grown, is_between)
    assert is_between.any() and 0 < found.is_on_host.sum() < 12
    assert alone == found.is_on_host[:4].tolist()


def test_room_for_genomes_that_nobody_uses_sends_none_to_the_native_engine() -> None:
    genomes = jax.tree.map(np.asarray, genomes_of(draw_cppns(4, 12)))
    leaves, structure = jax.tree.flatten(genomes)
    names = [field.name for field in dataclasses.fields(Genome)]
    wide = [
        np.pad(x, ((0, 0), (0, 64)), constant_values=-1 if name == "node_id" else 0)
        if name.startswith("node")
        else x
        for name, x in zip(names, leaves, strict=True)
    ]
    with accelerator(240_000), mock.patch.object(discovered_module, "_HIDDEN", 8):
        few, many = (
            decode_counted(EMR, some, Resources())
            for some in (genomes, jax.tree.unflatten(structure, wide))
        )
    np.testing.assert_array_equal(few.is_on_host, many.is_on_host)
    np.testing.assert_array_equal(few.is_grown, many.is_grown)
    assert_same_networks(few.networks, many.networks)


def test_room_grows_for_each_genome_by_its_own_need() -> None:
    """Nobody depends on the largest network of the population; and in few sizes."""
    capacity = Capacity(64, (1, 4, 16, 64, 64, 64))
    arrays: Any = (
        np.array([70, 600, 10, 65, 512, 5400]),
        np.array([[1, 4, 16, 64, 8, n] for n in (8, 8, 100, 900, 8, 8)]),
    )
    grown = {}
    for choices, rows in on_device._grown_by_need(capacity, Shortage(*arrays)):
        large, fine = ((more.hidden, more.quads[4:]) for more in choices)
        grown |= dict.fromkeys(rows.tolist(), (large, fine))
    assert grown == {
        0: ((512, (256, 256)), (128, (64, 64))),
        1: ((4096, (256, 1024)), (1024, (64, 64))),
        2: ((512, (256, 256)), (64, (256, 256))),
        3: ((4096, (256, 1024)), (128, (256, 1024))),
        4: ((512, (256, 256)), (512, (64, 64))),
        5: ((5460, (256, 1024)), (5460, (64, 64))),  # all cells there are
    }


def test_one_program_for_each_size_of_room() -> None:
    """Whatever the number of genomes, and of those that need more."""
    # (settings that no other test here has compiled)
    some = decoder(EMRRule(1, weight_threshold=0.77), "f32")
    genomes = genomes_of(draw_cppns(4, 40))
    with (
        mock.patch.object(discovered_module, "_HIDDEN", 3),
        counted_compilations() as compilations,
    ):
        for num in (40, 1, 12, 33):
            found = decode_counted(some, take(genomes, list(range(num))), DEVICE)
        assert 1 < found.is_grown.sum() < 33
    assert compilations.names.count("jit(population)") == 2


@pytest.mark.slow
def test_engines_agree_at_the_deepest_grid_of_a_device() -> None:
    deep = decoder(EMRRule(MAX_DEPTH, variance_threshold=0.1, weight_threshold=2.0))
    genomes = genomes_of(draw_cppns(8, 6))
    wanted = deep.decode(genomes, NATIVE)
    heights = wanted.node_point[:, 1]
    # Some nodes lie as deep as this: their cells are as small.
    assert (np.abs(heights * 2**MAX_DEPTH % 1) > 0).any()
    assert_same_links(deep.decode(genomes, DEVICE), wanted)


_SPREAD = """
from unittest import mock
import substrax.decoders._on_device as on_device
from substrax import Resources
from tests.decoders.test_on_device import EMR, genomes_of, draw_cppns
from tests.network.support import assert_same_networks

sizes, real = [], on_device.over_genomes
def counted(*args, mesh, **more):
    sizes.append(1 if mesh is None else mesh.size)
    return real(*args, mesh=mesh, **more)

genomes = genomes_of(draw_cppns(3, 37))
with mock.patch.object(on_device, "over_genomes", counted):
    all_of_them, one = (
        EMR.decode(genomes, Resources(engine="device", devices=n)) for n in (None, 1)
    )
assert set(sizes) == {4, 1}, sizes
assert_same_networks(all_of_them, one)
"""


@pytest.mark.slow
def test_networks_for_the_host_are_made_by_all_devices() -> None:
    flags = "--xla_force_host_platform_device_count=4"
    subprocess.run(
        [sys.executable, "-c", _SPREAD],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}"},
        check=True,
        timeout=300,
    )


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
