"""From what a CPPN says to the weight of a link."""

import dataclasses

import numpy as np
from jaxtyping import Float

WEIGHT_MAPS = ("deadzone", "linear")
DEAD_ZONE = 0.2
"""Outputs of at most this size mean no link (PUREPLES)."""


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
                f"unknown weight map {self.name!r}: use one of {WEIGHT_MAPS}."
            )
        if not (np.isfinite(self.max_weight) and self.max_weight > 0):
            raise ValueError(f"max_weight must be positive, not {self.max_weight}.")

    def __call__(self, u: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        scale = u.dtype.type(self.max_weight)
        if self.name == "linear":
            return np.clip(u * scale, -scale, scale)
        beyond = np.abs(u)
        beyond -= u.dtype.type(DEAD_ZONE)
        np.maximum(beyond, u.dtype.type(0), out=beyond)
        beyond *= u.dtype.type(self.max_weight / (1 - DEAD_ZONE))
        return np.copysign(beyond, u, out=beyond)
