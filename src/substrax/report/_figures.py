"""Which figures a run has, with the words that go with them."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..decoders import AbstractDecoder, Direct, Discovered, HyperNEAT
from ..evolution import Best
from ..network import describe
from ..problems import WorldProblem
from ..substrate import Layout
from ._episode import episode_figure
from ._fields import MAX_PANELS, plot_fields, shown_terminals
from ._fitness import plot_fitness
from ._graph import plot_genome
from ._grid import MAX_LEVELS, MAX_SOURCES, plot_grid
from ._history import plot_growth
from ._run import Run
from ._species import has_species, plot_species
from ._subject import is_placed, panel_names, terminal_names
from ._substrate import (
    MAX_DRAWN_LINKS,
    link_masks,
    plot_link_classes,
    plot_substrate,
    present_classes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its name (of its files), its part of the page, and its words."""

    name: str
    part: str
    title: str
    caption: str
    alt: str
    figure: "Figure"


Pictures = Sequence[tuple[Picture, Sequence[Path]]]
"""Figures with the files that they were written to."""


def pictures(run: Run) -> Iterator[Picture]:
    """The figures of a run, one after the other; those that make sense for it."""
    yield from _history(run)
    if run.best is not None:
        yield from _episode(run, run.best)
        yield from _genome(run, run.best)
        yield from _network(run.best)


def _number(value: object) -> str:
    return "none" if value is None else f"{value:z.4g}"


def _history(run: Run) -> Iterator[Picture]:
    first, last = run.metrics[0], run.metrics[-1]
    target = "" if run.target is None else f" The target is {run.target:g}."
    yield Picture(
        "fitness",
        "overview",
        "Fitness over generations",
        "Best and mean fitness of each generation, and the best so far." + target,
        f"Line chart. The best fitness so far goes from {_number(first['best_ever'])} "
        f"in generation {first['generation']} to {_number(last['best_ever'])} in "
        f"generation {last['generation']}; the mean ends at "
        f"{_number(last['mean_fitness'])}.{target}",
        plot_fitness(run.metrics, run.target),
    )
    if has_species(run.metrics):
        yield Picture(
            "species",
            "evolution",
            "Species",
            "How many genomes each species had, the oldest at the bottom. Those that "
            "had most members over the run have a colour and a number, the others are "
            "grey.",
            f"Stacked areas, one for each species: {first['num_species']} species in "
            f"the first generation, {last['num_species']} in the last.",
            plot_species(run.metrics),
        )
    yield Picture(
        "growth",
        "evolution",
        "Nodes and links",
        "Hidden nodes and links of networks (the generation's best, and the mean over "
        "the population), sizes of genomes, and how many networks had no hidden node.",
        f"Four line charts. The best network has {first['best_hidden']} hidden nodes "
        f"and {first['best_network_links']} links in the first generation, "
        f"{last['best_hidden']} and {last['best_network_links']} in the last.",
        plot_growth(run.metrics),
    )


def _layout(decoder: AbstractDecoder) -> Layout:
    assert isinstance(decoder, Discovered | HyperNEAT)
    is_found = isinstance(decoder, Discovered)
    return decoder.layout if is_found else decoder.substrate.layout


def _chosen(decoder: AbstractDecoder, num: int) -> str:
    """Says so if not all inputs have a panel of their own."""
    total = len(_layout(decoder).inputs)
    return f" Shown are {num} of {total} inputs." if num < total else ""


def _deeper(depth: int) -> str:
    """Says so if the grid has more levels than are drawn."""
    if depth < MAX_LEVELS:
        return ""
    return f" Drawn are levels 0 to {MAX_LEVELS - 1} of 0 to {depth}."


