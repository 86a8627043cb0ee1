"""What the two rules say about one field: which cells they link to its point."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..substrate import AbstractRule, EMRRule, ESRule, WeightMap
from ._capacity import Capacity
from ._field import (
    Expressed,
    Field,
    Level,
    View,
    allowed,
    block_variance,
    collect,
    in_band,
    look,
)

Mask = Bool[Array, "quads 4"]


def explore(
    rule: AbstractRule,
    field: Field,
    classes: frozenset[int],
    weight_map: WeightMap,
    capacity: Capacity,
    terminals: Int[np.ndarray, " on_cells"],
    dtype,
    only: Int[Array, " some"] | None = None,
) -> Expressed:
    """The cells that a rule links to the point of a field; of `only` these places, in
    ascending order, if they are given."""
    goes_on, candidates, band = _RULES[type(rule)](rule)
    view = look(field, goes_on, weight_map, capacity, dtype)
    masks = []
    bands = [jnp.ones_like(level.weight, bool) for level in view.levels]
    if band is not None:
        bands = in_band(field, view, weight_map, band, capacity.num_eager)
    for level, mask, in_its_band in zip(
        view.levels, candidates(view), bands, strict=True
    ):
        mask &= allowed(field, level.cells, classes, terminals) & in_its_band
        if level.leo is not None:
            mask &= level.leo > 0
        masks.append(mask)
    room = capacity.hidden if only is None else only.shape[0]
    return collect(view, masks, room, only)


def _emr(rule: EMRRule):
    """EMR-HyperNEAT: the mask of equation 2; every active cell is a candidate."""

    def is_active(number: int, level: Level) -> Bool[Array, " quads"]:
        if number <= rule.initial_depth:
            return jnp.ones(level.exists.shape, bool)
        varying = level.u if rule.field == "output" else level.weight
        return block_variance(varying) > rule.variance_threshold  # eq. 2

    def goes_on(number: int, level: Level) -> Bool[Array, " quads"]:
        # The paper's proof looks below quads that are not active, its mask does not.
        return jnp.ones_like(level.exists) if rule.recover else is_active(number, level)

    def candidates(view: View) -> list[Mask]:
        return [
            (level.exists & is_active(number, level))[:, None]
            & (jnp.abs(level.weight) > rule.weight_threshold)
            for number, level in enumerate(view.levels)
        ]

    return goes_on, candidates, rule.band_threshold or None


def _es(rule: ESRule):
    """ES-HyperNEAT: a quadtree that is divided from above, and read from above."""

    def is_divided(number: int, level: Level) -> Bool[Array, " quads"]:
        if number + 1 < rule.initial_depth:
            return jnp.ones_like(level.exists)
        return block_variance(level.weight) > rule.division_threshold

    def candidates(view: View) -> list[Mask]:
        leaves = _leaf_variances(view, is_divided)
        masks, reached = [], jnp.ones(1, bool)
        for number, level in enumerate(view.levels):
            tested = (reached & level.exists)[:, None] & jnp.ones((1, 4), bool)
            hands_over = jnp.zeros_like(tested)
            if number + 1 < len(view.levels):
                divided = level.exists & is_divided(number, level)
                is_above = leaves[number] > rule.variance_threshold
                hands_over = tested & divided[:, None] & is_above
                # A quad below is reached through the member that it lies below.
                reached = hands_over[view.levels[number + 1].parent].reshape(-1)
            masks.append(tested & ~hands_over & (level.weight != 0))
        return masks

    return is_divided, candidates, rule.band_threshold


def _leaf_variances(view: View, is_divided) -> list[Float[Array, "quads 4"]]:
    """The variance over the leaves below each cell, 0 for a leaf; bottom up.

    In 64 bits where JAX has them. The mean is taken relative to the first member, so
    that equal leaves have variance 0 exactly.
    """
    wide = jnp.result_type(float)  # of 32 bits, unless 64 are switched on
    variances: list[Float[Array, "quads 4"]] = []
    below = None
    for number in reversed(range(len(view.levels))):
        level = view.levels[number]
        mean = level.weight.astype(jnp.promote_types(wide, level.weight.dtype))
        total, deviation = jnp.ones_like(mean), jnp.zeros_like(mean)
        if below is not None:
            parent = view.levels[number + 1].parent
            divided = level.exists & is_divided(number, level)
            # Entries of `parent` that are none name quad 0: they are left out, so that
            # its own stay.
            is_real = view.levels[number + 1].exists.reshape(-1, 4)[:, 0]
            where = jnp.where(is_real, parent, mean.shape[0])
            spread = [
                plain.at[where].set(x.reshape(-1, 4), mode="drop")
                for plain, x in zip((total, mean, deviation), below, strict=True)
            ]
            total, mean, deviation = (
                jnp.where(divided[:, None], new, plain)
                for new, plain in zip(spread, (total, mean, deviation), strict=True)
            )
        variances.append(deviation / total)
        below = _pool(total, mean, deviation)
    return variances[::-1]


def _pool(n, m, s):
    """The leaves below the members of each quad together: number, mean, squared
    deviations."""
    total = ((n[:, 0] + n[:, 1]) + n[:, 2]) + n[:, 3]
    shift = sum((n[:, k] * (m[:, k] - m[:, 0]) for k in (2, 3)),
                n[:, 1] * (m[:, 1] - m[:, 0]))  # fmt: skip
    centre = m[:, 0] + shift / total
    apart = m - centre[:, None]
    squares = s + n * apart * apart
    return (
        total,
        centre,
        ((squares[:, 0] + squares[:, 1]) + squares[:, 2]) + squares[:, 3],
    )


_RULES = {EMRRule: _emr, ESRule: _es}
