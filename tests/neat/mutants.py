"""A thousand mutants of one genome, made by `mutate`, so as offspring are made.

The genome has the links below; numbers 8 and up are free for new links, numbers 6 and
up for new nodes.
"""

from collections import Counter
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from substrax.cppn import activation_id
from substrax.neat import (
    NEAT,
    NO_LINK,
    NO_NODE,
    FloatGeneConfig,
    MutationConfig,
    NEATConfig,
)
from substrax.neat._draws import ChildDraws, num_child_words
from substrax.neat._mutation import Counters, mutate
from tests.neat.helpers import assert_valid, make_genome

COPIES = 1000
STILL = FloatGeneConfig(mutate_rate=0.0)
SIGMOID, SIN, TANH = map(activation_id, ("sigmoid", "sin", "tanh"))

# Inputs 0 and 1, outputs 2 and 3, hidden 4 and 5.
LINKS = [
    (0, 0, 2, 0.5, True),
    (1, 1, 3, -1.5, True),
    (2, 0, 4, 2.0, True),
    (3, 4, 2, -0.75, True),
    (4, 1, 5, 1.25, True),
    (5, 5, 3, 3.0, True),
    (6, 4, 5, -2.5, False),
    (7, 1, 2, 0.25, True),
]
BIASES = {2: 0.5, 3: -0.5, 4: 1.5, 5: -2.5}
# Pairs without a link that close no cycle (4 -> 5 is disabled, but might come back),
# and those that only a recurrent network may have.
FREE_PAIRS = {(0, 3), (0, 5), (1, 4), (4, 3), (5, 2)}
CYCLE_PAIRS = {(4, 4), (5, 5), (5, 4)}


def start_genome(links=LINKS, hidden=(4, 5)):
    return make_genome(links, num_outputs=2, hidden=hidden, biases=BIASES)


def still_config(
    weight: Any = STILL, bias: Any = STILL, feed_forward: Any = True, **kwargs: Any
):
    """Nothing mutates but what is asked for."""
    rates: dict[str, Any] = {
        "add_node_rate": 0.0,
        "add_link_rate": 0.0,
        "add_link_attempts": 32,
    }
    return NEATConfig(
        num_inputs=2,
        num_outputs=2,
        feed_forward=feed_forward,
        activation_options=("sin", "tanh"),
        weight=weight,
        bias=bias,
        mutation=MutationConfig(**{**rates, **kwargs}),
    )


# The tests compile longer than they run, so the compiler need not optimise.
@partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
def run_mutate(config, genomes, draws, is_copy):
    counters = Counters(jnp.int32(6), jnp.int32(8), jnp.bool_(False))
    return mutate(config, genomes, is_copy, draws, counters)


def draw_children(config, genome, seed):
    keys = jax.random.split(jax.random.key(seed), 3)
    num_genome, num_node, num_link = num_child_words(config)
    shapes = (
        (num_genome,),
        (num_node, genome.max_nodes),
        (num_link, genome.max_links),
    )
    return ChildDraws.of(
        *(jax.random.bits(k, (COPIES, *s)) for k, s in zip(keys, shapes, strict=True))
    )


def mutants(config, genome=None, seed=0):
    """A thousand mutants of one genome, as NumPy arrays."""
    genome = start_genome() if genome is None else genome
    # `NEAT` makes rates traced leaves: one compilation for all of them.
    copies = jax.tree.map(lambda x: jnp.tile(x, (COPIES, 1)), genome)
    draws = draw_children(config, genome, seed)
    nobody = jnp.zeros(COPIES, bool)
    genomes, _, overflow = run_mutate(NEAT(config).config, copies, draws, nobody)
    assert not any(map(bool, jax.tree.leaves(overflow)))
    assert_valid(genomes, config)
    return jax.tree.map(np.asarray, genomes)


def _describe(genome):
    """Nodes and links of one genome, as tuples of plain numbers."""
    g = jax.tree.map(np.asarray, genome)
    nodes = zip(g.node_id, g.node_activation, g.node_bias, strict=True)
    links = zip(
        g.link_id,
        g.link_source,
        g.link_target,
        g.link_weight,
        g.link_enabled,
        strict=True,
    )
    plain = lambda rows: tuple(tuple(x.item() for x in row) for row in rows)
    return plain(nodes)[: count_nodes(g)], plain(links)[: count_links(g)]


def count_nodes(genomes):
    return (genomes.node_id != NO_NODE).sum(-1)


def count_links(genomes):
    return (genomes.link_id != NO_LINK).sum(-1)


def outcomes_of(genomes):
    """How often each genome occurs."""
    return Counter(
        _describe(jax.tree.map(lambda x, i=i: x[i], genomes)) for i in range(COPIES)
    )


# Independent switches share a configuration, because each one is compiled.
SINGLE: dict[str, Any] = {"single_structural": True, "split_disabled_links": True}
FROM_OUTPUTS: dict[str, Any] = {
    "feed_forward": False,
    "outputs_as_sources": True,
    "mutate_output_activation": False,
}
UNIFORM: dict[str, Any] = {
    "init_distribution": "uniform",
    "perturb_distribution": "uniform",
}
SURER: dict[str, Any] = {
    "surer": True,
    "weight": FloatGeneConfig(mutate_rate=0.0, **UNIFORM),
}
NODES, ROWS = _describe(start_genome())


def is_even(outcomes, tolerance=0.06):
    """Whether all outcomes are about equally frequent."""
    shares = np.array(list(outcomes.values())) / COPIES
    return np.abs(shares - 1 / len(shares)).max() < tolerance
