"""ES-HyperNEAT and EMR-HyperNEAT: networks on substrates that are discovered."""

import dataclasses
from typing import Any

from .._resources import Resources
from .._types import check_settings
from ..cppn import Programs
from ..neat import Genome
from ..network import Networks
from ..substrate import (
    AbstractRule,
    EMRRule,
    ESRule,
    Layout,
    NetworkSettings,
    WeightMap,
    discover,
)
from ..tensor import (
    MAX_DEPTH,
    Capacity,
    Discoverer,
    Traced,
    num_cells,
    rows_at_once,
)
from ._base import AbstractCPPNDecoder, CPPNReading, check_bias_scale

_HIDDEN, _EAGER_DEPTH = 64, 4
"""Room that traced networks have at first, and levels that are asked about whole."""


@dataclasses.dataclass(frozen=True)
class Discovered(AbstractCPPNDecoder):
    """Networks on a substrate that the CPPN's own pattern decides.

    `es_hyperneat` and `emr_hyperneat` make this decoder with the defaults of each.

    **Arguments:**

    - `layout`: where inputs and outputs lie.
    - `rule`: depth, thresholds and (for `EMRRule`) connections.
    - `reading`: how a genome is read as a CPPN.
    - `weight_map`: from CPPN output to weight.
    - `bias_scale`: what the CPPN's output `bias`, if it has one, is multiplied with;
      None takes the largest weight.
    - `hidden_activation`, `output_activation`: of the network, in the CPPN's dialect.
    - `steps`: updates per input of a network with cycles; one that has none settles.
    - `strategy`: `auto`, `frontier` or `eager`; all give the same networks.
    """

    layout: Layout
    rule: AbstractRule
    reading: CPPNReading
    weight_map: WeightMap
    bias_scale: float | None = None
    hidden_activation: str = "sigmoid"
    output_activation: str = "sigmoid"
    steps: int = 8
    strategy: str = "auto"

    def __post_init__(self) -> None:
        check_settings(self)
        self._settings()
        check_bias_scale(self.bias_scale)
        self.rule.check_strategy(self.strategy, Resources().budget)
        lowest = self.layout.inputs[:, 1].min()
        highest = self.layout.outputs[:, 1].max()
        if highest <= lowest:
            raise ValueError(
                f"no output lies above an input (inputs begin at y = {lowest:g}, "
                f"outputs end at y = {highest:g}), but links of discovered substrates "
                "run upwards: all networks would be empty. Move the outputs up, or "
                "turn the layout over."
            )

    def _wire(self, programs: Programs, resources: Resources | None) -> Networks:
        found = discover(
            programs,
            self.reading.coordinates,
            self.layout,
            self.rule,
            self.weight_map,
            self._settings(),
            strategy=self.strategy,
            resources=resources,
        )
        return found.networks

    @property
    def _queries_of_a_cell(self) -> int:
        return 2 if self.rule.has_band else 1

    def _sources_at_once(self, num_nodes: int) -> int:
        return rows_at_once(num_nodes)

    def num_traced_nodes(self, capacity: Capacity | None, num_slots: int) -> int:
        hidden = (capacity or self.first_capacity()).hidden
        return hidden + len(self.layout.points)

    def fits_on_device(self, num_slots: int, resources: Resources) -> bool:
        is_deeper = self.rule.depth > MAX_DEPTH
        return not is_deeper and super().fits_on_device(num_slots, resources)

    def first_capacity(self) -> Capacity:
        depth = self.rule.depth
        hidden = min(_HIDDEN, num_cells(depth))
        if self.strategy == "eager":
            return Capacity.eager(depth, hidden)
        # Levels that are looked at whole, whatever the pattern, have room from the
        # beginning.
        whole = min(depth, self.rule.last_whole_level)
        first = Capacity.frontier(depth, hidden, 4**_EAGER_DEPTH)
        quads = (*(4**level for level in range(whole + 1)), *first.quads[whole + 1 :])
        return first._replace(quads=quads)

    def trace(
        self,
        genome: Genome,
        capacity: Capacity | None = None,
        *,
        is_differentiable: bool = False,
    ) -> Traced:
        reader = self.reading.read(genome, is_differentiable)
        capacity = capacity or self.first_capacity()
        discover_one = Discoverer(
            self.layout,
            self.rule,
            self.weight_map,
            self._settings(),
            self.largest_bias,
            capacity,
        )
        network, shortage = discover_one(reader)
        exceeds = shortage.exceeds(capacity)
        return Traced.of(network, reader.cppn.is_sound, shortage, exceeds)

    def _settings(self) -> NetworkSettings:
        return NetworkSettings(
            self.hidden_activation,
            self.output_activation,
            self.steps,
            has_bias=self.reading.has_bias,
        )


def es_hyperneat(
    layout: Layout, rule: AbstractRule | None = None, **settings: Any
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
    layout: Layout, rule: AbstractRule | None = None, **settings: Any
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
