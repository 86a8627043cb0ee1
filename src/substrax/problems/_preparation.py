"""What is done to data on the way into a network, and to what comes out."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._types import shown

Label = str | int | float | bool


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
    """

    has_bias: bool = False
    shift: np.ndarray | None = None
    scale: np.ndarray | None = None
    output_shift: np.ndarray | None = None
    output_scale: np.ndarray | None = None
    classes: tuple[Label, ...] | None = None
    categories: tuple[tuple[str, ...], ...] | None = None

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

    def num_columns(self, num_inputs: int) -> int:
        """How many columns data have, for a network of so many inputs."""
        if self.categories is not None:
            return len(self.categories)
        return num_inputs - self.has_bias

    def numbers(self, X: Any) -> np.ndarray:
        """Rows of numbers and labels (samples, columns) as rows of numbers."""
        if self.categories is None:
            try:
                if np.iscomplexobj(X):
                    raise ValueError("they are complex")
                return np.asarray(X, np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"rows must hold numbers ({error}).") from None
        table = np.asarray(X, object)
        columns = [
            _one_hot(table[..., k], labels, k) if labels else _column(table[..., k], k)
            for k, labels in enumerate(self.categories)
        ]
        return np.concatenate(columns, axis=-1)

    def inputs(self, X: Any) -> Any:
        """Rows of numbers as a network takes them; NumPy's or JAX's arrays."""
        numbers = jnp if isinstance(X, jax.Array) else np
        if self.shift is not None:
            X = X - numbers.asarray(self.shift[None], X.dtype)
        if self.scale is not None:
            X = X / numbers.asarray(self.scale[None], X.dtype)
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
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> "Preparation":
        """What `to_document` made."""
        classes, categories = document["classes"], document.get("categories")
        arrays = {name: document[name] for name in _ARRAYS}
        return Preparation(
            has_bias=bool(document["has_bias"]),
            **{k: None if a is None else np.array(a) for k, a in arrays.items()},
            classes=None if classes is None else tuple(classes),
            categories=None if categories is None else tuple(map(tuple, categories)),
        )


_ARRAYS = ("shift", "scale", "output_shift", "output_scale")


def _column(values: np.ndarray, number: int) -> np.ndarray:
    try:
        return values.astype(np.float64)[..., None]
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {number} must hold numbers ({error}).") from None


def _one_hot(values: np.ndarray, labels: tuple[str, ...], number: int) -> np.ndarray:
    texts = values.astype(str)
    is_label = texts[..., None] == np.array(labels)
    is_known = is_label.any(axis=-1)
    if not is_known.all():
        other = np.atleast_1d(texts)[~np.atleast_1d(is_known)][0]
        raise ValueError(
            f"column {number} has {shown(str(other))}; this model knows "
            f"{', '.join(map(shown, labels))}."
        )
    return is_label.astype(np.float64)
