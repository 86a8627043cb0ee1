"""Between an environment and a network: what it sees, and what its outputs mean."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .._types import check_counts, shown
from ..substrate import Layout, line
from ._actions import CHOICES, SQUASHES, actions_of, is_chosen
from ._spaces import (
    AbstractSpace,
    Box,
    numbers_of,
    space_from_document,
)

_UNBOUNDED = 1e6
"""Bounds beyond it are there because a type has an end, and say nothing."""
_IMAGE_TOP, _FRAME_STEP = -0.5, 0.125


@dataclasses.dataclass(frozen=True, eq=False)
class Interface:
    """How a network is connected to an environment.

    **Arguments:**

    - `observation`, `action`: the spaces of the environment.
    - `hidden`: numbers of an observation that networks do not see, such as velocities.
    - `num_frames`: a network sees the last so many observations at once; at the
      beginning, the first one so many times.
    - `choice`: how one of several values is chosen, see `CHOICES`.
    - `squash`: how an output becomes a number between two bounds, see `SQUASHES`.
    """

    observation: AbstractSpace
    action: AbstractSpace
    hidden: tuple[int, ...] = ()
    num_frames: int = 1
    choice: str = "argmax"
    squash: str = "tanh"

    def __post_init__(self) -> None:
        for name, known in (("choice", CHOICES), ("squash", SQUASHES)):
            value = getattr(self, name)
            if value not in known:
                raise ValueError(
                    f"{name} is {shown(value)}; choose one of {', '.join(known)}."
                )
        check_counts(num_frames=self.num_frames)
        if self.num_frames < 1:
            raise ValueError("num_frames must be at least 1.")
        size = self.observation.size
        for number in self.hidden:
            check_counts(hidden=number)
            if number >= size:
                raise ValueError(
                    f"hidden has {number}, but an observation has {size} numbers, 0 to "
                    f"{size - 1}."
                )
        if not self.visible.size:
            raise ValueError("hidden has all numbers, so that nothing is left to see.")

    @functools.cached_property
    def visible(self) -> Int[np.ndarray, " seen"]:
        """The numbers of an observation that are seen."""
        return np.setdiff1d(np.arange(self.observation.size), self.hidden)

    @property
    def num_inputs(self) -> int:
        return len(self.visible) * self.num_frames

    @property
    def num_outputs(self) -> int:
        return self.action.size

    @property
    def is_random(self) -> bool:
        """Whether actions are drawn."""
        return self.choice == "sample" and is_chosen(self.action)

    def rows(self, observations: Any) -> Any:
        """What is seen of a batch of observations (batch, numbers)."""
        rows = self.observation.rows(observations)
        return rows if not self.hidden else rows[:, self.visible]

    def frames(self, before: Any | None, rows: Any) -> Any:
        """The last frames (batch, inputs) with one more; `before` is None at first."""
        if self.num_frames == 1:
            return rows
        numbers = numbers_of(rows)
        if before is None:
            return numbers.tile(rows, (1, self.num_frames))
        return numbers.concatenate([before[:, rows.shape[1] :], rows], axis=1)

    def actions(self, outputs: Any, noise: Any | None = None) -> Any:
        """A batch of actions for outputs (batch, outputs); see `actions_of`."""
        return actions_of(self.action, outputs, self.squash, noise)

    @functools.cached_property
    def bounds(self) -> tuple[Float[np.ndarray, " seen"], Float[np.ndarray, " seen"]]:
        """Middle and half of the span of what is seen; 0 and 1 where there is none."""
        ends = [
            (part.low.ravel(), part.high.ravel())
            if isinstance(part, Box)
            else (np.full(part.size, -1.0), np.ones(part.size))
            for part in self.observation.leaves()
        ]
        low, high = (
            np.concatenate(end)[self.visible] for end in zip(*ends, strict=True)
        )
        is_bounded = (np.abs(low) < _UNBOUNDED) & (np.abs(high) < _UNBOUNDED)
        is_bounded &= high > low
        low, high = np.where(is_bounded, low, -1.0), np.where(is_bounded, high, 1.0)
        return (low + high) / 2, (high - low) / 2

    def input_names(self) -> tuple[str, ...]:
        """What inputs are called."""
        names = self.observation.names()
        seen = [names[k] for k in self.visible]
        if self.num_frames == 1:
            return tuple(seen)
        ages = range(self.num_frames - 1, -1, -1)
        return tuple(f"{name}-{age}" if age else name for age in ages for name in seen)

    def output_names(self) -> tuple[str, ...]:
        """What outputs are called."""
        return tuple(self.action.names("action"))

    def layout(self) -> Layout:
        """Where inputs and outputs lie, if nobody says otherwise.

        Numbers lie along the lower edge, in their order, and outputs along the upper
        one. Images are planes of pixels in the lower quarter, channel above channel;
        earlier frames lie below later ones.
        """
        images = [
            part
            for part in self.observation.leaves()
            if isinstance(part, Box) and part.is_image
        ]
        if len(images) == 1 and images[0] is self.observation:
            frame = _pixels(images[0])[self.visible]
        else:
            frame = line(len(self.visible), -1.0)
        return Layout(self._in_frames(frame), line(self.num_outputs, 1.0))

    def _in_frames(self, points: Float[np.ndarray, "seen 2"]) -> np.ndarray:
        """The same points for each frame, in bands of their own."""
        if self.num_frames == 1:
            return points
        height = points[:, 1] + 1
        band = (_IMAGE_TOP + 1) / self.num_frames
        if height.max() == 0:
            band, height = min(band, _FRAME_STEP), height
        else:
            height = height / (_IMAGE_TOP + 1) * band * 0.9
        bands = [
            np.column_stack([points[:, 0], -1 + band * k + height])
            for k in range(self.num_frames)
        ]
        return np.concatenate(bands)

    def to_document(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "observation": self.observation.to_document(),
            "action": self.action.to_document(),
            "hidden": list(self.hidden),
            "num_frames": self.num_frames,
            "choice": self.choice,
            "squash": self.squash,
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> "Interface":
        """What `to_document` made."""
        return Interface(
            space_from_document(document["observation"]),
            space_from_document(document["action"]),
            tuple(map(int, document["hidden"])),
            int(document["num_frames"]),
            str(document["choice"]),
            str(document["squash"]),
        )


def _pixels(image: Box) -> Float[np.ndarray, "pixels 2"]:
    """Rows from above, columns from the left, and channels above one another."""
    rows, columns, *rest = image.shape
    channels = rest[0] if rest else 1
    x = np.linspace(-1, 1, columns)
    span = (_IMAGE_TOP + 1) / channels
    # a little apart, so that no two channels have a line of pixels in common
    up = np.linspace(span * 0.9, 0, rows)
    points = np.zeros((rows, columns, channels, 2))
    points[..., 0] = x[None, :, None]
    points[..., 1] = -1 + up[:, None, None] + span * np.arange(channels)[None, None]
    return points.reshape(-1, 2)
