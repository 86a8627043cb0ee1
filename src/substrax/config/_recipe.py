"""What is sent to workers, from which they make the parts of an experiment."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from ..decoders import AbstractDecoder
from ..evolution import AbstractRecipe
from ..problems import AbstractProblem, ArrayProblem

if TYPE_CHECKING:
    from ._experiment import Experiment


@dataclasses.dataclass(frozen=True)
class Configured(AbstractRecipe):
    """The configuration, and the data if they are no file with a name."""

    config_text: str
    folder: Path
    data: ArrayProblem | None

    def build(self) -> tuple[AbstractDecoder, AbstractProblem]:
        from ._experiment import Experiment

        made = Experiment.from_toml(self.config_text, name="the run's configuration")
        made = dataclasses.replace(made, own=self.data, folder=self.folder)
        parts = made.build()
        return parts.decoder, parts.problem


def recipe_of(experiment: "Experiment") -> AbstractRecipe:
    """For an experiment whose problem others can make, too."""
    problem = experiment.problem
    data = problem if isinstance(problem, ArrayProblem) else None
    if experiment.is_in_python and data is None:
        raise ValueError(
            f"the problem {problem.name!r} exists only in this program, so that "
            "workers cannot make it. Put its function or class into a file, with a "
            'name, and say evolve("file.py:name", ...), or import it from there. (What '
            "is defined in a notebook, in a function or by lambda has no name.)"
        )
    text = experiment.to_toml()
    return Configured(text, experiment.folder.absolute(), data)
