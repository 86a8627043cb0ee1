"""What one field looks like on the grid: which cells were active, which were linked.

Discovery keeps links and forgets the rest. This follows one field by the same rule,
and keeps what was looked at on the way: the pictures of the EMR paper.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from .._types import ArrayLike
from ..cppn import QueryEngine
from ._cells import cell_ids, centres, levels_of
from ._connections import UPWARDS
from ._fields import Fields, FrontierValues, Quads, Queries
from ._rule import AbstractRule
from ._weights import WeightMap


@dataclasses.dataclass(frozen=True, eq=False)
class ActiveCells:
    """The active cells of one field, level behind level.

    Under rule `emr` these are the cells of the mask, under `es` the cells that the
    quadtree has. `weight` is that of the link between the fixed point and the cell;
    `is_linked` says whether the rule expresses it.
    """

    depth: int
    cell: Int[np.ndarray, " cells"]
    weight: Float[np.ndarray, " cells"]
    is_linked: Bool[np.ndarray, " cells"]

    @property
    def level(self) -> Int[np.ndarray, " cells"]:
        return levels_of(self.cell, self.depth)

    @property
    def centre(self) -> Float[np.ndarray, "cells 2"]:
        return centres(self.cell, self.depth)


class _Recorder:
    """Values of a strategy, and a record of what was asked for."""

    def __init__(self, values: FrontierValues) -> None:
        self.values = values
        self.wants_everything = False
        self.record: list[tuple[Quads, np.ndarray]] = []

    def at(self, quads: Quads) -> Float[np.ndarray, "outputs 4 quads"]:
        outputs = self.values.at(quads)
        self.record.append((quads, outputs))
        return outputs


def active_cells(
    engine: QueryEngine,
    weight_map: WeightMap,
    rule: AbstractRule,
    point: ArrayLike,
    *,
    outgoing: bool = True,
    genome: int = 0,
) -> ActiveCells:
    """The cells that are active seen from one point, under one CPPN of an engine.

    **Arguments:** the engine and weight map, as in `discover`; the rule; the fixed
    point, where links begin (`outgoing`) or end; which of the engine's genomes.
    """
    queries = Queries(engine, weight_map)
    fields = Fields(
        np.array([genome]), np.asarray(point, np.float64).reshape(1, 2), outgoing
    )
    values = _Recorder(FrontierValues(queries, fields))
    expressed = rule.explore(queries, fields, values, UPWARDS)
    cells, weights = [np.zeros(0, np.int64)], [np.zeros(0, engine.dtype)]
    for quads, outputs in values.record:
        is_active = rule.is_active(queries, quads, outputs)
        quads, weight = quads.select(is_active), weight_map(outputs[0])[:, is_active]
        member = np.arange(4)
        i = (2 * quads.i[:, None] + member // 2).ravel()
        j = (2 * quads.j[:, None] + member % 2).ravel()
        cells.append(cell_ids(quads.level, i, j))
        weights.append(weight.T.ravel())
    cell = np.concatenate(cells)
    return ActiveCells(
        rule.depth, cell, np.concatenate(weights), np.isin(cell, expressed.cell)
    )
