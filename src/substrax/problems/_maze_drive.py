"""A network that drives robots through a world, and what such problems share."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ..substrate import Layout, line
from ._maze_robot import START_HEADING, move, sense_walls
from ._network_function import NetworkFunction

MAX_STEPS = 454
"""45 seconds in steps of 0.099."""

_COMPASS = [(0.0, -0.7), (0.3, -0.8), (0.0, -0.9), (-0.3, -0.8)]
"""Ahead, right, behind, left. No cell of a substrate lies at these heights."""


def robot_layout() -> Layout:
    """Range finders and radar below; left, ahead, right above."""
    return Layout(np.concatenate([line(5, -1.0), _COMPASS]), line(3, 1.0))


class Journey(NamedTuple):
    """Where robots have come to, and how."""

    position: Float[Array, "robots 2"]
    heading: Float[Array, " robots"]
    progress: Any
    """What the task remembers."""
    steps: Int[Array, " robots"]
    is_finite: Bool[Array, ""]
    """Whether the network's outputs have been so far."""


def drive(
    network: NetworkFunction,
    walls: Float[Array, "robots walls 4"],
    start: Float[Array, "robots 2"],
    progress: Any,
    look: Callable[..., Float[Array, "robots 4"]],
    advance: Callable[..., tuple[Any, Bool[Array, " robots"]]],
    max_steps: int,
) -> Journey:
    """Lets one network drive several robots, each until it is done.

    `look(progress, position, heading)` is what radars show, `advance(progress,
    position)` the progress after a step and whether a robot is done. Of a robot that is
    done nothing changes any more, so `advance` has to leave its progress alone.
    """
    num = len(start)

    def is_going(carry):
        _, _, is_active, time = carry
        return (time < max_steps) & is_active.any()

    def step(carry):
        now, memory, is_active, time = carry
        seen = [
            sense_walls(now.position, now.heading, walls),
            look(now.progress, now.position, now.heading),
        ]
        memory, outputs = network.step(memory, jnp.concatenate(seen, axis=1))
        # Robots are a batch: those that are done are moved, too, and put back.
        position, heading = move(now.position, now.heading, outputs, walls)
        position = jnp.where(is_active[:, None], position, now.position)
        progress, is_done = advance(now.progress, position)
        is_fine = jnp.where(is_active[:, None], jnp.isfinite(outputs), True).all()
        then = Journey(
            position=position,
            heading=jnp.where(is_active, heading, now.heading),
            progress=progress,
            steps=now.steps + is_active.astype(jnp.int32),
            is_finite=now.is_finite & is_fine,
        )
        # A network that failed need not go on.
        return then, memory, is_active & ~is_done & then.is_finite, time + 1

    journey = Journey(
        position=start,
        heading=jnp.full(num, START_HEADING, start.dtype),
        progress=progress,
        steps=jnp.zeros(num, jnp.int32),
        is_finite=jnp.asarray(True),
    )
    carry = (
        journey,
        network.start(num),
        jnp.ones(num, bool),
        jnp.asarray(0, jnp.int32),
    )
    return lax.while_loop(is_going, step, carry)[0]


def distance(
    position: Float[Array, "*#n 2"], point: Float[Array, "*#n 2"]
) -> Float[Array, "..."]:
    return jnp.sqrt(((position - point) ** 2).sum(-1))
