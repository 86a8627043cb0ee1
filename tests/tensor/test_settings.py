"""Drawn settings, layouts, CPPNs and rooms: both engines find the same links."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import substrax.decoders._discovered as discovered_module
from substrax import Resources
from substrax.decoders import CPPNReading, Discovered
from tests.decoders.support import genomes_of
from tests.decoders.test_on_device import assert_same_links
from tests.substrate.support import (
    ACTIVATIONS,
    MAPS,
    SEEDS,
    draw_cppns,
    emr_rules,
    es_rules,
    layouts,
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["es", "emr"])
@given(data=st.data(), seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_engines_agree_on_whatever_is_drawn(
    kind: str, data: st.DataObject, seed: int
) -> None:
    """Each setting is a program to compile, hence so few of them here."""
    assert_engines_agree(kind, 2, data, seed)


@pytest.mark.parametrize("kind", ["es", "emr"])
@given(data=st.data(), seed=SEEDS)
@settings(max_examples=2, deadline=None)
def test_engines_agree_on_what_is_drawn_at_small_depth(
    kind: str, data: st.DataObject, seed: int
) -> None:
    assert_engines_agree(kind, 1, data, seed)


def assert_engines_agree(
    kind: str, max_depth: int, data: st.DataObject, seed: int
) -> None:
    rule = data.draw((es_rules if kind == "es" else emr_rules)(max_depth))
    layout = data.draw(layouts(rule.depth))
    dialect = data.draw(st.sampled_from(["plain", "neat-python"]))
    has_leo = data.draw(st.booleans())
    reading = CPPNReading(
        dialect,
        outputs=("weight", "leo") if has_leo else ("weight",),
        activations=ACTIVATIONS,
        precision="f64",
    )
    decoder = Discovered(layout, rule, reading, MAPS[dialect])
    genomes = genomes_of(draw_cppns(seed, 6, leo=has_leo), reading.outputs)
    wanted = decoder.decode(genomes, Resources(engine="native"))
    with (
        mock.patch.object(discovered_module, "_HIDDEN", data.draw(st.integers(4, 64))),
        mock.patch.object(
            discovered_module, "_EAGER_DEPTH", data.draw(st.integers(0, 2))
        ),
    ):
        found = decoder.decode(genomes, Resources(engine="device"))
    assert_same_links(found, wanted)
