"""Cart-pole in pure JAX: a control task for networks that keep their state."""

import dataclasses
import functools
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Key

from .._resources import Resources
from .._types import check_settings
from ..network import Networks
from ..substrate import Layout
from ._base import (
    AbstractProblem,
    TracedFitness,
    check_networks,
    check_positive,
    check_single,
)
from ._function import NetworkFitness, run_population
from ._network_function import NetworkFunction

GRAVITY, MASS_CART, MASS_POLE, HALF_LENGTH, FORCE, SECONDS = (
    9.8,
    1.0,
    0.1,
    0.5,
    10,
    0.02,
)
MAX_POSITION, MAX_ANGLE = 2.4, 12 * math.pi / 180
_TEST_EPISODES = 100


def push(
    states: Float[Array, "episodes 4"], is_right: Bool[Array, " episodes"]
) -> Float[Array, "episodes 4"]:
    """One time step of 0.02 s after a push to the right or to the left.

    States are position, velocity, angle (0 is upright), angular velocity. Equations of
    Florian (2007) without friction, integrated by Euler's method as in Gymnasium:
    places move by the velocities from before the push.
    """
    position, velocity, angle, turn = states.T
    force = jnp.where(is_right, FORCE, -FORCE).astype(states.dtype)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    mass = MASS_CART + MASS_POLE
    thrust = (force + MASS_POLE * HALF_LENGTH * turn**2 * sine) / mass
    turn_change = (GRAVITY * sine - cosine * thrust) / (
        HALF_LENGTH * (4.0 / 3.0 - MASS_POLE * cosine**2 / mass)
    )
    velocity_change = thrust - MASS_POLE * HALF_LENGTH * turn_change * cosine / mass
    return jnp.stack(
        [
            position + SECONDS * velocity,
            velocity + SECONDS * velocity_change,
            angle + SECONDS * turn,
            turn + SECONDS * turn_change,
        ],
        axis=1,
    )


def has_fallen(states: Float[Array, "episodes 4"]) -> Bool[Array, " episodes"]:
    """Whether a cart has left the track, or its pole leans by more than 12 degrees."""
    return (jnp.abs(states[:, 0]) > MAX_POSITION) | (jnp.abs(states[:, 2]) > MAX_ANGLE)


@functools.lru_cache(maxsize=32)
def _balance(num_episodes: int, max_steps: int, has_velocities: bool) -> NetworkFitness:
    """The function that is compiled: one object for each setting."""

    def balance(network: NetworkFunction, key: Key[Array, ""]) -> Float[Array, ""]:
        """Steps for which the pole stays up, in all episodes together."""
        dtype = network.dtype
        start = jax.random.uniform(
            key, (num_episodes, 4), dtype, minval=-0.05, maxval=0.05
        )

        def is_going(carry):
            _, _, is_up, _, _, time = carry
            return (time < max_steps) & is_up.any()

        def step(carry):
            states, memory, is_up, length, is_finite, time = carry
            seen = states if has_velocities else states[:, ::2]
            memory, outputs = network.step(memory, seen)
            is_finite &= jnp.where(is_up[:, None], jnp.isfinite(outputs), True).all()
            # Carts that have fallen go on unseen; whatever becomes of their numbers,
            # they stay down.
            states = push(states, outputs[:, 1] > outputs[:, 0])
            length += is_up.astype(
                jnp.int32
            )  # a step counts, also the one in which the pole falls
            return (
                states,
                memory,
                is_up & ~has_fallen(states),
                length,
                is_finite,
                (time + 1),
            )

        carry = (
            start,
            network.start(num_episodes),
            jnp.ones(num_episodes, bool),
            jnp.zeros(num_episodes, jnp.int32),
            jnp.asarray(True),
            jnp.asarray(0, jnp.int32),
        )
        _, _, _, length, is_finite, _ = lax.while_loop(is_going, step, carry)
        return jnp.where(is_finite, length.sum().astype(dtype), jnp.nan)

    return balance


@dataclasses.dataclass(frozen=True)
class CartPole(AbstractProblem):
    """Keep a pole upright on a cart by pushing it left or right.

    The equations, constants and limits of CartPole-v1 in Gymnasium: Barto, Sutton &
    Anderson (1983), gravity 9.8, a cart of 1 kg and a pole of 0.1 kg and 1 m (half
    length 0.5), pushes of 10 N every 0.02 s, Euler's method. An episode starts with all
    four of position, velocity, angle and angular velocity uniform in [-0.05, 0.05], and
    ends when the cart is more than 2.4 m from the middle, the pole more than 12 degrees
    from upright, or after `max_steps`, 500.

    Inputs are these four, as they are; of two outputs the larger one decides, the first
    for left (also if they are equal), the second for right. A network with cycles keeps
    its state over an episode and makes `steps` updates for each step of the cart.

    With `has_velocities=False` it sees only position and angle, and has to remember
    what it saw to know how fast they change: a task for recurrent substrates, as pole
    balancing without velocities is for NEAT (Stanley & Miikkulainen 2002).

    **Fitness** is the mean length of `num_episodes` episodes over `max_steps`. All
    networks of a generation start from the same states, other ones in each generation.

    **Solved** at 0.95: 475 of 500 steps, Gymnasium's threshold. Gymnasium asks for that
    on average over 100 episodes, which is what `measures` tests, always from the same
    starts: `mean_steps`.

    **Coordinates** of PUREPLES: inputs evenly along the lower edge, outputs at (-1, 1)
    and (1, 1).

    **Arguments:**

    - `num_episodes`, `max_steps`: episodes of a network, and their greatest length.
    - `has_velocities`: whether velocities are seen.
    """

    num_episodes: int = 5
    max_steps: int = 500
    has_velocities: bool = True

    name: ClassVar[str] = "cartpole"
    target: ClassVar[float] = 0.95
    is_separable: ClassVar[bool | None] = True
    suggested: ClassVar[dict[str, object]] = {}

    def __post_init__(self) -> None:
        check_settings(self)
        check_positive("num_episodes", self.num_episodes)
        check_positive("max_steps", self.max_steps)

    @functools.cached_property
    def layout(self) -> Layout:
        return Layout.spread(4 if self.has_velocities else 2, 2)

    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        check_networks(self, networks)
        traced = self.traced()
        return traced.fitness(run_population(traced.outcome, networks, key, resources))

    def traced(self) -> TracedFitness:
        fn = _balance(self.num_episodes, self.max_steps, self.has_velocities)
        return TracedFitness(fn, lambda n: n / (self.num_episodes * self.max_steps))

    def measures(self, network: Networks) -> dict[str, float]:
        check_single(self, network)
        fn = _balance(_TEST_EPISODES, self.max_steps, self.has_velocities)
        steps = run_population(fn, network, jax.random.key(0))[0]
        return {"mean_steps": float(steps) / _TEST_EPISODES}
