"""What a problem is: networks to fitness."""

import abc
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key

from .._resources import Resources
from .._types import as_number, check_whole, shown
from ..network import Networks
from ..substrate import Layout
from ..worlds import Seen, Statistics
from ._preparation import Preparation


class Evaluation(NamedTuple):
    """What is known of networks once they were evaluated."""

    fitness: Float[np.ndarray, " networks"]
    seen: Seen | None
    """What they have seen, for problems that keep statistics of it."""
    num_steps: Float[np.ndarray, " networks"] | None = None
    """Of environments, if there are any."""


class TracedFitness(NamedTuple):
    """A fitness in two steps, for the tensor engine.

    `outcome(network, key)` is what JAX computes of one network, within a jit with all
    that comes before: a tree of arrays. `fitness(outcomes)` is what NumPy makes of the
    outcomes of all networks, which have an axis for them in front.
    """

    outcome: Callable[..., Any]
    fitness: Callable[[Any], Float[np.ndarray, " networks"]]
    arguments: tuple[Any, ...] = ()
    """If there are any, `outcome(network, (key, *arguments))`: arrays that change from
    one generation to the next, for which nothing is to be compiled again."""
    evaluation: Callable[[Any], Evaluation] | None = None
    """More than the fitness, if there is more to be known."""

    def evaluated(self, outcomes: Any) -> Evaluation:
        """All that is known of networks with these outcomes."""
        if self.evaluation is not None:
            return self.evaluation(outcomes)
        return Evaluation(self.fitness(outcomes), None)


class AbstractProblem(abc.ABC):
    """Gives networks a fitness; knows nothing of genomes or of how networks came to be.

    Problems are frozen dataclasses; their fields are their settings.
    """

    name: str
    """How the registry and the command line call it."""

    layout: Layout
    """Where inputs and outputs lie unless you say otherwise; a decoder takes it."""

    target: float
    """A network whose fitness is this or more solves the problem."""

    suggested: dict[str, object]
    """Settings of a method that fit, for example `{"output_activation": "sigmoid"}`;
    `{"emr.depth": 3}` is for one method only.

    What they leave open is open; a problem that suggests nothing leaves it out.
    """

    preparation: Preparation = Preparation()
    """What is done to a row of data before a network of this problem sees it, and to
    what it answers; for models, see `substrax.models`."""

    is_separable: bool | None = None
    """Whether the fitness of a network depends on the network and the key alone, and
    not on which others are evaluated with it, nor on where it stands among them. Only
    then can workers share a population (`executor`). None leaves it open: a run with
    workers compares some networks in other company, and ends if they differ."""

    block_size: int | None = 1
    """Networks that are evaluated side by side by one compiled program, which may round
    otherwise for another number of them: workers get whole blocks. None: all of them,
    up to 1024."""

    num_left_out: int = 0
    """Rows of its data that are not used, because a value is missing."""

    @abc.abstractmethod
    def fitness(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " networks"]:
        """One number for each network; larger is better.

        **Arguments:**

        - `networks`: the whole population, of any size.
        - `key`: the key of this generation, the same for all its networks.
          Problems without chance ignore it.
        - `resources`: what evaluation may take; pass it on to `evaluate`.

        **Returns:** the fitness in 64 bits. A network with an output that is NaN or
        infinite gets NaN, which NEAT counts as failed; the others are not touched.
        """

    def evaluate(
        self,
        networks: Networks,
        *,
        key: Key[Array, ""],
        resources: Resources | None = None,
    ) -> Evaluation:
        """The fitness, and what else evolution has to know of a generation."""
        return Evaluation(self.fitness(networks, key=key, resources=resources), None)

    def first_statistics(self) -> Statistics | None:
        """Statistics of observations before the first generation, for problems that
        keep some. The loop joins to them what the networks of each generation have
        seen, and saves them."""
        return None

    def after(self, statistics: Statistics) -> "AbstractProblem":
        """The same problem with the statistics of the generations so far: what a
        fitness may depend on besides the networks and the key."""
        return self

    def prepared(self, preparation: Preparation) -> "AbstractProblem":
        """The same problem, in which networks see what one of them saw before:
        `preparation` is that of a best network."""
        return self

    def traced(self) -> TracedFitness | None:
        """The same fitness for the tensor engine, which then needs no network on the
        host; None if there is none, or if the data are large.

        Give the same object each time: another one is compiled again.
        """
        return None

    @abc.abstractmethod
    def measures(self, network: Networks) -> dict[str, float]:
        """What else can be said about one network: accuracy, test AUC and the like."""

    def samples(self) -> "tuple[np.ndarray, np.ndarray] | None":
        """Inputs and what should come out, a row each, if the problem is a data set."""
        return None

    def test_samples(self) -> "tuple[np.ndarray, np.ndarray] | None":
        """The same of those that evolution does not see, if there are any."""
        return None

    def data_digest(self) -> dict[str, str]:
        """What a fitness depends on that the fields do not tell, such as the content of
        a file: digests by name. A run is not continued when they have changed."""
        return {}

    @property
    def num_inputs(self) -> int:
        return len(self.layout.inputs)

    @property
    def num_outputs(self) -> int:
        return len(self.layout.outputs)

    def is_solved(self, fitness: float) -> bool:
        """Whether this fitness is enough. NaN is not."""
        return not math.isnan(fitness) and bool(fitness >= self.target)


def check_networks(problem: AbstractProblem, networks: Networks) -> None:
    """Networks must have the inputs and outputs that the problem has."""
    has = (networks.num_inputs, networks.num_outputs)
    wants = (problem.num_inputs, problem.num_outputs)
    if has != wants:
        raise ValueError(
            f"the problem {shown(problem.name)} has {wants[0]} inputs and {wants[1]} "
            f"outputs, but these networks have {has[0]} and {has[1]}. Make the decoder "
            "with the problem's layout."
        )


def check_single(problem: AbstractProblem, network: Networks) -> None:
    """Measures are of one network."""
    check_networks(problem, network)
    if len(network) != 1:
        raise ValueError(
            f"measures are of one network, for example networks[0]; these are "
            f"{len(network)}."
        )


def check_positive(name: str, value: int) -> None:
    check_whole(**{name: value})
    if value < 1:
        raise ValueError(f"{name} must be positive, not {value}.")


def check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(
            f"unknown {name} {shown(value)}: use one of {', '.join(known)}."
        )


def check_target(target: float) -> None:
    if math.isnan(as_number(target)):
        raise ValueError(
            f"target is {'NaN' if target != target else shown(target)}, which no "
            "fitness reaches; to run on whatever the fitness, use infinity."
        )


def check_function(name: str, fn: object) -> None:
    if not callable(fn):
        raise ValueError(f"{name} must be a function, not {shown(fn)}.")


def check_own(fn: object, layout: Layout, target: float) -> None:
    """A problem of somebody's own is a function, a layout and a target."""
    check_function("fn", fn)
    check_layout(layout)
    check_target(target)


def check_layout(layout: Layout) -> None:
    if not isinstance(layout, Layout):
        raise ValueError(
            f"layout must be a substrax.substrate.Layout, not {shown(layout)}; for "
            "example Layout.spread(num_inputs, num_outputs)."
        )
