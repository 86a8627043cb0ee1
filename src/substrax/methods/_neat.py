"""Plain NEAT: the genome is the network."""

import dataclasses
from typing import ClassVar

from .._types import chosen
from ..cppn import DIALECTS
from ..decoders import PRECISIONS, Direct
from ..substrate import Layout
from ._method import AbstractMethod


@dataclasses.dataclass(frozen=True, kw_only=True)
class NEAT(AbstractMethod):
    """NEAT (Stanley & Miikkulainen 2002): nodes and links as they stand in the genome.

    **Arguments:**

    - `is_recurrent`: genomes may have cycles; their networks are updated `steps` times.
    - `dialect`: what activation names mean, `plain` or `neat-python`.
    - `precision`: `f32` or `f64`.
    """

    is_recurrent: bool = False
    steps: int = 4
    dialect: str = chosen("plain", DIALECTS)
    precision: str = chosen("f32", PRECISIONS)

    name: ClassVar[str] = "neat"
    title: ClassVar[str] = "NEAT"

    def decoder(
        self, layout: Layout, activations: tuple[str, ...] | None = None
    ) -> Direct:
        return Direct(
            len(layout.inputs),
            len(layout.outputs),
            activations=activations,
            **dataclasses.asdict(self),
        )
