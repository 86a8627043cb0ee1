"""How a worker makes the decoder and the problem of a run."""

import abc
import dataclasses
import io
import pickle
from typing import Any

from ..decoders import AbstractDecoder
from ..problems import AbstractProblem


class AbstractRecipe(abc.ABC):
    """Sent to workers, pickled; its class must be there to be imported."""

    @abc.abstractmethod
    def build(self) -> tuple[AbstractDecoder, AbstractProblem]:
        """The objects, made anew."""


@dataclasses.dataclass(frozen=True)
class Objects(AbstractRecipe):
    """The objects themselves."""

    decoder: AbstractDecoder
    problem: AbstractProblem

    def build(self) -> tuple[AbstractDecoder, AbstractProblem]:
        return self.decoder, self.problem


def written(recipe: AbstractRecipe) -> bytes:
    """A recipe as it is sent; a `ValueError` if it cannot be, or if a worker could not
    read it."""
    file = io.BytesIO()
    try:
        _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(recipe)
    except _MainError as error:
        raise ValueError(
            f"{error} exists only in the program that runs, where no worker finds it. "
            "Put it into a file of its own, and import it from there."
        ) from None
    except Exception as error:  # each kind of object says it in its own way
        raise ValueError(
            "the problem and the decoder cannot be sent to workers "
            f"({' '.join(str(error).split())}). Make them of functions and classes "
            "that have a name in a module, without lambdas and open files; or leave "
            "`executor` out."
        ) from error
    return file.getvalue()


class _MainError(Exception):
    pass


class _Pickler(pickle.Pickler):
    """Refuses what could be written, and be read in this program alone."""

    def reducer_override(self, obj: Any) -> Any:
        # (functions and classes are written as their names)
        is_named = isinstance(obj, type) or hasattr(obj, "__code__")
        if is_named and getattr(obj, "__module__", None) == "__main__":
            raise _MainError(getattr(obj, "__qualname__", str(obj)))
        return NotImplemented
