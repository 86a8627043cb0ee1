"""One picture of a network that was evolved."""

from typing import TYPE_CHECKING

from ..decoders import AbstractDecoder
from ..evolution import Result
from ..neat import Genome
from ..network import Networks
from ._graph import plot_genome
from ._subject import EvolvedRun, is_placed, network_of, terminal_names
from ._substrate import plot_substrate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_best(
    run: EvolvedRun | Result | Networks,
    genome: Genome | None = None,
    decoder: AbstractDecoder | None = None,
) -> "Figure":
    """The best network on its substrate; with plain NEAT, which has none, its genome.

    **Arguments:**

    - `run`: what `substrax.evolve` returned, or a result.
    - `genome`, `decoder`: to draw a network that is given instead of the run.
    """
    network = network_of(run)
    if is_placed(network):
        return plot_substrate(network)
    if not isinstance(run, Networks):
        return plot_genome(run)
    if genome is None or decoder is None:
        raise ValueError(
            "the nodes of this network lie nowhere, so its genome is drawn: give the "
            "genome and its decoder, too, or only the run."
        )
    inputs, outputs = terminal_names(decoder)
    return plot_genome(genome, input_names=inputs, output_names=outputs)
