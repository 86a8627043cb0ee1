"""The hard maze and the dual task, against plain Python and gymnasium-hardmaze."""

import itertools
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from substrax.network import Networks, Stepper
from substrax.problems import DualTask, HardMaze, _maze_worlds
from substrax.problems._dual_task import draw_foods
from substrax.problems._maze_robot import (
    RADARS,
    move,
    sense_target,
    sense_walls,
    touches,
)
from tests.network.support import random_networks
from tests.problems.support import network
from tests.reference import maze as oracle

KEY = jax.random.key(4)
DATA = json.loads((Path(__file__).parents[1] / "data" / "maze.json").read_text())
WORLDS: dict[str, Any] = DATA["worlds"]
JOURNEYS: dict[str, Any] = {one["name"]: one for one in DATA["journeys"]}
every_journey = pytest.mark.parametrize("name", JOURNEYS)
with_and_without_cycles = pytest.mark.parametrize(
    "cyclic", [True, pytest.param(False, marks=pytest.mark.slow)]
)
every_radar = pytest.mark.parametrize("radar", RADARS)


def actions_of(journey: dict[str, Any]) -> np.ndarray:
    """They were written down in eighths, which are exact."""
    return np.array(journey["actions"]) / 8


def targets_of(journey: dict[str, Any]) -> np.ndarray | None:
    """What the radar looks for, before each step and after the last; or nothing."""
    if journey["world"] == "hard_maze":
        return np.array([WORLDS["hard_maze"]["goal"]] * len(journey["x"]))
    if journey["world"] == "corridor":
        return None
    return np.array(journey["foods"])[np.minimum(journey["count"], 3)]


NUM_STEPS, NUM_WALLS = 454, 11
"""What journeys are filled up to, so that one compilation serves all of them."""


@jax.jit
def stepped(walls: jax.Array, start: jax.Array, actions: jax.Array) -> Any:
    first = (start[None], jnp.full(1, math.pi / 2))

    def step(now, action):
        then = move(now[0], now[1], action[None], walls[None])
        return then, then

    _, (places, headings) = jax.lax.scan(step, first, actions)
    places = jnp.concatenate([first[0][None], places])[:, 0]
    headings = jnp.concatenate([first[1][None], headings])[:, 0]
    everywhere = jnp.broadcast_to(walls, (len(places), *walls.shape))
    return places, headings, sense_walls(places, headings, everywhere)


def walk(walls: Any, start: Any, actions: np.ndarray) -> list[np.ndarray]:
    """Places, headings and range finders of a robot that we step, in 64 bits."""
    filled = np.zeros((NUM_STEPS, 3))
    filled[: len(actions)] = actions
    again = np.resize(np.array(walls, float), (NUM_WALLS, 4))  # repeats them
    with jax.enable_x64(True):
        found = stepped(again, np.array(start, float), filled)
        return [np.asarray(x)[: len(actions) + 1] for x in found]


shown = jax.jit(sense_target, static_argnums=0)


def radar_of(radar: str, *arrays: np.ndarray) -> np.ndarray:
    """Of places, headings and targets; in 64 bits, too."""
    num = len(arrays[0])
    filled = [np.resize(x, (NUM_STEPS + 1, *x.shape[1:])) for x in arrays]
    with jax.enable_x64(True):
        return np.asarray(shown(radar, *filled))[:num]


