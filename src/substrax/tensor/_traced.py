"""What a decoder makes of one genome within a jit."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool

from ..cppn import activation_id
from ..network import TensorNetwork
from ._capacity import Shortage


class Traced(NamedTuple):
    """A network, and whether it is the genome's.

    `exceeds` is true where there was too little room, `is_sound` is false where the
    genome cannot be read (a cycle, an unknown activation). In both cases the network
    means nothing, and all its outputs are NaN. `shortage` says how much room would have
    been needed, as far as that was seen; None where there is always enough.
    """

    network: TensorNetwork
    exceeds: Bool[Array, ""]
    is_sound: Bool[Array, ""]
    shortage: Shortage | None = None

    @staticmethod
    def of(
        network: TensorNetwork,
        is_sound: Bool[Array, ""],
        shortage: Shortage | None = None,
        exceeds: Bool[Array, ""] | None = None,
    ) -> "Traced":
        """What was made of a genome; a network that is not the genome's says NaN, or
        one could take its outputs for answers."""
        has_no_room = jnp.bool_(False) if exceeds is None else exceeds
        is_whole = is_sound & ~has_no_room
        # (steps and thresholds would make a number of NaN)
        identity = network.activation_ids.index(activation_id("identity"))
        silenced = dataclasses.replace(
            network,
            bias=jnp.where(is_whole, network.bias, jnp.nan),
            activation=jnp.where(is_whole, network.activation, identity),
        )
        return Traced(silenced, has_no_room, is_sound, shortage)

    @property
    def is_whole(self) -> Bool[Array, ""]:
        """Whether the network is what the decoder says."""
        return self.is_sound & ~self.exceeds
