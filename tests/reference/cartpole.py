"""Cart-pole, slowly and obviously: one cart, plain floats.

The equations are those of Barto, Sutton & Anderson (1983) without friction, as solved
by Florian (2007): first the pole's angular acceleration from the torques, then the
cart's acceleration from the forces.
"""

import math
from collections.abc import Callable

import numpy as np


def accelerations(
    force: float, angle: float, angular_velocity: float
) -> tuple[float, float]:
    """Of the cart and of the pole."""
    gravity, mass_cart, mass_pole, half_length = 9.8, 1.0, 0.1, 0.5
    total = mass_cart + mass_pole
    centrifugal = mass_pole * half_length * angular_velocity**2 * math.sin(angle)
    push = (force + centrifugal) / total
    numerator = gravity * math.sin(angle) - math.cos(angle) * push
    inertia = half_length * (4 / 3 - mass_pole * math.cos(angle) ** 2 / total)
    of_pole = numerator / inertia
    of_cart = push - mass_pole * half_length * of_pole * math.cos(angle) / total
    return of_cart, of_pole


def step(state: np.ndarray, force: float) -> np.ndarray:
    """The state 0.02 s later, by Euler's method."""
    position, velocity, angle, angular_velocity = state
    of_cart, of_pole = accelerations(force, angle, angular_velocity)
    return np.array(
        [
            position + 0.02 * velocity,
            velocity + 0.02 * of_cart,
            angle + 0.02 * angular_velocity,
            angular_velocity + 0.02 * of_pole,
        ]
    )


def has_fallen(state: np.ndarray) -> bool:
    return abs(state[0]) > 2.4 or abs(state[2]) > math.radians(12)


def episode(
    start: np.ndarray, is_right: Callable[[np.ndarray], bool], max_steps: int
) -> int:
    """How many steps a controller lasts, the one in which the pole falls included."""
    state = np.asarray(start, float)
    for count in range(1, max_steps + 1):
        state = step(state, 10.0 if is_right(state) else -10.0)
        if has_fallen(state):
            return count
    return max_steps
