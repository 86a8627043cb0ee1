"""Data sets as files, so that a run has its own with it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._safetensors import map_safetensors, safetensors_pieces
from .._types import brief
from ..substrate import Layout
from ._arrays import ArrayProblem
from ._loss import LOSSES
from ._preparation import Preparation

FORMAT, VERSION = "substrax-arrays", 1
_ARRAYS = ("inputs", "targets", "test_inputs", "test_targets")
_PLAIN = ("name", "target", "suggested", "samples_per_generation", "chunk_size")


def arrays_pieces(problem: ArrayProblem) -> Iterator[bytes | memoryview] | None:
    """The content of a file from which the problem can be made again, piece by piece;
    None if it has a loss, or settings, that no file can hold."""
    names = [name for name, loss in LOSSES.items() if loss is problem.loss]
    facts: dict[str, Any] = {name: getattr(problem, name) for name in _PLAIN}
    facts |= {"format": FORMAT, "version": VERSION, "loss": names[0] if names else ""}
    facts["preparation"] = problem.preparation.to_document()
    try:
        text = json.dumps(facts)
    except (TypeError, ValueError):
        return None
    if not names:
        return None
    arrays = {name: getattr(problem, name) for name in _ARRAYS}
    arrays |= {"places_in": problem.layout.inputs, "places_out": problem.layout.outputs}
    present = {name: array for name, array in arrays.items() if array is not None}
    return safetensors_pieces(present, {"substrax": text})


def read_arrays(path: str | Path) -> ArrayProblem:
    """The problem that `arrays_pieces` wrote, identical to the bit."""
    place = Path(path)
    try:
        mapped, metadata = map_safetensors(place)
        facts = json.loads(metadata["substrax"])
        if facts["format"] != FORMAT or facts["version"] != VERSION:
            raise ValueError(f"its format is {facts['format']} {facts['version']}")
        arrays = {name: np.array(array) for name, array in mapped.items()}
        return ArrayProblem.of_prepared(
            arrays["inputs"],
            arrays["targets"],
            Preparation.from_document(facts["preparation"]),
            loss=facts["loss"],
            layout=Layout(arrays["places_in"], arrays["places_out"]),
            X_test=arrays.get("test_inputs"),
            y_test=arrays.get("test_targets"),
            **{name: facts[name] for name in _PLAIN},
        )
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{place} holds no data set that can be used: {brief(error)}."
        ) from error
