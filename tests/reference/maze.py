"""The robot of the hard maze and the dual task, slowly and obviously: plain floats.

x grows to the right and y downwards; headings are counterclockwise as seen on the
screen. Angles between things are measured by the functions that measure angles, not by
counting quarters, and walls are gone through one by one.
"""

import math
from collections.abc import Callable, Sequence

Point = tuple[float, float]
Wall = tuple[float, float, float, float]
Controller = Callable[[list[float]], Sequence[float]]
"""From nine readings to three outputs."""

RADIUS = 10.5


class Robot:
    def __init__(self, place: Point, walls: Sequence[Wall], radar: str) -> None:
        self.place, self.walls, self.radar = place, walls, radar
        self.heading = math.pi / 2
        # The heading as the original program keeps it: clockwise.
        self.original_heading = 270 / 180 * 3.14

    def act(self, outputs: Sequence[float]) -> None:
        left, ahead, right = (min(max(v, 0.0), 1.0) for v in outputs)
        self.heading += (left - right) * 4.28 * 0.099
        self.original_heading += (right - left) * 4.28 * 0.099
        length = 20.0 * ahead * 0.099
        x = self.place[0] + math.cos(self.heading) * length
        y = self.place[1] - math.sin(self.heading) * length
        if all(gap((x, y), wall) >= RADIUS for wall in self.walls):
            self.place = x, y

    def readings(self, target: Point | None) -> list[float]:
        """Five range finders, four wedges of the radar; dark without a target."""
        ranges = []
        for k in range(5):
            angle = self.heading + 1.3398 - k * 1.3398 / 2
            value = (sight(self.place, angle, self.walls, 50.5) - RADIUS) / 40.0
            ranges.append(0.0 if value <= 0.25 else min(value, 1.0))
        if target is None:
            return [*ranges, 0.0, 0.0, 0.0, 0.0]
        wedge = self.wedge(target)
        return ranges + [float(k == wedge) for k in range(4)]

    def wedge(self, target: Point) -> int:
        if self.radar == "corrected":
            x, y = target[0] - self.place[0], target[1] - self.place[1]
            bearing = math.degrees(math.atan2(-y, x) - self.heading) % 360
            if bearing >= 315 or bearing < 45:
                return 0
            return 3 if bearing < 135 else 2 if bearing < 225 else 1
        heading = self.heading if self.radar == "reference" else self.original_heading
        x, y = int(target[0]) - self.place[0], int(target[1]) - self.place[1]
        # Degrees, but sine and cosine take them for radians. That is the point.
        turn = -(heading * 180.0 / 3.14)
        x, y = (
            math.cos(turn) * x - math.sin(turn) * y,
            math.sin(turn) * x + math.cos(turn) * y,
        )
        if x == 0:
            angle = 3.14 / 2 if y > 0 else 3.14 * 3 / 2
        else:
            angle = math.atan(y / x) + (0.0 if x > 0 else 3.14)
        for wedge, low in enumerate((315, 45, 135, 225)):
            for degrees in (angle * 57.297, angle * 57.297 + 360.0):
                if low <= degrees < low + 90:
                    return wedge
        raise AssertionError(f"no wedge has {angle}")


def gap(place: Point, wall: Wall) -> float:
    """How far a wall is from a place."""
    ax, ay, bx, by = wall
    length = math.dist((ax, ay), (bx, by))
    along = ((bx - ax) / length, (by - ay) / length)
    shadow = (place[0] - ax) * along[0] + (place[1] - ay) * along[1]
    if shadow <= 0:
        return math.dist(place, (ax, ay))
    if shadow >= length:
        return math.dist(place, (bx, by))
    return abs((place[0] - ax) * along[1] - (place[1] - ay) * along[0])


def sight(place: Point, angle: float, walls: Sequence[Wall], reach: float) -> float:
    """How far one can see, at most `reach`."""
    ahead = (math.cos(angle), -math.sin(angle))
    nearest = reach
    for ax, ay, bx, by in walls:
        # The wall as seen from the place: how far ahead and aside its ends are.
        ends = []
        for x, y in ((ax - place[0], ay - place[1]), (bx - place[0], by - place[1])):
            ends.append((x * ahead[0] + y * ahead[1], x * ahead[1] - y * ahead[0]))
        (far1, side1), (far2, side2) = ends
        if side1 * side2 < 0:  # the ends are on different sides of the line of sight
            far = far1 + (far2 - far1) * side1 / (side1 - side2)
            if far > 0:
                nearest = min(nearest, far)
    return nearest


def hard_maze(
    controller: Controller,
    walls: Sequence[Wall],
    start: Point,
    goal: Point,
    waypoints: Sequence[Point],
    radar: str,
    max_steps: int,
) -> tuple[float, int, Point]:
    """Fitness, steps, and where the robot is in the end."""
    robot = Robot(start, walls, radar)
    passed = set()
    for count in range(1, max_steps + 1):
        robot.act(controller(robot.readings(goal)))
        if math.dist(robot.place, goal) < 35:
            return 10.0, count, robot.place
        for k, point in enumerate(waypoints):
            if math.dist(robot.place, point) < 20:
                passed.add(k)
    fitness = 0.0
    for k, point in enumerate(waypoints):
        if k not in passed:
            fitness += 1 - math.dist(robot.place, point) / 650
            break
        fitness += 1
    return fitness, max_steps, robot.place


def navigation(
    controller: Controller,
    walls: Sequence[Wall],
    start: Point,
    goal: Point,
    scale: float,
    max_steps: int,
) -> tuple[float, int]:
    """The first half of the dual task: fitness and steps."""
    robot = Robot(start, walls, "corrected")
    for count in range(1, max_steps + 1):
        robot.act(controller(robot.readings(None)))
        if math.dist(robot.place, goal) < 15:
            return 1.0, count
    return max(0.0, 1 - math.dist(robot.place, goal) / scale), max_steps


def gathering(
    controller: Controller,
    walls: Sequence[Wall],
    start: Point,
    foods: Sequence[Point],
    scale: float,
    radar: str,
    max_steps: int,
) -> tuple[float, int]:
    """The second half: fitness and steps."""
    robot = Robot(start, walls, radar)
    left = list(foods)
    for count in range(1, max_steps + 1):
        robot.act(controller(robot.readings(left[0])))
        if math.dist(robot.place, left[0]) < 20:
            left.pop(0)
        if not left:
            return 1.0, count
    closeness = max(0.0, 1 - math.dist(robot.place, left[0]) / scale)
    return (len(foods) - len(left) + closeness) / len(foods), max_steps
