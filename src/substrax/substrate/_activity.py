"""What one field looks like on the grid: which cells were active, which were linked.

Discovery keeps links and forgets the rest. This follows one field by the same rule, one
level after the other, and keeps what was looked at on the way: the pictures of the EMR
paper.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from .._types import ArrayLike
from ..cppn import QueryEngine
from ._cells import cell_ids, centres, levels_of
from ._emr import EMRRule
from ._es import ESRule
from ._recover import may_vary
from ._rule import AbstractRule
from ._weights import WeightMap

_MEMBER = np.arange(4)


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


class _View(NamedTuple):
    """A CPPN seen from a point: links begin there (`outgoing`) or end."""

    engine: QueryEngine
    weight_map: WeightMap
    genome: int
    point: Float[np.ndarray, " 2"]
    outgoing: bool

    def ask(self, points: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n outputs"]:
        ends = (self.point, points) if self.outgoing else (points, self.point)
        return self.engine.query(self.genome, *ends)


class _Level(NamedTuple):
    """The quads of one level that were looked at, below cells (i, j) of the level
    above; what is known of their members is (quads, 4)."""

    number: int
    i: Int[np.ndarray, " quads"]
    j: Int[np.ndarray, " quads"]
    u: Float[np.ndarray, "quads 4"]
    weight: Float[np.ndarray, "quads 4"]
    leo: Float[np.ndarray, "quads 4"] | None
    opened: Bool[np.ndarray, " quads"]
    """Whose members were looked below."""

    @property
    def cell(self) -> Int[np.ndarray, "quads 4"]:
        i, j = _members(self.i, self.j)
        return cell_ids(self.number, i.ravel(), j.ravel()).reshape(i.shape)

    @property
    def centre(self) -> Float[np.ndarray, "quads 4 2"]:
        side = 2.0**-self.number
        i, j = _members(self.i, self.j)
        return np.stack([(k + 0.5) * side - 1.0 for k in (i, j)], axis=-1)


Decide = Callable[[int, np.ndarray, np.ndarray], Bool[np.ndarray, " quads"]]
"""From a level's number, its u and its weights (quads, 4) to a mask of quads."""


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
    where = np.asarray(point, np.float64).reshape(2)
    view = _View(engine, weight_map, genome, where, outgoing)
    if isinstance(rule, EMRRule):
        levels, active, linked = _emr(rule, view)
    elif isinstance(rule, ESRule):
        levels, active, linked = _es(rule, view)
    else:
        raise ValueError(f"{rule.title} has no figure of active cells.")
    return ActiveCells(
        rule.depth,
        np.concatenate(
            [x.cell[a].ravel() for x, a in zip(levels, active, strict=True)]
        ),
        np.concatenate(
            [x.weight[a].ravel() for x, a in zip(levels, active, strict=True)]
        ),
        np.concatenate([x[a].ravel() for x, a in zip(linked, active, strict=True)]),
    )


def _emr(rule: EMRRule, view: _View):
    """The mask of equation 2, or that of the paper's proof."""

    def varies(number, u, weight):
        if number <= rule.initial_depth:
            return np.ones(len(u), bool)
        varying = u if rule.field == "output" else weight
        return block_variance(varying) > rule.variance_threshold  # eq. 2

    def everywhere(number, u, weight):
        return np.ones(len(u), bool)

    levels = _walk(rule, view, everywhere if rule.recover else varies)
    active = [varies(x.number, x.u, x.weight) for x in levels]
    band = rule.band_threshold if rule.band_threshold > 0 else None
    linked = [
        (np.abs(x.weight) > rule.weight_threshold) & _may_link(view, x, band)
        for x in levels
    ]
    return levels, active, linked


def _es(rule: ESRule, view: _View):
    """The quadtree, divided and read from above."""

    def divides(number, u, weight):
        if number + 1 < rule.initial_depth:
            return np.ones(len(u), bool)
        return block_variance(weight) > rule.division_threshold

    levels = _walk(rule, view, divides)
    reached, linked = np.ones(1, bool), []
    for x, leaves in zip(levels, _leaf_variances(levels), strict=True):
        tested = np.repeat(reached[:, None], 4, axis=1)
        hands_over = tested & x.opened[:, None] & (leaves > rule.variance_threshold)
        reached = hands_over[x.opened].ravel()
        is_candidate = tested & ~hands_over & (x.weight != 0)
        linked.append(is_candidate & _may_link(view, x, rule.band_threshold))
    return levels, [np.ones(len(x.i), bool) for x in levels], linked


