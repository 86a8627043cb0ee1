"""What a figure is drawn of: a run, its result, or parts that somebody has at hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np

from .._types import shown
from ..config import Experiment
from ..decoders import AbstractDecoder, Direct
from ..evolution import Best, Result
from ..models import Model
from ..neat import Genome
from ..network import Networks
from ..problems import AbstractProblem, Preparation
from ..substrate import Layout
from ..sweeps import SeedOutcome
from ._names import fitted, named


@runtime_checkable
class EvolvedRun(Protocol):
    """A run as `substrax.evolve` returns it, whose class lies in a layer above."""

    @property
    def experiment(self) -> Experiment: ...
    @property
    def problem(self) -> AbstractProblem: ...
    @property
    def result(self) -> Result: ...
    @property
    def directory(self) -> Path | None: ...


@runtime_checkable
class EvolvedSeeds(Protocol):
    """Runs as `substrax.evolve_seeds` returns them."""

    @property
    def runs(self) -> Sequence[EvolvedRun]: ...
    def outcomes(self) -> list[SeedOutcome]: ...
    @property
    def directory(self) -> Path | None: ...


NetworkSource = Networks | Model | Best | Result | EvolvedRun
"""Whatever has one network; of a run, it is the best one."""


def network_of(given: NetworkSource) -> Networks:
    """The network to be drawn."""
    if isinstance(given, Networks):
        return given
    if isinstance(given, Model | Best):
        return given.network
    return _result_of(given, "a network, a model").found()[1]


def decoder_of(given: AbstractDecoder | EvolvedRun) -> AbstractDecoder:
    """How the genome to be drawn is read."""
    if isinstance(given, AbstractDecoder):
        return given
    if isinstance(given, EvolvedRun):
        parts = given.experiment.build()
        return named(parts.decoder, parts.problem.preparation)
    _refuse(given, "a decoder with a genome")


def genome_of(
    given: AbstractDecoder | Result | EvolvedRun, genome: Genome | None = None
) -> Genome:
    """The genome to be drawn: this one, or the best of the run."""
    if genome is not None:
        return genome
    if isinstance(given, AbstractDecoder):
        raise ValueError(
            "a decoder reads genomes and has none: give the genome, too, or only the "
            "run that `substrax.evolve` returned."
        )
    return _result_of(given, "a genome").found()[0]


def terminal_names(decoder: AbstractDecoder) -> tuple[list[str], list[str]]:
    """What the inputs and outputs of a genome are called."""
    outputs = ["LEO" if name == "leo" else name for name in decoder.genome_outputs]
    return list(decoder.genome_inputs), outputs


def names_of(given: Result | EvolvedRun) -> tuple[list[str], list[str]]:
    """The same, of the genomes of a run."""
    if isinstance(given, EvolvedRun):
        return terminal_names(decoder_of(given))
    network = network_of(given)
    if is_placed(network):
        raise ValueError(
            "these genomes are CPPNs, and a result does not say how they are read. "
            "Give the run that `substrax.evolve` returned, or say input_names and "
            "output_names."
        )
    return terminal_names(Direct(network.num_inputs, network.num_outputs))


_PANEL_WIDTH = 15
"""Letters of a name that fit above a panel, or beside it."""


def panel_names(
    preparation: Preparation, layout: Layout
) -> tuple[list[str], list[str]]:
    """What the inputs and outputs of networks are called above panels."""
    return (
        [_panel(n) for n in preparation.input_names(len(layout.inputs))],
        [_panel(n) for n in preparation.output_names(len(layout.outputs))],
    )


def _panel(name: str) -> str:
    return fitted(name, 1, _PANEL_WIDTH)


def panel_names_of(
    given: AbstractDecoder | EvolvedRun,
    layout: Layout,
    input_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
) -> tuple[Sequence[str], Sequence[str]]:
    """The names that were given, else those that a run knows, else numbers."""
    inputs = [f"input {k}" for k in range(len(layout.inputs))]
    outputs = [f"output {k}" for k in range(len(layout.outputs))]
    if isinstance(given, EvolvedRun):
        preparation = given.experiment.build().problem.preparation
        inputs, outputs = panel_names(preparation, layout)
    return (
        inputs if input_names is None else input_names,
        outputs if output_names is None else output_names,
    )


def is_placed(network: Networks) -> bool:
    """Whether the nodes of a network lie somewhere: those of plain NEAT do not."""
    return not bool(np.isnan(network.node_point).any())


def _result_of(given: Result | EvolvedRun, else_known: str) -> Result:
    if isinstance(given, Result):
        return given
    if isinstance(given, EvolvedRun):
        return given.result
    _refuse(given, else_known)


def _refuse(given: Any, known: str) -> NoReturn:
    raise ValueError(
        f"this figure is drawn of one run, as `substrax.evolve` returns it, or of "
        f"{known}; not of {shown(given)}."
    )
