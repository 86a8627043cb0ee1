"""Seeds that come with the package."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.decoders import (
    SEEDS,
    CPPNReading,
    FixedSubstrate,
    HyperNEAT,
    seed_genome,
)
from substrax.substrate import WeightMap, line

FIVE = ("x1", "y1", "x2", "y2", "bias")
OUTPUTS = ("weight", "leo", "bias")
LAYERS = [line(9, -1.0), line(9, 1.0)]


def decode(name: str, coordinates: tuple[str, ...] = FIVE, **changes: float):
    """The network of a seed, with a constant weight where the seed says none."""
    reading = CPPNReading(coordinates=coordinates, outputs=("weight", "leo"))
    data = seed_genome(name, coordinates, reading.outputs)
    genome = data.genome(coordinates, reading.outputs)
    bias = np.array(genome.node_bias)
    if "geometry" not in name:
        bias[len(coordinates)] = 1.0
    genome = jax.tree.map(lambda x: x[None], genome)
    genome = type(genome)(**{**vars(genome), "node_bias": jnp.asarray(bias)[None]})
    decoder = HyperNEAT(
        FixedSubstrate.layered(LAYERS), reading, WeightMap("linear", 1.0)
    )
    return decoder.decode(genome)


@pytest.mark.parametrize("coordinates", [FIVE, ("x1", "x2"), ("dx", "bias"), ("dx",)])
def test_x_locality_expresses_links_between_what_is_near(coordinates) -> None:
    network = decode("x-locality", coordinates)
    source = network.node_point[network.link_source, 0]
    target = network.node_point[network.link_target, 0]
    # exp(-d^2) > 0.8 for d < 0.472: neighbours at a distance of 0.25
    wanted = {
        (a, b) for a in LAYERS[0][:, 0] for b in LAYERS[1][:, 0] if abs(a - b) < 0.472
    }
    assert set(zip(source, target, strict=True)) == wanted


def test_geometry_makes_weights_of_distances_along_y() -> None:
    data = seed_genome("geometry", FIVE, ("weight",))
    assert {link.source for link in data.links} == {"y1", "y2", "level"}
    reading = CPPNReading()
    genome = data.genome(FIVE, reading.outputs)
    layers = [line(1, -1.0), line(1, -0.5), line(1, 1.0)]
    decoder = HyperNEAT(
        FixedSubstrate.layered(layers), reading, WeightMap("linear", 1.0)
    )
    network = decoder.decode(jax.tree.map(lambda x: x[None], genome))
    weights = dict(zip(network.link_source.tolist(), network.link_weight, strict=True))
    assert weights[0] == pytest.approx(np.exp(-0.25))
    assert weights[2] == pytest.approx(np.exp(-2.25))


@pytest.mark.parametrize("name", SEEDS)
def test_every_seed_is_a_genome(name: str) -> None:
    data = seed_genome(name, FIVE, OUTPUTS)
    genome = data.genome(FIVE, OUTPUTS)
    assert int(genome.num_links) == len(data.links) > 2


@pytest.mark.parametrize(
    ("name", "coordinates", "outputs", "sentence"),
    [
        ("x-locality", FIVE, ("weight",), "Add leo to method.outputs"),
        ("geometry", ("x1", "x2"), ("weight",), "needs the CPPN's inputs y1 and y2"),
        ("locality", FIVE, OUTPUTS, "there is no seed 'locality'"),
    ],
)
def test_seeds_that_do_not_fit_are_refused(
    name: str, coordinates: tuple[str, ...], outputs: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        seed_genome(name, coordinates, outputs)
