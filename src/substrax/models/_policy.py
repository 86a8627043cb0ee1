"""A model that acts: from an observation to an action, with what it remembers."""

import dataclasses
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from .._types import check_counts, counted
from ..network import Stepper
from ..worlds import Box, Interface, batched, one_of

if TYPE_CHECKING:
    from ._model import Model


class PolicyState(eqx.Module):
    """What a policy remembers from one step to the next."""

    memory: Float[Array | np.ndarray, "slots environments"]
    """Of a network with cycles."""
    frames: Float[Array | np.ndarray, "environments inputs"]
    """The last observations, as far as they are seen at once."""
    is_new: Bool[Array | np.ndarray, ""]
    """Whether nothing has been seen yet."""
    key: Key[Array, ""] | None
    """For actions that are drawn."""
    is_single: bool = eqx.field(static=True)
    """Whether this is one environment, without an axis for several."""


@dataclasses.dataclass(frozen=True, eq=False)
class Policy:
    """What a model does in its environment: `state, action = policy(state, seen)`.

    Observations are those of the environment, as they are, and so are actions: the
    scaling of observations, frames and the meaning of outputs are part of it. Begin an
    episode with `state = policy.start()`, or with `policy.start(8)` for eight
    environments side by side, whose observations then have an axis in front.

    Pure: the state is yours. JAX's arrays are computed by JAX, also within `jit`,
    `vmap` and `scan`; everything else by NumPy and the engine for CPUs. States of one
    are not for the other: `policy.start(..., for_jax=True)`.
    """

    model: "Model"

    @property
    def interface(self) -> Interface:
        """Between the environment and the network."""
        interface = self.model.preparation.interface
        assert interface is not None
        return interface

    def start(
        self,
        num: int | None = None,
        *,
        key: Key[Array, ""] | None = None,
        for_jax: bool = False,
    ) -> PolicyState:
        """What is remembered at the beginning of an episode.

        **Arguments:**

        - `num`: of how many environments; left out, of one, without an axis.
        - `key`: for policies that draw actions; left out, always the same.
        - `for_jax`: whether observations will be JAX's.
        """
        count = 1 if num is None else num
        check_counts(num=count)
        if for_jax:
            memory = self.model.start(count)
        else:
            memory = Stepper.of(self.model.network).start(batch=count)
        numbers = jnp if for_jax else np
        dtype = self.model.network.dtype
        if self.interface.is_random and key is None:
            key = jax.random.key(0)
        return PolicyState(
            memory=memory,
            frames=numbers.zeros((count, self.interface.num_inputs), dtype),
            is_new=numbers.asarray(True),
            key=key if self.interface.is_random else None,
            is_single=num is None,
        )

    def __call__(self, state: Any, seen: Any) -> tuple[PolicyState, Any]:
        """The next state, and an action for what is seen."""
        if not isinstance(state, PolicyState):
            raise ValueError(
                "the state must be that of a policy; begin with policy.start()."
            )
        interface, model = self.interface, self.model
        for_jax = isinstance(state.memory, jax.Array)
        if state.is_single:
            seen = (
                jax.tree.map(lambda x: jnp.asarray(x)[None], seen)
                if for_jax
                else (batched(interface.observation, [seen]))
            )
        rows = self._rows(seen, len(state.frames)).astype(model.network.dtype)
        numbers = jnp if for_jax else np
        frames = numbers.where(
            state.is_new,
            interface.frames(None, rows),
            interface.frames(state.frames, rows),
        )
        before: Any = state.memory
        if for_jax:
            memory, outputs = model.step(before, frames)
        else:
            inputs = model.preparation.inputs(frames)
            stepper = Stepper.of(model.network)
            memory, outputs = stepper(before, inputs[None])
            outputs = outputs[0]
        key, noise = state.key, None
        if key is not None:
            key, key_now = jax.random.split(key)
            noise = jax.random.gumbel(key_now, outputs.shape, outputs.dtype)
            noise = noise if for_jax else np.asarray(noise)
        actions = interface.actions(outputs, noise)
        if state.is_single:
            actions = (
                jax.tree.map(lambda x: x[0], actions)
                if for_jax
                else one_of(interface.action, actions, 0)
            )
        after = PolicyState(
            memory, frames, numbers.asarray(False), key, state.is_single
        )
        return after, actions

    def _rows(self, seen: Any, num: int) -> Any:
        """What is seen in as many environments as the state is of."""
        space = self.interface.observation
        if isinstance(space, Box) and np.shape(seen) != (num, *space.shape):
            raise ValueError(
                f"this policy acts in {counted(num, 'environment')} with observations "
                f"of the shape {space.shape}, but these have {np.shape(seen)} with the "
                "axis of environments in front. policy.start(8) is for eight of them."
            )
        rows = self.interface.rows(seen)
        if len(rows) != num:
            raise ValueError(
                f"this state is of {counted(num, 'environment')}, but there are "
                f"observations of {len(rows)}."
            )
        return rows
