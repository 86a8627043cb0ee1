"""Visual discrimination (Stanley, D'Ambrosio & Gauci 2009): find the larger box."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from .._resources import Resources
from .._types import check_settings, shown
from ..decoders import AbstractDecoder
from ..neat import Genome
from ..network import Networks, evaluate
from ..substrate import Layout
from ._base import AbstractProblem, check_networks, check_single

_FIELD = 11
"""Cells along an edge. Trials are made of these, whatever the resolution."""

_MAX_RESOLUTION = 2_035
"""The last one of less than `MAX_POINTS` pixels."""

_WORST = 30.0
"""Squared distance, in cells, from which on a choice earns nothing."""

TRIALS = ("evolution", "all")


def _evolution_trials() -> Int[np.ndarray, "trials 4"]:
    """The 75 trials of the paper (p. 17): small box x, y and large box x, y, in cells.

    "The small object appears at 25 uniformly distributed locations such that it is
    always completely within the visual field. For each of these 25 locations, the
    larger object is placed five units to the right, down, and diagonally, once per
    trial. The large object wraps around to the other side of the field when it hits the
    border. If the larger object is not completely within the visual field, it is moved
    the smallest distance possible that places it fully in view."
    """
    trials = []
    for y in range(1, _FIELD, 2):
        for x in range(1, _FIELD, 2):
            # A box of 3 x 3 is in view if its centre is not on the border.
            far_x, far_y = (min(max((v + 5) % _FIELD, 1), 9) for v in (x, y))
            trials += [(x, y, x, far_y), (x, y, far_x, y), (x, y, far_x, far_y)]
    return np.array(trials)


def _all_trials() -> Int[np.ndarray, "trials 4"]:
    """Every placement of the two boxes in view that leaves them apart.

    As in the test of the authors' software: centres are three cells apart or more.
    """
    cells, inner = np.arange(_FIELD), np.arange(1, _FIELD - 1)
    grid = np.meshgrid(cells, cells, inner, inner, indexing="ij")
    x, y, far_x, far_y = (axis.ravel() for axis in grid)
    is_apart = (x - far_x) ** 2 + (y - far_y) ** 2 >= 9
    return np.column_stack([x, y, far_x, far_y])[is_apart]


def _draw(
    trials: Int[np.ndarray, "trials 4"], scale: int
) -> Float[np.ndarray, "trials pixels"]:
    """The fields: each cell is `scale` x `scale` pixels; rows from below."""
    x, y, far_x, far_y = (column[:, None, None] for column in trials.T)
    rows, columns = np.arange(_FIELD)[:, None], np.arange(_FIELD)
    is_small = (columns == x) & (rows == y)
    is_large = (np.abs(columns - far_x) <= 1) & (np.abs(rows - far_y) <= 1)
    cells = is_small | is_large
    pixels = cells.repeat(scale, axis=1).repeat(scale, axis=2)
    # What the eye takes in stays the same in all, however many pixels it has.
    return pixels.reshape(len(trials), -1) / scale**2


@dataclasses.dataclass(frozen=True)
class VisualDiscrimination(AbstractProblem):
    """Which of two boxes is the larger one? Answer with its centre, at any resolution.

    A field of 11 x 11 pixels shows two boxes, of 1 and of 3 x 3 pixels; the network has
    an output for each pixel, and the most active output is its choice (the first of
    equal ones, row by row from below, as in the authors' software). A choice at
    distance d from the large box's centre, in cells of the 11 x 11 field, earns
    max(0, 1 - d^2 / 30); fitness is the mean over the 75 trials of the paper.

    **Solved** at 0.95, where the authors' software says "problem domain solved". Their
    score is 30 times ours, summed.

    **Resolution.** At 11 k x 11 k pixels (k odd, so that boxes have a central pixel)
    each cell is k x k pixels, and inputs are 1 / k^2 instead of 1, so that the field as
    a whole excites as much. Networks have other inputs and outputs then; the same
    genome makes one for any resolution. `at_resolution(33)` is the same problem on
    33 x 33 pixels, and `transfer` decodes and tests a genome there.

    **Coordinates.** In the paper, both fields fill a plane of their own. Here they
    share one: pixel centres of a field that is as wide as the plane, inputs in the band
    y in [-1, -1/2] and outputs in [1/2, 1]. So a cell's centre is at the same place at
    every resolution. There is no bias.

    `measures`: `hit_rate`, the share of trials with the very centre named;
    `mean_distance` and `root_mean_square_distance`, in cells.

    Stanley, D'Ambrosio & Gauci (2009), A Hypercube-Based Encoding for Evolving
    Large-Scale Neural Networks, Artificial Life 15(2), section 4.

    **Arguments:**

    - `resolution`: pixels along an edge, an odd multiple of 11.
    - `trials`: `evolution`, the 75 of the paper, or `all`, every placement that leaves
      the boxes apart, to see whether a network generalises.
    """

    resolution: int = _FIELD
    trials: str = "evolution"

    name: ClassVar[str] = "visual"
    target: ClassVar[float] = 0.95
    is_separable: ClassVar[bool | None] = True
    suggested: ClassVar[dict[str, object]] = {}

    def __post_init__(self) -> None:
        check_settings(self)
        if self.resolution > _MAX_RESOLUTION:
            raise ValueError(
                f"resolution must be at most {_MAX_RESOLUTION}, not {self.resolution}: "
                "every pixel is an input and an output."
            )
        if self.resolution < _FIELD or self.resolution % (2 * _FIELD) != _FIELD:
            raise ValueError(
                f"resolution must be an odd multiple of 11 (11, 33, 55, ...), not "
                f"{self.resolution}."
            )
        if self.trials not in TRIALS:
            raise ValueError(
                f"unknown trials {shown(self.trials)}: use one of {', '.join(TRIALS)}."
            )

    def at_resolution(self, resolution: int) -> "VisualDiscrimination":
        """The same problem, seen with another number of pixels."""
        return dataclasses.replace(self, resolution=resolution)

    @functools.cached_property
    def layout(self) -> Layout:
        centre = (np.arange(self.resolution) + 0.5) / self.resolution
        x, height = np.meshgrid(2.0 * centre - 1.0, centre / 2.0)
        return Layout(
            np.column_stack([x.ravel(), height.ravel() - 1.0]),
            np.column_stack([x.ravel(), height.ravel() + 0.5]),
        )

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        del key
        check_networks(self, networks)
        score = np.maximum(
            0.0, 1.0 - self._squared_distances(networks, resources) / _WORST
        )
        return score.mean(axis=1)

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        distance = self._squared_distances(network)[0]
        hits = np.where(np.isnan(distance), np.nan, distance == 0)
        return {
            "hit_rate": float(hits.mean()),
            "mean_distance": float(np.sqrt(distance).mean()),
            "root_mean_square_distance": float(np.sqrt(distance.mean())),
        }

    def _squared_distances(
        self, networks: Networks, resources: Resources | None = None
    ) -> Float[np.ndarray, "networks trials"]:
        """From choice to centre, in cells; NaN where an output is not finite."""
        trials = _evolution_trials() if self.trials == "evolution" else _all_trials()
        scale = self.resolution // _FIELD
        result = np.empty((len(networks), len(trials)))
        # Fields and outputs are large: few trials, and few networks, at a time.
        step = max(1, (1 << 22) // self.resolution**2)
        for first in range(0, len(trials), step):
            some = trials[first : first + step]
            fields = _draw(some, scale)
            # The scale is odd, so that a cell has a pixel in its middle.
            centre = some[:, 2:] * scale + scale // 2
            share = max(1, (1 << 24) // fields.size)
            for begin in range(0, len(networks), share):
                part = networks.part(begin, min(begin + share, len(networks)))
                outputs = evaluate(part, fields, resources=resources)
                # (NaN would be the largest of all; such trials are marked below)
                row, column = np.divmod(outputs.argmax(axis=2), self.resolution)
                squared = (column - centre[:, 0]) ** 2 + (row - centre[:, 1]) ** 2
                result[begin : begin + share, first : first + step] = np.where(
                    np.isfinite(outputs).all(axis=2), squared / scale**2, np.nan
                )
        return result


def transfer(
    problem: VisualDiscrimination,
    genome: Genome,
    decoder_for: Callable[[Layout], AbstractDecoder],
    resolutions: Sequence[int] = (11, 33, 55),
) -> dict[int, dict[str, float]]:
    """How a genome does at other resolutions, without further evolution.

    The genome is decoded again for each resolution's layout and tested there.

    **Arguments:**

    - `problem`: which trials.
    - `genome`: one genome, without a leading axis.
    - `decoder_for`: makes the decoder for a layout, for example
      `lambda layout: dataclasses.replace(decoder, layout=layout)`.
    - `resolutions`: odd multiples of 11.

    **Returns:** `measures` and `fitness` for each resolution.
    """
    genomes = jax.tree.map(lambda x: x[None], genome)
    result = {}
    for resolution in resolutions:
        there = problem.at_resolution(resolution)
        network = decoder_for(there.layout).decode(genomes)
        fitness = there.fitness(network, key=jax.random.key(0))
        result[resolution] = {
            "fitness": float(fitness[0]),
            **there.measures(network),
        }
    return result
