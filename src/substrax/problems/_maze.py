"""The hard maze of Risi & Stanley (2012), in pure JAX."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from . import _maze_worlds as worlds
from ._maze_drive import MAX_STEPS, distance, drive
from ._maze_problem import RobotProblem
from ._maze_robot import sense_target
from ._network_function import NetworkFunction

_GOAL_RADIUS, _WAYPOINT_RADIUS, _WAYPOINT_SCALE = 35.0, 20.0, 650.0


class _MazeOutcome(NamedTuple):
    is_finite: Any
    has_arrived: Any
    steps: Any
    goal_distance: Any
    waypoints: Any
    """How many were passed before the first one that was not."""
    waypoint_distance: Any
    """To the first that was not passed."""


@functools.lru_cache(maxsize=32)
def _hard_maze(radar: str, max_steps: int) -> Callable:
    """The function that is compiled: one object for each setting."""

    def journey(network: NetworkFunction, key: Key[Array, ""]) -> _MazeOutcome:
        del key
        dtype = network.dtype
        goal = jnp.asarray([worlds.HARD_MAZE_GOAL], dtype)
        waypoints = jnp.asarray(worlds.HARD_MAZE_WAYPOINTS, dtype)

        def look(progress, position, heading):
            del progress
            return sense_target(radar, position, heading, goal)

        def advance(progress, position):
            is_passed, _ = progress
            has_arrived = distance(position, goal) < _GOAL_RADIUS
            is_near = distance(position, waypoints)[None] < _WAYPOINT_RADIUS
            # at the goal the reference does not look at waypoints
            is_near &= ~has_arrived[:, None]
            return (is_passed | is_near, has_arrived), has_arrived

        end = drive(
            network,
            jnp.asarray(worlds.HARD_MAZE_WALLS, dtype)[None],
            jnp.asarray([worlds.HARD_MAZE_START], dtype),
            (jnp.zeros((1, len(waypoints)), bool), jnp.zeros(1, bool)),
            look,
            advance,
            max_steps,
        )
        is_passed, has_arrived = end.progress
        # True until the first that was not passed
        is_in_order = jnp.cumprod(is_passed[0].astype(jnp.int32))
        num = is_in_order.sum()
        # If all were passed there is none, and `_scores` does not look at this.
        following = waypoints[jnp.minimum(num, len(waypoints) - 1)]
        return _MazeOutcome(
            is_finite=end.is_finite,
            has_arrived=has_arrived[0],
            steps=end.steps[0],
            goal_distance=distance(end.position, goal)[0],
            waypoints=num,
            waypoint_distance=distance(end.position[0], following),
        )

    return journey


@dataclasses.dataclass(frozen=True)
class HardMaze(RobotProblem):
    """Drive a robot through a maze that leads away from its goal at first.

    The robot of Risi & Stanley (2012), a disc of radius 10.5, starts below, facing up.
    The goal is above it, behind walls; the way there is about 640 units and leads round
    the whole maze. In a step of 0.099 s the three outputs, each cut to [0, 1], turn it
    to the left by up to 24.3 degrees, drive it ahead by up to 1.98 units, and turn it
    to the right. A step that would touch a wall only turns it.

    Inputs are five range finders from left to right (0 for a wall closer than about 10
    units, 1 for none within 40), and the radar: four wedges, of which the one with the
    goal in it is 1 and the others 0. A network with cycles keeps its state over an
    episode and makes `steps` updates for each step of the robot.

    Robot, walls, goal and waypoints are those of gymnasium-hardmaze, a port of Risi's
    program; with the same outputs positions and readings are the same in each step.
    `radar` says how the radar works. `"corrected"` has its wedges ahead, to the right,
    behind and to the left, as was meant. Risi's program rotates by degrees where
    radians are expected, which multiplies the heading by 57.3 and makes the radar a
    puzzle; by what gymnasium-hardmaze says, the paper's results come from there.
    `"reference"` is that package's rendering of it, which takes the heading of its own
    robot, counterclockwise and pi/2 at the start. `"original"` takes that of the
    program, clockwise and 4.71 at the start; it was written from the program's source
    and not run beside it.

    **Fitness** is 10 at the goal (closer than 35 units); the episode ends there. Else
    it is the number of waypoints passed (closer than 20) before the first one that was
    not, plus 1 - d / 650 if there is such a one, d being the distance to it at the end.
    There are seven. All this is gymnasium-hardmaze's, too; only `max_steps` is not, as
    episodes do not end there: it is 45 s, the time of its dual task.

    **Solved** at 10: the goal was reached. `measures` are `reached_goal` (0 or 1),
    `goal_distance` at the end, `waypoints` passed, and `steps`.

    **Coordinates** are our own choice: range finders evenly along the lower edge, the
    radar a small compass above their middle, (0, -0.7), (0.3, -0.8), (0, -0.9) and
    (-0.3, -0.8); outputs at (-1, 1), (0, 1) and (1, 1).

    Risi & Stanley (2012), An Enhanced Hypercube-Based Encoding, Artificial Life 18(4).

    **Arguments:**

    - `radar`: `corrected`, `reference` or `original`.
    - `max_steps`: the greatest length of an episode.
    """

    radar: str = "corrected"
    max_steps: int = MAX_STEPS

    name: ClassVar[str] = "hard-maze"
    target: ClassVar[float] = 10.0

    def _journey(self) -> Callable:
        return _hard_maze(self.radar, self.max_steps)

    def _scores(self, end: _MazeOutcome) -> Float[np.ndarray, " networks"]:
        has_all = end.waypoints == len(worlds.HARD_MAZE_WAYPOINTS)
        closeness = 1.0 - end.waypoint_distance / _WAYPOINT_SCALE
        fitness = end.waypoints + np.where(has_all, 0.0, closeness)
        return np.where(end.has_arrived > 0, self.target, fitness)

    def _told(self, end: _MazeOutcome) -> dict[str, float]:
        return {
            "reached_goal": float(end.has_arrived[0]),
            "goal_distance": float(end.goal_distance[0]),
            "waypoints": float(end.waypoints[0]),
            "steps": float(end.steps[0]),
        }
