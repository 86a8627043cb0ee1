"""PUREPLES itself, where it can be imported: the program that the paper measured.

It is given the same genome as neat-python's CPPN, the same substrate and the same
thresholds, and has to find the same links.
"""

import importlib
import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

from substrax.decoders import Discovered
from substrax.neat import Genome

from .quadtree import NEAT_PYTHON, Cppn, Decoding, Link, TookTooLong, checked_rule


class _Network:
    """What PUREPLES asks: a CPPN of neat-python, with a count of its calls."""

    def __init__(self, network: Any) -> None:
        self.network, self.count = network, 0

    def activate(self, inputs: list[float]) -> list[float]:
        self.count += 1
        return self.network.activate(inputs)


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Ends what is inside by `TookTooLong`; without effect where there are no alarms.

    By an alarm, since PUREPLES also copies for long without asking its CPPN; it comes
    again, since what is raised within a callback of the garbage collector is dropped.
    """
    if not math.isfinite(seconds) or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _neat_python_network(genomes: Genome, index: int) -> Any:
    neat: Any = importlib.import_module("neat")
    cppn = Cppn(genomes, index, NEAT_PYTHON, 5)
    functions = neat.activations.ActivationFunctionSet()
    evaluations = [
        (5 + k, functions.get(name), sum, bias, 1.0, links)
        for k, (name, (_, bias, links)) in enumerate(
            zip(cppn.names, cppn.steps, strict=True)
        )
    ]
    return neat.nn.FeedForwardNetwork([0, 1, 2, 3, 4], [cppn.output], evaluations)


def pureples_decode(
    decoder: Discovered, genomes: Genome, index: int, max_seconds: float = math.inf
) -> Decoding:
    """One genome by PUREPLES: its search for links, without making the network.

    Cut off after `max_seconds`: its time is then a lower bound.
    """
    # by name: neither is a package that this one depends on
    search_module: Any = importlib.import_module("pureples.es_hyperneat.es_hyperneat")
    substrates: Any = importlib.import_module("pureples.shared.substrate")
    rule = checked_rule(decoder)
    if decoder.reading.dialect != NEAT_PYTHON or decoder.weight_map.name != "deadzone":
        raise ValueError(
            "PUREPLES reads CPPNs in the dialect neat-python with the weight map "
            "deadzone; set both."
        )
    points = [
        [(float(x), float(y)) for x, y in ends]
        for ends in (decoder.layout.inputs, decoder.layout.outputs)
    ]
    genomes = jax.device_get(genomes)
    began = time.perf_counter()
    network = _Network(_neat_python_network(genomes, index))
    search = search_module.ESNetwork(
        substrates.Substrate(*points),
        network,
        {
            "initial_depth": rule.initial_depth,
            # PUREPLES counts the plane itself
            "max_depth": rule.depth + 1,
            "variance_threshold": rule.variance_threshold,
            "band_threshold": rule.band_threshold,
            "iteration_level": rule.iteration_level,
            "division_threshold": rule.division_threshold,
            "max_weight": decoder.weight_map.max_weight,
            "activation": "sigmoid",
        },
    )
    links: dict[Link, float] = {}
    try:
        with _limit(max_seconds):
            _, found = search.es_hyperneat()
        is_cut = False
        links = {((c.x1, c.y1), (c.x2, c.y2)): float(c.weight) for c in found}
    except TookTooLong:
        is_cut = True
    return Decoding(time.perf_counter() - began, network.count, is_cut, links)
