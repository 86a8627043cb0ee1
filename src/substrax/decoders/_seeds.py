"""Genomes to start from that come with the package: the seeds of the literature.

*x-locality*: a link is expressed where its ends are near one another along x, which is
how Verbancsics & Stanley, "Constraining Connectivity to Encourage Modularity in
HyperNEAT", GECCO 2011, seed LEO. *geometry*: weights depend on how far the ends are
from one another along y, after Risi & Stanley, "An Enhanced Hypercube-Based Encoding
for Evolving the Placement, Density, and Connectivity of Neurons", Artificial Life
18(4), 2012, who seed the weight with a gaussian of y; that it is one of the difference
is our reading.
"""

from collections.abc import Sequence

from .._types import shown
from ..neat import GenomeData, LinkData, NodeData

_SEPARATOR = "+"

LOCALITY_BIAS = -0.8
"""What LEO gets besides the gaussian, whose largest value is 1: links whose ends are
less than some 0.47 apart are expressed (where gauss is exp(-z^2))."""

SEED_ACTIVATIONS = ("gauss", "identity")
"""Functions that they use."""

SEEDS = ("x-locality", "geometry", "x-locality+geometry")
"""Names of seeds."""


def seed_genome(
    name: str, coordinates: Sequence[str], outputs: Sequence[str]
) -> GenomeData:
    """The seed of a name, for CPPNs with these inputs and outputs."""
    parts = name.split(_SEPARATOR)
    nodes: list[NodeData] = []
    links: list[LinkData] = []
    for part in parts:
        if part == "x-locality":
            output, axis, node = "leo", "x", "near"
        elif part == "geometry":
            output, axis, node = "weight", "y", "level"
        else:
            raise ValueError(
                f"there is no seed {shown(name)}: use one of {', '.join(SEEDS)}."
            )
        if output not in outputs:
            raise ValueError(
                f"the seed {part} is about the CPPN's output {output}, but its outputs "
                f"are {', '.join(outputs)}. Add {output} to method.outputs."
            )
        nodes.append(NodeData(node, "gauss"))
        links += _difference(axis, node, coordinates, part)
        links.append(LinkData(node, output, 1.0))
        if output == "leo":
            threshold, given = _threshold(coordinates)
            links += threshold
            nodes.append(NodeData("leo", "identity", given))
    return GenomeData(tuple(nodes), tuple(links))


def _difference(
    axis: str, node: str, coordinates: Sequence[str], seed: str
) -> list[LinkData]:
    """Links that make a node the difference of the two ends along an axis."""
    first, second, both = f"{axis}1", f"{axis}2", f"d{axis}"
    if first in coordinates and second in coordinates:
        return [LinkData(first, node, 1.0), LinkData(second, node, -1.0)]
    if both in coordinates:
        return [LinkData(both, node, 1.0)]
    raise ValueError(
        f"the seed {seed} needs the CPPN's inputs {first} and {second}, or {both}, but "
        f"its inputs are {', '.join(coordinates)}. Add them to method.coordinates."
    )


def _threshold(coordinates: Sequence[str]) -> tuple[list[LinkData], float]:
    """The bias of LEO: by a link, which every NEAT can mutate, or as the node's own."""
    if "bias" in coordinates:
        return [LinkData("bias", "leo", LOCALITY_BIAS)], 0.0
    return [], LOCALITY_BIAS
