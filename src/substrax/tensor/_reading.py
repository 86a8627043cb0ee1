"""How a genome is read as a CPPN, and asked, within a jit."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..cppn import CPPN, Vocabulary, ask_cppn


class Reader(NamedTuple):
    """A CPPN that can be asked about links and about nodes.

    `outputs` are the names of the CPPN's outputs, as in `CPPNReading`.
    """

    cppn: CPPN
    vocabulary: Vocabulary
    outputs: tuple[str, ...]
    is_differentiable: bool = False

    @property
    def dtype(self):
        return self.cppn.bias.dtype

    def links(
        self, source: Float[Array, "... 2"], target: Float[Array, "... 2"]
    ) -> Float[Array, "outputs ..."]:
        """`weight`, then `leo` if there is one."""
        return self._ask(("weight", "leo"), source, target)

    def biases(self, point: Float[Array, "... 2"]) -> Float[Array, "..."]:
        """The output `bias` at points; the second point is the origin."""
        return self._ask(("bias",), point, jnp.zeros_like(point))[0]

    def _ask(self, names, source, target):
        which = tuple(self.outputs.index(n) for n in names if n in self.outputs)
        return ask_cppn(
            self.cppn.with_outputs(which),
            source,
            target,
            self.vocabulary,
            is_differentiable=self.is_differentiable,
        )
