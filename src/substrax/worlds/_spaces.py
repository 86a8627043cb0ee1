"""What an environment shows and takes, as data.

gymnasium, gymnax and the others have classes of their own for it; these are what they
have in common. They know which rows of numbers a network sees and which outputs it
needs, and they can be written down as JSON. A batch of observations has its axis in
front; arrays may be NumPy's or JAX's.
"""

import abc
import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._types import shown


def numbers_of(array: Any) -> Any:
    """NumPy or JAX, whichever an array belongs to."""
    return jnp if isinstance(array, jax.Array) else np


class AbstractSpace(abc.ABC):
    """A set of observations, or of actions."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Numbers in a row."""

    @abc.abstractmethod
    def rows(self, values: Any) -> Any:
        """Observations as rows of numbers (batch, size)."""

    @abc.abstractmethod
    def names(self, prefix: str = "") -> list[str]:
        """What the numbers of a row are called."""

    @abc.abstractmethod
    def to_document(self) -> dict[str, Any]:
        """As plain values for JSON."""

    def leaves(self) -> Iterator["AbstractSpace"]:
        """The spaces that it is made of, in the order of rows."""
        yield self


@dataclasses.dataclass(frozen=True)
class Discrete(AbstractSpace):
    """One of `num` values, the first of which is `start`."""

    num: int
    start: int = 0

    @property
    def size(self) -> int:
        return self.num

    def rows(self, values: Any) -> Any:
        numbers = numbers_of(values)
        values = numbers.asarray(values).reshape(-1, 1)
        kinds = numbers.arange(self.start, self.start + self.num)[None]
        return (values == kinds).astype(np.float32)

    def names(self, prefix: str = "") -> list[str]:
        begin = f"{prefix}=" if prefix else ""
        return [f"{begin}{self.start + k}" for k in range(self.num)]

    def to_document(self) -> dict[str, Any]:
        return {"kind": "discrete", "num": self.num, "start": self.start}


@dataclasses.dataclass(frozen=True, eq=False)
class Box(AbstractSpace):
    """Numbers between `low` and `high`, arrays of one shape; either may be infinite."""

    low: np.ndarray
    high: np.ndarray

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            array = np.array(getattr(self, name), np.float64)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.low.shape

    @property
    def size(self) -> int:
        return self.low.size

    @property
    def is_image(self) -> bool:
        """Whether these are pixels: rows, columns and possibly channels."""
        return len(self.shape) in (2, 3) and min(self.shape[:2]) > 1

    @property
    def is_bounded(self) -> bool:
        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())

    def rows(self, values: Any) -> Any:
        numbers = numbers_of(values)
        values = numbers.asarray(values)
        if values.dtype.kind != "f":
            values = values.astype(np.float32)
        return values.reshape(-1, self.size)

    def names(self, prefix: str = "") -> list[str]:
        begin = prefix or "in"
        if self.size == 1 and prefix:
            return [prefix]
        if not self.is_image:
            return [f"{begin}{k}" for k in range(self.size)]
        places = (",".join(map(str, place)) for place in np.ndindex(*self.shape))
        return [f"{begin}[{place}]" for place in places]

    def to_document(self) -> dict[str, Any]:
        def plain(array: np.ndarray) -> Any:
            # JSON has no word for infinity
            values = [None if math.isinf(x) else x for x in array.ravel().tolist()]
            return values[0] if len(set(values)) == 1 else values

        low, high = plain(self.low), plain(self.high)
        return {"kind": "box", "shape": list(self.shape), "low": low, "high": high}


@dataclasses.dataclass(frozen=True)
class MultiDiscrete(AbstractSpace):
    """Several choices at once: one of `nums[k]` values for each k, from `starts[k]`."""

    nums: tuple[int, ...]
    starts: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    """Of an observation or action; left out, (len(nums),)."""

    def __post_init__(self) -> None:
        if not self.starts:
            object.__setattr__(self, "starts", (0,) * len(self.nums))
        if not self.shape:
            object.__setattr__(self, "shape", (len(self.nums),))

    @property
    def size(self) -> int:
        return sum(self.nums)

    @property
    def parts(self) -> list[Discrete]:
        return [Discrete(*both) for both in zip(self.nums, self.starts, strict=True)]

    def rows(self, values: Any) -> Any:
        numbers = numbers_of(values)
        values = numbers.asarray(values).reshape(-1, len(self.nums))
        found = [part.rows(values[:, k]) for k, part in enumerate(self.parts)]
        return numbers.concatenate(found, axis=1)

    def names(self, prefix: str = "") -> list[str]:
        return [
            name
            for k, part in enumerate(self.parts)
            for name in part.names(f"{prefix}{k}")
        ]

    def to_document(self) -> dict[str, Any]:
        found = {"nums": self.nums, "starts": self.starts, "shape": self.shape}
        return {"kind": "multi-discrete", **{k: list(v) for k, v in found.items()}}


