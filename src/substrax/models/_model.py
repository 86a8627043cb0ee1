"""A network that can be called."""

import dataclasses
import functools
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._resources import Resources
from .._types import brief, counted
from ..network import (
    Description,
    Networks,
    TensorNetwork,
    check_matrix,
    describe,
    evaluate,
    to_tensors,
)
from ..problems import Label, Preparation
from ..runs import BEST_ARRAYS, FACTS
from ._file import INCOMPLETE, network_from, read_facts, write_model
from ._policy import Policy


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """One network with what belongs to it: `model(X)` are its outputs.

    NumPy's arrays are evaluated by the engine for CPUs; JAX's by JAX, also within
    `jit`, `vmap` and `grad`. A network with cycles starts from zero for each call and
    makes its number of steps.
    """

    network: Networks
    preparation: Preparation = dataclasses.field(default_factory=Preparation)
    name: str = ""
    """What it was evolved for."""
    fitness: float | None = None

    def __post_init__(self) -> None:
        if len(self.network) != 1:
            raise ValueError(
                f"a model is one network, for example networks[0]; these are "
                f"{len(self.network)}."
            )
        names = self.preparation.feature_names
        if names is not None and len(names) != self.num_inputs:
            raise ValueError(
                f"there are {len(names)} feature_names, but this model takes rows of "
                f"{self.num_inputs} values."
            )

    @property
    def num_inputs(self) -> int:
        """Columns of a row that it takes."""
        return self.preparation.num_columns(self.network.num_inputs)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns that it takes, in their order, if it was evolved
        with a file or a data frame; else None.

        A data frame may have these columns in any order. Arrays and lists must have
        them in this one.
        """
        names = self.preparation.feature_names
        return None if names is None else list(names)

    @property
    def classes(self) -> list[Label] | None:
        """The labels that `predict` chooses from, in the order of the outputs; None if
        it answers with numbers.

        Two labels have one output: where it exceeds 0.5, the answer is the second.
        """
        classes = self.preparation.classes
        return None if classes is None else list(classes)

    @property
    def num_outputs(self) -> int:
        return self.network.num_outputs

    def __call__(self, X: Any, resources: Resources | None = None) -> Any:
        """Outputs (samples, outputs) of rows (samples, inputs); of one row, (outputs,).

        The columns of a data frame are taken by name, if the model knows names
        (`feature_names`): their order does not matter, and one too few or too many is
        an error. JAX's arrays give JAX's, everything else NumPy's.
        """
        # First: a data frame has names only as long as nothing was made of it.
        X = self.preparation.ordered(X)
        is_jax = isinstance(X, jax.Array)
        shape = np.shape(X)
        if len(shape) not in (1, 2) or shape[-1] != self.num_inputs:
            bias = " (the bias is added by itself)" if self.preparation.has_bias else ""
            what = "numbers" if self.preparation.categories is None else "values"
            raise ValueError(
                f"this model takes rows of {self.num_inputs} {what}{bias}, so the "
                f"shape (samples, {self.num_inputs}); these have {shape}."
            )
        if is_jax and self.preparation.categories is not None:
            raise ValueError(
                "this model takes columns of labels, which JAX's arrays cannot hold. "
                "Give it rows of Python's values or of NumPy's."
            )
        # JAX's stay as they are: within `jit` nobody can look at their numbers.
        rows = X if is_jax else self.preparation.numbers(X)
        is_single = rows.ndim == 1
        if is_single:
            rows = rows[None]
        dtype = self.network.dtype
        if is_jax and dtype == np.float64 and not jax.config.read("jax_enable_x64"):
            raise ValueError(
                "this model computes in 64 bits, which JAX does only with "
                "jax.config.update('jax_enable_x64', True). Or give it NumPy's arrays."
            )
        rows = rows.astype(dtype)
        inputs = self.preparation.inputs(rows)
        if is_jax:
            outputs = self._function(inputs)
        else:
            outputs = evaluate(self.network, inputs, resources=resources)[0]
        outputs = self.preparation.outputs(outputs)
        return outputs[0] if is_single else outputs

    def start(self, num: int = 1) -> jax.Array:
        """What `num` environments begin with in a control task: the memory of a network
        with cycles. A fitness written in JAX takes a model as it takes a network."""
        return self._function.start(num)

    def step(self, state: jax.Array, inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The next memory, and outputs for inputs (environments, inputs) of JAX."""
        if self.preparation.categories is not None:
            raise ValueError("this model takes columns of labels; call it with rows.")
        rows = self.preparation.inputs(jnp.asarray(inputs, self.network.dtype))
        state, outputs = self._function.step(state, rows)
        return state, self.preparation.outputs(outputs)

    @functools.cached_property
    def policy(self) -> Policy:
        """What it does in the environment that it was evolved for."""
        if self.preparation.interface is None:
            raise ValueError(
                "this model does not know its environment: it was not evolved for one "
                "of gymnasium, gymnax, brax or playground. Use model.start and "
                "model.step, or call it with rows."
            )
        return Policy(self)

    def predict(self, X: Any) -> np.ndarray:
        """What it answers: labels if it was evolved for classes, numbers otherwise."""
        outputs = np.asarray(self(X))
        is_single = outputs.ndim == 1
        answers = self.preparation.answers(outputs[None] if is_single else outputs)
        return answers[0] if is_single else answers

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes it as safetensors, arrays and JSON; `Model.load` reads it."""
        place = Path(path)
        write_model(place, self.network, self.preparation, self.name, self.fitness)
        return place

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Model":
        """A model from a file that `save` wrote, or the `best.safetensors` of a run."""
        place = Path(path)
        try:
            arrays, facts = read_facts(place)
            fitness = facts["fitness"]
            return Model(
                network_from(arrays, facts),
                Preparation.from_document(facts["preparation"]),
                name=str(facts["name"]),
                fitness=None if fitness is None else float(fitness),
            )
        except (*INCOMPLETE, ValueError) as error:
            runs = [p for p in list(place.parents)[:2] if (p / FACTS).is_file()]
            other = (
                f"directory of a run: {runs[0]}" if runs else f"{BEST_ARRAYS} of a run"
            )
            raise ValueError(
                f"{place} is no model that can be used: {brief(error)}. Give a file "
                f"that model.save() wrote, or the {other}."
            ) from error

    def describe(self) -> Description:
        """Its size, its links, and why it is empty or constant if it is."""
        return describe(self.network)

    def __repr__(self) -> str:
        network = self.network
        what = f"{self.name}: " if self.name else ""
        fitness = "" if self.fitness is None else f", fitness {self.fitness:z.4g}"
        sizes = (
            counted(self.num_inputs, "input"),
            counted(int(network.num_hidden[0]), "hidden node"),
            counted(self.num_outputs, "output"),
            counted(int(network.num_links[0]), "link"),
        )
        return f"<Model {what}{', '.join(sizes)}{fitness}>"

    @functools.cached_property
    def _function(self) -> TensorNetwork:
        """For JAX; no larger than the network."""
        # The first call may be within somebody's `jit`, to which nothing here belongs.
        with jax.ensure_compile_time_eval():
            num_nodes = int(self.network.num_nodes[0])
            check_matrix(num_nodes, Resources().budget)
            tensors, _ = to_tensors(self.network, np.zeros(1, np.int64), num_nodes)
            return jax.tree.map(lambda x: x[0], tensors)
