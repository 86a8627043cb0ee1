"""What a decoder is: genome to network."""

import abc
import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from .._resources import Resources
from .._types import as_number, check_settings, shown
from ..cppn import (
    ACTIVATION_NAMES,
    Dialect,
    Programs,
    QueryEngine,
    Vocabulary,
    activation_id,
    check_coordinate_names,
    check_dialect,
    check_names,
    compile_programs,
    read_cppn,
)
from ..neat import Genome, NEATConfig
from ..network import Networks, checked
from ..substrate import WeightMap
from ..tensor import Capacity, Reader, Traced
from ._graphs import graph_arrays, traced_arrays
from ._on_device import decode_on_device

OUTPUTS = ("weight", "leo", "bias")
"""What outputs of a CPPN can be: the weight of a link, whether it is expressed, and the
bias of a node."""

PRECISIONS: dict[str, type[np.floating]] = {"f32": np.float32, "f64": np.float64}
"""Types of numbers that CPPNs can be evaluated in, by name."""


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

    @property
    def genome_inputs(self) -> tuple[str, ...]:
        """What the inputs of a genome are called."""
        return numbered("in", self.num_genome_inputs)

    @property
    def genome_outputs(self) -> tuple[str, ...]:
        """What the outputs of a genome are called."""
        return numbered("out", self.num_genome_outputs)

    def check_config(self, config: NEATConfig) -> None:
        """Refuses a NEAT whose genomes have not the inputs and outputs that are read.

        `decode` notices missing or surplus inputs, and missing outputs. Surplus outputs
        it cannot notice: nothing in a genome distinguishes them from hidden nodes.
        `evolve` compares before it begins; a loop of your own calls this once.
        """
        for name, has, wants in (
            ("num_inputs", config.num_inputs, self.num_genome_inputs),
            ("num_outputs", config.num_outputs, self.num_genome_outputs),
        ):
            if has != wants:
                raise ValueError(
                    f"NEAT's genomes have {name}={has}, but the decoder reads genomes "
                    f"with {wants}. Set NEATConfig.{name} to {wants}."
                )

    @abc.abstractmethod
    def decode(self, genomes: Genome, resources: Resources | None = None) -> Networks:
        """The networks of a population of genomes (with a leading axis)."""

    @abc.abstractmethod
    def trace(
        self,
        genome: Genome,
        capacity: Capacity | None = None,
        *,
        is_differentiable: bool = False,
    ) -> Traced:
        """The network of one genome, within a jit: `vmap`, `scan` and `grad` apply.

        **Arguments:**

        - `genome`: one genome, without a leading axis.
        - `capacity`: how much room its network has, for decoders that discover it; left
          out, `first_capacity()`.
        - `is_differentiable`: whether derivatives in reverse mode are wanted, with
          respect to the genome's weights and biases; asking the CPPN takes longer then.
        """

    @property
    @abc.abstractmethod
    def dtype(self) -> np.dtype:
        """Of the numbers that networks compute with."""

    @abc.abstractmethod
    def num_traced_nodes(self, capacity: Capacity | None, num_slots: int) -> int:
        """Nodes that a traced network has room for, of a genome of so many slots."""

    @abc.abstractmethod
    def traced_bytes(self, capacity: Capacity | None, num_slots: int) -> int:
        """About what `trace` takes for a genome of so many slots."""

    @abc.abstractmethod
    def check_genomes(self, genomes: Genome) -> None:
        """Refuses, in a sentence, genomes that cannot be read."""

    def fits_on_device(self, num_slots: int, resources: Resources) -> bool:
        """Whether engine `device` can decode genomes of so many slots."""
        needed = self.traced_bytes(self.first_capacity(), num_slots)
        return needed <= resources.device_budget

    def first_capacity(self) -> Capacity | None:
        """Room that is mostly enough; None where the genome or the substrate says how
        large a network is."""
        return None


def numbered(what: str, num: int) -> tuple[str, ...]:
    """Names for inputs or outputs that have none."""
    return tuple(f"{what}{k}" for k in range(num))


