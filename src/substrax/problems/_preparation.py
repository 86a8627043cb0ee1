"""What is done to data on the way into a network, and to what comes out."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._types import shown
from ..worlds import Interface
from ._frames import by_name

Label = str | int | float | bool
"""What a class is called: a text, or a number."""


@dataclasses.dataclass(frozen=True, eq=False)
class Preparation:
    """From rows of data to a network's inputs, and from its outputs to answers.

    A model that was saved takes data as they were before all this.

    **Arguments:**

    - `has_bias`: the network's last input is always 1.
    - `shift`, `scale`: a row becomes (row - shift) / scale, number by number; None
      leaves it as it is.
    - `output_shift`, `output_scale`: outputs become output * scale + shift.
    - `classes`: the answers that outputs stand for. With one output, the second of two
      where it exceeds 0.5; with several, the one whose output is largest.
    - `categories`: of each column the labels that it may hold, none for one of numbers.
      A column of labels becomes a column of 0 and 1 for each label, before all else.
    - `feature_names`: what the columns are called. Those of a data frame are found by
      name, whatever their order; None where they have no names.
    - `target_names`: what the columns of answers are called, if that is known.
    - `limit`: numbers that exceed it once they are scaled are cut to it.
    - `interface`: how a network is connected to an environment, if it acts in one.
    """

    has_bias: bool = False
    shift: np.ndarray | None = None
    scale: np.ndarray | None = None
    output_shift: np.ndarray | None = None
    output_scale: np.ndarray | None = None
    classes: tuple[Label, ...] | None = None
    categories: tuple[tuple[str, ...], ...] | None = None
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    limit: float | None = None
    interface: Interface | None = None

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            value = getattr(self, name)
            if value is None:
                continue
            array = np.array(value, np.float64)
            is_scale = name.endswith("scale")
            is_good = np.isfinite(array).all() and not (is_scale and (array == 0).any())
            if array.ndim != 1 or not is_good:
                raise ValueError(
                    f"{name} must be one number for each column, finite"
                    f"{' and not 0' if is_scale else ''}, not {shown(value)}."
                )
            object.__setattr__(self, name, array)
        for name in _NAMES:
            object.__setattr__(self, name, _checked_names(name, getattr(self, name)))
        if self.categories is not None:
            self._check_num_names(len(self.categories))
        elif self.shift is not None:
            self._check_num_names(len(self.shift))

    def _check_num_names(self, num_columns: int) -> None:
        names = self.feature_names
        if names is not None and len(names) != num_columns:
            raise ValueError(
                f"there are {len(names)} feature_names for {num_columns} columns."
            )

    def num_columns(self, num_inputs: int) -> int:
        """How many columns data have, for a network of so many inputs."""
        if self.categories is not None:
            return len(self.categories)
        return num_inputs - self.has_bias

    def ordered(self, X: Any) -> Any:
        """A data frame as an array, its columns as they are here; others as they are.

        A column that is missing, or that is not known here, is an error.
        """
        selection = "frame[model.feature_names], for example"
        return by_name("the data frame", X, self.feature_names, selection)

    def input_names(self, num_inputs: int) -> list[str]:
        """What the inputs of a network are called, in pictures and tables."""
        num_columns = self.num_columns(num_inputs)
        names = self.feature_names or [f"in{k}" for k in range(num_columns)]
        categories = self.categories or ((),) * num_columns
        found = []
        for name, labels in zip(names, categories, strict=True):
            found += [f"{name}={label}" for label in labels] if labels else [name]
        return [*found, "bias"] if self.has_bias else found

    def output_names(self, num_outputs: int) -> list[str]:
        """What the outputs of a network are called: by their classes if they have
        some, else by the columns of answers.

        One output for two classes that are texts is called by the second of them, for
        which it stands.
        """
        targets, classes = self.target_names, self.classes or ()
        if self.interface is not None:
            return list(self.interface.output_names())
        if num_outputs == 1 and len(classes) == 2 and isinstance(classes[1], str):
            return [classes[1]]
        if num_outputs == len(classes):
            what = targets[0] if targets else "class"
            return [c if isinstance(c, str) else f"{what} {c}" for c in classes]
        if targets is not None and len(targets) == num_outputs:
            return list(targets)
        return [f"out{k}" for k in range(num_outputs)]

    def numbers(self, X: Any) -> np.ndarray:
        """Rows of numbers and labels (samples, columns) as rows of numbers."""
        if self.categories is None:
            try:
                # NumPy would only warn, and drop the imaginary parts.
                if np.iscomplexobj(X):
                    raise ValueError("they are complex")
                return np.asarray(X, np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"rows must hold numbers ({error}).") from None
        table = np.asarray(X, object)
        columns = [
            (
                _one_hot(table[..., k], labels, self._called(k))
                if labels
                else _column(table[..., k], self._called(k))
            )
            for k, labels in enumerate(self.categories)
        ]
        return np.concatenate(columns, axis=-1)

    def _called(self, number: int) -> str:
        names = self.feature_names
        return f"column {number if names is None else shown(names[number])}"

    def inputs(self, X: Any) -> Any:
        """Rows of numbers as a network takes them; NumPy's or JAX's arrays."""
        numbers = jnp if isinstance(X, jax.Array) else np
        if self.shift is not None:
            # In the dtype and rank of the rows, as JAX may be told to promote neither.
            X = X - numbers.asarray(self.shift[None], X.dtype)
        if self.scale is not None:
            X = X / numbers.asarray(self.scale[None], X.dtype)
        if self.limit is not None:
            X = numbers.clip(X, -self.limit, self.limit)
        if not self.has_bias:
            return X
        ones = numbers.ones((X.shape[0], 1), X.dtype)
        return numbers.concatenate([X, ones], axis=1)

    def outputs(self, Y: Any) -> Any:
        """Outputs (samples, outputs) of a network, in the units of the data."""
        numbers = jnp if isinstance(Y, jax.Array) else np
        if self.output_scale is not None:
            Y = Y * numbers.asarray(self.output_scale[None], Y.dtype)
        if self.output_shift is not None:
            Y = Y + numbers.asarray(self.output_shift[None], Y.dtype)
        return Y

    def answers(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs (samples, outputs) as labels, or as numbers if there are no classes.

        Of a single output there is one number for each sample.
        """
        if self.classes is None:
            return outputs[:, 0] if outputs.shape[1] == 1 else outputs
        if outputs.shape[1] == 1:
            number = (outputs[:, 0] > 0.5).astype(np.int64)
        else:
            number = outputs.argmax(axis=1)
        return np.asarray(self.classes)[number]

    def to_document(self) -> dict[str, Any]:
        """As values for JSON."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return {
            "has_bias": self.has_bias,
            **{k: None if a is None else a.tolist() for k, a in arrays.items()},
            "classes": None if self.classes is None else list(self.classes),
            "categories": self.categories,
            **{name: getattr(self, name) for name in _NAMES},
            "limit": self.limit,
            "interface": None
            if self.interface is None
            else self.interface.to_document(),
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> "Preparation":
        """What `to_document` made."""
        classes, categories = document["classes"], document.get("categories")
        arrays = {name: document[name] for name in _ARRAYS}
        interface = document.get("interface")
        return Preparation(
            has_bias=bool(document["has_bias"]),
            **{k: None if a is None else np.array(a) for k, a in arrays.items()},
            classes=None if classes is None else tuple(classes),
            categories=None if categories is None else tuple(map(tuple, categories)),
            # files of earlier releases have no names
            feature_names=_checked_names(
                "feature_names", document.get("feature_names")
            ),
            target_names=_checked_names("target_names", document.get("target_names")),
            limit=document.get("limit"),
            interface=None if interface is None else Interface.from_document(interface),
        )


_ARRAYS = ("shift", "scale", "output_shift", "output_scale")
_NAMES = ("feature_names", "target_names")


def _checked_names(what: str, names: Any) -> tuple[str, ...] | None:
    if names is None:
        return None
    is_good = isinstance(names, list | tuple) and all(
        isinstance(name, str) for name in names
    )
    if not is_good or len(set(names)) < len(names):
        raise ValueError(
            f"{what} must be different texts, one for each column, not {shown(names)}."
        )
    return tuple(names)


def _column(values: np.ndarray, called: str) -> np.ndarray:
    try:
        return values.astype(np.float64)[..., None]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{called} must hold numbers ({error}).") from None


def _one_hot(values: np.ndarray, labels: tuple[str, ...], called: str) -> np.ndarray:
    # As texts, in which labels were collected: 1 and "1" are the same.
    texts = values.astype(str)
    is_label = texts[..., None] == np.array(labels)
    is_known = is_label.any(axis=-1)
    if not is_known.all():
        other = np.atleast_1d(texts)[~np.atleast_1d(is_known)][0]
        raise ValueError(
            f"{called} has {shown(str(other))}; this model knows "
            f"{', '.join(map(shown, labels))}."
        )
    return is_label.astype(np.float64)
