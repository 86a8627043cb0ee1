"""Genomes by hand, and the invariants that every genome keeps."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from substrax.cppn import activation_id
from substrax.neat import NO_LINK, NO_NODE, Genome, NEATConfig

Link = tuple[int, int, int, float, bool]


def make_genome(
    links: Sequence[Link],
    *,
    num_inputs: int = 2,
    num_outputs: int = 1,
    hidden: Sequence[int] = (),
    biases: dict[int, float] | None = None,
    max_nodes: int = 8,
    max_links: int = 16,
) -> Genome:
    """A genome from (id, source, target, weight, enabled) rows."""
    biases = biases or {}
    ids = [*range(num_inputs + num_outputs), *hidden]
    node_id = np.full(max_nodes, NO_NODE, np.int32)
    activation = np.zeros(max_nodes, np.int32)
    bias = np.zeros(max_nodes, np.float32)
    for slot, node in enumerate(ids):
        node_id[slot] = node
        if slot >= num_inputs:
            activation[slot] = activation_id("sigmoid")
            bias[slot] = biases.get(node, 0.0)
    link_id = np.full(max_links, NO_LINK, np.int32)
    ends = np.full((2, max_links), NO_NODE, np.int32)
    weight = np.zeros(max_links, np.float32)
    enabled = np.zeros(max_links, bool)
    for slot, (number, source, target, value, is_enabled) in enumerate(links):
        link_id[slot], ends[0, slot], ends[1, slot] = number, source, target
        weight[slot], enabled[slot] = value, is_enabled
    arrays = (node_id, activation, bias, link_id, ends[0], ends[1], weight, enabled)
    return Genome(*map(jnp.asarray, arrays))


def stack(*genomes: Genome) -> Genome:
    """A population."""
    return jax.tree.map(lambda *x: jnp.stack(x), *genomes)


def assert_same(first, second) -> None:
    """Equal pytrees, bit for bit."""
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def links_of(genome: Genome) -> list[tuple[int, int, int]]:
    """(id, source, target) of one genome's links."""
    mask = np.asarray(genome.link_mask)
    rows = np.stack([genome.link_id, genome.link_source, genome.link_target], 1)[mask]
    return [(int(i), int(s), int(t)) for i, s, t in rows]


def is_acyclic(links: Sequence[tuple[int, int]]) -> bool:
    """By repeatedly dropping links whose source nothing feeds."""
    links = list(links)
    while links:
        targets = {t for _, t in links}
        kept = [(s, t) for s, t in links if s in targets]
        if len(kept) == len(links):
            return False
        links = kept
    return True


def assert_valid(genomes: Genome, config: NEATConfig) -> None:
    """The invariants, for every genome of a population."""
    g = jax.tree.map(np.asarray, genomes)
    num_fixed = config.num_inputs + config.num_outputs
    for i in range(g.node_id.shape[0]):
        node_id, link_id = g.node_id[i], g.link_id[i]
        nodes = node_id[node_id != NO_NODE]
        n, m = len(nodes), int((link_id != NO_LINK).sum())
        # Slots in use come first; what follows is canonical.
        assert (node_id[n:] == NO_NODE).all()
        assert (g.node_activation[i, n:] == 0).all() and (g.node_bias[i, n:] == 0).all()
        assert (link_id[m:] == NO_LINK).all()
        assert (g.link_source[i, m:] == NO_NODE).all()
        assert (g.link_target[i, m:] == NO_NODE).all()
        assert (g.link_weight[i, m:] == 0).all() and not g.link_enabled[i, m:].any()
        # Inputs and outputs sit at their ids; ids ascend, so they are unique.
        assert (nodes[:num_fixed] == np.arange(num_fixed)).all()
        assert (np.diff(nodes) > 0).all() and (np.diff(link_id[:m]) > 0).all()
        # Links are attached, none into an input, at most one per pair.
        ends = list(
            zip(
                g.link_source[i, :m].tolist(),
                g.link_target[i, :m].tolist(),
                strict=True,
            )
        )
        known = set(nodes.tolist())
        assert all(s in known and t in known for s, t in ends)
        assert all(t >= config.num_inputs for _, t in ends)
        assert len(set(ends)) == len(ends)
        if config.feed_forward:
            assert is_acyclic(ends)
        assert np.isfinite(g.link_weight[i]).all() and np.isfinite(g.node_bias[i]).all()