@dataclasses.dataclass(frozen=True)
class Compound(AbstractSpace):
    """Several spaces, one after the other: by names (Dict), or by places (Tuple)."""

    parts: tuple[AbstractSpace, ...]
    keys: tuple[str, ...] | None = None

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def pairs(self, values: Any) -> Iterator[tuple[AbstractSpace, Any]]:
        """Each part, with the part of the values that belongs to it."""
        keys = range(len(self.parts)) if self.keys is None else self.keys
        for key, part in zip(keys, self.parts, strict=True):
            yield part, values[key]

    def rows(self, values: Any) -> Any:
        found = [part.rows(value) for part, value in self.pairs(values)]
        return numbers_of(found[0]).concatenate(found, axis=1)

    def names(self, prefix: str = "") -> list[str]:
        keys = self.keys or tuple(map(str, range(len(self.parts))))
        begin = f"{prefix}." if prefix else ""
        return [
            name
            for key, part in zip(keys, self.parts, strict=True)
            for name in part.names(begin + key)
        ]

    def leaves(self) -> Iterator[AbstractSpace]:
        for part in self.parts:
            yield from part.leaves()

    def structure(self, values: list[Any]) -> Any:
        """What belongs to the parts, in one value of this space."""
        if self.keys is None:
            return tuple(values)
        return dict(zip(self.keys, values, strict=True))

    def to_document(self) -> dict[str, Any]:
        parts = [part.to_document() for part in self.parts]
        keys = None if self.keys is None else list(self.keys)
        return {"kind": "compound", "parts": parts, "keys": keys}


def space_from_document(document: Mapping[str, Any]) -> AbstractSpace:
    """What `to_document` made; a `ValueError` if it did not."""
    kind = document.get("kind")
    if kind == "discrete":
        return Discrete(int(document["num"]), int(document["start"]))
    if kind == "multi-discrete":
        fields = (tuple(map(int, document[k])) for k in ("nums", "starts", "shape"))
        return MultiDiscrete(*fields)
    if kind == "box":
        shape = tuple(map(int, document["shape"]))
        ends = []
        for name, infinity in (("low", -math.inf), ("high", math.inf)):
            values = document[name]
            several = values if isinstance(values, list) else [values]
            several = [infinity if x is None else float(x) for x in several]
            whole = len(several) > 1 or math.prod(shape) == 1
            ends.append(
                np.array(several).reshape(shape)
                if whole
                else np.full(shape, several[0])
            )
        return Box(*ends)
    if kind == "compound":
        keys = document["keys"]
        parts = tuple(map(space_from_document, document["parts"]))
        return Compound(parts, None if keys is None else tuple(map(str, keys)))
    raise ValueError(f"there is no space of the kind {shown(kind)}.")


def space_of(space: Any, *, is_action: bool = False) -> AbstractSpace:
    """A space of gymnasium or gymnax, told by what it has rather than by its class, so
    that neither has to be there."""
    name = type(space).__name__
    if name == "MultiBinary" and not is_action:  # numbers already
        return Box(np.zeros(space.shape), np.ones(space.shape))
    if isinstance(space, AbstractSpace):
        return space
    if name == "Discrete":
        return Discrete(int(space.n), int(getattr(space, "start", 0)))
    if name == "Box":
        ends = (space.low, space.high)
        shape = tuple(space.shape)
        return Box(*(np.broadcast_to(np.asarray(x, np.float64), shape) for x in ends))
    if name in ("MultiDiscrete", "MultiBinary"):
        shape = tuple(space.shape)
        nums = np.full(shape, 2) if name == "MultiBinary" else np.asarray(space.nvec)
        starts = np.asarray(getattr(space, "start", np.zeros(shape)))
        starts = np.broadcast_to(starts, nums.shape)
        return MultiDiscrete(
            tuple(nums.ravel().tolist()),
            tuple(int(x) for x in starts.ravel()),
            nums.shape,
        )
    if name in ("Dict", "Tuple"):
        keys = tuple(space.spaces) if isinstance(space.spaces, Mapping) else None
        parts = space.spaces if keys is None else space.spaces.values()
        return Compound(tuple(space_of(x, is_action=is_action) for x in parts), keys)
    raise ValueError(
        f"a space of the kind {name} cannot be given to a network. Discrete, Box, "
        "MultiDiscrete, MultiBinary, Dict and Tuple can; wrap the environment so that "
        "it has one of these."
    )


def batched(space: AbstractSpace, values: list[Any]) -> Any:
    """Observations of several environments as one batch, of NumPy's arrays."""
    if isinstance(space, Compound):
        columns = [[part for _, part in space.pairs(value)] for value in values]
        parts = zip(space.parts, zip(*columns, strict=True), strict=True)
        return space.structure([batched(part, list(some)) for part, some in parts])
    return np.stack([np.asarray(value) for value in values])


def one_of(space: AbstractSpace, batch: Any, number: int) -> Any:
    """One of a batch of NumPy's actions, as an environment takes it."""
    if isinstance(space, Compound):
        pairs = space.pairs(batch)
        return space.structure([one_of(part, some, number) for part, some in pairs])
    one = batch[number]
    return int(one) if isinstance(space, Discrete) else np.asarray(one)