@dataclasses.dataclass(frozen=True)
class CPPNReading:
    """How a genome is read as a CPPN.

    **Arguments:**

    - `dialect`: what activation names mean, `plain` or `neat-python`.
    - `coordinates`: what the CPPN is given, of x1, y1, x2, y2, bias, dx, dy, distance.
    - `outputs`: what the CPPN's outputs are, in the order of the genome's: `weight`,
      which must be one of them; `leo`, which lets a link be expressed where it is
      positive; `bias`, from which hidden and output nodes get their biases.
    - `activations`: the functions that genomes may use. Left out, those that occur; set
      it to what NEAT draws from, so that the kernel is compiled once.
    - `precision`: `f32` or `f64`.
    """

    dialect: Dialect = "plain"
    coordinates: tuple[str, ...] = ("x1", "y1", "x2", "y2", "bias")
    outputs: tuple[str, ...] = ("weight",)
    activations: tuple[str, ...] | None = None
    precision: str = "f32"

    def __post_init__(self) -> None:
        check_settings(self)
        check_dialect(self.dialect)
        check_precision(self.precision)
        for name in self.activations or ():
            activation_id(name)
        check_coordinate_names(self.coordinates)
        _check_outputs(self.outputs)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(PRECISIONS[self.precision])

    @property
    def has_bias(self) -> bool:
        """Whether nodes get biases."""
        return "bias" in self.outputs

    def read(self, genome: Genome, is_differentiable: bool = False) -> Reader:
        """One genome as a CPPN, within a jit."""
        vocabulary = Vocabulary(
            self.coordinates,
            len(self.outputs),
            activation_set(self.activations or ACTIVATION_NAMES),
            self.dialect,
        )
        cppn = read_cppn(**traced_arrays(genome, self.dtype), vocabulary=vocabulary)
        return Reader(cppn, vocabulary, self.outputs, is_differentiable)

    def compile(self, genomes: Genome) -> Programs:
        return compile_programs(
            **graph_arrays(genomes),
            num_inputs=len(self.coordinates),
            num_outputs=len(self.outputs),
            dialect=self.dialect,
            activations=self.activations,
            dtype=self.dtype.type,
        )

    def engine(self, genomes: Genome) -> QueryEngine:
        return self.ask(self.compile(genomes))

    def ask(
        self, programs: Programs, resources: Resources | None = None
    ) -> QueryEngine:
        """The engine that answers queries of programs of this reading."""
        resources = resources or Resources()
        return QueryEngine(programs, self.coordinates, resources=resources)

    def links_of(self, programs: Programs) -> Programs:
        """What programs say about links: `weight`, then `leo` if there is one."""
        names = [name for name in ("weight", "leo") if name in self.outputs]
        return programs.with_outputs([self.outputs.index(name) for name in names])

    def bias_of(self, programs: Programs) -> Programs:
        """What programs say about nodes: `bias` alone."""
        return programs.with_outputs([self.outputs.index("bias")])

    def biases_of(
        self,
        programs: Programs,
        networks: Networks,
        scale: float,
        resources: Resources | None = None,
    ) -> Float[np.ndarray, " nodes"]:
        """The biases of the nodes of networks, 0 for inputs.

        The CPPN is asked with the node as the first point and the origin as the second.
        What is no number becomes 0, what is infinite the largest number there is.
        """
        engine = self.ask(self.bias_of(programs), resources)
        bias = np.zeros(networks.node_rank.size, engine.dtype)
        is_input = np.zeros(bias.size, bool)
        numbers = np.arange(networks.num_inputs)
        is_input[networks.node_bounds[:-1, None] + numbers] = True
        points = networks.node_point[~is_input]
        answers = engine.query_runs(
            np.arange(len(networks)),
            networks.num_nodes - networks.num_inputs,
            points,
            np.zeros_like(points),
        )[0]
        with np.errstate(over="ignore"):
            bias[~is_input] = np.nan_to_num(answers * engine.dtype.type(scale))
        return bias


