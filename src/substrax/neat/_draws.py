"""What is drawn at random to make an offspring, by name.

`population_words` gives rows of random words. The classes here say what each word is
for: a field is one draw, and its place among the fields is the place of its word. So no
word serves two draws, and how many words there are follows from the fields.

Adding, removing or moving a field changes which word each draw gets: the same seed then
gives another run.
"""

import dataclasses
import enum
from typing import TypeVar

import equinox as eqx
from jax import lax
from jaxtyping import Array, Bool, UInt32

from ._config import NEATConfig
from ._random import AnyKey, bits, population_words

_Kind = TypeVar("_Kind", bound=eqx.Module)


class ParentDraws(eqx.Module):
    """Who the parents of an offspring are."""

    crosses: UInt32[Array, "*population"]
    first: UInt32[Array, "*population"]
    second: UInt32[Array, "*population"]
    mates_abroad: UInt32[Array, "*population"]  # also: who leads of two equally fit
    species_abroad: UInt32[Array, "*population"]


class GenomeDraws(eqx.Module):
    """Which mutations an offspring undergoes, and where its structure changes."""

    mutates_weights: UInt32[Array, "*population"]
    mutates_biases: UInt32[Array, "*population"]
    adds_node: UInt32[Array, "*population"]
    deletes_node: UInt32[Array, "*population"]
    adds_link: UInt32[Array, "*population"]
    deletes_link: UInt32[Array, "*population"]
    split_link: UInt32[Array, "*population"]
    deleted_node: UInt32[Array, "*population"]
    deleted_link: UInt32[Array, "*population"]
    new_activation: UInt32[Array, "*population"]
    new_weight: UInt32[Array, "*population"]


class LinkEndDraws(eqx.Module):
    """The ends of a new link, once for each attempt."""

    target: UInt32[Array, "*population attempts"]
    source: UInt32[Array, "*population attempts"]


class NodeDraws(eqx.Module):
    """What happens to each node; no activation is drawn where there is no choice."""

    crossover: UInt32[Array, "*population nodes"]  # its lowest bits: see `NodeCoin`
    bias_choice: UInt32[Array, "*population nodes"]
    bias_size: UInt32[Array, "*population nodes"]
    changes_activation: UInt32[Array, "*population nodes"] | None = None
    activation: UInt32[Array, "*population nodes"] | None = None


class LinkDraws(eqx.Module):
    """What happens to each link."""

    crossover: UInt32[Array, "*population links"]  # its lowest bits: see `LinkCoin`
    weight_choice: UInt32[Array, "*population links"]
    weight_size: UInt32[Array, "*population links"]
    toggles: UInt32[Array, "*population links"]


@enum.unique
class NodeCoin(enum.IntEnum):
    """Bits of a node's word of crossover."""

    TAKES_BIAS = 0
    TAKES_ACTIVATION = 1


@enum.unique
class LinkCoin(enum.IntEnum):
    """Bits of a link's word of crossover; `uniform` uses the upper 24 of the word."""

    TAKES_WEIGHT = 0
    KEEPS_FIRST = 1
    KEEPS_SECOND = 2


class ChildDraws(eqx.Module):
    """How an offspring is made of its parents."""

    genome: GenomeDraws
    link_end: LinkEndDraws
    node: NodeDraws
    link: LinkDraws

    @staticmethod
    def of(
        genome_words: UInt32[Array, "*population genome_words"],
        node_words: UInt32[Array, "*population node_words nodes"],
        link_words: UInt32[Array, "*population link_words links"],
    ) -> "ChildDraws":
        """Names words, of which there must be `num_child_words`."""
        fixed = num_draws(GenomeDraws)
        attempts = genome_words[..., fixed:]
        shape = (*attempts.shape[:-1], -1, num_draws(LinkEndDraws))
        return ChildDraws(
            name_words(GenomeDraws, genome_words[..., :fixed], -1),
            name_words(LinkEndDraws, attempts.reshape(shape), -1),
            name_words(NodeDraws, node_words, -2),
            name_words(LinkDraws, link_words, -2),
        )


class FirstNodeDraws(eqx.Module):
    """Nodes of a first genome."""

    activation: UInt32[Array, " nodes"]
    bias: UInt32[Array, " nodes"]


def num_draws(kind: type[eqx.Module]) -> int:
    """How many words a class of draws names."""
    return len(dataclasses.fields(kind))


def name_words(kind: type[_Kind], words: UInt32[Array, "..."], axis: int) -> _Kind:
    """The words along an axis, as the fields of a class of draws."""
    columns = range(words.shape[axis])
    return kind(*(lax.index_in_dim(words, i, axis, keepdims=False) for i in columns))


def num_child_words(config: NEATConfig) -> tuple[int, int, int]:
    """Words of an offspring, of each of its nodes and of each of its links."""
    num_ends = config.mutation.add_link_attempts * num_draws(LinkEndDraws)
    # A field with a default is one of activations, and drawn only if there is a choice.
    is_drawn = lambda field: (
        field.default is dataclasses.MISSING or len(config.activation_options) > 1
    )
    num_node = sum(map(is_drawn, dataclasses.fields(NodeDraws)))
    return num_draws(GenomeDraws) + num_ends, num_node, num_draws(LinkDraws)


def draw_offspring(
    config: NEATConfig,
    population: int,
    max_nodes: int,
    max_links: int,
    is_sane: Bool[Array, ""],
    *,
    key: AnyKey,
) -> tuple[ParentDraws, ChildDraws]:
    """All that a generation draws, with the population axis in front.

    **Arguments:** the configuration; sizes; `is_sane`, as `materialise` wants it.
    """
    num_parent = num_draws(ParentDraws)
    num_genome, num_node, num_link = num_child_words(config)
    genome_words, node_words, link_words = population_words(
        key,
        population,
        ((1, num_parent + num_genome), (max_nodes, num_node), (max_links, num_link)),
        is_sane,
    )
    genome_words = genome_words[:, :, 0]
    return (
        name_words(ParentDraws, genome_words[:, :num_parent], -1),
        ChildDraws.of(genome_words[:, num_parent:], node_words, link_words),
    )


def draw_first_nodes(key: AnyKey, num_nodes: int) -> FirstNodeDraws:
    """Draws for the nodes of one genome of a first population."""
    words = bits(key, (num_nodes, num_draws(FirstNodeDraws)))
    return name_words(FirstNodeDraws, words, -1)
