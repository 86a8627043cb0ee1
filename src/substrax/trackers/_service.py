"""What trackers of all services share: what they log, and how they go on."""

import abc
import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..evolution import Generation, Result, RunInfo
from ..models import Model
from ._scalars import scalars

Steps = Sequence[tuple[int, dict[str, float]]]
"""Generations with their numbers."""


class ServiceTracker(abc.ABC):
    """Logs each generation and, at the end, the best network.

    In the run's directory it notes under which id the service knows the run, and how
    many generations it has. So a run that goes on is the same one there, and what
    happened without the tracker is logged when it is back.
    """

    run_id: str
    """Under which the service knows the run, once it has begun."""
    _run: RunInfo
    _num_logged: int

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """The name of its notes; another one for another place of the service."""

    @abc.abstractmethod
    def open(self, run: RunInfo, run_id: str | None, first: int) -> str:
        """Begins to log, from the generation `first` on, under an id if the service
        knows the run already. Returns the id."""

    @abc.abstractmethod
    def log_settings(self, run: RunInfo, is_new: bool) -> None:
        """Logs the settings; those of a run that is not new are known."""

    @abc.abstractmethod
    def log(self, steps: Steps) -> None:
        """Logs the numbers of some generations."""

    @abc.abstractmethod
    def log_best(self, result: Result, model: Path, picture: Path | None) -> None:
        """Keeps the best network: a file, and a picture if matplotlib is there."""

    @abc.abstractmethod
    def close(self, result: Result | None) -> None:
        """Ends logging; without a result, the run has failed."""

    def start(self, run: RunInfo) -> None:
        notes = run.notes(self.label)
        done = run.history[-1].generation + 1 if run.history else 0
        # More may have been logged than the checkpoint knows: it comes again.
        first = min(int(notes.get("generations", 0)), done)
        self._run, self._num_logged = run, first
        known = notes.get("id")
        try:
            self.run_id = self.open(run, known, first)
        except Exception as error:
            if known is not None:
                error.add_note(
                    f"It was to go on with {known}. To begin anew, delete "
                    f"trackers.json in {run.directory}."
                )
            raise
        try:
            self._write_notes()
            self.log_settings(run, is_new=known is None)
            missed = [r for r in run.history if r.generation >= first]
            if missed:
                self.log([(r.generation, scalars(r)) for r in missed])
            self._num_logged = done
        # Who has not started is not finished by the run either.
        except BaseException:
            self.close(None)
            raise

    def generation(self, generation: Generation) -> None:
        self.log([(generation.number, scalars(generation.record))])
        # Written down at the end: after a kill, some are logged twice, none never.
        self._num_logged = generation.number + 1

    def finish(self, result: Result | None) -> None:
        try:
            self._write_notes()
            if result is not None and result.best_network is not None:
                with _best_files(self._run, result) as (model, picture):
                    self.log_best(result, model, picture)
        finally:
            self.close(result)

    def _write_notes(self) -> None:
        notes = {"id": self.run_id, "generations": self._num_logged}
        self._run.write_notes(self.label, notes)


@contextlib.contextmanager
def _best_files(run: RunInfo, result: Result) -> Iterator[tuple[Path, Path | None]]:
    """The best network as a model that `substrax.load` reads, and a picture of it."""
    assert result.best_network is not None and result.best_genome is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = Model(
            result.best_network,
            run.problem.preparation,
            run.problem.name,
            result.best_fitness,
        )
        model.save(folder / "best.safetensors")
        picture = folder / "best.png"
        try:
            from ..report import plot_best

            figure = plot_best(result.best_network, result.best_genome, run.decoder)
            figure.savefig(picture, dpi=150)
        except ImportError:  # without matplotlib there is no picture
            picture = None
        yield folder / "best.safetensors", picture
