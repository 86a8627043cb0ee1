"""Executors that behave badly, and work for processes that know nothing of tests."""

import contextlib
import os
import random
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

from substrax.workers import Answer


class Hostile(Executor):
    """Does what it is asked in another order, late, twice over, or not at all.

    `mischief` are the shares of calls that raise before they are done, that are done
    and lost, and of which nothing is ever heard.
    """

    def __init__(
        self, seed: int, mischief: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ) -> None:
        self._max_workers = 3
        self.draw = random.Random(seed)
        self.mischief = mischief
        self.num_calls = 0
        self.num_bad = 0
        """Calls that were not answered as they should."""
        self.is_shut = False
        self._waiting: list[tuple[Future, Any, tuple, dict]] = []
        self._lock = threading.Lock()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        with self._lock:
            self.num_calls += 1
            self._waiting.append((future, fn, args, kwargs))
        threading.Thread(target=self._one, daemon=True).start()
        return future

    def _one(self) -> None:
        time.sleep(self.draw.random() * 0.01)
        with self._lock:
            which = self.draw.randrange(len(self._waiting))
            future, fn, args, kwargs = self._waiting.pop(which)
            chance = self.draw.random()
            self.num_bad += chance < sum(self.mischief)
        raises, loses, forgets = self.mischief
        if not future.set_running_or_notify_cancel():
            return
        if chance < raises:
            future.set_exception(BrokenExecutor("it died"))
        elif chance < raises + loses:
            fn(*args, **kwargs)
            future.set_exception(ConnectionError("the answer was lost"))
        elif chance >= raises + loses + forgets:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.is_shut = True


def squares(numbers: list[int]) -> Answer:
    return Answer([n * n for n in numbers], seconds=1e-3 * len(numbers))


def squares_after_a_hang(place: str, numbers: list[int]) -> Answer:
    """Whoever comes first leaves its number, and is never heard of again."""
    with contextlib.suppress(FileExistsError), open(place, "x") as file:
        print(os.getpid(), file=file, flush=True)
        time.sleep(1000.0)
    return squares(numbers)


def pid_and_square(n: int) -> tuple[int, int]:
    return os.getpid(), n * n


def die(status: int) -> None:
    if status < 0:
        os.kill(os.getpid(), -status)
        signal.pause()
    os._exit(status)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def fail(text: str) -> None:
    raise ValueError(text)


def say(text: str) -> str:
    print(text, flush=True)  # noqa: T201
    return text


class UnreadableError(Exception):
    """Can be pickled, and not be made again."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raise_unreadable() -> None:
    raise UnreadableError(1, 2)


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_until_gone(pids: list[int]) -> None:
    for _ in range(200):
        if not any(map(is_alive, pids)):
            return
        time.sleep(0.05)
    raise AssertionError(f"of {pids} some are there still")
