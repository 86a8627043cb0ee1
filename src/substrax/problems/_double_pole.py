"""Two poles of different lengths on one cart, in pure JAX (Wieland 1991)."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Key

from .._resources import Resources
from .._types import check_settings
from ..network import Networks
from ..substrate import Layout
from ._base import AbstractProblem, check_networks, check_positive, check_single
from ._function import run_outcomes
from ._network_function import NetworkFunction

GRAVITY, MASS_CART, FORCE, FRICTION, SECONDS = 9.8, 1.0, 10.0, 0.000002, 0.01
HALF_LENGTHS, MASSES = (0.5, 0.05), (0.1, 0.01)
MAX_POSITION, MAX_ANGLE = 2.4, math.radians(36)
SCALES = (4.8, 2.0, 0.52, 2.0, 0.52, 2.0)
"""What states are divided by before a network sees them, as in NEAT's own program."""

START = (0.0, 0.0, 0.07, 0.0, 0.0, 0.0)
"""At rest in the middle, the long pole leaning by 4 degrees."""

FIRST_STEPS = 1000
"""Who lasts so long is tested for longer."""

_STAGES = (100, FIRST_STEPS)
"""Networks are stepped side by side, until the last has fallen. Most fall at once: they
are not kept waiting for the others."""

_DAMPED_STEPS = 100
# Below the target in 32 bits, too, however still the cart stands.
_UNSOLVED = 1.0 - 2.0**-10
# Where between -span and span each of the four variables starts.
_STARTS = (0.05, 0.25, 0.5, 0.75, 0.95)
_SPANS = (2.16, 1.35, math.radians(3.6), math.radians(8.6))


def varied_starts() -> Float[np.ndarray, "625 6"]:
    """The 625 starts of Gruau, Whitley & Pyeatt (1996): five values each of the cart's
    and the long pole's positions and velocities; the short pole stands."""
    states = np.zeros((len(_STARTS) ** 4, 6))
    for row, places in zip(states, itertools.product(_STARTS, repeat=4), strict=True):
        row[:4] = [span * (2 * p - 1) for span, p in zip(_SPANS, places, strict=True)]
    return states


def changes(
    states: Float[Array, "episodes 6"], force: Float[Array, " episodes"]
) -> Float[Array, "episodes 6"]:
    """What the states change by, per second.

    States are the position and velocity of the cart, then angle (0 is upright) and
    angular velocity of the long pole and of the short one.
    """
    _, velocity, *poles = states.T
    angles, turns = poles[::2], poles[1::2]
    pull, mass = force, MASS_CART
    parts = []
    for angle, turn, half, own in zip(angles, turns, HALF_LENGTHS, MASSES, strict=True):
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        # Gravity and the friction of the hinge, as accelerations along the pole's arc.
        arc = FRICTION * turn / (own * half) - GRAVITY * sine
        # Wieland's effective force and mass of a pole; 3/4 is the inverse of the 4/3 in
        # a rod's moment of inertia about its hinge.
        pull = pull + own * half * turn**2 * sine + 0.75 * own * cosine * arc
        mass = mass + own * (1.0 - 0.75 * cosine**2)
        parts.append((cosine, arc, half))
    acceleration = pull / mass
    spins = [-0.75 * (acceleration * cos + arc) / half for cos, arc, half in parts]
    return jnp.stack(
        [velocity, acceleration, turns[0], spins[0], turns[1], spins[1]], axis=1
    )


def push(
    states: Float[Array, "episodes 6"], force: Float[Array, " episodes"]
) -> Float[Array, "episodes 6"]:
    """The states after a force has acted for 0.02 s: two steps of Runge and Kutta's
    fourth order, each of 0.01 s."""
    for _ in range(2):
        k1 = changes(states, force)
        k2 = changes(states + 0.5 * SECONDS * k1, force)
        k3 = changes(states + 0.5 * SECONDS * k2, force)
        k4 = changes(states + SECONDS * k3, force)
        states = states + SECONDS / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return states


