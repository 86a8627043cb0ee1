"""The one loop: ask, decode, evaluate, tell; and the reasons to stop."""

import contextlib
import dataclasses
import functools
import logging
import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from .._compile_cache import tell_if_rejected, use_cache
from .._memory import scratch_in
from .._places import sentence_of
from .._resources import Resources
from ..decoders import AbstractDecoder, NetworkCache
from ..neat import NEAT, Genome, NEATInfo, NEATState, tell_growing
from ..network import Networks, describe
from ..problems import AbstractProblem
from ..runs import (
    METRICS,
    SCRATCH,
    GenerationRecord,
    StopReason,
    history_of,
    write_summary,
)
from ..worlds import Statistics
from ._best import Best
from ._callbacks import Callback, Watch, check_callbacks, watching
from ._checks import check_fits, check_limits, check_memory, check_timeout
from ._compile_clock import compile_seconds
from ._compiler import Compiled
from ._directory import RunDirectory
from ._generation import Generation, HeldNetworks, RunInfo
from ._identity import code_of, identity_of
from ._judge import Judged, judge
from ._processes import (
    agreed,
    from_first,
    is_first,
    placed,
    telling_failure,
    together,
)
from ._recipe import AbstractRecipe
from ._record import Result, make_record
from ._shared_judge import SLICE_TIMEOUT, SharedJudge, sharing

_log = logging.getLogger("substrax")

MAX_CACHED_BYTES = 1 << 28
"""Networks that are kept unless a run says otherwise."""


@dataclasses.dataclass(frozen=True)
class _Limits:
    generations: int
    target: float
    seconds: float | None
    patience: int | None

    def reason(
        self, state: NEATState, history: Sequence[GenerationRecord]
    ) -> StopReason | None:
        """Why the run is to end here, if it is."""
        done = int(state.generation)
        # Before the first generation nothing was evaluated, whatever the target is.
        if done and float(state.best_score) >= self.target:
            return StopReason.TARGET
        if done >= self.generations:
            return StopReason.GENERATIONS
        # The last generation that was evaluated is `done - 1`.
        unimproved = done - 1 - int(state.last_improved)
        if self.patience is not None and unimproved >= self.patience:
            return StopReason.PATIENCE
        if self.seconds is not None and _seconds(history) >= self.seconds:
            return StopReason.SECONDS
        return None


