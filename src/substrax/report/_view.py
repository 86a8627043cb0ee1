"""A genome as a CPPN over a substrate: what the figures of patterns ask."""

import dataclasses

import jax
import numpy as np
from jaxtyping import Float

from ..cppn import QueryEngine
from ..decoders import AbstractDecoder, Discovered, HyperNEAT
from ..neat import Genome
from ..substrate import AbstractRule, ActiveCells, Layout, WeightMap, active_cells


@dataclasses.dataclass(frozen=True)
class CPPNView:
    """The CPPN of one genome, with the layout it is seen from."""

    engine: QueryEngine
    """Answers with the weight, then LEO if there is one."""
    weight_map: WeightMap
    layout: Layout
    rule: AbstractRule | None
    """None where nothing is discovered: on a fixed substrate."""
    bias_engine: QueryEngine | None
    """Answers with the bias; None if nodes have none."""
    largest_bias: float

    @staticmethod
    def of(decoder: AbstractDecoder, genome: Genome) -> "CPPNView | None":
        """The view of a genome without a leading axis; None if it is no CPPN."""
        if isinstance(decoder, Discovered):
            layout, rule = decoder.layout, decoder.rule
        elif isinstance(decoder, HyperNEAT):
            layout, rule = decoder.substrate.layout, None
        else:
            return None
        reading = decoder.reading
        programs = reading.compile(jax.tree.map(lambda x: x[None], genome))
        return CPPNView(
            engine=reading.ask(reading.links_of(programs)),
            weight_map=decoder.weight_map,
            layout=layout,
            rule=rule,
            bias_engine=(
                reading.ask(reading.bias_of(programs)) if reading.has_bias else None
            ),
            largest_bias=decoder.largest_bias,
        )

    def field(
        self, point: Float[np.ndarray, "2"], *, outgoing: bool, resolution: int
    ) -> Float[np.ndarray, "rows columns"]:
        """Weights over the plane seen from one point, rows from below.

        NaN where a link expression output forbids the link.
        """
        plane = _places(resolution)
        # The order of the ends matters to a CPPN: links come from the first.
        ends = (point, plane) if outgoing else (plane, point)
        outputs = self.engine.query(0, *ends)
        weight = self.weight_map(np.ascontiguousarray(outputs[:, 0]))
        if outputs.shape[1] > 1:
            weight[outputs[:, 1] <= 0] = np.nan
        return weight.reshape(resolution, resolution)

    def bias_field(self, *, resolution: int) -> Float[np.ndarray, "rows columns"]:
        """Biases that nodes would have over the plane, rows from below."""
        assert self.bias_engine is not None, "nodes have no biases"
        plane = _places(resolution)
        bias = self.bias_engine.query(0, plane, np.zeros(2))[:, 0] * self.largest_bias
        return bias.reshape(resolution, resolution)

    def cells(self, point: Float[np.ndarray, "2"], *, outgoing: bool) -> ActiveCells:
        """The active cells seen from one point, by the decoder's rule."""
        assert self.rule is not None, "a fixed substrate has no cells"
        return active_cells(
            self.engine, self.weight_map, self.rule, point, outgoing=outgoing
        )


def _places(resolution: int) -> Float[np.ndarray, "places 2"]:
    """Centres of `resolution` x `resolution` squares of the plane, row by row."""
    ticks = (2 * np.arange(resolution) + 1) / resolution - 1
    x, y = np.meshgrid(ticks, ticks)
    return np.column_stack([x.ravel(), y.ravel()])


def some_of(num: int, most: int) -> list[int]:
    """Up to `most` of `num` things, spread evenly, first and last among them."""
    if num <= most:
        return list(range(num))
    return sorted({round(k) for k in np.linspace(0, num - 1, most).tolist()})
