"""From what a CPPN says to the weight of a link."""

import dataclasses

import numpy as np
from jaxtyping import Float

from .._types import as_number, shown

WEIGHT_MAPS = ("deadzone", "linear")
"""Ways from what a CPPN says to the weight of a link."""
DEAD_ZONE = 0.2
"""Outputs of at most this size mean no link (PUREPLES)."""

_PIECE = 1 << 15
"""Numbers that are mapped at a time, so that they stay in the cache."""


@dataclasses.dataclass(frozen=True)
class WeightMap:
    """w(u): `deadzone` (0 where |u| <= 0.2, else stretched; what PUREPLES does; not
    clipped) or `linear` (`max_weight * u`, clipped to +-max_weight).
    """

    name: str = "linear"
    max_weight: float = 8.0

    def __post_init__(self) -> None:
        if self.name not in WEIGHT_MAPS:
            raise ValueError(
                f"unknown weight map {shown(self.name)}: use one of {WEIGHT_MAPS}."
            )
        # Stretched, it must still be a float32.
        if not 0 < as_number(self.max_weight) < 1e38:
            raise ValueError(
                "max_weight must be positive and below 1e38, not "
                f"{shown(self.max_weight)}."
            )

    def __call__(self, u: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        result = np.empty(u.shape, u.dtype)
        flat, out = u.reshape(-1), result.reshape(-1)
        for begin in range(0, flat.size, _PIECE):
            piece = slice(begin, begin + _PIECE)
            self._apply(flat[piece], out[piece])
        return result

    def _apply(self, u: Float[np.ndarray, " n"], out: Float[np.ndarray, " n"]) -> None:
        scale = u.dtype.type(self.max_weight)
        if self.name == "linear":
            np.multiply(u, scale, out=out)
            np.clip(out, -scale, scale, out=out)
            return
        np.abs(u, out=out)
        out -= u.dtype.type(DEAD_ZONE)
        np.maximum(out, u.dtype.type(0), out=out)
        out *= u.dtype.type(self.max_weight / (1 - DEAD_ZONE))
        np.copysign(out, u, out=out)
