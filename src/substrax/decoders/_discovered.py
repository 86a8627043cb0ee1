"""ES-HyperNEAT and EMR-HyperNEAT: networks on substrates that are discovered."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .._memory import Store, read_budget
from ..cppn import Programs, activation_id
from ..network import Networks, silence_unfed
from ..substrate import (
    EMRRule,
    ESRule,
    Exploration,
    Layout,
    WeightMap,
    Wiring,
    discover,
)
from ._base import AbstractCPPNDecoder, CPPNReading, activation_set

_ACYCLIC = ("feedforward", "hidden")


_NODES_AT_A_TIME = 1 << 20


def networks_of(
    wiring: Wiring,
    hidden_activation: str,
    output_activation: str,
    dialect: str,
    is_acyclic: bool,
    steps: int,
    memory_budget: str | int = "auto",
) -> Networks:
    """Networks without biases on a wiring: one activation for all hidden nodes."""
    layout = wiring.layout
    num_inputs, num_outputs = len(layout.inputs), len(layout.outputs)
    dtype = wiring.link_weight.dtype
    num_nodes = np.diff(wiring.hidden_bounds) + num_inputs + num_outputs
    bounds = np.concatenate([[0], np.cumsum(num_nodes)])
    columns = {
        "activation": np.int32,
        "bias": dtype,
        "rank": np.int64,
        "point": (np.float64, (2,)),
    }
    nodes = Store(columns, read_budget(memory_budget) // 16)
    for begin, stop in _runs(bounds):
        offset = bounds[begin : stop + 1] - bounds[begin]
        point = np.empty((offset[-1], 2))
        activation = np.full(offset[-1], activation_id(hidden_activation), np.int32)
        terminals = offset[:-1, None] + np.arange(num_inputs + num_outputs)
        is_hidden = np.ones(offset[-1], bool)
        is_hidden[terminals] = False
        point[is_hidden] = _hidden(wiring, begin, stop)
        point[terminals] = layout.points
        activation[terminals[:, :num_inputs]] = activation_id("identity")
        activation[terminals[:, num_inputs:]] = activation_id(output_activation)
        nodes.append(
            activation=activation,
            bias=np.zeros(offset[-1], dtype),
            rank=_heights(offset, point[:, 1]),
            point=point,
        )
    of_nodes = nodes.arrays()
    return silence_unfed(
        Networks(
            num_inputs=num_inputs,
            num_outputs=num_outputs,
            node_bounds=bounds,
            node_activation=of_nodes["activation"],
            node_bias=of_nodes["bias"],
            node_rank=of_nodes["rank"],
            node_point=of_nodes["point"],
            link_bounds=wiring.link_bounds,
            link_source=wiring.link_source,
            link_target=wiring.link_target,
            link_weight=wiring.link_weight,
            num_found=wiring.num_found,
            is_acyclic=is_acyclic,
            dialect=dialect,
            activation_ids=activation_set([hidden_activation, output_activation]),
            steps=steps,
            memory_budget=memory_budget,
        )
    )


def _heights(
    bounds: Int[np.ndarray, " networks_and_one"], y: Float[np.ndarray, " nodes"]
) -> Int[np.ndarray, " nodes"]:
    """How many different heights lie below each node, within its network.

    Links of an acyclic network run upwards, so height is an order to evaluate in.
    """
    heights, height = np.unique(y, return_inverse=True)
    network = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    occurs = np.zeros((len(bounds) - 1, heights.size), bool)
    occurs[network, height] = True
    return (np.cumsum(occurs, axis=1, dtype=np.int32) - 1)[network, height].astype(
        np.int64
    )


def _hidden(wiring: Wiring, begin: int, stop: int) -> np.ndarray:
    """Where the hidden nodes of genomes `begin` to `stop - 1` lie."""
    return wiring.hidden_point[wiring.hidden_bounds[begin] : wiring.hidden_bounds[stop]]


def _runs(bounds: np.ndarray) -> Iterator[tuple[int, int]]:
    """Runs of genomes that have few enough nodes together, one genome at least."""
    begin, num = 0, bounds.size - 1
    while begin < num:
        most = bounds[begin] + _NODES_AT_A_TIME
        stop = int(np.searchsorted(bounds, most, side="right")) - 1
        stop = min(num, max(stop, begin + 1))
        yield begin, stop
        begin = stop


@dataclasses.dataclass(frozen=True)
class Discovered(AbstractCPPNDecoder):
    """Networks on a substrate that the CPPN's own pattern decides.

    `es_hyperneat` and `emr_hyperneat` make this decoder with the defaults of each.

    **Arguments:**

    - `layout`: where inputs and outputs lie.
    - `rule`: depth, thresholds and (for `EMRRule`) connections.
    - `reading`: how a genome is read as a CPPN.
    - `weight_map`: from CPPN output to weight.
    - `hidden_activation`, `output_activation`: of the network, in the CPPN's dialect.
    - `steps`: updates per input of a network with cycles; one that has none settles.
    - `strategy`: `auto`, `frontier` or `eager`; all give the same networks.
    - `max_quads`: how much is explored at once; changes memory, never results.
    - `memory_budget`: bytes, or a text such as `2GiB`, that discovery and evaluation
      stay below; what exceeds it goes to the disk. `auto` is half of the memory that is
      free. Never changes results.
    """

    layout: Layout
    rule: ESRule | EMRRule
    reading: CPPNReading
    weight_map: WeightMap
    hidden_activation: str = "sigmoid"
    output_activation: str = "sigmoid"
    steps: int = 8
    strategy: str = "auto"
    max_quads: int = 1 << 20
    memory_budget: str | int = "auto"

    def __post_init__(self) -> None:
        activation_set([self.hidden_activation, self.output_activation])
        self._exploration()
        lowest = self.layout.inputs[:, 1].min()
        highest = self.layout.outputs[:, 1].max()
        if highest <= lowest:
            raise ValueError(
                f"no output lies above an input (inputs begin at y = {lowest:g}, "
                f"outputs end at y = {highest:g}), but links of discovered substrates "
                "run upwards: all networks would be empty. Move the outputs up, or "
                "turn the layout over."
            )
        if self.steps < 1:
            raise ValueError(f"steps must be positive, not {self.steps}.")

    def decode_programs(self, programs: Programs) -> Networks:
        engine = self.reading.ask(programs)
        exploration = self._exploration()
        wiring = discover(engine, self.weight_map, self.layout, exploration)
        return networks_of(
            wiring,
            self.hidden_activation,
            self.output_activation,
            self.reading.dialect,
            is_acyclic=isinstance(self.rule, ESRule)
            or self.rule.connections in _ACYCLIC,
            steps=self.steps,
            memory_budget=self.memory_budget,
        )

    def _exploration(self) -> Exploration:
        return Exploration(self.rule, self.strategy, self.max_quads, self.memory_budget)


def es_hyperneat(
    layout: Layout, rule: ESRule | None = None, **settings: Any
) -> Discovered:
    """ES-HyperNEAT (Risi & Stanley 2012) exactly as PUREPLES has it, its defaults too.

    `settings` are fields of `Discovered`.
    """
    defaults = {
        "reading": CPPNReading(dialect="neat-python"),
        "weight_map": WeightMap("deadzone", 5.0),
    }
    return Discovered(layout, rule or ESRule(), **(defaults | settings))


def emr_hyperneat(
    layout: Layout, rule: EMRRule | None = None, **settings: Any
) -> Discovered:
    """EMR-HyperNEAT (Claret et al. 2026), with six connection configurations.

    `settings` are fields of `Discovered`.
    """
    defaults = {
        "reading": CPPNReading(dialect="plain"),
        "weight_map": WeightMap("linear", 8.0),
        "hidden_activation": "tanh",
    }
    return Discovered(layout, rule or EMRRule(), **(defaults | settings))
