"""The published vectors, PUREPLES' networks, by the tensor engine: link for link."""

from typing import Any

import pytest

from substrax import Resources
from substrax.decoders import CPPNReading, Discovered
from substrax.substrate import ESRule, Layout, WeightMap
from tests.decoders.support import genomes_of
from tests.reference.es import parameters_of
from tests.substrate.support import (
    ACTIVATIONS,
    Wiring,
    hidden_of,
    links_of,
    without_silent_nodes,
)
from tests.substrate.test_vectors import CASES

FEW = CASES[::32]
"""Each has settings of its own, hence a program of its own to compile."""


def assert_reproduced(case: dict[str, Any]) -> None:
    reading = CPPNReading("neat-python", activations=ACTIVATIONS, precision="f64")
    layout = Layout(case["inputs"], case["outputs"])
    rule = ESRule(**vars(parameters_of(case["params"])))
    weight_map = WeightMap("deadzone", case["params"]["max_weight"])
    decoder = Discovered(layout, rule, reading, weight_map)
    genomes = genomes_of([without_silent_nodes(case["cppn"])])
    networks = decoder.decode(genomes, Resources(engine="device"))
    wiring = Wiring(networks, layout, 0)
    links = links_of(wiring, 0)
    wanted = {((a, b), (c, d)): w for a, b, c, d, w in case["connections"]}
    assert hidden_of(wiring, 0) == {(x, y) for x, y in case["hidden"]}
    assert links.keys() == wanted.keys()
    for link, weight in wanted.items():
        assert abs(links[link] - weight) <= 1e-9


@pytest.mark.parametrize("case", FEW, ids=lambda case: str(case["case"]))
def test_some_vectors_are_reproduced(case: dict[str, Any]) -> None:
    assert_reproduced(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["case"]))
def test_every_vector_is_reproduced(case: dict[str, Any]) -> None:
    assert_reproduced(case)
