"""From a network's outputs to actions."""

import functools
from typing import Any

import numpy as np

from ._spaces import AbstractSpace, Box, Compound, Discrete, MultiDiscrete, numbers_of

CHOICES = ("argmax", "sample")
"""How one of several values is chosen: the one with the largest output, or at random,
with the outputs as logarithms of their odds."""
SQUASHES = ("tanh", "clip")
"""How an output becomes a number between two bounds: by tanh, scaled to the bounds, or
as it is, clipped to them."""


def num_outputs(space: AbstractSpace) -> int:
    """How many outputs a network needs for actions of this space."""
    return space.size


def is_chosen(space: AbstractSpace) -> bool:
    """Whether any part of an action is one of several values."""
    return any(not isinstance(part, Box) for part in space.leaves())


def actions_of(
    space: AbstractSpace, outputs: Any, squash: str, noise: Any | None = None
) -> Any:
    """Actions for outputs (batch, outputs), with the axis of the batch in front.

    With `noise`, numbers of Gumbel's distribution (batch, outputs) or (1, outputs),
    values are chosen at random; without, the largest output decides.
    """
    if isinstance(space, Compound):
        ends = np.cumsum([0, *(part.size for part in space.parts)])
        found = []
        for part, begin, end in zip(space.parts, ends[:-1], ends[1:], strict=True):
            own = None if noise is None else noise[:, begin:end]
            found.append(actions_of(part, outputs[:, begin:end], squash, own))
        return space.structure(found)
    if isinstance(space, Box):
        return _between(space, outputs, squash)
    scores = outputs if noise is None else outputs + noise
    if isinstance(space, Discrete):
        return _largest(space, scores)
    assert isinstance(space, MultiDiscrete)
    ends = np.cumsum([0, *space.nums])
    bounds = zip(space.parts, ends[:-1], ends[1:], strict=True)
    found = [_largest(part, scores[:, begin:end]) for part, begin, end in bounds]
    numbers = numbers_of(outputs)
    return numbers.stack(found, axis=1).reshape(-1, *space.shape)


def _largest(space: Discrete, scores: Any) -> Any:
    return scores.argmax(axis=1).astype(np.int32) + space.start


def _between(space: Box, outputs: Any, squash: str) -> Any:
    numbers, (low, high) = numbers_of(outputs), _bounds(space)
    is_bounded = (np.isfinite(low) & np.isfinite(high))[None]
    if squash == "tanh":
        middle, half = (np.where(is_bounded, x[None], 0) for x in _spread(low, high))
        scaled = middle.astype(outputs.dtype) + half.astype(
            outputs.dtype
        ) * numbers.tanh(outputs)
        outputs = numbers.where(is_bounded, scaled, outputs)
    # Also after tanh, where rounding may exceed a bound.
    clipped = numbers.clip(
        outputs, low[None].astype(outputs.dtype), high[None].astype(outputs.dtype)
    )
    return clipped.reshape(-1, *space.shape)


@functools.lru_cache(maxsize=64)
def _bounds(space: Box) -> tuple[np.ndarray, np.ndarray]:
    return space.low.ravel(), space.high.ravel()


def _spread(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(invalid="ignore"):
        return low / 2 + high / 2, high / 2 - low / 2