def has_fallen(states: Float[Array, "episodes 6"]) -> Bool[Array, " episodes"]:
    """Whether a cart has left the track, or a pole leans by more than 36 degrees."""
    is_off = jnp.abs(states[:, 0]) > MAX_POSITION
    leans = jnp.abs(states[:, 2::2]) > MAX_ANGLE
    return is_off | leans.any(axis=1)


class _Outcome(NamedTuple):
    is_finite: Any
    steps: Any
    """Of all starts together."""
    balanced: Any
    """From how many starts to the end."""
    motion: Any
    """From the first start, over the last hundred steps."""


@functools.lru_cache(maxsize=32)
def _balance(
    starts: tuple[tuple[float, ...], ...], max_steps: int, has_velocities: bool
) -> Callable:
    """The function that is compiled: one object for each setting."""

    def balance(network: NetworkFunction, key: Key[Array, ""]) -> _Outcome:
        del key
        dtype = network.dtype
        states = jnp.asarray(starts, dtype)
        num = len(starts)
        scale = jnp.asarray(SCALES, dtype)[None]

        def is_going(carry):
            _, _, is_up, _, _, _, time = carry
            return (time < max_steps) & is_up.any()

        def step(carry):
            states, memory, is_up, length, is_finite, motion, time = carry
            seen = states / scale
            # Positions are every other one: cart, long pole, short pole.
            seen = seen if has_velocities else seen[:, ::2]
            seen = jnp.concatenate([seen, jnp.ones((num, 1), dtype)], axis=1)
            memory, outputs = network.step(memory, seen)
            is_finite &= jnp.where(is_up[:, None], jnp.isfinite(outputs), True).all()
            force = FORCE * jnp.clip(2.0 * outputs[:, 0] - 1.0, -1.0, 1.0)
            # Who has fallen stays where it is, so that no number overflows.
            states = jnp.where(is_up[:, None], push(states, force), states)
            is_up &= ~has_fallen(states)
            length += is_up.astype(jnp.int32)
            moved = jnp.abs(states[0, :4]).sum()
            # A ring, so that the last hundred are there whenever the episode ends.
            motion = motion.at[time % _DAMPED_STEPS].set(moved)
            return states, memory, is_up, length, is_finite, motion, time + 1

        carry = (
            states,
            network.start(num),
            jnp.ones(num, bool),
            jnp.zeros(num, jnp.int32),
            jnp.asarray(True),
            jnp.zeros(_DAMPED_STEPS, dtype),
            jnp.asarray(0, jnp.int32),
        )
        *_, length, is_finite, motion, _ = lax.while_loop(is_going, step, carry)
        return _Outcome(
            is_finite, length.sum(), (length == max_steps).sum(), motion.sum()
        )

    return balance


