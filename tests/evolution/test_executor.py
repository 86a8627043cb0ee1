"""Evolution by workers: the same bits, whoever they are, whatever becomes of them."""

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import numpy as np
import pytest

from substrax._resources import Resources
from substrax.decoders import CPPNReading, emr_hyperneat
from substrax.evolution import RunDirectory, evolve
from substrax.evolution import _worker as worker_module
from substrax.evolution._shared_judge import _for_workers
from substrax.substrate import EMRRule
from substrax.workers import ProcessCrew, Processes, WorkersError
from tests.workers.support import Hostile, say, wait_until_gone

from .shared import Misbehaving, Neighbourly, Together, Weights
from .support import Problem, SumOfWeights, parts, timeless

GENERATIONS = 5


def emr_parts(problem: Problem):
    neat, _, problem = parts(problem)
    decoder = emr_hyperneat(
        problem.layout,
        EMRRule(depth=2),
        reading=CPPNReading("neat-python", ("x2", "y2"), activations=("sigmoid",)),
    )
    return neat, decoder, problem


def contents(directory: Path) -> list:
    """All that a run leaves, without times."""
    checkpoints = sorted((directory / "checkpoints").rglob("*.safetensors"))
    files = [directory / "best.json", directory / "best.safetensors", *checkpoints]
    return [
        timeless(RunDirectory(directory).metrics()),
        *[(file.name, file.read_bytes()) for file in files],
    ]


