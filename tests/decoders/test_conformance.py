"""What every decoder must hold: the network is a function of its genome alone."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from substrax.decoders import (
    AbstractDecoder,
    Direct,
    FixedSubstrate,
    HyperNEAT,
    emr_hyperneat,
    es_hyperneat,
)
from substrax.neat import NEATConfig
from substrax.network import evaluate
from substrax.substrate import EMRRule, ESRule, Layout
from tests.decoders.support import HIDDEN, OUTPUT, genomes_of, reading, take
from tests.network.support import assert_same_bits, assert_same_networks
from tests.substrate.support import ACTIVATIONS, MAPS, draw_cppns

LAYOUT = Layout.spread(3, 2)
COMMON: dict[str, Any] = {
    "reading": reading(precision="f32"),
    "weight_map": MAPS["neat-python"],
    "hidden_activation": HIDDEN,
    "output_activation": OUTPUT,
}
DIRECT = Direct(5, 1, activations=ACTIVATIONS)

DECODERS: dict[str, AbstractDecoder] = {
    "direct": DIRECT,
    "direct, recurrent": dataclasses.replace(DIRECT, is_recurrent=True),
    "hyperneat": HyperNEAT(FixedSubstrate.grid(LAYOUT, 2, 3), **COMMON),
    "es": es_hyperneat(LAYOUT, ESRule(depth=2, initial_depth=1), **COMMON),
    "emr": emr_hyperneat(LAYOUT, EMRRule(depth=2), **COMMON),
    "emr, eager, full": emr_hyperneat(
        LAYOUT, EMRRule(depth=1, connections="full"), **COMMON, strategy="eager"
    ),
}

every_decoder = pytest.mark.parametrize("name", DECODERS)
NUM = 5
GENOMES = genomes_of(draw_cppns(17, NUM))


def samples(decoder: AbstractDecoder) -> np.ndarray:
    num = decoder.decode(take(GENOMES, [0])).num_inputs
    return np.random.default_rng(2).uniform(-1, 1, (6, num)).astype(np.float32)


@every_decoder
def test_one_network_for_each_genome(name: str) -> None:
    decoder = DECODERS[name]
    assert (decoder.num_genome_inputs, decoder.num_genome_outputs) == (5, 1)
    networks = decoder.decode(GENOMES)
    assert len(networks) == NUM
    assert networks.num_links.sum() > 0
    values = evaluate(networks, samples(decoder))
    assert values.shape == (NUM, 6, networks.num_outputs)
    assert np.isfinite(values).all()


@every_decoder
@pytest.mark.parametrize(
    ("inputs", "outputs", "sentence"),
    [(5, 2, "Set NEATConfig.num_outputs to 1"), (4, 1, "num_inputs=4.*with 5")],
)
def test_a_neat_with_other_inputs_or_outputs_is_refused(
    name: str, inputs: int, outputs: int, sentence: str
) -> None:
    DECODERS[name].check_config(NEATConfig(num_inputs=5, num_outputs=1))
    with pytest.raises(ValueError, match=sentence):
        DECODERS[name].check_config(NEATConfig(num_inputs=inputs, num_outputs=outputs))


@every_decoder
def test_population_axis_is_required(name: str) -> None:
    with jax.enable_x64(True):
        one = jax.tree.map(lambda x: x[0], GENOMES)
    with pytest.raises(ValueError, match=r"takes a population.*leading axis"):
        DECODERS[name].decode(one)


@every_decoder
def test_decoding_twice_gives_the_same_bits(name: str) -> None:
    decoder = DECODERS[name]
    first, second = decoder.decode(GENOMES), decoder.decode(GENOMES)
    assert_same_networks(first, second)
    assert_same_bits(
        evaluate(first, samples(decoder)), evaluate(second, samples(decoder))
    )


@every_decoder
@given(index=st.lists(st.integers(0, NUM - 1), min_size=1, max_size=6))
@settings(max_examples=4)
def test_neighbours_and_positions_change_no_bit(name: str, index: list[int]) -> None:
    decoder = DECODERS[name]
    whole = decoder.decode(GENOMES)
    some = decoder.decode(take(GENOMES, index))
    values = evaluate(whole, samples(decoder))
    assert_same_bits(evaluate(some, samples(decoder)), values[index])
    for place, genome in enumerate(index):
        assert_same_networks(some[place], whole[genome])


@every_decoder
def test_an_empty_population_has_no_networks(name: str) -> None:
    decoder = DECODERS[name]
    networks = decoder.decode(take(GENOMES, []))
    assert len(networks) == 0
    assert evaluate(networks, samples(decoder)).shape[0] == 0