def evolve(
    algorithm: NEAT,
    decoder: AbstractDecoder,
    problem: AbstractProblem,
    *,
    seed: int = 0,
    generations: int = 100,
    target: float | None = None,
    seconds: float | None = None,
    patience: int | None = None,
    callbacks: Iterable[Callback] = (),
    directory: RunDirectory | str | os.PathLike[str] | None = None,
    config_text: str = "",
    checkpoint_every: int = 1,
    max_cached_bytes: int = MAX_CACHED_BYTES,
    resources: Resources | None = None,
    keep_compiled: bool = True,
    executor: Executor | str | None = None,
    slice_timeout: float | None = SLICE_TIMEOUT,
    recipe: AbstractRecipe | None = None,
) -> Result:
    """Evolves networks for a problem until there is a reason to stop.

    The same seed gives the same run, bit for bit; generation g uses keys that depend on
    the seed and on g alone.

    **Arguments:**

    - `algorithm`, `decoder`, `problem`: who makes genomes, what makes networks of them,
      and what gives a fitness to each.
    - `generations`, `seconds`, `patience`: at most so many generations, so much time
      (parts of a run that is continued count together), so many generations without
      a new best.
    - `target`: a fitness that is enough; None takes the problem's own.
    - `callbacks`: functions that are given each `Generation` and may end the run, and
      trackers (see `Callback`). They change nothing about the results.
    - `directory`: a path where a run directory is to be made, or a `RunDirectory`,
      whose run is continued from its last checkpoint. It is refused if anything that
      the results depend on has changed.
    - `config_text`: the configuration to be kept in the directory.
    - `checkpoint_every`: generations from one checkpoint to the next.
    - `max_cached_bytes`: how much memory networks may take that are kept for genomes
      that come again (see `NetworkCache`); 0 keeps none. It changes time, never
      results.
    - `resources`: memory, threads, scratch folder, engine and devices; none of them
      changes results, but for the engine, which may round differently.
    - `keep_compiled`: whether JAX keeps what it compiles in the user's cache folder,
      for the next process. Where JAX has a cache of its own already
      (`jax_compilation_cache_dir`) that one is used, whatever is said here.
    - `executor`: who decodes and evaluates: a `concurrent.futures.Executor`, which is
      not ended with the run, or `processes:8`, or `dask://host:8786`. Left out, this
      process does. It changes no result, and a run may go on with another one. The
      cache of networks is not used then.
    - `slice_timeout`: seconds after which a worker counts as hung, and others get its
      genomes; None waits for ever.
    - `recipe`: how a worker makes the decoder and the problem; left out, they are sent
      to it, pickled.
    """
    callbacks = check_callbacks(callbacks)
    limits = _Limits(
        generations,
        float(problem.target if target is None else target),
        seconds,
        patience,
    )
    check_fits(algorithm, decoder)
    check_limits(
        seed,
        **dataclasses.asdict(limits),
        checkpoint_every=checkpoint_every,
        max_cached_bytes=max_cached_bytes,
    )
    together(lambda: check_memory(algorithm))
    check_timeout(slice_timeout)
    if keep_compiled:
        use_cache()
    cache = NetworkCache(max_cached_bytes)
    if not is_first():
        callbacks, directory = (), None
    run = _Run(
        algorithm,
        decoder,
        problem,
        seed,
        limits,
        callbacks,
        cache,
        placed(resources or Resources(), algorithm, decoder),
        config_text,
    )
    # Before a directory is made, so that whatever is wrong with workers is said first.
    with sharing(
        executor,
        decoder,
        problem,
        recipe,
        run.resources,
        slice_timeout,
        keep_compiled,
    ) as run.shared_judge:
        if directory is None:
            # (the first of several processes may have a directory, and trouble with it)
            standing = from_first(together(run.start))
            return run.watched(standing, [], None, checkpoint_every)
        return run.saved(directory, checkpoint_every)


_NO_MEMORY = (
    "the memory is used up. Choose a smaller population_size or a smaller depth, or "
    "fewer samples or episodes at a time."
)


def _first_state(algorithm: NEAT, key: Key[Array, ""]) -> NEATState:
    return algorithm.init(key=key)


def _next_state(
    algorithm: NEAT, state: NEATState, fitness: Array, key: Key[Array, ""]
) -> tuple[NEATState, NEATInfo]:
    return algorithm.tell(state, fitness, key=key)


# Rates and thresholds are leaves of the algorithm and so arguments here: all runs of a
# process that agree in sizes, names and switches share what is compiled.

_init = Compiled(_first_state)
_tell = Compiled(_next_state, like=lambda _, state, *__: (state, NEATInfo.empty()))


class _Standing(NamedTuple):
    """Where a run stands between two generations."""

    neat: NEATState
    statistics: Statistics | None = None
    """Of what networks have seen so far, if the problem keeps any."""
    best_statistics: Statistics | None = None
    """The same when the best network was evaluated."""

    @property
    def kept(self) -> "NEATState | _Standing":
        """What a checkpoint holds."""
        return self.neat if self.statistics is None else self


