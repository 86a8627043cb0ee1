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

from .._documents import read_text
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
    StopReason,
    check_directory,
    digest_of,
    finite_or_none,
    read_facts,
    read_lines,
    sealed,
    unsealed,
)
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
from ._facts import gather_facts
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
            facts = gather_facts(seed) | {"directory": str(folder.absolute())}
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
        """The best genome so far with its network; None if there is none yet."""
        if not (self.path / BEST_ARRAYS).exists():
            return None
        # In this order: they are written in the other, and may be replaced meanwhile.
        self._checked(BEST, check_best_json)
        return self._checked(BEST_ARRAYS, read_best)

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
        """Replaces the configuration (a resumed run may have other limits)."""
        write_atomically(self.path / CONFIG, text)

    def write_stop_reason(self, reason: StopReason, error: str | None = None) -> None:
        """Notes why the run stopped."""
        self._write_facts(stopped=reason.value, error=error)

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
        know them; the former can say which one differs.
        """
        recorded = self.facts()["settings"]
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

    def append_metrics(self, record: dict[str, Any]) -> None:
        """Adds a line, on the disk before this returns."""
        is_new = not self._metrics.path.exists()
        self._metrics.append(record)
        if is_new:
            sync_folder(self.path)

    def cut_metrics(self, checkpoint: Checkpoint | None) -> list[dict[str, Any]]:
        """Cuts off the generations that the checkpoint does not know; what is left.

        Lines that are damaged are left out, which is said: they tell what happened, and
        nothing depends on them.
        """
        done = 0 if checkpoint is None else checkpoint.generation
        kept = self._metrics.cut(done)
        missing = kept.missing(done)
        if missing:
            _log.warning(
                "%s is damaged: of %d generations %d are lost (%s). The run goes on "
                "without them; its results do not depend on them.",
                self.path / METRICS,
                done,
                len(missing),
                ", ".join(map(str, missing[:5])) + (" ..." if missing[5:] else ""),
            )
        elif checkpoint is not None and checkpoint.metrics != self._metrics.digest:
            _log.warning(
                "%s is not what this run wrote, or has lost lines before.",
                self.path / METRICS,
            )
        return kept.records

    def write_best(self, best: Best | None) -> None:
        """Replaces the best files; None removes them."""
        if best is None:
            (self.path / BEST).unlink(missing_ok=True)
            (self.path / BEST_ARRAYS).unlink(missing_ok=True)
            return
        write_atomically(self.path / BEST_ARRAYS, best_to_safetensors(best))
        write_atomically(self.path / BEST, best_to_json(best))

    def write_checkpoint(
        self, generation: int, state: Any, settings: Mapping[str, Any]
    ) -> None:
        """Keeps the state after `generation` generations, and the one before."""
        said = Checkpoint(generation, digest_of(settings), self._metrics.digest)
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


def _has_results(folder: Path) -> bool:
    """Whether there is anything to lose in a run: one that failed before its first
    generation was over holds nothing."""
    has_checkpoint = (folder / CHECKPOINTS).is_dir() and bool(
        _checkpoint.ours(folder / CHECKPOINTS)
    )
    return has_checkpoint or (folder / METRICS).exists() or (folder / BEST).exists()
