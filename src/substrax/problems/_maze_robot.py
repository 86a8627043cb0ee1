"""The robot of the hard maze and the dual task: motion, range finders, radar.

All functions take many robots, each among walls of its own. Headings are in radians,
counterclockwise as seen on the screen: y grows downwards, so a robot that moves along
its heading goes by (cos, -sin).
"""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

RADIUS, RANGE = 10.5, 40.0
"""Of the robot; and how far from its rim range finders see."""
SPEED, TURN, SECONDS = 20.0, 4.28, 0.099
"""Units and radians per second at full output; length of a step."""
FINDERS = np.linspace(1.3398, -1.3398, 5)
"""Where range finders point, beside the heading: from left to right."""
FLOOR = 0.25
"""Range finders that read this or less read 0."""
START_HEADING = math.pi / 2

RADARS = ("corrected", "reference", "original")
_WEDGES = np.array([315.0, 45.0, 135.0, 225.0])
"""Where the wedges of the uncorrected radar begin, in degrees; each is 90 wide."""
_DEGREES = 180.0 / 3.14
_ORIGINAL_START = 270.0 / 180.0 * 3.14


def move(
    position: Float[Array, "robots 2"],
    heading: Float[Array, " robots"],
    outputs: Float[Array, "robots 3"],
    walls: Float[Array, "robots walls 4"],
) -> tuple[Float[Array, "robots 2"], Float[Array, " robots"]]:
    """One step by a network's outputs: turn to the left, go ahead, turn to the right.

    Outputs count from 0 to 1. The robot turns first. One that would touch a wall stays
    where it is, but has turned.
    """
    left, ahead, right = jnp.clip(outputs, 0.0, 1.0).T
    heading = heading + (left - right) * TURN * SECONDS
    length = ahead * SPEED * SECONDS
    way = jnp.stack([jnp.cos(heading), -jnp.sin(heading)], axis=1)
    moved = position + length[:, None] * way
    return jnp.where(touches(moved, walls)[:, None], position, moved), heading


def touches(
    position: Float[Array, "robots 2"], walls: Float[Array, "robots walls 4"]
) -> Bool[Array, " robots"]:
    """Whether some wall is closer to a robot's centre than its radius."""
    way_x = position[:, :1] - walls[..., 0]
    way_y = position[:, 1:] - walls[..., 1]
    along_x = walls[..., 2] - walls[..., 0]
    along_y = walls[..., 3] - walls[..., 1]
    # the point of the wall that is closest, as a fraction of its length
    share = (way_x * along_x + way_y * along_y) / (along_x**2 + along_y**2)
    share = jnp.clip(share, 0.0, 1.0)
    gap_x, gap_y = way_x - share * along_x, way_y - share * along_y
    return (gap_x**2 + gap_y**2 < RADIUS**2).any(axis=1)


def sense_walls(
    position: Float[Array, "robots 2"],
    heading: Float[Array, " robots"],
    walls: Float[Array, "robots walls 4"],
) -> Float[Array, "robots 5"]:
    """Range finders: 0 for a wall nearby, 1 for none within 40 units of the rim."""
    reach = RANGE + RADIUS
    angle = heading[:, None] + jnp.asarray(FINDERS, position.dtype)[None]
    ray_x = (jnp.cos(angle) * reach)[..., None]  # (robots, finders, 1)
    ray_y = (-jnp.sin(angle) * reach)[..., None]
    way_x = (walls[..., 0] - position[:, :1])[:, None]  # (robots, 1, walls)
    way_y = (walls[..., 1] - position[:, 1:])[:, None]
    along_x = (walls[..., 2] - walls[..., 0])[:, None]
    along_y = (walls[..., 3] - walls[..., 1])[:, None]
    # Ray and wall meet at on_ray * ray = way + on_wall * along, seen from the robot.
    # Cross products, by components: pairs of them along a last axis are slow on CPUs.
    crossing = ray_x * along_y - ray_y * along_x
    is_parallel = jnp.abs(crossing) < 1e-6
    # Anything but 0, for what is parallel is left out below.
    crossing = jnp.where(is_parallel, 1.0, crossing)
    on_ray = (way_x * along_y - way_y * along_x) / crossing
    on_wall = (way_x * ray_y - way_y * ray_x) / crossing
    is_hit = (on_ray > 0) & (on_ray < 1) & (on_wall > 0) & (on_wall < 1)
    nearest = jnp.where(is_hit & ~is_parallel, on_ray, 1.0).min(axis=-1)
    # Rays begin in the middle of the robot, readings at its rim.
    reading = jnp.minimum((nearest * reach - RADIUS) / RANGE, 1.0)
    return jnp.where(reading <= FLOOR, 0.0, reading)


def sense_target(
    radar: str,
    position: Float[Array, "robots 2"],
    heading: Float[Array, " robots"],
    target: Float[Array, "robots 2"],
) -> Float[Array, "robots 4"]:
    """Which of four wedges a target lies in, however far away it is.

    `corrected` has the wedges ahead, to the right, behind and to the left of the robot,
    each a quarter of the circle. The others turn the target around the robot by the
    heading in *degrees*, used as if it were in radians, and take 3.14 for pi:
    deterministic, but no compass, as the target goes round 57 times in a full turn.
    `original` takes the heading of Risi's program, clockwise and 4.71 at the start.
    `reference` takes the heading of ours, as gymnasium-hardmaze does.
    """
    if radar == "corrected":
        x, y = (target - position).T
        bearing = jnp.arctan2(-y, x) - heading
        # Bearings grow to the left, and wedges are numbered to the right.
        quarter = jnp.floor((bearing + math.pi / 4) / (math.pi / 2))
        wedge = jnp.mod(-quarter, 4.0)
        return (wedge[:, None] == jnp.arange(4, dtype=wedge.dtype)[None]).astype(
            position.dtype
        )
    # The program cuts the target to whole units.
    x, y = (jnp.trunc(target) - position).T
    turn = heading
    if radar == "original":
        turn = _ORIGINAL_START - (heading - START_HEADING)
    turn = -turn * _DEGREES
    cosine, sine = jnp.cos(turn), jnp.sin(turn)
    x, y = cosine * x - sine * y, sine * x + cosine * y
    angle = jnp.arctan(y / jnp.where(x == 0, 1.0, x)) + jnp.where(x > 0, 0.0, 3.14)
    upright = jnp.where(y > 0, 3.14 / 2, 3.14 * 1.5)
    degrees = (jnp.where(x == 0, upright, angle) * 57.297)[:, None]
    # The first wedge goes on beyond 360: an angle is looked for there as well.
    low = jnp.asarray(_WEDGES, position.dtype)[None]

    def is_within(degrees):
        return (degrees >= low) & (degrees < low + 90.0)

    return (is_within(degrees) | is_within(degrees + 360.0)).astype(position.dtype)
