"""A first population that is given: one genome from which all others are made."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from .._types import check_threshold
from ..cppn import ACTIVATION_NAMES, NO_ACTIVATION, activation_id
from ._attributes import draw_activation, draw_initial
from ._config import FloatGeneConfig, NEATConfig
from ._draws import draw_first_nodes
from ._genome import (
    NO_LINK,
    NO_NODE,
    Genome,
    materialise,
    pad_genome,
)
from ._random import AnyKey, bits, normal, split, split_population


@dataclasses.dataclass(frozen=True)
class Start:
    """The genome that a first population is made of.

    All genomes have its nodes and links. The first is the genome itself; in the others
    each weight differs from the given one by a normal number of deviation `jitter`, and
    so do biases if biases mutate at all. Outputs that the genome does not feed get
    links from all inputs, with weights, biases and activations drawn as in any first
    population (none if `initial_connection` is `"none"`).

    Nodes and links are numbered as in a first population. Plain numbers, so that it is
    a static part of NEAT, which can be hashed.
    """

    node_activation: tuple[int, ...]
    node_bias: tuple[float, ...]
    is_drawn_node: tuple[bool, ...]
    link_source: tuple[int, ...]
    link_target: tuple[int, ...]
    link_weight: tuple[float, ...]
    link_enabled: tuple[bool, ...]
    is_drawn_link: tuple[bool, ...]
    jitter: float

    @property
    def num_nodes(self) -> int:
        return len(self.node_bias)

    @property
    def num_links(self) -> int:
        return len(self.link_weight)

    @property
    def genome(self) -> Genome:
        """The genome itself, without room for more."""
        return Genome(
            node_id=jnp.arange(self.num_nodes, dtype=jnp.int32),
            node_activation=jnp.array(self.node_activation, jnp.int32),
            node_bias=jnp.array(self.node_bias, jnp.float32),
            link_id=jnp.arange(self.num_links, dtype=jnp.int32),
            link_source=jnp.array(self.link_source, jnp.int32),
            link_target=jnp.array(self.link_target, jnp.int32),
            link_weight=jnp.array(self.link_weight, jnp.float32),
            link_enabled=jnp.array(self.link_enabled, bool),
        )


def make_start(config: NEATConfig, genome: Genome, jitter: float) -> Start:
    """A start from any one genome; its ids are made those of a first population."""
    check_threshold("jitter, the deviation of weights from the given ones,", jitter)
    if config.num_hidden:
        raise ValueError(
            f"num_hidden is {config.num_hidden}, but the first genomes are given, and "
            "with them their hidden nodes. Set num_hidden to 0."
        )
    arrays = {name: np.asarray(value) for name, value in vars(genome).items()}
    if arrays["node_id"].ndim != 1:
        raise ValueError(
            "a start is one genome, without a population axis; for the first of some "
            "use jax.tree.map(lambda x: x[0], genomes)."
        )
    arrays = _renumbered(config, arrays)
    _check(config, arrays)
    num_inputs, num_outputs = config.num_inputs, config.num_outputs
    outputs = range(num_inputs, num_inputs + num_outputs)
    unfed = [o for o in outputs if o not in arrays["link_target"]]
    pairs = [(i, o) for o in unfed for i in range(num_inputs)]
    if config.initial_connection == "none":
        pairs = []
    drawn = len(pairs)
    return Start(
        node_activation=tuple(arrays["node_activation"].tolist()),
        node_bias=tuple(arrays["node_bias"].tolist()),
        is_drawn_node=tuple(np.isin(arrays["node_id"], unfed).tolist()),
        link_source=(*arrays["link_source"].tolist(), *(s for s, _ in pairs)),
        link_target=(*arrays["link_target"].tolist(), *(t for _, t in pairs)),
        # (0 holds the place: each genome draws these weights for itself)
        link_weight=(*arrays["link_weight"].tolist(), *(drawn * [0.0])),
        link_enabled=(*arrays["link_enabled"].tolist(), *(drawn * [True])),
        is_drawn_link=(*(arrays["link_id"].size * [False]), *(drawn * [True])),
        jitter=float(jitter),
    )


def _renumbered(
    config: NEATConfig, arrays: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Only what exists, with hidden nodes and links numbered without gaps."""
    is_node = arrays["node_id"] != NO_NODE
    is_link = arrays["link_id"] != NO_LINK
    arrays = {
        name: value[is_node if name.startswith("node") else is_link]
        for name, value in arrays.items()
    }
    num_fixed = config.num_inputs + config.num_outputs
    ids = arrays["node_id"]
    has_no_function = arrays["node_activation"] == NO_ACTIVATION
    if not np.array_equal(ids[:num_fixed], np.arange(num_fixed)) or not np.array_equal(
        has_no_function, np.arange(ids.size) < config.num_inputs
    ):
        raise ValueError(
            f"the given genome does not have {config.num_inputs} inputs and "
            f"{config.num_outputs} outputs as its first nodes. Give one that was made "
            "for the same inputs and outputs."
        )
    # Without gaps: the next new node or link gets the number behind the last one, so
    # that ids of a run do not depend on the run that its first genome comes from.
    number = {int(node): k for k, node in enumerate(ids)}
    try:
        ends = {
            name: np.array([number[int(e)] for e in arrays[name]], np.int32)
            for name in ("link_source", "link_target")
        }
    except KeyError as error:
        raise ValueError(
            f"a link of the given genome names node {error}, which it does not have."
        ) from None
    return {
        **arrays,
        **ends,
        "node_id": np.arange(ids.size, dtype=np.int32),
        "link_id": np.arange(is_link.sum(), dtype=np.int32),
        "node_bias": arrays["node_bias"].astype(np.float32),
        "link_weight": arrays["link_weight"].astype(np.float32),
    }


