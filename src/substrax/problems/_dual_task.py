"""The dual task of Risi & Stanley (2012), in pure JAX."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from . import _maze_worlds as worlds
from ._base import check_choice
from ._maze_drive import MAX_STEPS, distance, drive
from ._maze_problem import RobotProblem
from ._maze_robot import sense_target
from ._network_function import NetworkFunction

PLACEMENTS = ("fixed", "random")
_CORRIDOR_RADIUS, _FOOD_RADIUS, _FOOD_MARGIN = 15.0, 20.0, 50.0


class _DualOutcome(NamedTuple):
    """`count` is 1 at the goal of the corridor; in the room, what was eaten."""

    is_finite: Any
    corridor_count: Any
    corridor_distance: Any
    corridor_steps: Any
    room_count: Any
    room_distance: Any
    room_steps: Any


def _dual_walls() -> np.ndarray:
    # The same wall twice is the same to a robot, so the room's are repeated until
    # there are as many as in the corridor.
    room = worlds.ROOM_WALLS
    num = len(worlds.CORRIDOR_WALLS)
    return np.array(
        [worlds.CORRIDOR_WALLS, [room[k % len(room)] for k in range(num)]],
        np.float64,
    )


def draw_foods(key: Key[Array, ""], dtype: Any) -> Float[Array, "foods 2"]:
    """Food anywhere in the room, 50 units or more from its walls."""
    room = jnp.asarray(worlds.ROOM, dtype)
    low, high = room[None, :2] + _FOOD_MARGIN, room[None, 2:] - _FOOD_MARGIN
    # always drawn in 32 bits, so that both precisions have the same food
    share = jax.random.uniform(key, (len(worlds.FOODS), 2), jnp.float32)
    return low + share.astype(dtype) * (high - low)


@functools.lru_cache(maxsize=32)
def _dual_task(radar: str, food: str, max_steps: int) -> Callable:
    """The function that is compiled: one object for each setting.

    The robot in the corridor looks for one thing and is shown nothing, the one in the
    room looks for four, one after the other; so both are driven together.
    """

    def journey(network: NetworkFunction, key: Key[Array, ""]) -> _DualOutcome:
        dtype = network.dtype
        foods = jnp.asarray(worlds.FOODS, dtype)
        if food == "random":
            foods = draw_foods(key, dtype)
        goal = jnp.asarray([worlds.CORRIDOR_GOAL], dtype)
        targets = jnp.stack([jnp.broadcast_to(goal, foods.shape), foods])
        wanted = jnp.asarray([1, len(worlds.FOODS)], jnp.int32)
        radius = jnp.asarray([_CORRIDOR_RADIUS, _FOOD_RADIUS], dtype)
        is_shown = jnp.asarray([[False], [True]])

        def target_of(count):
            index = jnp.minimum(count, wanted - 1)[:, None, None]
            return jnp.take_along_axis(targets, index, axis=1)[:, 0]

        def look(count, position, heading):
            lit = sense_target(radar, position, heading, target_of(count))
            return jnp.where(is_shown, lit, 0.0)

        def advance(count, position):
            is_near = distance(position, target_of(count)) < radius
            count = count + (is_near & (count < wanted)).astype(jnp.int32)
            return count, count == wanted

        end = drive(
            network,
            jnp.asarray(_dual_walls(), dtype),
            jnp.asarray([worlds.CORRIDOR_START, worlds.ROOM_CENTRE], dtype),
            jnp.zeros(2, jnp.int32),
            look,
            advance,
            max_steps,
        )
        count = end.progress
        gap = distance(end.position, target_of(count))
        return _DualOutcome(
            end.is_finite,
            *(count[0], gap[0], end.steps[0]),
            *(count[1], gap[1], end.steps[1]),
        )

    return journey


@dataclasses.dataclass(frozen=True)
class DualTask(RobotProblem):
    """Find the way through a corridor by touch, and gather food by compass.

    The dual task of Risi & Stanley (2012): the robot of `HardMaze` in two worlds that
    have nothing to do with each other, driven by the same network. In the *corridor*,
    of nine walls and two bends, it has to get to the goal by its range finders; the
    radar, which is for food, stays dark. In the *room* it starts in the middle and has
    to gather four pieces of food, of which there is one at a time and the radar shows
    the way; the range finders see the walls. Inputs, outputs and `radar` are those of
    `HardMaze`.

    **Fitness** is the mean of two numbers. In the corridor, 1 at the goal, else 1 - d,
    d being the distance to it at the end; in the room, (n + 1 - d) / 4, n being the
    pieces gathered and d the distance to the next, and 1 when all four are. Distances
    are divided by the diagonal of the room, 593.2.

    Tasks and fitness are the paper's, as gymnasium-hardmaze gives them. Walls, starts,
    goal, places of food and the diagonal are in Risi's file, which that package has.
    What was never published is as it is there: the goal counts from 15 units, food from
    20, an episode takes 454 steps (45 s), the walls of the room are the edges of the
    area of interest.

    `food="fixed"` has the four places of the file, one after the other. The way round
    them takes 417 of the 454 steps if driven perfectly. The paper says that food is put
    at random; `food="random"` does, anywhere in the room but 50 units from its walls.
    The places are drawn from the key of the generation, by other random numbers than
    gymnasium-hardmaze's, and are the same for all its networks.

    **Solved** at 1: goal reached and all food gathered. `measures` are `navigation` and
    `gathering`, the two fitnesses; `reached_goal`, `goal_distance` and `goal_steps`;
    `food`, `food_distance` and `food_steps`. Food that is drawn at random is then
    always the same.

    **Coordinates** are those of `HardMaze`, our own choice.

    Risi & Stanley (2012), An Enhanced Hypercube-Based Encoding, Artificial Life 18(4).

    **Arguments:**

    - `radar`: `corrected`, `reference` or `original`.
    - `food`: `fixed` or `random`.
    - `max_steps`: the greatest length of an episode, in either world.
    """

    radar: str = "corrected"
    food: str = "fixed"
    max_steps: int = MAX_STEPS

    name: ClassVar[str] = "dual-task"
    target: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("food", self.food, PLACEMENTS)

    def _journey(self) -> Callable:
        return _dual_task(self.radar, self.food, self.max_steps)

    def _scores(self, end: _DualOutcome) -> Float[np.ndarray, " networks"]:
        navigation, gathering = _dual_fitness(end)
        return (navigation + gathering) / 2

    def _told(self, end: _DualOutcome) -> dict[str, float]:
        navigation, gathering = _dual_fitness(end)
        return {
            "navigation": float(navigation[0]),
            "gathering": float(gathering[0]),
            "reached_goal": float(end.corridor_count[0]),
            "goal_distance": float(end.corridor_distance[0]),
            "goal_steps": float(end.corridor_steps[0]),
            "food": float(end.room_count[0]),
            "food_distance": float(end.room_distance[0]),
            "food_steps": float(end.room_steps[0]),
        }


def _dual_fitness(end: _DualOutcome) -> tuple[np.ndarray, np.ndarray]:
    """In the corridor, and in the room."""

    def closeness(distance):
        return np.maximum(1.0 - distance / worlds.DUAL_TASK_SCALE, 0.0)

    num = len(worlds.FOODS)
    gathered = (end.room_count + closeness(end.room_distance)) / num
    return (
        np.where(end.corridor_count > 0, 1.0, closeness(end.corridor_distance)),
        np.where(end.room_count == num, 1.0, gathered),
    )
