"""HyperNEAT within a jit: the network of one CPPN on a substrate that is given."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ..network import TensorNetwork
from ..substrate import NetworkSettings, WeightMap
from ._reading import Reader
from ._wiring import ask_pairs, make_network


@dataclasses.dataclass(frozen=True, eq=False)
class FixedWiring:
    """What the networks of all genomes have in common: inputs, outputs, hidden nodes at
    `point`, and links that may be."""

    point: Float[np.ndarray, "nodes 2"]
    rank: Int[np.ndarray, " nodes"]
    source: Int[np.ndarray, " links"]
    target: Int[np.ndarray, " links"]
    num_inputs: int
    num_outputs: int
    weight_map: WeightMap
    weight_threshold: float
    settings: NetworkSettings
    bias_scale: float
    is_acyclic: bool

    def __call__(self, reader: Reader) -> TensorNetwork:
        """The network of a CPPN; there is always room for it."""
        num = len(self.point)
        may_be = np.zeros((num, num), bool)
        may_be[self.source, self.target] = True
        point = jnp.asarray(self.point, reader.dtype)
        weight, permitted = ask_pairs(reader, point, self.weight_map)
        linked = (
            jnp.asarray(may_be) & permitted & (jnp.abs(weight) > self.weight_threshold)
        )
        return make_network(
            reader,
            linked,
            weight,
            point=point,
            rank=jnp.asarray(self.rank, jnp.int32),
            is_node=jnp.ones(num, bool),
            num_found=jnp.asarray(-1, jnp.int32),
            num_inputs=self.num_inputs,
            num_outputs=self.num_outputs,
            settings=self.settings,
            bias_scale=self.bias_scale,
            is_acyclic=self.is_acyclic,
        )
