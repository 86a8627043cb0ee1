"""Two poles on a cart, slowly and obviously: one cart, plain floats.

Newton's laws are solved for the three accelerations as a linear system, instead of by
the formulas of Wieland (1991), which come from eliminating two of them by hand. Poles
are rods of uniform mass: moment of inertia 4/3 m l^2 about the hinge, l half the
length. Angles are measured from upright, positive to the right (the way of the cart).
"""

import math

import numpy as np

GRAVITY, CART, FRICTION = 9.8, 1.0, 0.000002
RODS = ((0.1, 0.5), (0.01, 0.05))
"""Mass and half length of each pole."""


def accelerations(state: np.ndarray, force: float) -> np.ndarray:
    """Of the cart and the two poles."""
    _, _, *poles = state
    matrix = np.zeros((3, 3))
    right = np.zeros(3)
    matrix[0, 0] = CART
    right[0] = force
    for k, (mass, half) in enumerate(RODS, start=1):
        angle, turn = poles[2 * k - 2], poles[2 * k - 1]
        # The cart feels the horizontal force of the pole's centre of mass.
        matrix[0, 0] += mass
        matrix[0, k] = mass * half * math.cos(angle)
        right[0] += mass * half * turn**2 * math.sin(angle)
        # Torque about the hinge: gravity, friction, and the hinge's own acceleration.
        matrix[k, 0] = mass * half * math.cos(angle)
        matrix[k, k] = 4 / 3 * mass * half**2
        right[k] = mass * GRAVITY * half * math.sin(angle) - FRICTION * turn
    return np.linalg.solve(matrix, right)


def changes(state: np.ndarray, force: float) -> np.ndarray:
    cart, long, short = accelerations(state, force)
    return np.array([state[1], cart, state[3], long, state[5], short])


def step(state: np.ndarray, force: float) -> np.ndarray:
    """The state 0.02 s later."""
    for _ in range(2):
        k1 = changes(state, force)
        k2 = changes(state + 0.005 * k1, force)
        k3 = changes(state + 0.005 * k2, force)
        k4 = changes(state + 0.01 * k3, force)
        state = state + 0.01 * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return state


def energy(state: np.ndarray) -> float:
    """Kinetic and potential; conserved without force and friction."""
    _, velocity, *poles = state
    total = 0.5 * CART * velocity**2
    for k, (mass, half) in enumerate(RODS):
        angle, turn = poles[2 * k], poles[2 * k + 1]
        across = velocity + half * turn * math.cos(angle)
        up = -half * turn * math.sin(angle)
        total += 0.5 * mass * (across**2 + up**2)
        total += 0.5 * (mass * half**2 / 3) * turn**2
        total += mass * GRAVITY * half * math.cos(angle)
    return total


def has_fallen(state: np.ndarray) -> bool:
    limit = math.radians(36)
    return bool(abs(state[0]) > 2.4 or abs(state[2]) > limit or abs(state[4]) > limit)