def test_worlds_are_those_of_the_reference() -> None:
    maze, corridor, room = WORLDS["hard_maze"], WORLDS["corridor"], WORLDS["room"]
    pairs = [
        (_maze_worlds.HARD_MAZE_WALLS, maze["walls"]),
        (_maze_worlds.HARD_MAZE_START, maze["start"]),
        (_maze_worlds.HARD_MAZE_GOAL, maze["goal"]),
        (_maze_worlds.HARD_MAZE_WAYPOINTS, maze["points"]),
        (_maze_worlds.CORRIDOR_WALLS, corridor["walls"]),
        (_maze_worlds.CORRIDOR_START, corridor["start"]),
        (_maze_worlds.CORRIDOR_GOAL, corridor["goal"]),
        (_maze_worlds.ROOM_WALLS, room["walls"]),
        (_maze_worlds.ROOM_CENTRE, room["start"]),
        (_maze_worlds.FOODS, room["points"]),
        (_maze_worlds.DUAL_TASK_SCALE, room["scale"]),
        (_maze_worlds.DUAL_TASK_SCALE, corridor["scale"]),
    ]
    for ours, theirs in pairs:
        assert np.array_equal(ours, theirs)
    corners = np.reshape(room["walls"], (-1, 2))
    assert [*corners.min(axis=0), *corners.max(axis=0)] == list(_maze_worlds.ROOM)


@every_journey
def test_each_step_is_that_of_the_reference(name: str) -> None:
    journey = JOURNEYS[name]
    world = WORLDS[journey["world"]]
    places, headings, ranges = walk(world["walls"], world["start"], actions_of(journey))
    np.testing.assert_allclose(places[:, 0], journey["x"], atol=1e-9)
    np.testing.assert_allclose(places[:, 1], journey["y"], atol=1e-9)
    np.testing.assert_allclose(headings, journey["heading"], atol=1e-9)
    np.testing.assert_allclose(ranges, journey["ranges"], atol=1e-9)
    targets = targets_of(journey)
    for radar in ("corrected", "reference"):
        if targets is None:
            assert set(journey[radar]) == {"-"}
            continue
        lit = radar_of(radar, places, headings, targets)
        assert (lit.sum(axis=1) == 1).all()
        ours = "".join(str(k) for k in lit.argmax(axis=1))
        # When all food is eaten the radar is dark, but then the episode has ended.
        num = len(ours) - (journey["world"] == "room" and journey["has_ended"])
        assert ours[:num] == journey[radar][:num]
        assert journey[radar][num:] in ("", "-")


@every_radar
@every_journey
def test_each_step_is_that_of_the_oracle(name: str, radar: str) -> None:
    """The recorded actions, in bends of other sizes: not those of the reference."""
    journey = JOURNEYS[name]
    world = WORLDS[journey["world"]]
    actions = actions_of(journey) * [0.93, 1.0, 0.88]
    places, headings, ranges = walk(world["walls"], world["start"], actions)
    targets = targets_of(journey)
    lit = np.zeros((len(places), 4))
    if targets is not None:
        lit = radar_of(radar, places, headings, targets)

    robot = oracle.Robot(tuple(world["start"]), world["walls"], radar)
    for k in range(len(places)):
        if k:
            robot.act(actions[k - 1])
        target = None if targets is None else tuple(targets[k])
        np.testing.assert_allclose(places[k], robot.place, atol=1e-9)
        assert headings[k] == pytest.approx(robot.heading, abs=1e-9)
        expected = robot.readings(target)
        np.testing.assert_allclose(ranges[k], expected[:5], atol=1e-9)
        assert lit[k].tolist() == expected[5:]


@every_journey
def test_fitness_of_the_oracle_is_that_of_the_reference(name: str) -> None:
    journey = JOURNEYS[name]
    for num in (1, 60, len(journey["actions"])):
        actions = iter(actions_of(journey))

        def replay(readings: list[float], actions: Any = actions) -> Any:
            del readings
            return next(actions)

        if journey["world"] == "hard_maze":
            value, steps, _ = oracle.hard_maze(
                replay, **world_of("hard_maze"), radar="corrected", max_steps=num
            )
        elif journey["world"] == "corridor":
            value, steps = oracle.navigation(
                replay, **world_of("corridor"), max_steps=num
            )
        else:
            kinds = world_of("room") | {"foods": journey["foods"]}
            value, steps = oracle.gathering(
                replay, **kinds, radar="corrected", max_steps=num
            )
        assert value == pytest.approx(journey["fitness"][num], abs=1e-9)
        assert steps == num


