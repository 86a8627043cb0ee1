"""One field within a jit: what a CPPN says about the cells of all levels, seen from one
point, and which of them a rule links to that point.

Levels with room for all their quads are asked about together, in one query. Below, each
level looks at the children of the quads that the rule wants to go on from, as many as
there is room for; more of them are a shortage, which is told and never passed over.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..substrate import BACKWARD, FORWARD, LATERAL, SELF, UPWARDS, WeightMap
from ._capacity import Capacity
from ._grid import NO_PLACE, Cells, members
from ._lists import first_of, is_among
from ._weights import weight_of

Ask = Callable[[Float[Array, "... 2"]], Float[Array, "outputs ..."]]
"""What the CPPN says about links between the field's point and others."""


class Field(NamedTuple):
    """A point that links begin at (`is_outgoing`) or end at."""

    ask: Ask
    place: Int[Array, ""]
    height: Int[Array, ""]
    is_terminal: Bool[Array, ""]
    is_outgoing: bool


class Level(NamedTuple):
    """The quads of one level that are looked at; `weight` is w(u) of their members.

    `parent` is the quad of the level above whose members the quads 4k to 4k+3 lie
    below; at an eager level that is quad k.
    """

    code: Int[Array, " quads"]
    exists: Bool[Array, " quads"]
    parent: Int[Array, " parents"]
    cells: Cells
    u: Float[Array, "quads 4"]
    weight: Float[Array, "quads 4"]
    leo: Float[Array, "quads 4"] | None


class View(NamedTuple):
    """All levels of a field, and how many quads of each were wanted."""

    levels: list[Level]
    wanted: Int[Array, " levels"]


def look(
    field: Field,
    goes_on: Callable[[int, Level], Bool[Array, " quads"]],
    weight_map: WeightMap,
    capacity: Capacity,
    dtype,
) -> View:
    """What is to be seen; `goes_on(level, quads)` says whose members have children."""
    depth = len(capacity.quads) - 1
    num_eager = capacity.num_eager
    answers = _ask_eager(field, num_eager, depth, dtype)
    one = jnp.zeros(1, jnp.int32)
    levels, numbers = [], [jnp.ones((), jnp.int32)]
    code, exists, parent = one, jnp.ones(1, bool), one
    for number in range(depth + 1):
        cells = members(code, number, depth, dtype)
        outputs = answers[number] if number < num_eager else field.ask(cells.centre)
        level = Level(
            code,
            exists,
            parent,
            cells,
            outputs[0],
            weight_of(weight_map, outputs[0]),
            outputs[1] if outputs.shape[0] > 1 else None,
        )
        levels.append(level)
        if number == depth:
            break
        wanted = exists & goes_on(number, level)
        numbers.append(4 * wanted.sum(dtype=jnp.int32))
        if number + 1 < num_eager:
            parent = jnp.arange(wanted.size, dtype=jnp.int32)
            is_parent = wanted
        else:
            room = capacity.quads[number + 1] // 4
            parent, is_parent = first_of(wanted, room)
        code = (
            4 * code[parent][:, None] + jnp.arange(4, dtype=jnp.int32)[None]
        ).reshape(-1)
        exists = jnp.repeat(is_parent, 4)
    return View(levels, jnp.stack(numbers))


def _ask_eager(
    field: Field, num_eager: int, depth: int, dtype
) -> list[Float[Array, "outputs quads 4"]]:
    """Answers about all cells of the first levels, by one query."""
    codes = [np.arange(4**level, dtype=np.int32) for level in range(num_eager)]
    centres = [
        members(jnp.asarray(code), level, depth, dtype).centre
        for level, code in enumerate(codes)
    ]
    answers = field.ask(jnp.concatenate(centres))
    bounds = np.cumsum([0, *(code.size for code in codes)])
    return [answers[:, a:b] for a, b in itertools.pairwise(bounds)]


def block_variance(values: Float[Array, "quads 4"]) -> Float[Array, " quads"]:
    """var4: the population variance over the members of each quad."""
    a, b, c, d = values[:, 0], values[:, 1], values[:, 2], values[:, 3]
    mean = (((a + b) + c) + d) * 0.25
    squares = [(x - mean) * (x - mean) for x in (a, b, c, d)]
    return (((squares[0] + squares[1]) + squares[2]) + squares[3]) * 0.25


