"""Times of calls."""

import time
from collections.abc import Callable


def best_seconds(function: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of some calls, after one that may compile."""
    function()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)