def _genome(run: Run, best: Best) -> Iterator[Picture]:
    decoder = run.decoder
    if decoder is None:
        return
    inputs, outputs = terminal_names(decoder)
    what = "network" if isinstance(decoder, Direct) else "CPPN"
    genome = best.genome
    enabled = int(np.asarray(genome.link_enabled).sum())
    disabled = int(genome.num_links) - enabled
    left_out = ""
    if disabled:
        words = "link is" if disabled == 1 else "links are"
        left_out = f" {disabled} disabled {words} left out."
    yield Picture(
        "genome",
        "cppn",
        f"The best {what} as a graph",
        "Inputs below, outputs above. Boxes give a node's activation and bias; lines "
        "are links, blue for positive and orange for negative weights, wider for "
        f"larger ones. What leads to no output is pale.{left_out}",
        f"Graph of the best {what}: {int(genome.num_nodes)} nodes, {enabled} enabled "
        "links.",
        plot_genome(genome, input_names=inputs, output_names=outputs),
    )
    if isinstance(decoder, Discovered | HyperNEAT):
        sources, targets = panel_names(run.preparation, _layout(decoder))
        yield Picture(
            "fields",
            "cppn",
            "The best CPPN as a pattern",
            "The weight of a link between the cross and each place of the plane: from "
            "inputs (links go out), and to outputs (links come in)."
            + (" Grey: LEO forbids the link." if "LEO" in outputs else "")
            + (
                " The last panel is the bias of a node at each place, on a scale of "
                "its own."
                if "bias" in outputs
                else ""
            )
            + _chosen(decoder, len(shown_terminals(_layout(decoder), MAX_PANELS)[0])),
            "Maps of the weight over the plane, one for each input or output shown.",
            plot_fields(decoder, genome, input_names=sources, output_names=targets),
        )
    if isinstance(decoder, Discovered):
        sources, targets = panel_names(run.preparation, _layout(decoder))
        num_levels = min(decoder.rule.depth + 1, MAX_LEVELS)
        yield Picture(
            "grid",
            "grid",
            "Active cells, level by level",
            f"{decoder.rule.cells_caption}. The colour is the weight seen from the "
            "cross, a black dot a link. The last row counts the inputs for which a "
            "cell is active; orange dots are hidden nodes of the network."
            + _chosen(decoder, MAX_SOURCES)
            + _deeper(decoder.rule.depth),
            f"Grid of {num_levels} levels for some inputs and for all of "
            "them together, with the number of active cells under each panel.",
            plot_grid(
                decoder,
                genome,
                best.network,
                input_names=sources,
                output_names=targets,
            ),
        )


def _episode(run: Run, best: Best) -> Iterator[Picture]:
    problem = run.problem
    if not isinstance(problem, WorldProblem):
        return
    watched = problem.prepared(best.preparation).watch(best.network)
    interface = problem.interface
    pictures = (
        "The environment at some steps, and below them t" if watched.pictures else "T"
    )
    total, num = watched.rewards.sum(), len(watched.rewards)
    yield Picture(
        "episode",
        "overview",
        "An episode of the best network",
        f"{pictures}he value of each node over time: outputs at the top, then hidden "
        "nodes, then inputs as the network gets them. The curve is the return so far. "
        f"This episode is a fresh one, with a return of {total:.4g}.",
        f"Heat map of the values of all nodes over {num} steps, and a curve of the "
        f"return, which ends at {total:.4g}.",
        episode_figure(
            watched,
            best.network,
            list(interface.input_names()),
            list(interface.output_names()),
        ),
    )


def _network(best: Best) -> Iterator[Picture]:
    network = best.network
    if not is_placed(network):
        return
    description = describe(network)
    num_links = description.num_links
    left_out = ""
    if num_links > MAX_DRAWN_LINKS:
        left_out = f" The {MAX_DRAWN_LINKS} strongest of {num_links} links are drawn."
    words = str(description).replace("\n", "; ")
    yield Picture(
        "substrate",
        "network",
        "Links by class",
        "Nodes where they lie on the plane; forward links run upwards, backward ones "
        f"downwards, lateral ones at one height. Wider lines are stronger.{left_out}",
        f"The best network on its substrate: {words}",
        plot_substrate(network),
    )
    if not num_links:
        return
    bias = ", and the nodes by bias" if network.node_bias.any() else ""
    yield Picture(
        "weights",
        "network",
        "Links by weight",
        f"The same links, coloured by weight{bias}.{left_out}",
        f"The best network, {num_links} links coloured by weight from "
        f"{network.link_weight.min():.3g} to {network.link_weight.max():.3g}.",
        plot_substrate(network, colour="weight"),
    )
    if len(present_classes(network)) > 1:
        counts = ", ".join(f"{m.sum()} {n}" for n, m in link_masks(network).items())
        yield Picture(
            "classes",
            "network",
            "Each class by itself",
            "Links of each class in a panel of its own.",
            f"Small pictures of the network, one for each class of links: {counts}.",
            plot_link_classes(network),
        )