def test_some_journeys_arrive_and_some_meet_walls() -> None:
    """Else the comparisons above would say little."""
    ended = {one["world"]: one["fitness"][-1] for one in DATA["journeys"][::-1]}
    assert ended == {"hard_maze": 10.0, "corridor": 1.0, "room": 1.0}
    wandering = JOURNEYS["the hard maze, at random"]
    is_still = (np.diff(wandering["x"]) == 0) & (np.diff(wandering["y"]) == 0)
    assert is_still.sum() > 20


def world_of(name: str) -> dict[str, Any]:
    """As arguments of the oracle."""
    world = dict(WORLDS[name])
    if name == "hard_maze":
        world["waypoints"] = world.pop("points")
    if name == "room":
        world["foods"] = world.pop("points")
    return world


def controller(one: Networks) -> Callable[[list[float]], list[float]]:
    """The network on the host, with a state of its own."""
    stepper = Stepper.of(one)
    state = stepper.start(1)

    def act(readings: list[float]) -> list[float]:
        nonlocal state
        state, outputs = stepper(state, np.array(readings)[None, None])
        return outputs[0, 0].tolist()

    return act


def drivers(cyclic: bool) -> Networks:
    options = {"num_inputs": 9, "num_outputs": 3, "cyclic": cyclic, "steps": 1}
    return random_networks(8, (0, 2, 9, 5), **options)


@every_radar
@with_and_without_cycles
def test_hard_maze_is_driven_as_by_the_oracle(radar: str, cyclic: bool) -> None:
    networks = drivers(cyclic)
    problem = HardMaze(radar=radar, max_steps=150)
    values = problem.fitness(networks, key=KEY)
    for k, value in enumerate(values.tolist()):
        fitness, steps, place = oracle.hard_maze(
            controller(networks[k]),
            **world_of("hard_maze"),
            radar=radar,
            max_steps=150,
        )
        assert value == pytest.approx(fitness, abs=1e-9)
        measures = problem.measures(networks[k])
        distance = math.dist(place, WORLDS["hard_maze"]["goal"])
        assert measures["goal_distance"] == pytest.approx(distance, abs=1e-9)
        assert measures["steps"] == steps
        assert measures["waypoints"] == math.floor(fitness)
        assert measures["reached_goal"] == 0


@every_radar
@with_and_without_cycles
@pytest.mark.parametrize("food", ["fixed", "random"])
def test_dual_task_is_driven_as_by_the_oracle(
    radar: str, cyclic: bool, food: str
) -> None:
    networks = drivers(cyclic)
    values = DualTask(radar=radar, food=food, max_steps=150).fitness(networks, key=KEY)
    room = world_of("room")
    if food == "random":
        with jax.enable_x64(True):
            room["foods"] = np.asarray(draw_foods(KEY, jnp.float64)).tolist()
    for k, value in enumerate(values.tolist()):
        one, other = controller(networks[k]), controller(networks[k])
        corridor = world_of("corridor")
        navigation, _ = oracle.navigation(one, **corridor, max_steps=150)
        gathering, _ = oracle.gathering(other, **room, radar=radar, max_steps=150)
        assert value == pytest.approx((navigation + gathering) / 2, abs=1e-9)


def follower(dtype: type[np.floating] = np.float64) -> Networks:
    """Goes ahead if the target is, else turns to where it is."""
    ahead, right, behind, left = range(5, 9)
    links = [(left, 9, 1.0), (ahead, 10, 1.0), (right, 11, 1.0), (behind, 11, 1.0)]
    return network(9, 3, links, output="identity", dtype=dtype)


def straight() -> Networks:
    """Goes straight ahead at half speed, as sigmoids of nothing are a half."""
    return network(9, 3, [(0, 9, 0.0), (0, 10, 0.0), (0, 11, 0.0)])


