"""The first population."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from ..cppn import NO_ACTIVATION, activation_id
from ._attributes import draw_activation, draw_initial
from ._config import NEATConfig
from ._draws import draw_first_nodes
from ._genome import (
    LARGEST_GENOME,
    Genome,
    compact_links,
    empty_genome,
    materialise,
)
from ._random import AnyKey, as_jax_key, bits, split, split_population, uniform


def initial_pairs(config: NEATConfig) -> Int[np.ndarray, "pairs 2"]:
    """The (source, target) ids that the first genomes may be linked by, in order."""
    num_fixed = config.num_inputs + config.num_outputs
    inputs = range(config.num_inputs)
    outputs = range(config.num_inputs, num_fixed)
    hidden = range(num_fixed, num_fixed + config.num_hidden)
    kind = config.initial_connection
    # As many as the lists below, at most, before any of them is made.
    ends = len(outputs) + len(hidden)
    most = len(inputs) * ends + len(hidden) * len(outputs) + ends
    if kind != "none" and most > 4 * LARGEST_GENOME:
        raise ValueError(
            f"initial_connection {kind} may link the first genomes {most:,} times, but "
            f"a genome has at most {LARGEST_GENOME:,} links. Set initial_connection to "
            "none, or choose fewer inputs, outputs or hidden nodes."
        )
    if kind == "none":
        pairs = []
    elif kind in ("fs", "fs_hidden"):
        targets = [*outputs, *(hidden if kind == "fs_hidden" else [])]
        pairs = [(i, t) for i in inputs for t in targets]
    else:
        pairs = [(i, h) for i in inputs for h in hidden]
        # The order decides ids, and which word each weight gets.
        pairs += [(h, o) for h in hidden for o in outputs]
        if kind.endswith("direct") or not hidden:
            pairs += [(i, o) for i in inputs for o in outputs]
        if config.initial_self_links:
            pairs += [(n, n) for n in [*outputs, *hidden]]
    return np.array(pairs, np.int32).reshape(-1, 2)


def capacities(config: NEATConfig, nodes: int, links: int) -> tuple[int, int, int]:
    """`max_nodes`, `max_links` and `max_species` of a first population of this size."""
    for name, given, needed in (
        ("max_nodes", config.max_nodes, nodes),
        ("max_links", config.max_links, links),
    ):
        if 0 < given < needed:
            raise ValueError(
                f"{name} is {given}, but the first genomes need room for {needed}. Set "
                f"{name} to at least {needed}, or to 0 to leave it to NEAT."
            )

    def roomy(needed, least):
        # Powers of two, so that runs of similar sizes share what is compiled.
        return max(least, 1 << (needed * 3 // 2).bit_length())

    # Room that is not used costs a millisecond a generation; to grow, a compilation.
    max_nodes = config.max_nodes or roomy(nodes, 32)
    max_links = config.max_links or roomy(links, 64)
    for name, value in (("max_nodes", max_nodes), ("max_links", max_links)):
        if value > LARGEST_GENOME:
            raise ValueError(
                f"{name} is {value}, but genomes can be compared up to "
                f"{LARGEST_GENOME} nodes or links. Set {name} lower, or begin with "
                "fewer links (initial_connection)."
            )
    return max_nodes, max_links, config.max_species or 64


def first_capacities(config: NEATConfig) -> tuple[int, int, int]:
    """`max_nodes`, `max_links` and `max_species` of the first population that `config`
    describes; refuses one whose genomes have no room, before any of it is made."""
    num_nodes = config.num_inputs + config.num_outputs + config.num_hidden
    return capacities(config, num_nodes, len(initial_pairs(config)))


def _first_genome(
    config: NEATConfig,
    max_nodes: int,
    max_links: int,
    *,
    keys: tuple[AnyKey, AnyKey, AnyKey],
) -> Genome:
    """One genome of the first population."""
    pairs = initial_pairs(config)
    num_pairs, num_inputs = len(pairs), config.num_inputs
    num_fixed = num_inputs + config.num_outputs
    num_nodes = num_fixed + config.num_hidden
    key_nodes, key_links, key_choice = keys
    node_draws = draw_first_nodes(key_nodes, num_nodes)
    weight_words = bits(key_links, (num_pairs,))

    is_input = np.arange(num_nodes) < num_inputs
    activation = draw_activation(config, node_draws.activation)
    if config.output_activation is not None:
        is_output = ~is_input & (np.arange(num_nodes) < num_fixed)
        fixed = jnp.int32(activation_id(config.output_activation))
        activation = jnp.where(is_output, fixed, activation)
    genome = empty_genome(max_nodes, max_links)
    genome = eqx.tree_at(
        lambda g: (g.node_id, g.node_activation, g.node_bias),
        genome,
        (
            genome.node_id.at[:num_nodes].set(np.arange(num_nodes, dtype=np.int32)),
            genome.node_activation.at[:num_nodes].set(
                jnp.where(is_input, jnp.int32(NO_ACTIVATION), activation)
            ),
            genome.node_bias.at[:num_nodes].set(
                jnp.where(is_input, 0.0, draw_initial(config.bias, node_draws.bias))
            ),
        ),
    )
    if num_pairs == 0:
        return genome
    genome = eqx.tree_at(
        lambda g: (
            g.link_id,
            g.link_source,
            g.link_target,
            g.link_weight,
            g.link_enabled,
        ),
        genome,
        (
            genome.link_id.at[:num_pairs].set(np.arange(num_pairs, dtype=np.int32)),
            genome.link_source.at[:num_pairs].set(pairs[:, 0]),
            genome.link_target.at[:num_pairs].set(pairs[:, 1]),
            genome.link_weight.at[:num_pairs].set(
                draw_initial(config.weight, weight_words)
            ),
            genome.link_enabled.at[:num_pairs].set(True),
        ),
    )
    if config.initial_connection.startswith("partial"):
        # The given share of the links, exactly, as neat-python has it.
        num_kept = round(num_pairs * config.initial_fraction)
        draws = jax.random.uniform(as_jax_key(key_choice), (num_pairs,))
        # By rank, not by comparing each draw with the fraction: the number is exact.
        is_kept = jnp.zeros(max_links, bool)
        is_kept = is_kept.at[jnp.argsort(draws)[:num_kept]].set(True)
        genome = compact_links(genome, is_kept)
    elif config.initial_connection.startswith("fs"):
        draw = uniform(bits(key_choice, ()))
        chosen = (draw * num_inputs).astype(jnp.int32)
        genome = compact_links(genome, genome.link_source == chosen)
    return genome


def first_population(
    config: NEATConfig, max_nodes: int, max_links: int, *, key: Key[Array, ""]
) -> Genome:
    """The first population; equal links of different genomes share their id."""
    # Stored, or the generator runs for each number drawn, and is compiled many times.
    # True for every key, as words are unsigned, but not known before it runs.
    is_sane = (jnp.ravel(jax.random.key_data(key))[0] | 1) > 0
    stage = partial(materialise, is_sane)
    keys = stage(split_population(key, config.population_size))
    keys = stage(jax.vmap(lambda k: split(k, 3))(keys))
    first = partial(_first_genome, config, max_nodes, max_links)
    return jax.vmap(lambda k: first(keys=k))(keys)
