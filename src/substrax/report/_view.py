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
    """The CPPN of one genome, with the layout it is seen from.

    `rule` is None where nothing is discovered: on a fixed substrate.
    """

    engine: QueryEngine
    weight_map: WeightMap
    layout: Layout
    rule: AbstractRule | None

    @staticmethod
    def of(decoder: AbstractDecoder, genome: Genome) -> "CPPNView | None":
        """The view of a genome without a leading axis; None if it is no CPPN."""
        if isinstance(decoder, Discovered):
            layout, rule = decoder.layout, decoder.rule
        elif isinstance(decoder, HyperNEAT):
            layout, rule = decoder.substrate.layout, None
        else:
            return None
        engine = decoder.reading.engine(jax.tree.map(lambda x: x[None], genome))
        return CPPNView(engine, decoder.weight_map, layout, rule)

    def field(
        self, point: Float[np.ndarray, "2"], *, outgoing: bool, resolution: int
    ) -> Float[np.ndarray, "rows columns"]:
        """Weights over the plane seen from one point, rows from below.

        NaN where a link expression output forbids the link.
        """
        ticks = (2 * np.arange(resolution) + 1) / resolution - 1
        x, y = np.meshgrid(ticks, ticks)
        plane = np.column_stack([x.ravel(), y.ravel()])
        ends = (point, plane) if outgoing else (plane, point)
        outputs = self.engine.query(0, *ends)
        weight = self.weight_map(np.ascontiguousarray(outputs[:, 0]))
        if outputs.shape[1] > 1:
            weight[outputs[:, 1] <= 0] = np.nan
        return weight.reshape(resolution, resolution)

    def cells(self, point: Float[np.ndarray, "2"], *, outgoing: bool) -> ActiveCells:
        """The active cells seen from one point, by the decoder's rule."""
        assert self.rule is not None, "a fixed substrate has no cells"
        return active_cells(
            self.engine, self.weight_map, self.rule, point, outgoing=outgoing
        )


def some_of(num: int, most: int) -> list[int]:
    """Up to `most` of `num` things, spread evenly, first and last among them."""
    if num <= most:
        return list(range(num))
    return sorted({round(k) for k in np.linspace(0, num - 1, most).tolist()})