@dataclasses.dataclass(frozen=True)
class DoublePole(AbstractProblem):
    """Keep two poles upright on one cart: one of 1 m, one of 0.1 m.

    The equations, constants and limits of Wieland (1991) as NEAT's experiments have
    them: a cart of 1 kg on a track of 4.8 m, poles of 0.1 and 0.01 kg, friction in the
    hinges, a force of up to 10 N every 0.02 s, Runge-Kutta's method of fourth order in
    steps of 0.01 s. The cart starts in the middle, the long pole leaning by 4 degrees.
    An episode ends when the cart is more than 2.4 m from the middle or a pole more than
    36 degrees from upright.

    Inputs are position and velocity of the cart, then angle and angular velocity of the
    long and of the short pole, divided by 4.8, 2, 0.52, 2, 0.52 and 2; and a 1 as a
    bias. Of an output y, cut off below 0 and above 1, the force is 10 (2y - 1) N. With
    `has_velocities=False` there are only the three positions (and the bias): a task for
    networks that remember.

    **Fitness** is the number of steps over `max_steps`, 100,000: half an hour. With
    `damping`, it is that of Gruau, Whitley & Pyeatt (1996), over 1,000 steps:
    `0.1 steps / 1000 + 0.9 * 0.75 / m` where m is the sum of |position|, |velocity|,
    |angle| and |angular velocity| of cart and long pole over the last 100 steps (the
    second part is 0 if there were fewer). It keeps networks from balancing by shaking.
    Whoever lasts 1,000 steps is tested for `max_steps`, and has fitness 1 if it passes;
    all others have less. (NEAT's experiments test the best of a generation alone; here
    the fitness of a network does not depend on others.)

    **Solved** at 1: the poles are up for `max_steps`. `measures` says from how many of
    625 other starts a network balances for 1,000 steps (`generalisation`); the
    literature asks for 200 without velocities.

    **Coordinates**: inputs evenly along the lower edge, the output at (0, 1).

    Wieland (1991), Evolving neural network controllers for unstable systems, IJCNN;
    Stanley & Miikkulainen (2002), section 4.2 and 4.3.

    **Arguments:**

    - `has_velocities`: whether velocities are seen.
    - `damping`: whether the fitness is Gruau's.
    - `max_steps`: how long to balance.
    """

    has_velocities: bool = True
    damping: bool = False
    max_steps: int = 100_000

    name: ClassVar[str] = "double-pole"
    target: ClassVar[float] = 1.0
    is_separable: ClassVar[bool | None] = True
    suggested: ClassVar[dict[str, object]] = {"output_activation": "sigmoid"}

    def __post_init__(self) -> None:
        check_settings(self)
        check_positive("max_steps", self.max_steps)

    @functools.cached_property
    def layout(self) -> Layout:
        return Layout.spread(7 if self.has_velocities else 4, 1)

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        check_networks(self, networks)
        if not len(networks):
            return np.zeros(0)
        if not self.damping:
            end = self._run(networks, self.max_steps, resources)
            return np.where(end.is_finite > 0, end.steps / self.max_steps, np.nan)
        first = min(FIRST_STEPS, self.max_steps)
        end = self._run(networks, first, resources)
        # 0.1 f1 + 0.9 f2 of Gruau, Whitley & Pyeatt (1996).
        still = 0.75 / np.maximum(end.motion, 1e-6)
        # f2 is 0 for who falls earlier: the ring is not full then.
        still = np.where(end.steps < _DAMPED_STEPS, 0.0, still)
        value = np.minimum(0.1 * end.steps / first + 0.9 * still, _UNSOLVED)
        value = np.where(end.is_finite > 0, value, np.nan)
        lasting = np.flatnonzero((end.steps == first) & (end.is_finite > 0))
        if lasting.size:
            some = Networks.join([networks[int(k)] for k in lasting], resources)
            lasted = self._run(some, self.max_steps, resources)
            is_up = (lasted.steps == self.max_steps) & (lasted.is_finite > 0)
            value[lasting[is_up]] = 1.0
        return value

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        starts = tuple(map(tuple, varied_starts().tolist()))
        varied = _balance(starts, FIRST_STEPS, self.has_velocities)
        return {
            "steps": float(self._run(network, self.max_steps, None).steps[0]),
            "generalisation": float(
                run_outcomes(varied, network, jax.random.key(0)).balanced[0]
            ),
        }

    def _run(
        self, networks: Networks, max_steps: int, resources: Resources | None
    ) -> _Outcome:
        """From the usual start, stage by stage; who lasts begins the next one anew."""

        def run(some: Networks, steps: int) -> _Outcome:
            fn = _balance((START,), steps, self.has_velocities)
            return run_outcomes(fn, some, jax.random.key(0), resources)

        first, *later = [n for n in _STAGES if n < max_steps] + [max_steps]
        result = run(networks, first)
        lasting = np.flatnonzero((result.balanced == 1) & (result.is_finite > 0))
        for steps in later:
            if not lasting.size:
                break
            end = run(
                Networks.join([networks[int(k)] for k in lasting], resources), steps
            )
            for whole, part in zip(result, end, strict=True):
                whole[lasting] = part
            lasting = lasting[(end.balanced == 1) & (end.is_finite > 0)]
        return result
