"""Engines in 32 bits: they differ only where rounding decides a comparison.

That rounding decides is shown by moving the thresholds: a link that is there in 64 bits
however they are moved a little, or never there, is decided by no close comparison, and
both engines have to agree about it in 32 bits as well, in every network.
"""

import dataclasses

import numpy as np
import pytest

from substrax import Resources
from substrax.decoders import CPPNReading, Discovered
from substrax.network import Networks
from substrax.substrate import EMRRule, ESRule, Layout, WeightMap
from tests.decoders.support import genomes_of
from tests.substrate.support import ACTIVATIONS, draw_cppns

DEVICE, NATIVE = Resources(engine="device"), Resources(engine="native")
NUM = 40
MARGIN = 2e-4
"""Of thresholds, in parts of them; 32 bits are good for far less."""

RULES = {
    "emr": EMRRule(3, weight_threshold=1.0),
    "emr, band, weight": EMRRule(
        2, band_threshold=0.2, field="weight", variance_threshold=1.0
    ),
    "emr, full": EMRRule(2, weight_threshold=0.5, connections="full"),
    "es": ESRule(3, division_threshold=0.3),
}
THRESHOLDS = (
    "variance_threshold", "weight_threshold", "band_threshold", "division_threshold",
)  # fmt: skip


def decoder(rule: EMRRule | ESRule, precision: str) -> Discovered:
    reading = CPPNReading(activations=ACTIVATIONS, precision=precision)
    return Discovered(Layout.spread(2, 1), rule, reading, WeightMap("linear", 8.0))


def moved(rule: EMRRule | ESRule, factors: dict[str, float]) -> EMRRule | ESRule:
    changes = {
        name: getattr(rule, name) * factor
        for name, factor in factors.items()
        if hasattr(rule, name)
    }
    return dataclasses.replace(rule, **changes)


def links(networks: Networks) -> list[frozenset]:
    """Links by the positions of their ends, for each network."""
    found = []
    for k in range(len(networks)):
        one = networks[k]
        points = [tuple(point) for point in one.node_point.tolist()]
        ends = zip(one.link_source.tolist(), one.link_target.tolist(), strict=True)
        found.append(frozenset((points[s], points[t]) for s, t in ends))
    return found


SLOW = ("emr, band, weight", "emr, full", "es")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in RULES],
)
def test_engines_differ_in_32_bits_only_where_rounding_decides(name: str) -> None:
    rule = RULES[name]
    genomes = genomes_of(draw_cppns(11, NUM))
    wide = decoder(rule, "f64")
    wanted = links(wide.decode(genomes, NATIVE))
    # Links that are there, and those that are there sometimes, as thresholds move.
    always, ever = list(wanted), list(wanted)
    signs = np.array(np.meshgrid(*[[-1, 1]] * len(THRESHOLDS))).reshape(4, -1).T
    for row in signs:
        factors = {
            threshold: 1 + sign * MARGIN
            for threshold, sign in zip(THRESHOLDS, row, strict=True)
        }
        other = decoder(moved(rule, factors), "f64")
        found = links(other.decode(genomes, NATIVE))
        always = [a & b for a, b in zip(always, found, strict=True)]
        ever = [a | b for a, b in zip(ever, found, strict=True)]
    # Nearly all are clear, or this would be a test of nothing.
    num_close = sum(len(a - b) for a, b in zip(ever, always, strict=True))
    assert num_close < 0.02 * sum(map(len, wanted))
    assert sum(map(len, wanted)) > NUM
    narrow = decoder(rule, "f32")
    for resources in (NATIVE, DEVICE):
        for k, found in enumerate(links(narrow.decode(genomes, resources))):
            assert always[k] <= found <= ever[k], (resources.engine, k)