def in_band(
    field: Field, view: View, weight_map: WeightMap, threshold: float, num_eager: int
) -> list[Bool[Array, "_ 4"]]:
    """Cells that differ from both neighbours along x, or from both along y, by level.

    `max(min(|dv left|, |dv right|), min(|dv down|, |dv up|)) > threshold`, neighbours
    lying one side away, also outside the plane, whether or not a cell exists there
    (Risi & Stanley 2012). One neighbour along each axis is a member of the same quad,
    whose weight is known; the other is asked for.
    """
    beyond = [
        _outer_neighbours(level.cells.centre, 2.0**-number)
        for number, level in enumerate(view.levels)
    ]
    # As with the cells themselves, one query for all levels that are looked at whole.
    bounds = np.cumsum([0, *(points.shape[0] for points in beyond[:num_eager])])
    answers = field.ask(jnp.concatenate(beyond[:num_eager]))[0]
    asked = [answers[low:high] for low, high in itertools.pairwise(bounds)]
    asked += [field.ask(points)[0] for points in beyond[num_eager:]]
    member = np.arange(4)
    masks = []
    for level, outputs in zip(view.levels, asked, strict=True):
        outer = weight_of(weight_map, outputs)
        passes = jnp.zeros(level.weight.shape, bool)
        for axis, sibling in enumerate((member ^ 2, member ^ 1)):
            inner = level.weight[:, sibling]
            passes |= (jnp.abs(level.weight - inner) > threshold) & (
                jnp.abs(level.weight - outer[..., axis]) > threshold
            )
        masks.append(passes)
    return masks


def _outer_neighbours(
    centre: Float[Array, "quads 4 2"], side: float
) -> Float[Array, "quads 4 2 2"]:
    """For each member the neighbours outside its quad: along x, and along y."""
    member = np.arange(4)
    step = np.zeros((1, 4, 2, 2), centre.dtype)
    step[0, :, 0, 0] = side * (2 * (member >> 1) - 1)
    step[0, :, 1, 1] = side * (2 * (member & 1) - 1)
    return centre[:, :, None] + step


def allowed(
    field: Field,
    cells: Cells,
    classes: frozenset[int],
    terminals: Int[np.ndarray, " on_cells"],
) -> Bool[Array, "quads 4"]:
    """Cells to which a link of one of the classes leads, from a field's point.

    Links of terminals run upwards whatever the classes say; `terminals` are the places
    of those that lie on cells.
    """
    forward = field.height < cells.height
    if not field.is_outgoing:
        return cells.height < field.height
    if classes == UPWARDS:
        return forward
    is_same = cells.place == field.place
    ends_free = ~_is_any(cells.place, terminals) & ~field.is_terminal
    return class_mask(classes, field.height, cells.height, is_same, ends_free)


def class_mask(classes, source_height, target_height, is_same, are_free):
    """Links whose class is allowed; of those whose ends are not both free, forward
    ones."""
    forward = source_height < target_height
    others = jnp.zeros_like(forward)
    if BACKWARD in classes:
        others |= source_height > target_height
    if LATERAL in classes:
        others |= (source_height == target_height) & ~is_same
    if SELF in classes:
        others |= is_same
    result = others & are_free
    return result | forward if FORWARD in classes else result


def _is_any(place: Int[Array, "quads 4"], some: Int[np.ndarray, " n"]):
    result = jnp.zeros(place.shape, bool)
    for one in some.tolist():
        result |= place == one
    return result


class Expressed(NamedTuple):
    """Places of the cells that are linked to a field's point, ascending; `NO_PLACE`
    behind them. `num` may be more than there is room for."""

    place: Int[Array, " room"]
    num: Int[Array, ""]
    quads: Int[Array, " levels"]
    """How many were wanted of each level."""


def collect(
    view: View,
    masks: list[Bool[Array, "_ 4"]],
    room: int,
    only: Int[Array, " some"] | None = None,
) -> Expressed:
    """The cells of all levels that a mask is true of; only some, if they are given in
    ascending order."""
    mask = jnp.concatenate([m.reshape(-1) for m in masks])
    place = jnp.concatenate([level.cells.place.reshape(-1) for level in view.levels])
    if only is not None:
        mask &= is_among(place, only)
    index, is_one = first_of(mask, room)
    places = jnp.where(is_one, place[index], NO_PLACE)
    return Expressed(places, mask.sum(dtype=jnp.int32), view.wanted)
