"""HyperNEAT: hidden nodes between inputs and outputs, in layers or on a grid."""

import dataclasses
from typing import ClassVar

import numpy as np

from .. import decoders
from .._types import check_settings, chosen, shown
from ..decoders import FixedSubstrate, check_num_links
from ..substrate import MAX_POINTS, WEIGHT_MAPS, Layout, line
from ._method import AbstractCPPNMethod


@dataclasses.dataclass(frozen=True, kw_only=True)
class HyperNEAT(AbstractCPPNMethod):
    """HyperNEAT (Stanley, D'Ambrosio & Gauci 2009) on a substrate made by rule.

    For one made by hand give `substrax.decoders.HyperNEAT` instead.

    **Arguments:**

    - `substrate`: `layered`, each layer linked fully to the next, or `grid`, with every
      link that runs upwards.
    - `hidden_layers`: sizes of layers: `8` nodes in a row, or `4x2`, columns and rows.
    - `columns`, `rows`: of the grid.
    - `weight_threshold`: a link is expressed where |weight| exceeds it.
    """

    substrate: str = chosen("layered", ("layered", "grid"))
    hidden_layers: tuple[str, ...] = ("4",)
    columns: int = 4
    rows: int = 3
    weight_threshold: float = 0.0
    weight_map: str = chosen("deadzone", WEIGHT_MAPS)
    max_weight: float = 5.0

    name: ClassVar[str] = "hyperneat"
    title: ClassVar[str] = "HyperNEAT"

    def __post_init__(self) -> None:
        check_settings(self)

    def decoder(
        self, layout: Layout, activations: tuple[str, ...] | None = None
    ) -> decoders.HyperNEAT:
        return decoders.HyperNEAT(
            self.fixed_substrate(layout),
            weight_threshold=self.weight_threshold,
            **self.network_settings(activations),
        )

    def fixed_substrate(self, layout: Layout) -> FixedSubstrate:
        """Hidden nodes between the problem's inputs and outputs."""
        if self.substrate == "grid":
            return FixedSubstrate.grid(layout, self.columns, self.rows)
        low, high = layout.inputs[:, 1].max(), layout.outputs[:, 1].min()
        if low >= high:
            raise ValueError(
                "hidden layers lie between inputs and outputs, but some input of this "
                "problem is not below all outputs. Use the substrate grid."
            )
        layers = [_layer_size(text) for text in self.hidden_layers]
        sizes = [columns * (rows or 1) for columns, rows in layers]
        if sum(sizes) > MAX_POINTS:
            raise ValueError(
                f"hidden_layers have {shown(sum(sizes))} nodes; they may have at most "
                f"{MAX_POINTS:,}. Choose fewer."
            )
        check_num_links([len(layout.inputs), *sizes, len(layout.outputs)])
        # Rows at equal heights, all layers together.
        num_rows = sum(rows or 1 for _, rows in layers)
        heights = low + (high - low) * np.arange(1, num_rows + 1) / (num_rows + 1)
        points, first = [], 0
        for columns, rows in layers:
            x = line(columns, 0.0)[:, 0]
            if rows is not None:
                x = (2 * np.arange(columns) + 1) / columns - 1
            y = heights[first : first + (rows or 1)]
            points.append(np.column_stack([np.tile(x, y.size), np.repeat(y, columns)]))
            first += y.size
        return FixedSubstrate.layered([layout.inputs, *points, layout.outputs])


def _layer_size(text: str) -> tuple[int, int | None]:
    """Columns and rows of a layer: `8` nodes in one row from edge to edge (no number of
    rows is given), or `4x2`, the middles of 4 columns in 2 rows."""
    words = text.split("x")
    try:
        columns, num_rows = int(words[0]), int(words[1]) if len(words) == 2 else 1
    except ValueError:
        columns, num_rows = 0, 0
    if min(columns, num_rows) < 1 or len(words) > 2:
        raise ValueError(
            f"hidden_layers has {shown(text)}; a layer is a number of nodes, such as "
            "8, or of columns and rows, such as 4x2."
        )
    return columns, num_rows if len(words) == 2 else None
