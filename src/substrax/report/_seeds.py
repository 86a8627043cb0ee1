"""What a report of several seeds is about, read from their folder or from memory."""

import dataclasses
import os
from pathlib import Path

from ..methods import METHODS
from ..runs import FACTS, own_records, read_config, read_seeds, summary
from ..sweeps import SeedOutcome, read_outcomes
from ._history import Lines, lines_of
from ._subject import EvolvedSeeds


@dataclasses.dataclass(frozen=True)
class Seeds:
    """Runs that differ in their seeds alone; `path` is None if they were not saved."""

    path: Path | None
    name: str
    method: str
    target: float | None
    outcomes: list[SeedOutcome]
    curves: list[Lines]
    """The generations of each run."""
    config_text: str
    """The settings of the first of them."""

    def __post_init__(self) -> None:
        if not any(self.curves):
            raise ValueError(
                "none of these runs has a finished generation, so there is nothing to "
                "report."
            )

    @staticmethod
    def read(folder: str | os.PathLike[str]) -> "Seeds":
        """Reads a folder; seeds that have not begun have no generations."""
        places = list((read_seeds(folder) or {}).values())
        first = next((path for path in places if (path / FACTS).is_file()), None)
        if first is None:
            raise ValueError(
                f"none of the seeds in {folder} has begun, so there is nothing to "
                "report."
            )
        facts = summary(first)
        return Seeds(
            path=Path(folder),
            name=facts["problem"],
            method=METHODS[facts["method"]].title,
            target=facts["target"],
            outcomes=read_outcomes(folder),
            curves=[own_records(path) for path in places],
            config_text=read_config(first),
        )

    @staticmethod
    def of(seeds: EvolvedSeeds) -> "Seeds":
        """Runs of this process."""
        experiment = seeds.runs[0].experiment
        return Seeds(
            path=seeds.directory,
            name=experiment.problem.name,
            method=experiment.method.title,
            target=experiment.target,
            outcomes=seeds.outcomes(),
            curves=[lines_of(run) for run in seeds.runs],
            config_text=experiment.to_toml(),
        )