def _check(config: NEATConfig, arrays: dict[str, np.ndarray]) -> None:
    sources, targets = arrays["link_source"].tolist(), arrays["link_target"].tolist()
    ends = list(zip(sources, targets, strict=True))
    if len(set(ends)) < len(ends):
        raise ValueError("the given genome links two nodes twice; remove one link.")
    if (arrays["link_target"] < config.num_inputs).any():
        raise ValueError("a link of the given genome leads into an input; remove it.")
    activation = arrays["node_activation"][config.num_inputs :]
    if not ((activation >= 0) & (activation < len(ACTIVATION_NAMES))).all():
        raise ValueError("a node of the given genome has an unknown activation.")
    for name in ("node_bias", "link_weight"):
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"a {name} of the given genome is NaN or infinite.")
    if config.feed_forward and _has_cycle(arrays["node_id"].size, ends):
        raise ValueError(
            "the links of the given genome make a cycle, which a feed-forward genome "
            "must not have. Remove a link of it."
        )


def _has_cycle(num_nodes: int, ends: list[tuple[int, int]]) -> bool:
    left = set(range(num_nodes))
    while left:
        # What nothing left feeds lies on no cycle; where all are fed, there is one.
        fed = {target for source, target in ends if source in left and target in left}
        if fed == left:
            return True
        left = fed
    return False


def _jittered(
    config: FloatGeneConfig,
    given: Float[Array, " n"],
    is_drawn: Bool[np.ndarray, " n"],
    jitter: Float[Array, ""],
    words: Array,
) -> Float[Array, " n"]:
    moved = jnp.clip(given + jitter * normal(words), config.minimum, config.maximum)
    # A value beyond the limits is the user's, and stays as long as nothing moves it.
    moved = jnp.where(jitter > 0, moved, given)
    # Jittered or drawn, never both: they can share a word.
    return jnp.where(is_drawn, draw_initial(config, words), moved)


def _started_genome(
    start: Start,
    config: NEATConfig,
    jitter: Float[Array, ""],
    *,
    keys: tuple[AnyKey, AnyKey],
) -> Genome:
    genome = start.genome
    key_nodes, key_links = keys
    node_draws = draw_first_nodes(key_nodes, start.num_nodes)
    weight_words = bits(key_links, (start.num_links,))
    # A rate is a leaf, and traced: no condition of Python's.
    mutates = jnp.asarray(config.bias.mutate_rate) > 0
    is_drawn_node = np.array(start.is_drawn_node, bool)
    is_input = np.arange(start.num_nodes) < config.num_inputs
    bias = _jittered(
        config.bias,
        genome.node_bias,
        is_drawn_node,
        jnp.where(mutates, jitter, 0.0),
        node_draws.bias,
    )
    # Only outputs are drawn.
    drawn = draw_activation(config, node_draws.activation)
    if config.output_activation is not None:
        drawn = jnp.full_like(drawn, activation_id(config.output_activation))
    activation = jnp.where(is_drawn_node, drawn, genome.node_activation)
    weight = _jittered(
        config.weight,
        genome.link_weight,
        np.array(start.is_drawn_link, bool),
        jitter,
        weight_words,
    )
    return dataclasses.replace(
        genome,
        node_bias=jnp.where(is_input, 0.0, bias),
        node_activation=jnp.where(is_input, NO_ACTIVATION, activation),
        link_weight=weight,
    )


def started_population(
    start: Start,
    config: NEATConfig,
    max_nodes: int,
    max_links: int,
    *,
    key: Key[Array, ""],
) -> Genome:
    """The first population of a start."""
    # True for every key, as words are unsigned, but not known before it runs.
    is_sane = (jnp.ravel(jax.random.key_data(key))[0] | 1) > 0
    stage = partial(materialise, is_sane)
    keys = stage(split_population(key, config.population_size))
    keys = stage(jax.vmap(split)(keys))
    is_first = jnp.arange(config.population_size) == 0
    jitter = jnp.where(is_first, 0.0, jnp.float32(start.jitter))
    genomes = jax.vmap(lambda j, k: _started_genome(start, config, j, keys=k))(
        jitter, keys
    )
    return pad_genome(genomes, max_nodes, max_links)
