"""Why a search is stuck: what its records say, and what to change."""

from collections.abc import Sequence

import numpy as np

from ._record import GenerationRecord

WINDOW = 30
"""Generations that are looked at; with fewer nothing is said but that all is empty."""

_SHRUNK = 0.7
_MOST = 0.95


def diagnose(
    history: Sequence[GenerationRecord], method: str | None = None
) -> tuple[str, ...]:
    """Sentences about a run that has not been solved; none if nothing is wrong. What
    helps depends on the method.

    Looked at are the last generations: whether networks do anything, whether all have
    the same fitness, whether genomes shrink, whether one species is left.
    """
    if not history:
        return ()
    found = [*_failures(history), *_networks(history, method)]
    recent = history[-WINDOW:]
    if len(recent) < WINDOW:
        return tuple(found)
    # Networks without links are all as fit: that is a consequence, and not told again.
    if not found:
        found += _fitness(recent, method)
    since = _since_improved(history)
    if since >= WINDOW:
        found += _species(recent)
        found += _genomes(history)
    return tuple(found)


def _failures(history: Sequence[GenerationRecord]) -> list[str]:
    """Evaluations that gave no number."""
    last = history[-1]
    total = sum(s["size"] for s in last.species_size)
    if not total or last.num_failed < total:
        return []
    return [
        "every fitness of the last generation was NaN or infinite, so there is nothing "
        "to select. Look for a division, a logarithm or a root in the fitness that has "
        "no answer."
    ]


def _networks(history: Sequence[GenerationRecord], method: str | None) -> list[str]:
    """Networks without links: because none is found, or because others are worse."""
    now, first = _unlinked(history[-5:]), _unlinked(history[:1])
    recent = history[-WINDOW:]
    is_best = len(recent) == WINDOW and not any(r.best_network_links for r in recent)
    if now < _MOST and not is_best:
        return []
    if first > 0.5:
        return [
            f"{100 * now:.0f} % of the networks have no link at all, so there is "
            f"nothing to select. {_LINKS.get(method, _LINKS[None])}"
        ]
    return [
        f"networks without a link are selected: {100 * first:.0f} % had none at first, "
        f"{100 * now:.0f} % have none now, so those with links must be worse than an "
        f"answer that is always the same. {_CONSTANT.get(method, _CONSTANT[None])}"
    ]


def _unlinked(records: Sequence[GenerationRecord]) -> float:
    """The share of networks without a link."""
    total = sum(sum(s["size"] for s in r.species_size) for r in records)
    return sum(r.num_unlinked for r in records) / total if total else 0.0


_LINKS = {
    "neat": "Lower neat.mutation.delete_link_rate, raise neat.mutation.add_link_rate, "
    "or start with links (neat.initial_connection full).",
    "hyperneat": "Lower method.weight_threshold or raise method.max_weight; with the "
    "output leo, start from a CPPN that lets links through (start.genome x-locality).",
    None: "Lower method.weight_threshold or method.variance_threshold, or raise "
    "method.initial_depth; with the output leo, start from a CPPN that lets links "
    "through (start.genome x-locality).",
}
"""What gives networks links, by method."""

_CONSTANT = {
    "neat": "See whether outputs can have the values that the fitness asks for "
    "(neat.activation_options, neat.output_activation).",
    None: "Without biases, networks of tanh nodes are odd functions of their inputs, "
    "but for a constant: give nodes biases (method.outputs weight,bias), or the "
    "networks an input that is always 1. See whether outputs can have the values that "
    "the fitness asks for (method.output_activation), or use method neat.",
}
"""What makes networks with links better than those without, by method."""


def _fitness(recent: Sequence[GenerationRecord], method: str | None) -> list[str]:
    """Fitness that is the same for all."""
    biases = (
        "" if method == "neat" else "give nodes biases (method.outputs weight,bias), "
    )
    # None: every evaluation failed, which is another matter.
    if any(r.fitness_spread is None or r.fitness_spread > 0 for r in recent):
        return []
    return [
        f"for {len(recent)} generations all networks have had the same fitness, so "
        "there is nothing to select: their outputs are constant, or the fitness does "
        f"not depend on them. Look at the best network's diagnosis, {biases}or use a "
        "fitness with more steps."
    ]


def _species(recent: Sequence[GenerationRecord]) -> list[str]:
    if any(r.num_species > 1 for r in recent):
        return []
    return [
        f"for {len(recent)} generations there has been one species only, so nothing "
        "protects what is new. Set neat.speciation.target_num_species (4 to 10), or "
        "lower neat.speciation.compatibility_threshold."
    ]


def _genomes(history: Sequence[GenerationRecord]) -> list[str]:
    first = history[0].mean_genome_links
    now = float(np.mean([r.mean_genome_links for r in history[-WINDOW:]]))
    if now >= _SHRUNK * first:
        return []
    return [
        f"genomes shrink: they had {first:.1f} links on average and now have "
        f"{now:.1f}. Lower neat.mutation.delete_link_rate and delete_node_rate, raise "
        "neat.mutation.add_link_attempts, or use the preset substrax."
    ]


def _since_improved(history: Sequence[GenerationRecord]) -> int:
    """Generations since the best fitness of the run was last improved."""
    last = history[-1].best_ever
    number = 0
    for record in reversed(history[:-1]):
        if record.best_ever != last:
            break
        number += 1
    return number
