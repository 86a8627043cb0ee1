"""One picture of a network that was evolved."""

from typing import TYPE_CHECKING

from ..decoders import AbstractDecoder
from ..neat import Genome
from ..network import Networks
from ._graph import plot_genome
from ._substrate import plot_substrate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_best(network: Networks, genome: Genome, decoder: AbstractDecoder) -> "Figure":
    """A network on its substrate; with plain NEAT, where it has none, its genome."""
    figure = plot_substrate(network)
    if figure is not None:
        return figure
    return plot_genome(
        genome,
        input_names=decoder.genome_inputs,
        output_names=decoder.genome_outputs,
    )
