"""Discovery within a jit: the network of one CPPN on a substrate that it decides.

Phase 1 explores from the inputs; rounds explore from what was found; then one query
asks about all pairs of nodes, and the rule says which of them are linked; a clean-up
keeps what lies on a way from an input to an output. Positions are lists of a fixed
length, links are matrices, and what has no room is told in a `Shortage`.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int

from ..network import TensorNetwork
from ..substrate import UPWARDS, AbstractRule, Layout, NetworkSettings, WeightMap
from ._capacity import Capacity, Shortage
from ._field import Expressed, Field, class_mask
from ._grid import (
    MAX_DEPTH,
    NO_PLACE,
    NOWHERE,
    centres_of,
    terminal_heights,
    terminal_places,
)
from ._lists import distinct, first_of, index_in, is_among
from ._reading import Reader
from ._rules import explore
from ._wiring import ask_pairs, make_network, on_paths


@dataclasses.dataclass(frozen=True, eq=False)
class Discoverer:
    """What the networks of all genomes have in common."""

    layout: Layout
    rule: AbstractRule
    weight_map: WeightMap
    settings: NetworkSettings
    bias_scale: float
    capacity: Capacity

    def __post_init__(self) -> None:
        if self.rule.depth > MAX_DEPTH:
            raise ValueError(
                f"depth is {self.rule.depth}, but the engine for devices goes down to "
                f"{MAX_DEPTH}. Lower depth, or use engine native."
            )
        if len(self.capacity.quads) != self.rule.depth + 1:
            raise ValueError(
                f"the capacity has {len(self.capacity.quads)} levels, but depth "
                f"{self.rule.depth} has {self.rule.depth + 1}."
            )

    @property
    def num_inputs(self) -> int:
        return len(self.layout.inputs)

    @property
    def num_outputs(self) -> int:
        return len(self.layout.outputs)

    def __call__(self, reader: Reader) -> tuple[TensorNetwork, Shortage]:
        """The network of a CPPN; without meaning where the capacity is exceeded."""
        # Which links there are has no derivative; their weights have.
        still = reader._replace(
            cppn=jax.tree.map(lax.stop_gradient, reader.cppn), is_differentiable=False
        )
        search = _Search(self, still)
        found = search.run()
        nodes = search.nodes(found)
        num_hidden = jnp.minimum(found.num_hidden, self.capacity.hidden)
        weight, permitted = ask_pairs(
            reader, nodes.point, self.weight_map, self.num_terminals + num_hidden
        )
        linked, quads = search.linked(
            found, nodes, lax.stop_gradient(weight), permitted
        )
        alive = on_paths(linked, self.num_inputs, self.num_outputs)
        linked &= alive[:, None] & alive[None]
        is_terminal = jnp.arange(nodes.place.shape[0]) < self.num_terminals
        network = make_network(
            reader,
            linked,
            weight,
            point=nodes.point,
            rank=nodes.height,
            is_node=alive | is_terminal,
            num_found=num_hidden,
            num_inputs=self.num_inputs,
            num_outputs=self.num_outputs,
            settings=self.settings,
            bias_scale=self.bias_scale,
            is_acyclic=self.rule.is_acyclic,
        )
        return network, Shortage(found.most, quads)

    @property
    def num_terminals(self) -> int:
        return self.num_inputs + self.num_outputs


class _Found(NamedTuple):
    """What exploring has found.

    `lists` are the places that each explored point is linked to, and `sources` are
    those points' places; inputs come first, whatever their places are.
    """

    hidden: Int[Array, " hidden"]
    num_hidden: Int[Array, ""]
    is_found_terminal: Bool[Array, " terminals"]
    input_lists: Int[Array, "inputs hidden"]
    sources: Int[Array, " explored"]
    lists: Int[Array, "explored hidden"]
    num_explored: Int[Array, ""]
    most: Int[Array, ""]
    """The longest list, or number of positions, so far."""
    quads: Int[Array, " levels"]


class _Nodes(NamedTuple):
    """Inputs, outputs, hidden nodes."""

    place: Int[Array, " nodes"]
    point: Array
    height: Int[Array, " nodes"]
    is_position: Bool[Array, " nodes"]
    """Found, as hidden nodes are; terminals that lie on cells may be."""


class _Search:
    """The search for the nodes and links of one CPPN."""

    def __init__(self, discoverer: Discoverer, reader: Reader) -> None:
        self.d, self.reader = discoverer, reader
        layout, depth = discoverer.layout, discoverer.rule.depth
        self.dtype = reader.dtype
        self.terminal_place = terminal_places(layout, depth)
        self.on_cells = self.terminal_place[self.terminal_place != NOWHERE]
        self.terminal_height = terminal_heights(layout, depth)
        self.terminal_point = np.asarray(layout.points, self.dtype)

    def run(self) -> _Found:
        """Phase 1 and all rounds."""
        room, num_inputs = self.d.capacity.hidden, self.d.num_inputs
        from_inputs = lax.map(self._from_terminal, jnp.arange(num_inputs))
        # Whatever is found is explored once; terminals that lie on cells, too.
        room_for_all = room + len(self.on_cells)
        found = _Found(
            *self._union(from_inputs.place),
            from_inputs.place,
            jnp.full(room_for_all, NO_PLACE, jnp.int32),
            jnp.full((room_for_all, room), NO_PLACE, jnp.int32),
            jnp.zeros((), jnp.int32),
            from_inputs.num.max(),
            from_inputs.quads.max(axis=0),
        )
        found = found._replace(most=jnp.maximum(found.most, found.num_hidden))
        for _ in range(self.d.rule.num_rounds):
            found = self._round(found)
        return found

    def _round(self, found: _Found) -> _Found:
        """Explores from all positions that are new."""
        known = jnp.sort(found.sources)
        # An input that lies on a cell was explored in phase 1.
        terminals = self.terminal_place[self.d.num_inputs :]
        is_new = found.is_found_terminal[self.d.num_inputs :]
        some = jnp.concatenate(
            [found.hidden, jnp.where(is_new, jnp.asarray(terminals), NO_PLACE)]
        )
        wanted = (some != NO_PLACE) & ~is_among(some, known)
        room = found.sources.shape[0]
        index, is_one = first_of(wanted, room)
        new = jnp.where(is_one, some[index], NO_PLACE)
        num = jnp.minimum(wanted.sum(dtype=jnp.int32), room)

        def look(k, state: _Found) -> _Found:
            expressed = self._from_place(new[k])
            # More than there is room for is a shortage already.
            row = jnp.minimum(state.num_explored + k, room - 1)
            return state._replace(
                sources=state.sources.at[row].set(new[k]),
                lists=state.lists.at[row].set(expressed.place),
                most=jnp.maximum(state.most, expressed.num),
                quads=jnp.maximum(state.quads, expressed.quads),
            )

        found = lax.fori_loop(0, num, look, found)
        hidden, num_hidden, is_terminal = self._union(
            jnp.concatenate([found.input_lists, found.lists])
        )
        return found._replace(
            hidden=hidden,
            num_hidden=num_hidden,
            is_found_terminal=is_terminal,
            num_explored=found.num_explored + num,
            most=jnp.maximum(found.most, num_hidden),
        )

    def _union(self, lists: Int[Array, "lists hidden"]):
        """Hidden positions of all lists, how many, and which terminals are found."""
        places = lists.reshape(-1)
        is_found = jnp.zeros(self.d.num_terminals, bool)
        for k in np.flatnonzero(self.terminal_place != NOWHERE).tolist():
            is_it = places == int(self.terminal_place[k])
            is_found = is_found.at[k].set(is_it.any())
            places = jnp.where(is_it, NO_PLACE, places)
        hidden, num = distinct(places, self.d.capacity.hidden)
        return hidden, num, is_found

    # ------------------------------------------------------------------------- fields

    def _from_terminal(
        self, k: Int[Array, ""], only: Int[Array, " nodes"] | None = None
    ) -> Expressed:
        """Seen from an input; or, if it is said from where links may come, from an
        output."""
        point = jnp.asarray(self.terminal_point)[k]
        place = jnp.asarray(self.terminal_place)[k]
        height = jnp.asarray(self.terminal_height)[k]
        is_terminal = jnp.asarray(True)
        return self._explore(point, place, height, is_terminal, UPWARDS, only)

    def _from_place(self, place: Int[Array, ""]) -> Expressed:
        point, height = centres_of(place[None], self.d.rule.depth, self.dtype)
        is_terminal = (jnp.asarray(self.terminal_place) == place).any()
        classes = self.d.rule.explored_classes
        return self._explore(point[0], place, height[0], is_terminal, classes)

    def _explore(
        self, point, place, height, is_terminal, classes, only=None
    ) -> Expressed:
        is_outgoing = only is None

        def ask(others):
            here = jnp.broadcast_to(point, others.shape)
            ends = (here, others) if is_outgoing else (others, here)
            return self.reader.links(*ends)

        return explore(
            self.d.rule,
            Field(ask, place, height, is_terminal, is_outgoing),
            classes,
            self.d.weight_map,
            self.d.capacity,
            self.on_cells,
            self.dtype,
            only,
        )

    # -------------------------------------------------------------------------- links

    def nodes(self, found: _Found) -> _Nodes:
        """All nodes there may be."""
        point, height = centres_of(found.hidden, self.d.rule.depth, self.dtype)
        is_hidden = found.hidden != NO_PLACE
        point = jnp.where(is_hidden[:, None], point, 0.0)
        return _Nodes(
            jnp.concatenate([jnp.asarray(self.terminal_place), found.hidden]),
            jnp.concatenate([jnp.asarray(self.terminal_point), point]),
            jnp.concatenate(
                [jnp.asarray(self.terminal_height), jnp.where(is_hidden, height, 0)]
            ),
            jnp.concatenate([found.is_found_terminal, is_hidden]),
        )

    def linked(self, found: _Found, nodes: _Nodes, weight, permitted):
        """Which pairs (source, target) are linked, before the clean-up; and how many
        quads were wanted at most."""
        linked = self._explored_links(found, nodes)
        if self.d.rule.explores_outputs:
            into, quads = self._towards_outputs(nodes)
            return linked | into, jnp.maximum(found.quads, quads.max(axis=0))
        return linked | self._pairs(nodes, weight, permitted), found.quads

    def _explored_links(self, found: _Found, nodes: _Nodes):
        """Links that exploring has found: of inputs and, if the rule asks for no pairs,
        of all other points."""
        num = nodes.place.shape[0]
        leads_to = jax.vmap(lambda row: is_among(nodes.place, row))
        linked = jnp.zeros((num, num), bool)
        linked = linked.at[: self.d.num_inputs].set(leads_to(found.input_lists))
        if self.d.rule.pair_classes or not self.d.rule.num_rounds:
            return linked
        order = jnp.argsort(nodes.place, stable=True).astype(jnp.int32)
        at = index_in(found.sources, nodes.place[order])
        row = jnp.where(at < num, order[jnp.minimum(at, num - 1)], num)
        return linked.at[row].max(leads_to(found.lists), mode="drop")

    def _towards_outputs(self, nodes: _Nodes):
        """Phase 3 of rule `es`: links to outputs, explored from there."""
        numbers = self.d.num_inputs + jnp.arange(self.d.num_outputs)
        # A link from a position that nobody found would not survive the clean-up.
        only = jnp.sort(nodes.place)
        found = lax.map(lambda k: self._from_terminal(k, only=only), numbers)
        into = jax.vmap(lambda row: is_among(nodes.place, row))(found.place)
        linked = jnp.zeros((nodes.place.shape[0],) * 2, bool)
        return linked.at[:, numbers].set(into.T), found.quads

    def _pairs(self, nodes: _Nodes, weight, permitted):
        """Phases 2 and 3 of rule `emr`: one query for each pair of positions."""
        num, num_terminals = nodes.place.shape[0], self.d.num_terminals
        number = jnp.arange(num, dtype=jnp.int32)
        is_free = number >= num_terminals
        classes = self.d.rule.pair_classes
        mask = class_mask(
            classes,
            nodes.height[:, None],
            nodes.height[None],
            jnp.eye(num, dtype=bool),
            is_free[:, None] & is_free[None],
        )
        mask &= nodes.is_position[:, None] & nodes.is_position[None]
        is_output = ~is_free & (number >= self.d.num_inputs)
        upwards = nodes.height[:, None] < nodes.height[None]
        mask |= nodes.is_position[:, None] & is_output[None] & upwards
        strong = jnp.abs(weight) > self.d.rule.pair_threshold
        return mask & strong & permitted