class AbstractCPPNDecoder(AbstractDecoder):
    """A decoder that reads genomes as CPPNs.

    A network depends on its genome's program alone: on what reaches an output, in the
    order in which it is evaluated, and not on ids or on what is switched off.
    """

    reading: CPPNReading
    weight_map: WeightMap
    bias_scale: float | None
    """As `largest_bias`, or None for the largest weight."""

    @property
    def num_genome_inputs(self) -> int:
        return len(self.reading.coordinates)

    @property
    def num_genome_outputs(self) -> int:
        return len(self.reading.outputs)

    @property
    def genome_inputs(self) -> tuple[str, ...]:
        return self.reading.coordinates

    @property
    def genome_outputs(self) -> tuple[str, ...]:
        return self.reading.outputs

    @property
    def dtype(self) -> np.dtype:
        return self.reading.dtype

    def check_genomes(self, genomes: Genome) -> None:
        self.reading.compile(genomes)

    def decode(self, genomes: Genome, resources: Resources | None = None) -> Networks:
        resources = resources or Resources()
        if resources.native is None:
            return decode_on_device(self, genomes, resources).networks
        return self.decode_programs(self.reading.compile(genomes), resources)

    def decode_programs(
        self, programs: Programs, resources: Resources | None = None
    ) -> Networks:
        """The networks of CPPNs that `reading` compiled, by the native engine."""
        reading = self.reading
        networks = self._wire(reading.links_of(programs), resources)
        if not reading.has_bias:
            return networks
        bias = reading.biases_of(programs, networks, self.largest_bias, resources)
        return checked(dataclasses.replace(networks, node_bias=bias))

    @property
    def largest_bias(self) -> float:
        """What the CPPN's output `bias` is multiplied with."""
        return (
            self.weight_map.max_weight if self.bias_scale is None else self.bias_scale
        )

    def traced_bytes(self, capacity: Capacity | None, num_slots: int) -> int:
        num = self.num_traced_nodes(capacity, num_slots)
        pairs, asked = num**2, num * self._sources_at_once(num)
        if capacity is not None:
            cells = self._queries_of_a_cell * 4 * sum(capacity.quads)
            pairs, asked = max(pairs, cells), max(asked, cells)
        # All values of the CPPN for all questions at once, and the network's matrices.
        return (asked * num_slots + 8 * pairs) * self.dtype.itemsize

    def _sources_at_once(self, num_nodes: int) -> int:
        """Of so many nodes, how many are asked about at once, with all as targets."""
        return num_nodes

    @property
    def _queries_of_a_cell(self) -> int:
        """The cell itself, and neighbours that are asked about at the same time."""
        return 1

    @abc.abstractmethod
    def _wire(self, programs: Programs, resources: Resources | None) -> Networks:
        """Networks without biases, of CPPNs with the outputs `weight` and `leo`."""


def _check_outputs(outputs: tuple[str, ...]) -> None:
    check_names("CPPN output", "outputs", outputs, OUTPUTS)
    if "weight" not in outputs:
        raise ValueError(
            "`outputs` does not name weight, without which there are no links; add it."
        )


def check_bias_scale(scale: float | None) -> None:
    # As `max_weight`: what it multiplies must still be a float32.
    if scale is not None and not 0 <= as_number(scale) < 1e38:
        raise ValueError(
            f"bias_scale is {shown(scale)}; choose a number that is not negative "
            "and below 1e38, or None for max_weight."
        )


def check_precision(precision: str) -> None:
    if precision not in PRECISIONS:
        raise ValueError(
            f"unknown precision {shown(precision)}: use one of {', '.join(PRECISIONS)}."
        )


def activation_set(names: Sequence[str]) -> tuple[int, ...]:
    """Ids of some activations, with identity, which silent nodes need."""
    return tuple(sorted({activation_id(n) for n in (*names, "identity")}))