def test_follower_gathers_all_food_if_its_radar_is_right() -> None:
    problem = DualTask(max_steps=1_000)
    measures = problem.measures(follower())
    assert measures["food"] == 4
    assert measures["gathering"] == 1
    fitness, steps = oracle.gathering(
        controller(follower()), **world_of("room"), radar="corrected", max_steps=1_000
    )
    assert (fitness, steps) == (1.0, measures["food_steps"])
    # The radar is dark in the corridor, so this network stays where it is.
    assert measures["goal_steps"] == 1_000
    start = 1 - math.dist((255, 393), (395, 184)) / 593.246155
    assert measures["navigation"] == pytest.approx(start)
    value = problem.fitness(follower(), key=KEY)[0]
    assert value == pytest.approx((1 + start) / 2)
    assert not problem.is_solved(value)
    for radar in ("reference", "original"):
        assert DualTask(radar=radar, max_steps=1_000).measures(follower())["food"] < 4


def test_arrival_ends_an_episode_and_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    """From places near the goals, as no network made by hand gets through the maze."""
    monkeypatch.setattr(_maze_worlds, "HARD_MAZE_START", (260.0, 148.0))
    # a length that no other test has compiled
    maze = HardMaze(max_steps=97)
    world = world_of("hard_maze")
    world["start"] = (260.0, 148.0)
    fitness, steps, place = oracle.hard_maze(
        controller(follower()), **world, radar="corrected", max_steps=97
    )
    assert fitness == 10.0
    assert maze.fitness(follower(), key=KEY).tolist() == [10.0]
    assert maze.is_solved(10.0)
    measures = maze.measures(follower())
    assert measures["reached_goal"] == 1
    assert measures["steps"] == steps < 97
    distance = math.dist(place, world["goal"])
    assert measures["goal_distance"] == pytest.approx(distance)
    assert distance < 35

    monkeypatch.setattr(_maze_worlds, "CORRIDOR_START", (395.0, 300.0))
    measures = DualTask(max_steps=203).measures(straight())
    assert measures["reached_goal"] == measures["navigation"] == 1
    # 15 units before the goal, at 0.99 units a step
    assert measures["goal_steps"] == math.ceil((300 - 184 - 15) / 0.99)
    assert measures["food_steps"] == 203