class _Run:
    """The loop's fixed parts."""

    def __init__(
        self,
        algorithm: NEAT,
        decoder: AbstractDecoder,
        problem: AbstractProblem,
        seed: int,
        limits: _Limits,
        callbacks: tuple[Callback, ...],
        cache: NetworkCache,
        resources: Resources,
        config_text: str,
    ) -> None:
        self.algorithm, self.decoder, self.problem = algorithm, decoder, problem
        # Where it started is nothing to the next generation, nor to its program.
        self.teller = dataclasses.replace(algorithm, start=None)
        self.seed, self.limits, self.callbacks = seed, limits, callbacks
        self.cache, self.resources = cache, resources
        self.config_text = config_text
        # for networks that are asked for later, when the run's scratch folder is gone
        self.own_resources = dataclasses.replace(resources, on_progress=None)
        self.shared_judge: SharedJudge | None = None
        self.key_init, self.key_run = jax.random.split(jax.random.key(seed))

    def saved(
        self, place: RunDirectory | str | os.PathLike[str], checkpoint_every: int
    ) -> Result:
        """Runs on from where a directory stands, which is made if it is a path."""
        with contextlib.ExitStack() as stack:
            directory, standing, history = together(lambda: self.opened(place, stack))
            standing = from_first(standing)
            try:
                result = self.watched(standing, history, directory, checkpoint_every)
            except Exception as error:
                # (Ctrl-C is no `Exception`: it leaves a run as a kill does)
                with contextlib.suppress(OSError, ValueError):  # the first one matters
                    directory.write_stop_reason(StopReason.ERROR, sentence_of(error))
                raise
            self.summarise(result, directory)
            return result

    def opened(
        self,
        place: RunDirectory | str | os.PathLike[str],
        stack: contextlib.ExitStack,
    ) -> tuple[RunDirectory, _Standing, list[GenerationRecord]]:
        """A directory, locked until the stack is left, and where its run stands."""
        directory = place
        if not isinstance(directory, RunDirectory):
            directory = RunDirectory.create(
                directory, seed=self.seed, config_text=self.config_text
            )
        stack.enter_context(directory.lock())
        scratch = stack.enter_context(scratch_in(directory.path / SCRATCH))
        if self.resources.scratch is None:
            self.resources = dataclasses.replace(self.resources, scratch=scratch)
        return directory, *self.restore(directory, self.config_text)

    @functools.cached_property
    def settings(self) -> dict[str, Any]:
        """All that the results depend on."""
        return identity_of(self.algorithm, self.decoder, self.problem, self.seed)

    def tell(
        self, state: NEATState, fitness: Array, *, key: Key[Array, ""]
    ) -> tuple[NEATState, NEATInfo]:
        return _tell(self.teller, state, fitness, key)

    def start(self) -> _Standing:
        """The first population."""
        statistics = self.problem.first_statistics()
        return _Standing(_init(self.algorithm, self.key_init), statistics, statistics)

    def shapes(self) -> "NEATState | _Standing":
        """What a checkpoint looks like; nothing is compiled for that."""
        statistics = self.problem.first_statistics()
        neat = jax.eval_shape(_first_state, self.algorithm, self.key_init)
        return _Standing(neat, statistics, statistics).kept

    def restore(
        self, directory: RunDirectory, config_text: str
    ) -> tuple[_Standing, list[GenerationRecord]]:
        """Where the run in this directory stands; its files are made to agree."""
        recorded = directory.facts()["seed"]
        if recorded != self.seed:
            raise ValueError(
                f"the run in {directory.path} has seed {recorded}, not {self.seed}. "
                "Continue it with its own seed, or start another run."
            )
        found = directory.read_checkpoint(self.shapes)
        checkpoint, kept = (None, self.start()) if found is None else found
        standing = kept if isinstance(kept, _Standing) else _Standing(kept)
        generation = int(standing.neat.generation)
        if checkpoint is not None and self.limits.generations < checkpoint.generation:
            raise ValueError(
                f"generations is {self.limits.generations}, but the run in "
                f"{directory.path} has done {checkpoint.generation} already. Choose at "
                "least as many."
            )
        # Until here nothing was written; from here on all agrees.
        directory.claim(self.settings, checkpoint)
        if checkpoint is not None:
            directory.prune_checkpoints(checkpoint.generation)
        if config_text:
            directory.write_config(config_text)
        directory.note_code(code_of(self.problem), generation)
        directory.note_engine(self.resources.engine_name, generation)
        directory.note_versions(generation)
        sizes = self.problem.num_inputs, self.problem.num_outputs
        directory.note_start(self.limits.target, self.problem.name, sizes)
        # Metrics and best files are written before the checkpoint of their generation,
        # and may be ahead of it: they are put back to where the state is.
        lines = directory.cut_metrics(checkpoint)
        directory.restore_best(self.best_of(standing), checkpoint)
        return standing, history_of(directory.path / METRICS, lines)

    def summarise(self, result: Result, directory: RunDirectory) -> None:
        """Keeps what is told about a run, so that nothing is computed to show it.

        The run is complete without; what fails here is no failure of it.
        """
        network, measures = result.best_network, {}
        try:
            if network is not None:
                measures = self.problem_after(result.statistics).measures(network)
            words = None if network is None else str(describe(network))
            write_summary(directory.path, words, measures)
        except Exception as error:
            _log.warning("%s has no summary: %s", directory.path, sentence_of(error))

    def problem_after(self, statistics: Statistics | None) -> AbstractProblem:
        """The problem as networks meet it then."""
        return self.problem if statistics is None else self.problem.after(statistics)

    def best_of(self, standing: _Standing) -> Best | None:
        """The best genome so far with its network."""
        state = standing.neat
        if not np.isfinite(state.best_score):
            return None
        genome = jax.tree.map(jnp.asarray, state.best_genome)
        alone = jax.tree.map(lambda x: x[None], genome)
        network = self.decoder.decode(alone, self.resources)
        return Best(
            fitness=float(state.best_score),
            generation=int(state.last_improved),
            genome=genome,
            network=network,
            preparation=self.problem_after(standing.best_statistics).preparation,
            problem=self.problem.name,
        )

    def about(
        self, history: Sequence[GenerationRecord], directory: RunDirectory | None
    ) -> RunInfo:
        """What callbacks can know of the run."""
        return RunInfo(
            algorithm=self.algorithm,
            decoder=self.decoder,
            problem=self.problem,
            seed=self.seed,
            generations=self.limits.generations,
            target=self.limits.target,
            history=tuple(history),
            run_directory=directory,
            config_text=self.config_text,
        )

    def generation(
        self, standing: _Standing, best: Best | None, about: RunInfo
    ) -> tuple[Generation, _Standing]:
        """One generation, and where the run stands then; `best` is the best before."""
        state, statistics, best_statistics = standing
        problem = self.problem_after(statistics)
        began, compiled = time.perf_counter(), compile_seconds()
        number = int(state.generation)
        # By its number, so that a run which goes on needs no key from before.
        key = jax.random.fold_in(self.key_run, number)
        key_fitness, key_tell = jax.random.split(key)
        num_hits = self.cache.num_hits
        genomes = self.algorithm.ask(state)
        judged = self.judge(problem, genomes, key_fitness, statistics)
        fitness = judged.fitness
        next_state, info = tell_growing(
            self.algorithm,
            state,
            # (32 bits for NEAT; mean and spread are taken of what was given)
            jax.device_put(fitness.astype(np.float32)),
            key=key_tell,
            tell_fn=self.tell,
        )
        record = make_record(
            next_state,
            info,
            judged,
            self.cache.num_hits - num_hits,
            time.perf_counter() - began,
            compile_seconds() - compiled,
        )
        # Its network is at hand now; later it would have to be decoded again.
        if float(next_state.best_score) > float(state.best_score):
            best = Best(
                float(next_state.best_score),
                record.generation,
                next_state.best_genome,
                self.network_of(genomes, judged, int(info.best_index)),
                problem.preparation,
                problem.name,
            )
            best_statistics = statistics
        if statistics is not None and judged.seen is not None:
            statistics = statistics.joined(judged.seen)
        fitness.flags.writeable = False  # callbacks are to look, not to touch
        held = HeldNetworks(judged.networks, self.decoder, genomes, self.own_resources)
        done = Generation(about, record, state, next_state, info, fitness, best, held)
        return done, _Standing(next_state, statistics, best_statistics)

    def judge(
        self,
        problem: AbstractProblem,
        genomes: Genome,
        key: Key[Array, ""],
        statistics: Statistics | None,
    ) -> Judged:
        """Here, or by whoever it is shared out to."""
        if self.shared_judge is not None:
            return self.shared_judge.judge(genomes, key, statistics)
        parts = self.decoder, problem
        return judge(*parts, genomes, key, self.cache, self.resources)

    def network_of(self, genomes: Genome, judged: Judged, index: int) -> Networks:
        """One network of a population."""
        if judged.networks is not None:
            return judged.networks[index]
        alone = jax.tree.map(lambda x: x[index : index + 1], genomes)
        return self.decoder.decode(alone, self.resources)

    def watched(
        self,
        standing: _Standing,
        history: list[GenerationRecord],
        directory: RunDirectory | None,
        checkpoint_every: int,
    ) -> Result:
        """Runs on from a state, with callbacks that are told of it."""
        about = self.about(history, directory)
        with watching(self.callbacks, about) as watch:
            try:
                watch.result = self.go(
                    standing, history, about, watch, checkpoint_every
                )
            except Exception as error:
                if "RESOURCE_EXHAUSTED" in str(error):  # as XLA has it
                    raise MemoryError(_NO_MEMORY) from error
                raise
        return watch.result

    def go(
        self,
        standing: _Standing,
        history: list[GenerationRecord],
        about: RunInfo,
        watch: Watch,
        checkpoint_every: int,
    ) -> Result:
        """Runs on from a state until there is a reason to stop."""
        directory = about.run_directory
        best, state = self.best_of(standing), standing.neat
        reason = agreed(self.limits.reason(state, history))
        while reason is None:
            generation, standing = self.generation(standing, best, about)
            state, best = standing.neat, generation.best
            history.append(generation.record)
            tell_if_rejected()
            with telling_failure():
                # The checkpoint comes last: if the process is killed before it, files
                # are ahead of the state, and `restore` puts them back. There is never
                # a state without its record.
                if directory is not None:
                    if generation.is_improved:
                        directory.write_best(best)
                    directory.append_metrics(generation.record.to_dict())
                asked = watch.generation(generation)
                reason = self.limits.reason(state, history) or asked
                # The next generation needs the memory, whoever keeps this one.
                generation.release()
                del generation
                # However it ends, the last state is kept: a run can go on from there.
                number = int(state.generation)
                is_due = reason is not None or number % checkpoint_every == 0
                if directory is not None and is_due:
                    directory.write_checkpoint(number, standing.kept, self.settings)
            reason = agreed(reason)
        solved_at = _solved_at(state, history, self.limits.target)
        if directory is not None:
            directory.write_end(reason, int(state.generation), solved_at)
        return Result(
            reason=reason,
            best_fitness=None if best is None else best.fitness,
            best_genome=None if best is None else best.genome,
            best_network=None if best is None else best.network,
            generations=int(state.generation),
            solved_at=solved_at,
            state=state,
            history=tuple(history),
            statistics=standing.best_statistics,
        )


def _seconds(history: Sequence[GenerationRecord]) -> float:
    return sum((record.seconds for record in history), 0.0)


def _solved_at(
    state: NEATState, history: Sequence[GenerationRecord], target: float
) -> int | None:
    """The first generation whose best reached the target.

    The state says whether there is one, and the last that was better than all before.
    An earlier one is in the records, where the target was lowered since then.
    """
    if not int(state.generation) or float(state.best_score) < target:
        return None
    for record in history:
        if record.best_ever is not None and record.best_ever >= target:
            return min(record.generation, int(state.last_improved))
    return int(state.last_improved)
