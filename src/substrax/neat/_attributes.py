"""Mutation of what genes carry: weights, biases, activations and switches.

Each function gets random words instead of a key. A slot's words depend on the slot and
the genome's key alone, never on the capacity, so a larger capacity draws the same.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from ..cppn import activation_id
from ._config import FloatGeneConfig, NEATConfig
from ._counting import count
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
    gate: Float[Array, ""],
    choice: Float[Array, " n"],
    words: UInt32[Array, " n"],
) -> Float[Array, " n"]:
    """Perturb, replace or keep each value.

    **Arguments:** the values and which of them exist; `gate`, one uniform number for
    the genome; `choice`, a uniform number per value; `words`, from which the size of
    the change is made (perturbing and replacing exclude one another, so they can
    share it).
    """
    if config.perturb_distribution == "uniform":
        step = 2.0 * uniform(words) - 1.0
    else:
        step = normal(words)
    share = jnp.float32(1.0)
    if config.few_rate > 0:
        number = jnp.maximum(count(mask), 1).astype(jnp.float32)
        is_few = gate < config.mutate_rate * config.few_rate
        share = jnp.where(is_few, jnp.minimum(config.few / number, 1.0), 1.0)
    perturb_share = config.perturb_rate * share
    is_perturbed = choice < perturb_share
    is_replaced = choice < (config.perturb_rate + config.replace_rate) * share
    if config.perturb_decades > 0:
        # Where a value is perturbed, this is a uniform number again.
        place = choice / jnp.maximum(perturb_share, 1e-30)
        step *= jnp.exp2(-np.log2(10) * config.perturb_decades * jnp.minimum(place, 1))
    perturbed = values + config.perturb_power * step
    perturbed = jnp.clip(perturbed, config.minimum, config.maximum)
    fresh = draw_initial(config, words)
    mutated = jnp.where(is_perturbed, perturbed, jnp.where(is_replaced, fresh, values))
    return jnp.where(mask & (gate < config.mutate_rate), mutated, values)


def mutate_attributes(
    config: NEATConfig,
    genome: Genome,
    genome_words: UInt32[Array, " 2"],
    node_words: UInt32[Array, "_ nodes"],
    link_words: UInt32[Array, "4 links"],
) -> Genome:
    """Mutate weights, switches, biases and activations of one genome."""
    rates = config.mutation
    gates = uniform(genome_words)
    weight = mutate_floats(
        config.weight,
        genome.link_weight,
        genome.link_mask,
        gates[0],
        uniform(link_words[1]),
        link_words[2],
    )
    switch = uniform(link_words[3])
    rate = jnp.where(genome.link_enabled, rates.disable_rate, rates.enable_rate)
    enabled = genome.link_enabled ^ (genome.link_mask & (switch < rate))

    slots = jnp.arange(genome.max_nodes, dtype=jnp.int32)
    has_gene = genome.node_mask & (slots >= config.num_inputs)
    bias = mutate_floats(
        config.bias,
        genome.node_bias,
        has_gene,
        gates[1],
        uniform(node_words[1]),
        node_words[2],
    )
    activation = genome.node_activation
    if len(config.activation_options) > 1:
        can_change = has_gene
        if not rates.mutate_output_activation:
            can_change &= slots >= config.num_inputs + config.num_outputs
        is_changed = can_change & (uniform(node_words[3]) < rates.activation_rate)
        activation = jnp.where(
            is_changed, draw_option(config, node_words[4]), activation
        )
    return dataclasses.replace(
        genome,
        link_weight=weight,
        link_enabled=enabled,
        node_bias=bias,
        node_activation=activation,
    )
