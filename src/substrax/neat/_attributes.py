"""Mutation of what genes carry: weights, biases, activations and switches.

Each function is for one genome and gets its random words by name (see `_draws`). A
slot's words depend on the slot and the genome's key alone, never on the capacity, so a
larger capacity draws the same.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from ..cppn import activation_id
from ._config import FloatGeneConfig, NEATConfig
from ._counting import count
from ._draws import ChildDraws
from ._genome import Genome
from ._random import normal, uniform


def draw_initial(
    config: FloatGeneConfig, words: UInt32[Array, "*n"]
) -> Float[Array, "*n"]:
    """Fresh values of a weight or bias."""
    if config.init_distribution == "uniform":
        low = jnp.maximum(config.minimum, config.init_mean - 2 * config.init_stdev)
        high = jnp.minimum(config.maximum, config.init_mean + 2 * config.init_stdev)
        return low + (high - low) * uniform(words)
    value = config.init_mean + config.init_stdev * normal(words)
    return jnp.clip(value, config.minimum, config.maximum)


def draw_activation(config: NEATConfig, words: UInt32[Array, "*n"]) -> Int[Array, "*n"]:
    """Activations of new nodes."""
    if config.activation_default is not None:
        return jnp.full(
            words.shape, activation_id(config.activation_default), jnp.int32
        )
    return draw_option(config, words)


def draw_option(config: NEATConfig, words: UInt32[Array, "*n"]) -> Int[Array, "*n"]:
    """Activations drawn from the options, each equally likely."""
    options = np.array([activation_id(a) for a in config.activation_options], np.int32)
    index = (uniform(words) * len(options)).astype(jnp.int32)
    return jnp.asarray(options)[index]


def mutate_floats(
    config: FloatGeneConfig,
    values: Float[Array, " n"],
    mask: Bool[Array, " n"],
    *,
    gate: UInt32[Array, ""],
    choice: UInt32[Array, " n"],
    size: UInt32[Array, " n"],
) -> Float[Array, " n"]:
    """Perturb, replace or keep each value.

    "There was an 80% chance of a genome having its connection weights mutated, in which
    case each weight had a 90% chance of being uniformly perturbed and a 10% chance of
    being assigned a new random value" (section 4.1). In neat-python some are kept, too.

    **Arguments:** the values and which of them exist; `gate`, one word for the genome:
    whether any value mutates; `choice`: what happens to a value; `size`: by how much.
    Perturbing and replacing exclude one another, so that they can share `size`.
    """
    genome_draw, draw = uniform(gate), uniform(choice)
    share = _share(config, mask, genome_draw)
    # One draw for both, as in neat-python: what replaces lies above what perturbs, so
    # that the two never meet.
    perturb_share = config.perturb_rate * share
    is_perturbed = draw < perturb_share
    is_replaced = draw < (config.perturb_rate + config.replace_rate) * share
    # Where a value is perturbed, this is a uniform number again.
    place = draw / jnp.maximum(perturb_share, 1e-30)
    perturbed = values + config.perturb_power * _step(config, place, size)
    perturbed = jnp.clip(perturbed, config.minimum, config.maximum)
    fresh = draw_initial(config, size)
    mutated = jnp.where(is_perturbed, perturbed, jnp.where(is_replaced, fresh, values))
    return jnp.where(mask & (genome_draw < config.mutate_rate), mutated, values)


def _share(
    config: FloatGeneConfig, mask: Bool[Array, " n"], genome_draw: Float[Array, ""]
) -> Float[Array, ""]:
    """By what the rates of each value are scaled: 1, or less where few are to change
    (`FloatGeneConfig.few_rate`)."""
    if config.few_rate == 0:
        return jnp.float32(1.0)
    number = jnp.maximum(count(mask), 1).astype(jnp.float32)
    # The gate's draw once more: of the genomes that it lets mutate, just this share
    # lies below the product, so that no word of its own is needed.
    is_few = genome_draw < config.mutate_rate * config.few_rate
    return jnp.where(is_few, jnp.minimum(config.few / number, 1.0), 1.0)


def _step(
    config: FloatGeneConfig, place: Float[Array, " n"], size: UInt32[Array, " n"]
) -> Float[Array, " n"]:
    """Steps of the size 1; of all sizes down from it where `perturb_decades` says so,
    and then `place`, a uniform number, says which."""
    if config.perturb_distribution == "uniform":
        step = 2.0 * uniform(size) - 1.0
    else:
        step = normal(size)
    if config.perturb_decades > 0:
        # 10 to the power of -decades * place. Where nothing is perturbed, `place` may
        # be huge and means nothing.
        step *= jnp.exp2(-np.log2(10) * config.perturb_decades * jnp.minimum(place, 1))
    return step


def mutate_weights(
    config: NEATConfig,
    genome: Genome,
    *,
    gate: UInt32[Array, ""],
    choice: UInt32[Array, " links"],
    size: UInt32[Array, " links"],
) -> Genome:
    """Mutate the weights of all links, disabled ones too (section 4.1)."""
    weight = mutate_floats(
        config.weight,
        genome.link_weight,
        genome.link_mask,
        gate=gate,
        choice=choice,
        size=size,
    )
    return dataclasses.replace(genome, link_weight=weight)


def toggle_links(
    config: NEATConfig, genome: Genome, toggles: UInt32[Array, " links"]
) -> Genome:
    """Enable disabled links and disable enabled ones, each at its rate.

    Not in the paper, where only crossover switches links; neat-python does it
    (`enabled_mutate_rate`).
    """
    rates = config.mutation
    rate = jnp.where(genome.link_enabled, rates.disable_rate, rates.enable_rate)
    is_toggled = genome.link_mask & (uniform(toggles) < rate)
    return dataclasses.replace(genome, link_enabled=genome.link_enabled ^ is_toggled)


def _has_gene(config: NEATConfig, genome: Genome) -> Bool[Array, " nodes"]:
    """Nodes with a bias and an activation: all but inputs."""
    slots = jnp.arange(genome.max_nodes, dtype=jnp.int32)
    return genome.node_mask & (slots >= config.num_inputs)


def mutate_biases(
    config: NEATConfig,
    genome: Genome,
    *,
    gate: UInt32[Array, ""],
    choice: UInt32[Array, " nodes"],
    size: UInt32[Array, " nodes"],
) -> Genome:
    """Mutate biases in the way of weights, as neat-python does.

    The paper's nodes have none; its bias is an input.
    """
    bias = mutate_floats(
        config.bias,
        genome.node_bias,
        _has_gene(config, genome),
        gate=gate,
        choice=choice,
        size=size,
    )
    return dataclasses.replace(genome, node_bias=bias)


def mutate_activations(
    config: NEATConfig,
    genome: Genome,
    *,
    changes: UInt32[Array, " nodes"],
    activation: UInt32[Array, " nodes"],
) -> Genome:
    """Draw another activation for some nodes, perhaps the same again (neat-python).

    Needed for CPPNs alone: in the paper all nodes have the same.
    """
    can_change = _has_gene(config, genome)
    if not config.mutation.mutate_output_activation:
        slots = jnp.arange(genome.max_nodes, dtype=jnp.int32)
        can_change &= slots >= config.num_inputs + config.num_outputs
    is_changed = can_change & (uniform(changes) < config.mutation.activation_rate)
    drawn = draw_option(config, activation)
    return dataclasses.replace(
        genome, node_activation=jnp.where(is_changed, drawn, genome.node_activation)
    )


def mutate_attributes(config: NEATConfig, genome: Genome, draws: ChildDraws) -> Genome:
    """Mutate weights, switches, biases and activations of one genome."""
    gates, link, node = draws.genome, draws.link, draws.node
    genome = mutate_weights(
        config,
        genome,
        gate=gates.mutates_weights,
        choice=link.weight_choice,
        size=link.weight_size,
    )
    genome = toggle_links(config, genome, link.toggles)
    genome = mutate_biases(
        config,
        genome,
        gate=gates.mutates_biases,
        choice=node.bias_choice,
        size=node.bias_size,
    )
    if node.changes_activation is None or node.activation is None:
        return genome
    return mutate_activations(
        config,
        genome,
        changes=node.changes_activation,
        activation=node.activation,
    )
