"""Work on all cores: NumPy and compiled functions let go of the interpreter's lock."""

import collections
import concurrent.futures
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


_within = threading.local()
"""Set in the threads of the pool."""


def num_workers() -> int:
    """Processor cores that this process may use; within such work, the one it has."""
    if getattr(_within, "is_work", False):
        return 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


@functools.cache
def _pool() -> concurrent.futures.ThreadPoolExecutor:
    return concurrent.futures.ThreadPoolExecutor(
        max_workers=os.cpu_count() or 1,
        thread_name_prefix="substrax-work",
        initializer=lambda: setattr(_within, "is_work", True),
    )


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], most: int | None = None
) -> Iterator[Result]:
    """`map` on all cores, or on `most` of them.

    No more items are under way or waiting than there are cores, beside the one that
    was handed out, so that what they take in memory is bounded. Where the function
    calls this itself, that is plain `map`: a thread that waits for others of its pool
    might wait for ever.
    """
    num = num_workers() if most is None else min(most, num_workers())
    if num < 2:
        yield from map(function, items)
        return
    rest = iter(items)
    begun = collections.deque(
        _pool().submit(function, item) for item in itertools.islice(rest, num)
    )
    try:
        while begun:
            result = begun.popleft().result()
            begun.extend(_pool().submit(function, i) for i in itertools.islice(rest, 1))
            yield result
    finally:
        # Also after Ctrl-C, which must not wait for what is under way.
        for future in begun:
            future.cancel()
