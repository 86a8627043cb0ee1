"""The directory of a run: what is in it, and how it stays whole.

    config.toml      the resolved configuration, if the run has one
    data.safetensors the data set of the problem, if it was given as arrays
    run.json         seed, versions, device, start; why it stopped, once it has
    metrics.jsonl    one line for each generation
    checkpoints/     the state after the last two checkpoints
    best.json, best.safetensors
    summary.json     what the best network is, once the run has ended
    trackers.json    what trackers need to go on: names of their runs elsewhere
    tensorboard/     made by the tracker of that name
    scratch/         while the run goes on, what exceeds memory_budget
    report/          made by `substrax report`

A process may be killed between any two writes. The newest intact checkpoint says where
the run stands; metrics behind it are cut off, and the best files are made anew from it.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from .._documents import parse_toml, read_text
from .._files import (
    Piece,
    is_temporary_of,
    refuse_links,
    remove_temporaries,
    sync_folder,
    write_atomically,
)
from ..runs import (
    BEST,
    BEST_ARRAYS,
    CHECKPOINTS,
    CONFIG,
    DATA,
    FACTS,
    FILES,
    LOCK,
    METRICS,
    TRACKERS,
    DamagedRunError,
    Metrics,
    Reached,
    StopReason,
    check_best,
    check_directory,
    check_metrics,
    config_values,
    digest_of,
    digests_of_best,
    finite_or_none,
    read_config,
    read_facts,
    read_lines,
    read_metering,
    read_reached,
    sealed,
    unsealed,
)
from ..settings import changeable, flatten
from . import _checkpoint
from ._best import (
    Best,
    best_to_json,
    best_to_safetensors,
    check_best_json,
    read_best,
)
from ._checkpoint import Checkpoint
from ._errors import TrackerError
from ._facts import gather_facts, versions
from ._identity import difference
from ._lock import RunLockedError, lock

State = TypeVar("State")

_TEMPORARY_OF = re.compile("|".join(map(re.escape, FILES)))

_log = logging.getLogger("substrax")


class RunDirectory:
    """A directory that holds a run. `RunDirectory.create` makes one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._metrics = Metrics(self.path / METRICS)
        self._best: dict[str, Any] | None = None
        self._has_checkpoint = False
        self._is_new = False
        check_directory(self.path)
        if (self.path / CHECKPOINTS).is_dir():
            refuse_links(_checkpoint.ours(self.path / CHECKPOINTS))

    @staticmethod
    def create(
        path: str | os.PathLike[str],
        *,
        seed: int,
        config_text: str = "",
        data: Iterable[Piece] | None = None,
    ) -> "RunDirectory":
        """Makes the directory of a new run.

        One that holds a run, or anything else, is refused. `data` is the content of
        `data.safetensors`, piece by piece.
        """
        folder = Path(path)
        is_new = not folder.exists()
        check_unused(folder)
        refuse_links(folder / name for name in (LOCK, CHECKPOINTS, CONFIG, DATA))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CHECKPOINTS).mkdir(exist_ok=True)
        # Once more under the lock: another process may have begun a run.
        with lock(folder / LOCK):
            check_unused(folder)
            if data is not None:
                write_atomically(folder / DATA, data)
            if config_text:
                write_atomically(folder / CONFIG, config_text)
            # written last: what has this file is a run
            facts = gather_facts(seed) | {
                "directory": str(folder.absolute()),
                "config": _fixed_values(config_text),
            }
            write_atomically(folder / FACTS, sealed(facts))
        directory = RunDirectory(folder)
        directory._is_new = is_new
        return directory

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"

    # reading

    def facts(self) -> dict[str, Any]:
        """The content of `run.json`: seed, versions, device, start, why it stopped."""
        return read_facts(self.path)

    def stop_reason(self) -> StopReason | None:
        """Why the run stopped; None while it goes on, or if it was killed."""
        reason = self.facts()["stopped"]
        return None if reason is None else StopReason.read(reason)

    def error(self) -> str | None:
        """The sentence of the error that ended the run, if one did."""
        return self.facts().get("error")

    def config_text(self) -> str:
        """The resolved configuration; empty if the run was not made from one."""
        path = self.path / CONFIG
        return read_text(path) if path.exists() else ""

    def metrics(self) -> list[dict[str, Any]]:
        """The records of `metrics.jsonl`, one for each generation.

        A last line that is still being written is left out, and so are damaged ones.
        """
        return read_lines(self.path / METRICS).records

    def damaged_lines(self) -> list[int]:
        """Numbers of lines of `metrics.jsonl`, from 1, that cannot be used."""
        return read_lines(self.path / METRICS).damaged

    def best(self) -> Best | None:
        """The best genome so far with its network; None if there is none yet.

        Files that are not of this run are refused.
        """
        if (self.path / CONFIG).exists():
            read_config(self.path)
        # In this order: what is read later may be ahead of what was read before.
        reached = read_reached(self.path, self.facts())
        metering = read_metering(self.path, reached)
        best = None
        if (self.path / BEST_ARRAYS).exists():
            # They are written in the other order, and may be replaced meanwhile.
            self._checked(BEST, check_best_json)
            best = self._checked(BEST_ARRAYS, read_best)
        said = None
        if best is not None:
            said = {"fitness": best.fitness, "generation": best.generation}
        check_best(self.path, said, reached, metering)
        return best

    def notes(self, tracker: str) -> dict[str, Any]:
        """What a tracker of this name has noted for later; empty if nothing."""
        notes = self._all_notes().get(tracker, {})
        return notes if isinstance(notes, dict) else {}

    def _all_notes(self) -> dict[str, Any]:
        path = self.path / TRACKERS
        if not path.exists():
            return {}
        try:
            return unsealed(path.read_bytes())
        except ValueError as error:
            raise DamagedRunError(
                f"{path} is damaged: {error}. Delete it, and trackers begin anew; "
                "nothing else depends on it."
            ) from error

    def _checked(self, name: str, read: Callable[[Path], Any]) -> Any:
        path = self.path / name
        try:
            return read(path)
        except FileNotFoundError:
            return None  # killed before it was written for the first time
        except ValueError as error:
            raise DamagedRunError(
                f"{path} is damaged: {error}. `substrax resume {self.path}` makes it "
                "anew from the last checkpoint."
            ) from error

    # writing, by the one process that holds the lock

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other processes out; what a killed one left half-written is removed."""
        with lock(self.path / LOCK):
            remove_temporaries(self.path, _TEMPORARY_OF)
            if (self.path / CHECKPOINTS).is_dir():
                remove_temporaries(self.path / CHECKPOINTS, _checkpoint.NAMES)
            yield

    @contextmanager
    def unless_refused(self) -> Iterator[None]:
        """Where a run goes on within; if it ends by a mistake before its first
        generation is over, a directory that was made for it is removed.

        So whoever corrects the mistake finds the place free. What comes from outside,
        such as a full disk, is no mistake: that run can be resumed. (A tracker that
        does not start is one: a password is missing, for example.)
        """
        try:
            yield
        except Exception as error:
            outside = (OSError, MemoryError, ImportError, RunLockedError)
            is_mistake = isinstance(error, TrackerError) or not isinstance(
                error, outside
            )
            if is_mistake and self._is_new:
                with suppress(OSError, ValueError):  # the first one matters
                    self._remove_if_empty()
            raise

    def _remove_if_empty(self) -> None:
        with lock(self.path / LOCK):
            if _has_results(self.path):
                return
            for name in (FACTS, CONFIG, DATA, TRACKERS):
                (self.path / name).unlink(missing_ok=True)
            (self.path / CHECKPOINTS).rmdir()
            if [path.name for path in self.path.iterdir()] == [LOCK]:
                (self.path / LOCK).unlink()
                self.path.rmdir()

    def write_config(self, text: str) -> None:
        """Replaces the configuration, if it is another one (a resumed run may have
        other limits), and keeps in `run.json` what has to stay as it is."""
        values = _fixed_values(text)
        if text != self.config_text():
            if self.facts().get("config") != values:
                # Killed in between, a run has one that is compared with nothing.
                self._write_facts(config=None)
            write_atomically(self.path / CONFIG, text)
        self._write_facts(config=values)

    def write_stop_reason(self, reason: StopReason, error: str | None = None) -> None:
        """Notes why the run stopped."""
        self._write_facts(stopped=reason.value, error=error)

    def write_end(
        self, reason: StopReason, generations: int, solved_at: int | None
    ) -> None:
        """Notes why the run has ended, what it came to, and its other files as they
        are now: whoever shows it compares them."""
        reached = {
            "generations": generations,
            "solved_at": solved_at,
            "metrics": self._metrics.digest,
            "best": self._best,
        }
        self._write_facts(stopped=reason.value, error=None, reached=reached)

    def note_start(
        self,
        target: float,
        problem: str | None = None,
        sizes: tuple[int, int] | None = None,
    ) -> None:
        """Notes that the run goes on, and where; the fitness that is enough; and what
        the problem is called and how many inputs and outputs it has, which a
        configuration may not know."""
        self._write_facts(
            stopped=None,
            error=None,
            reached=None,
            directory=str(self.path.absolute()),
            target=finite_or_none(target),
            **({} if problem is None else {"problem": str(problem)}),
            **({} if sizes is None else {"sizes": list(sizes)}),
        )

    def _write_facts(self, **changes: Any) -> None:
        facts = self.facts()
        # Not without need: a finished run that is continued stays as it is.
        if any(facts.get(name) != value for name, value in changes.items()):
            write_atomically(self.path / FACTS, sealed(facts | changes))

    def write_notes(self, tracker: str, notes: Mapping[str, Any]) -> None:
        """Keeps what a tracker needs to go on, as plain values for JSON."""
        everything = self._all_notes()
        if everything.get(tracker) != dict(notes):
            everything[tracker] = dict(notes)
            write_atomically(self.path / TRACKERS, sealed(everything))

    def claim(self, settings: Mapping[str, Any], checkpoint: Checkpoint | None) -> None:
        """Notes what the run is when it starts, and refuses to be another one later.

        `settings` are those that results depend on. Both `run.json` and the checkpoint
        know them; the former can say which one differs. Metrics of another run are
        refused, too, as they would be cut off and gone on with.
        """
        recorded = self.facts()["settings"]
        if checkpoint is not None:
            reached = Reached(checkpoint.generation, checkpoint.metrics, {}, False)
            check_metrics(self.path, read_metering(self.path, reached))
        if recorded is None and checkpoint is None:
            self._write_facts(settings=dict(settings))
            return
        what = None if recorded is None else difference(recorded, settings)
        is_other = checkpoint is not None and checkpoint.identity != digest_of(settings)
        if what is None and is_other:
            what = "its checkpoint says so, and run.json does not know which"
        if what is not None:
            raise ValueError(
                f"the run in {self.path} was made with other settings: {what}. Results "
                "depend on it, so it cannot change within a run: put it back, or start "
                "a new run with it."
            )

    def note_code(self, code: Mapping[str, str], generation: int) -> None:
        """Notes what code the problem brings along, and says so when it has changed."""
        facts = self.facts()
        known = facts.get("code") or {}
        # None is code whose source is not at hand now; that says nothing.
        changed = [name for name in known if code.get(name) not in (None, known[name])]
        if changed:
            _log.warning(
                "the code of %s is not what it was in the run in %s. Its fitness is "
                "another one from generation %d on; start a new run to compare.",
                " and ".join(changed),
                self.path,
                generation,
            )
            changes = [*facts.get("code_changes", ()), generation]
            self._write_facts(code_changes=changes)
        if code:
            self._write_facts(code={**known, **code})

    def note_engine(self, engine: str, generation: int) -> None:
        """Notes which engine runs, and says so when it is another one: their networks
        are the same but for rounding, which may change what is selected."""
        known = self.facts().get("engine")
        if known not in (None, engine):
            _log.warning(
                "the run in %s was made by engine %s, and goes on with engine %s from "
                "generation %d on. The engines round differently, so the run may end "
                "differently.",
                self.path,
                known,
                engine,
                generation,
            )
            changes = [*self.facts().get("engine_changes", ()), generation]
            self._write_facts(engine_changes=changes)
        self._write_facts(engine=engine)

    def note_versions(self, generation: int) -> None:
        """Notes that the run goes on with other versions of what computes, and says
        so: nobody promises that these find the same."""
        facts = self.facts()
        changes = list(facts.get("version_changes", ()))
        known = dict(facts.get("versions") or {})
        for change in changes:
            known |= change["after"]
        now = versions()
        others = {
            name: now[name]
            for name in ("substrax", "jax", "jaxlib")
            if known.get(name, now[name]) != now[name]
        }
        if others:
            before = {name: known[name] for name in others}
            _log.warning(
                "the run in %s was made with %s, and goes on with %s from generation "
                "%d on. It may come to another end than with one version.",
                self.path,
                _listed(before),
                _listed(others),
                generation,
            )
            change = {"generation": generation, "before": before, "after": others}
            self._write_facts(version_changes=[*changes, change])

    def append_metrics(self, record: dict[str, Any]) -> None:
        """Adds a line, on the disk before this returns."""
        is_new = not self._metrics.path.exists()
        self._metrics.append(record)
        if is_new:
            sync_folder(self.path)

    def cut_metrics(self, checkpoint: Checkpoint | None) -> list[dict[str, Any]]:
        """Cuts off the generations that the checkpoint does not know; what is left.

        Lines that are damaged are left out, which is said: they tell what happened, and
        what the run finds does not depend on them.
        """
        done = 0 if checkpoint is None else checkpoint.generation
        kept = self._metrics.cut(done)
        missing = kept.missing(done)
        if missing:
            _log.warning(
                "%s is damaged: of %d generations %d are lost (%s). The run goes on "
                "without them and finds the same; times and curves lack them.",
                self.path / METRICS,
                done,
                len(missing),
                ", ".join(map(str, missing[:5])) + (" ..." if missing[5:] else ""),
            )
        return kept.records

    def write_best(self, best: Best | None) -> None:
        """Replaces the best files; None removes them."""
        if best is None:
            (self.path / BEST).unlink(missing_ok=True)
            (self.path / BEST_ARRAYS).unlink(missing_ok=True)
            self._best = None
            return
        write_atomically(self.path / BEST_ARRAYS, best_to_safetensors(best))
        write_atomically(self.path / BEST, best_to_json(best))
        said = {"fitness": best.fitness, "generation": best.generation}
        self._best = said | digests_of_best(self.path)

    def restore_best(self, best: Best | None, checkpoint: Checkpoint | None) -> None:
        """Makes the best files anew for a run that goes on. Another engine or another
        release may write them otherwise: then the checkpoint says so from now on."""
        self.write_best(best)
        if checkpoint is not None and checkpoint.best != self._best:
            amended = checkpoint._replace(best=self._best)
            _checkpoint.amend(self.path / CHECKPOINTS, amended)

    def write_checkpoint(
        self, generation: int, state: Any, settings: Mapping[str, Any]
    ) -> None:
        """Keeps the state after `generation` generations, and the one before."""
        said = Checkpoint(
            generation, digest_of(settings), self._metrics.digest, self._best
        )
        _checkpoint.write_checkpoint(self.path / CHECKPOINTS, said, state)
        if not self._has_checkpoint:
            self._write_facts(has_checkpoint=True)
            self._has_checkpoint = True

    def read_checkpoint(
        self, like: Callable[[], State]
    ) -> tuple[Checkpoint, State] | None:
        """The newest intact checkpoint and its state. None without any.

        `like` gives a state of the same kind, or its shapes, if there is a checkpoint.
        """
        folder = self.path / CHECKPOINTS
        if not folder.is_dir():
            raise DamagedRunError(
                f"{folder} is gone, and with it where the run stood. To start anew, "
                f"with the same result, use `substrax run {self.path / CONFIG} --out "
                "NEW_DIRECTORY`; to go on, put the folder back."
            )
        found = _checkpoint.read_newest(folder, like)
        # Without this an emptied folder would look like a run that has just begun.
        if found is None and self.facts().get("has_checkpoint"):
            raise DamagedRunError(
                f"the checkpoints in {folder} are gone, and with them where the run "
                "stood. To start anew, with the same result, use `substrax run "
                f"{self.path / CONFIG} --out NEW_DIRECTORY`; to go on, put them back."
            )
        return found

    def prune_checkpoints(self, newest: int) -> None:
        """Removes damaged ones that are newer, and what a killed process left."""
        _checkpoint.prune(self.path / CHECKPOINTS, newest)


def check_unused(folder: Path) -> None:
    """Raises if a run cannot be started in this directory."""
    another = "choose another directory (--out, or directory= in Python)"
    if (folder / FACTS).exists() and _has_results(folder):
        raise ValueError(
            f"{folder} already holds a run. Continue it with `substrax resume "
            f"{folder}`, or substrax.resume({str(folder)!r}) in Python; or {another}."
        )
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; {another}.")
    # A process that was killed while it made a run leaves parts of one, no more.
    names = {p.name for p in folder.iterdir()} if folder.exists() else set()
    # Data beside a lock are those of a run that was killed while it was made; alone
    # they are somebody's.
    ours = {LOCK, CHECKPOINTS, CONFIG, FACTS, *([DATA] if LOCK in names else [])}
    others = names - ours
    others = {name for name in others if not is_temporary_of(name, _TEMPORARY_OF)}
    if others:
        raise ValueError(f"{folder} is not empty (it holds {min(others)}); {another}.")


def _fixed_values(config_text: str) -> dict[str, Any] | None:
    """What `run.json` keeps of a configuration; None without one."""
    try:
        table = parse_toml(config_text, CONFIG)
    except ValueError:  # whatever a program of somebody's own has put there
        return None
    return config_values(flatten(table), changeable()) if table else None


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _has_results(folder: Path) -> bool:
    """Whether there is anything to lose in a run: one that failed before its first
    generation was over holds nothing."""
    has_checkpoint = (folder / CHECKPOINTS).is_dir() and bool(
        _checkpoint.ours(folder / CHECKPOINTS)
    )
    return has_checkpoint or (folder / METRICS).exists() or (folder / BEST).exists()
