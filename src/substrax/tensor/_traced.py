"""What a decoder makes of one genome within a jit."""

from typing import NamedTuple

from jaxtyping import Array, Bool

from ..network import TensorNetwork
from ._capacity import Shortage


class Traced(NamedTuple):
    """A network, and whether it is the genome's.

    `exceeds` is true where there was too little room, `is_sound` is false where the
    genome cannot be read (a cycle, an unknown activation). In both cases the network
    means nothing. `shortage` says how much room would have been needed, as far as that
    was seen; None where there is always enough.
    """

    network: TensorNetwork
    exceeds: Bool[Array, ""]
    is_sound: Bool[Array, ""]
    shortage: Shortage | None = None

    @property
    def is_whole(self) -> Bool[Array, ""]:
        """Whether the network is what the decoder says."""
        return self.is_sound & ~self.exceeds
