"""What a decoder is: genome to network."""

import abc
import dataclasses
from collections.abc import Sequence

import numpy as np

from .._resources import Resources
from ..cppn import (
    Dialect,
    Programs,
    QueryEngine,
    activation_id,
    check_dialect,
    check_names,
    compile_programs,
)
from ..neat import Genome
from ..network import Networks

PRECISIONS: dict[str, type[np.floating]] = {"f32": np.float32, "f64": np.float64}


class AbstractDecoder(abc.ABC):
    """Turns genomes into networks.

    A network is a function of its genome and the decoder's fields, and of nothing else:
    not of the rest of the population, of chunk sizes, of the number of cores.
    """

    @property
    @abc.abstractmethod
    def num_genome_inputs(self) -> int:
        """Inputs that a genome for this decoder has."""

    @property
    @abc.abstractmethod
    def num_genome_outputs(self) -> int:
        """Outputs that a genome for this decoder has."""

    @abc.abstractmethod
    def decode(self, genomes: Genome, resources: Resources | None = None) -> Networks:
        """The networks of a population of genomes (with a leading axis)."""


@dataclasses.dataclass(frozen=True)
class CPPNReading:
    """How a genome is read as a CPPN.

    **Arguments:**

    - `dialect`: what activation names mean, `plain` or `neat-python`.
    - `coordinates`: what the CPPN is given, of x1, y1, x2, y2, bias, dx, dy, distance.
    - `leo`: whether a second output decides if a link is expressed.
    - `activations`: the functions that genomes may use. Left out, those that occur; set
      it to what NEAT draws from, so that the kernel is compiled once.
    - `precision`: `f32` or `f64`.
    """

    dialect: Dialect = "plain"
    coordinates: tuple[str, ...] = ("x1", "y1", "x2", "y2", "bias")
    leo: bool = False
    activations: tuple[str, ...] | None = None
    precision: str = "f32"

    def __post_init__(self) -> None:
        check_dialect(self.dialect)
        check_precision(self.precision)
        for name in self.activations or ():
            activation_id(name)
        check_names(self.coordinates)

    @property
    def num_outputs(self) -> int:
        return 2 if self.leo else 1

    def compile(self, genomes: Genome) -> Programs:
        return compile_programs(
            **graph_arrays(genomes),
            num_inputs=len(self.coordinates),
            num_outputs=self.num_outputs,
            dialect=self.dialect,
            activations=self.activations,
            dtype=PRECISIONS[self.precision],
        )

    def engine(self, genomes: Genome) -> QueryEngine:
        return self.ask(self.compile(genomes))

    def ask(
        self, programs: Programs, resources: Resources | None = None
    ) -> QueryEngine:
        """The engine that answers queries of programs of this reading."""
        resources = resources or Resources()
        return QueryEngine(programs, self.coordinates, resources=resources)


class AbstractCPPNDecoder(AbstractDecoder):
    """A decoder that reads genomes as CPPNs.

    A network depends on its genome's program alone: on what reaches an output, in the
    order in which it is evaluated, and not on ids or on what is switched off.
    """

    reading: CPPNReading

    @property
    def num_genome_inputs(self) -> int:
        return len(self.reading.coordinates)

    @property
    def num_genome_outputs(self) -> int:
        return self.reading.num_outputs

    def decode(self, genomes: Genome, resources: Resources | None = None) -> Networks:
        return self.decode_programs(self.reading.compile(genomes), resources)

    @abc.abstractmethod
    def decode_programs(
        self, programs: Programs, resources: Resources | None = None
    ) -> Networks:
        """The networks of CPPNs that `reading` compiled."""


def check_precision(precision: str) -> None:
    if precision not in PRECISIONS:
        raise ValueError(
            f"unknown precision {precision!r}: use one of {', '.join(PRECISIONS)}."
        )


def graph_arrays(genomes: Genome) -> dict[str, np.ndarray]:
    """The fields that a genome shares with any graph, on the host."""
    if np.ndim(genomes.node_id) != 2:
        raise ValueError(
            "a decoder takes a population: genomes with a leading axis. For one genome "
            "use jax.tree.map(lambda x: x[None], genome)."
        )
    return {
        name: np.asarray(getattr(genomes, name))
        for name in (
            "node_id", "node_activation", "node_bias",
            "link_source", "link_target", "link_weight", "link_enabled",
        )
    }  # fmt: skip


def activation_set(names: Sequence[str]) -> tuple[int, ...]:
    """Ids of some activations, with identity, which silent nodes need."""
    return tuple(sorted({activation_id(n) for n in (*names, "identity")}))
