"""Plain NEAT: the genome is the network."""

import dataclasses

import numpy as np
from jaxtyping import Int

from .._resources import Resources
from .._types import check_counts, check_settings
from ..cppn import (
    ACTIVATION_NAMES,
    Dialect,
    activation_id,
    check_dialect,
    evaluation_depths,
    read_graphs,
)
from ..neat import Genome
from ..network import Networks, check_steps, checked
from ..tensor import Capacity, Traced, direct_network
from ._base import (
    PRECISIONS,
    AbstractDecoder,
    activation_set,
    check_precision,
    numbered,
)
from ._graphs import graph_arrays, traced_arrays


@dataclasses.dataclass(frozen=True)
class Direct(AbstractDecoder):
    """Plain NEAT (Stanley & Miikkulainen 2002): nodes and links as they stand.

    **Arguments:**

    - `num_inputs`, `num_outputs`: of genome and network alike.
    - `is_recurrent`: genomes may have cycles; their networks are updated `steps` times.
    - `dialect`, `activations`, `precision`: as in `CPPNReading`.
    - `input_names`, `output_names`: what inputs and outputs are called in pictures;
      left out, in0, in1 and so on.
    """

    num_inputs: int
    num_outputs: int
    is_recurrent: bool = False
    steps: int = 4
    dialect: Dialect = "plain"
    activations: tuple[str, ...] | None = None
    precision: str = "f32"
    input_names: tuple[str, ...] | None = None
    output_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        check_dialect(self.dialect)
        check_precision(self.precision)
        activation_set(self.activations or ())
        check_steps(self.steps)
        check_counts(num_inputs=self.num_inputs, num_outputs=self.num_outputs)
        for what, num in (("input", self.num_inputs), ("output", self.num_outputs)):
            names = getattr(self, f"{what}_names")
            if names is not None and len(names) != num:
                raise ValueError(
                    f"there are {len(names)} {what}_names for {num} {what}s."
                )

    @property
    def num_genome_inputs(self) -> int:
        return self.num_inputs

    @property
    def num_genome_outputs(self) -> int:
        return self.num_outputs

    @property
    def genome_inputs(self) -> tuple[str, ...]:
        return self.input_names or numbered("in", self.num_inputs)

    @property
    def genome_outputs(self) -> tuple[str, ...]:
        return self.output_names or numbered("out", self.num_outputs)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(PRECISIONS[self.precision])

    def check_genomes(self, genomes: Genome) -> None:
        self.decode(genomes)

    def num_traced_nodes(self, capacity: Capacity | None, num_slots: int) -> int:
        return num_slots

    def traced_bytes(self, capacity: Capacity | None, num_slots: int) -> int:
        # Matrices of weights, and some of masks.
        return 4 * num_slots**2 * self.dtype.itemsize

    def decode(self, genomes: Genome, resources: Resources | None = None) -> Networks:
        graphs = read_graphs(
            **graph_arrays(genomes),
            num_inputs=self.num_inputs,
            num_outputs=self.num_outputs,
            dtype=PRECISIONS[self.precision],
        )
        num = graphs.num_genomes
        counts = np.bincount(graphs.genome, minlength=num)
        bounds = np.concatenate([[0], np.cumsum(counts)])
        links = graphs.links
        if self.is_recurrent:
            rank = np.zeros(graphs.node_id.size, np.int32)
        else:
            rank = evaluation_depths(links, graphs.node_id.size)
        # Sums are taken by source within each target, whatever the genes' order.
        order = np.lexsort((links.source, links.target, links.genome))
        first = bounds[links.genome[order]]
        link_counts = np.bincount(links.genome, minlength=num)
        is_input = graphs.is_input
        networks = Networks(
            num_inputs=self.num_inputs,
            num_outputs=self.num_outputs,
            node_bounds=bounds,
            node_activation=np.where(
                is_input, activation_id("identity"), graphs.activation
            ).astype(np.int32),
            node_bias=np.where(is_input, 0, graphs.bias).astype(graphs.bias.dtype),
            node_rank=rank.astype(np.int32),
            node_point=np.full((graphs.node_id.size, 2), np.nan),
            link_bounds=np.concatenate([[0], np.cumsum(link_counts)]),
            link_source=(links.source[order] - first).astype(np.int32),
            link_target=(links.target[order] - first).astype(np.int32),
            link_weight=links.weight[order],
            num_found=np.full(num, -1),
            is_acyclic=not self.is_recurrent,
            dialect=self.dialect,
            activation_ids=self._activation_ids(graphs.activation[~is_input]),
            steps=self.steps,
        )
        return checked(networks)

    def trace(
        self,
        genome: Genome,
        capacity: Capacity | None = None,
        *,
        is_differentiable: bool = False,
    ) -> Traced:
        del capacity, is_differentiable
        network, is_sound = direct_network(
            **traced_arrays(genome, PRECISIONS[self.precision]),
            num_inputs=self.num_inputs,
            num_outputs=self.num_outputs,
            activation_ids=activation_set(self.activations or ACTIVATION_NAMES),
            dialect=self.dialect,
            is_recurrent=self.is_recurrent,
            steps=self.steps,
        )
        return Traced.of(network, is_sound)

    def _activation_ids(self, used: Int[np.ndarray, " nodes"]) -> tuple[int, ...]:
        names = [ACTIVATION_NAMES[a] for a in np.unique(used)]
        if self.activations is None:
            return activation_set(names)
        allowed = activation_set(self.activations)
        extra = [n for n in names if activation_id(n) not in allowed]
        if extra:
            raise ValueError(
                f"genomes use {', '.join(extra)}, which `activations` does not list; "
                "add it there."
            )
        return allowed
