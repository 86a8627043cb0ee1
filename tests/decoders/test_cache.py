"""A cache that is right: what it returns is what the decoder returns."""

import dataclasses

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.decoders import AbstractDecoder, Discovered, NetworkCache
from substrax.neat import Genome
from substrax.network import Networks
from substrax.substrate import EMRRule
from tests.decoders.support import genomes_of, reading, take
from tests.decoders.test_conformance import DECODERS, DIRECT, GENOMES, NUM
from tests.network.support import assert_same_networks
from tests.substrate.support import draw_cppns

EMR: Discovered = DECODERS["emr"]  # pyright: ignore[reportAssignmentType]
LARGE = 1 << 28


def with_fields(genomes: Genome, **values: np.ndarray) -> Genome:
    arrays = {f.name: np.asarray(getattr(genomes, f.name)) for f in FIELDS} | values
    with jax.enable_x64(True):
        return Genome(**{name: jax.numpy.asarray(a) for name, a in arrays.items()})


FIELDS = dataclasses.fields(Genome)
indices = st.lists(st.integers(0, NUM - 1), max_size=6)


@pytest.mark.parametrize("name", DECODERS)
@given(populations=st.lists(indices, min_size=1, max_size=4), share=st.floats(0, 1.2))
@settings(max_examples=4)
def test_cached_is_uncached(
    name: str, populations: list[list[int]], share: float
) -> None:
    """Whatever came before, however little is kept, from whichever decoder."""
    decoder = DECODERS[name]
    cache = NetworkCache(int(share * _size(decoder)))
    for index in populations:
        genomes = take(GENOMES, index)
        for one in (decoder, EMR):
            assert_same_networks(cache.decode(one, genomes), one.decode(genomes))
        assert cache.num_bytes <= cache.max_bytes


def _size(decoder: AbstractDecoder) -> int:
    cache = NetworkCache(LARGE)
    cache.decode(decoder, GENOMES)
    return cache.num_bytes


def test_hits_are_networks_that_were_not_built() -> None:
    decoder, cache = Counting(), NetworkCache(LARGE)
    asked = [
        ([0, 1, 2], 3, 0),
        ([1, 3, 1], 1, 2),  # one is known, one is new, one comes twice
        ([3, 1], 0, 2),
        ([0], 1, 0),  # not in the population before, so forgotten
    ]
    for index, num_built, num_hits in asked:
        before = cache.num_hits
        decoder.built.clear()
        cache.decode(decoder, take(GENOMES, index))
        assert sum(decoder.built) == num_built
        assert cache.num_hits - before == num_hits


class Counting(Discovered):
    """Notes how many networks it builds."""

    def __init__(self) -> None:
        super().__init__(
            **{f.name: getattr(EMR, f.name) for f in dataclasses.fields(EMR)}
        )
        object.__setattr__(self, "built", [])

    built: list[int]

    def decode_programs(self, programs, resources=None) -> Networks:
        self.built.append(programs.num_genomes)
        return super().decode_programs(programs, resources)


def hits(decoder: AbstractDecoder, first: Genome, second: Genome) -> int:
    cache = NetworkCache(LARGE)
    cache.decode(decoder, first)
    networks = cache.decode(decoder, second)
    assert_same_networks(networks, decoder.decode(second))
    return cache.num_hits


def test_ids_and_spare_room_do_not_matter() -> None:
    """A CPPN is what it computes: other numbers for the same nodes, more capacity."""
    genomes = GENOMES
    renamed = {
        name: np.where(ids >= 6, 3 * ids + 1, ids)
        for name in ("node_id", "link_source", "link_target")
        for ids in [np.asarray(getattr(genomes, name))]
    }
    assert hits(EMR, genomes, with_fields(genomes, **renamed)) == NUM
    roomy = {
        f.name: np.pad(
            np.asarray(getattr(genomes, f.name)),
            ((0, 0), (0, 3)),
            constant_values=-1 if f.name == "node_id" else 0,
        )
        for f in FIELDS
    }
    assert hits(EMR, genomes, with_fields(genomes, **roomy)) == NUM


def test_what_is_switched_off_does_not_matter_and_what_is_on_does() -> None:
    weight = np.asarray(GENOMES.link_weight)
    is_off = ~np.asarray(GENOMES.link_enabled)
    unused = with_fields(GENOMES, link_weight=np.where(is_off, 7.0, weight))
    assert hits(EMR, GENOMES, unused) == NUM
    # one bit in one weight of each genome
    first = np.argmin(is_off, axis=1)
    rows = np.arange(NUM)
    changed = weight.astype(np.float32)
    changed[rows, first] = np.nextafter(changed[rows, first], np.float32(9))
    assert hits(EMR, GENOMES, with_fields(GENOMES, link_weight=changed)) < NUM
    bias = np.asarray(GENOMES.node_bias) + 0.5
    assert hits(EMR, GENOMES, with_fields(GENOMES, node_bias=bias)) == 0


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(EMR, rule=EMRRule(depth=1)),
        dataclasses.replace(EMR, hidden_activation="relu"),
        dataclasses.replace(EMR, steps=3),
        DECODERS["es"],
        DECODERS["hyperneat"],
    ],
)
def test_another_configuration_finds_nothing(other: AbstractDecoder) -> None:
    cache = NetworkCache(LARGE)
    cache.decode(EMR, GENOMES)
    assert_same_networks(cache.decode(other, GENOMES), other.decode(GENOMES))
    assert cache.num_hits == 0


@pytest.mark.slow
def test_functions_that_are_not_named_change_no_bit() -> None:
    """Kernels are then compiled for what occurs, which differs between calls."""
    decoder = dataclasses.replace(
        EMR, reading=reading(precision="f32", activations=None)
    )
    more = genomes_of(draw_cppns(23, NUM))
    assert hits(decoder, GENOMES, GENOMES) == NUM
    cache = NetworkCache(LARGE)
    for genomes in (GENOMES, take(GENOMES, [1]), GENOMES):
        assert_same_networks(cache.decode(decoder, genomes), decoder.decode(genomes))
    assert hits(decoder, GENOMES, more) == 0


def test_it_holds_no_more_than_it_may() -> None:
    whole = _size(EMR)
    cache = NetworkCache(whole // 2)
    cache.decode(EMR, GENOMES)
    assert 0 < len(cache) < NUM and 0 < cache.num_bytes <= whole // 2
    kept = len(cache)
    cache.decode(EMR, GENOMES)
    assert cache.num_hits == kept
    # what has come again is the last to go
    cache.decode(EMR, take(GENOMES, [4, 3, 2, 1, 0]))
    assert cache.num_hits == 2 * kept
    assert len(NetworkCache(0)) == 0


def test_decoders_that_are_not_helped() -> None:
    cache = NetworkCache(LARGE)
    assert_same_networks(cache.decode(DIRECT, GENOMES), DIRECT.decode(GENOMES))
    assert len(cache) == 0
    decoder = Counting()
    object.__setattr__(decoder, "strategy", Strange("auto"))
    assert_same_networks(cache.decode(decoder, GENOMES), EMR.decode(GENOMES))
    assert len(cache) == 0


class Strange(str):
    """A field that may hold more than what can be seen."""


def test_a_negative_size_is_named() -> None:
    with pytest.raises(ValueError, match=r"max_bytes is -1\. Choose at least 0"):
        NetworkCache(-1)