def same(mine, theirs) -> None:
    assert timeless(mine.history) == timeless(theirs.history)
    for one, other in zip(
        jax.tree.leaves((mine.state, mine.best_genome)),
        jax.tree.leaves((theirs.state, theirs.best_genome)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(
        mine.best_network.link_weight, theirs.best_network.link_weight
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    directory = tmp_path_factory.mktemp("alone") / "run"
    result = evolve(
        *emr_parts(Weights()), seed=3, generations=GENERATIONS, directory=directory
    )
    return result, contents(directory)


@pytest.mark.parametrize("num", [1, 3])
def test_threads_give_the_same_bits(alone, num: int, tmp_path: Path) -> None:
    with ThreadPoolExecutor(num) as executor:
        result = evolve(
            *emr_parts(Weights()),
            seed=3,
            generations=GENERATIONS,
            directory=tmp_path / "run",
            executor=executor,
        )
        same(result, alone[0])
        assert contents(tmp_path / "run") == alone[1]
        assert executor.submit(int).result() == 0  # it is not ours to end


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mischief", [(0.0, 0.0, 0.0), (0.05, 0.05, 0.03)])
def test_the_worst_of_executors_gives_the_same_bits(alone, seed, mischief) -> None:
    executor = Hostile(seed, mischief)
    result = evolve(
        *emr_parts(Weights()),
        seed=3,
        generations=GENERATIONS,
        executor=executor,
        slice_timeout=2.0,
    )
    same(result, alone[0])
    assert not executor.is_shut


def mischief(tmp_path: Path, *words: str) -> Misbehaving:
    folder = tmp_path / "mischief"
    folder.mkdir()
    for number, word in enumerate(words):
        (folder / f"{word}-{number}").touch()
    return Misbehaving(folder=str(folder))


def expected(problem: Misbehaving, files: int = 0):
    """What a run comes to if nothing goes wrong."""
    assert len(list(Path(problem.folder).iterdir())) == files
    return evolve(*parts(problem), seed=3, generations=GENERATIONS)


@pytest.fixture(scope="module")
def processes():
    """Two, for all tests: each takes seconds to start."""
    executor = Processes(2, imports=["substrax.evolution"])
    yield executor
    pids = executor.pids
    executor.kill()
    wait_until_gone(pids)


def test_deaths_hangs_and_want_of_memory_change_nothing(tmp_path, processes) -> None:
    problem = mischief(tmp_path, "die", "memory", "hang", "disk", "die")
    # With so little patience, a first compilation must not count as a hang.
    processes.submit(say, "ready").result()
    shared = evolve(
        *parts(problem),
        seed=3,
        generations=GENERATIONS,
        executor=processes,
        slice_timeout=10.0,
    )
    same(shared, expected(problem))


def test_processes_by_name_end_with_the_run(alone, tmp_path, monkeypatch) -> None:
    started = []
    begin = Processes._start

    def start(self):
        process = begin(self)
        started.append(process.pid)
        return process

    monkeypatch.setattr(Processes, "_start", start)
    result = evolve(
        *emr_parts(Weights()),
        seed=3,
        generations=GENERATIONS,
        directory=tmp_path / "run",
        executor="processes:2",
    )
    same(result, alone[0])
    assert contents(tmp_path / "run") == alone[1]
    assert len(started) == 2
    wait_until_gone(started)
    # What was begun with an executor goes on without, and the other way round.
    directory = RunDirectory(tmp_path / "run")
    more = evolve(*emr_parts(Weights()), seed=3, generations=8, directory=directory)
    with ThreadPoolExecutor(2) as executor:
        other = evolve(
            *emr_parts(Weights()),
            seed=3,
            generations=8,
            directory=tmp_path / "other",
            executor=executor,
        )
    same(more, other)


def test_three_failures_end_a_run_that_goes_on_without(tmp_path: Path) -> None:
    problem = mischief(tmp_path)
    directory = tmp_path / "run"

    def spoil(generation) -> None:
        if generation.number == 2:
            for k in range(200):
                (Path(problem.folder) / f"memory-{k}").touch()

    with (
        ThreadPoolExecutor(2) as executor,
        pytest.raises(WorkersError, match=r"3 times, in vain.*no memory left"),
    ):
        evolve(
            *parts(problem),
            seed=3,
            generations=GENERATIONS,
            directory=directory,
            executor=executor,
            callbacks=[spoil],
        )
    facts = json.loads((directory / "run.json").read_text())
    assert facts["stopped"] == "error" and "in vain" in facts["error"]
    for file in Path(problem.folder).iterdir():
        file.unlink()
    again = evolve(
        *parts(problem),
        seed=3,
        generations=GENERATIONS,
        directory=RunDirectory(directory),
    )
    same(again, expected(problem))


@pytest.mark.parametrize(
    ("word", "kind", "sentence"),
    [
        ("value", ValueError, r"not for me\. \(raised in fitness, in shared\.py, line"),
        ("bug", WorkersError, r"fitness, in shared\.py, line \d+, failed on a worker"),
    ],
)
def test_errors_of_a_fitness_are_told_once(tmp_path, word, kind, sentence) -> None:
    problem = mischief(tmp_path, word, word, word, word)
    with ThreadPoolExecutor(1) as executor, pytest.raises(kind, match=sentence):
        evolve(*parts(problem), generations=1, executor=executor)
    # (one more may have been on its way)
    assert len(list(Path(problem.folder).iterdir())) >= 2


@pytest.mark.parametrize("problem", [Neighbourly(), SumOfWeights()])
def test_a_fitness_that_depends_on_neighbours_is_noticed(problem: Problem) -> None:
    with (
        ThreadPoolExecutor(2) as executor,
        pytest.raises(ValueError, match=r"cannot be shared out.*is_separable") as told,
    ):
        evolve(*parts(problem), generations=2, executor=executor)
    assert "np.float" not in str(told.value)


def test_workers_have_the_least_memory_at_least() -> None:
    class Two(ProcessCrew):
        def __init__(self) -> None: ...

        def num_workers(self) -> int:
            return 2

    shared = _for_workers(Resources(memory_budget="64MiB"), Two())
    assert shared.budget == 64 << 20
    shared = _for_workers(Resources(memory_budget="256MiB"), Two())
    assert shared.budget == 128 << 20


def test_a_fitness_that_says_it_depends_on_neighbours_is_refused() -> None:
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ValueError, match=r"is_separable is False.*Leave `executor`"),
    ):
        evolve(*parts(Together()), generations=2, executor=executor)


def test_what_workers_cannot_get_is_refused(tmp_path: Path) -> None:
    @dataclasses.dataclass(frozen=True)
    class Local(Weights):
        pass

    main = type("Main", (Weights,), {"__module__": "__main__"})
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ValueError, match=r"cannot be sent to workers.*a name in a"),
    ):
        evolve(*parts(Local()), executor=executor, directory=tmp_path / "a")
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ValueError, match="Main exists only in the program that"),
    ):
        evolve(*parts(main()), executor=executor, directory=tmp_path / "b")
    with pytest.raises(
        ValueError, match=r"executor is 'threads:2'\. Write processes:8"
    ):
        evolve(*parts(), executor="threads:2", directory=tmp_path / "c")
    with pytest.raises(ValueError, match="number of processes of at least 1"):
        evolve(*parts(), executor="processes:0", directory=tmp_path / "d")
    with pytest.raises(ValueError, match=r"slice_timeout is 0\.0; give a number"):
        evolve(*parts(), slice_timeout=0.0, directory=tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_a_worker_of_another_version_or_with_other_code_takes_no_part(
    monkeypatch,
) -> None:
    def refused(match: str) -> None:
        worker_module._made.clear()
        with (
            ThreadPoolExecutor(1) as executor,
            pytest.raises(WorkersError, match=match),
        ):
            evolve(*parts(Weights()), generations=1, executor=executor)

    with monkeypatch.context() as patch:
        there = {name: "0.0.1" for name in worker_module.versions()}
        patch.setattr(worker_module, "versions", lambda: there)
        refused("has substrax 0.0.1, and the run .* the same version everywhere")
    with monkeypatch.context() as patch:
        patch.setattr(worker_module, "code_of", lambda problem: {"Weights": "other"})
        refused("the code of the problem is another one there")
    with monkeypatch.context() as patch:
        changed = lambda *_: {"problem.wanted": 31.0}
        patch.setattr(worker_module, "identity_of_parts", changed)
        refused("would evaluate something else")


def test_parts_are_made_once_in_a_worker(monkeypatch) -> None:
    made = []
    make = worker_module._make

    def counted(source):
        made.append(source)
        return make(source)

    monkeypatch.setattr(worker_module, "_make", counted)
    monkeypatch.setattr("substrax.evolution._shared_judge._SMALL", 0)
    with ThreadPoolExecutor(3) as executor:
        # large sources are sent to those who ask
        evolve(*parts(Weights(wanted=17.5)), generations=4, executor=executor)
    assert len(made) == 1
