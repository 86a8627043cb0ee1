"""What `evolve` is given, looked at before anything is made of it."""

import math
from typing import Any

import jax
import numpy as np

from .._memory import free_memory, show_bytes
from .._types import as_number, shown
from ..decoders import AbstractDecoder
from ..neat import NEAT, first_capacities


def check_fits(algorithm: NEAT, decoder: AbstractDecoder) -> None:
    """Raises a `ValueError` if the decoder does not read such genomes."""
    if not algorithm.config.maximise:
        raise ValueError(
            "evolve() takes larger fitness for better, as problems do: set "
            "maximise=True, or turn the fitness round."
        )
    decoder.check_config(algorithm.config)


MOST_SEED = (1 << 32) - 1
"""JAX makes its keys of 32 bits: a larger seed would be another one's run."""


def check_limits(
    seed: int,
    generations: int,
    target: float | None,
    seconds: float | None,
    patience: int | None,
    checkpoint_every: int,
    max_cached_bytes: int,
) -> None:
    """Raises a `ValueError` for a seed or a limit that makes no sense."""
    counts: tuple[tuple[str, Any, int, int], ...] = (
        ("seed", seed, 0, MOST_SEED),
        ("generations", generations, 0, _MOST_COUNT),
        ("patience", patience, 1, _MOST_COUNT),
        ("checkpoint_every", checkpoint_every, 1, _MOST_COUNT),
        ("max_cached_bytes", max_cached_bytes, 0, _MOST_BYTES),
    )
    for name, value, least, most in counts:
        if value is None and name == "patience":
            continue
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            wanted = "Give a whole number"
        elif value < least:
            wanted = f"Choose at least {least}"
        elif value > most:
            wanted = f"Choose at most {most}"
        else:
            continue
        raise ValueError(f"{name} is {shown(value)}. {wanted}.")
    for name, value in (("target", target), ("seconds", seconds)):
        if value is not None and math.isnan(value):
            raise ValueError(f"{name} is NaN, which nothing can be compared with.")
    if seconds is not None and seconds < 0:
        raise ValueError(f"seconds is {seconds}. Choose at least 0.")


def check_timeout(slice_timeout: float | None) -> None:
    """Raises a `ValueError` for a time that no slice could be done in."""
    if slice_timeout is not None and not as_number(slice_timeout) > 0:
        raise ValueError(
            f"slice_timeout is {shown(slice_timeout)}; give a number of seconds above "
            "0, or None to wait for ever."
        )


_MOST_COUNT = (1 << 31) - 1
_MOST_BYTES = (1 << 63) - 1


# Three words of a node; four words and a switch of a link.
_BYTES_OF_A_NODE, _BYTES_OF_A_LINK = 12, 17
_COPIES = 8
"""Arrays as large as the population that a generation needs at least at one time."""


def check_memory(algorithm: NEAT) -> None:
    """Raises a `ValueError` if NEAT alone would not fit into the memory.

    XLA waits for memory that never comes, or is killed: that is too late.
    """
    size = algorithm.config.population_size
    max_nodes, max_links, _ = first_capacities(algorithm.config)
    genome = _BYTES_OF_A_NODE * max_nodes + _BYTES_OF_A_LINK * max_links
    needed, free = _COPIES * size * genome, _free_memory()
    if needed > free:
        raise ValueError(
            f"population_size {size:,} with max_nodes {max_nodes:,} and max_links "
            f"{max_links:,} needs about {show_bytes(needed)} of memory for NEAT alone, "
            f"and {show_bytes(free)} are free. Choose less of one of them."
        )


def _free_memory() -> int:
    """Of the device that holds the population."""
    device = jax.devices()[0]
    if device.platform != "cpu":
        stats = device.memory_stats() or {}
        if "bytes_limit" in stats:
            return stats["bytes_limit"] - stats.get("bytes_in_use", 0)
    return free_memory()