def test_waypoints_count_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is passed at once, the first never: so none counts."""
    monkeypatch.setattr(_maze_worlds, "HARD_MAZE_START", (376.0, 388.0))
    still = network(9, 3, [(0, 9, 0.0)], output="identity")
    value = HardMaze(max_steps=3).fitness(still, key=KEY)[0]
    assert value == pytest.approx(1 - math.dist((376, 388), (297, 337)) / 650)
    monkeypatch.setattr(_maze_worlds, "HARD_MAZE_START", (297.0, 337.0))
    value = HardMaze(max_steps=4).fitness(still, key=KEY)[0]
    assert value == pytest.approx(2 - math.dist((376, 388), (297, 337)) / 650)


def test_random_food_is_another_in_each_generation() -> None:
    problem = DualTask(food="random", max_steps=50)
    networks = Networks.join([straight()] * 2)
    values = [problem.fitness(networks, key=jax.random.key(k)) for k in range(3)]
    assert all(one[0] == one[1] for one in values)
    assert len({one[0] for one in values}) == 3
    foods = np.concatenate(
        [draw_foods(jax.random.key(k), jnp.float32) for k in range(200)]
    )
    assert foods.min(axis=0) == pytest.approx([156, 466], abs=4)
    assert foods.max(axis=0) == pytest.approx([535, 716], abs=4)
    fixed = DualTask(max_steps=50)
    assert len({fixed.fitness(networks, key=jax.random.key(k))[0] for k in (1, 2)}) == 1


def test_robot_by_hand() -> None:
    """Full speed ahead is 1.98 units up; turns are 24.3 degrees, and come first."""
    nothing = jnp.full((3, 1, 4), jnp.array([900.0, 900.0, 901.0, 900.0]))
    place, heading = move(
        jnp.zeros((3, 2)),
        jnp.full(3, math.pi / 2),
        jnp.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [-5.0, 7.0, 1.0]]),
        nothing,
    )
    turn = 4.28 * 0.099
    assert math.degrees(turn) == pytest.approx(24.28, abs=0.01)
    np.testing.assert_allclose(
        np.asarray(heading) - math.pi / 2, [0, turn, -turn], atol=1e-6
    )
    np.testing.assert_allclose(
        np.asarray(place),
        [[0, -1.98], [0, 0], [1.98 * math.sin(turn), -1.98 * math.cos(turn)]],
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("distance", "reading"),
    [
        (11.0, 0.0),
        (20.4, 0.0),
        (20.6, 10.1 / 40),
        (30.5, 0.5),
        (50.4, 39.9 / 40),
        (60, 1),
    ],
)
def test_range_finders_by_hand(distance: float, reading: float) -> None:
    """A wall across the way: the middle one sees it, the outermost look past it."""
    wall = jnp.array([[[-5.0, -distance, 5.0, -distance]]])
    seen = sense_walls(jnp.zeros((1, 2)), jnp.full(1, math.pi / 2), wall)
    np.testing.assert_allclose(np.asarray(seen)[0], [1, 1, reading, 1, 1], atol=1e-5)


def test_a_wall_is_touched_at_its_side_and_at_its_ends() -> None:
    wall = jnp.array([0.0, 0.0, 30.0, 40.0])
    ends, middle = (np.zeros(2), np.array([30.0, 40.0])), np.array([15.0, 20.0])
    across, along = np.array([0.8, -0.6]), np.array([0.6, 0.8])
    places, expected = [], []
    for gap, is_touched in ((10.4, True), (10.6, False)):
        places += [middle + gap * across, middle - gap * across]
        places += [ends[0] - gap * along, ends[1] + gap * along]
        expected += [is_touched] * 4
    walls = jnp.broadcast_to(wall, (len(places), 1, 4))
    assert np.asarray(touches(jnp.asarray(places, jnp.float32), walls)).tolist() == (
        expected
    )


def test_corrected_radar_is_a_compass_and_the_others_are_not() -> None:
    """A full turn, degree by degree; the goal is to the right on the screen."""
    headings = np.deg2rad(np.arange(360.0))
    place, goal = np.tile([300.0, 400.0], (360, 1)), np.tile([500.0, 400.0], (360, 1))
    lit = {name: radar_of(name, place, headings, goal) for name in RADARS}
    for one in lit.values():
        assert (one.sum(axis=1) == 1).all()
    wedges = lit["corrected"].argmax(axis=1)
    assert [int(wedges[k]) for k in (0, 90, 180, 270)] == [0, 1, 2, 3]
    changes = {
        name: int((np.diff(one.argmax(axis=1), prepend=0) != 0).sum())
        for name, one in lit.items()
    }
    assert changes["corrected"] == 4
    assert min(changes["reference"], changes["original"]) > 200
    assert (lit["reference"] != lit["original"]).any()


def test_original_radar_by_hand() -> None:
    """At the start of the hard maze, the goal being 15 to the left and 236 above.

    The program's heading is 270 / 180 * 3.14 = 4.71, which makes 270 of its degrees. It
    turns the goal by -270 radians, that is by 0.1770 beyond 43 full turns backwards:
    from -93.6 degrees (clockwise from the right) to -83.5. That is wedge 3, of 225 to
    315 degrees.
    """
    turned = math.degrees(math.atan2(-236, -15) - 270)
    assert turned % 360 == pytest.approx(276.5, abs=0.1)
    place, goal = np.array([[205.0, 387.0]]), np.array([[190.0, 151.0]])
    lit = radar_of("original", place, np.array([math.pi / 2]), goal)
    assert lit.tolist() == [[0, 0, 0, 1]]


def test_overflow_fails_a_network_in_either_world() -> None:
    """Infinite as soon as the radar is lit: in the room, not in the corridor."""
    links = [(k, 10, 1e300) for k in (5, 6, 7, 8)]
    links += [(10, 9, 1e300)]
    broken = network(9, 3, links, output="identity")
    joined = Networks.join([follower(), broken, follower()])
    values = DualTask(max_steps=20).fitness(joined, key=KEY)
    assert np.isnan(values).tolist() == [False, True, False]


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="unknown radar 'sonar': use one of corrected"):
        HardMaze(radar="sonar")
    with pytest.raises(ValueError, match="unknown radar 'sonar'"):
        DualTask(radar="sonar")
    with pytest.raises(ValueError, match="unknown food 'none': use one of fixed, rand"):
        DualTask(food="none")
    with pytest.raises(ValueError, match="max_steps must be positive, not 0"):
        HardMaze(max_steps=0)
    with pytest.raises(ValueError, match="max_steps must be positive, not 0"):
        DualTask(max_steps=0)


# ------------------------------------------------ where gymnasium-hardmaze is installed


def live(world: str, radar: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports, not of its own
        package = pytest.importorskip("gymnasium_hardmaze.envs")
        if world == "hard_maze":
            env = package.HardMazeEnvV0()
            env.env.radar_model = radar  # this environment has no setting for it
        else:
            scenario = {"corridor": "navigation", "room": "food_gathering"}[world]
            env = package.DualTaskEnvV0(scenario=scenario, radar_model=radar)
        env.reset(seed=0)
    return env


@pytest.mark.parametrize("radar", ["corrected", "reference"])
@pytest.mark.parametrize("world", ["hard_maze", "corridor", "room"])
@pytest.mark.parametrize("seed", range(3))
def test_each_step_is_that_of_the_package(world: str, radar: str, seed: int) -> None:
    env = live(world, radar)
    robot = env.env.robot
    rng = np.random.default_rng(seed)
    # held for some steps, so that the robot gets around
    actions = np.repeat(rng.uniform(0, 1, (40, 3)) ** [2, 0.3, 2], 6, axis=0)
    seen, places, headings, targets = [], [], [], []
    for action in itertools.chain([None], actions):
        if action is not None:
            env.step(action)
        ranges = robot.get_rangefinder_observations()
        seen.append([*ranges, *robot.get_radar_observations()])
        places.append(robot.location)
        headings.append(robot.heading)
        target = env.env.goal if world != "room" else env._current_food
        targets.append((target.x, target.y))
    ours = walk(WORLDS[world]["walls"], WORLDS[world]["start"], actions)
    np.testing.assert_allclose(ours[0], places, atol=1e-9)
    np.testing.assert_allclose(ours[1], headings, atol=1e-9)
    np.testing.assert_allclose(ours[2], np.array(seen)[:, :5], atol=1e-9)
    lit = np.zeros((len(seen), 4))
    if world != "corridor":
        lit = radar_of(radar, ours[0], ours[1], np.array(targets))
    assert lit.tolist() == np.array(seen)[:, 5:].tolist()


@pytest.mark.parametrize("radar", ["corrected", "reference"])
def test_fitness_is_that_of_the_package(radar: str) -> None:
    networks = drivers(True)
    found: dict[str, list[float]] = {}
    for world in ("hard_maze", "corridor", "room"):
        found[world] = []
        for k in range(len(networks)):
            env, act = live(world, radar), controller(networks[k])
            robot, total = env.env.robot, 0.0
            for _ in range(120):
                ranges = robot.get_rangefinder_observations()
                outputs = act([*ranges, *robot.get_radar_observations()])
                _, reward, has_ended, _, _ = env.step(np.array(outputs))
                total += reward
                if has_ended:
                    break
            found[world].append(total)
    maze = HardMaze(radar=radar, max_steps=120).fitness(networks, key=KEY)
    np.testing.assert_allclose(maze, found["hard_maze"], atol=1e-9)
    dual = DualTask(radar=radar, max_steps=120).fitness(networks, key=KEY)
    both = np.add(found["corridor"], found["room"]) / 2
    np.testing.assert_allclose(dual, both, atol=1e-9)