def _walk(rule: AbstractRule, view: _View, goes_on: Decide) -> list[_Level]:
    """Level by level, the children of all quads that `goes_on` says."""
    levels: list[_Level] = []
    i = j = np.zeros(1, np.int64)
    for number in range(rule.depth + 1):
        if isinstance(rule, EMRRule) and rule.recover and number > rule.initial_depth:
            keep = may_vary(rule, *view, number, i, j)
            i, j = i[keep], j[keep]
        level = _look(view, number, i, j)
        opened = goes_on(number, level.u, level.weight)
        if number == rule.depth:
            opened = np.zeros(len(i), bool)
        levels.append(level._replace(opened=opened))
        i, j = (k[opened].ravel() for k in _members(i, j))
        if not i.size:
            break
    return levels


def _look(view: _View, number: int, i: np.ndarray, j: np.ndarray) -> _Level:
    nothing = np.zeros((len(i), 4))
    level = _Level(number, i, j, nothing, nothing, None, np.zeros(len(i), bool))
    outputs = view.ask(level.centre.reshape(-1, 2)).T
    outputs = outputs.reshape(len(outputs), len(i), 4)
    weight = view.weight_map(outputs[0])
    return level._replace(
        u=outputs[0], weight=weight, leo=outputs[1] if len(outputs) > 1 else None
    )


def _members(i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The children of cells (i, j), or of the root: (quads, 4)."""
    return 2 * i[:, None] + _MEMBER // 2, 2 * j[:, None] + _MEMBER % 2


def block_variance(values: Float[np.ndarray, "quads 4"]) -> Float[np.ndarray, " quads"]:
    """var4: the population variance over the members of each quad."""
    a, b, c, d = values.T
    quarter = values.dtype.type(0.25)
    mean = (((a + b) + c) + d) * quarter
    squares = [(x - mean) * (x - mean) for x in (a, b, c, d)]
    return (((squares[0] + squares[1]) + squares[2]) + squares[3]) * quarter


def _may_link(
    view: _View, level: _Level, band_threshold: float | None
) -> Bool[np.ndarray, "quads 4"]:
    """Links upwards that LEO permits, and whose cells are in a band if need be."""
    y = level.centre[..., 1]
    mask = view.point[1] < y if view.outgoing else y < view.point[1]
    if level.leo is not None:
        mask &= level.leo > 0
    if band_threshold is not None and len(level.i):
        mask &= _in_band(view, level, band_threshold)
    return mask


def _in_band(
    view: _View, level: _Level, threshold: float
) -> Bool[np.ndarray, "quads 4"]:
    """Cells that differ from both neighbours along x, or from both along y; neighbours
    lie one side away, also outside the plane (Risi & Stanley 2012)."""
    side = 2.0**-level.number
    passes = np.zeros(level.weight.shape, bool)
    for axis in (0, 1):
        differs = np.ones(level.weight.shape, bool)
        for step in (-side, side):
            beside = level.centre
            beside[..., axis] += step
            outputs = view.ask(beside.reshape(-1, 2))[:, 0].reshape(passes.shape)
            differs &= np.abs(level.weight - view.weight_map(outputs)) > threshold
        passes |= differs
    return passes


def _leaf_variances(levels: list[_Level]) -> list[Float[np.ndarray, "quads 4"]]:
    """The variance over the leaves below each cell, 0 for a leaf; bottom up, in 64
    bits."""
    result, below = [], None
    for level in reversed(levels):
        mean = level.weight.astype(np.float64)
        count, deviation = np.ones(mean.shape), np.zeros(mean.shape)
        if below is not None:
            for x, new in zip((count, mean, deviation), below, strict=True):
                x[level.opened] = new.reshape(-1, 4)
        result.append(deviation / count)
        # Of all four members together. Relative to the first of them, so that equal
        # leaves have variance 0 exactly.
        total = count.sum(axis=1)
        shift = (count * (mean - mean[:, :1])).sum(axis=1) / total
        centre = mean[:, 0] + shift
        squares = deviation + count * (mean - centre[:, None]) ** 2
        below = total, centre, squares.sum(axis=1)
    return result[::-1]
